"""AsyncFedED: asynchronous aggregation weighted by the Euclidean distance of a stale base model."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.arrays import arange, ratio, take
from fltheory.core.records import declared, positive, within
from fltheory.core.scalars import Number


class State(NamedTuple):
    """x (..., d) server model; of each client: base (..., n, d) model its run started from, finish (..., n) time
    its run ends, K (..., n) steps of its run (whole numbers)."""

    x: Any
    base: Any
    finish: Any
    K: Any


@dataclass(frozen=True)
class AsyncFedED(Algorithm):
    """One round is one arrival: the client whose run ends first, the smallest index if several do.

    It uploads Delta = y_K - base; with gamma = |x - base|/|Delta| (0 if both vanish), x <- x + lam/(gamma + eps) Delta,
    K <- max(1, K + floor((gbar - gamma) kappa)), and it starts again at once from the new x. Delta = 0 with a moved
    server means gamma = infinity: x stays and K becomes 1 (kappa = 0 keeps K in every case).
    steps: K of the first runs. The law is `EventClock`, whose paces make a run of client i last c_i K_i; without
    one all paces are 1. Not affine: steps of the server depend on distances.
    """

    lam: Number = declared(positive, 1)
    eps: Number = declared(positive, 1)
    gbar: Number = declared(within(0), 3)
    kappa: Number = declared(within(0, remedy="kappa = 0 keeps the number of steps."), 0)
    affine: ClassVar[bool] = False
    stateful: ClassVar[bool] = True

    def init(self, problem, x0, draw=None):
        steps = draw.steps if draw is not None else 1 if self.steps is None else problem.domain.array(self.steps)
        K = 0 * (x0[..., :1] + problem.p) + steps
        return State(x0, x0[..., None, :] + 0 * problem.p[..., None], _pace(draw) * K, K)

    def round(self, problem, s, draw):
        who = s.finish.argmin(-1)[..., None]                          # the arrival (..., 1)
        K, base = take(s.K[..., None], who)[..., 0], take(s.base, who)
        arrival = draw.choose(who, K)
        cohort, y = problem.at(who), base
        for k, on in arrival.local_steps():
            y = y - self.lr * on * cohort.grad(y, arrival.xi_at(k))
        delta, moved = (y - base)[..., 0, :], s.x - base[..., 0, :]
        length, distance = _norm(delta), _norm(moved)
        gamma = ratio(distance, length)
        x = s.x + self.lam / (gamma + self.eps) * delta
        K = K + (self.gbar - gamma) * self.kappa // 1
        never = (length == 0) * (distance != 0) * (self.kappa != 0)    # gamma is infinite
        K = K + (1 - K) * (((K < 1) + never) != 0)
        here = (arange(problem.n, who) == who) * 1                     # (..., n)
        return State(x, _replace(s.base, here[..., None], x[..., None, :]),
                     s.finish + here * _pace(draw) * K, _replace(s.K, here, K))


def _pace(draw):
    return 1 if draw is None or draw.extra is None else draw.extra.get("pace", 1)


def _norm(v):
    return (v * v).sum(-1, keepdims=True) ** 0.5


def _replace(old, here, new):
    """`new` where `here` is 1, without rounding: a client that starts from x holds exactly x."""
    return old * (1 - here) + new * here


__all__ = ["AsyncFedED", "State"]
