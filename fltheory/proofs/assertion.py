"""What an assertion of a test file compared, and the table it fails with."""
from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from fractions import Fraction

from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.core.numbers.scalars import fraction, is_rational
from fltheory.core.tables import aligned

WIDTH = 96
SAYS = {HOLDS: "holds", FALSIFIED: "does not hold", INCONCLUSIVE: "inconclusive"}
LONGEST = 24  # characters of a fraction that is written out


@dataclass(frozen=True)
class Evidence:
    """What an assertion compared. status: HOLDS, FALSIFIED or INCONCLUSIVE; kind: exact, float or statistical; rows:
    (name, expected, found, difference, remark) as text; allowed: tolerance or level; why: reason of the status."""

    assertion: str
    subject: str
    compared: str
    kind: str
    allowed: str
    rows: tuple
    status: str
    reading: str
    why: str = ""

    def __str__(self):
        head = [("subject", self.subject), ("compared", self.compared), ("evidence", self.kind),
                ("allowed", self.allowed)] + ([("because", self.why)] if self.why else [])
        lines = [f"{self.assertion}: {SAYS[self.status]}"]
        for label, text in head:
            lines += _wrapped(label, text)
        lines += aligned([(" " * 10, "expected", "found", "difference", ""), *self.rows], "  ")
        return "\n".join(lines + _wrapped("to read", self.reading))

    def decided(self):
        """Itself if the comparison holds; raises AssertionError with the table otherwise."""
        __tracebackhide__ = True
        if self.status != HOLDS:
            raise AssertionError(str(self))
        return self


def _wrapped(label, text):
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {label:<10}  ", subsequent_indent=" " * 14,
                         break_on_hyphens=False)


def shown(value) -> str:
    """A number with what a reader needs: short fractions in full, long ones and floats to nine digits."""
    if isinstance(value, str):
        return value
    if is_rational(value):
        value = fraction(value)
        return str(value) if len(str(value)) <= LONGEST else f"~{_decimal(value)}"
    value = float(value)
    return f"{value:.9g}" if math.isfinite(value) else str(value)


def difference(value, target) -> str:
    """found - expected as text, "-" where nothing was found."""
    if isinstance(value, str):
        return "-"
    return shown(value - target if is_rational(value) else float(value) - float(target))


def _decimal(value: Fraction) -> str:
    try:
        return f"{float(value):.9g}"
    except OverflowError:
        return "a huge number"


__all__ = ["Evidence", "difference", "shown"]
