"""Sweeps: what a chunk is, how chunks merge, what the store keeps, and that places and orders change nothing."""
import dataclasses
import random
import subprocess
import sys
from concurrent.futures import Executor, Future
from fractions import Fraction

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.statistics import moments
from fltheory.runs import sweep as module

PROBLEM = ft.Quadratic([[[1]], [[3]]], [[0], [1]])
OTHER = ft.Quadratic([[[1]], [[2]]], [[0], [1]])
KEPT = []


def keep(x):
    values = (x * x).sum(-1)
    KEPT.append(values.numpy())
    return values


def cube(x):
    return (x * x * x).sum(-1)


def go(problems=PROBLEM, algorithms=None, laws=None, rounds=8, **options):
    options = {"replicates": 70, "chunk": 30, "noise": "1/2", **options}
    algorithms = algorithms or [ft.FedAvg("1/20", 2), ft.Scaffold("1/20", 2)]
    return ft.sweep(problems, algorithms, laws or ft.Uniform(1), rounds, **options)


class Shuffled(Executor):
    """Does everything at once, and hands it out in another order."""

    def __init__(self):
        self.todo = []

    def submit(self, work, *args):
        future = Future()
        self.todo.append((future, work, args))
        if len(self.todo) == 6:
            random.Random(3).shuffle(self.todo)
            for f, w, a in self.todo:
                f.set_result(w(*a))
        return future


def test_a_point_of_one_chunk_is_a_run():
    found = go(algorithms=ft.FedAvg("1/20", 2), replicates=30, seeds=5, metrics={"cube": cube})
    run = ft.run(ft.FedAvg("1/20", 2), PROBLEM, ft.Uniform(1), 8, replicates=30, noise="1/2", seed=5, metrics={"cube": cube})
    (point,) = found.points
    assert found.computed == 1 and set(point.trace.metrics) == {"error", "cube"}
    for name in run.metrics:
        for part in ("mean", "m2", "m3"):
            assert (point.trace.metrics[name][part] == run.metrics[name][part]).all()
            assert point.trace.tail[name][part] == run.tail[name][part]
    assert (point.trace.final == run.final).all() and point.trace.audit == run.audit
    assert str(point.trace.floor()) == str(run.floor())


def test_merged_moments_are_those_of_all_replicates():
    KEPT.clear()
    found = go(algorithms=ft.FedAvg("1/20", 2), seeds=[0, 1], metrics={"keep": keep})
    assert [len(v) for v in KEPT[::9]] == [30, 30, 10] * 2
    last = np.concatenate(KEPT[8::9])
    assert len(set(last.tolist())) == 140  # no chunk is another one again
    trace = found.trace()
    assert trace.replicates == 140
    for part, value in zip(("mean", "m2", "m3"), moments(last), strict=True):
        assert np.isclose(trace.metrics["keep"][part][-1], value, rtol=1e-11)


def first(x):
    return x[..., 0]


def test_a_merged_run_ends_at_the_mean_of_all_replicates():
    """Of chunks of unequal size."""
    trace = go(algorithms=ft.FedAvg("1/20", 2), metrics={"first": first}).trace()
    assert np.isclose(trace.final[0], trace.metrics["first"]["mean"][-1], rtol=1e-13, atol=0)


def test_the_audit_of_a_merged_run_is_the_largest_of_its_chunks():
    audits = {s: ft.run(ft.Scaffold("1/20", 2), PROBLEM, ft.Uniform(1), 8, replicates=30, noise="1/2", seed=s).audit
              for s in range(6)}
    seeds = sorted(audits, key=audits.get)   # the largest neither first nor last
    seeds = [seeds[0], seeds[-1], seeds[1]]
    trace = go(algorithms=ft.Scaffold("1/20", 2), replicates=30, seeds=seeds).trace()
    assert trace.audit == audits[seeds[1]] > max(audits[seeds[0]], audits[seeds[2]])


def test_every_point_meets_the_same_cohorts_and_noise():
    found = go([PROBLEM], {"one": ft.FedAvg("1/20", 2), "two": ft.FedAvg("2/40", 2)})
    assert np.array_equal(found.trace(algorithm="one").mean(), found.trace(algorithm="two").mean())


def test_order_and_place_change_nothing(tmp_path):
    here, there = go(), go(executor=Shuffled(), store=tmp_path)
    assert here.digest == there.digest and here.computed == there.computed == 6
    again = go(store=tmp_path)
    assert (again.digest, again.computed, again.reused) == (here.digest, 0, 6)


