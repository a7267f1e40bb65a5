"""Second moments on the star form: what their bounds and residuals must notice, and states that noise alone or nothing reaches."""
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import fltheory as ft
from fltheory.large import equal_clients
from fltheory.large.second_moments import SecondMoments
from tests.large.cases import random_problem, structured

SMALL = random_problem()
METHOD = ft.Scaffold(0.3 / float(SMALL.constants.L), 2)
LIKE = random_problem(6, 2, same=True)
LAW = ft.Uniform(3)


# ---- bounds and residuals ------------------------------------------------------------------------------
def test_the_pencil_has_its_largest_eigenvalue():
    s = structured(METHOD, SMALL, LAW, 1)._second
    far = s.project(np.diag(np.arange(1.0, s.D + 1)))
    Y = far if s.W is None else far + np.abs(far).max() * s.W @ s.W.T
    assert s._pencil(far) == pytest.approx(np.linalg.eigvals(np.linalg.solve(Y, s.again(far))).real.max(), rel=1e-9)


def test_the_residual_is_that_of_the_equation():
    s = structured(METHOD, SMALL, LAW, 1)._second
    R = s.project(np.eye(s.D)) * 7
    X, residual = s._solved(R, 1.0, 1e-2)
    assert residual > 1e-5 and residual == pytest.approx(np.abs(R + s.again(X) - X).max() / np.abs(R).max(), rel=1e-6)


def test_a_solver_that_stops_early_is_refused(monkeypatch):
    import scipy.sparse.linalg as sl
    real = sl.gmres
    monkeypatch.setattr(sl, "gmres", lambda *a, **k: (real(*a, **k)[0] * (1 + 1e-6), 0))
    with pytest.raises(ft.CertificateFailed, match="left open"):
        structured(METHOD, SMALL, LAW, 1).floor()


@pytest.mark.parametrize("loose, kind", [(1.0028, "bound"), (1.0035, "estimate")])
def test_a_bound_says_how_loose_it_is(monkeypatch, loose, kind):
    monkeypatch.setattr(SecondMoments, "bound", lambda self, value, top=None: loose * value)
    op = structured(METHOD, SMALL, LAW)
    op.mean_square_rate()
    rate = op.known["mean_square_rate"]
    assert rate.kind == kind and rate.bound == (pytest.approx(loose - 1, rel=1e-6) if kind == "bound" else None)


def test_either_sign_of_the_eigenvector_spares_the_resolvent(monkeypatch):
    s = structured(METHOD, SMALL, LAW)._second
    value = s.rate().value
    top = s._solved(s.project(np.eye(s.D)), value * 1.000001, 1e-10)[0]
    monkeypatch.setattr(SecondMoments, "_solved", None)
    assert s.bound(value, -top) == s.bound(value, top) < value * 1.001


