"""Recorded runs: honest intervals, rates, and files that are refused when anything about them is wrong."""
import hashlib
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import fltheory as ft
from fltheory.core.statistics import moments, quantile
from fltheory.runs.streams import Stream
from fltheory.runs.trace import Trace, write_atomically

REPETITIONS, REPLICATES = 20_000, 300


def trace(values, tail=None, rounds=None):
    """A Trace of one metric from per-replicate values (replicates, rounds + 1)."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    mean = values.mean(0)
    tail = values[:, -1] if tail is None else tail
    return Trace(rounds=values.shape[1] - 1 if rounds is None else rounds, replicates=n, seed=0, device="cpu",
                 tail_rounds=1, metrics={"error": {"mean": mean, "m2": ((values - mean) ** 2).sum(0)}},
                 tail={"error": {"mean": tail.mean(), "m2": ((tail - tail.mean()) ** 2).sum()}},
                 final=np.array([1.0, -2.0]), audit=1e-15, audited=3, provenance={"device": "test"})


def between(misses, repetitions, chance, alarm=1e-6):
    """Whether a count of misses is plausible for independent trials of this chance."""
    low, high = binom.ppf([alarm / 2, 1 - alarm / 2], repetitions, chance)
    return low <= misses <= high


# ---- intervals -----------------------------------------------------------------------------------------------
def test_values_near_the_end_of_float64_have_an_interval_or_none_but_no_traceback():
    with np.errstate(all="ignore"):
        for size in (1e100, 1e108, 1e150, 1e300):
            made = trace(size * np.array([[1.0], [2.0], [4.0]]))
            made.metrics["error"]["m3"] = (((size * np.array([1.0, 2.0, 4.0]))[:, None] - made.mean()) ** 3).sum(0)
            interval = made.interval()
            plain = trace(np.array([[1.0], [2.0], [4.0]]))
            plain.metrics["error"]["m3"] = ((np.array([1.0, 2.0, 4.0])[:, None] - plain.mean()) ** 3).sum(0)
            if math.isfinite(interval.half_width):  # the width scales with the values
                assert interval.half_width == pytest.approx(size * plain.interval().half_width, rel=1e-9)
            assert math.isfinite(interval.half_width) == (size < 1e102)


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_false_alarms_of_intervals_on_null_data(level):
    """20,000 repetitions; the count of misses is compared to the binomial law at a false-alarm rate of 1e-6."""
    data = 3 + Stream(11, "null").generator().standard_normal((REPETITIONS, REPLICATES, 1))
    misses = sum(not trace(values).interval(level=level).contains(3) for values in data)
    assert between(misses, REPETITIONS, 1 - level)
    assert not between(misses, REPETITIONS, 2 * (1 - level)) and not between(misses, REPETITIONS, (1 - level) / 2)


def test_false_alarms_of_recorded_runs():
    """1,000 groups of replicates of one run, against the exact expectation; 99 % intervals, false-alarm rate 1e-6."""
    groups, size, rounds = 1000, 256, 3
    problem = ft.Quadratic([[[2, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 2]])
    algorithm, law = ft.FedAvg("1/5", 2), ft.Uniform(1)
    seen = []
    ft.run(algorithm, problem, law, rounds, groups * size, seed=5, noise=1, x0=[1, -1],
           metrics={"square": lambda x: _keep(seen, (x * x).sum(-1))})
    rows = np.concatenate([seen[k * (rounds + 1) + rounds] for k in range(len(seen) // (rounds + 1))])
    assert rows.shape == (groups * size,)
    *_, (_, second) = ft.derive(algorithm, problem, law, noise=1).trajectory(rounds + 1, [1, -1])
    expected = np.trace(second)
    misses = sum(not trace(values).interval(level=0.99).contains(expected) for values in rows.reshape(groups, size, 1))
    assert between(misses, groups, 0.01) or between(misses, groups, 0.015)   # squares are skewed, no third moment here


def _keep(seen, values):
    seen.append(values.numpy())
    return values


def test_half_widths_by_hand():
    t = trace([[1.0], [3.0], [2.0], [2.0]])
    i = t.interval(level=0.95)
    assert i.value == 2 and i.half_width == pytest.approx(3.182446305 * math.sqrt(2 / 3 / 4))
    assert trace([[1.0]]).interval().half_width == math.inf and trace([[1.0]]).interval().contains(1e300)


def skewed_trace(values):
    """A Trace with third moments from per-replicate values (replicates,)."""
    made = trace(values[:, None])
    part = {k: np.array([v]) for k, v in zip(("mean", "m2", "m3"), moments(values), strict=True)}
    return replace(made, metrics={"error": part})


@pytest.mark.parametrize("level", [0.99, 0.999])
def test_intervals_of_skewed_values_do_not_miss_too_often(level):
    """20,000 means of 256 squares of rare values: Student's interval misses too often, the corrected one does not."""
    u = Stream(17, "skewed").random((REPETITIONS, 256))
    squares = np.where(u < 0.1, 9.0 + u, u)
    expected = 0.5 + 0.1 * 9
    misses = [0, 0]
    for row in squares:
        misses[0] += not skewed_trace(row).interval(level=level).contains(expected)
        misses[1] += not trace(row[:, None]).interval(level=level).contains(expected)  # no third moment: Student's
    assert misses[0] < misses[1] and binom.sf(misses[0] - 1, REPETITIONS, 1 - level) > 1e-6
    assert level < 0.999 or binom.sf(misses[1] - 1, REPETITIONS, 1 - level) < 1e-6


