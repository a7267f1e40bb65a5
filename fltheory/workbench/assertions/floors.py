"""The error floor at which an algorithm stays."""
from __future__ import annotations

import math
from functools import partial

import numpy as np

from fltheory.core.errors import CertificateFailed, NoFixedPoint, TooLarge, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.core.relations import FLOAT_TOLERANCE
from fltheory.core.scalars import FLOAT, is_rational
from fltheory.core.statistics import level_of
from fltheory.core.trace import Trace
from fltheory.workbench.assertions.subjects import (
    LEVEL,
    by_interval,
    checked,
    inside,
    interval_rule,
    length,
    minimiser,
    named,
    number_or_bound,
    vector,
)
from fltheory.workbench.assertions.table import one_number

DERIVED = "found is the stationary E|x - x*|^2: squared bias plus variance that noise and sampling keep alive. "
MEASURED = ("found is the mean over replicates of each one's tail average of |x - x*|^2; a run that is too short still "
            "carries its start.")
_floor = partial(one_number, "floor")


def assert_floor(subject, expected=None, at_most=None, tolerance=None, reference=None, level=LEVEL):
    """The error floor, stationary E|x - x*|^2, is `expected`, or is at most `at_most` (exactly one of both).

    subject: an `Operator` (equality after `exact()`, 1e-9 of the scale in floats, for bounds too) or a `Trace` (its
    tail average: an interval at `level` that contains `expected` and is narrower than a tenth of it, or lies within
    `tolerance`; for a bound the one-sided limit lies below it). expected, at_most: numbers >= 0. tolerance: absolute.
    reference: point (d,) for operators, default the certified minimiser. Returns the evidence. Raises AssertionError
    with a table, also where second moments diverge or the interval cannot decide; BadInput for bad arguments.

    >>> import fltheory as ft
    >>> problem = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
    >>> op = ft.derive(ft.FedAvg(lr="1/2", steps=1), problem, ft.Uniform(1))
    >>> ft.assert_floor(op.exact(), expected="1/12").status
    'HOLDS'
    >>> ft.assert_floor(op.exact(), at_most="1/20")
    Traceback (most recent call last):
        ...
    AssertionError: assert_floor: does not hold
      subject     FedAvg(lr=1/2, steps=1) on Quadratic (n = 2, d = 1), Uniform(steps=1, m=1)
      compared    stationary E|x - x*|^2
      evidence    exact (rationals)
      allowed     at most the bound
                  expected  found  difference
      floor       <= 1/20   1/12   1/30        <-
      to read     found is the stationary E|x - x*|^2: squared bias plus variance that noise and
                  sampling keep alive.
    """
    __tracebackhide__ = True
    checked(subject)
    target, bound, tolerance = number_or_bound(expected, at_most, tolerance)
    level = level_of(level)
    about = {"assertion": "assert_floor", "subject": named(subject),
             "reading": MEASURED if isinstance(subject, Trace) else DERIVED}
    if isinstance(subject, Trace):
        if reference is not None:
            refuse("reference", reference, "a trace recorded its errors when it was run", "Leave it out.")
        about["compared"] = f"E|x - x*|^2, mean over the last {subject.tail_rounds} rounds"
        return _measured_floor(subject, target, bound, tolerance, level, about).decided()
    about["compared"] = "stationary E|x - x*|^2" if reference is None else "stationary E|x - reference|^2"
    at = minimiser(subject.problem) if reference is None else vector(reference, "reference", subject.problem.d)
    try:
        value = subject.floor(at)
    except (NoFixedPoint, CertificateFailed, TooLarge) as error:
        status = FALSIFIED if isinstance(error, NoFixedPoint) else INCONCLUSIVE
        return _floor(about, target, bound, "none", status, "float", "-", str(error)).decided()
    if not is_rational(value) and not math.isfinite(value):
        return _floor(about, target, bound, "inf", FALSIFIED, "float", "-", "second moments grow without bound: "
                      f"mean-square rate {subject.mean_square_rate():.6g} >= 1").decided()
    return _derived_floor(value, target, bound, tolerance, subject.problem, at, about).decided()


def _derived_floor(value, target, bound, tolerance, problem, at, about):
    exact = is_rational(value) and is_rational(target)
    if exact:
        allowed = tolerance or 0
        said = "at most the bound" if bound else f"absolute difference {float(allowed):.3g}" if allowed else "equality"
    else:
        value, target = float(value), float(target)
        scale = max(value, target, length(problem) ** 2, float(np.square(FLOAT.array(at)).max()))
        allowed = FLOAT_TOLERANCE * scale if tolerance is None else float(tolerance)
        said = f"{'excess' if bound else 'absolute difference'} {allowed:.3g}" + (
            f", 1e-9 of the scale {scale:.3g}" if tolerance is None else ", as given")
    fine = value <= target + allowed if bound else abs(value - target) <= allowed
    return _floor(about, target, bound, value, HOLDS if fine else FALSIFIED, "exact (rationals)" if exact else "float",
                  said)


def _measured_floor(trace, target, bound, tolerance, level, about):
    if "error" not in trace.metrics:
        refuse("subject", "a trace without the metric 'error'", "has no error floor", "Record the default metric.")
    if not bound:
        interval = trace.floor(level=level)
        scale = float(target)
        status, why = by_interval(target, interval.value, interval.half_width, tolerance, scale)
        said = interval_rule(level, tolerance, scale)
    else:
        interval = trace.floor(level=max(1 - 2 * (1 - level), 0.5))  # each side alone holds at the level
        said, why = f"upper limit at one-sided level {level:.4%} at most the bound", ""
        low, high = interval.low, interval.high
        if not math.isfinite(interval.value):
            status, why = FALSIFIED, "the run overflowed"
        elif not math.isfinite(high):
            status, why = INCONCLUSIVE, "no finite interval: run at least two replicates"
        else:
            status = inside(low, high, float(target), 0, True)
            why = "the bound lies inside the interval: use more replicates" if status == INCONCLUSIVE else ""
    found = f"{interval.value:.6g} +/- {interval.half_width:.2g}"
    return _floor(about, target, bound, found, status, "statistical", said, why, interval.value)


__all__ = ["assert_floor"]
