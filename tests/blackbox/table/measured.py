"""One row's outcome, and the list of rows known to be missed with their reasons."""

from __future__ import annotations

import csv
from pathlib import Path

MISSES = Path(__file__).with_name("misses.csv")


def named(words, text):
    return any(w in text for w in words.split("|"))


def outcome(row):
    """(outcome, what was said): "named" or "missed" for faulty rows, "right" or "accused" for correct ones.

    A fault is named if its words are in the first or second explanation; with two faults both must be.
    """
    found = row.identified()
    said = " || ".join(f.sentence for f in found.faults[:2])
    if not row.words:
        return ("right" if found.matches else "accused"), f"{found.verdict}: {said or found.reason}"
    good = not found.matches and all(named(w, said) for w in row.words)
    return ("named" if good else "missed"), f"{found.verdict}: {said or found.reason}"


def known():
    """{row name: outcome} of the rows that do not come out as they should; the file says why."""
    with MISSES.open(newline="") as file:
        return {r["row"]: r["outcome"] for r in csv.DictReader(file)}