def test_worker_processes_change_nothing(tmp_path):
    assert go(executor=2).digest == go().digest


def test_what_the_store_has_is_not_computed(tmp_path):
    first = go(store=tmp_path / "new" / "store")
    assert (first.computed, first.reused) == (6, 0)
    grown = go(store=tmp_path / "new" / "store", replicates=130)  # chunks of 30, 30, 30, 30, 10
    assert (grown.computed, grown.reused) == (6, 4)
    assert grown.digest == go(replicates=130).digest != first.digest


@pytest.mark.parametrize("change", [
    {"problems": OTHER}, {"algorithms": [ft.FedAvg("1/20", 3), ft.Scaffold("1/20", 3)]}, {"laws": ft.Full()}, {"rounds": 9},
    {"seeds": 1}, {"chunk": 31}, {"noise": "1/3"}, {"x0": [1]}, {"tail": "1/2"}, {"metrics": {"cube": cube}}])
def test_whatever_numbers_depend_on_is_in_the_name_of_a_chunk(tmp_path, change):
    go(store=tmp_path, replicates=30)
    found = go(store=tmp_path, replicates=40, **change)
    assert found.reused == 0
    assert found.digest == go(replicates=40, **change).digest


def test_another_engine_is_another_chunk_and_no_worker(tmp_path, monkeypatch):
    go(store=tmp_path)
    monkeypatch.setattr(module, "engine", lambda: "other")
    assert go(store=tmp_path).reused == 0
    answers = iter(["mine", "theirs"])
    monkeypatch.setattr(module, "engine", lambda: next(answers))
    with pytest.raises(ft.BadInput, match="this worker has another fltheory"):
        go()


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path, monkeypatch):
    whole, calls = go(), []
    call = module._Plan.__call__

    def stopping(self, task):
        calls.append(task)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return call(self, task)
    monkeypatch.setattr(module._Plan, "__call__", stopping)
    with pytest.raises(KeyboardInterrupt):
        go(store=tmp_path)
    monkeypatch.undo()
    rest = go(store=tmp_path)
    assert (rest.computed, rest.reused, rest.digest) == (3, 3, whole.digest)


def test_a_damaged_chunk_is_computed_again(tmp_path, caplog):
    whole = go(store=tmp_path)
    one, two, *_ = sorted(tmp_path.iterdir())
    one.write_bytes(one.read_bytes()[:-7])
    two.write_bytes(b"")
    again = go(store=tmp_path)
    assert (again.computed, again.reused, again.digest) == (2, 4, whole.digest)
    assert caplog.text.count("computed again") == 2
    assert go(store=tmp_path).reused == 6


def test_points_of_a_grid_have_settings():
    found = go(grid={"lr": ["1/20", "1/10"], "steps": [1, 2]})
    assert len(found.points) == 8
    one = found.trace(algorithm="Scaffold", lr="1/10", steps=2)
    assert one.algorithm == ft.Scaffold("1/10", 2) and one.law == ft.Uniform(1) and one.problem is PROBLEM
    assert np.array_equal(one.mean(), go(algorithms=ft.Scaffold("1/10", 2)).trace().mean())
    rows = found.rows()
    assert list(rows[0])[:6] == ["problem", "algorithm", "law", "lr", "steps", "replicates"]
    assert rows[0]["error"] == found.points[0].trace.mean()[-1]
    assert str(found).count("\n") == 9 and "8 points, 24 chunks computed, 0 from the store" in str(found)
    assert found._repr_html_().count("<tr>") == 9


def test_rows_are_saved(tmp_path):
    path = go().save(tmp_path / "rows.csv")
    assert path.read_text().startswith("problem,algorithm,law,replicates,error,+/-,")
    with pytest.raises(ft.BadInput, match="cannot be written"):
        go().save(tmp_path / "none" / "rows.csv")


def test_a_diverging_point_is_a_row_like_others(tmp_path):
    found = go(algorithms=ft.FedAvg(5, 9), rounds=120, store=tmp_path)
    assert (not np.isfinite(found.trace().mean()[-1]) and "inf" in str(found)) or "nan" in str(found)
    assert go(algorithms=ft.FedAvg(5, 9), rounds=120, store=tmp_path).digest == found.digest


