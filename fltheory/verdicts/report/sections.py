"""The entries of a paper by the paper's own sections: read from the place of each ledger row."""

import re
from dataclasses import dataclass, field

from fltheory.verdicts.records import Claim
from fltheory.verdicts.report.words import natural

DERIVED = "Derived here: corrections and sharper forms"
_EQUATION = re.compile(r"\((\d+)\)|\b[Ee]qs? (\d+)")
_PART = re.compile(r"\b(Sec|App)(?:tion|endix)?\.? ?(\d+|[A-Z])\b")
_KINDS = {"Sec": "Section", "App": "Appendix"}


@dataclass
class Section:
    """One part of a paper with its claims and findings; `mark` names it in addresses."""

    title: str
    mark: str
    claims: list = field(default_factory=list)
    findings: list = field(default_factory=list)

    @property
    def entries(self) -> list:
        return self.claims + self.findings


def of(book, paper, used=None) -> list:
    """The sections of a paper that hold entries: in the order that its data file declares, else by name.

    used: marks that other sections of the same page have already; those given here are added.
    """
    declared = book.about(paper).sections
    named, titles = list(map(_names, declared)), [part.title for part in declared]
    by_title: dict = {}
    for entry in (e for e in book.entries if e.paper == paper):
        title = _title(entry.place, titles, named)
        section = by_title.setdefault(title, Section(title, ""))
        (section.claims if isinstance(entry, Claim) else section.findings).append(entry)
    ordered = sorted(by_title.values(), key=lambda s: _rank(s.title, titles))
    used = set() if used is None else used
    for section in ordered:
        section.mark = _mark(section.title, used)
    return ordered


def _names(part) -> tuple:
    """What is looked for in a place: names of sections, theorems and figures, and a range of equations."""
    places = [re.compile(rf"(?<![\w.]){re.escape(str(p))}(?!\w)") for p in part.places]
    ends = [n for n in part.equations if isinstance(n, int)]
    return places, range(ends[0], ends[1] + 1) if len(ends) == 2 else range(0)


def _title(place, titles, named) -> str:
    """The section of a place: the declared one that it names first (the longest name there), else by its own words."""
    if place in ("derived", ""):
        return DERIVED if place else "Without a place"
    hits = []
    for title, (places, equations) in zip(titles, named, strict=True):
        matches = [m for m in (p.search(place) for p in places) if m]
        hits += [(m.start(), -len(m[0]), title) for m in matches]
        hits += [(m.start(), 0, title) for m in _EQUATION.finditer(place) if int(m[1] or m[2]) in equations]
    if hits:
        return min(hits, key=lambda h: h[:2])[2]
    part = _PART.search(place)
    if part:
        return f"{_KINDS[part[1]]} {part[2]}"
    words = re.split(r",| \(", place)[0].strip()
    return "Equations" if _EQUATION.match(words) else words


def _rank(title, titles) -> tuple:
    if title in titles:
        return 0, titles.index(title), []
    group = next((g for g, start in ((1, "Section"), (3, "Appendix")) if title.startswith(start)), 2)
    return 4 if title == DERIVED else group, 0, natural(title)


def _mark(title, used) -> str:
    """A name for files and anchors: the words of the title before any colon, told apart by a number."""
    plain = re.sub(r"\$[^$]*\$", "", title.split(":")[0]).lower()
    stem = re.sub(r"[^a-z0-9]+", "-", plain)[:48].strip("-") or "section"
    mark, number = stem, 1
    while mark in used:
        number += 1
        mark = f"{stem}-{number}"
    used.add(mark)
    return mark
