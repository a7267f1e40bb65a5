"""Server-side optimisers on FedNova's aggregated step: momentum (with local momentum: hybrid) and an adaptive step."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.algorithms.fednova import FedNova
from fltheory.core.algorithms.solvers import descend
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import spread
from fltheory.core.numbers.scalars import Length, Number
from fltheory.core.records import declared, positive, within


class State(NamedTuple):
    """x (..., d) server model; v (..., d) server buffer."""

    x: Any
    v: Any


@dataclass(frozen=True)
class ServerMomentum(FedNova):
    """v <- beta v + (x - x_agg)/lr, x <- x - lr v, where x_agg is FedNova's plain update; v = 0 at the start.

    beta in [0, 1); with a `Momentum` solver this is the paper's hybrid momentum (local buffers are reset each round).
    """

    beta: Number = declared(within(0, 1, "[)", remedy="For example '9/10'."), 0)

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Any:
        return State(x0, 0 * x0)

    def _aggregated(self, problem: Problem, x, draw: Draw):
        """FedNova's plain update of the server model x (..., d)."""
        cohort = problem.at(draw.who)
        change, mass = descend(self.solver, self.lr, cohort, spread(x, draw.who), draw)
        return self.server(x, cohort, draw, change, mass)

    def round(self, problem: Problem, s: Any, draw: Draw) -> Any:
        v = self.beta * s.v + (s.x - self._aggregated(problem, s.x, draw)) / self.lr
        return State(s.x - self.lr * v, v)


@dataclass(frozen=True)
class AdaptiveServer(ServerMomentum):
    """AdaGrad on FedNova's aggregated step: v <- v + D^2, x <- x + server_lr D/(sqrt(v) + epsilon), D = x_agg - x.

    server_lr > 0, epsilon > 0. Not affine: runs only.
    """

    server_lr: Length = declared(positive, 1)
    epsilon: Length = declared(positive, 1)
    affine: ClassVar[bool] = False

    def round(self, problem: Problem, s: Any, draw: Draw) -> Any:
        step = self._aggregated(problem, s.x, draw) - s.x
        v = s.v + step * step
        return State(s.x + self.server_lr * step / (v**0.5 + self.epsilon), v)
