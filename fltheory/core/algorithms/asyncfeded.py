"""AsyncFedED: asynchronous aggregation weighted by the Euclidean distance of a stale base model."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.arrivals import arrives, begin, brought, norm, of, put, restarted, whole
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.solvers import Vanilla, local_solver
from fltheory.core.arrays import ratio
from fltheory.core.records import declared, flag, one_of, positive, within
from fltheory.core.scalars import Number


class State(NamedTuple):
    """x (..., d) server model; of each client: base (..., n, d) model its run started from, began and finish (..., n) times
    of its run, lag (..., n) changes of the server since then, K (..., n) steps of its run."""

    x: Any
    base: Any
    began: Any
    finish: Any
    lag: Any
    K: Any


@dataclass(frozen=True)
class AsyncFedED(Algorithm):
    """One round is one arrival: the client whose run ends first, the smallest index if several do.

    It uploads Delta = y_K - base; with gamma = |x - base|/|Delta| (0 if both vanish), x <- x + lam/(gamma + eps) Delta,
    K <- max(1, K + floor((gbar - gamma) kappa)), and it starts again at once from the new x (asyncfeded, Eqs 5 to 8). Delta = 0
    with a moved server means gamma = infinity: x stays and K becomes 1 (kappa = 0 keeps K in every case).
    steps: K of the first runs. The law is `EventClock`, which says how long a run takes; without one a step takes 1.
    Not affine: steps of the server depend on distances.

    What the paper leaves open: rounding: "down", or "strict", the largest integer smaller than (gbar - gamma) kappa, as its words
    say; clamp: whether K stays >= 1 (without, a client whose K falls below 1 does not come again); real: K changes by
    (gbar - gamma) kappa itself and is rounded down where it is used; discard: updates of larger gamma are dropped, and the client
    starts again from x (Assumption 4; None: none is); solver: the client's optimiser, its buffer at 0 at the start of each run.
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
    affine: ClassVar[bool] = False
    stateful: ClassVar[bool] = True
    arrivals: ClassVar[bool] = True

    def init(self, problem, x0, draw=None):
        return State(x0, *begin(self, problem, x0, draw))

    def staleness(self, delta, moved):
        """(gamma, 1 where it is infinite), each (..., 1)."""
        length, distance = norm(delta), norm(moved)
        return ratio(distance, length), (length == 0) * (distance != 0) * 1

    def next_steps(self, K, gamma, never):
        """K of the client's next run."""
        change = (self.gbar - gamma) * self.kappa
        if not self.real:
            change = whole(change) if self.rounding == "down" else 0 - whole(0 - change) - 1
        new = K + change * (self.kappa != 0)
        one = never * (self.kappa != 0)
        return put(new, ((new < 1) * self.clamp + one != 0) * 1, 1)

    def round(self, problem, s, draw):
        who = arrives(s)
        delta, moved = brought(self, problem, s._replace(K=whole(s.K)) if self.real else s, draw, who)
        gamma, never = self.staleness(delta, moved)
        old = of(s.K, who)
        kept = here = (old >= 1) * 1   # who has gone has gone
        if self.discard is not None:
            kept = kept * (gamma <= self.discard) * (1 - never)
        x = s.x + kept * (self.lam / (gamma + self.eps) * delta)
        K = put(old, here, self.next_steps(old, gamma, never))
        return State(x, **restarted(problem, s, draw, who, x, K, kept, whole(K) if self.real else K))


__all__ = ["AsyncFedED", "State"]
