from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory.core import optima
from fltheory.core.errors import CertificateFailed, NoMinimiser, TooLarge
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Field
from fltheory.core.optima import optimum, second_route, surrogate_optimum
from fltheory.core.problems.base import Problem
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.logistic import Logistic
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.ridge import Ridge
from fltheory.large.ridge_rows import RidgeRows
from fltheory.runs.streams import Stream
from tests.core.problems.helpers import rational_random
from verification import named_problems as instances

quick = settings(derandomize=True, deadline=None, max_examples=20)
RNG = np.random.default_rng(0)
ROWS = [RNG.standard_normal((m, 3)) for m in (20, 35, 15)]
MIXED = [RNG.integers(0, 3, len(a)) for a in ROWS]
WEIGHTS = [Q(1, 2), Q(1, 3), Q(1, 6)]
BINARY = Logistic(ROWS, [v % 2 for v in MIXED], "1/20", weights=WEIGHTS)
SOFTMAX = Logistic(ROWS, MIXED, "1/20", classes=3, weights=WEIGHTS)
HUBER = HuberLoss(ROWS, [3 * RNG.standard_normal(len(a)) for a in ROWS], [np.full(20, 0.3), np.full(35, 1.0),
                  np.linspace(0.2, 2, 15)], reg="1/20", weights=WEIGHTS)
RIDGE = Ridge(ROWS, [RNG.standard_normal(len(a)) for a in ROWS], "1/20", WEIGHTS, "sum")
SMOOTH = pytest.mark.parametrize("problem", [BINARY, SOFTMAX, HUBER], ids=["binary", "softmax", "huber"])


@quick
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_exact_minimisers_solve_the_equations_exactly(seed, n, d):
    p = rational_random(Stream(seed), n, d)
    best = optimum(p)
    assert all(isinstance(v, Q) for v in best.x) and isinstance(best.value, Q)
    exact = p.to(RATIONAL)
    assert (exact.gradient(RATIONAL.array(best.x)) == 0).all()
    assert RATIONAL.scalar(best.value) == exact.value(RATIONAL.array(best.x))
    assert best.certificate["exact"] and best.certificate["unique"] and best.certificate["gap"] == 0
    floats = Quadratic(FLOAT.array(p.H), FLOAT.array(p.c), FLOAT.array(p.weights))
    near = optimum(floats)
    np.testing.assert_allclose(near.x, FLOAT.array(best.x), rtol=1e-9, atol=1e-10)
    assert not near.certificate["exact"] and near.certificate["gap"] < 1e-20


def test_surrogate_minimisers():
    p = instances.table1_focus()
    for i in range(3):
        w = [int(i == k) for k in range(3)]
        assert (surrogate_optimum(p, w).x == p.c[i]).all()


def test_symbolic_minimisers():
    field = Field("h c")
    h, c = field.symbols
    best = optimum(Quadratic([[[h]], [[1]]], [[c], [0]]))
    assert best.x[0] == h * c / (h + 1) and best.certificate["unique"] is None
    with pytest.raises(NoMinimiser, match="identically"):
        optimum(Quadratic.from_linear([[[h]], [[0 * h - h]]], [[c], [c]]))


@pytest.mark.parametrize("convert", [lambda a: a, FLOAT.array], ids=["exact", "floats"])
def test_flat_directions(convert):
    p = instances.flat()
    best = optimum(Quadratic.from_linear(convert(p.H), convert(p.b)))
    np.testing.assert_allclose(FLOAT.array(best.x), [-1 / 8, 1 / 8], atol=1e-15)  # orthogonal to the flat direction
    assert best.certificate["unique"] is False and "not unique" in best.certificate["text"]
    with pytest.raises(NoMinimiser, match="unbounded below"):
        optimum(Quadratic.from_linear(convert(p.H), convert(p.b + 1)))
    with pytest.raises(NoMinimiser, match="unbounded below"):
        optimum(Quadratic.from_linear(convert(0 * p.H), convert(p.b + 1)))


@pytest.mark.parametrize("convert", [lambda a: a, FLOAT.array], ids=["exact", "floats"])
def test_negative_curvature(convert):
    H = np.array([[[1, 4], [4, 1]], [[1, 0], [0, 1]]], dtype=object)
    with pytest.raises(NoMinimiser, match=r"unbounded below: along v .* curvature .*-"):
        optimum(Quadratic(convert(H), convert(np.array([[0, 0], [1, 1]]))))


