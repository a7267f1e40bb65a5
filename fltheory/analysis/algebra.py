"""Relations for matrices and series: definiteness and eigenvalues decided exactly, expansions, powers for every integer."""
from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fltheory.core.errors import check_flag, listed, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, POWERS, Comparison
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg.definite import is_positive_definite
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers, declare, fraction, is_count, is_rational
from fltheory.core.relations import FLOAT_TOLERANCE, _worded, equal


def _matrix(A, what):
    array = declare(A, what)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        refuse(what, np.shape(A), "is a square matrix", "Give a (d, d) array.")
    if any(isinstance(v, Symbolic) for v in array.reshape(-1)):
        refuse(what, A, "definiteness is decided for rationals, and for floats up to rounding", "Put numbers in.")
    return array


def _least(array, size, strict=False):
    """(status, evidence, smallest eigenvalue as a float, or None beyond their range). size: of the numbers it was made of."""
    if array.dtype != np.float64:
        exact = np.array([[fraction(v) for v in row] for row in array], dtype=object)
        if (exact != exact.T).any():
            refuse("matrix", array, "is not symmetric", "Use (A + A.T) / 2 where the quadratic form is meant.")
        return HOLDS if is_positive_definite(exact, strict=strict) else FALSIFIED, "exact", _about(exact)
    slack = FLOAT_TOLERANCE * size
    if not np.abs(array - array.T).max() <= slack:
        refuse("matrix", array, "is not symmetric", "Use (A + A.T) / 2 where the quadratic form is meant.")
    least = float(np.linalg.eigvalsh(array / 2 + array.T / 2)[0])
    return HOLDS if least >= max(slack, 1e-300) else FALSIFIED if least < -slack else INCONCLUSIVE, "float", least


def _about(exact):
    try:
        return float(np.linalg.eigvalsh(np.array(exact, dtype=float))[0])
    except (OverflowError, np.linalg.LinAlgError):
        return None


def _size(*parts):
    return max(float(np.abs(v).max()) for v in parts) if all(np.asarray(v).dtype == np.float64 for v in parts) else 1.0


@_worded
def positive_semidefinite(A: Numbers, label: str = "", strict: bool = False) -> Comparison:
    """The symmetric A (d, d) has no negative eigenvalue (strict: only positive ones); exact for rationals, also at equality.

    Floats within rounding of 0 are INCONCLUSIVE. Raises BadInput for what is not square, not symmetric, or symbolic.
    """
    check_flag(strict, "strict")
    array = _matrix(A, "A")
    status, kind, least = _least(array, _size(array), strict)
    return Comparison("positive definite" if strict else "positive semidefinite", A, 0, status, kind, label, least,
                      detail="" if least is None else f"smallest eigenvalue about {least:.6g}")


@_worded
def eigenvalues_within(A: Numbers, low: Number, high: Number, label: str = "") -> Comparison:
    """All eigenvalues of the symmetric A (d, d) lie in [low, high]: A - low I and high I - A are positive semidefinite."""
    if fraction(low, "low") > fraction(high, "high"):
        refuse("low", low, f"is at most high = {high}", "Exchange the ends.")
    array, (least, most) = _matrix(A, "A"), declare([low, high], "bounds")
    if array.dtype == np.float64 or np.float64 in (type(least), type(most)) or isinstance(least, float):
        array, least, most = (FLOAT.array(v) for v in (array, least, most))
    one = np.eye(len(array), dtype=int) * (1 if array.dtype == np.float64 else declare(1)[()])
    size = _size(array, least, most)
    parts = [_least(array - least * one, size), _least(most * one - array, size)]
    words = [status for status, *_ in parts]
    status = FALSIFIED if FALSIFIED in words else INCONCLUSIVE if INCONCLUSIVE in words else HOLDS
    gaps = [v for *_, v in parts if v is not None]
    return Comparison("eigenvalues within", A, f"[{low}, {high}]", status, parts[0][1], label, min(gaps) if gaps else None,
                      detail="" if len(gaps) < 2 else f"smallest {gaps[0]:.6g} above one end, largest {gaps[1]:.6g} below")


