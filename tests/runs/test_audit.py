"""What the audit of a run costs, what it leaves out and says so, and what it sees."""
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.arrays import is_torch
from fltheory.runs import audit
from tests.algorithms.instances import quadratic
from tests.runs.test_runs import ALGORITHMS, LAWS, Forgets, Single
from tests.runs.traces import LR


def wide(n, d):
    """Clients with diagonal Hessians of floats."""
    rng = np.random.default_rng(0)
    H = np.zeros((n, d, d))
    H[:, np.arange(d), np.arange(d)] = rng.uniform(1, 3, (n, d))
    return ft.Quadratic(H, rng.standard_normal((n, d)))


def peaks(monkeypatch):
    """Bytes that each replay had allocated at its worst, as numpy reports them."""
    found, replay = [], audit.replay

    def measured(*arguments):
        tracemalloc.start()
        try:
            return replay(*arguments)
        finally:
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    monkeypatch.setattr("fltheory.runs.batched.replay", measured)
    return found


@pytest.mark.parametrize(("n", "d", "steps", "law", "noise"), [
    (3, 2, 2, ft.Full(), 1), (10, 5, 10, ft.Full(), 1), (20, 10, 20, ft.Full(), 1), (30, 10, 59, ft.Uniform(10), 1),
    (60, 6, 3, ft.Full(), None), (60, 6, 3, ft.Full(), 1), (200, 40, 5, ft.Uniform(100), 1), (1, 300, 4, ft.Full(), "1/2"),
    (400, 10, 2, ft.Bernoulli("1/2"), 1),
], ids=str)
@pytest.mark.parametrize("algorithm", [ft.FedAvg, ft.Scaffold], ids=lambda a: a.__name__)
def test_a_replay_stays_within_its_budget(algorithm, n, d, steps, law, noise, monkeypatch):
    found = peaks(monkeypatch)
    t = ft.run(algorithm("1/50", steps), wide(n, d), law, 3, 2, noise=noise)
    assert t.audited >= 2 and t.audit <= 1e-12
    assert 0 < max(found) <= audit.AUDIT_BYTES


@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize(("algorithm", "n", "d", "size"), [
    (ft.FedAvg, 60, 300, 300), (ft.Scaffold, 30, 60, 1920), (ft.Scaffold, 300, 20, 6040)], ids=str)
def test_the_estimate_of_a_replay_is_an_upper_bound_and_no_wild_one(algorithm, n, d, size, steps, monkeypatch):
    guess = audit.split_bytes(size, n, d)
    found = peaks(monkeypatch)
    ft.run(algorithm("1/50", steps), wide(n, d), ft.Full(), 1, 1, noise=1)
    samples = 8 * steps * n * d
    assert guess / 6 - 200_000 <= max(found) <= guess + samples + 200_000   # small objects of Python


def test_a_replay_in_three_parts_holds_less_and_says_the_same(monkeypatch):
    problem = wide(300, 20)

    def go():
        found = peaks(monkeypatch)
        return ft.run(ft.Scaffold("1/50", 3), problem, ft.Uniform(100), 5, 3, noise=1), max(found)
    whole, most = go()
    monkeypatch.setattr(audit, "AUDIT_BYTES", audit.data_bytes(problem, 100, np.zeros(100)) + audit.split_bytes(6040, 100, 20, 1))
    parts, less = go()
    assert parts.audited == whole.audited >= 4 and parts.audit <= 1e-13 and less < most


def test_large_runs_are_audited_as_small_ones_are():
    """1,000 clients, 100 dimensions, samples of 100 clients: the whole map would have 50,000 columns of noise."""
    t = ft.run(ft.FedAvg("1/20", 5), wide(300, 100), ft.Uniform(100), 4, 3, noise="1/10")
    assert t.audited >= 3 and t.audit <= 1e-12


