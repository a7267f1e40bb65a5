"""The line under a verdict: why a claim is OPEN or ERROR, what is INCONCLUSIVE, why a finding was not confirmed."""

import pytest

from fltheory.verdicts.report.terminal import claim_line, entry, reason, summary
from tests.verdicts.lines import filled

CLAIM = filled({"type": "claim", "id": "c", "paper": "own", "word": "OPEN", "surprises": []})
FINDING = filled({"type": "finding", "id": "f", "paper": "own", "word": "NOT CONFIRMED", "surprises": []})


def instance(name, status, **more):
    return filled({"type": "instance", "claim": "c", "paper": "own", "instance": name, "status": status, **more})


HOLDS = instance("plain", "HOLDS")
STOPPED = instance("slow", "INCONCLUSIVE", reason="stopped after 5 s")
BROKEN = instance("broken", "ERROR", reason="ValueError: no (at body, line 3)")
UNDECIDED = instance("tight", "INCONCLUSIVE", comparisons=[
    {"status": "HOLDS", "lhs": "0", "relation": "equal", "rhs": "0"},
    {"status": "INCONCLUSIVE", "lhs": "1", "relation": "at most", "rhs": "[1 +/- 2e-9]"}])


@pytest.mark.parametrize(("records", "said"), [
    ([CLAIM, HOLDS, STOPPED], "slow: INCONCLUSIVE, stopped after 5 s"),
    ([CLAIM, STOPPED, STOPPED, STOPPED], "slow: INCONCLUSIVE, stopped after 5 s (and 2 more)"),
    ([CLAIM, UNDECIDED], "tight: INCONCLUSIVE, 1 at most [1 +/- 2e-9] is undecided"),
    ([CLAIM | {"word": "FALSE"}, STOPPED], "slow: INCONCLUSIVE, stopped after 5 s"),
    ([CLAIM | {"word": "ERROR"}, STOPPED, BROKEN],
     "broken: ERROR, ValueError: no (at body, line 3) (and 1 more)"),
    ([CLAIM | {"word": "ERROR", "surprises": ["RuntimeError: disk on fire"]}], "RuntimeError: disk on fire"),
    ([CLAIM, instance("x", "FALSIFIED", evidence="float")],
     "x: FALSIFIED by float numbers, which only raise a suspicion"),
    ([CLAIM], "it has no instance"),
    ([CLAIM, instance("x", "OUT_OF_SCOPE")], "no instance meets the hypotheses"),
    ([CLAIM, HOLDS], "it speaks of a whole class, and no search went beyond its instances"),
    ([CLAIM | {"search": {"tries": 3, "in_scope": 0}}, HOLDS], "no draw of the search met the hypotheses"),
    ([FINDING | {"procedure": [{"step": "a", "status": "ok", "detail": "x"},
                               {"step": "proof", "status": "failed", "detail": "ValueError: no"}]}],
     "proof: ValueError: no"),
    ([FINDING | {"procedure": [{"step": "procedure", "status": "inconclusive", "detail": "stopped after 1 s"}]}],
     "procedure: stopped after 1 s"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_the_reason_is_one_indented_line(records, said):
    assert reason(list(map(filled, records))) == f"    {said}"


@pytest.mark.parametrize("records", [
    [CLAIM | {"word": "PROVED"}, HOLDS], [CLAIM | {"word": "SKIPPED"}, instance("x", "SKIPPED", reason="no torch")],
    [CLAIM | {"search": {"tries": 3, "in_scope": 3}}, HOLDS],
    [FINDING | {"word": "CONFIRMED"}], [FINDING], [CLAIM | {"word": ""}],
], ids=str)
def test_what_needs_no_reason_has_none(records):
    assert reason(list(map(filled, records))) == ""


def test_a_long_or_hostile_reason_stays_one_short_plain_line():
    hostile = instance("x", "INCONCLUSIVE", reason="\x1b]0;owned\x07\nsecond " + "9" * 5000)
    said = reason([CLAIM, hostile])
    assert len(said) < 130 and "\n" not in said and "\x1b" not in said
    assert said.startswith("    x: INCONCLUSIVE, ") and "owned" in said


SURPRISED = CLAIM | {"word": "SUPPORTED", "expected": "SUPPORTED", "as_expected": False, "kind": "identity",
                     "surprises": ["mutant halved survived", "instance x: ERROR no"]}


def test_a_surprise_stands_under_the_line_and_in_the_summary():
    assert reason([SURPRISED, HOLDS]) == "    mutant halved survived (and 1 more)"
    assert reason([SURPRISED | {"as_expected": True}, HOLDS]) == ""
    lines = summary([SURPRISED, HOLDS]).splitlines()
    at = lines.index("  claim own/c: SUPPORTED != expected SUPPORTED")
    assert lines[at + 1:at + 3] == ["    mutant halved survived", "    instance x: ERROR no"]
    missing = CLAIM | {"word": "FALSE", "expected": "FALSE", "as_expected": False, "surprises": ["FALSE, and no finding says why"]}
    assert reason([missing]) == "    FALSE, and no finding says why"


def test_the_line_says_that_units_were_not_tried():
    untried = CLAIM | {"dimensional": {"status": "not applicable", "detail": "no comparison has ft.Terms"}}
    assert claim_line(untried).endswith("units not tried: no comparison has ft.Terms")
    assert "units" not in claim_line(CLAIM | {"dimensional": {"status": "passed", "detail": "x"}})


def test_the_line_tells_what_the_claim_argues():
    argued = CLAIM | {"word": "PROVED", "covers": {"n": "2", "tau": "all"}, "argued": ["tau"],
                      "label": "PROVED for n = 2 and, as the claim argues, all tau"}
    assert claim_line(argued).endswith("as the claim argues: tau = all")
    assert "covers: PROVED for n = 2 and, as the claim argues, all tau" in entry([argued])
    assert "argues" not in claim_line(CLAIM | {"word": "PROVED", "covers": {"tau": "all"}})


def test_the_list_of_mutants_says_why_one_is_not_counted():
    listed = CLAIM | {"mutants": [{"name": "halved", "status": "inapplicable",
                                   "detail": "Half the step. Inapplicable: changes nothing (on two)."}]}
    assert "    halved, not counted: changes nothing (on two)." in summary([filled(listed)]).splitlines()
