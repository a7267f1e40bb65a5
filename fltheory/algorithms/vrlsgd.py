"""VRL-SGD with unequal local steps, in the two readings of FedNova's experiments."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.records import declared, one_of


class State(NamedTuple):
    """x (..., d) server model; D (..., n, d) client corrections."""

    x: Any
    D: Any


@dataclass(frozen=True)
class VRLSGD(Algorithm):
    """Local step y <- y - lr (g - D_i); x <- sum s_i y_i; D_i <- D_i + (x_new - y_i)/(tau lr), D_i = 0 at the start.

    divisor: "own" (tau is the client's own number of steps; the reading that reproduces the divergence reported under
    random steps) or "mean" (tau is the plain mean over the cohort).
    """

    divisor: str = declared(one_of("own", "mean", remedy="Choose which number of steps divides."), "own")
    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort = problem.at(draw.who)
        x, D = spread(s.x, draw.who), take(s.D, draw.who)
        y = x
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) - D)
        new = s.x + (shares(cohort, draw.present, "weighted")[..., None] * (y - x)).sum(-2)
        tau = draw.steps + 0 * draw.present
        if self.divisor == "mean":
            plain = shares(cohort, draw.present, "plain")
            tau = (plain * tau).sum(-1, keepdims=True) + 1 - plain.sum(-1, keepdims=True)  # 1 where nobody is present
        return State(new, put(s.D, draw.who, D + (spread(new) - y) / (tau[..., None] * self.lr), draw.present))
