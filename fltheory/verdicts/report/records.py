"""What all writers share: grouping records, counting, naming anchors and shortening numbers."""

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote


class Look(NamedTuple):
    """How a verdict word is shown: a tone (colour), a mark (so colour is never alone) and a gloss."""

    tone: str
    mark: str
    gloss: str


# Only PROVED and CERTIFIED carry the tone "true": no other word may look like an established result.
WORDS = {
    "PROVED": Look("true", "✓", "true: there is a proof that the program checked"),
    "CERTIFIED": Look("true", "✓", "true on the scope stated beside it, by exact or enclosed arithmetic"),
    "SUPPORTED": Look("support", "◐", "no counterexample was met; this is evidence and not a proof"),
    "FALSE": Look("false", "✗", "false as read here: a witness refutes it"),
    "VACUOUS": Look("neutral", "∅", "nothing to check: it says nothing about any instance tried"),
    "OPEN": Look("neutral", "?", "not decided"),
    "ERROR": Look("error", "!", "the check itself failed, so there is no verdict"),
    "SKIPPED": Look("neutral", "–", "not run this time"),
    "CONFIRMED": Look("finding", "◆", "every step of the finding's procedure was reproduced"),
    "NOT CONFIRMED": Look("error", "◇", "the finding's procedure was not reproduced"),
    "HOLDS": Look("plain", "·", "the comparison holds on this instance"),
    "FALSIFIED": Look("false", "✗", "the comparison fails on this instance"),
    "OUT_OF_SCOPE": Look("neutral", "–", "a hypothesis fails, so the instance does not count"),
    "INCONCLUSIVE": Look("neutral", "?", "the two sides could not be told apart"),
}
INDEX = "index.html"
UNKNOWN = Look("neutral", "?", "a word this report does not know")
CLAIM_WORDS = ("PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "VACUOUS", "OPEN", "ERROR", "SKIPPED")
TRUE_WORDS = ("PROVED", "CERTIFIED")


def look(word) -> Look:
    return WORDS.get(str(word or ""), UNKNOWN)


def text(record, key) -> str:
    """The field as text; a missing or null field is the empty string."""
    value = record.get(key)
    return "" if value is None else str(value)


def items(record, key) -> list:
    """The dictionaries listed in a field; anything else (null, a string) counts as an empty list."""
    value = record.get(key)
    return [v for v in value if isinstance(v, dict)] if isinstance(value, (list, tuple)) else []


def listed(record, key) -> list:
    """The values listed in a field; anything that is no list counts as an empty one."""
    value = record.get(key)
    return list(value) if isinstance(value, (list, tuple)) else []


def natural(value):
    """Sort key under which ``thm2`` comes before ``thm10``."""
    return [(1, int(p), "") if p.isdecimal() else (0, 0, p) for p in re.split(r"(\d+)", str(value)) if p]


@dataclass
class Book:
    """The records of a run, sorted, so that two runs with the same content give the same page."""

    runs: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    calibrations: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    abouts: list = field(default_factory=list)
    instances: dict = field(default_factory=dict)
    orphans: list = field(default_factory=list)
    unknown: int = 0
    here: str = ""  # the page that is being written
    where: dict = field(default_factory=dict)  # the pages of entries that are not on their paper's own, by anchor

    @classmethod
    def of(cls, records) -> "Book":
        book = cls()
        lists = {"run": book.runs, "claim": book.claims, "finding": book.findings, "calibration": book.calibrations,
                 "answer": book.answers, "paper": book.abouts}
        loose = []
        for record in records or []:
            kind = record.get("type") if isinstance(record, dict) else None
            if kind == "instance":
                loose.append(record)
            elif kind in lists:
                lists[kind].append(record)
            else:
                book.unknown += 1
        for group in (book.claims, book.findings, book.answers):
            group.sort(key=lambda r: (natural(text(r, "paper")), natural(text(r, "id"))))
        known = {(text(c, "paper"), text(c, "id")) for c in book.claims}
        for record in sorted(loose, key=lambda r: natural(text(r, "instance"))):
            key = (text(record, "paper"), text(record, "claim"))
            if key in known:
                book.instances.setdefault(key, []).append(record)
            else:
                book.orphans.append(record)
        return book

    @property
    def run(self) -> dict:
        """The record of the run that made the others; empty if there is none."""
        return self.runs[0] if self.runs else {}

    @property
    def papers(self) -> list:
        return sorted({text(r, "paper") for r in self.claims + self.findings}, key=natural)

    def about(self, paper) -> dict:
        """What the folder says about the paper itself; empty if it says nothing."""
        return next((a for a in self.abouts if text(a, "paper") == paper), {})

    def page(self, record) -> str:
        """The page on which a record's entry stands."""
        return self.where.get(anchor(record)) or page_of(text(record, "paper"))

    def href(self, record) -> str:
        """The address of a record's entry, from the page that is being written."""
        there = self.page(record)
        return href(record) if there == self.here else there + href(record)

    def of_claim(self, claim) -> list:
        return self.instances.get((text(claim, "paper"), text(claim, "id")), [])

    def mismatches(self) -> list:
        return [r for r in self.claims + self.findings if mismatch(r)]

    def lost(self) -> list:
        """Pairs (paper, sentence) of answers that the verdicts of this run no longer carry."""
        return [(text(a, "paper"), s) for a in self.answers for s in items(a, "sentences") if s.get("state") == "lost"]

    def unfinished(self) -> str:
        """What the run could not decide because worker processes died, "" if there is nothing."""
        names = [flat(name) for run in self.runs for name in listed(run, "lost")]
        return f"{len(names)} not decided: {', '.join(names)} (the worker process died, and its successor too)" if names else ""

    def find(self, kind, paper, name):
        """The claim or finding called ``name`` in ``paper``; ``paper/name`` is understood as well."""
        group = self.claims if kind == "claim" else self.findings
        for record in group:
            here, own = text(record, "paper"), text(record, "id")
            if (here, own) == (paper, name) or f"{here}/{own}" == name:
                return record
        return None


def mismatch(record) -> bool:
    """Whether the verdict differs from the expected one; a record with no expectation never does."""
    if isinstance(record.get("as_expected"), bool):
        return not record["as_expected"]
    return bool(record.get("expected")) and text(record, "expected") != text(record, "word")


def anchor(record) -> str:
    """The permanent name of the record's section: of its type, paper and id alone, and safe in an attribute."""
    middle = "finding/" if record.get("type") == "finding" else ""
    name = f"{text(record, 'paper')}/{middle}{text(record, 'id')}"
    # Other characters are replaced by their number, so that "a b" and "a+b" stay apart.
    return re.sub(r"[^\w./:-]", lambda m: f"-{ord(m[0]):x}-", name)


def href(record) -> str:
    return "#" + quote(anchor(record), safe="/:")


def page_of(paper) -> str:
    """The page of a paper's entries: of its name alone, safe in every file system, never the index."""
    name = re.sub(r"[^A-Za-z0-9_-]", lambda m: f"-{ord(m[0]):x}-", str(paper)).lower() or "-"
    if len(name) > 80:
        name = f"{name[:60]}-{hashlib.sha256(str(paper).encode(errors='surrogatepass')).hexdigest()[:12]}"
    return f"{name}-.html" if name == INDEX.removesuffix(".html") else f"{name}.html"


def says(record) -> str:
    """The plain sentence of a ledger row; findings start theirs with the claim they break, which is shown anyway."""
    sentence, broken = text(record, "says").strip(), text(record, "breaks")
    return sentence.removeprefix(f"{broken}:").strip() if broken else sentence


def told(answer) -> tuple:
    """The sentences to show, as pairs (part, sentences), and how many the run did not decide."""
    parts, aside = {}, 0
    for sentence in items(answer, "sentences"):
        if sentence.get("state") == "not run":
            aside += 1
        else:
            parts.setdefault(text(sentence, "part"), []).append(sentence)
    return list(parts.items()), aside


def derived(claim) -> bool:
    """Whether the statement is not printed in the paper but was added here (a correction, a sharper form)."""
    return text(claim, "place") == "derived"


ENGINE = "engine"  # the folder of claims about the toolkit itself: no paper, and counted apart


def of_papers(records) -> list:
    """The claims or findings of papers."""
    return [r for r in records if text(r, "paper") != ENGINE]


def label(record) -> str:
    """What a badge shows: the word, or the label that states how far it reaches."""
    return text(record, "label") or text(record, "word")


def restricted(record) -> bool:
    """Whether the word holds for some values only, as its label says: such verdicts are counted apart."""
    known = record.get("restricted")
    return known if isinstance(known, bool) else text(record, "label") not in ("", text(record, "word"))


def tallies(records) -> list:
    """[(word, "" | "all" | "restricted", count)], known words first; a word is divided where one of its labels is."""
    words, limited = word_counts(records), word_counts([r for r in records if restricted(r)])
    out = []
    for word in (*CLAIM_WORDS, *sorted(set(words) - set(CLAIM_WORDS))):
        parts = [("all", words[word] - limited[word]), ("restricted", limited[word])] if limited[word] else [("", words[word])]
        out += [(word, reach, count) for reach, count in parts if count]
    return out


def mutants(claim) -> dict:
    """Names of the mutants by status."""
    found = {}
    for mutant in items(claim, "mutants"):
        found.setdefault(text(mutant, "status") or "unknown", []).append(text(mutant, "name") or "(unnamed)")
    return found


def bugs(claims, kind="bug") -> dict:
    """The matrix claims x catalogued bugs: name -> (what it does, claims that reject it, claims that miss it).

    kind: "bug" (wrong implementations of methods), or "engine" (wrong lines of this package).
    """
    out = {}
    for claim in claims:
        for mutant in items(claim, "mutants"):
            if isinstance(mutant, dict) and text(mutant, "kind") == kind:
                _, killed, missed = out.setdefault(text(mutant, "name"), (text(mutant, "detail"), [], []))
                {"killed": killed, "survived": missed}.get(text(mutant, "status"), []).append(claim)
    return dict(sorted(out.items()))


def mutant_score(claim) -> tuple:
    """(killed, all).  An inapplicable mutant changes nothing, so it is no test and is not counted."""
    found = mutants(claim)
    every = sum(len(names) for status, names in found.items() if status != "inapplicable")
    return len(found.get("killed", [])), every


def word_counts(records) -> Counter:
    return Counter(text(r, "word") or "(no word)" for r in records)


def as_float(value):
    """The value as a float when it is one (or reads as one), else ``None``; NaN counts as none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def show(value) -> str:
    """A number to four significant digits; text stays as it is."""
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return "NaN" if math.isnan(value) else f"{value:.4g}".replace("-", "−")
    return str(value)


def shorten(value, limit=44) -> str:
    """Long digit runs lose their middle, then a text that is still too long does."""
    full = show(value)
    if len(full) <= limit:
        return full
    short = re.sub(r"\d{17,}", lambda m: f"{m[0][:6]}…{m[0][-4:]}", full)
    half = (limit - 1) // 2
    return short if len(short) <= limit else f"{short[:half]}…{short[-half:]}"


def approximation(comparison, side) -> str:
    """The decimal shown next to an exact value; empty when the printed value is already a short decimal."""
    number = as_float(comparison.get(f"{side}_float"))
    exact = text(comparison, side)
    if number is None or (exact and as_float(exact) is not None and len(exact) <= 10):
        return ""
    return show(number)


def looseness(record) -> str:
    """How far above the left side the right side lies: a factor, or the range of factors."""
    value = record.get("looseness")
    if isinstance(value, (list, tuple)):
        numbers = [show(v if as_float(v) is None else as_float(v)) for v in value]
        return "×" + " to ×".join(dict.fromkeys(numbers)) if numbers else ""
    number = as_float(value)
    return "" if number is None else "×" + show(number)


# Control characters, lone surrogates (no encoding writes them) and marks that reverse the order of what follows.
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(page) -> str:
    """The text with characters that no page should hold replaced by a visible mark; newlines and tabs stay."""
    return _UNSHOWN.sub("\ufffd", page)


def flat(value) -> str:
    """One line that cannot drive a terminal or reorder what stands beside it."""
    return " ".join(_UNSHOWN.sub(" ", show(value)).split())


def plural(count, noun) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"
