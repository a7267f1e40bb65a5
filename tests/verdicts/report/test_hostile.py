"""Text from papers, records and libraries is only ever text: in HTML, in Markdown, on a terminal, in a citation."""

import re
from copy import deepcopy
from html.parser import HTMLParser

import pytest

from fltheory.core.errors import BadInput
from fltheory.verdicts.records import read
from fltheory.verdicts.report import cite, html, markdown, terminal
from tests.verdicts.lines import filled
from tests.verdicts.report.test_report import BARE, CORRECTED, FINDING, INSTANCES, LOST, PRINTED, RUN, whole

CALIBRATION = filled({
    "type": "calibration",
    "rows": [
        {
            "check": "mean of a run",
            "level": 1e-4,
            "repetitions": 20000,
            "alarms": 3,
            "low": 2e-5,
            "high": 5e-4,
            "power": 0.93,
            "shift": "5 standard errors",
            "note": "replicates are $N(0,1)$",
        }
    ],
    "family": {"comparisons": 120, "level": 1e-4, "bound": 0.012},
    "provenance": {"seed": 1, "version": "0.1.0"},
})
ANSWER = filled({
    "type": "answer",
    "paper": "fednova",
    "title": "What FedNova gains",
    "sentences": [
        {"text": "The bound fails at $\\alpha=1$.", "part": "What is printed", "state": "carried", "reason": "", "evidence": [
            {"id": "thm1-explicit-as-printed", "kind": "claim", "relies": "FALSE", "word": "FALSE", "state": "carried"},
            {"id": "e1", "kind": "finding", "relies": "CONFIRMED", "word": "CONFIRMED", "state": "carried"},
            {"id": "fig4", "kind": "figure", "relies": "", "word": "", "state": "carried"}]},
        {"text": "A corrected bound is proved.", "part": "What is printed", "state": "lost",
         "reason": "thm1-explicit-corrected is CERTIFIED, not PROVED", "evidence": [
             {"id": "thm1-explicit-corrected", "kind": "claim", "relies": "PROVED", "word": "CERTIFIED", "state": "lost"}]},
        {"text": "It is fast.", "part": "", "state": "not yet written", "reason": "later is not yet written", "evidence": [
            {"id": "later", "kind": "claim", "relies": "PROVED", "word": "", "state": "not yet written"}]},
        {"text": "It is cheap.", "part": "", "state": "not run", "reason": "cost was not decided in this run", "evidence": [
            {"id": "cost", "kind": "claim", "relies": "PROVED", "word": "", "state": "not run"}]},
    ],
})
PAPER = filled({
    "type": "paper",
    "paper": "fednova",
    "title": "On normalised averages",
    "authors": ["A. Author", "B. Author"],
    "year": 2020,
    "venue": "Venue",
    "identifier": "arXiv 2001.00001",
    "version": "v2",
    "sections": [{"title": "C The $L$-smooth case", "places": ["App C"], "equations": [9, 12]},
                 {"title": "4 Rates", "places": ["Thm"]}],
    "notation": [{"symbol": "$\\eta$", "meaning": "client step size"}],
    "assumptions": [{"name": "A1", "says": "Every $F_i$ is $L$-smooth."}],
    "experiments": {"regenerated": ["Figure 2"], "substituted": ["Table 1, on other data"], "failed": ["the gain"], "left": []},
})
LABELLED = {**BARE[0], "label": "PROVED for n = 2, 3", "restricted": True}
WITNESS = {**INSTANCES[2], "data": {"$H$": "(1, 2)", "step size": "1/7"}}
RECORDS = [RUN, PAPER, PRINTED, CORRECTED, LABELLED, *INSTANCES[:2], WITNESS, INSTANCES[3], FINDING, LOST, CALIBRATION, ANSWER]
ATTACKS = {
    "script": "</title></style></script><script>alert(1)</script>",
    "quotes": "\"'><img src=x onerror=alert(1)>\" onmouseover=\"alert(1)",
    "entity": "&lt;script&gt;alert(1)&#60;/script&#62;",
    "link": "[a](javascript:alert(1)) ![b](javascript:alert(2)) <javascript:alert(3)>",
    "escaped link": "\\[a](javascript:alert(1)) \\`<b>\\`",
    "formula link": "$\\href{javascript:alert(1)}{x}$ $[a](javascript:alert(1))$",
    "formula text": "$\\text{</mtext></math><script>alert(1)</script>}$ $$\\mbox{<img src=x onerror=alert(1)>}$$",
    "formula macros": "$\\def\\x{\\x\\x}\\x$ $\\input{/etc/passwd}$ $\\style{color:red}{a}$ $\\unicode{x3C}$",
    "formula code": "$a$ `b` $`<script>`$ $$\n# c\n= d\n$$",
    "headings": "a\n# b\n===\n---\n> c\n~~~\n```\n<!-- d",
    "table": "a | b\n|---|---|\n| c | \\| d \\\\| e",
    "controls": "\x1b[31m\x1b]0;title\x07\x9b2J\x00\x08\r\u202egnp.\u2066\u2028x",
    "surrogate": "\ud800 alone",
    "long": "W" * 5000,
}
TAGS = (
    "html head meta title style body main script h1 h2 h3 h4 p a b br em strong span code pre ul ol li dl dt dd div "
    "details summary section aside blockquote table thead tbody tr th td form label input select option output button "
    "figure figcaption footer s sub sup math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle mpadded mphantom msub msup "
    "msubsup munder mover munderover mtable mtr mtd mmultiscripts mprescripts"
)
ATTRIBUTES = (
    "lang charset http-equiv content name id class href title scope hidden type value style open role aria-label "
    "aria-hidden display displaystyle stretchy fence form accent movablelimits mathvariant width minsize maxsize "
    "linethickness scriptlevel rowspacing columnspacing lspace rspace"
)
STYLES = re.compile(
    r"(?:width|left):[\d.]+%|flex-grow:\d+|white-space:nowrap|text-align:(?:left|right|center)"
)


