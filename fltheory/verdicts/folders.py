"""Folders of papers as importable modules: `<parent>.<slug>` names one of them at a time."""
from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import traceback
from pathlib import Path

from fltheory.core.errors import BadInput, FLTheoryError, refuse, shortened

CARRIED = Path(__file__).resolve().parents[1] / "papers" / "verification"  # in an installed wheel; a checkout has none


def default_paths() -> list[str]:
    """Where papers are looked for if nobody says: the folder `verification` here, else the papers of the installed package."""
    here = "verification"
    return [str(CARRIED) if CARRIED.is_dir() and not Path(here).exists() else here]


def beside() -> Path:
    """The papers that belong to this package: those it carries, else those of the checkout that it runs from."""
    return CARRIED if CARRIED.is_dir() else Path(__file__).resolve().parents[2] / "verification"


def elsewhere() -> str:
    """A remedy that works where no papers are: the papers of the checkout that this package runs from, or a paper of one's own."""
    checkout = beside()
    if any(checkout.glob("*/ledger.csv")):
        return f"The papers of the checkout that this package runs from lie in {checkout}: `fltheory list {checkout}`."
    return "`fltheory new-paper SLUG` writes one: `fltheory list papers`."


def carried(folder) -> bool:
    """Whether a folder belongs to the installed package, in which nothing may be written."""
    return Path(folder).resolve().is_relative_to(CARRIED)


def imported(load, file):
    """What `load` returns, which executes a reader's file; whatever that raises becomes a BadInput with its place."""
    try:
        return load()
    except (FLTheoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a file that calls sys.exit() must not end the program, least of all with status 0
        raise BadInput(f"{file} cannot be imported: {_where(error)}. "
                       "Correct the file, or install what it needs.") from error


def _where(error):
    at = traceback.extract_tb(error.__traceback__)[-1]
    line = error.lineno if isinstance(error, SyntaxError) else at.lineno
    return f"{type(error).__name__}: {shortened(error)} (line {line})"


_ASIDE: dict[Path, dict] = {}  # modules of folders of papers whose name another one uses at the moment


def activate(folder: Path) -> str:
    """Make `<parent>.<slug>` name this folder's modules and return that name.

    Folders of papers may share a name: the modules of the others are put aside. Raises BadInput if the parent's name
    belongs to an importable module that is no folder of papers.
    """
    folder = Path(folder).resolve()
    parent, name = folder.parent, folder.parent.name
    places = refuse_module_name(parent)
    if name in sys.modules and places != [parent]:
        _ASIDE[places[0]] = {k: sys.modules.pop(k) for k in list(sys.modules) if k == name or k.startswith(name + ".")}
    if name not in sys.modules:
        sys.modules.update(_ASIDE.pop(parent, {}) or {name: _parent_module(parent)})
    if str(parent.parent) not in sys.path:
        sys.path.append(str(parent.parent))
    return f"{name}.{folder.name}"


def refuse_module_name(parent: Path) -> list[Path]:
    """Where modules called like this folder of papers are found now. Raises BadInput if one of them is something else."""
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(parent.name)
    origins = [] if spec is None else spec.submodule_search_locations or [spec.origin or "."]
    places = [Path(p).resolve() for p in origins]
    if any(p != parent and not any(p.glob("*/ledger.csv")) for p in places):
        refuse("folder", str(parent), f"has the name of the module {parent.name!r}",
               "Work where no other module has that name." if carried(parent) else "Rename the folder that holds the papers.")
    return places


def _parent_module(parent):
    """The folder of papers as a package, with or without an __init__.py."""
    start, places = parent / "__init__.py", [str(parent)]
    if start.is_file():
        spec = importlib.util.spec_from_file_location(parent.name, start, submodule_search_locations=places)
    else:
        spec = importlib.machinery.ModuleSpec(parent.name, None, is_package=True)
        spec.submodule_search_locations = places
    module = importlib.util.module_from_spec(spec)
    if start.is_file():
        imported(lambda: spec.loader.exec_module(module), start.relative_to(parent.parent))
    return module
