"""Recorded arrivals: the columns are those of one heap per replicate, files come back, replays and resumed runs are the same."""
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.asynchronous import events as recording
from fltheory.asynchronous.recorded import COLUMNS, WHOLE
from fltheory.core.errors import BadInput, TooLarge
from fltheory.core.laws.draw import Slots
from fltheory.runs import preparation
from fltheory.runs.streams import Stream
from tests.naive import arrivals, asyncfeded
from tests.naive.vectors import QuadraticClients

torch = pytest.importorskip("torch")
H, B, PACE, SENT = [[[1.0]], [[2.0]], [[0.5]]], [[0.0], [8.0], [0.5]], (1, 2, 3), (0, 1, 2)
ED = {"lam": 1.0, "eps": 0.5, "gbar": 1.0, "kappa": 0.5}
VALUE = {"value": lambda x: x[:, 0]}
METHODS = {
    "adaptive": (ft.AsyncFedED("1/10", **ED, solver=ft.Momentum("1/2"), momentum="kept", decay="9/10"),
                 lambda *at, **k: asyncfeded.events(*at, **ED, rho=0.5, kept=True, decay=0.9, **k)),
    "discarding": (ft.AsyncFedED("1/10", **ED, discard=1), lambda *at, **k: asyncfeded.events(*at, **ED, discard=1, **k)),
    "leaving": (ft.AsyncFedED("1/10", **ED | {"gbar": 0, "kappa": 1}, clamp=False), lambda *at, **k: asyncfeded.events(
        *at, **ED | {"gbar": 0, "kappa": 1}, rule={"clamp": False}, **k)),
    "real": (ft.AsyncFedED("1/10", **ED, real=True), lambda *at, **k: asyncfeded.events(*at, **ED, rule={"real": True}, **k)),
    "timed": (ft.FedAsync("1/10", alpha="1/2", staleness="polynomial", unit="time", solver=ft.Proximal(mu="1/3")),
              lambda *at, **k: arrivals.events(*at, server=arrivals.fedasync(0.5, "polynomial", unit="time"), mu=1 / 3, **k)),
    "buffered": (ft.FedBuff("1/10", buffer=2), lambda *at, **k: arrivals.events(*at, server=arrivals.fedbuff(2, 1), **k)),
}


@pytest.fixture
def small_blocks(monkeypatch):
    """So that few replicates make several chunks."""
    monkeypatch.setattr(preparation, "BLOCK", 256)


def problem():
    return ft.Quadratic.from_linear(H, B)


def law(noise="1/2", **more):
    return ft.EventClock(PACE, steps=3, transmission=SENT, noise=noise, **{"suspension": "1/3", "spread": "1/4"} | more)


def alike(a, b, tolerance=0.0):
    for k in (*(k for k in COLUMNS if k != "gamma"), "measured", "start"):
        assert np.array_equal(getattr(a, k), getattr(b, k)), k
    for x, y in ((a.final, b.final), (a.gamma, b.gamma), *((a.metrics[k], b.metrics[k]) for k in a.metrics)):
        assert np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("name", METHODS)
def test_every_column_is_that_of_a_heap_with_the_same_draws(name):
    algorithm, twin = METHODS[name]
    T, R, clock = 40, 30, law()
    starts = np.random.default_rng(3).normal(size=(R, 1))
    e = ft.record(algorithm, problem(), clock, T, R, seed=4, x0=starts, metrics=VALUE)
    rounds = [Stream(4, "block", 0).child("round", t) for t in range(T)]
    draws = [clock.sample(s, 3, R)[0].extra for s in rounds]
    sigma = float(ft.fraction(clock.noise))
    noises = [Slots(lambda k, s=s: sigma * s.child("noise", k).standard_normal((R, 1, 1))) for s in rounds]
    clients = QuadraticClients(H, B, [1 / 3] * 3)
    for r in range(R):
        def hang(event, i, r=r):
            return float(draws[max(event - 1, 0)]["hang" if event else "first"][r, i])
        seen = twin(clients, starts[r].tolist(), 0.1, K0=3, c=PACE, arrivals=T, r=list(SENT), hang=hang,
                    noise=lambda event, k, r=r: noises[event - 1](k)[r, 0].tolist())
        assert len(seen) == T or name == "leaving"
        for k in ("client", "version", "lag", "K", "step"):
            assert getattr(e, k)[:len(seen), r].tolist() == [v[k] for v in seen], k
        assert np.allclose(e.time[:len(seen), r], [v["time"] for v in seen], rtol=1e-13, atol=0)
        assert np.allclose(e.metrics["value"][1:len(seen) + 1, r], [v["x"][0] for v in seen], rtol=1e-11, atol=1e-12)
        if "gamma" in seen[0]:
            assert np.allclose(e.gamma[:len(seen), r], [v["gamma"] for v in seen], rtol=1e-9, atol=1e-12)
        assert (e.client[len(seen):, r] == -1).all() and (e.time[len(seen):, r] == np.inf).all()
        assert (e.K[len(seen):, r] == 0).all() and np.isnan(e.gamma[len(seen):, r]).all()
    assert np.array_equal(e.final[:, 0], e.metrics["value"][-1]) and np.array_equal(e.start, starts)
    assert name != "leaving" or (e.client[-1] == -1).any()


