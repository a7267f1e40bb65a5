"""Scaffnew in every arithmetic against its loop-only twin, and against the methods that it must be equal to."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.algorithms.scaffnew import ProxSkip, Scaffnew
from fltheory.algorithms.scaffold import Scaffold
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import RATIONAL, Field, fraction
from fltheory.runs.streams import Stream
from tests.algorithms.instances import draw, on, quadratic, same
from tests.algorithms.test_twins import FULL, LR, PARTIAL, X0, agree, cohorts, domains, follow
from tests.naive import scaffnew

SHIFTS = [[Q(1), Q(-1)], [Q(1, 2), Q(0)], [Q(0), Q(5)]]
COINS = [0, 1, 1, 0, 0, 1]
HALF, THIRD = Q(1, 2), Q(1, 3)
PROBLEM = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
BEST = Q(1 - 2, 7)


@domains
@cohorts
def test_immediate(domain, schedule, form):
    problem, clients = quadratic()
    agree(domain, follow(Scaffnew(LR), problem, domain, schedule, form), scaffnew.immediate(clients, X0, LR, schedule))
    agree(domain, follow(Scaffnew(LR), problem, domain, schedule, form, h=SHIFTS),
          scaffnew.immediate(clients, X0, LR, schedule, SHIFTS))


@domains
@cohorts
def test_late(domain, schedule, form):
    problem, clients = quadratic()
    agree(domain, follow(Scaffnew(LR, update="late"), problem, domain, schedule, form),
          scaffnew.late(clients, X0, LR, schedule))


def tossed(domain, side):
    return on(domain, draw([(i, 1) for i in range(3)], 3, "mask")._replace(extra={"coin": np.array([side])}))


@domains
def test_the_coin(domain):
    problem, clients = quadratic()
    a, p = ProxSkip(LR, p=THIRD).to(domain), problem.to(domain)
    twin = scaffnew.skipping(clients, X0, LR, THIRD, COINS)
    state = a.init(p, domain.array(np.array(X0)))
    for first in (0, 1):  # the coin before the first step changes nothing
        before = a.round(p, state, tossed(domain, first))
        same(domain, before.x, X0)
        assert all((v == 0).all() if domain.exact else abs(to_numpy(v)).max() < 1e-12 for v in (before.h,))
    state = before
    for side, (mean, _, h) in zip(COINS, twin, strict=True):
        state = a.round(p, state, tossed(domain, side))
        same(domain, state.x, mean, "average")
        same(domain, state.h, h, "shifts")


def test_with_equal_steps_the_shifts_keep_their_sum():
    problem, _ = quadratic()
    equal = [[(i, 3) for i, _ in cohort] for cohort in PARTIAL]
    sums = [(problem.to(RATIONAL).p[:, None] * s.h).sum(0) for s in follow(Scaffnew(LR), problem, RATIONAL, equal, "mask")]
    assert all((v == 0).all() for v in sums)
    late = list(follow(Scaffnew(LR, update="late"), problem, RATIONAL, equal, "mask"))
    assert any(((problem.to(RATIONAL).p[:, None] * s.h).sum(0) != 0).any() for s in late)


@pytest.mark.parametrize("schedule", [FULL, PARTIAL], ids=["full", "partial"])
def test_immediate_is_vrl_sgd_divided_by_own_steps(schedule):
    problem, _ = quadratic()
    for s, v in zip(*(follow(a, problem, RATIONAL, schedule, "mask") for a in (Scaffnew(LR), VRLSGD(LR))), strict=True):
        assert (s.x == v.x).all()
        assert (s.h == v.D).all()


def test_with_everybody_late_is_immediate_and_scaffold():
    problem, _ = quadratic()
    same = [[(i, 3) for i in range(3)]] * 4
    now, late, scaffold = (list(follow(a, problem, RATIONAL, same, "mask"))
                           for a in (Scaffnew(LR), Scaffnew(LR, update="late"), Scaffold(LR)))
    for r, (a, b, c) in enumerate(zip(now, late, scaffold, strict=True)):
        assert (a.x == b.x).all()
        assert (a.x == c.x).all()
        assert (a.h == c.ci - c.c).all()
        assert r == 0 or (b.h == now[r - 1].h).all()  # one pull behind


def test_a_coin_that_always_shows_one_is_one_step_a_round():
    problem, _ = quadratic()
    ones = [[(i, 1) for i in range(3)]] * 5
    coin, plain = (list(follow(a, problem, RATIONAL, ones, "mask")) for a in (ProxSkip(LR, p=1), Scaffnew(LR)))
    for a, b in zip(coin[1:], plain, strict=False):
        assert (a.x == b.x).all()
        assert (a.h == b.h).all()


def test_the_operator_of_the_coin_is_the_mixture_of_its_sides():
    op = ft.derive(ProxSkip("1/20", p=THIRD), PROBLEM, ft.Coin(THIRD), domain=RATIONAL)
    assert op.fixed_point().x.tolist() == [BEST]
    low, high = op.certify(width=1e-3).mean_square
    assert 0 < low <= high < 1
    *_, (mean, _) = op.trajectory(3, [3])
    moved = 3 - Q(1, 20) * Q(7 * 3 + 1, 3)  # the mean of the three first steps, if the second coin shows 1
    assert [fraction(v) for v in mean] == [THIRD * moved + (1 - THIRD) * 3]
    certain = ft.derive(ProxSkip("1/20", p=1), PROBLEM, ft.Coin(1), domain=RATIONAL)
    plain = ft.derive(Scaffnew("1/20", 1), PROBLEM, ft.Full(), domain=RATIONAL)
    assert certain.fixed_point().x.tolist() == plain.fixed_point().x.tolist() == [BEST]


def test_with_a_coin_the_fixed_point_depends_on_no_probability():
    k = Field("p q")
    p, q = k.symbols
    op = ft.derive(ProxSkip("1/20", p=p), PROBLEM, ft.Coin(q), domain=k)
    assert all(v == BEST for v in op.fixed_point().x)


def test_the_law_of_the_coin():
    law = ft.Coin(THIRD, steps=2)
    support = law.support(3)
    assert [(chance, d.extra["coin"].tolist()) for chance, d in support] == [(THIRD, [1]), (1 - THIRD, [0])]
    assert all(d.present.all() and (d.steps == 2).all() for _, d in support)
    assert [chance for chance, _ in ft.Coin(1, steps=2).support(3)] == [1]
    assert law.inclusion(3) == [1, 1, 1]
    assert law.typical(3).extra["coin"].tolist() == [1]
    sampled, _ = law.with_noise(1).sample(Stream(7), 3, 3000)
    assert sampled.extra["coin"].shape == (3000, 1)
    assert abs(sampled.extra["coin"].mean() - 1 / 3) < 4.5 * (2 / 9 / 3000) ** 0.5
    others = [d for _, d in ft.Coin(HALF, ft.RandomSteps([("1/2", 1), ("1/2", 3)], independent=False)).support(2)]
    assert [(d.extra["coin"][0], d.steps[0]) for d in others] == [(1, 1), (1, 3), (0, 1), (0, 3)]


def test_runs_with_a_coin_follow_the_operator():
    pytest.importorskip("torch")
    trace = ft.run(ProxSkip("1/20", p=HALF), PROBLEM, ft.Coin(HALF), rounds=12, replicates=600, x0=[3], noise="1/10")
    assert trace.audited
    assert trace.audit < 1e-12
    op = ft.derive(ProxSkip("1/20", p=HALF), PROBLEM, ft.Coin(HALF), noise="1/10")
    *_, (mean, second) = op.trajectory(13, [3])
    exact = second[0, 0] - 2 * mean[0] * float(BEST) + float(BEST) ** 2
    assert trace.interval(12).contains(exact)


def test_where_it_ends():
    for law in (ft.Full(), ft.Uniform(2), ft.Weighted(2, (7, 2, 1))):
        op = ft.derive(Scaffnew("1/20", 3), PROBLEM, law, domain=RATIONAL)
        assert op.fixed_point().x.tolist() == [BEST]
        assert op.mean_square_rate() < 1
    late = Scaffnew("1/100", 3, update="late")
    assert ft.derive(late, PROBLEM, ft.Full()).mean_square_rate() < 1
    assert ft.derive(late, PROBLEM, ft.Uniform(2)).rate() > 1.2


@pytest.mark.parametrize("make", [lambda: Scaffnew(LR, update="never"), lambda: ProxSkip(LR), lambda: ProxSkip(LR, p=2),
                                  lambda: ProxSkip(LR, p=0), lambda: ft.Coin(0), lambda: ft.Coin("3/2"),
                                  lambda: ft.derive(Scaffnew(LR, 2), PROBLEM, ft.WithReplacement(2))])
def test_refuses(make):
    with pytest.raises(BadInput):
        make()
