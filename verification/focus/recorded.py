"""FOCUS with a passive memory: the points z_i where the clients' stored gradients were evaluated.

With noise the state (x, y, g_i) no longer determines z_i. `Recorded` runs the coded round as it is, on a problem that
notes the points it is asked at, so that B = sum_i |x - z_i|^2 becomes a quadratic form of the state.
"""
from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import put
from fltheory.core.numbers.scalars import Numbers


class _Noted:
    """A problem that remembers the last points at which a cohort's gradients were asked for."""

    def __init__(self, problem):
        self._problem, self.last = problem, None

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def at(self, *who):
        cohort, note = self._problem.at(*who), self

        class Cohort:
            def __getattr__(self, name):
                return getattr(cohort, name)

            def grad(self, y, sample=None):
                note.last = y
                return cohort.grad(y, sample)
        return Cohort()


@cache
def _with_points(kind):
    return namedtuple("Recorded" + kind.__name__, (*kind._fields, "z"))


@dataclass(frozen=True)
class Recorded(Algorithm):
    """inner: the algorithm that runs; points (n, d): z_i before anybody took part. z never enters the inner round.

    Clients that take part make the same number of local steps, so that the last evaluation is everybody's.
    """

    inner: Any = None
    points: Numbers = None
    stateful = True

    def init(self, problem, x0, draw=None):
        s = self.inner.init(problem, x0, draw)
        return _with_points(type(s))(*s, self.points + 0 * x0[..., None, :])

    def round(self, problem, s, draw):
        kind, noted = type(self.inner.init(problem, s.x)), _Noted(problem)
        new = self.inner.round(noted, kind(*s[:-1]), draw)
        return type(s)(*new, put(s.z, draw.who, noted.last, draw.present))


def recorded(instance):
    """The instance with its algorithm, in whatever variant, recorded; z_i starts at client i's minimiser, where its
    gradient is the 0 that the literal start stores."""
    a = instance.algorithm
    p = instance.problem
    points = [linalg.solve(h, b).tolist() for h, b in zip(p.H, p.b, strict=True)]
    return instance.but(algorithm=Recorded(a.lr, a.steps, a, points))


def spread_form(names):
    """B = sum_i |x - z_i|^2 on the line as a matrix over a recorded state with these coordinates."""
    V, x = np.zeros((len(names),) * 2, dtype=np.int64), names.index("x[0]")
    for k, name in enumerate(names):
        if name.startswith("z["):
            V[x, x] += 1
            V[k, k] += 1
            V[x, k] = V[k, x] = -1
    return V


class Path:
    """Equal clients along their rounds from x0, points noted: E|x - x*|^2, B and eta^2 E|y|^2 of any round, however many clients.

    Minimisers at 0.
    """

    def __init__(self, i):
        j, n = recorded(i), i.problem.n
        self.crowd, self.X, self.seen = j.exchangeable, j.exchangeable.begin(i.x0), 0
        names = self.crowd.names
        x, y, mean, apart = (names.index(v) for v in ("x[0]", "y[0]", "mean z[0][0]", "deviation z[0][0]"))
        self.forms = [0 * self.X for _ in range(3)]
        A, B, move = self.forms
        A[x, x], move[y, y] = Fraction(1), Fraction(i.eta) ** 2
        B[x, x] = B[mean, mean] = B[apart, apart] = Fraction(n)
        B[x, mean] = B[mean, x] = Fraction(-n)

    def at(self, r):
        """[E|x - x*|^2, B, eta^2 E|y|^2] before round r; r must not fall."""
        self.X, self.seen = self.crowd.after(self.X, r - self.seen), r
        return [self.crowd.value(V, self.X) for V in self.forms]
