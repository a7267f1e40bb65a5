"""FedAvg reweighted by known participation probabilities."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.solvers import Vanilla, descend
from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import spread, take
from fltheory.core.numbers.scalars import Number, Numbers
from fltheory.core.records import declared, per_client, positive, within


class State(NamedTuple):
    """x (..., d): server model."""

    x: Any


def fits(array, problem: Problem, what):
    """Refuse a converted array (n,) that is not one number per client of the problem."""
    if tuple(array.shape) != tuple(problem.p.shape):
        refuse(what, tuple(array.shape), f"one number per client, so {problem.n} of them", "Give n numbers.")


def weighed(lr, problem: Problem, x, draw: Draw, weight):
    """sum over participants of p_i weight_i (u_i - x), not renormalised; u_i: local steps from x (..., d); weight (..., n)."""
    cohort = problem.at(draw.who)
    change, _ = descend(Vanilla(), lr, cohort, spread(x, draw.who), draw)
    return ((cohort.p * draw.present)[..., None] * take(weight[..., None], draw.who) * change).sum(-2)


@dataclass(frozen=True)
class Reweighted(Algorithm):
    """x <- x + server_lr sum_{i in S} (p_i/inclusion_i)(u_i - x): unbiased where the inclusion probabilities are true.

    inclusion: probabilities in (0, 1], one per client, for example `law.inclusion(n)`; p_i = 1/N in the papers. The
    weights of a round do not sum to 1, so its variance is larger than FedAvg's. An empty round keeps x.
    """

    inclusion: Numbers = declared(per_client(within(0, 1, "(]")), None, ("the method needs participation probabilities",
                                                                       "For example law.inclusion(n)."))
    server_lr: Number = declared(positive, 1)

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        fits(self.inclusion, problem, "inclusion")
        return State(x0)

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        return State(s.x + self.server_lr * weighed(self.lr, problem, s.x, draw, 1 / self.inclusion))
