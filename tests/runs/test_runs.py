"""Runs: audited against the operator, against exact moments, independent of how they are batched."""
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.arrays import is_torch
from fltheory.runs import BLOCK
from tests.algorithms.instances import GRAPH, quadratic, residual
from tests.core.operators import brute
from tests.naive import asyncfeded
from tests.runs.traces import CHANCES, LR, NORM, same, torch
from verification.named_problems import table1_focus

# ---- the audit -----------------------------------------------------------------------------------------------
ALGORITHMS = {"FedAvg": ft.FedAvg(LR, 2), "momentum": ft.FedAvg(LR, 2, ft.Momentum("1/2")),
              "FedProx": ft.FedProx(LR, 3, mu=1),
              "decay": ft.FedAvg(LR, (1, 2, 3), ft.Decay("1/2")), "FedNova": ft.FedNova(LR, (1, 3, 2)),
              "Scaffold": ft.Scaffold(LR, (2, 1, 3)), "Focus": ft.Focus(LR, 2),
              "warm Focus": ft.Focus(LR, 2, init="warm"),
              "FedResAvg": ft.FedResAvg(LR, 2, personal_lr="1/10"),
              "neighbours": ft.NeighbourAveraging(LR, 2, beta="1/2", graph=GRAPH)}
LAWS = {"full": ft.Full(), "uniform": ft.Uniform(2), "move": ft.Bernoulli(CHANCES),
        "skip": ft.Bernoulli("1/4", empty="skip"),
        "redraw": ft.Bernoulli(CHANCES, empty="redraw"), "markov": ft.Markov(CHANCES, "1/10", 3),
        "cyclic": ft.Cyclic([(0, 1), (2,), ()], empty="skip"), "repeats": ft.WithReplacement(3, ("1/2", "3/10", "1/5"))}


@pytest.mark.parametrize("noise", [None, 1])
@pytest.mark.parametrize(("name", "law"), [(a, k) for a in ALGORITHMS for k in LAWS if
                                           not (ALGORITHMS[a].stateful and k == "repeats")
                                           and not (a == "neighbours" and k != "full")])
def test_every_round_is_the_operators(name, law, noise):
    algorithm, personal = ALGORITHMS[name], name == "FedResAvg"
    problem = residual()[0] if personal else quadratic()[0]
    t = ft.run(algorithm, problem, LAWS[law], 12, 7, seed=2, noise=noise, x0=[3, -2], metrics=NORM)
    assert t.audited >= 8 and t.audit <= 1e-12 and t.final.shape == (2,)
    assert set(t.metrics) == {"norm", "error"}
    assert t.metrics["norm"]["mean"][0] == 13 and t.metrics["norm"]["m2"][0] == 0


JOINT = ft.RandomSteps([("1/2", (1, 2, 3)), ("1/2", 1)], independent=False)


@pytest.mark.parametrize("law", [ft.Full(steps=ft.RandomSteps([("1/3", 1), ("2/3", 3)])),
                                 ft.Uniform(1, steps=(1, 2, 3)), ft.Uniform(2, steps=JOINT),
                                 ft.Replay([((0, 1), (2, 3, 1)), ((2,), 4)])],
                         ids=["random steps", "own steps", "joint random steps", "replay"])
@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR), ft.Scaffold(LR), ft.Focus(LR)], ids=lambda a: type(a).__name__)
def test_steps_of_the_law_are_audited_too(algorithm, law):
    t = ft.run(algorithm, quadratic()[0], law, 10, 300, noise=1)
    assert t.audited >= 8 and t.audit <= 1e-12


class Single(ft.FedAvg):
    """Loses half of the digits, in torch only."""

    def server(self, x, cohort, draw, change, mass):
        new = super().server(x, cohort, draw, change, mass)
        return new.float().double() if is_torch(new) else new


class Forgets(ft.FedAvg):
    """Another round in torch than in numpy."""

    def server(self, x, cohort, draw, change, mass):
        return super().server(x, cohort, draw, change * (1 if is_torch(x) else 2), mass)


