"""Statements for every symmetric matrix with eigenvalues between two numbers, decided exactly by real roots.

For a rational function r without a pole in [low, high] and a symmetric H with low I <= H <= high I, the eigenvalues of r(H) are
r(h) with h in [low, high], and each h is one of H = h I: the norm of r(H) is at most b for all H, in every dimension, if and only
if |r(h)| <= b on the interval. Of several matrices H_k, which need not commute, the same holds for sums of functions of one matrix
each: the largest eigenvalue of a sum is at most the sum of the largest ones, with equality at multiples of the identity. Signs of
polynomials between isolated real roots decide (F. Sturm; Basu, Pollack, Roy, Algorithms in Real Algebraic Geometry, chapter 2).
"""
from __future__ import annotations

import itertools
import numbers
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.errors import BadInput, TooLarge, check_flag, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, Comparison, Terms, show
from fltheory.core.libraries import need
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg import Algebraic
from fltheory.core.numbers.linalg.algebraic import algebraic, image, real_roots
from fltheory.core.numbers.linalg.entries import as_fraction
from fltheory.core.numbers.linalg.polynomials import isolated, polynomial, primitive, sign, value_at
from fltheory.core.numbers.scalars import Number, fraction
from fltheory.core.relations import _gap, _worded

MOST = 500   # degree of a function whose signs are decided: seconds at most
SHOWN = 8   # points at which a supremum is attained that are listed


@dataclass(frozen=True)
class Part:
    """One summand top(h) / bottom(h) of a function (coefficients, constant first) on [low, high], without a pole there."""

    name: str
    top: tuple
    bottom: tuple
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class Supremum:
    """value: the largest value, an `Algebraic`; at: up to 8 points {symbol: Algebraic} at which it is attained."""

    value: Algebraic
    at: tuple


def supremum(r: Symbolic | Number, low: Number, high: Number, absolute: bool = False) -> Supremum:
    """The largest value of r, or with `absolute` of |r|, exactly, over all values of its symbols in [low, high].

    r: a rational function with rational coefficients of one symbol, or a sum of such functions of one symbol each; so it is the
    largest eigenvalue (the norm) of r(H) over all symmetric H between low I and high I in every dimension, of several matrices
    whether they commute or not. low, high: rationals, or {symbol: rational}. Raises BadInput for poles in the interval and
    functions that are no such sum, TooLarge beyond degree 500, and for critical points of degree beyond 150.
    """
    check_flag(absolute, "absolute")
    parts, offset = separated(r, low, high)
    suprema = [_largest(parts, offset)]
    if absolute:
        lowest = _largest([Part(p.name, tuple(-c for c in p.top), p.bottom, p.low, p.high) for p in parts], -offset)
        suprema = [v for v in (*suprema, lowest) if v.value >= max(suprema[0].value, lowest.value)]
    return Supremum(suprema[0].value, tuple(at for v in suprema for at in v.at)[:SHOWN])


@_worded
def for_all_spectra(r: Symbolic | Number, low: Number, high: Number, bound: Terms | Number | tuple[Number, Number],
                    label: str = "", strict: bool = False) -> Comparison:
    """|r| <= bound (strict: <) for all values of the symbols in [low, high], touching decided: the norm of r(H) is at most bound
    for every symmetric H with low I <= H <= high I, in every dimension.

    r, low, high: as for `supremum`; step sizes and other parameters are rational numbers, one claim instance each. bound: a
    rational, an `Algebraic`, `Terms` of such, a function of the same symbols, or a pair (least, most) between which r lies. The
    evidence is symbolic: the interval is decided as a whole. The detail says where equality is attained, or near which point the
    bound is violated. Raises BadInput, TooLarge.
    """
    check_flag(strict, "strict")
    terms, total = (bound.parts, bound.total) if isinstance(bound, Terms) else (None, bound)
    pair, least, most = _ends_of(total)
    if not isinstance(r, Symbolic):
        separated(r, low, high)
    ends = (most, 1), (least if pair else -least, -1)
    try:
        checks = [_at_least_zero(end, r, way, low, high, strict) for end, way in ends]
    except BadInput:
        separated(r, low, high)   # what was asked is refused under its own name, not the difference
        for v in (least, most):
            if isinstance(v, Symbolic):
                separated(v, low, high, "bound")
        raise
    broken = [where for holds, where in checks if not holds]
    try:
        lhs = supremum(r, low, high, absolute=not pair)
    except TooLarge:
        if terms:
            raise
        lhs = None
    detail = f"violated at {broken[0]}" if broken else "" if lhs is None else f"supremum at {_points(lhs.at[:2])}"
    margin = None if lhs is None or isinstance(most, Symbolic) else _gap(most, lhs.value)
    relation = "less than, for all spectra" if strict else "at most, for all spectra"
    return Comparison(relation, r if lhs is None else lhs.value, bound, FALSIFIED if broken else HOLDS, "symbolic", label, margin,
                      terms=terms, detail=detail)