class Strict(HTMLParser):
    """Fails on any tag or attribute that the writers do not use themselves, and on tags that are not balanced."""

    VOID = frozenset(("meta", "input", "br"))

    def __init__(self, source, pages=("index.html",)):
        super().__init__()
        self.pages = pages
        self.open, self.scripts, self.text = [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS.split(), tag
        for name, value in attrs:
            assert name in ATTRIBUTES.split() or name.startswith("data-"), (tag, name)
            if name == "href":
                assert value.split("#")[0] in ("", *self.pages), value
            if name == "style":
                assert STYLES.fullmatch(value), value
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data}")

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.text).append(data)


def poisoned(value, attack, everything=False, free=False):
    """The record with the attack in every text field and free-form key; in every other leaf too if `everything`."""
    if isinstance(value, dict):
        free_form = ("libraries", "terms", "families", "counts", "found", "provenance")
        out = {k: v if k == "type" else poisoned(v, attack, everything, k in free_form) for k, v in value.items()}
        return {f"{attack}{at}": v for at, v in enumerate(out.values())} if free else out
    if isinstance(value, list):
        return [poisoned(v, attack, everything) for v in value]
    return attack if everything or isinstance(value, str) else value


@pytest.fixture(params=ATTACKS.values(), ids=ATTACKS.keys(), scope="module")
def evil(request):
    return [poisoned(deepcopy(r), request.param) for r in RECORDS]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_text_in_place_of_numbers_and_lists_is_refused_in_one_plain_line(attack):
    for record in RECORDS:
        wrong = poisoned(deepcopy(record), attack, True)
        for write in (html.pages, markdown.page, terminal.summary):
            if wrong != poisoned(deepcopy(record), attack):
                with pytest.raises(BadInput, match=r"^record 1: field ") as refused:
                    write([wrong])
                assert str(refused.value).isprintable() and len(str(refused.value)) < 1000


def test_nothing_executes_in_html(evil):
    pages = html.pages(evil)
    assert len(pages) > 1
    for name, source in pages.items():
        assert re.fullmatch(r"[a-z0-9_-]{1,90}(\.[a-z0-9-]{1,60}(\.\d+)?)?\.html", name)
        page = Strict(source, pages)
        assert page.scripts == [html.SCRIPT]
        assert source.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", whole(evil))


