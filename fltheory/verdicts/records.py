"""What a run says, typed: one record for each claim, instance, finding, answer, paper, calibration, gallery and run.

`to_json` gives a line of verdicts.jsonl; `read` takes such a line back or refuses it (see `typed`), so that whoever has a record
need not ask again.
"""
from __future__ import annotations

import hashlib
import json
import re
from dataclasses import field
from typing import Any, ClassVar
from urllib.parse import quote

from fltheory import __version__
from fltheory.core.errors import BadInput, shown
from fltheory.verdicts.parts import Comparison, Condition, Mutant, Outcome, ProofStep, Reached, Searched, Step, Tightest
from fltheory.verdicts.typed import Known, Name, Number, Range, Record, Words

INDEX = "index.html"
ENGINE = "engine"  # the folder of claims about the toolkit itself: no paper, and counted apart


# ---- entries ----------------------------------------------------------------------------------------------
class Entry(Record):
    """What claims and findings have in common."""

    id: str = ""
    paper: str = ""
    place: str = ""
    kind: str = ""
    word: str = ""
    expected: str = ""
    as_expected: Known = None
    says: str = ""
    surprises: list[str] = field(default_factory=list)
    reading: str = ""
    survives: str = ""
    script: Name = ""
    script_source: Name = ""
    script_output: Name = ""
    seconds: Number = 0.0
    declares: ClassVar[tuple] = ()  # what else is declared of it
    _middle: ClassVar[str] = ""

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.id}"

    @property
    def unexpected(self) -> bool:
        """Whether the verdict differs from the expected one; a record with no expectation never does."""
        return bool(self.expected) and self.expected != self.word if self.as_expected is None else not self.as_expected

    @property
    def sentence(self) -> str:
        """The plain sentence of its ledger row."""
        return self.says.strip()

    @property
    def derived(self) -> bool:
        """Whether the statement is not printed in the paper but was added here (a correction, a sharper form)."""
        return self.place == "derived"

    @property
    def anchor(self) -> str:
        """The permanent name of the record's section: of its type, paper and id alone, and safe in an attribute."""
        # Other characters are replaced by their number, so that "a b" and "a+b" stay apart.
        return re.sub(r"[^\w./:-]", lambda m: f"-{ord(m[0]):x}-", f"{self.paper}/{self._middle}{self.id}")

    @property
    def href(self) -> str:
        return "#" + quote(self.anchor, safe="/:")


class Claim(Entry):
    """A claim's word with everything it rests on, but for its instances."""

    type: ClassVar[str] = "claim"
    rare: ClassVar[tuple] = ("script", "script_source", "script_output", "reached", "tightest", "argued")
    declares: ClassVar[tuple] = ("statement", "instead", "finding")
    statement: str = ""
    domain: str = ""
    covers: dict = field(default_factory=dict)
    restricted: Known = None
    argued: list[str] = field(default_factory=list)  # names of `covers` that rest on the claim's own words
    label: str = ""
    evidence: str = ""
    scope: str = ""
    counts: dict = field(default_factory=dict)
    looseness: Range = field(default_factory=list)
    search: Searched | None = None
    reached: list[Reached] = field(default_factory=list)
    tightest: Tightest | None = None
    mutants: list[Mutant] = field(default_factory=list)
    proof: list[ProofStep] = field(default_factory=list)
    powerless: bool = False
    powerless_reason: str = ""
    dimensional: Outcome | None = None
    instead: Name = ""
    finding: Name = ""

    @property
    def badge(self) -> str:
        """The word, or the label that states how far it reaches."""
        return self.label or self.word

    @property
    def limited(self) -> bool:
        """Whether the word holds for some values only, as its label says: such verdicts are counted apart."""
        return self.label not in ("", self.word) if self.restricted is None else self.restricted

    @property
    def fates(self) -> dict:
        """Names of the mutants by status."""
        fates: dict[str, list[str]] = {}
        for mutant in self.mutants:
            fates.setdefault(mutant.status or "unknown", []).append(mutant.name or "(unnamed)")
        return fates

    @property
    def score(self) -> tuple:
        """(killed, all). An inapplicable mutant changes nothing, so it is no test and is not counted."""
        return (sum(m.status == "killed" for m in self.mutants), sum(m.status != "inapplicable" for m in self.mutants))


