"""The sections of the HTML page: one per claim and one per finding."""

import json
from html import escape

from . import cite
from . import records as rec
from .parts import COLUMNS, bars, chip, facts, fold, link, number, script, side, table, verdict
from .richtext import block, inline

# Longer tables start folded, so that a page with many instances can still be read from top to bottom.
_LONG = 8
_CASES = 4  # instances, and comparisons of each, that are spelt out
_DATA = 600  # characters of one number of an instance
_DENIED = {"at most": "is not at most", "less than": "is not less than", "equal": "does not equal",
           "equivalent": "is not equivalent to"}


def _head(book, record) -> str:
    paper, name, mark = rec.text(record, "paper"), rec.text(record, "id"), rec.anchor(record)
    meta = " · ".join(escape(rec.text(record, key)) for key in ("place", "kind") if rec.text(record, key))
    scope = inline(rec.text(record, "scope"))
    scope = f' <span class="scope">{scope}</span>' if scope else ""
    return (
        f'<section class="entry" id="{mark}">\n'
        f'<h3><a href="{book.href(record)}"><span class="paper">{escape(paper)}/</span>{escape(name)}</a></h3>\n'
        f'<p class="meta">{meta}</p>\n<p class="verdict">{verdict(record)}{scope}</p>\n'
    )


def _doubt(record) -> str:
    reading, survives = block(rec.text(record, "reading")), block(rec.text(record, "survives"))
    reading = reading or "<p>The record does not say how the statement was read.</p>"
    survives = survives and f'<p class="label">Nearest reading under which it survives</p>{survives}'
    return (
        '<aside class="doubt"><h4>How we could be wrong</h4>'
        f'<p class="label">How the statement was read</p>{reading}{survives}</aside>\n'
    )


def _data(record) -> str:
    """The numbers of an instance, where its record holds them."""
    data = record.get("data")
    data = data if isinstance(data, dict) else {}
    return facts([(inline(str(name)), number(value, _DATA)) for name, value in data.items()], raw=True)


def _fails(instances) -> str:
    """Where a false statement fails: what the instance is, and each failing comparison by name with both exact sides."""
    out, failing = "", [r for r in instances if rec.text(r, "status") == "FALSIFIED"]
    for record in failing[:_CASES]:
        says = inline(rec.text(record, "says"))
        out += f"<h4>{escape(rec.text(record, 'instance'))}</h4>\n" + (f"<p>{says}</p>\n" if says else "") + _data(record)
        wrong = [c for c in rec.items(record, "comparisons") if rec.text(c, "status") == "FALSIFIED"]
        rows = "".join(
            f'<li><b>{inline(rec.text(c, "label")) or "the statement"}</b> fails: <span class="side">{side(c, "lhs")}</span> '
            f'<span class="rel">{escape(_DENIED.get(rec.text(c, "relation"), rec.text(c, "relation")))}</span> '
            f'<span class="side">{side(c, "rhs")}</span></li>\n' for c in wrong[:_CASES])
        more = f"<li>and {len(wrong) - _CASES} more, in the table below</li>\n" if len(wrong) > _CASES else ""
        out += f"<ul>\n{rows}{more}</ul>\n" if rows else ""
    if len(failing) > _CASES:
        out += f"<p>It fails on {len(failing) - _CASES} more instances, in the table below.</p>\n"
    return f'<div class="fails"><h4>Where it fails</h4>\n{out}</div>\n' if out else ""


def _unmet(instances) -> str:
    """The hypotheses that do not hold, by name and instance, so that nobody has to unfold a table to learn it."""
    missed = {}
    for record in instances:
        for hypothesis in rec.items(record, "hypotheses"):
            if hypothesis.get("holds") is False:
                missed.setdefault(rec.text(hypothesis, "name") or "(no name)", []).append(rec.text(record, "instance"))
    said = []
    for name, where in missed.items():
        listed = ", ".join(where[:_CASES]) + (f" and {len(where) - _CASES} more" if len(where) > _CASES else "")
        said.append(f"<li><b>{escape(name)}</b> on {escape(listed)}</li>\n")
    lead = '<p class="label">Hypotheses that do not hold, so that the instance does not count</p>\n'
    return f'{lead}<ul class="unmet">\n{"".join(said)}</ul>\n' if said else ""


