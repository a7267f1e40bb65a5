"""Arguments that several commands share."""

from __future__ import annotations

import argparse

from fltheory.errors import shown


def with_paths(sub):
    """PATH ...: paper folders, or a folder of them."""
    sub.add_argument(
        "paths", nargs="*", default=["verification"], metavar="PATH", help="paper folders, or a folder of them"
    )


def positive(text):
    """An integer >= 1."""
    try:
        value = int(text) if text.isdecimal() else 0
    except ValueError:  # more digits than Python converts
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not an integer >= 1")
    return value


def seconds(text):
    """A finite number > 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds > 0")
    return value


def papers_of(args):
    """The paper folders named on the command line, narrowed by --paper."""
    from fltheory.claims.discover import papers
    from fltheory.errors import refuse
    found = papers(args.paths)
    wanted = getattr(args, "paper", None)
    if wanted is not None and wanted not in {p.slug for p in found}:
        refuse("paper", wanted, f"is none of {[p.slug for p in found]}", "Name one of them.")
    return [p for p in found if wanted in (None, p.slug)]
