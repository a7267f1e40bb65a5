"""Modes that act in turn: their successors, exact without a matrix, and rounds whose cost does not grow with the schedule."""
import sys
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.laws.masks import Masks
from fltheory.core.numbers.scalars import fraction
from fltheory.runs.streams import Stream
from tests.core.laws.test_laws import LAWS

TURN = ((0, 1, 0), (0, 0, 1), (1, 0, 0))
PROBLEM = ft.Quadratic([[[1]], [[2]]], [[0], [1]])


def explicit(law):
    """The same chain with its matrix and start written out, as any other chain has them."""
    return ft.Chain(sets=law.sets, matrix=law.chain(), initial=law.start(), per_mode_steps=law.per_mode_steps, steps=law.steps)


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_a_successor_is_the_one_certain_move(law):
    follow, chain = law.successor(), law.chain()
    assert (follow is not None) == all(v in (0, 1) for row in chain for v in row)
    if follow is not None:
        assert sorted(follow) == list(range(law.modes)) and all(chain[k][j] == 1 for k, j in enumerate(follow))
    assert law.repeats or Masks(law).successor() == follow


def test_several_cycles_are_not_one():
    """Which of two cycles acts depends on the start; the rates are those of the slower one."""
    swaps = ((0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0))
    law = ft.Chain(sets=((0,), (1,), (0, 1), ()), matrix=swaps, initial=("1/2", 0, "1/2", 0))
    op = ft.derive(ft.FedAvg("1/20", 2), ft.Quadratic([[[1]], [[3]]], [[0], [0]]), law, domain=ft.RATIONAL)
    alone, both = (Q(19, 20) ** 2, Q(17, 20) ** 2), (Q(19, 20) ** 2 + Q(17, 20) ** 2) / 2
    assert alone[0] * alone[1] < both  # a round of both clients, and one of nobody
    assert op.rate() == pytest.approx(float(both) ** .5) and op.mean_square_rate() == pytest.approx(float(both))
    means = [fraction(mean[0]) for mean, _ in op.trajectory(3, [1])]
    assert means == [1, (alone[1] + 1) / 2, (alone[1] * alone[0] + both) / 2]


def test_only_permutations_have_successors():
    sets = ((0,), (1,), (0, 1))
    assert ft.Chain(sets=sets, matrix=TURN).successor() == [1, 2, 0]
    assert ft.Chain(sets=sets, matrix=((0, 0, 1), (1, 0, 0), (0, 1, 0))).successor() == [2, 0, 1]
    assert ft.Chain(sets=sets, matrix=((0, 1, 0), (0, 0, 1), (0, 0, 1)), initial=(1, 0, 0)).successor() is None
    assert ft.Chain(sets=sets, matrix=((0, "1/2", "1/2"), *TURN[1:])).successor() is None
    assert ft.Ages(ft.Cyclic([[0], [1], [2]], steps=1), 2, 3).successor() is None


def test_modes_in_turn_are_exact_without_a_matrix():
    law = ft.Replay([((0,), 2), ((1,), 1), ((), 3)])
    assert law.matrix is None
    assert law.chain() == [list(map(Q, row)) for row in TURN]
    assert law.start() == [0, 0, 1] and law.stationary() == [Q(1, 3)] * 3
    other = explicit(law)
    assert (other.chain(), other.start(), other.stationary()) == (law.chain(), law.start(), law.stationary())
    later = ft.Chain(sets=((0,), (1,)), matrix=None, initial=(1, 0))
    assert later.start() == [1, 0] and later.stationary() == [Q(1, 2)] * 2


@pytest.mark.parametrize(("given", "words"), [
    ({"sets": (), "matrix": None}, "at least one mode"),
    ({"sets": ((0,),)}, "row and column"),
    ({"sets": ((0,), (1,)), "matrix": None, "initial": (1,)}, "2 modes"),
], ids=str)
def test_chains_in_turn_are_checked(given, words):
    with pytest.raises(ft.BadInput, match=words):
        ft.Chain(**given)


@pytest.mark.parametrize("law", [ft.Replay([((0,), (1, 3)), ((1,), 2), ((), 1)]), ft.Cyclic([(0,), (0, 1)], steps=2)],
                         ids=["replay", "cyclic"])
def test_a_matrix_written_out_changes_no_run(law):
    a, b = (ft.run(ft.FedAvg("1/20"), PROBLEM, w, 7, 300, noise=1) for w in (law, explicit(law)))
    assert a.final.tolist() == b.final.tolist() and a.mean().tolist() == b.mean().tolist()


def calls(make):
    """How many functions, of Python and of C, are called."""
    seen = [0]

    def count(frame, event, argument):
        seen[0] += event in ("call", "c_call")
    sys.setprofile(count)
    try:
        make()
    finally:
        sys.setprofile(None)
    return seen[0]


SCHEDULES = {
    "replay": lambda k: ft.Replay([([i % 2], 1 + i % 3) for i in range(k)]),
    "cyclic": lambda k: ft.Cyclic([[i % 2] for i in range(k)], steps=2),
    "periodic": lambda k: ft.Periodic([ft.Bernoulli("1/2") if i % 2 else ft.Uniform(1) for i in range(k)], steps=2),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_work_of_a_run_is_linear_in_the_schedule(name):
    def whole(k):
        ft.run(ft.FedAvg("1/20"), PROBLEM, SCHEDULES[name](k), k)
    whole(3)  # imports
    few, many = calls(lambda: whole(40)), calls(lambda: whole(160))
    assert many < 4.2 * few, (few, many)


@pytest.mark.parametrize("law", [*LAWS.values(), ft.Coin("1/3", steps=1), ft.Full(steps=ft.RandomSteps([("1/3", 1), ("2/3", 3)]))],
                         ids=[*LAWS, "coin", "random steps"])
def test_exact_numbers_are_converted_once_per_law(law, monkeypatch):
    law.sample(Stream(1), 4, 5)
    seen, convert = [], Q.__float__
    monkeypatch.setattr(Q, "__float__", lambda v: seen.append(v) or convert(v))
    assert float(Q(1, 2)) == 0.5 and len(seen) == 1
    law.sample(Stream(2), 4, 5)
    assert len(seen) == 1


def test_what_rounds_share_cannot_be_written_to():
    law = ft.Replay([((0,), 2), ((1,), 1)])
    (_, _, present), = law.cohorts(2, 0)
    assert not present.flags.writeable
    assert np.array_equal(present, [1, 0])
