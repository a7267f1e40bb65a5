"""The table of a comparison: text, HTML, CSV, plain numbers."""

from __future__ import annotations

import html
import io
import math
import os
import textwrap
from dataclasses import dataclass, field

from fltheory.core.scalars import need
from fltheory.core.tables import html_row, plain, to_csv
from fltheory.core.trace import write_atomically
from fltheory.pictures import METADATA, save
from fltheory.workbench.comparison.measure import LEVEL, Measurement
from fltheory.workbench.comparison.names import describe
from fltheory.workbench.comparison.predict import DIVERGES, Prediction

WIDTH = 120
FEW = 200  # replicates below which Student's intervals of skewed errors are known to miss
WEIGHTS = 8  # surrogate weights written out up to this many clients

PREDICTED = (
    (
        "where it converges (predicted)",
        (
            ("distance", "|x_inf - x*|"),
            ("loss_gap", "F(x_inf) - F*"),
            ("weights", "surrogate weights"),
            ("chi_square", "chi^2(p||w)"),
        ),
    ),
    (
        "how fast (predicted)",
        (("rate", "rate of E x"), ("mean_square_rate", "mean-square rate"), ("stable_step", "stable below lr")),
    ),
    ("how far it stays (predicted)", (("floor", "floor E|x-x*|^2"),)),
)
TRAFFIC = (
    ("uplink", "vectors up / participant"),
    ("downlink", "vectors down / participant"),
    ("sent_up", "numbers up / round"),
    ("sent_down", "numbers down / round"),
)
CHECKS = ("error", "tail", "contraction", "bias")
GROWS = "diverges"
EXPLAINED = {True: "ok", False: "OUTSIDE", None: ""}


@dataclass(frozen=True)
class Entry:
    """One method of the table."""

    name: str
    algorithm: object
    predicted: Prediction
    measured: Measurement


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
        return [
            (e.name, k)
            for e in self.entries
            for k in CHECKS
            if k in e.measured.checks and e.measured.checks[k].agrees is False
        ]

    @property
    def rows(self) -> list[dict]:
        """One dict per method: plain numbers, None where there is none, and `reasons` as one text."""
        out = []
        for e in self.entries:
            row = {"method": e.name}
            for _, group in PREDICTED:
                for key, _ in group:
                    if key != "weights":
                        row[key] = e.predicted.numbers.get(key)
            row["weights"] = None if e.predicted.weights is None else " ".join(f"{w:.9g}" for w in e.predicted.weights)
            for key in ("participants", *(k for k, _ in TRAFFIC)):
                row[key] = e.predicted.numbers.get(key)
            for key in CHECKS:
                check = e.measured.checks.get(key)
                for part in ("predicted", "value", "low", "high", "agrees"):
                    name = f"{key}_{'measured' if part == 'value' else part}"
                    row[name] = None if check is None else getattr(check, part)
            row["window"] = None if e.measured.window is None else "{}..{}".format(*e.measured.window)
            row["reasons"] = "; ".join(f"{k}: {v}" for k, v in self._reasons(e).items())
            out.append(row)
        return out

    @staticmethod
    def _reasons(e):
        own = dict(e.predicted.reasons)
        own |= {f"{k} (run)": c.reason for k, c in e.measured.checks.items() if c.reason}
        if e.measured.reason:
            own["run"] = e.measured.reason
        return own

    # ---- the lines of the table ------------------------------------------------------------------------
    def _sections(self):
        """[(title, [(label, [(text, mark)] per method)])]; a missing number becomes its footnote."""
        notes, sections = [], []

        def noted(text, reason):
            if not reason:
                return text
            if reason not in notes:
                notes.append(reason)
            return f"{text} [{notes.index(reason) + 1}]"

        def predicted(e, key):
            if key == "weights":
                text = (
                    "-"
                    if e.predicted.weights is None
                    else _weights(e.predicted.weights, e.predicted.numbers["chi_square"])
                )
            else:
                value = e.predicted.numbers.get(key)
                text = "-" if value is None else number(value, e.predicted.rounding.get(key, 0))
            why = e.predicted.reasons.get(key, "")
            if why in DIVERGES and e.predicted.diverges:
                text = GROWS
            if text == "-" and not why:
                why = e.predicted.reasons.get("all", "no prediction")
            return noted(text, why), None

        for title, group in PREDICTED:
            sections.append((title, [(label, [predicted(e, key) for e in self.entries]) for key, label in group]))
        if self.replicates:
            sections.append(
                (f"predicted beside measured, {self.rounds} rounds, {LEVEL:.1%} intervals", self._measured_lines(noted))
            )
        sections.append(("traffic", [(label, [predicted(e, key) for e in self.entries]) for key, label in TRAFFIC]))
        return sections, notes

    def _measured_lines(self, noted):
        k = next((e.measured.trace.tail_rounds for e in self.entries if e.measured.trace is not None), 0)
        labels = {
            "error": "E|x_T - x*|^2",
            "tail": f"E|x-x*|^2, last {k}",
            "contraction": "its factor (rounds)",
            "bias": "|E x_T - x*|",
        }
        lines = []
        for key in CHECKS:
            first, second = [], []
            for e in self.entries:
                check = e.measured.checks.get(key)
                if check is None:
                    first.append(("-", None))
                    second.append((noted("-", e.measured.reason or "no prediction"), None))
                    continue
                said = "-" if check.predicted is None else _size(check.predicted, e.predicted.rounding.get(key, 0))
                if key == "contraction" and e.measured.window is not None:
                    said = f"{said} ({e.measured.window[0]}..{e.measured.window[1]})"
                first.append((said, None))
                text = "-" if check.value is None else _interval(check)
                text = f"{text} {EXPLAINED[check.agrees]}".rstrip()
                second.append(
                    (noted(text, check.reason or ("" if check.agrees is not None else "no prediction")), check.agrees)
                )
            lines += [(labels[key], first), ("    measured", second)]
        return lines

    def _header(self):
        p = self.problem
        kind = f"{type(p).__name__}{f' ({p.name})' if getattr(p, 'name', '') else ''}"
        noise = "" if not self.noise else f", noise {self.noise}"
        return f"{kind}: {p.n} clients, d = {p.d}; {describe(self.law)}{noise}"

    def _verdict(self):
        if not self.replicates:
            return self._diverging()
        tested = [c.agrees for e in self.entries for c in e.measured.checks.values() if c.agrees is not None]
        out = self.outside
        text = f"{len(tested) - len(out)} of {len(tested)} predictions inside their intervals"
        if out:
            text += "; OUTSIDE: " + ", ".join(f"{k} of {name}" for name, k in out)
        few = any(e.measured.trace is not None and 2 < e.measured.trace.replicates < FEW for e in self.entries)
        text += f". Fewer than {FEW} replicates: intervals of skewed errors are too short then." if few else "."
        return f"{text} {self._diverging()}".rstrip()

    def _diverging(self):
        def left(e):
            return any(c.value is not None and not math.isfinite(c.value) for c in e.measured.checks.values())
        names = [e.name for e in self.entries if e.predicted.diverges or left(e)]
        return f"{', '.join(names)} diverge{'' if len(names) > 1 else 's'} at this step size." if names else ""

    def __str__(self):
        sections, notes = self._sections()
        label = max(len(line[0]) for _, lines in sections for line in lines) + 4
        widths = [
            max(*(len(line[1][k][0]) for _, lines in sections for line in lines), *map(len, e.name.split()), 14)
            for k, e in enumerate(self.entries)
        ]
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
                shown = "".join(f"<td{_style(mark)}>{html.escape(text)}</td>" for text, mark in cells)
                body.append(f"<tr><td>{html.escape(name)}</td>{shown}</tr>")
        foot = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        return plain(
            f"<p>{html.escape(self._header())}</p><table>{''.join(body)}</table>"
            f"<ol>{foot}</ol><p>{html.escape(self._verdict())}</p>"
        )

    def to_csv(self, path):
        """Write `rows` as CSV, floats with all digits. Returns the path."""
        _write(path, plain(to_csv(self.rows)).encode())
        return path

    def to_html(self, path):
        """Write a stand-alone page. Returns the path."""
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Methods compared</title>'
            "<style>body{font-family:"
            "sans-serif}td,th{padding:2px 8px;font-variant-numeric:tabular-nums}</style>" + self._repr_html_()
        )
        _write(path, (page + "</html>\n").encode())
        return path

    def plot(self, path=None):
        """Error against rounds and against traffic: run = markers with intervals, prediction = line, floor = dashed.

        path: where to write a picture (.png, .pdf, .svg), or None. Returns the matplotlib figure. Raises MissingLibrary
        without matplotlib.
        """
        from fltheory.workbench.comparison.picture import draw

        kind = None if path is None else check_picture(path)
        figure = draw(self)
        if path is not None:
            _write(path, _saved(figure, kind))
        return figure


