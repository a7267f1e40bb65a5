"""What asynchronous methods share: who arrives, the run that it brings, and its next start.

A state holds of each client the model `base` (..., n, d) its run started from, the times `began` and `finish` (..., n) of that run,
its `lag` (..., n), the server's changes since it started, and its number of local steps `K` (..., n). The law is `EventClock`.
"""
from __future__ import annotations

from math import isqrt

import numpy as np

from fltheory.core.algorithms.solvers import descend
from fltheory.core.arrays import arange, take
from fltheory.core.errors import Inexact

NEVER = 2**62   # a client without local steps does not come again


def begin(algorithm, problem, x0, draw):
    """(base, began, finish, lag, K) where all clients start from x0 at time 0."""
    steps = draw.steps if draw is not None else 1 if algorithm.steps is None else problem.domain.array(algorithm.steps)
    zero = 0 * (x0[..., :1] + problem.p)
    K = zero + steps
    return x0[..., None, :] + 0 * problem.p[..., None], zero, lasts(draw, K, "first"), zero, K


def lasts(draw, K, hang="hang"):
    """The time (..., n) that a run of K steps takes each client: compute time, longer by the hang, and transmission."""
    extra = {} if draw is None or draw.extra is None else draw.extra
    time = extra.get("pace", 1) * K
    if hang in extra:
        time = time + time * extra[hang]
    return time + extra.get("transmission", 0) + NEVER * (K < 1)


def arrives(s):
    """The client (..., 1) whose run ends first, the smallest index if several do."""
    return s.finish.argmin(-1)[..., None]


def of(values, who):
    """The entry (..., 1) of numbers per client (..., n) that belongs to the arrival."""
    return take(values[..., None], who)[..., 0]


def brought(algorithm, problem, s, draw, who):
    """(Delta, x - base), each (..., d), of an arrival: what its local steps changed, and how far the server moved meanwhile."""
    base = take(s.base, who)
    change, _ = descend(algorithm.solver, algorithm.lr, problem.at(who), base, draw.choose(who, of(s.K, who)))
    return change[..., 0, :], s.x - base[..., 0, :]


def restarted(problem, s, draw, who, x, K, moved=1, steps=None):
    """The parts of the state of which an arrival changes its own entry: it starts again at once from x with K steps.

    moved: 1 where the server's model changed, which makes everybody else's lag larger by one; steps: how many of the K steps it
    makes, where K is no whole number.
    """
    here = (arange(problem.n, who) == who) * 1                     # (..., n)
    now, count = of(s.finish, who), 0 * s.K + (K if steps is None else steps)
    return {"base": put(s.base, here[..., None], x[..., None, :]), "began": put(s.began, here, now),
            "finish": put(s.finish, here, now + lasts(draw, count)), "lag": (s.lag + moved) * (1 - here), "K": put(s.K, here, K)}


def put(old, here, new):
    """`new` where `here` is 1, without rounding: a client that starts from x holds exactly x."""
    return old * (1 - here) + new * here


def norm(v):
    """Lengths (..., 1); exact in rationals where they are rational, as on the line."""
    square = (v * v).sum(-1, keepdims=True)
    return square ** 0.5 if not _rational(square) else _each(_root, square)


def whole(v):
    """v rounded down, in floats and in rationals."""
    return v // 1 if not _rational(v) else _each(lambda q: q.floor(), v)


def _rational(v):
    return isinstance(v, np.ndarray) and v.dtype.kind == "O" and all(type(q).__name__ == "fmpq" for q in v.reshape(-1))


def _each(function, v):
    out = np.empty(v.shape, dtype=object)
    out.reshape(-1)[:] = [type(q)(function(q)) for q in v.reshape(-1)]
    return out


def _root(square):
    top, bottom = (isqrt(int(part)) for part in (square.p, square.q))
    root = type(square)(top, bottom)
    if root * root != square:
        raise Inexact(f"the length sqrt({square}) is no rational: run in ft.FLOAT, or on the line")
    return root
