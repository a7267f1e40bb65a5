"""The report writers, on records made by hand."""

import re
from copy import deepcopy
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts.records import Claim
from fltheory.verdicts.report import html, markdown, richtext, terminal
from fltheory.verdicts.report.book import Book
from fltheory.verdicts.report.words import TRUE_WORDS, WORDS, look, shorten
from tests.verdicts.lines import filled

LONG = "7" * 100 + "/" + "3" * 100
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>|`*[a](javascript:b)\x1b[31m"

RUN = filled({
    "type": "run",
    "version": "0.1.0",
    "python": "3.11.7",
    "libraries": {"numpy": "2.4", "sympy": "1.14"},
    "device": "cpu",
    "seconds": 41.2,
    "paths": ["verification"],
    "quick": True,
    "skipped_features": ["ball arithmetic"],
})
PRINTED = filled({
    "type": "claim",
    "id": "thm1-explicit-as-printed",
    "paper": "fednova",
    "place": "App C eq 96-101",
    "kind": "rate",
    "statement": "**Theorem 1.** If $\\eta L \\le \\frac{1}{2\\lVert a_i\\rVert_1}$ for every client `i`, then\n\n"
    "$$\\min_{t<T}\\mathbb{E}\\|\\nabla \\tilde F(\\mathbf{x}^{(t,0)})\\|^2 \\le "
    "\\frac{4(\\tilde F(\\mathbf x^{(0,0)})-F_{\\inf})}{\\bar\\tau\\eta T} + \\sum_{i=1}^m w_i\\kappa^2.$$",
    "word": "FALSE",
    "expected": "FALSE",
    "as_expected": True,
    "domain": "every $\\alpha\\in[0,1)$, any weights",
    "evidence": "exact",
    "scope": "12 instances; search of 400 tries over quadratic, logistic, Huber",
    "counts": {"HOLDS": 2, "FALSIFIED": 1, "OUT_OF_SCOPE": 1},
    "looseness": [1.8, 310.0],
    "search": {
        "tries": 400,
        "families": {"quadratic": 200, "logistic": 100, "huber": 100},
        "found": {"m": 2, "eta": "1/49"},
        "seconds": 3.1,
    },
    "mutants": [
        {"name": "drop:drift", "kind": "term", "status": "killed", "by": "prox-alpha1", "detail": "1/49 > 0"},
        {
            "name": "uniform_weights",
            "kind": "bug",
            "status": "survived",
            "by": None,
            "detail": "equal weights only",
        },
        {"name": "drop:noise", "kind": "term", "status": "unstable", "by": None, "detail": "one seed in two"},
        {
            "name": "no_momentum",
            "kind": "bug",
            "status": "inapplicable",
            "by": None,
            "detail": "no momentum here",
        },
    ],
    "powerless": False,
    "powerless_reason": "",
    "dimensional": {"status": "passed", "detail": "both sides scale as $F/\\eta$"},
    "instead": "thm1-explicit-corrected",
    "finding": "e1",
    "reading": "The weights $w_i$ are the *printed* ones and $\\alpha=1$ is allowed.",
    "survives": "With $\\alpha<1$ strictly.",
    "script": "witnesses/e1.py",
    "script_source": "from fractions import Fraction\nassert Fraction(1, 49) <= 0, 'bound <fails>'\n",
    "script_output": "AssertionError: bound <fails>\n",
    "seconds": 1.2,
})
CORRECTED = {
    **PRINTED,
    "id": "thm1-explicit-corrected",
    "word": "CERTIFIED",
    "expected": "PROVED",
    "as_expected": False,
    "search": {"tries": 400, "in_scope": 0, "families": {"quadratic": 400}, "best": 0.0, "found": None, "seconds": 2},
    "instead": None,
    "script": None,
    "script_source": None,
    "script_output": None,
    "reading": "",
    "survives": "",
    "mutants": PRINTED["mutants"][:1],
}
POWERLESS = filled({
    "type": "claim",
    "id": "thm10-rate",
    "paper": "fednova",
    "place": "Thm 10",
    "kind": "rate",
    "statement": "$$\\begin{aligned}a&\\le b\\\\&=O(1/T)\\end{aligned}$$\n\nwith $\\unknownmacro x$ kept as source.",
    "word": "SUPPORTED",
    "expected": "SUPPORTED",
    "as_expected": True,
    "evidence": "float",
    "powerless": True,
    "powerless_reason": "no mutant was killed",
})
BARE = [
    filled({"type": "claim", "paper": "scaffold", "id": f"c-{word.lower()}", "word": word})
    for word in ("PROVED", "VACUOUS", "OPEN", "ERROR", "SKIPPED")
]
TERMS = {"start": 0.5, "noise": 0.3, "drift $\\kappa^2$": 0.004, "gain": -0.1, "void": None}
HYPOTHESIS = {
    "name": "step cap (101)",
    "statement": "$\\eta L\\le \\frac{1}{2}$",
    "lhs": "1/4",
    "rhs": "0.2887",
    "holds": True,
    "margin": "0.0387",
}


def comparison(**changes):
    base = {
        "label": "",
        "relation": "at most",
        "lhs": "1/49",
        "rhs": "4/5",
        "lhs_float": 1 / 49,
        "rhs_float": 0.8,
        "status": "HOLDS",
        "evidence": "exact",
        "margin": 0.7796,
        "looseness": 39.2,
        "terms": {"start": 0.5, "noise": 0.3},
        "detail": "",
    }
    return {**base, **changes}


def instance(name, status="HOLDS", comparisons=(), claim="thm1-explicit-as-printed", **rest):
    base = {
        "type": "instance",
        "paper": "fednova",
        "claim": claim,
        "instance": name,
        "status": status,
        "evidence": "exact",
        "reason": "",
        "says": "two quadratics, $\\tau=(2,5)$",
        "hypotheses": [HYPOTHESIS],
        "comparisons": list(comparisons),
        "seconds": 0.01,
    }
    return filled({**base, **rest})


INSTANCES = [
    instance(
        "quad-10", comparisons=[comparison(), comparison(label="second $t$", lhs=LONG, lhs_float=2.333)]
    ),
    instance("quad-2", comparisons=[comparison(terms=TERMS, rhs_float=0.704)]),
    instance(
        "prox-alpha1",
        "FALSIFIED",
        [comparison(rhs="0", rhs_float=0.0, status="FALSIFIED", margin=-0.0204, terms={"start": 0.0})],
    ),
    instance(
        "big-step",
        "OUT_OF_SCOPE",
        reason="step cap (101) fails",
        hypotheses=[{**HYPOTHESIS, "holds": False, "lhs": LONG, "margin": ""}],
    ),
]
FINDING = filled({
    "type": "finding",
    "id": "e1",
    "paper": "fednova",
    "place": "App C",
    "kind": "counterexample",
    "word": "CONFIRMED",
    "expected": "CONFIRMED",
    "as_expected": True,
    "breaks": "thm1-explicit-as-printed",
    "step": "eq (69)",
    "says": "At $\\alpha=1$ the bound is zero.",
    "corrected": "thm1-explicit-corrected",
    "procedure": [
        {"step": "hypotheses hold exactly", "status": "ok", "detail": "$1/4\\le 1/2$"},
        {"step": "search", "status": "skipped", "detail": ""},
    ],
    "reading": "As printed.",
    "survives": "With $\\alpha<1$.",
    "script": "witnesses/e1.py",
    "script_source": "print(1 < 2)\n",
    "script_output": "True\n",
    "seconds": 0.2,
})
LOST = {
    **FINDING,
    "id": "e2",
    "word": "NOT CONFIRMED",
    "as_expected": False,
    "breaks": "nowhere",
    "script": None,
}
ALL = [RUN, POWERLESS, PRINTED, CORRECTED, *BARE, *INSTANCES, FINDING, LOST]


def whole(records):
    """All pages, one after the other, the index first."""
    return "".join(html.pages(records).values())


WRITERS = [whole, markdown.page, terminal.summary]


class Page(HTMLParser):
    """Collects tags, ids, links and titles, and checks that tags are balanced."""

    VOID = frozenset(("meta", "input", "br", "img"))

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.titles = [], [], [], [], []
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            {"id": self.ids, "href": self.links, "title": self.titles}.get(name, []).append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def poisoned(value, free=False):
    """The same record with hostile text in every field that holds text, and in free-form keys."""
    if isinstance(value, dict):
        free_form = ("libraries", "terms", "families", "counts", "found")
        out = {k: v if k == "type" else poisoned(v, k in free_form) for k, v in value.items()}
        return {f"{EVIL}{at}": v for at, v in enumerate(out.values())} if free else out
    if isinstance(value, list):
        return [poisoned(v) for v in value]
    return EVIL if isinstance(value, str) else value


def section(source, mark):
    return source.split(f'<section class="entry" id="{mark}"', 1)[1].split("</section>")[0]


def test_page_is_well_formed_and_every_link_lands():
    pages = {name: Page(source) for name, source in html.pages(ALL).items()}
    assert set(pages) == {"index.html", "fednova.html", "scaffold.html"}
    for name, page in pages.items():
        assert len(set(page.ids)) == len(page.ids)
        for link in page.links:
            there, _, mark = link.split("?")[0].partition("#")
            assert not mark or mark in pages[there or name].ids, (name, link)
        assert page.tags.count("script") == 1
    entries = {"fednova/thm1-explicit-as-printed", "fednova/finding/e1"}
    assert entries <= set(pages["fednova.html"].ids)
    assert entries <= set(pages["index.html"].ids)  # the rows of the tables, for addresses from the time of one page
    assert "math" in pages["fednova.html"].tags
    for name in ("fednova.html", "scaffold.html"):
        assert f"{name}#" in " ".join(pages["index.html"].links)


def test_page_fetches_nothing():
    source = whole(ALL)
    assert not re.search(r"\b(src|srcset)=|url\(|@import|https?://(?!www\.w3\.org)", source)


@pytest.mark.parametrize("record", ALL, ids=lambda r: f"{r['type']}-{r.get('id') or r.get('instance')}")
def test_hostile_text_stays_text(record):
    pages = html.pages([poisoned(deepcopy(record))])
    for page in map(Page, pages.values()):
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert all(link.split("#")[0] in ("", *pages) for link in page.links)


@pytest.mark.parametrize(
    "formula", ["\\text{<script>x</script>}", "\\href{javascript:a}{x}", "\\style{a:b}{x}", "<b>"]
)
def test_hostile_formulas(formula):
    for source in (richtext.inline(f"${formula}$"), richtext.block(f"$${formula}$$")):
        page = Page(source)
        assert not {"script", "b", "a"} & set(page.tags)
        assert page.links == []
        assert "style=" not in re.sub(r'title="[^"]*"', "", source)


def test_hostile_text_in_markdown_and_terminal():
    evil = [poisoned(deepcopy(r)) for r in ALL]
    page = markdown.page(evil)
    page = re.sub(r"(?<!\\)`[^`]*`", "", re.sub(r'<a id="[\w./:-]*"></a>', "", page))
    assert "<" not in page
    assert "\x1b" not in page
    for text in (terminal.summary(evil), *(terminal.line(r) for r in evil if r["type"] in ("claim", "finding"))):
        assert "\x1b" not in text
    assert "\n" not in terminal.claim_line({**PRINTED, "scope": "a\nb", "word": "X\nY"})


def test_markdown_tables_keep_their_columns():
    for source in (markdown.page(ALL), markdown.page([poisoned(deepcopy(r)) for r in ALL])):
        blocks = re.findall(r"(?:^\|.*\n)+", source, re.MULTILINE)
        assert blocks
        for rows in blocks:
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows.splitlines()}) == 1


