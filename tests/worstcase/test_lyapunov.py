"""Lyapunov functions of the programme against closed forms and the exact operators of quadratics."""
from dataclasses import replace
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput

pytest.importorskip("cvxpy")
pytest.importorskip("flint")

KIND = ft.SmoothConvex(1, "1/10")
WIDTH = Q(1, 1000)


@pytest.mark.parametrize("steps", [1, 3])
def test_gradient_descent_has_its_rate(steps):
    found = ft.lyapunov(ft.FedAvg("1/5", steps), KIND, width=WIDTH)
    assert Q(49, 50) ** (2 * steps) <= found.rate <= Q(49, 50) ** (2 * steps) + WIDTH
    assert found.recheck() and found.names == ("x",)


METHODS = [(ft.Scaffold("1/5", 2), ft.Full()), (ft.Scaffold("1/5", (1, 2)), ft.Uniform(1)), (ft.Focus("1/20", 2), ft.Full()),
           (ft.Scaffnew("1/5", 2), ft.Full()), (ft.ProxSkip("1/5", p="1/2"), ft.Coin("1/2"))]


@pytest.mark.parametrize(("method", "law"), METHODS, ids=lambda v: type(v).__name__)
def test_a_rate_for_all_functions_is_none_that_quadratics_refute(method, law):
    found = ft.lyapunov(method, KIND, law, clients=2, width=WIDTH)
    assert found.rate < 1 and found.recheck()
    for curvatures in ([Q(1, 10)] * 2, [Q(1), Q(1, 10)], [Q(1), Q(1)]):
        mean = ft.derive(method, ft.Quadratic([[[h]] for h in curvatures], [[1], [-2]]), law).rate()
        assert float(mean) ** 2 <= float(found.rate) + 1e-12


def test_a_changed_function_is_rejected():
    found = ft.lyapunov(ft.Scaffold("1/5", 2), KIND, clients=2, width=Q(1, 100))
    assert found.recheck() and found.P.shape == (3, 3)
    assert not replace(found, rate=found.rate / 2).recheck()
    assert not replace(found, P=found.P / 1000).recheck()
    assert not replace(found, q=-found.q - 1).recheck()
    assert not replace(found, multipliers=found.multipliers[1:]).recheck()


def test_no_function_is_found_where_none_exists():
    assert ft.lyapunov(ft.FedAvg(3, 1), KIND) is None            # diverges
    assert ft.lyapunov(ft.FedAvg("1/5", 2), KIND, clients=2) is None  # its fixed point is no minimiser


@pytest.mark.parametrize("given", [{"low": 1}, {"high": 0}, {"width": 0}, {"clients": 0}, {"classes": [KIND, ft.Dissimilar(2)]},
                                   {"classes": ft.Smooth(1)}, {"classes": ft.QuadraticClass(1, "1/10")}])
def test_bad_input_is_refused(given):
    with pytest.raises(BadInput):
        ft.lyapunov(ft.FedAvg("1/5", 1), **{"classes": KIND, **given})
