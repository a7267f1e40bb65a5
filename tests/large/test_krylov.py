"""Arnoldi's method for a block of starts, on maps whose eigenvalues are known."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.large import krylov
from fltheory.large.first_moments import FirstMoments
from tests.large.cases import EQUAL, METHODS, structured

VALUES = np.array([0.9, -0.8, 0.7, 0.5, 0.3, 0.1])
FRAME = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]


def product(V):
    return V @ FRAME.T * VALUES @ FRAME        # rows v -> A v of the symmetric A with these eigenvalues


def test_every_start_has_the_largest_mode_that_it_holds():
    both = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0]]) @ FRAME
    all_, some = krylov.ritz(product, both, 6)
    assert all_.value == pytest.approx(0.9, abs=1e-14) and some.value == pytest.approx(0.7, abs=1e-14)
    assert some.ghosts == 2 and some.weight > 0.1            # two larger ones lie in the space, and not in this start
    for mode in (all_, some):
        v = mode.vector
        assert np.linalg.norm(v) == pytest.approx(1) and np.linalg.norm(product(v.real[None])[0] - mode.value * v.real) < 1e-13


@pytest.mark.parametrize("second", [np.zeros(6), FRAME.T @ VALUES, 2 * np.ones(6) @ FRAME])
def test_dependent_and_empty_starts_close_the_space(second):
    first, other = krylov.ritz(product, np.stack([np.ones(6) @ FRAME, second]), 50)
    assert first.value == pytest.approx(0.9, abs=1e-13) and first.residual < 1e-12
    assert other.rate == (0 if not second.any() else pytest.approx(0.9, abs=1e-13))
    assert first.steps <= 6


def test_the_projected_map_is_that_of_the_vectors():
    rng = np.random.default_rng(1)
    A, starts = rng.standard_normal((2, 40, 40))
    space = krylov.SharedSpace(starts[:2], 12)
    for _ in range(9):
        space.grow(lambda V: V @ A.T, 2)
    V, H = space.V[:space.count], space.H[:space.count, :space.products]
    assert (space.products, space.count) == (18, 20)
    assert np.abs(V @ V.T - np.eye(20)).max() < 1e-14
    assert np.abs(V[:18] @ A.T - H.T @ V).max() < 1e-13
    assert np.abs(space.sizes[:, None] * (space.parts.T @ V[:2]) - starts[:2]).max() < 1e-13


def test_the_residual_of_a_rate_is_seen_on_the_coded_round(monkeypatch):
    real = krylov.ritz

    def off(*args):
        return [krylov.Ritz(1.01 * r.value, *list(vars(r).values())[1:]) for r in real(*args)]
    args = METHODS["Focus"], EQUAL, ft.Uniform(3)
    assert structured(*args)._first.rate().residual < 1e-10
    monkeypatch.setattr(krylov, "ritz", off)
    assert structured(*args)._first.rate().residual == pytest.approx(0.01 / 1.01, rel=1e-6)


def test_the_residual_of_a_ritz_value_is_that_of_its_vector():
    rng = np.random.default_rng(3)
    A = np.diag(np.linspace(0.1, 0.9, 60)) + np.triu(rng.standard_normal((60, 60)), 1) / 40
    for f in krylov.ritz(lambda V: V @ A.T, rng.standard_normal((2, 60)), 8, tolerance=0.0):
        assert f.residual == pytest.approx(np.linalg.norm(A @ f.vector - f.value * f.vector), rel=1e-6) and f.residual > 1e-6


def test_every_start_converges():
    values, starts = np.append(0.99, np.linspace(0.1, 0.9, 79)), np.zeros((2, 80))
    starts[0, 0], starts[1, 1:] = 1, 1
    for f in krylov.ritz(lambda V: V * values, starts, 80):
        assert f.residual <= 1e-11 * f.rate


def test_what_the_last_product_leaves_is_kept():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((40, 40))
    s = krylov.SharedSpace(rng.standard_normal((2, 40)), 6)
    for _ in range(6):
        s.grow(lambda V: V @ A.T, 2)
    assert s.count == 14 and np.abs(s.V[:12] @ A.T - s.H[:14, :12].T @ s.V[:14]).max() < 1e-12


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_product_out_of_range_is_refused(bad):
    def product(V):
        W = V / 2
        W[0, 0] = bad
        return W
    with pytest.raises(FloatingPointError):
        krylov.ritz(product, np.eye(2, 6) + 0.1, 6)


def test_starts_that_are_nearly_alike_are_orthogonal():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((1, 40))
    s = krylov.SharedSpace(np.concatenate([a, a + 1e-9 * rng.standard_normal((2, 40))]), 5)
    assert np.abs(s.V[:s.count] @ s.V[:s.count].T - np.eye(3)).max() < 1e-14


def test_a_space_that_closes_up_to_rounding_stays_orthogonal():
    rng = np.random.default_rng(172)
    problem = ft.Quadratic(np.repeat(np.eye(2)[None], 17, 0), rng.standard_normal((17, 2)))
    args = ft.Mifa(0.01, 2), problem, ft.Full()
    assert structured(*args).rate() == pytest.approx(ft.derive(*args).rate(), rel=1e-9)


def test_a_turning_mode_has_its_residual():
    c, s = 0.9 * np.cos(1), 0.9 * np.sin(1)
    A = np.diag([0, 0, 0.5, 0.2])
    A[:2, :2] = [[c, -s], [s, c]]

    class Turning:
        product = staticmethod(lambda v: v @ A.T)
    mode = krylov.ritz(Turning.product, np.random.default_rng(0).standard_normal((2, 4)), 4)[0]
    assert abs(mode.value.imag) > 0.1 and FirstMoments._residual(Turning, mode) < 1e-12


@pytest.mark.parametrize("size", [1, 1e3, 1e6])
def test_a_residual_is_a_number_however_large_the_data(size, monkeypatch):
    big = ft.Quadratic.from_linear(np.array(EQUAL.H, dtype=float), size * np.array(EQUAL.b, dtype=float))
    first = structured(METHODS["Focus"], big, ft.Uniform(3))._first
    assert first._residual(krylov.ritz(first.product, first.starts(), 60)[0]) < 1e-10
    monkeypatch.setattr(FirstMoments, "_residual", lambda self, mode: np.nan)
    with pytest.raises(ft.CertificateFailed, match="not converged"):
        first.rate()


def changed(monkeypatch, *factors):
    real = krylov.ritz
    monkeypatch.setattr(krylov, "ritz", lambda *args: [krylov.Ritz(k * r.value, *list(vars(r).values())[1:])
                                                       for k, r in zip(factors, real(*args), strict=True)])
    return structured(METHODS["Focus"], EQUAL, ft.Uniform(3))._first


@pytest.mark.parametrize("factors", [(1, 0.8), (1.5, 1.5), (0.5, 1)])
def test_rates_that_are_apart_or_off_are_refused(monkeypatch, factors):
    with pytest.raises(ft.CertificateFailed, match="not converged"):
        changed(monkeypatch, *factors).rate()


def test_the_larger_of_two_rates_counts(monkeypatch):
    right = structured(METHODS["Focus"], EQUAL, ft.Uniform(3))._first.rate().value
    assert changed(monkeypatch, 0.97, 1).rate().value == pytest.approx(right, rel=1e-9)
