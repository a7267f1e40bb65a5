"""Lower bounds: against all periodic schedules of the definition, the derived operator of the replay, and a run."""

import itertools
import math
import sys
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import CertificateFailed, MissingLibrary
from fltheory.schedules import walks
from fltheory.schedules.rounds import round_maps
from fltheory.schedules.walks import root, search, worst_walk

LINE = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
CASES = [(ft.Focus("1/20", 2), ft.Sliding(3)), (ft.Scaffold("1/10", 3), ft.Sliding(3)), (ft.Mifa("1/10", 2), ft.Blocks(2)),
         (ft.Scaffold("1/10", 2), ft.Sliding(3, "never")), (ft.Focus("1/10", 1), ft.Blocks(3, "skip"))]
NAMES = [f"{type(a).__name__}, {w}" for a, w in CASES]


def rounds_of(algorithm, windows, problem=LINE):
    return round_maps(algorithm, problem, windows, windows.automaton(problem.n))


def periodic(windows, length, n=3):
    """Periodic schedules by the definition: the repeated word breaks no window (from a start of its own for blocks)."""
    D = windows.length
    if isinstance(windows, ft.Blocks) and length % D:
        return
    subsets = [s for k in range(int(windows.empty == "never"), n + 1) for s in itertools.combinations(range(n), k)]
    starts = range(length) if isinstance(windows, ft.Sliding) else range(0, length, D)
    for word in itertools.product(subsets, repeat=length):
        if all(len(set().union(*(word[(t + k) % length] for k in range(D)))) == n for t in starts):
            yield word


@pytest.mark.parametrize(("algorithm", "windows"), CASES, ids=NAMES)
def test_the_search_finds_the_slowest_of_all_periodic_schedules(algorithm, windows):
    rounds = rounds_of(algorithm, windows)
    index = {s: k for k, s in enumerate(rounds.automaton.sets)}
    slowest = 0.0
    for length in range(1, 5):
        words = [[index[s] for s in w] for w in periodic(windows, length)]
        if words:
            products = np.eye(rounds.size)
            for k in range(length):
                products = rounds.floats[[w[k] for w in words]] @ products
            slowest = max(slowest, np.abs(np.linalg.eigvals(products)).max() ** (1 / length))
    found, rate = search(rounds.automaton, rounds.floats, 4)
    assert rate == pytest.approx(slowest, rel=1e-9)
    assert rounds.automaton.closes([rounds.automaton.sets[s] for s in found])


@pytest.mark.parametrize(("algorithm", "windows"), CASES, ids=NAMES)
def test_the_replayed_walk_has_the_certified_rate(algorithm, windows):
    pytest.importorskip("flint")
    walk = worst_walk(rounds_of(algorithm, windows), 8)
    assert walk.high - walk.low < Q(1, 10**11)
    empty = "skip" if windows.empty == "skip" else "move"
    op = ft.derive(algorithm, LINE, ft.Replay(walk.schedule, empty=empty), domain=ft.RATIONAL)
    low, high = op.certify(width=1e-2).mean if op.reachable * walk.length <= 30 else (op.rate() - 1e-9, op.rate() + 1e-9)
    assert low <= walk.high and walk.low <= high
    assert windows.automaton(3).closes(walk.sets)
    assert not type(windows)(1, windows.empty).automaton(3).closes(walk.sets)  # not everybody always


def test_a_run_on_the_replayed_walk_decays_at_that_rate():
    pytest.importorskip("torch")
    walk = worst_walk(rounds_of(*CASES[0]), 8)
    error = ft.run(CASES[0][0], LINE, ft.Replay(walk.schedule), rounds=walk.length * 8, x0=[3]).mean("error")
    assert (error[5 * walk.length] / error[4 * walk.length]) ** (1 / (2 * walk.length)) == pytest.approx(float(walk.low), rel=1e-3)


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("value", [Q(1, 3), Q(4), Q(10**40 + 1, 7), Q(1, 3**900), Q(1)])
def test_roots_are_on_the_stated_side(k, value):
    low, high = root(value, k), root(value, k, up=True)
    assert low**k <= value <= high**k
    assert float(high - low) <= 1e-10 * max(float(high), 1)
    assert root(Q(0), k) == 0


def test_the_exact_root_of_one_is_one():
    assert root(Q(1), 5) == root(Q(1), 5, up=True) == 1


def test_without_flint_exact_rounds_say_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delitem(vars(ft.RATIONAL), "_number", raising=False)  # remembered by whoever came first
    with pytest.raises(MissingLibrary, match="pip install python-flint"):
        rounds_of(*CASES[0])


def test_walks_that_were_dropped_can_only_lower_the_bound(monkeypatch):
    rounds = rounds_of(*CASES[1])
    everything = search(rounds.automaton, rounds.floats, 6)[1]
    monkeypatch.setattr(walks, "ALL", 50)
    monkeypatch.setattr(walks, "FOLLOWED", 40)
    few = search(rounds.automaton, rounds.floats, 6)[1]
    assert 0.7 < few <= everything + 1e-12


def test_no_walk_closes_before_the_block_does():
    rounds = rounds_of(ft.Focus("1/20", 2), ft.Blocks(3))
    with pytest.raises(CertificateFailed, match="at most 2 rounds"):
        search(rounds.automaton, rounds.floats, 2)


def test_one_client_has_a_closed_form():
    """h = 1, gradient steps: the client comes as rarely as it may, so the rate is (1 - lr)^(1/D)."""
    pytest.importorskip("flint")
    one = ft.Quadratic([[[1]]], [[2]])
    for windows in (ft.Sliding(3), ft.Blocks(3)):
        walk = worst_walk(rounds_of(ft.FedAvg("1/4", 1), windows, one), 6)
        assert walk.low**3 <= Q(3, 4) <= walk.high**3
        assert math.isclose(float(walk.low), 0.75 ** (1 / 3), rel_tol=1e-9)
        assert str(walk) in ("{} {} {0}", "{} {0} {}", "{0} {} {}")


@pytest.mark.parametrize("lr", ["1/20", "1/10", "1/7"])
def test_a_schedule_that_keeps_a_direction_has_the_rate_one_exactly(lr):
    """One client a round never moves ProxSkip's shifts; an enclosure of the radius alone ends a little below 1."""
    line = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
    found = ft.worst_schedule(ft.Scaffnew(lr, 3), line, ft.Sliding(3, "never"), certify=False)
    assert found.lower == 1 and found.verdict == "UNSTABLE"
    assert found.walk.high is None or found.walk.high >= 1
