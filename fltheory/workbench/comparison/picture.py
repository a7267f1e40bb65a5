"""The picture of a comparison: error against rounds and against traffic."""

from __future__ import annotations

import numpy as np

from fltheory.core.numbers.scalars import need
from fltheory.core.tables import plain
from fltheory.pictures import COLOURS, FIXED_POINT, FLOOR, GREY, MARKERS, PREDICTION, RUN, canvas, key, runs
from fltheory.workbench.comparison.measure import LEVEL

SHOWN = 12  # markers per curve
LARGEST = 1e290  # of what is drawn: ticks of a logarithmic axis need some room below the end of float64


def draw(table):
    """A matplotlib figure of a `MethodTable`: markers and bars = run, lines = prediction, dashes = floor."""
    need("matplotlib", "the picture of a comparison")
    figure, axes = canvas(2, width=4.6, height=3.8)
    left, right = axes[0]
    drawn, methods = [], {}
    for k, e in enumerate(table.entries):
        turn = k // len(COLOURS)
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[(k + turn) % len(MARKERS)]
        per_round = _traffic(e)
        values = _curves(left, e, table.rounds, np.arange(table.rounds + 1), colour, marker, k)
        if per_round is not None:
            _curves(right, e, table.rounds, per_round * np.arange(table.rounds + 1), colour, marker, k)
        drawn += values
        methods[_label(e.name)] = RUN | {"color": colour, "marker": marker, "linestyle": "-"}
    ends = [_ends(e) for e in table.entries]
    _axes(left, drawn, ends, "rounds")
    _axes(right, drawn, ends, "numbers sent up and down")
    left.set_ylabel(r"$\mathrm{E}\,|x_t - x^*|^2$")
    _legend(figure, methods, table)
    return figure


def _label(name):
    """A name as text of a picture: no mathematics, no leading mark that hides it from a legend."""
    return plain(name).replace("\n", " ").replace("$", r"\$").replace("_", " _", 1 if name.startswith("_") else 0)


def _traffic(e):
    up, down = e.predicted.numbers.get("sent_up"), e.predicted.numbers.get("sent_down")
    return None if up is None or down is None else up + down


def _curves(ax, e, rounds, at, colour, marker, k):
    """Draw one method; returns the positive finite values that the axis must hold."""
    held, path, trace = [], e.predicted.path, e.measured.trace
    if path is not None:
        line = np.where((path.error > 0) & (path.error < LARGEST), path.error, np.nan)
        ax.plot(at, line, color=colour, **PREDICTION)
        held.append(line)
    floor = e.predicted.told("floor")
    if floor is not None:
        ax.axhline(floor, color=colour, **FLOOR | {"linewidth": 1})
        held.append(np.array([floor]))
    distance = e.predicted.told("distance")
    if distance is not None and not e.predicted.diverges:
        ax.plot([at[-1]], [distance**2], color=colour, zorder=3, **FIXED_POINT)
        held.append(np.array([distance**2]))
    if trace is not None:
        shift = k * rounds // (4 * SHOWN) if rounds > 50 else 0  # so that the markers of methods stand apart
        picked = np.unique(np.linspace(0, rounds, SHOWN).astype(int) + shift)
        picked = picked[picked <= rounds]
        mean = trace.mean()[picked]
        spans = [trace.interval(int(t), level=LEVEL) for t in picked]
        half = np.array([s.half_width if s.half_width < LARGEST else 0.0 for s in spans])
        ok = (mean > 0) & (mean < LARGEST)
        runs(ax, at[picked][ok], mean[ok], half[ok], colour, marker=marker)
        held.append(mean[ok])
    values = np.concatenate(held) if held else np.array([])
    return [v for v in values if np.isfinite(v) and v > 0]


def _ends(e):
    """First and last error of a method, predicted or else measured, and its floor; nan where there is none."""
    known = e.predicted.path.error if e.predicted.path is not None else None
    known = e.measured.trace.mean() if known is None and e.measured.trace is not None else known
    floor = e.predicted.told("floor")
    return *((np.nan, np.nan) if known is None else (known[0], known[-1])), np.nan if floor is None else floor


def _axes(ax, values, ends, label):
    """A logarithmic axis from the smallest value that floats tell from the start, up to the largest; a method that diverges
    leaves through the top and does not squeeze those that converge."""
    ax.set_yscale("log")
    ax.set_xlabel(label)
    if values:
        levels = [v for first, _, floor in ends for v in (first, floor) if 0 < v < LARGEST] or [sorted(values)[len(values) // 2]]
        start, shrinks = max(levels), any(last < first for first, last, _ in ends)
        ax.set_ylim(max(min(values) / 2, start * 1e-17), min(max(values) * 2, start * (1e3 if shrinks else 1e16)))


def _legend(figure, methods, table):
    """The methods in one row of the key, below them what the signs mean."""
    signs = {}
    if any(e.predicted.path is not None for e in table.entries):
        signs["prediction"] = PREDICTION
    if any(e.measured.trace is not None for e in table.entries):
        signs[f"run, {LEVEL:.1%} intervals"] = RUN
    signs["error floor"] = FLOOR
    signs[r"fixed point, $|x_\infty - x^*|^2$ (the optimum is 0)"] = FIXED_POINT | {"color": GREY}
    key(figure, methods)
    key(figure, signs, loc="outside lower center")
