"""The table of a comparison: text, HTML, CSV, plain numbers."""

from __future__ import annotations

import html
import io
import math
import os
import textwrap
from dataclasses import dataclass, field
from typing import Any

from fltheory.core.errors import refuse, shown
from fltheory.core.numbers.scalars import need
from fltheory.core.numbers.text import four_digits
from fltheory.core.statistics import FEWEST
from fltheory.core.tables import html_row, plain, to_csv
from fltheory.pictures import METADATA, save
from fltheory.runs.trace import write_atomically
from fltheory.workbench.comparison.measure import LEVEL, Measurement
from fltheory.workbench.comparison.names import describe
from fltheory.workbench.comparison.predict import DIVERGES, Prediction

WIDTH = 120
WEIGHTS = 8  # surrogate weights written out up to this many clients

PREDICTED = {
    "where it converges (predicted)": {"distance": "|x_inf - x*|", "loss_gap": "F(x_inf) - F*", "weights": "surrogate weights",
                                       "chi_square": "chi^2(p||w)"},
    "how fast (predicted)": {"rate": "rate of E x", "mean_square_rate": "mean-square rate", "stable_step": "stable below lr"},
    "how far it stays (predicted)": {"floor": "floor E|x-x*|^2"},
}
TRAFFIC = {"uplink": "vectors up / participant", "downlink": "vectors down / participant", "sent_up": "numbers up / round",
           "sent_down": "numbers down / round"}
CHECKS = {"error": "E|x_T - x*|^2", "tail": "E|x-x*|^2, last {tail}", "contraction": "its factor (rounds)",
          "bias": "|E x_T - x*|"}
GROWS = "diverges"
EXPLAINED = {True: "ok", False: "OUTSIDE", None: ""}


@dataclass(frozen=True)
class Entry:
    """One method of the table."""

    name: str
    algorithm: object
    predicted: Prediction
    measured: Measurement

    def checks(self):
        """(quantity, its `Check`, or None) of all that a run can check."""
        return [(key, self.measured.checks.get(key)) for key in CHECKS]