@pytest.mark.parametrize("write", WRITERS)
def test_empty_and_sparse_input(write):
    assert write([])
    assert write([filled({"type": kind}) for kind in ("run", "claim", "finding", "instance")])
    assert "no records" in whole([])


@pytest.mark.parametrize("write", WRITERS)
def test_records_of_another_form_are_refused(write):
    sparse = [{"type": kind} for kind in ("run", "claim", "finding", "instance", "new")] + [None, 3, {}]
    nulls = [{**dict.fromkeys(record), "type": record["type"]} for record in ALL]
    odd = [{**dict.fromkeys(record, 7), "type": record["type"]} for record in (PRINTED, INSTANCES[0], FINDING)]
    for line in (*sparse, *nulls, *odd):
        with pytest.raises(BadInput, match=r"^record 2: .*wrote it"):
            write([RUN, line])


def test_long_numbers_are_shortened_but_kept():
    assert len(shorten(LONG)) <= 44
    assert shorten("1/49") == "1/49"
    assert LONG in Page(html.pages(ALL)["fednova.html"]).titles
    shown = re.sub(r'title="[^"]*"', "", whole(ALL))
    assert "7" * 30 not in shown
    assert "7" * 30 not in markdown.page(ALL)


def test_front_counts_and_colours():
    source = whole(ALL)
    front = source.split('<h2 id="all-claims">')[0]
    assert "8 claims from 2 papers were checked; 2 are established as true" in front
    assert "<strong>0 proved</strong>, <strong>1 certified</strong>, 1 supported" in front
    assert "1 of 2 findings confirmed" in front
    assert "quick run" in front
    assert "ball arithmetic" in front
    for word in WORDS:
        assert (look(word).tone == "true") == (word in TRUE_WORDS)
    assert look("SURELY TRUE").tone == "neutral"


