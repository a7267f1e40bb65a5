"""The command that finds the certificates of claims over function classes: certify."""

from __future__ import annotations

from fltheory.cli.arguments import papers_of, with_paths


def add(command):
    """Declare the command."""
    sub = command("certify", _certify, "find certificates over function classes anew and keep them beside their papers")
    with_paths(sub)
    sub.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these claims")


def _certify(args):
    from fltheory.core.errors import refuse
    from fltheory.verdicts.claims.certified import make
    papers = papers_of(args)
    known = {id for paper in papers for id, claim in paper.claims.items() if claim.over}
    unknown = sorted(set(args.only) - known)
    if unknown:
        refuse("only", unknown, "names no claim that is certified over function classes", f"There are {sorted(known)}.")
    for paper in papers:
        path = make(paper, args.only, said=lambda text: print(text, flush=True))
        if path is not None:
            print(path)
    return 0
