"""Clients with a shared and a personal part: block quadratics, any other clients, and what both are as ordinary problems."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from tests.core.algorithms.instances import residual

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


def test_a_regularised_problem_of_rows_has_no_joint_one():
    with pytest.raises(BadInput, match="reg"):
        ft.Personal(ft.HuberLoss([[[1, 1]]], [[1]], reg=1), 1).joint()
    with pytest.raises(BadInput, match="split"):
        ft.Personal(ft.Residual([[[1]]], [[[0]]], [[[1]]], [[0]], [[0]]), 1)


def test_noise_is_on_both_parts_and_counts_both():
    """One client, one step of each phase, unit curvatures, steps of 1: both parameters are the noise alone."""
    problem = ft.Residual([[[1]]], [[[0]]], [[[1]]], [[0]], [[0]])
    op = ft.derive(ft.FedResSgd(1, 1, personal_lr=1), problem, ft.Full(), noise=3, domain=ft.RATIONAL)
    assert op.stationary().covariance[0, 0] == ft.fraction("9/2")
