"""A time limit per claim and finding: what takes longer is INCONCLUSIVE, everything else goes on; progress says what is done."""

import subprocess

import pytest

import fltheory as ft
from fltheory.cli import main
from fltheory.verdicts import verify as module
from fltheory.verdicts.papers import inputs, journal
from fltheory.verdicts.papers.discover import COLUMNS
from fltheory.verdicts.verify import exit_code, verify
from tests.verifying import ALL, PYTHON, ROOT, command_line, environment, quiet, read, small, words

SLEEP = "import time; time.sleep(60)"
HANG = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\n    while True:\n        pass"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("body", [SLEEP, HANG], ids=["sleeps", "hangs with every signal blocked"])
def test_a_claim_that_takes_longer_is_inconclusive_and_the_others_go_on(tmp_path, jobs, body):
    slug = f"late{jobs}{len(body)}"
    folder, report, notes = small(tmp_path, two=body, slug=slug), tmp_path / "report", []
    records, code = verify([folder], report=report, jobs=jobs, timeout=0.5, on_record=quiet, on_note=notes.append)
    assert words(records) == ALL | {"two": "OPEN"}
    (two,) = [r for r in records if r["type"] == "claim" and r["id"] == "two"]
    assert (two["evidence"], two["as_expected"], two["counts"]) == ("none", False, {"INCONCLUSIVE": 1})
    (only,) = [r for r in records if r["type"] == "instance" and r["claim"] == "two"]
    assert (only["instance"], only["status"], only["evidence"]) == ("only", "INCONCLUSIVE", "none")
    assert only["reason"] == "stopped after 0.5 s"
    assert records[0]["timeout"] == 0.5
    assert code == 1 and exit_code([r for r in records if r.get("id") != "two"], strict=True) == 3
    assert len(notes) == 1 and "1 stopped after 0.5 s (two)" in notes[0] and "--resume" in notes[0]
    assert {r["key"][-1] for r in read(report / "verdicts.partial.jsonl")} == {"one", "three"}
    assert "stopped after 0.5 s" in (report / "verdicts.md").read_text()


def test_what_was_stopped_is_decided_again_under_a_longer_limit(tmp_path):
    folder, report = small(tmp_path, two="import time; time.sleep(1.5)"), tmp_path / "report"
    stopped = command_line(folder, "--report", str(report), "--timeout", "0.5", "--jobs", "2")
    assert stopped.returncode == 1
    assert "\n    only: INCONCLUSIVE, stopped after 0.5 s\n" in stopped.stdout
    assert stopped.stderr.startswith("fltheory: note: 1 stopped after 0.5 s (two)") and stopped.stderr.count("\n") == 1
    again = command_line(folder, "--report", str(report), "--resume", "--timeout", "60")
    assert (again.returncode, again.stderr) == (0, ""), again.stdout + again.stderr
    assert words(read(report / "verdicts.jsonl")) == ALL
    assert len(read(report / "verdicts.partial.jsonl")) == 3  # the others were not decided again


MANY = """
import os
import time
from fractions import Fraction

from fltheory.verdicts.claims.claim import Instance, claim, finding
from fltheory.core.relations import equal
from fltheory.verdicts.search.search import Family, Search


def wait(draw):
    time.sleep(60)


@claim("some", on=[Instance("quick", k=1), Instance("wrong", k=2), Instance("slow", k=3), Instance("never", k=4)],
       domain="numbers", powerless="an example")
def some(i):
    \"\"\"A number is one.\"\"\"
    time.sleep(60 if i.k == 3 else 0)
    return equal(i.k, 1)


@claim("searched", on=[Instance("one", k=1)], search=Search((Family("slow", wait),), tries=5), powerless="an example")
def searched(i):
    \"\"\"A number is at most itself.\"\"\"
    return equal(i.k, 1)


finding("f1", kind="gap", says="A gap.", check=lambda: time.sleep(60))
"""


