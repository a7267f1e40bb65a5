"""`verify` from end to end: reports, mutants, resumption, calibration, exit codes."""

import functools
import json
import shutil
import subprocess

import pytest

import fltheory as ft
from fltheory.verdicts import calibration
from fltheory.verdicts import verify as module
from fltheory.verdicts.papers import inputs
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.report import terminal
from fltheory.verdicts.verify import exit_code, fingerprint, verify
from tests.verdicts.lines import filled
from tests.verifying import FEDNOVA, PYTHON, ROOT, environment, finished, quiet, read, untimed
from verification.engine import calibrating

CHEAP = ["lem1", "appb-momentum", "r2-stability", "cor3-o-corrected", "e1", "e8b"]
OPTIONS = {"quick": True, "device": "cpu", "mutant": None}


# ---- end to end -------------------------------------------------------------------------------------------
def run_and_read(report, *options):
    """(command line's output, records) of a run that must end as expected and leave a complete report."""
    done = subprocess.run(
        [*PYTHON, "verify", "verification", "--quick", "--report", str(report), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert not list(report.glob("*.tmp"))
    records = read(report / "verdicts.jsonl")
    assert records[0]["type"] == "run"
    assert records[0]["quick"] is True
    named = {r["id"] for r in records if r["type"] in ("claim", "finding")}
    for text in ((report / "index.html").read_text(), (report / "verdicts.md").read_text(), done.stdout):
        assert all(name in text for name in named)
    return done.stdout, named


def test_a_quick_run_is_as_expected_and_reported(tmp_path):
    out, named = run_and_read(tmp_path / "deep" / "report", "--only", *CHEAP)
    assert named == set(CHEAP)
    assert "every verdict is as expected" in out
    assert "this was a quick run" in out


MUTANTS = {
    "uniform_weights": ["eq26-28", "thm1-explicit-corrected"],
    "one_step_more": ["eq26-28", "lem1", "r2-stability"],
    "hidden_proximal": ["eq26-28", "lem1", "r2-stability"],
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_catalogued_bug_is_noticed_and_named(mutant):
    records, code = verify(
        [FEDNOVA], only=[*MUTANTS[mutant], "appb-momentum"], quick=True, mutant=mutant, on_record=quiet
    )
    wrong = terminal.summary(records).split("not as expected")[1]
    assert code == 1
    assert [n for n in (*MUTANTS[mutant], "appb-momentum") if f"claim fednova/{n}:" in wrong] == MUTANTS[mutant]


def test_the_command_line_reports_a_mutant():
    done = subprocess.run(
        [*PYTHON, "verify", "--quick", "--only", "eq26-28", "appb-momentum", "--mutant", "uniform_weights"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 1
    assert "claim fednova/eq26-28: FALSE != expected CERTIFIED" in done.stdout
    assert "1 verdict not as expected" in done.stdout


@pytest.mark.parametrize(("term", "factor"), [("start", 50), ("noise", 50), ("drift_noise", 10**6), ("drift", 50)])
def test_a_lost_factor_in_a_term_of_the_bound_is_noticed(monkeypatch, term, factor):
    load(FEDNOVA)
    from verification.fednova import formulas

    thm1 = formulas.thm1
    monkeypatch.setattr(module, "check", functools.partial(module.check, search=False))
    monkeypatch.setattr(
        formulas, "thm1", lambda *args: {k: v / factor if k == term else v for k, v in thm1(*args).items()}
    )
    records, code = verify([FEDNOVA], only=["thm1-explicit-corrected", "appb-momentum"], quick=True, on_record=quiet)
    wrong = terminal.summary(records).split("not as expected")[1]
    assert code == 1
    assert "claim fednova/thm1-explicit-corrected: FALSE != expected PROVED" in wrong
    assert "appb-momentum" not in wrong


# ---- resumption --------------------------------------------------------------------------------------------
def test_workers_and_a_single_process_decide_a_real_claim_alike():
    one, _ = verify([FEDNOVA], only=CHEAP[:3], quick=True, on_record=quiet)
    two, _ = verify([FEDNOVA], only=CHEAP[:3], quick=True, jobs=2, on_record=quiet)
    assert untimed(one) == untimed(two)


def test_resume_reuses_finished_verdicts_and_decides_the_rest(tmp_path, monkeypatch):
    seen = []
    decide = module.decide
    monkeypatch.setattr(module, "decide", lambda task, *rest: seen.append(task[2]) or decide(task, *rest))
    first, _ = verify([FEDNOVA], report=tmp_path, only=["lem1", "e1"], quick=True, on_record=quiet)
    again, _ = verify(
        [FEDNOVA], report=tmp_path, only=["lem1", "e1", "appb-momentum"], quick=True, resume=True, on_record=quiet
    )
    assert seen == ["lem1", "e1", "appb-momentum"]
    assert {r["id"]: r for r in again if r["type"] == "finding"} == {
        r["id"]: r for r in first if r["type"] == "finding"
    }
    verify([FEDNOVA], report=tmp_path, only=["lem1"], quick=False, resume=True, on_record=quiet)
    assert seen[3:] == ["lem1"]  # a quick verdict does not stand in for a full one
    verify([FEDNOVA], report=tmp_path, only=["lem1"], quick=True, on_record=quiet)
    assert seen[4:] == ["lem1"]  # without --resume everything is decided again


def test_a_torn_last_line_is_ignored(tmp_path):
    verify([FEDNOVA], report=tmp_path, only=["appb-momentum", "e1"], quick=True, on_record=quiet)
    journal = tmp_path / "verdicts.partial.jsonl"
    lines = journal.read_text().splitlines()
    for torn in (
        lines[0] + "\n" + lines[1][: len(lines[1]) // 2],
        lines[0] + "\n{}\n[1]\nnull\n",
        lines[0] + "\n\x00\xff",
    ):
        journal.write_bytes(torn.encode("latin-1"))
        decided = []
        records, code = verify(
            [FEDNOVA], report=tmp_path, only=["appb-momentum", "e1"], quick=True, resume=True, on_record=decided.append
        )
        assert code == 0
        assert [r["id"] for r in records if r["type"] in ("claim", "finding")] == ["appb-momentum", "e1"]
        assert len(finished(tmp_path)) == 2


def test_the_fingerprint_follows_every_input(tmp_path, monkeypatch):
    parent = tmp_path / "papers"
    shutil.copytree(FEDNOVA, parent / "fednova", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "verification" / "bugs.py", parent)

    class Folder:
        folder = parent / "fednova"

    seen = [fingerprint(Folder, OPTIONS)]
    assert fingerprint(Folder, OPTIONS) == seen[0]
    for file in ("ledger.csv", "witnesses/e1.py", "claims/surrogate.py", "data/table1.json", "../bugs.py"):
        path = parent / "fednova" / file
        path.write_text(path.read_text() + "\n# changed\n")
        seen.append(fingerprint(Folder, OPTIONS))
    for options in ({"quick": False}, {"mutant": "one_step_more"}, {"device": "cuda"}):
        seen.append(fingerprint(Folder, OPTIONS | options))
    engine = tmp_path / "engine"
    shutil.copytree(inputs.ENGINE, engine, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(inputs, "ENGINE", engine)
    assert fingerprint(Folder, OPTIONS) == seen[5]
    for file in ("core/algorithms/fedavg.py", *(str(p.relative_to(engine)) for p in sorted(engine.rglob("*.csv"))[:1])):
        (engine / file).write_text((engine / file).read_text() + "\n")
        seen.append(fingerprint(Folder, OPTIONS))
    monkeypatch.setattr(module, "_versions", lambda: {"numpy": "0"})
    seen.append(fingerprint(Folder, OPTIONS))
    assert len(set(seen)) == len(seen)


def test_a_crash_while_deciding_becomes_an_error_record(monkeypatch):
    def crash(*args, **options):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(module, "check", crash)
    records, code = verify([FEDNOVA], only=["lem1"], on_record=quiet)
    assert code == 1
    assert records[1]["word"] == "ERROR"
    assert "RuntimeError: disk on fire" in records[1]["surprises"][0]


# ---- the calibration of our own checks -----------------------------------------------------------------------
@pytest.fixture
def calibrated(tmp_path):
    """A copy of the papers with a small calibration table of their own."""
    pytest.importorskip("torch", reason="calibration repeats torch runs")
    parent = tmp_path / "copied"
    parent.mkdir()
    shutil.copytree(FEDNOVA, parent / "fednova", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "verification" / "bugs.py", parent)
    name = "error at a round, one client of three"
    calibrating.save(*calibrating.calibrate(2, only=[name]), parent)
    return parent


def calibrations(parent, **options):
    records, code = verify([parent], only=["lem1"], quick=True, on_record=quiet, **options)
    return [r for r in records if r["type"] == "calibration"], code


def test_the_calibration_is_reported_and_replayed(monkeypatch):
    known = {"type": "calibration", "rows": [], "family": None, "failed": False, "provenance": {"state": "current"}}
    asked = []
    monkeypatch.setattr(calibration, "record", lambda records, roots: asked.append((list(records), roots)) or [known])
    records, code = verify([FEDNOVA], only=["lem1"], quick=True, on_record=quiet)
    assert code == 0 and known in records
    assert asked[0][1] == [FEDNOVA.parent] and asked[0][0] == records[:records.index(known)]


def test_a_table_beside_the_papers_is_part_of_the_report(calibrated, tmp_path):
    (found,), code = calibrations(calibrated, report=tmp_path / "report")
    assert code == 0 and found["provenance"]["state"] == "current"
    assert [r["repetitions"] for r in found["rows"]] == [20] * 4
    assert "one client of three" in (tmp_path / "report" / "index.html").read_text()
    again, _ = calibrations(calibrated, report=tmp_path / "report", resume=True)
    assert again == [found]


def test_a_stale_table_says_so_in_every_row_and_a_wrong_one_fails(calibrated):
    file = calibrated / "calibration.json"
    made = json.loads(file.read_text())
    file.write_text(json.dumps(made | {"code": "of another time"}))
    (found,), code = calibrations(calibrated)
    assert code == 0 and found["provenance"]["state"].startswith("STALE")
    assert all(r["check"].startswith("(stale) ") for r in found["rows"])
    made["replay"]["intervals"][0][0] *= 1.001
    file.write_text(json.dumps(made))
    (found,), code = calibrations(calibrated)
    assert code == 1 and "OTHER results" in found["provenance"]["replayed"]


def test_a_damaged_table_is_refused_before_the_work(calibrated, monkeypatch):
    (calibrated / "calibration.json").write_text("{")
    monkeypatch.setattr(module, "decide", None)
    with pytest.raises(ft.BadInput, match="fltheory calibrate"):
        calibrations(calibrated)


def test_a_folder_without_a_table_has_no_record_unless_something_was_measured(calibrated):
    (calibrated / "calibration.csv").unlink()
    assert calibrations(calibrated) == ([], 0)


# ---- exit codes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("records", "strict", "code"),
    [
        ([{"type": "claim", "word": "PROVED", "as_expected": True}], True, 0),
        ([{"type": "claim", "word": "OPEN", "as_expected": False}], False, 1),
        ([{"type": "calibration", "failed": True}], False, 1),
        ([{"type": "calibration", "failed": False}], True, 0),
        ([{"type": "finding", "word": "NOT CONFIRMED", "as_expected": False}], True, 1),
        ([{"type": "claim", "word": "SKIPPED", "as_expected": True}], False, 0),
        ([{"type": "claim", "word": "SKIPPED", "as_expected": True}], True, 3),
        (
            [{"type": "claim", "word": "OPEN", "as_expected": True}, {"type": "instance", "status": "INCONCLUSIVE"}],
            True,
            3,
        ),
        (
            [{"type": "claim", "word": "OPEN", "as_expected": True}, {"type": "instance", "status": "OUT_OF_SCOPE"}],
            True,
            0,
        ),
    ],
)
def test_exit_codes(records, strict, code):
    assert exit_code(list(map(filled, records)), strict) == code