@pytest.mark.parametrize("shift", [0, 1e6])
def test_constant_and_rounded_values_have_an_interval(shift):
    i = skewed_trace(np.full(300, 0.1) + shift).interval()
    assert math.isfinite(i.half_width) and i.half_width <= 1e-9 * (1 + shift)


def test_floors_use_the_replicates_tail_averages():
    values, tail = np.zeros((4, 3)), np.array([1.0, 2.0, 3.0, 6.0])
    floor = trace(values, tail).floor(level=0.95)
    assert floor.value == 3 and floor.half_width == pytest.approx(
        3.182446305 * math.sqrt(14 / 3 / 4)
    )  # Student, 3 degrees


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, math.nan, math.inf, None, "high", 1j, [0.9], np.eye(2), Ellipsis], ids=repr)
def test_levels_outside_the_unit_interval_are_refused(level):
    for ask in (lambda: quantile(level, 10), lambda: trace([[1.0]]).interval(level=level),
                lambda: trace(np.ones((3, 2))).floor(level=level)):
        with pytest.raises(ft.BadInput, match=r"level = .*confidence level"):
            ask()


def test_levels_may_be_exact():
    t = trace([[1.0], [3.0], [2.0]])
    assert t.interval(level=Fraction(9, 10)) == t.interval(level="9/10") == t.interval(level=0.9)


@pytest.mark.parametrize("name", ["loss", None, 3, np.eye(2), ["error"], {}, b"error", math.nan], ids=repr)
def test_unknown_metrics_are_refused(name):
    t = trace(np.ones((2, 2)))
    for ask in (t.mean, lambda m: t.interval(metric=m), t.floor, t.rate):
        with pytest.raises(ft.BadInput, match=r"metric = .*recorded \['error'\]"):
            ask(name)


@pytest.mark.parametrize("number", ["x", None, 1.0, math.nan, 3, -4, True, np.eye(2), slice(None), (0,)], ids=repr)
def test_rounds_outside_the_run_are_refused(number):
    t = trace(np.ones((2, 3)))
    assert t.interval(2) == t.interval(-1) == t.interval(np.int64(2)) and t.interval(-3) == t.interval(0)
    with pytest.raises(ft.BadInput, match=r"round = .*from 0 to 2"):
        t.interval(number)


# ---- rates ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("factor", [0.5, 0.9, 0.999])
def test_the_rate_of_a_geometric_sequence(factor):
    values = 7 * factor ** np.arange(201)
    t = trace([values])
    assert t.rate(window=(0, 200)) == pytest.approx(factor, rel=1e-12)
    assert t.rate(window=(10, 11)) == pytest.approx(factor, rel=1e-12)
    assert t.rate() == pytest.approx(factor, rel=1e-9)


