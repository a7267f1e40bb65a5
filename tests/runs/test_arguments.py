"""Arguments of a run that are refused, devices, the bar."""
import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.asynchronous.events import RecordOptions
from fltheory.runs.options import RunOptions
from tests.algorithms.instances import quadratic, residual
from tests.runs.traces import LR, torch


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


def test_the_front_doors_have_the_defaults_of_their_options():
    for door, kind, names in ((ft.run, RunOptions, {"every": "seconds"}), (ft.record, RecordOptions, {"arrivals": "rounds"})):
        keywords = list(inspect.signature(door).parameters.values())[3:]
        defaults = {f.name: f.default for f in fields(kind)}
        assert {names.get(k.name, k.name): k.default for k in keywords}.items() <= defaults.items()
    assert {"rounds", "noise", "x0", "metrics", "tail", "device"} <= set(inspect.signature(ft.sweep).parameters)


@pytest.mark.parametrize("first", ["from fltheory.runs import run", "ft.run"])
def test_the_function_is_found_in_whatever_order_things_are_imported(first):
    code = f"""
import fltheory as ft
{first}
ft.run(ft.FedAvg("1/10", 1), ft.Quadratic([[[1]]], [[0]]), ft.Full(), rounds=1)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[2], timeout=60, check=True)


def test_phases_carry_their_own_rounds():
    with pytest.raises(ft.BadInput, match="phases carry"):
        ft.run([(ft.FedAvg(LR, 1), 2)], quadratic()[0], ft.Full(), 2)


@pytest.mark.parametrize(("first", "second", "problem"), [
    (ft.FedAvg(LR, 1), ft.Scaffold(LR, 1), quadratic()[0]),
    (ft.FedResSgd(LR, 1, personal_lr=LR), ft.FedResAvg(LR, 1, personal_lr=LR), residual()[0])])
def test_a_phase_carries_on_what_the_one_before_it_had(first, second, problem):
    for phases in ([(first, 2), (second, 2)], [(second, 2), (first, 2)]):
        with pytest.raises(ft.BadInput, match="c, ci"):
            ft.run(phases, problem, ft.Full())
    other = ft.FedProx(LR, 1, mu=1) if isinstance(first, ft.FedAvg) else ft.FedResNaive(LR, 1, personal_lr=LR)
    assert ft.run([(first, 2), (other, 2)], problem, ft.Full()).rounds == 4


def test_clients_with_memories_are_not_drawn_twice():
    with pytest.raises(ft.BadInput, match="keep memories"):
        ft.run(ft.Scaffold(LR, 2), quadratic()[0], ft.WithReplacement(2), 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_absent_devices_are_refused():
    for device in ("cuda", "cuda:0"):
        with pytest.raises(ft.BadInput, match="no CUDA device"):
            ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Full(), 2, device=device)


def test_a_progress_bar_can_be_asked_for(capsys):
    ft.run(ft.FedAvg(LR, 1), quadratic()[0], ft.Full(), 3, progress=True)
    assert "3/3" in capsys.readouterr().err


SYMBOL = ft.Field("eta").symbols[0]
LINE = ft.Quadratic([[[1]], [[3]]], [[0], [1]])


@pytest.mark.parametrize(("change", "message"), [
    ({"algorithm": ft.FedAvg(SYMBOL, 1)}, "lr = eta"), ({"law": ft.Bernoulli(SYMBOL)}, "p = eta"),
    ({"law": ft.Full(noise=SYMBOL)}, "noise = eta"), ({"x0": [SYMBOL]}, "(x0|number) = eta"), ({"noise": SYMBOL}, "noise = eta"),
    ({"problem": ft.Quadratic([[[SYMBOL]], [[3]]], [[0], [1]])}, "(H|number) = eta"),
    ({"problem": ft.Quadratic([[[1]], [[3]]], [[0], [1]], weights=[SYMBOL, 1 - SYMBOL])}, "(weights|number) = eta")],
    ids=str)
def test_runs_and_sweeps_have_no_symbols(change, message):
    given = {"algorithm": ft.FedAvg("1/10", 1), "problem": LINE, "law": ft.Full(), **change}
    first, rest = [given.pop(k) for k in ("algorithm", "problem", "law")], given
    for go in (lambda: ft.run(*first, 2, **rest), lambda: ft.sweep(first[1], first[0], first[2], 2, **rest),
               lambda: ft.record(*first, 2, **rest, clock=ft.EventClock())):
        with pytest.raises(ft.BadInput, match=message):
            go()


@pytest.mark.parametrize("every", [-1, np.nan, np.inf, "often", None, True])
def test_seconds_between_snapshots_are_a_number(every):
    with pytest.raises(ft.BadInput, match="every = "):
        ft.run(ft.FedAvg(LR, 1), LINE, ft.Full(), 2, every=every)


@pytest.mark.parametrize("progress", ["x", "auto", 2, None, [1], np.ones(2)])
def test_progress_is_asked_for_or_not(progress):
    clock = ft.EventClock()
    for go in (lambda: ft.run(ft.FedAvg(LR, 1), LINE, ft.Full(), 2, progress=progress),
               lambda: ft.record(ft.FedAsync(LR, 1), LINE, clock, 2, progress=progress)):
        with pytest.raises(ft.BadInput, match="progress = "):
            go()


@pytest.mark.parametrize(("metric", "message"), [
    (lambda x: x, r"metrics\['m'\] = \(3, 1\)"), (lambda x: x.sum(), r"metrics\['m'\] = \(\)"), (lambda x: 1.0, "shape"),
    (lambda x: None, "shape"), (lambda x: "a", "metrics.*'a'"), (lambda x: x.sum(-1) * 1j, "complex"),
    (lambda x: [1.0, 2.0], r"\(2,\)"), (lambda x: [[1.0], [2.0, 3.0], []], "metrics")])
def test_a_metric_gives_one_number_for_each_model(metric, message):
    clock, arriving = ft.EventClock(), ft.FedAsync(LR, 1)
    for go in (lambda: ft.run(ft.FedAvg(LR, 1), LINE, ft.Full(), 2, replicates=3, metrics={"m": metric}),
               lambda: ft.run(arriving, LINE, clock, 2, replicates=3, metrics={"m": metric}),
               lambda: ft.record(arriving, LINE, clock, 2, replicates=3, metrics={"m": metric})):
        with pytest.raises(ft.BadInput, match=message):
            go()


@pytest.mark.parametrize("metric", [lambda x: x.sum(-1) > 0, lambda x: x.sum(-1).tolist(), lambda x: (x > 0).sum(-1),
                                    lambda x: x.sum(-1).requires_grad_(), lambda x: x.sum(-1).numpy(),
                                    lambda x: x.sum(-1).float()])
def test_numbers_of_any_kind_are_measured(metric):
    clock, arriving = ft.EventClock(), ft.FedAsync("1/2", 1)
    run = ft.run(ft.FedAvg("1/2", 1), LINE, ft.Full(), 2, replicates=3, metrics={"m": metric})
    later = ft.run(arriving, LINE, clock, 2, replicates=3, metrics={"m": metric})
    recorded = ft.record(arriving, LINE, clock, 2, replicates=3, metrics={"m": metric})
    assert run.mean("m")[0] == 0 and run.mean("m")[-1] > 0
    assert np.allclose(later.mean("m"), recorded.metrics["m"].mean(-1), rtol=1e-6)


class Mine(ft.FedAvg):
    """A user's, which is run in torch."""


