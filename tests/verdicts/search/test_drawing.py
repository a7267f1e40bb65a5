"""The default family of a search: admissible, exact, of the kind of the claim's own instance."""

from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.verdicts.search import drawing
from tests.verdicts.claims.cells import about, always, cell, never, simple


def drawn(instance, tries=25, **extra):
    """The quadratic instances that a search draws around one."""
    seen = []

    def body(i):
        """Remembers."""
        if type(i.problem) is ft.Quadratic:
            seen.append(i)
        return ft.equal(1, 1)

    assert about(body, instance).search(seconds=None, tries=tries).error == ""
    return seen


def test_draws_are_exact_positive_definite_and_of_admissible_step():
    pytest.importorskip("hypothesis")
    seen = drawn(simple(algorithm=ft.FedAvg("1/20", [1, 2]), x0=["1/3"], noise="1/7", T=40, eta=Q(1, 20)), 60)
    assert {i.problem.n for i in seen} == {1, 2, 3, 4}
    assert {i.problem.d for i in seen} == {1, 2, 3}
    for i in seen:
        assert i.problem.constants.mu > 0
        assert 0 < i.algorithm.lr * i.problem.constants.L <= Q(1001, 1000)  # L is bounded from above
        assert sum(i.problem.weights) == 1
        assert len(i.algorithm.steps) == i.problem.n
        assert (i.T, i.eta, len(i.x0), i.domain) == (40, i.algorithm.lr, i.problem.d, ft.RATIONAL)
        assert i.noise > 0
    assert len({tuple(i.problem.weights) for i in seen}) > 5
    assert "kept from the claim's instance: T=40" in str(about(always, simple(T=40)).search(tries=2))


def test_extras_that_repeat_a_number_of_the_instance_follow_it_and_others_are_kept():
    pytest.importorskip("hypothesis")
    repeating = {"eta": Q(1, 20), "taus": [1, 2], "sigma": "1/7", "n": 2, "p": ("1/2", "1/2"), "L": 1}
    like = simple(algorithm=ft.FedAvg("1/20", [1, 2]), noise="1/7", lr=Q(1, 3), m=7, **repeating)
    for i in drawn(like, 10):
        assert (i.eta, i.taus, i.sigma) == (i.algorithm.lr, i.algorithm.steps, i.noise)
        assert (i.n, i.L, i.p) == (i.problem.n, i.constants.L, tuple(i.problem.weights))
        assert (i.lr, i.m) == (Q(1, 3), 7)  # of the same names, but other numbers
    assert drawing.kept(about(always, like)) == {"lr": Q(1, 3), "m": 7}


LAWS = [
    ft.Full(),
    ft.Uniform(1),
    ft.Bernoulli("1/2"),
    ft.Bernoulli(["1/2", "1/3"], empty="redraw"),
    ft.WithReplacement(2, ["1/3", "2/3"]),
    ft.Cyclic([[0], [1]]),
    ft.Replay([((0,), 2), ((0, 1), (1, 2))]),
    ft.Markov("1/2", "1/4", 2),
    ft.Full(steps=ft.RandomSteps((("1/2", 1), ("1/2", 3)))),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_law_stays_of_its_kind(law):
    pytest.importorskip("hypothesis")
    fixed = law.steps is not None or getattr(law, "per_mode_steps", None) is not None
    seen = drawn(simple(law=law, algorithm=ft.FedAvg("1/20", None if fixed else 2)), 12)
    assert len(seen) >= 8
    for i in seen:
        assert type(i.law) is type(law)
        assert i.law.modes == law.modes
        assert getattr(i.law, "empty", None) == getattr(law, "empty", None)
        assert i.op.dimension == i.problem.d


class Elsewhere(ft.Uniform):
    """A law that the engine does not know."""


def test_schedules_and_laws_from_elsewhere_stay_as_they_are():
    pytest.importorskip("hypothesis")
    for law in (ft.Markov("1/2", "1/4", 2), Elsewhere(1)):
        seen = drawn(simple(law=law), 8)
        assert len({tuple(i.problem.H.reshape(-1)) for i in seen}) > 3
        assert all(i.law is law and i.problem.n == 2 for i in seen)


ALGORITHMS = [
    ft.FedProx("1/20", 2, mu=1),
    ft.FedAvg("1/9", (1, 2), ft.MomentumProximal("1/2", "1/3")),
    ft.FedNova("1/5", [2, 3], tau_eff=4),
    ft.GeneralRule("1/5", [2, 3], tau_eff=2, w=("1/3", "2/3")),
    ft.ServerMomentum("1/5", [2, 3], beta="1/2"),
    ft.Scaffold("1/5", 2, option=1),
    ft.Focus("1/5", 2, init="warm"),
    ft.NeighbourAveraging("1/5", 2, beta="1/2", graph=[["1/8", "1/8"], ["1/8", "5/8"]]),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: type(a).__name__)
def test_the_algorithm_stays_of_its_kind_and_its_witness_can_be_rebuilt(algorithm):
    pytest.importorskip("hypothesis")
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [1]], ["1/4", "3/4"])
    seen = drawn(simple(problem=problem, algorithm=algorithm), 15)
    assert len(seen) >= 4
    space = {"never": about(never, simple(problem=problem, algorithm=algorithm))}
    for i in seen:
        assert type(i.algorithm) is type(algorithm)
        assert i.op.dimension >= i.problem.d
    result = space["never"].search(seconds=None, tries=40)
    code = "\n".join(line for line in result.code().splitlines() if not line.startswith("from tests"))
    assert cell(code, **space)["witness"].algorithm == result.witness.algorithm


