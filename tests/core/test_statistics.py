"""Statistics that runs, black boxes and our own checks share: intervals, moments, tails, factors."""
import math
from math import comb

import numpy as np
import pytest

from fltheory.core.errors import BadInput
from fltheory.core.statistics import FEWEST, Interval, Stream2, chance_below, contraction, reach, skewed, transient
from fltheory.runs.streams import Stream


def test_an_interval_says_what_it_is():
    i = Interval(2.0, 0.5, 0.999, 64)
    assert (i.low, i.high) == (1.5, 2.5) and i.contains(2.5) and not i.contains(2.51) and not i.contains(math.nan)
    assert str(i) == "2 +/- 0.5 (99.900%, n=64)"


@pytest.mark.parametrize("q", [1.0, 3.3, 8.0])
@pytest.mark.parametrize("count", [2, 16, 256, 10**6])
def test_skewness_only_widens(q, count):
    assert skewed(q, count, 0.0) == q
    widths = [skewed(q, count, s) for s in (1e-12, 1e-3, 0.1, 1.0, 3.0)]
    assert min(widths) >= q and widths == [skewed(q, count, -s) for s in (1e-12, 1e-3, 0.1, 1.0, 3.0)]
    assert widths[:2] == pytest.approx([q, q], rel=1e-2)  # continuous at none
    if count >= FEWEST:
        assert widths[:4] == sorted(widths[:4])


def test_the_wide_side_inverts_halls_cubic():
    """g(w) = w + s w^2 / (3 sqrt n) + s^2 w^3 / (27 n) + s / (6 sqrt n) at the side found is the quantile."""
    for q, n, s in ((2.0, 300, 1.5), (3.9, 300, 3.0), (3.9, 4096, 0.4)):
        w, a = -skewed(q, n, s), s / math.sqrt(n)
        assert w + a * w**2 / 3 + a**2 * w**3 / 27 + a / 6 == pytest.approx(-q, rel=1e-9)


def test_intervals_of_few_replicates_say_that_they_decide_nothing():
    assert Interval(0.5, 0.1, 0.999, FEWEST).undecided == ""
    assert f"at least {FEWEST}" in Interval(0.5, 0.1, 0.999, FEWEST - 1).undecided
    assert "finite" in Interval(0.5, math.inf, 0.999, 1).undecided
    assert "finite" in Interval(0.5, math.nan, 0.999, 300).undecided


@pytest.mark.parametrize("predicted", ["x", None, [1], np.eye(2), 1j, Ellipsis], ids=repr)
def test_what_is_no_number_is_refused(predicted):
    with pytest.raises(BadInput, match="number = "):
        Interval(2.0, 1.0, 0.99, 2).contains(predicted)


def test_merged_moments_are_those_of_all_values():
    data = Stream(3).generator().standard_normal((1000, 4)) * [1, 10, 1e-3, 1] + [0, 1e6, 0, -3]
    s = Stream2.empty(4)
    for part in np.split(data, [1, 7, 300, 999]):
        s.merge(len(part), part.mean(0), *(((part - part.mean(0)) ** k).sum(0) for k in (2, 3)))
    assert s.count == 1000 and s.mean == pytest.approx(data.mean(0), rel=1e-12)
    assert s.m2 == pytest.approx(((data - data.mean(0)) ** 2).sum(0), rel=1e-9)
    assert s.m3 / s.m2**1.5 == pytest.approx(((data - data.mean(0)) ** 3).sum(0) / s.m2**1.5, abs=1e-9)


@pytest.mark.parametrize("chance", [0.01, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_no_sample_of_two_values_falls_below_more_often_than_the_bound(count, chance):
    """Values 1/chance with this chance, else 0: the probabilities are binomial sums."""
    mean, variance = 1.0, 1 / chance - 1
    below = 0.0
    for hits in range(count + 1):
        below += comb(count, hits) * chance**hits * (1 - chance) ** (count - hits)
        assert below <= chance_below(count, mean, variance, hits / chance / count) * (1 + 1e-9)
    assert chance_below(count, mean, variance, 2.0) == 1 and chance_below(count, mean, 0.0, 0.5) == 0


@pytest.mark.parametrize("chance", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("count", [3, 30, 2000])
def test_the_reach_of_an_average_covers_at_its_level(count, chance):
    """Two values, centred: the exact probability to lie beyond the reach is at most 1 - level (normal cases: 1.5 times)."""
    variance, fourth = chance * (1 - chance), chance * (1 - chance) ** 4 + (1 - chance) * chance**4
    far = reach(count, variance, fourth, 0.999)
    hits = np.arange(count + 1)
    logs = np.array([0.0, *np.cumsum(np.log(np.arange(1, count + 1)))])
    chances = np.exp(logs[-1] - logs - logs[::-1] + hits * np.log(chance) + (count - hits) * np.log1p(-chance))
    outside = chances[np.abs(hits / count - chance) > far].sum()
    normal = 10 * fourth <= count * variance**2
    assert outside <= 0.001 * (1.5 if normal else 1)
    if not normal:  # Markov's inequality and no more than that, or a wrong prediction would be spared as well
        assert far**4 * 0.001 == pytest.approx((chances * (hits / count - chance) ** 4).sum())


# ---- factors per round -----------------------------------------------------------------------------------------
def test_a_factor_lies_between_the_ends_of_both_intervals():
    first, last = Interval(4.0, 1.0, 0.99, 300), Interval(1.0, 0.5, 0.99, 300)
    assert contraction(first, last, 2) == pytest.approx((0.5, math.sqrt(0.5 / 5), math.sqrt(1.5 / 3)))
    assert contraction(first, last, 2, (8.0, 3.0)) == pytest.approx((0.5, math.sqrt(0.5 / 8), 1.0))
    assert contraction(first, Interval(0.0, 1.0, 0.99, 300), 1)[:2] == (0.0, 0.0)
    assert contraction(Interval(1.0, 1.0, 0.99, 300), last, 1) is None
    assert contraction(first, Interval(math.inf, math.nan, 0.99, 300), 1) is None


def test_a_transient_is_the_second_half_of_what_comes_before_the_floor():
    curve = 2.0 ** -np.arange(40) + 2.0**-20
    assert transient(curve, 4, 0.0) == (9, 18)
    assert transient(curve, 4, 2.0**-10) == (5, 10)
    assert transient(np.ones(10), 4, 0.0) is None
    assert transient(2.0 ** np.arange(11), 4, 0.0) == (5, 10)
    assert transient(np.array([1.0, 10.0, np.inf]), 4, 0.0) is None  # two rounds are no growth
