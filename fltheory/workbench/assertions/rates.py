"""How fast an algorithm contracts."""
from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fltheory.core.errors import CertificateFailed, NoFixedPoint, TooLarge, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, Bounds
from fltheory.core.kinds import Array, Operator
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, have, is_rational, need
from fltheory.core.operators import spectrum
from fltheory.core.operators.spectrum import CHARPOLY
from fltheory.core.records import is_one_of
from fltheory.core.relations import FLOAT_TOLERANCE, status_of
from fltheory.core.statistics import contraction, level_of, transient
from fltheory.proofs.assertion import Evidence
from fltheory.runs.trace import Trace
from fltheory.workbench.assertions.asked import LEVEL, Asked, allowance
from fltheory.workbench.assertions.subjects import check_errors, mean_ball, named

BORDER = 1e-6      # relative distance to a bound within which floats give way to exact arithmetic
EXACT_AT_MOST = 60  # dimension up to which it does so unasked
DRIFT = 0.05       # of log(rate): how far a measured rate may be from a predicted one without a stated tolerance
SHORTEST = 5       # rounds of a window
SETTLED = 100      # times the last error, above which a run is still on its way
WIDTHS = (1e-2, 1e-3, 1e-4, 1e-6)  # relative widths of certified enclosures, tried in turn
KINDS = {"mean": "contraction factor of the mean per round (spectral radius)",
         "mean-square": "contraction factor of E|z - z*|^2 per round (spectral radius)"}
FASTER = "a smaller rate is faster, 1 or more does not converge. "
DERIVED = FASTER + "A difference is one of the coded round or of the formula."
MEASURED = FASTER + ("The factor is that of the rounds in the window; a rate is its limit, met only where the slowest mode "
                     "is left.")


def assert_linear_rate(subject: Operator | Trace, expected: Array = None, at_most: Array = None, kind: str = "mean",
                       tolerance: Array = None, level: float = LEVEL, window: tuple | None = None) -> Evidence:
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
    text = named(subject)
    if not is_one_of(kind, KINDS):
        refuse("kind", kind, f"is one of {sorted(KINDS)}", "Say whether the mean or the mean square contracts.")
    asked = Asked.of("rate", expected, at_most, tolerance, assertion="assert_linear_rate", subject=text,
                     compared=KINDS[kind], reading=MEASURED if isinstance(subject, Trace) else DERIVED)
    level = level_of(level)
    if isinstance(subject, Trace):
        return _measured(subject, asked, kind, level, window).decided()
    if window is not None:
        refuse("window", window, "belongs to traces", "Leave it out for operators.")
    return _derived(subject, asked, kind).decided()


def _derived(op: Operator, asked, kind):
    exact, target, bound = op.domain is RATIONAL, float(asked.target), asked.bound
    try:
        value = op.rate() if kind == "mean" else op.mean_square_rate()
    except CertificateFailed as error:
        return asked.answer("unknown", INCONCLUSIVE, "float", "-", str(error))
    allowed, said = allowance(asked.tolerance, False, max(value, target))
    if bound:
        allowed, said = 0, f"at most the bound; floats decide only {BORDER:g} away from it"
    off = abs(value - target)
    near = off <= BORDER * max(1.0, target) and (bound or (asked.tolerance is None and off > allowed))
    if exact or (near and have("flint") and op.reachable <= EXACT_AT_MOST):
        if exact:
            need("flint", "exact spectral radii")
        try:
            return _certified(op.exact(), asked, kind, value)
        except (TooLarge, CertificateFailed, NoFixedPoint) as error:
            return asked.answer(value, INCONCLUSIVE, "exact (rationals)", "-", str(error))
    if near and bound:
        return asked.answer(value, INCONCLUSIVE, "float", f"{BORDER:g} away from the bound", "floats cannot tell a rate this "
                            "close to its bound: decide with subject.exact(), which needs flint")
    return asked.answer(value, status_of(value, target, allowed, bound), "float", said)


