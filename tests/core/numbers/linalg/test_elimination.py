"""Elimination over every kind of scalar, against sympy."""
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fltheory.core.numbers import linalg
from tests.core.numbers.linalg.matrices import F, Mod, Ratio, arr, fmpq, from_sympy, matrices, quick, same, to_sympy


@quick
@given(matrices())
def test_rref_rank_nullspace_match_sympy(A):
    R, pivots = linalg.rref(A)
    expected, expected_pivots = to_sympy(A).rref()
    assert same(R, from_sympy(expected)) and pivots == tuple(expected_pivots)
    assert linalg.rank(A) == len(pivots)
    N, free = linalg.nullspace(A)
    assert sorted(pivots + free) == list(range(A.shape[1]))
    basis = to_sympy(A).nullspace()
    assert N.shape == (A.shape[1], len(basis))
    for column, vector in enumerate(basis):
        assert same(N[:, column : column + 1], from_sympy(vector))
    assert same(N[list(free)], linalg.identity(len(free), F(1)))
    assert all(x == 0 for x in linalg.matmul(A, N).flat)


@quick
@given(matrices(square=True), st.sampled_from(["one", "many"]))
def test_solve_inverse_determinant_match_sympy(A, form):
    d = len(A)
    det = to_sympy(A).det()
    assert linalg.determinant(A) == F(int(det.p), int(det.q))
    b = arr([[F(i - j, j + 1) for j in range(3)] for i in range(d)])
    b = b[:, 0] if form == "one" else b
    if det == 0:
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            linalg.solve(A, b)
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            linalg.inverse(A)
        return
    x = linalg.solve(A, b)
    assert same(linalg.matmul(A, x), b)
    assert same(linalg.matmul(A, linalg.inverse(A)), linalg.identity(d, F(1)))


@quick
@given(matrices())
def test_flint_scalars_give_the_same_answers(A):
    pytest.importorskip("flint")
    B = arr(A, fmpq)
    R, pivots = linalg.rref(B)
    assert same(linalg.to_fractions(R), linalg.rref(A)[0]) and pivots == linalg.rref(A)[1]
    N, free = linalg.nullspace(B)
    assert same(linalg.to_fractions(N), linalg.nullspace(A)[0]) and free == linalg.nullspace(A)[1]
    assert linalg.rank(B) == linalg.rank(A)
    S, T = linalg.matmul(A, A.T), linalg.matmul(B, B.T)
    assert same(linalg.to_fractions(T), S)
    assert same(linalg.to_fractions(linalg.matmul(B, B[0])), linalg.matmul(A, A[0]))
    assert same(linalg.to_fractions(linalg.power(T, 3)), linalg.power(S, 3))
    det = linalg.determinant(S)
    assert linalg.determinant(T) == fmpq(det)
    if det:
        assert same(linalg.to_fractions(linalg.solve(T, B[:, 0])), linalg.solve(S, A[:, 0]))
        assert same(linalg.to_fractions(linalg.inverse(T)), linalg.inverse(S))
    else:
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            linalg.solve(T, B[:, 0])


@quick
@given(st.lists(st.integers(0, 100), min_size=9, max_size=9))
def test_modular_scalars(values):
    A = arr(np.reshape(values, (3, 3)).tolist(), Mod)
    det = int(sympy.Matrix(3, 3, values).det()) % Mod.p
    assert linalg.determinant(A) == det
    N, _ = linalg.nullspace(A)
    assert all(x == 0 for x in linalg.matmul(A, N).flat)
    if det:
        assert same(linalg.matmul(A, linalg.inverse(A)), arr(np.eye(3, dtype=int).tolist(), Mod))
    else:
        assert N.shape[1] >= 1


def test_rational_function_scalars():
    t = Ratio(Ratio.t)
    A = arr([[t, 1, 0], [1, t, 1], [0, 1, t]], Ratio)
    assert linalg.determinant(A) == t * t * t - t * 2
    x = linalg.solve(A, arr([[1], [0], [0]], Ratio))
    assert same(linalg.matmul(A, x), arr([[1], [0], [0]], Ratio))
    N, free = linalg.nullspace(arr([[t, t * t], [1, t]], Ratio))
    assert free == (1,) and N[0, 0] == Ratio(0) - t


def test_a_zero_pivot_is_searched_for():
    A = arr([[0, 2], [3, 0]], Mod)
    assert same(linalg.solve(A, arr([[2], [3]], Mod)), arr([[1], [1]], Mod))
    assert linalg.determinant(A) == -6


