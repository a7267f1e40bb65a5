"""The front of the page, the calibration section, anchors and citations."""

import re
from html.parser import HTMLParser

import pytest

from fltheory.verdicts.records import Calibrated, Calibration, Claim, Family, Finding, Run, read
from fltheory.verdicts.report import checks, cite, html, markdown, richtext, terminal
from fltheory.verdicts.report.words import look
from tests.verdicts.lines import filled
from tests.verdicts.report.test_hostile import CALIBRATION
from tests.verdicts.report.test_report import ALL, CORRECTED, FINDING, INSTANCES, PRINTED, RUN, section, whole

FALSE = {**PRINTED, "says": "Every solver obeys the bound."}
BETTER = {**CORRECTED, "place": "derived", "says": "The bound holds with prefix coefficients."}
FOUND = {**FINDING, "says": "thm1-explicit-as-printed: at $\\alpha=1$ the bound is zero."}
OPEN = filled({"type": "claim", "paper": "scaffold", "id": "susp-1", "word": "OPEN", "says": "Clipping is not needed."})
BOOK = [RUN, FALSE, BETTER, FOUND, OPEN]


class Text(HTMLParser):
    """The text a reader sees, without formulas' sources."""

    def __init__(self, source):
        super().__init__()
        self.seen = []
        self.feed(source)

    def handle_data(self, data):
        self.seen.append(data)


def words(source):
    return " ".join(" ".join(Text(source).seen).split())


def part(source, start, end):
    return source.split(start, 1)[1].split(end, 1)[0]


# ---- the front --------------------------------------------------------------------------------------------
def test_each_false_statement_has_a_sentence_what_was_found_and_what_holds():
    own = part(whole(BOOK), '<h2 id="false">', "<h2")
    assert own.startswith("False statements (1)")
    seen = words(own)
    assert "Stated: Every solver obeys the bound." in seen
    assert re.search(r"What we found : at .* the bound is zero", seen)
    assert "Instead: thm1-explicit-corrected ✓ CERTIFIED" in seen
    for link in ("fednova/thm1-explicit-as-printed", "fednova/finding/e1", "fednova/thm1-explicit-corrected"):
        assert f'href="fednova.html#{link}"' in own


def test_each_open_statement_has_a_sentence_and_a_link():
    own = part(whole(BOOK), '<h2 id="open">', "<h2")
    assert 'href="scaffold.html#scaffold/susp-1"' in own
    assert "Clipping is not needed." in own
    assert "Stated:" not in own
    assert 'id="open"' not in whole([FALSE])


def test_what_is_printed_and_what_was_added_are_told_apart():
    front = words(whole(BOOK).split('<h2 id="all-claims">')[0])
    assert "1 is printed in the paper, 1 was added here" in front
    assert "1 claim: 0 proved" in front  # the other paper adds nothing of its own


def test_the_counts_lead_to_the_claims_they_count():
    source = html.pages(BOOK)["index.html"]
    shares = re.findall(r'<a class="share (\w+)" href="#claims" data-paper="(\w+)" data-word="(\w+)"', source)
    assert shares == [("true", "fednova", "CERTIFIED"), ("false", "fednova", "FALSE"), ("neutral", "scaffold", "OPEN")]
    assert ' id="claims"' in source


