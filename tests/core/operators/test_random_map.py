"""Exact enumerations skip zeros and clear denominators: the same numbers as the plain sum over the outcomes."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.scalars import RATIONAL, Field, fraction
from fltheory.derivation import derive
from tests.algorithms.instances import quadratic


def enumeration(domain=RATIONAL, lr="1/7"):
    (mix,) = derive(ft.Focus(lr, 2), quadratic()[0], ft.Bernoulli(("1/2", "1/3", 1)), noise=1, domain=domain).moments.mixtures
    assert not mix.featured
    return mix


@pytest.fixture(scope="module")
def exact():
    return enumeration()


def form(size):
    return RATIONAL.array(np.array([[(3 * a * b + a + b) % 7 - 3 for b in range(size)] for a in range(size)])) / 6


@pytest.mark.parametrize("extra", [0, 1])
def test_push_is_the_sum_over_the_outcomes(exact, extra):
    size = exact.size + extra
    A, X = exact.parts[:, :, :size], form(size)
    plain = sum(q * (a @ X @ a.T) for q, a in zip(exact.first, A, strict=True))
    assert (exact.push(X, size) == plain).all()


def test_pull_is_its_adjoint(exact):
    X, V = form(exact.size), form(exact.size).T
    assert (exact.push(X) * V).sum() == (X * exact.pull(V)).sum()


def test_exact_numbers_agree_with_floats(exact):
    X = form(exact.size)
    floats = enumeration(ft.FLOAT).push(np.array([[float(v) for v in row] for row in X]))
    assert np.allclose([[float(v) for v in row] for row in exact.push(X)], floats, rtol=1e-12)
    noise = enumeration(ft.FLOAT).noise_square()
    assert np.allclose([[float(v) for v in row] for row in exact.noise_square()], noise, rtol=1e-12)


def test_symbols_take_the_plain_route():
    k = Field("eta")
    mix = enumeration(k, k.symbols[0])
    X = form(mix.size)
    pushed = mix.push(k.array(np.array([[fraction(v) for v in row] for row in X], dtype=object)))
    at = [v.substitute(eta=Q(1, 7)) for v in pushed.reshape(-1)]
    assert all(a == fraction(b) for a, b in zip(at, enumeration().push(X).reshape(-1), strict=True))
