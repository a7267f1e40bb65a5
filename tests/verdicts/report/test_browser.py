"""The page in a real browser: filters, sorting, keyboard, shareable views, width, print. Needs Chromium; slow."""

import pytest

from fltheory.verdicts.report import html
from tests.verdicts.lines import filled
from tests.verdicts.report import browser
from tests.verdicts.report.test_hostile import ANSWER, ATTACKS, CALIBRATION, RECORDS, poisoned
from tests.verdicts.report.test_report import ALL, INSTANCES, PRINTED, RUN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.PROGRAM is None, reason="Chromium is not installed: the page cannot be tried"),
]

CLAIMS = [
    filled({"type": "claim", "paper": paper, "id": f"thm{k}", "place": f"Sec {k}", "says": f"Sentence number {k}.",
     "word": word, "expected": "PROVED" if k == 3 else word, "evidence": "exact", "looseness": loose})
    for paper in ("alpha", "beta")
    for k, (word, loose) in enumerate([("PROVED", 2.0), ("FALSE", 10.5), ("OPEN", None), ("SUPPORTED", 1.25)])
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    made = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("report"), [RUN, *CLAIMS])


def written(folder, records):
    """The index of a report with these records; the other pages lie beside it."""
    for name, source in html.pages(records).items():
        (folder / name).write_text(source, encoding="utf-8")
    return folder / html.INDEX


def rows(page):
    return page.js("[...document.querySelectorAll('#claims tbody tr')].filter(r => !r.hidden)"
                   ".map(r => r.dataset.paper + '/' + r.cells[0].querySelector('a').textContent)")


def choose(page, field, value):
    page.js(f"(() => {{ const f = document.getElementById('{field}'); f.value = {value!r}; "
            "f.dispatchEvent(new Event('input')); f.dispatchEvent(new Event('change')); })()")


def test_filters_narrow_the_table_and_the_address_keeps_the_view(page, file):
    page.open(file)
    assert len(rows(page)) == 8
    choose(page, "f-word", "FALSE")
    assert rows(page) == ["alpha/thm1", "beta/thm1"]
    choose(page, "f-paper", "beta")
    assert rows(page) == ["beta/thm1"]
    assert page.js("document.getElementById('f-count').textContent") == "1 of 8 shown"
    assert page.js("location.hash") == "#claims?paper=beta&verdict=FALSE"
    assert page.js("document.getElementById('f-link').getAttribute('href')") == page.js("location.hash")
    page.js("document.getElementById('f-reset').click()")
    assert len(rows(page)) == 8
    assert page.js("location.hash") == "#claims"


def test_a_shared_view_opens_as_it_was(page, file):
    page.open(file, "#claims?verdict=FALSE&sort=-looseness")
    assert rows(page) == ["alpha/thm1", "beta/thm1"]
    assert page.js("document.querySelector('th[aria-sort]').textContent") == "Looseness"
    assert page.js("scrollY > 0")
    page.open(file, "#claims?unexpected=1")
    assert rows(page) == ["alpha/thm3", "beta/thm3"]
    page.js("location.hash = '#claims?q=number+2'")
    page.js("new Promise(r => setTimeout(r, 100))")
    assert rows(page) == ["alpha/thm2", "beta/thm2"]


def test_a_view_nobody_wrote_does_no_harm(page, file):
    page.open(file, "#claims?verdict=%3Cscript%3E&paper=nobody&sort=-constructor&q=%3Cimg%20src=x%3E&__proto__=1")
    assert page.js("document.getElementById('f-word').value + document.getElementById('f-paper').value") == ""
    assert rows(page) == []
    assert page.js("document.querySelectorAll('img').length") == 0


def test_sorting_by_number_keeps_missing_values_last_in_both_directions(page, file):
    page.open(file)
    click = "[...document.querySelectorAll('#claims th button')].find(b => b.textContent === 'Looseness').click()"
    page.js(click)
    assert rows(page)[:6] == ["alpha/thm3", "beta/thm3", "alpha/thm0", "beta/thm0", "alpha/thm1", "beta/thm1"]
    page.js(click)
    assert rows(page)[:2] == ["alpha/thm1", "beta/thm1"]
    assert rows(page)[6:] == ["alpha/thm2", "beta/thm2"]
    assert page.js("location.hash") == "#claims?sort=-looseness"


