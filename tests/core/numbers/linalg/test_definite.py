"""Symmetric matrices and spectra: definiteness decided, eigenvalues enclosed."""
import sys

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fltheory.core.errors import MissingLibrary
from fltheory.core.numbers import linalg
from tests.core.numbers.linalg.matrices import F, Mod, arr, dyadic, matrices, quick, to_sympy

# ---- symmetric matrices


def test_definiteness_of_near_misses():
    tiny = F(1, 10**40)
    hilbert = arr([[F(1, i + j + 1) for j in range(12)] for i in range(12)])
    assert linalg.is_positive_definite(hilbert)
    low = linalg.smallest_eigenvalue_bound(hilbert)
    # lambda_min is near 1.05e-16: beyond a float test, not beyond this one.
    eye = linalg.identity(12, F(1))
    assert not linalg.is_positive_definite(hilbert - F(11, 10**17) * eye, strict=False)
    assert linalg.is_positive_definite(hilbert - F(10, 10**17) * eye)
    assert low <= F(11, 10**17)
    gram = arr([[1, 1], [1, 1]], F)
    assert not linalg.is_positive_definite(gram)
    assert linalg.is_positive_definite(gram, strict=False)
    gram[1, 1] += tiny
    assert linalg.is_positive_definite(gram)
    gram[1, 1] -= 2 * tiny
    assert not linalg.is_positive_definite(gram, strict=False)


@pytest.mark.parametrize(
    ("rows", "definite", "semidefinite"),
    [
        ([[0]], False, True),
        ([[1]], True, True),
        ([[-1]], False, False),
        ([[0, 1], [1, 0]], False, False),
        ([[0, 0], [0, -1]], False, False),
        # Leading minors 0, 0 and 0, 0, 0 >= 0, yet indefinite: leading minors alone do not decide PSD.
        ([[0, 0], [0, 1]], False, True),
        ([[0, 0, 0], [0, 0, 1], [0, 1, 0]], False, False),
        ([[0, 0, 1], [0, 1, 0], [1, 0, 1]], False, False),
        ([[1, 1, 1], [1, 1, 2], [1, 2, 1]], False, False),
        ([[1, 1, 0], [1, 1, 0], [0, 0, 5]], False, True),
        ([[2, -1, -1], [-1, 2, -1], [-1, -1, 2]], False, True),
        # Nonnegative entries and a dominant diagonal but for one row.
        ([[4, 3, 3], [3, 4, -3], [3, -3, 4]], False, False),
    ],
)
def test_definiteness_cases(rows, definite, semidefinite):
    A = arr(rows)
    assert linalg.is_positive_definite(A) is definite
    assert linalg.is_positive_definite(A, strict=False) is semidefinite
    assert linalg.is_positive_definite(np.array(rows, dtype=float), strict=False) is semidefinite
    assert linalg.is_positive_definite(A * F(1, 3), strict=False) is semidefinite


@quick
@given(matrices(largest=5), st.lists(st.sampled_from([-1, 0, 1, 1, 1]), min_size=5, max_size=5))
def test_definiteness_matches_inertia(B, signs):
    """B S B^T with signs S, often singular; sympy decides through its characteristic polynomial."""
    A = linalg.matmul(B * np.array(signs[: B.shape[1]], dtype=object), B.T)
    coefficients = to_sympy(A).charpoly().all_coeffs()
    # All roots are real: all are >= 0 just when the signs alternate weakly.
    alternating = [c * (-1) ** k for k, c in enumerate(coefficients)]
    assert linalg.is_positive_definite(A, strict=False) is all(c >= 0 for c in alternating)
    assert linalg.is_positive_definite(A) is all(c > 0 for c in alternating)


