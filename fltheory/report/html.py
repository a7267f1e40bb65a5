"""The report as one HTML page: nothing is fetched, and no record can put markup into it."""

import base64
import hashlib
from html import escape

from . import cite, entries, front
from . import records as rec
from .assets import SCRIPT, STYLE
from .parts import link, table, verdict
from .richtext import inline


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


def _loosest(claim):
    value = claim.get("looseness")
    numbers = [rec.as_float(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    return max((n for n in numbers if n is not None), default=None)


def _row(claim, at, words) -> tuple:
    """The attributes of a claim's row and, by heading, its cells with their sort keys."""
    killed, every = rec.mutant_score(claim)
    loosest, word = _loosest(claim), rec.text(claim, "word")
    # A verdict is only as wide as its scope, so the two are never shown apart.
    scope, says = inline(rec.text(claim, "scope")), inline(rec.says(claim))
    name = f'<a href="{rec.href(claim)}">{escape(rec.text(claim, "id") or "(no id)")}</a>'
    cells = {
        "Claim": (name + (f'<span class="says">{says}</span>' if says else ""), at),
        "Paper": (escape(rec.text(claim, "paper")), rec.text(claim, "paper")),
        "Place": (escape(rec.text(claim, "place")), rec.text(claim, "place")),
        "Verdict": (verdict(claim) + (f'<span class="says">{scope}</span>' if scope else ""), words.index(word)),
        "Evidence": (escape(rec.text(claim, "evidence")), rec.text(claim, "evidence")),
        "Looseness": (escape(rec.looseness(claim)), "" if loosest is None else loosest),
        "Mutants killed": (f"{killed} of {every}" if every else "", killed / every if every else ""),
    }
    attributes = f' data-paper="{escape(rec.text(claim, "paper"))}" data-word="{escape(word)}"'
    return attributes + (' data-unexpected="1"' if rec.mismatch(claim) else ""), cells


def _claims(book) -> str:
    if not book.claims:
        return ""
    words = sorted(
        {rec.text(c, "word") for c in book.claims}, key=lambda w: (rec.CLAIM_WORDS + (w,)).index(w)
    )
    made = [_row(claim, at, words) for at, claim in enumerate(book.claims)]
    # A column without any entry (a quick run kills no mutants) only takes width from the others.
    head = [h for h in made[0][1] if h == "Claim" or any(cells[h][0] for _, cells in made)]
    rows = []
    for attributes, cells in made:
        keys = "".join(f' data-k{at}="{escape(str(cells[h][1]))}"' for at, h in enumerate(head))
        rows.append((keys + attributes, [cells[h][0] for h in head]))
    papers = sorted({rec.text(c, "paper") for c in book.claims}, key=rec.natural)
    controls = (
        '<form class="controls" id="controls" hidden>'
        '<label>Search <input type="search" id="f-text"></label>'
        f'<label>Paper <select id="f-paper"><option value="">all</option>{_options(papers)}</select></label>'
        f'<label>Verdict <select id="f-word"><option value="">all</option>{_options(words)}</select></label>'
        f'<label>Sort by <select id="f-sort">'
        + "".join(f'<option value="{at}">{escape(name)}</option>' for at, name in enumerate(head))
        + '</select></label><label class="check"><input type="checkbox" id="f-unexpected"> only unexpected</label>'
        '<button type="button" id="f-reset">Show all</button>'
        '<output id="f-count"></output> <a id="f-link" href="#claims">Link to this view</a></form>\n'
    )
    return "<h2>Claims</h2>\n" + controls + table(head, rows, "stack", ' id="claims"')


def _findings(book) -> str:
    rows = [
        [
            f'<a href="{rec.href(f)}">{escape(rec.text(f, "id") or "(no id)")}</a>'
            + (f'<span class="says">{inline(rec.says(f))}</span>' if rec.says(f) else ""),
            *[escape(rec.text(f, key)) for key in ("paper", "place", "kind")],
            verdict(f),
            link(book, f, "breaks", "claim"),
        ]
        for f in book.findings
    ]
    return (
        "<h2>Findings</h2>\n"
        + table(["Finding", "Paper", "Place", "Kind", "Verdict", "Breaks"], rows, "stack", ' id="findings"')
        if rows
        else ""
    )


def _bugs(book) -> str:
    def names(claims):
        return ", ".join(f'<a href="{rec.href(c)}">{escape(rec.text(c, "id"))}</a>' for c in claims)
    rows = [
        [f'<code style="white-space:nowrap">{escape(name)}</code>', escape(detail), names(killed), names(missed)]
        for name, (detail, killed, missed) in rec.bugs(book.claims).items()
    ]
    if not rows:
        return ""
    lead = "<p>Each catalogued bug was swapped into the instances of the claims that name it.</p>"
    head = ["Bug", "What it does", "Rejected by", "Missed by"]
    return f"<h2>Wrong implementations</h2>\n{lead}\n" + table(head, rows, "stack")


def _colophon(book) -> str:
    out = ""
    for run in book.runs:
        libraries = run.get("libraries")
        listed = ", ".join(f"{k} {v}" for k, v in libraries.items()) if isinstance(libraries, dict) else ""
        seconds = rec.as_float(run.get("seconds"))
        paths = ", ".join(map(str, rec.listed(run, "paths")))
        parts = [
            f"fltheory {rec.text(run, 'version')}",
            f"Python {rec.text(run, 'python')}" if rec.text(run, "python") else "",
            listed,
            f"device {rec.text(run, 'device')}" if rec.text(run, "device") else "",
            f"{seconds:.1f} s" if seconds is not None else "",
            f"made on {cite.date(run)}" if cite.date(run) else "",
            f"records of {paths}" if paths else "",
        ]
        out += f"<p>{escape('; '.join(filter(None, parts)))}</p>\n"
    return f"<footer>\n{out}</footer>\n" if out else ""


def page(records) -> str:
    """The whole page as a string of HTML."""
    book = rec.Book.of(records)
    sections = "".join(entries.claim(book, c) for c in book.claims)
    body = front.lead(book) + front.warnings(book)
    body += front.legend() if book.claims or book.findings else ""
    body += front.cases(book) + front.calibration(book)
    body += _claims(book) + _findings(book) + _bugs(book)
    body += f"<h2>Claim by claim</h2>\n{_UNFOLD}{sections}" if sections else ""
    found = "".join(entries.finding(book, f) for f in book.findings)
    body += f"<h2>Finding by finding</h2>\n{found}" if found else ""
    return rec.shown(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Verdicts on printed theorems</title>\n'
        f"<style>{STYLE}</style>\n</head>\n"
        f'<body>\n<main id="top">\n<h1>Verdicts on printed theorems</h1>\n{body}{_colophon(book)}</main>\n'
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
