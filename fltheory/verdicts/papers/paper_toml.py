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
from fltheory.verdicts.records import Paper

FILE = "paper.toml"
_EXPERIMENTS = {"regenerated", "substituted", "failed", "left"}


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
        if key not in Paper.may_lack:
            refuse("key", key, f"is none of {Paper.may_lack}, the keys of {FILE}", "Correct the name, or remove it.")
        if not _fits(key, value):
            refuse(key, value, f"is not of the kind that {FILE} holds", "`fltheory new-paper` writes an example.")
    return about


def record(about, slug) -> list[dict]:
    """The record of a paper's own data, for the report; none without a file."""
    return [] if about is None else [{"type": "paper", **about, "paper": slug}]


def _fits(key, value) -> bool:
    """Whether the record of the paper takes the value."""
    try:
        paper = Paper.of({"paper": "", key: value})
    except BadInput:
        return False
    if key == "year":
        return type(value) is int
    return set(paper.experiments) <= _EXPERIMENTS and all(len(s.equations) in (0, 2) for s in paper.sections)
