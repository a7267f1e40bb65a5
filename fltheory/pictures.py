"""The style of every picture: colour-blind cycle, light grid, no pyplot state, no display, no LaTeX installation."""
from __future__ import annotations

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe-Ito
STYLE = {"axes.grid": True, "grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False, "font.size": 9,
         "legend.frameon": False, "figure.constrained_layout.use": True, "savefig.dpi": 150, "svg.hashsalt": "fltheory"}


def canvas(columns=1, rows=1, width=3.3, height=2.7):
    """(figure, axes) in the project's style, without pyplot state or a display."""
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure as Canvas
    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Canvas(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


__all__ = ["COLOURS", "STYLE", "canvas"]
