"""Every writer prints the word that was reached, never the one that was expected, and says that they differ."""

import json
import re
from pathlib import Path

import pytest

import fltheory as ft
from fltheory.verdicts.deciding import evidence, word
from fltheory.verdicts.records import Run, read
from fltheory.verdicts.report import cite, html, markdown, terminal, words
from fltheory.verdicts.verify import write_report
from tests.verdicts.claims.examples import always, equal
from tests.verdicts.lines import filled

RUN = filled({"type": "run", "version": "0.1.0", "quick": False})
REACHED = {"PROVED": "CERTIFIED", "SUPPORTED": "FALSE", "FALSE": "SUPPORTED", "CERTIFIED": "OPEN", "OPEN": "ERROR"}


def claim(word, expected):
    return filled({"type": "claim", "id": "c", "paper": "own", "place": "Sec 1", "kind": "identity", "statement": "A statement.",
                   "word": word, "expected": expected, "as_expected": False, "evidence": "none", "scope": "1 instances"})


def finding(word="NOT CONFIRMED", expected="CONFIRMED"):
    return filled({"type": "finding", "id": "f", "paper": "own", "place": "Sec 1", "kind": "remark", "says": "A remark.",
                   "word": word, "expected": expected, "as_expected": False, "procedure": []})


RECORDS = [*(claim(word, expected) for expected, word in REACHED.items()), finding()]
named = pytest.mark.parametrize("record", RECORDS, ids=lambda r: f"{r['word']} for {r['expected']}")


def said(text):
    """[(verdict, expected)] wherever a writer says that they differ."""
    return re.findall(r"(NOT CONFIRMED|[A-Z]{4,})\W+expected (CONFIRMED|[A-Z]{4,})", text)


def bare(page):
    """What a reader of a page sees."""
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


@named
def test_on_a_terminal(record):
    pair = record["word"], record["expected"]
    line = (terminal.claim_line if record["type"] == "claim" else terminal.finding_line)(record)
    assert re.fullmatch(rf"own/\w +{pair[0]}  .*!= expected {pair[1]}", line)
    assert said(terminal.summary([RUN, record])) == [pair]
    assert f"(1 {pair[0]})" in terminal.summary([RUN, record])
    assert terminal.entry([record]).splitlines()[0] == line


@named
def test_in_markdown(record):
    page = markdown.page([RUN, record])
    found = re.findall(r"\*\*([A-Z ]+)\*\* ≠ expected ([A-Z]+)", page)
    assert len(found) == 3 and set(found) == {(record["word"], record["expected"])}  # on top, in the table, in full


@named
def test_in_html(record):
    for name, page in html.pages([RUN, record]).items():
        pairs = [pair for pair in said(bare(page)) if pair[0] != "EXPECTED"]
        assert pairs and set(pairs) == {(record["word"], record["expected"])}, name
        if record["type"] == "claim":  # by which the index sorts and filters
            assert set(re.findall(r'<tr id="[^>]* data-word="([A-Z]+)"', page)) <= {record["word"]}


@named
def test_in_what_is_written_for_machines(record, tmp_path):
    write_report([RUN, record], tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "verdicts.jsonl").read_text().splitlines()]
    assert (rows[1]["word"], rows[1]["expected"], rows[1]["as_expected"]) == (record["word"], record["expected"], False)


@named
def test_in_a_citation(record):
    run = Run(version="0.1.0", date="2026-01-31")
    for text in (cite.line(record, run), cite.bibtex(record, run)):
        assert f"own/{record['id']}: {record['word']}" in text
        assert re.findall(rf"\b{record['expected']}\b", text.replace(record["word"], "")) == []


def test_a_record_without_a_verdict_of_its_own_is_judged_by_its_word():
    record = claim("OPEN", "PROVED")
    record["as_expected"] = None
    assert read(record).unexpected
    assert terminal.claim_line(record).endswith("!= expected PROVED")


def test_in_a_notebook_and_in_a_failed_assertion():
    wrong = always(equal(1, 2), expect="CERTIFIED", domain="here")
    verdict = wrong.check()
    for text in (str(verdict), bare(verdict._repr_html_())):
        assert re.search(r"example: FALSE \(exact\)", text)
        assert "CERTIFIED" not in text
    with pytest.raises(AssertionError, match=r"FALSE .*!= expected CERTIFIED"):
        wrong.assert_holds()
    right = always(equal(1, 1), expect="FALSE", domain="here", powerless="an example")
    assert str(right.check()).startswith("example: CERTIFIED (exact)")
    assert bare(right.check()._repr_html_()).startswith("example: CERTIFIED (exact)")


def test_in_the_pytest_plugin():
    from fltheory import pytest_plugin

    wrong = always(equal(1, 2), expect="CERTIFIED", domain="here")
    item = object.__new__(pytest_plugin.WordItem)
    item.claim = wrong
    with pytest.raises(pytest_plugin.Refuted, match="example: FALSE, expected CERTIFIED"):
        item.runtest()
    item = object.__new__(pytest_plugin.FindingItem)
    item.finding, item.claims = ft.finding("f", kind="gap", check=lambda: equal(1, 2)), {}
    with pytest.raises(pytest_plugin.Refuted, match="f: NOT CONFIRMED, expected CONFIRMED"):
        item.runtest()
    assert "f" in {made.id for made in _forget("f")}


def _forget(name):
    from fltheory.verdicts.claims import claim as forms

    gone = [m for m in forms.REGISTRY if m.id == name and m.module == __name__]
    forms.REGISTRY[:] = [m for m in forms.REGISTRY if m not in gone]
    return gone


def test_every_word_that_a_claim_can_get_has_a_look_a_place_and_a_line_in_the_documentation():
    reached = {row.word for row in (*word.WORDS, *word.SETTLED) if row.word}
    assert reached - {evidence.ERROR, evidence.SKIPPED} <= {*evidence.DECIDED}
    assert reached <= {*words.CLAIM_WORDS} <= {*words.WORDS} and {*evidence.DECIDED} <= {*words.CLAIM_WORDS}
    documents = Path(__file__).parents[3] / "README.md", Path(__file__).parents[3] / "notebooks/docs/verdicts.md"
    assert not {(path.name, w) for path in documents for w in evidence.DECIDED if w not in path.read_text(encoding="utf-8")}
