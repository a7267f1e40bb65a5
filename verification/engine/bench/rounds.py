"""One round of FedAvg by every route, and what is derived from it, against a plain Python loop over clients."""
from __future__ import annotations

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.draw import everyone, to_device
from fltheory.core.laws.memoryless import Bernoulli, Full
from fltheory.core.numbers.scalars import FLOAT, Torch
from fltheory.core.problems.quadratic import Quadratic
from fltheory.derivation import derive
from verification.engine.bench.timing import CLIENTS, DIMENSION, LR, STEPS, median, random_quadratic


def measure(repeats=20) -> list[tuple]:
    """[(what, seconds, ratio to the plain loop, or None)]; medians of `repeats` runs on one thread."""
    import torch
    torch.set_num_threads(1)
    problem = random_quadratic(CLIENTS, DIMENSION)
    H, b, p = problem.H, problem.b, np.full(CLIENTS, 1 / CLIENTS)
    x = np.ones(DIMENSION)

    def loop():
        total = np.zeros(DIMENSION)
        for i in range(CLIENTS):
            y = x.copy()
            for _ in range(STEPS):
                y = y - LR * (H[i] @ y - b[i])
            total += p[i] * (y - x)
        return x + total

    op = derive(FedAvg(LR, STEPS), problem, Full())
    M, c = op.mean_map()
    domain = Torch("cpu")
    algorithm, prob = FedAvg(LR, STEPS).to(domain), problem.to(domain)
    draw, state = to_device(everyone(CLIENTS, STEPS), "cpu"), algorithm.init(prob, domain.array(x))
    own, floats = FedAvg(LR, STEPS).to(FLOAT), problem.to(FLOAT)
    there, begin = everyone(CLIENTS, STEPS), own.init(floats, x)
    if not np.allclose(loop(), M @ x + c, rtol=1e-12, atol=1e-12) or \
            not np.allclose(loop(), algorithm.round(prob, state, draw).x.numpy(), rtol=1e-12, atol=1e-12) or \
            not np.allclose(loop(), own.round(floats, begin, there).x, rtol=1e-12, atol=1e-12):
        raise AssertionError("the four routes of the benchmark disagree")
    base = median(loop, repeats)
    focus = random_quadratic(16, 2, 1)
    chances = [f"{k}/20" for k in range(2, 18)]
    return [
        ("plain Python loop, one FedAvg round", base, 1.0),
        ("derived operator, one round", median(lambda: M @ x + c, repeats, 200), None),
        ("numpy round", median(lambda: own.round(floats, begin, there), repeats), None),
        ("torch round", median(lambda: algorithm.round(prob, state, draw), repeats), None),
        ("derive the operator", median(lambda: derive(FedAvg(LR, STEPS), problem, Full()), min(repeats, 5)), None),
        *[
            (
                f"FOCUS, 16 Bernoulli clients, d=2, empty rounds {e}: mean-square rate from scratch",
                median(
                    lambda e=e: derive(Focus("1/200", 3), focus, Bernoulli(chances, empty=e)).mean_square_rate(),
                    min(repeats, 3),
                ),
                None,
            )
            for e in ("move", "skip", "redraw")
        ],
        (
            "its certified enclosure (relative width 1e-2)",
            median(lambda: derive(Focus("1/200", 3), short(focus), Bernoulli(chances)).certify(1e-2), 1),
            None,
        ),
    ]


def short(problem):
    """The same problem with entries rounded to 20-bit rationals, so that exact arithmetic stays short."""
    from fractions import Fraction

    def cut(a):
        return np.vectorize(lambda v: Fraction(round(float(v) * 2**20), 2**20), otypes=[object])(a)
    return Quadratic.from_linear(cut(problem.H), cut(problem.b))


__all__ = ["measure", "short"]
