"""AsyncFedED: asynchronous aggregation weighted by the Euclidean distance of a stale base model."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.asynchronous.arrivals import Arrival, Arriving, State, arrived, arrives, of, put, restarted
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.solvers import Vanilla, local_solver
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import finite, norm, ratio, whole
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import declared, flag, one_of, positive, within


@dataclass(frozen=True)
class AsyncFedED(Arriving, Algorithm):
    """One round is one arrival: the client whose run ends first, the smallest index if several do.

    It uploads Delta = y_K - base; with gamma = |x - base|/|Delta| (0 if both vanish), x <- x + lam/(gamma + eps) Delta,
    K <- max(1, K + floor((gbar - gamma) kappa)), and it starts again at once from the new x (asyncfeded, Eqs 5 to 8). Delta = 0
    with a moved server means gamma = infinity: x stays and K becomes 1 (kappa = 0 keeps K in every case). So does a quotient beyond
    the range of floats.
    steps: K of the first runs. The law is `EventClock`, which says how long a run takes; without one a step takes 1.
    Not affine: steps of the server depend on distances.

    What the paper leaves open: rounding: "down", or "strict", the largest integer smaller than (gbar - gamma) kappa, as its words
    say; clamp: whether K stays >= 1 (without, a client whose K falls below 1 does not come again); real: K changes by
    (gbar - gamma) kappa itself and is rounded down where it is used; discard: updates of larger gamma are dropped, and the client
    starts again from x (Assumption 4; None: none is); solver: the client's optimiser; momentum: "reset", its buffer starts at 0 in
    every run, or "kept", it goes on where the client's last run left it; decay: in (0, 1], the local step of a client's r-th run,
    r = 0, 1, .., is lr decay^r (None: constant).
    """

    lam: Number = declared(positive, 1)
    eps: Number = declared(positive, 1)
    gbar: Number = declared(within(0), 3)
    kappa: Number = declared(within(0, remedy="kappa = 0 keeps the number of steps."), 0)
    solver: Any = declared(local_solver, Vanilla())
    discard: Number = declared(positive, None)
    rounding: str = declared(one_of("down", "strict"), "down")
    clamp: bool = declared(flag, True)
    real: bool = declared(flag, False)
    momentum: str = declared(one_of("reset", "kept"), "reset")
    decay: Number = declared(within(0, 1, "(]"), None)

    def staleness(self, delta: Array, moved: Array) -> tuple[Array, Array]:
        """(gamma, 1 where it is infinite), each (..., 1)."""
        length, distance = norm(delta), norm(moved)
        gamma, lost = finite(ratio(distance, length))   # lengths leave the range of floats where a run diverges
        return gamma, ((length == 0) * (distance != 0) + lost != 0) * 1

    def next_steps(self, K: Array, gamma: Array, never: Array) -> Array:
        """K of the client's next run."""
        change = (self.gbar - gamma) * self.kappa
        if not self.real:
            change = whole(change) if self.rounding == "down" else 0 - whole(0 - change) - 1
        new = K + change * (self.kappa != 0)
        one = never * (self.kappa != 0)
        return put(new, ((new < 1) * self.clamp + one != 0) * 1, 1)

    def arrival(self, problem: Problem, s: State, draw: Draw) -> Arrival:
        who = arrives(s)
        return arrived(self, problem, s, draw, who, whole(of(s.K, who)) if self.real else None)

    def served(self, problem: Problem, s: State, draw: Draw, arrival: Arrival) -> State:
        gamma, never = self.staleness(arrival.delta, arrival.moved)
        on = counts = (arrival.K >= 1) * 1   # who has gone has gone
        if self.discard is not None:
            counts = counts * (gamma <= self.discard) * (1 - never)
        x = s.x + counts * (self.lam / (gamma + self.eps)) * arrival.delta
        K = put(arrival.K, on, self.next_steps(arrival.K, gamma, never))
        return State(x, **restarted(self, problem, s, draw, arrival, x, K, counts, whole(K) if self.real else K))
