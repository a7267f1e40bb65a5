"""Fixed points and biases: what passes, the wrong algorithm that fails."""
import re
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from tests.workbench.assertions.subjects import FEDAVG, FEDAVG_PLANE, FEDNOVA, PLANE, SCAFFOLD, op


# ---- fixed points --------------------------------------------------------------------------------------------
def test_fixed_points_exactly_and_in_floats():
    exact = op(FEDAVG).exact()
    x = exact.fixed_point().x
    assert ft.assert_fixed_point(exact, x).kind == "exact (rationals)"
    assert ft.assert_fixed_point(exact, [str(x[0])]).status == "HOLDS"
    assert ft.assert_fixed_point(op(FEDAVG), x).kind == "float"
    assert ft.assert_fixed_point(op(FEDNOVA), ["1/2"], tolerance="6e-2").status == "HOLDS"
    for wrong in (FEDNOVA, ft.FedAvg("1/20", [1, 10], averaging="weighted", solver=ft.Momentum("1/10"))):
        for form in (op(wrong), op(wrong).exact()):
            with pytest.raises(AssertionError, match="does not hold"):
                ft.assert_fixed_point(form, x)


def test_exact_means_exact_and_floats_mean_nine_digits():
    exact, x = op(FEDAVG).exact(), op(FEDAVG).exact().fixed_point().x
    near = [x[0] + Q(1, 10**12)]
    with pytest.raises(AssertionError, match="equality"):
        ft.assert_fixed_point(exact, near)
    ft.assert_fixed_point(exact, near, tolerance=Q(1, 10**12))
    with pytest.raises(AssertionError):
        ft.assert_fixed_point(exact, near, tolerance=Q(1, 10**12) - Q(1, 10**20))
    ft.assert_fixed_point(op(FEDAVG), near)
    ft.assert_fixed_point(exact, [float(x[0])])  # a float is compared as a float
    with pytest.raises(AssertionError, match="1e-9 of the scale"):
        ft.assert_fixed_point(op(FEDAVG), [x[0] + Q(1, 10**8)])


def test_a_fixed_point_at_the_origin_has_the_scale_of_the_problem():
    centred = ft.Quadratic(H=[[[1]], [["1/3"]]], c=[[-1], [3]])
    ft.assert_fixed_point(op(ft.Scaffold("1/10", [3, 2]), centred), [0])
    with pytest.raises(AssertionError):
        ft.assert_fixed_point(op(ft.FedAvg("1/10", [3, 2]), centred), [0])


def test_every_coordinate_counts():
    x = op(FEDAVG_PLANE, PLANE).exact().fixed_point().x
    ft.assert_fixed_point(op(FEDAVG_PLANE, PLANE), x)
    with pytest.raises(AssertionError) as failed:
        ft.assert_fixed_point(op(FEDAVG_PLANE, PLANE), [x[0], x[1] + 1])
    rows = [line for line in str(failed.value).splitlines() if line.startswith("  x[")]
    assert ["differs" in row for row in rows] == [False, True]
    starts = [re.search(r"\S+\s+\S+\s+(\S)", row).start(1) for row in rows]
    assert len(set(starts)) == 1  # aligned


def test_without_a_fixed_point_the_reason_is_shown():
    flat = ft.Quadratic.from_linear(H=[[[0]], [[0]]], b=[[1], [0]])
    for form in (op(ft.FedAvg("1/10", 1), flat), op(ft.FedAvg("1/10", 1), flat).exact()):
        with pytest.raises(AssertionError, match="eigenvalue 1"):
            ft.assert_fixed_point(form, [0])
        with pytest.raises(AssertionError, match="eigenvalue 1"):
            ft.assert_bias(form, [0], reference=[0])


# ---- bias ----------------------------------------------------------------------------------------------------
def test_biases_as_distance_and_as_vector():
    exact = op(FEDAVG_PLANE, PLANE).exact()
    gap = exact.fixed_point().x - ft.optimum(PLANE).x
    ft.assert_bias(exact, gap)
    distance = float(np.linalg.norm(gap.astype(float)))
    ft.assert_bias(op(FEDAVG_PLANE, PLANE), distance)
    ft.assert_bias(exact, distance, tolerance=1e-12)
    with pytest.raises(AssertionError):
        ft.assert_bias(exact, Q(distance))  # the root is irrational: squares differ exactly
    with pytest.raises(AssertionError):
        ft.assert_bias(exact, -gap)
    ft.assert_bias(exact, 0, reference=exact.fixed_point().x)
    ft.assert_bias(op(FEDAVG).exact(), op(FEDAVG).exact().fixed_point().x[0] - Q(1, 2))


def test_a_bias_of_zero_and_the_wrong_algorithm_that_has_one():
    for good in (op(SCAFFOLD), op(SCAFFOLD).exact()):
        assert ft.assert_bias(good, 0).status == "HOLDS"
        ft.assert_bias(good, [0])
    for wrong in (op(FEDAVG), op(FEDAVG).exact()):
        with pytest.raises(AssertionError, match="Euclidean distance"):
            ft.assert_bias(wrong, 0)


def test_a_problem_without_minimiser_needs_a_reference():
    down = ft.Quadratic(H=[[[1]], [[-2]]], c=[[0], [1]])
    with pytest.raises(BadInput, match="reference"):
        ft.assert_bias(op(ft.FedAvg("1/10", 1), down), 0)
    ft.assert_bias(op(ft.FedAvg("1/10", 1), down), 0, reference=[2])