def test_expectations_lie_where_the_operator_says():
    algorithm = ft.FedAvg("1/20", 2)
    found = go(algorithms=algorithm, replicates=4096, chunk=1024, rounds=200, laws=ft.Full())
    op = ft.derive(algorithm, PROBLEM, ft.Full(), noise="1/2")
    assert found.trace().floor().contains(op.floor())


@pytest.mark.parametrize("change, message", [
    ({"rounds": 0}, "rounds = 0"), ({"replicates": 0}, "replicates = 0"), ({"chunk": 0}, "chunk = 0"), ({"seeds": [1, 1]}, "seeds"),
    ({"seeds": []}, "seeds"), ({"seeds": -1}, "seeds"), ({"seeds": [0.5]}, "seeds"), ({"executor": "here"}, "executor"),
    ({"grid": {"speed": [1]}}, "no fields of FedAvg"), ({"grid": {"lr": []}}, "different values"), ({"grid": [1]}, "grid"),
    ({"grid": {"lr": ["1/2", "1/2"]}}, "different values"),
    ({"grid": {"lr": ["1/20", 0.05]}}, "'1/20' and 0.05 are one in float64"),
    ({"grid": {"steps": [(1, 2), [1, "2"]]}}, "are one in float64"), ({"grid": {"lr": "1/2"}}, "grid"),
    ({"grid": {"lr": [-1]}}, "lr = -1"),
    ({"algorithms": []}, "algorithms"), ({"algorithms": [ft.FedAvg(1), ft.FedAvg(1)]}, "algorithms"),
    ({"problems": {}}, "problems"),
    ({"laws": [3]}, "no law"), ({"laws": ft.WithReplacement(2)}, "keep memories"), ({"store": 3}, "store"),
    ({"progress": 2}, "progress"),
    ({"metrics": 3}, "metrics")])
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(ft.BadInput, match=message):
        if change.get("algorithms") == []:
            ft.sweep(PROBLEM, [], ft.Full(), 8)
        go(**change)


def test_a_store_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ft.BadInput, match=r"store .*cannot be made a folder"):
        go(store=tmp_path / "file")


def test_what_is_too_large_is_refused_before_anything_is_run():
    with pytest.raises(ft.TooLarge, match="20000000 chunks"):
        go(replicates=10**7, chunk=1)
    with pytest.raises(ft.TooLarge, match="4000000 combinations"):
        go(grid={"lr": [k + 1 for k in range(2000)], "steps": [k + 1 for k in range(2000)]})


def test_points_are_found_by_value():
    grid = {"lr": ["1/20", 0.1], "steps": [2, (1, 2)], "averaging": ["weighted", "plain"]}
    found = go(algorithms=ft.FedAvg("1/20", 2), grid=grid)
    named = found.trace(lr="1/20", steps=2, averaging="plain")
    for lr in (0.05, "0.05", Fraction(1, 20), np.float64(0.05)):
        assert found.trace(lr=lr, steps=2, averaging="plain") is named
    assert found.trace(lr="1/10", steps=[1, 2], averaging="plain") is found.trace(lr=0.1, steps=(1, 2), averaging="plain")
    with pytest.raises(ft.BadInput, match="names 0 of 8"):
        found.trace(lr=0.05, steps=True)


@pytest.mark.parametrize(("change", "message"), [
    ({"metrics": {"cube": cube, "square": lambda x: (x * x).sum(-1)}}, r"metrics\['square'\] = <function.*at the top of a module"),
    ({"laws": {"all": type("Own", (ft.Full,), {})()}}, r"laws\['all'\]")])
def test_what_cannot_be_sent_is_named_before_a_process_starts(change, message):
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1) as pool:
        for executor in (2, pool):
            with pytest.raises(ft.BadInput, match=message):
                go(executor=executor, **change)


def test_what_a_prompt_defines_cannot_be_sent():
    code = """
import fltheory as ft
def m(x):
    return (x * x).sum(-1)
try:
    ft.sweep(ft.Quadratic([[[1]]], [[1]]), ft.FedAvg("1/2", 1), ft.Full(), 2, metrics={"m": m}, executor=2)
except ft.BadInput as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.startswith("metrics['m'] = <function m") and "in a file" in done.stdout


def test_one_of_several_points_is_named():
    found = go()
    for names in ({}, {"algorithm": "FedAvg", "lr": 1}, {"law": "Full"}):
        with pytest.raises(ft.BadInput, match=r"names [02] of 2 points"):
            found.trace(**names)
    assert dataclasses.is_dataclass(found.points[0])
