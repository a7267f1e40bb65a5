"""The calibration of our own checks: it counts what it says, notices a broken interval, and its table is not trusted."""

import json
import math
import re
import shutil
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

import fltheory as ft
from fltheory.cli import main
from fltheory.core.errors import BadInput, CertificateFailed, MissingLibrary
from fltheory.core.statistics import Interval, clopper_pearson
from fltheory.runs.streams import Stream
from fltheory.verdicts import calibration as module
from fltheory.verdicts.calibration import BATCH, LEVELS, NAME, checks, family, level_of, read, record, share, traces
from verification.engine.calibrating import calibrate, rows_of, save, tally

RARE, THREE = "error at a round, rare clients", "error at a round, one client of three"
BY_NAME = {c.name: c for c in checks()}


def some(name, **changes):
    return replace(BY_NAME[name], **changes)


def counted(check, batches, seed=0):
    return sum(tally([check], k, seed)[0] for k in range(batches))


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="calibration repeats torch runs")


@pytest.fixture
def made(torch):
    return calibrate(BATCH, only=[THREE])


# ---- what is repeated ------------------------------------------------------------------------------------------------
def written(made):
    """The repr with rationals in one spelling."""
    return re.sub(r"Fraction\((\d+), (\d+)\)", r"'\1/\2'", repr(made))


def test_the_first_calibrated_checks_are_those_of_the_claims():
    from verification.fednova.claims import appendix_a_random, theorem2
    from verification.fednova.claims import fednova as sampling
    claimed = [i for i in (*appendix_a_random.random_floors, *sampling.sampling, theorem2.floors[0]) if i.simulate]
    mine = list(BY_NAME.values())[:3]
    assert len(claimed) == len(mine)
    for theirs, check in zip(claimed, mine, strict=True):
        own = check.instance
        assert {k: theirs.simulate[k] for k in ("rounds", "replicates")} == {
            "rounds": check.rounds, "replicates": check.replicates}
        assert written(own.algorithm) == written(theirs.algorithm) and written(own.law) == written(theirs.law)
        assert own.noise == theirs.noise and (own.x0 or [0]) == (theirs.x0 or [0])
        assert (own.problem.H == theirs.problem.H).all() and (own.problem.b == theirs.problem.b).all()
        assert list(own.problem.weights) == list(theirs.problem.weights)
    assert min(LEVELS) == 1e-4


def test_predictions_are_exact_and_by_two_routes():
    for check in checks():
        assert isinstance(check.predicted(), (Fraction, int))
    check = BY_NAME[RARE]
    i = check.instance
    target = ft.optimum(i.problem).x
    *_, (mean, second) = ft.derive(i.algorithm, i.problem, i.law).trajectory(check.rounds + 1, i.x0)
    target = np.array([float(v) for v in target])
    expected = np.trace(second) - 2 * mean @ target + target @ target
    assert float(check.predicted()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [THREE, "floor, gradient noise"])
def test_a_repetition_out_of_a_batch_is_a_run_of_its_own(torch, name):
    """The first group of replicates is the run of 256 replicates with this seed."""
    check = some(name, rounds=8)
    start = int.from_bytes(Stream(0, NAME, check.instance.name, 3).key()[:6], "big")
    alone = check.instance.but(simulate={"rounds": 8, "replicates": 256, "seed": start}).run
    groups = traces(check, 3)
    a, b = check.measured(groups[0], 0.99), check.measured(alone, 0.99)
    assert (a.value, a.half_width) == pytest.approx((b.value, b.half_width), rel=1e-12) and a.count == b.count == 256
    values = [check.measured(t, 0.99).value for t in [*groups, *traces(check, 4), *traces(check, 3, seed=1)]]
    assert len(set(values)) == 3 * BATCH


def test_repetitions_that_do_not_make_up_the_run_are_refused(torch, monkeypatch):
    monkeypatch.setattr(module, "moments", lambda values: (float(values.mean()) * (1 + 1e-6), 1.0, 0.0))
    with pytest.raises(CertificateFailed, match="not the run"):
        traces(BY_NAME[THREE], 0)


def test_results_do_not_depend_on_workers(torch):
    rows = [calibrate(4, only=[THREE], executor=executor)[0] for executor in (None, 2)]  # two batches
    assert rows[0] == rows[1]


# ---- what is found ---------------------------------------------------------------------------------------------------
def test_sound_intervals_are_as_announced(torch):
    rows = rows_of(BY_NAME[THREE], counted(BY_NAME[THREE], 50), 1000)
    assert all(r["low"] <= r["level"] for r in rows)
    assert [r["alarms"] for r in rows] == sorted((r["alarms"] for r in rows), reverse=True)


