"""Relations for matrices and series: definiteness and eigenvalues decided exactly, expansions, powers for every integer."""
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fltheory.core.elements import Symbolic
from fltheory.core.errors import refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, Comparison, evidence_of
from fltheory.core.linalg.definite import is_positive_definite
from fltheory.core.relations import FLOAT_TOLERANCE, _worded, equal
from fltheory.core.scalars import fraction, is_count


def _matrix(A, what):
    array = np.asarray(A, dtype=object)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        refuse(what, np.shape(A), "is a square matrix", "Give a (d, d) array.")
    if evidence_of(array) not in ("exact", "float"):
        refuse(what, A, "definiteness is decided for rationals, and for floats up to rounding", "Put numbers in.")
    return array


def _least(array, strict):
    """(status, evidence, smallest eigenvalue as a float)."""
    kind, floats = evidence_of(array), np.array([[float(fraction(v)) for v in row] for row in array])
    if not np.abs(floats - floats.T).max() <= (FLOAT_TOLERANCE if kind == "float" else 0) * np.abs(floats).max():
        refuse("matrix", array, "is not symmetric", "Use (A + A.T) / 2 where the quadratic form is meant.")
    least = float(np.linalg.eigvalsh((floats + floats.T) / 2)[0])
    if kind == "exact":
        return HOLDS if is_positive_definite(array, strict=strict) else FALSIFIED, kind, least
    slack = FLOAT_TOLERANCE * max(1e-300, float(np.abs(floats).max()))
    return HOLDS if least >= slack else FALSIFIED if least < -slack else INCONCLUSIVE, kind, least


@_worded
def positive_semidefinite(A, label="", strict=False) -> Comparison:
    """The symmetric A (d, d) has no negative eigenvalue (strict: only positive ones); exact for rationals, also at equality.

    Floats within rounding of 0 are INCONCLUSIVE. Raises BadInput for what is not square, not symmetric, or symbolic.
    """
    status, kind, least = _least(_matrix(A, "A"), strict)
    return Comparison("positive definite" if strict else "positive semidefinite", A, 0, status, kind, label, least,
                      detail=f"smallest eigenvalue about {least:.6g}")


@_worded
def eigenvalues_within(A, low, high, label="") -> Comparison:
    """All eigenvalues of the symmetric A (d, d) lie in [low, high]: A - low I and high I - A are positive semidefinite."""
    array, one = _matrix(A, "A"), np.eye(len(np.asarray(A, dtype=object)), dtype=int).astype(object)
    parts = [_least(array - low * one, False), _least(high * one - array, False)]
    words = [status for status, *_ in parts]
    status = FALSIFIED if FALSIFIED in words else INCONCLUSIVE if INCONCLUSIVE in words else HOLDS
    return Comparison("eigenvalues within", A, f"[{low}, {high}]", status, parts[0][1], label, min(v for *_, v in parts),
                      detail=f"from about {float(fraction(low)) + parts[0][2]:.6g} to {float(fraction(high)) - parts[1][2]:.6g}")


@_worded
def expansion(x, symbol, coefficients, label="") -> Comparison:
    """The Taylor coefficients of a rational function x in one symbol at 0 are these, from degree 0 on (numbers or symbols)."""
    if not isinstance(x, Symbolic):
        refuse("expansion", x, "is no rational function in symbols", "Work in an ft.Field.")
    if not coefficients:
        refuse("expansion", coefficients, "states at least one coefficient", "Give the term of degree 0.")
    found = x.series(symbol, len(coefficients) - 1)
    wrong = [k for k, (a, b) in enumerate(zip(found, coefficients, strict=True)) if equal(a, b).status != HOLDS]
    return Comparison("expansion", found, list(coefficients), FALSIFIED if wrong else HOLDS, "symbolic", label,
                      detail=f"degrees {wrong} differ" if wrong else f"degrees 0 to {len(coefficients) - 1} in {symbol}")


@_worded
def power_series(r, K, order, rest):
    """(1 + r)^K for every integer K >= 0 as sum_{j <= order} binomial(K, j) r^j + r^(order + 1) rest.

    r, K, rest: symbols of one field, `rest` free: the power is a polynomial in r, so that some value of it makes this an identity.
    """
    if not is_count(order, 0) or order > 50:
        refuse("order", order, "is an int from 0 to 50", "Give the last degree that is written out.")
    out = r ** (order + 1) * rest
    for j in range(order + 1):
        chosen = K**0 if isinstance(K, Symbolic) else 1
        for i in range(j):
            chosen = chosen * (K - i)
        out = out + Fraction(1, math.factorial(j)) * chosen * r**j
    return out


__all__ = ["eigenvalues_within", "expansion", "positive_semidefinite", "power_series"]
