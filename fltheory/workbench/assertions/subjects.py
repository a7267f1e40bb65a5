"""What is asserted about: operators and traces, and the numbers a user expects, read and refused."""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.elements import Symbolic
from fltheory.core.errors import CertificateFailed, NoMinimiser, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.core.operators.operator import Operator
from fltheory.core.optima import optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.relations import FLOAT_TOLERANCE
from fltheory.core.scalars import FLOAT, RATIONAL, declare, fraction
from fltheory.core.statistics import quantile
from fltheory.core.trace import Trace
from fltheory.workbench.comparison.names import describe

LEVEL = 0.9999          # of every interval: one false alarm in ten thousand assertions
LARGEST = 10**150
TOO_WIDE = 0.1          # half-width of an interval relative to the scale, beyond which agreement says nothing


def checked(subject):
    """The subject, an `Operator` in floats or rationals or a `Trace`; anything else is refused."""
    if isinstance(subject, Operator):
        if subject.domain not in (FLOAT, RATIONAL):
            refuse("subject", f"an operator in {subject.domain}", "is compared in floats or in rationals",
                   "Use ft.derive(...) or ft.derive(...).exact().")
        return subject
    if not isinstance(subject, Trace):
        refuse("subject", type(subject).__name__ if not isinstance(subject, type) else subject.__name__,
               "is neither an operator nor a trace", "Give ft.derive(...), its .exact(), or ft.run(...).")
    return subject


def named(subject) -> str:
    """The subject in one line."""
    if subject.algorithm is None or subject.problem is None:
        return f"a trace of {subject.rounds} rounds, {subject.replicates} replicates"
    algorithm, phases = subject.algorithm, ""
    if isinstance(algorithm, (list, tuple)):
        algorithm, phases = algorithm[-1][0], f" (last of {len(algorithm)} phases)"
    p = subject.problem
    text = f"{describe(algorithm)}{phases} on {type(p).__name__} (n = {p.n}, d = {p.d}), {describe(subject.law)}"
    if isinstance(subject, Trace):
        text += f"; run of {subject.rounds} rounds, {subject.replicates} replicates, seed {subject.seed}"
    return text


# ---- numbers -----------------------------------------------------------------------------------------------
def number(value, what, low=None):
    """A declared number as a Fraction or a finite float; refuses arrays, symbols, and numbers below `low`."""
    array = declare(value, what)
    if array.ndim:
        refuse(f"{what}.shape", array.shape, "is one number", "Compare one number at a time.")
    return _least(_numeric(array, what).item(), what, low)


def vector(value, what, d):
    """Declared numbers (d,) as an array of Fractions or floats."""
    array = declare(value, what)
    if array.shape != (d,):
        refuse(f"{what}.shape", array.shape, f"needs shape ({d},), one number per coordinate of the model",
               f"Give {d} numbers.")
    return _numeric(array, what)


def _numeric(array, what):
    if any(isinstance(v, Symbolic) for v in array.reshape(-1)):
        refuse(what, "a symbol", "is compared as a number", "Give a number, a fraction or a string such as '1/2'.")
    if any(abs(v) > LARGEST for v in array.reshape(-1)):
        refuse(what, "a number beyond 1e150", "cannot be squared in floats for the table", "Change the units.")
    return array


def _least(value, what, low):
    if low is not None and value < low:
        refuse(what, value, f"is at least {low}", "Give a number in this range.")
    return value


def tolerance_of(value):
    """A tolerance as an exact number, or None."""
    return None if value is None else fraction(number(value, "tolerance", 0))


def number_or_bound(expected, at_most, tolerance):
    """(number >= 0, whether it is a bound, tolerance) of what is asserted about one number."""
    bound = expected is None
    if bound == (at_most is None):
        refuse("(expected, at_most)", (expected, at_most), "exactly one of both is given",
               "Give expected= for a predicted value, at_most= for a bound.")
    tolerance = tolerance_of(tolerance)
    target = number(at_most if bound else expected, "at_most" if bound else "expected", 0)
    if bound and tolerance is not None:
        refuse("tolerance", float(tolerance), "a bound has none", "Raise at_most instead.")
    return target, bound, tolerance


