"""Exact rounds per set: against matrices written from the papers' equations, and common fixed points."""

from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, NotAffine, NotKept
from fltheory.schedules.rounds import round_maps

LINE = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
H = (1, 2, 4)


def focus_by_hand(lr, steps, seen):
    """(x, z_1, z_2, z_3) of FOCUS after a round, z_i the point where g_i was evaluated."""
    M = np.full((4, 4), Q(0))
    for i, h in enumerate(H):
        P = (1 - lr * h) ** (steps - 1) if i in seen else Q(0)
        M[i + 1, 0], M[i + 1, i + 1] = P, 1 - P
    M[0] = -lr * sum(h * M[i + 1] for i, h in enumerate(H))
    M[0, 0] += 1
    return M


def scaffold_by_hand(lr, steps, seen):
    """(x, c_1, c_2, c_3) of SCAFFOLD with option II, weights 1/3, averages over participants."""
    M = np.array([[Q(int(j == k)) for k in range(4)] for j in range(4)])
    c = np.array([0, Q(1, 3), Q(1, 3), Q(1, 3)])
    x, moves = M[0].copy(), []
    for i in seen:
        y = x
        for _ in range(steps):
            y = y - lr * (H[i] * y - M[i + 1] + c)
        moves.append(y - x)
    new = M.copy()
    for i, move in zip(seen, moves, strict=True):
        new[i + 1] = M[i + 1] - c - move / (steps * lr)
    if seen:
        new[0] = x + sum(moves) / len(seen)
    return new


def rounds_of(algorithm, windows, problem=LINE):
    return round_maps(algorithm, problem, windows, windows.automaton(problem.n))


def invariants(M):
    """Coefficients of the characteristic polynomial (similar matrices have the same), by traces."""
    out, power = [], M
    for _ in range(len(M)):
        out.append(sum(power[k, k] for k in range(len(M))))
        power = power @ M
    return out


@pytest.mark.parametrize(("algorithm", "by_hand"), [(ft.Focus("1/20", 2), focus_by_hand), (ft.Focus("1/20", 1), focus_by_hand),
                                                    (ft.Scaffold("1/10", 3), scaffold_by_hand)])
def test_products_are_those_of_the_equations(algorithm, by_hand):
    rounds = rounds_of(algorithm, ft.Sliding(3))
    assert rounds.size == 4  # the conserved y = sum g_i, or c = mean c_i, is gone
    sets = rounds.automaton.sets
    for words in ((0,), (3,), (7,), (1, 2, 3), (0, 7, 5), (4, 0, 0, 6)):
        M = rounds.product(words)
        expected = by_hand(Q(algorithm.lr), algorithm.steps, sets[words[0]])
        for w in words[1:]:
            expected = by_hand(Q(algorithm.lr), algorithm.steps, sets[w]) @ expected
        assert invariants(M) == invariants(expected)


@pytest.mark.parametrize(("algorithm", "empty", "still"), [
    (ft.Scaffold("1/10", 3), "move", True),
    (ft.Focus("1/10", 3), "move", False),
    (ft.Focus("1/10", 3), "skip", True),
])
def test_an_empty_round_moves_focus_but_not_scaffold(algorithm, empty, still):
    rounds = rounds_of(algorithm, ft.Sliding(2, empty))
    assert rounds.automaton.sets[0] == ()
    assert (rounds.maps[0] == np.eye(rounds.size, dtype=int)).all() == still
    assert (rounds.shifts[0] == 0).all()


@pytest.mark.parametrize(("algorithm", "at"), [
    (ft.Focus("1/20", 3), Q(-1, 7)),       # sum h c / sum h
    (ft.Scaffold("1/20", 3), Q(-1, 7)),
    (ft.FedAvg("1/20", 3), None),          # every cohort has a drift point of its own
    (ft.FedAvg("1/20", 1), None),
])
def test_fixed_points_shared_by_all_rounds(algorithm, at):
    found = rounds_of(algorithm, ft.Sliding(2)).fixed_point()
    assert (found is None) if at is None else list(found) == [at]


def test_mifa_keeps_a_point_that_is_not_the_minimiser():
    found = rounds_of(ft.Mifa("1/10", 3), ft.Sliding(2)).fixed_point()
    full = ft.derive(ft.FedAvg("1/10", 3), LINE, ft.Full(), domain=ft.RATIONAL).fixed_point().x
    assert list(found) == list(full) != [Q(-1, 7)]


def test_where_a_client_stops_to_move_the_generic_subspace_can_be_asked_for():
    """lr h_3 = 1 and two steps: FOCUS never refreshes g_3, one more quantity is conserved."""
    windows = ft.Sliding(2)
    automaton = windows.automaton(3)
    generic = round_maps(ft.Focus("1/5", 2), LINE, windows, automaton)
    special = round_maps(ft.Focus("1/4", 2), LINE, windows, automaton)
    assert (generic.size, special.size) == (4, 3)
    wide = round_maps(ft.Focus("1/4", 2), LINE, windows, automaton, generic.operator.reach)
    assert wide.size == 4
    everyone = wide.product([automaton.sets.index((0, 1, 2))])
    assert (abs(np.linalg.eigvals(everyone.astype(float)) - 1) < 1e-9).any()
    with pytest.raises(NotKept, match="do not keep"):
        round_maps(ft.Focus("1/5", 2), LINE, windows, automaton, special.operator.reach)


class Aged(ft.FedAvg):
    """A method that asks for a law of its own, as those do whose rounds know how long everybody was away."""

    def law_for(self, law, n):
        return ft.Bernoulli(Q(1, 2), steps=law.steps)


def test_what_has_no_rounds_of_sets_is_refused():
    with pytest.raises(NotAffine):
        rounds_of(ft.AsyncFedED("1/10", 2), ft.Sliding(2))
    with pytest.raises(BadInput, match="Quadratic problem"):
        rounds_of(ft.Focus("1/10", 2), ft.Sliding(2), ft.Logistic([[[1], [2]], [[-1], [1]]], [[1, 0], [1, 0]], 1))
    with pytest.raises(BadInput, match="depends on more than who takes part"):
        rounds_of(Aged("1/10", 2), ft.Sliding(2))
    with pytest.raises(BadInput, match="local steps"):
        rounds_of(ft.Focus("1/10"), ft.Sliding(2))
