"""Local SGD (Koloskova et al. 2020) in its federated use: every client always steps, participants average."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Law, Problem
from fltheory.core.laws.masks import Masks
from fltheory.core.numbers.arrays import put, spread
from fltheory.core.records import declared, one_of


class State(NamedTuple):
    """x (..., d) last average; w (..., n, d) the clients' own models."""

    x: Any
    w: Any


@dataclass(frozen=True)
class LocalSgd(Algorithm):
    """All clients, absent ones too, make their local steps from their own models; then the participants average.

    The average (p_i renormalised over the participants; equal p_i give the doubly stochastic mixing of the paper)
    becomes x and the model of every participant; absent clients keep stepping from their own. An empty round averages
    nothing: x stays, the clients step. Cohorts are masks over all clients: `derive` and `run` write the law so.
    report: what is measured as the server model: "average" (x, the last average) or "mean" (the plain mean of all local
    models, the paper's xbar, which nobody holds).
    """

    report: str = declared(one_of("average", "mean", remedy="Say which model is measured."), "average")
    stateful: ClassVar[bool] = True
    absent_act: ClassVar[bool] = True

    def law_for(self, law: Law, n: int) -> Law:
        return law if isinstance(law, Masks) else Masks(law)

    def model(self, state: State) -> Array:
        return state.x if self.report == "average" else state.w.sum(-2) / state.w.shape[-2]

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, x0[..., None, :] + 0 * problem.p[..., None])

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        if not isinstance(draw.who, slice):
            refuse("draw", "a list of participants", "absent clients step too, so cohorts are masks over all",
                   "Draw from Masks(law).")
        cohort, y = problem.at(draw.who), s.w
        for k, on in draw.local_steps():
            y = y - self.lr * on * cohort.grad(y, draw.xi_at(k))
        x = s.x + (shares(cohort, draw.present, "weighted")[..., None] * (y - spread(s.x))).sum(-2)
        return State(x, put(y, draw.who, spread(x), draw.present))
