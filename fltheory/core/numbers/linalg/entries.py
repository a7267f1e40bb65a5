"""What matrices are made of: the arithmetic their entries share, and the way to flint's exact matrices and back."""
import math
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.kinds import Array
from fltheory.core.libraries import need

PLAIN, FLINT = (int, np.integer, Fraction), ("fmpq", "fmpz")
INEXACT = (float, complex, np.inexact)
BALLS = ("arb", "acb")


def flint_name(x):
    """'fmpq', 'arb', ... for a flint scalar, '' otherwise; flint itself is not imported for this."""
    return type(x).__name__ if type(x).__module__.startswith("flint") else ""


def excludes_zero(x):
    return not x.contains(0) if flint_name(x) in BALLS else not x == 0


def as_fraction(x):
    if isinstance(x, Fraction):
        return x
    if isinstance(x, (int, np.integer)):
        return Fraction(int(x))
    if isinstance(x, (float, np.floating)):
        if not np.isfinite(x):
            raise ValueError(f"entry {x!r} is not finite; rational entries must be; remove it first")
        return Fraction(*x.as_integer_ratio())
    if flint_name(x) in FLINT:
        return Fraction(int(x.p), int(x.q)) if flint_name(x) == "fmpq" else Fraction(int(x))
    raise TypeError(f"entry {x!r} of type {type(x).__name__} is not rational; "
                    "entries must be int, Fraction, fmpq, fmpz or float; convert it first")


def filled(values, shape):
    """Object array of these values: numpy must never look inside a scalar for a sequence."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out.reshape(shape)


def shaped(A, square=False):
    """A as a two-dimensional array; raises ValueError."""
    A = np.asarray(A)
    if A.ndim != 2 or (square and A.shape[0] != A.shape[1]):
        raise ValueError(f"matrix has shape {A.shape}; it must be two-dimensional{' and square' if square else ''}; reshape it")
    return A


def rational_kind(*arrays):
    """"int", "Fraction" or "fmpq" where all entries are rationals (no floats), else None."""
    types = {type(x): x for a in arrays for x in a.flat}
    if not all(issubclass(t, PLAIN) or flint_name(x) in FLINT for t, x in types.items()):
        return None
    if any(flint_name(x) for x in types.values()):
        return "fmpq"
    return "int" if types and Fraction not in types else "Fraction"


def together(*arrays):
    """(kind, arrays) in the one arithmetic of all their entries: "float" arrays of float dtype; "int", "Fraction" and
    "fmpq" rationals as they are; "ball" and "field" (any other scalars) with the rationals among them lifted.

    Raises TypeError where floats stand beside exact scalars.
    """
    if all(a.dtype.kind in "fc" for a in arrays):
        return "float", arrays
    kind = rational_kind(*arrays)
    if kind:
        return kind, arrays
    types = {type(x): x for a in arrays for x in a.flat}
    inexact = [t for t in types if issubclass(t, INEXACT)]
    if inexact:
        if not all(issubclass(t, (*INEXACT, int, np.integer)) for t in types):
            raise TypeError("floats stand beside exact scalars; all entries must be exact or all float; "
                            "convert the floats with to_fractions, or the exact entries with astype(float)")
        kind = complex if any(issubclass(t, (complex, np.complexfloating)) for t in inexact) else float
        return "float", tuple(a.astype(kind) for a in arrays)
    zero = next(x for t, x in types.items() if not issubclass(t, PLAIN) and flint_name(x) not in FLINT) * 0

    def lift(x):
        if not isinstance(x, PLAIN) and flint_name(x) not in FLINT:
            return x
        x = as_fraction(x)
        # through ints only: flint types and modular types know no Fraction
        return (zero + x.numerator) / (zero + x.denominator)
    return "ball" if flint_name(zero) in BALLS else "field", tuple(filled([lift(x) for x in a.flat], a.shape) for a in arrays)


def exact(A, name, remedy):
    """(kind, array) of a matrix, as `together`; refuses floats, whose rank is not decidable."""
    kind, (A,) = together(shaped(A))
    if kind == "float":
        raise TypeError(f"{name} got a {A.dtype} array; the rank of floats is not decidable; {remedy}")
    return kind, A


def to_fractions(A: Array) -> np.ndarray:
    """Array of the same shape with every rational entry as a Fraction (floats by their exact dyadic value).

    Raises TypeError for an entry that is not rational, ValueError for an infinite or NaN float.
    """
    A = np.asarray(A)
    return filled([as_fraction(x) for x in A.flat], A.shape)


def to_fmpq_matrix(A: Array) -> Any:
    """flint.fmpq_mat of a rational (m, n) array.

    Raises MissingLibrary without python-flint, TypeError or ValueError as `to_fractions`, ValueError when A is
    not two-dimensional.
    """
    flint = need("flint", "exact matrices")
    A = shaped(A)

    def convert(x):
        if flint_name(x) in FLINT or type(x) is int:
            return x
        x = as_fraction(x)
        return flint.fmpq(x.numerator, x.denominator)
    return flint.fmpq_mat(*A.shape, [convert(x) for x in A.flat])


def integer_matrix(A: Array) -> Any:
    """flint.fmpz_mat of an (m, n) array of ints."""
    return need("flint", "exact matrices").fmpz_mat(*A.shape, [int(x) for x in A.flat])


def from_flint(M, kind="fmpq"):
    """Object array of a matrix of flint; its rationals become Fractions unless the kind is "fmpq" or "ball"."""
    values = M.entries()
    return filled(values if kind in ("fmpq", "ball") else [as_fraction(x) for x in values], (M.nrows(), M.ncols()))


def cleared(A: Array) -> tuple[np.ndarray, int]:
    """(integers, denominator) of a rational array: Python ints over one denominator for all entries."""
    A = np.asarray(A)
    pairs = [(int(v.p), int(v.q)) if flint_name(v) == "fmpq" else as_fraction(v).as_integer_ratio() for v in A.flat]
    common = math.lcm(*(q for _, q in pairs))
    return filled([p * (common // q) for p, q in pairs], A.shape), common


def weighted_squares(weights: Array, maps: list, X: Array, below: int) -> np.ndarray:
    """sum_k weights_k A_k X A_k' / below for ints, `integer_matrix`es A_k and an array X of flint rationals."""
    Y, denominator = to_fmpq_matrix(X).numer_denom()
    total: Any = None
    for q, A in zip(weights, maps, strict=True):
        term = A * Y * A.transpose() * q
        total = term if total is None else total + term
    kind, below = type(X.flat[0]), denominator * below
    return filled([kind(v, below) for v in total.entries()], (total.nrows(), total.ncols()))
