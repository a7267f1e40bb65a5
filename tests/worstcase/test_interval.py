"""Inequalities over intervals of a step and for every number of clients, against single values where the truth is known."""
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.evidence import HOLDS, INCONCLUSIVE

pytest.importorskip("cvxpy")
pytest.importorskip("flint")

KIND = ft.SmoothConvex(1, "1/10")
(eta,), (q,) = ft.Field("eta").symbols, ft.Field("q").symbols


def distance(s):
    return s.square(s.x - s.star)


def after(s):
    return s.square(s.next - s.star)


def between(method, rate, ends, symbol="eta", drift=0, **given):
    terms = {"distance": (rate, distance), "drift": (drift, lambda s: s.mean_square(s.grads(s.star)))}
    return ft.certified_between(method, KIND, symbol=symbol, between=ends, left=after, terms=terms, **given)


def test_a_step_of_gradient_descent_over_an_interval():
    # truth: (1 - eta/10)^2 = 1 - eta/5 + eta^2/100 on [1/10, 1]; the bound 1 - eta/10 has room
    found = between(ft.FedAvg(eta, 1), 1 - eta / 10, ("1/10", 1))
    assert (found.status, found.evidence) == (HOLDS, "exact") and "cover the interval" in found.detail


def test_one_bad_step_in_the_interval_is_enough():
    # beyond eta = 2 / (1 + 1/10) the smooth side decides: (1 - eta)^2 > 1 - eta/10 from eta = 1.9 on
    assert between(ft.FedAvg(eta, 1), 1 - eta / 10, ("1/10", "19/10")).status == INCONCLUSIVE
    assert between(ft.FedAvg(eta, 1), 1 - eta / 10, ("1/10", "37/20")).status == HOLDS


def test_two_local_steps_need_the_drift():
    assert between(ft.FedAvg(eta, 2), 1 - eta / 20, ("1/20", "1/2"), drift=Q(1, 10), clients=2).status == HOLDS
    assert between(ft.FedAvg(eta, 2), 1 - eta / 20, ("2/5", "1/2"), drift=0, clients=2).status == INCONCLUSIVE


def test_every_number_of_counted_clients():
    """FOCUS from its literal start with step 1/(10 N): one local step is a step 1/10 of gradient descent, whatever N."""
    given = {"symbol": "q", "counts": [1 / q], "ends": (0, "1/2")}
    assert between(ft.Focus(q / 10, 1), Q(9802, 10000), **given).status == HOLDS
    assert between(ft.Focus(q / 10, 1), Q(98, 100), **given).status == INCONCLUSIVE
    assert between(ft.Focus(q / 10, 2), Q(99, 100), drift=Q(1, 10), **given).status == HOLDS


@pytest.mark.parametrize(("given", "words"), [
    ({"ends": (1, "1/2")}, "a < b"),
    ({"ends": ("1/4", "1/4")}, "a < b"),
    ({"initial": lambda s: s.square(s.x) <= 1}, "homogeneous"),
])
def test_bad_input_is_refused(given, words):
    with pytest.raises(BadInput, match=words):
        between(ft.FedAvg(eta, 1), 1, **{"ends": ("1/4", "1/2"), **given})