@dataclass(frozen=True)
class MethodTable:
    """Predicted beside measured, one entry per method. Made by `ft.compare`.

    `rows`: dicts of plain numbers; `outside`: (method, quantity) pairs whose prediction lies outside the measured
    99.9 % interval; `str`, HTML, `to_csv(path)` and `plot(path)` show the same numbers.
    """

    entries: tuple
    problem: object = field(repr=False)
    law: object
    noise: object
    rounds: int
    replicates: int
    best: object = field(repr=False)
    x0: object = field(repr=False)

    @property
    def outside(self) -> list:
        """(method, quantity) where measurement and prediction differ."""
        return [(e.name, k) for e in self.entries for k, check in e.checks() if check and check.agrees is False]

    @property
    def rows(self) -> list[dict]:
        """One dict per method: plain numbers, None where there is none, and `reasons` as one text."""
        out = []
        for e in self.entries:
            predicted, measured = e.predicted, e.measured
            row = {"method": e.name}
            row |= {key: predicted.numbers.get(key) for group in PREDICTED.values() for key in group if key != "weights"}
            row["weights"] = None if predicted.weights is None else " ".join(f"{w:.9g}" for w in predicted.weights)
            row |= {key: predicted.numbers.get(key) for key in ("participants", *TRAFFIC)}
            for key, check in e.checks():
                row |= {f"{key}_{'measured' if part == 'value' else part}": check and getattr(check, part)
                        for part in ("predicted", "value", "low", "high", "agrees")}
            row["window"] = None if measured.window is None else "{}..{}".format(*measured.window)
            reasons = predicted.reasons | {f"{k} (run)": c.reason for k, c in measured.checks.items() if c.reason}
            reasons |= {"run": measured.reason} if measured.reason else {}
            out.append(row | {"reasons": "; ".join(f"{k}: {v}" for k, v in reasons.items())})
        return out

    # ---- the lines of the table ------------------------------------------------------------------------
    def _sections(self):
        """[(title, [(label, [(text, mark)] per method)])] and the notes: a missing number becomes its footnote."""
        notes = {}

        def noted(text, reason):
            return f"{text} [{notes.setdefault(reason, len(notes) + 1)}]" if reason else text

        def lines(group):
            return [(label, [(noted(*_predicted(e.predicted, key)), None) for e in self.entries]) for key, label in group.items()]

        sections = [(title, lines(group)) for title, group in PREDICTED.items()]
        if self.replicates:
            title = f"predicted beside measured, {self.rounds} rounds, {LEVEL:.1%} intervals"
            sections.append((title, self._measured_lines(noted)))
        return [*sections, ("traffic", lines(TRAFFIC))], list(notes)

    def _measured_lines(self, noted):
        tail = next((e.measured.trace.tail_rounds for e in self.entries if e.measured.trace is not None), 0)
        out = []
        for key, label in CHECKS.items():
            pairs = [_beside(e, key, noted) for e in self.entries]
            first, second = zip(*pairs, strict=True)
            out += [(label.format(tail=tail), list(first)), ("    measured", list(second))]
        return out

    def _header(self):
        p = self.problem
        kind = f"{type(p).__name__}{f' ({p.name})' if getattr(p, 'name', '') else ''}"
        noise = "" if not self.noise else f", noise {self.noise}"
        return f"{kind}: {p.n} clients, d = {p.d}; {describe(self.law)}{noise}"

    def _verdict(self):
        if not self.replicates:
            return self._diverging()
        tested = sum(c.agrees is not None for e in self.entries for c in e.measured.checks.values())
        out = self.outside
        text = f"{tested - len(out)} of {tested} predictions inside their intervals"
        if out:
            text += "; OUTSIDE: " + ", ".join(f"{k} of {name}" for name, k in out)
        few = any(e.measured.trace is not None and 2 < e.measured.trace.replicates < FEWEST for e in self.entries)
        text += f". Fewer than {FEWEST} replicates: intervals of skewed errors are too short then." if few else "."
        return f"{text} {self._diverging()}".rstrip()

    def _diverging(self):
        def left(e):
            return any(c.value is not None and not math.isfinite(c.value) for c in e.measured.checks.values())
        names = [e.name for e in self.entries if e.predicted.diverges or left(e)]
        return f"{', '.join(names)} diverge{'' if len(names) > 1 else 's'} at this step size." if names else ""

    def __str__(self):
        sections, notes = self._sections()
        label = max(len(line[0]) for _, lines in sections for line in lines) + 4
        widths = [max(*(len(line[1][k][0]) for _, lines in sections for line in lines), *map(len, e.name.split()), 14)
                  for k, e in enumerate(self.entries)]
        room, count = min(max(widths), WIDTH - label), len(self.entries)
        fitting = max((WIDTH - label + 2) // (room + 2), 1)
        blocks = -(-count // fitting)
        size = -(-count // blocks)  # blocks of about equal size
        out = [self._header()]
        for k in range(0, count, size):
            out += ["", *self._block(sections, range(k, min(k + size, count)), label, room)]
        out.append("")
        for j, note in enumerate(notes, 1):
            out += textwrap.wrap(f"[{j}] {note}", WIDTH, subsequent_indent="    ")
        if self._verdict():
            out += textwrap.wrap(self._verdict(), WIDTH)
        return "\n".join(line.rstrip() for line in out)

    def _block(self, sections, taken, label, room):
        heads = [textwrap.wrap(self.entries[j].name, room) for j in taken]
        out = []
        for row in range(max(map(len, heads))):
            out.append(" " * label + "  ".join((h[row] if row < len(h) else "").ljust(room) for h in heads))
        for title, lines in sections:
            out.append(title)
            for name, cells in lines:
                out.append(("  " + name).ljust(label) + "  ".join(cells[j][0].ljust(room) for j in taken))
        return out

    # ---- other forms -----------------------------------------------------------------------------------
    __repr__ = __str__

    def _repr_html_(self):
        sections, notes = self._sections()
        body = [html_row(["", *(e.name for e in self.entries)], "th")]
        across = f' colspan="{len(self.entries) + 1}" style="text-align:left"'
        for title, lines in sections:
            body.append(html_row([title], "th", cell=across))
            for name, cells in lines:
                row = "".join(f"<td{_style(mark)}>{html.escape(text)}</td>" for text, mark in cells)
                body.append(f"<tr><td>{html.escape(name)}</td>{row}</tr>")
        foot = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        return plain(f"<p>{html.escape(self._header())}</p><table>{''.join(body)}</table>"
                     f"<ol>{foot}</ol><p>{html.escape(self._verdict())}</p>")

    def to_csv(self, path: str | os.PathLike) -> str | os.PathLike:
        """Write `rows` as CSV, floats with all digits. Returns the path."""
        _write(path, plain(to_csv(self.rows)).encode())
        return path

    def to_html(self, path: str | os.PathLike) -> str | os.PathLike:
        """Write a stand-alone page. Returns the path."""
        head = ('<!doctype html><html lang="en"><meta charset="utf-8"><title>Methods compared</title><style>body{font-family:'
                "sans-serif}td,th{padding:2px 8px;font-variant-numeric:tabular-nums}</style>")
        _write(path, f"{head}{self._repr_html_()}</html>\n".encode())
        return path

    def plot(self, path: str | os.PathLike | None = None) -> Any:
        """Error against rounds and against traffic: run = markers with intervals, prediction = line, floor = dashed.

        path: where to write a picture (.png, .pdf, .svg), or None. Returns the matplotlib figure. Raises MissingLibrary
        without matplotlib.
        """
        from fltheory.workbench.comparison.picture import draw

        kind = None if path is None else check_picture(path)
        figure = draw(self)
        if kind is not None:
            data = io.BytesIO()
            save(figure, data, kind)
            _write(path, data.getvalue())
        return figure


def _predicted(prediction, key):
    """(text, reason) of a predicted number."""
    why, value = prediction.reasons.get(key, ""), prediction.numbers.get(key)
    if key == "weights":
        text = "-" if prediction.weights is None else _weights(prediction.weights, prediction.numbers["chi_square"])
    else:
        text = "-" if value is None else four_digits(value, prediction.rounding.get(key, 0))
    if why in DIVERGES and prediction.diverges:
        text = GROWS
    return text, why or (prediction.reasons.get("all", "no prediction") if text == "-" else "")


def _beside(e, key, noted):
    """((text, mark) of what was predicted, (text, mark) of what was measured) of one quantity of a run."""
    check = e.measured.checks.get(key)
    if check is None:
        return ("-", None), (noted("-", e.measured.reason or "no prediction"), None)
    predicted = "-" if check.predicted is None else _size(check.predicted, e.predicted.rounding.get(key, 0))
    if key == "contraction" and e.measured.window is not None:
        predicted += " ({}..{})".format(*e.measured.window)
    text = f"{'-' if check.value is None else _interval(check)} {EXPLAINED[check.agrees]}".rstrip()
    why = check.reason or ("" if check.agrees is not None else e.predicted.reasons.get("path", "no prediction"))
    return (predicted, None), (noted(text, why), check.agrees)


def check_picture(path):
    """The kind of picture that a path names; refused if it is none, or if there is nothing to draw with."""
    need("matplotlib", "the picture of a comparison")
    if not isinstance(path, (str, os.PathLike)):
        refuse("path", path, "a file is named by a text or a Path", 'For example "errors.png".')
    kind = str(path).rpartition(".")[2].lower()
    if kind not in METADATA:
        refuse("path", str(path), "a picture is a .png, .pdf or .svg file", "Change its ending.")
    return kind


def _write(path, data):
    if not isinstance(path, (str, os.PathLike)) or not str(path).strip():
        refuse("path", path, "a file is named by a text or a Path", 'For example "table.csv".')
    try:
        write_atomically(path, lambda f: f.write(data))
    except (OSError, ValueError) as error:  # ValueError: names that no file system takes
        why = getattr(error, "strerror", None) or str(error)
        refuse("path", shown(str(path)), f"cannot be written ({why})", "Choose a file in an existing folder.")


def _size(value, rounding=0.0):
    """A size of a path or of a run: one that leaves float64 diverges."""
    return four_digits(value, rounding) if math.isfinite(value) else GROWS


def _interval(check):
    if check.low is None or check.value is None:
        return "-"
    if not math.isfinite(check.value):
        return GROWS
    half = (check.high - check.low) / 2
    if half == 0 or not math.isfinite(half) or half < 1e-6 * abs(check.value):
        return four_digits(check.value)
    if abs((check.high + check.low) / 2 - check.value) > 0.02 * half:
        return f"{four_digits(check.value)} in {_near(check.low, half)}..{_near(check.high, half)}"
    return f"{four_digits(check.value)} +/- {half:.2g}"


def _near(value, half):
    """Digits up to a tenth of the half width."""
    digits = 1 - math.floor(math.log10(half)) if half < 1 else 0
    return f"{value:.{min(digits, 9)}f}" if abs(value) >= 1e-3 else f"{value:.2e}"


def _weights(weights, chi_square):
    if chi_square is not None and chi_square < 1e-20:
        return "= p"
    if len(weights) > WEIGHTS:
        return f"{min(weights):.3g} .. {max(weights):.3g}"
    return " ".join(f"{w:.2f}".lstrip("0") if 0 <= w < 1 else f"{w:.3g}" for w in weights)


def _style(mark):
    colours = {True: "#e3f3ea", False: "#f9d7c4"}
    return "" if mark is None else f' style="background:{colours[mark]}"'
