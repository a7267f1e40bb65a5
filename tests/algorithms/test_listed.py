"""Local steps from a list: step k has the k-th factor, in every arithmetic, also where clients stop at different steps."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.laws.draw import to_device
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Torch, fraction, have

FACTORS = (1, Q(1, 2), Q(1, 3), 0)
PROBLEM = ft.Quadratic([[[1]], [["1/2"]], [[3]]], [[0], [2], [-1]])


def by_hand(steps, lr=Q(1, 10), x=Q(5)):
    out = 0
    for h, c, K in zip((Q(1), Q(1, 2), Q(3)), (0, 2, -1), steps, strict=True):
        y = x
        for k in range(K):
            y = y - lr * FACTORS[k] * h * (y - c)
        out += y / 3
    return out


@pytest.mark.parametrize("domain", [RATIONAL, FLOAT] + ([Torch()] if have("torch") else []), ids=str)
def test_every_step_has_its_own_factor(domain):
    alg, problem = ft.FedAvg("1/10", (4, 2, 1), ft.Listed(FACTORS)).to(domain), PROBLEM.to(domain)
    draw = ft.everyone(3, (4, 2, 1))
    x = alg.round(problem, alg.init(problem, domain.array([5])), to_device(draw, "cpu") if isinstance(domain, Torch) else draw).x
    value = by_hand((4, 2, 1))
    assert fraction(x[0]) == value if domain is RATIONAL else float(x[0]) == pytest.approx(float(value), rel=1e-14)


def test_equal_factors_are_the_plain_step_and_powers_are_the_decay():
    def maps(solver):
        return [fraction(v) for v in ft.derive(ft.FedNova("1/10", (1, 3, 2), solver), PROBLEM, ft.Full(), domain=RATIONAL)
                .mean_map()[0].reshape(-1)]
    assert maps(ft.Listed([1, 1, 1])) == maps(ft.Vanilla())
    assert maps(ft.Listed([1, "1/2", "1/4"])) == maps(ft.Decay("1/2"))


def test_too_short_a_list_and_wrong_factors_are_refused():
    with pytest.raises(BadInput, match=r"steps = > 2: the list has 2 local steps|the list has 2 local steps"):
        ft.derive(ft.FedAvg("1/10", 3, ft.Listed([1, 1])), PROBLEM, ft.Full())
    for factors in ([], -1, [[1]], [1, -1], [1, float("nan")], "1/2", 3):
        with pytest.raises(BadInput):
            ft.Listed(factors)


def test_declared_numbers_stay():
    assert ft.Listed(np.array([0.5, 0.25])) == ft.Listed([0.5, 0.25]) and ft.Listed(["1/2"]) != ft.Listed(["1/3"])
