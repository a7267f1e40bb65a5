"""Figures of papers: `data()` makes a table that is committed as CSV, `draw(table)` draws it.

The signs and their key are those of `fltheory.pictures`. A figure module declares `FIGURES = {name: Figure(data, draw, caption)}`.
"""
from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fltheory.core.errors import BadInput, refuse
from fltheory.core.tables import to_csv
from fltheory.core.trace import write_atomically
from fltheory.pictures import COLOURS, canvas, caption, save
from fltheory.verdicts.folders import activate, carried


@dataclass(frozen=True)
class Figure:
    """data: () -> list of dict rows (numbers and strings); draw: rows -> matplotlib figure; caption: stands under the panels."""

    data: Callable
    draw: Callable
    caption: str

    def picture(self, rows):
        """The matplotlib figure of a table, with its caption."""
        drawn = self.draw(rows)
        caption(drawn, self.caption)
        return drawn


def from_csv(path) -> list[dict]:
    """Rows of a committed table, numbers as floats. Raises BadInput if it cannot be read."""
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            return [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(handle)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(
            f"table {str(path)!r} cannot be read ({error}). Regenerate it with `fltheory figures`."
        ) from None


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def figures_of(folder: Path, experiments=False) -> dict:
    """FIGURES of a paper's figures.py, or EXPERIMENTS (long runs) of its experiments.py; {} if it has none."""
    name = "experiments" if experiments else "figures"
    if not (folder / f"{name}.py").is_file():
        return {}
    return getattr(import_module(f"{activate(folder)}.{name}"), name.upper())


def regenerate(folder: Path, out: Path, only=(), fresh=True, experiments=False) -> list[Path]:
    """Write each figure of a paper as CSV (in the paper's data folder, if fresh) and as PNG and SVG in `out`.

    Fresh tables of a paper that the installed package carries go to `out` too.
    experiments: the long ones, whose tables carry a JSON file of provenance (versions and device).
    """
    written = []
    known = figures_of(folder, experiments)
    unknown = [n for n in only if n not in known]
    if unknown:
        refuse("figure", unknown, f"is none of {sorted(known)}", "Name one of them.")
    for name, figure in known.items():
        if only and name not in only:
            continue
        table = folder / "data" / f"{name}.csv"
        if fresh or not table.is_file():
            table = out / f"{folder.name}-{name}.csv" if carried(folder) else table
            table.parent.mkdir(exist_ok=True, parents=True)
            text = to_csv(figure.data()).encode()
            write_atomically(table, lambda f, text=text: f.write(text))
            if experiments:
                from fltheory.core.runs import provenance
                record = json.dumps(provenance(), indent=1).encode()
                write_atomically(table.with_suffix(".json"), lambda f, record=record: f.write(record))
        written.append(table)
        drawn = figure.picture(from_csv(table))
        out.mkdir(parents=True, exist_ok=True)
        for suffix in ("png", "svg"):
            path = out / f"{folder.name}-{name}.{suffix}"
            save(drawn, path, suffix, f"{figure.caption} Drawn from {table.name}.")
            written.append(path)
    return written


__all__ = ["COLOURS", "Figure", "canvas", "figures_of", "from_csv", "regenerate", "to_csv"]
