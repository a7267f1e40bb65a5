"""Runs: audited against the operator, independent of how they are batched, resumable to the bit."""
import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.arrays import is_torch
from fltheory.problems.instances import table1_focus
from fltheory.runs import BLOCK
from fltheory.streams import Stream
from fltheory.trace import Trace
from tests.algorithms.instances import GRAPH, quadratic, residual
from tests.naive import asyncfeded
from tests.operators import brute

torch = pytest.importorskip("torch")
LR, CHANCES = Q(1, 20), ("9/10", "1/2", "1/5")
NORM = {"norm": lambda x: (x * x).sum(-1)}


def same(a, b, tolerance=0.0):
    for mine, theirs in ((a.metrics, b.metrics), (a.tail, b.tail)):
        assert mine.keys() == theirs.keys()
        for name, part in itertools.product(mine, ("mean", "m2")):
            x, y = np.asarray(mine[name][part]), np.asarray(theirs[name][part])
            scale = tolerance * max(1, np.abs(y).max())
            assert np.array_equal(x, y) if tolerance == 0 else np.abs(x - y).max() <= scale
    assert np.array_equal(a.final, b.final) if tolerance == 0 else np.abs(a.final - b.final).max() <= tolerance


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
    assert set(t.metrics) == ({"norm"} if personal else {"norm", "error"})
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


# ---- resume --------------------------------------------------------------------------------------------------
SCRIPT = """
import sys
import fltheory as ft
from fractions import Fraction as Q
from tests.algorithms.instances import quadratic
a = ft.Scaffold(Q(1, 20), 2)
t = ft.run([(a, 40), (ft.Scaffold(Q(1, 100), 2), 60)], quadratic()[0], ft.Markov(("9/10", "1/2", "1/5"), "1/10", 3),
           replicates=700, seed=5, noise=1, chunk=1, metrics={"norm": lambda x: (x * x).sum(-1)},
           checkpoint=sys.argv[1], every=0.0)
t.save(sys.argv[2])
"""


