"""FedProx whose clients predict with their own copies (Federated Residual Learning, Eq 14)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread
from fltheory.core.numbers.scalars import Curvature
from fltheory.core.records import declared, within


class State(NamedTuple):
    """x (..., d) server model; own (..., n, d) the clients' copies before they were averaged."""

    x: Any
    own: Any


@dataclass(frozen=True)
class LocalProx(Algorithm):
    """y_i <- y_i - lr (g_i(y_i) + mu (y_i - x)) from y_i = x, then x is the mean of the y_i, which clients keep to predict.

    mu >= 0: weight of the proximal term. The rounds of x are FedProx's; `own` are the y_i, x itself at the start. Absent
    clients keep theirs.
    """

    mu: Curvature = declared(within(0), 0)
    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, x0[..., None, :] + 0 * problem.p[..., None])

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort, x = problem.at(draw.who), spread(s.x, draw.who)
        y = x
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) + self.mu * (y - x))
        share = shares(cohort, draw.present, "weighted")[..., None]
        return State(s.x + (share * (y - x)).sum(-2), put(s.own, draw.who, y, draw.present))
