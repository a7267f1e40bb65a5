"""The records of what was stopped: an exact refutation and an error stand, everything else is open."""

import json

import pytest

import fltheory as ft
from fltheory.verdicts.deciding import stopped
from fltheory.verdicts.deciding.check import check_instance, instance_record

PAIRS = {"holds": (1, 1), "fails": (1, 2), "doubtful": (1.0, 2.0), "raises": None}


def body(i):
    """One is one."""
    if PAIRS[i.name] is None:
        raise ValueError("no")
    return ft.equal(*PAIRS[i.name])


@pytest.fixture
def made():
    return ft.claim("some", on=[ft.Instance(name) for name in (*PAIRS, "never")], domain="here", expect="CERTIFIED")(body)


def told(claim, *names):
    return [instance_record(claim, check_instance(claim, i)) for i in claim.on if i.name in names]


@pytest.mark.parametrize(("names", "word", "evidence"), [
    ((), "OPEN", "none"), (("holds",), "OPEN", "none"), (("holds", "fails"), "FALSE", "exact"),
    (("holds", "fails", "doubtful"), "FALSE", "exact"), (tuple(PAIRS), "ERROR", "none")])
def test_the_word_is_that_of_the_finished_instances_or_open(made, names, word, evidence):
    head, *rows = stopped.records(made, told(made, *names), 5)
    assert (head["word"], head["evidence"], head["as_expected"], head["seconds"]) == (word, evidence, False, 5)
    assert [r["instance"] for r in rows] == [*PAIRS, "never"]
    assert untimed(rows[:len(names)]) == untimed(told(made, *names))
    assert {(r["status"], r["evidence"], r["reason"]) for r in rows[len(names):]} == {
        ("INCONCLUSIVE", "none", "stopped after 5 s")}
    assert json.loads(json.dumps([head, *rows])) == [head, *rows]
    assert not head["powerless"] and head["mutants"] == []


def untimed(records):
    return [{k: v for k, v in r.items() if k != "seconds"} for r in records]


def test_floats_alone_raise_a_suspicion():
    claim = ft.claim("floats", on=[ft.Instance("doubtful"), ft.Instance("holds")])(body)
    assert stopped.records(claim, told(claim, "doubtful"), 1)[0]["word"] == "OPEN"


def test_what_was_left_after_the_instances_is_named():
    claim = ft.claim("done", on=[ft.Instance("holds")])(body)
    _, one, rest = stopped.records(claim, told(claim, "holds"), 0.25)
    assert one["status"] == "HOLDS"
    assert (rest["instance"], rest["status"], rest["reason"]) == ("search and mutants", "INCONCLUSIVE", "stopped after 0.25 s")


def test_a_finding_is_not_confirmed():
    (record,) = stopped.records(ft.finding("f", kind="gap", check=lambda: None), [], 3)
    assert (record["word"], record["as_expected"], record["procedure"][0]["detail"]) == (
        "NOT CONFIRMED", False, "stopped after 3 s")
