"""FOCUS (Algorithm 1 of FOCUS/SG-FOCUS): push-pull gradient tracking under arbitrary participation."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import declared, one_of


class State(NamedTuple):
    """x (..., d) server model; y (..., d) sum of stored gradients; g (..., n, d) stored gradients."""

    x: Any
    y: Any
    g: Any


_START = one_of("zero", "warm", rule='is "zero" (I1) or "warm" (I2); I3 (warm g with y = 0) never moves', remedy="Choose one.")


@dataclass(frozen=True)
class Focus(Algorithm):
    """Participants track their gradient along local moves and push the sum of changes; the server always moves.

    init: "zero" (I1: y = 0, g = 0, the literal start) or "warm" (I2: g_i = grad f_i(x0), y = sum g_i; one full
    pass). The start with warm g and y = 0 (I3) is frozen at x0 for ever and is refused.
    """

    start: str = declared(_START, "zero")
    stateful: ClassVar[bool] = True

    def __init__(self, lr: Number, steps: Any = None, init: str = "zero", start: str | None = None):
        self.give(lr=lr, steps=steps, start=_START(init if start is None else start, "init"))  # `replace` passes fields by name

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        at_x0 = x0[..., None, :] + 0 * problem.p[..., None]
        if self.start == "zero":
            return State(x0, 0 * x0, 0 * at_x0)
        g = problem.grad(at_x0, None if draw is None else draw.xi_at(0))
        return State(x0, g.sum(-2), g)

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort = problem.at(draw.who)
        u = spread(s.x, draw.who)
        old = stored = take(s.g, draw.who)
        v = 0 * old
        for k, on in draw.local_steps():
            g = stored + on * (cohort.grad(u, draw.xi_at(k)) - stored)
            v, stored = v + (g - stored), g  # (...) keeps finished clients bit-identical
            u = u - self.lr * on * v
        y = s.y + (draw.present[..., None] * v).sum(-2)
        return State(s.x - self.lr * y, y, put(s.g, draw.who, stored, draw.present))
