"""How a verdict is cited: computed from its record and the record of the run, never typed."""

import re

from . import records as rec

AUTHOR = "fltheory project"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# Inside the braces of an entry only these characters mean something; unbalanced braces would end it.
_TEX = {
    "\\": r"\textbackslash ",
    "{": "(",
    "}": ")",
    "~": r"\textasciitilde ",
    "^": r"\textasciicircum ",
    **{c: "\\" + c for c in "%&#$_"},
}


def date(run) -> str:
    """The day on which the verdicts were made, ``YYYY-MM-DD``; empty if the run did not record one."""
    found = _DATE.match(rec.text(run, "date"))
    return found[0] if found else ""


def _title(record) -> str:
    name = rec.flat(f"{rec.text(record, 'paper')}/{rec.text(record, 'id')}")
    return f"{name}: {rec.flat(rec.text(record, 'word')) or '(no word)'}"


def line(record, run) -> str:
    """One line to copy: what was decided, by which version, when (if recorded), and the permanent anchor."""
    version, day = rec.flat(rec.text(run, "version")), date(run)
    made = ["fltheory" + (f" {version}" if version else "")] + ([f"verdicts of {day}"] if day else [])
    place = rec.flat(rec.text(record, "place"))
    return (
        f"{AUTHOR}. {_title(record)}{f' ({place})' if place else ''}. {', '.join(made)}, "
        f"{rec.page_of(rec.text(record, 'paper'))}{rec.href(record)}"
    )


def _tex(value) -> str:
    return "".join(_TEX.get(c, c) for c in rec.flat(value))


def bibtex(record, run) -> str:
    """The same as a BibTeX entry (``@misc``)."""
    key = "fltheory:" + re.sub(r"[^A-Za-z0-9./:-]", "-", rec.anchor(record))
    kind = "finding" if record.get("type") == "finding" else "claim"
    place = rec.text(record, "place")
    where = f" ({place})" if place and not rec.derived(record) else ""
    day = date(run)
    fields = {
        "author": "{" + AUTHOR + "}",
        "title": "{" + _tex(_title(record)) + "}",
        "version": _tex(rec.text(run, "version")),
        "year": day[:4],
        "date": day,
        "note": _tex(
            f"{kind} {rec.text(record, 'id')}{where} of paper {rec.text(record, 'paper')}; "
            f"permanent anchor {rec.page_of(rec.text(record, 'paper'))}{rec.href(record)}"
        ),
    }
    body = "".join(f"  {name:<7} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{body}}}"
