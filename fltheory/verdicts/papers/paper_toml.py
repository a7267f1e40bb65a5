"""What a paper folder says about the paper itself: `paper.toml`, optional, for the head of the paper's page.

    title = "Federated Example Descent"
    authors = ["A. Author", "B. Author"]
    year = 2020
    venue = "Conference 2020"
    identifier = "arXiv 2001.00001"
    version = "v3"

    [[sections]]                 # the paper's own sections, in its order
    title = "4 Convergence"
    places = ["Sec 4", "Theorem 1"]      # how the ledger's column `place` names what stands there
    equations = [7, 12]                  # first and last equation

    [[notation]]
    symbol = "$\\\\eta$"
    meaning = "client step size"

    [[assumptions]]
    name = "A1"
    says = "Every $F_i$ is $L$-smooth."

    [experiments]
    regenerated = ["Figure 2"]
    substituted = ["Table 1, on other data"]
    failed = ["the gain of momentum in Table 1"]
    left = ["Figure 6"]

Texts may hold formulas between dollars. A verdict never depends on this file.
"""
from __future__ import annotations

import tomllib
from pathlib import Path

from fltheory.core.errors import BadInput, refuse

FILE = "paper.toml"
_TEXTS = ("title", "venue", "identifier", "version")
_TABLES = {"sections": ("title",), "notation": ("symbol", "meaning"), "assumptions": ("name", "says")}
_EXPERIMENTS = ("regenerated", "substituted", "failed", "left")
_KEYS = (*_TEXTS, "authors", "year", *_TABLES, "experiments")


def read(folder: Path) -> dict | None:
    """The fields of a folder's `paper.toml`, None if it has none.

    Raises BadInput for a file that is no TOML, an unknown key, and a value of another kind than shown above.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    try:
        about = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"paper {str(path)!r} cannot be read ({error}). Correct the file, or remove it.") from None
    for key, value in about.items():
        if key not in _KEYS:
            refuse("key", key, f"is none of {_KEYS}, the keys of {FILE}", "Correct the name, or remove it.")
        if not _fits(key, value):
            refuse(key, value, f"is not of the kind that {FILE} holds", "`fltheory new-paper` writes an example.")
    return about


def record(about, slug) -> list[dict]:
    """The record of a paper's own data, for the report; none without a file."""
    return [] if about is None else [{"type": "paper", **about, "paper": slug}]


def _fits(key, value) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key == "year":
        return type(value) is int
    if key == "authors":
        return _texts(value)
    if key == "experiments":
        return isinstance(value, dict) and set(value) <= set(_EXPERIMENTS) and all(map(_texts, value.values()))
    return isinstance(value, list) and all(isinstance(row, dict) and _row(_TABLES[key], row) for row in value)


def _row(needed, row) -> bool:
    rest = {k: v for k, v in row.items() if k not in needed}
    if needed == _TABLES["sections"]:
        first_last = rest.pop("equations", [0, 0])
        if not _texts(rest.pop("places", [])) or not isinstance(first_last, list) or len(first_last) != 2 or not all(
                type(n) is int for n in first_last):
            return False
    return not rest and _texts([row.get(k) for k in needed])


def _texts(value) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)
