"""The entries of the HTML pages: one per claim and one per finding."""

import json
from functools import partial
from html import escape

from fltheory.verdicts.comparison_text import Hand, comparison_row, hypothesis_row
from fltheory.verdicts.records import INDEX, Claim
from fltheory.verdicts.report import cite, range_ends
from fltheory.verdicts.report.html_pieces import (COLUMNS, bars, chip, facts, fold, link, number, says, script, side,
                                                  table, verdict)
from fltheory.verdicts.report.richtext import block, inline, symbols
from fltheory.verdicts.report.words import cut_digits, factors, plain, plural

# Longer tables start folded, so that a page with many instances can still be read from top to bottom.
_LONG = 8
_CASES = 4  # instances, and comparisons of each, that are spelt out
_DATA = 600  # characters of one number of an instance
_HAND = Hand(lambda text: escape(plain(text)), side, partial(number, limit=16),
             {True: "✓ holds", False: "✗ does not hold", None: "? unknown"})
_DENIED = {"at most": "is not at most", "less than": "is not less than", "equal": "does not equal",
           "equivalent": "is not equivalent to"}


def _head(book, entry, scope="") -> str:
    meta = " · ".join(escape(v) for v in (entry.place, entry.kind) if v)
    scope = f' <span class="scope">{inline(scope)}</span>' if scope else ""
    return (
        f'<section class="entry" id="{entry.anchor}">\n'
        f'<h3><a href="{book.href(entry)}"><span class="paper">{escape(entry.paper)}/</span>{escape(entry.id)}</a></h3>\n'
        f'<p class="meta">{meta}</p>\n<p class="verdict">{verdict(entry)}{scope}</p>\n'
    )


def _doubt(entry) -> str:
    reading = block(entry.reading) or "<p>The record does not say how the statement was read.</p>"
    survives = block(entry.survives)
    survives = survives and f'<p class="label">Nearest reading under which it survives</p>{survives}'
    return (
        '<aside class="doubt"><h4>How we could be wrong</h4>'
        f'<p class="label">How the statement was read</p>{reading}{survives}</aside>\n'
    )


def _fails(instances) -> str:
    """Where a false statement fails: what the instance is, and each failing comparison by name with both exact sides."""
    out, failing = "", [i for i in instances if i.status == "FALSIFIED"]
    for i in failing[:_CASES]:
        out += f"<h4>{symbols(i.instance)}</h4>\n" + (f"<p>{inline(i.says)}</p>\n" if i.says else "")
        out += facts([(inline(str(name)), number(value, _DATA)) for name, value in i.data.items()], raw=True)
        wrong = [c for c in i.comparisons if c.status == "FALSIFIED"]
        rows = "".join(
            f'<li><b>{inline(c.label) or "the statement"}</b> fails: <span class="side">{side(c.lhs, c.lhs_float)}</span> '
            f'<span class="rel">{escape(_DENIED.get(c.relation, plain(c.relation)))}</span> '
            f'<span class="side">{side(c.rhs, c.rhs_float)}</span></li>\n' for c in wrong[:_CASES])
        more = f"<li>and {len(wrong) - _CASES} more, in the table below</li>\n" if len(wrong) > _CASES else ""
        out += f"<ul>\n{rows}{more}</ul>\n" if rows else ""
    if len(failing) > _CASES:
        out += f"<p>It fails on {len(failing) - _CASES} more instances, in the table below.</p>\n"
    return f'<div class="fails"><h4>Where it fails</h4>\n{out}</div>\n' if out else ""


def _unmet(instances) -> str:
    """The hypotheses that do not hold, by name and instance, so that nobody has to unfold a table to learn it."""
    missed: dict = {}
    for i in instances:
        for h in i.hypotheses:
            if h.holds is False:
                missed.setdefault(h.name or "(no name)", []).append(i.instance)
    items = []
    for name, where in missed.items():
        listed = ", ".join(where[:_CASES]) + (f" and {len(where) - _CASES} more" if len(where) > _CASES else "")
        items.append(f"<li><b>{escape(name)}</b> on {escape(listed)}</li>\n")
    lead = '<p class="label">Hypotheses that do not hold, so that the instance does not count</p>\n'
    return f'{lead}<ul class="unmet">\n{"".join(items)}</ul>\n' if items else ""


