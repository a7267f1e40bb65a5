"""Find paper folders by path and load their claims, findings and ledger.

A paper folder holds `ledger.csv` (id, place, type, kind, expected, ...), `claims/*.py`, `findings.py`, and what these
import: `formulas.py`, `instances.py`. A reader's own folder is checked by the same command.
"""
from __future__ import annotations

import csv
import importlib
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path

from fltheory.claims import claim as forms
from fltheory.claims.claim import Claim, Finding
from fltheory.errors import BadInput, refuse

COLUMNS = ("id", "place", "type", "kind", "expected", "evidence", "corrected_by", "says")


@dataclass
class Paper:
    """One folder: its slug, ledger rows by id, claims and findings by id."""

    slug: str
    folder: Path
    ledger: dict
    claims: dict = field(default_factory=dict)
    findings: dict = field(default_factory=dict)


def read_ledger(path: Path) -> dict:
    """Rows of a ledger by id. Raises BadInput for missing columns or repeated ids."""
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            rows = list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"ledger {str(path)!r} cannot be read ({error}). Restore the file.") from None
    missing = [c for c in COLUMNS if rows and c not in rows[0]]
    if missing or not rows:
        refuse("ledger", str(path), f"needs the columns {COLUMNS}", f"Missing: {missing or 'every row'}.")
    out = {}
    for row in rows:
        if row["id"] in out:
            refuse("id", row["id"], f"stands twice in {path.name}", "Ids are unique.")
        out[row["id"]] = row
    return out


def papers(paths) -> list[Paper]:
    """Every paper folder at or below the given paths, sorted by slug. Raises BadInput if there is none."""
    folders = []
    for path in map(Path, paths):
        if not path.exists():
            refuse("path", str(path), "does not exist", "Give a paper folder or a folder of them, for example verification.")
        folders += [p.parent for p in ([path / "ledger.csv"] if (path / "ledger.csv").is_file()
                                       else sorted(path.glob("*/ledger.csv")))]
    if not folders:
        refuse("path", [str(p) for p in paths], "holds no paper folder (none has a ledger.csv)",
               "`fltheory list` shows the papers of a folder.")
    return [load(f) for f in folders]


def load(folder: Path) -> Paper:
    """Import a paper folder and collect what it declares."""
    folder = Path(folder).resolve()
    paper = Paper(folder.name, folder, read_ledger(folder / "ledger.csv"))
    package = _package(folder)
    files = sorted((folder / "claims").glob("[a-z]*.py")) + [f for f in (folder / "findings.py",) if f.is_file()]
    for file in files:
        name = f"{package}.{'claims.' if file.parent.name == 'claims' else ''}{file.stem}"
        importlib.import_module(name)
        for made in forms.REGISTRY:
            if made.module == name:
                _add(paper, made)
    return paper


def _package(folder: Path) -> str:
    """Make `verification.<slug>` (or `<parent>.<slug>`) importable from its path."""
    parent = folder.parent
    root = str(parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    return f"{parent.name}.{folder.name}"


def _add(paper: Paper, made):
    row = paper.ledger.get(made.id)
    wanted = "claim" if isinstance(made, Claim) else "finding"
    if row is None or row["type"] != wanted:
        refuse("id", made.id, f"is no {wanted} of {paper.slug}/ledger.csv", "Add it to the ledger with a reason, or correct the id.")
    table = paper.claims if isinstance(made, Claim) else paper.findings
    made_fields = {"paper": paper.slug, "folder": paper.folder, "place": made.place or row["place"],
                   "says": made.says or row["says"]}
    if isinstance(made, Claim):
        made_fields |= {"kind": made.kind or row["kind"], "expect": made.expect or row["expected"],
                        "instead": made.instead or row["corrected_by"] or None}
    else:
        made_fields |= {"corrected": made.corrected or row["corrected_by"] or None}
        if made.kind != row["kind"]:
            refuse("kind", made.kind, f"the ledger says {row['kind']} for {made.id}", "Decide once, in the ledger.")
    for name, value in made_fields.items():
        object.__setattr__(made, name, value)
    table[made.id] = made


__all__ = ["Claim", "Finding", "Paper", "load", "papers", "read_ledger"]
