"""The error term T2 of AsyncFedED: coded arrivals against plain loops, proofs that may not say more, constants for every K."""
import itertools
import math
import random
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from verification.asyncfeded import error_runs as runs
from verification.asyncfeded import updates as up
from verification.asyncfeded.claims import adaptive_noise, error_bounds, error_term
from verification.asyncfeded.formulas import adaptive
from verification.asyncfeded.formulas import error_term as f
from verification.asyncfeded.proofs import error_printed
from verification.asyncfeded.proofs import error_term as proofs

CAPS = [1 / math.sqrt(6 * k * (2 * k + 1)) for k in range(1, 20001)]


def loops(gradient, slope, eta, base, noise):
    """(E T2, E T21) on the line by recursion over the paths; slope = F'(x_t), noise = [(chance, value)] or a function of y."""
    K, N = len(eta), sum(eta) / len(eta)

    def go(k, y, sent, exact):
        if k == K:
            return (N * slope - sent / K) ** 2, (N * slope - exact / K) ** 2
        total = [0, 0]
        for p, v in noise(y) if callable(noise) else noise:
            g = gradient(y)
            for j, part in enumerate(go(k + 1, y - eta[k] * (g + v), sent + eta[k] * (g + v), exact + eta[k] * g)):
                total[j] += p * part
        return total
    return go(0, base, 0, 0)


@pytest.mark.parametrize("i", error_term.single[:4], ids=lambda i: i.name)
def test_the_coded_arrival_against_plain_loops(i):
    sign = -1 if "concave" in i.name else 1
    outcomes = i.noise_law.outcomes
    found = loops(lambda y: sign * y, sign * i.now[0], i.eta, i.base[0], outcomes)
    assert list(found) == [runs.error(i).ET, runs.error(i).ET1]


def test_concave_quotients_are_those_of_the_loops():
    for K in (1, 2, 3, 5):
        eta = CAPS[:K]
        T2, T21 = loops(lambda y: -y, 0, eta, 0, [(0.5, 1), (0.5, -1)])
        assert f.concave(eta, 1) == pytest.approx((T2 - T21) * K / sum(e * e for e in eta))
    shown = [round(f.concave(CAPS[:K], 1), 3) for K in (1, 2, 3, 4, 5, 10)]
    assert shown == [1, 0.599, 0.452, 0.372, 0.321, 0.204]


def test_the_bound_for_every_client_is_never_below_the_concave_value():
    for K in (1, 2, 3, 10, 100, 1000):
        concave, most = f.concave(CAPS[:K], 1), f.excess(CAPS[:K], 1, math.sqrt)
        assert concave <= most * (1 + 1e-12) <= f.share33d(K) * (1 + 1e-9)


def test_kinked_clients_and_noise_of_the_state_stay_below_it():
    """Floats over random slopes between kinks, skewed noise that changes with y, and random schedules."""
    dice, worst = random.Random(5), 0
    for _ in range(400):
        K = dice.randint(2, 5)
        eta = [e * dice.choice([1, 1, dice.random()]) for e in CAPS[:K]]
        knots = sorted(dice.uniform(-1, 1) for _ in range(3))
        slopes = [dice.choice([-1, 1, dice.uniform(-1, 1)]) for _ in range(4)]

        def gradient(y, knots=knots, slopes=slopes):
            return slopes[0] * y + sum((b - a) * max(y - t, 0) for a, b, t in zip(slopes, slopes[1:], knots, strict=False))

        kink, skews = dice.uniform(-1, 1), (dice.uniform(0.2, 5), dice.uniform(0.2, 5))

        def noise(y, kink=kink, skews=skews):
            q = skews[y > kink]
            return [(1 / (1 + q * q), q), (q * q / (1 + q * q), -1 / q)]
        T2, T21 = loops(gradient, dice.uniform(-2, 2), eta, dice.uniform(-1, 1), noise)
        quotient = (T2 - T21) * K / sum(e * e for e in eta)
        assert quotient <= f.excess(eta, 1, math.sqrt) * (1 + 1e-9)
        worst = max(worst, quotient)
    assert 0.5 < worst < 0.5994


@pytest.mark.parametrize("K", [2, 3, 4])
def test_two_point_noise_on_any_smooth_client_in_any_dimension_gives_no_more(K):
    """The largest covariance over Gram matrices of gradients and noise on the tree of 2^(K-1) paths: a semidefinite program."""
    cp = pytest.importorskip("cvxpy")
    eta, paths = CAPS[:K], [p for k in range(K) for p in itertools.product((1, -1), repeat=k)]
    names = [("g", p) for p in paths] + [("n", p) for p in paths if len(p) < K - 1]
    unit = dict(zip(names, np.eye(len(names)), strict=True))
    y, noise, wanted = {(): 0 * unit[names[0]]}, {(): 0 * unit[names[0]]}, 0
    for p in paths:
        g = unit["g", p]
        wanted = wanted + eta[len(p)] / 2 ** len(p) * (np.outer(g, noise[p]) + np.outer(noise[p], g)) / 2
        for s in (1, -1) if len(p) < K - 1 else ():
            y[*p, s] = y[p] - eta[len(p)] * (g + s * unit["n", p])
            noise[*p, s] = noise[p] + eta[len(p)] * s * unit["n", p]
    gram = cp.Variable((len(names),) * 2, PSD=True)
    small = [gram[k, k] <= 1 for k, name in enumerate(names) if name[0] == "n"]
    for p, q in itertools.combinations(paths, 2):
        change, apart = unit["g", p] - unit["g", q], y[p] - y[q]
        small.append(cp.trace((np.outer(change, change) - np.outer(apart, apart)) @ gram) <= 0)
    program = cp.Problem(cp.Maximize(cp.trace(wanted @ gram)), small)
    program.solve(solver=cp.CLARABEL)
    q = sum(e * e for e in eta)
    assert (q + 2 * program.value) / (K * q) == pytest.approx(f.concave(eta, 1), rel=1e-6)


