"""Commands that regenerate figures and long experiments: figures, reproduce."""

from __future__ import annotations

from fltheory.cli.arguments import check_folder, executor_of, papers_of, with_executor, with_paths
from fltheory.cli.progress import Progress, with_progress
from fltheory.core.errors import refuse

OUT = "reports/figures"


def add(command):
    """Declare the commands."""
    for name, says in (("figures", "regenerate figures: tables as CSV beside the paper, pictures in a folder"),
                       ("reproduce", "re-run the long experiments and write their tables with provenance; "
                                    "`reproduce gallery` puts frameworks before identify again")):
        sub = command(name, _figures, says)
        with_paths(sub)
        sub.set_defaults(experiments=name == "reproduce")
        sub.add_argument("--only", nargs="+", default=[], metavar="NAME",
                         help="only these, as NAME or paper/NAME; of the gallery as framework or framework/algorithm")
        sub.add_argument("--out", default=OUT, metavar="DIR", help=f"where the pictures go (default: {OUT})")
        sub.add_argument("--drawn-only", action="store_true", help="draw from the committed tables")
        with_executor(sub)
        with_progress(sub)


def _figures(args):
    from pathlib import Path

    from fltheory.verdicts.report.figures import figures_of, regenerated
    check_folder("--out", args.out)
    executor = executor_of(args)
    if args.experiments and "gallery" in args.paths:
        from importlib import import_module

        from fltheory.verdicts.folders import activate, beside
        for option, value, plain in (("--out", args.out, OUT), ("--jobs or --scheduler", executor, None),
                                     ("PATH", args.paths, ["gallery"])):
            if value != plain:
                refuse(option, value, "means nothing for the gallery, which is made in one process beside its cases",
                       "Leave it out; --only and --drawn-only can be given.")
        return import_module(f"{activate(beside() / 'frameworks')}.regenerating").regenerated(args.drawn_only, args.only)
    known = {(paper.folder, name): {name, f"{paper.slug}/{name}", f"{paper.slug}-{name}"}  # the last: as the file is called
             for paper in papers_of(args) for name in figures_of(paper.folder, args.experiments)}
    unknown = sorted(set(args.only).difference(*known.values()))
    if unknown:
        refuse("figure", unknown, f"is none of {sorted(f'{folder.name}/{name}' for folder, name in known)}", "Name one of them.")
    todo = [figure for figure, names in known.items() if not args.only or names.intersection(args.only)]
    with Progress("regenerating", args.progress) as progress:
        left = dict.fromkeys(f"{folder.name}/{name}" for folder, name in todo)

        def say():
            progress.update(len(todo) - len(left), len(todo), list(left)[:1 if executor is None else None])
        say()
        for (folder, name), written in regenerated(todo, Path(args.out), not args.drawn_only, args.experiments, executor):
            left.pop(f"{folder.name}/{name}")
            with progress.aside():
                print(*written, sep="\n", flush=True)
            say()
    return 0
