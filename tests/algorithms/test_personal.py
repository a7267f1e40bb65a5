"""Clients with a shared and a personal part: block quadratics, any other clients, and what both are as ordinary problems."""
from fractions import Fraction

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.optima import float_optimum
from tests.algorithms.instances import residual

HUBER = ft.HuberLoss([[[1, 1]], [[1, 2], [0, 1]]], [[1], [0, 2]])
PLANE = ft.Quadratic([[[2, 1], [1, 2]], [[1, 0], [0, 1]]], [[1, 2], [0, 3]])


def test_the_joint_problem_has_the_joint_optimum_and_the_joint_value():
    problem, _ = residual()
    w, theta = problem.joint_optimum()
    best = ft.optimum(problem.joint())
    split = problem.split(best.x)
    assert ft.equal(split[0], w).status == ft.equal(split[1], theta).status == "HOLDS"
    assert ft.equal(best.value, problem.joint_value(w, theta)).status == "HOLDS"


def test_quadratics_read_as_residual_ones_are_block_quadratics():
    blocks = ft.Residual(PLANE.H[:, :1, :1], PLANE.H[:, :1, 1:], PLANE.H[:, 1:, 1:], PLANE.b[:, :1], PLANE.b[:, 1:])
    read = ft.Personal(PLANE, 1)
    for algorithm in (ft.FedResSgd("1/10", 3, personal_lr="1/5"), ft.FedResNaive("1/10", 3, personal_lr="1/5")):
        a, b = (ft.derive(algorithm, p, ft.Full(), domain=ft.RATIONAL).mean_map() for p in (blocks, read))
        assert (a[0] == b[0]).all() and (a[1] == b[1]).all()
    assert (read.joint().H == blocks.joint().H).all() and (read.joint().b == blocks.joint().b).all()


def test_rows_keep_their_losses_in_the_joint_problem():
    problem = ft.Personal(HUBER, 1)
    w, theta = np.array([0.3]), np.array([[1.2], [-0.4]])
    joint = problem.joint().to(ft.FLOAT)
    z = np.concatenate([w, theta.reshape(-1)])
    assert problem.to(ft.FLOAT).joint_value(w, theta) == pytest.approx(joint.value(z))
    gw, gtheta = problem.at().grad_pair(np.repeat(w[None], 2, axis=0), theta)
    found = np.concatenate([gw.mean(0), (gtheta / 2).reshape(-1)])
    assert found == pytest.approx(joint.gradient(z))
    assert (problem.alone().rows == np.array(HUBER.rows[..., :1])).all()


def test_softmax_splits_features_of_every_class():
    problem = ft.Personal(ft.Logistic([[[1, 2], [0, 1]], [[1, 1], [2, 0]]], [[0, 2], [1, 0]], 0, classes=3), 1)
    assert (problem.d, problem.personal, problem.joint().d) == (3, 3, 9)
    rng = np.random.Generator(np.random.Philox(3))
    w, theta = rng.normal(size=3), rng.normal(size=(2, 3))
    z = np.zeros(9)
    z.reshape(3, 3)[:, 0], z.reshape(3, 3)[:, 1:] = w, theta.T
    split = problem.split(z)
    assert (split[0] == w).all() and (split[1] == theta).all()
    assert problem.to(ft.FLOAT).joint_value(w, theta) == pytest.approx(problem.joint().to(ft.FLOAT).value(z))


@pytest.mark.parametrize("shared", [0, 2, -1, 1.5, True, None])
def test_something_is_shared_and_something_is_left(shared):
    with pytest.raises(BadInput, match="from 1 to 1"):
        ft.Personal(PLANE, shared)


@pytest.mark.parametrize("make", [
    lambda reg: ft.HuberLoss([[[1, 1]], [[1, 2], [0, 1]]], [[1], [0, 2]], reg=reg, weights=["1/4", "3/4"]),
    lambda reg: ft.Logistic([[[1, 2], [0, 1]], [[1, 1], [2, 0]]], [[0, 2], [1, 0]], reg, classes=3)], ids=["huber", "softmax"])
def test_clients_are_regularised_in_their_own_coordinates(make):
    """The joint problem against the clients one by one, with labels that are separable without the regularisation."""
    base = make("1/5")
    problem = ft.Personal(base, 1)
    joint, clients = problem.joint(), base.to(ft.FLOAT)
    z = np.linspace(-1, 2, joint.d)
    w, theta = problem.split(z)

    def value(w, theta):
        points = [problem.whole(w, t[None])[0] for t in theta]
        return sum(p * clients._values(x)[i] for i, (p, x) in enumerate(zip(clients.p, points, strict=True)))
    assert joint.to(ft.FLOAT).value(z) == pytest.approx(value(w, theta))
    assert problem.joint_value(w, theta) == pytest.approx(value(w, theta))
    best = ft.optimum(joint)
    assert best.certificate["gap"] < 1e-20
    assert ft.second_route(joint)[0] == pytest.approx(best.x, abs=1e-4)
    w, theta = problem.split(best.x)
    gw, gtheta = problem.at().grad_pair(np.stack([w, w]), theta)
    assert np.abs(clients.p @ gw).max() < 1e-12 and np.abs(gtheta).max() < 1e-12
    assert joint.to(ft.FLOAT).hessian(z).shape == (2, joint.d, joint.d) and joint.constants.mu == 0
    alone = ft.optimum(problem.alone())     # theta = 0 costs nothing
    assert value(alone.x, 0 * theta) == pytest.approx(alone.value)


