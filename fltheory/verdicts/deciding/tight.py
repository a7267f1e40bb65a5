"""The figure of a paper's certified rows: the smallest certified constant of each setting beside the printed one."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from fltheory.core.numbers.scalars import is_rational
from fltheory.pictures import COLOURS, CROSSING, PRINTED, RUN, canvas, finish, key
from fltheory.verdicts.deciding.certified import comparisons
from fltheory.verdicts.report.figures import Figure

LEAST = 1e-4  # smaller shares of a constant are drawn here: a certificate gives away about as much


def tight(folder: Path) -> Figure:
    """The figure for a paper folder whose claims are certified over function classes."""
    return Figure(lambda: _data(folder), _draw,
                  "Each mark is one setting (clients, local steps, law, step). The certified constant is an upper bound of the "
                  f"smallest one; shares below {LEAST:g} stand at the left edge.")


def _data(folder) -> list[dict]:
    """One row per comparison with both constants: claim, setting, label, certified, printed, share = certified/printed."""
    from fltheory.verdicts.papers.discover import load
    rows = []
    for claim in load(folder).claims.values():
        for setting in claim.over:
            for c in comparisons(claim, setting)[0]:
                if is_rational(c.lhs):  # an interval of steps or of numbers of clients has no constant
                    rows.append({"claim": claim.id, "setting": setting.name, "label": c.label, "certified": float(c.lhs),
                                 "printed": float(c.rhs), "share": float(c.lhs / c.rhs), "as given": str(c.looseness is None)})
    return rows


def _draw(rows):
    names = list(dict.fromkeys(r["claim"] for r in rows))
    figure, axes = canvas(1, width=6.6, height=1.1 + 0.27 * len(names))
    ax = axes[0, 0]
    for y, name in enumerate(names):
        for as_given, sign in (("False", RUN), ("True", CROSSING)):
            shares = np.array([max(r["share"], LEAST) for r in rows if r["claim"] == name and r["as given"] == as_given])
            if len(shares):
                ax.plot(shares, np.full(len(shares), y), **sign | {"linestyle": "none", "color": COLOURS[0], "alpha": 0.7})
    ax.axvline(1, **PRINTED | {"color": COLOURS[1]})
    ax.set_xscale("log")
    finish(ax, xlim=(LEAST / 2, 3), ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)), yticklabels=names,
           xlabel="certified constant as a share of the printed one")
    key(figure, {"certified for all functions of the class, one setting": RUN | {"color": COLOURS[0]},
                 "certified as it stands, not minimised": CROSSING | {"color": COLOURS[0]},
                 "printed (or corrected) constant": PRINTED | {"color": COLOURS[1]}})
    return figure
