"""One Gaussian a client and round: its covariance by hand, exact moments, the literal run, and what is refused in words."""
import importlib
from dataclasses import dataclass

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.arrays import spread
from fltheory.core.numbers.scalars import Number, Torch
from fltheory.core.operators.setting import prepare
from fltheory.core.records import declared, positive
from fltheory.runs import batched, preparation
from fltheory.runs.collapsed_noise import collapse
from tests.algorithms.instances import quadratic
from tests.runs.traces import CHANCES, LR, NORM, same

collapsing = importlib.import_module("fltheory.runs.collapsed_noise")     # whose name is that of its function
METHODS = {"FedAvg": ft.FedAvg(LR), "momentum": ft.FedAvg(LR, solver=ft.Momentum("1/2")), "FedNova": ft.FedNova(LR),
           "Scaffold": ft.Scaffold(LR), "fresh variates": ft.Scaffold(LR, option=1), "Focus": ft.Focus("1/100"),
           "FedVARP": ft.FedVarp(LR), "MIFA": ft.Mifa(LR), "Scaffnew": ft.Scaffnew(LR), "VRL-SGD": ft.VRLSGD(LR)}
LAWS = {"uniform": ft.Uniform(2, steps=4), "full": ft.Full(steps=(1, 4, 2)), "move": ft.Bernoulli(CHANCES, steps=(1, 4, 2)),
        "skip": ft.Bernoulli("1/3", "skip", steps=3), "markov": ft.Markov(CHANCES, "1/10", 3, steps=3),
        "cyclic": ft.Cyclic([(0, 1), (2,)], steps=3)}
POSSIBLE = [(m, k) for m in METHODS for k in LAWS]


def test_the_covariance_by_hand():
    H, steps = np.diag([1.0, 3.0]), 4
    problem = ft.Quadratic([H, 2 * H], [[0, 0], [1, 1]])
    for lr in (0.1, 0.2):   # of the same problem, which remembers
        law = prepare(ft.FedAvg(lr, steps), problem, ft.Uniform(1), 1)
        made = collapse(ft.FedAvg(lr, steps), problem, law)
        for i in (0, 1):
            shrink = np.eye(2) - lr * (i + 1) * H
            exact = sum(np.linalg.matrix_power(shrink, 2 * k) for k in range(steps))
            assert np.allclose(made.factor[i] @ made.factor[i].T, exact, rtol=1e-12)
            assert np.allclose(made.weights[i, 0], np.linalg.matrix_power(shrink, steps - 1), rtol=1e-12)


@pytest.mark.parametrize(("method", "law"), [c if k % 3 == 0 else pytest.param(*c, marks=pytest.mark.slow)
                                             for k, c in enumerate(POSSIBLE)])
def test_second_moments_are_the_operators(method, law):
    algorithm, problem, sigma = METHODS[method], quadratic()[0], 20
    t = ft.run(algorithm, problem, LAWS[law], 4, 6000, seed=2, noise=sigma, metrics=NORM, collapsed=True)
    assert t.audit <= 1e-12
    path = ft.derive(algorithm, problem, LAWS[law], noise=sigma).trajectory(5, [0, 0])
    for k, (_, second) in enumerate(path):
        i = t.interval(k, "norm", level=0.9999)
        assert abs(i.value - np.trace(second)) <= i.half_width + 1e-9
    assert i.half_width < 0.15 * i.value


@pytest.mark.parametrize("method", METHODS)
def test_the_literal_run_has_the_same_distribution(method):
    """Products of coordinates too, and with another noise that is refused by the interval of their means."""
    products = {"first": lambda x: x[:, 0] ** 2, "both": lambda x: x[:, 0] * x[:, 1], "fourth": lambda x: x[:, 1] ** 4}

    def go(**options):
        return ft.run(METHODS[method], quadratic()[0], ft.Uniform(2, steps=3), 3, 8000, metrics=products, **options)
    literal, made = go(noise=20, seed=1), go(noise=20, seed=2, collapsed=True)
    less = go(noise=16, seed=2, collapsed=True)
    for k in products:
        a, b = (t.interval(-1, k, level=0.9999) for t in (literal, made))
        assert abs(a.value - b.value) <= np.hypot(a.half_width, b.half_width)
    a, c = (t.interval(-1, "first", level=0.9999) for t in (literal, less))
    assert abs(a.value - c.value) > np.hypot(a.half_width, c.half_width)


