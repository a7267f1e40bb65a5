"""Answers in plain language: every sentence names its evidence, and a changed verdict takes the sentence with it."""

import json
import re
import sys
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts import records
from fltheory.verdicts.papers import answers
from fltheory.verdicts.papers.discover import papers
from fltheory.verdicts.verify import exit_code, verify
from tests.verdicts.claims.folders import paper
from tests.verdicts.lines import filled

VERIFICATION = Path(__file__).parents[3] / "verification"
PAPERS = {p.slug: p for p in papers([VERIFICATION])}
LEDGER = {
    "half": {"type": "claim", "expected": "CERTIFIED"},
    "third": {"type": "claim", "expected": "FALSE"},
    "f1": {"type": "finding", "expected": "CONFIRMED"},
    "fig1": {"type": "figure", "expected": "-"},
}


def with_power(folder):
    """The folder, its claim `half` with a wrong implementation to reject: the check of the original is powerless."""
    (file,) = (folder / "claims").glob("*.py")
    text = f"from {folder.parent.name} import bugs\n{file.read_text()}"
    file.write_text(text.replace('powerless="an example"', "rejects=[bugs.one_third]"))
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A paper with two claims and a finding, forgotten afterwards."""
    from fltheory.verdicts import folders
    from fltheory.verdicts.claims import claim

    monkeypatch.setattr(claim, "REGISTRY", [])
    monkeypatch.setattr(folders, "_ASIDE", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield with_power(paper(tmp_path / "mine"))
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("mine", "yours"):
            del sys.modules[name]


def read(tmp_path, text):
    (tmp_path / "answer.md").write_text(text, encoding="utf-8")
    return answers.read(tmp_path, LEDGER)


def answer(text, relies):
    """One sentence that rests on the claim `half`."""
    return records.Answer("", "T", [records.Sentence(text, evidence=[records.Weighed("half", "claim", relies)])])


def judged(folder, text, **options):
    """(records, exit code, the answer's record or None) of the folder with this answer."""
    (folder / "answer.md").write_text(text, encoding="utf-8")
    records, code = verify([folder], on_record=lambda r: None, **options)
    return records, code, next((r for r in records if r["type"] == "answer"), None)


# ---- the form ---------------------------------------------------------------------------------------------
def test_sentences_parts_and_words(tmp_path):
    text = "# What it gains\n\nA half is\na half. [half]\n## Not\nTwo are none! [third=FALSE,\nf1] A $x. Y$. [half]\n"
    found = read(tmp_path, text)
    assert found.title == "What it gains"
    assert [(s.part, s.text) for s in found.sentences] == [
        ("", "A half is a half."), ("Not", "Two are none!"), ("Not", "A $x. Y$.")]
    assert [[(on.id, on.relies) for on in s.evidence] for s in found.sentences[:2]] == [
        [("half", "CERTIFIED")], [("third", "FALSE"), ("f1", "CONFIRMED")]]
    assert answers.read(tmp_path / "none", LEDGER) is None


def test_a_figure_may_stand_beside_a_verdict(tmp_path):
    (sentence,) = read(tmp_path, "# T\n\nAs drawn. [half, fig1]").sentences
    assert sentence.evidence[1] == records.Weighed("fig1", "figure")


@pytest.mark.parametrize(("text", "match"), [
    ("", "starts with its title"), ("A half. [half]", "starts with its title"), ("# T\n", "has no sentence"),
    ("# T\n\nNo evidence.", "names no evidence"), ("# T\n\nNone here. But here. [half]", "names no evidence"),
    ("# T\n\nHere. [half] And none here", "names no evidence"), ("# T\n\nNo full stop [half]", "names no evidence"),
    ("# T\n\nUnknown. [quarter]", "is no id of the ledger"), ("# T\n\nEmpty. [half,]", "is no id of the ledger"),
    ("# T\n\nA word. [half=SURE]", "cannot have"), ("# T\n\nA figure. [fig1=PROVED]", "cannot have"),
    ("# T\n\nOnly a figure. [fig1]", "has no verdict"),
])
def test_a_sentence_without_evidence_is_refused(tmp_path, text, match):
    with pytest.raises(BadInput, match=match):
        read(tmp_path, text)


def test_an_unreadable_answer_is_refused(tmp_path):
    (tmp_path / "answer.md").write_bytes(b"# \xff")
    with pytest.raises(BadInput, match="cannot be read"):
        answers.read(tmp_path, LEDGER)


def test_an_unknown_id_ends_verify(folder):
    with pytest.raises(BadInput, match="is no id of the ledger"):
        judged(folder, "# T\n\nUnknown. [quarter]")


@pytest.mark.parametrize(("text", "found"), [
    ("In Theorem 3 and Lemmas 4, 5 to 7 there is none.", []), ("It is 0.25 or .25 or 5/16 or 12.", [".25", ".25", "5/16", "12"]),
    ("$2p/(2-p)$ of $x_0^2$ and $\\frac1{48}$", ["2", "2", "48"]), ("thm1 and x2", []),
])
def test_numbers_of_a_sentence(text, found):
    assert answers.numbers(text) == found


# ---- the verdict on a sentence ----------------------------------------------------------------------------
def test_a_carried_answer_is_part_of_the_records(folder):
    records, code, answer = judged(folder, "# T\n\nA half is a half. [half]\nThat is false. [third, f1]")
    assert code == 0 and answer["paper"] == "own" and answer["title"] == "T"
    assert [s["state"] for s in answer["sentences"]] == ["carried", "carried"]
    assert answer["sentences"][1]["evidence"][0] == {
        "id": "third", "kind": "claim", "relies": "FALSE", "word": "FALSE", "state": "carried", "label": ""}
    assert json.loads(json.dumps(records)) == records


def test_a_changed_verdict_flags_the_sentence_and_fails(folder):
    _, code, answer = judged(folder, "# T\n\nA third is a whole. [third=PROVED]\nA half. [half=SUPPORTED]")
    lost, kept = answer["sentences"]
    assert code == 1
    assert (lost["state"], lost["reason"]) == ("lost", "third is FALSE, not PROVED")
    assert kept["state"] == "carried"  # CERTIFIED says more than SUPPORTED


def test_a_verdict_that_this_run_changes(folder):
    """The ledger still expects CERTIFIED, so the word was left out; the claim now fails."""
    text = "# T\n\nA half is a half. [half]"
    assert judged(folder, text)[1] == 0
    wrong = with_power(paper(folder.parent.parent / "yours", total=2))
    _, code, answer = judged(wrong, text)
    assert code == 1 and answer["sentences"][0]["reason"] == "half is FALSE, not CERTIFIED"


def test_weaker_open_and_powerless_words_carry_nothing(folder):
    found = papers([folder])[0]
    def state(word, relies, **rest):
        found.answer = answer("So.", relies)
        record = filled({"type": "claim", "id": "half", "paper": "own", "word": word, "as_expected": True, **rest})
        (made,) = answers.judge(found, [record])
        return made["sentences"][0]["state"]
    assert state("PROVED", "SUPPORTED") == state("PROVED", "CERTIFIED") == "carried"
    assert state("SUPPORTED", "CERTIFIED") == state("PROVED", "OPEN") == state("ERROR", "FALSE") == "lost"
    for word in ("PROVED", "CERTIFIED", "SUPPORTED"):
        assert state(word, word) == "carried" and state(word, word, powerless=True) == "lost"
    assert state("OPEN", "OPEN", powerless=True) == "carried"  # no check is needed to leave a question open
    assert state("VACUOUS", "VACUOUS", powerless=True) == "carried"  # nor to find that no instance meets the hypotheses


def test_a_number_must_stand_in_the_evidence(folder):
    _, code, answer = judged(folder, "# T\n\nIt is 41/43 of it. [half]")
    assert code == 1
    assert answer["sentences"][0]["reason"] == "the number 41/43 does not stand in the evidence"


@pytest.mark.parametrize("typed", ["says", "reading", "survives", "place", "instead", "finding", "breaks", "covers", "label"])
def test_what_somebody_typed_is_no_evidence_of_a_number(folder, typed):
    found = papers([folder])[0]
    found.answer = answer("It is 41/43.", "CERTIFIED")

    kind, field = ("finding", "step") if typed == "breaks" else ("claim", "scope")

    def state(**rest):
        record = filled({"type": kind, "id": "half", "paper": "own", "word": "CERTIFIED", "as_expected": True, **rest})
        return answers.judge(found, [record])[0]["sentences"][0]["state"]
    assert state(**{field: "41/43 of all"}) == "carried"
    assert state(**{typed: {"n": "41/43"} if typed == "covers" else "41/43"}) == "lost"


def test_what_is_not_yet_written_waits(folder):
    ledger = folder / "ledger.csv"
    columns = ledger.read_text().splitlines()[0].split(",")
    row = {"id": "later", "place": "Sec 2", "type": "claim", "kind": "identity", "expected": "PROVED"}
    ledger.write_text(ledger.read_text().rstrip() + "\n" + ",".join(row.get(c, "") for c in columns) + "\n")
    _, code, answer = judged(folder, "# T\n\nSoon. [half, later]\nA half. [half]")
    assert code == 0
    assert [s["state"] for s in answer["sentences"]] == ["not yet written", "carried"]
    assert answer["sentences"][0]["reason"] == "later is not yet written"


def test_what_was_not_run_judges_nothing(folder):
    text = "# T\n\nA half. [half]\nFalse. [third]"
    _, code, answer = judged(folder, text, only=["half"])
    assert code == 0 and [s["state"] for s in answer["sentences"]] == ["carried", "not run"]
    assert judged(folder, "# T\n\nFalse. [third]", only=["half"])[2] is None


def test_exit_code_of_an_answer():
    def code(state):
        return exit_code([filled({"type": "answer", "paper": "p", "sentences": [{"state": state}]})], strict=True)
    assert [code(s) for s in ("carried", "not yet written", "not run", "lost")] == [0, 0, 0, 1]


# ---- the answers of this repository -----------------------------------------------------------------------
@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_every_sentence_of_every_paper_has_evidence(paper):
    if paper.answer is None:
        pytest.skip("no answer yet")
    assert 10 <= len(paper.answer.sentences) <= 30
    for sentence in paper.answer.sentences:
        assert sentence.evidence and all(r.id in paper.ledger for r in sentence.evidence)
        assert len(sentence.text) < 260, sentence.text


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_the_words_relied_on_are_those_of_the_ledger(paper):
    if paper.answer is None:
        pytest.skip("no answer yet")
    for sentence in paper.answer.sentences:
        for on in sentence.evidence:
            row = paper.ledger[on.id]
            assert not on.relies or row["expected"] in answers._CARRIES.get(on.relies, (on.relies,)), (on, sentence.text)


@pytest.mark.parametrize("slug", ["fednova", "focus"])
def test_numbers_of_the_answers_stand_in_computed_records(slug):
    """Only the sentences that hold numbers are decided here; `verify` judges all of them."""
    for library in ("hypothesis", "flint"):
        pytest.importorskip(library)  # claims without them are SKIPPED, and carry nothing
    with_numbers = [s for s in PAPERS[slug].answer.sentences if answers.numbers(s.text)]
    only = sorted({r.id for s in with_numbers for r in s.evidence if r.relies})
    assert only
    records, code = verify([VERIFICATION / slug], only=only, quick=True, on_record=lambda r: None)
    (answer,) = [r for r in records if r["type"] == "answer"]
    states = {s["text"]: s["state"] for s in answer["sentences"]}
    assert code == 0 and {states[s.text] for s in with_numbers} == {"carried"}
    assert not [s.text for s in with_numbers if re.search(r"\d{5}", s.text)]


def test_an_equation_in_parentheses_is_a_name_and_no_number():
    assert answers.numbers("It reaches (8), and as (12a) says it is 1/3 of (0.5).") == ["1/3", ".5"]
