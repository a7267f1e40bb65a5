"""What an assertion of a test file compared, and the table it fails with."""
from __future__ import annotations

import textwrap
from dataclasses import dataclass

from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.core.numbers.scalars import is_rational
from fltheory.core.numbers.text import exact_if_short
from fltheory.core.tables import aligned

WIDTH = 96
SAYS = {HOLDS: "holds", FALSIFIED: "does not hold", INCONCLUSIVE: "inconclusive"}


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


def difference(value, target) -> str:
    """found - expected as text, "-" where nothing was found."""
    if isinstance(value, str):
        return "-"
    return exact_if_short(value - target if is_rational(value) else float(value) - float(target))
