"""Families that papers share, and how FedNova runs them: every outcome of the noise is listed."""

from fractions import Fraction as Q

import pytest

import fltheory as ft
from verification import piecewise
from verification.fednova import families
from verification.fednova.instances import SOLVERS, Local

st = pytest.importorskip("hypothesis.strategies")


@pytest.mark.parametrize(("solver", "value", "sigma"), [("vanilla", None, 1), ("momentum", Q(1, 2), 1), ("proximal", Q(1), 0)])
def test_listed_rounds_have_the_moments_of_the_operator(solver, value, sigma):
    """Where all slopes of a client are equal it is a quadratic, and signs have the variance of any noise."""
    rounds, taus, x0 = 3, (2, 1), [Q(3)]
    line = ft.Quadratic.from_linear([[[1]], [[2]]], [[1], [-1]], ["1/4", "3/4"])
    kinks = ft.PiecewiseQuadratic([[1, 1], [2, 2]], [[0], [0]], [1, -1], ["1/4", "3/4"])
    made = [kind(f"{kind.__name__}", problem, ft.FedAvg("1/10", taus, SOLVERS[solver](value)), ft.Full(), noise=sigma, x0=x0,
                 rounds=rounds, gap=Q(0)) for kind, problem in ((families.Listed, kinks), (Local, line))]
    w = families.theorem(made[0])["w"]
    assert made[0].left_side() == ft.fraction(made[1].op.mean_gradient_square(line.surrogate(w), rounds, x0))


def test_the_families_hold_surrogates_that_are_not_convex():
    import hypothesis
    seen = []

    @hypothesis.settings(max_examples=60, derandomize=True, database=None, deadline=None)
    @hypothesis.given(st.data())
    def look(data):
        problem = piecewise.either(data.draw)
        if problem is not None:
            w = [ft.fraction(v) for v in problem.weights]
            seen.append(min(sum(p * s for p, s in zip(w, a, strict=True)) for _, _, a, _ in problem.pieces()))
            assert problem.least() is not None
    look()
    assert sum(v < 0 for v in seen) > 10
