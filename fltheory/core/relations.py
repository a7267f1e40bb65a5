"""Relations between the legs: what a claim's body returns. Each computes its own evidence and margin."""
from __future__ import annotations

import functools
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import FLTheoryError, check_flag, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, Bounds, Comparison, Terms, evidence_of, show, weakest
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg import Algebraic
from fltheory.core.numbers.scalars import Number, fraction, is_rational
from fltheory.core.statistics import Interval

FLOAT_TOLERANCE = 1e-9   # relative, for sides that are floats


def _entries(value):
    return list(np.asarray(value, dtype=object).reshape(-1))


def _read(v):
    """flint rationals as Fractions: `fmpq == Fraction` is silently False."""
    return fraction(v) if is_rational(v) else v


def _gap(a, b):
    """a - b; of algebraic numbers in floats: a margin is read, and its minimal polynomial is not needed."""
    return float(a) - float(b) if isinstance(a, Algebraic) or isinstance(b, Algebraic) else a - b


def _worded(relation):
    """A relation between things that cannot be compared is refused in words."""
    @functools.wraps(relation)
    def checked(*args, **options):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what numpy only warns of is no comparison either
                return relation(*args, **options)
        except (FLTheoryError, ImportError):
            raise
        except (Warning, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError) as error:
            refuse(relation.__name__, args or tuple(options.values()), f"cannot be compared ({type(error).__name__}: {error})",
                   "Give numbers or arrays of numbers on both sides.")
    return checked


@_worded
def equal(lhs: Any, rhs: Any, label: str = "") -> Comparison:
    """Both sides (numbers, arrays of one shape, or `Terms`) are equal: identically, exactly, as overlapping balls, or
    to 1e-9."""
    terms = rhs.parts if isinstance(rhs, Terms) else None
    lhs, rhs = (v.total if isinstance(v, Terms) else v for v in (lhs, rhs))
    a, b = [_read(v) for v in _entries(lhs)], [_read(v) for v in _entries(rhs)]
    if len(a) != len(b):
        refuse("equal", (np.shape(lhs), np.shape(rhs)), "both sides have one shape", "Compare vectors of equal length.")
    kind = evidence_of(lhs, rhs)
    margin, detail = None, ""
    if kind in ("symbolic", "exact"):
        wrong = [k for k, (u, v) in enumerate(zip(a, b, strict=True)) if not u == v]
        status = FALSIFIED if wrong else HOLDS
        if kind == "exact":
            margin = -max((abs(_gap(u, v)) for u, v in zip(a, b, strict=True)), default=0)
        detail = f"entries {wrong} differ" if wrong and len(a) > 1 else ""
    elif kind == "ball":
        status = HOLDS if all(_ball(u).overlaps(_ball(v)) for u, v in zip(a, b, strict=True)) else FALSIFIED
        detail = "balls overlap: equal up to the radius of the enclosures" if status == HOLDS else "the enclosures are disjoint"
    else:
        u, v = np.array([float(x) for x in a]), np.array([float(x) for x in b])
        gap, scale = float(np.abs(u - v).max()), max(float(np.abs(u).max()), float(np.abs(v).max()), 1e-300)
        margin = -gap
        status = HOLDS if gap <= FLOAT_TOLERANCE * scale else FALSIFIED
    return Comparison("equal", lhs, rhs, status, kind, label, margin, terms=terms, detail=detail)


@_worded
def at_most(lhs: Any, rhs: Any, label: str = "", strict: bool = False) -> Comparison:
    """lhs <= rhs (or <). rhs may be `Terms`; lhs may be `Bounds`, or the `Interval` of a run, which must lie below as a whole.
    Symbols have no order and are refused: `nonnegative` proves a sign where all of them are >= 0."""
    check_flag(strict, "strict")
    terms, total = (rhs.parts, rhs.total) if isinstance(rhs, Terms) else (None, rhs)
    kind, detail = evidence_of(lhs, rhs), ""
    low, high = (lhs.low, lhs.high) if isinstance(lhs, Bounds | Interval) else (lhs, lhs)
    value = lhs.value if isinstance(lhs, Interval) else high
    if kind == "symbolic":
        refuse("at_most", show(lhs), "symbols have no order", "Prove the sign with `nonnegative`.")
    low, high, total, value = (_read(v) for v in (low, high, total, value))
    if kind == "ball":
        low, high, total, value = (_ball(v) for v in (low, high, total, value))
        inside = bool(high < total) or (not strict and bool(high <= total))
        status = HOLDS if inside else FALSIFIED if bool(low > total) else INCONCLUSIVE
    elif kind == "float":
        slack = FLOAT_TOLERANCE * max(abs(float(high)), abs(float(total)))
        inside = high <= total - slack or (high == total and not strict)
        status = HOLDS if inside else FALSIFIED if low > total + slack else INCONCLUSIVE
    else:
        status = HOLDS if (high < total if strict else high <= total) else FALSIFIED if (
            low >= total if strict else low > total) else INCONCLUSIVE
    if isinstance(lhs, Interval) and lhs.undecided:
        status, detail = INCONCLUSIVE, lhs.undecided
    margin = _gap(total, value)
    if Algebraic in (type(total), type(value)):
        total, value = float(total), float(value)
    looseness = None if kind == "ball" or value == 0 else total / value
    return Comparison("less than" if strict else "at most", lhs, rhs, status, kind, label, margin, looseness, terms, detail)


