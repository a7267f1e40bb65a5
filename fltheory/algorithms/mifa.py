"""MIFA (Gu et al. 2021): the server keeps every client's last update and averages them all."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.solvers import Vanilla, descend
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread


class State(NamedTuple):
    """x (..., d) server model; G (..., n, d) last updates (x - y_i)/lr, kept at the server."""

    x: Any
    G: Any


@dataclass(frozen=True)
class Mifa(Algorithm):
    """Participants make their local steps from x and replace G_i by (x - y_i)/lr; x <- x - lr sum_i p_i G_i over all.

    G_i = 0 before a client's first round (the original has everybody take part in the first one). The server moves in
    empty rounds too.
    """

    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort = problem.at(draw.who)
        change, _ = descend(Vanilla(), self.lr, cohort, spread(s.x, draw.who), draw)
        G = put(s.G, draw.who, (0 * change - change) / self.lr, draw.present)
        return State(s.x - self.lr * (problem.p[..., None] * G).sum(-2), G)
