"""The ends of exact matrix work: bad conditioning, 1 x 1 and large, singular, float data, huge denominators."""
import numpy as np
import pytest

from fltheory.core.numbers import linalg
from tests.core.numbers.linalg.matrices import F, arr, dyadic, fmpq, same

pytest.importorskip("flint")
KINDS = {"Fraction": F, "flint": fmpq}


def hilbert(d):
    return arr([[F(1, i + j + 1) for j in range(d)] for i in range(d)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 7, 30])
def test_badly_conditioned_systems_are_solved_exactly(kind, d):
    A = arr(hilbert(d), KINDS[kind])  # condition 1e8 at d = 6, 1e45 at d = 30
    b = A[:, 0] * 3 - A[:, -1]
    x = linalg.solve(A, b)
    expected = [F(3 * (k == 0) - (k == d - 1)) for k in range(d)]
    assert linalg.to_fractions(x).tolist() == expected and type(x[0]) is type(A[0, 0])
    assert same(linalg.to_fractions(linalg.inverse(linalg.inverse(A))), hilbert(d))
    assert linalg.rank(A) == d and linalg.nullspace(A)[0].shape == (d, 0)
    assert linalg.is_positive_definite(A) and not linalg.is_positive_definite(A - A[0, 0] * linalg.identity(d, A), strict=True)


@pytest.mark.parametrize("gap", [F(0), F(1, 10**500), F(-1, 10**500)])
def test_huge_denominators_decide(gap):
    A = arr([[F(1), F(1)], [F(1), 1 + gap]])
    assert linalg.is_positive_definite(A) is (gap > 0)
    assert linalg.is_positive_definite(A, strict=False) is (gap >= 0)
    assert linalg.determinant(A) == gap and linalg.rank(A) == 1 + (gap != 0)
    if gap:
        assert linalg.solve(A, arr([[F(1), F(1)]])[0]).tolist() == [1, 0]
        assert linalg.inverse(A)[1, 1] == 1 / gap
    else:
        with pytest.raises(np.linalg.LinAlgError, match="rank 1 of 2"):
            linalg.solve(A, A)


def test_singular_and_indefinite_matrices_of_every_rank():
    rng = np.random.default_rng(4)
    for d, r in ((1, 0), (5, 0), (5, 2), (20, 1), (20, 19), (40, 13)):
        B = arr(rng.integers(-3, 4, (d, max(r, 1))).tolist(), F)[:, :r]
        A = linalg.matmul(B, B.T) if r else arr([[F(0)] * d for _ in range(d)])
        found = linalg.rank(A)
        assert found <= r and linalg.nullspace(A)[0].shape == (d, d - found)
        assert linalg.is_positive_definite(A, strict=False) and linalg.is_positive_definite(A) is (found == d)
        if d > 1:
            A[0, 1] = A[1, 0] = A[0, 0] + A[1, 1] + 1
            assert not linalg.is_positive_definite(A, strict=False)


def test_floats_are_taken_at_their_binary_values():
    A = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    assert linalg.is_positive_definite(A) and linalg.smallest_eigenvalue_bound(A) < F(1, 10**15)
    assert linalg.is_positive_definite(np.array([[0.1, 0.3], [0.3, 0.9]])) is (F(0.1) * F(0.9) > F(0.3) ** 2)
    assert linalg.charpoly_radius(np.diag([1e300, 1e-300]))[1] >= F(1e300)
    assert linalg.determinant(linalg.to_fractions(A)) == F(1, 2**52)


def test_unequal_scales_do_not_hide_a_sign():
    A = arr([[F(10) ** 200, F(0), F(1)], [F(0), F(1, 10**200), F(0)], [F(1), F(0), F(1, 10**200)]])
    assert linalg.is_positive_definite(A, strict=False) and not linalg.is_positive_definite(A)
    A[2, 2] -= F(1, 10**900)
    assert not linalg.is_positive_definite(A, strict=False)


def test_large_products_and_powers_agree_with_plain_sums():
    A = dyadic(np.random.default_rng(3), 25)
    plain = np.array([[sum(a * b for a, b in zip(row, column, strict=True)) for column in A.T] for row in A], dtype=object)
    assert same(linalg.matmul(A, A), plain) and same(linalg.power(A, 2), plain)
    whole, below = linalg.cleared(A)
    assert all(type(v) is int for v in whole.flat) and same(linalg.to_fractions(whole) / below, A)