def test_means_are_those_of_run():
    algorithm, clock = METHODS["adaptive"][0], law()
    e, t = ft.record(algorithm, problem(), clock, 30, 300, every=4, metrics=VALUE), ft.run(algorithm, problem(), clock, 30, 300)
    assert e.measured.tolist() == [0, 4, 8, 12, 16, 20, 24, 28, 30]
    assert np.allclose(e.metrics["error"].mean(1), t.mean()[e.measured], rtol=1e-12)


def test_an_infinite_gamma_is_recorded():
    still = ft.Quadratic.from_linear([[[0.0]], [[0.0]]], [[1.0], [0.0]])
    e = ft.record(ft.AsyncFedED(1, kappa=1), still, ft.EventClock((2, 1), steps=2), 12, 1, metrics=VALUE)
    assert set(e.gamma[:, 0]) >= {0, np.inf} and np.array_equal(ft.replay(e, ft.AsyncFedED(1, kappa=1), still).final, e.final)


# ---- synchronous methods ----------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"hang_of": "slowest", "hang": 1}, {"suspension": 0, "spread": 0}], ids=str)
def test_the_server_of_a_round_waits_for_its_slowest_client(options):
    T, R, clock = 12, 20, law(0, **options)
    e = ft.record(ft.FedAvg("1/10"), problem(), clock, T, R, seed=6, x0=[3], metrics=VALUE)
    draws = [clock.sample(Stream(6, "block", 0).child("round", t), 3, R)[0].extra for t in range(T)]
    for r in range(R):
        def of(names, r=r):
            def one(event, i):
                extra, name = draws[max(event - 1, 0)], names[event == 0]
                return float(extra[name][r, i]) if name in extra else 0
            return one
        twin = arrivals.rounds(QuadraticClients(H, B, [1 / 3] * 3), [3.0], 0.1, 3, PACE, T, [1 / 3] * 3, list(SENT),
                               of(("hang", "first")), of(("wait", "first wait")))
        assert np.allclose(e.time[:, r], [time for time, _ in twin], rtol=1e-13)
        assert np.allclose(e.metrics["value"][1:, r], [x[0] for _, x in twin], rtol=1e-12)
    assert (e.client == -1).all() and (e.K == 3).all() and np.isnan(e.gamma).all()
    assert e.step[:, 0].tolist() == [*range(1, T + 1)] and e.version[:, 0].tolist() == [*range(T)]


def test_a_cohort_is_waited_for_alone():
    clock = ft.EventClock((1, 10, 100))
    e = ft.record(ft.FedProx("1/10", (2, 1, 3), mu=1), problem(), ft.Uniform(1), 50, 4, clock=clock)
    assert set(np.diff(e.time, axis=0, prepend=0).ravel()) == {2, 10, 300}
    skipped = ft.record(ft.FedAvg("1/10", 2), problem(), ft.Bernoulli("1/4", empty="skip"), 60, 4, clock=clock)
    waits = np.diff(skipped.time, axis=0, prepend=0)
    assert set(waits.ravel()) == {0, 2, 20, 200} and (np.diff(skipped.step, axis=0, prepend=0) == (waits > 0)).all()


