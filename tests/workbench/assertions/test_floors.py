"""Floors: exact, in floats, as bounds, and intervals of runs.

Intervals stand at level 0.9999 with fixed seeds.
"""
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from tests.workbench.assertions.subjects import FEDAVG, FEDAVG_PLANE, FEDNOVA, LINE, PLANE, SCAFFOLD, op


def test_floors_exactly_in_floats_and_as_bounds():
    sampled = op(FEDAVG, LINE, ft.Uniform(1), noise=1)
    floor = sampled.exact().floor()
    ft.assert_floor(sampled.exact(), floor)
    ft.assert_floor(sampled, floor)
    ft.assert_floor(sampled.exact(), at_most=floor)
    ft.assert_floor(sampled, at_most=floor)
    for wrong in (op(replace(FEDAVG, averaging="unbiased"), LINE, ft.Uniform(1), noise="11/10"),
                  op(FEDNOVA, LINE, ft.Uniform(1), noise=2)):
        assert wrong.stable
        with pytest.raises(AssertionError, match="does not hold"):
            ft.assert_floor(wrong.exact(), floor)
        with pytest.raises(AssertionError, match="does not hold"):
            ft.assert_floor(wrong, floor)
    with pytest.raises(AssertionError):
        ft.assert_floor(sampled.exact(), at_most=floor - Q(1, 10**15))
    ft.assert_floor(op(SCAFFOLD), 0)
    ft.assert_floor(sampled.exact(), sampled.exact().floor([3]), reference=[3])


def test_a_diverging_floor_and_a_singular_one():
    wild = op(ft.FedAvg(1, 1), ft.Quadratic(H=[[[3]], [["1/10"]]], c=[[0], [1]]), ft.Uniform(1))
    assert not wild.stable
    for options in ({"expected": 1}, {"at_most": 10**9}):
        with pytest.raises(AssertionError, match="second moments grow without bound"):
            ft.assert_floor(wild, **options)


def test_intervals_of_runs():
    pytest.importorskip("torch")
    made = ft.run(FEDAVG, LINE, ft.Uniform(1), rounds=60, replicates=4000, noise=1, seed=3)
    exact = op(FEDAVG, LINE, ft.Uniform(1), noise=1)
    floor, x = exact.floor(), exact.fixed_point().x
    assert "99.9900%" in ft.assert_floor(made, floor).allowed
    ft.assert_floor(made, at_most=floor * 1.2)
    ft.assert_floor(made, floor * 1.02, tolerance=floor / 5)
    ft.assert_fixed_point(made, x)
    ft.assert_bias(made, abs(x[0] - 0.5))
    ft.assert_bias(made, x - 0.5)
    wrong = ft.run(replace(FEDAVG, steps=(1, 9)), LINE, ft.Uniform(1), rounds=60, replicates=12000, noise=1, seed=3)
    for claim in (lambda: ft.assert_fixed_point(wrong, x), lambda: ft.assert_bias(wrong, abs(x[0] - 0.5)),
                  lambda: ft.assert_floor(wrong, floor), lambda: ft.assert_floor(wrong, at_most=floor * 0.9),
                  lambda: ft.assert_bias(wrong, 0), lambda: ft.assert_floor(wrong, floor / 2, tolerance=floor / 10)):
        with pytest.raises(AssertionError, match="does not hold"):
            claim()
    few = ft.run(FEDAVG, LINE, ft.Uniform(1), rounds=60, replicates=20, noise=1, seed=3)
    one = ft.run(FEDAVG, LINE, ft.Uniform(1), rounds=60, noise=1, seed=3)
    for trace in (few, one):  # wide intervals contain everything and decide nothing
        for claim in (lambda t: ft.assert_fixed_point(t, x), lambda t: ft.assert_floor(t, floor),
                      lambda t: ft.assert_floor(t, at_most=floor * 1.1), lambda t: ft.assert_bias(t, x - 0.5),
                      lambda t: ft.assert_fixed_point(t, x, tolerance="1/100")):
            with pytest.raises(AssertionError, match="inconclusive"):
                claim(trace)


def test_the_interval_of_a_mean_model_covers_at_its_level():
    pytest.importorskip("torch")
    from fltheory.workbench.assertions.subjects import mean_ball
    law, missed, ratios = ft.Uniform(1), 0, []
    *_, (mean, _) = op(FEDAVG_PLANE, PLANE, law).trajectory(13, [0, 0])
    for seed in range(60):
        trace = ft.run(FEDAVG_PLANE, PLANE, law, rounds=12, replicates=50, seed=seed)
        centre, radius = mean_ball(trace, 0.9)
        missed += np.linalg.norm(centre - mean) > radius
        ratios.append(radius / np.linalg.norm(centre - mean))
    assert missed <= 12          # expected at most 6 of 60; 13 or more has probability 0.005
    assert np.median(ratios) < 5  # not so wide that it never could miss


def test_deterministic_runs_need_two_replicates_and_meet_the_prediction():
    pytest.importorskip("torch")
    made = ft.run(ft.FedAvg("1/4", [1, 3]), LINE, ft.Full(), rounds=200, replicates=2)
    x = op(ft.FedAvg("1/4", [1, 3])).fixed_point().x
    ft.assert_fixed_point(made, x)
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_fixed_point(made, x + 1e-4)
    short = ft.run(ft.FedAvg("1/4", [1, 3]), LINE, ft.Full(), rounds=8, replicates=2)
    with pytest.raises(AssertionError, match="what is"):
        ft.assert_fixed_point(short, x)


def test_a_trace_from_a_file_has_a_floor_and_no_problem(tmp_path):
    pytest.importorskip("torch")
    made = ft.run(ft.FedAvg("1/4", [1, 3]), LINE, ft.Full(), rounds=200, replicates=2)
    read = ft.Trace.load(made.save(tmp_path / "run"))
    floor = op(ft.FedAvg("1/4", [1, 3])).floor()
    assert "a trace of 200 rounds" in ft.assert_floor(read, floor).subject
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_floor(read, 2 * floor)
    with pytest.raises(BadInput, match="without problem"):
        ft.assert_bias(read, 0)


def test_an_overflowing_run_is_no_agreement():
    pytest.importorskip("torch")
    with np.errstate(all="ignore"):
        made = ft.run(ft.FedAvg(9, 3), LINE, ft.Full(), rounds=400, replicates=2)
    assert not np.isfinite(made.final).all()
    for claim in (lambda: ft.assert_floor(made, at_most=1), lambda: ft.assert_floor(made, 1),
                  lambda: ft.assert_fixed_point(made, [0.5]), lambda: ft.assert_bias(made, 0),
                  lambda: ft.assert_linear_rate(made, at_most=1, kind="mean-square", window=(300, 390))):
        with pytest.raises(AssertionError):
            claim()


def test_a_trace_that_measured_something_else_is_refused():
    pytest.importorskip("torch")
    made = ft.run(FEDAVG, LINE, ft.Full(), rounds=5, replicates=2, metrics={"zero": lambda x: 0 * x[..., 0]})
    other = replace(made, metrics={"error": made.metrics["zero"]}, tail={"error": made.tail["zero"]})   # as files may hold
    with pytest.raises(BadInput, match="is not"):
        ft.assert_fixed_point(other, [1])
    with pytest.raises(BadInput, match="without problem"):
        ft.assert_fixed_point(replace(other, problem=None), [1])
