"""Parts of records: what claims, instances and findings hold."""
from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from fltheory.verdicts.typed import Known, Name, Number, Record, Terms


class Comparison(Record):
    """Both sides of a relation as text and, where they have one, as a float."""

    label: str = ""
    relation: str = ""
    lhs: str = ""
    rhs: str = ""
    lhs_float: Number = None
    rhs_float: Number = None
    status: str = ""
    evidence: str = ""
    margin: Number = None
    looseness: Number = None
    terms: Terms = field(default_factory=dict)
    detail: str = ""


class Condition(Record):
    """A hypothesis on one instance, with both numbers."""

    name: str = ""
    statement: str = ""
    lhs: str = ""
    rhs: str = ""
    holds: Known = None
    margin: str = ""
    share: Number = None  # of a cap: how much of it is used
    rare: ClassVar[tuple] = ("share",)


class Mutant(Record):
    """A wrong statement or a wrong program, and what became of it. kind: "term", "bug" or "engine"."""

    name: str = ""
    kind: str = ""
    status: str = ""
    by: Name = ""
    detail: str = ""


class ProofStep(Record):
    """One step of a pencil proof. rule: hypothesis, definition, a standard inequality or how it follows; tested: coded rounds on
    which the fact was tried."""

    name: str = ""
    rule: str = ""
    says: str = ""
    shown: str = ""
    status: str = ""
    uses: list[str] = field(default_factory=list)
    tested: int = 0
    detail: str = ""
    concludes: Known = False


class Step(Record):
    """One step of a finding's procedure: status "ok", "failed", "skipped" or "inconclusive"."""

    step: str = ""
    status: str = ""
    detail: str = ""


class Outcome(Record):
    """How a test ended."""

    status: str = ""
    detail: str = ""


class Reached(Record):
    """One variable of a universal claim: the ends declared, the values tested, and why an end is out of reach."""

    variable: str = ""
    low: str = ""
    high: str = ""
    tested: str = ""
    beyond: list[str] = field(default_factory=list)


class Tightest(Record):
    """Where left/right of a bound was largest. at: {variable: value}; data: the instance that a search drew."""

    ratio: Number = None
    instance: str = ""
    label: str = ""
    at: dict = field(default_factory=dict)
    data: str = ""


class Searched(Record):
    """What a search tried inside and outside of the hypotheses, and what it found."""

    tries: int = 0
    in_scope: int = 0
    families: dict = field(default_factory=dict)
    best: Number = 0.0
    found: object = None
    seconds: Number = 0.0

    @property
    def said(self) -> str:
        listed = ", ".join(f"{n} {family}" for family, n in self.families.items())
        return f"{self.tries or '?'} tries" + (f" ({listed})" if listed else "")
