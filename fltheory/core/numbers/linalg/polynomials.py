"""Polynomials with rational coefficients, constant first, their companion matrices, and intervals of their values."""
from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

from fltheory.core.libraries import need
from fltheory.core.numbers.linalg.entries import as_fraction


def polynomial(coefficients):
    flint = need("flint", "polynomials")
    fractions = [as_fraction(c) for c in coefficients]
    return flint.fmpq_poly([flint.fmpq(f.numerator, f.denominator) for f in fractions])


def companion(coefficients):
    flint = need("flint", "companion matrices")
    *rest, lead = coefficients
    n = len(rest)
    rows = [[flint.fmpq(int(j == i - 1)) for j in range(n - 1)] + [flint.fmpq(-rest[i], lead)] for i in range(n)]
    return flint.fmpq_mat(rows)


def of_matrix(polynomial, C):
    """A polynomial of a square matrix, by Horner's rule."""
    flint = need("flint", "polynomials of matrices")
    n = C.nrows()
    one = flint.fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    total = one * 0
    for c in reversed(polynomial.coeffs()):
        total = total * C + one * c
    return total


def _kronecker(A, B, entry):
    flint = need("flint", "Kronecker products")
    n, size = A.nrows(), B.nrows()
    return flint.fmpq_mat([[entry(i, j, k, m) for j in range(n) for m in range(size)] for i in range(n) for k in range(size)])


def kronecker_product(A, B):
    return _kronecker(A, B, lambda i, j, k, m: A[i, j] * B[k, m])


def kronecker_sum(A, B):
    return _kronecker(A, B, lambda i, j, k, m: (A[i, j] if k == m else 0) + (B[k, m] if i == j else 0))


def product(a, b):
    ends = [v * w for v in a for w in b]
    return min(ends), max(ends)


def value_at(coefficients, x):
    """A polynomial (constant first) at a rational."""
    return functools.reduce(lambda total, c: total * x + c, reversed(coefficients), Fraction(0))


def between(coefficients, low, high):
    """An interval around the values of a polynomial on [low, high], by Horner's rule."""
    return functools.reduce(lambda ends, c: tuple(v + c for v in product(ends, (low, high))), reversed(coefficients),
                            (Fraction(0), Fraction(0)))


def sign(coefficients, x):
    """The sign of an integer polynomial at a rational, in integers."""
    top, bottom, total, power = x.numerator, x.denominator, 0, 1
    for c in reversed(coefficients):
        total = total * top + c * power
        power *= bottom
    return (total > 0) - (total < 0)


def isolated(squarefree, low, high) -> list[tuple[Fraction, Fraction]]:
    """Intervals (a, b), ascending, around each root in [low, high] of a squarefree integer polynomial; a = b where the root is met
    exactly, else neither end is a root. By Descartes' rule of signs and bisection (G. Collins, A. Akritas, 1976)."""
    flint = need("flint", "real roots")
    p, out = flint.fmpz_poly(list(squarefree)), []
    for v in {low, high}:
        if sign(squarefree, v) == 0:
            out.append((v, v))
            p = p // flint.fmpz_poly([-v.numerator, v.denominator])
    rest = tuple(int(c) for c in p.coeffs())
    # q has its roots of (0, 1) where p has those of (a, b)
    stack = [(polynomial(rest)(flint.fmpq_poly([_fmpq(low), _fmpq(high - low)])).numer(), low, high)] if low < high else []
    shift = flint.fmpz_poly([1, 1])
    while stack:
        q, a, b = stack.pop()
        changes = _variations(flint.fmpz_poly(list(reversed(_padded(q, len(rest)))))(shift))
        if changes == 1 and sign(squarefree, a) != 0 != sign(squarefree, b):
            out.append((a, b))
        elif changes > 0:
            middle, n = (a + b) / 2, len(rest) - 1
            left = flint.fmpz_poly([int(c) << (n - k) for k, c in enumerate(_padded(q, n + 1))])     # 2^n q(x / 2)
            right = left(shift)
            if right[0] == 0:
                out.append((middle, middle))
                left, right = left // flint.fmpz_poly([-1, 1]), right // flint.fmpz_poly([0, 1])    # it counts once
            stack += [(right, middle, b), (left, a, middle)]
    return sorted(out)


def _padded(q, size):
    coefficients = [int(c) for c in q.coeffs()]
    return coefficients + [0] * (size - len(coefficients))


def _variations(q):
    signs = [c > 0 for c in q.coeffs() if c != 0]
    return sum(a != b for a, b in itertools.pairwise(signs))


def _fmpq(v):
    return need("flint", "rationals").fmpq(v.numerator, v.denominator)


def primitive(coefficients):
    """Coprime integers in the same ratios, the leading one positive."""
    values = [as_fraction(c) for c in coefficients]
    while values and values[-1] == 0:
        values.pop()
    if not values:
        return (0,)
    unit = math.lcm(*(v.denominator for v in values))
    whole = [int(v * unit) for v in values]
    common = math.gcd(*whole) * (1 if whole[-1] > 0 else -1)
    return tuple(v // common for v in whole)


def written(coefficients):
    terms = []
    for k in range(len(coefficients) - 1, -1, -1):
        c = coefficients[k]
        if c:
            size = "" if abs(c) == 1 and k else str(abs(c))
            terms.append(("- " if c < 0 else "+ ") + size + ("" if k == 0 else "x" if k == 1 else f"x^{k}"))
    text = " ".join(terms)
    return text[2:] if text.startswith("+ ") else "-" + text[2:] if text.startswith("- ") else text