def test_first_runs_of_both_kinds_last_equally_long():
    """The first round ends when the last of the clients would first arrive."""
    clock = law()
    waited = ft.record(ft.FedAvg("1/10"), problem(), clock, 1, 50)
    came = ft.record(ft.FedAsync("1/10"), problem(), clock, 200, 50)
    firsts = [[came.time[came.client[:, r] == i, r][0] for i in range(3)] for r in range(50)]
    assert np.allclose(waited.time[0], np.max(firsts, axis=1), rtol=1e-15)


# ---- what is asked of a record ----------------------------------------------------------------------------
def test_values_by_time_and_times_by_value():
    e = ft.record(ft.FedAsync("1/10"), problem(), law(), 50, 4, every=5, x0=[9], metrics={"down": lambda x: -x[:, 0]})
    when, seen = e.metric_times(), e.metrics["down"]
    assert when.shape == seen.shape == (11, 4) and (when[0] == 0).all() and (when[-1] == e.time[-1]).all()
    for r, T in itertools.product(range(4), (0, 7.5, 20, 1e9)):
        assert e.value_at([T], "down")[0, r] == seen[when[:, r] <= T, r][-1]
    level = seen[4].max()
    for r, first in enumerate(e.first_time("down", level)):
        assert first == when[np.nonzero(seen[:, r] >= level)[0][0], r]
    assert np.isnan(e.first_time("down", 1e9)).all()


def test_until_ends_where_every_clock_has_passed():
    e = ft.record(ft.FedAsync("1/10"), problem(), law(), 10**4, 300, chunk=1, every=3, until=60)
    whole = ft.record(ft.FedAsync("1/10"), problem(), law(), e.arrivals, 300, every=3)
    assert e.arrivals % 3 == 0 and e.arrivals < 200 and (e.time[-1] >= 60).all()
    there = e.client >= 0
    assert not there[-1].all() or not there.all() or (whole.time[-4] < 60).any()
    for k in ("time", "client", "K", "lag"):
        assert np.array_equal(getattr(e, k)[there], getattr(whole, k)[there])
    assert np.array_equal(e.value_at([0, 30, 60], "error"), whole.value_at([0, 30, 60], "error"))


# ---- files and replays ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", METHODS)
def test_a_saved_record_replays_to_the_same_models(name, tmp_path):
    algorithm, clock = METHODS[name][0], law()
    e = ft.record(algorithm, problem(), clock, 40, 300, x0=[2], metrics=VALUE, every=3)
    loaded = ft.Events.load(e.save(tmp_path / "one"))
    alike(e, loaded)
    assert (loaded.seed, loaded.every, loaded.provenance) == (e.seed, 3, e.provenance)
    alike(e, ft.replay(loaded, algorithm, problem(), clock, metrics=VALUE), 1e-12)
    assert np.abs(ft.replay(loaded, algorithm, problem(), clock.with_noise(0)).final - e.final).max() > 1e-3


def test_a_replay_follows_order_times_and_steps_whatever_the_clock_says():
    e = ft.record(ft.FedAsync("1/10", staleness="hinge", unit="time"), problem(), law(0), 30, 3)
    same = ft.replay(e, ft.FedAsync("1/10", staleness="hinge", unit="time"), problem())
    alike(e, same, 1e-12)
    other = ft.Events(**{k: getattr(e, k) for k in e.__dataclass_fields__} | {"K": e.K + 1})
    assert np.abs(ft.replay(other, ft.FedAsync("1/10", staleness="hinge", unit="time"), problem()).final - e.final).max() > 1e-3


def test_an_order_from_elsewhere_is_followed():
    """Three arrivals written by hand: x <- x + (y_K - x)/2 from models that the order says."""
    made = ft.record(ft.FedAsync("1/2", 1, alpha="1/2"), problem(), ft.EventClock(), 3, 1)
    order = {"client": [[1], [0], [1]], "K": [[2], [1], [1]], "time": [[1.0], [1.0], [4.0]]}
    events = ft.Events(**{k: getattr(made, k) for k in made.__dataclass_fields__} | {k: np.array(v) for k, v in order.items()})
    back = ft.replay(events, ft.FedAsync("1/2", alpha="1/2"), problem())
    x = 0.5 * 4      # client 1 from 0: y = 4, and 4 again
    x = x / 2        # client 0 from 0: y = 0
    x = x / 2 + 4 / 2   # client 1 from its model after the first arrival: one step of 1/2 with curvature 2 lands on 4
    assert back.final[0, 0] == x and back.lag[:, 0].tolist() == [0, 1, 1] and back.version[:, 0].tolist() == [0, 0, 1]