def _ends_of(bound):
    """(whether a bound is a pair, least, most), of one number twice that number."""
    pair = isinstance(bound, (tuple, list))
    if (pair and len(bound) != 2) or isinstance(bound, (dict, set)) or (not pair and np.ndim(bound)):
        refuse("bound", bound, "is a number, or a pair (least, most) between which r lies",
               "Give b for |r| <= b, or (least, most).")
    least, most = (v if isinstance(v, (Symbolic, Algebraic)) else fraction(v, what) for v, what in (
        zip(bound, ("least", "most"), strict=True) if pair else [(bound, "bound")] * 2))
    if pair and not any(isinstance(v, Symbolic) for v in (least, most)) and least > most:
        refuse("bound", bound, "least is at most most", "Exchange them.")
    return pair, least, most


def _at_least_zero(bound, r, way, low, high, strict):
    """(whether way (bound - r) >= 0, a point that violates it in words)."""
    if isinstance(bound, Algebraic) and bound.degree == 1:
        bound = bound.rational
    if not isinstance(bound, Algebraic):
        parts, offset = separated((bound - r) * way, low, high)
        if len(parts) == 1:
            point = _violation(parts[0], strict)
            return point is None, "" if point is None else f"{parts[0].name} = {show(point)}"
    else:
        parts, offset = separated(r * way, low, high)
        top = _largest(parts, offset)
        return (top.value < bound * way if strict else top.value <= bound * way), _points(top.at[:1])
    below = _largest([Part(p.name, tuple(-c for c in p.top), p.bottom, p.low, p.high) for p in parts], -offset)
    return (below.value < 0 if strict else below.value <= 0), _points(below.at[:1])


def _points(points):
    return " and ".join(", ".join(f"{k} = {v}" for k, v in at.items()) or "every point" for at in points)


# ---- one symbol ----------------------------------------------------------------------------------------------
def _violation(part, strict):
    """A point of [low, high] where a part is negative (strict: or 0), None if there is none.

    Between two neighbouring roots the sign is constant: it is read at the ends and at one rational between any two roots.
    """
    positive = sign(primitive(part.bottom), part.low) * _leading(part.bottom)
    numerator = [v * positive for v in part.top]
    squarefree = _squarefree(numerator)
    roots = isolated(squarefree, part.low, part.high) if len(squarefree) > 1 else []
    between = [(a[1] + b[0]) / 2 for a, b in itertools.pairwise(roots)]
    for x in (part.low, part.high, *between):
        value = value_at(numerator, x)
        if value < 0 or (strict and value == 0):
            return x
    return roots[0][0] if strict and roots else None


def _leading(coefficients):
    """The sign that `primitive` takes away: of the leading coefficient."""
    return 1 if next(v for v in reversed(coefficients) if v != 0) > 0 else -1