@pytest.mark.parametrize("law", LAWS)
def test_in_every_arithmetic_and_however_batched(law, monkeypatch):
    def go(**options):
        return ft.run(ft.Scaffold(LR), quadratic()[0], LAWS[law], 5, 30, seed=1, noise=1, collapsed=True, **options)
    monkeypatch.setattr(preparation, "BLOCK", 8)
    usual = go()
    same(usual, go(chunk=1), 1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(batched, "_placeable", lambda *a: False)
        same(usual, go(), 1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(batched, "_arithmetic", lambda algorithms, problem, device: Torch("cpu"))
        same(usual, go(), 1e-12)


@dataclass(frozen=True)
class Crowded(ft.FedAvg):
    """Where there is company, the first gradient counts more, or hardly more."""

    more: Number = declared(positive, 1)

    def round(self, problem, s, draw):
        new, cohort, there = super().round(problem, s, draw), problem.at(draw.who), draw.present[..., None]
        first = (there * cohort.grad(spread(s.x, draw.who), draw.xi_at(0))).sum(-2)
        return type(new)(new.x - self.lr * self.more * (there.sum(-2) - 1) * first)


RANDOM = ft.RandomSteps([("1/2", 1), ("1/2", 3)])
ROWS = ([[[1, 2], [0, 1]], [[2, 0]]], [[1, -1], [1]], "1/10")


@pytest.mark.parametrize(("algorithm", "law", "options", "words"), [
    (ft.AdaptiveServer(LR), ft.Full(steps=2), {}, "not affine"), (ft.FedAu(LR), ft.Full(steps=2), {}, "not affine"),
    (ft.FedAvg(LR), ft.Full(steps=RANDOM), {}, "drawn or change"),
    (ft.FedAvg(LR), ft.Replay([((0, 1), 2), ((2,), 4)]), {}, "drawn or change"),
    (ft.LocalSgd(LR), ft.Uniform(2, steps=2), {}, "absent"), (ft.FedAvg(LR), ft.Full(steps=2), {"noise": None}, "additive noise"),
    (ft.FedAvg(LR, solver=ft.Decay(0)), ft.Full(steps=2), {}, "an early local step"),
    (Crowded(LR), ft.Uniform(2, steps=2), {}, "in cohorts of Uniform"),
    (Crowded(LR, more="1/1000000"), ft.Uniform(2, steps=2), {}, "in cohorts of Uniform"),
    (Crowded(LR), ft.Cyclic([(0, 1), (2,)], steps=2), {}, "in cohorts of Chain"),   # after the second of its modes
    (ft.FedAvg(LR), ft.Full(steps=10**4), {}, "unit samples"), (ft.FedAvg(LR), ft.Full(steps=2), {"collapsed": 2}, "collapsed"),
], ids=str)
def test_what_is_not_exact_is_refused(algorithm, law, options, words):
    with pytest.raises((ft.BadInput, ft.TooLarge), match=words):
        ft.run(algorithm, quadratic()[0], law, 3, 4, **{"noise": 1, "collapsed": True, **options})


def test_every_phase_has_its_own():
    """Of one law object, which has steps and noise of its own: after the first phase, and after both, as exact moments say."""
    problem, law = quadratic()[0], ft.Full(steps=4, noise=20)
    phases = [(ft.FedAvg("1/20"), 1), (ft.FedAvg("1/200", solver=ft.Momentum("9/10")), 1)]
    made = ft.run(phases, problem, law, replicates=20000, metrics=NORM, collapsed=True)
    mean, second = np.zeros(2), np.zeros((2, 2))
    for k, (algorithm, _) in enumerate(phases, start=1):
        path = [list(ft.derive(algorithm, problem, law).trajectory(2, x0))[1] for x0 in ([0, 0], [1, 0], [0, 1])]
        (offset, spread), *columns = [[np.array(v, dtype=float) for v in moments] for moments in path]
        A = np.stack([c - offset for c, _ in columns], axis=1)
        mean, second = A @ mean + offset, A @ (second - np.outer(mean, mean)) @ A.T + spread - np.outer(offset, offset)
        second = second + np.outer(mean, mean)
        i = made.interval(k, "norm", level=0.9999)
        assert abs(i.value - np.trace(second)) <= i.half_width and i.half_width < 0.06 * i.value


class Torchy(ft.FedAvg):
    """Knows torch alone."""

    def server(self, x, cohort, draw, change, mass):
        import torch
        return torch.sum(draw.present[..., None] * change, dim=-2) + x


@dataclass(frozen=True)
class Holding(ft.FedAvg):
    """Holds an array, so that it has no hash."""

    more: object = None


def test_rounds_of_users():
    with pytest.raises(ft.BadInput, match="the round of Torchy fails in numpy"):
        ft.run(Torchy(LR), quadratic()[0], ft.Full(steps=2), 3, 4, noise=1, collapsed=True)
    assert ft.run(Holding(LR, more=np.ones(2)), quadratic()[0], ft.Full(steps=2), 3, 4, noise=1, collapsed=True).audit <= 1e-12


@pytest.mark.parametrize("steps", [3, (1, 4, 2)])
def test_numbers_of_each_client_where_cohorts_may_not_be_partial(steps):
    algorithm, problem = ft.FedNovaVR(LR, steps, ft.Decay([0.9, 0.5, 0.7])), quadratic()[0]
    made = ft.run(algorithm, problem, ft.Full(), 3, 6000, noise=20, metrics=NORM, collapsed=True)
    *_, (_, second) = ft.derive(algorithm, problem, ft.Full(), noise=20).trajectory(4, [0, 0])
    i = made.interval(3, "norm", level=0.9999)
    assert abs(i.value - np.trace(second)) <= i.half_width < 0.1 * i.value


def made_of(algorithm, problem, law):
    return collapse(algorithm, problem, prepare(algorithm, problem, law, "1/2"))


@pytest.mark.parametrize("algorithm", [ft.FedAvg("1/20", 5), ft.Scaffold("1/20", 5)])
@pytest.mark.parametrize("far", [1e8, 1e16])
def test_it_does_not_depend_on_where_the_minimisers_are(algorithm, far):
    near, there = (made_of(algorithm, ft.Quadratic([[[1]], [[3]]], [[0], [c]]), ft.Uniform(1)) for c in (1, far))
    assert np.array_equal(near.factor, there.factor) and np.array_equal(near.weights, there.weights)


class Bent(ft.Quadratic):
    """A user's, whose gradients are no quadratic's."""

    def _gradient(self, who, y, sample):
        return super()._gradient(who, y, sample) + abs(super()._gradient(who, y, sample))


def test_gradients_of_users_are_looked_at():
    with pytest.raises(ft.BadInput, match="collapsed"):
        made_of(ft.FedAvg("1/20", 5), Bent([[[1]], [[3]]], [[0], [1]]), ft.Uniform(1))


def test_of_one_problem_with_other_local_steps():
    shared, algorithm = quadratic()[0], ft.FedAvg(LR)
    for steps in (2, 5, 3):
        law = ft.Uniform(1, steps=steps)
        assert np.array_equal(made_of(algorithm, shared, law).weights, made_of(algorithm, quadratic()[0], law).weights)


def test_many_clients_with_memories_are_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(collapsing, "MOST_ENTRIES", 100)
    problem = ft.Quadratic(np.eye(2) * np.ones((50, 1, 1)), np.random.default_rng(0).standard_normal((50, 2)))
    assert made_of(ft.Scaffold("1/20", 3), problem, ft.Uniform(5)).longest == 3
    with pytest.raises(ft.TooLarge, match="unit samples"):
        made_of(ft.Scaffold("1/20", 6), problem, ft.Uniform(5))


class Loud(ft.FedAvg):
    """Where there is company, a millionth of its first samples moves the server too."""

    def round(self, problem, s, draw):
        new, xi = super().round(problem, s, draw), draw.xi_at(0)
        return new if xi is None or xi.shape[-2] < 2 else new._replace(x=new.x + xi.sum(-2) / 10**6)


def test_what_is_missed_is_measured_against_what_noise_does():
    problem = ft.Quadratic([[[1]], [[3]]], [[0], [100_000]])
    with pytest.raises(ft.BadInput, match="one sample cannot"):
        made_of(Loud("1/20", 3), problem, ft.Full())


def test_losses_that_are_no_quadratics_and_batches_are_refused():
    with pytest.raises(ft.BadInput, match="gradients of Logistic are not affine"):
        ft.run(ft.FedAvg(LR, 2), ft.Logistic(*ROWS), ft.Full(), 3, noise=1, collapsed=True)
    with pytest.raises(ft.BadInput, match="additive noise"):
        ft.run(ft.FedAvg(LR, 2), ft.Ridge(*ROWS), ft.Full(batch=1), 3, collapsed=True)


def test_company_that_only_rescales_is_no_reason_to_refuse():
    assert ft.run(Crowded(LR), quadratic()[0], ft.Uniform(1, steps=2), 3, 4, noise=1, collapsed=True).audit <= 1e-12
