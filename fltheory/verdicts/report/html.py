"""The report as HTML: an index and one page per paper. Nothing is fetched, and no record can put markup into a page."""

import base64
import hashlib
from dataclasses import replace
from html import escape
from pathlib import Path

from fltheory.verdicts.records import INDEX, page_of
from fltheory.verdicts.report import cite, frameworks, layout, overview, paper_opening, sections
from fltheory.verdicts.report.book import Book, bugs, tallies, whole
from fltheory.verdicts.report.html_pieces import COLUMN_LABELS, link, named, says, table, verdict
from fltheory.verdicts.report.richtext import inline
from fltheory.verdicts.report.words import CLAIM_WORDS, factors, natural, shown

STYLE, SCRIPT = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("style.css", "report.js"))
_MADE = '<meta name="generator" content="fltheory report">'


def _policy() -> str:
    """A second lock behind the escaping: only the page's own script may run, and nothing is loaded."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


_UNFOLD = (
    '<p class="controls" id="folds" hidden>Long tables are folded, also on paper. '
    '<button type="button" id="unfold">Unfold everything</button></p>\n'
)


def _options(values) -> str:
    return "".join(f'<option value="{escape(v)}">{escape(v)}</option>' for v in values)


def _row(book, claim, at, words, divided, brief) -> tuple:
    """The attributes of a claim's row and, by heading, its cells with their sort keys."""
    killed, every = claim.score
    label = f"{claim.word} ({'restricted' if claim.limited else whole(claim.word)})" if claim.word in divided else claim.word
    cells = {
        "Claim": (named(book, claim) + ("" if brief else says(claim.sentence)), at),
        "Paper": (escape(claim.paper), claim.paper),
        "Place": (escape(claim.place), claim.place),
        # A verdict is only as wide as its scope, so the two are never shown apart.
        "Verdict": (verdict(claim) + says(claim.scope), words.index(claim.word)),
        "Evidence": (escape(claim.evidence), claim.evidence),
        "Looseness": (factors(claim.looseness), max(claim.looseness, default="")),
        "Mutants killed": (f"{killed} of {every}" if every else "", killed / every if every else ""),
    }
    attributes = f' id="{claim.anchor}" data-paper="{escape(claim.paper)}" data-word="{escape(claim.word)}"'
    attributes += f' data-tally="{escape(label)}"' if label != claim.word else ""
    attributes += f' data-says="{escape(claim.sentence)}"' if brief else ""
    return attributes + (' data-unexpected="1"' if claim.unexpected else ""), cells


def _claims(book, brief=False) -> str:
    """The table of claims; brief: their sentences are searched, but shown on the pages of their papers only."""
    if not book.claims:
        return ""
    words = sorted({c.word for c in book.claims}, key=lambda w: (CLAIM_WORDS + (w,)).index(w))
    divided = dict.fromkeys(w for w, reach, _ in tallies(book.claims) if reach)
    choices = [c for w in words for c in (w, *((f"{w} ({whole(w)})", f"{w} (restricted)") if w in divided else ()))]
    table_rows = [_row(book, claim, at, words, divided, brief) for at, claim in enumerate(book.claims)]
    # A column without any entry (a quick run kills no mutants) only takes width from the others.
    head = [h for h in table_rows[0][1] if h == "Claim" or any(cells[h][0] for _, cells in table_rows)]
    rows = []
    for attributes, cells in table_rows:
        keys = "".join(f' data-k{at}="{escape(str(cells[h][1]))}"' for at, h in enumerate(head))
        rows.append((keys + attributes, [cells[h][0] for h in head]))
    papers = sorted({c.paper for c in book.claims}, key=natural)
    controls = (
        '<form class="controls" id="controls" hidden>'
        '<label>Search <input type="search" id="f-text"></label>'
        f'<label>Paper <select id="f-paper"><option value="">all</option>{_options(papers)}</select></label>'
        f'<label>Verdict <select id="f-word"><option value="">all</option>{_options(choices)}</select></label>'
        f'<label>Sort by <select id="f-sort">'
        + "".join(f'<option value="{at}">{escape(name)}</option>' for at, name in enumerate(head))
        + '</select></label><label class="check"><input type="checkbox" id="f-unexpected"> only unexpected</label>'
        '<button type="button" id="f-reset">Show all</button>'
        '<output id="f-count"></output> <a id="f-link" href="#claims">Link to this view</a></form>\n'
    )
    return '<h2 id="all-claims">Claims</h2>\n' + controls + table(head, rows, "stack", ' id="claims"')