def _squarefree(coefficients):
    flint = need("flint", "squarefree parts")
    poly = flint.fmpz_poly(list(primitive(coefficients)))
    if poly == 0:
        return (0,)
    return tuple(int(c) for c in (poly // poly.gcd(poly.derivative())).coeffs()) if poly.degree() > 0 else (1,)


def _extremes(part):
    """(largest value of a part on its interval, the points that attain it): ends and critical points are compared exactly."""
    top, bottom = polynomial(part.top), polynomial(part.bottom)
    slope = [as_fraction(c) for c in (top.derivative() * bottom - top * bottom.derivative()).coeffs()]
    critical = real_roots(_squarefree(slope)) if any(slope) else []
    points = [algebraic(part.low), *(v for v in critical if part.low < v < part.high)]
    points += [algebraic(part.high)] if part.high != part.low else []
    values = [image(x, part.top, part.bottom) for x in points]
    best = values[0]
    for v in values[1:]:
        best = v if v > best else best
    return best, [x for x, v in zip(points, values, strict=True) if v == best]


# ---- several symbols -------------------------------------------------------------------------------------------
def _largest(parts, offset) -> Supremum:
    extremes = [_extremes(p) for p in parts]
    value = sum((v for v, _ in extremes), algebraic(offset))
    points = itertools.product(*(x for _, x in extremes))
    return Supremum(value, tuple(dict(zip([p.name for p in parts], at, strict=True)) for at in itertools.islice(points, SHOWN)))


def separated(r, low, high, what="r") -> tuple[list[Part], Fraction]:
    """(parts, offset) with r = offset + the sum of the parts, each a function of one symbol; raises BadInput if it is none."""
    if not isinstance(r, Symbolic):
        if not isinstance(r, (numbers.Rational, np.integer)) and type(r).__name__ not in ("fmpq", "fmpz"):
            refuse(what, r, "is a rational function of symbols, or a rational number", "Work in an ft.Field, with numbers else.")
        return [], fraction(r)
    degree = max((max(powers, default=0) for part in r.terms() for powers, _ in part), default=0)
    if degree > MOST:
        raise TooLarge(f"{what} has degree {degree}, and signs are decided up to degree {MOST}. Bound a lower power: |r| <= b < 1 "
                       "gives |r|^k <= b^k")
    names = [name for k, name in enumerate(r.names) if any(powers[k] for part in r.terms() for powers, _ in part)]
    ends = {name: _ends(name, low, high) for name in names}
    base = {name: ends[name][0] for name in names}

    def at(**values):
        try:
            return r.substitute(**values)
        except ZeroDivisionError:
            refuse(what, str(r), f"has a pole in the interval, at {_points([base])}", "Choose an interval without poles.")
    origin = _constant(at(**base))
    alone = {name: at(**{k: v for k, v in base.items() if k != name}) for name in names}
    if len(names) > 1 and r != sum(alone.values()) - (len(names) - 1) * origin:
        refuse(what, str(r), f"is no sum of functions of one symbol each, in {', '.join(names)}",
               "Bound it by such a sum; or state it for one matrix, with numbers for the other symbols.")
    parts = [_part(name, (what, r), alone[name], *ends[name]) for name in names]
    return parts, (1 - len(names)) * origin if names else _constant(r)


def _constant(x) -> Fraction:
    return fraction(x) if not isinstance(x, Symbolic) else sum((c for _, c in x.terms()[0]), Fraction(0)) / x.terms()[1][0][1]


def _ends(name, low, high):
    for what, bound in (("low", low), ("high", high)):
        if isinstance(bound, dict) and name not in bound:
            refuse(what, bound, f"names every symbol, {name} too", "Give {symbol: number} for all of them, or one number.")
    a, b = (fraction(v[name] if isinstance(v, dict) else v, what) for what, v in (("low", low), ("high", high)))
    if a > b:
        refuse("low", a, f"is at most high = {b}", "Exchange the ends.")
    return a, b


def _part(name, subject, g, low, high) -> Part:
    at = g.names.index(name)
    coefficients = []
    for terms in g.terms():
        row = [Fraction(0)] * (1 + max((powers[at] for powers, _ in terms), default=0))
        for powers, c in terms:
            row[powers[at]] += c
        coefficients.append(tuple(row))
    poles = isolated(_squarefree(coefficients[1]), low, high)
    if poles:
        where = f"has a pole in the interval, at {name} = {float(sum(poles[0]) / 2):.6g}"
        refuse(subject[0], str(subject[1]), where, "Choose an interval without poles.")
    return Part(name, coefficients[0], coefficients[1], low, high)