def test_the_words_are_explained_without_unfolding_anything():
    source = whole(BOOK)
    visible = source.split("<details>")[0]
    for word in ("PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "OPEN"):
        assert look(word).gloss in visible


def test_columns_without_an_entry_are_left_out():
    top = part(whole([OPEN]), '<table class="stack" id="claims">', "</thead>")
    heads = re.findall(r'<th scope="col">([^<]*)</th>', top)
    assert heads == ["Claim", "Paper", "Verdict"]
    keys = re.findall(r"data-k(\d)", part(whole([OPEN]).split('id="claims"')[1], "<tbody>", "</tbody>"))
    assert keys == ["0", "1", "2"]


def test_where_a_statement_fails_comes_first_and_unfolded():
    many = [{**INSTANCES[0], "instance": f"fine-{k}"} for k in range(9)]
    own = section(whole([FALSE, *many, *INSTANCES]), "fednova/thm1-explicit-as-printed")
    assert own.index("Instances on which it fails (1)") < own.index("Other instances (12)")
    assert re.search(r"<details open><summary>Instances on which it fails", own)
    assert re.search(r"<details><summary>Other instances", own)
    assert "Instances (4)" in section(whole([FALSE, *INSTANCES]), "fednova/thm1-explicit-as-printed")


def test_markdown_lists_false_and_open_statements():
    page = markdown.page(BOOK)
    assert "## False statements" in page
    assert ("- [`fednova/thm1-explicit-as-printed`](#fednova/thm1-explicit-as-printed): Every solver obeys the bound. "
            "What we found: at $\\alpha=1$ the bound is zero.") in page
    assert "- [`scaffold/susp-1`](#scaffold/susp-1): Clipping is not needed." in page


# ---- calibration ------------------------------------------------------------------------------------------
def test_the_calibration_is_shown_by_every_writer():
    source = whole([*ALL, CALIBRATION])
    own = words(part(source, '<h2 id="calibration">', "<h2"))
    assert own.startswith("How sure are our own checks")
    assert "0.0001" in own and "20000" in own and "0.00015" in own and "2e−05 to 0.0005" in own and "93 %" in own
    family = "The 120 statistical comparisons, each at level 0.0001 or lower, together raise a false alarm"
    assert f"{family} with probability at most 1.2 %." in own
    assert "✓ as announced" in own and "1 check calibrated, none alarms more often" in own
    page = markdown.page([*ALL, CALIBRATION])
    assert "## How sure are our own checks" in page and "probability at most 1.2 %" in page
    assert "our own checks: 1 check calibrated" in terminal.summary([*ALL, CALIBRATION])
    assert "calibration" not in whole(ALL).split("<script>")[0].replace("calibrated", "")


def test_a_check_that_alarms_too_often_is_called_out():
    row = {**CALIBRATION["rows"][0], "low": 2e-4}
    record = {**CALIBRATION, "rows": [row, CALIBRATION["rows"][0], filled({"check": "no numbers"}, Calibrated)]}
    assert [r.excess for r in checks.rows(read(record))] == [True, False, False]
    assert [r.cells[-1] for r in checks.rows(read(record))] == ["alarms too often", "as announced", "not judged"]
    assert "3 checks calibrated, 1 alarms more often than announced" in terminal.summary([record])
    assert "✗ alarms too often" in whole([record])


def test_a_table_that_cannot_be_relied_upon_says_so():
    stale = {**CALIBRATION, "provenance": {"state": "STALE: the code changed"}}
    failed = {**CALIBRATION, "failed": True}
    for write in (whole, markdown.page, terminal.summary):
        assert "STALE: the code changed" in write([stale])
        assert "gave other results" in write([failed])
        assert "gave other results" not in write([CALIBRATION]) and "STALE" not in write([CALIBRATION])


def test_without_a_table_only_the_family_is_stated():
    bare = filled({"type": "calibration", "rows": [], "family": {"comparisons": 3, "level": 1e-3, "bound": 3e-3}})
    own = words(part(whole([bare]), '<h2 id="calibration">', "</main>"))
    assert own == ("How sure are our own checks No check was calibrated. The 3 statistical comparisons, each at level "
                   "0.001 or lower, together raise a false alarm with probability at most 0.3 %.")
    none = {**bare, "family": {"comparisons": 0, "level": None, "bound": 0.0}}
    assert "No verdict of this report rests on a statistical comparison." in terminal.summary([none])


@pytest.mark.parametrize("family", [None, Family()], ids=["none", "no bound"])
def test_without_a_family_wise_bound_none_is_stated(family):
    record = Calibration(family=family)
    assert checks.family(record) == "" and checks.rows(record) == []
    assert whole([record.to_json()])


# ---- anchors and citations --------------------------------------------------------------------------------
def test_different_ids_have_different_anchors():
    ids = ["a b", "a-b", "a+b", "a_b", "a/b", "a\u00a0b", "a.b", "A b"]
    anchors = {Claim(paper="p", id=i).anchor for i in ids}
    assert len(anchors) == len(ids)
    assert Claim(paper="fednova", id="thm1").anchor == "fednova/thm1"
    assert Finding(paper="fednova", id="e1").anchor == "fednova/finding/e1"


def test_every_entry_has_its_anchor_and_a_citation_computed_from_the_records():
    run = {**RUN, "version": "9.8.7", "date": "2031-02-03"}
    source = whole([run, FALSE, FOUND])
    for record in (FALSE, FOUND):
        own = section(source, read(record).anchor)
        assert f"fltheory 9.8.7, verdicts of 2031-02-03, fednova.html#{read(record).anchor}" in own
    assert "FALSE (App C eq 96-101)" in section(source, read(FALSE).anchor)
    undated = section(whole([RUN, FALSE]), read(FALSE).anchor)
    assert "fltheory 0.1.0, fednova.html#" in undated
    assert "verdicts of" not in undated
    assert cite.line(FALSE, Run()).startswith("fltheory project. fednova/thm1-explicit-as-printed: FALSE")
    assert cite.date(Run(date="yesterday")) == ""


def test_the_markdown_page_carries_no_date():
    assert "2031" not in markdown.page([{**RUN, "date": "2031-02-03"}, FALSE])


def test_bibtex():
    entry = cite.bibtex({**FALSE, "paper": "a_b"}, Run(version="0.1.0", date="2031-02-03"))
    assert entry.startswith("@misc{fltheory:a-b/thm1-explicit-as-printed,\n")
    for field in ("author  = {{fltheory project}}",
                  "title   = {{a\\_b/thm1-explicit-as-printed: FALSE}}", "version = {0.1.0}",
                  "year    = {2031}", "a\\_b.html\\#a\\_b/thm1-explicit-as-printed"):
        assert field in entry
    assert "year" not in cite.bibtex(FALSE, Run())


# ---- formulas ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("latex", "shown"), [
    ("\\big\\|x\\big\\|^2", "‖"), ("\\Big\\lVert x\\Big\\rVert", "‖"), ("\\big\\langle x,y\\big\\rangle", "⟨"),
    ("\\Big\\{x\\Big\\}", "{"), ("\\big|x\\big|", "|"),
])
def test_large_delimiters_are_formulas(latex, shown):
    made = richtext.formula(latex)
    assert made.startswith("<math") and f">{shown}</mo>" in made


def test_formulas_without_the_converter(monkeypatch):
    richtext.formula.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "latex2mathml.converter", None)
    assert richtext.formula("a<b") == '<code class="tex">a&lt;b</code>'
    richtext.formula.cache_clear()
