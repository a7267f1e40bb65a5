"""Scalar types of matrices: telling them apart, lifting them to one, converting them to and from flint."""
import functools
from fractions import Fraction

import numpy as np


def _flint_name(x):
    """'fmpq', 'arb', ... for a flint scalar, '' otherwise; flint itself is not imported for this."""
    return type(x).__name__ if type(x).__module__.startswith("flint") else ""


def _flint(purpose):
    try:
        import flint
    except ImportError as error:
        raise ImportError(f"{purpose} needs python-flint; run: pip install python-flint") from error
    return flint


@functools.cache
def _faster():
    """Whether products and solutions of Fractions go through flint's matrices."""
    try:
        _flint("matrices")
    except ImportError:
        return False
    return True


def _excludes_zero(x):
    if _flint_name(x) in ("arb", "acb"):
        return not x.contains(0)
    return not x == 0


def _fraction(x):
    if isinstance(x, Fraction):
        return x
    if isinstance(x, (int, np.integer)):
        return Fraction(int(x))
    if isinstance(x, (float, np.floating)):
        if not np.isfinite(x):
            raise ValueError(f"entry {x!r} is not finite; rational entries must be; remove it first")
        return Fraction(*x.as_integer_ratio())
    if _flint_name(x) == "fmpq":
        return Fraction(int(x.p), int(x.q))
    if _flint_name(x) == "fmpz":
        return Fraction(int(x))
    raise TypeError(
        f"entry {x!r} of type {type(x).__name__} is not rational; "
        "entries must be int, Fraction, fmpq, fmpz or float; convert it first"
    )


def _array(rows, shape):
    """Object array filled entry by entry: numpy must never look inside a scalar for a sequence."""
    out = np.empty(shape, dtype=object)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[i, j] = x
    return out


def _matrix(A, square=False, name="matrix"):
    """A as a two-dimensional array: float (or complex) dtype, or object with one exact scalar type."""
    A = np.asarray(A)
    if A.ndim != 2 or (square and A.shape[0] != A.shape[1]):
        rule = "it must be two-dimensional and square" if square else "it must be two-dimensional"
        raise ValueError(f"{name} has shape {A.shape}; {rule}; reshape it or pass another array")
    return _lifted(A)[0]


def _lifted(*arrays):
    """The arrays with all entries, taken together, of one scalar type (or of float dtype)."""
    floats = [a.dtype.kind in "fc" for a in arrays]
    if all(floats):
        return arrays
    entries = [x for a in arrays for x in a.flat]
    inexact = [isinstance(x, (float, complex, np.inexact)) for x in entries]
    if any(floats) or any(inexact):
        if all(bad or isinstance(x, (int, np.integer)) for bad, x in zip(inexact, entries, strict=True)):
            kind = complex if any(isinstance(x, (complex, np.complexfloating)) for x in entries) else float
            return tuple(a.astype(kind) for a in arrays)
        raise TypeError(
            "floats stand beside exact scalars; all entries must be exact or all float; "
            "convert the floats with to_fractions, or the exact entries with astype(float)"
        )
    plain = (int, np.integer, Fraction)
    sample = next((x for x in entries if not isinstance(x, plain) and _flint_name(x) != "fmpz"), None)

    def lift(x):
        if sample is None or not (isinstance(x, plain) or _flint_name(x) == "fmpz"):
            return x if sample is not None else _fraction(x)
        x = _fraction(x)
        # Through ints only: flint types and modular types know no Fraction.
        return (sample * 0 + x.numerator) / (sample * 0 + x.denominator)

    out = []
    for a in arrays:
        new = np.empty(a.shape, dtype=object)
        for index in np.ndindex(a.shape):
            new[index] = lift(a[index])
        out.append(new)
    return tuple(out)


def _all(A, name):
    """Whether the nonempty object array A holds only Fractions (name 'Fraction') or one flint type."""
    if A.size == 0:
        return False
    if name == "Fraction":
        return all(isinstance(x, Fraction) for x in A.flat)
    return all(_flint_name(x) == name for x in A.flat)


def _zero(A):
    # x * 0, not x - x: the difference of an interval with itself is not the exact zero.
    return next(iter(A.flat)) * 0 if A.size else Fraction(0)


def _is_float(A):
    return A.dtype.kind in "fc"


def _refuse_float(A, name, remedy):
    if _is_float(A):
        raise TypeError(f"{name} got a {A.dtype} array; the rank of floats is not decidable; {remedy}")


def to_fractions(A):
    """Array of the same shape with every rational entry as a Fraction (floats by their exact dyadic value).

    Raises TypeError for an entry that is not rational, ValueError for an infinite or NaN float.
    """
    A = np.asarray(A)
    out = np.empty(A.shape, dtype=object)
    for index in np.ndindex(A.shape):
        out[index] = _fraction(A[index])
    return out


def to_fmpq_matrix(A):
    """flint.fmpq_mat of a rational (m, n) array.

    Raises ImportError without python-flint, TypeError or ValueError as `to_fractions`, ValueError when A is
    not two-dimensional.
    """
    flint = _flint("to_fmpq_matrix")
    A = np.asarray(A)
    if A.ndim != 2:
        raise ValueError(f"matrix has shape {A.shape}; it must be two-dimensional; reshape it")

    def convert(x):
        if _flint_name(x) == "fmpq":
            return x
        x = _fraction(x)
        return flint.fmpq(x.numerator, x.denominator)

    return flint.fmpq_mat(A.shape[0], A.shape[1], [convert(x) for x in A.flat])


def integer_matrix(A):
    """flint.fmpz_mat of an (m, n) array of ints."""
    return _flint("integer_matrix").fmpz_mat(*A.shape, [int(x) for x in A.flat])


def weighted_squares(weights, maps, X, below):
    """sum_k weights_k A_k X A_k' / below for ints, `integer_matrix`es A_k and an array X of flint rationals."""
    Y, own = to_fmpq_matrix(X).numer_denom()
    total = None
    for q, A in zip(weights, maps, strict=True):
        term = A * Y * A.transpose() * q
        total = term if total is None else total + term
    out, kind, below = np.empty(total.nrows() * total.ncols(), dtype=object), type(X.flat[0]), own * below
    out[:] = [kind(v, below) for v in total.entries()]
    return out.reshape(total.nrows(), total.ncols())


def to_fmpq(A):
    """The entries of a rational array as flint rationals."""
    A = np.asarray(A)
    return _from_flint(to_fmpq_matrix(A.reshape(len(A), -1))).reshape(A.shape)


def _from_flint(M):
    return _array(M.tolist(), (M.nrows(), M.ncols()))
