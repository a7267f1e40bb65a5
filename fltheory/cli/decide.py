"""Commands that decide, show and attack claims: verify, list, show, witness, search."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from fltheory import __version__
from fltheory.cli.arguments import papers_of, paths_of, positive, seconds, with_paths
from fltheory.cli.progress import Progress, with_progress
from fltheory.core.errors import refuse
from fltheory.core.tables import plain
from fltheory.verdicts.records import Run
from fltheory.verdicts.report import cite, terminal


def add(command):
    """Declare the commands."""
    verify = command("verify", _verify, "decide every claim and finding")
    with_paths(verify)
    verify.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these claims and findings")
    verify.add_argument("--report", metavar="DIR", help="write index.html, verdicts.jsonl and verdicts.md here")
    verify.add_argument("--jobs", type=positive, default=1, metavar="N", help="worker processes")
    verify.add_argument("--resume", action="store_true", help="reuse finished verdicts whose inputs did not change")
    verify.add_argument("--quick", action="store_true", help="a tenth of each search, no mutants, and not what slow.csv lists")
    verify.add_argument("--strict", action="store_true", help="exit 3 if anything is inconclusive or skipped")
    verify.add_argument("--device", default="cpu", help="cpu or cuda, for the run legs")
    verify.add_argument("--mutant", metavar="BUG", help="swap a catalogued bug into every instance, to see claims fail")
    verify.add_argument("--timeout", type=seconds, metavar="S", help="stop a claim or finding after S seconds: it is inconclusive")
    with_progress(verify)

    listing = command("list", _list, "list the ledger: what is stated, and what is written")
    with_paths(listing)
    listing.add_argument("--paper", metavar="SLUG", help="only this paper")

    show = command("show", _show, "one claim or finding: statement, word, numbers, mutants, witness, correction")
    _with_id(show)
    show.add_argument("--report", default="reports", metavar="DIR",
                      help="take a verdict that `verify --report DIR` left here, if no input has changed since (default: reports)")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the records, one JSON object per line")
    form.add_argument("--cite", action="store_true", help="a line to cite the verdict")
    form.add_argument("--bibtex", action="store_true", help="a BibTeX entry for the verdict")

    witness = command("witness", _witness, "print a finding's stand-alone witness script")
    _with_id(witness)

    search = command("search", _search, "look for a counter-example to a claim; exit 1 if an unexpected one is found")
    _with_id(search)
    search.add_argument("--seconds", type=seconds, metavar="S", help="deadline; default 60 unless --tries is given")
    search.add_argument("--tries", type=positive, metavar="N", help="tries per family of instances")
    with_progress(search)


def _with_id(sub):
    sub.add_argument("id", metavar="ID", help="of the ledger, or paper/id where several papers use it")
    with_paths(sub)


def _verify(args):
    from fltheory.verdicts.verify import exit_code, note, verify
    color = sys.stdout.isatty()
    finished, progress = [], Progress("deciding", args.progress)

    def line(records):
        first = records[0]
        finished.append(first["id"])
        with progress.aside():
            print(*filter(None, (terminal.line(first, color), terminal.reason(records))), sep="\n", flush=True)

    def aside(text):
        with progress.aside():
            note(text)

    try:
        with progress:
            records, _ = verify(paths_of(args), report=args.report, jobs=args.jobs, resume=args.resume, only=args.only,
                                quick=args.quick, device=args.device, mutant=args.mutant, on_record=line, on_note=aside,
                                timeout=args.timeout, on_progress=progress.update)
    except KeyboardInterrupt:
        place = f"kept in {args.report}: continue with --resume" if args.report else "kept nowhere without --report"
        print(f"fltheory: interrupted; {len(finished)} decided, {place}", file=sys.stderr)
        return 130
    print(terminal.summary(records, color=color))
    if args.report:
        print(f"report: {args.report}/index.html")
    return exit_code(records, args.strict)


def _list(args):
    from fltheory.verdicts.report.figures import figures_of
    for paper in papers_of(args):
        drawn = {*figures_of(paper.folder), *figures_of(paper.folder, experiments=True)}
        for row in paper.ledger.values():
            written = row["id"] in {*paper.claims, *paper.findings, *drawn}
            state = "nothing to check" if row["kind"] == "illustration" else "written" if written else "not yet written"
            print(plain(f"{paper.slug}/{row['id']:<28} {row['type']:<8} {row['kind']:<18} {row['expected']:<10} "
                        f"{state:<16} {row['place']}").replace("\n", "\\n"))
    return 0


def _find(args):
    from fltheory.verdicts.papers.discover import find
    return find(papers_of(args, args.id), args.id)


def _records(paper, kind, entry) -> list:
    """The records of one claim or finding, as `verify` would write them."""
    from fltheory.verdicts.deciding.findings import confirm
    records = entry.check().records() if kind == "claim" else [confirm(entry, paper.claims).record()]
    return [{**r, "paper": paper.slug} for r in records]


def _kept(paper, kind, entry, report) -> list | None:
    from fltheory.verdicts.verify import kept
    records = kept(paper, kind, entry.id, report)
    return records and [{**r, "paper": paper.slug} for r in records]


def _show(args):
    paper, kind, entry = _find(args)
    records = _kept(paper, kind, entry, args.report)
    if records is None:
        with Progress("deciding") as progress:
            progress.update(0, 0, [f"{paper.slug}/{entry.id}"])
            records = _records(paper, kind, entry)
    if args.json:
        print(*map(json.dumps, records), sep="\n")
    elif args.cite or args.bibtex:
        run = Run(version=__version__, date=f"{datetime.now(UTC):%Y-%m-%d}")
        print((cite.bibtex if args.bibtex else cite.line)(records[0], run))
    else:
        print(terminal.entry(records, sys.stdout.isatty(), _notes(paper, kind, entry)))
    return 0


def _notes(paper, kind, entry) -> list:
    """The corrected statement, and where the witness is."""
    name = entry.instead if kind == "claim" else entry.corrected
    better = paper.claims.get(name)
    out = []
    if name:
        out.append(("corrected statement", f"{name}: {better.statement}" if better else name))
    for finding in [entry] if kind == "finding" else paper.findings.values():
        if finding.script and (finding is entry or finding.breaks == entry.id):
            out.append(("witness", f"{finding.script} (`fltheory witness {paper.slug}/{finding.id}` prints it)"))
    return out


def _witness(args):
    _, kind, entry = _find(args)
    if kind != "finding" or entry.script is None:
        refuse("id", args.id, "has no witness script", "Witnesses belong to counterexamples and wrong formulas.")
    source = (entry.folder / entry.script).read_text()
    print(plain(source) if sys.stdout.isatty() else source, end="")  # into a file it goes as it is
    return 0


def _search(args):
    from fltheory.verdicts.deciding.evidence import FALSE
    paper, kind, claim = _find(args)
    if kind != "claim":
        refuse("id", args.id, "is a finding; a search needs a statement",
               f"Search {claim.breaks}, the claim it breaks." if claim.breaks else "Name a claim.")
    limit = 60 if args.seconds is None and args.tries is None else args.seconds
    with Progress("searching", args.progress) as progress:
        progress.update(0, 0, [f"{paper.slug}/{claim.id}"])
        result = claim.search(seconds=limit, tries=args.tries)
    print(result)
    # A search on whose draws the claim fails has excluded nothing, so it may not look like one that found nothing.
    return int(bool(result.error) or (result.found and claim.expect != FALSE))
