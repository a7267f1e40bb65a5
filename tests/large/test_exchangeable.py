"""Moments of equal clients in a handful of numbers: against all cohorts, closed forms, and what must not matter."""
from fractions import Fraction as Q

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fltheory as ft
from fltheory.algorithms.focus import State

LAWS = {"full": ft.Full(), "one": ft.Uniform(1), "two": ft.Uniform(2), "move": ft.Bernoulli("1/3"),
        "skip": ft.Bernoulli("1/3", "skip"), "redraw": ft.Bernoulli("1/3", "redraw")}
METHODS = {"FOCUS": ft.Focus("1/10", 1), "FOCUS, three steps": ft.Focus("1/10", 3), "FOCUS, warm": ft.Focus("1/10", 2, "warm"),
           "FedAvg": ft.FedAvg("1/10", 2), "momentum": ft.FedAvg("1/10", 3, ft.Momentum("1/2")),
           "FedNova": ft.FedNova("1/10", 3), "SCAFFOLD": ft.Scaffold("1/10", 2), "SCAFFOLD I": ft.Scaffold("1/10", 2, option=1),
           "MIFA": ft.Mifa("1/10", 2), "LocalSGD": ft.LocalSgd("1/10", 2), "LocalSGD, mean": ft.LocalSgd("1/10", 2, report="mean"),
           "Scaffnew": ft.Scaffnew("1/10", 2), "Scaffnew, late": ft.Scaffnew("1/10", 2, update="late"),
           "FedVARP": ft.FedVarp("1/10", 2), "VRL-SGD": ft.VRLSGD("1/10", 2)}


def equal(n, h=Q(3, 2), c=2):
    return ft.Quadratic([[[h]]] * n, [[c]] * n)


def focus(n, tau=1, law=None, eta=Q(1, 10), noise=0, h=1):
    return ft.exchangeable(ft.Focus(eta, tau, "warm"), equal(n, h, 0), ft.Uniform(1) if law is None else law, noise)


def same(crowd, op, x0, rounds=4):
    """Trajectory, rates and floor of the handful and of the full operator, exactly."""
    for r, (mean, second) in enumerate(op.trajectory(rounds, x0)):
        X = crowd.after(crowd.begin(x0), r)
        assert crowd.error(x0, r, [0] * len(x0)) == sum(ft.fraction(second[k, k]) for k in range(len(x0)))
        if op.problem.d == 1 and crowd._model[0, 1] == 1:
            assert X[0, 1] == ft.fraction(mean[0])
    assert crowd.floor() == op.floor()
    assert crowd.rate() == pytest.approx(op.rate(), abs=1e-9)
    low, high = op.certify(1e-3).mean_square
    mine = crowd.certify().mean_square
    assert mine[0] <= high and low <= mine[1] and mine[1] - mine[0] < Q(1, 10**6)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", METHODS)
def test_the_full_operator_says_the_same(method, law):
    algorithm, problem = METHODS[method], equal(3)
    op = ft.derive(algorithm, problem, LAWS[law], noise="1/2", domain=ft.RATIONAL)
    same(ft.exchangeable(algorithm, problem, LAWS[law], "1/2"), op, [5])


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_other_numbers_of_clients(n):
    for algorithm in (ft.Focus("1/10", 2), ft.Scaffold("1/10", 1)):
        for law in (ft.Uniform(min(n, 2)), ft.Bernoulli("2/3", "redraw")):
            op = ft.derive(algorithm, equal(n), law, noise=1, domain=ft.RATIONAL)
            same(ft.exchangeable(algorithm, equal(n), law, 1), op, [3], rounds=3)


@pytest.mark.parametrize("law", ["two", "skip"])
def test_a_plane_with_curvatures_that_do_not_align(law):
    problem = ft.Quadratic([[[2, 1], [1, 3]]] * 3, [[1, -1]] * 3)
    for algorithm in (ft.Focus("1/20", 2), ft.Scaffold("1/10", 2)):
        op = ft.derive(algorithm, problem, LAWS[law], noise="1/2", domain=ft.RATIONAL)
        same(ft.exchangeable(algorithm, problem, LAWS[law], "1/2"), op, [5, 1], rounds=3)