def test_a_tiny_negative_curvature_is_not_overlooked():
    e = Q(1, 10**30)
    with pytest.raises(NoMinimiser):
        optimum(Quadratic([[[1, 1], [1, 1 - e]]], [[0, 0]]))
    assert optimum(Quadratic([[[1, 1], [1, 1 + e]]], [[3, 4]])).certificate["unique"]


def test_huge_numbers():
    assert optimum(Quadratic([[[10**400]]], [[Q(1, 7)]])).x[0] == Q(1, 7)


def turned(seed, eigenvalues):
    """Float Hessian of these eigenvalues in random directions."""
    d = len(eigenvalues)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    H = Q * eigenvalues @ Q.T
    return (H + H.T) / 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [1e-9, 1e-12, 1e-13, 1e-14])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_badly_conditioned_floats_are_solved_at_their_binary_values(d, least, seed):
    b = np.random.default_rng(seed + 9).standard_normal((1, d))
    p = Quadratic.from_linear(turned(seed, np.geomspace(1, least, d))[None], b)
    best, true = optimum(p), optimum(p.exact())
    np.testing.assert_allclose(best.x, FLOAT.array(true.x), rtol=1e-9)
    assert best.certificate["unique"]
    assert float(true.value) <= best.value + 1e-9 * abs(best.value)
    above = p.exact().to(RATIONAL).value(RATIONAL.array(best.x)) - RATIONAL.scalar(true.value)
    assert best.certificate["gap"] is None or float(above) <= best.certificate["gap"] * (1 + 1e-6) + 1e-30


@pytest.mark.parametrize("scale", [1e-20, 1e-100, 1e100])
def test_badly_scaled_coordinates_are_no_flat_directions(scale):
    best = optimum(Quadratic([np.diag([1.0, scale])], [[3.0, -7.0]]))
    assert best.x == pytest.approx([3, -7], rel=1e-15) and best.certificate["unique"]


@pytest.mark.parametrize("seed", range(8))
def test_products_of_rows_that_are_singular_to_rounding_are_not_unique(seed):
    rows = np.random.default_rng(seed).standard_normal((2, 4))
    best = optimum(Quadratic.from_linear((rows.T @ rows)[None], (rows.T @ [1.0, 2.0])[None]))
    np.testing.assert_allclose(best.x, np.linalg.pinv(rows) @ [1.0, 2.0], rtol=1e-9)
    assert best.certificate["unique"] is False
    with pytest.raises(NoMinimiser, match="unbounded below"):
        optimum(Quadratic.from_linear((rows.T @ rows)[None], np.ones((1, 4))))


@pytest.mark.parametrize("least", [-1e-14, -1e-18])
def test_small_negative_curvature_of_floats_is_seen(least):
    with pytest.raises(NoMinimiser, match=r"curvature -"):
        optimum(Quadratic([np.diag([1.0, least])], [[1.0, 1.0]]))


def test_clients_that_cancel_leave_what_is_left():
    """Curvatures 1e6 and -1e6 + 1e-6 of two clients: their mean is 5e-7, not rounding."""
    p = Quadratic.from_linear([[[1e6]], [[-1e6 + 1e-6]]], [[1.0], [1.0]])
    true = optimum(p.exact())
    assert optimum(p).x[0] == pytest.approx(float(true.x[0]), rel=1e-9)


# ---- Newton ----------------------------------------------------------------------------------------------
@SMOOTH
def test_newton_is_certified(problem):
    best = optimum(problem)
    c = best.certificate
    p = problem.to(FLOAT)
    assert c["gradient_norm"] == np.linalg.norm(p.gradient(best.x)) < 1e-13
    assert c["gap"] <= 1e-24 and c["unique"] and "strongly convex" in c["text"]
    assert best.value == p.value(best.x)
    for k in range(20):
        away = best.x + 1e-3 * np.random.default_rng(k).standard_normal(problem.d)
        assert p.value(away) > best.value


@SMOOTH
def test_surrogates_of_smooth_problems(problem):
    alone = surrogate_optimum(problem, [0, 1, 0])
    g = problem.to(FLOAT).grad(np.stack([alone.x] * 3))
    assert np.linalg.norm(g[1]) < 1e-12 < np.linalg.norm(g[0])


def test_wide_huber_losses_are_least_squares():
    b = [RNG.standard_normal(len(a)) for a in ROWS]
    wide, squares = HuberLoss(ROWS, b, 1e6, reg=0.5), Ridge(ROWS, b, 0.5, convention="half-sum")
    np.testing.assert_allclose(optimum(wide).x, optimum(squares).x, rtol=1e-12)
    assert optimum(wide).value == pytest.approx(optimum(squares).value, rel=1e-13)