def test_definiteness_refuses():
    with pytest.raises(ValueError, match=r"\(1, 0\).*symmetric"):
        linalg.is_positive_definite(arr([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="square"):
        linalg.is_positive_definite(np.ones((1, 2)))
    with pytest.raises(ValueError, match="finite"):
        linalg.is_positive_definite(np.array([[np.inf]]))
    with pytest.raises(TypeError, match="not rational"):
        linalg.is_positive_definite(arr([[1]], Mod))
    assert linalg.is_positive_definite(np.empty((0, 0), dtype=object))


def test_large_dyadic_matrices_are_decided():
    B = dyadic(np.random.default_rng(1), 34, bits=30)
    A = linalg.matmul(B, B.T)  # 60-bit numerators over powers of two
    assert linalg.is_positive_definite(A)
    assert linalg.is_positive_definite(A, strict=False)
    A[33] = A[:, 33] = A[32]
    A[33, 33] = A[32, 32]
    assert not linalg.is_positive_definite(A)
    assert linalg.is_positive_definite(A, strict=False)
    A[33, 33] -= F(1, 2**200)
    assert not linalg.is_positive_definite(A, strict=False)


@quick
@given(matrices(square=True, largest=5), st.integers(-300, 300))
def test_eigenvalue_bounds_enclose_and_are_close(B, exponent):
    A = (B + B.T) * F(10) ** exponent
    high, low = linalg.largest_eigenvalue_bound(A), linalg.smallest_eigenvalue_bound(A)
    unit = linalg.identity(len(A), F(1))
    assert linalg.is_positive_definite(high * unit - A, strict=False)
    assert linalg.is_positive_definite(A - low * unit, strict=False)
    margin = F(len(A), 10**11) * max(abs(x) for x in A.flat)
    if margin:
        assert not linalg.is_positive_definite((high - margin) * unit - A, strict=False)
        assert not linalg.is_positive_definite(A - (low + margin) * unit, strict=False)


def test_simple_eigenvalues_are_met_exactly():
    A = arr([[2, 1], [1, 2]])
    assert linalg.largest_eigenvalue_bound(A) == 3
    assert linalg.smallest_eigenvalue_bound(A) == 1
    laplacian = arr([[F(2, 3) if i == j else F(-1, 3) for j in range(3)] for i in range(3)])
    assert linalg.smallest_eigenvalue_bound(laplacian) == 0
    assert linalg.largest_eigenvalue_bound(laplacian) == 1
    assert linalg.largest_eigenvalue_bound(np.zeros((2, 2))) == 0
    assert linalg.largest_eigenvalue_bound(A, np.float64(5)) == 3
    golden = linalg.largest_eigenvalue_bound(arr([[1, 1], [1, 0]]), digits=14)
    assert golden * golden > golden + 1 and golden < F(1618033988750, 10**12)
    for digits in (0, 15, 2.5):
        with pytest.raises(ValueError, match="1 to 14"):
            linalg.largest_eigenvalue_bound(A, digits)
    with pytest.raises(ValueError, match="empty"):
        linalg.smallest_eigenvalue_bound(np.empty((0, 0), dtype=object))


# ---- spectra


@quick
@given(matrices(square=True, largest=4))
def test_radius_encloses_the_roots(A):
    pytest.importorskip("flint")
    low, high = linalg.charpoly_radius(A)
    size = max(1, max(abs(x) for x in A.flat))
    assert 0 <= low <= high <= low + size * F(1, 10**12)
    x = sympy.Symbol("x")
    roots = sympy.Poly(to_sympy(A).charpoly(x).as_expr(), x).sqf_part().nroots(n=30, maxsteps=200)
    radius = max(abs(root) for root in roots)
    slack = sympy.Float("1e-20", 30) * int(size)
    assert sympy.Rational(low.numerator, low.denominator) <= radius + slack
    assert sympy.Rational(high.numerator, high.denominator) >= radius - slack


def test_radius_of_hard_cases():
    pytest.importorskip("flint")
    third = linalg.identity(6, F(1)) * F(1, 3)
    for k in range(5):
        third[k, k + 1] = F(1)  # one Jordan block: floats lose ten digits here
    low, high = linalg.charpoly_radius(third)
    assert low <= F(1, 3) <= high and high - low < F(1, 10**15)
    assert linalg.charpoly_radius(arr([[0, 1], [0, 0]])) == (0, 0)
    low, high = linalg.charpoly_radius(np.array([[0.0, -0.5], [0.5, 0.0]]))
    assert low <= F(1, 2) <= high
    low, high = linalg.charpoly_radius(arr([[1, 1], [1, 0]]), bits=400)
    assert low * low < low + 1 and high * high > high + 1 and high - low < F(1, 10**100)


def test_radius_leaves_the_precision_alone():
    flint = pytest.importorskip("flint")
    before = flint.ctx.prec
    linalg.charpoly_radius(arr([[1, 1], [1, 0]]), bits=200)
    assert flint.ctx.prec == before


def test_radius_refuses():
    pytest.importorskip("flint")
    with pytest.raises(ValueError, match="square"):
        linalg.charpoly_radius(np.ones((1, 2)))
    with pytest.raises(ValueError, match="d >= 1"):
        linalg.charpoly_radius(np.empty((0, 0), dtype=object))
    with pytest.raises(ValueError, match="bits"):
        linalg.charpoly_radius(np.ones((1, 1)), bits=1)


def test_without_flint_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(MissingLibrary, match=r"flint is not installed.*characteristic polynomials.*pip install python-flint"):
        linalg.charpoly_radius(arr([[1]]))
    for work in (linalg.to_fmpq_matrix, linalg.rref, linalg.inverse, linalg.is_positive_definite, linalg.determinant):
        with pytest.raises(MissingLibrary, match="exact matrices"):
            work(arr([[1]]))
    assert linalg.matmul(arr([[F(1, 2)]]), arr([[F(1, 3)]]))[0, 0] == F(1, 6)  # problems are declared all the same
    assert linalg.solve(np.eye(2), np.ones(2)).tolist() == [1, 1]
