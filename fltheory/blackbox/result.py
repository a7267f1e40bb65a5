"""What came out: a verdict, the recovered parameters, and the faults in plain sentences."""
from __future__ import annotations

import html
from dataclasses import dataclass, field

from fltheory.blackbox.box import BlackBox
from fltheory.core.numbers.text import number
from fltheory.core.tables import aligned, html_row

ROUNDING = 1e-12   # less is 0 up to rounding, and its digits are the processor's


@dataclass(frozen=True)
class Fault:
    """One explanation. sentence: what the code does. evidence: what it rests on. residual: what it leaves open,
    relative. name: the function of `bugs=` it is, if any."""

    sentence: str
    evidence: str
    residual: float
    name: str | None = None

    def __post_init__(self):
        if not self.residual >= 0:   # no explanation rests on a number that is none
            object.__setattr__(self, "residual", float("inf"))


@dataclass
class Identification:
    """The result of `ft.identify`.

    verdict: "matches", "differs", "not affine", "not deterministic" or "inconclusive". reason: one sentence.
    deviation, tolerance: largest relative deviation of the maps from the reference's, and what was allowed.
    maps: {cohort or schedule: extended map (.., d + 1)} as measured, linear part first, then the constant.
    faults: likeliest first. parameters: one dict per client (steps, lr, weight, kind of local step, its numbers).
    found: the catalogue's algorithm that the code is, where none was named. calls: calls of the user's code. variant: how a code
    that matches differs from the reference by a choice that is no fault. unexplained: where no known fault makes the maps,
    how large the difference is beside what a round changes; "" elsewhere.
    """

    verdict: str
    reason: str
    name: str
    deviation: float | None = None
    tolerance: float | None = None
    maps: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)
    parameters: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    calls: int = 0
    dtype: str = ""
    found: object = None
    variant: str = ""
    unexplained: str = ""

    @property
    def matches(self) -> bool:
        return self.verdict == "matches"

    def finish(self, box: BlackBox) -> Identification:
        """The result with what the black box has counted and noted."""
        self.calls, self.notes = box.calls, [*self.notes, *box.notes]
        inside = ", float32 inside" if box.single and box.calls and "float64" in box.dtypes else ""
        self.dtype = "/".join(sorted(box.dtypes)) + inside
        return self

    def assert_matches(self) -> Identification:
        """Raise AssertionError with the whole table unless the code is what it was compared with."""
        if not self.matches:
            raise AssertionError(str(self))
        return self

    def _lines(self):
        yield "verdict", f"{self.verdict.upper()}: {self.reason}"
        yield "compared with", self.name
        if self.deviation is not None:
            yield "deviation", f"{self.deviation:.2g} (tolerance {self.tolerance:.2g}, {self.dtype})"
        for k, fault in enumerate(self.faults):
            label = "likeliest fault" if k == 0 else f"explanation {k + 1}"
            residual = "~0" if fault.residual < ROUNDING else f"{fault.residual:.1g}"
            yield label, f"{fault.sentence} [{fault.evidence}; residual {residual}]"
        if self.unexplained:
            yield "unexplained", self.unexplained
        for note in self.notes:
            yield "note", note
        yield "calls", str(self.calls)

    def _rows(self):
        for i, p in enumerate(self.parameters):
            yield [str(i)] + ([_show(p[k]) for k in ("p", "weight", "steps", "lr", "kind")] if p.get("kind") else
                              [_show(p.get("p")), "?", "?", "?", "no kind of local step fits"])

    HEAD = ("client", "p", "weight used", "steps", "step size", "local step")

    def __str__(self) -> str:
        lines = [f"{label:<16} {text}" for label, text in self._lines()]
        rows = list(self._rows())
        if rows:
            lines += ["", *aligned([self.HEAD, *rows])]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        out = ["<table>"]
        for label, text in self._lines():
            out.append(f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
                       f"<td style='text-align:left'>{html.escape(text)}</td></tr>")
        out.append("</table>")
        rows = list(self._rows())
        if rows:
            out += ["<table>", html_row(self.HEAD, "th"), *map(html_row, rows), "</table>"]
        return "".join(out)


def first_line(bug) -> str:
    """What a function of `bugs=` does, from its docstring."""
    return (bug.__doc__ or bug.__name__).strip().split("\n")[0]


def wrong_of(bug, record, of="algorithm"):
    """What a function of `bugs=` makes of an algorithm or a law, None where it is for the other."""
    return bug(record) if getattr(bug, "of", "algorithm") == of else None


def _show(value):
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else number(value)
