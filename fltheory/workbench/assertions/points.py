"""Where an algorithm settles: its fixed point, and how far that is from the optimum."""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.errors import NoFixedPoint
from fltheory.core.evidence import FALSIFIED, HOLDS, evidence_of
from fltheory.core.relations import FLOAT_TOLERANCE
from fltheory.core.scalars import FLOAT, declare, fraction
from fltheory.core.statistics import level_of
from fltheory.core.trace import Trace
from fltheory.workbench.assertions.subjects import (
    LEVEL,
    by_interval,
    checked,
    interval_rule,
    length,
    mean_ball,
    minimiser,
    named,
    number,
    tolerance_of,
    vector,
)
from fltheory.workbench.assertions.table import Evidence, shown

DERIVED = ("found is derived from the coded round, not measured; a difference is one of the algorithm or of the "
           "formula. ")
IN_FLOATS = "Decide close calls with subject.exact()."
MEASURED = ("found is the mean final model of the run; a difference is real up to the level, and includes what is left "
            "of the start if the run is short.")


def assert_fixed_point(subject, expected, tolerance=None, level=LEVEL):
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
    checked(subject)
    tolerance, level = tolerance_of(tolerance), level_of(level)
    expected = vector(expected, "expected", len(subject.final) if isinstance(subject, Trace) else subject.problem.d)
    about = {"assertion": "assert_fixed_point", "subject": named(subject)}
    if isinstance(subject, Trace):
        about["compared"] = f"mean server model after {subject.rounds} rounds"
        return _in_ball(subject, expected, 0, tolerance, level, "x", about).decided()
    about["compared"] = "fixed point of the mean round, each coordinate"
    try:
        found = subject.fixed_point().x
    except NoFixedPoint as error:
        return _without(error, expected, "x", about).decided()
    scale = max(_size(expected), _size(found), length(subject.problem))
    return _coordinates(expected, found, tolerance, scale, "x", about).decided()


def assert_bias(subject, expected, tolerance=None, reference=None, level=LEVEL):
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
    checked(subject)
    tolerance, level = tolerance_of(tolerance), level_of(level)
    d = len(subject.final) if isinstance(subject, Trace) else subject.problem.d
    whole = declare(expected, "expected").ndim > 0
    expected = vector(expected, "expected", d) if whole else number(expected, "expected", 0)
    about = {"assertion": "assert_bias", "subject": named(subject)}
    what = "fixed point of the mean round" if not isinstance(subject, Trace) else (
        f"mean server model after {subject.rounds} rounds")
    about["compared"] = f"{what} minus {'optimum' if reference is None else 'reference'}, " + (
        "each coordinate" if whole else "Euclidean distance")
    if isinstance(subject, Trace):
        if subject.problem is not None or reference is not None:
            at = FLOAT.array(vector(reference, "reference", d) if reference is not None else minimiser(subject.problem))
        else:
            at = np.zeros(d)  # refused below, with the reason
        judge = _in_ball if whole else _distance_in_ball
        return judge(subject, expected, at, tolerance, level, "bias", about).decided()
    at = minimiser(subject.problem, reference)
    try:
        found = subject.fixed_point().x
    except NoFixedPoint as error:
        return _without(error, expected if whole else [expected], "bias" if whole else "distance", about).decided()
    scale = max(_size(expected), _size(found), _size(at), length(subject.problem))
    gap = found - at if _exact(found, at) else FLOAT.array(found) - FLOAT.array(at)
    if whole:
        return _coordinates(expected, gap, tolerance, scale, "bias", about).decided()
    return _distance(expected, gap, tolerance, scale, about).decided()


# ---- operators ---------------------------------------------------------------------------------------------
def _coordinates(expected, found, tolerance, scale, name, about):
    exact = _exact(expected, found)
    if not exact:
        expected, found = FLOAT.array(np.asarray(expected)), FLOAT.array(np.asarray(found))
    allowed, said = _allowed(tolerance, exact, scale)
    gaps = [b - a for a, b in zip(expected, found, strict=True)]
    fine = [bool(abs(g) <= allowed) for g in gaps]
    rows = tuple((f"{name}[{k}]", shown(a), shown(b), shown(g), "" if ok else "<- differs")
                 for k, (a, b, g, ok) in enumerate(zip(expected, found, gaps, fine, strict=True)))
    return Evidence(**about, kind=_kind(exact), allowed=said, rows=rows, status=HOLDS if all(fine) else FALSIFIED,
                    reading=DERIVED + ("" if exact else IN_FLOATS))