@pytest.mark.parametrize("replicates", [1, 40])
def test_a_metric_may_write_over_what_it_is_given(replicates):
    def wild(x):
        x -= 1
        return x.sum(-1)

    def differentiating(x):
        x.requires_grad_()
        (x * x).sum().backward()
        return x.grad.sum(-1)
    clock, arriving = ft.EventClock(), ft.FedAsync(LR, 1)
    for go in (lambda **m: ft.run(ft.FedAvg(LR, 3), LINE, ft.Full(), 3, replicates, **m),
               lambda **m: ft.run(Mine(LR, 3), LINE, ft.Full(), 3, replicates, **m),
               lambda **m: ft.run(arriving, LINE, clock, 3, replicates, **m),
               lambda **m: ft.record(arriving, LINE, clock, 3, replicates=replicates, **m)):
        one, other = go(), go(metrics={"first": wild, "then": wild, "last": differentiating})
        assert np.array_equal(one.final, other.final)
        if hasattr(one, "tail"):
            assert np.array_equal(other.mean("first"), other.mean("then"))
            assert np.allclose(other.mean("last") / 2 - 1, other.mean("first"), rtol=1e-12) and one.mean()[-1] == other.mean()[-1]


def test_the_error_is_no_metric_of_the_users():
    clock, arriving = ft.EventClock(), ft.FedAsync(LR, 1)
    for metrics, names in (({"m": lambda x: x[..., 0], "error": None}, {"m"}), ({"m": lambda x: x[..., 0]}, {"m", "error"})):
        assert set(ft.run(ft.FedAvg(LR, 1), LINE, ft.Full(), 2, metrics=metrics).metrics) == names
        assert set(ft.record(arriving, LINE, clock, 2, metrics=metrics).metrics) == names
        assert set(ft.sweep(LINE, ft.FedAvg(LR, 1), ft.Full(), 2, metrics=metrics).points[0].trace.metrics) == names
    for go in (lambda m: ft.run(ft.FedAvg(LR, 1), LINE, ft.Full(), 2, metrics=m),
               lambda m: ft.record(arriving, LINE, clock, 2, metrics=m)):
        with pytest.raises(ft.BadInput, match=r"another name.*None"):
            go({"error": lambda x: 0 * x[..., 0]})
        with pytest.raises(ft.BadInput, match="functions by name"):
            go({"m": None})
    with pytest.raises(ft.BadInput, match="nothing would be recorded"):
        ft.run(ft.FedAvg(LR, 1), LINE, ft.Full(), 2, metrics={"error": None})
