"""How fast an algorithm contracts."""
from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from fltheory.core import linalg
from fltheory.core.errors import CertificateFailed, NoFixedPoint, TooLarge, is_one_of, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.core.operators import spectrum
from fltheory.core.operators.spectrum import CHARPOLY
from fltheory.core.relations import FLOAT_TOLERANCE
from fltheory.core.scalars import FLOAT, RATIONAL, have, is_rational, need
from fltheory.core.statistics import level_of
from fltheory.core.trace import Trace
from fltheory.workbench.assertions.subjects import (
    LEVEL,
    checked,
    inside,
    mean_ball,
    named,
    number_or_bound,
)
from fltheory.workbench.assertions.table import one_number

BORDER = 1e-6      # relative distance to a bound within which floats give way to exact arithmetic
EXACT_AT_MOST = 60  # dimension up to which it does so unasked
DRIFT = 0.05       # of log(rate): how far a measured rate may be from a predicted one without a stated tolerance
FEWEST = 5         # rounds of a window
WIDTHS = (1e-2, 1e-3, 1e-4, 1e-6)  # relative widths of certified enclosures, tried in turn
KINDS = {"mean": "contraction factor of the mean per round (spectral radius)",
         "mean-square": "contraction factor of E|z - z*|^2 per round (spectral radius)"}
FASTER = "a smaller rate is faster, 1 or more does not converge. "
DERIVED = FASTER + "A difference is one of the coded round or of the formula."
MEASURED = FASTER + ("The factor is that of the rounds in the window; a rate is its limit, met only where the slowest mode "
                     "is left.")
_rate = partial(one_number, "rate")


def assert_linear_rate(subject, expected=None, at_most=None, kind="mean", tolerance=None, level=LEVEL, window=None):
    """The contraction factor per round is `expected`, or is at most `at_most` (exactly one of both).

    kind: "mean" (of E z) or "mean-square" (of E|z - z*|^2). Operators after `exact()` are decided in rationals:
    whether the spectral radius is below, equal to or above a fraction, else by certified enclosures (needs flint).
    Operators in floats: 1e-9 relative; within 1e-6 of a bound, or of a missed prediction, exact arithmetic decides.
    Traces: the empirical factor of the squared error over `window` (start, stop), default the second half of the
    rounds before its floor, with an interval at `level` widened to the factors of both halves; "mean" needs a
    deterministic run. tolerance: absolute; default equality, 1e-9, or 5 % of log(rate) for traces. Returns the
    evidence. Raises AssertionError with a table, also for "inconclusive"; BadInput for bad arguments; MissingLibrary
    where exact rates need flint.

    >>> import fltheory as ft
    >>> problem = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
    >>> op = ft.derive(ft.FedAvg(lr="1/2", steps=[1, 2]), problem, ft.Full())
    >>> ft.assert_linear_rate(op, at_most="3/8").status
    'HOLDS'
    >>> ft.assert_linear_rate(op, at_most="1/4")
    Traceback (most recent call last):
        ...
    AssertionError: assert_linear_rate: does not hold
      subject     FedAvg(lr=1/2, steps=(1, 2)) on Quadratic (n = 2, d = 1), Full(steps=(1, 2))
      compared    contraction factor of the mean per round (spectral radius)
      evidence    float
      allowed     at most the bound; floats decide only 1e-06 away from it
                  expected  found  difference
      rate        <= 1/4    0.375  0.125       <-
      to read     a smaller rate is faster, 1 or more does not converge. A difference is one of the
                  coded round or of the formula.
    """
    __tracebackhide__ = True
    checked(subject)
    if not is_one_of(kind, KINDS):
        refuse("kind", kind, f"is one of {sorted(KINDS)}", "Say whether the mean or the mean square contracts.")
    target, bound, tolerance = number_or_bound(expected, at_most, tolerance)
    level = level_of(level)
    about = {"assertion": "assert_linear_rate", "subject": named(subject), "compared": KINDS[kind],
             "reading": MEASURED if isinstance(subject, Trace) else DERIVED}
    if isinstance(subject, Trace):
        return _traced(subject, target, bound, kind, tolerance, level, window, about).decided()
    if window is not None:
        refuse("window", window, "belongs to traces", "Leave it out for operators.")
    return _derived(subject, target, bound, kind, tolerance, about).decided()