def _instances(instances, most) -> str:
    """Where a statement fails is shown first."""
    failing = [i for i in instances if i.status == "FALSIFIED"]
    rest = [i for i in instances if i.status != "FALSIFIED"]
    short = sum(max(1, len(i.comparisons)) for i in instances) <= _LONG
    if short or not failing or not rest:
        return _instance_table("Instances", failing + rest, short, most)
    first = _instance_table("Instances on which it fails", failing, True, most)
    return first + _instance_table("Other instances", rest, False, most)


def _cut(name, rows, most) -> str:
    """A table of the first rows, and a line that says how many are left to the records."""
    left = len(rows) - most if most else 0
    note = f"<p>{plural(left, 'further row')} in the records, verdicts.jsonl.</p>\n" if left > 0 else ""
    return table(COLUMNS[name], rows[:most], name) + note


def _instance_table(title, instances, is_open, most) -> str:
    rows = []
    for i in instances:
        name = f"<strong>{symbols(i.instance)}</strong>"
        if not i.comparisons:
            status = f'{chip(i.status)}<span class="says">{inline(i.reason)}</span>'
            rows.append([name + says(i.says), "", "", "", "", escape(i.evidence), status])
        for at, c in enumerate(i.comparisons):
            _, *middle, _ = comparison_row(c, _HAND)
            rows.append([name + (says(i.says) if at == 0 else "") + says(c.label), *middle,
                         chip(c.status) + says(c.detail or (i.reason if at == 0 else ""))])
    return fold(f"{title} ({len(instances)})", _cut("instances", rows, most), is_open)


def _hypotheses(instances, most) -> str:
    rows, stated = [], set()
    states = [h.holds for i in instances for h in i.hypotheses]
    for i in instances:
        for h in i.hypotheses:
            # In words it is said once, at its first instance: twenty instances would repeat it twenty times.
            statement = "" if (h.name, h.statement) in stated else h.statement
            stated.add((h.name, h.statement))
            rows.append([symbols(i.instance), symbols(h.name) + says(statement), *hypothesis_row(h, _HAND)[1:]])
    failing = states.count(False)
    state = "all hold" if all(states) else "all hold or are unknown"
    state = f"{failing} {'does' if failing == 1 else 'do'} not hold" if failing else state
    title = f"Hypotheses with both numbers ({plural(len(rows), 'check')}; {state})"
    return fold(title, _cut("hypotheses", rows, most))


def _mutants(claim) -> str:
    if not claim.mutants:
        return ""
    marks = {"killed": "✓ killed", "survived": "✗ survived", "unstable": "? unstable", "inapplicable": "– inapplicable"}
    rows = [[escape(marks.get(m.status, m.status)), f"<code>{escape(m.name)}</code>", escape(m.kind), escape(m.by),
             inline(m.detail)] for m in claim.mutants]
    killed, counted = claim.score
    survived = claim.fates.get("survived", [])
    title = f"Mutants: {killed} of {counted} killed" if counted else "Mutants: none applies"
    title += f"; survived: {escape(', '.join(survived))}" if survived else ""
    return fold(title, table(COLUMNS["mutants"], rows, "mutants"), len(rows) <= 6)


def _proof(steps) -> str:
    """The proof line by line: what each step says, on what it rests, how it is known, on how many coded rounds it was tried."""
    marks = {"HOLDS": "✓ ", "FALSIFIED": "✗ "}
    rows = [[f"<strong>{symbols(s.name)}</strong>{' (concludes)' * bool(s.concludes)}" + says(s.says), symbols(cut_digits(s.shown)),
             escape(marks.get(s.status, "? ") + s.rule) + says(", ".join(map(str, s.uses))) + says(s.detail),
             str(s.tested or "")] for s in steps]
    return fold(f"Proof ({plural(len(steps), 'step')})", table(COLUMNS["proof"], rows, "proof"),
                len(steps) <= 2 * _LONG) if steps else ""


