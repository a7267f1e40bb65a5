"""The front of the HTML page, for a reader who knows nothing: what was checked, what was found, what is false, open."""

import re
from functools import partial
from html import escape
from urllib.parse import urlencode

from fltheory.verdicts.records import INDEX, page_of
from fltheory.verdicts.report import checks
from fltheory.verdicts.report.book import finished, of_papers, tallies, word_table
from fltheory.verdicts.report.html_pieces import chip, named, says, table, verdict
from fltheory.verdicts.report.richtext import inline
from fltheory.verdicts.report.words import CLAIM_WORDS, TRUE_WORDS, look, plural, shorten, spelt

SHOWN = ("PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "OPEN")  # the words a front always explains
SITUATION = {
    "FALSE": ("False statements", "An example meets every hypothesis of the statement, and the statement fails there. "
              "Each entry says how it was read and how we could be wrong."),
    "OPEN": ("Open statements", "Neither proved nor refuted here."),
    "VACUOUS": ("Vacuous statements", "The hypotheses cannot be met, or imply the statement without any algorithm."),
}


def _tally(claims) -> str:
    """The verdicts of some claims in words, in the order in which a reader will ask for them."""
    phrases = {"SUPPORTED": "supported by evidence that is not a proof"}
    tally = tallies(claims)
    parts = []
    for word in (*SHOWN, *(w for w in dict.fromkeys(w for w, _, _ in tally) if w not in SHOWN)):
        for reach, count in [(r, n) for w, r, n in tally if w == word] or [("", 0)]:
            phrase = f"{count} {phrases.get(word) or escape(word.lower())}" + (f" ({reach})" if reach else "")
            parts.append(f"<strong>{phrase}</strong>" if word in (*TRUE_WORDS, "FALSE") else phrase)
    return f"{plural(len(claims), 'claim')}: {', '.join(parts)}"


def counts(claims, findings) -> str:
    """The verdicts of one section in a few words."""
    parts = [f"{look(word).mark} {count} {escape(word.lower())}" + (f" ({reach})" if reach else "")
             for word, reach, count in tallies(claims)]
    return " · ".join(parts + ([f"◆ {plural(len(findings), 'finding')}"] if findings else []))


def _shares(book, paper, claims) -> str:
    """One stretch per word, as wide as its share; each shows its claims in the table below."""

    def view(word):  # on the index the script filters the table at once
        chosen = urlencode({"paper": paper, "verdict": word}, errors="replace")
        return "#claims" if book.here == INDEX else f"{INDEX}#claims?{escape(chosen)}"

    parts = "".join(f'<a class="share {look(word).tone}" href="{view(label)}" data-paper="{escape(paper)}" '
                    f'data-word="{escape(label)}" style="flex-grow:{count}"><span aria-hidden="true">'
                    f"{look(word).mark}</span> {count} {escape(shorten(label.lower(), 40))}</a>"
                    for word, label, count in ((w, f"{w} ({r})" if r else w, n) for w, r, n in tallies(claims)))
    return f'<p class="shares">{parts}</p>' if parts else ""


def of_paper(book, paper) -> str:
    """What was found in one paper, as an item of a list."""
    claims = [c for c in book.claims if c.paper == paper]
    findings = [f for f in book.findings if f.paper == paper]
    page, name = page_of(paper), f"<b>{escape(paper or '(no paper)')}</b>"
    name = name if page == book.here else f'<a href="{page}">{name}</a>'
    out = f"<li>{name} — {_tally(claims)}."
    ours = sum(c.derived for c in claims)
    if ours:
        printed = len(claims) - ours
        out += f" {printed} {'is' if printed == 1 else 'are'} printed in the paper, {ours} "
        out += f"{'was' if ours == 1 else 'were'} added here: corrections and sharper forms."
    if findings:
        confirmed = sum(f.word == "CONFIRMED" for f in findings)
        out += f" {confirmed} of {plural(len(findings), 'finding')} confirmed."
    powerless = sum(c.powerless for c in claims)
    out += f" {powerless} flagged powerless." if powerless else ""
    return out + _shares(book, paper, claims) + "</li>\n"


def lead(book) -> str:
    """What was checked and what was found, per paper."""
    if not book.entries:
        return '<p class="lead">There are no records.</p>\n'
    printed = of_papers(book.claims)
    true = [c for c in printed if c.word in TRUE_WORDS]
    established, limited = len(true), sum(c.limited for c in true)
    within = f", {limited} of them only as far as their badge says" if limited else ""
    papers, of_engine = {c.paper for c in printed}, len(book.claims) - len(printed)
    further = f" {plural(of_engine, 'further claim')} about the program itself: what watches the checks." if of_engine else ""
    out = (
        f'<p class="lead">{plural(len(printed), "claim")} from {plural(len(papers), "paper")} '
        f"{'was' if len(printed) == 1 else 'were'} checked; "
        f"{established} {'is' if established == 1 else 'are'} established as true{within}.{further}</p>\n"
        "<p>The papers state theorems about federated optimisation, in which many clients train one model without "
        "pooling their data. A program took each algorithm as its paper writes it, derived what it does, and compared "
        "this with what the paper states: by proofs, exact arithmetic, searches for counter-examples, and runs.</p>\n"
    )
    return out + _words(book) + '<ul class="papers">\n' + "".join(map(partial(of_paper, book), book.papers)) + "</ul>\n"


def _words(book) -> str:
    """How many papers are decided whole, and a table of papers and words."""
    used, rows = word_table(book)
    if not rows:
        return ""
    whole, papers = finished(book)
    cells = [[f'<a href="{page_of(p)}">{escape(p)}</a>' if p in papers else escape(p), str(sum(words.values())),
              *(str(words[w] or "") for w in used), confirmed] for p, words, confirmed in rows]
    return (f"<p>Every claim and finding listed is decided in <strong>{spelt(len(whole))} of {spelt(len(papers))} "
            f"{'paper' if len(papers) == 1 else 'papers'}</strong>.</p>\n" + table(
                ["paper", "claims", *map(str.lower, used), "findings confirmed"], cells, "words"))


MARKS = (
    "After each sentence stand the verdicts it rests on: ✓ proved or certified, ◐ supported, ✗ false, ◆ confirmed finding, "
    "? open."
)
def _evidence(book, paper, on) -> str:
    """One verdict that a sentence rests on: its mark and its id, as a link; figures and what is not yet written have none."""
    target = book.find(on.kind, paper, on.id)
    if target is None:
        label = f"{on.id}: not yet written" if on.kind in ("claim", "finding") else f"{on.kind} {on.id}"
        return f'<span class="ref neutral">{escape(label)}</span>'
    appearance, reach = look(on.word), on.label.removeprefix(on.word).strip()
    title = escape(" ".join(f"{on.id}: {on.badge}. {target.sentence}".split()))
    return (
        f'<a class="ref {appearance.tone}" href="{book.href(target)}" title="{title}" aria-label="{title}">'
        f'<span aria-hidden="true">{appearance.mark}</span> {escape(on.id)}{f" {inline(reach)}" if reach else ""}</a>'
    )


def _sentence(book, paper, sentence) -> str:
    out = inline(sentence.text)
    if sentence.state == "lost":
        why = escape(sentence.reason)
        out = f'<s>{out}</s> <strong class="unexpected">No longer carried by its evidence: {why}.</strong>'
    elif sentence.state == "not yet written":
        out += ' <em class="scope">Not yet checked.</em>'
    links = " ".join(_evidence(book, paper, on) for on in sentence.evidence)
    return f'<li>{out} <span class="refs">{links}</span></li>\n'


def _mark(paper) -> str:
    return f"answer-{page_of(paper).removesuffix('.html')}"


def answer(book, paper) -> str:
    """What a paper comes to, in plain sentences with the verdicts they rest on; empty if the records hold none."""
    out = ""
    for record in (a for a in book.answers if a.paper == paper):
        out += f'<h2 id="{_mark(paper)}">{inline(record.title) or escape(paper)}</h2>\n'
        out += f'<p class="note">{MARKS}</p>\n' if not out.count("note") else ""
        groups, aside = record.told()
        for part, sentences in groups:
            out += f"<h3>{inline(part)}</h3>\n" if part else ""
            out += '<ul class="answer">\n' + "".join(_sentence(book, paper, s) for s in sentences) + "</ul>\n"
        if aside:
            out += f"<p>{plural(aside, 'further sentence')} not shown: this run did not decide their evidence.</p>\n"
    return out


def contents(body, away=()) -> str:
    """Links to the parts of a page that is long, and to those that stand on pages of their own."""
    links = [f'<a href="#{mark}">{title}</a>' for mark, title in re.findall(r'<h2 id="([\w-]+)">(.*?)</h2>', body)]
    links += away
    return f'<p class="contents">{" · ".join(links)}</p>\n' if len(links) > 1 else ""


def _alarm(title, rows) -> str:
    return f'<aside class="alarm"><h2>{title}</h2><ul>{"".join(rows)}</ul></aside>\n'


def warnings(book) -> str:
    """What a reader must know before trusting the page: surprises, shortened searches, missing libraries."""
    out, wrong, lost = "", book.mismatches(), book.lost()
    if wrong:
        rows = [f'<li>{r.type} <a href="{book.href(r)}">{escape(r.name)}</a> {verdict(r)}</li>' for r in wrong]
        out += _alarm(f"{plural(len(wrong), 'verdict')} not as expected", rows)
    elif book.entries:
        out += "<p>Every verdict is as expected.</p>\n"
    if lost:
        rows = [f'<li><a href="#{_mark(p)}">{escape(p)}</a> {inline(s.text)} ({escape(s.reason)})</li>' for p, s in lost]
        out += _alarm(f"{plural(len(lost), 'sentence')} no longer carried by the evidence", rows)
    if any(run.quick for run in book.runs):
        out += "<p><strong>This was a quick run: searches were shortened, and what takes long was left out.</strong></p>\n"
    if book.unfinished():
        out += f"<p><strong>{escape(book.unfinished())}.</strong></p>\n"
    skipped = [str(name) for run in book.runs for name in run.skipped_features]
    if skipped:
        out += f"<p>Not available where this ran, and so not checked: {escape(', '.join(skipped))}.</p>\n"
    if book.orphans:
        names = sorted({f"{i.paper}/{i.claim}" for i in book.orphans})
        out += f"<p>Left over: {plural(len(book.orphans), 'instance')} of no claim on this page ({escape(', '.join(names))}).</p>\n"
    return out


def legend() -> str:
    """The words in plain language: the common ones always, the others folded."""
    def rows(words):
        return "".join(f"<div><dt>{chip(w)}</dt><dd>{escape(look(w).gloss)}</dd></div>" for w in words)
    rest = [w for w in (*CLAIM_WORDS, "CONFIRMED", "NOT CONFIRMED") if w not in SHOWN]
    more = ("<p>POWERLESS marks a claim whose check would pass whatever the claim says. Looseness is how many times "
            "the right side exceeds the left. A mutant is a deliberate error put into the claim or into the program; "
            "it is killed when the check notices it.</p>")
    return (f'<h2 id="words">What the words mean</h2>\n<dl class="facts words">{rows(SHOWN)}</dl>\n'
            f'<details><summary>The other words</summary><dl class="facts words">{rows(rest)}</dl>{more}</details>\n')


def _case(book, claim, finding, instead) -> str:
    """One claim in plain words: what it says, what speaks against it, what is true instead."""
    out = f"<li>{named(book, claim)}"
    out += f' <span class="meta">{escape(claim.place)}</span>' if claim.place else ""
    # A reader who skims must not take a false sentence for a result.
    stated = '<span class="found">Stated:</span> ' if claim.word == "FALSE" else ""
    out += f"<br>{stated}{inline(claim.sentence)}" if claim.sentence else ""
    if finding is not None and finding.sentence:
        answer = f'<a href="{book.href(finding)}">What we found</a>: {inline(finding.sentence)}'
        out += f'<br><span class="found">{answer}</span>'
    if instead is not None:
        name = f'<a href="{book.href(instead)}">{escape(instead.id)}</a>'
        out += f'<br><span class="found">Instead: {name} {verdict(instead)}</span>'
    return out + "</li>\n"


def cases(book) -> str:
    """The false, open and vacuous statements, each with one plain sentence, by paper."""
    out = ""
    for word, (title, meaning) in SITUATION.items():
        those = book.cases(word)
        if not those:
            continue
        out += f'<h2 id="{word.lower()}">{title} ({len(those)})</h2>\n<p class="note">{meaning}</p>\n'
        for paper in [p for p in book.papers if any(claim.paper == p for claim, *_ in those)]:
            items = "".join(_case(book, *case) for case in those if case[0].paper == paper)
            out += f'<h3>{escape(paper or "(no paper)")}</h3>\n<ul class="cases">\n{items}</ul>\n'
    return out


def calibration(book) -> str:
    """How often our own checks alarm falsely, and what they notice."""
    out = ""
    for record in book.calibrations:
        body = []
        alarm = checks.alarm(record)
        for row in checks.rows(record):
            name, *rest = map(escape, row.cells)
            mark = "✗ " if row.excess else "✓ " if rest[-1] == "as announced" else "? "
            body.append([f"<strong>{name}</strong>{says(row.note)}", *rest[:-1], mark + rest[-1]])
        lead = f"<p>{checks.LEAD}</p>\n" if body else ""
        out += f"{lead}<p>{escape(checks.summary(record))} {escape(checks.family(record))}</p>\n"
        out += f'<p class="unexpected">{escape(alarm)}</p>\n' if alarm else ""
        out += table(checks.HEAD, body, "stack")
        origin = checks.provenance(record)
        out += f'<p class="meta">{escape(origin)}</p>\n' if origin else ""
    return f'<h2 id="calibration">How sure are our own checks</h2>\n{out}' if out else ""