def test_finished_instances_stand_and_findings_are_not_confirmed(tmp_path):
    pytest.importorskip("hypothesis")
    folder = tmp_path / "papers" / "many"
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "all.py").write_text(MANY)
    rows = ["some,Sec 1,claim,identity,CERTIFIED,exact,,One.", "searched,Sec 1,claim,bound,SUPPORTED,exact,,Two.",
            "f1,Sec 1,finding,gap,CONFIRMED,exact,,A gap."]
    (folder / "ledger.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    records, code = verify([folder], report=tmp_path / "report", timeout=1, jobs=2, on_record=quiet, on_note=quiet)
    assert code == 1
    assert (tmp_path / "report" / "many.html").read_text().count("stopped after 1 s") >= 4
    assert words(records) == {"some": "FALSE", "searched": "OPEN"}  # what refutes exactly stands, whatever is left
    found = {(r["claim"], r["instance"]): r for r in records if r["type"] == "instance"}
    assert {name: r["status"] for name, r in found.items()} == {
        ("some", "quick"): "HOLDS", ("some", "wrong"): "FALSIFIED", ("some", "slow"): "INCONCLUSIVE",
        ("some", "never"): "INCONCLUSIVE", ("searched", "one"): "HOLDS", ("searched", "search and mutants"): "INCONCLUSIVE"}
    assert found["some", "wrong"]["comparisons"][0]["lhs"] == "2"
    (finding,) = [r for r in records if r["type"] == "finding"]
    assert (finding["word"], finding["as_expected"]) == ("NOT CONFIRMED", False)
    assert finding["procedure"] == [{"step": "procedure", "status": "inconclusive", "detail": "stopped after 1 s"}]


def test_a_limit_that_nothing_reaches_changes_no_record(tmp_path):
    folder = small(tmp_path, slug="inside")
    one, _ = verify([folder], on_record=quiet)
    two, _ = verify([folder], on_record=quiet, timeout=100)
    strip = [{k: v for k, v in r.items() if k not in ("seconds", "timeout")} for r in one]
    assert strip == [{k: v for k, v in r.items() if k not in ("seconds", "timeout")} for r in two]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "60"])
def test_a_limit_that_is_none_is_refused(tmp_path, timeout):
    with pytest.raises(ft.BadInput, match="seconds > 0"):
        verify([tmp_path], timeout=timeout)


# ---- progress ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_counts_and_names_what_is_being_decided(tmp_path, jobs):
    slug, seen = f"counted{jobs}", []
    folder = small(tmp_path, slug=slug)
    verify([folder], jobs=jobs, on_record=quiet, on_progress=lambda *now: seen.append(now))
    assert [total for _, total, _ in seen] == [3] * 6
    assert seen[-1] == (3, 3, [])
    begun = [name for k, (_, _, now) in enumerate(seen) for name in now if k == 0 or name not in seen[k - 1][2]]
    assert sorted(begun) == sorted(f"{slug}/{name}" for name in ALL)
    assert max(len(now) for _, _, now in seen) <= jobs


def test_nothing_but_verdicts_is_printed_into_a_pipe_unless_asked(tmp_path):
    folder = small(tmp_path, slug="piped")
    plain, asked = command_line(folder), command_line(folder, "--progress")
    assert plain.stderr == "" and asked.stdout == plain.stdout
    assert asked.stderr.splitlines() == [f"fltheory: [{k}/3] deciding piped/{name}" for k, name in enumerate(ALL)]


def test_the_log_of_workers_is_printed_by_the_command_line(tmp_path):
    folder = small(tmp_path, slug="told")
    done = subprocess.run([*PYTHON, "-vv", "verify", str(folder), "--jobs", "2"], cwd=ROOT, env=environment(),
                          capture_output=True, text=True)
    assert done.returncode == 0
    assert all(f"deciding told/{name}" in done.stderr for name in ALL)
    assert "told/two on only: HOLDS" in done.stderr


# ---- what a report folder keeps -----------------------------------------------------------------------------
def test_show_takes_a_kept_verdict_while_no_input_has_changed(tmp_path, monkeypatch, capsys):
    folder, report = small(tmp_path, slug="keeps"), tmp_path / "report"
    verify([folder], report=report, only=["one"], on_record=quiet)
    (entry,) = read(report / journal.FILE)
    entry["records"][0]["reading"] = "this one was kept"
    (report / journal.FILE).write_text(journal.line(entry["key"], entry["records"]))
    show = ["show", "one", str(folder), "--report", str(report)]
    assert main(show) == 0
    assert "this one was kept" in capsys.readouterr().out
    assert main([*show[:-1], str(tmp_path / "elsewhere")]) == 0
    assert "this one was kept" not in capsys.readouterr().out and not (tmp_path / "elsewhere").exists()
    (folder / "formulas.py").write_text((folder / "formulas.py").read_text() + "\n# changed\n")
    monkeypatch.setattr(inputs, "_STAMPS", {})
    assert main(show) == 0
    assert "this one was kept" not in capsys.readouterr().out


def test_a_quick_verdict_is_not_taken_for_a_full_one(tmp_path):
    folder, report = small(tmp_path, slug="quickly"), tmp_path / "report"
    verify([folder], report=report, only=["one"], quick=True, on_record=quiet)
    (paper,) = module.papers([folder])
    assert module.kept(paper, "claim", "one", report) is None
    verify([folder], report=report, only=["one"], on_record=quiet)
    assert [r["type"] for r in module.kept(paper, "claim", "one", report)] == ["claim", "instance"]