def test_an_interval_half_as_wide_is_noticed(torch, monkeypatch):
    monkeypatch.setattr("fltheory.core.statistics.skewed", lambda q, n, skewness: q / 2)
    rows = rows_of(BY_NAME[THREE], counted(BY_NAME[THREE], 10), 200)
    assert rows[0]["low"] > rows[0]["level"] and rows[1]["low"] > rows[1]["level"]


def test_students_interval_alarms_too_often_on_skewed_errors_and_the_corrected_one_does_not(torch):
    """What calibration found: at level 1e-3 Student's misses about five times as often as announced."""
    check, level, repetitions = BY_NAME[RARE], 1e-3, 3000
    truth, missed, corrected = check.predicted(), 0, 0
    for trace in (t for batch in range(repetitions // BATCH) for t in traces(check, batch)):
        corrected += check.rejects(check.measured(trace, 1 - level), truth)
        plain = dict(trace.metrics["error"], m3=np.zeros(1))
        missed += check.rejects(check.measured(replace(trace, metrics={"error": plain}), 1 - level), truth)
    assert clopper_pearson(missed, repetitions)[0] > level >= clopper_pearson(corrected, repetitions)[0]


def test_few_replicates_have_little_power_and_too_few_decide_nothing(torch):
    many, few, none = (some(RARE, replicates=n) for n in (8192, 256, 16))
    power = {c.replicates: rows_of(c, counted(c, 2), 2 * BATCH)[0]["power"] for c in (many, few, none)}
    assert power[8192] > 0.95 and power[256] < 0.5 and power[16] == 0
    assert counted(none, 2).sum() == 0


def test_a_bound_is_wrong_only_if_it_is_too_small(torch):
    check = some("bound of a floor, gradient noise", rounds=120)
    (counts,) = tally([check], 0)
    assert counts[-1].tolist() == [0, BATCH, 0]
    assert rows_of(check, counts, BATCH)[-1]["power"] == 1


@pytest.mark.parametrize(("alarms", "repetitions"), [(0, 1000), (1, 1000), (37, 1000), (5, 5), (0, 1)])
def test_the_interval_of_a_rate(alarms, repetitions):
    low, high = clopper_pearson(alarms, repetitions, 0.95)
    assert low == (0 if alarms == 0 else pytest.approx(beta.ppf(0.025, alarms, repetitions - alarms + 1)))
    assert high == (1 if alarms == repetitions else pytest.approx(beta.ppf(0.975, alarms + 1, repetitions - alarms)))


# ---- the table -------------------------------------------------------------------------------------------------------
def test_a_table_survives_its_files_and_is_replayed(made, tmp_path):
    rows, provenance = made
    save(rows, provenance, tmp_path)
    assert read(tmp_path) == (rows, provenance)
    (found,) = record([], [tmp_path, tmp_path])
    assert found["type"] == "calibration" and found["rows"] == rows and not found["failed"]
    assert found["provenance"]["state"] == "current" and "equal" in found["provenance"]["replayed"]
    assert set(rows[0]) == {"check", "level", "repetitions", "alarms", "low", "high", "power", "shift", "note"}
    json.dumps(found)


@pytest.mark.parametrize("change", [lambda p: p["replay"]["intervals"].__setitem__(3, [1.0, 0.1]),
                                    lambda p: p["replay"].update(alarms=7),
                                    lambda p: p.update(seed=1), lambda p: p.update(seed="0"),
                                    lambda p: p["replay"].update(intervals=[])])
def test_a_table_that_is_not_reproduced_fails(made, tmp_path, change):
    rows, provenance = made
    change(provenance := json.loads(json.dumps(provenance)))
    save(rows, provenance, tmp_path)
    (found,) = record([], [tmp_path])
    assert found["failed"] and "equal" not in found["provenance"]["replayed"]


def test_a_table_of_other_code_is_called_stale(made, tmp_path):
    rows, provenance = made
    save(rows, {**provenance, "code": "0" * 16}, tmp_path)
    (found,) = record([], [tmp_path])
    assert found["provenance"]["state"].startswith("STALE") and not found["failed"]


def test_the_hash_follows_the_code(tmp_path, monkeypatch):
    before = module.code_hash()
    for name in module.CODE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(module.Path(module.__file__).parents[1] / name, tmp_path / name)
    counted_by = tmp_path / "papers" / module.COUNTED_BY
    counted_by.parent.mkdir(parents=True)
    shutil.copy(module.beside() / module.COUNTED_BY, counted_by)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "verdicts" / "calibration.py"))
    monkeypatch.setattr(module, "beside", lambda: tmp_path / "papers")
    assert module.code_hash() == before
    for name in (*module.CODE, f"papers/{module.COUNTED_BY}"):
        kept = (tmp_path / name).read_text()
        (tmp_path / name).write_text(kept + "CHANGED = 1\n")
        assert module.code_hash() != before
        (tmp_path / name).write_text("# not a word of code\n" + kept.replace('"""', '"""Says more. ', 1) + "\n# nor here\n")
        assert module.code_hash() == before
        (tmp_path / name).write_text(kept)