def _exact(value, what, like):
    """A coefficient: of the field of `like`, or a declared rational number."""
    if isinstance(value, Symbolic):
        if value.names != like.names:
            refuse(what, value, f"has the symbols {value.names}, and here they are {like.names}",
                   "Take all symbols from one ft.Field.")
        return value
    if not is_rational(value) and not isinstance(value, str):
        refuse(what, value, f"is an expression in symbols or an exact number, not a {type(value).__name__}",
               'Write Fraction(1, 2), or ft.fraction("0.5").')
    return fraction(value, what)


@_worded
def expansion(x: Symbolic, symbol: str, coefficients: Sequence[Number], label: str = "") -> Comparison:
    """The Taylor coefficients of a rational function x in one symbol at 0 are these, from degree 0 on (numbers or symbols)."""
    if not isinstance(x, Symbolic):
        refuse("expansion", x, "is no rational function in symbols", "Work in an ft.Field.")
    coefficients = listed(coefficients, "coefficients", "is a list of coefficients, from degree 0 on",
                          "For example [1, -h, h**2], or [1] for the term of degree 0.")
    if not 1 <= len(coefficients) <= MOST:
        refuse("expansion", coefficients, f"states at least one coefficient, and at most {MOST}", "Give the term of degree 0.")
    coefficients = [_exact(v, f"coefficient {k}", x) for k, v in enumerate(coefficients)]
    if symbol not in x.names:
        refuse("symbol", symbol, f"the field has the symbols {x.names}", "Name one of them.")
    series = x.series(symbol, len(coefficients) - 1)
    wrong = [k for k, (a, b) in enumerate(zip(series, coefficients, strict=True)) if equal(a, b).status != HOLDS]
    return Comparison("expansion", series, coefficients, FALSIFIED if wrong else HOLDS, "symbolic", label,
                      detail=f"degrees {wrong} differ" if wrong else f"degrees 0 to {len(coefficients) - 1} in {symbol}")


MOST = 501   # coefficients of an expansion
MORE = "Give the field one more symbol."


@contextlib.contextmanager
def remainders():
    """What stands for a remainder from here on is free again afterwards: for statements that are decided one by one."""
    before = dict(POWERS)
    try:
        yield
    finally:
        POWERS.clear()
        POWERS.update(before)


@_worded
def power_series(r: Number, K: Symbolic, order: int, rest: Symbolic) -> Symbolic:
    """(1 + r)^K for every integer K >= 0 as sum_{j <= order} binomial(K, j) r^j + r^(order + 1) rest.

    r, K, rest: of one field of symbols (r may be a number), rest a symbol of its own that neither r nor K holds: the power is a
    polynomial in r, so that some value of it makes this an identity. Every other power needs another symbol. order: 0 to 50.
    Raises BadInput for an r that is no exact number, and for a rest that is no symbol, that r or K holds, or that stands for the
    remainder of another power already.
    """
    if not is_count(order, 0) or order > 50:
        refuse("order", order, "is an int from 0 to 50", "Give the last degree that is written out.")
    if not isinstance(K, Symbolic):
        refuse("K", K, "is no symbol, and powers of a known exponent need no remainder", "Write (1 + r)**K.")
    r = _exact(r, "r", K)
    if not isinstance(rest, Symbolic) or str(rest) not in rest.names or rest.names != K.names:
        refuse("rest", rest, "is a symbol of K's field, free to stand for what is left of the power", MORE)
    name = str(rest)
    for what, value in (("r", r), ("K", K)):
        if isinstance(value, Symbolic) and value.substitute(**{name: rest + 1}) != value:
            refuse("rest", name, f"stands in {what} = {value}, and the remainder may be any number", MORE)
    r = 0 * K + r
    power = (r, K, order)
    if POWERS.setdefault((rest.names, name), power) != power:
        other, exponent, _ = POWERS[rest.names, name]
        refuse("rest", name, f"is what is left of (1 + {other})^{exponent} already, and of another power something else is left",
               "Give the field a symbol for each power.")
    out = r ** (order + 1) * rest
    for j in range(order + 1):
        chosen = K**0
        for i in range(j):
            chosen = chosen * (K - i)
        out = out + Fraction(1, math.factorial(j)) * chosen * r**j
    return out
