"""Elimination generic over the scalar type.

Matrices are two-dimensional numpy arrays: object arrays of one exact scalar type, integer arrays, or
float64 arrays.  An exact scalar needs ``+ - * /`` and ``== 0`` and must mix with Python ints in
``+`` and ``*`` and ``/`` (``x * 0 + 1`` is its one); nothing here orders scalars unless its docstring says
"rational".  In an object array Python ints and Fractions are lifted to the type of the other entries;
on their own, ints are read as Fractions, so division is always exact.  An object array of Python floats and
ints is read as float64; floats beside exact scalars raise TypeError.

"Rational" entries are int, numpy integer, Fraction, flint.fmpq, flint.fmpz, and float (at its dyadic value).

With interval scalars (flint.arb, flint.acb) a pivot is used only when its ball excludes zero; where no such
pivot exists and the column is not exactly zero, LinAlgError is raised instead of guessing the rank.
"""

import math
from fractions import Fraction

import numpy as np

from fltheory.core.linalg.storage import (
    _all,
    _array,
    _excludes_zero,
    _faster,
    _flint,
    _flint_name,
    _from_flint,
    _is_float,
    _lifted,
    _matrix,
    _refuse_float,
    _zero,
    to_fmpq,
    to_fmpq_matrix,
    to_fractions,
)

WORTH = 60  # multiplications from which converting Fractions pays


# ---- products


def identity(d, like):
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
    return _array([[one if i == j else zero for j in range(d)] for i in range(d)], (d, d))


def matmul(A, B):
    """A @ B for A of shape (m, n) and B of shape (n, k) or (n,), in any scalars.

    Entries are multiplied and added as they are (a product of int arrays stays int).
    Raises ValueError when the shapes do not fit.
    """
    A, B = np.asarray(A), np.asarray(B)
    if A.ndim != 2 or B.ndim not in (1, 2) or A.shape[1] != B.shape[0]:
        raise ValueError(f"shapes {A.shape} and {B.shape} do not fit; they must be (m, n) and (n, k) or (n,)")
    if object not in (A.dtype, B.dtype) and (_is_float(A) or _is_float(B)):
        return A @ B
    # int64 products wrap silently on overflow; Python ints do not.
    A, B = (a.astype(object) if a.dtype.kind in "iub" else a for a in (A, B))
    if A.shape[1] == 0:
        return np.full(A.shape[:1] + B.shape[1:], 0, dtype=object)
    if _all(A, "fmpq") and _all(B, "fmpq"):
        product = _from_flint(to_fmpq_matrix(A) * to_fmpq_matrix(B.reshape(len(B), -1)))
        return product.reshape(A.shape[:1] + B.shape[1:])
    if A.size * math.prod(B.shape[1:]) >= WORTH and _faster() and _all(A, "Fraction") and _all(B, "Fraction"):
        product = to_fractions(_from_flint(to_fmpq_matrix(A) * to_fmpq_matrix(B.reshape(len(B), -1))))
        return product.reshape(A.shape[:1] + B.shape[1:])
    return A @ B


