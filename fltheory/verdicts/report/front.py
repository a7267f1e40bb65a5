"""The front of the HTML page, for a reader who knows nothing: what was checked, what was found, what is false, open."""

import re
from functools import partial
from html import escape
from urllib.parse import urlencode

from . import checks
from . import records as rec
from .parts import chip, table, verdict
from .richtext import inline

SHOWN = ("PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "OPEN")  # the words a front always explains
SITUATION = {
    "FALSE": ("False statements", "An example meets every hypothesis of the statement, and the statement fails there. "
              "Each entry says how it was read and how we could be wrong."),
    "OPEN": ("Open statements", "Neither proved nor refuted here."),
    "VACUOUS": ("Vacuous statements", "The hypotheses cannot be met, or imply the statement without any algorithm."),
}


def _tally(claims) -> str:
    """The verdicts of some claims in words, in the order in which a reader will ask for them."""
    named = {"SUPPORTED": "supported by evidence that is not a proof"}
    found = rec.tallies(claims)
    parts = []
    for word in (*SHOWN, *(w for w in dict.fromkeys(w for w, _, _ in found) if w not in SHOWN)):
        for reach, count in [(r, n) for w, r, n in found if w == word] or [("", 0)]:
            said = f"{count} {named.get(word) or escape(word.lower())}" + (f" ({reach})" if reach else "")
            parts.append(f"<strong>{said}</strong>" if word in (*rec.TRUE_WORDS, "FALSE") else said)
    return f"{rec.plural(len(claims), 'claim')}: {', '.join(parts)}"


def counts(claims, findings) -> str:
    """The verdicts of one section in a few words."""
    parts = [f"{rec.look(word).mark} {count} {escape(word.lower())}" + (f" ({reach})" if reach else "")
             for word, reach, count in rec.tallies(claims)]
    return " · ".join(parts + ([f"◆ {rec.plural(len(findings), 'finding')}"] if findings else []))


def _shares(book, paper, claims) -> str:
    """One stretch per word, as wide as its share; each shows its claims in the table below."""

    def view(word):  # on the index the script filters the table at once
        chosen = urlencode({"paper": paper, "verdict": word}, errors="replace")
        return "#claims" if book.here == rec.INDEX else f"{rec.INDEX}#claims?{escape(chosen)}"

    parts = "".join(
        f'<a class="share {rec.look(word).tone}" href="{view(said)}" data-paper="{escape(paper)}" '
        f'data-word="{escape(said)}" style="flex-grow:{count}"><span aria-hidden="true">'
        f"{rec.look(word).mark}</span> {count} {escape(rec.shorten(said.lower(), 40))}</a>"
        for word, said, count in ((w, f"{w} ({r})" if r else w, n) for w, r, n in rec.tallies(claims))
    )
    return f'<p class="shares">{parts}</p>' if parts else ""


def overview(book, paper) -> str:
    """What was found in one paper, as an item of a list."""
    claims = [c for c in book.claims if rec.text(c, "paper") == paper]
    findings = [f for f in book.findings if rec.text(f, "paper") == paper]
    page, name = rec.page_of(paper), f"<b>{escape(paper or '(no paper)')}</b>"
    name = name if page == book.here else f'<a href="{page}">{name}</a>'
    out = f"<li>{name} — {_tally(claims)}."
    ours = sum(map(rec.derived, claims))
    if ours:
        printed = len(claims) - ours
        out += f" {printed} {'is' if printed == 1 else 'are'} printed in the paper, {ours} "
        out += f"{'was' if ours == 1 else 'were'} added here: corrections and sharper forms."
    if findings:
        confirmed = sum(rec.text(f, "word") == "CONFIRMED" for f in findings)
        out += f" {confirmed} of {rec.plural(len(findings), 'finding')} confirmed."
    powerless = sum(bool(c.get("powerless")) for c in claims)
    out += f" {powerless} flagged powerless." if powerless else ""
    return out + _shares(book, paper, claims) + "</li>\n"


def lead(book) -> str:
    """What was checked and what was found, per paper."""
    if not book.claims and not book.findings:
        return '<p class="lead">There are no records.</p>\n'
    printed = rec.of_papers(book.claims)
    true = [c for c in printed if rec.text(c, "word") in rec.TRUE_WORDS]
    established, limited = len(true), sum(map(rec.restricted, true))
    within = f", {limited} of them only as far as their badge says" if limited else ""
    papers, own = {rec.text(c, "paper") for c in printed}, len(book.claims) - len(printed)
    further = f" {rec.plural(own, 'further claim')} about the program itself: what watches the checks." if own else ""
    out = (
        f'<p class="lead">{rec.plural(len(printed), "claim")} from {rec.plural(len(papers), "paper")} '
        f"{'was' if len(printed) == 1 else 'were'} checked; "
        f"{established} {'is' if established == 1 else 'are'} established as true{within}.{further}</p>\n"
        "<p>The papers state theorems about federated optimisation, in which many clients train one model without "
        "pooling their data. A program took each algorithm as its paper writes it, derived what it does, and compared "
        "this with what the paper states: by proofs, exact arithmetic, searches for counter-examples, and runs.</p>\n"
    )
    return out + '<ul class="papers">\n' + "".join(map(partial(overview, book), book.papers)) + "</ul>\n"


MARKS = (
    "After each sentence stand the verdicts it rests on: ✓ proved or certified, ◐ supported, ✗ false, ◆ confirmed finding, "
    "? open."
)
def _evidence(book, paper, raw) -> str:
    """One verdict that a sentence rests on: its mark and its id, as a link; figures and what is not yet written have none."""
    name, word = rec.text(raw, "id"), rec.text(raw, "word")
    kind = rec.text(raw, "kind")
    target = book.find(kind, paper, name) if kind in ("claim", "finding") else None
    if target is None:
        label = f"{name}: not yet written" if kind in ("claim", "finding") else f"{kind} {name}"
        return f'<span class="ref neutral">{escape(label)}</span>'
    look, label = rec.look(word), rec.text(raw, "label")
    reach = label.removeprefix(word).strip()
    said = escape(" ".join(f"{name}: {label or word}. {rec.says(target)}".split()))
    return (
        f'<a class="ref {look.tone}" href="{book.href(target)}" title="{said}" aria-label="{said}">'
        f'<span aria-hidden="true">{look.mark}</span> {escape(name)}{f" {inline(reach)}" if reach else ""}</a>'
    )


def _sentence(book, paper, raw) -> str:
    state, text = rec.text(raw, "state"), inline(rec.text(raw, "text"))
    out = f"<s>{text}</s>" if state == "lost" else text
    if state == "lost":
        out += f' <strong class="unexpected">No longer carried by its evidence: {escape(rec.text(raw, "reason"))}.</strong>'
    elif state == "not yet written":
        out += ' <em class="scope">Not yet checked.</em>'
    links = " ".join(_evidence(book, paper, e) for e in rec.items(raw, "evidence"))
    return f'<li>{out} <span class="refs">{links}</span></li>\n'


def _mark(paper) -> str:
    return f"answer-{rec.page_of(paper).removesuffix('.html')}"


def answer(book, paper) -> str:
    """What a paper comes to, in plain sentences with the verdicts they rest on; empty if the records hold none."""
    out = ""
    for record in (a for a in book.answers if rec.text(a, "paper") == paper):
        out += f'<h2 id="{_mark(paper)}">{inline(rec.text(record, "title")) or escape(paper)}</h2>\n'
        out += f'<p class="note">{MARKS}</p>\n' if not out.count("note") else ""
        shown, aside = rec.told(record)
        for part, sentences in shown:
            out += f"<h3>{inline(part)}</h3>\n" if part else ""
            out += '<ul class="answer">\n' + "".join(_sentence(book, paper, s) for s in sentences) + "</ul>\n"
        if aside:
            out += f"<p>{rec.plural(aside, 'further sentence')} not shown: this run did not decide their evidence.</p>\n"
    return out


def contents(body, away=()) -> str:
    """Links to the parts of a page that is long, and to those that stand on pages of their own."""
    links = [f'<a href="#{mark}">{title}</a>' for mark, title in re.findall(r'<h2 id="([\w-]+)">(.*?)</h2>', body)]
    links += away
    return f'<p class="contents">{" · ".join(links)}</p>\n' if len(links) > 1 else ""


def warnings(book) -> str:
    """What a reader must know before trusting the page: surprises, shortened searches, missing libraries."""
    out = ""
    wrong = book.mismatches()
    if wrong:
        rows = "".join(
            f'<li>{escape(r["type"])} <a href="{book.href(r)}">{escape(rec.text(r, "paper"))}/'
            f"{escape(rec.text(r, 'id'))}</a> {verdict(r)}</li>"
            for r in wrong
        )
        title = f"{rec.plural(len(wrong), 'verdict')} not as expected"
        out += f'<aside class="alarm"><h2>{title}</h2><ul>{rows}</ul></aside>\n'
    elif book.claims or book.findings:
        out += "<p>Every verdict is as expected.</p>\n"
    lost = book.lost()
    if lost:
        rows = "".join(
            f'<li><a href="#{_mark(p)}">{escape(p)}</a> '
            f"{inline(rec.text(s, 'text'))} ({escape(rec.text(s, 'reason'))})</li>"
            for p, s in lost
        )
        title = f"{rec.plural(len(lost), 'sentence')} no longer carried by the evidence"
        out += f'<aside class="alarm"><h2>{title}</h2><ul>{rows}</ul></aside>\n'
    if any(run.get("quick") for run in book.runs):
        out += "<p><strong>This was a quick run: searches were shortened.</strong></p>\n"
    if book.unfinished():
        out += f"<p><strong>{escape(book.unfinished())}.</strong></p>\n"
    skipped = [str(name) for run in book.runs for name in rec.listed(run, "skipped_features")]
    if skipped:
        out += f"<p>Not available where this ran, and so not checked: {escape(', '.join(skipped))}.</p>\n"
    if book.orphans or book.unknown:
        names = sorted({f"{rec.text(i, 'paper')}/{rec.text(i, 'claim')}" for i in book.orphans})
        out += (
            f"<p>Left over: {rec.plural(len(book.orphans), 'instance')} of no claim on this page "
            f"({escape(', '.join(names)) or 'none'}); {rec.plural(book.unknown, 'record')} of an unknown type.</p>\n"
        )
    return out


def legend() -> str:
    """The words in plain language: the common ones always, the others folded."""
    def rows(words):
        return "".join(f"<div><dt>{chip(w)}</dt><dd>{escape(rec.look(w).gloss)}</dd></div>" for w in words)
    rest = [w for w in (*rec.CLAIM_WORDS, "CONFIRMED", "NOT CONFIRMED") if w not in SHOWN]
    more = (
        "<p>POWERLESS marks a claim whose check would pass whatever the claim says. Looseness is how many times "
        "the right side exceeds the left. A mutant is a deliberate error put into the claim or into the program; "
        "it is killed when the check notices it.</p>"
    )
    return (
        f'<h2 id="words">What the words mean</h2>\n<dl class="facts words">{rows(SHOWN)}</dl>\n'
        f'<details><summary>The other words</summary><dl class="facts words">{rows(rest)}</dl>{more}</details>\n'
    )


def _case(book, claim) -> str:
    """One claim in plain words: what it says, what speaks against it, what is true instead."""
    paper = rec.text(claim, "paper")
    place = escape(rec.text(claim, "place"))
    out = f'<li><a href="{book.href(claim)}">{escape(rec.text(claim, "id") or "(no id)")}</a>'
    out += f' <span class="meta">{place}</span>' if place else ""
    # A reader who skims must not take a false sentence for a result.
    stated = '<span class="found">Stated:</span> ' if rec.text(claim, "word") == "FALSE" else ""
    out += f"<br>{stated}{inline(rec.says(claim))}" if rec.says(claim) else ""
    finding = book.find("finding", paper, rec.text(claim, "finding"))
    if finding is not None and rec.says(finding):
        found = f'<a href="{book.href(finding)}">What we found</a>: {inline(rec.says(finding))}'
        out += f'<br><span class="found">{found}</span>'
    instead = book.find("claim", paper, rec.text(claim, "instead"))
    if instead is not None:
        name = escape(rec.text(instead, "id"))
        out += f'<br><span class="found">Instead: <a href="{book.href(instead)}">{name}</a> {verdict(instead)}</span>'
    return out + "</li>\n"


def cases(book) -> str:
    """The false, open and vacuous statements, each with one plain sentence, by paper."""
    out = ""
    for word, (title, meaning) in SITUATION.items():
        those = [c for c in book.claims if rec.text(c, "word") == word]
        if not those:
            continue
        out += f'<h2 id="{word.lower()}">{title} ({len(those)})</h2>\n<p class="note">{meaning}</p>\n'
        for paper in dict.fromkeys(rec.text(c, "paper") for c in those):
            own = "".join(_case(book, c) for c in those if rec.text(c, "paper") == paper)
            out += f'<h3>{escape(paper or "(no paper)")}</h3>\n<ul class="cases">\n{own}</ul>\n'
    return out


def calibration(book) -> str:
    """How often our own checks alarm falsely, and what they notice."""
    out = ""
    for record in book.calibrations:
        body = []
        alarm = checks.alarm(record)
        for row in checks.rows(record):
            name, *rest = map(escape, row.cells)
            note = f'<span class="says">{inline(row.note)}</span>' if row.note else ""
            mark = "✗ " if row.excess else "✓ " if rest[-1] == "as announced" else "? "
            body.append([f"<strong>{name}</strong>{note}", *rest[:-1], mark + rest[-1]])
        lead = f"<p>{checks.LEAD}</p>\n" if body else ""
        out += f"{lead}<p>{escape(checks.summary(record))} {escape(checks.family(record))}</p>\n"
        out += f'<p class="unexpected">{escape(alarm)}</p>\n' if alarm else ""
        out += table(checks.HEAD, body, "stack")
        made = checks.provenance(record)
        out += f'<p class="meta">{escape(made)}</p>\n' if made else ""
    return f'<h2 id="calibration">How sure are our own checks</h2>\n{out}' if out else ""
