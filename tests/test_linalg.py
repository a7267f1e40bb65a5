import math
import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory import linalg

F = Fraction
quick = settings(derandomize=True, deadline=None, max_examples=50)


class Mod:
    """Integers modulo 101, with nothing but + - * / and ==."""

    p = 101

    def __init__(self, x):
        self.x = (x.x if isinstance(x, Mod) else x) % self.p

    def __add__(self, other):
        return Mod(self.x + Mod(other).x)

    def __sub__(self, other):
        return Mod(self.x - Mod(other).x)

    def __mul__(self, other):
        return Mod(self.x * Mod(other).x)

    def __truediv__(self, other):
        return Mod(self.x * pow(Mod(other).x, -1, self.p))

    def __eq__(self, other):
        return self.x == Mod(other).x

    __hash__ = None


class Ratio:
    """A rational function in t, with nothing but + - * / and ==."""

    field, t = sympy.field("t", sympy.QQ)

    def __init__(self, x):
        self.x = x.x if isinstance(x, Ratio) else self.field(x)

    def __add__(self, other):
        return Ratio(self.x + Ratio(other).x)

    def __sub__(self, other):
        return Ratio(self.x - Ratio(other).x)

    def __mul__(self, other):
        return Ratio(self.x * Ratio(other).x)

    def __truediv__(self, other):
        return Ratio(self.x / Ratio(other).x)

    def __eq__(self, other):
        return self.x == Ratio(other).x

    __hash__ = None


def arr(rows, kind=None):
    rows = [list(row) for row in rows]
    out = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[i, j] = x if kind is None else kind(x)
    return out


def fmpq(x):
    import flint

    return flint.fmpq(F(x).numerator, F(x).denominator)


def same(A, B):
    return A.shape == B.shape and all(x == y for x, y in zip(A.flat, B.flat, strict=True))


def to_sympy(A):
    A = linalg.to_fractions(A)
    return sympy.Matrix(*A.shape, [sympy.Rational(x.numerator, x.denominator) for x in A.flat])


def from_sympy(M):
    return arr(
        [[F(int(M[i, j].p), int(M[i, j].q)) for j in range(M.cols)] for i in range(M.rows)], F
    ).reshape(M.rows, M.cols)


def dyadic(rng, d, bits=60):
    """Random integers of `bits` bits over powers of two, as Fractions."""
    top = 1 << bits
    numerators = [[int(rng.integers(-(2**62), 2**62)) % (2 * top) - top for _ in range(d)] for _ in range(d)]
    return arr([[F(x, 1 << int(rng.integers(0, bits))) for x in row] for row in numerators])


small = st.integers(-3, 3).map(F) | st.fractions(-4, 4, max_denominator=6)


@st.composite
def matrices(draw, square=False, largest=5):
    m = draw(st.integers(1, largest))
    n = m if square else draw(st.integers(1, largest))
    A = arr(draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=m, max_size=m)))
    if m > 1 and draw(st.booleans()):
        A[m - 1] = A[0] * 2 - A[m // 2]  # singular cases must be common
    return A


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


# ---- elimination


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
    L, D = linalg.ldl(A)
    E = linalg.identity(3, t)
    for i in range(3):
        E[i, i] = D[i]
    assert same(linalg.matmul(linalg.matmul(L, E), L.T), A)
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
    L, D = linalg.ldl(arr([[2, 1], [1, 2]], flint.arb))
    assert D[1].contains(flint.fmpq(3, 2)) and L[0, 1] == 0
    with pytest.raises(np.linalg.LinAlgError, match="permute"):
        linalg.ldl(arr([[flint.arb(0, 1), 1], [1, 2]]))


def test_intervals_never_guess_a_rank():
    flint = pytest.importorskip("flint")
    third = flint.arb(1) / 3
    A = arr([[third, third * 2], [third * 2, third * 4]])
    for decide in (linalg.inverse, linalg.rank, linalg.nullspace):
        with pytest.raises(np.linalg.LinAlgError, match="precision"):
            decide(A)
    assert linalg.determinant(A).contains(0)
    assert linalg.rank(arr([[1, 1], [1, 1]], flint.arb)) == 1


# ---- symmetric matrices


@quick
@given(matrices(square=True, largest=4))
def test_ldl_matches_sympy(B):
    A = linalg.matmul(B, B.T) + linalg.identity(len(B), F(1))
    L, D = linalg.ldl(A)
    expected_L, expected_D = to_sympy(A).LDLdecomposition(hermitian=False)
    assert same(L, from_sympy(expected_L))
    assert D.tolist() == from_sympy(expected_D).diagonal().tolist()


def test_ldl_without_pivoting_has_limits():
    L, D = linalg.ldl(arr([[1, 1, 0], [1, 1, 0], [0, 0, -2]]))
    assert D.tolist() == [1, 0, -2] and L[1, 0] == 1
    with pytest.raises(np.linalg.LinAlgError, match="pivot 0"):
        linalg.ldl(arr([[0, 1], [1, 0]]))
    with pytest.raises(ValueError, match="symmetric"):
        linalg.ldl(arr([[1, 2], [3, 4]]))
    A = np.array([[4.0, 2.0], [2.0, 3.0]])
    L, D = linalg.ldl(A)
    assert L.dtype == np.float64 and np.allclose(L * D @ L.T, A)


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
    with pytest.raises(ImportError, match=r"charpoly_radius needs python-flint.*pip install"):
        linalg.charpoly_radius(arr([[1]]))
    with pytest.raises(ImportError, match="to_fmpq_matrix"):
        linalg.to_fmpq_matrix(arr([[1]]))


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


@quick
@given(st.integers(-(10**9), 10**9), st.integers(1, 10**9))
def test_reconstruction_inverts_reduction(n, m):
    p = 2**61 - 1
    x = F(n, m)
    assert max(abs(x.numerator), x.denominator) <= math.isqrt(p // 2)
    assert linalg.rational_reconstruct(x.numerator * pow(x.denominator, -1, p), p) == x


@pytest.mark.parametrize("modulus", [2, 8, 9, 18, 30, 97, 101])
def test_reconstruction_is_complete_and_sound(modulus):
    bound = math.isqrt((modulus - 1) // 2)
    for value in range(modulus):
        expected = {
            F(n, m)
            for m in range(1, bound + 1)
            for n in range(-bound, bound + 1)
            if math.gcd(m, modulus) == 1 and (n - m * value) % modulus == 0
        }
        assert len(expected) <= 1
        assert linalg.rational_reconstruct(value, modulus) == (expected.pop() if expected else None)


def test_reconstruction_edges():
    assert linalg.rational_reconstruct(0, 101) == 0
    assert linalg.rational_reconstruct(-1, 101) == -1
    with pytest.raises(ValueError, match="at least 2"):
        linalg.rational_reconstruct(3, 1)
