"""Matrices over every kind of scalar, two scalar types of our own, and the way to sympy and back."""
from fractions import Fraction

import numpy as np
import sympy
from hypothesis import settings
from hypothesis import strategies as st

from fltheory.core.numbers import linalg

F = Fraction
quick = settings(derandomize=True, deadline=None, max_examples=50)


class Mod:
    """Integers modulo 101, with nothing but + - * / and ==."""

    p = 101

    def __init__(self, x):
        self.x = (x.x if isinstance(x, Mod) else x) % self.p

    def __add__(self, other):
        return Mod(self.x + Mod(other).x)

    def __sub__(self, other):
        return Mod(self.x - Mod(other).x)

    def __mul__(self, other):
        return Mod(self.x * Mod(other).x)

    def __truediv__(self, other):
        return Mod(self.x * pow(Mod(other).x, -1, self.p))

    def __eq__(self, other):
        return self.x == Mod(other).x

    __hash__ = None


class Ratio:
    """A rational function in t, with nothing but + - * / and ==."""

    field, t = sympy.field("t", sympy.QQ)

    def __init__(self, x):
        self.x = x.x if isinstance(x, Ratio) else self.field(x)

    def __add__(self, other):
        return Ratio(self.x + Ratio(other).x)

    def __sub__(self, other):
        return Ratio(self.x - Ratio(other).x)

    def __mul__(self, other):
        return Ratio(self.x * Ratio(other).x)

    def __truediv__(self, other):
        return Ratio(self.x / Ratio(other).x)

    def __eq__(self, other):
        return self.x == Ratio(other).x

    __hash__ = None


def arr(rows, kind=None):
    rows = [list(row) for row in rows]
    out = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[i, j] = x if kind is None else kind(x)
    return out


def fmpq(x):
    import flint

    return flint.fmpq(F(x).numerator, F(x).denominator)


def same(A, B):
    return A.shape == B.shape and all(x == y for x, y in zip(A.flat, B.flat, strict=True))


def to_sympy(A):
    A = linalg.to_fractions(A)
    return sympy.Matrix(*A.shape, [sympy.Rational(x.numerator, x.denominator) for x in A.flat])


def from_sympy(M):
    return arr(
        [[F(int(M[i, j].p), int(M[i, j].q)) for j in range(M.cols)] for i in range(M.rows)], F
    ).reshape(M.rows, M.cols)


def dyadic(rng, d, bits=60):
    """Random integers of `bits` bits over powers of two, as Fractions."""
    top = 1 << bits
    numerators = [[int(rng.integers(-(2**62), 2**62)) % (2 * top) - top for _ in range(d)] for _ in range(d)]
    return arr([[F(x, 1 << int(rng.integers(0, bits))) for x in row] for row in numerators])


small = st.integers(-3, 3).map(F) | st.fractions(-4, 4, max_denominator=6)


@st.composite
def matrices(draw, square=False, largest=5):
    m = draw(st.integers(1, largest))
    n = m if square else draw(st.integers(1, largest))
    A = arr(draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=m, max_size=m)))
    if m > 1 and draw(st.booleans()):
        A[m - 1] = A[0] * 2 - A[m // 2]  # singular cases must be common
    return A
