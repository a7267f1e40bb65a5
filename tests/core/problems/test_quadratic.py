from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from fltheory.core.errors import BadInput
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Field, Modular
from fltheory.core.problems.quadratic import Quadratic
from fltheory.runs.streams import Stream
from tests.core.problems.helpers import (
    TORCH,
    cohort_agrees,
    differences,
    fractions,
    point,
    rational_random,
    rationals,
    same,
)
from verification import named_problems as instances

quick = settings(derandomize=True, deadline=None, max_examples=15)
P = instances.table1_focus()


def by_hand(problem, i, x):
    """grad f_i at Fractions x, entry by entry."""
    H, b = problem.H[i], problem.b[i]
    return [sum((H[r, k] * x[k] for k in range(len(x))), -b[r]) for r in range(len(x))]


def test_gradients_are_exact():
    x = rationals((3, 2))
    expected = [by_hand(P, i, fractions(x)[i]) for i in range(3)]
    assert same(P.to(RATIONAL).grad(x), np.array(expected, dtype=object))
    RATIONAL.check(P.to(RATIONAL).grad(x))


def test_values_gradients_and_minimisers_fit_together():
    p, x = P.to(FLOAT), point(2)
    np.testing.assert_allclose(p.gradient(x), differences(p.value, x), rtol=1e-7)
    centres = RATIONAL.array(P.c)
    exact = P.to(RATIONAL)
    assert (exact.grad(centres) == 0).all()
    assert all(exact._values(centres[i])[i] == 0 for i in range(3))


