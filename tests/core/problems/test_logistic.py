import itertools
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import BadInput
from fltheory.core.laws.draw import Draw, everyone, to_device
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Modular
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.logistic import Logistic
from fltheory.core.problems.plain import Rows
from tests.core.problems.helpers import TORCH, cohort_agrees, differences, fractions, point, rationals, same

SIZES, WEIGHTS = (2, 5, 3), [Q(1, 2), Q(1, 3), Q(1, 6)]
A = [point(m * 2, m).reshape(m, 2) for m in SIZES]
BINARY = Logistic(A, [np.arange(m) % 2 for m in SIZES], Q(1, 10), weights=WEIGHTS)
SOFTMAX = Logistic(A, [np.arange(m) % 3 for m in SIZES], Q(1, 10), classes=3, weights=WEIGHTS)
U = [fractions(rationals((m, 2), m)) for m in SIZES]
OFFSETS = [fractions(rationals(m, 20 + m)) for m in SIZES]
HUBER = HuberLoss(U, OFFSETS, Q(1, 2), [[Q(1, k + 1) for k in range(m)] for m in SIZES], Q(1, 10), WEIGHTS)
ALL = pytest.mark.parametrize("problem", [BINARY, SOFTMAX, HUBER], ids=["binary", "softmax", "huber"])


def by_hand(problem, i, x):
    """f_i(x) from the definition, row by row, without any care for overflow."""
    X = x.reshape(problem.outputs, -1)
    total = float(problem.reg[()]) / 2 * (x * x).sum()
    for j in range(problem.sizes[i]):
        u = X @ FLOAT.array(problem.rows[i, j])
        if problem is HUBER:
            r, delta = u[0] - float(OFFSETS[i][j]), 0.5
            h = r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)
            total += float(problem.scale[i, j]) * h
        elif problem is BINARY:
            total += np.log(1 + np.exp(-u[0] if j % 2 else u[0])) / problem.sizes[i]
        else:
            total += (np.log(np.exp(u).sum()) - u[j % 3]) / problem.sizes[i]
    return total


