"""Decide every claim and finding of some paper folders; finished verdicts are written at once and can be resumed."""
from __future__ import annotations

import contextlib
import functools
import json
import logging
import platform
import sys
import time
import traceback
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from fltheory import __version__
from fltheory.core.digests import digest_of
from fltheory.core.errors import refuse
from fltheory.core.evidence import INCONCLUSIVE
from fltheory.runs import workers
from fltheory.runs.trace import write_atomically
from fltheory.verdicts import calibration, gallery
from fltheory.verdicts.claims import instance
from fltheory.verdicts.deciding import stopped
from fltheory.verdicts.deciding.check import apply_bug, check, instance_record
from fltheory.verdicts.deciding.evidence import ERROR, SKIPPED
from fltheory.verdicts.deciding.findings import confirm
from fltheory.verdicts.folders import activate, imported
from fltheory.verdicts.papers import answers, inputs, journal, paper_toml
from fltheory.verdicts.papers.discover import Paper, find, load, papers
from fltheory.verdicts.records import TYPES, Run, declared
from fltheory.verdicts.report import html, markdown
from fltheory.verdicts.report.book import Book
from fltheory.verdicts.report.words import flat

_LOG = logging.getLogger(__name__)
LIBRARIES = ("numpy", "scipy", "sympy", "cvxpy", "torch", "python-flint", "hypothesis")


def tasks_of(among: list[Paper], only=()) -> list[tuple]:
    """(folder, "claim" | "finding", id) for everything written, optionally only some: each an id, or paper/id."""
    tasks = {(str(p.folder), kind, name): {name, f"{p.slug}/{name}"} for p in among
             for kind, table in (("claim", p.claims), ("finding", p.findings)) for name in table}
    for unknown in sorted(set(only).difference(*tasks.values())):
        find(among, unknown)  # refuses it, with close ids
    return [task for task, names in tasks.items() if not only or names.intersection(only)]


def decide(task, options, tell=None) -> list[dict]:
    """The records of one claim or finding; a crash becomes an ERROR record. tell: is given the record of each instance of
    a claim as soon as it stands. Runs in a worker process."""
    folder, kind, name = task
    instance.DEVICE = options["device"]
    paper = load(Path(folder))
    _LOG.info("deciding %s/%s", paper.slug, name)
    try:
        mutant = mutation(paper, options["mutant"])
        if kind == "claim":
            claim = paper.claims[name]

            def decided(verdict):
                _LOG.debug("%s/%s on %s: %s in %.2f s", paper.slug, name, verdict.instance, verdict.status, verdict.seconds)
                if tell is not None:
                    tell(instance_record(claim, verdict))
            return check(claim, mutant=mutant, quick=options["quick"], decided=decided).records()
        return [confirm(paper.findings[name], paper.claims, mutant=mutant).record()]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() in a claim is a crash of that claim, not the end of the run
        declaration = (paper.claims if kind == "claim" else paper.findings)[name]
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} (at {Path(where.filename).name}, line {where.lineno})"
        return [declared(TYPES[kind], declaration, word=ERROR, expected=declaration.expect, as_expected=False, surprises=[reason],
                         reading=reason).to_json()]


def catalogue(paper: Paper) -> dict:
    """Catalogued bugs by name: those that the paper's claims reject, and the functions of bugs.py (or its `__all__`)
    beside its folder."""
    activate(paper.folder)
    bugs = {bug.__name__: bug for claim in paper.claims.values() for bug in claim.rejects}
    if (paper.folder.parent / "bugs.py").is_file():
        name = f"{paper.folder.parent.name}.bugs"
        module = imported(lambda: import_module(name), f"{paper.folder.parent.name}/bugs.py")
        listed = getattr(module, "__all__", [k for k, v in vars(module).items() if getattr(v, "__module__", "") == name])
        bugs |= {k: v for k, v in vars(module).items() if k in listed and callable(v) and not k.startswith("_")
                 and not isinstance(v, type)}
    return bugs