def test_numpy_torch_and_rationals_agree():
    import torch
    x = rationals((4, 3, 2), seed=3)
    exact = fractions(P.to(RATIONAL).grad(x)).astype(float)
    f = FLOAT.array(fractions(x))
    np.testing.assert_allclose(P.to(FLOAT).grad(f), exact, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(P.to(TORCH).grad(torch.as_tensor(f)).numpy(), exact, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("who", [[1, 1, 0], [2], [0, 1, 2, 2, 2]], ids=str)
def test_repeated_members_of_one_cohort(who):
    who = np.array(who)
    cohort_agrees(P, RATIONAL, who, rationals((len(who), 2)), exact=True)
    cohort_agrees(P, FLOAT, who, point(2)[None, :])
    import torch
    cohort_agrees(P, TORCH, who, torch.as_tensor(point(4 * len(who) * 2).reshape(4, -1, 2)))


@pytest.mark.parametrize("spread_out", [False, True])
def test_cohorts_that_differ_between_replicates(spread_out):
    import torch
    who = np.random.default_rng(0).integers(3, size=(7, 4))
    y = point(7 * 4 * 2).reshape(7, 4, 2)[:, :1 if spread_out else 4]
    cohort_agrees(P, FLOAT, who, y)
    cohort_agrees(P, TORCH, who, torch.as_tensor(y))
    cohort_agrees(P, RATIONAL, who, rationals((7, 4, 2)), exact=True)


def test_a_round_over_repeated_cohorts_can_be_differentiated():
    import torch
    who = torch.tensor([[0, 0, 2], [1, 2, 2]])
    p = P.to(TORCH)
    zeros = torch.zeros(2, 3, 2, dtype=torch.float64)
    J = torch.func.jacrev(lambda x: p.at(who).grad(x[None, None, :] + zeros))(torch.ones(2).double())
    np.testing.assert_allclose(J.numpy(), FLOAT.array(P.H)[who.numpy()], rtol=1e-14)


def test_symbols_and_residues():
    field = Field("h c")
    h, c = field.symbols
    q = Quadratic([[[h]], [[1]]], [[c], [0]])
    assert q.native == field
    assert q.to(field).gradient(field.array([3]))[0] == (h * (3 - c) + 3) / 2
    small = Modular(10007)
    g = P.to(small).grad(small.array(np.array([[1, 2]] * 3)))
    exact = fractions(P.to(RATIONAL).grad(RATIONAL.array([[1, 2]] * 3)))
    assert all(a == small.scalar(e) for a, e in zip(g.reshape(-1), exact.reshape(-1), strict=True))


@quick
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_constants_are_valid_and_tight(seed, n, d):
    p = rational_random(Stream(seed), n, d)
    k = p.constants
    eye = linalg.identity(d, Q(1))
    assert k.exact
    assert all(linalg.is_positive_definite(k.L * eye - H, strict=False) for H in p.H)
    assert all(linalg.is_positive_definite(H - k.mu * eye, strict=False) for H in p.H)
    eig = np.linalg.eigvalsh(FLOAT.array(p.H))
    assert float(k.L) == pytest.approx(eig.max(), rel=1e-9)
    assert float(k.mu) == pytest.approx(eig.min(), rel=1e-8)


def test_smoothness_counts_concave_curvature():
    k = Quadratic([[[-3]], [[2]]], [[0], [0]]).constants
    assert (k.L, k.mu) == (3, -3)
    assert Quadratic([[[-3.0]], [[2.0]]], [[0], [0]]).constants.exact is False


@quick
@given(st.integers(0, 10**6), st.lists(st.integers(-4, 4), min_size=2, max_size=2))
def test_shifting_the_minimisers_shifts_the_problem(seed, v):
    p = rational_random(Stream(seed, "shift"), 3, 2)
    moved = Quadratic(p.H, p.c + np.array([Q(k) for k in v], dtype=object), p.weights)
    x = rationals(2, seed)
    assert moved.to(RATIONAL).value(x + RATIONAL.array(v)) == p.to(RATIONAL).value(x)
    assert same(moved.to(RATIONAL).gradient(x + RATIONAL.array(v)), p.to(RATIONAL).gradient(x))


def test_surrogate_changes_weights_only():
    w = [Q(1, 2), Q(1, 2), 0]
    s = P.surrogate(w)
    x = rationals(2)
    assert s.to(RATIONAL).value(x) == (RATIONAL.array(np.array(w)) * P.to(RATIONAL)._values(x)).sum()
    assert P.weights[2] == Q(1, 3)
    converted = P.to(RATIONAL).surrogate(w)
    assert converted.domain is RATIONAL and same(converted.gradient(x), s.to(RATIONAL).gradient(x))


# ---- dissimilarity ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("beta2", [Q(1), Q(3, 2), Q(7)])
def test_dissimilarity_of_a_common_hessian(beta2):
    H, c = [[2, Q(1, 2)], [Q(1, 2), 1]], rationals((4, 2), seed=5)
    w = [Q(1, 10), Q(2, 10), Q(3, 10), Q(4, 10)]
    p = Quadratic([H] * 4, c, w)
    mean = sum(a * v for a, v in zip(w, fractions(c), strict=True))
    deviations = [linalg.matmul(np.array(H, dtype=object), fractions(v) - mean) for v in c]
    assert p.dissimilarity(w, beta2) == sum(a * (v * v).sum() for a, v in zip(w, deviations, strict=True))


@quick
@given(st.integers(0, 10**6))
def test_dissimilarity_against_brute_force(seed):
    p = rational_random(Stream(seed, "kappa"), 3, 2)
    w = p.weights
    f, wf = p.to(FLOAT), FLOAT.array(w)
    beta2 = 4

    def excess(x, b=beta2):
        g = f.grad(np.broadcast_to(x, (3, 2)))
        return (wf * (g * g).sum(-1)).sum() - b * ((wf[:, None] * g).sum(0) ** 2).sum()

    kappa2 = p.dissimilarity(w, beta2)
    if kappa2 is None:
        far = [excess(1e6 * np.array([np.cos(a), np.sin(a)])) for a in np.linspace(0, np.pi, 721)]
        assert max(far) > 0
    else:
        best = -minimize(lambda x: -excess(x), np.zeros(2), tol=1e-14).fun
        assert float(kappa2) == pytest.approx(best, rel=1e-9)
        assert all(excess(10 * point(2, k)) <= float(kappa2) + 1e-9 for k in range(20))


def test_dissimilarity_is_infinite_when_beta_is_too_small():
    assert P.dissimilarity(P.weights, Q(1, 2)) is None
    # P vanishes at beta^2 = 1 for a common Hessian; a zero-curvature direction with slope has no bound either
    tilted = Quadratic.from_linear([[[1]], [[-1]]], [[1], [1]])
    assert tilted.dissimilarity([Q(1, 2)] * 2, 5) is None
    assert float(Quadratic([[[1.0]], [[1.0]]], [[1], [-1]]).dissimilarity([0.5, 0.5], 2)) == pytest.approx(1)


@pytest.mark.parametrize("kind", [Q, float])
def test_dissimilarity_is_infinite_along_a_kernel_with_slope(kind):
    # at beta^2 = 5/4 the curvatures 1 and 3 leave none: what is left is linear, and bounded only where it is constant
    def made(b):
        problem = Quadratic.from_linear([[[kind(1)]], [[kind(3)]]], [[kind(v)] for v in b])
        return problem.dissimilarity([kind(1) / 2] * 2, kind(5) / 4)
    assert made((1, 0)) is None
    assert made((1, 3)) == 0


# ---- refusals --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("H", "c", "weights", "words"), [
    ([[[1]], [[1]]], [[0], [1]], ["1/2", "1/3"], ["weights", "sum to 1", "5/6"]),
    ([[[1]], [[1]]], [[0], [1]], [0.5, 0.6], ["sum to 1"]),
    ([[[1]], [[1]]], [[0], [1]], [2, -1], ["negative"]),
    ([[[1]], [[1]]], [[0], [1]], [1], ["one weight per client"]),
    ([[[1]], [[1]]], [[0], [float("nan")]], None, ["finite"]),
    ([[[1, 2], [0, 1]]], [[0, 0]], None, ["H[0]", "symmetric"]),
    ([[[1.0, 2.0], [2.1, 1.0]]], [[0, 0]], None, ["H[0]", "symmetric"]),
    ([[[1, 0]]], [[0, 0]], None, ["H.shape"]),
    ([[[1]]], [[0], [1]], None, ["c.shape"]),
    ([[[1]], [[1, 2]]], [[0], [1]], None, ["ragged"]),
    ([[["1/0"]]], [[0]], None, ["no rational"]),
    ([[[True]]], [[0]], None, ["truth value"]),
])
def test_bad_problems_are_refused(H, c, weights, words):
    with pytest.raises(BadInput) as error:
        Quadratic(H, c, weights)
    assert all(word in str(error.value) for word in words)


def test_float_weights_need_no_exact_sum_but_exact_arithmetic_renormalises():
    p = Quadratic([[[1]]] * 3, [[0]] * 3, [0.7, 0.2, 0.1])
    assert sum(fractions(p.to(RATIONAL).p)) == 1
