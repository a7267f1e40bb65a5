"""Piecewise quadratic clients: gradients, values, and exact facts about their weighted sums."""

from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.problems.piecewise import PiecewiseQuadratic

# one client that is concave between its kinks, and one that is convex
TWO = PiecewiseQuadratic([[1, -1, 2], [0, 1, 1]], [[0, 1], [-1, 2]], [0, "1/2"], ["1/4", "3/4"])


def slope(i, y):
    """The gradients of TWO by hand."""
    first = y if y < 0 else -y if y < 1 else -1 + 2 * (y - 1)
    return [first, max(y + 1, 0) - Q(1, 2)][i]


@pytest.mark.parametrize("y", [Q(-3), Q(-1), Q(-1, 2), Q(0), Q(1, 3), Q(1), Q(5, 2)])
def test_gradients_are_exact(y):
    found = [ft.fraction(v) for v in TWO.to(ft.RATIONAL).grad(ft.RATIONAL.array(np.array([[y], [y]], dtype=object)))[:, 0]]
    assert found == [slope(0, y), slope(1, y)]
    assert np.allclose(TWO.to(ft.FLOAT).grad(np.array([[float(y)]] * 2))[:, 0], [float(v) for v in found])
    some = TWO.to(ft.RATIONAL).at(np.array([1])).grad(ft.RATIONAL.array(np.array([[y]], dtype=object)))
    assert ft.fraction(some[0, 0]) == slope(1, y)


def test_values_are_integrals_of_the_gradients():
    def value(x):
        return float(TWO.value([x]))
    for x in np.linspace(-3.01, 3, 25):
        assert abs((value(x + 1e-5) - value(x - 1e-5)) / 2e-5 - float(TWO.gradient([x])[0])) < 1e-8


def test_constants_and_torch():
    assert (TWO.constants.L, TWO.constants.mu, TWO.constants.exact) == (2, -1, True)
    torch = pytest.importorskip("torch")
    y = torch.tensor([[[-0.5], [0.25]], [[2.5], [2.5]]], dtype=torch.float64)
    assert np.allclose(TWO.to(ft.Torch()).grad(y).numpy(), TWO.to(ft.FLOAT).grad(y.numpy()))


def test_the_least_value_is_the_least_on_a_grid():
    best, low = TWO.least()
    near = min(ft.fraction(TWO.value([Q(k, 60)])) for k in range(-300, 300))
    assert low == ft.fraction(TWO.value([best])) <= near <= low + Q(1, 1000)
    assert TWO.least([1, 0])[1] == 0 - Q(3, 4)  # f_1 falls by 1/2 to y = 1, and by 1/4 to its minimum at 3/2
    assert PiecewiseQuadratic([[1, -1]], [[0]], [0]).least() is None
    assert PiecewiseQuadratic([[0, 0]], [[0]], [1]).least() is None
    assert PiecewiseQuadratic([[0, 1]], [[0]], [0]).least()[1] == 0


@pytest.mark.parametrize("beta2", [1, 2, 5, 100])
def test_dissimilarity_is_the_largest_excess(beta2):
    w, found = [Q(1, 4), Q(3, 4)], TWO.dissimilarity([Q(1, 4), Q(3, 4)], beta2)

    def excess(y):
        g = [slope(0, y), slope(1, y)]
        return sum(a * v * v for a, v in zip(w, g, strict=True)) - beta2 * sum(a * v for a, v in zip(w, g, strict=True)) ** 2
    far = max(excess(Q(k)) for k in (-10**6, 10**6))
    assert (found is None) == (far > 10**6)
    if found is not None:
        near = max(excess(Q(k, 60)) for k in range(-600, 600))
        assert near <= found <= near + Q(1, 10)


def test_calm_noise_vanishes_where_it_should():
    p = PiecewiseQuadratic([[1, 1]], [[0]], [0], calm=[3]).to(ft.RATIONAL)
    for y, heard in ((3, 0), (Q(7, 2), Q(1, 2)), (9, 1), (-1, 1)):
        at = ft.RATIONAL.array(np.array([[y]], dtype=object))
        noise = ft.RATIONAL.array(np.array([[2]], dtype=object))
        assert ft.fraction((p.grad(at, noise) - p.grad(at))[0, 0]) == 2 * heard


@pytest.mark.parametrize(("slopes", "knots", "b"), [
    ([[1]], [[]], [0]), ([[1, 2, 3]], [[1, 1]], [0]), ([[1, 2]], [[1, 2]], [0]), ([[1, 2]], [[0]], [0, 1]),
    ([[1, float("nan")]], [[0]], [0]),
])
def test_wrong_shapes_are_refused(slopes, knots, b):
    with pytest.raises(BadInput):
        PiecewiseQuadratic(slopes, knots, b)
