"""Griewank functions tilted by vectors v_i that sum to 0: clients that are not convex, with sigma_g = max |v_i| exactly."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.problems.base import Constants, Problem, check_weights
from fltheory.core.problems.shapes import shaped


class Griewank(Problem):
    """f_i(x) = 1 + |x|^2/4000 - prod_j cos(x_j/sqrt(j)) + <v_i, x>, d = 1 or 2, in floats or balls.

    v: (n, d) with sum 0, weights uniform. L = 1 + 1/2000 for both d (asyncfeded, griewank-constants).
    """

    _data, rational = ("v",), False

    def __init__(self, v, name=""):
        self.v = shaped(v, "v", "n", "d")
        self.n, self.d = self.v.shape
        self.weights, self.name = check_weights(None, self.n), name
        if self.d > 2 or any(self.v.sum(0)):
            refuse("v", v, "vectors in one or two dimensions with sum 0", "Subtract their mean.")

    def _prepare(self):
        self._roots = self.domain.array(np.array([1, 2][:self.d], dtype=object)) ** self.domain.scalar(Q(1, 2))

    def _gradient(self, who, y, sample):
        angle = y / self._roots
        c, s = _each(angle, "cos"), _each(angle, "sin")
        other = c[..., ::-1] if self.d == 2 and not is_torch(c) else c.flip(-1) if self.d == 2 else 0 * c + 1
        g = y / 2000 + s * other / self._roots + self._v[who]
        return g if sample is None else g + sample

    def _values(self, x):
        cosines = _each(x / self._roots, "cos")
        product = cosines[..., :1] * cosines[..., 1:] if self.d == 2 else cosines
        return 1 + (x * x).sum(-1, keepdims=True) / 4000 - product + (self._v * x[..., None, :]).sum(-1)

    @property
    def constants(self) -> Constants:
        return Constants(Q(2001, 2000), Q(-1999, 2000), True)

    @property
    def sigma_g2(self):
        """The least sigma_g^2 of Assumption 3: gradients of clients differ from that of F by v_i."""
        return max(sum(ft.fraction(u) ** 2 for u in row) for row in self.v)


def _each(a, function):
    """cos or sin of every entry: floats, tensors or balls."""
    if is_torch(a) or a.dtype != object:
        return getattr(a, function)() if is_torch(a) else getattr(np, function)(a)
    out = np.empty(a.shape, dtype=object)
    out.reshape(-1)[:] = [getattr(v, function)() for v in a.reshape(-1)]
    return out
