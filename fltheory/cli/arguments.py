"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fltheory.core.errors import refuse, shown
from fltheory.verdicts.folders import carried, default_paths


def with_paths(sub):
    """PATH ...: paper folders, or a folder of them; `paths_of` reads them."""
    sub.add_argument("paths", nargs="*", metavar="PATH",
                     help="paper folders, or a folder of them (default: verification, else the papers of the installed package)")


def paths_of(args) -> list:
    """The paths of the command line, or where papers are looked for without any: said in one line where they are not here."""
    if args.paths:
        return args.paths
    paths = default_paths()
    if carried(paths[0]):  # on stderr: what is printed may be JSON or a script
        print(f"fltheory: no folder verification here, so these are the papers of the installed package ({paths[0]})",
              file=sys.stderr)
    return paths


def positive(text):
    """An integer >= 1."""
    try:
        value = int(text) if text.isdecimal() else 0
    except ValueError:  # more digits than Python converts
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not an integer >= 1")
    return value


def with_executor(sub):
    """--jobs N or --scheduler ADDRESS; `executor_of` reads them."""
    where = sub.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=positive, default=1, metavar="N", help="worker processes on this machine")
    where.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="work on the machines of this Dask scheduler")


def executor_of(args):
    """What `runs.executors.completed` takes, checked."""
    from fltheory.runs.executors import check_executor
    return check_executor(args.scheduler if args.scheduler is not None else args.jobs if args.jobs > 1 else None)


def seconds(text):
    """A finite number > 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds > 0")
    return value


def check_output(what, path):
    """Refuse a file that could not be written, before the work that fills it."""
    if path is None:
        return
    folder, says = Path(path).parent, ""
    if "\0" in str(path) or not folder.is_dir():
        says = f"{str(folder)!r} is no folder"
    elif Path(path).is_dir():
        says = "it is a folder"
    elif Path(path).exists() and not Path(path).is_file():
        says = "it is a device or a pipe, not a file"
    elif not os.access(folder, os.W_OK):
        says = f"no permission in {str(folder)!r}"
    if says:
        refuse(what, path, f"cannot be written ({says})", "Choose a file in an existing folder.")


def check_folder(what, path):
    """Refuse a folder that could be neither used nor made, before the work that fills it."""
    nearest = Path(path).absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        refuse(what, path, f"cannot be made a folder ({str(nearest)!r} is "
               f"{'not to be written to' if nearest.is_dir() else 'no folder'})", "Choose another.")


def papers_of(args, id=None):
    """The paper folders named on the command line, narrowed by --paper, else to those that may hold an id."""
    from fltheory.verdicts.papers.discover import papers
    wanted = getattr(args, "paper", None)
    folders = papers(paths_of(args), id if wanted is None else None)
    if wanted is not None and wanted not in {p.slug for p in folders}:
        refuse("paper", wanted, f"is none of {[p.slug for p in folders]}", "Name one of them.")
    return [p for p in folders if wanted in (None, p.slug)]