def _findings(book) -> str:
    rows = [
        (f' id="{f.anchor}"', [
            named(book, f) + says(f.sentence),
            *map(escape, (f.paper, f.place, f.kind)),
            verdict(f),
            link(book, f, "claim", f.breaks),
        ])
        for f in book.findings
    ]
    head = ["Finding", "Paper", "Place", "Kind", "Verdict", "Breaks"]
    return '<h2 id="all-findings">Findings</h2>\n' + table(head, rows, "stack", ' id="findings"') if rows else ""


_BUGS = {
    "bug": ("bugs", "Wrong implementations", "Each catalogued bug was swapped into the instances of the claims that name it.",
            "Bug"),
    "engine": ("faults", "Faults of the engine", "Each fault is one wrong line of this program, planted while the claims that name "
               "it were decided again. It is noticed where a comparison that held fails, or one that failed holds.", "Fault"),
}


def _bugs(book, claims, kind="bug") -> str:
    def names(claims):
        return ", ".join(f'<a href="{book.href(c)}">{escape(c.id)}</a>' for c in claims)
    rows = [
        [f'<code style="white-space:nowrap">{escape(name)}</code>', escape(detail), names(killed), names(missed)]
        for name, (detail, killed, missed) in bugs(claims, kind).items()
    ]
    if not rows:
        return ""
    mark, title, lead, what = _BUGS[kind]
    head = [what, "What it does", "Rejected by", "Missed by"]
    return f'<h2 id="{mark}">{title}</h2>\n<p>{lead}</p>\n' + table(head, rows, "stack")


def _colophon(book) -> str:
    out = ""
    for run in book.runs:
        parts = [f"fltheory {run.version}", f"Python {run.python}" if run.python else "",
                 ", ".join(f"{k} {v}" for k, v in run.libraries.items()), f"device {run.device}" if run.device else "",
                 f"{run.seconds:.1f} s" if run.seconds is not None else "",
                 f"made on {cite.date(run)}" if cite.date(run) else "",
                 f"records of {', '.join(map(str, run.paths))}" if run.paths else ""]
        out += f"<p>{escape('; '.join(filter(None, parts)))}</p>\n"
    return f"<footer>\n{out}</footer>\n" if out else ""


def is_ours(path) -> bool:
    """Whether a file was written here."""
    with open(path, encoding="utf-8", errors="replace") as handle:
        return _MADE in handle.read(1000)


def _frame(book, title, body) -> str:
    return shown(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n{_MADE}\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}{COLUMN_LABELS}</style>\n</head>\n"
        f'<body>\n<main id="top">\n<h1>{escape(title)}</h1>\n{body}{_colophon(book)}</main>\n'
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


_MOVED = {"answers": "", "bugs": "Wrong implementations", "findings": "Findings", "cases": "False, open and vacuous statements"}


