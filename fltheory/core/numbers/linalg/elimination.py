"""Products, solutions, ranks and determinants, exact in every scalar type.

Matrices are two-dimensional numpy arrays: object arrays of one exact scalar type, integer arrays, or
float64 arrays. Floats go to numpy, rationals and balls to the matrices of flint; any other exact scalar is
eliminated here, and needs ``+ - * /`` and ``== 0`` and must mix with Python ints in ``+`` and ``*`` and ``/``
(``x * 0 + 1`` is its one); nothing here orders scalars unless its docstring says "rational". In an object
array Python ints and Fractions are lifted to the type of the other entries; on their own, ints are read as
Fractions, so division is always exact. An object array of Python floats and ints is read as float64; floats
beside exact scalars raise TypeError.

"Rational" entries are int, numpy integer, Fraction, flint.fmpq, flint.fmpz, and float (at its dyadic value).

With interval scalars (flint.arb, flint.acb) a pivot is used only when its ball excludes zero; where no such
pivot exists and the column is not exactly zero, LinAlgError is raised instead of guessing the rank.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.kinds import Array
from fltheory.core.libraries import have, need
from fltheory.core.numbers.linalg.entries import (exact, excludes_zero, filled, flint_name, from_flint, rational_kind,
                                                  shaped, to_fmpq_matrix, together)

RATIONAL = ("int", "Fraction", "fmpq")


# ---- products


def identity(d: int, like: Any) -> np.ndarray:
    """The (d, d) identity in the scalars of `like`, an array or one scalar.

    A float (or complex) `like` gives an array of that dtype, anything else an object array; a Python int
    gives ints.  Raises ValueError for d < 0 or an empty object array as `like`.
    """
    if d < 0:
        raise ValueError(f"d is {d}; a dimension must be at least 0; pass a nonnegative integer")
    if isinstance(like, np.ndarray):
        if like.dtype.kind in "fc":
            return np.eye(d, dtype=like.dtype)
        if like.size == 0 and d:
            raise ValueError("like is an empty array; it must hold a scalar to imitate; pass a scalar")
        like = next(iter(like.flat), 0)
    if isinstance(like, (float, complex, np.inexact)):
        return np.eye(d, dtype=np.asarray(like).dtype)
    if isinstance(like, np.integer):
        like = int(like)
    zero, one = like * 0, like * 0 + 1
    return filled([one if i == j else zero for i in range(d) for j in range(d)], (d, d))


def matmul(A: Array, B: Array) -> np.ndarray:
    """A @ B for A of shape (m, n) and B of shape (n, k) or (n,), in any scalars.

    Entries are multiplied and added as they are (a product of int arrays stays int).
    Raises ValueError when the shapes do not fit.
    """
    A, B = np.asarray(A), np.asarray(B)
    if A.ndim != 2 or B.ndim not in (1, 2) or A.shape[1] != B.shape[0]:
        raise ValueError(f"shapes {A.shape} and {B.shape} do not fit; they must be (m, n) and (n, k) or (n,)")
    if object not in (A.dtype, B.dtype) and (A.dtype.kind in "fc" or B.dtype.kind in "fc"):
        return A @ B
    kind = rational_kind(A, B)
    if kind in ("Fraction", "fmpq") and have("flint"):
        product = to_fmpq_matrix(A) * to_fmpq_matrix(B.reshape(len(B), math.prod(B.shape[1:])))
        return from_flint(product, kind).reshape(A.shape[:1] + B.shape[1:])
    # int64 products wrap silently on overflow; Python ints do not.
    return A.astype(object) @ B.astype(object)


def power(A: Array, k: int) -> np.ndarray:
    """A to the integer power k >= 0 by repeated squaring, for A of shape (d, d).

    Raises ValueError for k < 0 or A not square, TypeError when k is not an integer.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"exponent is {k!r}; it must be an integer; pass an int")
    if k < 0:
        raise ValueError(f"exponent is {k}; it must be at least 0; take the power of inverse(A) instead")
    A, result = shaped(A, square=True), None
    while k:
        if k & 1:
            result = A if result is None else matmul(result, A)
        k >>= 1
        if k:
            A = matmul(A, A)
    return identity(len(A), A) if result is None else result.copy()


def trace(A: Array) -> Any:
    """Sum of the diagonal of A, shape (d, d), in its own scalars; 0 when d is 0.

    Raises ValueError when A is not square.
    """
    return np.trace(shaped(A, square=True))


# ---- elimination


def _pivot_row(rows, r, c):
    """Row at or below r with a usable entry in column c, or None when the column is exactly zero there."""
    usable = [i for i in range(r, len(rows)) if excludes_zero(rows[i][c])]
    if usable:
        return usable[0] if not flint_name(rows[usable[0]][c]) else max(usable, key=lambda i: rows[i][c].abs_lower())
    if all(rows[i][c] == 0 for i in range(r, len(rows))):
        return None
    raise _undecided(f"no pivot in column {c} is certainly nonzero and not all are certainly zero")


