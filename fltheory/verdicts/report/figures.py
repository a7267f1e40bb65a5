"""Figures of papers: `data()` makes a table that is committed as CSV, `draw(table)` draws it.

The signs and their key are those of `fltheory.pictures`. A figure module declares `FIGURES = {name: Figure(data, draw, caption)}`.
"""
from __future__ import annotations

import csv
import functools
import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fltheory.core.errors import BadInput, refuse
from fltheory.core.tables import to_csv
from fltheory.pictures import caption, save
from fltheory.runs.executors import completed
from fltheory.runs.sources import engine
from fltheory.runs.trace import write_atomically
from fltheory.verdicts import folders
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


def regenerated(figures, out: Path, fresh=True, experiments=False, executor=None):
    """Pairs ((folder, name), files written) of figures as they finish, each written as CSV (in the paper's data folder, if fresh)
    and as PNG and SVG in `out`.

    Fresh tables of a paper that the installed package carries go to `out` too. executor: where the tables are computed, see
    `runs.executors.completed`; they are written and drawn here. Workers of other machines need the same papers under the same
    path (or the same installed package): with other code they are refused.
    experiments: the long ones, whose tables carry a JSON file of provenance (versions and device).
    """
    figures = [(Path(folder), name) for folder, name in figures]
    fresh = [f for f in figures if fresh or not _committed(*f).is_file()]
    for folder, name in figures:
        if (folder, name) not in fresh:
            yield (folder, name), _drawn(folder, name, _committed(folder, name), out, experiments)
    place = {folder: _CARRIED + folder.name if carried(folder) else str(folder.resolve()) for folder, _ in fresh}
    texts = {folder: _text(folder) for folder in place} if executor is not None else {}
    tasks = {(place[folder], name, texts.get(folder)): (folder, name) for folder, name in fresh}
    with closing(completed(functools.partial(_table, experiments), tasks, executor)) as results:
        for task, (rows, record) in results:
            folder, name = tasks[task]
            table = out / f"{folder.name}-{name}.csv" if carried(folder) else _committed(folder, name)
            table.parent.mkdir(exist_ok=True, parents=True)
            write_atomically(table, lambda f, rows=rows: f.write(rows.encode()))
            if experiments:
                record = json.dumps(record, indent=1).encode()
                write_atomically(table.with_suffix(".json"), lambda f, record=record: f.write(record))
            yield (folder, name), _drawn(folder, name, table, out, experiments)


_CARRIED = "carried:"  # instead of the path of a paper that every installed package has


def _committed(folder, name):
    return folder / "data" / f"{name}.csv"


def _table(experiments, task) -> tuple:
    """(CSV, provenance) of one figure, on whatever machine."""
    place, name, text = task
    folder = folders.CARRIED / place.removeprefix(_CARRIED) if place.startswith(_CARRIED) else Path(place)
    if text is not None and (not folder.is_dir() or _text(folder) != text):
        refuse("paper", place, "is not here with the code that asks for it",
               "Give all machines the same files under the same path.")
    rows = to_csv(figures_of(folder, experiments)[name].data())
    if not experiments:
        return rows, None
    from fltheory.runs import provenance
    return rows, provenance()


@functools.cache
def _text(folder) -> str:
    """A digest of the engine, of a paper's code, and of what lies beside the papers."""
    h = hashlib.sha256(engine().encode())
    for path in sorted([*folder.parent.glob("*.py"), *folder.rglob("*.py")]):
        h.update(str(path.relative_to(folder.parent)).encode() + b"\0" + path.read_bytes() + b"\0")
    return h.hexdigest()


def _drawn(folder, name, table, out, experiments) -> list[Path]:
    figure = figures_of(folder, experiments)[name]
    drawn, written = figure.picture(from_csv(table)), [table]
    out.mkdir(parents=True, exist_ok=True)
    for suffix in ("png", "svg"):
        path = out / f"{folder.name}-{name}.{suffix}"
        save(drawn, path, suffix, f"{figure.caption} Drawn from {table.name}.")
        written.append(path)
    return written