def test_the_rate_ignores_the_floor():
    values = 0.8 ** np.arange(301) + 1e-9
    assert trace([values]).rate() == pytest.approx(0.8, rel=5e-3)


def test_the_rate_of_a_run_is_the_squared_rate_of_its_operator():
    problem = ft.Quadratic([[[2, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 2]])
    op = ft.derive(ft.Scaffold("1/10", 2), problem, ft.Full())
    assert ft.run(ft.Scaffold("1/10", 2), problem, ft.Full(), 200).rate() == pytest.approx(op.rate() ** 2, rel=1e-4)


@pytest.mark.parametrize("window", [(5, 5), (6, 3), (-1, 4), (0, 21), (0, 1, 2), (), (0.0, 3), (None, 3), ("a", "b"), [[0], [1]],
                                    np.eye(2), (True, 3), (math.nan, 2)], ids=repr)
def test_windows_outside_the_run_are_refused(window):
    with pytest.raises(ft.BadInput, match="start < stop <= 20"):
        trace([np.ones(21)]).rate(window=window)


@pytest.mark.parametrize("window", ["ab", 3, {0: 1}, Ellipsis], ids=repr)
def test_windows_that_are_no_pairs_are_refused(window):
    with pytest.raises(ft.BadInput, match="window = "):
        trace([np.ones(21)]).rate(window=window)


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.5, -1.0]], ids=repr)
def test_metrics_without_a_factor_are_refused(values):
    with pytest.raises(ft.BadInput, match="no factor per round"):
        trace([values]).rate()


@pytest.mark.parametrize(("values", "rate"), [([1.0, 1e200, math.inf], math.inf), ([1.0, 1e200, math.nan], math.nan),
                                              ([1.0, 1e154, 1e308], 1e154), ([1.0, 0.5, 0.0], 0.0)], ids=repr)
def test_divergence_is_a_rate(values, rate):
    parts = {k: np.array(values) for k in ("mean", "m2", "m3")}
    found = replace(trace([[1.0] * 3] * 300), metrics={"error": parts}, tail={"error": {k: v[-1] for k, v in parts.items()}})
    assert found.rate(window=(0, 2)) == pytest.approx(rate, nan_ok=True) and isinstance(found.rate(), float)
    beyond = not math.isfinite(values[-1])
    assert bool(found.floor().undecided) == math.isinf(found.floor().half_width) == beyond


# ---- files ---------------------------------------------------------------------------------------------------
@pytest.fixture
def saved(tmp_path):
    made = trace(Stream(1).generator().standard_normal((5, 4)))
    return made, made.save(tmp_path / "one")


def equal(a, b):
    fields = ("rounds", "replicates", "seed", "device", "tail_rounds", "audit", "audited", "provenance")
    assert all(getattr(a, k) == getattr(b, k) for k in fields)
    assert np.array_equal(a.final, b.final) and a.metrics.keys() == b.metrics.keys() and a.tail.keys() == b.tail.keys()
    for mine, theirs in ((a.metrics, b.metrics), (a.tail, b.tail)):
        for name in mine:
            for part in ("mean", "m2"):
                assert np.array_equal(mine[name][part], theirs[name][part])


def test_saved_traces_come_back(saved):
    made, stem = saved
    assert sorted(p.name for p in stem.parent.iterdir()) == ["one.json", "one.npz"]
    for path in (stem, f"{stem}.npz", f"{stem}.json"):
        equal(Trace.load(path), made)
    assert Trace.load(stem).interval() == made.interval() and Trace.load(stem).floor() == made.floor()


def test_runs_come_back(tmp_path):
    problem = ft.Quadratic([[[2]], [[1]]], [[1], [0]])
    made = ft.run(ft.FedAvg("1/10", 2), problem, ft.Uniform(1), 5, 300, noise=1, metrics={"x": lambda x: x[:, 0]})
    equal(Trace.load(made.save(tmp_path / "run")), made)


def test_dots_belong_to_the_name(tmp_path):
    a, b = trace([[1.0]]), trace([[2.0]])
    a.save(tmp_path / "lr0.05")
    b.save(tmp_path / "lr0.01")
    assert Trace.load(tmp_path / "lr0.05").mean() == [1] and Trace.load(tmp_path / "lr0.01").mean() == [2]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lr0.01.json", "lr0.01.npz", "lr0.05.json", "lr0.05.npz"]