def test_many_sizes_are_one_form_in_the_size(monkeypatch):
    """Eleven clients have twelve sizes: fitted, and probed one by one."""
    from fltheory.large import orbits
    pairs = [(a, ft.Bernoulli("1/3", empty)) for a, empty in (
        (ft.Focus("1/10", 2), "move"), (ft.Scaffold("1/10", 1), "redraw"), (ft.LocalSgd("1/10", 1), "skip"))]
    fitted = [ft.exchangeable(a, equal(11), law, 1) for a, law in pairs]
    monkeypatch.setattr(orbits, "FEW", 100)
    for crowd, (a, law) in zip(fitted, pairs, strict=True):
        assert (crowd.step == ft.exchangeable(a, equal(11), law, 1).step).all()


def test_one_client_has_the_closed_form():
    """One client there with probability p, one local step: the mean square shrinks below eta h = 2p/(2 - p)."""
    p = Q(1, 3)
    for share, below in ((Q(99, 100), True), (Q(101, 100), False)):
        crowd = ft.exchangeable(ft.Focus(share * 2 * p / (2 - p), 1), equal(1, 1), ft.Bernoulli(p))
        assert (crowd.certify().mean_square[1] < 1) == below
        assert (crowd.floor() == np.inf) != below


def test_gradient_descent_with_noise():
    """Everybody takes part, tau = 1: x moves by eta N h x and by eta sqrt(N) sigma of noise."""
    n, eta = 1000, Q(1, 5000)
    crowd = focus(n, law=ft.Full(), eta=eta, noise=1)
    q = (1 - eta * n) ** 2
    assert crowd.floor() == eta**2 * n / (1 - q)
    assert crowd.error([2], 3) == 4 * q**3 + eta**2 * n * (1 + q + q**2)
    assert crowd.certify().mean_square[0] <= q <= crowd.certify().mean_square[1]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.lists(st.integers(-4, 4), min_size=5, max_size=5), st.integers(1, 3), st.data())
def test_a_round_from_any_state(n, numbers, tau, data):
    """Against the coded round of every cohort, from states whose clients differ; in any order of the clients."""
    law = data.draw(st.sampled_from([ft.Full(), ft.Uniform(n - 1), ft.Bernoulli("2/5", "redraw"), ft.Bernoulli("2/5")]))
    alg, problem = ft.Focus("1/7", tau).to(ft.RATIONAL), equal(n, 1, 0).to(ft.RATIONAL)
    crowd = ft.exchangeable(ft.Focus("1/7", tau), equal(n, 1, 0), law)

    def state(values):
        g = ft.RATIONAL.array(np.array(values, dtype=object)[:, None])
        return State(ft.RATIONAL.array([numbers[0]]), g.sum(0), g)
    start = state(numbers[1:n + 1])
    after = sum(q * crowd.moments(alg.round(problem, start, draw)) for q, draw in law.with_steps(tau).support(n))
    assert (crowd.second(crowd.moments(start)) == after).all()
    assert (crowd.moments(state(numbers[n:0:-1])) == crowd.moments(start)).all()


