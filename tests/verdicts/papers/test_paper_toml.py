"""`paper.toml`: read where it stands, refused where it is wrong, and never part of what a verdict rests on."""

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts.papers import inputs
from fltheory.verdicts.papers import paper_toml as about

FULL = """
title = "On $x$"
authors = ["A", "B"]
year = 2020
[[sections]]
title = "4 Rates"
places = ["Sec 4", "Theorem 1"]
equations = [7, 12]
[[notation]]
symbol = "$\\\\eta$"
meaning = "client step"
[[assumptions]]
name = "A1"
says = "smooth"
[experiments]
regenerated = ["Figure 2"]
"""


def read(folder, text):
    (folder / about.FILE).write_text(text, encoding="utf-8")
    return about.read(folder)


def test_a_file_becomes_a_record_and_a_folder_without_one_says_nothing(tmp_path):
    assert about.read(tmp_path) is None and about.record(None, "own") == []
    (record,) = about.record(read(tmp_path, FULL), "own")
    assert (record["type"], record["paper"], record["title"], record["year"]) == ("paper", "own", "On $x$", 2020)
    assert record["sections"] == [{"title": "4 Rates", "places": ["Sec 4", "Theorem 1"], "equations": [7, 12]}]
    assert record["notation"] == [{"symbol": "$\\eta$", "meaning": "client step"}]
    assert read(tmp_path, "") == {}


@pytest.mark.parametrize("text", [
    'titel = "x"', "title = 3", 'authors = "A"', 'year = "2020"', "year = true", "title = ", "[[notation]]\nsymbol = 'x'",
    "[[notation]]\nsymbol = 'x'\nmeaning = 'y'\nmore = 'z'", "[[sections]]\ntitle = 'x'\nequations = [1]",
    "[[sections]]\ntitle = 'x'\nplaces = 'Sec 1'", "[experiments]\nregenerated = 'Figure 1'", "[experiments]\nother = []",
    "[notation]\nsymbol = 'x'", "assumptions = ['A1']",
])
def test_what_is_wrong_is_refused(tmp_path, text):
    with pytest.raises(BadInput):
        read(tmp_path, text)


def test_a_verdict_does_not_rest_on_it(tmp_path):
    folder = tmp_path / "papers" / "own"
    folder.mkdir(parents=True)
    (folder / "ledger.csv").write_text("id\n")
    before = inputs.Stamp(folder).digest
    read(folder, FULL)
    assert inputs.Stamp(folder).digest == before
