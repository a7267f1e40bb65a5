"""The learning experiments: Figure 5 and substitutes for Table 1, on data that needs no download.

Long; run by `fltheory reproduce`, which commits the tables. Sizes are ours where the paper's would need a GPU cluster.
"""
from fractions import Fraction

import numpy as np

from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.fednova_vr import FedNovaVR
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg, FedProx
from fltheory.core.algorithms.solvers import Momentum, Proximal, Vanilla
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.memoryless import Full, Uniform
from fltheory.core.numbers.scalars import FLOAT, Torch
from fltheory.core.optima import optimum
from fltheory.core.problems.logistic import Logistic
from fltheory.pictures import RUN, canvas, finish, key, runs
from fltheory.runs import run
from fltheory.runs.network import Network
from fltheory.runs.streams import Stream
from fltheory.verdicts.report.figures import Figure
from verification.fednova.figures import SIGNS

FIG5_ROUNDS, FIG5_SEEDS, FIG5_BATCH, FIG5_LARGEST = 120, 10, 20, 240
EPOCHS = (1, 2, 3, 4, 5)


def synthetic(alpha=1.0, beta=1.0, clients=30, features=60, classes=10, seed=5) -> Logistic:
    """Synthetic(alpha, beta) of the FedProx paper with power-law sizes clipped to [40, 240]; ridge 1e-4 so that F has a
    minimiser."""
    rng = Stream(seed, "synthetic").generator()
    sizes = np.clip((rng.lognormal(4, 1, clients)).astype(int), 2 * FIG5_BATCH, FIG5_LARGEST)
    spread = np.sqrt(np.arange(1, features + 1) ** -1.2)
    data, labels = [], []
    for n in sizes:
        u, B = rng.normal(0, np.sqrt(alpha)), rng.normal(0, np.sqrt(beta))
        W, b = rng.normal(u, 1, (classes, features)), rng.normal(u, 1, classes)
        x = rng.normal(B, 1, features) + spread * rng.standard_normal((n, features))
        data.append(np.concatenate([x, np.ones((n, 1))], axis=1))
        labels.append((x @ W.T + b).argmax(1))
    return Logistic(data, labels, 1e-4, classes=classes, weights=sizes / sizes.sum())


def _epochs(sizes, batch, epochs):
    """tau_i = floor(E n_i / B), at least 1."""
    return tuple(int(max(1, epochs * n // batch)) for n in sizes)


def fig5_data():
    """Optimality gap against the exact optimum, mean over 10 seeds with the 99.9 % half-width."""
    problem, rows = synthetic(), []
    best = optimum(problem)
    torch_problem = problem.to(Torch())
    metrics = {"gap": lambda x: torch_problem.value(x) - float(best.value), "error": None}
    five = _epochs(problem.sizes, FIG5_BATCH, 5)
    random = RandomSteps(tuple((Fraction(1, 5), _epochs(problem.sizes, FIG5_BATCH, e)) for e in EPOCHS),
                         independent=False)
    panels = {"full": (Full, five), "sampled": (lambda **k: Uniform(9, **k), five), "sampled, random epochs":
              (lambda **k: Uniform(9, **k), random)}
    third = FIG5_ROUNDS // 4
    for panel, (law, steps) in panels.items():
        for name, make in (("FedAvg", FedAvg), ("FedProx", lambda lr: FedProx(lr, mu=1)), ("FedNova", FedNova)):
            phases = [(make(0.02 / 5**k), n) for k, n in enumerate((2 * third, third, FIG5_ROUNDS - 3 * third))]
            trace = run(phases, problem, law(steps=steps, batch=FIG5_BATCH), replicates=FIG5_SEEDS, seed=5,
                        metrics=metrics)
            for t in range(0, FIG5_ROUNDS + 1, 4):
                i = trace.interval(t, "gap")
                rows.append({"panel": panel, "method": name, "round": t, "gap": i.value, "half_width": i.half_width})
    return rows


def fig5_draw(rows):
    panels = list(dict.fromkeys(r["panel"] for r in rows))
    figure, axes = canvas(3, height=3.2, sharey=True)
    signs = {name: SIGNS[name] | {"markersize": 3.5} for name in ("FedAvg", "FedProx", "FedNova")}
    for ax, name in zip(axes[0], panels, strict=True):
        for k, (method, sign) in enumerate(signs.items()):
            mine = [r for r in rows if r["panel"] == name and r["method"] == method][k % 2 :: 2]
            runs(ax, *([r[c] for r in mine] for c in ("round", "gap", "half_width")), **sign)
        finish(ax, f"{name} participation" if name == "full" else name, yscale="log", xlabel="round")
    axes[0][0].set(ylabel=r"$F(x)-F^\star$", ylim=(0.15, 2.5))
    axes[0][0].set_yticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
    axes[0][0].set_yticks([], minor=True)
    key(figure, {f"{method}, run with 99.9 % intervals": RUN | sign for method, sign in signs.items()})
    return figure


# ---- Table 1's substitute: digits over 16 clients, Dirichlet(0.1) ------------------------------------------
TABLE_ROUNDS, TABLE_SEEDS, TABLE_BATCH, TABLE_CLIENTS = 40, 5, 32, 16


def digits(seed=1):
    """(train clients (x, labels), test (x, labels)): scikit-learn's digits, a Dirichlet(0.1) split of the classes."""
    from sklearn.datasets import load_digits
    x, labels = load_digits(return_X_y=True)
    rng = Stream(seed, "digits").generator()
    order = rng.permutation(len(x))
    x, labels = x[order] / 16, labels[order]
    test, train = slice(0, 360), slice(360, None)
    owners = [[] for _ in range(TABLE_CLIENTS)]
    for k in range(10):
        members = np.nonzero(labels[train] == k)[0] + 360
        cuts = (np.cumsum(rng.dirichlet([0.1] * TABLE_CLIENTS))[:-1] * len(members)).astype(int)
        for own, part in zip(owners, np.split(members, cuts), strict=True):
            own.extend(part)
    owners = [o for o in owners if o]
    return [(x[o], labels[o]) for o in owners], (x[test], labels[test])


def _models():
    """Softmax regression and a small network, through the same rounds."""
    import torch
    clients, test = digits()
    sizes = np.array([len(a) for _, a in clients])
    inputs, targets = [a for a, _ in clients], [b for _, b in clients]
    bias = [np.concatenate([a, np.ones((len(a), 1))], axis=1) for a in inputs]
    softmax = Logistic(bias, targets, 1e-4, classes=10, weights=sizes / sizes.sum())
    network = Network(lambda: torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)),
                      inputs, targets, weights=sizes / sizes.sum())
    x, y = torch.as_tensor(test[0]), torch.as_tensor(test[1])
    with_bias = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)

    def linear(models):
        logits = with_bias @ models.reshape(-1, 10, 65).transpose(-1, -2)
        return (logits.argmax(-1) == y).double().mean(-1)

    def deep(models):
        return torch.stack([(network.outputs(m, x).argmax(-1) == y).double().mean() for m in models])

    return {
        "softmax": (softmax, np.zeros(softmax.d), linear),
        "network": (network, FLOAT.array(np.asarray(network.initial(0))), deep),
    }


