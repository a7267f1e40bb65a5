"""A grid of step sizes by rounds, from eigenbases against stepping the coded round for every step size."""
from __future__ import annotations

import numpy as np

from fltheory.analysis.step_maps import step_map
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.draw import everyone
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.optima import float_optimum
from verification.engine.bench.timing import CLIENTS, DIMENSION, STEPS, least, random_quadratic

GRID, ROUNDS = 64, 100


def step_maps(repeats=5) -> tuple:
    """(what, seconds of stepping, seconds of `step_map` with its rates) for the same table to 1e-9; least of some repeats."""
    problem, steps = random_quadratic(CLIENTS, DIMENSION), np.geomspace(1e-3, 0.2, GRID)
    best = float_optimum(problem)
    floats, draw = problem.to(FLOAT), everyone(CLIENTS, STEPS)

    def stepping():
        out = np.empty((GRID, ROUNDS + 1))
        for k, lr in enumerate(steps):
            method = FedAvg(float(lr), STEPS).to(FLOAT)
            state = method.init(floats, np.zeros(DIMENSION))
            for t in range(ROUNDS + 1):
                out[k, t] = ((state.x - best) ** 2).sum()
                state = method.round(floats, state, draw)
        return out

    def mapped():
        return step_map(FedAvg(1, STEPS), problem, Full(), steps, ROUNDS)
    found = mapped()
    if found.route != "eigenbases" or not np.allclose(found.distance, stepping(), rtol=1e-9, atol=1e-20):
        raise AssertionError("the map of step sizes is not what stepping gives")
    return f"{GRID} step sizes by {ROUNDS} rounds of FedAvg", least(stepping, repeats), least(mapped, repeats)


__all__ = ["step_maps"]