def _eliminated(A, ncols):
    """(rows, pivots, product) of the reduced form of the first ncols columns; product: of the pivots, with its sign."""
    rows, pivots, product = A.tolist(), [], None
    for c in range(ncols):
        r = len(pivots)
        i = _pivot_row(rows, r, c)
        if i is None:
            continue
        pivot = rows[i][c]
        product = pivot if product is None else product * pivot
        if i != r:
            rows[r], rows[i] = rows[i], rows[r]
            product = product * 0 - product
        # zeros stay as they are: in fields of functions a product with 0 costs as much as any other
        rows[r] = [x if x == 0 else x / pivot for x in rows[r]]
        live = [j for j in range(c, A.shape[1]) if not rows[r][j] == 0]
        for i, row in enumerate(rows):
            factor = row[c]
            if i != r and not factor == 0:
                for j in live:
                    row[j] = row[j] - factor * rows[r][j]
                row[c] = factor * 0  # the difference of an interval with itself is not the exact zero
        pivots.append(c)
    return rows, pivots, product


def _undecided(what):
    return np.linalg.LinAlgError(f"{what}; the matrix is singular, or the balls are too wide to tell; raise the precision or "
                                 "use exact scalars")


def _singular(r, d):
    return np.linalg.LinAlgError(f"solve: the matrix is singular, rank {r} of {d}; nullspace shows why")


def solve(A: Array, b: Array) -> np.ndarray:
    """The x with A x = b, for A of shape (d, d) and b of shape (d,) or (d, k); x has the shape of b.

    Float arrays go to numpy.linalg.solve.  Raises numpy.linalg.LinAlgError when A is singular (or, with
    intervals, not certainly regular), ValueError when the shapes do not fit, TypeError when floats meet
    exact scalars, MissingLibrary for rationals without python-flint.
    """
    A, b = np.asarray(A), np.asarray(b)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or b.ndim not in (1, 2) or len(b) != len(A):
        raise ValueError(f"shapes {A.shape} and {b.shape} do not fit; they must be (d, d) and (d,) or (d, k)")
    kind, (A, b) = together(A, b)
    if kind == "float":
        return np.linalg.solve(A, b)
    d, shape = len(A), b.shape
    b = b.reshape(d, math.prod(shape[1:]))
    if kind == "field":
        rows, pivots, _ = _eliminated(np.concatenate([A, b], axis=1), d)
        if len(pivots) < d:
            raise _singular(len(pivots), d)
        return filled([x for row in rows for x in row[d:]], shape)
    make = to_fmpq_matrix if kind in RATIONAL else _ball_matrix
    try:
        return from_flint(make(A).solve(make(b)), kind).reshape(shape)
    except ZeroDivisionError:
        raise _singular(rank(A), d) if kind in RATIONAL else _undecided("no pivot is certainly nonzero") from None


def _ball_matrix(A):
    return getattr(need("flint", "matrices of balls"), flint_name(A.flat[0]) + "_mat")(*A.shape, list(A.flat))


def inverse(A: Array) -> np.ndarray:
    """The inverse of A, shape (d, d).  Raises as `solve`."""
    kind, (A,) = together(shaped(A, square=True))
    return np.linalg.inv(A) if kind == "float" else solve(A, identity(len(A), A))


def rref(A: Array) -> tuple[np.ndarray, tuple]:
    """(R, pivots): the reduced row echelon form of A, shape (m, n), and its pivot columns as a tuple of ints.

    Raises TypeError for float arrays, LinAlgError when intervals do not decide a pivot, MissingLibrary for
    rationals without python-flint.
    """
    kind, A = exact(A, "rref", "convert with to_fractions if the entries are exact")
    if kind not in RATIONAL:
        rows, pivots, _ = _eliminated(A, A.shape[1])
        return filled([x for row in rows for x in row], A.shape), tuple(pivots)
    M, r = to_fmpq_matrix(A).rref()
    R = from_flint(M, kind)
    return R, tuple(next(j for j, x in enumerate(R[i]) if not x == 0) for i in range(r))


def rank(A: Array) -> int:
    """Rank of A, shape (m, n).  Raises as `rref` (for floats see numpy.linalg.matrix_rank)."""
    kind, A = exact(A, "rank", "use numpy.linalg.matrix_rank with a tolerance, or convert with to_fractions")
    return to_fmpq_matrix(A).rank() if kind in RATIONAL else len(rref(A)[1])


def nullspace(A: Array) -> tuple[np.ndarray, tuple]:
    """(N, free): a basis of {x : A x = 0} for A of shape (m, n), and the free coordinates.

    N has shape (n, f), a basis vector per column, with N[free] the identity; free is an increasing tuple of
    f ints.  Raises as `rref`.
    """
    R, pivots = rref(A)
    n = R.shape[1]
    free = [j for j in range(n) if j not in set(pivots)]
    zero = next(iter(R.flat)) * 0 if R.size else Fraction(0)
    N = np.full((n, len(free)), zero, dtype=object)
    N[free] = identity(len(free), zero)
    block = R[:len(pivots), free]
    N[list(pivots)] = block * 0 - block
    return N, tuple(free)


def determinant(A: Array) -> Any:
    """Determinant of A, shape (d, d), in its scalars (a Fraction for ints; 1 when d is 0).

    Raises ValueError when A is not square, TypeError when floats stand beside exact scalars, MissingLibrary for
    rationals without python-flint.
    """
    kind, (A,) = together(shaped(A, square=True))
    if kind == "float":
        return np.linalg.det(A)
    if len(A) == 0:
        return Fraction(1)
    if kind == "field":
        _, pivots, product = _eliminated(A, len(A))
        return product if len(pivots) == len(A) else A[0, 0] * 0
    det = (to_fmpq_matrix if kind in RATIONAL else _ball_matrix)(A).det()
    return det if kind in ("fmpq", "ball") else Fraction(int(det.p), int(det.q))
