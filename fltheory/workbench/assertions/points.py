"""Where an algorithm settles: its fixed point, and how far that is from the optimum."""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.errors import NoFixedPoint
from fltheory.core.evidence import FALSIFIED, HOLDS, evidence_of
from fltheory.core.kinds import Array, Operator
from fltheory.core.numbers.scalars import FLOAT, declare, fraction
from fltheory.core.numbers.text import digits, exact_if_short, with_half_width
from fltheory.core.relations import status_of
from fltheory.core.statistics import level_of
from fltheory.proofs.assertion import Evidence
from fltheory.runs.trace import Trace
from fltheory.workbench.assertions.asked import (LEVEL, allowance, by_interval, declared_number, interval_rule,
                                                 tolerance_of, vector)
from fltheory.workbench.assertions.subjects import length, mean_ball, minimiser, named

DERIVED = ("found is derived from the coded round, not measured; a difference is one of the algorithm or of the "
           "formula. ")
IN_FLOATS = "Decide close calls with subject.exact()."
SQUARED = "Squares are compared exactly; a root that is no fraction is shown in floats."
MEASURED = ("found is the mean final model of the run; a difference is real up to the level, and includes what is left "
            "of the start if the run is short.")


def assert_fixed_point(subject: Operator | Trace, expected: Array, tolerance: Array = None,
                       level: float = LEVEL) -> Evidence:
    """The fixed point of the mean round (operator), or the mean model after the last round (trace), is `expected`.

    subject: an `Operator` (in floats: every coordinate to 1e-9 of the scale in the table; after `exact()`: equality of
    rationals) or a `Trace` (an interval at `level` that contains `expected` and is narrower than a tenth of the
    scale). expected: (d,) numbers, fractions or strings. tolerance: absolute, per coordinate for operators, Euclidean
    for traces, where the whole interval must lie within it. Returns the evidence. Raises AssertionError with a table,
    also where there is no unique fixed point; BadInput for wrong subjects, shapes, NaN, infinities.

    >>> import fltheory as ft
    >>> problem = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
    >>> op = ft.derive(ft.FedAvg(lr="1/2", steps=[1, 2]), problem, ft.Full())
    >>> ft.assert_fixed_point(op.exact(), ["3/5"]).status
    'HOLDS'
    >>> ft.assert_fixed_point(op.exact(), ["1/2"])
    Traceback (most recent call last):
        ...
    AssertionError: assert_fixed_point: does not hold
      subject     FedAvg(lr=1/2, steps=(1, 2)) on Quadratic (n = 2, d = 1), Full(steps=(1, 2))
      compared    fixed point of the mean round, each coordinate
      evidence    exact (rationals)
      allowed     equality
                  expected  found  difference
      x[0]        1/2       3/5    1/10        <- differs
      to read     found is derived from the coded round, not measured; a difference is one of the
                  algorithm or of the formula.
    """
    __tracebackhide__ = True
    about = {"assertion": "assert_fixed_point", "subject": named(subject)}
    return _decide(subject, about, "x", expected, tolerance, level).decided()


def assert_bias(subject: Operator | Trace, expected: Array, tolerance: Array = None, reference: Array = None,
                level: float = LEVEL) -> Evidence:
    """The bias, fixed point minus optimum, is `expected`: a distance (one number) or a vector (d,).

    subject, tolerance, level: as for `assert_fixed_point`; of a trace the mean final model is compared. Distances of
    exact operators are compared through their squares, so that no root is rounded. expected: a number >= 0, or (d,)
    numbers with signs. reference: point (d,), default the certified minimiser of the problem. Returns the evidence.
    Raises AssertionError with a table; BadInput for bad arguments and where there is no minimiser.

    >>> import fltheory as ft
    >>> problem = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
    >>> scaffold = ft.derive(ft.Scaffold(lr="1/2", steps=[1, 2]), problem, ft.Full())
    >>> ft.assert_bias(scaffold, 0).status
    'HOLDS'
    >>> ft.assert_bias(ft.derive(ft.FedAvg(lr="1/2", steps=[1, 2]), problem, ft.Full()), 0)
    Traceback (most recent call last):
        ...
    AssertionError: assert_bias: does not hold
      subject     FedAvg(lr=1/2, steps=(1, 2)) on Quadratic (n = 2, d = 1), Full(steps=(1, 2))
      compared    fixed point of the mean round minus optimum, Euclidean distance
      evidence    float
      allowed     absolute difference 1e-09, 1e-9 of the scale 1
                  expected  found  difference
      distance    0         0.1    0.1         <- differs
      to read     found is derived from the coded round, not measured; a difference is one of the
                  algorithm or of the formula. Decide close calls with subject.exact().
    """
    __tracebackhide__ = True
    about = {"assertion": "assert_bias", "subject": named(subject)}
    return _decide(subject, about, "bias", expected, tolerance, level, reference).decided()


