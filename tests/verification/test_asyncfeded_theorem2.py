"""Runs around Theorem 2 of AsyncFedED against plain loops, its numbers, and that its proofs need what they say."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from verification.asyncfeded import runs_theorem2 as runs
from verification.asyncfeded import runs_theorem2_long as long
from verification.asyncfeded import runs_theorem2_noise as noise
from verification.asyncfeded import runs_theorem2_uniform as uniform
from verification.asyncfeded.claims import rate12, theorem2, theorem2_one_step, theorem2_repaired
from verification.asyncfeded.formulas import rate12 as f12
from verification.asyncfeded.formulas import theorem2 as f
from verification.asyncfeded.instances import at_cap, log_between
from verification.asyncfeded.proofs import theorem2 as proofs
from verification.asyncfeded.proofs import theorem2_alternating, theorem2_noise, theorem2_stale


def loops(i):
    """x_1, .., x_{T+1} of stale updates on the line, in plain floats."""
    problem = i.problem.to(ft.FLOAT)

    def grad(client, y):
        return float(problem.at(np.array([client])).grad(np.array([[y]]))[0, 0])
    x, out = float(i.x0[0]), []
    base = [x] * i.n
    for client in i.order:
        out.append(x)
        y = base[client]
        for eta in i.schedule:
            y -= float(eta) * grad(client, y)
        x += float(i.eta_g) * (y - base[client])
        base[client] = x
    return [*out, x]


@pytest.mark.parametrize("name",
                         ["in turn, stale", "one of two clients, from the optimum", "concave", "L = 100", "L = 1/100"])
def test_runs_are_those_of_a_plain_loop(name):
    i, = (i for i in theorem2_repaired.on if i.name == name)
    (_, run), = runs.path(i)
    seen = [float(a.x[0]) for a in run] + [float(run[-1].after[0])]
    assert np.allclose(seen, loops(i), rtol=1e-10, atol=1e-12)


def test_numbers_of_the_counter_examples():
    pulls, g = theorem2.PULLS, Q(5, 10**6)
    assert round(float(f.resting(pulls, [1, 1])), 6) == -.283197
    floors = [float(sum(v.values())) for i in (theorem2.e2a, theorem2.e2c) for v in i.of(f.floor)]
    assert np.allclose(floors, [.0143294] * 2 + [.0010471] * 2, atol=5e-8)
    i = theorem2.e2c_alternating
    assert all(abs(float(sum(v.values())) - .0168826) < 5e-8 for v in i.of(f.bound, T=i.T, gap=i.gap))
    assert float(f.alternating_gamma(pulls, g)) < 5.001e-6
    assert [runs.noise_paths.heterogeneity(p) for p in (theorem2.CLIPPED, theorem2.TAILED)] == [Q(121, 4)] * 2


def test_the_smallest_counter_example_is_two_fractions():
    (_, run), = runs.path(theorem2.smallest)
    assert [a.x[0] for a in run] == [1, Q(1, 13)] and runs.average(theorem2.smallest) == Q(85, 169)
    assert theorem2.smallest.of(f.bound, T=2, gap=theorem2.smallest.gap)[0]["start"] == Q(1, 2)


def test_powers_of_the_coded_period_are_its_arrivals():
    i = theorem2.two_alternate("a short run", Q(1, 100), 40)
    (_, run), = runs.path(i.but(order=(0, 1) * 20))
    exact = sum(a.x[0] ** 2 for a in run) / 40
    assert abs(float(long.by_periods(i)) - float(exact)) < 1e-14
    x, radius = f.box(i.pulls, Q(1, 100))
    assert all(abs(a.after[0] - x) <= radius for a in run)


def test_without_noise_that_is_unbiased_given_the_past_the_repaired_bound_fails_three_times():
    i = theorem2_repaired.frozen
    gap = runs.value(i.problem, i.x0) - runs.ended(i)
    high = f.repaired(i.L, i.K, i.N, i.M, i.logs[1], i.share2**2, i.eta_g, i.T, gap, i.Gamma2, i.sl2, i.sg2)
    assert runs.bias2(i) == 1 and runs.average(i) > 2 * sum(high.values())
    r = f.rho(i.L, i.K, i.N, i.logs[1], i.share2**2)   # in the end x stays at -+sigma, where |grad F|^2 = sigma^2
    limit = (r / 24 + i.M / (i.K * i.N**2)) / (1 - r)
    assert 1 / limit > 3


def test_uniform_draws_are_those_of_the_derived_operator():
    i, = (i for i in theorem2_one_step.on_uniform if i.name == "two clients from the optimum")
    assert uniform.average_uniform(i) == i.op.mean_gradient_square(i.problem, i.T, i.x0)
    with pytest.raises(ft.BadInput, match="outcomes"):
        uniform.uniform(i, 20)


def test_an_enclosed_logarithm_that_does_not_decide_is_an_error():
    with pytest.raises(ArithmeticError):
        runs.decided(Q(3, 2), Q(1), Q(2))
    assert runs.decided(Q(1), Q(1), Q(2)).status == "HOLDS" and runs.decided(Q(3), Q(1), Q(2)).status == "FALSIFIED"


@pytest.mark.parametrize("proof",
                         [proofs.uniform, proofs.one_local_step, proofs.drift, proofs.steps, proofs.noise,
                          proofs.arrival,
                                   proofs.repaired, proofs.varying, proofs.not_the_whole_way, theorem2_stale.radius,
                                   theorem2_stale.nothing_stale, theorem2_stale.fresh,
                          theorem2_alternating.after_client2,
                                   theorem2_alternating.box])
def test_every_step_of_the_proofs_is_checked(proof):
    assert proof().status == "HOLDS"


def smaller(name, factor):
    right = f.repaired

    def wrong(*args, **more):
        found = right(*args, **more)
        return found | {name: found[name] * factor}
    return wrong


@pytest.mark.parametrize("name", ["start", "heterogeneity", "noise"])
def test_the_proof_of_the_repaired_bound_notices_smaller_constants(name, monkeypatch):
    monkeypatch.setattr(f, "repaired", smaller(name, Q(99, 100)))
    assert proofs.repaired().status != "HOLDS"


def test_the_proof_of_the_repaired_bound_needs_its_condition(monkeypatch):
    right = f.room
    monkeypatch.setattr(f, "room", lambda *args: right(*args) * Q(9, 10))
    assert proofs.arrival().status != "HOLDS"


def test_the_proof_at_one_local_step_is_not_one_of_a_bound_without_the_start(monkeypatch):
    right = f.bound
    monkeypatch.setattr(f, "bound",
                        lambda *args: {k: v * Q(1, 2) if k == "start" else v for k, v in right(*args).items()})
    assert proofs.uniform().status != "HOLDS" and proofs.one_local_step().status != "HOLDS"


def test_a_box_half_as_wide_is_not_proved(monkeypatch):
    monkeypatch.setattr(theorem2_alternating, "RADIUS", 2)
    assert theorem2_alternating.box().status != "HOLDS"


def test_quotients_of_the_quadratic():
    for K, said in ((2, 1.00701), (10, 1.07633), (100, 1.25789)):
        steps = at_cap(K)
        assert round(float(f.ratio(f.moved(steps), sum(steps))), 5) == said
    long_run = f.descent(f.moved(at_cap(10)), 1 / sum(at_cap(10)), 400) * 400
    assert abs(float(long_run) - 1.07633) < 5e-6


def test_how_large_a_server_step_the_quadratic_needs():
    """As T grows the quotient is S/(q (2 - eta_g q)), with eta_g = share/S."""
    for K, share in ((10, Q(868, 1000)), (100, Q(315, 1000))):
        steps = at_cap(K)
        q, S = f.moved(steps), sum(steps)
        assert [S / (q * (2 - v * q / S)) > 1 for v in (share, share + Q(1, 1000))] == [False, True]
    sums = [(f.moved(steps), sum(steps)) for steps in (at_cap(220), at_cap(221))]
    assert [2 * q < S for q, S in sums] == [False, True]


def test_the_noise_term_over_its_printed_order():
    values = [float(f12.quotient(K, v / K, 1)) for K in (10, 1000) for v in log_between(K + 1)]
    assert np.allclose(values, [5.889] * 2 + [5.57e4] * 2, rtol=1e-3)


def test_the_orders_of_arrivals():
    assert runs.order_of("turn", 3, 5) == (0, 1, 2, 0, 1) and runs.order_of("one", 3, 2) == (0, 0)
    assert runs.order_of("blocks", 2, 4) == (0, 0, 1, 1) and runs.order_of("speeds", 2, 5) == (0, 0, 1, 0, 0)


def test_theta_as_k_grows_by_one():
    assert rate12.earlier_theta(9, 10, 1, Q(1, 1000)) > Q(1, 10)


def kinked_runs(eta_g, T, count=4000, seed=0):
    """The mean of F'(x_t)^2 over the second half of T rounds of e2d's client, in floats by a plain loop."""
    rng, x, seen = np.random.default_rng(seed), np.full(count, -.13), []
    for t in range(T):
        if 2 * t >= T:
            seen.append((np.maximum(x, x / 10) ** 2).mean())
        y = x.copy()
        for eta in (.2, .125):
            y -= eta * (np.maximum(y, y / 10) + rng.choice([-1.0, 1.0], count))
        x = x + eta_g * (y - x)
    return np.mean(seen)


def test_noise_alone_keeps_the_client_with_a_kink_above_its_floor():
    floor = float((noise.PUSH / noise.PULL) ** 2)
    assert round(floor, 7) == 1.658e-4
    assert all(floor < kinked_runs(g, T) for g, T in ((.2, 2000), (.02, 4000)))


def test_the_drift_of_the_client_with_a_kink_is_bounded_between_its_kinks_too():
    i = theorem2.e2d
    for x in (Q(-40), Q(-1, 3), Q(-1, 7), Q(-1, 100), Q(1, 9), Q(1, 3), Q(50)):
        left, h = noise.rest(i, x)
        assert left >= 0 and h == f.kinked_mean(noise.STEPS, noise.FLAT, 1, x)


@pytest.mark.parametrize("proof", [theorem2_noise.below, theorem2_noise.at_least, theorem2_noise.at_most, theorem2_noise.arrival,
                                   theorem2_noise.moves, theorem2_noise.near, theorem2_noise.average])
def test_every_step_of_the_proofs_on_noise_is_checked(proof):
    assert proof().status == "HOLDS"


def test_the_proof_of_the_push_is_not_one_of_a_larger_push(monkeypatch):
    right = f.noise_push
    monkeypatch.setattr(f, "noise_push", lambda *args: right(*args) * Q(101, 100))
    assert theorem2_noise.below().status != "HOLDS"


def test_the_noise_of_a_round_enters_the_repaired_bound_by_the_room_it_is_given(monkeypatch):
    right = f.repaired_floor

    def smaller_room(L, K, N, M, log, c4, eta_g, Gamma2, sl2, sg2):
        return right(L, K, N, M * Q(99, 100), log, c4, eta_g, Gamma2, sl2, sg2)
    monkeypatch.setattr(f, "repaired_floor", smaller_room)
    assert proofs.arrival().status != "HOLDS"


def test_the_floor_of_uniform_draws_falls_with_the_square_of_the_local_steps():
    """e2c: the square of F' at the resting point, over sigma_g^2 = 121/4."""
    found = []
    for c in (1, Q(3, 10), Q(1, 10)):
        steps = at_cap(10, 1, c)
        x = f.resting([(f.moved(steps), 1), (f.moved(steps, Q(1, 10)), -10)], [1, 1])
        found.append(float((theorem2.CURVED * x) ** 2 / Q(121, 4)))
    assert np.allclose(found, [8.0e-4, 6.4e-5, 6.8e-6], rtol=.01)


def test_how_many_clients_in_turn_it_takes_at_one_local_step():
    i = theorem2.e2e
    assert round(float(sum(i.of(f.bound, T=i.T, gap=i.gap)[1].values())), 7) == .0101106
    assert round(float(runs.average(i)), 7) == .0117816