def test_the_front_says_how_many_papers_are_decided_whole():
    def records(*words, listed=2):
        return list(map(filled, (
            {"type": "run", "written": {"a": [2, listed], "b": [1, 1], "engine": [1, 1]}},
            *({"type": "claim", "id": f"c{k}", "paper": "a", "word": w} for k, w in enumerate(words)),
            {"type": "finding", "id": "f", "paper": "b", "word": "CONFIRMED"}, {"type": "claim", "id": "e", "paper": "engine"})))
    for made, said in ((records("PROVED", "FALSE"), "two of two papers"), (records("PROVED", "ERROR"), "one of two papers"),
                       (records("PROVED"), "one of two papers"), (records("PROVED", "OPEN", listed=3), "one of two papers")):
        assert said in markdown.page(made) and said in html.pages(made)["index.html"]
    lines = markdown.page(records("PROVED", "FALSE")).splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("| paper"))
    assert [lines[at], *lines[at + 2:at + 5]] == [
        "| paper | claims | proved | false | findings confirmed |", "| a | 2 | 1 | 1 |  |", "| b | 0 |  |  | 1 of 1 |",
        "| all | 2 | 1 | 1 | 1 of 1 |"]


def test_false_claim_says_how_it_could_be_wrong():
    own = section(whole(ALL), "fednova/thm1-explicit-as-printed")
    assert "How we could be wrong" in own
    assert "Nearest reading under which it survives" in own
    assert "bound &lt;fails&gt;" in own
    assert 'href="#fednova/thm1-explicit-corrected"' in own
    assert 'href="#fednova/finding/e1"' in own
    assert "1 of 3 killed; survived: uniform_weights" in own
    assert "a counterexample was found" in own
    assert "How we could be wrong" not in section(whole(ALL), "fednova/thm1-explicit-corrected")


