"""The style of every picture, and what each of its signs means: one convention, one key, one way to save.

Prediction = line, run = markers with intervals, error floor = dashed line, printed by a paper = dash-dotted line; an optimum
is a star and a fixed point a cross. Colour-blind cycle; no pyplot state, no display, no LaTeX installation.
"""
from __future__ import annotations

import re

import numpy as np

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe-Ito
MARKERS = "osD^vP"
TEXT, EM = 8.5, 0.57  # size of keys and captions in points (more in wide figures), mean width of a letter in sizes
GREY = "#444444"  # of signs in a key that stand for every colour
STYLE = {"axes.grid": True, "grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False, "font.size": 9,
         "legend.frameon": False, "figure.constrained_layout.use": True, "savefig.dpi": 200, "svg.hashsalt": "fltheory"}
METADATA = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}  # the same bytes every day

# the signs, as settings of `Axes.plot`
PREDICTION = {"linestyle": "-", "linewidth": 1.4}
FLOOR = {"linestyle": (0, (4, 3)), "linewidth": 1.4}
PRINTED = {"linestyle": (0, (7, 2, 1, 2)), "linewidth": 1.4}
APPROXIMATION = {"linestyle": "-", "linewidth": 5, "alpha": 0.3, "solid_capstyle": "butt"}  # below the line that it approximates
RUN = {"linestyle": "none", "marker": "o", "markersize": 4, "markerfacecolor": "none", "markeredgewidth": 1}
FIXED_POINT = {"linestyle": "none", "marker": "X", "markersize": 6.5, "markeredgecolor": "white", "markeredgewidth": 0.6}
OPTIMUM = {"linestyle": "none", "marker": "*", "markersize": 10, "markeredgecolor": "white", "markeredgewidth": 0.6}
CROSSING = {"linestyle": "none", "marker": "x", "markersize": 4.5, "markeredgewidth": 1.2}  # found by a search over steps


def canvas(columns=1, rows=1, width=3.3, height=2.7, **shared):
    """(figure, axes) in the project's style, without pyplot state or a display; shared: sharex, sharey of the panels."""
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure as Canvas
    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Canvas(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, axes


def finish(ax, title=None, **settings):
    """Title and labels of one panel, in the sizes of all of them."""
    ax.set(**settings)
    if title is not None:
        ax.set_title(title, fontsize=9.5)


def runs(ax, x, measured, half=None, colour=None, **settings):
    """Markers of runs with their intervals; cut above 0 where the value is positive, so that a logarithmic axis can hold them.

    x, seen, half: (k,) places, values and half-widths of the intervals, or None for single runs. Returns the artist.
    """
    x, measured = np.asarray(x, dtype=float), np.asarray(measured, dtype=float)
    sign = RUN | {"color": colour} | settings
    if half is None:
        return ax.plot(x, measured, **sign)[0]
    below = np.where(measured > 0, np.minimum(half, 0.999 * np.abs(measured)), half)
    return ax.errorbar(x, measured, yerr=[below, half], elinewidth=0.9, capsize=1.5, **sign)


NO_DISTANCE = {"facecolor": "#e8e8e8", "edgecolor": GREY, "linewidth": 0.5}        # signs of a map, as entries of a key
DIVERGES = {"facecolor": "white", "edgecolor": GREY, "hatch": "////", "linewidth": 0.5}


def distances(ax, across, up, values, title=None, nothing=0.0, **settings):
    """A map of distances over logarithmic axes: across (m,), up (k,), values (k, m), nan where there is none (`DIVERGES`); those up
    to `nothing` are `NO_DISTANCE`. Returns the coloured cells, for a bar. settings: of the axes."""
    from matplotlib.colors import ListedColormap, LogNorm
    x, y = (np.concatenate([[v[0] ** 1.5 / v[1] ** 0.5], np.sqrt(v[1:] * v[:-1]), [v[-1] ** 1.5 / v[-2] ** 0.5]])
            for v in (across, up))    # borders of the cells
    ax.patch.set(hatch=DIVERGES["hatch"], edgecolor=GREY, facecolor="white", linewidth=0)    # seen where no cell is drawn
    told_apart = np.isfinite(values) & (np.nan_to_num(values) > nothing)
    image = ax.pcolormesh(x, y, np.where(told_apart, values, np.nan), norm=LogNorm(1e-4, 1), cmap="viridis")
    ax.pcolormesh(x, y, np.where(np.isfinite(values) & ~told_apart, 1, np.nan), cmap=ListedColormap([NO_DISTANCE["facecolor"]]))
    finish(ax, title, xscale="log", yscale="log", xlim=x[[0, -1]], ylim=y[[0, -1]], **settings)
    ax.grid(False)
    return image


def key(where, entries, **settings):
    """One legend that says what each sign means; of a figure it stands above the panels, of an axes inside.

    entries: label -> settings of `Axes.plot`, grey unless they name a colour, or of a patch if they name a facecolor.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    handles = []
    for label, sign in entries.items():
        sign = dict(sign)
        handles.append(Patch(label=label, **sign) if "facecolor" in sign
                       else Line2D([], [], label=label, **{"color": GREY} | sign))
    if hasattr(where, "get_legend_handles_labels"):     # an axes
        return where.legend(handles=handles, **{"fontsize": 8, "frameon": False, "handlelength": 2.8} | settings)
    size = _size(where)
    widest = max(_length(label) for label in entries) * EM * size + 5 * size    # of a column, in points, with its sign
    columns = max(1, min(len(handles), int(72 * where.get_figwidth() / widest)))
    rows = -(-len(handles) // columns)
    place = {"loc": "outside upper center", "ncols": -(-len(handles) // rows), "fontsize": size, "frameon": False}
    return where.legend(handles=handles, **place | {"handlelength": 2.8} | settings)


def _size(figure):
    """Of keys and captions: a wide figure is shown smaller."""
    return TEXT * max(1, figure.get_figwidth() / 10.5)


def _length(text):
    """About how many letters wide a text with formulas is."""
    return len(re.sub(r"\\[a-zA-Z]+", "x", text).translate(str.maketrans("", "", "${}^_\\")))


def caption(figure, text):
    """Write a caption under the panels, wrapped to the figure's width; formulas are never broken."""
    words = re.findall(r"(?:\$[^$]*\$|[^\s$])+", text)
    size = _size(figure)
    room, lines, used = figure.get_figwidth() * 72 / (EM * size), [[]], 0
    for word in words:
        length = 1 + _length(word)
        if lines[-1] and used + length > room:
            lines, used = [*lines, []], 0
        lines[-1].append(word)
        used += length
    figure.get_layout_engine().set(h_pad=0.07, w_pad=0.09)      # inches: a label stands apart from the next panel
    figure.supxlabel("\n".join(" ".join(line) for line in lines), x=0.008, ha="left", fontsize=size, linespacing=1.3)


def save(figure, target, kind, description=None):
    """Save as "png" (200 dpi), "svg" or "pdf" to a path or a binary file; equal figures give equal bytes."""
    import matplotlib
    said = {} if description is None or kind == "pdf" else {"Description": description}
    with matplotlib.rc_context(STYLE):
        figure.savefig(target, format=kind, metadata=METADATA[kind] | said)
