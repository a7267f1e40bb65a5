"""Problems whose operators cannot be listed: seconds and peak memory of fixed points, rates and floors."""
from __future__ import annotations

import resource
import sys
import time

import numpy as np

from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.optima import float_optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.derivation import derive
from fltheory.runs.streams import Stream

STEPS, CURVATURE = 3, 6.0     # local steps; a bound on the curvature of the problems below
PUBLISHED = {                 # name: (method, law, n, d, seconds of the prototype for: fixed point, rate, mean-square rate, floor)
    "FedAvg, all of 10,000, d=100": ("fedavg", "full", 10_000, 100, (2.9, 36, None, None)),
    "FedNova, all of 10,000, unequal steps, d=100": ("fednova", "full", 10_000, 100, (3.2, 39, None, None)),
    "SCAFFOLD, 20 of 200, d=50": ("scaffold", "uniform", 200, 50, (0.04, 1.2, None, None)),
    "FOCUS, 100 of 1,000, d=100": ("focus", "uniform", 1000, 100, (14, 9, None, None)),
    "SCAFFOLD, 1,000 of 10,000, d=100": ("scaffold", "uniform", 10_000, 100, (6.9, 38, None, None)),
    "SCAFFOLD, 20 of 200, d=2": ("scaffold", "uniform", 200, 2, (None, None, 6, None)),
    "SCAFFOLD, 50 of 500, d=2": ("scaffold", "uniform", 500, 2, (None, None, 19, 0.5)),
    "SCAFFOLD, 10 of 100, d=10": ("scaffold", "uniform", 100, 10, (None, None, 6, 0.9)),
    "FOCUS, 1,000 with probability 1/10, d=2": ("focus", "bernoulli", 1000, 2, (None, None, 70, 9)),
    "FedAvg, 100 of 1,000, d=100": ("fedavg", "uniform", 1000, 100, (None, None, 34, 3)),
    "FedAvg, 60 with probability 1/10, d=2": ("fedavg", "bernoulli", 60, 2, (None, None, 0.01, 0.01)),
}
QUICK = ("SCAFFOLD, 20 of 200, d=50", "SCAFFOLD, 10 of 100, d=10", "FedAvg, 60 with probability 1/10, d=2")


def random_clients(n, d, seed=0) -> Quadratic:
    """n random quadratics in dimension d with curvatures between 1 and about 5, their Hessians made one at a time."""
    rng = Stream(seed, "large").generator()
    H = np.empty((n, d, d))
    for h in H:
        a = rng.standard_normal((d, d))
        np.matmul(a, a.T, out=h)
        h /= d
        h.flat[::d + 1] += 1.0
    return Quadratic(H, rng.standard_normal((n, d)))


def large(names=QUICK) -> list[tuple]:
    """[(what, question, seconds here, seconds of the prototype, peak GiB of the process, accuracy in words)]; seconds of the
    processor. names: of `PUBLISHED`; those of 10,000 clients in 100 dimensions take a minute or two and 2.5 GiB each."""
    rows = []
    for name in names:
        method, law, n, d, published = PUBLISHED[name]
        problem = random_clients(n, d)
        lr = 0.3 / CURVATURE
        algorithm = {"fedavg": lambda lr=lr: FedAvg(lr, STEPS), "scaffold": lambda lr=lr: Scaffold(lr, STEPS),
                     "fednova": lambda n=n, lr=lr: FedNova(lr, tuple(1 + k % 5 for k in range(n))),
                     "focus": lambda n=n: Focus(0.1 / CURVATURE / n, STEPS)}[method]()
        noise = None if published[2] is None else 1      # second moments are asked for: without noise some floors are 0
        op = derive(algorithm, problem, {"full": Full(), "uniform": Uniform(n // 10), "bernoulli": Bernoulli("1/10")}[law], noise,
                    method="structured")
        asks = {"fixed_point": op.fixed_point, "rate": op.rate, "mean_square_rate": op.mean_square_rate, "floor": op.floor}
        for (key, ask), theirs in zip(asks.items(), published, strict=True):
            if theirs is None:
                continue
            start = time.process_time()
            ask()
            seconds = time.process_time() - start
            words = op.known[key].label
            if key == "fixed_point" and method in ("scaffold", "focus"):     # unbiased methods end at the minimiser
                best = float_optimum(problem)
                words += f"; {np.linalg.norm(op.fixed_point().x - best) / np.linalg.norm(best):.0e} off the minimiser"
            rows.append((name, key.replace("_", " "), seconds, theirs, peak(), words))
    return rows


def peak() -> float:
    """GiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


__all__ = ["PUBLISHED", "QUICK", "large", "peak", "random_clients"]