def power(A, k):
    """A to the integer power k >= 0 by repeated squaring, for A of shape (d, d).

    Raises ValueError for k < 0 or A not square, TypeError when k is not an integer.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"exponent is {k!r}; it must be an integer; pass an int")
    if k < 0:
        raise ValueError(f"exponent is {k}; it must be at least 0; take the power of inverse(A) instead")
    A = np.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"matrix has shape {A.shape}; it must be two-dimensional and square; reshape it")
    result = None
    while k:
        if k & 1:
            result = A if result is None else matmul(result, A)
        k >>= 1
        if k:
            A = matmul(A, A)
    return identity(len(A), A) if result is None else result.copy()


def trace(A):
    """Sum of the diagonal of A, shape (d, d), in its own scalars; 0 when d is 0.

    Raises ValueError when A is not square.
    """
    A = np.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"matrix has shape {A.shape}; it must be two-dimensional and square; reshape it")
    if _is_float(A):
        return np.trace(A)
    diagonal = [A[i, i] for i in range(len(A))]
    if not diagonal:
        return 0
    total = diagonal[0]
    for x in diagonal[1:]:
        total = total + x
    return total


# ---- elimination


def _pivot_row(rows, r, c):
    """Row at or below r with a usable entry in column c, or None when the column is exactly zero there."""
    usable = [i for i in range(r, len(rows)) if _excludes_zero(rows[i][c])]
    if usable:
        if _flint_name(rows[usable[0]][c]) in ("arb", "acb"):
            return max(usable, key=lambda i: rows[i][c].abs_lower())  # the balls grow least
        return usable[0]
    if all(rows[i][c] == 0 for i in range(r, len(rows))):
        return None
    raise np.linalg.LinAlgError(
        f"no pivot in column {c} is certainly nonzero and not all are certainly zero; "
        "the matrix is singular, or the balls are too wide to tell; raise the precision or use exact scalars"
    )


def _gauss_jordan(rows, ncols):
    """Reduce rows in place on the first ncols columns; returns the pivot columns and their signed product."""
    pivots, product = [], None
    width = len(rows[0]) if rows else 0
    for c in range(ncols):
        r = len(pivots)
        if r == len(rows):
            break
        i = _pivot_row(rows, r, c)
        if i is None:
            continue
        pivot = rows[i][c]
        zero = pivot * 0
        product = pivot if product is None else product * pivot
        if i != r:
            rows[r], rows[i] = rows[i], rows[r]
            product = zero - product
        rows[r][c] = zero + 1
        for j in range(c + 1, width):
            if not rows[r][j] == 0:
                rows[r][j] = rows[r][j] / pivot
        live = [j for j in range(c + 1, width) if not rows[r][j] == 0]
        for i, row in enumerate(rows):
            if i == r or row[c] == 0:
                continue
            factor = row[c]
            for j in live:
                row[j] = row[j] - factor * rows[r][j]
            row[c] = zero
        pivots.append(c)
    return pivots, product


def _fraction_jordan(rows, ncols):
    """`_gauss_jordan` for Fractions, fraction-free on ints: no gcd per operation."""
    scales = [math.lcm(*(x.denominator for x in row)) for row in rows]
    rows[:] = [[x.numerator * (s // x.denominator) for x in row] for row, s in zip(rows, scales, strict=True)]
    pivots, sign, last = [], 1, 1
    for c in range(ncols):
        r = len(pivots)
        i = next((i for i in range(r, len(rows)) if rows[i][c]), None)
        if i is None:
            continue
        if i != r:
            rows[r], rows[i] = rows[i], rows[r]
            sign = -sign
        top, pivot = rows[r], rows[r][c]
        for i, row in enumerate(rows):
            if i != r:
                f = row[c]
                # Exact: every entry is a minor of the integer matrix (Bareiss).
                if f:
                    rows[i] = [(pivot * x - f * y) // last for x, y in zip(row, top, strict=True)]
                else:
                    rows[i] = [pivot * x // last for x in row]
        last = pivot
        pivots.append(c)
    rows[:] = [[Fraction(x, last) for x in row] for row in rows]
    return pivots, Fraction(sign * last, math.prod(scales))


def _reduce(A, ncols):
    rows = A.tolist()
    pivots, product = (_fraction_jordan if _all(A, "Fraction") else _gauss_jordan)(rows, ncols)
    return _array(rows, A.shape), pivots, product


def _singular(name, found, d):
    return np.linalg.LinAlgError(f"{name}: the matrix is singular, rank {found} of {d}; nullspace shows why")


def solve(A, b):
    """The x with A x = b, for A of shape (d, d) and b of shape (d,) or (d, k); x has the shape of b.

    Float arrays go to numpy.linalg.solve.  Raises numpy.linalg.LinAlgError when A is singular (or, with
    intervals, not certainly regular), ValueError when the shapes do not fit, TypeError when floats meet
    exact scalars.
    """
    A, b = np.asarray(A), np.asarray(b)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or b.ndim not in (1, 2) or len(b) != len(A):
        raise ValueError(f"shapes {A.shape} and {b.shape} do not fit; they must be (d, d) and (d,) or (d, k)")
    A, b = _lifted(A, b)
    if _is_float(A):
        return np.linalg.solve(A, b)
    d, shape = len(A), b.shape
    b = b.reshape(d, math.prod(shape[1:]))
    if _all(A, "fmpq") and _all(b, "fmpq"):
        try:
            x = to_fmpq_matrix(A).solve(to_fmpq_matrix(b))
        except ZeroDivisionError:
            raise _singular("solve", rank(A), d) from None
        return _from_flint(x).reshape(shape)
    if d >= 5 and _faster() and _all(A, "Fraction") and _all(b, "Fraction"):
        return to_fractions(solve(to_fmpq(A), to_fmpq(b))).reshape(shape)
    R, pivots, _ = _reduce(np.concatenate([A, b], axis=1), d)
    if len(pivots) < d:
        raise _singular("solve", len(pivots), d)
    return R[:, d:].reshape(shape)


def inverse(A):
    """The inverse of A, shape (d, d).  Raises as `solve`."""
    A = _matrix(A, square=True)
    if _is_float(A):
        return np.linalg.inv(A)
    return solve(A, identity(len(A), A))


def rref(A):
    """(R, pivots): the reduced row echelon form of A, shape (m, n), and its pivot columns as a tuple of ints.

    Raises TypeError for float arrays, LinAlgError when intervals do not decide a pivot.
    """
    A = _matrix(A)
    _refuse_float(A, "rref", "convert with to_fractions if the entries are exact")
    if _all(A, "fmpq"):
        R, found = to_fmpq_matrix(A).rref()
        R = _from_flint(R)
        return R, tuple(next(j for j, x in enumerate(R[i]) if not x == 0) for i in range(found))
    R, pivots, _ = _reduce(A, A.shape[1])
    return R, tuple(pivots)


def rank(A):
    """Rank of A, shape (m, n).  Raises as `rref` (for floats see numpy.linalg.matrix_rank)."""
    A = _matrix(A)
    _refuse_float(A, "rank", "use numpy.linalg.matrix_rank with a tolerance, or convert with to_fractions")
    return to_fmpq_matrix(A).rank() if _all(A, "fmpq") else len(rref(A)[1])


def nullspace(A):
    """(N, free): a basis of {x : A x = 0} for A of shape (m, n), and the free coordinates.

    N has shape (n, f), a basis vector per column, with N[free] the identity; free is an increasing tuple of
    f ints.  Raises as `rref`.
    """
    A = _matrix(A)
    R, pivots = rref(A)
    n = A.shape[1]
    free = tuple(j for j in range(n) if j not in set(pivots))
    zero = _zero(A)
    N = np.full((n, len(free)), zero, dtype=object)
    for column, j in enumerate(free):
        N[j, column] = zero + 1
        for row, p in enumerate(pivots):
            N[p, column] = zero - R[row, j]
    return N, free


def determinant(A):
    """Determinant of A, shape (d, d), in its scalars (a Fraction for ints; 1 when d is 0).

    Raises ValueError when A is not square, TypeError when floats stand beside exact scalars.
    """
    A = _matrix(A, square=True)
    if _is_float(A):
        return np.linalg.det(A)
    d = len(A)
    if d == 0:
        return Fraction(1)
    if _all(A, "fmpq"):
        return to_fmpq_matrix(A).det()
    name = _flint_name(A[0, 0])
    if name in ("arb", "acb"):
        # Elimination would need a pivot that excludes zero; flint encloses singular cases too.
        return getattr(_flint("determinant"), name + "_mat")(A.tolist()).det()
    _, pivots, product = _reduce(A, d)
    return product if len(pivots) == d else _zero(A)
