"""FedVARP (Jhunjhunwala et al. 2022): the server's memory of every client's last update reduces the sampling variance."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.algorithms.solvers import Vanilla, descend
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import declared, positive


class State(NamedTuple):
    """x (..., d) server model; y (..., n, d) last updates x - u_i, kept at the server."""

    x: Any
    y: Any


@dataclass(frozen=True)
class FedVarp(Algorithm):
    """x <- x - server_lr (sum_{i in S} s_i (D_i - y_i) + sum_i p_i y_i), then y_i <- D_i for i in S; D_i = x - u_i.

    s_i: p_i renormalised over the participants (1/|S| and 1/N in the paper). y_i = 0 at the start. An empty round moves x
    by the memory's mean.
    """

    server_lr: Number = declared(positive, 1)
    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort = problem.at(draw.who)
        change, _ = descend(Vanilla(), self.lr, cohort, spread(s.x, draw.who), draw)
        update = 0 * change - change
        news = (shares(cohort, draw.present, "weighted")[..., None] * (update - take(s.y, draw.who))).sum(-2)
        step = news + (problem.p[..., None] * s.y).sum(-2)
        return State(s.x - self.server_lr * step, put(s.y, draw.who, update, draw.present))
