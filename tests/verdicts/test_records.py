"""Typed records: what is written is read back, and whatever became of a line, its fields are of their kinds."""

import json
from dataclasses import fields

import pytest

from fltheory.core.relations import equal
from fltheory.verdicts import records
from fltheory.verdicts.records import Claim, Finding, read
from tests.verdicts.claims.examples import always, averaging, contraction, made
from tests.verdicts.report.test_hostile import ANSWER, CALIBRATION, PAPER
from tests.verdicts.report.test_report import ALL

ODD = (None, True, 7, -1.5, float("nan"), "text", "", [], [None, 3, {}], {}, {"a": [1]}, {"type": 3})


def of_a_verdict():
    """Lines of claims that hold and fail, as a journal holds them."""
    held = made(contraction, on=[averaging()], rejects=(lambda a: a,), domain="here").check()
    failed = always(equal(1, 2), expect="FALSE", instead="other").check()
    return json.loads(json.dumps([*held.records(), *failed.records()]))


def test_what_is_written_is_read_back():
    for line in of_a_verdict():
        assert read(line).to_json() == line
        assert read(read(line)) == read(line)


def test_what_says_nothing_is_null_or_left_out():
    claim = Claim(id="c").to_json()
    assert (claim["instead"], claim["looseness"], claim["search"]) == (None, None, None)
    assert "script" not in claim and "surprises" in claim
    finding = Finding(id="f").to_json()
    assert finding["breaks"] is None and "surprises" not in finding
    assert "skipped_features" not in records.Run().to_json()


@pytest.mark.parametrize("line", [*ALL, ANSWER, CALIBRATION, PAPER],
                         ids=lambda r: str(r.get("id") or r.get("instance") or r["type"]))
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_field_of_another_kind_is_empty(line, odd):
    damaged = read({**dict.fromkeys(line, odd), "type": line["type"]})
    empty = type(damaged)()
    for f in fields(damaged):
        value, kind = getattr(damaged, f.name), type(getattr(empty, f.name))
        assert value is None or isinstance(value, kind) or getattr(empty, f.name) is None, f.name
    again = json.dumps(damaged.to_json())
    assert json.dumps(read(json.loads(again)).to_json()) == again


def test_a_line_of_no_known_type_is_no_record():
    assert [read(raw) for raw in (*ODD, {"type": "new"})] == [None] * (len(ODD) + 1)


def test_an_expectation_that_is_not_met_is_seen_with_and_without_a_judgement():
    assert not Claim(word="FALSE").unexpected and Claim(word="FALSE", expected="OPEN").unexpected
    assert not Claim(word="FALSE", expected="OPEN", as_expected=True).unexpected
    assert Claim(word="FALSE", expected="FALSE", as_expected=False).unexpected
