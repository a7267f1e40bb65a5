"""Corollary 1 of AsyncFedED: exact arrivals beside the heap loop, the law of kept updates, proofs that need their constants."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from tests.naive import asyncfeded as naive
from tests.naive.vectors import QuadraticClients
from verification.asyncfeded import arrivals_run as runs
from verification.asyncfeded import bugs
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded import updates as up
from verification.asyncfeded.claims.corollary1 import HILL, stale, table4
from verification.asyncfeded.formulas import corollary1 as f
from verification.asyncfeded.proofs import condition, corollary1

LINE = ([[[1]], [["1/2"]], [["3/4"]]], [[1], [-1], [2]])
PLANE = ([[[1, "1/4"], ["1/4", 1]], [[1, 0], [0, "1/2"]]], [[1, 0], [-2, 3]])


def both(H, b, **numbers):
    """(problem, the twin's clients) with gradients H y - b."""
    H, b = (np.array([[[float(Q(v)) for v in row] for row in h] for h in H]), np.array(b, dtype=float))
    return ft.Quadratic.from_linear(H, b), QuadraticClients(H.tolist(), b.tolist(), [1 / len(b)] * len(b))


@pytest.mark.parametrize(("data", "digits", "kappa"), [(LINE, None, 0), (LINE, 18, "1/2"), (PLANE, 18, 1), (PLANE, 18, 0)])
def test_a_record_is_the_heap_loop(data, digits, kappa):
    problem, clients = both(*data)
    pace, x0, rounds = (1, 2, 2)[:problem.n], [3] * problem.d, 9 if digits is None else 60
    method = ft.AsyncFedED("1/10", 3, lam=1, eps="1/2", gbar=2, kappa=kappa)
    found = runs.record(method, problem, ft.EventClock(pace), x0, rounds, digits)
    said = naive.events(clients, x0, 0.1, 1.0, 0.5, 2.0, float(Q(kappa)), 3, pace, rounds)
    for a, b in zip(found, said, strict=True):
        assert (a.client, a.K, a.lag) == (b["client"], b["K"], b["lag"])
        assert float(a.gamma) == pytest.approx(b["gamma"], rel=1e-9, abs=1e-9)
        assert [float(v) for v in a.after] == pytest.approx(list(b["x"]), rel=1e-9)
        assert a.eta == pytest.approx(1 / (float(a.gamma) + 0.5), rel=1e-9)
        assert a.gamma2 * runs.square(a.delta) == runs.square(a.x - a.base)


class Same(ft.AsyncFedED):
    """Not the class itself, so that it runs in numbers with roots, as wrong methods do."""


def test_numbers_with_roots_are_the_rationals():
    problem, _ = both(*PLANE)
    options = {"lam": 1, "eps": 1, "kappa": 1}
    right = ft.AsyncFedED("1/10", 2, **options)
    made, same, wrong = (runs.record(a, problem, ft.EventClock((1, 2)), [3, 1], 12, 20)
                         for a in (right, Same("1/10", 2, **options), bugs.gamma_squared(right)))
    for u, v in zip(made, same, strict=True):
        assert (u.after == v.after).all() and (u.client, u.K, u.lag, u.gamma2, u.eta) == (v.client, v.K, v.lag, v.gamma2, v.eta)
    assert (wrong[-1].after != made[-1].after).any()


def test_an_update_of_zero():
    """A client at its own minimum: gamma = 0 while the server stands there, none once it has moved."""
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [4]])
    found = runs.record(ft.AsyncFedED("1/10", 1), problem, ft.EventClock((1, 1)), [0], 4)
    assert [a.client for a in found] == [0, 1, 0, 1]
    assert found[0].gamma2 == 0 and found[0].eta is None
    late = runs.record(ft.AsyncFedED("1/10", 1), problem, ft.EventClock((2, 1)), [0], 3)
    assert late[1].client == 0 and late[1].gamma2 is None and runs.largest_gamma2(late) is None


def test_stale_steps_in_a_given_order():
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [4]])
    found = runs.record_stale(ft.StaleSteps("1/2", 1, server_lr="1/2"), problem, [0, 0, 1], [2])
    assert [a.lag for a in found] == [0, 0, 2]
    assert [a.after[0] for a in found] == [Q(3, 2), Q(9, 8), Q(13, 8)]
    assert found[-1].base[0] == 2 and found[-1].delta[0] == 1 and found[-1].gamma2 == Q(7, 8)**2


def test_noise_reaches_the_client_that_arrives():
    problem = ft.Quadratic([[[0]], [[0]]], [[0], [0]])
    found = runs.record(ft.AsyncFedED(1, 2), problem, ft.EventClock((1, 2)), [0], 3,
                        noise=lambda t, k: [[Q(10 * t + k)], [Q(-(10 * t + k))]])
    assert [(a.client, a.delta[0]) for a in found] == [(0, -21), (0, -41), (1, 61)]


def test_the_law_of_kept_updates():
    """K = 2, f = 0, noise +-1: |Delta| = eta_1 + eta_2 or eta_1 - eta_2; the longer ones are kept, with one noise in both steps."""
    flat = ft.PiecewiseQuadratic([[0, 0]], [[0]], [0])
    i = stale("kept", flat, 2, 0, Q(1, 10), paths.skewed(1), Gamma=Q(1, 2), discarding=True)
    one = up.updates(i)[0]
    assert sorted(one.chance) == [Q(1, 2)] * 2
    assert set(one.squares) == {sum(i.eta) ** 2}
    assert [b[0] for b in one.paths.bias[0]] == [0, 0] and {abs(b[0]) for b in one.paths.bias[1]} == {1}
    every = up.updates(i.but(discarding=False))[0]
    assert every.delta2 == sum(e * e for e in i.eta)
    assert [up.unbiased.check(j).holds for j in (i, i.but(discarding=False))] == [False, True]


def test_the_tasks_are_out_of_reach():
    assert all(not up.c1.check(i).holds and up.steps.check(i).holds for i in table4)


def test_a_hill_has_minima():
    assert HILL.least()[0] in (-20, 20) and HILL.constants.L == 1


def test_coefficients_by_hand():
    """K = 2, L = 3, M = 1/1000, log = 1."""
    got = f.coefficients(2, Q(3), Q(1, 1000), Q(1))
    assert got == {"current": Q(1, 27) * (Q(432, 1000) + 2), "noise": Q(1, 648) * (Q(2592, 1000) + 2),
                   "apart": Q(1, 54) * (Q(864, 1000) + 2)}


@pytest.mark.parametrize(("name", "proof"), [
    ("lemma3", corollary1.lemma3), ("update_split", corollary1.update_split), ("weighted_drift", corollary1.weighted_drift),
    ("coefficients", corollary1.corollary1), ("largest_gamma2", condition.positive),
    ("quadratic", condition.quadratic), ("ordered", condition.order)])
def test_a_proof_needs_its_constants(name, proof, monkeypatch):
    """With each part of a bound a hundredth smaller the proof no longer goes through."""
    assert proof().status == "HOLDS"
    right = getattr(f, name)

    def smaller(part):
        def made(*args):
            found = right(*args)
            if not isinstance(found, dict):
                return found * Q(99, 100)
            return {k: v * (1 - Q(1, 100) * (k == part)) for k, v in found.items()}
        return made
    parts = right(*[Q(1)] * right.__code__.co_argcount)
    for part in parts if isinstance(parts, dict) else [None]:
        monkeypatch.setattr(f, name, smaller(part))
        try:
            held = proof().status == "HOLDS"
        except ft.FLTheoryError:
            held = False
        assert not held, part
