"""Answers on the pages: sentences with links to their evidence; what lost it is struck and comes first as an alarm."""

import re
from copy import deepcopy

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts.records import page_of
from fltheory.verdicts.report import html, markdown, terminal
from fltheory.verdicts.verify import write_report
from tests.verdicts.lines import filled
from tests.verdicts.report.test_hostile import ANSWER
from tests.verdicts.report.test_overview import part, words
from tests.verdicts.report.test_report import ALL, Page

BOOK = [*ALL, ANSWER]


def own(name="index.html", book=BOOK):
    return part(html.pages(book)[name], '<h2 id="answer-fednova">', "<h2")


def test_the_answer_opens_the_papers_page_and_stands_on_the_index():
    page = html.pages(BOOK)["fednova.html"]
    assert page.index("What FedNova gains") < page.index('id="contents"')
    assert own().startswith("What FedNova gains") and own("fednova.html").startswith("What FedNova gains")
    assert "answer-" not in html.pages(BOOK)["scaffold.html"].split("</style>")[1]
    index = html.pages(BOOK)["index.html"]
    assert index.index("What FedNova gains") < index.index("False statements") < index.index('id="claims"')
    assert 'href="#answer-fednova">What FedNova gains</a>' in index


def test_each_sentence_is_followed_by_its_evidence():
    first = part(own(), "The bound fails", "</li>")
    links = re.findall(r'<a class="ref (\w+)" href="([^"]*)" title="([^"]*)"', first)
    assert links == [
        ("false", "fednova.html#fednova/thm1-explicit-as-printed", "thm1-explicit-as-printed: FALSE."),
        ("finding", "fednova.html#fednova/finding/e1", "e1: CONFIRMED. At $\\alpha=1$ the bound is zero."),
    ]
    assert "✗" in first and "◆" in first and "figure fig4" in words(first)
    assert 'href="#fednova/finding/e1"' in part(own("fednova.html"), "The bound fails", "</li>")


def test_a_sentence_that_lost_its_evidence_is_struck_and_announced():
    assert "<s>A corrected bound is proved.</s>" in own()
    assert "No longer carried by its evidence: thm1-explicit-corrected is CERTIFIED, not PROVED." in words(own())
    front = words(html.pages(BOOK)["index.html"].split("<h2 id")[0])
    assert "1 sentence no longer carried by the evidence" in front
    assert "A corrected bound is proved. (thm1-explicit-corrected is CERTIFIED, not PROVED)" in front
    said = terminal.summary(BOOK)
    assert "answer fednova: 4 sentences (1 carried, 1 lost, 1 not yet written, 1 not run)" in said
    assert "fednova: A corrected bound is proved. (thm1-explicit-corrected is CERTIFIED, not PROVED)" in said
    kept = deepcopy(ANSWER)
    del kept["sentences"][1]
    assert "no longer carried" not in terminal.summary([*ALL, kept]) + html.pages([*ALL, kept])["index.html"]


def test_what_is_not_yet_written_says_so_and_what_was_not_run_is_counted():
    seen = words(own())
    assert "It is fast. Not yet checked. later: not yet written" in seen
    assert "It is cheap" not in seen and "1 further sentence not shown" in seen


def test_markdown_shows_the_answer_first():
    page = markdown.page(BOOK)
    assert page.index("## What FedNova gains") < page.index("## Claims")
    assert ("- The bound fails at $\\alpha=1$. ([`fednova/thm1-explicit-as-printed`](#fednova/thm1-explicit-as-printed) FALSE, "
            "[`fednova/e1`](#fednova/finding/e1) CONFIRMED, `fig4`)") in page
    assert "**No longer carried by its evidence:** thm1-explicit-corrected is CERTIFIED, not PROVED." in page
    assert "**Not yet checked:** later is not yet written." in page and "1 further sentence not shown" in page


def test_an_answer_without_claims_is_written_and_one_with_odd_fields_refused():
    for write in (html.pages, markdown.page, terminal.summary):
        assert write([ANSWER]) and write([*ALL, ANSWER])
        for odd in ({"sentences": "none"}, {"title": None}, {"sentences": [None]}, {"sentences": [{"evidence": 3}]}):
            with pytest.raises(BadInput, match=r"^record 1: "):
                write([ANSWER | odd])


# ---- pages ------------------------------------------------------------------------------------------------
def test_names_of_pages():
    names = {p: page_of(p) for p in ("focus", "FOCUS", "index", "Index", "a/b", "a-b", "..", "", "a b", "é", "x" * 999)}
    assert names["focus"] == names["FOCUS"] == "focus.html"  # one file where case does not count, so one page
    assert names["index"] == names["Index"] == "index-.html"
    assert all(re.fullmatch(r"[a-z0-9_-]{1,73}\.html", name) for name in names.values())
    assert len(set(names.values())) == len(names) - 2


def test_papers_that_share_a_page_are_both_on_it():
    claims = [filled({"type": "claim", "paper": p, "id": "c", "word": "OPEN"}) for p in ("one", "ONE")]
    pages = html.pages(claims)
    assert set(pages) == {"index.html", "one.html"}
    assert {"one/c", "ONE/c"} <= set(Page(pages["one.html"]).ids)


def test_every_page_says_who_made_it(tmp_path):
    for name, source in html.pages(BOOK).items():
        (tmp_path / name).write_text(source, encoding="utf-8")
        assert html.is_ours(tmp_path / name)
    (tmp_path / "other.html").write_bytes(b"<html>\xff")
    assert not html.is_ours(tmp_path / "other.html")


def test_a_page_of_an_earlier_run_does_not_stay(tmp_path):
    (tmp_path / "notes.html").write_text("<html>somebody's own</html>", encoding="utf-8")
    write_report(ALL, tmp_path)
    assert {p.name for p in tmp_path.glob("*.html")} == {"index.html", "fednova.html", "scaffold.html", "notes.html"}
    write_report([r for r in ALL if r.get("paper") != "scaffold"], tmp_path)
    assert {p.name for p in tmp_path.glob("*.html")} == {"index.html", "fednova.html", "notes.html"}


def test_long_tables_name_their_columns_in_the_style():
    page = html.pages(ALL)["fednova.html"]
    tables = re.findall(r'<table class="(?:instances|hypotheses|mutants)".*?</table>', page, re.DOTALL)
    assert tables and not any("data-label" in t for t in tables)
    assert '.instances td:nth-child(2)::before { content: "Left side"; }' in page


def test_a_hypothesis_is_put_in_words_once():
    page = html.pages(ALL)["fednova.html"]
    (table,) = re.findall(r'<table class="hypotheses".*?</table>', page, re.DOTALL)
    assert table.count("step cap (101)") == 4 and table.count('<span class="says">') == 1