@pytest.mark.parametrize(("change", "words"), [
    ({"client": [[3]]}, "client = 3.*numbered 0..2"), ({"K": [[0]]}, "K = 0.*local step"), ({"time": [[-1.0]]}, "ordered by time")])
def test_orders_that_cannot_be_are_refused(change, words):
    e = ft.record(ft.FedAsync("1/10", 1), problem(), ft.EventClock(), 1, 1)
    bad = ft.Events(**{k: getattr(e, k) for k in e.__dataclass_fields__} | {k: np.array(v) for k, v in change.items()})
    with pytest.raises(BadInput, match=words):
        ft.replay(bad, ft.FedAsync("1/10", 1), problem())


def test_damaged_and_foreign_files_are_refused(tmp_path):
    e = ft.record(ft.FedAsync("1/10", 1), problem(), ft.EventClock(), 4, 2)
    stem = e.save(tmp_path / "one")
    content = Path(f"{stem}.npz").read_bytes()
    Path(f"{stem}.npz").write_bytes(content[:-1])
    with pytest.raises(BadInput, match="do not match the digest"):
        ft.Events.load(stem)
    with pytest.raises(BadInput, match="cannot be read"):
        ft.Events.load(tmp_path / "none")
    ft.run(ft.FedAvg("1/10", 1), problem(), ft.Full(), 3).save(tmp_path / "trace")
    with pytest.raises(BadInput, match=r"written by Events\.save"):
        ft.Events.load(tmp_path / "trace")


# ---- interruptions ----------------------------------------------------------------------------------------
class Stop(Exception):
    pass


@pytest.mark.parametrize("algorithm", [METHODS["adaptive"][0], ft.FedBuff("1/10", buffer=3), ft.FedAvg("1/10")],
                         ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("at", [1, 27])
def test_a_record_stopped_in_a_chunk_resumes_to_the_same_numbers(algorithm, at, tmp_path, small_blocks):
    options = {"replicates": 600, "seed": 3, "chunk": 2, "every": 4, "metrics": VALUE}
    whole, path = ft.record(algorithm, problem(), law(), 20, **options), tmp_path / "c"
    calls, draw = itertools.count(), recording.draw_round

    def stops(*arguments):
        if next(calls) == at:
            raise Stop
        return draw(*arguments)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(recording, "draw_round", stops)
        ft.record(algorithm, problem(), law(), 20, **options, checkpoint=path, seconds=0)
    assert path.exists()
    with pytest.raises(BadInput, match="belongs to a run with other"):
        ft.record(algorithm, problem(), law(), 20, **options | {"seed": 4}, checkpoint=path)
    calls = itertools.count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "draw_round", lambda *a: (next(calls), draw(*a))[1])
        resumed = ft.record(algorithm, problem(), law(), 20, **options, checkpoint=path)
    assert next(calls) == 40 - at and not path.exists()
    alike(whole, resumed)


SCRIPT = """
import sys
import fltheory as ft
from fltheory.runs import preparation
from tests.asynchronous.test_events import METHODS, VALUE, law, problem
preparation.BLOCK = 256
e = ft.record(METHODS["adaptive"][0], problem(), law(), 60, 600, seed=5, chunk=1, every=10, metrics=VALUE, checkpoint=sys.argv[1],
              seconds=0.0)
e.save(sys.argv[2])
"""


@pytest.mark.slow
def test_killed_records_resume_to_the_same_bits(tmp_path):
    root, checkpoint = Path(__file__).resolve().parents[2], tmp_path / "checkpoint"
    command, environment = [sys.executable, "-c", SCRIPT], {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, tmp_path / "other", tmp_path / "whole"], cwd=root, env=environment, timeout=120, check=True)
    for goal in ((0, 20), (1, 30), (2, 40)):
        child = subprocess.Popen([*command, checkpoint, tmp_path / "resumed"], cwd=root, env=environment)
        try:
            while child.poll() is None and position(checkpoint) < goal:
                time.sleep(0.001)
        finally:
            child.kill()
            child.wait()
        assert position(checkpoint) >= goal and not (tmp_path / "resumed.npz").exists()
    subprocess.run([*command, checkpoint, tmp_path / "resumed"], cwd=root, env=environment, timeout=120, check=True)
    assert not checkpoint.exists()
    alike(ft.Events.load(tmp_path / "whole"), ft.Events.load(tmp_path / "resumed"))


