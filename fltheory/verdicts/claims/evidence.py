"""What was compared, with which numbers, and how strong that is. Evidence is computed from types, never declared."""
from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.elements import Symbolic
from fltheory.core.scalars import fraction, is_rational
from fltheory.core.trace import Interval

HOLDS, FALSIFIED, OUT_OF_SCOPE = "HOLDS", "FALSIFIED", "OUT_OF_SCOPE"
INCONCLUSIVE, SKIPPED, ERROR = "INCONCLUSIVE", "SKIPPED", "ERROR"
PROVED, CERTIFIED, SUPPORTED, FALSE, VACUOUS, OPEN = "PROVED", "CERTIFIED", "SUPPORTED", "FALSE", "VACUOUS", "OPEN"
CONFIRMED, NOT_CONFIRMED = "CONFIRMED", "NOT CONFIRMED"

STRENGTH = ["none", "statistical", "float", "ball", "exact", "symbolic"]  # weakest first


@dataclass(frozen=True)
class Bounds:
    """An unknown number proved to lie in [low, high] (exact rationals): comparable, never equal."""

    low: Fraction
    high: Fraction


def evidence_of(*values) -> str:
    """The weakest kind of number among the values: symbolic > exact > ball > float > statistical."""
    kinds = set()
    for value in values:
        if isinstance(value, Interval):
            kinds.add("statistical")
        elif isinstance(value, Bounds):
            kinds.add("exact" if is_rational(value.low) and is_rational(value.high) else "float")
        elif isinstance(value, Terms):
            kinds.add(evidence_of(*value.parts.values()))
        else:
            for v in np.asarray(value, dtype=object).reshape(-1):
                kinds.add("symbolic" if isinstance(v, Symbolic) else "exact" if is_rational(v)
                          else "ball" if type(v).__name__ == "arb" else "float")
    if "symbolic" in kinds and kinds <= {"symbolic", "exact"}:
        return "symbolic"  # rational constants inside an identity
    return min(kinds, key=STRENGTH.index, default="none")


@dataclass(frozen=True)
class Terms:
    """A right-hand side as a named sum; dropping each term is a mutant that some instance must reject."""

    parts: dict

    def __init__(self, **parts):
        object.__setattr__(self, "parts", parts)

    @property
    def total(self):
        values = list(self.parts.values())
        return sum(values[1:], values[0])

    def without(self, name) -> Terms:
        return Terms(**{k: (0 * v if k == name else v) for k, v in self.parts.items()})

    def scaled(self, factor) -> Terms:
        return Terms(**{k: factor * v for k, v in self.parts.items()})


@dataclass(frozen=True)
class Comparison:
    """One relation between two computed sides on one instance."""

    relation: str
    lhs: object
    rhs: object
    status: str
    evidence: str
    label: str = ""
    margin: object = None       # rhs - lhs of a bound, -|difference| of an equality
    looseness: object = None    # rhs / lhs of a bound
    terms: dict | None = None
    detail: str = ""

    def record(self) -> dict:
        return {"label": self.label, "relation": self.relation, "lhs": show(self.lhs), "rhs": show(self.rhs),
                "lhs_float": number(self.lhs), "rhs_float": number(self.rhs), "status": self.status,
                "evidence": self.evidence, "margin": number(self.margin), "looseness": number(self.looseness),
                "terms": None if self.terms is None else {k: number(v) for k, v in self.terms.items()},
                "detail": self.detail}


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
    def looseness(self):
        """The smallest right/left side; None where there is none, or where it is beyond floats."""
        found = [number(c.looseness) for c in self.comparisons]
        return min((v for v in found if v is not None), default=None)


def weakest(kinds) -> str:
    return min(kinds, key=STRENGTH.index, default="none")


def number(value):
    """A float for tables and plots; None where there is none (symbols, vectors, infinities)."""
    if value is None or isinstance(value, (str, bool, Symbolic)):
        return None
    if isinstance(value, Interval):
        return value.value
    if isinstance(value, Bounds):
        return float(value.high)
    if isinstance(value, Terms):
        return number(value.total)
    array = np.asarray(value, dtype=object).reshape(-1)
    if len(array) != 1 or isinstance(array[0], Symbolic):
        return None
    try:
        out = float(array[0] if not is_rational(array[0]) else fraction(array[0]))
    except (TypeError, OverflowError):
        return None
    return out if np.isfinite(out) else None


def show(value) -> str:
    """A readable, exact form of a side."""
    if isinstance(value, Terms):
        return show(value.total)
    if isinstance(value, Bounds):
        return f"in [{show(value.low)}, {show(value.high)}]"
    if isinstance(value, (str, Interval, bool)) or value is None:
        return str(value)
    array = np.asarray(value, dtype=object)
    if array.ndim == 0:
        v = array.item()
        return _rational(fraction(v)) if is_rational(v) else f"{v:.12g}" if isinstance(v, float) else str(v)
    return "(" + ", ".join(show(v) for v in array) + ")"


def _rational(f: Fraction) -> str:
    bits = max(f.numerator.bit_length(), f.denominator.bit_length())
    if bits <= 900:
        return str(f)
    try:
        return f"{float(f):.12g} [{bits}-bit rational]"
    except OverflowError:
        return f"a {bits}-bit rational beyond 1.8e308"


def at_status(left, right, strict=False):
    """(left <= right or <, right - left), decided exactly for rationals and rigorously for balls.

    A ball comparison that cannot be decided counts as not holding: an unproved hypothesis is no hypothesis.
    """
    left, right = (fraction(v) if is_rational(v) else v for v in (left, right))
    if "arb" in (type(left).__name__, type(right).__name__):
        import flint
        left, right = (flint.arb(flint.fmpq(v.numerator, v.denominator)) if isinstance(v, Fraction) else v
                       for v in (left, right))
    holds = left < right if strict else left <= right
    return bool(holds), right - left