def check_mutant(among, name):
    """Refuse a bug that no paper of `found` knows."""
    known = sorted({k for paper in among for k in catalogue(paper)})
    if not known:
        refuse("mutant", name, f"{among[0].folder.parent.name} has no bugs.py", "Catalogue the bug there.")
    if name not in known:
        refuse("mutant", name, f"is none of the catalogued bugs {known}", "Name one of them.")


def mutation(paper: Paper, name):
    """The instance mutant called `name`, or None where this paper has no such bug."""
    bugs = {} if name is None else catalogue(paper)
    if name not in bugs:
        return None
    bug = bugs[name]

    def mutant(instance):
        try:
            return apply_bug(bug, instance) or instance
        except (TypeError, AttributeError):
            return instance
    return mutant


def fingerprint(paper: Paper, options, stamp=None) -> str:
    """Hash of everything a verdict depends on: the files of the engine and the paper (as they are, or as they were at a
    stamp), library versions, options."""
    digest = (stamp or inputs.Stamp(paper.folder)).digest
    parts = {"files": digest, "options": options, "versions": _versions(), "python": platform.python_version()}
    return digest_of((name, json.dumps(part, sort_keys=True)) for name, part in parts.items())


def decide_and_sign(task, options, tell=None) -> tuple:
    """(records, fingerprint of what was read to make them, "") of a task; (records, "", file) where it cannot be told,
    because a file was written after this process may have read it. Runs in a worker process."""
    records = decide(task, options, tell)
    paper = Paper(Path(task[0]).name, Path(task[0]), {})
    stamp = inputs.stamp(paper.folder)  # of the moment before the paper was loaded here
    changed = stamp.changed()
    return records, "" if changed else fingerprint(paper, options, stamp), changed


def kept(paper: Paper, kind, name, report) -> list | None:
    """The records of a claim or finding that a report folder keeps, decided in full from the files as they are; or None."""
    options = {"quick": False, "device": "cpu", "mutant": None}
    key = fingerprint(paper, options, inputs.stamp(paper.folder))
    return journal.kept(report).get(_key(key, (paper.folder, kind, name)))


@functools.cache
def _versions():
    out = {}
    for name in LIBRARIES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            out[name] = None
    return out


def note(text):
    """The default of `verify`'s on_note: what went wrong beside the verdicts, for the terminal."""
    print(f"fltheory: note: {flat(text)}", file=sys.stderr, flush=True)


def verify(paths, report=None, jobs=1, resume=False, only=(), quick=False, device="cpu", mutant=None, on_record=print,
           on_note=note, timeout=None, on_progress=lambda done, total, now: None):
    """Decide everything at or below `paths`; returns (records, exit code).

    report: folder for index.html, a page per paper, verdicts.jsonl and verdicts.md (created; refused if it cannot be
    written). Finished verdicts go to verdicts.partial.jsonl at once; resume reuses those whose fingerprint is unchanged.
    A task whose worker process is killed is decided again once, then named in the first record as "lost".
    timeout: seconds for each claim or finding, or None; one that takes longer is stopped (see `deciding.stopped`), the
    others go on, and what was stopped is not kept for --resume.
    on_record(records) is called for each finished claim or finding, on_note(text) for what goes wrong beside them,
    on_progress(done, total, now) whenever one begins or ends; now: the names "paper/id" that are being decided.
    """
    began = time.perf_counter()
    _check_device(device)
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 < timeout < float("inf")):
        refuse("timeout", timeout, "is a number of seconds > 0", "For example 60, or None for no limit.")
    plan = _plan(paths, only, {"quick": bool(quick), "device": device, "mutant": mutant}, timeout)
    work = _Work(plan, on_record, on_progress)
    with contextlib.closing(journal.Journal(report, resume)) as book:
        if book.damaged:
            on_note(book.complaint())
        work.decide(book, jobs)
    for text in work.notes():
        on_note(text)
    records = _records(plan, work, [Path(p).name for p in paths], began)
    if report is not None:
        write_report(records, Path(report))
    return records, exit_code(records)