def test_bars():
    own = section(whole(ALL), "fednova/thm1-explicit-as-printed")
    assert 'style="width:62.500%"' in own
    assert "not drawn (negative or not finite): 4, 5" in own
    assert "Terms of each bound" not in section(whole(ALL), "fednova/thm10-rate")
    unequal = instance("x", comparisons=[comparison(rhs_float=1.0)])
    assert "these add up to 0.8, the right side is 1" in whole([PRINTED, unequal])


def test_mismatches_are_named_first():
    assert [r.id for r in Book.of(ALL).mismatches()] == ["thm1-explicit-corrected", "e2"]
    assert terminal.claim_line(CORRECTED).endswith("!= expected PROVED")
    summary = terminal.summary(ALL)
    assert "claim fednova/thm1-explicit-corrected: CERTIFIED != expected PROVED" in summary
    assert "killed drop:drift; survived uniform_weights" in summary
    for page in (whole(ALL), markdown.page(ALL)):
        assert page.index("2 verdicts not as expected") < page.index("thm10-rate")
    assert "Every verdict is as expected" in whole([PRINTED])
    assert not Claim(word="FALSE").unexpected
    assert Claim(word="FALSE", expected="PROVED").unexpected


def test_terminal_lines():
    line = terminal.claim_line(PRINTED)
    assert line.startswith("fednova/thm1-explicit-as-printed")
    assert "FALSE" in line
    assert "exact" in line
    assert "×1.8 to ×310" in line
    assert "mutants 1/3" in line
    assert "!=" not in line
    assert "\x1b[31m" in terminal.claim_line(PRINTED, color=True)
    assert "\x1b" not in terminal.summary(ALL)
    assert "POWERLESS" in terminal.claim_line(POWERLESS)
    assert "breaks thm1-explicit-as-printed" in terminal.finding_line(FINDING)


def test_markdown_does_not_depend_on_order_or_machine():
    other = deepcopy(ALL)
    other[0].update(seconds=9.9, device="cuda", python="3.13.0", libraries={})
    for record in other:
        record["seconds"] = 99.0
    other[-4:] = reversed(other[-4:])
    assert markdown.page(list(reversed(other))) == markdown.page(ALL)
    assert markdown.page(ALL).index("thm1-explicit") < markdown.page(ALL).index("thm10-rate")


def test_richtext():
    assert richtext.split("a $x$ `$y$` $$z$$") == [
        ("text", "a "),
        ("math", "x"),
        ("text", " "),
        ("code", "$y$"),
        ("text", " "),
        ("display", "z"),
    ]
    assert richtext.inline("$5 and $6") == "$5 and $6"
    assert "<code" in richtext.formula("\\unknownmacro x")
    assert "<code" in richtext.formula("\\frac{")
    assert "𝐱" in richtext.formula("\\mathbf x")
    assert "ℝ" in richtext.formula("\\mathbb{R}")
    assert "𝔼" in richtext.formula("\\mathbb E")
    assert "<munder><mo movablelimits=" in richtext.formula("\\min_{t<T} x", True)
    assert "ℒ" in richtext.formula("\\mathcal L")
    assert 'style="text-align:right"' in richtext.formula("\\begin{aligned}a&=b\\\\c&=d\\end{aligned}", True)
    ElementTree.fromstring(richtext.formula("a<b \\text{ if } \\lVert x\\rVert^2"))
    assert richtext.block("one\n\ntwo") == "<p>one</p><p>two</p>"
    assert richtext.block("**bold** *soft*") == "<p><strong>bold</strong> <em>soft</em></p>"


def test_orphans_are_reported():
    lost = instance("x", claim="no-such-claim")
    assert "fednova/no-such-claim" in whole([PRINTED, lost])
    assert "1 instances of no claim" in terminal.summary([PRINTED, lost])
