"""Upper bounds: what the exact check accepts and rejects, and the programme against the same one written in cvxpy."""

import sys
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import TooLarge
from fltheory.schedules import lyapunov_nodes as upper
from fltheory.schedules.lyapunov_nodes import Certificate, Programme, dyadic, holds, upper_bound
from fltheory.schedules.rounds import round_maps

pytest.importorskip("cvxpy")
LINE = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
PAIR = ft.Quadratic([[[1]], [[3]]], [[1], [-1]])


def rounds_of(algorithm, windows, problem=LINE):
    return round_maps(algorithm, problem, windows, windows.automaton(problem.n))


@pytest.fixture(scope="module")
def focus():
    rounds = rounds_of(ft.Focus("1/20", 2), ft.Sliding(3))
    programme = Programme(rounds)
    return rounds, programme, upper_bound(programme, 0.764, 1e-3)


def test_the_exact_check_accepts_what_the_programme_found(focus):
    rounds, programme, found = focus
    assert holds(rounds, found)
    assert found.matrices.shape == (27, 4, 4)
    assert all(isinstance(v, Q) for v in found.matrices.reshape(-1))
    assert {word for _, _, word in programme.status} >= {"Solved", "PrimalInfeasible"}
    best = min(g for g, _, word in programme.status if word == "Solved")
    assert float(found.rate) == pytest.approx(best * (1 + 1e-6), rel=1e-9)


def test_the_exact_check_rejects_what_is_no_certificate(focus):
    rounds, _, found = focus
    P = found.matrices
    assert not holds(rounds, Certificate(Q("0.7642"), P))                           # below a schedule's own rate
    assert not holds(rounds, Certificate(-found.rate, P))
    assert not holds(rounds, Certificate(found.rate, -P))
    assert not holds(rounds, Certificate(found.rate, 0 * P))
    assert not holds(rounds, Certificate(found.rate, P[:-1]))
    skew = P.copy()
    skew[0, 0, 1] += Q(1, 2**30)
    assert not holds(rounds, Certificate(found.rate, skew))
    assert not holds(rounds, Certificate(found.rate, np.full(P.shape, np.nan)))
    for node in (0, 13, 26):                                                        # one node scaled against the others
        for factor in (Q(1, 2), Q(2)):
            bent = P.copy()
            bent[node] = factor * bent[node]
            assert not holds(rounds, Certificate(found.rate, bent))


def test_the_exact_check_rejects_other_rounds(focus):
    rounds, _, found = focus
    assert not holds(rounds_of(ft.Focus("1/20", 1), ft.Sliding(3)), found)
    assert not holds(rounds_of(ft.Focus("1/40", 2), ft.Sliding(3)), found)
    still = rounds.maps.copy()
    still[0] = np.eye(4, dtype=int) * Q(1)  # an empty round that does nothing is not the round of FOCUS
    assert not holds(replace(rounds, maps=still), found)


def test_without_slack_the_rounded_matrices_fail(focus):
    """At the programme's own rate the inequalities are met with equality up to rounding: only the raised rate is proved."""
    rounds, _, found = focus
    assert not holds(rounds, replace(found, rate=found.rate / (1 + upper.RAISED)))
    assert holds(rounds, replace(found, rate=found.rate * (1 + upper.RAISED)))


def test_every_random_walk_shrinks_as_certified(focus):
    rounds, _, found = focus
    P, rate = found.matrices.astype(float), float(found.rate)
    generator = np.random.default_rng(0)
    leaving = rounds.automaton.leaving()
    for _ in range(50):
        at, z = rounds.automaton.start, generator.standard_normal(4)
        for _ in range(30):
            before = z @ P[at] @ z
            _, s, at = rounds.automaton.edges[generator.choice(leaving[at])]
            z = rounds.floats[s] @ z
            assert z @ P[at] @ z <= rate**2 * before * (1 + 1e-12)


