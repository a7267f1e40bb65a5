"""`verify` from end to end: reports, mutants, interruption and resumption, refusals."""

import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fltheory as ft
from fltheory import calibration
from fltheory import verify as module
from fltheory.claims import inputs
from fltheory.claims.discover import COLUMNS, load
from fltheory.report import terminal
from fltheory.verify import exit_code, fingerprint, verify

ROOT = Path(__file__).parents[1]
FEDNOVA = ROOT / "verification" / "fednova"
PYTHON = [sys.executable, "-m", "fltheory"]
CHEAP = ["lem1", "appb-momentum", "r2-stability", "cor3-o-corrected", "e1", "e8b"]
OPTIONS = {"quick": True, "device": "cpu", "mutant": None}


def quiet(records):
    pass


def untimed(value):
    """Records without what may differ between two runs."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k != "seconds"}
    return [untimed(v) for v in value] if isinstance(value, list) else value


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def environment():
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


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
    assert "claim fednova/thm1-explicit-corrected: FALSE != expected SUPPORTED" in wrong
    assert "appb-momentum" not in wrong


# ---- interruption -----------------------------------------------------------------------------------------
def finished(report):
    """Keys of the verdicts that are safely on disk."""
    path, keys = report / "verdicts.partial.jsonl", set()
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            keys.add(tuple(json.loads(line)["key"]))
        except (ValueError, KeyError, TypeError):
            continue
    return keys


def of_group(group):
    """Processes of a process group, by the kernel's table."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            alive.append(int(stat.parent.name))
    return alive


SLEEPY = """
import time
from fractions import Fraction

from fltheory.claims.claim import Instance, claim
from fltheory.claims.relations import equal

for k in range(12):
    @claim(f"c{k}", on=[Instance("one", k=k)], domain="one number", powerless="an example")
    def body(i):
        \"\"\"A number equals itself, after some thought.\"\"\"
        time.sleep(0.15)
        return equal(Fraction(i.k, 7), Fraction(2 * i.k, 14))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look for orphans")
def test_killed_five_times_and_resumed_nothing_is_lost(tmp_path):
    folder, report, rng = tmp_path / "papers" / "sleepy", tmp_path / "report", random.Random(20201)
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "all.py").write_text(SLEEPY)
    rows = [f"c{k},Sec {k},claim,identity,CERTIFIED,exact,,Number {k}." for k in range(12)]
    (folder / "ledger.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    command = [*PYTHON, "verify", str(folder), "--report", str(report), "--jobs", "2", "--resume"]
    before = set()
    for new in (0, 1, 2, 0, 1):  # killed while starting, or soon after `new` further verdicts
        child = subprocess.Popen(command, cwd=ROOT, env=environment(), start_new_session=True, stdout=subprocess.PIPE)
        for _ in range(len(before) + new if new else 0):
            child.stdout.readline()
        time.sleep(rng.uniform(0, 0.1) if new else rng.uniform(0.1, 0.6))
        child.kill()
        child.wait()
        child.stdout.close()
        deadline = time.monotonic() + 10
        while of_group(child.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert of_group(child.pid) == [], "orphan workers"
        now = finished(report)
        assert before <= now
        before = now
    assert len(before) >= 4
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert before <= finished(report)
    assert len(finished(report)) == 12
    whole = subprocess.run([*command[:-2], "1", "--report", str(tmp_path / "whole")], cwd=ROOT, env=environment())
    assert whole.returncode == 0
    assert untimed(read(report / "verdicts.jsonl")) == untimed(read(tmp_path / "whole" / "verdicts.jsonl"))


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
    for file in ("algorithms/fedavg.py", *(str(p.relative_to(engine)) for p in sorted(engine.rglob("*.csv"))[:1])):
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


# ---- inputs that change, workers that die --------------------------------------------------------------------
TWO = """
import os
import signal
from fractions import Fraction
from pathlib import Path

from fltheory.claims.claim import Instance, claim
from fltheory.claims.relations import equal
from {package} import formulas as f

HERE = Path(__file__).parent


def visits(name):
    path = HERE.parents[2] / f"{{name}}.visits"
    with open(path, "a") as handle:
        handle.write("x")
    return len(path.read_text())


