"""The report as one HTML page: nothing is fetched, and no record can put markup into it."""

import base64
import hashlib
from html import escape

from . import entries
from . import records as rec
from .assets import SCRIPT, STYLE
from .parts import chip, link, table, verdict
from .richtext import inline


def _policy() -> str:
    """A second lock behind the escaping: only the page's own script may run, and nothing is loaded."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


def _tally(claims) -> str:
    """The verdicts of some claims in words, in the order in which a reader will ask for them."""
    counts = rec.word_counts(claims)
    proved, certified = counts.pop("PROVED", 0), counts.pop("CERTIFIED", 0)
    parts = [
        f"<strong>{proved} proved</strong>",
        f"<strong>{certified} certified</strong>",
        f"{counts.pop('SUPPORTED', 0)} supported by evidence that is not a proof",
        f"<strong>{counts.pop('FALSE', 0)} false</strong>",
        f"{counts.pop('OPEN', 0)} open",
    ]
    vacuous = counts.pop("VACUOUS", 0)
    if vacuous:
        parts.append(f"{vacuous} vacuous")
    parts += [f"{count} {escape(word.lower())}" for word, count in sorted(counts.items())]
    return f"{rec.plural(len(claims), 'claim')}: {', '.join(parts)}"


def _front(book) -> str:
    out = ""
    if not book.claims and not book.findings:
        return '<p class="lead">There are no records.</p>\n'
    established = sum(rec.word_counts(book.claims)[word] for word in rec.TRUE_WORDS)
    papers = {rec.text(c, "paper") for c in book.claims}
    out += (
        f'<p class="lead">{rec.plural(len(book.claims), "claim")} from {rec.plural(len(papers), "paper")} '
        f"{'was' if len(book.claims) == 1 else 'were'} checked; "
        f"{established} {'is' if established == 1 else 'are'} established as true.</p>\n"
    )
    out += '<ul class="papers">\n'
    for paper in book.papers:
        claims = [c for c in book.claims if rec.text(c, "paper") == paper]
        findings = [f for f in book.findings if rec.text(f, "paper") == paper]
        confirmed = sum(rec.text(f, "word") == "CONFIRMED" for f in findings)
        out += f"<li><b>{escape(paper or '(no paper)')}</b> — {_tally(claims)}."
        if findings:
            out += f" {confirmed} of {rec.plural(len(findings), 'finding')} confirmed."
        powerless = sum(bool(c.get("powerless")) for c in claims)
        out += f" {powerless} flagged powerless." if powerless else ""
        out += "</li>\n"
    return out + "</ul>\n"


def _warnings(book) -> str:
    out = ""
    wrong = book.mismatches()
    if wrong:
        rows = "".join(
            f'<li>{escape(r["type"])} <a href="{rec.href(r)}">{escape(rec.text(r, "paper"))}/'
            f"{escape(rec.text(r, 'id'))}</a> {verdict(r)}</li>"
            for r in wrong
        )
        title = f"{rec.plural(len(wrong), 'verdict')} not as expected"
        out += f'<aside class="alarm"><h2>{title}</h2><ul>{rows}</ul></aside>\n'
    elif book.claims or book.findings:
        out += "<p>Every verdict is as expected.</p>\n"
    if any(run.get("quick") for run in book.runs):
        out += "<p><strong>This was a quick run: searches were shortened.</strong></p>\n"
    skipped = [str(name) for run in book.runs for name in run.get("skipped_features") or []]
    if skipped:
        out += f"<p>Not available where this ran, and so not checked: {escape(', '.join(skipped))}.</p>\n"
    if book.orphans or book.unknown:
        names = sorted({f"{rec.text(i, 'paper')}/{rec.text(i, 'claim')}" for i in book.orphans})
        out += (
            f"<p>Left over: {rec.plural(len(book.orphans), 'instance')} of no claim on this page "
            f"({escape(', '.join(names)) or 'none'}); {rec.plural(book.unknown, 'record')} of an unknown type.</p>\n"
        )
    return out


def _options(values) -> str:
    return "".join(f'<option value="{escape(v)}">{escape(v)}</option>' for v in values)


def _loosest(claim):
    value = claim.get("looseness")
    numbers = [rec.as_float(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    return max((n for n in numbers if n is not None), default=None)


def _claims(book) -> str:
    if not book.claims:
        return ""
    head = ["Claim", "Paper", "Place", "Verdict", "Evidence", "Looseness", "Mutants killed"]
    words = sorted(
        {rec.text(c, "word") for c in book.claims}, key=lambda w: (rec.CLAIM_WORDS + (w,)).index(w)
    )
    rows = []
    for at, claim in enumerate(book.claims):
        killed, every = rec.mutant_score(claim)
        loosest = _loosest(claim)
        keys = [at, rec.text(claim, "paper"), rec.text(claim, "place"), words.index(rec.text(claim, "word"))]
        keys += [
            rec.text(claim, "evidence"),
            "" if loosest is None else loosest,
            killed / every if every else "",
        ]
        attributes = "".join(f' data-k{place}="{escape(str(key))}"' for place, key in enumerate(keys))
        attributes += (
            f' data-paper="{escape(rec.text(claim, "paper"))}" data-word="{escape(rec.text(claim, "word"))}"'
        )
        attributes += ' data-unexpected="1"' if rec.mismatch(claim) else ""
        # A verdict is only as wide as its scope, so the two are never shown apart.
        scope = inline(rec.text(claim, "scope"))
        scope = f'<span class="says">{scope}</span>' if scope else ""
        cells = [f'<a href="{rec.href(claim)}">{escape(rec.text(claim, "id") or "(no id)")}</a>']
        cells += [escape(rec.text(claim, "paper")), escape(rec.text(claim, "place")), verdict(claim) + scope]
        cells += [escape(rec.text(claim, "evidence")), escape(rec.looseness(claim))]
        cells += [f"{killed} of {every}" if every else ""]
        rows.append((attributes, cells))
    papers = sorted({rec.text(c, "paper") for c in book.claims}, key=rec.natural)
    controls = (
        '<form class="controls" id="controls" hidden>'
        '<label>Search <input type="search" id="f-text"></label>'
        f'<label>Paper <select id="f-paper"><option value="">all</option>{_options(papers)}</select></label>'
        f'<label>Verdict <select id="f-word"><option value="">all</option>{_options(words)}</select></label>'
        f'<label>Sort by <select id="f-sort">'
        + "".join(f'<option value="{at}">{escape(name)}</option>' for at, name in enumerate(head))
        + '</select></label><label class="check"><input type="checkbox" id="f-unexpected"> only unexpected</label>'
        '<output id="f-count"></output></form>\n'
    )
    return "<h2>Claims</h2>\n" + controls + table(head, rows, "stack", ' id="claims"')


def _findings(book) -> str:
    rows = [
        [
            f'<a href="{rec.href(f)}">{escape(rec.text(f, "id") or "(no id)")}</a>',
            *[escape(rec.text(f, key)) for key in ("paper", "place", "kind")],
            verdict(f),
            link(book, f, "breaks", "claim"),
        ]
        for f in book.findings
    ]
    return (
        "<h2>Findings</h2>\n"
        + table(["Finding", "Paper", "Place", "Kind", "Verdict", "Breaks"], rows, "stack")
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
    return (f"<h2>Wrong implementations</h2>\n{lead}\n" + table(["Bug", "What it does", "Rejected by", "Missed by"], rows, "stack"))


def _legend() -> str:
    words = (*rec.CLAIM_WORDS, "CONFIRMED", "NOT CONFIRMED")
    rows = "".join(
        f"<div><dt>{chip(word)}</dt><dd>{escape(rec.look(word).gloss)}</dd></div>" for word in words
    )
    more = (
        "<p>POWERLESS marks a claim whose check would pass whatever the claim says. Looseness is how many times "
        "the right side exceeds the left. A mutant is a deliberate error put into the claim or into the program; "
        "it is killed when the check notices it.</p>"
    )
    return f'<details><summary>What the words mean</summary><dl class="facts words">{rows}</dl>{more}</details>\n'


def _colophon(book) -> str:
    out = ""
    for run in book.runs:
        libraries = run.get("libraries")
        listed = ", ".join(f"{k} {v}" for k, v in libraries.items()) if isinstance(libraries, dict) else ""
        seconds = rec.as_float(run.get("seconds"))
        paths = ", ".join(map(str, run.get("paths") or []))
        parts = [
            f"fltheory {rec.text(run, 'version')}",
            f"Python {rec.text(run, 'python')}" if rec.text(run, "python") else "",
            listed,
            f"device {rec.text(run, 'device')}" if rec.text(run, "device") else "",
            f"{seconds:.1f} s" if seconds is not None else "",
            f"records of {paths}" if paths else "",
        ]
        out += f"<p>{escape('; '.join(filter(None, parts)))}</p>\n"
    return f"<footer>\n{out}</footer>\n" if out else ""


def page(records) -> str:
    """The whole page as a string of HTML."""
    book = rec.Book.of(records)
    sections = "".join(entries.claim(book, c) for c in book.claims)
    body = _front(book) + _warnings(book)
    body += _legend() if book.claims or book.findings else ""
    body += _claims(book) + _findings(book) + _bugs(book)
    body += f"<h2>Claim by claim</h2>\n{sections}" if sections else ""
    found = "".join(entries.finding(book, f) for f in book.findings)
    body += f"<h2>Finding by finding</h2>\n{found}" if found else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Verdicts on printed theorems</title>\n'
        f"<style>{STYLE}</style>\n</head>\n"
        f'<body>\n<main id="top">\n<h1>Verdicts on printed theorems</h1>\n{body}{_colophon(book)}</main>\n'
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
