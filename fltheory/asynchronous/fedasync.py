"""FedAsync (Xie et al. 2019) with constant, hinge and polynomial weights, and FedBuff (Nguyen et al. 2022): one arrival a round."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.asynchronous.arrivals import Arrival, Arriving, State, begin, restarted
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.algorithms.solvers import Vanilla, descend, local_solver
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import count, declared, one_of, positive, within


@dataclass(frozen=True)
class FedAsync(Arriving, Algorithm):
    """One round is one arrival, as in `AsyncFedED`: x <- (1 - a) x + a y_K, a = alpha s(lag) (asyncfeded, Eqs 40, 41).

    staleness: "constant", s = 1; "hinge", s = 1 up to b and 1/(a (lag - b) + 1) beyond; "polynomial", s = (1 + lag)^-a. The lag
    counts the server's changes since the client started (unit "arrivals"), or the time since (unit "time").
    alpha: in (0, 1]. solver: `Proximal(mu=...)` is the method's own penalty, around the model that the client started from.
    momentum, decay: as of `AsyncFedED`.
    """

    alpha: Number = declared(within(0, 1, "(]"), 1)
    staleness: str = declared(one_of("constant", "hinge", "polynomial"), "constant")
    a: Number = declared(positive, 1)
    b: Number = declared(within(0), 0)
    unit: str = declared(one_of("arrivals", "time"), "arrivals")
    solver: Any = declared(local_solver, Vanilla())
    momentum: str = declared(one_of("reset", "kept"), "reset")
    decay: Number = declared(within(0, 1, "(]"), None)

    def weight(self, lag: Array) -> Array:
        """alpha s(lag), (..., 1)."""
        if self.staleness == "polynomial":
            return self.alpha * (1 + lag) ** (0 - self.a)
        if self.staleness == "hinge":
            late = (lag - self.b) * (lag > self.b)
            return self.alpha / (self.a * late + 1)
        return self.alpha + 0 * lag

    def served(self, problem: Problem, s: State, draw: Draw, arrival: Arrival) -> State:
        lag = arrival.lag if self.unit == "arrivals" else arrival.elapsed
        x = s.x + self.weight(lag) * (arrival.delta - arrival.moved)
        return State(x, **restarted(self, problem, s, draw, arrival, x))


class Buffered(NamedTuple):
    """`State` with the sum (..., d) and the number (..., 1) of the changes that wait in the buffer."""

    x: Any
    base: Any
    began: Any
    finish: Any
    lag: Any
    K: Any
    rate: Any
    buffer: Any
    waiting: Any
    full: Any


@dataclass(frozen=True)
class FedBuff(Arriving, Algorithm):
    """One round is one arrival, as in `AsyncFedED`; Delta waits, and once `buffer` of them do x <- x + server_lr mean(Delta).

    momentum, decay: as of `AsyncFedED`."""

    buffer: int = declared(count(), 1)
    server_lr: Number = declared(positive, 1)
    solver: Any = declared(local_solver, Vanilla())
    momentum: str = declared(one_of("reset", "kept"), "reset")
    decay: Number = declared(within(0, 1, "(]"), None)

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Buffered:
        return Buffered(x0, *begin(self, problem, x0, draw), 0 * x0, 0 * x0[..., :1])  # type: ignore[call-arg]

    def served(self, problem: Problem, s: Buffered, draw: Draw, arrival: Arrival) -> Buffered:
        waiting, full = s.waiting + arrival.delta, s.full + 1
        now = (full >= self.buffer) * 1
        x = s.x + now * (self.server_lr * waiting / self.buffer)
        parts = restarted(self, problem, s, draw, arrival, x, moved=now)
        return Buffered(x, **parts, waiting=waiting * (1 - now), full=full * (1 - now))


class Stale(NamedTuple):
    """x (..., d) server model; base (..., n, d) models that the clients' runs started from."""

    x: Any
    base: Any


@dataclass(frozen=True)
class StaleSteps(Algorithm):
    """Asynchronous rounds whose arrivals the law chooses: memoryless, `Weighted(1, w)`, or a fixed pattern, `Cyclic([[0], [1]])`.

    An arrival brings Delta = y_K - base_i. mixing "update": x <- x + server_lr Delta, the rule of AsyncFedED with a constant
    step; "model": x <- (1 - server_lr) x + server_lr y_K, FedAsync with a constant weight in (0, 1]. It starts again from
    the new x. Several arrivals in one round count as their mean. Affine, so that fixed points, rates and floors are exact.
    """

    server_lr: Number = declared(positive, 1)
    mixing: str = declared(one_of("update", "model"), "update")
    solver: Any = declared(local_solver, Vanilla())
    stateful: ClassVar[bool] = True

    def __post_init__(self):
        super().__post_init__()
        if self.mixing == "model":
            within(0, 1, "(]", "A model is mixed with a weight of at most 1.")(self.server_lr, "server_lr")

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Stale:
        return Stale(x0, x0[..., None, :] + 0 * problem.p[..., None])  # type: ignore[attr-defined]

    def round(self, problem: Problem, s: Stale, draw: Draw) -> Stale:
        cohort, base = problem.at(draw.who), take(s.base, draw.who)
        change, _ = descend(self.solver, self.lr, cohort, base, draw)
        moves = change if self.mixing == "update" else change + base - spread(s.x, draw.who)
        x = s.x + self.server_lr * (shares(cohort, draw.present, "plain")[..., None] * moves).sum(-2)
        return Stale(x, put(s.base, draw.who, spread(x, draw.who) + 0 * base, draw.present))
