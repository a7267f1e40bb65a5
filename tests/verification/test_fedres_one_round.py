"""Coded rounds with all outcomes of their noise, against sums written out by hand and against each other."""
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from verification.fedres.one_round import FEW, Noise, gamma2, loudest, one_round, root_above
from verification.fedres.rounds import Beyond, clients, round_of

SUM = clients([[[1, 1]]], deltas=100)   # (w + theta)^2/2 wherever these rounds go


def test_the_mean_of_a_round_is_the_sum_over_its_outcomes():
    i = round_of("one", SUM, 1, Q(1, 4), Q(1, 8), 1, 2, Noise(w=(3,), theta=(1,), skew=2))
    r, total = one_round(i), 0
    for chance1, draw1 in ((Q(1, 5), 2), (Q(4, 5), Q(-1, 2))):
        for chance2, draw2 in ((Q(1, 5), 2), (Q(4, 5), Q(-1, 2))):
            theta = 2 - Q(1, 4) * (3 + draw1)
            w = 1 - Q(1, 8) * (1 + theta + 3 * draw2)
            total += chance1 * chance2 * (w + theta) ** 2 / 2
    assert r.mean(r.F(r.w1, r.theta1)) == total
    assert r.mean(r.F(r.w, r.theta)) == Q(9, 2) and loudest(i) == i.sigma2 == 10


def test_noise_has_mean_zero_and_variance_one():
    draws, chances = Noise(theta=(1,), skew=3).outcomes(range(2), 2, (1,))
    assert len(chances) == 16 and sum(chances) == 1
    assert (chances[:, None, None] * draws).sum(0).tolist() == [[0, 0], [0, 0]]
    assert (chances[:, None, None] * draws**2).sum(0).tolist() == [[1, 1], [1, 1]]


def test_one_outcome_for_each_number_of_high_draws_gives_the_same_mean():
    n = FEW + 1
    noise, problem = Noise(w=(1,), skew=2), clients([[1, 1]], deltas=100, n=n)
    r = one_round(round_of("many", problem, 1, "1/4", "1/2", 1, 2, noise))
    listed, chances = noise.outcomes(range(1, 2), n, noise.w)
    pushes = [sum(v[0]) / Q(n) for v in listed]
    step, theta = round_of("many", problem, 1, "1/4", "1/2").eta, r.theta1[0, 0, 0, 0]
    ends = [1 - step * (1 + theta + v) for v in pushes]
    assert len(r.chances[1]) == n + 1 < len(chances) == 2**n
    assert r.mean(r.w1**2)[0] == sum(q * w * w for q, w in zip(chances, ends, strict=True))


def test_noise_of_the_state_is_asked_where_the_gradient_is():
    loud = Noise(theta=(1,), where=Beyond(Q(1)))
    there = one_round(round_of("beyond", SUM, 2, Q(1, 2), Q(1, 8), 0, 3, loud))
    assert sorted(there.theta1.reshape(-1)) == [Q(1, 2), Q(1, 2), Q(1, 2), Q(3, 2)]   # to 1, where it is silent, or to 2
    here = one_round(round_of("before", SUM, 2, Q(1, 2), Q(1, 8), 0, 1, loud))
    assert set(here.theta1.reshape(-1)) == {Q(1, 4)}


def test_common_draws_are_shared_by_all_clients():
    i = round_of("common", clients([[1, 0]], deltas=100, n=3), 1, "1", "1", 0, 0, Noise(w=(1,), common=True))
    r = one_round(i)
    assert len(r.chances[1]) == 2 and sorted(r.w1.reshape(-1)) == [-i.eta, i.eta]


def test_constants():
    assert gamma2(clients([[[3, 4], [0, 1]]])) == (3 * 4 + 0) ** 2 + (16 + 1) ** 2
    assert gamma2(ft.Personal(ft.Quadratic.from_linear([[[1, 2], [2, -5]]], [[0, 0]]), 1)) == 29
    assert root_above(Q(9, 4)) == Q(3, 2) and 2 < root_above(2) ** 2 < 2 + Q(1, 10**11)


def test_too_many_outcomes_are_refused():
    i = round_of("too many", SUM, 20, "1/20", "1/20", 0, 1, Noise(theta=(1,)))
    with pytest.raises(BadInput, match="Give fewer slots noise"):
        one_round(i)
