"""Commands that decide and show claims: verify, list, show, witness."""

from __future__ import annotations

import sys

from fltheory.cli.arguments import papers_of, positive, with_paths


def add(command):
    """Declare the commands."""
    verify = command("verify", _verify, "decide every claim and finding")
    with_paths(verify)
    verify.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these claims and findings")
    verify.add_argument("--report", metavar="DIR", help="write index.html, verdicts.jsonl and verdicts.md here")
    verify.add_argument("--jobs", type=positive, default=1, metavar="N", help="worker processes")
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


def _list(args):
    from fltheory.report.figures import figures_of
    for paper in papers_of(args):
        drawn = {*figures_of(paper.folder), *figures_of(paper.folder, experiments=True)}
        for row in paper.ledger.values():
            written = row["id"] in {*paper.claims, *paper.findings, *drawn}
            state = "nothing to check" if row["kind"] == "illustration" else "written" if written else "not yet written"
            print(f"{paper.slug}/{row['id']:<28} {row['type']:<8} {row['kind']:<18} {row['expected']:<10} "
                  f"{state:<16} {row['place']}")
    return 0


def _find(args):
    from fltheory.errors import refuse
    for paper in papers_of(args):
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
