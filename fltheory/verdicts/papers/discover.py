"""Find paper folders by path and load their claims, findings and ledger.

A paper folder holds `ledger.csv` (id, place, type, kind, expected, ...), `claims/*.py`, `findings.py` or
`findings/*.py`, what these import (formulas, instances), and perhaps `answer.md` and `paper.toml`. A reader's own folder
is checked by the same command.
"""
from __future__ import annotations

import csv
import difflib
import importlib
from dataclasses import dataclass, field
from pathlib import Path

from fltheory.core.errors import BadInput, refuse
from fltheory.verdicts import records
from fltheory.verdicts.claims import claim
from fltheory.verdicts.claims.claim import Claim
from fltheory.verdicts.deciding import slow
from fltheory.verdicts.folders import activate, elsewhere, imported
from fltheory.verdicts.papers import answers, inputs, paper_toml

WRITTEN = ("claim", "finding")   # types of rows that code stands behind; figures and tables are drawn
COLUMNS = ("id", "place", "type", "kind", "expected", "evidence", "corrected_by", "says")


@dataclass
class Paper:
    """One folder: its slug, ledger rows by id, claims and findings by id, its answer and what it says about the paper
    (None if it has none)."""

    slug: str
    folder: Path
    ledger: dict
    claims: dict = field(default_factory=dict)
    findings: dict = field(default_factory=dict)
    answer: records.Answer | None = None
    about: dict | None = None

    @property
    def written(self) -> list:
        """[claims and findings that are written, those that the ledger lists]; withdrawn rows, figures and tables do not count."""
        return [len(self.claims) + len(self.findings), sum(row["type"] in WRITTEN for row in self.ledger.values())]


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
    for number, row in enumerate(rows, start=2):
        if not row["id"] or None in (row[c] for c in COLUMNS):
            refuse("row", number, f"of {path.name} has no id or fewer fields than columns", "Complete the row.")
        if row["id"] in out:
            refuse("id", row["id"], f"stands twice in {path.name}", "Ids are unique.")
        out[row["id"]] = row
    return out


def papers(paths, id=None) -> list[Paper]:
    """Every paper folder at or below the given paths, each once, sorted by slug; folders of one name are told apart by
    their parents. id: of a claim or finding, or paper/id: only the folders whose ledgers list it are imported, and if none does,
    ledgers alone are read. Raises BadInput if there is no folder."""
    folders = []
    for path in map(Path, paths):
        if not path.exists():
            refuse("path", str(path), "does not exist",
                   f"Give PATH, a paper folder (it holds a ledger.csv) or a folder of them. {elsewhere()}")
        folders += [p.parent for p in ([path / "ledger.csv"] if (path / "ledger.csv").is_file()
                                       else sorted(path.glob("*/ledger.csv")))]
    if not folders:
        refuse("path", [str(p) for p in paths], "holds no paper folder (none has a ledger.csv)", elsewhere())
    folders, depth = sorted({f.resolve() for f in folders}, key=lambda f: (f.name, str(f))), 1
    while len({f.parts[-depth:] for f in folders}) < len(folders):
        depth += 1
    slugs = {f: "/".join(f.parts[-depth:]) for f in folders}
    if isinstance(id, str):
        (prefix, _, name), ledgers = id.rpartition("/"), {f: read_ledger(f / "ledger.csv") for f in folders}
        holding = [f for f in folders if prefix in ("", slugs[f]) and ledgers[f].get(name, {}).get("type") in WRITTEN]
        among = [load(f) for f in holding] or [Paper(f.name, f, ledger) for f, ledger in ledgers.items()]
    else:
        among = [load(f) for f in folders]
    for paper in among:
        paper.slug = slugs[paper.folder]
    return among