# ---- problems ----------------------------------------------------------------------------------------------
def minimiser(problem, reference=None):
    """The point x* (d,) that biases are measured from: the given reference, else the certified minimiser."""
    if reference is not None:
        return vector(reference, "reference", problem.d)
    try:
        return optimum(problem).x
    except (NoMinimiser, NotImplementedError, CertificateFailed) as error:
        refuse("reference", None, f"this problem has no certified minimiser ({error})",
               "Give reference=, a point (d,).")


def length(problem) -> float:
    """A length of the problem: max |b_i| / max |H_i| of quadratic clients, below which floats tell nothing; else 0."""
    if not isinstance(problem, Quadratic):
        return 0.0
    top = np.abs(FLOAT.array(problem.H)).max()
    return float(np.abs(FLOAT.array(problem.b)).max() / top) if top else 0.0


# ---- traces ------------------------------------------------------------------------------------------------
def mean_ball(trace, level):
    """(centre (d,), radius): |E x_T - centre| <= radius at the level.

    The trace keeps the mean final model and E|x_T - x*|^2, hence the total variance over replicates, which bounds the
    variance of every coordinate. Refuses traces whose metric "error" is not |x - x*|^2.
    """
    if trace.problem is None or "error" not in trace.metrics:
        refuse("subject", "a trace without problem or without the metric 'error'",
               "says nothing about its mean final model", "Use the trace that ft.run returned, with its own metrics.")
    best, n, x = FLOAT.array(minimiser(trace.problem)), trace.replicates, np.asarray(trace.final, dtype=float)
    error = float(trace.metrics["error"]["mean"][-1])
    if not (math.isfinite(error) and np.isfinite(x).all()):
        return x, math.inf
    off = float(((x - best) ** 2).sum())
    blur = 64 * np.finfo(float).eps * (error + off + math.sqrt(off) * float(np.linalg.norm(x)))
    total = error - off
    if total < -blur:
        refuse("subject", "a trace whose metric 'error' is not |x - x*|^2", "hides the spread of the final model",
               "Record other measures under other names.")
    if n < 2:
        return x, math.inf
    if total <= blur:  # the replicates agree to rounding
        return x, math.sqrt(n * blur)
    each = 1 - (1 - level) / len(x)
    return x, quantile(each, n) * math.sqrt(total / (n - 1)) + math.sqrt(blur)


def by_interval(expected, value, half, tolerance, scale):
    """(status, why) of a predicted value against a measured one with half-width `half` (distances of vectors likewise).

    Without a tolerance the interval contains the prediction and is narrower than a tenth of the scale; with one the
    whole interval lies within the tolerance of the prediction.
    """
    off = abs(float(value) - float(expected))
    if not math.isfinite(off):
        return FALSIFIED, "the run overflowed"
    if not math.isfinite(half):
        return INCONCLUSIVE, "no finite interval: run at least two replicates (a deterministic run too)"
    if tolerance is not None:
        if off + half <= tolerance:
            return HOLDS, ""
        if off - half > tolerance:
            return FALSIFIED, ""
        return INCONCLUSIVE, f"the interval, half-width {half:.2g}, reaches across the tolerance: use more replicates"
    if off > half + FLOAT_TOLERANCE * scale:
        return FALSIFIED, ("the run has no spread, so that all of the difference counts, also what is left of "
                           "its start: run it longer or state a tolerance" if half <= FLOAT_TOLERANCE * scale else "")
    if half > TOO_WIDE * scale:
        return INCONCLUSIVE, (f"the interval, half-width {half:.2g}, is wider than a tenth of the scale {scale:.3g}: "
                              "use more replicates, or state a tolerance")
    return HOLDS, ""


def inside(low, high, target, allowed, bound):
    """The status of an enclosed value [low, high] against a bound, or against target +/- allowed."""
    if bound:
        return HOLDS if high <= target else FALSIFIED if low > target else INCONCLUSIVE
    if target - allowed <= low and high <= target + allowed:
        return HOLDS
    return FALSIFIED if high < target - allowed or low > target + allowed else INCONCLUSIVE


def interval_rule(level, tolerance, scale) -> str:
    """How an interval decides, for the table."""
    rule = (f"interval within {float(tolerance):.3g} of the expected" if tolerance is not None else
            f"interval contains the expected and is narrower than {TOO_WIDE * scale:.3g}, a tenth of the scale")
    return f"{level:.4%} interval; {rule}"


__all__ = ["LEVEL", "by_interval", "checked", "inside", "interval_rule", "length",
           "mean_ball", "minimiser", "named", "number", "number_or_bound", "tolerance_of", "vector"]
