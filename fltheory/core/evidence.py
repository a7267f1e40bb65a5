"""What was compared, with which numbers, and how strong that is. Evidence is computed from types, never declared."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg import Algebraic
from fltheory.core.numbers.scalars import Number, fraction, is_rational
from fltheory.core.statistics import Interval

HOLDS, FALSIFIED, INCONCLUSIVE = "HOLDS", "FALSIFIED", "INCONCLUSIVE"  # of one comparison

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
            kinds.add("exact" if is_exact(value.low) and is_exact(value.high) else "float")
        elif isinstance(value, Terms):
            kinds.add(evidence_of(*value.parts.values()))
        else:
            for v in np.asarray(value, dtype=object).reshape(-1):
                kinds.add("symbolic" if isinstance(v, Symbolic) else "exact" if is_exact(v)
                          else "ball" if type(v).__name__ == "arb" else "float")
    if "symbolic" in kinds and kinds <= {"symbolic", "exact"}:
        return "symbolic"  # rational constants inside an identity
    return min(kinds, key=STRENGTH.index, default="none")


@dataclass(frozen=True)
class Terms:
    """A right-hand side as a named sum; dropping each term is a mutant that some instance must reject."""

    parts: dict

    def __init__(self, **parts: Number):
        object.__setattr__(self, "parts", parts)

    @property
    def total(self) -> Number:
        values = list(self.parts.values())
        return sum(values[1:], values[0])

    def without(self, name: str) -> Terms:
        return Terms(**{k: (0 * v if k == name else v) for k, v in self.parts.items()})

    def scaled(self, factor: Number) -> Terms:
        return Terms(**{k: factor * v for k, v in self.parts.items()})


# (symbols of a field, remainder) -> (r, K, order) of the (1 + r)^K whose remainder it is: see `algebra.power_series`
POWERS: dict = {}


def exponents(*values) -> tuple:
    """The symbols K of powers of every exponent (`power_series`) that stand in these sides."""
    symbols: dict = {}
    for value in values:
        for v in np.asarray(list(value.parts.values()) if isinstance(value, Terms) else value, dtype=object).reshape(-1):
            if isinstance(v, Symbolic):
                present = _symbols(v)
                symbols |= {name: None for (names, _), (_, K, _) in POWERS.items() if names == v.names
                            for name in _symbols(K) if name in present}
    return tuple(symbols)


def _symbols(v) -> list:
    """The symbols that a rational function holds, in the order of its field."""
    powers = [p for part in v.terms() for p, _ in part]
    return [name for k, name in enumerate(v.names) if any(p[k] for p in powers)]


@dataclass(frozen=True)
class Comparison:
    """One relation between two computed sides on one instance. every: names of integers whose every value it decides at once."""

    relation: str
    lhs: Any
    rhs: Any
    status: str
    evidence: str
    label: str = ""
    margin: Any = None       # rhs - lhs of a bound, -|difference| of an equality
    looseness: Any = None    # rhs / lhs of a bound
    terms: dict | None = None
    detail: str = ""
    every: tuple = ()

    def __post_init__(self):
        if POWERS and not self.every and self.evidence == "symbolic":
            object.__setattr__(self, "every", exponents(self.lhs, self.rhs))

    def record(self) -> dict:
        return {"label": self.label, "relation": self.relation, "lhs": show(self.lhs), "rhs": show(self.rhs),
                "lhs_float": number(self.lhs), "rhs_float": number(self.rhs), "status": self.status,
                "evidence": self.evidence, "margin": number(self.margin), "looseness": number(self.looseness),
                "terms": None if self.terms is None else {k: number(v) for k, v in self.terms.items()},
                "detail": self.detail}


def is_exact(value) -> bool:
    """Whether a number is exact: a rational or an algebraic one."""
    return is_rational(value) or isinstance(value, Algebraic)


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