def test_the_audit_sees_single_precision_and_other_rounds():
    problem = quadratic()[0]
    assert 1e-10 < ft.run(Single(LR, 2), problem, ft.Uniform(2), 20, 5, x0=[3, -2]).audit < 1e-6
    assert ft.run(Forgets(LR, 2), problem, ft.Uniform(2), 20, 5, x0=[3, -2]).audit > 1e-3


def test_what_has_no_operator_is_not_audited():
    t = ft.run(ft.AsyncFedED(LR, 2), quadratic()[0], ft.EventClock((1, 2, 2)), 10, 3)
    assert t.audit is None and t.audited == 0


# ---- against exact moments -----------------------------------------------------------------------------------
FLOOR_LAWS = {"uniform": ft.Uniform(1), "bernoulli": ft.Bernoulli(CHANCES, empty="redraw"),
              "markov": ft.Markov(("9/10", "1/2", "1/2"), "1/4", 3)}


@pytest.mark.parametrize("law", FLOOR_LAWS)
@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR, 4), ft.Scaffold(LR, 4), ft.Focus(LR, 4)],
                         ids=lambda a: type(a).__name__)
def test_floors_and_transients_lie_within_their_intervals(algorithm, law):
    problem, law = table1_focus(), FLOOR_LAWS[law]
    op = ft.derive(algorithm, problem, law, noise=1)
    rounds = 60 + int(12 / (1 - op.mean_square_rate()))
    t = ft.run(algorithm, problem, law, rounds, 512, seed=7, noise=1, tail=0.1)
    assert t.audit <= 1e-12
    assert t.floor(level=0.9999).contains(op.floor())
    assert t.floor(level=0.9999).half_width < 0.3 * op.floor()
    best = np.array([float(v) for v in ft.optimum(problem).x])
    for k, (mean, second) in enumerate(op.trajectory(12, [0, 0])):
        exact = np.trace(second) - 2 * mean @ best + best @ best
        i = t.interval(k, level=0.9999)
        assert abs(i.value - exact) <= i.half_width + 1e-12 * exact


def test_warm_starts_are_exact_passes_under_noise():
    problem = quadratic()[0]
    algorithm = ft.Focus(LR, 2, init="warm")
    for law in (ft.Full(), ft.Uniform(2)):
        t = ft.run(algorithm, problem, law, 6, 4096, seed=1, noise=2, metrics=NORM)
        path = ft.derive(algorithm, problem, law, noise=2).trajectory(7, [0, 0])
        for k, (_, second) in enumerate(path):
            i = t.interval(k, "norm", level=0.9999)
            assert abs(i.value - np.trace(second)) <= i.half_width + 1e-12


def test_repeated_clients_make_fresh_runs():
    # one shared run of a repeated client would give variance 1.12 instead of 0.70
    p = ("1/2", "3/10", "1/5")
    flat = ft.Quadratic.from_linear([[[0]]] * 3, [[0]] * 3, p)
    algorithm, law = ft.FedAvg(1, (1, 2, 5), averaging="plain"), ft.WithReplacement(3, p)
    *_, (_, second) = ft.derive(algorithm, flat, law, noise=1).exact().trajectory(2, [0])
    assert Q(str(second[0, 0])) == Q(7, 10)
    i = ft.run(algorithm, flat, law, 1, 20_000, noise=1, metrics=NORM).interval(metric="norm", level=0.9999)
    assert i.contains(0.7) and i.half_width < 0.1 and not i.contains(1.12)