def _instances(instances, most) -> str:
    """Where a statement fails is shown first."""
    failing = [r for r in instances if rec.text(r, "status") == "FALSIFIED"]
    rest = [r for r in instances if rec.text(r, "status") != "FALSIFIED"]
    short = sum(max(1, len(rec.items(r, "comparisons"))) for r in instances) <= _LONG
    if short or not failing or not rest:
        return _instance_table("Instances", failing + rest, short, most)
    first = _instance_table("Instances on which it fails", failing, True, most)
    return first + _instance_table("Other instances", rest, False, most)


def _cut(rows, most) -> tuple:
    """The first rows, and a line that says how many are left to the records."""
    left = len(rows) - most if most else 0
    note = f"<p>{rec.plural(left, 'further row')} in the records, verdicts.jsonl.</p>\n" if left > 0 else ""
    return rows[:most], note


def _instance_table(title, instances, is_open, most) -> str:
    rows = []
    for record in instances:
        says = inline(rec.text(record, "says"))
        name = f"<strong>{escape(rec.text(record, 'instance'))}</strong>"
        name += f'<span class="says">{says}</span>' if says else ""
        comparisons = rec.items(record, "comparisons")
        if not comparisons:
            reason = f'<span class="says">{inline(rec.text(record, "reason"))}</span>'
            status = chip(rec.text(record, "status")) + reason
            rows.append([name, "", "", "", "", escape(rec.text(record, "evidence")), status])
        for at, comparison in enumerate(comparisons):
            label = inline(rec.text(comparison, "label"))
            detail = inline(rec.text(comparison, "detail") or (rec.text(record, "reason") if at == 0 else ""))
            first = name if at == 0 else f"<strong>{escape(rec.text(record, 'instance'))}</strong>"
            rows.append(
                [
                    first + (f'<span class="says">{label}</span>' if label else ""),
                    side(comparison, "lhs"),
                    escape(rec.text(comparison, "relation")),
                    side(comparison, "rhs"),
                    number(comparison.get("margin"), 16),
                    escape(rec.text(comparison, "evidence") or rec.text(record, "evidence")),
                    chip(rec.text(comparison, "status") or rec.text(record, "status"))
                    + (f'<span class="says">{detail}</span>' if detail else ""),
                ]
            )
    rows, note = _cut(rows, most)
    return fold(f"{title} ({len(instances)})", table(COLUMNS["instances"], rows, "instances") + note, is_open)


def _holds(value) -> str:
    known = {True: "✓ holds", False: "✗ does not hold"}
    return known[value] if isinstance(value, bool) else "? unknown"


def _hypotheses(instances, most) -> str:
    rows, failing, told = [], 0, set()
    for record in instances:
        for hypothesis in rec.items(record, "hypotheses"):
            failing += hypothesis.get("holds") is False
            name, statement = escape(rec.text(hypothesis, "name")), inline(rec.text(hypothesis, "statement"))
            # In words it is said once, at its first instance: twenty instances would repeat it twenty times.
            statement = "" if (name, statement) in told else told.add((name, statement)) or statement
            rows.append(
                [
                    escape(rec.text(record, "instance")),
                    name + (f'<span class="says">{statement}</span>' if statement else ""),
                    number(hypothesis.get("lhs")),
                    number(hypothesis.get("rhs")),
                    number(hypothesis.get("margin"), 16),
                    _holds(hypothesis.get("holds")),
                ]
            )
    state = f"{failing} {'does' if failing == 1 else 'do'} not hold" if failing else "all hold or are unknown"
    if rows and all("✓" in row[-1] for row in rows):
        state = "all hold"
    title = f"Hypotheses with both numbers ({rec.plural(len(rows), 'check')}; {state})"
    rows, note = _cut(rows, most)
    return fold(title, table(COLUMNS["hypotheses"], rows, "hypotheses") + note)


def _mutants(claim) -> str:
    every = rec.items(claim, "mutants")
    if not every:
        return ""
    marks = {
        "killed": "✓ killed",
        "survived": "✗ survived",
        "unstable": "? unstable",
        "inapplicable": "– inapplicable",
    }
    rows = [
        [
            escape(marks.get(rec.text(m, "status"), rec.text(m, "status"))),
            f"<code>{escape(rec.text(m, 'name'))}</code>",
            escape(rec.text(m, "kind")),
            escape(rec.text(m, "by")),
            inline(rec.text(m, "detail")),
        ]
        for m in every
    ]
    killed, counted = rec.mutant_score(claim)
    survived = rec.mutants(claim).get("survived", [])
    title = f"Mutants: {killed} of {counted} killed" if counted else "Mutants: none applies"
    title += f"; survived: {escape(', '.join(survived))}" if survived else ""
    return fold(title, table(COLUMNS["mutants"], rows, "mutants"), len(rows) <= 6)


