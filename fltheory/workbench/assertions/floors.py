"""The error floor at which an algorithm stays."""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fltheory.core.errors import CertificateFailed, NoFixedPoint, TooLarge, refuse
from fltheory.core.evidence import FALSIFIED, INCONCLUSIVE
from fltheory.core.kinds import Array, Operator
from fltheory.core.numbers.scalars import FLOAT, is_rational
from fltheory.core.numbers.text import with_half_width
from fltheory.core.relations import status_of
from fltheory.core.statistics import level_of
from fltheory.proofs.assertion import Evidence
from fltheory.runs.trace import Trace
from fltheory.workbench.assertions.asked import LEVEL, Asked, allowance, by_interval, interval_rule
from fltheory.workbench.assertions.subjects import check_errors, length, minimiser, named

DERIVED = "found is the stationary E|x - x*|^2: squared bias plus variance that noise and sampling keep alive. "
MEASURED = ("found is the mean over replicates of each one's tail average of |x - x*|^2; a run that is too short still "
            "carries its start.")


def assert_floor(subject: Operator | Trace, expected: Array = None, at_most: Array = None, tolerance: Array = None,
                 reference: Array = None, level: float = LEVEL) -> Evidence:
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
    compared, reading = f"stationary E|x - {'x*' if reference is None else 'reference'}|^2", DERIVED
    if isinstance(subject, Trace):
        compared, reading = f"E|x - x*|^2, mean over the last {subject.tail_rounds} rounds", MEASURED
    asked = Asked.of("floor", expected, at_most, tolerance, assertion="assert_floor", subject=named(subject), reading=reading,
                     compared=compared)
    level = level_of(level)
    if not isinstance(subject, Trace):
        problem: Any = subject.problem
        return _derived(subject, asked, minimiser(problem, reference)).decided()
    if reference is not None:
        refuse("reference", reference, "a trace recorded its errors when it was run", "Leave it out.")
    return _measured(subject, asked, level).decided()


def _derived(op: Any, asked, at):
    try:
        value = op.floor(at)
    except (NoFixedPoint, CertificateFailed, TooLarge) as error:
        status = FALSIFIED if isinstance(error, NoFixedPoint) else INCONCLUSIVE
        return asked.answer("none", status, "float", "-", str(error))
    if not is_rational(value) and not math.isfinite(value):
        return asked.answer("inf", FALSIFIED, "float", "-", "second moments grow without bound: "
                            f"mean-square rate {op.mean_square_rate():.6g} >= 1")
    exact = is_rational(value) and is_rational(asked.target)
    if not exact:
        value, asked = float(value), replace(asked, target=float(asked.target))
    scale = 0 if exact else max(value, asked.target, length(op.problem) ** 2, float(np.square(FLOAT.array(at)).max()))
    allowed, said = allowance(asked.tolerance, exact, scale, asked.bound)
    status = status_of(value, asked.target, allowed, asked.bound)
    return asked.answer(value, status, "exact (rationals)" if exact else "float", said)


def _measured(trace, asked, level):
    check_errors(trace, "error floor")
    if asked.bound:
        interval = trace.floor(level=max(1 - 2 * (1 - level), 0.5))  # each side alone holds at the level
        said = f"upper limit at one-sided level {level:.4%} at most the bound"
    else:
        interval, said = trace.floor(level=level), interval_rule(level, asked.tolerance, float(asked.target))
    status, why = by_interval(asked.target, interval.value, interval.half_width, asked.tolerance, float(asked.target), asked.bound)
    answer = with_half_width(interval.value, interval.half_width)
    return asked.answer(answer, status, "statistical", said, why, interval.value)
