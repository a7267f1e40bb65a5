"""Runs on few numbers: what a local step costs besides its arithmetic, and that no result depends on how it is saved."""
from dataclasses import dataclass

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import TooLarge
from fltheory.core.laws import draw as module
from fltheory.core.laws.draw import everyone, to_device
from fltheory.core.problems import rows
from fltheory.runs import draws
from tests.algorithms.instances import quadratic
from tests.runs.test_runs import ALGORITHMS, LAWS
from tests.runs.traces import LR, same, torch


@pytest.mark.parametrize("steps", [3, (1, 4, 2), [[1, 2, 3], [5, 1, 1]]], ids=str)
def test_masks_made_together_are_those_made_one_by_one(steps, monkeypatch):
    here = everyone(3, np.array(steps), np.ones(np.broadcast_shapes((3,), np.shape(steps)), dtype=int))
    there = to_device(here, "cpu")
    together = list(there.local_steps())
    monkeypatch.setattr(module, "MASKS", 0)
    for one in (list(there.local_steps()), list(here.local_steps())):
        assert [k for k, _ in one] == [k for k, _ in together] and len(one) == int(here.steps.max())
        for (_, a), (_, b) in zip(one, together, strict=True):
            assert b.dtype is torch.int64 and np.array_equal(np.asarray(a), b.numpy())


def test_masks_of_all_steps_are_made_by_few_operations():
    """Not some for each step: profiled operations of torch, for 5 and for 50 steps."""
    def operations(steps):
        made = to_device(everyone(3, steps), "cpu")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
            list(made.local_steps())
        return sum(e.count for e in seen.key_averages() if e.key in ("aten::gt", "aten::mul", "aten::arange"))
    assert operations(5) == operations(50)


@pytest.mark.parametrize("noise", [None, 1])
@pytest.mark.parametrize(("name", "law"), [(a, k) for a in ("FedAvg", "FedNova", "Scaffold", "warm Focus") for k in LAWS
                                           if not (a in ("Scaffold", "warm Focus") and k == "repeats")])
def test_a_single_replicate_is_the_one_of_a_batch_of_one(name, law, noise, monkeypatch):
    """A shared draw instead of a batched one: the same numbers."""
    def go():
        return ft.run(ALGORITHMS[name], quadratic()[0], LAWS[law], 12, 1, seed=2, noise=noise, x0=[3, -2])
    shared = go()
    monkeypatch.setattr(draws, "of_replicate", lambda draw, k: draw)
    same(shared, go(), 1e-14)


class Mine(ft.FedAvg):
    """A user's, so that it is run in torch."""


def test_a_single_replicate_looks_its_cohort_up(monkeypatch):
    groups, group = [0], rows.client_major

    def counted(*arguments):
        groups[0] += 1
        return group(*arguments)
    monkeypatch.setattr("fltheory.core.problems.quadratic.client_major", counted)
    for algorithm in (ft.FedAvg(LR, 5), Mine(LR, 5)):
        ft.run(algorithm, quadratic()[0], ft.Uniform(2), 9, 1)
        assert groups == [0]
    ft.run(Mine(LR, 5), quadratic()[0], ft.Uniform(2), 9, 2)
    assert groups[0] >= 40


def test_no_generator_is_made_for_a_sample(monkeypatch):
    made, philox = [0], np.random.Philox

    def counted(*arguments, **options):
        made[0] += 1
        return philox(*arguments, **options)
    monkeypatch.setattr(np.random, "Philox", counted)
    ft.run(ft.FedAvg(LR, 7), quadratic()[0], ft.Uniform(2), 20, 1, noise=1)
    assert made[0] <= 5                                          # 140 samples, 20 cohorts


# ---- what users write may differentiate ------------------------------------------------------------------------
def slope(x):
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad((x**3).sum(), x)
    return g.sum(-1)


@dataclass(frozen=True)
class Differentiates(ft.FedAvg):
    """Asks autograd for the derivative of |x|^2 / 2."""

    def server(self, x, cohort, draw, change, mass):
        if isinstance(x, np.ndarray):
            return x + x + 0 * change.sum(-2)
        point = x.detach().requires_grad_()
        return x + torch.autograd.grad((point * point).sum() / 2, point)[0] + 0 * change.sum(-2)


def test_metrics_and_rounds_of_users_may_differentiate():
    t = ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Full(), 6, 3, noise=1, x0=[3, -2], metrics={"slope": slope})
    same(t, ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Full(), 6, 3, noise=1, x0=[3, -2],
                   metrics={"slope": lambda x: (3 * x**2).sum(-1)}), 1e-14)
    doubled = ft.run(Differentiates(LR, 1), quadratic()[0], ft.Full(), 3, 2, x0=[3, -2])
    assert doubled.final == pytest.approx([24, -16]) and doubled.audit <= 1e-12


def test_more_clients_than_fit_are_refused_at_once():
    with pytest.raises(TooLarge, match="take fewer"):
        everyone(10**12, 1)
