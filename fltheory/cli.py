"""Command line: verify, list, show, witness, bench. Exit 0 as expected, 1 something differs, 2 bad input, 3 inconclusive."""

from __future__ import annotations

import argparse
import sys


def main(argv=None) -> int:
    """Run one command; returns the exit code. Bad input is printed as value, rule and remedy, never as a traceback."""
    parser = _parser()
    args = parser.parse_args(argv)
    from fltheory.errors import FLTheoryError
    try:
        return args.run(args)
    except FLTheoryError as error:
        print(f"fltheory: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader (head, less) closed early
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("fltheory: interrupted; finished verdicts are kept, continue with --resume", file=sys.stderr)
        return 130


def _parser():
    parser = argparse.ArgumentParser(
        prog="fltheory", description="Decides whether the theorems of federated optimisation are true."
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name, run, says):
        sub = commands.add_parser(name, help=says, description=says)
        sub.set_defaults(run=run)
        return sub

    def with_paths(sub):
        sub.add_argument(
            "paths", nargs="*", default=["verification"], metavar="PATH", help="paper folders, or a folder of them"
        )

    verify = command("verify", _verify, "decide every claim and finding")
    with_paths(verify)
    verify.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these claims and findings")
    verify.add_argument("--report", metavar="DIR", help="write index.html, verdicts.jsonl and verdicts.md here")
    verify.add_argument("--jobs", type=_positive, default=1, metavar="N", help="worker processes")
    verify.add_argument("--resume", action="store_true", help="reuse finished verdicts whose inputs did not change")
    verify.add_argument("--quick", action="store_true", help="a tenth of each search, no mutants")
    verify.add_argument("--strict", action="store_true", help="exit 3 if anything is inconclusive or skipped")
    verify.add_argument("--device", default="cpu", help="cpu or cuda, for the run legs")
    verify.add_argument("--mutant", metavar="BUG", help="swap a catalogued bug into every instance, to see claims fail")

    listing = command("list", _list, "list the ledger: what is stated, and what is written")
    with_paths(listing)
    listing.add_argument("--paper", metavar="SLUG", help="only this paper")

    show = command("show", _show, "one claim or finding: statement, word, numbers, witness")
    show.add_argument("id")
    with_paths(show)

    witness = command("witness", _witness, "print a finding's stand-alone witness script")
    witness.add_argument("id")
    with_paths(witness)

    for name, says in (("figures", "regenerate figures: tables as CSV beside the paper, pictures in a folder"),
                       ("reproduce", "re-run the long experiments and commit their tables with provenance")):
        sub = command(name, _figures, says)
        with_paths(sub)
        sub.set_defaults(experiments=name == "reproduce")
        sub.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these")
        sub.add_argument("--out", default="reports/figures", metavar="DIR", help="where the pictures go")
        sub.add_argument("--drawn-only", action="store_true", help="draw from the committed tables")

    bench = command("bench", _bench, "measure speed as ratios against a plain Python loop")
    bench.add_argument("--repeats", type=_positive, default=20, metavar="N", help="runs per median")
    return parser


def _positive(text):
    value = int(text) if text.lstrip("-").isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= 1")
    return value


def _verify(args):
    from fltheory.report import terminal
    from fltheory.verify import exit_code, verify
    color = sys.stdout.isatty()

    def line(records):
        first = records[0]
        show = terminal.claim_line if first["type"] == "claim" else terminal.finding_line
        print(show(first, color=color), flush=True)

    records, _ = verify(
        args.paths,
        report=args.report,
        jobs=args.jobs,
        resume=args.resume,
        only=args.only,
        quick=args.quick,
        device=args.device,
        mutant=args.mutant,
        on_record=line,
    )
    print(terminal.summary(records, color=color))
    if args.report:
        print(f"report: {args.report}/index.html")
    return exit_code(records, args.strict)


def _papers(args):
    from fltheory.claims.discover import papers
    from fltheory.errors import refuse
    found = papers(args.paths)
    wanted = getattr(args, "paper", None)
    if wanted is not None and wanted not in {p.slug for p in found}:
        refuse("paper", wanted, f"is none of {[p.slug for p in found]}", "Name one of them.")
    return [p for p in found if wanted in (None, p.slug)]


def _list(args):
    from fltheory.report.figures import figures_of
    for paper in _papers(args):
        drawn = {*figures_of(paper.folder), *figures_of(paper.folder, experiments=True)}
        for row in paper.ledger.values():
            written = row["id"] in {*paper.claims, *paper.findings, *drawn}
            state = "nothing to check" if row["kind"] == "illustration" else "written" if written else "not yet written"
            print(f"{paper.slug}/{row['id']:<28} {row['type']:<8} {row['kind']:<18} {row['expected']:<10} "
                  f"{state:<16} {row['place']}")
    return 0


def _find(args):
    from fltheory.errors import refuse
    for paper in _papers(args):
        for kind, table in (("claim", paper.claims), ("finding", paper.findings)):
            if args.id in table:
                return paper, kind, table[args.id]
    refuse("id", args.id, "is no claim or finding written here", "`fltheory list` shows the ids.")


def _show(args):
    from fltheory.claims.evidence import show
    from fltheory.claims.findings import confirm
    from fltheory.report import terminal
    paper, kind, found = _find(args)
    if kind == "finding":
        verdict = confirm(found, paper.claims)
        print(terminal.finding_line(verdict.record()))
        print(f"  {found.says}")
        for step in verdict.steps:
            print(f"  [{step['status']}] {step['step']}: {step['detail']}")
        return 0
    verdict = found.check()
    print(terminal.claim_line(verdict.record()), f"{found.place}", found.statement, "", sep="\n")
    for v in verdict.instances:
        print(f"  {v.instance}: {v.status} {v.evidence} {v.reason}")
        for c in v.comparisons:
            print(f"      {c.label or c.relation}: {show(c.lhs)[:120]} | {show(c.rhs)[:120]} -> {c.status}")
    return 0


def _witness(args):
    from fltheory.errors import refuse
    _, kind, found = _find(args)
    if kind != "finding" or found.script is None:
        refuse("id", args.id, "has no witness script", "Witnesses belong to counterexamples and wrong formulas.")
    print((found.folder / found.script).read_text(), end="")
    return 0


def _figures(args):
    from pathlib import Path

    from fltheory.report.figures import regenerate
    for paper in _papers(args):
        for path in regenerate(paper.folder, Path(args.out), args.only, not args.drawn_only, args.experiments):
            print(path)
    return 0


def _bench(args):
    from fltheory.bench import table
    print(table(args.repeats))
    return 0
