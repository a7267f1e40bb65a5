"""`fltheory reproduce gallery`: where it runs, what it says, and what it refuses."""
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fltheory.cli import main
from verification.frameworks import regenerating as gallery

ROOT = Path(__file__).parents[2]


@pytest.fixture
def called(monkeypatch):
    """The commands that would run; each ends with the next status."""
    made = SimpleNamespace(commands=[], status=0)

    def run(command, **named):
        made.commands.append((command, named["cwd"]))
        return SimpleNamespace(returncode=made.status)
    monkeypatch.setattr(gallery.subprocess, "run", run)
    return made


@pytest.mark.parametrize("status", [0, 1])
def test_without_the_frameworks_the_second_environment_is_used(called, monkeypatch, capsys, status):
    called.status = status
    monkeypatch.setattr(gallery, "_installed", lambda package: package == "flwr")
    assert main(["reproduce", "gallery"]) == status
    assert called.commands == [([str(ROOT / ".ci/frameworks"), "--gallery"], ROOT)]
    assert "pfl, fedlab, nvflare not installed here" in capsys.readouterr().err


def test_with_all_frameworks_it_runs_here(called, monkeypatch):
    monkeypatch.setattr(gallery, "_installed", lambda package: True)
    assert main(["reproduce", "gallery"]) == 0
    (command, where), = called.commands
    assert command[0] == sys.executable and command[-1] == gallery.MODULE and where == ROOT


@pytest.mark.parametrize("here", [True, False])
def test_rows_by_name_are_decided_alone(called, monkeypatch, capsys, here):
    monkeypatch.setattr(gallery, "_installed", lambda package: here)
    assert main(["reproduce", "gallery", "--only", "pfl/FedProx", "fedlab"]) == 0
    (command, _), = called.commands
    rows = command[command.index("--only") + 1:]
    assert rows[0] == "pfl/FedProx" and len(rows) == 7 and all(r.startswith("fedlab/") for r in rows[1:])
    assert "nothing is written" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "message"), [
    (["--only", "flower"], "'flwr'"), (["--only", "flwr", "--drawn-only"], "Leave one"), (["--jobs", "2"], "one process"),
    (["--out", "elsewhere"], "beside its cases"), (["verification"], "beside its cases")])
def test_what_the_gallery_does_not_know_is_refused(called, capsys, options, message):
    assert main(["reproduce", "gallery", *options]) == 2 and not called.commands
    assert message in capsys.readouterr().err


def test_some_rows_again_leave_the_gallery_as_it_is(monkeypatch, capsys):
    from verification.frameworks import gallery as made
    before = (made.HERE / "gallery.json").read_bytes()
    named = made.key("PFLlib at d832e76", "SCAFFOLD")   # a reconstruction: it runs without the package
    assert made.main(only=[named]) == 0
    out = capsys.readouterr().out
    assert out.startswith("PFLlib at d832e76 | SCAFFOLD | matches") and "nothing is written" in out and out.count("\n") == 2
    assert (made.HERE / "gallery.json").read_bytes() == before


def test_it_is_said_where_it_is_written(called, monkeypatch, capsys):
    monkeypatch.setattr(gallery, "_installed", lambda package: True)
    assert main(["reproduce", "gallery"]) == 0
    assert str(ROOT / "verification/frameworks/gallery.json") in capsys.readouterr().err


def test_what_breaks_off_is_refused_in_words(called, capsys):
    called.status = 137
    assert main(["reproduce", "gallery"]) == 2
    assert "ended with status 137" in capsys.readouterr().err


def test_an_installed_package_says_where_it_is_made(called, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gallery, "__file__", str(tmp_path / "fltheory" / "cli" / "gallery.py"))
    assert main(["reproduce", "gallery"]) == 2 and not called.commands
    assert "is no checkout" in capsys.readouterr().err


def test_the_page_is_drawn_from_the_committed_numbers(tmp_path, monkeypatch):
    for name in ("verification/frameworks", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    page = tmp_path / "verification/frameworks/gallery.md"
    page.write_text("old")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "gallery", "--drawn-only"]) == 0
    assert page.read_text() == (ROOT / "verification/frameworks/gallery.md").read_text()
