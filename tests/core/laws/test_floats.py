"""Probabilities declared as floats: what sums to 1 in decimals sums to 1 here, what does not is refused."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft

DECIMALS = [.1, .2, .7]


def test_decimal_floats_are_divided_by_their_exact_sum():
    total = sum(map(Q, DECIMALS))
    assert total != 1
    chances = ft.WithReplacement(2, DECIMALS).probabilities
    assert sum(chances) == 1 and chances == tuple(Q(v) / total for v in DECIMALS)
    steps = ft.RandomSteps([(v, k + 1) for k, v in enumerate(DECIMALS)])
    assert [p for p, _ in steps.choices] == list(chances)
    chain = ft.Chain(sets=((0,), (1,), (2,)), matrix=[DECIMALS] * 3, initial=DECIMALS)
    assert chain.matrix == (chances,) * 3 and chain.initial == chances


@pytest.mark.parametrize("n", [2, 30, 300])
def test_random_floats_are_accepted(n):
    p = np.random.default_rng(n).dirichlet(np.ones(n))
    assert sum(ft.WithReplacement(2, p).probabilities) == 1


def test_exact_ones_stay_what_they_are():
    assert ft.WithReplacement(2, [".1", ".2", ".7"]).probabilities == (Q(1, 10), Q(1, 5), Q(7, 10))


@pytest.mark.parametrize("make", [
    lambda p: ft.WithReplacement(2, p),
    lambda p: ft.RandomSteps([(v, k + 1) for k, v in enumerate(p)]),
    lambda p: ft.Chain(sets=((0,), (1,), (2,)), matrix=[p] * 3),
    lambda p: ft.Chain(sets=((0,), (1,), (2,)), matrix=None, initial=p),
], ids=["draws", "steps", "matrix", "initial"])
@pytest.mark.parametrize("wrong", [[.1, .2, .7 + 1e-11], [-.1, .4, .7], [".1", ".2", ".700000000000001"], [float("nan"), 1, 0],
                                   [.1, .2, 1e308]], ids=str)
def test_other_sums_are_refused(make, wrong):
    with pytest.raises(ft.BadInput, match=r"sum to 1|must be finite"):
        make(wrong)


def test_what_sums_to_1_up_to_rounding_derives_as_its_exact_twin():
    p = ft.Quadratic([[[1.0]], [[2.0]], [[4.0]]], [[0.0], [1.0], [3.0]])
    a, b = (ft.derive(ft.FedAvg(.1, 2), p, ft.WithReplacement(2, v)) for v in (DECIMALS, [".1", ".2", ".7"]))
    assert a.fixed_point().x == pytest.approx(b.fixed_point().x, rel=1e-14)
