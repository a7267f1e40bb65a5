"""FedAvg with any local solver (FedNova eq 2), FedProx among them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.solvers import Proximal, Vanilla, descend, local_solver
from fltheory.core.kinds import Array, Draw, Problem, Steps
from fltheory.core.numbers.arrays import ratio, spread
from fltheory.core.numbers.scalars import Curvature, Number, StepSize
from fltheory.core.problems.base import Cohort
from fltheory.core.records import declared, one_of


class State(NamedTuple):
    """x (..., d): server model."""

    x: Any



def shares(cohort, present, averaging):
    """Aggregation weights (..., m) of a cohort; 0 if it is empty.

    "weighted": p renormalised over it; "plain": 1/|S|; "unbiased": p_i n/|S|, which does not sum to 1 but has mean
    p_i under uniform sampling without replacement (FedNova, App. G, scheme (ii)).
    """
    one = 0 * cohort.p + 1
    if averaging == "unbiased":
        return ratio(cohort.n * cohort.p * present, (one * present).sum(-1, keepdims=True))
    w = (cohort.p if averaging == "weighted" else one) * present
    return ratio(w, w.sum(-1, keepdims=True))


@dataclass(frozen=True)
class FedAvg(Algorithm):
    """x <- x + sum_i s_i (y_i - x): each participant makes its local steps from x, the server averages.

    averaging: "weighted" (p_i renormalised over the participants), "plain" (1/|S|; with i.i.d. draws proportional to p
    this is scheme (i) of FedNova, App. G; "weighted" under `WithReplacement(q, p)` counts p twice, in the draw and in
    the average) or "unbiased" (p_i n/|S|, its scheme (ii)).
    """

    solver: Any = declared(local_solver, Vanilla())
    averaging: str = declared(one_of("weighted", "plain", "unbiased"), "weighted")

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Any:
        return State(x0)

    def server(self, x: Array, cohort: Cohort, draw: Draw, change: Array, mass: Array) -> Array:
        """Server step from the cohort's changes (..., m, d); mass (..., m, 1) is lr |a_i|_1, unused here."""
        return x + (shares(cohort, draw.present, self.averaging)[..., None] * change).sum(-2)

    def round(self, problem: Problem, s: Any, draw: Draw) -> Any:
        cohort = problem.at(draw.who)
        change, mass = descend(self.solver, self.lr, cohort, spread(s.x, draw.who), draw)
        return State(self.server(s.x, cohort, draw, change, mass))


def FedProx(lr: StepSize, steps: Steps = None, mu: Curvature | None = None, alpha: Number | None = None) -> FedAvg:
    """FedAvg with the proximal solver (FedNova eq 31): give mu or alpha = lr mu."""
    return FedAvg(lr, steps, Proximal(mu=mu, alpha=alpha))