@claim("one", on=[Instance("only")], domain="one", powerless="an example")
def one(i):
    \"\"\"A whole.\"\"\"
    {one}
    return equal(f.share(1), 1)


@claim("two", on=[Instance("only")], domain="two", powerless="an example")
def two(i):
    \"\"\"Two halves.\"\"\"
    {two}
    return equal(2 * f.share(2), 1)


@claim("three", on=[Instance("only")], domain="three", powerless="an example")
def three(i):
    \"\"\"Three thirds.\"\"\"
    return equal(3 * f.share(3), 1)
"""
RIGHT, BAD = "from fractions import Fraction\n\n\ndef share(k):\n    return Fraction(1, k)\n", \
    "from fractions import Fraction\n\n\ndef share(k):\n    return Fraction(2, k)\n"


def small(tmp_path, one="pass", two="pass", slug="small"):
    """A paper of three true claims whose bodies do something more."""
    parent = tmp_path / "papers"
    folder = parent / slug
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "all.py").write_text(TWO.format(package=f"papers.{slug}", one=one, two=two))
    (folder / "formulas.py").write_text(RIGHT)
    rows = [f"{name},Sec 1,claim,identity,CERTIFIED,exact,,{name} of them." for name in ("one", "two", "three")]
    (folder / "ledger.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    return folder


def words(records):
    return {r["id"]: r["word"] for r in records if r["type"] == "claim"}


ALL = dict.fromkeys(("one", "two", "three"), "CERTIFIED")


def command_line(folder, *options):
    return subprocess.run([*PYTHON, "verify", str(folder), *options], cwd=ROOT, env=environment(), capture_output=True,
                          text=True)


def test_an_edit_after_the_journal_was_opened_is_never_stored_under_what_was_there_before(tmp_path, monkeypatch):
    folder, report = small(tmp_path), tmp_path / "report"
    opened = module.Journal

    def opened_and_edited(*args):
        (folder / "formulas.py").write_text(BAD)
        return opened(*args)

    notes = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "Journal", opened_and_edited)
        records, code = verify([folder], report=report, jobs=2, on_record=quiet, on_note=notes.append)
    assert (code, set(words(records).values())) == (1, {"FALSE"})  # the workers read the edited file
    assert len(notes) == 1 and "(3: " in notes[0] and "may rest on other inputs" in notes[0]
    (folder / "formulas.py").write_text(RIGHT)
    done = command_line(folder, "--report", str(report), "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "formulas.py").write_text(BAD)  # of these contents they are the verdicts
    again = command_line(folder, "--report", str(report), "--resume")
    assert again.returncode == 1
    assert all(f"small/{name}" in again.stdout for name in ALL)
    assert [r["key"][0] for r in read(report / "verdicts.partial.jsonl")].count(
        read(report / "verdicts.partial.jsonl")[0]["key"][0]) == 3  # nothing was decided a second time


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_edit_during_a_decision_is_reported_and_its_verdicts_are_not_kept(tmp_path, jobs):
    edit = f"(HERE.parent / 'formulas.py').write_text({BAD!r})"
    folder, report, notes = small(tmp_path, two=edit, slug=f"edited{jobs}"), tmp_path / "report", []
    records, code = verify([folder], report=report, jobs=jobs, on_record=quiet, on_note=notes.append)
    assert set(words(records)) == set(ALL)
    assert "two" not in {r["key"][-1] for r in read(report / "verdicts.partial.jsonl")}
    assert len(notes) == 1 and "formulas.py was written" in notes[0] and "two" in notes[0]
    if jobs == 1:
        assert code == 0  # what was loaded is what was judged
        assert {r["key"][-1] for r in read(report / "verdicts.partial.jsonl")} == {"one"}


def test_a_process_that_goes_on_with_an_old_import_keeps_nothing(tmp_path):
    folder, report, notes = small(tmp_path, slug="imported"), tmp_path / "report", []
    assert verify([folder], on_record=quiet, on_note=notes.append)[1] == 0 and notes == []
    (folder / "formulas.py").write_text(BAD)
    records, _ = verify([folder], report=report, on_record=quiet, on_note=notes.append)
    assert words(records) == ALL  # python has the old file
    assert len(notes) == 1 and (report / "verdicts.partial.jsonl").read_text() == ""
    done = command_line(folder, "--report", str(report), "--resume")
    assert done.returncode == 1 and "FALSE" in done.stdout


KILLED = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.skipif(not hasattr(os, "kill") or os.name != "posix", reason="sends SIGKILL")
def test_a_killed_worker_is_replaced_and_its_task_decided_again(tmp_path):
    folder, report = small(tmp_path, two=f"if visits('two') == 1: {KILLED}"), tmp_path / "report"
    done = command_line(folder, "--report", str(report), "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert words(read(report / "verdicts.jsonl")) == ALL
    assert (tmp_path / "two.visits").read_text() == "xx"


@pytest.mark.skipif(not hasattr(os, "kill") or os.name != "posix", reason="sends SIGKILL")
def test_a_worker_killed_twice_is_reported_and_everything_else_is_kept(tmp_path):
    """As the kernel kills a process that takes too much memory."""
    folder, report = small(tmp_path, two=f"visits('two'); {KILLED}"), tmp_path / "report"
    done = command_line(folder, "--report", str(report), "--jobs", "2")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    assert "two: its worker was killed by SIGKILL" in done.stderr
    assert "1 not decided: small/two" in done.stdout
    assert "not decided" in (report / "verdicts.md").read_text()
    assert "not decided" in (report / "index.html").read_text()
    head, *rest = read(report / "verdicts.jsonl")
    assert head["lost"] == ["small/two"]
    assert words(rest) == {"one": "CERTIFIED", "three": "CERTIFIED"}
    assert {r["key"][-1] for r in read(report / "verdicts.partial.jsonl")} == {"one", "three"}
    assert (tmp_path / "two.visits").read_text() == "xx"
    again = command_line(folder, "--report", str(report), "--jobs", "2", "--resume")
    assert again.returncode == 3 and "1 not decided: small/two" in again.stdout
    assert {r["key"][-1] for r in read(report / "verdicts.partial.jsonl")} == {"one", "three"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_finished_verdicts_and_says_where(tmp_path, jobs):
    wait = "import time; visits('two'); time.sleep(60)"
    folder, report = small(tmp_path, two=wait, slug=f"slow{jobs}"), tmp_path / "report"
    child = subprocess.Popen([*PYTHON, "verify", str(folder), "--report", str(report), "--jobs", str(jobs)], cwd=ROOT,
                             env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    wanted = {"one"} if jobs == 1 else {"one", "three"}
    for _ in wanted:
        child.stdout.readline()
    while not (tmp_path / "two.visits").exists():
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)  # as Ctrl-C does: the workers hear it too
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err == (f"fltheory: interrupted; {len(wanted)} decided, kept in {report}: continue with --resume\n")
    assert {r["key"][-1] for r in read(report / "verdicts.partial.jsonl")} == wanted
    deadline = time.monotonic() + 10
    while of_group(child.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert of_group(child.pid) == []


def test_an_interruption_without_a_report_keeps_nothing_and_says_so(tmp_path, monkeypatch, capsys):
    folder = small(tmp_path, slug="unkept")
    from fltheory.cli import main

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "decide", interrupt)
    assert main(["verify", str(folder)]) == 130
    assert "0 decided, kept nowhere without --report" in capsys.readouterr().err


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
    calibration.save(*calibration.calibrate(2, only=[name]), parent)
    return parent


def calibrations(parent, **options):
    records, code = verify([parent], only=["lem1"], quick=True, on_record=quiet, **options)
    return [r for r in records if r["type"] == "calibration"], code


def test_the_calibration_is_reported_and_replayed(monkeypatch):
    known = {"type": "calibration", "rows": [], "family": {}, "failed": False, "provenance": {"state": "current"}}
    asked = []
    monkeypatch.setattr(calibration, "record", lambda records, roots: asked.append((list(records), roots)) or [known])
    records, code = verify([FEDNOVA], only=["lem1"], quick=True, on_record=quiet)
    assert code == 0 and records[-1] == known
    assert asked[0][1] == [FEDNOVA.parent] and asked[0][0] == records[:-1]


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
    assert exit_code(records, strict) == code
