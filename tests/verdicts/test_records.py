"""Records: what is written is read back, and a line of another form is refused by its field."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest

from fltheory.core.errors import BadInput
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


LINES = pytest.mark.parametrize("line", [*ALL, ANSWER, CALIBRATION, PAPER],
                                ids=lambda r: str(r.get("id") or r.get("instance") or r["type"]))


@LINES
def test_a_field_more_or_less_is_refused_by_its_name(line):
    kind = records.TYPES[line["type"]]
    with pytest.raises(BadInput, match=f"field 'new' of a {kind.__name__} is unknown"):
        read(line | {"new": 1})
    for name in {f.name for f in fields(kind)} - {*kind.rare, *kind.may_lack}:
        with pytest.raises(BadInput, match=f"field '{name}' of a {kind.__name__} is missing"):
            read({k: v for k, v in line.items() if k != name})


@LINES
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_field_of_another_kind_is_refused_or_read_back(line, odd):
    """What is read is read again from what is written."""
    for name in line:
        try:
            record = read(line | {name: odd})
        except BadInput as error:
            assert "field " in str(error) or "is no " in str(error) or "is a record of none" in str(error)
        else:
            again = json.dumps(record.to_json())
            assert json.dumps(read(json.loads(again)).to_json()) == again


def test_what_does_not_fit_is_refused_where_a_record_is_made():
    for wrong in ({"word": 3}, {"as_expected": "yes"}, {"seconds": float("nan")}, {"mutants": [{}]}, {"search": 3}, {"proof": None},
                  {"surprises": [3]}, {"looseness": ["a"]}, {"powerless": 1}, {"seconds": 10**400}):
        with pytest.raises(BadInput, match=f"field '{next(iter(wrong))}' of a Claim holds"):
            Claim(id="c", **wrong)
    with pytest.raises(FrozenInstanceError):
        Claim().word = "PROVED"


def test_a_line_of_no_known_type_is_refused():
    for raw in (*ODD, {"type": "new"}):
        with pytest.raises(BadInput, match="is a record of none of the types run, claim, "):
            read(raw)


@pytest.mark.parametrize(("text", "says"), [
    (lambda run, claim: f"{run}{claim}", None),
    (lambda run, claim: f"{run}{claim}{claim[:40]}", "verdicts.jsonl, line 3: Expecting"),
    (lambda run, claim: f"{run}not JSON", "verdicts.jsonl, line 2: Expecting value"),
    (lambda run, claim: run + "[" * 100_000, "verdicts.jsonl, line 2: "),
    (lambda run, claim: run + claim.replace('"scope"', '"range"'),
     "verdicts.jsonl, line 2: field 'range' of a Claim is unknown. fltheory '0.0.9' wrote it, this is "),
    (lambda run, claim: run + claim.replace('"claim"', '"theorem"', 1), "line 2: .*of none of the types.*'0.0.9' wrote it"),
    (lambda run, claim: claim + "3", "verdicts.jsonl, line 2: 3 is a record of none of the types"),
], ids=["whole", "cut", "no JSON", "deep", "renamed field", "new type", "no header"])
def test_a_file_is_read_whole_or_refused_with_line_field_and_the_version_that_wrote_it(tmp_path, text, says):
    path = tmp_path / "verdicts.jsonl"
    path.write_text(text(*(json.dumps(r.to_json()) + "\n" for r in (records.Run(version="0.0.9"), Claim(id="c")))))
    if says is None:
        assert records.of_file(path) == [records.Run(version="0.0.9"), Claim(id="c")]
        return
    with pytest.raises(BadInput, match=says) as refused:
        records.of_file(path)
    assert str(refused.value).endswith("Run `fltheory verify` again.")


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    for name, says in (("absent", "No such file"), ("noise", "codec can't decode")):
        with pytest.raises(BadInput, match=f"{name}, line 1: .*{says}"):
            records.of_file(tmp_path / name)


def test_an_expectation_that_is_not_met_is_seen_with_and_without_a_judgement():
    assert not Claim(word="FALSE").unexpected and Claim(word="FALSE", expected="OPEN").unexpected
    assert not Claim(word="FALSE", expected="OPEN", as_expected=True).unexpected
    assert Claim(word="FALSE", expected="FALSE", as_expected=False).unexpected