def test_huber_medians():
    # |x| style losses with one far outlier: the optimum is where clipped residuals balance, x = 1/2 exactly
    p = HuberLoss([[[1], [1], [1]]], [[0, 0, 1000]], 1)
    best = optimum(p)
    np.testing.assert_allclose(best.x, [0.5], rtol=1e-13)
    assert best.certificate["gap"] is None
    assert p.to(RATIONAL).gradient(RATIONAL.array([Q(1, 2)]))[0] == 0


def test_badly_scaled_logistic_regression():
    scaled = Logistic([a * [1, 100, 1e-2] for a in ROWS], [v % 2 for v in MIXED], 1e-6)
    c = optimum(scaled).certificate
    assert c["gradient_norm"] < 1e-11 and c["gap"] < 1e-15


def test_separable_data_have_no_minimiser():
    rows, labels = [[[1.0, 0], [2, 1]], [[-1.0, 3], [-2, 0]]], [[1, 1], [0, 0]]
    with pytest.raises(NoMinimiser, match=r"separable.*reg > 0"):
        optimum(Logistic(rows, labels, 0))
    assert optimum(Logistic(rows, labels, "1/1000000")).certificate["gradient_norm"] < 1e-12
    with pytest.raises(NoMinimiser):  # separable up to rows on the boundary: still not attained
        optimum(Logistic([[[1, 0], [0, 1], [0, -1], [0, 1], [0, -1]]], [[1, 1, 1, 0, 0]], 0))
    with pytest.raises(NoMinimiser):
        optimum(Logistic([[[1, 0], [0, 1], [-1, -1]]], [[0, 1, 2]], 0, classes=3))
    # a client of weight zero does not count
    conflicting = Logistic([*rows, [[1.0, 0]]], [*labels, [0]], 0, weights=[0.5, 0.5, 0])
    with pytest.raises(NoMinimiser):
        optimum(conflicting)


@pytest.mark.parametrize("classes", [None, 3])
def test_without_regularisation_but_not_separable(classes):
    p = Logistic(ROWS, MIXED if classes else [v % 2 for v in MIXED], 0, classes=classes)
    best = optimum(p)
    assert best.certificate["gradient_norm"] < 1e-13 and best.certificate["gap"] is None
    assert best.certificate["unique"] is (None if classes else True)
    if classes:  # adding one vector to all classes changes nothing: the minimum-norm one sums to zero
        np.testing.assert_allclose(best.x.reshape(3, -1).sum(0), 0, atol=1e-12)


def test_a_newton_that_stops_early_gives_no_verdict(monkeypatch):
    monkeypatch.setattr(optima, "_newton", lambda p: (np.zeros(p.d), 0))
    with pytest.raises(CertificateFailed, match=r"\|grad F\|"):
        optimum(BINARY)


def test_networks_have_no_certified_minimiser():
    class Other(Problem):
        pass

    with pytest.raises(NotImplementedError, match="Other"):
        optimum(Other())
    with pytest.raises(NotImplementedError, match="Other"):
        second_route(Other())


# ---- second route ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("problem", [BINARY, SOFTMAX, HUBER, RIDGE, instances.table1_focus(), instances.singular()],
                         ids=["binary", "softmax", "huber", "ridge", "quadratic", "singular"])
def test_both_routes_agree(problem):
    pytest.importorskip("cvxpy")
    x, status = second_route(problem)
    assert status == "optimal"
    best = optimum(problem)
    np.testing.assert_allclose(x, FLOAT.array(best.x), atol=5e-5)
    assert problem.to(FLOAT).value(x) - float(best.value) < 1e-8


def test_both_routes_agree_on_real_data():
    pytest.importorskip("cvxpy")
    problem = instances.diabetes()
    np.testing.assert_allclose(second_route(problem)[0], FLOAT.array(optimum(problem).x), atol=1e-6)


def test_only_optimal_counts():
    pytest.importorskip("cvxpy")
    with pytest.raises(CertificateFailed):
        second_route(Quadratic([[[-1]]], [[0]]))
    with pytest.raises(CertificateFailed, match="only 'optimal' counts"):
        second_route(Quadratic.from_linear([[[0]]], [[1]]))
    with pytest.raises(TooLarge, match="1001 rows"):
        second_route(Ridge([np.ones((1001, 1))], [np.ones(1001)], 1))


# ---- the gap of a certificate beside the true F(x) - F* --------------------------------------------------
def exactly(problem, x):
    """F(x) - F* of a rational quadratic at a float x, as a rational."""
    exact = problem.to(RATIONAL)
    at = np.array([Q(float(v)) for v in x], dtype=object)
    return Q(str(exact.value(RATIONAL.array(at)))) - optimum(problem).value


