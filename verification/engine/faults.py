"""The catalogue of planted faults: `faults.csv`, a wrong line of the engine per row, chosen before the claims were written.

`origin` says who chose it: a person, or the mechanical mutator with its seed, group and place in the drawn order. What
the mutator drew and was left out, since no behaviour can tell it from the right line, stands in `excluded.csv`.
"""
from __future__ import annotations

import csv
from pathlib import Path

from verification.engine.planting import Fault

FOLDER = Path(__file__).parent


def read(file="faults.csv") -> list[dict]:
    """Rows of one of the two tables."""
    with open(FOLDER / file, newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


FAULTS = {row["name"]: Fault(**row) for row in read()}


def these(*names) -> tuple:
    """Faults by name, for the `rejects` of a claim."""
    return tuple(FAULTS[name] for name in names)


__all__ = ["FAULTS", "read", "these"]
