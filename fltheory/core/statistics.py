"""What samples say: confidence intervals of means and of probabilities, their tails, and when too few values decide nothing."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import BadInput, refuse
from fltheory.core.numbers.scalars import to_float
from fltheory.core.numbers.text import with_half_width

FEWEST = 256  # replicates from which an interval may decide: with fewer, rare outcomes may be missed altogether
EXPECTED = 5.0  # counts below which a class is merged with others before it is tested


# ---- intervals of means ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Interval:
    """A measured value with a two-sided confidence interval at `level`."""

    value: float
    half_width: float
    level: float
    count: int

    @classmethod
    def of_mean(cls, count: int, mean: float, m2: float, m3: float, level: float) -> Interval:
        """Interval of an expectation from the moments of `count` independent values (see `moments`): Student's, widened
        for skewness. The half width is infinite where there is a single value, or where moments leave float64."""
        level = level_of(level)
        half = math.inf
        if count > 1:
            spread = math.sqrt(m2 / count)
            # a spread of rounding level has no meaningful skewness
            skewness = m3 / count / spread / spread / spread if m2 > 1e-200 else 0.0
            if math.isfinite(skewness):
                half = skewed(quantile(level, count), count, skewness) * math.sqrt(m2 / (count - 1) / count)
        return cls(mean, half if math.isfinite(half) else math.inf, level, count)

    @property
    def low(self) -> float:
        return self.value - self.half_width

    @property
    def high(self) -> float:
        return self.value + self.half_width

    def contains(self, predicted) -> bool:
        return self.low <= to_float(predicted) <= self.high

    @property
    def undecided(self) -> str:
        """Why this interval decides nothing, or "". With 16 replicates under rare participation intervals at level
        1e-4 still miss 16 times too often (`calibration`); no interval knows of what never happened in a sample."""
        if not math.isfinite(self.half_width):
            return "no finite interval"
        return "" if self.count >= FEWEST else f"{self.count} replicates decide nothing; needs at least {FEWEST}"

    def __str__(self):
        return f"{with_half_width(self.value, self.half_width)} ({self.level:.3%}, n={self.count})"


def level_of(value) -> float:
    """A confidence level as a float, or a refusal."""
    try:
        level = to_float(value)
    except BadInput:  # it would name a number, not the argument
        level = math.nan
    if not 0 < level < 1:
        refuse("level", value, "a confidence level lies in (0, 1)", "For example 0.999.")
    return level


def quantile(level, count):
    """Two-sided Student quantile of a confidence level in (0, 1) for a mean of `count` >= 2 values."""
    from scipy.special import stdtrit
    return float(stdtrit(count - 1, 0.5 + level_of(level) / 2))


def skewed(q, count, skewness):
    """A quantile q of Student's statistic, widened for values of this sample skewness (q itself if it is 0).

    Squared errors are skewed: where few replicates met the long tail, mean and deviation are too small together, and
    Student's interval at level 1e-4 was seen to miss up to 300 times too often (see `calibration`). Hall (1992, On the
    removal of skewness by transformation, J. R. Stat. Soc. B 54) inverts a monotone cubic of the statistic; the longer
    of the two sides is used for both, so that intervals stay symmetric and no side is shorter than Student's.
    """
    a = abs(skewness) / math.sqrt(count)
    if not a > 1e-9:
        return q
    return max(q, -3 / a * float(np.cbrt(1 - a * (q + a / 6)) - 1))


# ---- moments, streamed -------------------------------------------------------------------------------------
@dataclass
class Stream2:
    """Streamed count, mean and sums of squared and cubed deviations of independent values, merged by the formulas of
    Chan and Pebay."""

    count: int
    mean: np.ndarray
    m2: np.ndarray
    m3: np.ndarray

    @classmethod
    def empty(cls, shape):
        return cls(0, np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def merge(self, count, mean, m2, m3):
        a, b = self.count, count
        total = a + b
        with np.errstate(all="ignore"):  # a diverging run has infinite moments, or none
            delta = mean - self.mean
            self.m3 = (self.m3 + m3 + delta**3 * (a * b * (a - b) / total**2)
                       + 3 * delta * ((a / total) * m2 - (b / total) * self.m2))
            self.mean = self.mean + delta * (b / total)
            self.m2 = self.m2 + m2 + delta**2 * (a * b / total)
        self.count = total


def moments(values):
    """(mean, m2, m3) of independent values: a torch or numpy vector."""
    with np.errstate(all="ignore"):  # a diverging run has infinite moments, or none
        mean = values.mean()
        gap = values - mean
        return float(mean), float((gap**2).sum()), float((gap**3).sum())


# ---- factors per round ---------------------------------------------------------------------------------------
def contraction(first: Interval, last: Interval, rounds: int, tops=None):
    """(value, low, high) of the factor per round between two positive expectations that many rounds apart, or None.

    first, last: intervals, each at a level that makes both hold together; tops: other upper ends for them.
    """
    if not first.low > 0 or not math.isfinite(last.value):
        return None
    top, end = tops or (first.high, last.high)
    return tuple(max(ratio, 0.0) ** (1 / rounds) for ratio in (last.value / first.value, last.low / top, end / first.low))


def transient(values, times, blurred):
    """(start, stop) of the second half of the rounds before a curve settles, or grows, or None if it does neither.

    Settling ends where it comes within `times` its last value; blurred: size that rounding hides.
    """
    with np.errstate(all="ignore"):  # of diverging runs
        finite = np.isfinite(values)
        above = np.nonzero(finite & (values > times * values[-1]) & (values > blurred))[0]
        if not len(above):
            above = np.nonzero(finite & (values > times * values[0]))[0]
            if not len(above) or above[-1] < 2:
                return None
    stop = max(int(above[-1]), 1)
    return stop // 2, stop


# ---- tails of averages whose distribution is known -----------------------------------------------------------
def chance_below(count, mean, variance, value) -> float:
    """Upper bound of P(average of `count` independent values <= value) for values >= 0 of this mean and variance.

    Bennett (1962, Probability inequalities for the sum of independent random variables, J. Am. Stat. Assoc. 57) for
    mean - value, which is at most `mean`: holds for every count and every tail above.
    """
    gap = mean - value
    if gap <= 0 or mean <= 0:
        return 1.0
    if variance <= 0:
        return 0.0
    u = mean * gap / variance
    return math.exp(-count * variance / mean**2 * ((1 + u) * math.log1p(u) - u))


def reach(count, variance, fourth, level) -> float:
    """How far from its mean an average of `count` values of either sign comes out with probability 1 - level at most.

    fourth: fourth central moment. The normal quantile where the average is `about_normal`, Markov's inequality for the
    fourth power of the gap otherwise.
    """
    if variance <= 0:
        return 0.0
    if about_normal(count, variance, fourth):
        from scipy.special import ndtri
        return float(ndtri(0.5 + level / 2)) * math.sqrt(variance / count)
    return ((3 * (count - 1) * variance**2 + fourth) / (count**3 * (1 - level))) ** 0.25


def about_normal(count, variance, fourth) -> bool:
    """Whether an average of `count` values is about normal: their kurtosis is at most count/10."""
    return 10 * fourth <= count * variance**2


# ---- counts ------------------------------------------------------------------------------------------------
def clopper_pearson(events: int, trials: int, confidence=0.999) -> tuple:
    """Two-sided exact interval of a probability from `events` in `trials` (Clopper and Pearson 1934, The use of
    confidence or fiducial limits, Biometrika 26)."""
    from scipy.special import betaincinv
    tail = (1 - confidence) / 2
    low = 0.0 if events == 0 else float(betaincinv(events, trials - events + 1, tail))
    high = 1.0 if events == trials else float(betaincinv(events + 1, trials - events, 1 - tail))
    return low, high


def chi_square(observed, probabilities):
    """p-value of counts against probabilities; classes with few expected counts are merged."""
    from scipy.stats import binom, chi2
    total = observed.sum()
    order = np.argsort(probabilities)
    o, e = observed[order].astype(float), total * probabilities[order]
    merged_o, merged_e, at_o, at_e = [], [], 0.0, 0.0
    for a, b in zip(o, e, strict=True):
        at_o, at_e = at_o + a, at_e + b
        if at_e >= EXPECTED:
            merged_o.append(at_o)
            merged_e.append(at_e)
            at_o = at_e = 0.0
    if at_e and merged_e:
        merged_o[-1] += at_o
        merged_e[-1] += at_e
    if len(merged_e) < 2:
        return 1.0
    if len(merged_e) == 2:
        k, q = merged_o[0], merged_e[0] / total
        return float(min(1.0, 2 * min(binom.cdf(k, total, q), binom.sf(k - 1, total, q))))
    o, e = np.array(merged_o), np.array(merged_e)
    return float(chi2.sf(((o - e) ** 2 / e).sum(), len(e) - 1))