def test_the_strict_parser_notices(evil):
    for bad in ("<img src=x>", "<p onclick=x></p>", '<a href="javascript:x"></a>', "<!-- x -->", "<b><p></b></p>",
                '<p style="color:red"></p>', "<iframe></iframe>"):
        with pytest.raises(AssertionError):
            Strict(html.pages(evil)["index.html"] + bad, html.pages(evil))


def without_code(page):
    """A Markdown page without what cannot contain markup: code spans, the anchors, our own links."""
    page = re.sub(r'<a id="[\w./:-]*"></a>', "", page)
    return re.sub(r"(?<!\\)((?:\\\\)*)`[^`\n]*`", r"\1CODE", page)


def test_nothing_becomes_markup_in_markdown(evil):
    page = markdown.page(evil)
    rest = without_code(page)
    assert "<" not in rest
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    for match in re.finditer(r"((?:^|[^\\])(?:\\\\)*)\[([^\]]*)\]\(([^)]*)\)", rest):
        assert match[2] == "CODE" and match[3].startswith("#"), match[0]
    headings = [line for line in rest.splitlines() if line.startswith("#")]
    ours = {"# Verdicts", "### CODE", "### "} | {f"## {t}" for t in (
        "Claims", "Findings", "Claim by claim", "Finding by finding", "False statements", "Open statements",
        "Wrong implementations", "How sure are our own checks")}
    assert set(headings) - ours <= {line for line in headings if line.startswith("## ")}
    assert len(set(headings) - ours) <= 1  # the title of the answer
    assert not [line for line in rest.splitlines() if re.match(r"\s*(~~~|```|===|---|>|<)", line)]


def test_tables_of_markdown_keep_their_columns(evil):
    blocks = re.findall(r"(?:^\|.*\n)+", markdown.page(evil), re.MULTILINE)
    mine = [b for b in blocks if re.match(r"\| (claim|finding|instance|step|check|bug) ", b)]
    assert mine
    for rows in mine:
        assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows.splitlines()}) == 1, rows[:300]


def test_the_terminal_is_not_driven(evil):
    lines = [terminal.summary(evil), terminal.summary(evil, color=True), terminal.entry(evil)]
    lines += [terminal.line(r) for r in evil if r["type"] in ("claim", "finding")]
    claim = next(r for r in evil if r["type"] == "claim")
    instances = [r for r in evil if r["type"] == "instance"]
    lines.append(terminal.entry([claim, *instances], notes=[(claim["id"], claim["id"])]))
    for text in lines:
        plain = re.sub(r"\x1b\[(?:\d+;)?\d+m", "", text) if "\x1b" in text else text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e\u2066-\u2069]", plain)
        assert text.encode()
    assert "\x1b" not in terminal.summary(evil)


def test_citations_are_one_line_and_one_entry(evil):
    run = evil[0]
    for record in (r for r in evil if r["type"] in ("claim", "finding")):
        line, entry = cite.line(record, read(run)), cite.bibtex(record, read(run))
        assert "\n" not in line
        assert entry.startswith("@misc{fltheory:") and entry.endswith("\n}")
        depth = 0
        for c in entry:  # BibTeX counts escaped braces too
            depth += (c == "{") - (c == "}")
            assert depth >= 0
        assert depth == 0
        key = entry[len("@misc{") : entry.index(",")]
        assert re.fullmatch(r"[A-Za-z0-9./:-]+", key)
        for bare in ("%", "&", "#", "$", "_"):
            assert not re.search(rf"(?<!\\){re.escape(bare)}", entry)


def test_anchors_are_safe_and_depend_on_type_paper_and_id_alone(evil):
    for record in (r for r in evil if r["type"] in ("claim", "finding")):
        assert re.fullmatch(r"[\w./:-]*", read(record).anchor)
        bare = {k: record[k] for k in ("type", "paper", "id")}
        assert read(filled(bare)).anchor == read(record).anchor
