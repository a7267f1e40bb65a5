"""FedNova with cross-client variance reduction and local momentum (FedNova, Algorithm 2), printed and repaired."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm, only_full
from fltheory.core.algorithms.solvers import Vanilla, descend, local_solver
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import spread
from fltheory.core.records import declared, one_of


class State(NamedTuple):
    """x (..., d) server model; d (..., n, d) the clients' normalised gradients of the last round."""

    x: Any
    d: Any


class _Corrected:
    """A cohort whose gradients carry the client corrections c_i."""

    def __init__(self, cohort, correction):
        self._cohort, self._correction, self.n = cohort, correction, cohort.n

    def grad(self, y, sample=None):
        return self._cohort.grad(y, sample) + self._correction


@dataclass(frozen=True)
class FedNovaVR(Algorithm):
    """Local gradients g + c_i with c_i = -d_i + sum_j p_j d_j; FedNova's server step; d_i = 0 before the first round.

    variant: "printed" (line 13: d_i from the model difference, which contains c_i) or "repaired" (c_i subtracted again,
    as Section 5 defines d_i). Full participation, as in the paper.
    """

    solver: Any = declared(local_solver, Vanilla())
    variant: str = declared(one_of("printed", "repaired", remedy="Choose how line 13 is read."), "repaired")
    stateful: ClassVar[bool] = True
    partial: ClassVar[bool] = False
    downlink: ClassVar[int] = 2  # x and sum_j p_j d_j (Algorithm 2, line 1)

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        only_full(draw)
        cohort = problem.at(draw.who)
        p = cohort.p[..., None]
        correction = (p * s.d).sum(-2)[..., None, :] - s.d
        change, mass = descend(self.solver, self.lr, _Corrected(cohort, correction), spread(s.x, draw.who), draw)
        d = 0 * change - change / mass
        x = s.x - (p * mass).sum(-2) * (p * d).sum(-2)
        return State(x, d if self.variant == "printed" else d - correction)