def _index(book) -> dict:
    """The index; where it would be too large, parts of it stand on pages of their own (answers: on those of their papers)."""
    book = replace(book, here=INDEX)
    top = overview.lead(book) + overview.warnings(book) + frameworks.link(book)
    parts = {"answers": "".join(overview.answer(book, paper) for paper in book.papers),
             "legend": overview.legend() if book.entries else "",
             "cases": overview.cases(book), "calibration": overview.calibration(book), "claims": _claims(book),
             "findings": _findings(book), "bugs": _bugs(book, book.claims)}
    away, out = [], {}
    for key, title in _MOVED.items():
        if layout.fits(layout.size(top + "".join(parts.values()))):
            break
        body = parts.pop(key)
        if title and body:
            name = f"{INDEX.removesuffix('.html')}.{key}.html"
            away.append(f'<a href="{name}">{title}</a>')
            back = f'<p class="back"><a href="{INDEX}">← all verdicts</a></p>\n'
            out[name] = _frame(book, title, back + paper_opening.search([]) + overview.contents(body) + body)
    if not layout.fits(layout.size(top + "".join(parts.values()))):
        parts["claims"] = _claims(book, brief=True)
    body = "".join(parts.values())
    return {INDEX: _frame(book, "Verdicts on printed theorems", top + overview.contents(body, away) + body), **out}


def _opening(book, papers) -> tuple:
    """(what stands above the contents of a paper's page, what stands below them)."""
    out = "".join(paper_opening.byline(book, paper) for paper in papers)
    out += f'<p class="back"><a href="{INDEX}">← all verdicts, what the words mean, and the table of claims</a></p>\n'
    out += paper_opening.search(papers) + "".join(overview.answer(book, paper) for paper in papers)
    out += '<ul class="papers">\n' + "".join(overview.of_paper(book, paper) for paper in papers) + "</ul>\n"
    below = "".join(paper_opening.notation(book, p) + paper_opening.experiments(book, p) for p in papers)
    return out, below + _bugs(book, [c for c in book.claims if c.paper in papers], "engine")


def _paper(book, name, papers, planned) -> dict:
    """The pages of the papers that share a name: nearly always one paper."""
    here = replace(book, here=name)
    above, below = _opening(here, papers)
    parts = list({s.mark: s for sheet in planned for s, _ in sheet.parts}.values())
    body = above + paper_opening.contents(here, parts) + below
    title, out = paper_opening.title(book, papers), {}
    if planned and not planned[0].title:
        body += _UNFOLD + planned[0].html(here)
    out[name] = _frame(here, title, body)
    for at, sheet in enumerate(s for s in planned if s.title):
        ways = [f'<a href="{name}">← {inline(title)}</a>', f'<a href="{INDEX}">all verdicts</a>']
        ways += [f'<a href="{planned[k].name}">{way} {inline(planned[k].title)}</a>'
                 for k, way in ((at - 1, "previous:"), (at + 1, "next:")) if 0 <= k < len(planned)]
        there = replace(book, here=sheet.name)
        body = f'<p class="back">{" · ".join(ways)}</p>\n{paper_opening.search(papers)}{_UNFOLD}{sheet.html(there)}'
        out[sheet.name] = _frame(there, f"{sheet.title} — {title}", body)
    return out


def pages(records) -> dict:
    """The pages by file name: the index, the gallery of frameworks, one for each paper, and where that would be too large one for
    each section.

    Every claim and finding stands on one of them in full. No page has more than `layout.BYTES` or `layout.ELEMENTS`.
    """
    book = Book.of(records)
    shared: dict = {}
    for paper in book.papers:
        shared.setdefault(page_of(paper), []).append(paper)
    planned = {}
    for name, papers in shared.items():
        here = replace(book, here=name)
        parts = [s for p in papers for s in sections.of(here, p)]
        above = layout.size("".join(_opening(here, papers)) + paper_opening.contents(here, parts))
        planned[name] = layout.sheets(here, name, papers, above)
    book = replace(book, where={k: v for sheets in planned.values() for k, v in layout.placed(sheets).items()})
    out = _index(book)
    if book.galleries:
        out[frameworks.PAGE] = _frame(book, frameworks.TITLE, frameworks.body(book))
    for name, papers in shared.items():
        out |= _paper(book, name, papers, planned[name])
    return out
