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

    from fltheory.report.figures import regenerate
    check_folder("--out", args.out)
    for paper in papers_of(args):
        for path in regenerate(paper.folder, Path(args.out), args.only, not args.drawn_only, args.experiments):
            print(path)
    return 0
