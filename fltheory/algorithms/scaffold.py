"""SCAFFOLD (Karimireddy et al. 2020), options I and II, with each client's own number of local steps."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import count, declared, positive


class State(NamedTuple):
    """x (..., d) server model; c (..., d) server variate; ci (..., n, d) client variates."""

    x: Any
    c: Any
    ci: Any


@dataclass(frozen=True)
class Scaffold(Algorithm):
    """Local step y <- y - lr (g - c_i + c), server x <- x + server_lr sum s_i (y_i - x); c keeps sum_i p_i c_i.

    option: 2, c_i <- c_i - c + (x - y)/(steps lr), or 1, c_i <- a fresh gradient at x (one more sample, in the slot
    after the local steps). Client and server variates start at 0.
    """

    option: int = declared(count(1, 2, "is 1 or 2", "Choose how the client variate is updated."), 2)
    server_lr: Number = declared(positive, 1)
    stateful: ClassVar[bool] = True
    uplink: ClassVar[int] = 2    # y_i - x and c_i's change, as published; the first alone would do
    downlink: ClassVar[int] = 2  # x and c

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, 0 * x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort = problem.at(draw.who)
        x, c, ci = spread(s.x, draw.who), spread(s.c, draw.who), take(s.ci, draw.who)
        y = x
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) - ci + c)
        if self.option == 2:
            new = ci - c + (x - y) / (draw.steps[..., None] * self.lr)
        else:
            new = cohort.grad(x + 0 * ci, draw.xi_at(k + 1))
        share = shares(cohort, draw.present, "weighted")[..., None]
        weight = (cohort.p * draw.present)[..., None]
        return State(s.x + self.server_lr * (share * (y - x)).sum(-2),
                     s.c + (weight * (new - ci)).sum(-2),
                     put(s.ci, draw.who, new, draw.present))
