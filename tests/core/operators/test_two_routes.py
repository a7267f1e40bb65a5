"""`derive` against the naive rounds with every cohort listed."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.scalars import RATIONAL
from tests.core.operators import brute
from tests.core.operators.brute import P3, bernoulli, kron_rate, kron_stationary, maps, three, uniform
from tests.core.operators.rounds import CHANCES, LR, ROUNDS, TAU, cohort, fractions, scalar
from tests.naive import focus

LAWS = [(ft.Full(), [(Q(1), [0, 1, 2])]), (ft.Uniform(2), uniform(3, 2)), (ft.Bernoulli(CHANCES), bernoulli(CHANCES)),
        (ft.Bernoulli(CHANCES, empty="redraw"), bernoulli(CHANCES, "redraw")),
        (ft.Bernoulli((1, *CHANCES[1:]), empty="redraw"), bernoulli([Q(1), *CHANCES[1:]], "redraw"))]
NAMES = ["full", "uniform", "bernoulli", "redraw", "certain client"]


def test_the_focus_loop_with_a_free_start_is_the_twin():
    _, clients = three()
    schedule = [cohort(s) for s in ([0, 2], [], [1], [0, 1, 2])]
    z = [Q(3), Q(-2)] + [Q(0)] * 6
    for history, group in zip(focus.rounds(clients, z[:2], LR, schedule), schedule, strict=True):
        z = brute.focus_round(clients, LR, group)(z)
        x, _, g = history
        assert z == [v for part in (x, *g) for v in part]


@pytest.mark.parametrize(("law", "chances"), LAWS, ids=NAMES)
@pytest.mark.parametrize("kind", ROUNDS, ids=lambda k: k.__name__)
def test_rates_and_stationary_laws_agree_with_listed_cohorts(kind, law, chances):
    problem, clients = three(None if kind is ft.Focus else P3)
    clients = brute.in_floats(clients)
    D = 2 if kind is ft.FedAvg else 8
    q, made = maps(chances, lambda members: ROUNDS[kind](clients, 0.05, cohort(members)), D)
    op = ft.derive(kind(LR, TAU), problem, law)
    assert op.reachable == D
    mean = sum(w * A for w, A in zip(q, made, strict=True))
    assert op.rate() == pytest.approx(np.abs(np.linalg.eigvals(mean[:, :D])).max(), rel=1e-12)
    assert op.mean_square_rate() == pytest.approx(kron_rate(q, made), rel=1e-10)
    x, covariance = kron_stationary(q, made)
    law = op.stationary()
    assert law.mean == pytest.approx(x[:2], rel=1e-10) and op.fixed_point().x == pytest.approx(x[:2], rel=1e-10)
    assert np.abs(law.covariance - covariance[:2, :2]).max() <= 1e-12 * max(1, np.abs(covariance).max())


@pytest.mark.parametrize(("law", "chances"), LAWS, ids=NAMES)
def test_noise_floors_agree_with_listed_cohorts(law, chances):
    problem, clients = three()
    clients = brute.in_floats(clients)
    sigma = Q(3, 2)
    q, made = maps(chances, lambda members: brute.fedavg_round(clients, 0.05, cohort(members)), 2)
    G = [brute.fedavg_noise(clients, 0.05, cohort(members)) for _, members in chances]
    noise = sum(w * g @ g.T for w, g in zip(q, G, strict=True)) * float(sigma) ** 2 / 2
    mean, covariance = kron_stationary(q, made, noise)
    for op in (ft.derive(ft.FedAvg(LR, TAU), problem, law, noise=sigma),
               ft.derive(ft.FedAvg(LR, TAU), problem, law.with_noise(sigma))):
        assert np.abs(op.stationary().covariance - covariance).max() <= 1e-12
        best = np.array([float(v) for v in ft.optimum(problem).x])
        assert op.floor() == pytest.approx(((mean - best) ** 2).sum() + np.trace(covariance), rel=1e-10)
        assert op.floor(reference=[0, 0]) == pytest.approx((mean**2).sum() + np.trace(covariance), rel=1e-10)


def test_noise_of_one_client_by_hand():
    # x' = (1 - a) x - eta xi, so the variance is eta^2 sigma^2 / (1 - (1 - a)^2)
    op = ft.derive(ft.FedAvg("1/10", 1), scalar([2], [3]), ft.Full(), noise="1/2").exact()
    assert fractions(op.stationary().covariance) == [Q(1, 100) * Q(1, 4) / (1 - Q(4, 5) ** 2)]
    assert fractions([op.floor()]) == fractions(op.stationary().covariance)


@pytest.mark.parametrize("empty", ["move", "skip", "redraw"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold(LR, TAU), ft.Focus(LR, TAU), ft.FedAvg(LR, TAU)],
                         ids=lambda a: type(a).__name__)
def test_exact_operators_equal_float_ones(algorithm, empty):
    problem, _ = three()
    op = ft.derive(algorithm, problem, ft.Bernoulli(CHANCES, empty=empty), noise=1)
    exact = op.exact()
    assert exact.domain is RATIONAL and exact.exact() is exact and exact.reach is op.reach
    pairs = [*zip(op.mean_map(), exact.mean_map(), strict=True), (op.fixed_point().x, exact.fixed_point().x),
             (op.fixed_point().state, exact.fixed_point().state)]
    if type(algorithm) is ft.FedAvg:
        pairs += [(op.stationary().covariance, exact.stationary().covariance), ([op.floor()], [exact.floor()])]
    for ours, theirs in pairs:
        theirs = np.array([float(v) for v in np.asarray(theirs, dtype=object).reshape(-1)])
        assert np.abs(np.asarray(ours).reshape(-1) - theirs).max() <= 1e-12 * max(1, np.abs(theirs).max())
    assert exact.rate() == pytest.approx(op.rate(), rel=1e-12)
    assert exact.mean_square_rate() == op.mean_square_rate()


def test_skipped_rounds_keep_everything():
    problem, _ = three(None)
    skip, redraw = (ft.derive(ft.Focus(LR, 2), problem, ft.Bernoulli(CHANCES, empty=e)) for e in ("skip", "redraw"))
    nobody = float((1 - CHANCES[0]) * (1 - CHANCES[1]) * (1 - CHANCES[2]))
    M, R = skip.mean_map()[0], redraw.mean_map()[0]
    assert np.abs(M - nobody * np.eye(len(M)) - (1 - nobody) * R).max() <= 1e-14
    assert skip.mean_square_rate() == pytest.approx(nobody + (1 - nobody) * redraw.mean_square_rate(), rel=1e-12)


def test_twins_decide_fednova_and_solvers():
    problem, clients = three()
    for solver, twin in ((ft.Proximal(mu="1/2"), ("proximal", Q(1, 2))), (ft.Momentum("1/3"), ("momentum", Q(1, 3))),
                         (ft.Decay("4/5"), ("decay", Q(4, 5)))):
        M, c = ft.derive(ft.FedAvg(LR, TAU, solver), problem, ft.Uniform(2)).exact().mean_map()
        made = [brute.affine(brute.fedavg_round(clients, LR, cohort(s), twin), 2, Q(0), Q(1)) for _, s in uniform(3, 2)]
        expected = sum(made[1:], made[0]) / 3
        assert fractions(np.concatenate([M, c[:, None]], axis=1)) == list(expected.reshape(-1))