def status_of(value, expected, allowed=0, bound=False) -> str:
    """The status of |value - expected| <= allowed, of value <= expected + allowed for a `bound`: value is a number, or
    `Bounds` or an `Interval`, which must lie there as a whole."""
    low, high = (value.low, value.high) if isinstance(value, Bounds | Interval) else (value, value)
    low, high, most = _read(low), _read(high), _read(expected) + allowed
    least = -math.inf if bound else _read(expected) - allowed
    if least <= low and high <= most:
        return HOLDS
    return FALSIFIED if high < least or low > most else INCONCLUSIVE


@_worded
def equivalent(first: tuple, second: tuple, label: str = "", detail: str = "") -> Comparison:
    """Two statements, each given as (truth, (left, right)) with exact numbers, are both true or both false."""
    (a, left), (b, right) = first, second
    one, other = (f"{show(low)} < {show(high)}: {truth}" for truth, (low, high) in (first, second))
    return Comparison("equivalent", one, other, HOLDS if bool(a) == bool(b) else FALSIFIED, evidence_of(*left, *right), label,
                      detail=detail)


@_worded
def agrees(measured: Interval, predicted: Number, label: str = "") -> Comparison:
    """A finite measured interval contains the predicted value. The level travels with the interval; one of too few
    replicates decides nothing (`Interval.undecided`)."""
    status = INCONCLUSIVE if measured.undecided else HOLDS if measured.contains(predicted) else FALSIFIED
    return Comparison("agrees", measured, predicted, status, "statistical", label,
                      measured.half_width - abs(measured.value - float(predicted)), detail=measured.undecided)


@_worded
def nonnegative(polynomial: Any, label: str = "") -> Comparison:
    """A polynomial (or quotient) in symbols that are all >= 0 has only coefficients of one sign: proved >= 0, or < 0 where all
    symbols are > 0, which is FALSIFIED. Mixed signs decide nothing."""
    if not isinstance(polynomial, Symbolic):
        return at_most(0, polynomial, label)
    top, bottom = ({c > 0 for _, c in part} for part in polynomial.terms())
    if len(top) > 1 or len(bottom) > 1:
        return Comparison("non-negative", polynomial, 0, INCONCLUSIVE, "symbolic", label, detail="mixed signs")
    if not top or top == bottom:
        return Comparison("non-negative", polynomial, 0, HOLDS, "symbolic", label,
                          detail="all coefficients have one sign and all symbols are >= 0")
    return Comparison("non-negative", polynomial, 0, FALSIFIED, "symbolic", label, detail="negative wherever all symbols are > 0")


@_worded
def induction(base: list | tuple, step: list | tuple, label: str = "", over: Any = "tau") -> Comparison:
    """A closed form for every integer, from its value at the start and one coded step.

    base, step: sequences of (computed, stated) pairs in a field of rational functions where a power with the
    symbolic exponent `over` is a free symbol; tau, K, E, H or k in it are local steps, which the proof then covers all.
    Steps that compare nothing but numbers prove nothing beyond them.
    """
    if not base or not step:
        refuse("induction", (len(base), len(step)), "needs at least one base and one step identity", "State both.")
    pairs = [("base", *p) for p in base] + [("step", *p) for p in step]
    checks = [(where, equal(a, b)) for where, a, b in pairs]
    failed = [(where, c) for where, c in checks if c.status != HOLDS]
    kind = weakest(c.evidence for _, c in checks)
    general = any(c.evidence == "symbolic" for where, c in checks if where == "step")
    example = failed[0][1] if failed else checks[-1][1]
    return Comparison("induction", example.lhs, example.rhs, FALSIFIED if failed else HOLDS,
                      "symbolic" if kind == "exact" and general else kind, label,
                      detail=f"{failed[0][0]} fails" if failed else
                      f"{len(base)} base and {len(step)} step identities, " +
                      (f"every integer {over}" if general else f"of numbers alone: nothing for other {over}"),
                      every=(str(over),) if general and not failed else ())


@_worded
def limit(expression: Any, symbol: str, at: Any = 0) -> Any:
    """Limit of rational functions (Symbolic, scalar or array) as one symbol tends to a rational value.

    Elements are in lowest terms, so substituting is the limit wherever the denominator does not vanish.
    """
    def one(v):
        if not isinstance(v, Symbolic):
            return v
        try:
            return v.substitute(**{symbol: Fraction(at)})
        except ZeroDivisionError:
            refuse("limit", str(v), f"has a pole at {symbol} = {at}", "State the leading order instead.")
    array = np.asarray(expression, dtype=object)
    out = np.empty(array.shape, dtype=object)
    out.reshape(-1)[:] = [one(v) for v in array.reshape(-1)]
    return out if array.ndim else out.item()


def _ball(v):
    import flint
    return flint.arb(flint.fmpq(v.numerator, v.denominator) if isinstance(v, Fraction) else v)


def at_status(left, right, strict=False):
    """(left <= right or <, right - left), decided exactly for rationals and rigorously for balls.

    A ball comparison that cannot be decided counts as not holding: an unproved hypothesis is no hypothesis.
    """
    left, right = _read(left), _read(right)
    if "arb" in (type(left).__name__, type(right).__name__):
        left, right = _ball(left), _ball(right)
    return bool(left < right if strict else left <= right), _gap(right, left)