class Finding(Entry):
    """A finding's word and the steps of its procedure."""

    type: ClassVar[str] = "finding"
    rare: ClassVar[tuple] = ("surprises",)
    declares: ClassVar[tuple] = ("breaks", "step", "corrected", "script")
    breaks: Name = ""
    step: str = ""
    corrected: Name = ""
    procedure: list[Step] = field(default_factory=list)
    _middle: ClassVar[str] = "finding/"
    label: ClassVar[str] = ""
    limited: ClassVar[bool] = False
    powerless: ClassVar[bool] = False

    @property
    def badge(self) -> str:
        return self.word

    @property
    def sentence(self) -> str:
        """Ledger rows of findings start with the claim they break, which is shown anyway."""
        sentence = self.says.strip()
        return sentence.removeprefix(f"{self.breaks}:").strip() if self.breaks else sentence


class Instance(Record):
    """A claim on one instance. data: the instance's numbers in words, where the statement fails on it."""

    type: ClassVar[str] = "instance"
    paper: str = ""
    claim: str = ""
    instance: str = ""
    status: str = ""
    evidence: str = ""
    reason: str = ""
    says: Words = ""
    data: dict = field(default_factory=dict)
    hypotheses: list[Condition] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    seconds: Number = 0.0


# ---- the rest of a run ------------------------------------------------------------------------------------
class Run(Record):
    """What made the other records. lost: what a dead worker left undecided; written: {paper: [claims and findings
    written, those in the ledger]}."""

    type: ClassVar[str] = "run"
    rare: ClassVar[tuple] = ("skipped_features",)
    version: str = ""
    date: str = ""
    python: str = ""
    libraries: dict = field(default_factory=dict)
    device: str = ""
    seconds: Number = None
    paths: list[str] = field(default_factory=list)
    quick: bool = False
    timeout: Number = None
    mutant: Name = ""
    lost: list[str] = field(default_factory=list)
    written: dict = field(default_factory=dict)
    skipped_features: list[str] = field(default_factory=list)


class Weighed(Record):
    """A claim or finding that a sentence rests on: the word relied on, and that of this run."""

    id: str = ""
    kind: str = ""
    relies: str = ""
    word: str = ""
    state: str = ""
    label: str = ""

    @property
    def badge(self) -> str:
        return self.label or self.word


class Sentence(Record):
    """A sentence of an answer. state: "carried", "lost", "not yet written" or "not run"."""

    text: str = ""
    part: str = ""
    state: str = ""
    reason: str = ""
    evidence: list[Weighed] = field(default_factory=list)


class Answer(Record):
    """What a paper comes to, in plain sentences."""

    type: ClassVar[str] = "answer"
    paper: str = ""
    title: str = ""
    sentences: list[Sentence] = field(default_factory=list)

    def told(self) -> tuple:
        """The sentences to show, as pairs (part, sentences), and how many the run did not decide."""
        parts: dict[str, list[Sentence]] = {}
        for s in self.sentences:
            if s.state != "not run":
                parts.setdefault(s.part, []).append(s)
        return list(parts.items()), sum(s.state == "not run" for s in self.sentences)


class Part(Record):
    """A section of a paper: how places name what stands there, and its first and last equation."""

    may_lack: ClassVar[tuple] = ("places", "equations")
    title: str = ""
    places: list[str] = field(default_factory=list)
    equations: Range = field(default_factory=list)


class Symbol(Record):
    """A symbol of a paper."""

    symbol: str = ""
    meaning: str = ""


class Assumption(Record):
    """An assumption of a paper."""

    name: str = ""
    says: str = ""


class Paper(Record):
    """What a folder says about its paper. experiments: lists of texts."""

    type: ClassVar[str] = "paper"
    may_lack: ClassVar[tuple] = ("title", "venue", "identifier", "version", "authors", "year", "sections", "notation",
                                 "assumptions", "experiments")
    paper: str = ""
    title: str = ""
    authors: list[str] = field(default_factory=list)
    year: Words = ""
    venue: str = ""
    identifier: str = ""
    version: str = ""
    sections: list[Part] = field(default_factory=list)
    notation: list[Symbol] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    experiments: dict[str, list[str]] = field(default_factory=dict)