def test_minibatches_are_unbiased():
    rows = [[[1, 2], [0, 1], [3, -1]], [[2, 0], [1, 1]]]
    problem = ft.Ridge(rows, [[1, 0, 2], [-1, 3]], "1/10", ["2/3", "1/3"])
    algorithm, law = ft.FedAvg("1/20", 1), ft.Uniform(1)
    seen = []
    t = ft.run(algorithm, problem, ft.Uniform(1, batch=2), 3, 20_000, x0=[1, -1],
               metrics={"a": lambda x: x[:, 0], "b": lambda x: x[:, 1], "keep": lambda x: keep(seen, x)})
    assert t.audit is None                                       # a mini-batch round is another map per batch
    for k, (mean, _) in enumerate(ft.derive(algorithm, problem, law).trajectory(4, [1, -1])):
        for name, value in zip("ab", mean, strict=True):
            i = t.interval(k, name, level=0.9999)
            assert abs(i.value - value) <= i.half_width + 1e-12
    assert len({tuple(r) for r in seen[1][:500].tolist()}) > 6   # more outcomes than clients


def keep(seen, x):
    seen.append(x.clone())
    return x[:, 0]


# ---- what results depend on ----------------------------------------------------------------------------------
ARGUMENTS = [(ft.FedAvg(LR, 2), ft.Uniform(2)), (ft.Scaffold(LR, 2), ft.Bernoulli(CHANCES, empty="skip")),
             (ft.Focus(LR, 2), ft.Markov(CHANCES, "1/10", 3))]


@pytest.mark.parametrize(("algorithm", "law"), ARGUMENTS, ids=lambda v: type(v).__name__)
def test_the_same_arguments_give_the_same_numbers(algorithm, law):
    def go(**options):
        return ft.run(algorithm, quadratic()[0], law, 8, 900, noise=1, **{"seed": 3, **options})
    one = go()
    same(one, go())
    same(one, go(chunk=1), 1e-12)
    same(one, go(chunk=3), 1e-12)
    same(one, go(checkpoint=None, progress=False))
    assert go(seed=4).mean()[-1] != one.mean()[-1]


@pytest.mark.parametrize("chunk", [1, 64])
def test_more_replicates_leave_the_first_ones_alone(chunk):
    def models(replicates):
        seen = []
        ft.run(ft.Scaffold(LR, 2), quadratic()[0], ft.Bernoulli(CHANCES), 4, replicates, noise=1, chunk=chunk,
               metrics={"keep": lambda x: keep(seen, x)})
        return np.stack([np.concatenate([s.numpy() for s in seen[t::5]]) for t in range(5)])
    few, many = models(2 * BLOCK), models(4 * BLOCK + 17)
    assert few.shape == (5, 2 * BLOCK, 2) and many.shape == (5, 4 * BLOCK + 17, 2)
    assert np.array_equal(few, many[:, :2 * BLOCK])
    assert len(np.unique(many[-1, :, 0])) == 4 * BLOCK + 17      # and no two replicates are equal


def test_phases_carry_the_state_over():
    problem, law, algorithm = quadratic()[0], ft.Bernoulli(CHANCES), ft.Scaffold(LR, 2)
    whole = ft.run(algorithm, problem, law, 9, 300, noise=1)
    same(whole, ft.run([(algorithm, 4), (algorithm, 5)], problem, law, replicates=300, noise=1))
    slower = ft.run([(algorithm, 4), (replace(algorithm, lr=LR / 5), 5)], problem, law, replicates=300, noise=1)
    assert np.array_equal(slower.mean()[:5], whole.mean()[:5]) and slower.mean()[6] != whole.mean()[6]
    assert slower.rounds == 9 and slower.audit <= 1e-12
    late = ft.run([(ft.FedAvg(LR, 2), 40), (ft.FedAvg(LR / 10, 2), 300)], problem, ft.Full(), replicates=300, noise=1)
    assert late.floor().value < ft.run(ft.FedAvg(LR, 2), problem, ft.Full(), 340, 300, noise=1).floor().value


def test_the_default_dtype_of_torch_is_irrelevant():
    def go():
        return ft.run(ft.Scaffold(LR, (1, 2, 3)), quadratic()[0], ft.Uniform(2), 10, 300, noise=1, metrics=NORM)
    before = torch.get_default_dtype()
    results = []
    try:
        for dtype in (torch.float32, torch.float64):
            torch.set_default_dtype(dtype)
            results.append(go())
            assert torch.get_default_dtype() is dtype
    finally:
        torch.set_default_dtype(before)
    same(*results)
    assert results[0].final.dtype == np.float64 and results[0].audit <= 1e-12


