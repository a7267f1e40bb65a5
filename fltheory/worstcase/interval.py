"""Inequalities certified for a whole interval of a symbol: a step size, or the inverse of the number of counted clients.

The rounds run on rational functions of the symbol, so every row of the programme is one. The interval is cut into pieces; on each,
multipliers are found at its middle, and the matrix that must be positive definite is enclosed in balls over the whole piece.
"""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from fltheory.core.errors import listed, refuse
from fltheory.core.evidence import HOLDS, INCONCLUSIVE, Comparison
from fltheory.core.kinds import Algorithm, Law
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import Field, fraction, need
from fltheory.worstcase.certificate import interior, matrices, repaired, rounded
from fltheory.worstcase.classes import FunctionClass
from fltheory.worstcase.programme import Row
from fltheory.worstcase.quadratic_forms import Form, number
from fltheory.worstcase.relation import check_sides
from fltheory.worstcase.worst import question

DEPTH = 10  # halvings of a piece before it is given up
BITS = 256


def certified_between(algorithm: Algorithm, classes: FunctionClass | list, law: Law | None = None, *, symbol: str,
                      between: tuple, left: Callable, terms: dict, label: str = "",
                      initial: Callable | list | tuple = (), **options: Any) -> Comparison:
    """left(s) <= sum_k coefficient_k term_k(s) for every function of the classes and every value of a symbol in [a, b].

    symbol: the name of a symbol of `ft.Field`, in which the algorithm (its step), the coefficients or `counts` may be written;
    between: (a, b), rationals. left, terms, initial, options: as in `certified_over`, homogeneous, without a free constant: the
    conditions of `initial` must hold for all multiples of a situation. HOLDS if pieces that cover [a, b] are all proved;
    INCONCLUSIVE otherwise, naming the first piece that is not.
    """
    check_sides(left, terms)
    ends = listed(between, "between", "is a pair of rationals", "Give (a, b) with a < b.")
    if len(ends) != 2:
        refuse("between", between, "is a pair of rationals", "Give (a, b) with a < b.")
    a, b = map(fraction, ends)
    if not a < b:
        refuse("between", (str(a), str(b)), "an interval has a < b", "Give its ends in order.")
    field = Field(symbol)
    if len(field.names) != 1:
        refuse("symbol", symbol, "is the name of one symbol", 'For example "eta".')

    def measure(s):
        return left(s) - sum((term(s) * c for c, term in terms.values()), Form())
    setting = question(algorithm, classes, law, measure, initial, domain=field, **options)
    programme = setting.programme()
    if any(row.constant != 0 for row in (*programme.rows, programme.objective)):
        refuse("terms", "a constant", "an inequality over an interval is homogeneous", "Write every term as a multiple of a form.")
    pieces, proved = [(a, b, 0)], []
    while pieces:
        low, high, depth = pieces.pop()
        if _piece(programme, symbol, low, high):
            proved.append((low, high))
        elif depth >= DEPTH:
            return _comparison(INCONCLUSIVE, classes, symbol, a, b, terms, label, f"not proved on [{low}, {high}]")
        else:
            middle = (low + high) / 2
            pieces += [(middle, high, depth + 1), (low, middle, depth + 1)]
    return _comparison(HOLDS, classes, symbol, a, b, terms, label, f"proved on {len(proved)} pieces that cover the interval")


def _comparison(status, classes, symbol, a, b, terms, label, detail):
    right = " + ".join(f"({c}) {name}" for name, (c, _) in terms.items())
    return Comparison(f"certified over {classes} for {symbol} in [{a}, {b}]", "left side", right, status, "exact", label,
                      detail=detail)


def _piece(programme, symbol, low, high) -> bool:
    """Whether multipliers found at the middle of a piece prove the inequality on all of it."""
    middle = _at(programme, symbol, (low + high) / 2)
    multipliers = interior(middle, 0.0)
    if multipliers is None:
        return False
    less = len(programme.less)
    y = repaired(middle.rows, middle.objective.values, rounded(multipliers, less), less, len(programme.same))
    if y is None or any(v < 0 for v in y[:less]):
        return False
    used = [(number(v), row) for v, row in zip(y, programme.rows, strict=True) if v != 0]
    values = sum((v * row.values for v, row in used), -programme.objective.values)
    if any(v != 0 for v in values):
        return False
    blocks = [sum((v * row.blocks[b] for v, row in used), -block) for b, block in enumerate(programme.objective.blocks)]
    return all(_definite(M, low, high) for M in (*blocks, *matrices(programme, y)) if len(M))


def _at(programme, symbol, value):
    """The programme at one rational value of the symbol."""
    def put(v):
        return number(fraction(v.substitute(**{symbol: value}))) if isinstance(v, Symbolic) else v

    def row(r):
        return Row([np.vectorize(put, otypes=[object])(b) if b.size else b for b in r.blocks],
                   np.vectorize(put, otypes=[object])(r.values) if r.values.size else r.values, put(r.constant))
    out = copy.copy(programme)
    out.objective, out.rows = row(programme.objective), [row(r) for r in programme.rows]
    return out


def _definite(M, low, high) -> bool:
    """Whether a symmetric matrix of rational functions is positive definite on [low, high], by LDL' in balls."""
    flint = need("flint", "enclosures over an interval")
    with flint.ctx.workprec(BITS):
        middle, radius = _arb(flint, (low + high) / 2), _arb(flint, (high - low) / 2)
        ball = flint.arb(middle, radius)
        S = [[_enclosed(flint, v, ball) for v in row] for row in M]
        for k in range(len(S)):
            if not S[k][k] > 0:
                return False
            for i in range(k + 1, len(S)):
                ratio = S[i][k] / S[k][k]
                for j in range(k + 1, i + 1):
                    S[i][j] = S[j][i] = S[i][j] - ratio * S[j][k]
    return True


def _arb(flint, value):
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _enclosed(flint, value, ball):
    """The range of a rational function (of one symbol) or a rational over a ball."""
    if not isinstance(value, Symbolic):
        return _arb(flint, fraction(value))
    top, bottom = (_horner(flint, part, ball) for part in value.terms())
    return top / bottom


def _horner(flint, terms, ball):
    coefficients = {powers[0]: _arb(flint, fraction(coefficient)) for powers, coefficient in terms}
    total = flint.arb(0)
    for k in range(max(coefficients, default=0), -1, -1):
        total = total * ball + coefficients.get(k, 0)
    return total
