"""Products, powers and conversions over every kind of scalar."""
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.core.numbers import linalg
from tests.core.numbers.linalg.matrices import F, Mod, Ratio, arr, from_sympy, matrices, quick, same, to_sympy

# ---- products


def test_identity_follows_its_model():
    assert linalg.identity(2, np.zeros((3, 3))).dtype == np.float64
    assert linalg.identity(2, 1.5).dtype == np.float64
    assert all(type(x) is Fraction for x in linalg.identity(2, F(7)).flat)
    assert same(linalg.identity(3, Mod(5)), arr(np.eye(3, dtype=int), Mod))
    assert same(linalg.identity(2, arr([[Ratio.t]], Ratio)), arr([[1, 0], [0, 1]], Ratio))
    assert linalg.identity(2, np.array([3])).tolist() == [[1, 0], [0, 1]]
    assert linalg.identity(0, np.empty((0, 0), dtype=object)).shape == (0, 0)
    with pytest.raises(ValueError, match="-1"):
        linalg.identity(-1, 1)
    with pytest.raises(ValueError, match="empty"):
        linalg.identity(2, np.empty((0, 0), dtype=object))


@quick
@given(matrices(square=True, largest=4), st.integers(0, 6))
def test_power_is_repeated_product(A, k):
    assert same(linalg.power(A, k), from_sympy(to_sympy(A) ** k))


def test_power_refuses_and_does_not_share_memory():
    A = arr([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"-1.*at least 0.*inverse"):
        linalg.power(A, -1)
    for k in (1.0, True):
        with pytest.raises(TypeError, match="integer"):
            linalg.power(A, k)
    with pytest.raises(ValueError, match="square"):
        linalg.power(A[:1], 2)
    B = linalg.power(A, 1)
    B[0, 0] = 9
    assert A[0, 0] == 1


def test_int64_products_do_not_wrap():
    A = np.full((2, 2), 2**40)
    assert linalg.matmul(A, A)[0, 0] == 2**81
    assert linalg.power(A, 3)[0, 0] == 2**122


def test_matmul_shapes_and_kinds():
    A = arr([[1, 2, 3], [4, 5, 6]], Mod)
    assert same(linalg.matmul(A, arr([[1], [1], [1]], Mod)), arr([[6], [15]], Mod))
    assert same(linalg.matmul(A, A[0]), arr([[14, 32]], Mod)[0])
    assert linalg.matmul(np.ones((2, 3)), np.ones((3, 1), dtype=int)).dtype == np.float64
    assert linalg.matmul(np.empty((2, 0), object), np.empty((0, 3), object)).tolist() == [[0] * 3] * 2
    with pytest.raises(ValueError, match="do not fit"):
        linalg.matmul(A, A)


def test_trace():
    assert linalg.trace(arr([[1, 2], [3, 4]], Mod)) == 5
    assert linalg.trace(np.eye(3)) == 3.0
    assert linalg.trace(np.empty((0, 0), object)) == 0
    with pytest.raises(ValueError, match="square"):
        linalg.trace(np.ones((1, 2)))


# ---- conversions


def test_to_fractions_is_exact():
    values = [1, np.int64(2), F(1, 3), 0.1, np.float32(0.1)]
    assert linalg.to_fractions(np.array(values, dtype=object)).tolist() == [
        1,
        2,
        F(1, 3),
        F(0.1),
        F(float(np.float32(0.1))),
    ]
    with pytest.raises(TypeError, match="str"):
        linalg.to_fractions(np.array(["1"], dtype=object))


def test_flint_conversions_round_trip():
    flint = pytest.importorskip("flint")
    A = arr([[F(1, 3), 2, 0.5], [flint.fmpq(1, 7), flint.fmpz(4), np.int64(5)]])
    M = linalg.to_fmpq_matrix(A)
    assert same(linalg.to_fractions(np.array(M.tolist(), dtype=object)), linalg.to_fractions(A))
