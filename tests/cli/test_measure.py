"""The commands that look at this machine."""

import json

import pytest

from fltheory import doctor
from fltheory.cli import main

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
    from fltheory.workbench import bench

    monkeypatch.setattr(bench, "table", lambda repeats: f"{repeats} repeats")
    assert main(["bench", "--repeats", "3"]) == 0
    assert capsys.readouterr().out == "3 repeats\n"


def test_bench_beside_frameworks(monkeypatch, capsys):
    from fltheory.cli import peers

    monkeypatch.setattr(peers, "table", lambda repeats: f"{repeats} repeats beside others")
    assert main(["bench", "--peers", "--repeats", "2"]) == 0
    assert capsys.readouterr().out == "2 repeats beside others\n"
