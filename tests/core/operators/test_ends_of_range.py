"""Rounds of data near the end of the range of floats, and of more cohorts than can be listed."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, TooLarge


@pytest.mark.parametrize("far", [1e50, 1e101, 1e150])
def test_far_minimisers_keep_their_maps(far):
    problem = ft.Quadratic([[[1.0]], [[2.0]]], [[0.0], [far]], ["1/3", "2/3"])
    op = ft.derive(ft.FedAvg(0.1, 2), problem, ft.Full())
    right = ft.derive(ft.FedAvg("1/10", 2), ft.Quadratic([[[1]], [[2]]], [[0], [1]], ["1/3", "2/3"]), ft.Full()).exact()
    assert op.fixed_point().x[0] / far == pytest.approx(float(right.fixed_point().x[0]), rel=1e-12)
    assert not ft.derive(ft.FedAvg(5.0, 2), problem, ft.Full()).stable


def test_beyond_that_it_is_refused():
    with pytest.raises(BadInput, match=r"Rescale|float64"):
        ft.derive(ft.FedAvg(0.1, 2), ft.Quadratic([[[1.0]], [[1.0]]], [[0.0], [1e295]]), ft.Full()).fixed_point()


@pytest.mark.parametrize("mixing", ["update", "model"])
@pytest.mark.parametrize("law", [ft.Uniform(10), ft.Bernoulli("1/2")])
def test_stale_steps_of_many_cohorts_say_what_is_too_much(mixing, law):
    problem = ft.Quadratic([[[f"{i + 1}/20"]] for i in range(20)], [[i] for i in range(20)])
    op = ft.derive(ft.StaleSteps("1/3", 2, server_lr="1/2", mixing=mixing), problem, law)
    assert op.rate() < 1 and np.isfinite(op.fixed_point().x).all()
    try:
        assert op.floor() > 0
    except TooLarge as error:
        assert "mean-square rate" in str(error)
    assert np.isfinite(op.after([1.0], 3)).all()