def test_global_random_states_are_neither_read_nor_changed():
    np.random.seed(0)
    torch.manual_seed(0)
    a, b = np.random.get_state()[1].copy(), torch.get_rng_state()
    one = ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Uniform(2), 5, 10, noise=1)
    assert np.array_equal(np.random.get_state()[1], a) and torch.equal(torch.get_rng_state(), b)
    torch.manual_seed(1)
    same(one, ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Uniform(2), 5, 10, noise=1))


# ---- other problems ------------------------------------------------------------------------------------------
def test_logistic_runs_record_their_error():
    rng = np.random.default_rng(0)
    A = [rng.standard_normal((m, 2)) for m in (8, 5, 6)]
    problem = ft.Logistic(A, [rng.integers(0, 2, len(a)) for a in A], 0.2)
    t = ft.run(ft.Scaffold("1/2", 3), problem, ft.Full(), 200, metrics={"loss": problem.to(ft.Torch()).value})
    best = ft.optimum(problem)
    assert t.mean()[-1] < 1e-16 < t.mean()[0] and t.final == pytest.approx(best.x, abs=1e-8)
    assert t.mean("loss")[-1] == pytest.approx(best.value, abs=1e-12) and t.mean("loss")[0] == pytest.approx(np.log(2))
    assert t.audit is None
    small = ft.run(ft.FedAvg("1/10", 2), problem, ft.Full(batch=2), 5, 20)
    assert np.isfinite(small.mean()).all() and small.interval().half_width > 0


def test_network_runs_record_their_metrics():
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((m, 2)) for m in (6, 4)]
    problem = ft.Network(lambda: torch.nn.Linear(2, 2), inputs, [(a[:, 0] > 0).astype(int) for a in inputs])
    with pytest.raises(ft.BadInput, match="nothing would be recorded"):
        ft.run(ft.FedAvg("1/2", 2), problem, ft.Full(), 3)
    t = ft.run(ft.FedAvg("1/2", 2), problem, ft.Uniform(1, batch=3), 30, 2, x0=problem.initial(),
               metrics={"loss": problem.to(ft.Torch()).value})
    assert set(t.metrics) == {"loss"} and t.mean("loss")[-1] < 0.7 * t.mean("loss")[0] and t.final.shape == (problem.d,)


def test_asynchronous_runs_are_recorded():
    problem, clients = quadratic()
    t = ft.run(ft.AsyncFedED(LR, 2, kappa="1/10"), problem, ft.EventClock((1, 2, 3)), 60, 2)
    history = asyncfeded.events(brute.in_floats(clients), [0.0, 0.0], 0.05, 1, 1, 3, 0.1, 2, (1, 2, 3), 60)
    assert t.final == pytest.approx(history[-1]["x"], abs=1e-12) and t.mean()[-1] < t.mean()[0]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_devices_agree():
    for algorithm, law in ARGUMENTS:
        a, b = (ft.run(algorithm, quadratic()[0], law, 20, 600, noise=1, device=d) for d in ("cpu", "cuda"))
        same(a, b, 1e-12)
        assert b.audit <= 1e-12


@pytest.mark.parametrize(("rounds", "tail", "averaged"), [(6, "1/4", 2), (7, "1/4", 2), (11, "1/4", 3), (3, "1/10", 1), (4, 1, 4)])
def test_the_tail_is_the_nearest_number_of_rounds(rounds, tail, averaged):
    t = ft.run(ft.FedAvg(LR, 1), quadratic()[0], ft.Full(), rounds, 2, x0=[3, -2], tail=tail)
    assert t.tail_rounds == averaged
    assert t.tail["error"]["mean"] == pytest.approx(t.metrics["error"]["mean"][-averaged:].mean(), rel=1e-12)
