"""Each cure that structured operators need, and what they say without it."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.operators.large import first, krylov
from fltheory.core.operators.large.conserved import Conserved
from fltheory.core.operators.large.first import FirstMoments
from fltheory.core.operators.large.winding import Winding
from tests.core.operators.large.cases import random_problem, structured


@pytest.fixture(scope="module")
def thousand():
    """FOCUS on a thousand clients: the sum of the memories is conserved."""
    problem = random_problem(1000, 4)
    return ft.Focus(0.1 / float(problem.constants.L) / 1000, 3), problem, ft.Uniform(100)


def test_krylov_spaces_do_not_stay_reachable_by_themselves(thousand, monkeypatch):
    cured = structured(*thousand)
    right, rate = cured.fixed_point(), cured.rate()
    assert np.abs(right.x - ft.optimum(thousand[1]).x).max() < 1e-12
    monkeypatch.setattr(Conserved, "project", lambda self, z: z)
    ill = structured(*thousand)
    monkeypatch.setattr(first, "APART", np.inf)
    monkeypatch.setattr(first, "ONE", 0.0)
    wrong = ill.fixed_point()
    assert np.abs(wrong.state - right.state).max() > 1e-6 * np.abs(right.state).max()
    assert ill._point.residual < 1e-11 * np.abs(right.state).max()          # and its residual shows nothing
    monkeypatch.setattr(first, "APART", 1e-4)
    with pytest.raises(ft.NoFixedPoint, match="two starts"):                # two starts do
        structured(*thousand).fixed_point()
    ghosts = krylov.ritz(ill._first.product, ill._first.starts(), 150, ghost=0.0)
    assert min(g.rate for g in ghosts) > 1 - 1e-9 > rate + 0.01             # Arnoldi meets the eigenvalue 1 that rounding fed
    kept = krylov.ritz(ill._first.product, ill._first.starts(), 150)
    assert all(k.ghosts and k.rate == pytest.approx(rate, rel=1e-6) for k in kept)


def test_starts_pass_through_single_cohorts(monkeypatch):
    problem = random_problem(same=True)
    args = ft.Scaffold(0.3 / float(problem.constants.L), 3), problem, ft.Uniform(3)
    dense = ft.derive(*args).rate()
    assert structured(*args).rate() == pytest.approx(dense, rel=1e-10)
    monkeypatch.setattr(FirstMoments, "cohorts", lambda self, rng: [self.mean.inclusion] * 4)
    assert structured(*args).rate() < dense - 0.05


def test_the_conserved_eigenvalues_are_divided_out_of_the_winding_number():
    problem = random_problem(50, 2)
    op = structured(ft.Focus(0.1 / float(problem.constants.L) / 50, 3), problem, ft.Uniform(5))
    star, mean = op._star, op._mean
    average = star.base + star.arrow(mean.inclusion, mean.shares)
    modulus = np.abs(np.linalg.eigvals(average.apply(np.eye(star.D))))
    for factor in (1.002, 0.998, 0.99):
        true = int((modulus > factor * op.rate()).sum()) - 2
        count, sure = Winding(average, 2).outside(factor * op.rate())
        assert sure and count == pytest.approx(true, abs=1e-6)
    assert true == 4
    count, sure = Winding(average, 2, divide=False).outside(1.002 * op.rate())
    assert sure and round(count) == 4 != 2                                   # 2 conserved ones are outside: silently wrong


def test_a_residual_of_rounding_is_not_refined(thousand, monkeypatch):
    cured = structured(*thousand)
    right = cured.fixed_point().state

    def again_and_again(self, ends):
        moves = self.mean(ends) - ends
        return ends + np.stack([f.x for f in krylov.solve(self.product, moves, 60)])
    monkeypatch.setattr(Conserved, "project", lambda self, z: z)
    monkeypatch.setattr(first, "APART", np.inf)
    monkeypatch.setattr(first, "ONE", 0.0)
    monkeypatch.setattr(FirstMoments, "_refined", again_and_again)
    wrong = structured(*thousand)
    assert np.abs(wrong.fixed_point().state - right).max() > 1e-8 * np.abs(right).max()
    assert wrong._point.residual < 1e-11 * np.abs(right).max()