def test_everything_works_from_the_keyboard(page, file):
    page.open(file)
    page.js("document.getElementById('f-text').focus()")
    page.write("number 2")
    assert rows(page) == ["alpha/thm2", "beta/thm2"]
    page.js("document.getElementById('f-text').select()")
    page.write("thm")
    for _ in range(30):
        page.key("Tab")
        if page.js("document.activeElement.textContent") == "Place":
            break
    assert page.js("document.activeElement.tagName") == "BUTTON"
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("Enter")
    assert page.js("document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending"
    page.key(" ")
    assert page.js("document.activeElement.closest('th').getAttribute('aria-sort')") == "descending"
    assert rows(page)[0] == "alpha/thm3"


def test_the_counts_on_the_front_filter_the_table(page, file):
    page.open(file)
    page.js("document.querySelector('a.share[data-paper=beta][data-word=OPEN]').click()")
    page.js("new Promise(r => setTimeout(r, 100))")
    assert rows(page) == ["beta/thm2"]
    assert page.js("location.hash") == "#claims?paper=beta&verdict=OPEN"


def arrived(page, name, mark):
    """Whether the browser comes to show this entry of this page."""
    at = f"document.getElementById('{mark}').getBoundingClientRect().top"
    return landed(page, f"{name}#{mark}") and page.wait(f"0 <= {at} && {at} < 50")


def landed(page, end):
    """Whether the browser comes to a loaded page whose address ends like this."""
    return page.wait(f"document.readyState === 'complete' && location.href.endsWith('/{end}')")


def test_entries_are_reached_by_their_anchor(page, file):
    page.open(file.with_name("beta.html"), "#beta/thm1")
    assert arrived(page, "beta.html", "beta/thm1")


def test_addresses_from_the_time_of_a_single_page_lead_to_the_entry(page, file):
    page.open(file, "#beta/thm1")
    assert arrived(page, "beta.html", "beta/thm1")
    page.open(file)
    page.js("location.hash = '#alpha/thm1'")
    assert arrived(page, "alpha.html", "alpha/thm1")
    page.open(file, "#nobody/thm1")
    page.js("new Promise(r => setTimeout(r, 300))")
    assert page.js("location.pathname").endswith("/index.html")


def test_the_table_and_the_pages_lead_to_each_other(page, file):
    page.open(file)
    page.js("document.querySelector('#claims a[href=\"alpha.html#alpha/thm1\"]').click()")
    assert arrived(page, "alpha.html", "alpha/thm1")
    page.js("document.querySelector('.entry .back a[href=\"index.html\"]').click()")
    assert landed(page, "index.html")
    page.open(file.with_name("beta.html"))
    page.js("document.querySelector('a.share[data-word=OPEN]').click()")
    assert landed(page, "index.html#claims?paper=beta&verdict=OPEN")
    assert rows(page) == ["beta/thm2"]


def test_an_answer_leads_to_its_evidence_from_the_keyboard(page, tmp_path):
    page.open(written(tmp_path, [*ALL, ANSWER]))
    for _ in range(40):
        page.key("Tab")
        if page.js("document.activeElement.className") == "ref false":
            break
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert "thm1-explicit-as-printed" in page.js("document.activeElement.getAttribute('aria-label')")
    page.key("Enter")
    assert arrived(page, "fednova.html", "fednova/thm1-explicit-as-printed")


def test_everything_unfolds_and_folds(page, tmp_path):
    page.open(written(tmp_path, ALL).with_name("fednova.html"))
    folded = "document.querySelectorAll('details:not([open])').length"
    assert page.js(folded) > 0
    page.js("document.getElementById('unfold').click()")
    assert page.js(folded) == 0
    page.js("document.getElementById('unfold').click()")
    assert page.js("document.querySelectorAll('details[open]').length") == 0
    assert page.paper().startswith(b"%PDF")


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_no_width_makes_the_page_scroll_sideways(page, tmp_path, width):
    index = written(tmp_path, [*ALL, CALIBRATION, ANSWER])
    for path in (index, index.with_name("fednova.html")):
        page.open(path, width=width)
        page.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.js("document.documentElement.scrollWidth") <= width


def test_the_search_of_a_paper_leaves_of_its_answer_what_matches(page, tmp_path):
    written(tmp_path, [*ALL, ANSWER])
    page.open(tmp_path / "fednova.html")
    told = "[...document.querySelectorAll('.answer > li')].filter(e => e.offsetParent).length"
    headed = "[...document.querySelectorAll('h3:has(+ .answer)')].filter(e => e.offsetParent).length"
    everything = page.js(told)
    assert everything > 1 and page.js(headed)
    search = "const f = document.getElementById('find-text'); f.value = '{}'; f.dispatchEvent(new Event('input'))"
    page.js("(() => {" + search.format("bound FAILS") + "})()")
    assert page.js(told) == 1 and page.js(headed) == 1
    page.js("(() => {" + search.format("no such words") + "})()")
    assert page.js(told) == page.js(headed) == 0
    page.js("(() => {" + search.format("") + "})()")
    assert page.js(told) == everything


def test_stacked_cells_name_their_column_on_a_phone(page, tmp_path):
    written(tmp_path, ALL)
    page.open(tmp_path / "fednova.html", width=390)
    label = "getComputedStyle(document.querySelector('.{} tbody td:nth-child(2)'), '::before').content"
    assert page.js(label.format("instances")) == '"Left side"'
    assert page.js(label.format("mutants")) == '"Mutant"'
    page.open(tmp_path / "fednova.html", width=1280)
    assert page.js(label.format("instances")) == "none"


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_records_run_nothing_and_fit_a_phone(page, tmp_path, attack):
    written(tmp_path, [poisoned(r, ATTACKS[attack], False) for r in RECORDS])
    files = sorted(tmp_path.glob("*.html"))
    assert len(files) > 1
    for path in files:
        page.open(path, width=390)
        assert page.js("document.scripts.length") == 1
        assert page.js("document.querySelectorAll('img, iframe, object, embed, link, base').length") == 0
        handlers = "e => [...e.attributes].some(a => /^on/i.test(a.name))"
        assert page.js(f"[...document.querySelectorAll('*')].filter({handlers}).length") == 0
        there = "decodeURI(new URL('.', location.href).pathname)"
        assert page.js(f"[...document.links].every(a => a.protocol === 'file:' && decodeURI(a.pathname).startsWith({there}))")
        assert page.js("document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_page_is_complete(page, tmp_path):
    path = written(tmp_path, [RUN, PRINTED, *INSTANCES])
    path.write_text(path.read_text(encoding="utf-8").replace(f"<script>{html.SCRIPT}</script>", ""), encoding="utf-8")
    page.open(path, "#fednova/thm1-explicit-as-printed")
    assert page.js("document.querySelector(':target').tagName") == "TR"  # an old address finds the row, and its link
    assert page.js("document.querySelectorAll('#claims tbody tr').length") == 1
    assert page.js("getComputedStyle(document.getElementById('controls')).display") == "none"