class Calibrated(Record):
    """One of our own checks, repeated where nothing is wrong; `low` and `high` enclose its true false-alarm rate."""

    may_lack: ClassVar[tuple] = ("shift", "note")
    check: str = ""
    level: Number = None
    repetitions: int = 0
    alarms: int = 0
    low: Number = None
    high: Number = None
    power: Number = None
    shift: str = ""
    note: str = ""


class Family(Record):
    """All statistical comparisons of a run together."""

    comparisons: Number = None
    level: Number = None
    bound: Number = None


class Calibration(Record):
    """The table of calibrated checks."""

    type: ClassVar[str] = "calibration"
    rows: list[Calibrated] = field(default_factory=list)
    family: Family | None = None
    provenance: dict = field(default_factory=dict)
    failed: bool = False


class Framework(Record):
    """One algorithm of other people's code: what `identify` says of it, and the same rounds by hand in numpy.

    reconstruction: the lines were written anew after what `framework` names, which they give no verdict on. by_hand: who takes
    part in each round, the start, the calls of the listing, and the last models. Distances are the largest over these rounds.
    """

    may_lack: ClassVar[tuple] = ("reason",)
    framework: str = ""
    version: str = ""
    reconstruction: bool = False
    algorithm: str = ""
    call: str = ""
    compared_with: str = ""
    clients: str = ""
    verdict: str = ""
    named: str = ""
    fault: str = ""
    where: str = ""
    reading: str = ""
    reason: str = ""
    calls: Number = None
    replaced_by_the_adapter: dict = field(default_factory=dict)
    distance_from_numpy_as_said: Number = None
    distance_from_numpy_as_published: Number = None
    by_hand: dict = field(default_factory=dict)

    @property
    def anchor(self) -> str:
        """Of its entry on the page: of the name alone."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.framework} {self.algorithm}".lower()).strip("-") or "row"


class Gallery(Record):
    """Frameworks before `identify`. listing: the hand checks' numpy. put_in_place_by_the_adapters: by framework."""

    type: ClassVar[str] = "gallery"
    made_by: str = ""
    date: str = ""
    python: str = ""
    versions: dict = field(default_factory=dict)
    put_in_place_by_the_adapters: dict = field(default_factory=dict)
    rows: list[Framework] = field(default_factory=list)
    two_scalar_quadratics: dict = field(default_factory=dict)
    listing: str = ""


TYPES = {cls.type: cls for cls in (Run, Claim, Finding, Instance, Answer, Paper, Calibration, Gallery)}


def declared(kind, declaration, **verdict):
    """The record of a claim or finding: what was declared of it, and what was found out."""
    names = ("id", "paper", "place", "kind", "says", "reading", "survives", *kind.declares)
    return kind(**{name: getattr(declaration, name) or "" for name in names} | verdict)


def read(raw) -> Any:
    """The record of a line of JSON by its type; a record as it is. Raises BadInput for a line of another form."""
    if isinstance(raw, Record):
        return raw
    name = raw.get("type") if isinstance(raw, dict) else None
    kind = TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadInput(f"{shown(raw)} is a record of none of the types {', '.join(TYPES)}.")
    return kind.of(raw)


def read_all(lines, place="record") -> list[Record]:
    """The records of lines of JSON, of which the first says which version wrote them. Raises BadInput with place, number and
    field of the first that has another form."""
    records: list[Record] = []
    writer = ""
    try:
        for raw in lines:
            if isinstance(raw, dict) and raw.get("type") == Run.type:
                writer = f" fltheory {shown(raw.get('version'))} wrote it, this is {__version__}."
            records.append(read(raw))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{place} {len(records) + 1}: {str(error).rstrip('.')}.{writer} Run `fltheory verify` again.") from None
    return records


def of_file(path) -> list[Record]:
    """The records of a verdicts.jsonl. Raises BadInput for what cannot be read, with the line."""
    def lines():
        with open(path, encoding="utf-8") as handle:
            yield from map(json.loads, handle)
    return read_all(lines(), f"{path}, line")


def page_of(paper) -> str:
    """The page of a paper's entries: of its name alone, safe in every file system, never the index."""
    name = re.sub(r"[^A-Za-z0-9_-]", lambda m: f"-{ord(m[0]):x}-", str(paper)).lower() or "-"
    if len(name) > 80:
        name = f"{name[:60]}-{hashlib.sha256(str(paper).encode(errors='surrogatepass')).hexdigest()[:12]}"
    return f"{name}-.html" if name == INDEX.removesuffix(".html") else f"{name}.html"
