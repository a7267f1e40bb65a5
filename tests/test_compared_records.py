"""The comparison of two runs' records: times do not count, everything else does, floats to their last digits."""
import json

import pytest

from tests.compared_records import compared, main

ROW = {"type": "instance", "paper": "p", "claim": "c", "instance": "i", "seconds": 1.0,
       "comparisons": [{"lhs": "1/3", "margin": 0.1, "terms": {"noise": 2.0}}]}
RUN = {"type": "run", "date": "2026-01-01", "seconds": 3.0, "quick": False}


def written(path, *given):
    path.write_text("".join(json.dumps(row) + "\n" for row in given))
    return path


@pytest.fixture
def before(tmp_path):
    return written(tmp_path / "before.jsonl", RUN, ROW)


def test_times_do_not_count(before, tmp_path):
    after = written(tmp_path / "after.jsonl", RUN | {"date": "2026-01-02", "seconds": 9.0}, ROW | {"seconds": 2.0})
    assert compared(before, after) == ([], [], 2) and main(before, after) == 0


def test_last_digits_are_listed_and_further_ones_differ(before, tmp_path):
    near = ROW | {"comparisons": [{"lhs": "1/3", "margin": 0.1 + 1e-16, "terms": {"noise": 2.0}}]}
    far = ROW | {"comparisons": [{"lhs": "1/3", "margin": 0.1 + 1e-9, "terms": {"noise": 2.0}}]}
    wrong, digits, _ = compared(before, written(tmp_path / "near.jsonl", RUN, near))
    assert not wrong and [d[0] for d in digits] == ["instance p c i.comparisons[0].margin"]
    assert main(before, written(tmp_path / "far.jsonl", RUN, far)) == 1


@pytest.mark.parametrize("change", [{"comparisons": []}, {"word": "TRUE"},
                                    {"comparisons": [ROW["comparisons"][0] | {"lhs": "1/2"}]},
                                    {"comparisons": [ROW["comparisons"][0] | {"terms": {"noise": None}}]}])
def test_any_other_field_counts(before, tmp_path, change):
    assert main(before, written(tmp_path / "after.jsonl", RUN, ROW | change)) == 1


def test_a_row_that_is_missing_or_new_counts(before, tmp_path):
    assert main(before, written(tmp_path / "less.jsonl", RUN)) == 1
    assert main(written(tmp_path / "less.jsonl", RUN), before) == 1
    with pytest.raises(SystemExit, match="two rows"):
        compared(written(tmp_path / "twice.jsonl", ROW, ROW), before)
