"""Definiteness, eigenvalue bounds and spectral radii of rational matrices, decided exactly."""

from fractions import Fraction

import numpy as np

from fltheory.core.kinds import Array
from fltheory.core.libraries import need
from fltheory.core.numbers.linalg.algebraic import exact
from fltheory.core.numbers.linalg.elimination import identity
from fltheory.core.numbers.linalg.entries import (excludes_zero, integer_matrix, shaped, to_fmpq_matrix, to_fractions,
                                                  together)


def _require_symmetric(A):
    for i, j in zip(*np.tril_indices(len(A), -1), strict=True):
        if A[i, j] is not A[j, i] and excludes_zero(A[i, j] - A[j, i]):
            raise ValueError(
                f"entries ({i}, {j}) and ({j}, {i}) differ: {A[i, j]} and {A[j, i]}; the matrix must be "
                "symmetric; symmetrise it with (A + A.T) / 2"
            )


def _symmetric(A):
    """The array of a rational symmetric matrix: ints and Fractions, or flint rationals."""
    A = shaped(A, square=True)
    if A.dtype != object or together(A)[0] not in ("int", "Fraction", "fmpq"):
        A = to_fractions(A)
    _require_symmetric(A)
    return A


def _definite(A, strict):
    """Sign test on a symmetric array of rationals, by flint's fraction-free elimination over the integers."""
    M, _ = to_fmpq_matrix(A).numer_denom()
    d = M.nrows()
    if not strict:
        # the pivots of a symmetric A pick a regular block, of which A is a congruence: A = C' block C
        form, _, rank = M.rref()
        pivots = [next(j for j in range(d) if form[i, j] != 0) for i in range(rank)]
        M, d = integer_matrix(np.array(M.tolist(), dtype=object).reshape(d, d)[np.ix_(pivots, pivots)]), rank
    if d == 0:
        return True
    swaps, _, _, U = M.fflu()
    return all(swaps[k, k] == 1 and U[k, k] > 0 for k in range(d))  # without a swap, the pivots are the leading minors


def is_positive_definite(A: Array, strict: bool = True) -> bool:
    """Whether the rational symmetric A, shape (d, d), is positive definite (semidefinite for strict=False).

    Decided exactly; True when d is 0.  Raises ValueError when A is not square, symmetric and finite,
    TypeError when an entry is not rational, MissingLibrary without python-flint.
    """
    return _definite(_symmetric(A), strict)


def largest_eigenvalue_bound(A: Array, digits: int = 12) -> Fraction:
    """A Fraction r with r >= lambda_max(A), proved exactly, for rational symmetric A of shape (d, d), d >= 1.

    r exceeds lambda_max by about 10**-digits times max |A[i, j]|, times d at most; digits is 1 to 14.  An
    eigenvalue with a small denominator is usually met exactly.  Raises ValueError for digits out of range or
    A empty, not square, not symmetric or not finite, TypeError when an entry is not rational.
    """
    if digits not in range(1, 15):
        raise ValueError(f"digits is {digits!r}; it must be an int from 1 to 14; the first guess is a float")
    digits, F = int(digits), to_fractions(_symmetric(A))
    d = len(F)
    if d == 0:
        raise ValueError("the matrix is empty; it must have at least one eigenvalue; pass d >= 1")
    top = max(abs(x) for x in F.flat)
    if top == 0:
        return Fraction(0)
    # A power of two near the largest entry: entries beyond the float range must not reach eigvalsh.
    scale = Fraction(2) ** (top.numerator.bit_length() - top.denominator.bit_length())
    guess = Fraction(float(np.linalg.eigvalsh((F / scale).astype(float))[-1]))
    step = Fraction(1, 10**digits)

    def candidates():
        simple = (guess * scale).limit_denominator(1000)
        if abs(simple - guess * scale) <= step * scale:
            yield simple
        grid, k = round(guess / step), 0
        while True:
            yield (grid + k) * step * scale
            k = max(1, 2 * k)

    eye = identity(d, Fraction(1))
    return next(r for r in candidates() if _definite(r * eye - F, strict=False))


def smallest_eigenvalue_bound(A: Array, digits: int = 12) -> Fraction:
    """A Fraction r with r <= lambda_min(A), proved exactly; otherwise as `largest_eigenvalue_bound`."""
    return -largest_eigenvalue_bound(-to_fractions(A), digits)


def charpoly_radius(A: Array, bits: int = 128) -> tuple[Fraction, Fraction]:
    """(low, high): Fractions, low <= spectral radius of A <= high, for rational A of shape (d, d), d >= 1.

    Rigorous: ball enclosures, at `bits` >= 2 bits, of all roots of the exact characteristic polynomial
    (multiple roots included), rounded outward.  Raises MissingLibrary without python-flint, ValueError when A is
    empty or not square or bits is too small, TypeError when an entry is not rational.
    """
    flint, A = need("flint", "the roots of characteristic polynomials"), shaped(A, square=True)
    if len(A) == 0:
        raise ValueError(f"matrix has shape {A.shape}; it must be square with d >= 1; reshape it")
    if bits not in range(2, 1 << 24):
        raise ValueError(f"bits is {bits!r}; it must be an integer of at least 2; 128 is usual")
    with flint.ctx.workprec(int(bits)):
        roots = [flint.acb(z) for z, _ in to_fmpq_matrix(A).charpoly().complex_roots()]
        return max(exact(z.abs_lower()) for z in roots), max(exact(z.abs_upper()) for z in roots)
