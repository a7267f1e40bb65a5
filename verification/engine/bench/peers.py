"""The same FedAvg rounds in other people's frameworks, where they are installed, each checked against the exact operator.

Their code runs through the adapters of `ft.adapters`, so one process does everything: Flower's strategy without Ray, pfl on its own
SimulatedBackend, FedLab's handler and serial trainer. What these spend on starting processes and on sending models between them is
not counted, which is in their favour.
"""
from __future__ import annotations

import sys
import types
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from fltheory.blackbox import adapters
from fltheory.blackbox.clients import Instance
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.draw import everyone
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.scalars import FLOAT
from fltheory.derivation import derive
from verification.engine.bench.timing import CLIENTS, DIMENSION, LR, STEPS, median, random_quadratic

EXACT, SINGLE = 1e-12, 1e-5   # relative distance of a round from the exact operator, in float64 and in float32


def research(steps, lr):
    """A torch module, SGD and a loop over clients: what most repositories of papers are made of."""
    import torch

    def train(model, client):
        optimiser = torch.optim.SGD(model.parameters(), lr=lr)
        for _ in range(steps):
            for X, y in client.loader:
                optimiser.zero_grad()
                (((model(X) - y) ** 2).mean() / 2).backward()
                optimiser.step()
        return model.state_dict()

    def aggregate(model, states, clients):
        weight = sum(c.weight for c in clients)
        return {k: sum(c.weight / weight * s[k] for c, s in zip(clients, states, strict=True)) for k in states[0]}
    return adapters.functions(train, aggregate)


def flower(steps, lr):
    """`flwr.server.strategy.FedAvg` around a client in the manner of Flower's tutorial for torch."""
    import torch

    class Client:
        def __init__(self, model, loader):
            self.model, self.loader = model, loader

        def fit(self, parameters, config):
            self.model.load_state_dict({k: torch.tensor(v) for k, v in zip(self.model.state_dict(), parameters, strict=True)})
            optimiser = torch.optim.SGD(self.model.parameters(), lr=lr)
            for _ in range(steps):
                for X, y in self.loader:
                    optimiser.zero_grad()
                    (((self.model(X) - y) ** 2).mean() / 2).backward()
                    optimiser.step()
            return [v.numpy() for v in self.model.state_dict().values()], len(self.loader.dataset), {}

    def strategy():
        from flwr.server.strategy import FedAvg as Strategy
        return Strategy()
    return adapters.flower(strategy, lambda index, model, loader: Client(model, loader))


def pfl(steps, lr):
    """pfl's FederatedAveraging on its SimulatedBackend, in single precision as it always computes."""
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.hyperparam import NNTrainHyperParams
    given = {"central_num_iterations": 1, "evaluation_frequency": 1, "train_cohort_size": 1, "val_cohort_size": None}
    return adapters.pfl(FederatedAveraging, lambda n: NNAlgorithmParams(**given), NNTrainHyperParams(
        local_batch_size=None, local_num_epochs=steps, local_learning_rate=lr))


def fedlab(steps, lr):
    """FedLab's SyncServerHandler and SGDSerialClientTrainer."""
    if "torchvision" not in sys.modules:   # which FedLab imports for data sets that are not used
        whole, transforms = types.ModuleType("torchvision"), types.ModuleType("torchvision.transforms")
        whole.transforms = transforms
        sys.modules.update({"torchvision": whole, "torchvision.transforms": transforms})
    from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
    from fedlab.contrib.algorithm.basic_server import SyncServerHandler

    def trainer(model, n):
        made = SGDSerialClientTrainer(model, n)
        made.setup_optim(steps, 10**9, lr)
        return made
    return adapters.fedlab(lambda model, n: SyncServerHandler(model, 10**9, 1.0), trainer)


def nothing(steps, lr):
    """The adapter alone: models are copied and kept as they are."""
    return adapters.functions(lambda model, client: None, lambda model, updates, clients: model)


PEERS = (("torch", "a torch module and SGD, client by client", research, EXACT),
         ("flwr", "flwr {}, strategy FedAvg, without Ray", flower, EXACT),
         ("pfl", "pfl {}, FederatedAveraging, SimulatedBackend (float32)", pfl, SINGLE),
         ("fedlab", "fedlab {}, SyncServerHandler (float32 weights)", fedlab, SINGLE))


def peers(repeats=5, clients=CLIENTS, d=DIMENSION, steps=STEPS, lr=LR) -> list[tuple]:
    """[(what, seconds of a round, or None where it is not installed)], the engine's own rounds and a plain loop first.

    Full participation, exact gradients of half the squared error, one thread; medians. Every round is compared with the exact
    operator at a random model, and AssertionError says which one is another.
    """
    import torch
    torch.set_num_threads(1)
    made = random_quadratic(clients, d)
    instance = Instance(made.H, np.linalg.solve(made.H, made.b[..., None])[..., 0], [Fraction(1, clients)] * clients, d)
    problem, x = instance.problem, np.random.default_rng(0).standard_normal(d)
    H, b = problem.to(FLOAT)._H, problem.to(FLOAT)._b
    M, c = derive(FedAvg(lr, steps), problem, Full()).mean_map()
    algorithm, draw = FedAvg(lr, steps).to(FLOAT), everyone(clients, steps)
    state = algorithm.init(problem, x)
    idle, _ = nothing(steps, lr)

    def loop():
        total = np.zeros(d)
        for i in range(clients):
            y = x.copy()
            for _ in range(steps):
                y = y - lr * (H[i] @ y - b[i])
            total += (y - x) / clients
        return x + total
    out = [_timed("derived operator", lambda: M @ x + c, M @ x + c, EXACT, repeats, 200),
           _timed("numpy round", lambda: algorithm.round(problem, state, draw).x, M @ x + c, EXACT, repeats),
           _timed("plain Python loop", loop, M @ x + c, EXACT, repeats),
           _timed("an adapter alone, without training", lambda: idle(x, instance.clients), x, EXACT, repeats)]
    for package, what, build, tolerance in PEERS:
        try:
            name = what.format(version(package))
        except PackageNotFoundError:
            out.append((f"{package} is not installed", None))
            continue
        round_fn, reset = build(steps, lr)
        out.append(_timed(name, lambda round_fn=round_fn: round_fn(x, instance.clients), M @ x + c, tolerance, repeats))
        reset()
    return out


def table(repeats=5) -> str:
    """The measurements as a text table."""
    rows = peers(repeats)
    base = dict(rows)["plain Python loop"]
    lines = [f"one round of FedAvg, {CLIENTS} clients, d={DIMENSION}, {STEPS} local steps, each checked against the operator; "
             f"medians of {repeats} runs, one thread; frameworks in one process, through ft.adapters", ""]
    return "\n".join(lines + [f"{what:<86} {'':>13}" if seconds is None else
                              f"{what:<86} {seconds * 1e3:10.4f} ms   {base / seconds:12.4g} x the loop" for what, seconds in rows])


def _timed(what, task, expected, tolerance, repeats, inner=1):
    gap = float(np.abs(np.asarray(task()) - expected).max() / np.abs(expected).max())
    if not gap <= tolerance:
        raise AssertionError(f"{what}: its round is {gap:.2g} away from the exact operator, more than {tolerance}")
    return what, median(task, repeats, inner)


__all__ = ["PEERS", "peers", "table"]