def load(folder: Path) -> Paper:
    """Import a paper folder and collect what it declares."""
    folder = Path(folder).resolve()
    inputs.stamp(folder)  # before anything of it is read
    paper = Paper(folder.name, folder, read_ledger(folder / "ledger.csv"))
    paper.answer, paper.about = answers.read(folder, paper.ledger), paper_toml.read(folder)
    late, package = slow.read(folder), activate(folder)
    files = [f for part in ("claims", "findings") for f in sorted((folder / part).glob("[a-z]*.py"))]
    files += [f for f in (folder / "findings.py",) if f.is_file()]
    for file in files:
        name = ".".join([package, *file.relative_to(folder).with_suffix("").parts])
        imported(lambda name=name: importlib.import_module(name), file.relative_to(folder.parent))
        for declaration in claim.REGISTRY:
            if declaration.module == name and declaration.folder in (None, folder):
                _add(paper, declaration)
    for declaration in paper.claims.values():
        if declaration.at or declaration.step or declaration.script:
            _add(paper, declaration.own_finding(paper.ledger.get(declaration.finding, {}).get("kind", "counterexample")))
    for c in paper.claims.values():
        c.findings = frozenset(f.id for f in paper.findings.values() if c.id == f.breaks or c.finding == f.id)
        c.slow = late.get(c.id, frozenset())
    return paper


def _add(paper: Paper, declaration):
    row = paper.ledger.get(declaration.id)
    wanted = "claim" if isinstance(declaration, Claim) else "finding"
    if row is None or row["type"] != wanted:
        refuse("id", declaration.id, f"is no {wanted} of {paper.slug}/ledger.csv",
               "Add it to the ledger with a reason, or correct the id.")
    table = paper.claims if isinstance(declaration, Claim) else paper.findings
    if declaration.id in table:
        refuse("id", declaration.id, f"is declared twice in {paper.slug}", "Ids are unique.")
    fields = {"paper": paper.slug, "folder": paper.folder, "place": declaration.place or row["place"],
              "says": declaration.says or row["says"]}
    if isinstance(declaration, Claim):
        fields |= {"kind": declaration.kind or row["kind"], "expect": declaration.expect or row["expected"],
                   "instead": declaration.instead or row["corrected_by"] or None}
    else:
        fields |= {"corrected": declaration.corrected or row["corrected_by"] or None}
        if declaration.kind != row["kind"]:
            refuse("kind", declaration.kind, f"the ledger says {row['kind']} for {declaration.id}", "Decide once, in the ledger.")
    for name, value in fields.items():
        object.__setattr__(declaration, name, value)
    table[declaration.id] = declaration


def find(among, id) -> tuple:
    """(paper, kind, claim or finding) of an id, or of paper/id. Raises BadInput, with close ids where there is none."""
    if not isinstance(id, str) or not id:
        refuse("id", id, "a claim is named by a string", 'For example "eq26-28".')
    matches, known, waiting = [], [], []
    for paper in among:
        for kind, table in (("claim", paper.claims), ("finding", paper.findings)):
            matches += [(paper, kind, table[name]) for name in table if id in (name, f"{paper.slug}/{name}")]
        names = {**paper.claims, **paper.findings} or [n for n, row in paper.ledger.items() if row["type"] in WRITTEN]
        known += [v for name in names for v in ((name, f"{paper.slug}/{name}") if "/" in id else (name,))]
        waiting += [paper.slug for name in paper.ledger if id in (name, f"{paper.slug}/{name}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = [f"{paper.slug}/{declaration.id}" for paper, _, declaration in matches]
        refuse("id", id, f"is used by {len(matches)} papers", f"Write {' or '.join(names)}.")
    if waiting:
        refuse("id", id, f"stands in the ledger of {' and '.join(dict.fromkeys(waiting))} but holds nothing to show",
               "`fltheory list` shows which ids are written.")
    refuse("id", id, "is no claim or finding written here", f"{_meant(id, known)}`fltheory list` shows the ids.")


def _meant(wrong, known) -> str:
    """"Did you mean ...? ", or nothing where no id is close. Ids that go on as typed come first."""
    lower, typed = {name.lower(): name for name in known}, wrong.lower()
    close = sorted((n for n in lower if n.startswith(typed)), key=len) + difflib.get_close_matches(typed, lower, 3, 0.6)
    close += [n for n in lower if typed in n and "/" not in n]
    close = list(dict.fromkeys(lower[n] for n in close))[:3]
    return f"Did you mean {' or '.join(close)}? " if close else ""