def _decide(subject, about, name, expected, tolerance, level, reference=None) -> Evidence:
    """name: "x", the point itself, or "bias", the point minus reference or optimum, of which also the distance is asked."""
    tolerance, level, bias = tolerance_of(tolerance), level_of(level), name == "bias"
    measured = isinstance(subject, Trace)
    d = len(subject.final) if measured else subject.problem.d
    whole = not bias or declare(expected, "expected").ndim > 0
    expected = vector(expected, "expected", d) if whole else declared_number(expected, "expected", 0)
    about["compared"] = (f"mean server model after {subject.rounds} rounds" if measured else "fixed point of the mean round") + (
        "" if not bias else f" minus {'optimum' if reference is None else 'reference'}") + (
        ", Euclidean distance" if not whole else "" if measured and not bias else ", each coordinate")
    at = np.zeros(d, dtype=int)
    if reference is not None:
        at = vector(reference, "reference", d)
    elif bias and subject.problem is not None:  # a trace without problem is refused below, with the reason
        at = minimiser(subject.problem)
    if measured:
        return _measured(subject, about, name, expected, FLOAT.array(at), tolerance, level)
    try:
        point = subject.fixed_point().x
    except NoFixedPoint as error:
        name = name if whole else "distance"
        rows = tuple((f"{name}[{k}]", exact_if_short(a), "none", "-", "") for k, a in enumerate(np.atleast_1d(expected)))
        return Evidence(**about, kind="exact", allowed="-", rows=rows, status=FALSIFIED, why=str(error),
                        reading="there is no unique fixed point, so it equals nothing.")
    scale = max(_size(expected), _size(point), _size(at), length(subject.problem))
    gap = point - at if _exact(point, at) else FLOAT.array(point) - FLOAT.array(at)
    return _derived(about, name, expected, gap, tolerance, scale)


def _derived(about, name, expected, gap, tolerance, scale):
    """A vector against a vector, or its norm against a number: exactly where both are exact, roots through squares."""
    whole, exact = np.ndim(expected) > 0, _exact(expected, gap)
    if not exact:
        expected, gap = FLOAT.array(np.asarray(expected)), FLOAT.array(np.asarray(gap))
    allowed, said = allowance(tolerance, exact, scale)
    if whole:
        pairs = list(zip(expected, gap, strict=True))
        fine = [status_of(b, a, allowed) == HOLDS for a, b in pairs]
    else:
        expected, square = expected if exact else float(expected), sum(g * g for g in gap)
        root = _root(fraction(square)) if exact else math.sqrt(square)
        pairs = [(expected, root)]
        fine = [max(expected - allowed, 0) ** 2 <= fraction(square) <= (expected + allowed) ** 2 if exact else
                status_of(root, expected, allowed) == HOLDS]
    rows = tuple((f"{name}[{k}]" if whole else "distance", *map(exact_if_short, (a, b, b - a)), "" if ok else "<- differs")
                 for k, ((a, b), ok) in enumerate(zip(pairs, fine, strict=True)))
    return Evidence(**about, kind="exact (rationals)" if exact else "float", allowed=said, rows=rows,
                    status=HOLDS if all(fine) else FALSIFIED,
                    reading=DERIVED + (IN_FLOATS if not exact else "" if whole else SQUARED))


def _measured(trace, about, name, expected, origin, tolerance, level):
    """The mean final model minus the origin, known up to a ball, against a vector, or its norm against a number."""
    (centre, radius), whole = mean_ball(trace, level), np.ndim(expected) > 0
    scale = max(_size(expected), _size(centre), length(trace.problem))
    gap, wanted = centre - origin, FLOAT.array(np.asarray(expected))
    off = float(np.linalg.norm(gap - wanted if whole else gap))
    status, why = by_interval(0 if whole else wanted, off, radius, tolerance, scale)
    rows = [(f"{name}[{k}]", exact_if_short(a), with_half_width(b, radius), exact_if_short(b - a),
             "<- outside" if abs(b - a) > radius else "")
            for k, (a, b) in enumerate(zip(wanted, gap, strict=True))] if whole else []
    rows.append(("distance", "0" if whole else exact_if_short(expected), with_half_width(off, radius),
                 digits(off) if whole else exact_if_short(off - float(wanted)), "of the whole vector" if whole else ""))
    return Evidence(**about, kind="statistical", allowed=interval_rule(level, tolerance, scale), rows=tuple(rows),
                    status=status, why=why, reading=MEASURED)


def _root(square):
    p, q = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return fraction(p) / q
    return math.sqrt(square)


def _exact(*parts) -> bool:
    return evidence_of(*parts) == "exact"


def _size(value) -> float:
    return max((abs(float(v)) for v in np.atleast_1d(np.asarray(value, dtype=object))), default=0.0)
