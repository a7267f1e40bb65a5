"""Weighted sampling against drawing in turn, ordering by ordering, and the numbers of FOCUS's Case 3."""
import itertools
from fractions import Fraction as Q

import pytest

from fltheory.core.errors import BadInput, TooLarge
from fltheory.core.laws.memoryless import Uniform, WithReplacement
from fltheory.core.laws.weighted import Weighted


def in_turn(w, m):
    """{set: probability}, summed over the orders in which its clients may be drawn."""
    found = {}
    for order in itertools.permutations(range(len(w)), m):
        chance, left = Q(1), Q(sum(w))
        for i in order:
            chance, left = chance * Q(w[i]) / left, left - w[i]
        found[tuple(sorted(order))] = found.get(tuple(sorted(order)), 0) + chance
    return found


@pytest.mark.parametrize(("w", "m"), [((5, 1, 2, 1), 1), ((5, 1, 2, 1), 2), ((5, 1, 2, 1), 3), ((7, 2, 1), 2), ((1, 1, 3), 3)])
def test_sets_against_every_order(w, m):
    listed = {tuple(int(i) for i in present.nonzero()[0]): p for p, _, present in Weighted(m, w).cohorts(len(w))}
    assert listed == in_turn(w, m) and sum(listed.values()) == 1


def test_case_3_of_focus():
    law = Weighted(2, ("7/10", "1/5", "1/10"))
    assert [round(float(v), 5) for v in law.inclusion(3)] == [0.95278, 0.68889, 0.35833]
    assert law.averaging_weights(3) == [v / 2 for v in law.inclusion(3)]
    assert [round(float(v), 5) for v in law.averaging_weights(3)] == [0.47639, 0.34444, 0.17917]


def test_equal_weights_are_uniform_and_scale_is_irrelevant():
    assert Weighted(2, (3, 3, 3, 3)).pairs(4).tolist() == Uniform(2).pairs(4).tolist()
    assert Weighted(2, (7, 2, 1)) == Weighted(2, ("7/10", "1/5", "1/10"))
    for mine, theirs in zip(Weighted(2, (1, 1, 1, 1, 1)).feature_moments(5), Uniform(2).feature_moments(5), strict=True):
        assert (mine == theirs) if isinstance(mine, Q) else (mine == theirs).all()


def test_with_replacement_is_the_law_of_that_name():
    law = Weighted(3, (2, 1, 1), replace=True)
    assert law == WithReplacement(3, ("1/2", "1/4", "1/4"))
    assert law.inclusion(3) == [1 - Q(1, 2)**3, 1 - Q(3, 4)**3, 1 - Q(3, 4)**3]


@pytest.mark.parametrize(("make", "words"), [
    (lambda: Weighted(0, (1, 1)), ["m = 0", "at least one", "Give"]),
    (lambda: Weighted(True, (1, 1)), ["m = True"]),
    (lambda: Weighted(3, (1, 1)), ["m = 3", "2 clients", "m <= n"]),
    (lambda: Weighted(1, (1, 0)), ["w = '0'", "positive", "never appears"]),
    (lambda: Weighted(1, (1, "-1/2")), ["'-1/2'", "positive"]),
    (lambda: Weighted(1, (1, float("nan"))), ["nan"]),
    (lambda: Weighted(1, (1, 1), steps=1).inclusion(3), ["2", "one weight per client, so 3"]),
])
def test_refusals(make, words):
    with pytest.raises(BadInput) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_too_many_sets_are_refused_by_number():
    with pytest.raises(TooLarge, match="of up to 12 of 40 clients"):
        list(Weighted(12, [1] * 40).cohorts(40))
