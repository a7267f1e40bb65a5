"""Fourth moments against all paths listed, against Gaussian closed forms, and against themselves."""
import itertools
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import TooLarge
from fltheory.workbench.comparison.fourth_moments import spread
from tests.core.operators import brute
from tests.core.operators.brute import bernoulli, three, uniform
from tests.core.operators.rounds import CHANCES, LR, ROUNDS, TAU, cohort

START, AT, SIDE = [3, -2], [Q(1, 2), Q(1, 3)], [Q(3, 5), Q(4, 5)]


def listed(paths, tail_rounds):
    """(E e_t, Var e_t, mean and variance of the tail's average, of <x - at, SIDE>) of weighted paths of models."""
    def moments(values):
        mean = sum(q * v for q, v in values)
        return mean, sum(q * (v - mean) ** 2 for q, v in values)
    errors = [(q, [sum((v - a) ** 2 for v, a in zip(x, AT, strict=True)) for x in path]) for q, path in paths]
    by_round = [moments([(q, e[t]) for q, e in errors]) for t in range(len(errors[0][1]))]
    tail = moments([(q, sum(e[-tail_rounds:]) / tail_rounds) for q, e in errors])
    side = [(q, sum((v - a) * s for v, a, s in zip(path[-1], AT, SIDE, strict=True))) for q, path in paths]
    mean, variance = moments(side)
    return by_round, tail, (mean, variance, sum(q * (v - mean) ** 4 for q, v in side))


@pytest.mark.parametrize(("law", "chances"), [
    (ft.Uniform(2), uniform(3, 2)), (ft.Bernoulli(CHANCES, empty="redraw"), bernoulli(CHANCES, "redraw")),
    (ft.Cyclic([(0, 1), (2,)]), None)], ids=["uniform", "redraw", "cyclic"])
@pytest.mark.parametrize("kind", ROUNDS, ids=lambda k: k.__name__)
def test_moments_are_sums_over_all_paths(kind, law, chances):
    problem, clients = three()
    D, T, k = 2 if kind is ft.FedAvg else 8, 3, 2
    steps = [[(Q(1), (0, 1))], [(Q(1), (2,))], [(Q(1), (0, 1))]] if chances is None else [chances] * T
    paths = []
    for chosen in itertools.product(*steps):
        z, path, q = [Q(v) for v in START] + [Q(0)] * (D - 2), [START], Q(1)
        for probability, members in chosen:
            z, q = ROUNDS[kind](clients, LR, cohort(members))(z), q * probability
            path.append(z[:2])
        paths.append((q, path))
    by_round, tail, side = listed(paths, k)
    seen = spread(ft.derive(kind(LR, TAU), problem, law), START, [float(v) for v in AT], T, k, [0.6, 0.8])
    assert seen.mean == pytest.approx([float(m) for m, _ in by_round], rel=1e-12)
    assert seen.variance == pytest.approx([float(v) for _, v in by_round], rel=1e-8, abs=1e-9)
    assert seen.tail == pytest.approx([float(v) for v in tail], rel=1e-8, abs=1e-9)
    assert seen.along == pytest.approx([float(v) for v in side], rel=1e-8, abs=1e-9)
    if chances is not None:
        assert seen.variance[-1] > 1e-5 * seen.mean[-1] ** 2


def test_a_gaussian_model_has_the_known_variances():
    """x Gaussian with means m_t and covariances S_t: Cov(|x_s|^2, |x_t|^2) = 2 |C|^2 + 4 m_s' C m_t, C = Cov(x_s, x_t)."""
    problem, clients = three()
    T, k = 6, 3
    op = ft.derive(ft.FedAvg(LR, TAU), problem, ft.Full(), noise=2)
    everyone = cohort(range(3))
    A = brute.affine(brute.fedavg_round(brute.in_floats(clients), 0.05, everyone), 2).astype(float)
    G = brute.fedavg_noise(brute.in_floats(clients), 0.05, everyone)
    M, c, N = A[:, :2], A[:, 2], G @ G.T * 2**2 / 2
    mean, cov = [np.array(START, dtype=float)], [np.zeros((2, 2))]
    for _ in range(T):
        mean.append(M @ mean[-1] + c)
        cov.append(M @ cov[-1] @ M.T + N)

    def covariance(s, t):
        C = cov[s] @ np.linalg.matrix_power(M.T, t - s)
        return 2 * (C**2).sum() + 4 * mean[s] @ C @ mean[t]
    seen = spread(op, START, [0, 0], T, k, [1, 0])
    assert seen.variance == pytest.approx([covariance(t, t) for t in range(T + 1)], rel=1e-9, abs=1e-9)
    last = range(T - k + 1, T + 1)
    assert seen.tail[1] == pytest.approx(sum(covariance(*sorted(p)) for p in itertools.product(last, last)) / k**2)
    assert seen.along == pytest.approx((mean[T][0], cov[T][0, 0], 3 * cov[T][0, 0] ** 2))


def test_noise_beside_random_cohorts_agrees_with_a_chain_that_forgets():
    problem, _ = three(None)
    for algorithm in (ft.FedAvg(LR, TAU), ft.Scaffold(LR, TAU)):
        plain, chain = (spread(ft.derive(algorithm, problem, law, noise=1), START, [1, 1], 8, 4, [1, 0])
                        for law in (ft.Bernoulli(CHANCES), ft.Markov(CHANCES, 0, 3)))
        for a, b in ((plain.variance, chain.variance), (plain.tail, chain.tail), (plain.along, chain.along)):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def test_means_are_those_of_the_trajectory():
    problem, _ = three(None)
    op = ft.derive(ft.Focus(LR, TAU), problem, ft.Bernoulli(CHANCES), noise=1)
    path = [np.trace(S) - 2 * m.sum() + 2 for m, S in op.trajectory(13, START)]
    assert spread(op, START, [1, 1], 12, 3).mean == pytest.approx(path, rel=1e-10)


def test_cohorts_that_are_not_listed_have_no_fourth_moments():
    many = ft.Quadratic([[[1]]] * 9, [[k] for k in range(9)])
    op = ft.derive(ft.Focus(LR, 1), many, ft.Bernoulli("1/2"))
    with pytest.raises(TooLarge, match="too many to be listed"):
        spread(op, [0], [0], 5, 1)
    wide = ft.Quadratic([np.eye(12).astype(int).tolist()] * 3, np.arange(36).reshape(3, 12).tolist())
    with pytest.raises(TooLarge, match="operations"):
        spread(ft.derive(ft.Scaffold(LR, 1), wide, ft.Uniform(1)), [0] * 12, [0] * 12, 200, 1)
