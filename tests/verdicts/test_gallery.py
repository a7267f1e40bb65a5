"""The committed gallery as a record of a report: read, damaged, and where there is none."""
import json
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts import gallery
from fltheory.verdicts.records import read

PAPERS = Path(__file__).parents[2] / "verification"
RAW = json.loads((PAPERS / "frameworks" / "gallery.json").read_text())
FIRST = RAW["rows"][0]


def test_the_gallery_of_the_repository_is_read_with_its_listing():
    found = gallery.read(PAPERS)
    assert [r.algorithm for r in found.rows] == [r["algorithm"] for r in RAW["rows"]]
    for row, written in zip(found.rows, RAW["rows"], strict=True):
        assert row.to_json().items() >= written.items()  # nothing of a row is dropped
    assert found.listing == (PAPERS / "frameworks" / "hand.py").read_text()


def test_one_record_per_root():
    found = gallery.record([PAPERS, PAPERS / ".." / "verification", PAPERS / "fednova"])
    assert [r["type"] for r in found] == ["gallery"]
    assert read(json.loads(json.dumps(found[0]))) == gallery.read(PAPERS)


def test_a_folder_without_one_has_none(tmp_path):
    assert gallery.read(tmp_path) is None and gallery.record([tmp_path]) == []


@pytest.mark.parametrize("text", ["", "[]", '{"rows": 3}', "{", "[" * 100_000], ids=["empty", "list", "no rows", "cut", "deep"])
def test_a_damaged_one_is_refused_with_the_remedy(tmp_path, text):
    (tmp_path / "frameworks").mkdir()
    (tmp_path / "frameworks" / "gallery.json").write_text(text)
    with pytest.raises(BadInput, match="fltheory reproduce gallery"):
        gallery.read(tmp_path)


@pytest.mark.parametrize(("row", "field"), [
    (4, r"which is no list\[Framework\]"), (None, r"which is no list\[Framework\]"), ({"framework": 3}, "'version'"),
    (FIRST | {"framework": 3}, "'framework'"), (FIRST | {"by_hand": []}, "'by_hand'"),
    (FIRST | {"reconstruction": 1}, "'reconstruction'"),
    (FIRST | {"calls": "many"}, "'calls'"), (FIRST | {"new": ""}, "'new' of a Framework is unknown")], ids=str)
def test_a_row_of_another_form_is_refused_by_its_field(tmp_path, row, field):
    (tmp_path / "frameworks").mkdir()
    (tmp_path / "frameworks" / "gallery.json").write_text(json.dumps(RAW | {"rows": row and [row]}))
    with pytest.raises(BadInput, match=field):
        gallery.read(tmp_path)
