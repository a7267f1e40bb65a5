"""fltheory new-paper and new-algorithm: files written, next commands printed, refusals with exit 2."""

import sys
from pathlib import Path

import pytest

from fltheory.cli import main


def test_new_paper_writes_a_folder_and_says_how_to_check_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-paper", "mine"]) == 0
    out = capsys.readouterr().out
    assert "wrote papers/mine/ledger.csv" in out
    assert "  fltheory verify papers/mine\n  pytest papers --claims\n" in out
    assert {p.name for p in Path("papers/mine").iterdir()} >= {"ledger.csv", "claims", "witnesses", "findings.py"}


def test_new_paper_elsewhere_is_checked_by_the_printed_command(tmp_path, monkeypatch, capsys):
    from fltheory.verdicts import folders
    from fltheory.verdicts.claims import claim

    monkeypatch.setattr(claim, "REGISTRY", [])
    monkeypatch.setattr(folders, "_ASIDE", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    assert main(["new-paper", "mine", "--into", str(tmp_path / "submissions")]) == 0
    verify = next(line for line in capsys.readouterr().out.splitlines() if "fltheory verify" in line)
    assert main([*verify.split()[1:], "--quick"]) == 0
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "submissions":
            del sys.modules[name]


def test_new_algorithm_writes_two_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-algorithm", "PlainSGD"]) == 0
    assert "  pytest algorithms/test_plainsgd.py\n" in capsys.readouterr().out
    assert sorted(p.name for p in Path("algorithms").iterdir()) == ["plainsgd.py", "test_plainsgd.py"]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["new-paper", "../mine"], "slug = '../mine': is no lower-case identifier"),
        (["new-paper", "mine", "--into", "json"], "has the name of the module 'json'"),
        (["new-algorithm", "FedAvg"], "FedAvg is taken by fltheory or by Python. Choose another"),
        (["new-algorithm", "numpy"], "belongs to the module 'numpy'"),
    ],
)
def test_refusals(tmp_path, monkeypatch, capsys, argv, says):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert says in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
