"""Arnoldi's method for a block of starts, on maps whose eigenvalues are known."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.operators.large import krylov
from tests.core.operators.large.cases import EQUAL, METHODS, structured

VALUES = np.array([0.9, -0.8, 0.7, 0.5, 0.3, 0.1])
FRAME = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]


def product(V):
    return V @ FRAME.T * VALUES @ FRAME        # rows v -> A v of the symmetric A with these eigenvalues


def test_every_start_has_the_largest_mode_that_it_holds():
    both = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0]]) @ FRAME
    all_, some = krylov.ritz(product, both, 6)
    assert all_.value == pytest.approx(0.9, abs=1e-14) and some.value == pytest.approx(0.7, abs=1e-14)
    assert some.ghosts == 2 and some.weight > 0.1            # two larger ones lie in the space, and not in this start
    for found in (all_, some):
        v = found.vector
        assert np.linalg.norm(v) == pytest.approx(1) and np.linalg.norm(product(v.real[None])[0] - found.value * v.real) < 1e-13


@pytest.mark.parametrize("second", [np.zeros(6), FRAME.T @ VALUES, 2 * np.ones(6) @ FRAME])
def test_dependent_and_empty_starts_close_the_space(second):
    first, other = krylov.ritz(product, np.stack([np.ones(6) @ FRAME, second]), 50)
    assert first.value == pytest.approx(0.9, abs=1e-13) and first.residual < 1e-12
    assert other.rate == (0 if not second.any() else pytest.approx(0.9, abs=1e-13))
    assert first.steps <= 6


def test_the_projected_map_is_that_of_the_vectors():
    rng = np.random.default_rng(1)
    A, starts = rng.standard_normal((2, 40, 40))
    space = krylov.Shared(starts[:2], 12)
    for _ in range(9):
        space.grow(lambda V: V @ A.T, 2)
    V, H = space.V[:space.count], space.H[:space.count, :space.seen]
    assert (space.seen, space.count) == (18, 20)
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
