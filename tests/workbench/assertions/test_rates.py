"""Rates: decided exactly, by certificates, and from runs."""
from dataclasses import dataclass, replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import take
from fltheory.workbench.assertions.rates import _side
from tests.workbench.assertions.subjects import FEDAVG, FEDAVG_PLANE, FEDNOVA, LINE, PLANE, op


@dataclass(frozen=True)
class ScaffoldMean(ft.Scaffold):
    """A catalogued bug: c moves by the cohort's mean instead of all clients' weights. Converges all the same."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        share = shares(problem.at(draw.who), draw.present, "weighted")[..., None]
        return new._replace(c=s.c + (share * (take(new.ci, draw.who) - take(s.ci, draw.who))).sum(-2))


def test_the_bug_that_moves_only_the_rate_is_caught_by_the_rate():
    # c then moves by more than the clients' weights: no bias, another rate
    law = ft.Uniform(1)
    good, wrong = op(ft.Scaffold("1/10", 2), LINE, law), op(ScaffoldMean("1/10", 2), LINE, law)
    rate = good.rate()
    assert abs(wrong.rate() - rate) > 1e-4
    assert wrong.rate() < 1
    ft.assert_linear_rate(good, rate)
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(wrong, rate)
    ft.assert_linear_rate(good, at_most=rate + 1e-5)


def test_exact_rates_are_decided_on_their_bound():
    pytest.importorskip("flint")
    gradient = ft.Quadratic(H=[[["1/2", 0], [0, 1]]], c=[[1, 2]])  # one step of 1: factors 1/2 and 0
    for form in (op(ft.FedAvg(1, 1), gradient), op(ft.FedAvg(1, 1), gradient).exact()):
        assert ft.assert_linear_rate(form, "1/2").status == "HOLDS"
        assert "characteristic" in ft.assert_linear_rate(form, at_most="1/2").kind  # equality: exact arithmetic decides
        ft.assert_linear_rate(form, "1/4", kind="mean-square")
        ft.assert_linear_rate(form, at_most="1/4", kind="mean-square")
        with pytest.raises(AssertionError, match="proved to be above it"):
            ft.assert_linear_rate(form, at_most=Q(1, 2) - Q(1, 10**20))
        ft.assert_linear_rate(form, at_most=Q(1, 2) + Q(1, 10**20))
    with pytest.raises(AssertionError):
        ft.assert_linear_rate(op(ft.FedAvg(1, 1), gradient).exact(), Q(1, 2) + Q(1, 10**20))


def test_a_rate_of_zero_is_decided_exactly():
    pytest.importorskip("flint")
    # momentum that forgets everything in two rounds: the powers vanish, float eigenvalues are 1e-8
    nilpotent = op(ft.ServerMomentum(1, 1, beta=0), ft.Quadratic(H=[[[1]]], c=[[3]]), start="any")
    ft.assert_linear_rate(nilpotent, 0)
    ft.assert_linear_rate(nilpotent.exact(), 0)
    with pytest.raises(AssertionError):
        ft.assert_linear_rate(op(ft.ServerMomentum(1, 1, beta="1/9"), ft.Quadratic(H=[[[1]]], c=[[3]]), start="any"), 0)


def test_an_irrational_rate_lies_in_its_enclosure():
    pytest.importorskip("flint")
    exact = op(FEDAVG_PLANE, PLANE).exact()
    rate = exact.rate()
    evidence = ft.assert_linear_rate(exact, rate)
    assert evidence.kind == "exact (certified enclosure)"
    with pytest.raises(AssertionError):
        ft.assert_linear_rate(exact, rate + 1e-6)
    ft.assert_linear_rate(exact, rate + 1e-6, tolerance=1e-5)
    with pytest.raises(AssertionError, match=r"proved to be (above|below)"):
        ft.assert_linear_rate(exact, Q(rate))


def test_large_second_moments_are_decided_by_certificates():
    pytest.importorskip("flint")
    rows = [[3, 1, 0, 1], [1, 2, 1, 0], [0, 1, 4, 1], [1, 0, 1, 2]]
    wide = ft.Quadratic(H=[rows, np.diag([1, 2, 3, 4]).tolist(), rows], c=[[1, 0, 2, 1], [0, 1, 1, 0], [2, 2, 0, 1]])
    exact = op(ft.Scaffold("1/10", [1, 2, 3]), wide, ft.Uniform(2)).exact()
    assert exact.moments.unknowns > 120
    rate = exact.mean_square_rate()
    assert ft.assert_linear_rate(exact, at_most=rate * 1.01, kind="mean-square").kind == "exact (one-sided certificate)"
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(exact, at_most=rate * 0.97, kind="mean-square")
    ft.assert_linear_rate(exact, rate, kind="mean-square", tolerance=rate / 100)
    with pytest.raises(AssertionError, match="inconclusive"):  # no enclosure of nine digits
        ft.assert_linear_rate(exact, rate, kind="mean-square")


def test_the_side_of_a_spectral_radius():
    pytest.importorskip("flint")
    def matrix(*rows):
        return np.array([[Q(v) for v in row] for row in rows], dtype=object)
    turn = matrix((0, -1), (1, 0))  # eigenvalues i, -i: modulus 1, no eigenvalue 1
    assert _side(turn, Q(1)) is None
    assert (_side(turn, Q(2)), _side(turn, Q(1, 2))) == (-1, 1)
    assert _side(matrix((-1, 5), (0, "1/2")), Q(1)) == 0
    assert _side(matrix((1, 1), (0, 1)), Q(1)) == 0
    assert _side(matrix((0, 1), (0, 0)), Q(0)) == 0
    assert _side(matrix((2, 1), (1, 1)), Q(2)) == 1
    assert (_side(None, Q(0)), _side(None, Q(1))) == (0, -1)


def test_rates_of_runs():
    pytest.importorskip("torch")
    sure = ft.run(FEDNOVA, LINE, ft.Full(), rounds=40, replicates=2, x0=[5])
    rate = op(FEDNOVA).rate()
    wrong = ft.run(replace(FEDNOVA, lr="1/10"), LINE, ft.Full(), rounds=40, replicates=2, x0=[5])
    # the error of FedNova settles at its bias: only rounds well above it tell the rate
    ft.assert_linear_rate(sure, rate, window=(0, 6))
    ft.assert_linear_rate(sure, rate**2, kind="mean-square", window=(0, 6))
    ft.assert_linear_rate(sure, at_most=rate * 1.03, window=(0, 6))
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(wrong, rate, window=(0, 6))
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(sure, at_most=rate / 2, window=(0, 6))
    noisy = ft.run(ft.FedAvg("1/10", 1), LINE, ft.Uniform(1), rounds=30, replicates=2000, x0=[50], seed=4)
    true = op(ft.FedAvg("1/10", 1), LINE, ft.Uniform(1)).mean_square_rate()
    ft.assert_linear_rate(noisy, true, kind="mean-square", window=(0, 12))
    with pytest.raises(BadInput, match="mean square"):
        ft.assert_linear_rate(noisy, true)
    mirrored = ft.run(ft.FedAvg(1, 1), LINE, ft.Uniform(1), rounds=30, replicates=50, x0=["1/2"])  # x in {0, 1}
    with pytest.raises(BadInput, match="mean square"):
        ft.assert_linear_rate(mirrored, 1, window=(1, 20))
    with pytest.raises(AssertionError, match="inconclusive"):
        ft.assert_linear_rate(ft.run(ft.FedAvg("1/10", 1), LINE, ft.Uniform(1), rounds=30, x0=[50]), true,
                              kind="mean-square", window=(0, 12))
    with pytest.raises(AssertionError, match="only 0 rounds lie well above the floor"):
        ft.assert_linear_rate(ft.run(FEDAVG, LINE, ft.Full(), rounds=20, replicates=2), rate)
