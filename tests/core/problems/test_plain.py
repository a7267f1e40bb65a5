"""A plain problem answers in its own arithmetic: values and gradients before any round has chosen one."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT, RATIONAL
from fltheory.core.problems.plain import Rows

EXACT = ft.Quadratic([[[2, 1], [1, 3]], [[1, 0], [0, 1]]], [[1, 0], [0, 2]], ["1/4", "3/4"])
FLOATS = ft.Quadratic(np.array([[[2.0]], [[1.0]]]), np.array([[1.0], [0.5]]))
RIDGE = ft.Ridge([[[1, 2], [0, 1]], [[1, 1]]], [[1, 0], [2]], "1/10")
HUBER = ft.HuberLoss([[[1, 0]], [[1, 2], [0, 1]]], [[1], [0, 3]], "1/2")
LOGISTIC = ft.Logistic([[[1, 2]], [[0, 1], [1, 1]]], [[0], [1, 0]], 0.1)


def test_a_quadratic_in_words_of_school():
    """F = 1/4 (x^2 + xy + 3/2 y^2 - ...) by hand at one point: f_1 = 1/2 (x-c)'H(x-c), f_2 = 1/2 |x-c|^2."""
    x = [Q(1, 2), 1]
    f = [Q(1, 2) * (2 * Q(1, 4) - 2 * Q(1, 2) * 1 + 3), Q(1, 2) * (Q(1, 4) + 1)]
    g = [[2 * -Q(1, 2) + 1, -Q(1, 2) + 3], [Q(1, 2), -1]]
    value, gradient = EXACT.value(x), EXACT.gradient(x)
    assert value == f[0] / 4 + f[1] * 3 / 4 and type(value) is Q
    assert gradient.tolist() == [a / 4 + b * 3 / 4 for a, b in zip(*g, strict=True)]
    assert EXACT.grad([x]).tolist() == EXACT.grad([x, x]).tolist() == EXACT.at().grad([x]).tolist() == g
    assert EXACT.at([1]).grad([x]).tolist() == g[1:] and EXACT.at([1, 1, 0]).p.tolist() == [Q(3, 4), Q(3, 4), Q(1, 4)]
    assert all(type(v) is Q for v in EXACT.grad([x]).reshape(-1))


@pytest.mark.parametrize("problem", [EXACT, RIDGE, HUBER])
def test_exact_in_exact_out_floats_in_floats_out(problem):
    exact = problem.value([1, Q(1, 3)]), *problem.gradient([1, Q(1, 3)]), *problem.grad([[1, Q(1, 3)]]).reshape(-1)
    assert all(type(v) is Q for v in exact)
    floats = problem.value([1.0, 1 / 3]), *problem.gradient([1.0, 1 / 3]), *problem.grad([[1.0, 1 / 3]]).reshape(-1)
    assert all(isinstance(v, float) for v in floats)
    assert np.allclose([float(v) for v in exact], floats, rtol=1e-14)


@pytest.mark.parametrize("problem", [EXACT, FLOATS, RIDGE, HUBER, LOGISTIC])
def test_the_same_numbers_as_the_converted_problem(problem):
    rng = np.random.default_rng(1)
    converted, x = problem.to(FLOAT), rng.standard_normal((4, problem.d))
    y = rng.standard_normal((3, problem.n, problem.d))
    assert (problem.value(x) == converted.value(x)).all() and (problem.gradient(x) == converted.gradient(x)).all()
    assert (problem.grad(y) == converted.grad(y)).all()
    who = np.array([1, 0, 1])
    assert (problem.at(who).grad(y[:, :1]) == converted.at(who).grad(y[:, :1])).all()
    assert (problem.at(who).p == converted.at(who).p).all() and problem.at(who).n == problem.n
    noise = rng.standard_normal((3, problem.n, problem.d))
    assert (problem.grad(y, noise) == converted.grad(y, noise)).all()
    assert problem.value(x.tolist()).tolist() == converted.value(x).tolist()
    assert [problem.value(v) for v in x] == pytest.approx(converted.value(x), rel=1e-13)


def test_a_float_problem_stays_in_floats():
    assert isinstance(FLOATS.value([0]), float) and FLOATS.gradient([0]).dtype == np.float64
    assert LOGISTIC.value([0, 0]) == pytest.approx(np.log(2))


def test_mini_batches():
    assert RIDGE.at([0]).grad([[1, 1]], Rows(np.array([[1]]))).tolist() == [[Q(1, 10), 1 + Q(1, 10)]]


def test_symbols_stay_symbols():
    pytest.importorskip("sympy")
    a, b = ft.Field("a b").symbols
    p = ft.Quadratic([[[a]]], [[b]])
    assert p.value([0]) == a * b * b / 2 and p.gradient([b]).tolist() == [0]
    assert ft.Quadratic([[[2]]], [[0]]).value([a]) == a * a
    with pytest.raises(BadInput, match="float"):
        p.value([0.5])


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    value = EXACT.value(torch.tensor([0.5, 1.0], dtype=torch.float64))
    assert torch.is_tensor(value) and float(value) == float(EXACT.value([Q(1, 2), 1]))