# ---- which claims ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Plan:
    """Which claims and findings are decided (`tasks`), under which options and time limit. papers, keys: the paper of each folder
    and its fingerprint; roots: the folders that hold those of the papers."""

    papers: dict[str, Paper]
    options: dict
    timeout: float | None
    roots: list[Path]
    keys: dict[str, str]
    tasks: list[tuple]


def _plan(paths, only, options, timeout) -> _Plan:
    """What is to be decided. What is damaged or unknown is refused here, before the work."""
    read = papers(paths)
    if options["mutant"] is not None:
        check_mutant(read, options["mutant"])
    roots = list(dict.fromkeys(p.folder.parent for p in read))
    for root in roots:
        calibration.read(root)
        gallery.read(root)
    keys = {str(p.folder): fingerprint(p, options, inputs.stamp(p.folder)) for p in read}
    return _Plan({str(p.folder): p for p in read}, options, timeout, roots, keys, tasks_of(read, only))


# ---- decide ------------------------------------------------------------------------------------------------------
class _Work:
    """The tasks of a plan as far as they are decided: `done` holds their records; `lost`, `late` and `mixed` what went wrong."""

    def __init__(self, plan, on_record, on_progress):
        self.plan, self.on_record, self.on_progress = plan, on_record, on_progress
        self.done, self.lost, self.late, self.mixed, self.now = {}, {}, {}, {}, []

    def decide(self, book, jobs):
        """Take from the journal what it holds, decide the rest, and add that to the journal at once."""
        for task in self.plan.tasks:
            old = book.finished.get(_key(self.plan.keys[task[0]], task))
            if old is not None:
                self.done[task] = old
                self.on_record(old)
        rest = [t for t in self.plan.tasks if t not in self.done]
        with contextlib.closing(_decide_all(rest, self.plan.options, jobs, self.plan.timeout, self.progress)) as results:
            for task, outcome in results:
                self.now = [t for t in self.now if t != task]
                self.settle(task, outcome, book)

    def settle(self, task, outcome, book):
        """Note how a task ended."""
        if isinstance(outcome, workers.Lost):
            self.lost[task] = outcome.how
            self.progress()
            return
        if isinstance(outcome, workers.Stopped):
            records = self.late[task] = _stopped(self.plan.papers[task[0]], task, outcome.told, self.plan.timeout)
        else:
            records, key, changed = outcome
            if key:
                book.append(_key(key, task), records)
            if key != self.plan.keys[task[0]]:
                self.mixed[task] = changed or task[0]
        self.done[task] = records
        self.progress()
        self.on_record(records)

    def progress(self, begun=None):
        if begun is not None and begun not in self.now:  # one whose worker died begins twice
            self.now.append(begun)
        self.on_progress(len(self.done) + len(self.lost), len(self.plan.tasks),
                         [f"{self.plan.papers[task[0]].slug}/{task[2]}" for task in self.now])

    def notes(self) -> list[str]:
        """What went wrong, in words."""
        return ([_mixed(self.mixed)] if self.mixed else []) + ([_unfinished(self.late, self.plan.timeout)] if self.late else []) + (
            [_missing(self.lost)] if self.lost else [])


# ---- write -------------------------------------------------------------------------------------------------------
def _records(plan, work, names, began) -> list[dict]:
    """The records of a run: of the run itself, of what was decided, of the papers, and of our own checks."""
    head = Run(version=__version__, date=time.strftime("%Y-%m-%d", time.gmtime()), python=platform.python_version(),
               libraries=_versions(), device=plan.options["device"], seconds=round(time.perf_counter() - began, 1),
               paths=names, quick=plan.options["quick"], timeout=plan.timeout, mutant=plan.options["mutant"] or "",
               lost=[f"{Path(folder).name}/{name}" for folder, _, name in work.lost],
               written={p.slug: p.written for p in plan.papers.values()}).to_json()
    records = [head] + [{**r, "paper": plan.papers[t[0]].slug} for t in plan.tasks for r in work.done.get(t, ())]
    records += [r for p in plan.papers.values() for r in (*paper_toml.record(p.about, p.slug), *answers.judge(p, records))]
    return records + [_marked(r) for r in calibration.record(records, plan.roots)] + gallery.record(plan.roots)


