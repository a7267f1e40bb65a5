"""Without a path, papers are those of the folder `verification` here, else those that an installed package carries."""
import json
import sys
from pathlib import Path

import pytest

import fltheory as ft
from fltheory import doctor
from fltheory.cli import main
from fltheory.core.errors import BadInput
from fltheory.verdicts import folders
from fltheory.verdicts.claims import claim
from fltheory.verdicts.folders import carried, default_paths
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.verify import verify
from tests.verdicts.claims.folders import paper

FIGURES = """
from fltheory.verdicts.report.figures import Figure
from fltheory.pictures import canvas

FIGURES = {"line": Figure(lambda: [{"x": 1.0}, {"x": 2.0}], lambda rows: canvas(1)[0], "A line.")}
"""


def ours(name):
    return name.split(".")[0] in ("verification", "elsewhere")


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """The modules called verification are those of this test, and are gone after it."""
    monkeypatch.setattr(claim, "REGISTRY", [])
    monkeypatch.setattr(folders, "_ASIDE", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = {k: sys.modules.pop(k) for k in list(sys.modules) if ours(k)}
    yield
    for name in [k for k in sys.modules if ours(k)]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty current folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A paper inside an installed package, with one figure."""
    folder = paper(tmp_path / "site" / "fltheory" / "papers" / "verification")
    (folder / "figures.py").write_text(FIGURES)
    monkeypatch.setattr(folders, "CARRIED", folder.parent)
    return folder


def test_a_checkout_carries_no_papers_inside_the_package(empty):
    assert not folders.CARRIED.exists() and folders.CARRIED.parts[-3:] == ("fltheory", "papers", "verification")
    assert default_paths() == ["verification"]
    with pytest.raises(BadInput, match=r"'verification': does not exist.*Give PATH"):
        ft.assert_claim("half")


@pytest.mark.parametrize("command", [["list"], ["show", "half"], ["witness", "half"], ["figures"], ["reproduce"], ["verify"]])
def test_in_an_empty_folder_of_a_checkout_the_remedy_works(empty, tmp_path, command, monkeypatch, capsys):
    checkout = paper(tmp_path / "checkout" / "verification").parent
    monkeypatch.setattr(folders, "__file__", str(checkout.parent / "fltheory" / "verdicts" / "folders.py"))
    for _ in ("nothing", "a folder without papers"):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert said.endswith(f"lie in {checkout}: `fltheory list {checkout}`.\n")
        (empty / "verification").mkdir(exist_ok=True)
    assert main(["list", str(checkout)]) == 0 and "own/half" in capsys.readouterr().out
    assert main(["show", "half", str(checkout)]) == 0


def test_without_papers_anywhere_one_is_written(empty, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(folders, "__file__", str(tmp_path / "site" / "fltheory" / "verdicts" / "folders.py"))
    assert main(["list"]) == 2 and "`fltheory new-paper SLUG` writes one: `fltheory list papers`" in capsys.readouterr().err
    assert main(["new-paper", "mine"]) == 0 and main(["list", "papers"]) == 0 and "mine/" in capsys.readouterr().out


def test_the_folder_here_comes_first(empty, installed):
    assert default_paths() == [str(installed.parent)]
    paper(empty / "verification", total=2)
    assert default_paths() == ["verification"]
    assert ft.assert_claim("half", word="FALSE", quick=True)


def test_commands_say_that_they_read_the_installed_papers(empty, installed, capsys):
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert "own/half" in out
    assert err == f"fltheory: no folder verification here, so these are the papers of the installed package ({installed.parent})\n"
    assert main(["show", "half", "--json"]) == 0
    out, err = capsys.readouterr()
    assert all(json.loads(line)["paper"] == "own" for line in out.splitlines()) and err.count("\n") == 1
    assert main(["list", str(installed)]) == 0
    assert capsys.readouterr().err == ""


def test_verdicts_of_the_installed_papers(empty, installed, capsys):
    assert ft.assert_claim("half", quick=True).word == "CERTIFIED"
    assert main(["verify", "--quick", "--only", "half", "--report", "reports"]) == 0
    assert (empty / "reports" / "index.html").is_file()


def test_nothing_is_written_into_the_installed_package(empty, installed, capsys):
    before = {p for p in installed.rglob("*") if "__pycache__" not in p.parts}
    for _ in range(2):  # the second time the table of the first lies there
        assert main(["figures"]) == 0
    assert {p for p in installed.rglob("*") if "__pycache__" not in p.parts} == before
    assert {p.suffix for p in (empty / "reports" / "figures").glob("own-line.*")} >= {".csv", ".png"}
    assert carried(installed) and not carried(empty)


def test_figures_by_name_are_looked_for_in_every_paper(empty, capsys):
    first, _ = paper(empty / "elsewhere", slug="first"), paper(empty / "elsewhere", slug="second")
    (first / "figures.py").write_text(FIGURES)
    assert main(["figures", "elsewhere", "--only", "line"]) == 0
    assert "first-line.png" in capsys.readouterr().out
    assert main(["figures", "elsewhere", "--only", "line", "none"]) == 2
    assert "['none']: is none of ['first/line']" in capsys.readouterr().err


def test_installed_papers_and_a_readers_own_of_the_same_name(empty, installed):
    own = paper(empty / "verification", total=2)
    for folder, word in [(own, "FALSE"), (installed, "CERTIFIED")] * 2:
        found = load(folder).claims["half"]
        assert found.check().word == word and found.folder == folder.resolve()
    records, _ = verify([own, installed], only=["half"], jobs=2, on_record=lambda r: None)  # worker processes too
    assert sorted(r["word"] for r in records if r["type"] == "claim") == ["CERTIFIED", "FALSE"]


def test_a_module_in_the_way_of_the_installed_papers_is_named(empty, installed, monkeypatch):
    (empty / "verification.py").write_text("")
    monkeypatch.syspath_prepend(str(empty))
    with pytest.raises(BadInput, match=r"name of the module 'verification'.*no other module has that name"):
        ft.assert_claim("half")


def test_the_doctor_lists_the_installed_papers(empty, installed, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGE", installed.parents[2])
    assert doctor.papers_below(Path()) == ["own"]
    (empty / "verification").mkdir()
    assert doctor.papers_below(Path()) == []
