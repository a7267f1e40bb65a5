"""Certificates made anew: which claims, where they are written, and what is refused before the work."""
from pathlib import Path
from types import SimpleNamespace

import pytest

from fltheory.cli import certify, main
from fltheory.verdicts.deciding import certified

ROOT = Path(__file__).parents[2]
FOCUS = str(ROOT / "verification" / "focus")


@pytest.fixture
def made(monkeypatch):
    """What would be certified: [(slug, ids)]; nothing is solved or written."""
    calls = []

    def make(paper, ids, said):
        calls.append((paper.slug, list(ids)))
        return paper.folder / certified.FILE

    monkeypatch.setattr(certified, "make", make)
    return calls


@pytest.mark.parametrize("name", ["eq96", "focus/eq96"])
def test_a_claim_is_named_alone_or_with_its_paper(made, capsys, name):
    assert main(["certify", FOCUS, "--only", name]) == 0
    assert made == [("focus", ["eq96"])]
    assert capsys.readouterr().out.endswith("certificates.json\n")


def test_all_claims_of_a_paper_are_certified_if_none_is_named(made):
    assert main(["certify", FOCUS]) == 0
    assert len(made) == 1 and {"eq94", "eq95", "eq96", "lem1"} <= set(made[0][1])


def test_a_paper_without_such_claims_says_so(made, capsys):
    assert main(["certify", str(ROOT / "verification" / "engine")]) == 0
    assert made == [] and "no claim of engine is certified over function classes" in capsys.readouterr().out


def test_what_cannot_be_written_is_refused_before_the_work(made, monkeypatch, capsys, tmp_path):
    claim = SimpleNamespace(over=[1])
    paper = SimpleNamespace(slug="own", folder=tmp_path / "missing", claims={"half": claim})
    monkeypatch.setattr(certify, "papers_of", lambda args: [paper])
    assert main(["certify"]) == 2 and "cannot be written" in capsys.readouterr().err
    monkeypatch.setattr("fltheory.verdicts.folders.CARRIED", tmp_path)
    assert main(["certify"]) == 2 and "belongs to the installed package" in capsys.readouterr().err
    assert made == []