def resign(stem):
    """Make the digest fit whatever the arrays file holds now."""
    path = stem.with_suffix(".json")
    meta = json.loads(path.read_text())
    meta["sha256"] = hashlib.sha256(stem.with_suffix(".npz").read_bytes()).hexdigest()
    path.write_text(json.dumps(meta))


def refused(stem):
    with pytest.raises(ft.BadInput, match="cannot be read"):
        Trace.load(stem)


@pytest.mark.parametrize("junk", [b"", b"PK\x03\x04 no archive", b"\x80\x04 no numpy", b"\x93NUMPY"], ids=repr)
@pytest.mark.parametrize("signed", [False, True])
def test_corrupt_arrays_are_refused(saved, junk, signed):
    _, stem = saved
    stem.with_suffix(".npz").write_bytes(junk)
    if signed:
        resign(stem)
    refused(stem)


@pytest.mark.parametrize("where", [0.1, 0.5, 0.9])
def test_one_changed_bit_or_a_lost_tail_is_noticed(saved, where):
    _, stem = saved
    data = bytearray(stem.with_suffix(".npz").read_bytes())
    stem.with_suffix(".npz").write_bytes(data[:int(where * len(data))])
    refused(stem)
    data[int(where * len(data))] ^= 1
    stem.with_suffix(".npz").write_bytes(data)
    refused(stem)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}", '{"sha256": 1}', "\x00"], ids=repr)
def test_corrupt_metadata_are_refused(saved, text):
    _, stem = saved
    stem.with_suffix(".json").write_text(text)
    refused(stem)


def test_metadata_with_missing_or_foreign_entries_are_refused(saved):
    _, stem = saved
    path = stem.with_suffix(".json")
    meta = json.loads(path.read_text())
    for changed in ({k: v for k, v in meta.items() if k != "rounds"}, {**meta, "surprise": 1},
                    {**meta, "sha256": "0" * 64}):
        path.write_text(json.dumps(changed))
        refused(stem)


@pytest.mark.parametrize("path", [None, 3, b"bytes", Ellipsis, "no/such/folder/one", "n" * 300, "a\0b"], ids=lambda p: repr(p)[:20])
def test_what_is_no_path_is_refused(saved, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ft.BadInput, match="path = "):
        saved[0].save(path)
    with pytest.raises(ft.BadInput, match=r"path = |cannot be read"):
        Trace.load(path)


def test_missing_files_are_refused(saved, tmp_path):
    _, stem = saved
    refused(tmp_path / "never")
    stem.with_suffix(".npz").unlink()
    refused(stem)


def test_pickles_are_never_loaded(saved):
    _, stem = saved

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was loaded",))
    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb()
    np.savez(stem.with_suffix(".npz"), final=bomb)
    resign(stem)
    refused(stem)
    with pytest.raises(ValueError, match="allow_pickle"):
        np.load(stem.with_suffix(".npz"), allow_pickle=False)["final"]


def test_names_of_arrays_are_checked(saved):
    _, stem = saved
    for name in ("metric", "metric/error", "other/error/mean", "a/b/c/d"):
        np.savez(stem.with_suffix(".npz"), **{"final": np.ones(2), name: np.ones(3)})
        resign(stem)
        refused(stem)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda f: f.write(b"old"))

    def fails(handle):
        handle.write(b"half")
        raise RuntimeError("stopped")
    with pytest.raises(RuntimeError):
        write_atomically(path, fails)
    assert path.read_bytes() == b"old"


def test_a_trace_shows_itself():
    assert "error" in trace(np.ones((3, 2)))._repr_html_()


def test_a_run_is_told_in_a_line():
    run = ft.run(ft.FedAvg("1/20", 2), ft.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]]), ft.Full(), rounds=5, replicates=4)
    assert repr(run).startswith("Trace(rounds=5, replicates=4, ") and "problem=Quadratic(n=2, d=1)" in repr(run)
    assert "array" not in repr(run)