def position(path):
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as data:
            return int(data["chunk"]), int(data["round"])
    except OSError:
        return -1, -1


# ---- replicates, networks, devices ------------------------------------------------------------------------
def test_replicates_do_not_depend_on_how_blocks_are_batched():
    algorithm, options = METHODS["adaptive"][0], {"seed": 2, "metrics": VALUE}
    alike(ft.record(algorithm, problem(), law(), 25, 600, chunk=1, **options),
          ft.record(algorithm, problem(), law(), 25, 600, chunk=64, **options))
    few, many = (ft.record(algorithm, problem(), law(), 25, R, **options) for R in (256, 600))
    assert all(np.array_equal(getattr(few, k), getattr(many, k)[:, :256]) for k in WHOLE)


def test_a_network_with_momentum_and_batches_is_recorded_and_replayed():
    rng = np.random.default_rng(0)
    rows, classes = [rng.normal(size=(m, 3)) for m in (4, 7, 6)], [rng.integers(0, 2, m) for m in (4, 7, 6)]
    net = ft.Network(lambda: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)), rows, classes)
    starts = np.stack([net.initial(k) for k in range(3)])
    algorithm = ft.AsyncFedED("1/10", kappa=1, solver=ft.Momentum("1/2"), momentum="kept", decay="199/200")
    clock = ft.EventClock.proportional(net.sizes, steps=2, batch=3, suspension="1/10")
    e = ft.record(algorithm, net, clock, 8, 3, x0=starts, every=2, metrics={"accuracy": lambda x: net.evaluate(x)["accuracy"]})
    assert e.metrics["accuracy"].shape == (5, 3) and not np.allclose(e.final, starts)
    assert np.abs(ft.replay(e, algorithm, net, clock).final - e.final).max() <= 1e-12


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda_the_events_are_the_same():
    for algorithm, _ in METHODS.values():
        host, there = (ft.record(algorithm, problem(), law(), 40, 300, device=d, metrics=VALUE) for d in ("cpu", "cuda"))
        assert all(np.array_equal(getattr(host, k), getattr(there, k)) for k in WHOLE)
        assert np.abs(host.final - there.final).max() <= 1e-12
        assert np.abs(ft.replay(there, algorithm, problem(), law(), device="cuda").final - there.final).max() <= 1e-12


@pytest.mark.parametrize(("options", "words"), [
    ({"algorithm": ft.FedAvg("1/10"), "law": ft.Full()}, "clock.*EventClock"),
    ({"law": ft.Full()}, "law.*clock"),
    ({"clock": ft.EventClock()}, "clock.*second law"),
    ({"algorithm": ft.FedAvg("1/10"), "law": ft.Full(), "clock": ft.EventClock(noise=1)}, "clock"),
    ({"arrivals": 0}, "arrivals.*at least one arrival"),
    ({"every": 0}, "every"), ({"until": 0}, "until"), ({"replicates": 0}, "replicates"), ({"x0": [[1], [2]]}, "x0.shape"),
    ({"metrics": {"m": lambda x: x}}, "one number for each model"), ({"metrics": {"a/b": abs}}, "functions by name"),
    ({"algorithm": [(ft.FedAsync("1/10", 1), 2), (ft.FedAvg("1/10", 1), 2)], "arrivals": None}, "phases be of one kind"),
])
def test_refused(options, words):
    arguments = {"algorithm": ft.FedAsync("1/10", 1), "problem": problem(), "law": ft.EventClock(), "arrivals": 3}
    if options.get("law") is not None and "algorithm" in options:
        options = {"algorithm": ft.FedAvg("1/10", 1)} | {k: v for k, v in options.items() if k != "algorithm"}
    with pytest.raises(BadInput, match=words):
        ft.record(**arguments | options)


def test_too_many_arrivals_to_keep():
    with pytest.raises(TooLarge, match=r"record fewer, or use ft\.run"):
        ft.record(ft.FedAsync("1/10", 1), problem(), ft.EventClock(), 10**6, 100)
