"""`derive` chooses by cost: the route that is taken, and that both say the same of every catalogued method under every law."""
from dataclasses import replace

import numpy as np
import pytest

import fltheory as ft
from fltheory import derivation
from fltheory.algorithms.catalogue import discover
from fltheory.core.operators import size
from tests.algorithms.rules import variants
from tests.large.cases import random_problem

N = 4
PROBLEM, WEIGHED = random_problem(N, 2), random_problem(N, 2, weights=[0.1, 0.2, 0.3, 0.4])
LAWS = {"full": ft.Full(), "uniform": ft.Uniform(2), "bernoulli": ft.Bernoulli("1/3"), "skip": ft.Bernoulli("1/3", empty="skip"),
        "redraw": ft.Bernoulli("1/3", empty="redraw"), "unequal": ft.Bernoulli([0.2, 0.4, 0.6, 0.8]),
        "replacement": ft.WithReplacement(2), "coin": ft.Coin("1/3"), "cyclic": ft.Cyclic([[0, 1], [2, 3]])}
ELSEWHERE = (ft.BadInput, ft.NotAffine, ft.TooLarge)


def method(kind):
    """The plainest instance of an algorithm class."""
    algorithm = replace(variants(kind)[0], lr="1/50")
    return algorithm if kind is ft.ProxSkip else replace(algorithm, steps=3)


def operator(*args, **options):
    """The operator, or the class of the refusal."""
    try:
        return ft.derive(*args, **options)
    except ELSEWHERE as error:
        return type(error)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", discover(), ids=lambda kind: kind.__name__)
def test_both_routes_agree_on_every_method_and_law(kind, law, monkeypatch):
    """Told that nothing is few, `derive` takes the structured route wherever there is one."""
    if kind is ft.ProxSkip and law == "skip":
        pytest.skip("a round of ProxSkip knows no cohort, so that none of its rounds can be skipped")
    for problem in (PROBLEM, WEIGHED):
        args = method(kind), problem, LAWS[law], 1
        dense = operator(*args, method="dense")
        with monkeypatch.context() as patch:
            patch.setattr(size, "FEW", 0)
            patch.setattr(size, "LISTED", 0)
            by_cost = operator(*args)
        if isinstance(dense, type) or isinstance(by_cost, type):
            assert dense is by_cost
            continue
        assert by_cost.rate() == pytest.approx(dense.rate(), rel=1e-8, abs=1e-12)
        for ask in ("fixed_point", "floor", "mean_square_rate"):
            answers = []
            for op in (dense, by_cost):
                try:
                    answers.append(getattr(op, ask)())
                except (ft.NoFixedPoint, ft.TooLarge) as error:
                    answers.append(type(error))
            a, b = (v.x if ask == "fixed_point" and not isinstance(v, type) else v for v in answers)
            assert a is b if isinstance(a, type) or isinstance(b, type) else b == pytest.approx(a, rel=1e-8, abs=1e-10)


def test_the_choice_is_structured_for_most_methods_and_listed_for_the_rest(monkeypatch):
    """So that the agreement above compares two routes and not one with itself."""
    monkeypatch.setattr(size, "FEW", 0)
    monkeypatch.setattr(size, "LISTED", 0)
    routes = {kind.__name__: getattr(operator(method(kind), PROBLEM, ft.Uniform(2)), "method", "")
              for kind in discover()}
    assert sum(route == "structured" for route in routes.values()) >= 10
    proxskip = operator(method(ft.ProxSkip), PROBLEM, ft.Uniform(2))
    assert proxskip.floor() >= 0 and "listed rounds" in proxskip.accuracy()["floor"].label     # its clients cannot be asked singly
    assert routes["VRLSGD"] == routes["Scaffnew"] == "dense" and routes["FedAvg"] == routes["Scaffold"] == "structured"


def test_rounds_of_many_numbers_are_not_listed(monkeypatch):
    problem = random_problem(60, 10)
    monkeypatch.setattr(derivation, "listed", None)
    op = ft.derive(ft.FedAvg("1/50", 5), problem, ft.Uniform(10), noise=1)
    assert op.method == "structured" and op.fixed_point().x == pytest.approx(
        ft.derive(ft.FedAvg("1/50", 5), problem, ft.Uniform(10), method="structured").fixed_point().x)


@pytest.mark.parametrize("given", [{"method": "dense"}, {"domain": ft.RATIONAL}, {"start": "any"}])
def test_what_is_asked_for_is_listed_however_large(given, monkeypatch):
    monkeypatch.setattr(size, "FEW", 0)
    monkeypatch.setattr(size, "LISTED", 0)
    assert ft.derive(ft.FedAvg("1/50", 2), PROBLEM, ft.Uniform(2), **given).method == "dense"


def test_a_round_of_neither_route_says_both_reasons(monkeypatch):
    monkeypatch.setattr(size, "LISTED", 0)
    args = ft.VRLSGD(.02, tuple(1 + k % 3 for k in range(24)), divisor="mean"), random_problem(24, 1), ft.Uniform(12)
    with pytest.raises(ft.TooLarge, match=r"outcomes.*Nor has it a structured operator: VRLSGD: rounds of random cohorts"):
        ft.derive(*args)


def test_sizes_at_which_routes_change():
    law = ft.Uniform(10, steps=5)
    for n, d, outgrown in ((20, 2, False), (60, 2, False), (60, 10, False), (200, 10, False)):
        assert size.outgrown(ft.FedAvg("1/50"), random_problem(n, d), law) is outgrown, (n, d)
    for n, d, outgrown in ((20, 2, False), (60, 2, False), (60, 10, True)):
        assert size.outgrown(ft.FedAvg("1/50"), random_problem(n, d), law.with_noise(1)) is outgrown, (n, d)
    assert size.outgrown(ft.Scaffold("1/50"), random_problem(100, 2), law)
    assert np.isfinite(ft.derive(ft.Scaffold("1/50"), random_problem(12, 2), law).rate())
