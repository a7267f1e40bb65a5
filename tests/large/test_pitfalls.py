"""Each cure that structured operators need, and what they say without it."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.large import first_moments, krylov
from fltheory.large.conserved import ConservedQuantities
from fltheory.large.eigenvalue_count import WindingNumber
from fltheory.large.first_moments import FirstMoments
from fltheory.large.second_moments import SecondMoments
from tests.large.cases import METHODS, random_problem, structured


@pytest.fixture(scope="module")
def thousand():
    """FOCUS on a thousand clients: the sum of the memories is conserved."""
    problem = random_problem(1000, 4)
    return ft.Focus(0.1 / float(problem.constants.L) / 1000, 3), problem, ft.Uniform(100)


def test_krylov_spaces_do_not_stay_reachable_by_themselves(thousand, monkeypatch):
    cured = structured(*thousand)
    right, rate = cured.fixed_point(), cured.rate()
    assert np.abs(right.x - ft.optimum(thousand[1]).x).max() < 1e-12
    monkeypatch.setattr(ConservedQuantities, "project", lambda self, z: z)
    ill = structured(*thousand)
    monkeypatch.setattr(first_moments, "APART", np.inf)
    monkeypatch.setattr(first_moments, "ONE", 0.0)
    wrong = ill.fixed_point()
    assert np.abs(wrong.state - right.state).max() > 1e-6 * np.abs(right.state).max()
    assert ill._point.residual < 1e-11 * np.abs(right.state).max()          # and its residual shows nothing
    monkeypatch.setattr(first_moments, "APART", 1e-4)
    with pytest.raises(ft.NoFixedPoint, match="two starts"):                # two starts do
        structured(*thousand).fixed_point()
    ghosts = krylov.ritz(ill._first.product, ill._first.starts(), 150, ghost=0.0)
    assert min(g.rate for g in ghosts) > 1 - 1e-9 > rate + 0.01             # Arnoldi meets the eigenvalue 1 that rounding fed
    modes = krylov.ritz(ill._first.product, ill._first.starts(), 150)
    assert all(k.ghosts and k.rate == pytest.approx(rate, rel=1e-6) for k in modes)


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
        count, sure = WindingNumber(average, 2).outside(factor * op.rate())
        assert sure and count == pytest.approx(true, abs=1e-6)
    assert true == 4
    count, sure = WindingNumber(average, 2, divide=False).outside(1.002 * op.rate())
    assert sure and round(count) == 4 != 2                                   # 2 conserved ones are outside: silently wrong


def test_a_residual_of_rounding_is_not_refined(thousand, monkeypatch):
    cured = structured(*thousand)
    right = cured.fixed_point().state

    def again_and_again(self, ends):
        moves = self.mean(ends) - ends
        return ends + np.stack([f.x for f in krylov.solve(self.product, moves, 60)])
    monkeypatch.setattr(ConservedQuantities, "project", lambda self, z: z)
    monkeypatch.setattr(first_moments, "APART", np.inf)
    monkeypatch.setattr(first_moments, "ONE", 0.0)
    monkeypatch.setattr(FirstMoments, "_refined", again_and_again)
    wrong = structured(*thousand)
    assert np.abs(wrong.fixed_point().state - right).max() > 1e-8 * np.abs(right).max()
    assert wrong._point.residual < 1e-11 * np.abs(right).max()


# ---- checks that look at what was found ------------------------------------------------------------------------
class Gossip(ft.Mifa):
    """The memories of all clients are mixed: they do not meet at the server only."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(G=new.G + (s.G.mean(-2, keepdims=True) - s.G) / 10)


SMALL = random_problem()
METHOD = ft.Scaffold(0.3 / float(SMALL.constants.L), 2)


def test_clients_that_meet_elsewhere_have_no_star_form():
    op = structured(Gossip(0.1 / float(SMALL.constants.L), 2), SMALL, ft.Uniform(3))
    assert op.rate() < 1
    with pytest.raises(ft.NotAffine, match="do not meet at the server only"):
        op.mean_square_rate()


def test_what_cohorts_do_not_keep_is_not_conserved(monkeypatch):
    def wrong(self, rng):
        self.alpha, self.beta = rng.standard_normal((1, self.alpha.shape[1])), rng.standard_normal((1, *self.beta.shape[1:]))
    monkeypatch.setattr(ConservedQuantities, "_find", wrong)
    with pytest.raises(ft.CertificateFailed, match="a combination of memories that one-client rounds keep changes by"):
        structured(METHOD, SMALL, ft.Uniform(3))


def test_a_loose_bound_of_second_moments_is_no_bound_of_theirs(monkeypatch):
    op = structured(METHOD, SMALL, ft.Uniform(3))
    rate = op.mean_square_rate()
    assert op.known["mean_square_rate"].kind == "bound"
    monkeypatch.setattr(SecondMoments, "bound", lambda self, value, top=None: 1.01 * value)
    loose = structured(METHOD, SMALL, ft.Uniform(3))
    assert loose.mean_square_rate() == rate
    known = loose.known["mean_square_rate"]
    assert (known.kind, known.bound) == ("estimate", None) and "cannot be reached" in known.check


def test_a_found_eigenvector_bounds_where_it_is_near_and_the_resolvent_elsewhere():
    second = structured(METHOD, SMALL, ft.Uniform(3))._second
    value = second.rate().value
    top = second._solved(second.project(np.eye(second.D)), value * 1.000001, 1e-10)[0]
    for sign in (1, -1):
        assert value <= second.bound(value, sign * top) * (1 + 1e-12) < value * 1.001
    noise = second.project(np.outer(*np.random.default_rng(0).standard_normal((2, second.D))))
    assert second._pencil(noise + noise.T) == np.inf          # not positive: no bound by it
    far = second.project(np.diag(np.arange(1.0, second.D + 1)))
    assert second._pencil(far) > 1.001 * value                # positive, and far from the eigenvector
    for poor in (noise + noise.T, far):
        assert value < second.bound(value, poor) < 1.001 * value


@pytest.mark.parametrize("method, law, along", [
    ("Scaffold", ft.Uniform(3), True), ("FedAvg", ft.Uniform(3), True), ("Focus", ft.Uniform(3), False),
    ("Scaffold", ft.Bernoulli("1/4"), False), ("Scaffold", ft.Full(), False)])
def test_a_term_along_the_mean_move_costs_no_product_and_changes_nothing(method, law, along):
    second = structured(METHODS[method], SMALL, law)._second
    assert bool(second.along) == along
    a = np.random.default_rng(0).standard_normal((second.D, second.D))
    X = second.project(a @ a.T)
    image = second.again(X)
    second.along, second.apart = 0.0, second.low
    assert np.abs(second.again(X) - image).max() < 1e-13 * np.abs(image).max()


def test_a_covariance_that_leaves_its_equation_open_is_refused(monkeypatch):
    real = SecondMoments._solved
    monkeypatch.setattr(SecondMoments, "_solved", lambda self, *given: (real(self, *given)[0], 1e-3))
    op = structured(METHOD, SMALL, ft.Uniform(3), 1)
    with pytest.raises(ft.CertificateFailed, match="is left open by 1"):
        op.floor()


def test_two_ends_that_differ_bound_the_distance_from_the_fixed_point(monkeypatch):
    monkeypatch.setattr(FirstMoments, "_refined", lambda self, ends: ends + np.array([[0.0], [1e-6]]))
    op = structured(METHOD, SMALL, ft.Uniform(3))
    op.fixed_point()
    assert 1e-6 * 0.999 <= op._point.bound < 1e-3