@pytest.mark.parametrize("damage", ["{", "[]", '{"replay": 3}', '{"replay": {"intervals": null}}', None])
def test_damaged_tables_are_refused(tmp_path, damage):
    row = {"check": "a", "level": 0.1, "repetitions": 1, "alarms": 0, "low": 0.0, "high": 1.0, "power": 0.0}
    save([row], {"replay": {"intervals": []}}, tmp_path)
    assert read(tmp_path)[0][0]["alarms"] == 0
    (tmp_path / f"{NAME}.json").unlink() if damage is None else (tmp_path / f"{NAME}.json").write_text(damage)
    with pytest.raises(BadInput, match="fltheory calibrate"):
        read(tmp_path)
    save([{"check": "a"}], {"replay": {"intervals": []}}, tmp_path)
    with pytest.raises(BadInput, match="columns are missing"):
        read(tmp_path)


def test_without_torch_the_reason_is_said(monkeypatch, tmp_path):
    row = {"check": "a", "level": 0.1, "repetitions": 1, "alarms": 0, "low": 0.0, "high": 1.0, "power": 0.0}
    save([row], {"replay": {"intervals": []}}, tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingLibrary, match="torch is not installed"):
        calibrate(1)
    (found,) = record([], [tmp_path])
    assert found["provenance"]["replayed"] == "no: torch is not installed" and not found["failed"]


# ---- the family ------------------------------------------------------------------------------------------------------
def comparison(level, evidence="statistical", side="lhs"):
    other = {"lhs": "rhs", "rhs": "lhs"}[side]
    return {"evidence": evidence, side: str(Interval(0.5, 0.1, 1 - level, 300)), other: "1/2"}


def test_the_family_is_what_was_compared():
    records = [{"type": "instance", "comparisons": [comparison(1e-4), comparison(1e-4, side="rhs"),
                                                   comparison(1e-2, evidence="exact")]},
               {"type": "instance"}, {"type": "claim", "comparisons": [comparison(0.5)]},
               {"type": "instance", "comparisons": [comparison(1e-3)]}]
    found = family(records)
    assert found["comparisons"] == 3 and found["level"] == 1e-3 and found["bound"] == pytest.approx(1.2e-3)
    assert family([]) == {"comparisons": 0, "level": None, "bound": 0}
    assert record(records, []) == [{"type": "calibration", "rows": [], "family": found, "failed": False,
                                    "provenance": {}}]
    assert record([], []) == []


@pytest.mark.parametrize("level", [0.05, 0.01, 1e-3, 1e-4, 1e-5])
def test_levels_are_read_from_what_intervals_print(level):
    assert level_of(comparison(level)) == pytest.approx(level)


def test_a_level_that_is_not_printed_promises_nothing():
    assert level_of({"lhs": "0.5", "rhs": "0.5"}) == 1 and level_of({}) == 1
    assert level_of(comparison(1e-9)) == 5e-6  # printed as 100.000 %
    assert family([{"type": "instance", "comparisons": [{"evidence": "statistical"}] * 3}])["bound"] == 1


# ---- bad input and the command ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [{"repetitions": 0}, {"repetitions": True}, {"repetitions": 2.5}, {"seed": -1},
                                 {"executor": 0}, {"only": ["nothing"]}, {"repetitions": math.nan}])
def test_bad_arguments_are_refused(torch, bad):
    with pytest.raises(BadInput):
        calibrate(**bad)


def test_the_command_writes_the_table(torch, tmp_path, monkeypatch, capsys):
    few = [BY_NAME[THREE], BY_NAME["error at a round, 16 replicates"]]
    monkeypatch.setattr("verification.engine.calibrating.checks", lambda: few)
    assert main(["calibrate", "--repetitions", "2", "--out", str(tmp_path)]) == 0
    rows, provenance = read(tmp_path)
    assert len(rows) == 2 * len(LEVELS) and {r["repetitions"] for r in rows} == {20}
    assert provenance["replay"] == share() and THREE in capsys.readouterr().out
    assert main(["calibrate", "--out", str(tmp_path / "missing")]) == 2


def test_the_committed_table_is_whole():
    rows, provenance = read(module.Path(__file__).parents[2] / "verification")
    assert {(r["check"], r["level"]) for r in rows} == {(c.name, level) for c in checks() for level in LEVELS}
    assert all(r["repetitions"] >= 1000 and r["low"] <= r["level"] for r in rows)
    for r in rows:
        assert (r["low"], r["high"]) == pytest.approx(clopper_pearson(r["alarms"], r["repetitions"]))
    assert provenance["replay"]["check"] in BY_NAME