def test_a_client_of_no_weight_does_not_hide_that_data_are_separable():
    for reg, finite in ((1, True), (0, False)):
        problem = ft.Personal(ft.Logistic([[[1, 2]], [[1, 1]]], [[0], [1]], reg, weights=[1, 0]), 1).joint()
        if finite:
            assert np.abs(ft.optimum(problem).x).max() < 1
        else:
            with pytest.raises(ft.NoMinimiser, match="separable"):
                ft.optimum(problem)


def test_other_problems_cannot_be_split():
    with pytest.raises(BadInput, match="split"):
        ft.Personal(ft.Residual([[[1]]], [[[0]]], [[[1]]], [[0]], [[0]]), 1)


def test_noise_is_on_both_parts_and_counts_both():
    """One client, one step of each phase, unit curvatures, steps of 1: both parameters are the noise alone."""
    problem = ft.Residual([[[1]]], [[[0]]], [[[1]]], [[0]], [[0]])
    op = ft.derive(ft.FedResSgd(1, 1, personal_lr=1), problem, ft.Full(), noise=3, domain=ft.RATIONAL)
    assert op.stationary().covariance[0, 0] == ft.fraction("9/2")


def test_exact_answers_are_fractions():
    problem, _ = residual()
    best = problem.split(ft.optimum(problem.joint()).x)
    for ours, theirs in zip(problem.joint_optimum(), best, strict=True):
        assert (ours == theirs).all()   # flint rationals compare unequal to Fractions


@pytest.mark.parametrize("base", [PLANE, HUBER], ids=["quadratic", "rows"])
def test_other_weights_reach_the_ordinary_problems(base):
    problem = ft.Personal(base, 1).surrogate(["1/4", "3/4"])
    other = ft.Personal(base.surrogate(["1/4", "3/4"]), 1)
    for a, b in ((problem.joint(), other.joint()), (problem.alone(), other.alone())):
        x = [1] * a.d
        assert (a.weights == b.weights).all() and a.value(x) == b.value(x)
    assert problem.joint_value([1], [[1], [2]]) == other.joint().value([1, 1, 2])


def test_many_quadratic_clients_are_minimised_in_blocks():
    """The shared part at the optimum, in runs and floors, without the dense joint problem (60 million entries here)."""
    rng = np.random.Generator(np.random.Philox(5))
    rows = rng.normal(size=(300, 4, 3))
    H, b = rows.swapaxes(1, 2) @ rows, rng.normal(size=(300, 3))
    problem = ft.Personal(ft.Quadratic.from_linear(H, b), 1)
    w, theta = problem.blocks().joint_optimum()
    for one in (problem, problem.blocks()):
        assert float_optimum(one) == pytest.approx(w)
    gw, gtheta = problem.at().grad_pair(np.repeat(w[None], 300, axis=0), theta)
    assert np.abs(gw.mean(0)).max() < 1e-12 and np.abs(gtheta).max() < 1e-12


def test_joint_problems_that_fill_the_memory_are_refused():
    many = ft.Residual([[[1]]] * 500, [[[0]]] * 500, [[[1]]] * 500, [[0]] * 500, [[1]] * 500)
    assert many.joint_optimum()[1].sum() == 500
    with pytest.raises(ft.TooLarge, match="entries"):
        many.joint()
    with pytest.raises(ft.TooLarge, match="3001 joint coordinates"):
        ft.Personal(ft.HuberLoss([[[1, 2]]] * 3000, [[1]] * 3000), 1).joint()


@pytest.mark.parametrize("base", [ft.Logistic([[[1, 2], [0, 1]], [[1, 1], [2, 0]]], [[0, 2], [1, 0]], "1/5", classes=3), HUBER],
                         ids=["softmax", "huber"])
def test_the_mean_hessian_is_the_mean_of_the_hessians(base):
    other = base.surrogate(["1/4", "3/4"])
    for problem in (other, ft.Personal(other, 1).joint()):
        x = np.linspace(-1, 1, problem.d)
        expected = (np.array([1, 3])[:, None, None] * problem.hessian(x)).sum(0) / 4
        assert problem.mean_hessian(x) == pytest.approx(expected, abs=1e-14)
        assert float(problem.constants.L) == pytest.approx(float(base.constants.L))   # columns of zeros add nothing


def test_units_of_coordinates_do_not_make_a_problem_singular():
    scale = np.diag([1, 1e-9])
    flat = [np.zeros((2, 2))] * 2
    C = scale @ np.array([[2.0, 1], [1, 2]]) @ scale
    problem = ft.Residual([scale @ scale] * 2, flat, [C] * 2, [scale @ [1, 1]] * 2, [scale @ [3, 3]] * 2)
    w, theta = problem.joint_optimum()
    assert scale @ w == pytest.approx([1, 1]) and scale @ theta[0] == pytest.approx([1, 1])
    with pytest.raises(ft.NoMinimiser):
        ft.Residual([scale] * 2, flat, [scale @ np.ones((2, 2)) @ scale] * 2, [[1, 1]] * 2, [[1, 1]] * 2).joint_optimum()


def test_exact_floors_are_about_the_joint_optimum():
    problem, _ = residual()
    op = ft.derive(ft.FedResSgd("1/20", 2, personal_lr="1/10"), problem, ft.Full(), noise=1)
    exact = op.exact().floor()
    assert isinstance(exact, Fraction) and float(exact) == pytest.approx(op.floor())
    assert exact == op.exact().floor(problem.joint_optimum()[0])
    floats = ft.Residual(*(np.array(v, dtype=float) for v in (problem.A, problem.B, problem.C, problem.bw, problem.btheta)))
    for other in (floats, ft.Personal(PLANE, 1)):
        op = ft.derive(ft.FedResSgd("1/20", 2, personal_lr="1/10"), other, ft.Full(), noise=1)
        assert float(op.exact().floor()) == pytest.approx(op.floor())