def _search(claim) -> str:
    search = claim.get("search")
    if not isinstance(search, dict):
        return ""
    families = search.get("families")
    listed = ", ".join(f"{n} {f}" for f, n in families.items()) if isinstance(families, dict) else ""
    found = search.get("found")
    out = f"{escape(rec.text(search, 'tries') or '?')} tries" + (f" ({escape(listed)})" if listed else "")
    if found in (None, {}, []):
        return out + "; no counterexample found"
    shown = json.dumps(found, indent=1, ensure_ascii=False, default=str, sort_keys=True)
    return out + f"; <strong>a counterexample was found</strong><pre>{escape(shown)}</pre>"


def _counts(claim) -> str:
    counts = claim.get("counts")
    if not isinstance(counts, dict):
        return ""
    return escape(", ".join(f"{n} {str(w).replace('_', ' ').lower()}" for w, n in counts.items() if n))


def _dimensional(claim) -> str:
    check = claim.get("dimensional")
    if not isinstance(check, dict):
        return ""
    detail = inline(rec.text(check, "detail"))
    return escape(rec.text(check, "status")) + (f": {detail}" if detail else "")


def claim(book, record, most=None) -> str:
    """The section of a claim; most: rows that each of its tables shows (None: all)."""
    instances = book.of_claim(record)
    false = rec.text(record, "word") == "FALSE"
    statement, says = block(rec.text(record, "statement")), inline(rec.says(record))
    out = _head(book, record)
    out += f'<p class="plain-words">{says}</p>\n' if says else ""
    out += f'<blockquote class="statement">{statement}</blockquote>\n' if statement else ""
    powerless = inline(rec.text(record, "powerless_reason")) or "no reason recorded"
    out += facts(
        [
            ("Domain", inline(rec.text(record, "domain"))),
            ("Evidence", escape(rec.text(record, "evidence"))),
            ("Instances", _counts(record)),
            ("Looseness", escape(rec.looseness(record))),
            ("Search", _search(record)),
            ("Dimensions", _dimensional(record)),
            ("Powerless", powerless if record.get("powerless") else ""),
            ("Reading", "" if false else inline(rec.text(record, "reading"))),
            ("Survives as", "" if false else inline(rec.text(record, "survives"))),
            ("Corrected statement", link(book, record, "instead", "claim")),
            ("Finding", link(book, record, "finding", "finding")),
        ]
    )
    out += _fails(instances) + _doubt(record) if false else ""
    out += _instances(instances, most) + _unmet(instances) + _hypotheses(instances, most)
    picture = bars(instances[:most])
    out += fold("Terms of each bound", picture, picture.count('class="row"') <= _LONG)
    return out + _mutants(record) + script(record) + _end(book, record)


def finding(book, record, most=None) -> str:
    """The section of a finding; most: as for a claim, of its steps."""
    says = block(rec.says(record))
    out = _head(book, record)
    out += f'<blockquote class="statement">{says}</blockquote>\n' if says else ""
    out += facts(
        [
            ("Breaks", link(book, record, "breaks", "claim")),
            ("Step", inline(rec.text(record, "step"))),
            ("Corrected statement", link(book, record, "corrected", "claim")),
        ]
    )
    if rec.text(record, "reading") or rec.text(record, "survives"):
        out += _doubt(record)
    marks = {"ok": "✓ ok", "failed": "✗ failed", "skipped": "– skipped"}
    rows = [
        [
            inline(rec.text(s, "step")),
            escape(marks.get(rec.text(s, "status"), rec.text(s, "status"))),
            inline(rec.text(s, "detail")),
        ]
        for s in rec.items(record, "procedure")
    ][:most]
    out += fold("Procedure", table(["Step", "Status", "Detail"], rows), True)
    return out + script(record) + _end(book, record)


def _end(book, record) -> str:
    """The line to copy into a bibliography, and the way back."""
    return f'<p class="cite">Cite as: <span class="copy">{escape(cite.line(record, book.run))}</span></p>\n' + (
        f'<p class="back"><a href="#top">↑ top</a> · <a href="{rec.INDEX}">all verdicts</a></p>\n</section>\n'
    )