def _distance(expected, gap, tolerance, scale, about):
    """|gap| against a number, through squares: exact where both are."""
    square = sum(g * g for g in gap)
    exact = _exact([expected], gap)
    if not exact:
        expected, square = float(expected), float(square)
    allowed, said = _allowed(tolerance, exact, scale)
    low = max(expected - allowed, 0)
    if not exact:
        fine = bool(abs(math.sqrt(square) - expected) <= allowed)
    else:
        square = fraction(square)
        fine = low * low <= square <= (expected + allowed) ** 2
    root = _root(square) if exact else math.sqrt(square)
    rows = (("distance", shown(expected), shown(root), shown(root - expected), "" if fine else "<- differs"),)
    return Evidence(**about, kind=_kind(exact), allowed=said, rows=rows, status=HOLDS if fine else FALSIFIED,
                    reading=DERIVED + ("Squares are compared exactly; a root that is no fraction is shown in floats."
                                       if exact else IN_FLOATS))


def _root(square):
    p, q = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return fraction(p) / q
    return math.sqrt(square)


def _allowed(tolerance, exact, scale):
    if tolerance is not None:
        return (tolerance if exact else float(tolerance)), f"absolute difference {float(tolerance):.3g}, as given"
    if exact:
        return 0, "equality"
    return FLOAT_TOLERANCE * scale, f"absolute difference {FLOAT_TOLERANCE * scale:.3g}, 1e-9 of the scale {scale:.3g}"


def _without(error, expected, name, about):
    rows = tuple((f"{name}[{k}]", shown(a), "none", "-", "") for k, a in enumerate(np.atleast_1d(expected)))
    return Evidence(**about, kind="exact", allowed="-", rows=rows, status=FALSIFIED, why=str(error),
                    reading="there is no unique fixed point, so it equals nothing.")


def _exact(*parts) -> bool:
    return evidence_of(*parts) == "exact"


def _kind(exact):
    return "exact (rationals)" if exact else "float"


def _size(value) -> float:
    return max((abs(float(v)) for v in np.atleast_1d(np.asarray(value, dtype=object))), default=0.0)


# ---- traces ------------------------------------------------------------------------------------------------
def _in_ball(trace, expected, origin, tolerance, level, name, about):
    centre, radius = mean_ball(trace, level)
    expected, found = FLOAT.array(expected), centre - origin
    scale = max(_size(expected), _size(centre), length(trace.problem))
    off = float(np.linalg.norm(found - expected))
    status, why = by_interval(0, off, radius, tolerance, scale)
    rows = [(f"{name}[{k}]", shown(a), f"{b:.6g} +/- {radius:.2g}", shown(b - a), "<- outside" if abs(b - a) > radius
             else "") for k, (a, b) in enumerate(zip(expected, found, strict=True))]
    rows.append(("distance", "0", f"{off:.6g} +/- {radius:.2g}", f"{off:.6g}", "of the whole vector"))
    return Evidence(**about, kind="statistical", allowed=interval_rule(level, tolerance, scale), rows=tuple(rows),
                    status=status, why=why, reading=MEASURED)


def _distance_in_ball(trace, expected, origin, tolerance, level, name, about):
    centre, radius = mean_ball(trace, level)
    found = float(np.linalg.norm(centre - origin))
    scale = max(float(expected), _size(centre), length(trace.problem))
    status, why = by_interval(expected, found, radius, tolerance, scale)
    rows = (("distance", shown(expected), f"{found:.6g} +/- {radius:.2g}", shown(found - float(expected)), ""),)
    return Evidence(**about, kind="statistical", allowed=interval_rule(level, tolerance, scale), rows=rows,
                    status=status, why=why, reading=MEASURED)


__all__ = ["assert_bias", "assert_fixed_point"]