def position(path):
    """(chunk, round) of a checkpoint; (-1, -1) while there is none."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as data:
            return int(data["chunk"]), int(data["round"])
    except OSError:
        return -1, -1


@pytest.mark.slow
def test_killed_runs_resume_to_the_same_bits(tmp_path):
    root, checkpoint = Path(__file__).resolve().parents[1], tmp_path / "checkpoint.npz"
    command = [sys.executable, "-c", SCRIPT]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, tmp_path / "other", tmp_path / "whole"], cwd=root, env=environment, timeout=120,
                   check=True)
    goals, killed = sorted(Stream(9, "kill").integers(300, 5).tolist()), []
    for goal in goals:
        child = subprocess.Popen([*command, checkpoint, tmp_path / "resumed"], cwd=root, env=environment)
        try:
            while child.poll() is None and position(checkpoint) < divmod(goal, 100):
                time.sleep(0.001)
        finally:
            child.kill()
            child.wait()
        killed.append(position(checkpoint))
        assert killed[-1] >= divmod(goal, 100) and not (tmp_path / "resumed.npz").exists()
    subprocess.run([*command, checkpoint, tmp_path / "resumed"], cwd=root, env=environment, timeout=120, check=True)
    assert not checkpoint.exists() and len(set(killed)) == 5
    whole, resumed = Trace.load(tmp_path / "whole"), Trace.load(tmp_path / "resumed")
    same(whole, resumed)
    assert whole.audit == resumed.audit and whole.audited == resumed.audited >= 8


class Stop(Exception):
    pass


def interrupted(path, at, algorithm=None, law=None, **options):
    """A run stopped by its metric just before round `at` of the second chunk; the checkpoint stays."""
    calls = itertools.count()

    def metric(x):
        if next(calls) == at + 21:
            raise Stop
        return x[:, 0]
    with pytest.raises(Stop):
        go(path, algorithm, law, metric, **options)


def go(path, algorithm=None, law=None, metric=lambda x: x[:, 0], **options):
    options = {"rounds": 20, "replicates": 300, "seed": 1, "noise": 1, "x0": [3, -2], "every": 0.0, "chunk": 1,
               **options}
    return ft.run(algorithm or ft.Focus(LR, 2), quadratic()[0], law or ft.Bernoulli(CHANCES), checkpoint=path,
                  metrics={"first": metric}, **options)


@pytest.mark.parametrize("at", [0, 1, 7, 20])
@pytest.mark.parametrize("every", [0.0, 1e9])
def test_stopped_runs_resume_to_the_same_bits(tmp_path, at, every):
    path = tmp_path / "c.npz"
    interrupted(path, at, every=every)
    assert path.exists() and position(path) == (1, max(0, at - 1) if every == 0 else 0)
    same(go(path), go(None))
    assert not path.exists() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [
    {"seed": 2}, {"rounds": 21}, {"replicates": 301}, {"chunk": 2}, {"noise": 2}, {"x0": [3, -1]},
    {"x0": [3, -2 + 1e-15]}, {"tail": 0.5}, {"algorithm": ft.Focus(LR, 3)}, {"algorithm": ft.Focus("1/21", 2)},
    {"algorithm": ft.Scaffold(LR, 2)},
    {"law": ft.Bernoulli("1/2")}, {"law": ft.Bernoulli(CHANCES, empty="skip")},
], ids=str)
def test_checkpoints_of_other_runs_are_refused(tmp_path, change):
    interrupted(tmp_path / "c.npz", 5)
    with pytest.raises(ft.BadInput, match="other arguments"):
        go(tmp_path / "c.npz", **change)
    assert (tmp_path / "c.npz").exists()                         # and kept


def test_checkpoints_of_other_problems_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    interrupted(path, 5)
    H, b, p = quadratic()[0].H, quadratic()[0].b, quadratic()[0].weights
    for problem in (ft.Quadratic.from_linear(H, 2 * b, p), ft.Quadratic.from_linear(2 * H, b, p),
                    ft.Quadratic.from_linear(H, b)):
        with pytest.raises(ft.BadInput, match="other arguments"):
            ft.run(ft.Focus(LR, 2), problem, ft.Bernoulli(CHANCES), 20, 300, 1, noise=1, x0=[3, -2], chunk=1,
                   metrics={"first": lambda x: x[:, 0]}, checkpoint=path)


def test_damaged_checkpoints_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    interrupted(path, 5)
    whole = path.read_bytes()
    for damaged in (b"", b"junk", b"PK\x03\x04 junk", whole[:len(whole) // 2], whole[:-30], json.dumps({}).encode()):
        path.write_bytes(damaged)
        with pytest.raises(ft.BadInput, match="no snapshot of a run"):
            go(path)
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        try:
            resumed = go(path)
        except ft.BadInput:
            continue
        same(resumed, go(None))                                  # the byte did not matter
    path.write_bytes(whole)
    with open(path, "rb") as handle, np.load(handle) as data:
        content = {k: data[k] for k in data.files}
    for missing in ("key", "chunk", "final", "state/0", "stats/first/m2", "sums/error", "mode"):
        np.savez(path, **{k: v for k, v in content.items() if k != missing})
        with pytest.raises(ft.BadInput):
            go(path)


# ---- bad arguments -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("change", "message"), [
    ({"rounds": 0}, "rounds = 0"), ({"rounds": None}, "rounds = None"), ({"rounds": 2.0}, "rounds = 2.0"),
    ({"rounds": True}, "rounds = True"), ({"replicates": 0}, "replicates = 0"),
    ({"replicates": True}, "replicates = True"),
    ({"replicates": 2.5}, "replicates"), ({"chunk": 0}, "chunk = 0"), ({"chunk": True}, "chunk = True"),
    ({"seed": -1}, "seed = -1"), ({"seed": True}, "seed = True"), ({"seed": 1.0}, "seed = 1.0"),
    ({"seed": None}, "seed"),
    ({"tail": 0}, "tail = 0"), ({"tail": 1.5}, "tail = 1.5"), ({"tail": float("nan")}, "tail = nan"),
    ({"device": "abacus"}, "no torch device"), ({"device": 3}, "no torch device|CUDA"),
    ({"device": "meta"}, "CPU or a CUDA"),
    ({"x0": [1, 2, 3]}, "x0.shape"), ({"x0": 1}, "x0.shape"), ({"x0": [[1, 2]]}, "x0.shape"),
    ({"x0": [1, np.nan]}, "finite"),
    ({"x0": [1, np.inf]}, "finite"), ({"noise": -1}, "standard deviation"), ({"noise": float("nan")}, "finite"),
    ({"law": "full"}, "no law"), ({"law": ft.Uniform(4)}, "only 3 clients"), ({"law": ft.Uniform(2, steps=3)}, "steps"),
    ({"law": ft.Full(batch=2)}, "no rows"), ({"algorithm": ft.FedAvg(LR)}, "needs local steps"),
    ({"algorithm": []}, "at least one phase"), ({"algorithm": [(ft.FedAvg(LR, 1), 0)]}, "rounds"),
    ({"checkpoint": "no/such/folder/c.npz"}, "folder"),
], ids=str)
def test_bad_arguments_are_refused(change, message):
    algorithm, law = change.pop("algorithm", ft.FedAvg(LR, 2)), change.pop("law", ft.Full())
    options = {**({} if isinstance(algorithm, list) else {"rounds": 2}), **change}
    with pytest.raises(ft.BadInput, match=message):
        ft.run(algorithm, quadratic()[0], law, **options)


@pytest.mark.parametrize("first", ["from fltheory.runs import run", "ft.run"])
def test_the_function_is_found_in_whatever_order_things_are_imported(first):
    code = f"""
import fltheory as ft
{first}
ft.run(ft.FedAvg("1/10", 1), ft.Quadratic([[[1]]], [[0]]), ft.Full(), rounds=1)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[1], timeout=60, check=True)


def test_phases_carry_their_own_rounds():
    with pytest.raises(ft.BadInput, match="phases carry"):
        ft.run([(ft.FedAvg(LR, 1), 2)], quadratic()[0], ft.Full(), 2)


def test_clients_with_memories_are_not_drawn_twice():
    with pytest.raises(ft.BadInput, match="keep memories"):
        ft.run(ft.Scaffold(LR, 2), quadratic()[0], ft.WithReplacement(2), 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_absent_devices_are_refused():
    for device in ("cuda", "cuda:0"):
        with pytest.raises(ft.BadInput, match="no CUDA device"):
            ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Full(), 2, device=device)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_devices_agree():
    for algorithm, law in ARGUMENTS:
        a, b = (ft.run(algorithm, quadratic()[0], law, 20, 600, noise=1, device=d) for d in ("cpu", "cuda"))
        same(a, b, 1e-12)
        assert b.audit <= 1e-12


def test_a_progress_bar_can_be_asked_for(capsys):
    ft.run(ft.FedAvg(LR, 1), quadratic()[0], ft.Full(), 3, progress=True)
    assert "3/3" in capsys.readouterr().err