def _search(search) -> str:
    if search is None:
        return ""
    if not search.found:
        return escape(search.said) + "; no counterexample found"
    example = json.dumps(search.found, indent=1, ensure_ascii=False, default=str, sort_keys=True)
    return escape(search.said) + f"; <strong>a counterexample was found</strong><pre>{escape(example)}</pre>"


def _ends(claim) -> str:
    items = "".join(f"<li>{inline(text)}</li>" for text in range_ends.sentences(claim))
    return f"<ul>{items}</ul>" if items else ""


def _tightest(claim) -> str:
    sentence = inline(range_ends.tightest(claim))
    return sentence + (f": <code>{escape(claim.tightest.data)}</code>" if sentence and claim.tightest.data else "")


def _dimensional(test) -> str:
    return escape(test.status) + (f": {inline(test.detail)}" if test.detail else "") if test else ""


def claim(book, record, most=None) -> str:
    """The section of a claim; most: rows that each of its tables shows (None: all)."""
    instances = book.of_claim(record)
    false = record.word == "FALSE"
    powerless = inline(record.powerless_reason) or "no reason recorded"
    counts = ", ".join(f"{n} {str(w).replace('_', ' ').lower()}" for w, n in record.counts.items() if n)
    out = _head(book, record, record.scope)
    out += f'<p class="plain-words">{inline(record.sentence)}</p>\n' if record.sentence else ""
    out += f'<blockquote class="statement">{block(record.statement)}</blockquote>\n' if record.statement else ""
    out += facts([
        ("Domain", inline(record.domain)),
        ("Evidence", escape(record.evidence)),
        ("Instances", escape(counts)),
        ("Looseness", factors(record.looseness)),
        ("Search", _search(record.search)),
        ("Tested from end to end", _ends(record)),
        ("Tightest", _tightest(record)),
        ("Dimensions", _dimensional(record.dimensional)),
        ("Powerless", powerless if record.powerless else ""),
        ("Reading", "" if false else inline(record.reading)),
        ("Survives as", "" if false else inline(record.survives)),
        ("Corrected statement", link(book, record, "claim", record.instead)),
        ("Finding", link(book, record, "finding", record.finding)),
    ])
    out += _fails(instances) + _doubt(record) if false else ""
    out += _proof(record.proof)
    out += _instances(instances, most) + _unmet(instances) + _hypotheses(instances, most)
    picture = bars(instances[:most])
    out += fold("Terms of each bound", picture, picture.count('class="row"') <= _LONG)
    return out + _mutants(record) + script(record) + _end(book, record)


def finding(book, record, most=None) -> str:
    """The section of a finding; most: as for a claim, of its steps."""
    out = _head(book, record)
    out += f'<blockquote class="statement">{block(record.sentence)}</blockquote>\n' if record.sentence else ""
    out += facts([
        ("Breaks", link(book, record, "claim", record.breaks)),
        ("Step", inline(record.step)),
        ("Corrected statement", link(book, record, "claim", record.corrected)),
    ])
    if record.reading or record.survives:
        out += _doubt(record)
    marks = {"ok": "✓ ok", "failed": "✗ failed", "skipped": "– skipped"}
    rows = [[inline(s.step), escape(marks.get(s.status, s.status)), inline(cut_digits(s.detail))] for s in record.procedure][:most]
    out += fold("Procedure", table(["Step", "Status", "Detail"], rows), True)
    return out + script(record) + _end(book, record)


def entry(book, record, most=None) -> str:
    """The section of a claim or finding."""
    return (claim if isinstance(record, Claim) else finding)(book, record, most)


def _end(book, record) -> str:
    """The line to copy into a bibliography, and the way back."""
    return f'<p class="cite">Cite as: <span class="copy">{escape(cite.line(record, book.run))}</span></p>\n' + (
        f'<p class="back"><a href="#top">↑ top</a> · <a href="{INDEX}">all verdicts</a></p>\n</section>\n'
    )