def _derived(op, target, bound, kind, tolerance, about):
    exact = op.domain is RATIONAL
    try:
        value = op.rate() if kind == "mean" else op.mean_square_rate()
    except CertificateFailed as error:
        return _rate(about, target, bound, "unknown", INCONCLUSIVE, "float", "-", str(error))
    allowed = FLOAT_TOLERANCE * max(value, float(target)) if tolerance is None else float(tolerance)
    off = abs(value - float(target))
    near = off <= BORDER * max(1.0, float(target)) and (bound or (tolerance is None and off > allowed))
    if exact or (near and have("flint") and op.reachable <= EXACT_AT_MOST):
        if exact:
            need("flint", "exact spectral radii")
        try:
            return _certified(op.exact(), target, bound, kind, tolerance, value, about)
        except (TooLarge, CertificateFailed, NoFixedPoint) as error:
            return _rate(about, target, bound, value, INCONCLUSIVE, "exact (rationals)", "-", str(error))
    if near and bound:
        return _rate(about, target, bound, value, INCONCLUSIVE, "float", f"{BORDER:g} away from the bound",
                     "floats cannot tell a rate this close to its bound: decide with subject.exact(), which needs "
                     "flint")
    if bound:
        return _rate(about, target, bound, value, HOLDS if value < target else FALSIFIED, "float",
                     f"at most the bound; floats decide only {BORDER:g} away from it")
    return _rate(about, target, bound, value, HOLDS if off <= allowed else FALSIFIED, "float",
                 f"absolute difference {allowed:.3g}" + (", 1e-9 relative" if tolerance is None else ", as given"))


def _certified(op, target, bound, kind, tolerance, value, about):
    """Exact decision: by the characteristic polynomial where it is small, else by certified enclosures."""
    known = is_rational(target)
    target = Fraction(target)
    moments = op.moments
    small = kind == "mean" or moments.unknowns <= CHARPOLY
    if small and (bound or (known and tolerance is None)):
        size = moments.size if kind == "mean" else moments.unknowns
        M = None if not size else moments.mean_matrix() if kind == "mean" else moments.second_matrix()
        side = _side(M, target)
        if side is not None:
            fine = side <= 0 if bound else side == 0
            said = ("below it", "equal to it", "above it")[side + 1]
            return _rate(about, target, bound, target if side == 0 else value, HOLDS if fine else FALSIFIED,
                         "exact (roots of the characteristic polynomial)",
                         "at most the bound" if bound else "equality",
                         "" if fine else f"the spectral radius was proved to be {said}")
    if bound and not small:
        status = _one_sided(op, target, value)
        if status != INCONCLUSIVE:
            return _rate(about, target, bound, value, status, "exact (one-sided certificate)", "at most the bound")
    allowed = 0 if bound else Fraction(FLOAT_TOLERANCE) * target if tolerance is None else tolerance
    status, low, high, why = INCONCLUSIVE, None, None, ""
    for width in WIDTHS:
        try:
            low, high = _enclosure(op, kind, width)
        except CertificateFailed as error:
            why = str(error)
            continue
        status, why = inside(low, high, target, allowed, bound), "the enclosure is too wide to decide"
        if status != INCONCLUSIVE or small:
            break
    found = "no certificate" if low is None else f"[{float(low):.10g}, {float(high):.10g}]"
    said = "at most the bound" if bound else f"absolute difference {float(allowed):.3g}"
    return _rate(about, target, bound, found, status, "exact (certified enclosure)", said,
                 why if status == INCONCLUSIVE else "", value)


def _one_sided(op, target, value):
    """Whether the mean-square rate is at most a bound, by a Lyapunov or a Perron matrix that is checked exactly."""
    floats, middle = op.in_domain(FLOAT).moments, (value + float(target)) / 2
    try:
        if value < target and spectrum.upper(op.moments, spectrum._resolvent(floats, middle), target):
            return HOLDS
        if value > target and middle > target and spectrum.lower(op.moments, floats.perron()[1], Fraction(middle)):
            return FALSIFIED
    except (CertificateFailed, np.linalg.LinAlgError):
        pass
    return INCONCLUSIVE


def _enclosure(op, kind, width):
    """(low, high) of one rate: roots of the characteristic polynomial where it is small, else `certify`."""
    moments = op.moments
    if not moments.size:
        return Fraction(0), Fraction(0)
    if kind == "mean":
        return linalg.charpoly_radius(moments.mean_matrix())
    if moments.unknowns <= CHARPOLY:
        return linalg.charpoly_radius(moments.second_matrix())
    return op.certify(width).mean_square


def _side(M, r, bits=128):
    """-1, 0 or 1 as the spectral radius of a rational matrix (None: 0 x 0) is below, equal to or above r >= 0.

    Eigenvalues r and -r are divided out exactly, the others enclosed in balls; None if a ball still touches r.
    """
    if M is None:
        return -1 if r > 0 else 0
    import flint
    poly, met = linalg.to_fmpq_matrix(M).charpoly(), False
    for root in {r, -r}:
        root = flint.fmpq(root.numerator, root.denominator)
        while poly.degree() > 0 and poly(root) == 0:
            poly, met = poly // flint.fmpq_poly([-root, 1]), True
    with flint.ctx.workprec(bits):  # r too: a ball of 53 bits touches every root within 1e-16 of it
        at = flint.arb(flint.fmpq(r.numerator, r.denominator))
        others = [flint.acb(z) for z, _ in poly.complex_roots()] if poly.degree() > 0 else []
        if any(z.abs_lower() > at for z in others):
            return 1
        if all(z.abs_upper() < at for z in others):
            return 0 if met else -1
    return None