def test_what_is_beyond_the_budget_is_counted_as_not_audited(monkeypatch):
    monkeypatch.setattr(audit, "AUDIT_BYTES", 1000)
    t = ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Full(), 12, 3, noise=1)
    assert t.audit is None and t.audited == 0


@pytest.mark.parametrize("noise", [None, 1])
@pytest.mark.parametrize("law", ["uniform", "skip", "markov", "cyclic", "full"])
@pytest.mark.parametrize("name", ["FedAvg", "momentum", "decay", "FedNova", "Scaffold", "Focus", "warm Focus"])
def test_superposition_agrees_with_every_round(name, law, noise):
    t = ft.run(ALGORITHMS[name], quadratic()[0], LAWS[law], 12, 7, seed=2, noise=noise, x0=[3, -2])
    assert t.audited >= 8 and t.audit <= 1e-12


@dataclass(frozen=True)
class Bent(ft.FedAvg):
    """Says that it is affine and is not, in torch and numpy alike."""

    def server(self, x, cohort, draw, change, mass):
        return super().server(x, cohort, draw, change, mass) + x * x / 100


def test_superposition_sees_single_precision_other_rounds_and_bent_ones():
    def deviation(algorithm, noise=None):
        return ft.run(algorithm, quadratic()[0], ft.Uniform(2), 20, 5, x0=[3, -2], noise=noise).audit
    assert 1e-10 < deviation(Single(LR, 2)) < 1e-6
    assert deviation(Forgets(LR, 2)) > 1e-3 and deviation(Forgets(LR, 2), 1) > 1e-3
    assert deviation(Bent(LR, 2)) > 1e-4 and deviation(ft.FedAvg(LR, 2)) <= 1e-12


@dataclass(frozen=True)
class Idle(ft.FedAvg):
    """Makes fewer local steps in torch than in numpy."""

    def round(self, problem, s, draw):
        return super().round(problem, s, draw._replace(steps=draw.steps - 1) if is_torch(s.x) else draw)


def test_rounds_that_ask_for_other_samples_deviate():
    assert ft.run(Idle(LR, 3), quadratic()[0], ft.Full(), 6, 2, noise=1).audit == np.inf


def test_the_audit_can_be_left_out(monkeypatch):
    monkeypatch.setattr("fltheory.runs.batched.replay", lambda *a: pytest.fail("a round was made again"))
    t = ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Uniform(2), 6, 5, audit=False)
    assert t.audit is None and t.audited == 0
    with pytest.raises(ft.BadInput, match="audit"):
        ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Uniform(2), 6, 5, audit=3)


class Torchy(ft.Scaffold):
    """Knows torch alone, or numpy alone at the start: what cannot be made again in numpy is not audited, and says so."""

    where = "round"

    def init(self, problem, x0, draw=None):
        assert self.where != "init" or is_torch(x0)
        return super().init(problem, x0, draw)

    def round(self, problem, s, draw):
        assert self.where != "round" or is_torch(s.x)
        return super().round(problem, s, draw)


@pytest.mark.parametrize("where", ["init", "round"])
def test_rounds_that_know_torch_alone_are_not_audited(where, monkeypatch):
    monkeypatch.setattr(Torchy, "where", where)
    made = ft.run(Torchy(LR, 2), quadratic()[0], ft.Uniform(2), 6, 5, noise=1)
    assert made.audit is None and made.audited == 0
    same = ft.run(ft.Scaffold(LR, 2), quadratic()[0], ft.Uniform(2), 6, 5, noise=1)
    assert same.audited > 1 and np.allclose(made.final, same.final, rtol=1e-12)


def test_our_own_rounds_fail_where_their_audit_does(monkeypatch):
    def broken(*given):
        raise ValueError("of the audit")
    monkeypatch.setattr(audit, "_replay", broken)
    with pytest.raises(ValueError, match="of the audit"):
        ft.run(ft.Scaffold(LR, 2), quadratic()[0], ft.Uniform(2), 6, 5, noise=1)
