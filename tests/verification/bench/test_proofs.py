"""Certificates beside bare numbers: both answers are compared before anything is timed; no time is asserted."""
import time
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from fltheory.core.optima import Optimum
from verification.engine import bench
from verification.engine.bench import proofs


@pytest.mark.slow
def test_every_kind_is_measured_and_says_what_beside():
    pytest.importorskip("cvxpy")
    rows = bench.certificates(1, [*proofs.minimisers(), *proofs.rates()[:1], *proofs.worst_cases(proofs.WORST[:1])])
    assert len({what for what, *_ in rows}) == len(rows) == 6
    assert all(baseline and bare > 0 and ratio > 0 for _, baseline, bare, ratio in rows)
    assert "checked" in rows[-1][0] and "proof" in rows[-2][0]


def test_minimisers_that_differ_are_noticed(monkeypatch):
    honest = proofs.optimum

    def off(problem):
        best = honest(problem)
        return Optimum(best.x + Fraction(1, 10**6), best.value, best.certificate)
    monkeypatch.setattr(proofs, "optimum", off)
    with pytest.raises(AssertionError, match="not what numpy"):
        bench.certificates(1, proofs.minimisers()[:1])


def test_a_rate_outside_its_enclosure_is_noticed():
    pair = proofs.rates()[0]
    wrong = pair._replace(bare=lambda op: (op.rate(), op.mean_square_rate() * 1.02))
    with pytest.raises(AssertionError, match="not what the same in floats says"):
        bench.certificates(1, [wrong])


@pytest.mark.parametrize("moved", [Fraction(-1, 10**5), pytest.param(Fraction(1, 100), marks=pytest.mark.slow)])
def test_a_bound_below_the_worst_case_or_far_above_is_noticed(moved):
    pytest.importorskip("cvxpy")
    pair = proofs.worst_cases(proofs.WORST[:1])[0]

    class Moved:
        def __init__(self, found):
            self.value, self.certificate = found.value, found.certificate.at(found.certificate.bound + moved)
    with pytest.raises(AssertionError, match="not what its value alone says"):
        bench.certificates(1, [pair._replace(certified=lambda case: Moved(pair.certified(case)))])


def test_a_kept_proof_that_does_not_hold_is_noticed():
    pytest.importorskip("cvxpy")
    pair = proofs.worst_cases(proofs.WORST[:1])[-1]
    kept = pair.make()
    object.__setattr__(kept, "certificate", kept.certificate.at(Fraction(kept.value) - Fraction(1, 1000)))
    with pytest.raises(AssertionError):
        bench.certificates(1, [pair])


def test_without_cvxpy_the_rows_that_need_none_are_left(monkeypatch):
    monkeypatch.setattr(proofs, "have", lambda library: False)
    assert [p.baseline for p in proofs.minimisers()] == ["numpy.linalg.solve"] * 2
    monkeypatch.setattr(proofs, "rates", lambda: [])
    monkeypatch.setattr(proofs, "minimisers", lambda: [])
    assert bench.certificates(1) == []
    monkeypatch.setattr(bench, "have", lambda library: False)
    monkeypatch.setattr(bench, "certificates", lambda: [("a minimiser", "floats", 0.001, 2.0)])
    text = bench.table(1, {"certificates": bench.SECTIONS["certificates"]})
    assert "2.00 x the time of floats" in text and "pip install cvxpy clarabel" in text and "2.0000 ms" in text


def test_each_run_is_given_a_new_problem():
    """So that no conversion or operator is kept from the run before."""
    for pair in (*proofs.minimisers()[::2], *proofs.rates()):
        assert pair.make() is not pair.make()
    H, b, problem = proofs.minimisers()[1].make()
    assert H.dtype == b.dtype == float and np.array_equal(problem.H.astype(float), H)


def test_the_ratio_is_that_of_the_certified_to_the_bare():
    def busy(seconds):
        def task(_):
            start = time.process_time()
            while time.process_time() - start < seconds:
                pass
        return task
    (row,) = bench.certificates(3, [proofs.Pair("a", "b", lambda: 0, busy(.002), busy(.02), lambda *_: True)])
    assert row[3] > 3


def test_worst_cases_that_differ_are_not_timed():
    pytest.importorskip("cvxpy")
    pair = proofs.worst_cases(proofs.WORST[:1])[0]

    def off(case):
        found = pair.certified(case)
        return SimpleNamespace(value=found.value + 1e-3, certificate=found.certificate)
    with pytest.raises(AssertionError):
        bench.certificates(1, [pair._replace(certified=off)])


@pytest.mark.parametrize("factors", [(1, .98), (1, 1.02), (.98, 1), (1.02, 1)])
def test_rates_outside_their_enclosures_are_not_timed(factors):
    with pytest.raises(AssertionError):
        bench.certificates(1, [proofs.rates()[0]._replace(
            bare=lambda op: (op.rate() * factors[0], op.mean_square_rate() * factors[1]))])