# ---- measured rates ----------------------------------------------------------------------------------------
def _traced(trace, target, bound, kind, tolerance, level, window, about):
    if "error" not in trace.metrics:
        refuse("subject", "a trace without the metric 'error'", "has no error to contract",
               "Record the default metric.")
    root = 1 if kind == "mean-square" else 2
    values = trace.mean()
    if root == 2 and not _deterministic(trace, values):
        refuse("kind", kind, "a trace records the mean square, which is the square of the mean only in deterministic "
               "runs (two replicates or more that agree)", 'Use kind="mean-square", or the operator.')
    a, b = _window(values, trace.rounds, window)
    about = about | {"compared": f"factor of the {'squared error' if root == 1 else 'error'} per round"}
    if b - a < FEWEST:
        return _rate(about, target, bound, "unknown", INCONCLUSIVE, "statistical",
                     f"a window of {FEWEST} rounds or more",
                     f"only {max(b - a, 0)} rounds lie well above the floor of the run: give window=(start, stop)")
    about["compared"] += f", rounds {a} to {b}"
    value, low, high = (v ** (1 / root) for v in _factors(trace, values, a, b, level))
    said = f"{level:.4%} interval of the factor, widened to both halves of the window"
    found = f"{value:.6g} in [{low:.6g}, {high:.6g}]"
    if not (math.isfinite(low) and math.isfinite(high)):
        status, why = INCONCLUSIVE, "the interval is not finite: use more replicates or an earlier window"
    elif bound:
        slack = FLOAT_TOLERANCE * float(target)
        status, why = inside(low, high - slack, float(target), 0, True), ""
    else:
        t = float(target)
        band = (t - float(tolerance), t + float(tolerance)) if tolerance is not None else (
            sorted((t ** (1 + DRIFT), t ** (1 - DRIFT))))
        said += f", inside [{band[0]:.6g}, {band[1]:.6g}]" + ("" if tolerance is not None else ", 5 % of log(rate)")
        status, why = (HOLDS, "") if band[0] <= low and high <= band[1] else (
            (FALSIFIED, "") if high < band[0] or low > band[1] else (INCONCLUSIVE, ""))
    if status == INCONCLUSIVE and not why:
        why = "the interval reaches across what is allowed: use more replicates, a later window, or a tolerance"
    return _rate(about, target, bound, found, status, "statistical", said, why, value)


def _deterministic(trace, values) -> bool:
    """Whether the replicates agree in every error and in their final model (mirror images agree in errors alone)."""
    if trace.replicates < 2 or float(np.max(trace.metrics["error"]["m2"])) > 1e-24 * float(values[0]) ** 2:
        return False
    centre, radius = mean_ball(trace, LEVEL)
    return radius <= BORDER * max(float(np.linalg.norm(centre)), math.sqrt(float(values[0])))


def _window(values, rounds, window):
    if window is not None:
        ok = isinstance(window, (tuple, list)) and len(window) == 2 and all(
            isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in window)
        if not ok or not 0 <= window[0] < window[1] <= rounds:
            refuse("window", window, f"is two ints with 0 <= start < stop <= {rounds}", "Choose rounds inside the run.")
        return int(window[0]), int(window[1])
    above = np.nonzero(np.isfinite(values) & (values > 100 * values[-1]) & (values > 1e-24 * values[0]))[0]
    if len(above):
        return int(above[-1]) // 2, int(above[-1])
    return (rounds // 2, rounds) if values[-1] > 100 * values[0] else (0, 0)


def _factors(trace, values, a, b, level):
    """(value, low, high) of the factor per round: both ends have intervals that hold together."""
    one, power, m = 1 - (1 - level) / 2, 1 / (b - a), (a + b) // 2
    first, last = trace.interval(a, level=one), trace.interval(b, level=one)
    start, middle, end = (float(values[t]) for t in (a, m, b))
    if not (first.low > 0 and math.isfinite(first.high) and math.isfinite(last.high) and middle > 0 and end > 0):
        return math.nan, math.nan, math.nan
    value = (last.value / first.value) ** power
    halves = ((middle / start) ** (1 / (m - a)), (end / middle) ** (1 / (b - m)))
    low, high = (max(last.low, 0.0) / first.high) ** power, (last.high / first.low) ** power
    return value, min(low, *halves), max(high, *halves)


__all__ = ["assert_linear_rate"]