def check_picture(path):
    """The kind of picture that a path names; refused if it is none, or if there is nothing to draw with."""
    from fltheory.core.errors import refuse

    need("matplotlib", "the picture of a comparison")
    if not isinstance(path, (str, os.PathLike)):
        refuse("path", path, "a file is named by a text or a Path", 'For example "errors.png".')
    kind = str(path).rpartition(".")[2].lower()
    if kind not in METADATA:
        refuse("path", str(path), "a picture is a .png, .pdf or .svg file", "Change its ending.")
    return kind


def _saved(figure, kind):
    made = io.BytesIO()
    save(figure, made, kind)
    return made.getvalue()


def _write(path, data):
    from fltheory.core.errors import refuse, shown

    if not isinstance(path, (str, os.PathLike)) or not str(path).strip():
        refuse("path", path, "a file is named by a text or a Path", 'For example "table.csv".')
    try:
        write_atomically(path, lambda f: f.write(data))
    except (OSError, ValueError) as error:  # ValueError: names that no file system takes
        why = getattr(error, "strerror", None) or str(error)
        refuse("path", shown(str(path)), f"cannot be written ({why})", "Choose a file in an existing folder.")


def number(value, rounding=0.0) -> str:
    """Four significant digits, whole numbers in full, rates close to 1 with the digits that tell them from 1.

    rounding: size below which a number is not told from 0.
    """
    value = float(value)
    if not math.isfinite(value):
        return "overflow"
    if value != 0 and abs(value) <= rounding:
        return "~0"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 0.9995 < abs(value) < 1.0005:
        return f"{value:.{min(12, 2 - math.floor(math.log10(abs(abs(value) - 1))))}f}"
    return f"{value:.4g}"


def _size(value, rounding=0.0):
    """A size of a path or of a run: one that leaves float64 diverges."""
    return number(value, rounding) if math.isfinite(value) else GROWS


def _interval(check):
    if check.low is None or check.value is None:
        return "-"
    if not math.isfinite(check.value):
        return GROWS
    half = (check.high - check.low) / 2
    if half == 0 or not math.isfinite(half) or half < 1e-6 * abs(check.value):
        return number(check.value)
    if abs((check.high + check.low) / 2 - check.value) > 0.02 * half:
        return f"{number(check.value)} in {_near(check.low, half)}..{_near(check.high, half)}"
    return f"{number(check.value)} +/- {half:.2g}"


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


__all__ = ["Entry", "MethodTable", "number"]
