"""Second moments through features of the cohort equal those by enumeration."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.scalars import FLOAT, RATIONAL
from fltheory.core.operators import round_maps as outcomes
from tests.core.operators import brute
from tests.core.operators.brute import bernoulli, kron_rate, kron_stationary, maps, scalars, three
from tests.core.operators.rounds import CHANCES, LR

FEATURED = [(ft.Bernoulli(tuple(Q(k + 1, 8) for k in range(7)), empty=e), 7) for e in ("move", "skip", "redraw")]
FEATURED += [(ft.Uniform(3), 7), (ft.Uniform(4), 6), (ft.Bernoulli((1, *(Q(k + 1, 9) for k in range(6)))), 7)]


def pair(monkeypatch, algorithm, problem, law, domain=FLOAT, noise=None):
    """The operator through features and by enumeration, each by its own way of finding the reachable space."""
    with monkeypatch.context() as m:
        m.setattr(outcomes, "FEW", 1)
        featured = ft.derive(algorithm, problem, law, noise=noise, domain=domain)
        m.setattr(outcomes, "FEW", 10**6)
        listed = ft.derive(algorithm, problem, law, noise=noise, domain=domain)
    assert featured.moments.mixtures[0].featured and not listed.moments.mixtures[0].featured
    return featured, listed


@pytest.mark.parametrize(("law", "n"), FEATURED, ids=["move", "skip", "redraw", "3 of 7", "4 of 6", "certain client"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold("1/20", 2), ft.Focus("1/50", 2), ft.FedAvg("1/20", 2)],
                         ids=lambda a: type(a).__name__)
def test_features_equal_enumeration(monkeypatch, algorithm, law, n):
    problem, _ = scalars(n)
    featured, listed = pair(monkeypatch, algorithm, problem, law, noise=1)
    assert featured.reach.rows == listed.reach.rows and (featured.reach.V == listed.reach.V).all()
    assert featured.rate() == pytest.approx(listed.rate(), abs=1e-10)
    assert featured.mean_square_rate() == pytest.approx(listed.mean_square_rate(), abs=1e-10)
    if listed.stable:
        assert featured.stationary().covariance == pytest.approx(listed.stationary().covariance, rel=1e-9, abs=1e-12)


def test_features_equal_enumeration_when_the_law_offers_no_moments(monkeypatch):
    problem, law = scalars(7)[0], ft.Bernoulli(tuple(Q(k + 1, 8) for k in range(7)))
    featured = ft.derive(ft.Focus("1/50", 2), problem, law)      # 128 cohorts are beyond the few that are listed
    assert featured.moments.mixtures[0].featured
    monkeypatch.setattr("fltheory.core.operators.round_maps.FEW", 10**9)
    listed = ft.derive(ft.Focus("1/50", 2), problem, law)
    assert not listed.moments.mixtures[0].featured
    assert featured.mean_square_rate() == pytest.approx(listed.mean_square_rate(), abs=1e-10)


FOUR = ("3/4", "1/2", "1/3", "1/5")


@pytest.mark.parametrize("law", [*(ft.Bernoulli(FOUR, empty=e) for e in ("move", "skip", "redraw")), ft.Uniform(2)],
                         ids=["move", "skip", "redraw", "uniform"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold("1/20", 2), ft.Focus("1/50", (2, 1, 3, 1))],
                         ids=lambda a: type(a).__name__)
def test_features_equal_enumeration_exactly(monkeypatch, algorithm, law):
    problem, _ = scalars(4)
    featured, listed = pair(monkeypatch, algorithm, problem, law, RATIONAL, noise=1)
    r = listed.reachable
    rng = np.random.default_rng(0)
    A = rng.integers(-3, 4, (r, r))
    X = RATIONAL.array((A + A.T).astype(object))[None]
    pi = featured.moments.stationary_modes()
    m = X[:, 0]
    for ours, theirs in ((featured.moments.second(X), listed.moments.second(X)),
                         (featured.moments.second_adjoint(X), listed.moments.second_adjoint(X)),
                         (featured.moments.step(pi, m, X)[2], listed.moments.step(pi, m, X)[2]),
                         *zip(featured.mean_map(), listed.mean_map(), strict=True)):
        assert (ours == theirs).all()


def test_fedavg_with_unequal_weights_has_weighted_shares():
    weights = [Q(k + 1, 28) for k in range(7)]
    problem, clients = scalars(7, weights)
    p = [Q(k + 1, 8) for k in range(7)]
    op = ft.derive(ft.FedAvg(LR, 2), problem, ft.Bernoulli(tuple(p)))
    assert op.moments.mixtures[0].featured and not op.exact().moments.mixtures[0].featured  # exactly: listed
    clients = brute.in_floats(clients)
    q, made = maps(bernoulli(p), lambda s: brute.fedavg_round(clients, 0.05, [(i, 2) for i in s]), 1)
    assert op.mean_square_rate() == pytest.approx(kron_rate(q, made), rel=1e-12)
    mean, covariance = kron_stationary(q, made)
    assert op.stationary().mean == pytest.approx(mean) and op.stationary().covariance == pytest.approx(covariance)


def test_the_adjoint_is_adjoint():
    problem, _ = three(None)
    for law in (ft.Bernoulli(CHANCES), ft.Markov(CHANCES, "1/10", 3)):
        moments = ft.derive(ft.Focus(LR, 2), problem, law).moments
        rng = np.random.default_rng(1)
        X, V = (a + np.swapaxes(a, 1, 2) for a in rng.standard_normal((2, moments.modes, moments.size, moments.size)))
        assert (moments.second(X) * V).sum() == pytest.approx((X * moments.second_adjoint(V)).sum(), rel=1e-12)


# ---- floors at the ends ------------------------------------------------------------------------------------
def one_client(lr, noise="1"):
    return ft.derive(ft.FedAvg(lr, 1), ft.Quadratic([[[1]]], [[0]]), ft.Full(), noise=noise, domain=ft.RATIONAL)


def test_an_exact_floor_is_decided_exactly_next_to_the_limit():
    # x' = (1 - lr) x - lr noise: floor lr/(2 - lr), for every lr < 2, where floats call the rate 1
    for gap in (Q(1, 10**6), Q(1, 10**17), Q(1, 10**30)):
        assert one_client(2 - gap).floor() == (2 - gap) / gap
    for lr in (Q(2), 2 + Q(1, 10**17), Q(5, 2)):
        assert one_client(lr).floor() == np.inf
        with pytest.raises(ft.NoFixedPoint, match="second moments grow"):
            one_client(lr).stationary()


def test_an_unstable_covariance_equation_has_a_solution_that_is_no_covariance():
    op = one_client(Q(5, 2))
    T = op.moments.second_matrix()
    assert float(T[0, 0]) == 2.25 and op.moments.stationary_second(*op._stationary_mean) is None


def test_floors_are_not_negative():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(1, 6))
        problem = ft.Quadratic(rng.uniform(.5, 2, (n, 1, 1)), rng.normal(size=(n, 1)) * 10.0 ** rng.integers(-8, 9),
                               rng.dirichlet(np.ones(n)))
        for law in (ft.Full(), ft.Uniform(1)):
            assert ft.derive(ft.Scaffold(.1, 2), problem, law).floor() >= 0


def test_a_far_optimum_takes_no_digits_off_the_covariance():
    # noise 1 at an optimum 1e8 away: floor lr/(2 - lr), of which E x^2 - (E x)^2 in floats would keep nothing
    far = ft.Quadratic([[[1.0]], [[1.0]]], [[1e8], [1e8]])
    assert ft.derive(ft.FedAvg(.5, 1), far, ft.Full(), noise=1).floor() == pytest.approx(1 / 6, rel=1e-9)


def test_an_exact_floor_of_float_data_is_measured_from_their_exact_minimiser():
    problem = ft.Quadratic([[[1.1, 0.], [0., .3]], [[.7, .1], [.1, .9]]], [[.1, .2], [.3, .7]])
    assert ft.derive(ft.Scaffold(.1, 2), problem, ft.Full(), domain=ft.RATIONAL).floor() == 0
    flat = ft.Quadratic([[[1., 0.], [0., 5e-13]]], [[1., 1.]])
    assert ft.derive(ft.FedAvg(.5, 1), flat, ft.Full(), domain=ft.RATIONAL).floor() == 0


def _full(problem):
    """A round without randomness, exactly: its floor is a squared distance, its covariance 0."""
    return ft.derive(ft.Scaffold(.01, 2), problem, ft.Full(), domain=RATIONAL)


def test_rounds_without_randomness_have_no_covariance():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(3, 4, 4))
    op = _full(ft.Quadratic(H @ H.swapaxes(1, 2), rng.normal(size=(3, 4))))
    assert (op.stationary().covariance == 0).all() and op.floor() == 0
    cycle = ft.derive(ft.FedAvg("1/10", 1), three()[0], ft.Cyclic([[0], [1], [2]]), domain=RATIONAL)
    floats = ft.derive(ft.FedAvg("1/10", 1), three()[0], ft.Cyclic([[0], [1], [2]]))
    assert float(cycle.floor()) == pytest.approx(floats.floor(), rel=1e-10)
    assert cycle.stationary().covariance.astype(float) == pytest.approx(floats.stationary().covariance, rel=1e-10)


@pytest.mark.parametrize(("lr", "stable"), [("1999999999999999999/1000000000000000000", True), (2, False), ("5/2", False)])
def test_contraction_without_randomness_is_decided_at_the_edge(lr, stable):
    op = ft.derive(ft.FedAvg(lr, 1), ft.Quadratic([[[1]]], [[3]]), ft.Full(), domain=RATIONAL)
    assert op.floor() == (0 if stable else np.inf)


@pytest.mark.parametrize("law", [ft.Bernoulli(FOUR), ft.Uniform(2), ft.Full(),
                                 ft.Chain(sets=((0, 1), (2, 3), (0,)), matrix=[["1/2", "1/4", "1/4"]] * 3)],
                         ids=lambda law: type(law).__name__)
def test_the_second_moment_matrix_of_floats_is_that_of_single_pushes(law, monkeypatch):
    for few in (1, 10**6):
        monkeypatch.setattr(outcomes, "FEW", few)
        moments = ft.derive(ft.Scaffold(.05, 2), scalars(4)[0], law).moments
        columns = [moments._pack(moments.second(moments._unpack(e))) for e in np.eye(moments.unknowns)]
        assert moments.second_matrix() == pytest.approx(np.stack(columns, axis=1), rel=1e-12, abs=1e-15)


def test_a_model_that_memories_spread_around_has_a_floor_of_zero_at_least():
    """Own copies spread by random steps, while nearly all weight is with one client: the model's variance is rounding."""
    H = [[[2.0458045284476176, -1.05433095602916], [-1.05433095602916, 3.281673279925855]],
         [[1.6120058624867484, 1.0157730068680035], [1.0157730068680035, -1.1533002510466288]],
         [[3.858801969429332, 2.557434999654054], [2.557434999654054, 2.6938041951103826]]]
    b = [[0.8973323710153194, -0.414792772966325], [1.6262240928260479, -0.9641804021959755],
         [-0.32038721564315953, -0.5358678899015512]]
    problem = ft.Quadratic.from_linear(H, b, [0.999999999, 7.102785136770001e-11, 9.289721486323e-10])
    law = ft.Coin(Q(3493418784206663, 4503599627370496), steps=ft.RandomSteps([("1/3", 1), ("2/3", 2)]))
    op = ft.derive(ft.LocalProx(0.03390269339971281, mu=1.9593848871679258), problem, law)
    assert 0 <= op.floor() < 1e-15