def test_ints_are_divided_exactly():
    x = linalg.solve(np.array([[2, 0], [0, 3]]), np.array([1, 1]))
    assert x.tolist() == [F(1, 2), F(1, 3)]
    assert type(linalg.determinant(np.array([[2, 1], [1, 2]]))) is Fraction
    # Ints beside other scalars take their type: 1 / 2 must not become a float, nor 1 stay an int.
    mixed = arr([[Mod(2), 1], [0, 4]])
    assert same(linalg.inverse(mixed), linalg.inverse(arr(mixed, Mod)))
    assert linalg.solve(arr([[Mod(2)]]), arr([[F(1, 2)]])[0])[0] == Mod(1) / 4


def test_fractions_meet_flint_scalars():
    flint = pytest.importorskip("flint")
    A = arr([[flint.fmpq(1, 2), F(1, 3)], [flint.fmpz(1), 2]])
    expected = linalg.inverse(linalg.to_fractions(A))
    assert same(linalg.to_fractions(linalg.inverse(A)), expected)
    x = linalg.solve(arr([[flint.arb(3)]]), arr([[F(1, 3)]]))[0, 0]
    assert x.contains(flint.fmpq(1, 9))


def test_floats_delegate_and_never_mix():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(5, 5)), rng.normal(size=(5, 2))
    assert np.array_equal(linalg.solve(A, b), np.linalg.solve(A, b))
    assert np.allclose(linalg.inverse(A) @ A, np.eye(5))
    assert np.isclose(linalg.determinant(A), np.linalg.det(A))
    assert linalg.solve(A.astype(object), b).dtype == np.float64
    with pytest.raises(np.linalg.LinAlgError):
        linalg.solve(np.ones((2, 2)), np.ones(2))
    with pytest.raises(TypeError, match="floats stand beside exact"):
        linalg.solve(A[:2, :2], arr([[F(1), F(2)]])[0])
    with pytest.raises(TypeError, match="floats stand beside exact"):
        linalg.determinant(arr([[F(1), 0.5], [0, 1]]))
    for decide in (linalg.rref, linalg.rank, linalg.nullspace):
        with pytest.raises(TypeError, match="not decidable"):
            decide(A)


def test_empty_and_zero_matrices():
    empty = np.empty((0, 0), dtype=object)
    assert linalg.solve(empty, np.empty(0, dtype=object)).shape == (0,)
    assert linalg.inverse(empty).shape == (0, 0)
    assert linalg.determinant(empty) == 1
    assert linalg.rank(np.zeros((2, 3), dtype=int)) == 0
    N, free = linalg.nullspace(np.empty((0, 2), dtype=object))
    assert N.tolist() == [[1, 0], [0, 1]] and free == (0, 1)
    N, free = linalg.nullspace(np.empty((2, 0), dtype=object))
    assert N.shape == (0, 0) and free == ()
    with pytest.raises(np.linalg.LinAlgError, match="rank 0 of 1"):
        linalg.solve(arr([[0]], Mod), arr([[1]], Mod))


def test_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        linalg.inverse(np.ones((2, 3)))
    with pytest.raises(ValueError, match="do not fit"):
        linalg.solve(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="two-dimensional"):
        linalg.rref(np.arange(3))


def test_intervals():
    flint = pytest.importorskip("flint")
    exact = arr([[F(0), F(1, 3)], [F(2), F(1, 7)]])
    A = arr(exact, lambda x: flint.arb(fmpq(x)))
    x = linalg.inverse(A)
    for got, want in zip(x.flat, linalg.inverse(exact).flat, strict=True):
        assert got.contains(fmpq(want)) and got.rad() < 1e-12
    assert linalg.determinant(A).contains(flint.fmpq(-2, 3))
    # A tempting but unusable pivot: the ball of the corner contains zero.
    A[0, 0] = flint.arb(0, 1e-3)
    assert all(x.is_finite() for x in linalg.solve(A, A[:, 0]))


def test_intervals_never_guess_a_rank():
    flint = pytest.importorskip("flint")
    third = flint.arb(1) / 3
    A = arr([[third, third * 2], [third * 2, third * 4]])
    for decide in (linalg.inverse, linalg.rank, linalg.nullspace):
        with pytest.raises(np.linalg.LinAlgError, match="precision"):
            decide(A)
    assert linalg.determinant(A).contains(0)
    assert linalg.rank(arr([[1, 1], [1, 1]], flint.arb)) == 1
