import itertools
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Field
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.ridge import CONVENTIONS, Ridge
from tests.core.problems.helpers import TORCH, cohort_agrees, differences, fractions, point, rationals, same

quick = settings(derandomize=True, deadline=None, max_examples=20)
A = [fractions(rationals((m, 2), seed=m)) for m in (1, 3, 4)]
Y = [fractions(rationals(m, seed=10 + m)) for m in (1, 3, 4)]
REG = Q(1, 7)


def by_rows(convention, i, x):
    """f_i(x) from the definition, row by row."""
    squares = sum(((A[i][j] * x).sum() - Y[i][j]) ** 2 for j in range(len(A[i])))
    norm = (x * x).sum()
    return {"half-mean": squares / (2 * len(A[i])) + REG / 2 * norm, "half-sum": squares / 2 + REG / 2 * norm,
            "sum": squares + REG * norm}[convention]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_values_and_gradients_follow_the_definition(convention):
    p = Ridge(A, Y, REG, convention=convention)
    x = rationals(2, seed=4)
    expected = [by_rows(convention, i, fractions(x)) for i in range(3)]
    assert same(p.to(RATIONAL)._values(x), np.array(expected, dtype=object))
    f, at = p.to(FLOAT), np.array([1.0, -2])
    np.testing.assert_allclose(f.grad(np.stack([at] * 3)), differences(f._values, at), rtol=1e-7)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("size", [1, 2])
def test_minibatch_gradients_are_unbiased_exactly(convention, size):
    p = Ridge(A, Y, REG, convention=convention).to(RATIONAL)
    y = rationals((3, 2), seed=6)
    full = p.grad(y)
    for i, m in enumerate(p.sizes):
        draws = list(itertools.product(range(m), repeat=size))
        index = np.zeros((len(draws), 3, size), dtype=int)
        index[:, i] = draws
        assert same(p.grad(y, Rows(index)).sum(0)[i] / len(draws), full[i])


def test_minibatches_agree_between_arithmetics_and_ways_to_name_clients():
    import torch
    p = Ridge(A, Y, REG, convention="half-sum")
    index, who = np.array([[[0, 0], [2, 1], [3, 0]], [[0, 0], [0, 0], [1, 2]]]), np.array([0, 1, 2])
    y = rationals((2, 3, 2), seed=8)
    exact = p.to(RATIONAL).grad(y, Rows(index))
    assert same(exact, p.to(RATIONAL).at(who).grad(y, Rows(index)))
    assert same(exact, p.to(RATIONAL).at(np.array([who, who])).grad(y, Rows(index)))
    f = FLOAT.array(fractions(y))
    np.testing.assert_allclose(p.to(FLOAT).grad(f, Rows(index)), fractions(exact).astype(float), rtol=1e-13, atol=1e-13)
    t = p.to(TORCH).at(torch.as_tensor(who)).grad(torch.as_tensor(f), Rows(torch.as_tensor(index)))
    np.testing.assert_allclose(t.numpy(), fractions(exact).astype(float), rtol=1e-13, atol=1e-13)
    one = p.to(FLOAT).grad(f[:, :1], Rows(index))
    np.testing.assert_allclose(one, p.to(FLOAT).grad(np.broadcast_to(f[:, :1], f.shape), Rows(index)), rtol=1e-14)


def test_full_cohorts():
    import torch
    p = Ridge(A, Y, REG)
    who = np.array([[2, 2], [0, 1]])
    cohort_agrees(p, RATIONAL, who, rationals((2, 2, 2)), exact=True)
    cohort_agrees(p, TORCH, who, torch.as_tensor(point(8).reshape(2, 2, 2)))
    assert same(p.to(RATIONAL).at(EVERYONE).p, p.weights)


@quick
@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_the_order_of_rows_does_not_matter(seed, order):
    a, y = fractions(rationals((4, 3), seed)), fractions(rationals(4, seed + 1))
    p, q = Ridge([a], [y], 1), Ridge([a[order]], [y[order]], 1)
    assert same(p.H, q.H) and same(p.b, q.b) and same(p.offset, q.offset)


def test_conventions_are_multiples_of_each_other():
    m = len(A[2])
    mean = Ridge(A[2:], Y[2:], REG / m)
    half, full = (Ridge(A[2:], Y[2:], REG, convention=c) for c in ("half-sum", "sum"))
    assert same(m * mean.H, half.H) and same(2 * half.H, full.H) and same(2 * half.b, full.b)
    assert same(2 * half.offset, full.offset)


def test_floats_stay_floats_and_exact_stays_exact():
    exact, floats = Ridge(A, Y, REG), Ridge([FLOAT.array(a) for a in A], Y, REG)
    assert exact.native is RATIONAL and floats.native is FLOAT
    assert floats.H.dtype == np.float64
    assert Ridge(A, Y, 0.25).native is FLOAT
    np.testing.assert_allclose(floats.H, FLOAT.array(exact.H), rtol=1e-14)
    assert exact.constants.exact


def test_a_symbolic_regularisation():
    field = Field("r")
    r, = field.symbols
    p = Ridge([[[2]]], [[1]], r).to(field)
    assert p.gradient(field.array([3]))[0] == 10 + 3 * r


@pytest.mark.parametrize(("arguments", "words"), [
    (([[[1]]], [[1]], -1), ["reg", ">= 0"]),
    (([[[1]]], [[1]], [1]), ["reg", "one number"]),
    (([[[1]]], [[1, 2]], 1), ["len(y[0])"]),
    (([[[1]], [[1]]], [[1]], 1), ["len(y)"]),
    (([[[1]], [[1, 2]]], [[1], [1]], 1), ["A[1].shape"]),
    (([[[1]], np.zeros((0, 1))], [[1], []], 1), ["A[1].shape", "at least one row"]),
    (([], [], 1), ["at least one client"]),
    (([[1, 2]], [[1, 2]], 1), ["A[0].shape"]),
    (([[[float("nan")]]], [[1]], 1), ["finite"]),
    (([np.array([[np.inf]])], [[1]], 1), ["finite"]),
    ((3, [[1]], 1), ["A"]),
])
def test_bad_data_are_refused(arguments, words):
    with pytest.raises(BadInput) as error:
        Ridge(*arguments)
    assert all(w in str(error.value) for w in words)


def test_other_refusals():
    with pytest.raises(BadInput, match="half-mean, half-sum, sum"):
        Ridge(A, Y, 1, convention="mean")
    with pytest.raises(BadInput, match=r"Rows\.index"):
        Ridge(A, Y, 1).to(FLOAT).grad(np.zeros((3, 2)), Rows(np.ones((3, 1), dtype=int)))
