"""How a verdict is cited: computed from its record and the record of the run, never typed."""

import re

from fltheory.verdicts.records import Run, page_of, read
from fltheory.verdicts.report.words import flat

AUTHOR = "fltheory project"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# Inside the braces of an entry only these characters mean something; unbalanced braces would end it.
_TEX = {"\\": r"\textbackslash ", "{": "(", "}": ")", "~": r"\textasciitilde ", "^": r"\textasciicircum ",
        **{c: "\\" + c for c in "%&#$_"}}


def date(run) -> str:
    """The day on which the verdicts were made, ``YYYY-MM-DD``; empty if the run did not record one."""
    match = _DATE.match(Run.of(run).date)
    return match[0] if match else ""


def _title(entry) -> str:
    return f"{flat(entry.name)}: {flat(entry.word) or '(no word)'}"


def _address(entry) -> str:
    return f"{page_of(entry.paper)}{entry.href}"


def line(record, run) -> str:
    """One line to copy: what was decided, by which version, when (if recorded), and the permanent anchor."""
    entry, version, day = read(record), flat(Run.of(run).version), date(run)
    source = ["fltheory" + (f" {version}" if version else "")] + ([f"verdicts of {day}"] if day else [])
    place = flat(entry.place)
    return f"{AUTHOR}. {_title(entry)}{f' ({place})' if place else ''}. {', '.join(source)}, {_address(entry)}"


def _tex(value) -> str:
    return "".join(_TEX.get(c, c) for c in flat(value))


def bibtex(record, run) -> str:
    """The same as a BibTeX entry (``@misc``)."""
    entry, day = read(record), date(run)
    key = "fltheory:" + re.sub(r"[^A-Za-z0-9./:-]", "-", entry.anchor)
    where = f" ({entry.place})" if entry.place and not entry.derived else ""
    fields = {
        "author": "{" + AUTHOR + "}",
        "title": "{" + _tex(_title(entry)) + "}",
        "version": _tex(Run.of(run).version),
        "year": day[:4],
        "date": day,
        "note": _tex(f"{entry.type} {entry.id}{where} of paper {entry.paper}; permanent anchor {_address(entry)}"),
    }
    body = "".join(f"  {name:<7} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{body}}}"