def test_forms_are_carried_backwards():
    crowd = focus(50, tau=2)
    X = crowd.moments(State(np.array([Q(2)]), np.array([Q(30)]), np.array([[Q(k % 5)] for k in range(50)])))
    V = crowd.error_form([1])
    assert crowd.value(crowd.second_adjoint(V), X) == crowd.value(V, crowd.second(X))
    assert crowd.summed(V, X, 3) == sum(crowd.value(V, crowd.after(X, r)) for r in range(3))
    assert crowd.summed(V, X, 0) == 0


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 300), st.fractions(Q(1, 9), 9, max_denominator=9), st.integers(1, 3))
def test_units_do_not_matter(n, scale, tau):
    """f -> c f, eta -> eta/c leaves every model where it is; f(x) -> f(x/s) scales lengths."""
    eta, law = Q(1, 40 * n), ft.Uniform(max(n // 3, 1))
    plain = ft.exchangeable(ft.Focus(eta, tau), equal(n, 1, 1), law)
    loss = ft.exchangeable(ft.Focus(eta / scale, tau), equal(n, scale, 1), law)
    length = ft.exchangeable(ft.Focus(eta * scale**2, tau), equal(n, 1 / scale**2, scale), law)
    assert plain.error([3], 4) == loss.error([3], 4) == length.error([3 * scale], 4) / scale**2
    assert plain.certify().mean_square == loss.certify().mean_square


def test_a_thousand_clients_take_seconds():
    crowd = focus(1000, tau=3, law=ft.Uniform(500), eta=Q(1, 10**6), noise=1)
    assert 0 < crowd.mean_square_rate() < 1
    assert 0 < crowd.floor() < 1e-3
    assert crowd.error([1], 20) > 0


UNFIT = [
    ("problem", ft.Focus("1/10", 1), ft.Quadratic([[[1]], [[2]]], [[0], [0]]), ft.Full()),
    ("problem", ft.Focus("1/10", 1), ft.Quadratic([[[1]], [[1]]], [[0], [1]]), ft.Full()),
    ("weights", ft.Focus("1/10", 1), ft.Quadratic([[[1]]] * 2, [[0]] * 2, ["1/3", "2/3"]), ft.Full()),
    ("law", ft.Focus("1/10", 1), equal(2), ft.Bernoulli(("1/2", "1/3"))),
    ("law", ft.Focus("1/10", 1), equal(3), ft.Weighted(1, ("1/2", "1/3", "1/6"))),
    ("law", ft.Focus("1/10", 1), equal(2), ft.Cyclic([[0], [1]])),
    ("law", ft.FedAvg("1/10", 1), equal(2), ft.WithReplacement(2)),
    ("law", ft.FedAvg("1/10"), equal(2), ft.Full(steps=ft.RandomSteps([("1/2", 1), ("1/2", 2)]))),
    ("steps", ft.FedAvg("1/10", (1, 2)), equal(2), ft.Full()),
    ("algorithm", ft.Reweighted("1/10", 1, inclusion=("1/2", "1/3")), equal(2), ft.Uniform(1)),
]


@pytest.mark.parametrize(("what", "algorithm", "problem", "law"), UNFIT)
def test_what_is_not_exchangeable_is_refused(what, algorithm, problem, law):
    with pytest.raises(ft.BadInput, match=rf"^{what} = .*\. (Give|Use) "):
        ft.exchangeable(algorithm, problem, law)


def test_what_is_not_affine_is_refused():
    with pytest.raises(ft.NotAffine):
        ft.exchangeable(ft.FedAvg("1/10", 2), ft.HuberLoss([[[1]]] * 2, [[0]] * 2, 1, 1, 1), ft.Full())


def test_wrong_shapes_are_refused():
    crowd = focus(3)
    for call in (lambda: crowd.begin([1, 2]), lambda: crowd.error_form([1, 2])):
        with pytest.raises(ft.BadInput):
            call()


@pytest.mark.parametrize("law", LAWS)
def test_laws_know_their_sizes(law):
    law = LAWS[law]
    counted = {}
    for chance, _, present in law.cohorts(4):
        counted[int(present.sum())] = counted.get(int(present.sum()), 0) + chance
    assert dict(law.sizes(4)) == counted


def test_laws_that_tell_clients_apart_have_no_sizes():
    for law in (ft.Bernoulli(("1/2", "1/3")), ft.Coin("1/2"), ft.EventClock(), ft.WithReplacement(2), ft.Cyclic([[0], [1]])):
        assert law.sizes(2) is None
