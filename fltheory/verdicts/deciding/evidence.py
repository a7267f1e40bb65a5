"""The words of claims, instances and findings, beside those of comparisons (`core.evidence`)."""
from __future__ import annotations

from dataclasses import dataclass, field

from fltheory.core.evidence import number

OUT_OF_SCOPE, SKIPPED, ERROR = "OUT_OF_SCOPE", "SKIPPED", "ERROR"
PROVED, CERTIFIED, SUPPORTED, FALSE, VACUOUS, OPEN = "PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "VACUOUS", "OPEN"
CONFIRMED, NOT_CONFIRMED = "CONFIRMED", "NOT CONFIRMED"
HOLDING = (PROVED, CERTIFIED, SUPPORTED)           # words in favour of a claim
DECIDED = (*HOLDING, FALSE, VACUOUS, OPEN)         # words of claims that were decided


@dataclass
class InstanceVerdict:
    """The outcome of one claim on one instance."""

    instance: str
    status: str
    evidence: str = "none"
    says: str = ""
    reason: str = ""
    hypotheses: list = field(default_factory=list)
    comparisons: list = field(default_factory=list)
    data: dict = field(default_factory=dict)  # the instance's numbers in words, where the statement fails on it
    seconds: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether a word rests on the instance: its hypotheses hold, and nothing was missing."""
        return self.status not in (OUT_OF_SCOPE, SKIPPED)

    @property
    def looseness(self):
        """The smallest right/left side; None where there is none, or where it is beyond floats."""
        ratios = [number(c.looseness) for c in self.comparisons]
        return min((v for v in ratios if v is not None), default=None)
