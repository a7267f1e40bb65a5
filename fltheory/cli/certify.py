"""The command that finds the certificates of claims over function classes: certify."""

from __future__ import annotations

from fltheory.cli.arguments import check_output, papers_of, with_paths


def add(command):
    """Declare the command."""
    sub = command("certify", _certify, "find certificates over function classes anew (minutes) and keep them beside their papers")
    with_paths(sub)
    sub.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these claims, as ID or paper/ID")


def _certify(args):
    from fltheory.core.errors import refuse
    from fltheory.verdicts.deciding.certified import FILE, make
    from fltheory.verdicts.folders import carried
    papers = papers_of(args)
    known = {f"{paper.slug}/{id}": id for paper in papers for id, claim in paper.claims.items() if claim.over}
    unknown = sorted(set(args.only).difference(known, known.values()))
    if unknown:
        refuse("only", unknown, "names no claim that is certified over function classes", f"There are {sorted(known)}."
               if known else "A claim is certified where it is declared with over= and certify=.")
    wanted = {name for name, id in known.items() if not args.only or {name, id}.intersection(args.only)}
    todo = [(paper, ids) for paper in papers if (ids := [id for id in paper.claims if f"{paper.slug}/{id}" in wanted])]
    for paper, _ in todo:
        if carried(paper.folder):
            refuse("path", str(paper.folder), "belongs to the installed package, in which nothing is written",
                   "Give the path of a checkout's papers, or of your own.")
        check_output("certificates", paper.folder / FILE)
    if not todo:
        print(f"nothing to do: no claim of {', '.join(paper.slug for paper in papers)} is certified over function classes")
    for paper, ids in todo:
        print(make(paper, ids, said=lambda text: print(text, flush=True)))
    return 0
