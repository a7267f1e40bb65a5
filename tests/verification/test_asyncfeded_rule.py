"""The K rule, far field and orbits of AsyncFedED: the closed form against coded rounds and the twin, certificates, numbers."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from tests.naive import asyncfeded as naive
from tests.naive.vectors import QuadraticClients
from verification.asyncfeded import gmis, round_robin
from verification.asyncfeded.claims import mean_limit
from verification.asyncfeded.claims import target_staleness as target
from verification.asyncfeded.formulas import cycle, far_field, k_rule
from verification.asyncfeded.formulas import mean_limit as limit
from verification.asyncfeded.line_runs import balls, closed, coded, floats, linear, quadratics

CASES = [   # h, b, eta, paces, K0, x0, (lam, eps, gbar, kappa), strict, clamp
    ((1, "1/2"), (1, -2), "1/10", (1, 1), (3, 5), 4, (1, 1, 3, 1), False, True),
    ((1, "1/2", "1/4"), (1, -2, 3), "1/10", (2, 3, 4), (4, 1, 2), -1, (5, 5, 2, 2), True, True),
    ((1, "1/5", 1, 1), (0, 3, -1, 2), "1/20", (1, 1, 2, 6), (6, 6, 6, 6), 9, ("1/2", 1, 1, "1/2"), False, False),
    ((1,), (2,), "1/3", (5,), (2,), 0, (3, 1, 3, "1/4"), True, False)]


def setting(case):
    h, b, eta, paces, K, x0, (lam, eps, gbar, kappa), strict, clamp = case
    algorithm = ft.AsyncFedED(eta, lam=lam, eps=eps, gbar=gbar, kappa=kappa, rounding="strict" if strict else "down", clamp=clamp)
    return algorithm, ft.Quadratic([[[v]] for v in h], [[v] for v in b]), ft.EventClock(paces, steps=K), [x0]


@pytest.mark.parametrize("case", CASES, ids=["two", "strict", "unclamped", "one"])
@pytest.mark.parametrize(("domain", "number", "count"), [(ft.FLOAT, floats, 60), (ft.RATIONAL, ft.fraction, 6)],
                         ids=["floats", "exact"])
def test_the_closed_form_is_the_coded_round(case, domain, number, count):
    h, b, eta, paces, K, x0, (lam, eps, gbar, kappa), strict, clamp = case
    twin = list(closed(quadratics(h, b, eta, paces, number), x0, K, count, lam, eps, gbar, kappa, strict, clamp))
    run = list(coded(*setting(case), len(twin), domain))
    assert [(s.client, s.K, s.next) for s in run] == [(s.client, s.K, s.next) for s in twin]
    for a, c in zip(run, twin, strict=True):
        exact = domain is ft.RATIONAL
        assert (a.gamma == c.gamma and a.after[0] == c.after) if exact else (
            abs(a.after[0] - c.after) < 1e-9 and abs(a.gamma - c.gamma) <= 1e-6 * max(1, c.gamma))


def test_the_closed_form_is_the_naive_twin():
    h, b, eta, paces, K, x0, (lam, eps, gbar, kappa), *_ = CASES[0]
    K = 4
    mine = closed(quadratics(h, b, eta, paces), x0, K, 80, lam, eps, gbar, kappa)
    clients = QuadraticClients([[[floats(v)]] for v in h], [[floats(u) * v] for u, v in zip(h, b, strict=True)], [0.5, 0.5])
    for s, e in zip(mine, naive.events(clients, [x0], floats(eta), lam, eps, gbar, kappa, K, paces, 80), strict=True):
        assert (s.client, s.K) == (e["client"], e["K"]) and abs(s.after - e["x"][0]) < 1e-9


def test_zero_updates_and_clients_that_go():
    never = closed(linear([1, 0], 1, (1, 1)), 0, 2, 4, 1, 1, 3, 1)   # client 1 has no gradient
    assert [(s.client, s.gamma, s.next) for s in never][1] == (1, None, 1)
    still = next(closed(linear([0], 1, (1,)), 0, 2, 1, 1, 1, 3, 1))
    assert (still.gamma, still.next, still.after) == (0, 5, 0)
    assert len(list(closed(linear([1] * 2, 1, (1, 1)), 0, 1, 50, 9, 1, "1/10", 9, clamp=False))) < 50   # nobody is left


def test_balls_do_not_guess_an_integer():
    with pytest.raises(ft.CertificateFailed, match="more bits"):
        list(closed(quadratics([1, "3/5", "3/10"], [-1, -1, 2], "1/50", (1, 1, 1), balls(300)), 3, 10, 3000, 5, 5, 3, 1))


# ---- numbers ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "strict", "arrivals", "last", "gamma"), [
    ("Synthetic", False, 35, -5, 4.6589), ("Synthetic", True, 35, 0, 4.6589), ("Shakespeare", False, 104, 0, 3.3666),
    ("Shakespeare", True, 91, 0, 3.3666), ("FEMNIST", False, None, 9, 2.5414), ("FEMNIST", True, None, 9, 2.5414)])
def test_ten_linear_clients_without_a_clamp(name, strict, arrivals, last, gamma):
    lam, eps, gbar, kappa = k_rule.TABLE4[name]
    run = list(closed(linear([1] * 10, 1, (1,) * 10), 0, 10, 3000, lam, eps, gbar, kappa, strict, clamp=False))
    first = next((t for t, s in enumerate(run, 1) if s.next < 1), None)
    assert first == arrivals and (run[-1].next if first is None else run[first - 1].next) == last
    assert round(far_field.gamma_star(10, lam, eps, lambda v: float(v) ** 0.5), 4) == gamma


@pytest.mark.parametrize(("name", "told"), [("Synthetic", (1.91, 1.39)), ("FEMNIST", (20.2, 21.2)), ("Shakespeare", (0.75, 0.91))])
def test_factors_of_a_period_of_ten_clients(name, told):
    lam, eps, *_ = (float(v) for v in k_rule.TABLE4[name])
    gamma = cycle.gamma_cycle(lam, eps, lambda v: v**0.5)
    for q, v in zip((0.1, 0.01), told, strict=True):
        assert abs(max(abs(np.roots(cycle.polynomial(10, gamma, eps, q)[::-1]))) ** 10 - v) < 0.06
    assert (cycle.tips_over(10, gamma, eps) > 0) == (name != "Shakespeare")


def test_three_quadratics_in_floats():
    K = []
    for t, s in enumerate(closed(quadratics([1, "3/5", "3/10"], [-1, -1, 2], "1/50", (1, 1, 1)), 3, 10, 10000, 5, 5, 3, 1), 1):
        last = s.next if s.client == 2 else (K[-1] if K else 10)
        K.append(last)
        assert t == len(K)
    assert [K[t - 1] for t in (300, 1000, 3000, 10000)] == pytest.approx([98, 156, 284, 574], abs=3)


# ---- certificates -----------------------------------------------------------------------------------------------------
def state(h, b, eta, K, lam, eps, x0, count, bits=1500):
    run = list(closed(quadratics(h, b, eta, (1,) * len(h), balls(bits)), x0, K, count, lam, eps, 3, 0))
    q = [1 - (1 - balls(bits)(eta) * balls(bits)(v)) ** K for v in h]
    return round_robin.Robin.of(q, b, lam, eps, bits), *round_robin.last_models(run, len(h))


def test_boxes_hold_the_run_that_follows():
    robin, first, models = state([1, "1/4"], [1, -2], "1/10", 5, 1, 1, 0, 200)
    boxes = round_robin.trapped(robin, first, models, "1/1000000000")
    later = list(closed(quadratics([1, "1/4"], [1, -2], "1/10", (1, 1)), 0, 5, 900, 1, 1, 3, 0))[200:]
    for t, s in enumerate(later):
        client, x, gamma = boxes[t % len(boxes)]
        assert s.client == client and abs(s.after - float(x.mid())) < 1e-8 and abs(s.gamma - float(gamma.mid())) < 1e-6


def test_no_box_around_an_unstable_orbit():
    gamma = balls(200)(1)   # lambda = 2, eps = 1; eight clients: 7 gamma/(gamma + eps) > 1
    b = [(-1) ** j * (j + 1) for j in range(8)]
    robin = round_robin.Robin.of([Q(1, 10)] * 8, b, 2, 1)
    models = cycle.positions(gamma, [balls(200)("1/10")] * 8, [balls(200)(v) for v in b])
    with pytest.raises(ft.CertificateFailed):
        round_robin.trapped(robin, 0, models, "1/1000000000")


def test_no_box_where_the_run_has_not_arrived_or_is_not_known():
    for count, radius in ((6, "1/1000000000"), (200, Q(1, 10**500))):
        with pytest.raises(ft.CertificateFailed):
            round_robin.trapped(*state([1, "1/4"], [1, -2], "1/10", 5, 1, 1, 0, count), radius)
    run = [s for s in closed(quadratics([1, 1], [0, 1], "1/10", (1, 3)), 5, 2, 40, 1, 1, 3, 0) if s.client == 0]
    with pytest.raises(ft.CertificateFailed, match="in turn"):
        round_robin.last_models(run, 2)


def test_derivatives_of_an_arrival():
    robin, step = round_robin.Robin.of(["1/2", "1/3"], [1, -1], 3, 1), balls(200)("1e-20")
    y, x = balls(200)("1/5"), balls(200)("-1/7")
    dy, dx = robin.slopes(0, y, x)
    base = robin.arrive(0, y, x)
    assert abs((robin.arrive(0, y + step, x) - base) / step - dy) < balls(200)("1e-15")
    assert abs((robin.arrive(0, y, x + step) - base) / step - dx) < balls(200)("1e-15")


def test_clients_in_turn_are_seen_to_settle_only_when_they_have():
    i = target.FIVE
    low, high = target.stays_in_turn(i, i.enclosed(400))
    assert low < Q("2.6235") < high
    for count in (40, 403):
        if count == 40:
            with pytest.raises(ft.CertificateFailed):
                target.stays_in_turn(i, i.enclosed(count))
        else:
            target.stays_in_turn(i, i.enclosed(count))


def test_margins_of_an_interval_of_steps():
    m, lam, eps = 10, Q(5), Q(5)
    assert min(far_field.stays(Q(51, 100), Q(53, 100), m, lam, eps)) > 0 > min(far_field.stays(Q(52, 100), Q(53, 100), m, lam, eps))
    e = Q(1)   # of N = 1, lambda = 2, eps = 1
    assert far_field.next_gap(1, Q(1), e, Q(1)) == Q(1, 5) and far_field.next_gap(1, Q(1), e, Q(0)) == 0


# ---- targets and means ------------------------------------------------------------------------------------------------
def test_what_a_smaller_target_does():
    pair = target.PAIR
    (low, high), change = target.late_pair(pair, Q(3, 2))
    gamma = (120**0.5 - 10) / 2
    assert low < Q(gamma) + Q(1, 10**9) and Q(gamma) - Q(1, 10**9) < high and high - low < Q(1, 10**6) and change == 1
    K, least = target.after(target.HUBER, Q(13, 4), 400)
    assert set(K) == {24} and -50 < least < -48


def test_a_loss_that_is_straight_where_the_run_is():
    problem = target.huber()
    assert [problem.to(ft.RATIONAL).gradient(ft.RATIONAL.array([v]))[0] for v in (0, -99, -100, -101, -500)] == [1, 1, 0, -1, -1]
    coded_run = list(coded(target.HUBER.algorithm, problem, target.HUBER.law, [0], 12, ft.RATIONAL))
    twin = closed(linear([1] * 5, target.STEP, (1,) * 5, ft.fraction), 0, 20, 12, 5, 5, "13/4", 1)
    assert [(s.client, s.K, s.after[0]) for s in coded_run] == [(s.client, s.K, s.after) for s in twin]


def test_means_over_all_draws_by_hand():
    steps = [Q(1, 2), Q(1, 3)]
    i = mean_limit.drawn_anew("pair", (Q(1), Q(1, 2)), (Q(2), Q(-4)), steps, Q(1, 2), Q(1), loud=Q(6))
    q = [1 - Q(1, 2) * Q(2, 3), 1 - Q(3, 4) * Q(5, 6)]   # 2/3 and 3/8
    assert limit.shares((1, Q(1, 2)), steps) == q
    x = [Q(1)]
    for _ in range(2):   # E of x + (q_i (b_i - x))/2
        x.append(x[-1] + sum(v * (b - x[-1]) for v, b in zip(q, (2, -4), strict=True)) / 4)
    assert mean_limit.means(i, 2) == x == [limit.mean(q, (2, -4), Q(1, 2), Q(1), t) for t in (1, 2, 3)]


# ---- the store --------------------------------------------------------------------------------------------------------
def test_a_store_that_drops_a_model_in_use_is_noticed():
    server = gmis.Server(Q(0), 1, 1, 3, 0, prune=True)
    server.send(0), server.send(1)
    server.receive(0, Q(1), 1, 3)
    assert set(server.store) == {1, 2}
    server.receive(0, Q(1), 2, 3)
    assert set(server.store) == {1, 3}   # client 1 still holds the first model
    with pytest.raises(KeyError):
        server.receive(0, Q(1), 2, 3)
