"""`verify` while files change, workers die and readers interrupt: no finished verdict is lost, none is a mixture."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fltheory.verdicts import verify as module
from fltheory.verdicts.papers.discover import COLUMNS
from fltheory.verdicts.verify import verify
from tests.verifying import (
    ALL,
    BAD,
    PYTHON,
    RIGHT,
    ROOT,
    command_line,
    environment,
    finished,
    of_group,
    quiet,
    read,
    small,
    untimed,
    words,
)

# ---- killed and interrupted ------------------------------------------------------------------------------------
SLEEPY = """
import time
from fractions import Fraction

from fltheory.verdicts.claims.claim import Instance, claim
from fltheory.core.relations import equal

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


# ---- inputs that change, workers that die --------------------------------------------------------------------
def test_an_edit_after_the_journal_was_opened_is_never_stored_under_what_was_there_before(tmp_path, monkeypatch):
    folder, report = small(tmp_path), tmp_path / "report"
    opened = module.journal.Journal

    def opened_and_edited(*args):
        (folder / "formulas.py").write_text(BAD)
        return opened(*args)

    notes = []
    with monkeypatch.context() as patch:
        patch.setattr(module.journal, "Journal", opened_and_edited)
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
                             start_new_session=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))   # which a shell's & ignores
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


