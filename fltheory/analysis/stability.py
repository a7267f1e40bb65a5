"""For which client step sizes is a method stable? A scan of the coded round's own rates, refined at every crossing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from fltheory.core.errors import CertificateFailed, NotKept, check_flag, refuse
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.numbers.scalars import FLOAT, Number, fraction, is_count
from fltheory.core.operators.moments import DENSE
from fltheory.core.operators.operator import Operator, listed
from fltheory.core.operators.setting import end_of_scan
from fltheory.core.records import is_one_of
from fltheory.derivation import derive

MEASURES = ("mean-square", "mean")
DOUBLINGS = 10  # of the end of the scan, while the method is still stable there
SMALLEST = 1e-5  # the smallest scanned step, as a fraction of the end of the scan
PER_DECADE = (4, 1)  # scanned steps per decade below the first equally spaced one
REFINED = (1e-12, 1e-6)  # relative accuracy of a crossing
NEUTRAL = 1e-12  # a rate this close to 1 counts as not stable: flat directions have rate 1 up to rounding
MOST_POINTS = 10_000  # of a scan: seconds where a rate is cheap; more tell nothing that narrower ones do not
POINTS = (200, 16)  # scan points where one rate is cheap, and where it needs an iterative eigenvalue


@dataclass(frozen=True)
class StableSteps:
    """Stable client step sizes found in (0, up_to].

    intervals: ((low, high), ...) floats, ascending; `first` is the right end of the one that starts at 0 (0.0 if there
    is none): the largest lr such that all smaller ones are stable. An interval that reaches `up_to` was cut there.
    between: largest distance of neighbouring scan points; what happens strictly between two of them without a crossing
    at either may have been missed. bracket: (stable, unstable) Fractions around `first`, both certified in exact
    arithmetic, None unless asked for; it decides these two steps, not the ones below.
    """

    algorithm: str
    measure: str
    up_to: float
    intervals: tuple
    between: float
    points: int
    bracket: tuple | None = None

    @property
    def first(self) -> float:
        """The first crossing: the largest lr such that all smaller ones are stable, as far as the scan saw."""
        starts = [high for low, high in self.intervals if low == 0]
        return starts[0] if starts else 0.0

    @property
    def crosses(self) -> bool:
        """Whether the first interval ends before the scan does."""
        return self.first < self.up_to

    def __contains__(self, lr: Number) -> bool:
        return any(low < float(fraction(lr)) < high for low, high in self.intervals)

    def __str__(self) -> str:
        sets = " and ".join(f"({low:.6g}, {high:.6g}" + (" (end of scan)" if high == self.up_to else ")")
                            for low, high in self.intervals) or "no scanned step"
        sure = "" if self.bracket is None else f"; certified: stable at {self.bracket[0]}, unstable at {self.bracket[1]}"
        return (f"{self.algorithm}: {self.measure} stable for lr in {sets}; scanned up to {self.up_to:.4g} at "
                f"{self.points} steps at most {self.between:.2g} apart{sure}")

    __repr__ = __str__


def stable_steps(
    algorithm: Algorithm, problem: Problem, law: Law, noise: Number | None = None, measure: str = "mean-square",
    up_to: Number | None = None, points: int | None = None, certify: bool = False,
) -> StableSteps:
    """The client step sizes `lr` at which a method is stable on a quadratic problem.

    Only `lr` changes: a proximal solver keeps the one of mu and alpha it was given, and personal or server step sizes
    stay. measure: "mean-square" (second moments converge, which also bounds the mean) or "mean" (only E x converges).
    up_to: end of the scan, a number > 0; default 4/L with L the largest curvature of a client, doubled up to 10 times
    while the method is stable there. points: equally spaced scan points (2 to 10000), default 200, or 16 where one rate takes
    an iterative eigenvalue; further points fall off geometrically to up_to/10^5. Every change of sign between
    neighbouring points is refined to about 1e-12 (1e-6 there); what lies between two points of equal sign is not seen.
    Rates within 1e-12 of 1 count as not stable: flat directions never contract, and FOCUS with several local steps only
    touches 1 at lr = 1/h, where its rate leaves 1 like a high power of lr - 1/h; such a gap is as wide as that band.
    certify: bracket the first crossing by a certified stable rational below and a certified unstable one above.

    Raises BadInput, NotAffine for rounds without an operator, CertificateFailed if a bracket was asked for and not
    found. Source of the criterion: spectral radius of E[M] and of E[M (x) M] on the reachable subspace below 1.
    """
    if not is_one_of(measure, MEASURES):
        refuse("measure", measure, f"is one of {', '.join(MEASURES)}", "Say which moments must converge.")
    check_flag(certify, "certify")
    if points is not None and (not is_count(points, 2) or points > MOST_POINTS):
        refuse("points", points, f"a scan has at least two points, and at most {MOST_POINTS}",
               f"Leave it out, or give an int from 2 to {MOST_POINTS}.")
    if up_to is not None and fraction(up_to) <= 0:
        refuse("up_to", up_to, "a largest step size is positive", "Leave it out, or give a number > 0.")
    rates = _Rates(algorithm, problem, law, noise, measure)
    end = rates.end() if up_to is None else float(fraction(up_to))
    number = int(points or POINTS[rates.costly])
    decades = int(np.ceil(np.log10(1 / number / SMALLEST)))
    falling = np.geomspace(SMALLEST, 1 / number, PER_DECADE[rates.costly] * max(decades, 0) + 1)[:-1]
    grid = end * np.concatenate([falling, np.arange(1, number + 1) / number])
    intervals = _intervals(rates, grid)
    result = StableSteps(type(algorithm).__name__, measure, end, intervals, end / number, len(grid))
    return replace(result, bracket=rates.bracket(result)) if certify else result


def _intervals(rates, grid):
    """Maximal runs of stable grid points, their ends refined; the first starts at 0 if the first point is stable."""
    from scipy.optimize import brentq

    accuracy = REFINED[rates.costly]

    def crossing(a, b):
        return float(brentq(rates.excess, a, b, xtol=accuracy * b, rtol=accuracy))

    stable = [rates.stable(lr) for lr in grid]
    intervals, start = [], 0.0 if stable[0] else None
    for k in range(1, len(grid)):
        if stable[k - 1] and not stable[k]:
            intervals.append((start, crossing(grid[k - 1], grid[k])))
            start = None
        elif stable[k] and not stable[k - 1]:
            start = crossing(grid[k - 1], grid[k])
    return tuple(intervals + ([(start, float(grid[-1]))] if start is not None else []))


class _Rates:
    """The rate as a function of lr. The reachable subspace of one lr is tried for the next: invariants are structural,
    and the reduction refuses a subspace that the new round does not keep, in which case it is decided afresh."""

    def __init__(self, algorithm: Algorithm, problem: Problem, law: Law, noise, measure):
        self.problem, self.measure = problem, measure
        self.setting = (algorithm, law, noise)
        self.op = cast(Operator, derive(algorithm, problem, law, noise, method="dense"))
        m = self.op.moments
        self.certain = m.modes == 1 and m.mixtures[0].single
        self.costly = measure == "mean-square" and not self.certain and m.unknowns > DENSE

    def at(self, lr) -> Operator:
        algorithm, law, noise = self.setting
        algorithm = replace(algorithm, lr=lr)
        try:
            return listed(algorithm, self.problem, self.op.law, self.op.noise, "init", FLOAT, self.op.reach)
        except NotKept:
            self.op = cast(Operator, derive(algorithm, self.problem, law, noise, method="dense"))
            return self.op

    def excess(self, lr) -> float:
        """rate - 1 (with the neutral band taken off); mean-square rates as their roots, where the mean decides."""
        with np.errstate(all="ignore"):
            op = self.at(float(lr))
            mean = op.rate()
            # E|z|^2 >= |E z|^2: an unstable mean decides, and one sure round has nothing but its mean
            decided = self.measure == "mean" or self.certain or mean >= 1
            rate = mean if decided else self._mean_square(op) ** 0.5
        return (rate if np.isfinite(rate) else 1e300) - (1 - NEUTRAL)

    def _mean_square(self, op: Operator) -> float:
        """`mean_square_rate`, with a larger Krylov space where the map is large: near a crossing many eigenvalues are
        close to 1, and no eigenvector is asked for."""
        if not self.costly:
            return op.mean_square_rate()
        from scipy.sparse.linalg import ArpackNoConvergence

        m = op.moments
        try:
            values = m.dominant(tol=1e-11, ncv=min(80, m.unknowns - 1), return_eigenvectors=False)
            return float(np.abs(values).max() ** (1 / m.period))
        except ArpackNoConvergence:
            return op.mean_square_rate()

    def stable(self, lr) -> bool:
        return self.excess(lr) < 0

    def end(self) -> float:
        """Where the default scan ends."""
        end = end_of_scan(self.problem)
        for _ in range(DOUBLINGS):
            if not self.stable(end):
                break
            end *= 2
        return end

    def bracket(self, steps):
        """(stable, unstable) rationals around the first crossing, each certified; the closest of a few that succeed."""
        if not steps.crosses or steps.first == 0:
            raise CertificateFailed(
                f"{steps.algorithm}: there is no first crossing in (0, {steps.up_to:.4g}] to bracket; "
                "give a larger up_to"
            )
        sides = []
        for sign in (-1, 1):
            for distance in (1e-6, 1e-4, 1e-3, 1e-2, 1e-1):
                lr = Fraction(steps.first * (1 + sign * distance)).limit_denominator(round(10 / distance / steps.first))
                if lr > 0 and self._certified(lr) is (sign < 0):
                    sides.append(lr)
                    break
        if len(sides) < 2:
            raise CertificateFailed(
                f"{steps.algorithm}: no rational steps within 10 % of the crossing {steps.first:.8g} "
                "could be certified on both sides (mean enclosures need python-flint)"
            )
        return tuple(sides)

    def _certified(self, lr):
        op = self.at(lr)
        margin = abs(op.rate() - 1 if self.measure == "mean" else op.mean_square_rate() - 1)
        try:
            sure = op.certify(width=min(1e-2, margin)) if margin else None
        except CertificateFailed:
            return None
        if sure is None or (self.measure == "mean" and sure.mean is None):
            return None
        low, high = sure.mean if self.measure == "mean" else sure.mean_square
        return True if high < 1 else False if low >= 1 else None