@pytest.mark.parametrize("kind", ["quadratic", "ridge"])
def test_the_gap_of_a_float_minimiser_bounds_the_true_one(kind, monkeypatch):
    """The solve is off on purpose: along the flattest axis the bound |grad F|^2/(2 mu) is the difference itself."""
    small = Q(1, 1024)
    if kind == "quadratic":
        exact = Quadratic([[[small, 0], [0, 3]], [[small, 0], [0, 1]]], [[1, 2], [-3, 1]])
        floats = Quadratic(FLOAT.array(exact.H), FLOAT.array(exact.c))
    else:
        rows, answers = [[[0, 2], [0, 1]], [[0, 1]]], [[1, 2], [3]]
        exact = Ridge(rows, answers, small)
        floats = Ridge([np.array(a, dtype=float) for a in rows], [np.array(v, dtype=float) for v in answers], float(small))
    right = np.linalg.solve
    for off in ([1e-7, 0], [-3e-7, 0], [1e-8, 1e-11], [0, 1e-10]):
        with monkeypatch.context() as patched:
            patched.setattr(np.linalg, "solve", lambda H, b, off=off: right(H, b) + np.array(off))
            best = optimum(floats)
        true, gap = exactly(exact, best.x), best.certificate["gap"]
        assert 0 < true <= gap * (1 + 1e-6)
        if off[1] == 0:
            assert gap <= float(true) * (1 + 1e-4)  # sharp there: a bound ten times too large would be seen as well


def rows_of(kind, seed, scale, reg, d):
    """Three clients with 2, 3 and 4 rows in d coordinates, each `scale` times larger than those of the one before."""
    r = np.random.default_rng(seed)
    rows, targets = ([scale**k * r.normal(size=(k + 2, *shape)) for k in range(3)] for shape in ((d,), ()))
    targets = [t / scale**k for k, t in enumerate(targets)]
    if kind == "logistic":
        return Logistic(rows, [(t > 0).astype(int) for t in targets], reg, weights=[0.5, 0.3, 0.2])
    return (RidgeRows if kind == "ridge" else HuberLoss)(rows, targets, *([] if kind == "ridge" else [0.5]), reg=reg,
                                                        weights=[0.5, 0.3, 0.2])


@pytest.mark.parametrize("kind", ["ridge", "huber", "logistic"])
@pytest.mark.parametrize("scale", [1, 10])
def test_few_rows_in_many_coordinates_need_no_hessian(kind, scale, monkeypatch):
    """The minimiser is that of dense Newton steps; where there are more rows than that, these are made."""
    made = []
    monkeypatch.setattr(optima, "_by_rows", lambda *a, real=optima._by_rows: made.append(1) or real(*a))
    thin = optimum(rows_of(kind, 1, scale, 0.1, 40))
    assert made and thin.certificate["unique"] is True
    monkeypatch.setattr(optima, "_by_rows", lambda p, x, g: np.linalg.solve(p.mean_hessian(x), g))
    dense = optimum(rows_of(kind, 1, scale, 0.1, 40))
    assert np.abs(thin.x - dense.x).max() <= 1e-10 * np.abs(dense.x).max()
    monkeypatch.setattr(optima, "_by_rows", None)
    assert optimum(rows_of(kind, 1, scale, 0.1, 18)).certificate["gap"] < 1e-16     # 9 rows are half of them


@pytest.mark.parametrize(("reg", "scale"), [(1e-6, 1), (1e-3, 1), (1e-3, 5), (0.1, 30)])
def test_rows_that_are_nearly_fitted_exactly_have_a_minimiser(reg, scale):
    """What cancels is inside the residuals, which are nearly 0, and predictions are rounded before: the gap decides."""
    best = optimum(rows_of("ridge", 2, scale, reg, 40))
    assert 0 < best.certificate["gap"] <= 1e-12 * best.value


UNLIKE = np.random.default_rng(1).standard_normal((3, 5, 2)) * [1e6, 1e-2]      # features in other units


@pytest.mark.parametrize("reg", [0, 1e-12, 1e-9])
@pytest.mark.parametrize("kind", [lambda *a, reg: RidgeRows(*a, reg=reg), lambda *a, reg: HuberLoss(*a, 1e9, reg=reg)])
@pytest.mark.parametrize(("rows", "targets"), [(UNLIKE, UNLIKE @ [2.0, 30.0]), ([[[1e4, 0]], [[0, 1e-3]]], [[1e8], [0.5]])])
def test_small_gradients_that_are_no_rounding_are_refused(rows, targets, kind, reg):
    """Rounding of large rows hides the whole gradient of a small one, along which Newton's steps have not moved."""
    with pytest.raises(CertificateFailed, match="Newton stopped"):
        optimum(kind(rows, targets, reg=reg))