@pytest.mark.parametrize("proof", [proofs.descent, proofs.spread, proofs.variance, proofs.covariance, proofs.split, proofs.noise,
                                   proofs.exact, proofs.corrected, proofs.restricted, proofs.rho, error_printed.length,
                                   error_printed.change, error_printed.squares, error_printed.printed], ids=lambda p: p.__name__)
def test_proofs_hold(proof):
    assert proof().status == "HOLDS"


def test_the_proof_about_noise_does_not_give_less(monkeypatch):
    monkeypatch.setattr(f, "share33d", lambda K: (6 * K + 5) / (12 * K))
    assert proofs.noise().status != "HOLDS"


def test_the_proof_for_small_L_needs_it(monkeypatch):
    right = f.printed35
    monkeypatch.setattr(f, "printed35", lambda N, M, L, *rest: right(N, M, L * L, *rest))
    assert proofs.restricted().status != "HOLDS"


def test_constants_for_every_K():
    found = error_bounds.every_K()
    assert {c.status for c in found} == {"HOLDS"}
    P, S, worst = 1, 0, {"gradients": 0, "noise": 0}
    for K, e in enumerate(CAPS, 1):
        P, S, log = P * (1 + e), S + e, math.log(K + 1)
        a, w = f.growth(P, S, 1 + CAPS[0], math.sqrt(3 / (K * log)))
        for name, (low, high) in zip(worst, f.room(K, log, a, w), strict=True):
            worst[name] = max(worst[name], low / high)
    assert 0.6 < worst["gradients"] < 0.75 and 0.8 < worst["noise"] < 0.9


def test_printed_bound_fails_only_outside_c1():
    for i in error_bounds.beyond_on:
        left, right = up.c1.sides(i)
        assert left > right
        printed, corrected, T2 = (runs.bound_of(i, f.printed35, up.updates(i)[0].log(high=True)), runs.bound_of(i, f.bound35),
                                  runs.error(i).ET)
        assert sum(printed.values()) < T2 <= sum(corrected.values())


@pytest.mark.parametrize("K", [1, 2, 3, 10, 30, 100, 1000, 10000])
def test_printed_bound_on_concave_quadratics_within_c1(K):
    """Floats: f = -x^2/2 in units of 1/L for L to infinity, any share of the caps, both directions, noise of any size."""
    worst = 0
    for share in (1, 0.5, 0.01):
        eta = [share * e for e in CAPS[:K]]
        after = 1
        own = []                      # what the noise of step j is multiplied by in Delta
        for e in reversed(eta):
            own.append(e * after)
            after *= 1 + e
        S, q, log = sum(eta), sum(e * e for e in eta), math.log(K + 1)
        most = 0.999 * math.sqrt(3 / (12 * K * q + K * log))
        for sigma in (0, 0.1, 1, 10):
            spread = sigma**2 * sum(v * v for v in own)
            for way in (-1, 0, 0.5, 1):
                D = way * most * math.sqrt((after - 1) ** 2 + spread)
                now = 1 + D
                T2 = ((-S * now + after - 1) ** 2 + spread) / K**2
                bound = log / (4 * K) * now**2 + 3 * (S / K) ** 2 * D**2 + (log / (96 * K) + q / K) * sigma**2
                worst = max(worst, T2 / bound)
    assert worst <= 0.886


def test_adaptive_step_without_bias_has_the_printed_chances():
    law = adaptive_noise.law_without_bias()
    assert sum(p for p, _ in law) == 1 and sum(p * v for p, v in law) == 0
    assert adaptive.mean(1, 1, Q(1, 20), [(p, -Q(1, 10) * v) for p, v in law]) == 0
    assert [round(float(p), 8) for p, _ in law] == [0.02, 0.44637363, 0.37391941, 0.15970696]


def test_both_outcomes_of_the_arrival_have_the_rules_step():
    i = adaptive_noise.bias[0]
    assert sorted((p, a.eta) for p, a in adaptive_noise.arrived(i)) == [(Q(1, 3), Q(4, 5)), (Q(2, 3), Q(2, 3))]


def test_rho_at_its_smallest():
    assert f.rho(1, 1, CAPS[0], math.log(2)) == pytest.approx(4.5 * math.log(2))
    found = [f.rho(K, 1, sum(CAPS[:K]) / K, math.log(K + 1)) for K in range(1, 300)]
    assert min(found) == found[0] and round(found[9], 2) == 10.45


def test_a_well_is_smooth_and_bounded_below():
    well = runs.well(100, 8)
    assert well.constants.L == 100 and well.least() is not None
    assert isinstance(well, ft.PiecewiseQuadratic)
