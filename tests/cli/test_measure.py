"""The commands that look at this machine."""

import json

import pytest

from fltheory import doctor
from fltheory.cli import main, measure

FOUND = {
    "fltheory": "0.1.0",
    "python": {"version": "3.11.7", "wanted": ">=3.11", "ok": True},
    "system": "Linux x86_64",
    "libraries": [],
    "constraints": {"found": False, "violated": []},
    "torch": {},
    "cores": 2,
    "threads": dict.fromkeys(doctor.THREADS),
    "papers": [],
    "skipped": [],
    "ok": True,
}


@pytest.mark.parametrize("ok", [True, False])
def test_doctor_exits_by_what_is_required(monkeypatch, capsys, ok):
    monkeypatch.setattr(doctor, "diagnose", lambda: {**FOUND, "ok": ok})
    assert main(["doctor"]) == (0 if ok else 1)
    assert "fltheory   0.1.0" in capsys.readouterr().out


def test_doctor_as_json(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "diagnose", lambda: FOUND)
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND


def test_bench_prints_its_table(monkeypatch, capsys):
    from verification.engine import bench

    monkeypatch.setattr(bench, "table", lambda repeats, sections: f"{repeats} repeats of {', '.join(sections)}")
    assert main(["bench", "--repeats", "3"]) == 0
    assert capsys.readouterr().out == f"3 repeats of {', '.join(measure.PARTS)}\n"
    assert main(["bench", "--only", "verify", "rounds"]) == 0
    assert capsys.readouterr().out == "20 repeats of rounds, verify\n"
    assert set(measure.PARTS) == {*bench.SECTIONS}


@pytest.mark.parametrize("options, words", [(["--json"], "--peers"), (["--peers", "--only", "rounds"], "parts of the table"),
                                            (["--only", "nothing"], "choose from")])
def test_bench_refuses_what_does_not_go_together(options, words, capsys):
    try:
        status = main(["bench", *options])
    except SystemExit as error:
        status = error.code
    assert status == 2 and words in capsys.readouterr().err


def test_bench_beside_frameworks(monkeypatch, capsys):
    from verification.engine.bench import peers

    monkeypatch.setattr(peers, "table", lambda repeats: f"{repeats} repeats beside others")
    assert main(["bench", "--peers", "--repeats", "2"]) == 0
    assert capsys.readouterr().out == "2 repeats beside others\n"