def _certified(op: Operator, asked, kind, value):
    """Exact decision: by the characteristic polynomial where it is small, else by certified enclosures."""
    target, bound, tolerance = Fraction(asked.target), asked.bound, asked.tolerance
    moments = op.moments
    small = kind == "mean" or moments.unknowns <= CHARPOLY
    matrix = moments.mean_matrix if kind == "mean" else moments.second_matrix
    if small and (bound or (is_rational(asked.target) and tolerance is None)):
        side = _side(matrix() if moments.size else None, target)
        if side is not None:
            status = status_of(side, 0, 0, bound)
            return asked.answer(target if side == 0 else value, status, "exact (roots of the characteristic polynomial)",
                                "at most the bound" if bound else "equality", "" if status == HOLDS else
                                f"the spectral radius was proved to be {('below', 'equal to', 'above')[side + 1]} it")
    if bound and not small:
        status = _one_sided(op, target, value)
        if status != INCONCLUSIVE:
            return asked.answer(value, status, "exact (one-sided certificate)", "at most the bound")
    allowed = 0 if bound else Fraction(FLOAT_TOLERANCE) * target if tolerance is None else tolerance
    status, enclosure, why = INCONCLUSIVE, "no certificate", ""
    for width in WIDTHS:
        try:
            low, high = (0, 0) if not moments.size else linalg.charpoly_radius(matrix()) if small else op.certify(width).mean_square
        except CertificateFailed as error:
            why = str(error)
            continue
        enclosure, why = f"[{float(low):.10g}, {float(high):.10g}]", "the enclosure is too wide to decide"
        status = status_of(Bounds(low, high), target, allowed, bound)
        if status != INCONCLUSIVE or small:
            break
    return asked.answer(enclosure, status, "exact (certified enclosure)",
                        "at most the bound" if bound else f"absolute difference {float(allowed):.3g}",
                        why if status == INCONCLUSIVE else "", value)


def _one_sided(op: Operator, target, value):
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
def _measured(trace, asked, kind, level, window):
    check_errors(trace, "error to contract")
    root, values, target = (1 if kind == "mean-square" else 2), trace.mean(), float(asked.target)
    if root == 2 and not _deterministic(trace, values):
        refuse("kind", kind, "a trace records the mean square, which is the square of the mean only in deterministic "
               "runs (two replicates or more that agree)", 'Use kind="mean-square", or the operator.')
    a, b = transient(values, SETTLED, 1e-24 * values[0]) or (0, 0) if window is None else trace.window(window)
    compared = f"factor of the {'squared error' if root == 1 else 'error'} per round"
    if b - a < SHORTEST:
        asked = replace(asked, about=asked.about | {"compared": compared})
        return asked.answer("unknown", INCONCLUSIVE, "statistical", f"a window of {SHORTEST} rounds or more",
                            f"only {b - a} rounds lie well above the floor of the run: give window=(start, stop)")
    asked = replace(asked, about=asked.about | {"compared": f"{compared}, rounds {a} to {b}"})
    value, low, high = (v ** (1 / root) for v in _factors(trace, values, a, b, level))
    said = f"{level:.4%} interval of the factor, widened to both halves of the window"
    if asked.bound:
        centre, allowed = target, FLOAT_TOLERANCE * target
    else:
        ends = [target + s * float(asked.tolerance) if asked.tolerance is not None else target ** (1 + s * DRIFT)
                for s in (-1, 1)]
        centre, allowed = sum(ends) / 2, abs(ends[1] - ends[0]) / 2
        said += f", inside [{min(ends):.6g}, {max(ends):.6g}]" + ("" if asked.tolerance is not None else ", 5 % of log(rate)")
    status, why = status_of(Bounds(low, high), centre, allowed, asked.bound), ""
    if not (math.isfinite(low) and math.isfinite(high)):
        status, why = INCONCLUSIVE, "the interval is not finite: use more replicates or an earlier window"
    elif status == INCONCLUSIVE:
        why = "the interval reaches across what is allowed: use more replicates, a later window, or a tolerance"
    return asked.answer(f"{value:.6g} in [{low:.6g}, {high:.6g}]", status, "statistical", said, why, value)


def _deterministic(trace, values) -> bool:
    """Whether the replicates agree in every error and in their final model (mirror images agree in errors alone)."""
    if trace.replicates < 2 or float(np.max(trace.metrics["error"]["m2"])) > 1e-24 * float(values[0]) ** 2:
        return False
    centre, radius = mean_ball(trace, LEVEL)
    return radius <= BORDER * max(float(np.linalg.norm(centre)), math.sqrt(float(values[0])))


def _factors(trace, values, a, b, level):
    """(value, low, high) of the factor per round, widened to the factors of both halves of the window."""
    first, last = (trace.interval(k, level=1 - (1 - level) / 2) for k in (a, b))  # both ends hold together
    middle = (a + b) // 2
    start, between, end = (float(values[k]) for k in (a, middle, b))
    factor = contraction(first, last, b - a)
    if factor is None or not (math.isfinite(last.high) and between > 0 and end > 0):
        return math.nan, math.nan, math.nan
    halves = ((between / start) ** (1 / (middle - a)), (end / between) ** (1 / (b - middle)))
    return factor[0], min(factor[1], *halves), max(factor[2], *halves)
