"""Scaffnew (Mishchenko et al. 2022, ProxSkip for federated learning): local steps corrected by shifts that sum to 0."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm, fixed_steps
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import declared, one_of, within


class State(NamedTuple):
    """x (..., d) server model; h (..., n, d) shifts."""

    x: Any
    h: Any


class LateState(NamedTuple):
    """x (..., d) server model; h (..., n, d) shifts; last (..., n, d) each client's last local model."""

    x: Any
    h: Any
    last: Any


@dataclass(frozen=True)
class Scaffnew(Algorithm):
    """tau local steps y_i <- y_i - lr (g - h_i) from x, then x <- sum s_i y_i: Scaffnew with a fixed tau between averages.

    Published for all clients, with h_i <- h_i + (x_new - y_i)/(lr tau). Under partial participation either
    update="immediate": this update for the participants, with the average x_new of the round in which they took part
    (it must be sent to them: they will pull another model next time); sum_i p_i h_i = 0 is kept where steps are equal.
    update="late": h_i <- h_i + (x - y_i)/(lr tau) at the client's next pull, with the model x it pulls then and its own
    last local model y_i; under full participation the same, otherwise sum_i p_i h_i drifts.

    Averages are weighted by p_i, renormalised over the participants; tau is each client's own number of steps in the
    round. h_i = 0 at the start, so first local steps are plain. With "late" the last local model of a client that never
    took part is x0: its first pull changes h_i by (x - x0)/(lr tau), which is 0 in the first round only. Absent clients
    keep h_i and their last local model; an empty round changes nothing. One vector each way, as published.
    """

    update: str = declared(one_of("immediate", "late", remedy="Say when a participant moves its shift."), "immediate")
    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State | LateState:
        each = x0[..., None, :] + 0 * problem.p[..., None]
        return State(x0, 0 * each) if self.update == "immediate" else LateState(x0, 0 * each, each)

    def round(self, problem: Problem, s: Any, draw: Draw) -> State | LateState:
        cohort = problem.at(draw.who)
        x, h, length = spread(s.x, draw.who), take(s.h, draw.who), draw.steps[..., None] * self.lr
        if self.update == "late":
            h = h + (x - take(s.last, draw.who)) / length
        y = x
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) - h)
        new = s.x + (shares(cohort, draw.present, "weighted")[..., None] * (y - x)).sum(-2)
        if self.update == "immediate":
            return State(new, put(s.h, draw.who, h + (spread(new) - y) / length, draw.present))
        return LateState(new, put(s.h, draw.who, h, draw.present), put(s.last, draw.who, y, draw.present))


class Iterates(NamedTuple):
    """x (..., d) last average; y (..., n, d) local models after their last step; h (..., n, d) shifts."""

    x: Any
    y: Any
    h: Any


@dataclass(frozen=True)
class ProxSkip(Algorithm):
    """Scaffnew with its coin: one round is one iteration of all clients, the law `Coin(p)` says whether they average.

    If the coin shows 1, x <- sum p_j y_j, h_i <- h_i + (p/lr)(x - y_i) and y_i <- x; then y_i <- y_i - lr (g - h_i) for
    all. Published with the step before the coin: here the first coin changes nothing (all start at x0 with h_i = 0), and
    x after round r + 1 is the published average after iteration r.
    p: the probability in (0, 1] that scales the shift's correction, published equal to the law's; the fixed point does
    not depend on it. Full participation only; a law without coin averages in every round. steps: local steps of one
    iteration, published as 1, the same in every round (lr in the update of h_i becomes lr times steps).
    """

    steps: Any = declared(fixed_steps, 1)
    p: Number = declared(within(0, 1, "(]", "p = 1 averages in every iteration."), None,
                         ("the shifts need the probability of communication", "Give it here and to the law, Coin(p)."))
    stateful: ClassVar[bool] = True
    partial: ClassVar[bool] = False

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Iterates:
        each = x0[..., None, :] + 0 * problem.p[..., None]
        return Iterates(x0, each, 0 * each)

    def round(self, problem: Problem, s: Iterates, draw: Draw) -> Iterates:
        coin = 1 if draw.extra is None else draw.extra.get("coin", 1)
        coins = coin[..., None] if hasattr(coin, "ndim") else coin  # type: ignore[index]
        mean = (problem.p[..., None] * s.y).sum(-2)
        move = coins * (spread(mean) - s.y)
        h = s.h + self.p * move / (draw.steps[..., None] * self.lr)
        cohort, y = problem.at(draw.who), s.y + move
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) - h)
        return Iterates(s.x + coin * (mean - s.x), y, h)
