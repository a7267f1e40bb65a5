"""The committed gallery as a record of a report: read, damaged, and where there is none."""
import json
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts import gallery
from fltheory.verdicts.records import Gallery, read

PAPERS = Path(__file__).parents[2] / "verification"


def test_the_gallery_of_the_repository_is_read_with_its_listing():
    found = gallery.read(PAPERS)
    raw = json.loads((PAPERS / "frameworks" / "gallery.json").read_text())
    assert [r.algorithm for r in found.rows] == [r["algorithm"] for r in raw["rows"]]
    for row, kept in zip(found.rows, raw["rows"], strict=True):
        assert row.to_json().items() >= kept.items()  # nothing of a row is dropped
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


def test_rows_of_any_content_are_records():
    found = Gallery.of({"rows": [{"framework": 3, "by_hand": [], "reconstruction": 1, "calls": "many"}, 4, None]})
    assert [r.framework for r in found.rows] == ["3"] and found.rows[0].by_hand == {}
