"""The loops that replicates are measured against make the same rounds; no time is asserted."""
import numpy as np
import pytest

import fltheory as ft
from verification.engine.bench import random_quadratic, replicates
from verification.engine.bench.timing import LR, STEPS


@pytest.mark.parametrize("name", replicates.METHODS)
def test_loops_make_the_rounds_of_the_methods(name, monkeypatch):
    """Where everybody takes part and nothing is drawn."""
    monkeypatch.setattr(replicates, "SIGMA", 0.0)
    problem = random_quadratic(4, 3)
    final = ft.run(replicates.METHODS[name], problem, ft.Full(), 12).final
    assert replicates.loop(name, problem, 12)[-1] == pytest.approx(final, rel=1e-10, abs=1e-12)
    assert np.array_equal(replicates.loop(name, problem, 12)[0], np.zeros(3))


def test_the_loop_with_every_client_makes_fedavg_rounds():
    problem = random_quadratic(4, 3)
    assert replicates.full_loop(problem, 7) == pytest.approx(ft.run(ft.FedAvg(LR, STEPS), problem, ft.Full(), 7).final, rel=1e-10)


@pytest.mark.parametrize("name", replicates.METHODS)
def test_noise_and_cohorts_of_the_loops_are_those_of_the_law(name, monkeypatch):
    monkeypatch.setattr(replicates, "SIGMA", 10.0)
    monkeypatch.setattr(replicates, "COHORT", 2)
    problem = random_quadratic(3, 2)
    *_, (_, second) = ft.derive(replicates.METHODS[name], problem, ft.Uniform(2), noise=10).trajectory(3, [0, 0])
    squares = [(replicates.loop(name, problem, 2, seed)[-1] ** 2).sum() for seed in range(800)]
    assert abs(np.mean(squares) - np.trace(second)) <= 5 * np.std(squares) / 800**0.5


def test_every_method_is_measured(monkeypatch):
    rows = replicates.sampled({"FedAvg": replicates.METHODS["FedAvg"]}, replicates=(8,), repeats=1)
    assert [what for what, *_ in rows] == ["FedAvg, 8 replicates"] and all(v > 0 for v in rows[0][1:])
    monkeypatch.setattr(replicates, "ALONE", 3)
    assert [what for what, *_ in replicates.single(repeats=1)] == ["one round", "a whole run"]