def test_a_network():
    torch = pytest.importorskip("torch")
    net = ft.Network(lambda: torch.nn.Linear(2, 2), [[[1.0, 2.0]], [[0.0, 1.0]]], [[0], [1]])
    x = net.initial()
    value, slope = net.value(x), net.gradient(x)
    assert isinstance(value, float) and slope.shape == (6,) and slope.dtype == np.float64
    assert value == pytest.approx(net.evaluate(x)["loss"]) and net.grad(x[None]).shape == (2, 6)
    assert net.value([0] * 6) == pytest.approx(np.log(2))


def test_personal_parameters():
    p = ft.Residual([[[2]], [[1]]], [[[1]], [[1]]], [[[2]], [[3]]], [[1], [0]], [[1], [2]])
    gw, gt = p.at().grad_pair([[1]], [[1], [0]])
    assert gw.tolist() == [[2 + 1 - 1], [1]] and gt.tolist() == [[1 + 2 - 1], [1 - 2]]
    assert p.joint_value([1], [[1], [0]]) == Q(1, 2) * (1 + 1 + 1 - 1 - 1) + Q(1, 2) * Q(1, 2)
    for call in (lambda: p.value([0]), lambda: p.gradient([0]), lambda: p.grad([[0]]), lambda: p.at().grad([[0]])):
        with pytest.raises(BadInput, match="come in pairs"):
            call()


@pytest.mark.parametrize("problem", [EXACT, EXACT.to(RATIONAL), EXACT.to(FLOAT)])
@pytest.mark.parametrize("call, says", [
    (lambda p: p.value([1]), "shape"), (lambda p: p.value(1), "shape"), (lambda p: p.gradient([1, 2, 3]), "shape"),
    (lambda p: p.value([[1], [1, 2]]), "ragged"), (lambda p: p.value(["a", 0]), "rational"),
    (lambda p: p.value([float("nan"), 0]), "finite"), (lambda p: p.value(None), "no number"), (lambda p: p.value({}), "no number"),
    (lambda p: p.to(None), "arithmetic"), (lambda p: p.to("float"), "arithmetic"), (lambda p: p.to({}), "arithmetic"),
])
def test_what_is_no_point_is_refused(problem, call, says):
    with pytest.raises(BadInput, match=says):
        call(problem)


@pytest.mark.parametrize("call, says", [
    (lambda p: p.grad([1, 2]), "shape"), (lambda p: p.grad([[1, 2]] * 3), "shape"), (lambda p: p.grad([[1]]), "shape"),
    (lambda p: p.at([2]), "0 to 1"), (lambda p: p.at([-1]), "0 to 1"), (lambda p: p.at([0.5]), "ind"),
    (lambda p: p.at([True]), "ind"), (lambda p: p.at("ab"), "ind"), (lambda p: p.at(None), "ind"), (lambda p: p.at(0), "ind"),
    (lambda p: p.at([0]).grad([[1, 1]] * 2), "shape"), (lambda p: p.at([0]).grad([[1, 1]], [1]), "sample"),
])
def test_what_is_no_cohort_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call(EXACT)


@pytest.mark.parametrize("call, says", [
    (lambda: LOGISTIC.hessian([1]), "shape"), (lambda: LOGISTIC.hessian(None), "no number"),
    (lambda: HUBER.hessian([[1, 2]]), "shape"), (lambda: EXACT.dissimilarity([1], 2), "one weight per client"),
    (lambda: EXACT.dissimilarity(1, 2), "one weight per client"), (lambda: LOGISTIC.to(np.eye(2)), "arithmetic"),
])
def test_other_questions_to_a_problem(call, says):
    with pytest.raises(BadInput, match=says):
        call()


def test_tensors_of_other_kinds():
    torch = pytest.importorskip("torch")
    for problem in (EXACT, EXACT.to(FLOAT), EXACT.to(RATIONAL), EXACT.to(ft.Torch())):
        for point in (torch.tensor([1, 2]), torch.tensor([1.0, 2.0], dtype=torch.float32)):
            assert float(problem.value(point)) == float(EXACT.value([1, 2]))
        with pytest.raises(BadInput):
            problem.value(torch.tensor([1j, 0]))


def test_slices_and_everyone():
    assert EXACT.at(slice(1, None)).p.tolist() == [Q(3, 4)] and EXACT.at(EVERYONE).p.tolist() == [Q(1, 4), Q(3, 4)]


def test_rounds_see_the_converted_problem_as_before():
    """No extra work in the hot path: a converted problem hands out the same lean cohort."""
    from fltheory.core.problems.base import Cohort

    assert type(EXACT.to(FLOAT).at()) is Cohort and EXACT.to(FLOAT).at().p is EXACT.to(FLOAT).p


def test_algorithms_are_converted_to_arithmetics_only():
    for wrong in (None, {}, "float", 3, FLOAT.array):
        with pytest.raises(BadInput, match="arithmetic"):
            ft.FedAvg("1/20", 2).to(wrong)
