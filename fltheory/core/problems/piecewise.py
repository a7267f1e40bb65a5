"""Clients on the line with a continuous, piecewise linear gradient: smooth, convex or not, and exact in rationals throughout."""
from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Who
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import Number, Numbers, fraction
from fltheory.core.problems.base import Constants, Problem, check_weights
from fltheory.core.problems.shapes import shaped


class PiecewiseQuadratic(Problem):
    """f_i'(y) = s_i0 y + sum_j (s_ij - s_i,j-1) max(y - t_ij, 0) - b_i, with f_i(0) = 0 where all knots are >= 0.

    slopes: (n, k + 1), of any sign, between k >= 1 knots; knots: (n, k), increasing; b: (n,); weights (n,), default uniform.
    calm: None, or (n,): noise at y is multiplied by min(1, |y - calm_i|), so that its variance depends on the state and stays
    below sigma^2. Raises BadInput on symbols, wrong shapes or knots out of order.
    """

    _data = ("slopes", "knots", "b", "calm")
    d = 1

    def __init__(self, slopes: Numbers, knots: Numbers, b: Numbers, weights: Numbers = None, calm: Numbers = None,
                 name: str = ""):
        self.slopes = shaped(slopes, "slopes", "n", "k+1")
        self.n, pieces = self.slopes.shape
        self.knots = shaped(knots, "knots", "n", "k", n=self.n, k=pieces - 1)
        self.b = shaped(b, "b", "n", n=self.n)
        self.calm = None if calm is None else shaped(calm, "calm", "n", n=self.n)
        self.weights, self.name = check_weights(weights, self.n), name
        if any(isinstance(v, Symbolic) for v in (*self.slopes.flat, *self.knots.flat)):
            refuse("slopes", slopes, "a kink has a place: symbols have no order", "Declare numbers.")
        if pieces < 2 or any(low >= high for row in self.knots for low, high in pairwise(row)):
            refuse("knots", knots, "each client has at least one knot, and its knots increase", "Sort them, without repetitions.")

    def _beyond(self, who: Who, y):
        """max(y - t_j, 0) (..., m, k) and the slopes that are added there (m, k)."""
        slopes, over = self._slopes[who], y - self._knots[who]
        if is_torch(over):
            return over.clamp(min=0), slopes[..., 1:] - slopes[..., :-1]
        return np.maximum(over, 0 * over), slopes[..., 1:] - slopes[..., :-1]

    def _gradient(self, who: Who, y, sample):
        over, added = self._beyond(who, y)
        g = self._slopes[who][..., :1] * y + (added * over).sum(-1)[..., None] - self._b[who][..., None]
        if sample is None:
            return g
        return g + (sample if self.calm is None else sample * self._loudness(y - self._calm[who][..., None]))

    @staticmethod
    def _loudness(away):
        if is_torch(away):
            return away.abs().clamp(max=1)
        return np.minimum(np.maximum(away, -away), 0 * away + 1)

    def _values(self, x):
        over, added = self._beyond(slice(None), x[..., None, :] + 0 * self._b[:, None])
        return self._slopes[..., 0] * x * x / 2 + (added * over * over).sum(-1) / 2 - self._b * x

    @property
    def constants(self) -> Constants:
        """L: the largest |slope|; mu: the smallest slope."""
        return Constants(max(abs(v) for v in self.slopes.flat), min(self.slopes.flat), True)

    # ---- exact facts about weighted sums -------------------------------------------------------------------
    def pieces(self) -> list:
        """[(low, high, a (n,), c (n,))]: f_i' = a_i y + c_i for low <= y <= high; None stands for infinity."""
        at = sorted({fraction(v) for v in self.knots.flat})
        out = []
        for low, high in pairwise([None, *at, None]):
            inside = at[0] - 1 if low is None else at[-1] + 1 if high is None else (low + high) / 2
            a, c = [], []
            for slopes, knots, b in zip(self.slopes, self.knots, self.b, strict=True):
                steps = [fraction(new) - fraction(old) for old, new in pairwise(slopes)]
                passed = [(s, fraction(t)) for s, t in zip(steps, knots, strict=True) if fraction(t) < inside]
                a.append(fraction(slopes[0]) + sum(s for s, _ in passed))
                c.append(-fraction(b) - sum(s * t for s, t in passed))
            out.append((low, high, a, c))
        return out

    def least(self, weights: Numbers = None) -> tuple | None:
        """(minimiser, infimum) of sum_i w_i f_i in Fractions; None where it is not bounded below. weights default: its own."""
        w = [fraction(v) for v in (self.weights if weights is None else weights)]
        places = []
        for low, high, a, c in self.pieces():
            slope, push = _dot(w, a), _dot(w, c)
            if (low is None and (slope < 0 or (slope == 0 and push > 0))) or (
                    high is None and (slope < 0 or (slope == 0 and push < 0))):
                return None
            places += [v for v in (low, high, -push / slope if slope else None) if v is not None and _within(v, low, high)]
        values = {x: _dot(w, self._at(x)) for x in places}
        best = min(values, key=values.__getitem__)
        return best, values[best]

    def dissimilarity(self, weights: Numbers, beta2: Number) -> Fraction | None:
        """The smallest kappa^2 with sum_i w_i |f_i'|^2 <= beta2 |sum_i w_i f_i'|^2 + kappa^2 everywhere; None if there is none."""
        w, beta2, most = [fraction(v) for v in weights], fraction(beta2), Fraction(0)
        for low, high, a, c in self.pieces():
            A, C = _dot(w, a), _dot(w, c)
            square = _dot(w, [v * v for v in a]) - beta2 * A * A
            linear = 2 * (_dot(w, [u * v for u, v in zip(a, c, strict=True)]) - beta2 * A * C)
            constant = _dot(w, [v * v for v in c]) - beta2 * C * C
            if None in (low, high) and (square > 0 or (square == 0 and (linear < 0 if low is None else linear > 0))):
                return None
            top = -linear / (2 * square) if square < 0 else None
            most = max([most, *(square * v * v + linear * v + constant for v in (low, high, top)
                                if v is not None and _within(v, low, high))])
        return most

    def _at(self, x):
        """Values (n,) of the clients at a Fraction."""
        return [fraction(slopes[0]) * x * x / 2 - fraction(b) * x
                + sum((fraction(new) - fraction(old)) * max(x - fraction(t), Fraction(0)) ** 2 / 2
                      for (old, new), t in zip(pairwise(slopes), knots, strict=True))
                for slopes, knots, b in zip(self.slopes, self.knots, self.b, strict=True)]


def _dot(u, v):
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def _within(v, low, high):
    return (low is None or low <= v) and (high is None or v <= high)