def table1_data():
    """Test accuracy (%) after 40 rounds, mean and 99 % half-width over 5 seeds of mini-batches."""
    rows = []
    for model, (problem, x0, accuracy) in _models().items():
        two = _epochs(problem.sizes, TABLE_BATCH, 2)
        varying = RandomSteps(tuple((Fraction(1, 4), _epochs(problem.sizes, TABLE_BATCH, e)) for e in (2, 3, 4, 5)),
                              independent=False)
        for epochs, steps in (("E=2", two), ("E~U(2,5)", varying)):
            for name, lr, solver in (("vanilla", 0.05, Vanilla()), ("momentum", 0.02, Momentum("9/10")),
                                     ("proximal", 0.05, Proximal(mu=0.005))):
                for server, make in (("FedAvg", FedAvg), ("FedNova", FedNova)):
                    rows.append(
                        _cell(model, epochs, name, server, make(lr, solver=solver), problem, steps, x0, accuracy))
            for name, server, algorithm in (("VR", "FedAvg", Scaffold(0.05)), ("VR", "FedNova", FedNovaVR(0.05)),
                                            ("momentum + VR", "FedNova", FedNovaVR(0.02, solver=Momentum("9/10")))):
                rows.append(_cell(model, epochs, name, server, algorithm, problem, steps, x0, accuracy))
    return rows


def _cell(model, epochs, name, server, algorithm, problem, steps, x0, accuracy):
    phases = [(algorithm, TABLE_ROUNDS // 2), (_decayed(algorithm, 10), TABLE_ROUNDS // 4), (_decayed(algorithm, 100),
                                                                                          TABLE_ROUNDS // 4)]
    trace = run(phases, problem, Full(steps=steps, batch=TABLE_BATCH), replicates=TABLE_SEEDS, seed=1, x0=x0,
                metrics={"accuracy": accuracy, "error": None})
    i = trace.interval(-1, "accuracy", level=0.99)
    return {"model": model, "epochs": epochs, "optimiser": name, "server": server, "accuracy": 100 * i.value,
            "half_width": 100 * i.half_width}


def _decayed(algorithm, factor):
    from dataclasses import replace
    return replace(algorithm, lr=algorithm.lr / factor)


def table1_draw(rows):
    models = list(dict.fromkeys(r["model"] for r in rows))
    figure, axes = canvas(len(models), width=4.6, height=3.9, sharey=True)
    signs = {name: {"color": SIGNS[name]["color"], "marker": SIGNS[name]["marker"]} for name in ("FedAvg", "FedNova")}
    labels = list(dict.fromkeys((r["epochs"], r["optimiser"]) for r in rows))
    for ax, model in zip(axes[0], models, strict=True):
        for k, (server, sign) in enumerate(signs.items()):
            own = {(r["epochs"], r["optimiser"]): r for r in rows if r["server"] == server and r["model"] == model}
            at = [j for j, cell in enumerate(labels) if cell in own]
            ax.errorbar([own[labels[j]]["accuracy"] for j in at], [j + 0.3 * k - 0.15 for j in at], capsize=1.5, elinewidth=0.9,
                        xerr=[own[labels[j]]["half_width"] for j in at], **RUN | sign)
        finish(ax, model, xlabel="test accuracy (%)")
    words = [f"{b}, {a.replace('E~U(2,5)', 'E = 2 to 5').replace('E=2', 'E = 2')}" for a, b in labels]
    axes[0][0].set_yticks(range(len(labels)), words)
    axes[0][0].invert_yaxis()
    key(figure, {f"{server}, run with 99 % intervals": RUN | sign for server, sign in signs.items()})
    return figure


EXPERIMENTS = {
    "fig5": Figure(
        fig5_data, fig5_draw,
        "Figure 5 on Synthetic(1,1), 30 clients, 9 of them where sampled: gap to the exact optimum, means over 10 seeds. The "
        "problem is not quadratic, so no prediction is drawn."),
    "table1": Figure(
        table1_data, table1_draw,
        "Table 1's substitute: scikit-learn's digits over 16 clients, Dirichlet(0.1), 40 rounds, means over 5 seeds; E is the "
        "number of local epochs, drawn anew each round where it is 2 to 5. No prediction exists for these."),
}