def _key(fingerprint, task) -> tuple:
    folder, kind, name = task
    return fingerprint, Path(folder).name, kind, name


def _mixed(written) -> str:
    names = ", ".join(name for _, _, name in list(written)[:5]) + (", ..." if len(written) > 5 else "")
    return (f"{next(iter(written.values()))} was written after this run had begun to read it: what was decided since "
            f"({len(written)}: {names}) may rest on other inputs than the rest. Run again with --resume, which takes "
            "none of it for a verdict on the files as they are now.")


def _stopped(paper: Paper, task, told, seconds) -> list[dict]:
    _, kind, name = task
    return stopped.records((paper.claims if kind == "claim" else paper.findings)[name], told, seconds)


def _unfinished(late, seconds) -> str:
    names = ", ".join(name for _, _, name in late)
    return (f"{len(late)} stopped after {seconds:g} s ({names}). They are not kept: --resume decides them again, "
            "perhaps with a longer --timeout.")


def _missing(lost) -> str:
    names = "; ".join(f"{name}: {how}" for (_, _, name), how in lost.items())
    return (f"{len(lost)} not decided, because the worker process died, and its successor too ({names}). Was memory "
            "short? The other verdicts are kept: continue with --resume, and perhaps fewer --jobs.")


def _marked(record) -> dict:
    """A calibration record whose rows say it themselves if the code that they calibrate has changed since."""
    if not record["provenance"].get("state", "").startswith("STALE"):
        return record
    return {**record, "rows": [{**row, "check": f"(stale) {row['check']}"} for row in record["rows"]]}


def exit_code(records, strict=False) -> int:
    """0 as expected, 1 something differs (a claim, a finding, a sentence of an answer that its evidence no longer
    carries, or a calibration table of this code that is not reproduced), 3 something was lost with its worker process,
    or (strict) is inconclusive or skipped."""
    book = Book.of(records)
    if book.mismatches() or book.lost() or any(c.failed for c in book.calibrations):
        return 1
    statuses = {i.status for group in [*book.instances.values(), book.orphans] for i in group}
    soft = SKIPPED in {r.word for r in book.entries} | statuses or INCONCLUSIVE in statuses
    return 3 if any(run.lost for run in book.runs) or (strict and soft) else 0


def write_report(records, folder: Path):
    """The pages, verdicts.md and verdicts.jsonl, each written atomically; a page left by an earlier run goes."""
    pages = html.pages(records)
    index = pages.pop(html.INDEX)
    for page in folder.glob("*.html"):
        if page.name not in pages and html.is_ours(page):
            page.unlink()  # it would pass for a page of this run
    pages |= {html.INDEX: index, "verdicts.md": markdown.page(records),
              "verdicts.jsonl": "".join(json.dumps(r) + "\n" for r in records)}
    for name, text in pages.items():
        write_atomically(folder / name, lambda f, text=text: f.write(text.encode()))


def _check_device(device):
    if device == "cpu":
        return
    from fltheory.runs import _device
    _device(device)


def _decide_all(tasks, options, jobs, timeout, begun):
    """Pairs (task, what `decide_and_sign` returns, or a `workers.Lost` or `workers.Stopped`); begun(task) is called for
    each. A time limit takes a worker even for one job: only another process can stop what hangs in a library."""
    if not tasks:
        return
    if jobs <= 1 and timeout is None:
        for task in tasks:
            begun(task)
            yield task, decide_and_sign(task, options)
        return
    # slowest kinds first would need timings; claims before findings keeps both workers busy to the end
    work = functools.partial(decide_and_sign, options=options, tell=None if timeout is None else workers.tell)
    with contextlib.closing(workers.decided(work, tasks, max(jobs, 1), timeout, _prepare, begun)) as results:
        yield from results


def _prepare(task):
    """What a worker does once for each paper, outside of any time limit."""
    load(Path(task[0]))