@ALL
def test_values_gradients_and_hessians_follow_the_definition(problem):
    import torch
    p, x = problem.to(FLOAT), point(problem.d, 7)
    np.testing.assert_allclose(p._values(x), [by_hand(problem, i, x) for i in range(3)], rtol=1e-13)
    each = np.broadcast_to(x, (3, problem.d))
    np.testing.assert_allclose(p.grad(each), differences(p._values, x), rtol=1e-6, atol=1e-8)
    H = differences(lambda v: p.grad(np.broadcast_to(v, (3, problem.d))), x)
    np.testing.assert_allclose(problem.hessian(x), H, rtol=1e-6, atol=1e-8)
    t = problem.to(TORCH)
    auto = torch.func.jacrev(t._values)(torch.as_tensor(x))
    np.testing.assert_allclose(p.grad(each), auto.numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(t.grad(torch.as_tensor(each.copy())).numpy(), auto.numpy(), rtol=1e-12, atol=1e-14)


@ALL
def test_shapes_broadcast(problem):
    p, d = problem.to(FLOAT), problem.d
    y = point(4 * 3 * d).reshape(4, 3, d)
    stacked = np.stack([p.grad(v) for v in y])
    np.testing.assert_allclose(p.grad(y), stacked, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(p.grad(y[None, :2])[0], stacked[:2], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(p.grad(y[:, :1]), p.grad(np.broadcast_to(y[:, :1], y.shape)), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(p.value(y[:, 0]), [p.value(v) for v in y[:, 0]], rtol=1e-13)
    total = (p.p[:, None] * p.grad(y[:1, :1]))[0].sum(0)
    np.testing.assert_allclose(p.gradient(y[0, 0]), total, rtol=1e-13, atol=1e-15)
    noise = point(12 * d, 3).reshape(4, 3, d)
    np.testing.assert_allclose(p.grad(y, noise), p.grad(y) + noise, rtol=1e-14)


@ALL
@pytest.mark.parametrize("who", [np.array([1, 1, 0]), np.array([[2, 2], [0, 1], [1, 1]])], ids=["fixed", "varying"])
def test_cohorts(problem, who):
    import torch
    y = point(3 * who.shape[-1] * problem.d).reshape(3, -1, problem.d)
    cohort_agrees(problem, FLOAT, who, y)
    cohort_agrees(problem, TORCH, who, torch.as_tensor(y))
    cohort_agrees(problem, TORCH, who, torch.as_tensor(y[:, :1].copy()))


@ALL
@pytest.mark.parametrize("size", [1, 2])
def test_minibatch_gradients_are_unbiased(problem, size):
    import torch
    p, y = problem.to(FLOAT), point(3 * problem.d).reshape(3, -1)
    full = p.grad(y)
    for i, m in enumerate(problem.sizes):
        draws = list(itertools.product(range(m), repeat=size))
        index = np.zeros((len(draws), 3, size), dtype=int)
        index[:, i] = draws
        sampled = p.grad(y, Rows(index))
        np.testing.assert_allclose(sampled.mean(0)[i], full[i], rtol=1e-12, atol=1e-14)
        t = problem.to(TORCH).grad(torch.as_tensor(y), Rows(torch.as_tensor(index)))
        np.testing.assert_allclose(t.numpy(), sampled, rtol=1e-12, atol=1e-14)
        one = p.at(np.array([i, i])).grad(y[:2], Rows(index[:, [i, i]]))
        np.testing.assert_allclose(one[:, 0], p.grad(np.stack([y[0]] * 3), Rows(index))[:, i], rtol=1e-12, atol=1e-14)


@ALL
@pytest.mark.parametrize("batched", [False, True])
def test_a_round_can_be_differentiated(problem, batched):
    import torch
    alg = FedAvg("1/5", 2).to(TORCH)
    p = problem.to(TORCH)
    draw = everyone(3, (1, 2, 2))
    if batched:
        draw = Draw(np.array([[0, 2], [1, 1]]), np.ones((2, 2), dtype=int), np.array([[1, 2]] * 2))
    draw = to_device(draw, "cpu")

    def one_round(x):
        start = x.expand(2, -1) if batched else x
        return alg.round(p, alg.init(p, start, draw), draw).x

    x = point(problem.d, 9)
    J = torch.func.jacrev(one_round)(torch.as_tensor(x)).numpy()
    numeric = differences(lambda v: one_round(torch.as_tensor(v)).numpy(), x)
    np.testing.assert_allclose(J, numeric, rtol=1e-6, atol=1e-8)


@ALL
def test_constants_bound_the_curvature(problem):
    k = problem.constants
    tops = [np.linalg.eigvalsh(problem.hessian(point(problem.d, s))) for s in range(30)]
    assert max(t.max() for t in tops) <= float(k.L)
    assert min(t.min() for t in tops) >= float(k.mu) - 1e-14 and float(k.mu) == 0.1


def test_the_smoothness_bounds_are_attained():
    at_zero = Logistic(A, [np.zeros(m, dtype=int) for m in SIZES], 0)
    assert np.linalg.eigvalsh(at_zero.hessian(np.zeros(2))).max() == pytest.approx(at_zero.constants.L, rel=1e-11)
    inside = HuberLoss(U, OFFSETS, 10**6)  # every residual of a small x is in the quadratic part
    k = inside.constants
    assert k.exact and np.linalg.eigvalsh(inside.hessian(np.zeros(2))).max() == pytest.approx(float(k.L), rel=1e-11)
    for u in U:
        assert linalg.is_positive_definite(k.L * linalg.identity(2, Q(1)) - linalg.matmul(u.T, u), strict=False)


def test_huge_predictions_do_not_overflow():
    import torch
    for labels, classes in (([0, 1], None), ([0, 2], 3)):
        problem = Logistic([[[1.0], [1.0]]], [labels], 0, classes=classes)
        for size in (50.0, 1e4, 1e150):
            x = size * np.array([1.0, -1, 0.5][:problem.d])
            p, t = problem.to(FLOAT), problem.to(TORCH)
            with np.errstate(under="ignore"):
                value, g = p.value(x), p.gradient(x)
            assert np.isfinite(value) and np.isfinite(g).all()
            assert float(t.value(torch.as_tensor(x))) == pytest.approx(value, rel=1e-14)
            np.testing.assert_allclose(t.gradient(torch.as_tensor(x)).numpy(), g, rtol=1e-12)
    tail = Logistic([[[1]]], [[1]], 0).to(FLOAT)
    np.testing.assert_allclose(tail.gradient(np.array([40.0])), [-np.exp(-40.0)], rtol=1e-12)


def test_two_softmax_classes_are_a_binary_problem():
    # classes c and 2 with class 1 pushed away: softmax over two used classes at X = (-v/2, v/2) is binary at v
    labels = [np.arange(m) % 2 for m in SIZES]
    soft, binary = Logistic(A, labels, 0, classes=3).to(FLOAT), Logistic(A, labels, 0).to(FLOAT)
    v = point(2, 3)
    with_third = soft._values(np.concatenate([-v / 2, v / 2, 0 * v]))
    assert (with_third > binary._values(v)).all()
    biased = [np.hstack([a, np.ones((len(a), 1))]) for a in A]
    soft, binary = Logistic(biased, labels, 0, classes=3).to(FLOAT), Logistic(biased, labels, 0).to(FLOAT)
    w = np.append(v, 0.3)
    x = np.concatenate([-w / 2, w / 2, [0, 0, -800.0]])
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(soft._values(x), binary._values(w), rtol=1e-13)


def test_huber_is_exact_at_rationals():
    p, x = HUBER.to(RATIONAL), rationals((3, 2), 4)
    g = RATIONAL.check(p.grad(x))
    np.testing.assert_allclose(fractions(g).astype(float), HUBER.to(FLOAT).grad(FLOAT.array(fractions(x))), rtol=1e-13)
    RATIONAL.check(p.grad(x, Rows(np.zeros((3, 1), dtype=int))))
    h = Q(1, 10**6)  # the loss is piecewise quadratic, so central differences are exact off the kinks
    at = x[0]
    step = RATIONAL.array([h, 0])
    assert same((p._values(at + step) - p._values(at - step)) / RATIONAL.scalar(2 * h), p.grad(at[None] + 0 * x)[:, 0])


@pytest.mark.parametrize(("arguments", "words"), [
    (([[[1, 2]]], [[2]], 0), ["labels[0]", "0..1"]),
    (([[[1, 2]]], [["1/2"]], 0), ["labels[0]"]),
    (([[[1, 2]]], [[0, 1]], 0), ["len(labels[0])"]),
    (([[[1, 2]]], [[0]], -1), ["reg"]),
    (([[[1, 2]]], [[0]], 0, 1), ["classes"]),
    (([[[1, float("nan")]]], [[0]], 0), ["finite"]),
    (([[[1, 2]], [[1]]], [[0], [0]], 0), ["A[1].shape"]),
    (([[[1, 2]]], [[0]], 0, None, ["1/2"]), ["weights"]),
])
def test_bad_data_are_refused(arguments, words):
    with pytest.raises(BadInput) as error:
        Logistic(*arguments)
    assert all(w in str(error.value) for w in words)


def test_other_refusals():
    for problem in (BINARY, SOFTMAX):
        with pytest.raises(BadInput, match="Logistic has no gradients in this arithmetic"):
            problem.to(RATIONAL)
    with pytest.raises(BadInput, match="HuberLoss"):
        HUBER.to(Modular())
    with pytest.raises(BadInput, match="deltas"):
        HuberLoss(U, OFFSETS, 0)
    with pytest.raises(BadInput, match=r"len\(scales\[0\]\)"):
        HuberLoss(U, OFFSETS, 1, [[1]] * 3)
    with pytest.raises(BadInput, match=r"Rows\.index"):
        BINARY.to(FLOAT).grad(np.zeros((3, 2)), Rows(np.full((3, 1), 2)))


def test_signs_are_labels_too():
    rows = [[[1.0, 2.0], [0.5, -1.0]], [[2.0, 1.0]]]
    by_sign, by_number = signed(rows, [[-1, 1], [1]]), signed(rows, [[0, 1], [1]])
    assert by_sign.value([0.3, -0.2]) == by_number.value([0.3, -0.2])
    assert by_sign.gradient([0.3, -0.2]).tolist() == by_number.gradient([0.3, -0.2]).tolist()
    for labels in ([[-1, 0], [1]], [[-1, 1], [0]], [[1, 2], [1]]):
        with pytest.raises(BadInput, match=r"0..1 or all -1/\+1.*one list of names"):
            signed(rows, labels)
    with pytest.raises(BadInput, match=r"0..2, over all clients"):
        Logistic(rows, [[-1, 1], [1]], 0.1, classes=3)


def signed(rows, labels):
    return Logistic(rows, labels, 0.1)