# ---- every kind of algorithm that a claim uses -----------------------------------------------------------------
def proximal(name, mu, **extra):
    return simple(algorithm=ft.FedProx("1/20", 2, mu=mu), mu=mu, **extra).but(name=name)


def searched(*on, tries=12, body=None):
    """(result, instances drawn) of a default search around some instances."""
    pytest.importorskip("hypothesis")
    seen = []

    def remembers(i):
        seen.append(i)
        if type(i.problem) is not ft.Quadratic:
            raise ft.NotAffine("quadratics only")
        return ft.equal(1, 1)

    return about(body or remembers, *on).search(seconds=None, tries=tries), [i for i in seen if i.name == "drawn"]


def test_every_algorithm_and_solver_of_the_claim_is_drawn():
    momentum = simple(algorithm=ft.FedAvg("1/20", [1, 2], ft.Momentum("1/3")))
    result, seen = searched(simple(), proximal("prox", "1/2"), momentum, proximal("stronger", 2),
                            simple(algorithm=ft.FedNova("1/20", [1, 2])), simple(algorithm=ft.FedAvg("1/9", 4)))
    names = ("FedAvg", "FedAvg with Proximal", "FedAvg with Momentum", "FedNova")
    assert list(result.families) == [f"quadratics for {name}" for name in names]
    assert all(v >= 8 for v in result.families.values())
    kinds = {(type(i.algorithm), type(i.algorithm.solver)) for i in seen if type(i.problem) is ft.Quadratic}
    assert kinds == {(ft.FedAvg, ft.Vanilla), (ft.FedAvg, ft.Proximal), (ft.FedAvg, ft.Momentum), (ft.FedNova, ft.Vanilla)}
    drawn_mu = [i for i in seen if type(i.algorithm.solver) is ft.Proximal]
    assert len({i.algorithm.solver.mu for i in drawn_mu}) > 2
    assert all(i.mu == i.algorithm.solver.mu for i in drawn_mu) and result.kept == {}
    assert set(result.left_out) == {f"Huber losses for {name}" for name in names}
    assert str(result).count("quadratics only") == 1  # named once


def test_two_forms_of_one_solver_are_two_kinds():
    alpha = simple(algorithm=ft.FedAvg("1/20", 2, ft.Proximal(alpha="1/2"))).but(name="alpha")
    result, _ = searched(proximal("mu", 1), alpha)
    assert list(result.families) == ["quadratics for FedAvg with Proximal",
                                     "quadratics for FedAvg with Proximal as in alpha"]


def test_a_number_of_the_solver_that_an_extra_repeats_under_another_name_follows_or_stays():
    def decaying(gamma, value):
        return simple(algorithm=ft.FedAvg("1/20", 3, ft.Decay(gamma)), value=value).but(name=str(gamma))

    _, seen = searched(decaying("9/10", Q(9, 10)), decaying("1/2", "1/2"))
    assert all(i.value == i.algorithm.solver.gamma for i in seen)
    assert len({i.value for i in seen}) > 2
    result, seen = searched(decaying("9/10", Q(9, 10)))  # perhaps by chance
    assert {(i.value, i.algorithm.solver.gamma) for i in seen} == {(Q(9, 10), "9/10")}
    assert result.kept == {"value": Q(9, 10)}
    result, seen = searched(decaying("9/10", Q(9, 10)), decaying("1/2", 7))
    assert {i.value for i in seen} == {Q(9, 10)} and {i.algorithm.solver.gamma for i in seen} == {"9/10"}


def test_kinds_that_stand_in_symbols_only_are_named():
    x = ft.Field("x").symbols[0]
    symbolic = simple(algorithm=ft.FedProx("1/20", 2, mu=1), domain=ft.Field("x"), x=x).but(name="symbols")
    result, _ = searched(simple(), symbolic)
    assert list(result.families) == ["quadratics"] and result.unsearched == ["FedAvg with Proximal"]
    for shown in (str(result), result._repr_html_()):
        assert "not drawn: FedAvg with Proximal, which the claim has in symbols or on other problems only" in shown