class Fading(ft.Scaffold):
    """Memories fade, whether their client is there or not: they are no multiple of the mean move where the server is."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(ci=new.ci - s.ci / 10)


def test_memories_that_fade_are_not_along_the_mean_move():
    s = structured(Fading(0.3 / float(SMALL.constants.L), 2), SMALL, LAW, 1)._second
    a = np.random.default_rng(0).standard_normal((s.D, s.D))
    X = s.project(a @ a.T)
    image = s.again(X)
    s.along, s.apart = 0.0, s.low
    assert np.abs(s.again(X) - image).max() < 1e-13 * np.abs(image).max()


def test_the_error_of_a_floor_grows_as_the_rate_comes_to_1():
    op = structured(METHOD, SMALL, LAW, 1)
    op.floor()
    floor = op.known["floor"]
    assert floor.bound == pytest.approx(floor.residual / (1 - op.mean_square_rate()), rel=1e-12, abs=0)


# ---- equal clients -------------------------------------------------------------------------------------
def test_the_enclosure_of_equal_clients_is_the_bound():
    moments = SimpleNamespace(certify=lambda: SimpleNamespace(mean_square=(Fraction(9, 10), Fraction(91, 100))))
    rate = equal_clients.EqualMoments(moments).rate()
    assert rate.value == 0.91 and rate.bound == pytest.approx(1 / 91)


def test_clients_that_differ_in_their_last_coordinate_are_not_equal():
    H = np.array(LIKE.H, dtype=float)
    H[-1, 1, 1] *= 1.5
    assert not equal_clients.equal(ft.Quadratic.from_linear(H, np.array(LIKE.b, dtype=float)))


def test_paths_of_equal_clients_go_to_the_reference_asked_for():
    args, reference = (ft.Scaffold("1/20", 3), LIKE, ft.Uniform(2), "1/2"), np.array([3.0, -2.0])
    errors, op = structured(*args).errors([1.0, 1.0], 5, reference=reference), structured(*args)
    vars(op)["_second"] = op._equal_moments
    assert op.errors([1.0, 1.0], 5, reference=reference) == pytest.approx(errors, rel=1e-9)


# ---- where noise goes and quiet rounds do not ------------------------------------------------------------
@pytest.mark.parametrize("law", [ft.Uniform(2), ft.Uniform(1), ft.Bernoulli("1/2"), ft.Bernoulli("1/2", empty="skip")])
def test_noise_shows_the_shares_of_equal_clients(law):
    problem = ft.Quadratic([[[1.0]]] * 2, [[0.0]] * 2, [0.9, 0.1])
    mine, dense = (ft.derive(ft.FedAvg("1/10", 1), problem, law, noise=1, method=m) for m in ("structured", "dense"))
    assert mine.floor() == pytest.approx(float(dense.floor()), rel=1e-10)
    if law == ft.Uniform(2):
        assert mine.floor() == pytest.approx(0.82 * 0.01 / 0.19, rel=1e-12)


def test_noise_is_shared_out_where_the_state_is_not():
    """At lr h = 2 two local steps undo each other, and only their noise is averaged over the cohort."""
    op = structured(ft.Scaffold(2, 2), ft.Quadratic([[[1.0]]] * 2, [[0.0], [1.0]]), ft.Bernoulli("1/2"), 1)
    assert op.errors([1.0], 4, [0.0]) == pytest.approx([1, 6, 11, 16, 21], rel=1e-12)


def test_noise_that_moves_what_quiet_rounds_keep_is_refused():
    problem = ft.Quadratic([[[1.0]]] * 3, [[0.0], [1.0], [2.0]])
    with pytest.raises(ft.NotAffine, match="noise moves a combination of memories"):
        structured(ft.Focus(1, [2, 1, 1]), problem, ft.Full(), 1).errors([0.0], 4)


# ---- what cannot be reached ------------------------------------------------------------------------------
def test_states_that_cannot_be_reached_have_no_mean_square_rate():
    problem = ft.Quadratic([[[1.0]], [[0.25]]], [[0.0], [1.0]])
    mine, dense = (ft.derive(ft.Focus(1, 2), problem, ft.Bernoulli("1/2"), method=m) for m in ("structured", "dense"))
    assert mine.mean_square_rate() == pytest.approx(dense.mean_square_rate(), rel=1e-9)
    assert mine.known["mean_square_rate"].kind == "estimate" and mine.stable
    assert mine.floor() == pytest.approx(float(dense.floor()), rel=1e-9)


@pytest.mark.parametrize("n", [4, 14])
def test_without_randomness_the_mean_square_rate_is_the_square_of_the_rate(n):
    op = structured(ft.Scaffold("3/2", 2), ft.Quadratic(np.ones((n, 1, 1)), np.zeros((n, 1))), ft.Full())
    assert op.mean_square_rate() == pytest.approx(1 / 16, rel=1e-9) == pytest.approx(op.rate() ** 2, rel=1e-9)


def test_restarts_that_lose_sight_of_the_start_are_noticed(monkeypatch):
    from fltheory.large import second_moments
    problem = ft.Quadratic([[[1.0]], [[0.25]]], [[0.0], [1.0]])
    op = structured(ft.Focus(1, 2), problem, ft.Bernoulli("1/2"))
    rate = op.mean_square_rate()
    monkeypatch.setattr(second_moments, "WIDE", 0)
    ghost = SimpleNamespace(eigs=lambda act, **_: (np.array([1.0]), np.eye(act.shape[0], 1)))
    import scipy.sparse.linalg as sl
    monkeypatch.setattr(sl, "eigs", ghost.eigs)
    assert structured(ft.Focus(1, 2), problem, ft.Bernoulli("1/2")).mean_square_rate() == pytest.approx(rate, rel=1e-9)


# ---- laws at their ends ----------------------------------------------------------------------------------
@pytest.mark.parametrize("ratio", [17, 100, 1000])
def test_a_client_who_is_always_there_may_weigh_much_more(ratio):
    problem = ft.Quadratic([[[1.0]], [[2.0]], [[3.0]]], [[0.0], [1.0], [2.0]], np.array([ratio, 1, 1]) / (ratio + 2))
    args = ft.FedAvg("1/10", 1), problem, ft.Bernoulli([1, "1/2", "1/2"]), 1
    mine, dense = structured(*args), ft.derive(*args)
    assert mine.mean_square_rate() == pytest.approx(dense.mean_square_rate(), rel=1e-9)
    assert mine.floor() == pytest.approx(float(dense.floor()), rel=1e-9)


def test_everybody_drawn_is_everybody():
    problem = ft.Quadratic([[[1.0]], [[2.0]]], [[0.0], [1.0]], [0.9, 0.1])
    op = structured(ft.FedAvg("1/10", 1), problem, ft.Uniform(2), 1)
    full = structured(ft.FedAvg("1/10", 1), problem, ft.Full(), 1)
    assert op.mean_square_rate() == pytest.approx(0.7921, rel=1e-9)
    assert op.floor() == full.floor()
