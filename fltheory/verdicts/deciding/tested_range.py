"""How far the evidence of a claim reaches: the values of its variables on everything that was decided inside its hypotheses,
and where the two sides of its bound came closest."""
from __future__ import annotations

import math
from fractions import Fraction

from fltheory.core.evidence import FALSIFIED, HOLDS, number
from fltheory.core.numbers.scalars import Field
from fltheory.verdicts import records
from fltheory.verdicts.claims.variables import named, span
from fltheory.verdicts.search.rebuild import text

NEAR = 1e-3   # relative: roots of printed caps are rounded down
TOLD = 400    # characters of the instance where a bound is tightest


class Reach:
    """What was tested of a claim's variables; `add` is called with every verdict of an instance or a draw."""

    def __init__(self, claim):
        self.ends = claim.ends
        self.tested, self.worst = {}, None

    def add(self, instance, verdict, family=""):
        """family: of the search that drew it; "" for an instance of the claim."""
        if verdict.status not in (HOLDS, FALSIFIED) or isinstance(instance.domain, Field):
            return
        at = {v: s for v in self.ends if (s := span(v, instance, verdict.hypotheses)) is not None}
        for variable, (low, high) in at.items():
            before = self.tested.get(variable, (low, high))
            self.tested[variable] = min(low, before[0]), max(high, before[1])
        ratio, label = _ratio(verdict)
        if ratio is not None and (self.worst is None or ratio > self.worst[0]):
            self.worst = ratio, label, instance, at, family

    def missed(self) -> list[str]:
        """The declared ends that nothing reached, in words."""
        out = []
        for variable, ends in self.ends.items():
            tested = self.tested.get(variable)
            missing = [end for end, low in zip(ends, (True, False), strict=True) if not _reached(tested, end, low)]
            out += [f"{named(variable)} {_short(end)} was not reached: tested {_range(tested)}" for end in missing]
        return out

    def reached(self) -> list[records.Reached]:
        return [records.Reached(named(v), _short(low), _short(high), _range(self.tested.get(v)),
                                [end for end in (low, high) if isinstance(end, str)]) for v, (low, high) in self.ends.items()]

    def tightest(self) -> records.Tightest | None:
        """Where left/right was largest."""
        if self.worst is None:
            return None
        ratio, label, instance, at, family = self.worst
        where, data = instance.name, ""
        if family:
            where, data = f"{instance.name}, drawn by the search ({family})", text(instance)[:TOLD]
        return records.Tightest(ratio, where, label, {named(v): _range(s) for v, s in at.items()}, data)


def _ratio(verdict) -> tuple:
    """(largest left/right side of a bound, its label); (None, "") where no comparison has two positive sides."""
    best = None, ""
    for c in verdict.comparisons:
        left, right = number(c.lhs), number(c.rhs)
        if c.relation in ("at most", "less than") and left is not None and right is not None and left > 0 and right > 0:
            best = max(best, (left / right, c.label), key=lambda b: -1 if b[0] is None else b[0])
    return best


def _reached(tested, end, low) -> bool:
    if isinstance(end, str):  # out of reach, for the reason given
        return True
    if tested is None:
        return False
    if math.isinf(end):
        return end in tested
    slack = NEAR * abs(end)
    return tested[0] <= end + slack if low else tested[1] >= end - slack


def _range(tested) -> str:
    if tested is None:
        return "nowhere"
    low, high = map(_short, tested)
    return low if low == high else f"{low} to {high}"


def _short(v) -> str:
    if isinstance(v, str):
        return "out of reach"
    if isinstance(v, float) and math.isinf(v):
        return "∞" if v > 0 else "-∞"
    if isinstance(v, Fraction | int) and Fraction(v).denominator < 1000 and abs(Fraction(v)) < 10**6:
        return str(v)
    return f"{float(v):.4g}"
