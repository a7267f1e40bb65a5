"""Commands that regenerate figures and long experiments: figures, reproduce."""

from __future__ import annotations

from fltheory.cli.arguments import check_folder, papers_of, with_paths


def add(command):
    """Declare the commands."""
    for name, says in (("figures", "regenerate figures: tables as CSV beside the paper, pictures in a folder"),
                       ("reproduce", "re-run the long experiments and commit their tables with provenance")):
        sub = command(name, _figures, says)
        with_paths(sub)
        sub.set_defaults(experiments=name == "reproduce")
        sub.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these")
        sub.add_argument("--out", default="reports/figures", metavar="DIR", help="where the pictures go")
        sub.add_argument("--drawn-only", action="store_true", help="draw from the committed tables")


def _figures(args):
    from pathlib import Path

    from fltheory.errors import refuse
    from fltheory.report.figures import figures_of, regenerate
    check_folder("--out", args.out)
    known = {paper.folder: list(figures_of(paper.folder, args.experiments)) for paper in papers_of(args)}
    unknown = sorted(set(args.only).difference(*known.values()))
    if unknown:
        refuse("figure", unknown, f"is none of {sorted(set().union(*known.values()))}", "Name one of them.")
    for folder, names in known.items():
        only = [name for name in names if name in (args.only or names)]
        for path in regenerate(folder, Path(args.out), only, not args.drawn_only, args.experiments) if only else ():
            print(path)
    return 0
