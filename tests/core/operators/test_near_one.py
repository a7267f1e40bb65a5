"""Floats next to an eigenvalue 1: what they would lose is decided in rationals."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.operators import operator as module

P = ft.Quadratic([[[1.0]], [[3.0]]], [[0.0], [1.0]])
TINY = [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-18]


def both_ways(make, noise=None):
    """(floats, rationals) of one setting, both about the same binary numbers."""
    return ft.derive(*make, noise=noise), ft.derive(*make, noise=noise, domain=ft.RATIONAL)


def agree(a, b, digits=1e-9):
    assert np.asarray(a, dtype=float) == pytest.approx(np.array(b, dtype=float), rel=digits, abs=0)


@pytest.mark.parametrize("lr", TINY)
def test_tiny_steps_keep_their_fixed_point_and_floor(lr):
    floats, exact = both_ways((ft.FedAvg(lr, 3), P, ft.Bernoulli(.5)), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x)
    agree(floats.floor(), exact.floor())
    agree(floats.stationary().covariance, exact.stationary().covariance)
    agree(floats.mean_gradient_square(P, None, None), exact.mean_gradient_square(P, None, None))


@pytest.mark.parametrize("lr", [1e-9, 1e-12])
@pytest.mark.parametrize("method", [ft.Scaffold, ft.Focus])
def test_methods_with_memories_too(method, lr):
    floats, exact = both_ways((method(lr, 2), P, ft.Uniform(1)), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x)
    agree(floats.floor(), exact.floor())


@pytest.mark.parametrize("p", [1e-6, 1e-9, 1e-12])
def test_clients_that_hardly_ever_come(p):
    floats, exact = both_ways((ft.FedAvg(.1, 1), P, ft.Bernoulli(p)), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x)
    agree(floats.floor(), exact.floor())


@pytest.mark.parametrize("p", [1e-6, 1e-9])
def test_coins_that_hardly_ever_fall(p):
    floats, exact = both_ways((ft.ProxSkip(.1, p=p), P, ft.Coin(p)), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x)
    agree(floats.floor(), exact.floor())


@pytest.mark.parametrize("stay", ["0.999999", "0.999999999999"])
def test_chains_that_hardly_ever_move(stay):
    law = ft.Chain(sets=((0,), (1,)), matrix=[[Q(stay), 1 - Q(stay)], [1 - Q(stay), Q(stay)]])
    floats, exact = both_ways((ft.FedAvg(.1, 1), P, law), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x)
    agree(floats.floor(), exact.floor())


@pytest.mark.parametrize("least", [1e-7, 1e-9, 1e-12])
def test_flat_directions_that_are_not_quite_flat(least):
    p = ft.Quadratic([np.diag([1.0, least]), np.diag([2.0, 3 * least])], [[0.0, 0.0], [1.0, 1.0]])
    floats, exact = both_ways((ft.FedAvg(.1, 2), p, ft.Full()), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x)
    agree(floats.floor(), exact.floor())


def test_a_step_next_to_the_largest_stable_one():
    """x' = (1 - lr) x: a floor just below lr = 2, none at it."""
    one = ft.Quadratic([[[1.0]]], [[0.0]])
    floats, exact = both_ways((ft.FedAvg(np.nextafter(2.0, 0), 1), one, ft.Full()), noise=1.0)
    agree(floats.floor(), exact.floor())
    assert ft.derive(ft.FedAvg(2.0, 1), one, ft.Full(), noise=1.0).floor() == np.inf
    assert not ft.derive(ft.FedAvg(2.0, 1), one, ft.Full(), noise=1.0).stable


def test_what_is_too_large_for_rationals_stays_in_floats(monkeypatch):
    monkeypatch.setattr(module, "DECIDED", 0)
    floats, exact = both_ways((ft.FedAvg(1e-8, 1), P, ft.Full()), noise=1.0)
    agree(floats.fixed_point().x, exact.fixed_point().x, 1e-6)
    agree(floats.floor(), exact.floor(), 1e-6)