def test_the_gap_counts_what_rounding_hides():
    problem = rows_of("logistic", 5, 1, 0.1, 4)
    best, p = optimum(problem).certificate, problem.to(FLOAT)
    lost = optima._gradient_terms(p, optimum(problem).x)[1]
    assert best["gap"] == pytest.approx((best["gradient_norm"] + lost)**2 / 0.2, rel=1e-6, abs=0) and lost > 0


def test_rounding_grows_with_the_length_of_rows():
    """Of a prediction as large with 4 features as with 400."""
    lost = []
    for d in (4, 400):
        row = np.ones(d) / d
        problem = HuberLoss([np.stack([row, row])], [[3e-3, -3e-3]], 1e3, reg=1e-9).to(FLOAT)
        lost.append(optima._gradient_terms(problem, np.ones(d))[1] / np.linalg.norm(row))
    assert lost[1] > 10 * lost[0]


def test_few_rows_of_several_outputs_take_newtons_steps_too():
    r = np.random.default_rng(0)
    problem = Logistic([r.standard_normal((3, 30)) for _ in "ab"], [[0, 1, 2], [2, 1, 0]], 0.1, classes=3)
    assert optimum(problem).certificate["gradient_norm"] < 1e-12 and optima._newton(problem.to(FLOAT))[1] <= 15


def test_a_newton_on_rounding_stops_soon():
    """Of rows that are fitted exactly: values near 0 still fall, by less than floats tell from the first one."""
    r = np.random.default_rng(0)
    problem = RidgeRows([r.standard_normal((2, 60)) for _ in range(3)], [r.standard_normal(2) for _ in range(3)], 0)
    assert optima._newton(problem.to(FLOAT))[1] < 20


@pytest.mark.parametrize("kind", ["ridge", "huber"])
@pytest.mark.parametrize("scale", [1, 30, 1000])
@pytest.mark.parametrize("d", [2, 40])
def test_what_rounding_makes_of_a_gradient_is_bounded(kind, scale, d):
    """Against exact gradients at the same points, near the minimiser and away from it; and the bound is not idle there."""
    problem, off = rows_of(kind, 3, scale, 1e-3, d), []
    for k in range(6):
        x = np.random.default_rng(k).normal(size=d) * 10.0 ** -k
        p, exact = problem.to(FLOAT), problem.to(RATIONAL)
        gap = p.gradient(x) - FLOAT.array(exact.gradient(RATIONAL.array(x)))
        off.append(np.linalg.norm(gap) / optima._gradient_terms(p, x)[1])
    assert 1e-6 < max(off) <= 1


@pytest.mark.parametrize("kind", ["logistic", "huber"])
def test_the_gap_of_a_newton_that_is_off_bounds_the_true_one(kind, monkeypatch):
    """The second axis carries the regularisation alone, so that the bound is the difference itself along it."""
    rows = [np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[-1.0, 0.0]])]
    kinds = {"logistic": Logistic(rows, [[0, 1], [1]], 0.125), "huber": HuberLoss(rows, [[1.0, 3.0], [2.0]], 0.5, reg=0.125)}
    problem = kinds[kind]
    best = optimum(problem)
    assert best.certificate["gap"] < 1e-24
    monkeypatch.setattr(optima, "GRADIENT_TOLERANCE", 10.0)
    for off in ([0, 1e-3], [0, -0.25], [1e-3, 0], [1e-3, 1e-2], [-0.2, 0.1]):
        monkeypatch.setattr(optima, "_newton", lambda p, off=off: (best.x + np.array(off), 3))
        there = optimum(problem)
        true, gap = there.value - best.value, there.certificate["gap"]
        assert 0 < true <= gap * (1 + 1e-9) + 1e-15
        if off[0] == 0:
            assert gap == pytest.approx(true, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("H", [[[1.0]], [[1.0, 0.0], [0.0, 1.0]]], ids=["one", "two"])
def test_a_value_beyond_floats_is_refused_in_words_and_exact_numbers_have_one(H):
    far = [1e160] + [1.0] * (len(H) - 1)
    with pytest.raises(CertificateFailed, match=r"its value leaves the range of float64.*exact numbers"):
        optimum(Quadratic.from_linear([H], [far]))
    exact = [[[int(v) for v in row] for row in H]], [[10**160] + [1] * (len(H) - 1)]
    assert optimum(Quadratic.from_linear(*exact)).value == Q(-10**320 - len(H) + 1, 2)