def written_in_cvxpy(rounds, g):
    """Status of the same inequalities by cvxpy's own modelling."""
    import cvxpy as cp
    r = rounds.size
    P = [cp.Variable((r, r), symmetric=True) for _ in rounds.automaton.nodes]
    rules = [p >> np.eye(r) for p in P]
    rules += [g**2 * P[a] - rounds.floats[s].T @ P[b] @ rounds.floats[s] >> 0 for a, s, b in rounds.automaton.edges]
    programme = cp.Problem(cp.Minimize(sum(cp.trace(p) for p in P)), rules)
    programme.solve(solver=cp.CLARABEL)
    return programme.status


def test_the_cone_data_mean_the_inequalities():
    rounds = rounds_of(ft.Focus("1/20", 2), ft.Sliding(2), PAIR)
    found = upper_bound(Programme(rounds), 0.5, 1e-3)
    assert written_in_cvxpy(rounds, float(found.rate) * 1.005) == "optimal"
    assert written_in_cvxpy(rounds, float(found.rate) * 0.99) == "infeasible"


def test_quartic_functions_are_quadratic_ones_of_the_products():
    rounds = rounds_of(ft.Focus("1/20", 2), ft.Sliding(2), PAIR)
    squared = rounds.squared()
    z = np.array([Q(2), Q(-3), Q(5, 7)], dtype=object)
    i, j = np.triu_indices(3)
    for M, S in zip(rounds.maps, squared.maps, strict=True):
        w = M @ z
        assert (S @ (z[i] * z[j]) == w[i] * w[j]).all()


def test_quartic_functions_prove_more():
    rounds = rounds_of(ft.Focus("1/10", 2), ft.Sliding(3), PAIR)
    two, four = (upper_bound(Programme(rounds, degree), 0.8163, 1e-3) for degree in (2, 4))
    assert Q("0.8163") < four.rate < Q("0.827") < Q("0.84") < two.rate
    assert holds(rounds, four)
    assert not holds(rounds, replace(four, rate=four.rate / (1 + upper.RAISED)))
    assert not holds(rounds, replace(four, degree=2))
    assert not holds(rounds, replace(two, degree=4))


class Inaccurate:
    """Clarabel that always reports a doubtful status."""

    def __init__(self, library, word):
        self.library, self.word = library, word

    def __getattr__(self, name):
        return getattr(self.library, name)

    def DefaultSolver(self, *data):
        solution, word = self.library.DefaultSolver(*data).solve(), self.word

        class Solver:
            def solve(self):
                return type("Solution", (), {"status": word, "x": solution.x})
        return Solver()


@pytest.mark.parametrize("word", ["AlmostSolved", "NumericalError", "MaxIterations", "InsufficientProgress"])
def test_a_doubtful_status_is_never_a_certificate(monkeypatch, word):
    rounds = rounds_of(ft.Focus("1/20", 2), ft.Sliding(2), PAIR)
    assert Programme(rounds).certify(0.99) is not None
    monkeypatch.setitem(sys.modules, "clarabel", Inaccurate(sys.modules["clarabel"], word))
    assert Programme(rounds).certify(0.99) is None
    found = ft.worst_schedule(ft.Focus("1/20", 2), PAIR, ft.Sliding(2), accuracy=Q(1, 10))
    assert (found.upper, found.certificate, found.verdict) == (None, None, "INCONCLUSIVE")
    assert {w for _, _, w in found.tried} == {word}
    assert "no upper bound was certified: INCONCLUSIVE" in str(found)


def test_what_would_take_minutes_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(upper, "MOST_ROWS", 100)
    with pytest.raises(TooLarge, match="125 edges in dimension 4 are 1250 scalar constraints"):
        Programme(rounds_of(ft.Focus("1/20", 2), ft.Sliding(3)))


def test_rounding_keeps_small_matrices_positive():
    P = np.array([[[1.0, 0], [0, 1e-9]], [[1e-3, 0], [0, 1]]])
    assert all(block[1, 1] > 0 and block[0, 0] > 0 for block in dyadic(P))
    assert abs(dyadic(P)[0, 1, 1] - Q(1e-9)) < Q(1, 2**60)
