"""Decide every claim and finding of some paper folders; finished verdicts are written at once and can be resumed."""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

from fltheory import calibration
from fltheory.claims import answers
from fltheory.claims import claim as forms
from fltheory.claims.check import check
from fltheory.claims.discover import Paper, activate, imported, load, papers
from fltheory.claims.evidence import ERROR, INCONCLUSIVE, SKIPPED
from fltheory.claims.findings import confirm
from fltheory.errors import BadInput, refuse
from fltheory.trace import write_atomically

LIBRARIES = ("numpy", "scipy", "sympy", "cvxpy", "torch", "python-flint", "hypothesis")
ENGINE = Path(__file__).parent


def tasks_of(found: list[Paper], only=()) -> list[tuple]:
    """(folder, "claim" | "finding", id) for everything written, optionally only some ids."""
    tasks = [(str(p.folder), kind, name) for p in found
             for kind, table in (("claim", p.claims), ("finding", p.findings)) for name in table]
    unknown = [i for i in only if i not in {t[2] for t in tasks}]
    if unknown:
        refuse("id", unknown, "is no claim or finding written here", "`fltheory list` shows the ids.")
    return [t for t in tasks if not only or t[2] in only]


def decide(task, options) -> list[dict]:
    """The records of one claim or finding; a crash becomes an ERROR record. Runs in a worker process."""
    folder, kind, name = task
    forms.DEVICE = options["device"]
    paper = load(Path(folder))
    try:
        mutant = mutation(paper, options["mutant"])
        if kind == "claim":
            return check(paper.claims[name], mutant=mutant, quick=options["quick"]).records()
        return [confirm(paper.findings[name], paper.claims, mutant=mutant).record()]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() in a claim is a crash of that claim, not the end of the run
        made = (paper.claims if kind == "claim" else paper.findings)[name]
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} (at {Path(where.filename).name}, line {where.lineno})"
        return [
            {
                "type": kind,
                "id": name,
                "paper": paper.slug,
                "place": made.place,
                "kind": made.kind,
                "says": made.says,
                "word": ERROR,
                "expected": made.expect,
                "as_expected": False,
                "surprises": [reason],
                "reading": reason,
            }
        ]


def catalogue(paper: Paper) -> dict:
    """Catalogued bugs by name: those that the paper's claims reject, and the functions of bugs.py beside its folder."""
    from importlib import import_module
    activate(paper.folder)
    known = {bug.__name__: bug for claim in paper.claims.values() for bug in claim.rejects}
    if (paper.folder.parent / "bugs.py").is_file():
        name = f"{paper.folder.parent.name}.bugs"
        bugs = imported(lambda: import_module(name), f"{paper.folder.parent.name}/bugs.py")
        known |= {k: v for k, v in vars(bugs).items() if callable(v) and getattr(v, "__module__", "") == bugs.__name__
                  and not k.startswith("_") and not isinstance(v, type)}
    return known


def check_mutant(found, name):
    """Refuse a bug that no paper of `found` knows."""
    known = sorted({k for paper in found for k in catalogue(paper)})
    if not known:
        refuse("mutant", name, f"{found[0].folder.parent.name} has no bugs.py", "Catalogue the bug there.")
    if name not in known:
        refuse("mutant", name, f"is none of the catalogued bugs {known}", "Name one of them.")


def mutation(paper: Paper, name):
    """The instance mutant called `name`, or None where this paper has no such bug."""
    known = {} if name is None else catalogue(paper)
    if name not in known:
        return None
    from fltheory.claims.check import apply_bug
    bug = known[name]

    def mutant(instance):
        try:
            return apply_bug(bug, instance) or instance
        except (TypeError, AttributeError):
            return instance
    return mutant


def fingerprint(paper: Paper, options) -> str:
    """Hash of everything a verdict depends on: engine, paper folder, bugs, library versions, options."""
    h = hashlib.sha256(json.dumps([options, _versions(), platform.python_version()], sort_keys=True).encode())
    files = [p for root in (ENGINE, paper.folder) for p in sorted(root.rglob("*")) if p.suffix in (".py", ".csv")]
    for file in [*files, paper.folder.parent / "bugs.py"]:
        if file.is_file():
            h.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return h.hexdigest()


def _versions():
    out = {}
    for name in LIBRARIES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            out[name] = None
    return out


def verify(paths, report=None, jobs=1, resume=False, only=(), quick=False, device="cpu", mutant=None, on_record=print):
    """Decide everything at or below `paths`; returns (records, exit code).

    report: folder for index.html, a page per paper, verdicts.jsonl and verdicts.md (created; refused if it cannot be
    written). Finished verdicts go to verdicts.partial.jsonl at once; resume reuses those whose fingerprint is unchanged.
    on_record(records) is called for each finished claim or finding.
    """
    began = time.perf_counter()
    _check_device(device)
    found = papers(paths)
    options = {"quick": bool(quick), "device": device, "mutant": mutant}
    if mutant is not None:
        check_mutant(found, mutant)
    roots = list(dict.fromkeys(p.folder.parent for p in found))
    for root in roots:
        calibration.read(root)  # a damaged table is refused before the work, not after it
    keys = {str(p.folder): fingerprint(p, options) for p in found}
    todo = tasks_of(found, only)
    done = {}
    with contextlib.closing(_Journal(report, resume)) as journal:
        for task in todo:
            old = journal.finished.get((keys[task[0]], task[1], task[2]))
            if old is not None:
                done[task] = old
                on_record(old)
        rest = [t for t in todo if t not in done]
        for task, records in _decide_all(rest, options, jobs):
            done[task] = records
            journal.append((keys[task[0]], task[1], task[2]), records)
            on_record(records)
    head = {
        "type": "run",
        "version": _version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "libraries": _versions(),
        "device": device,
        "seconds": round(time.perf_counter() - began, 1),
        "paths": [Path(p).name for p in paths],
        "quick": options["quick"],
        "mutant": mutant,
        "written": {p.slug: [len(p.claims) + len(p.findings), len(p.ledger)] for p in found},
    }
    slugs = {str(p.folder): p.slug for p in found}
    records = [head] + [{**r, "paper": slugs[t[0]]} for t in todo for r in done[t]]
    records += [r for p in found for r in answers.judge(p, records)]
    records += [_marked(r) for r in calibration.record(records, roots)]
    if report is not None:
        write_report(records, Path(report))
    return records, exit_code(records)


def _marked(record) -> dict:
    """A calibration record whose rows say it themselves if the code that they calibrate has changed since."""
    if not record["provenance"].get("state", "").startswith("STALE"):
        return record
    return {**record, "rows": [{**row, "check": f"(stale) {row['check']}"} for row in record["rows"]]}


def exit_code(records, strict=False) -> int:
    """0 as expected, 1 something differs (a claim, a finding, a sentence of an answer that its evidence no longer
    carries, or a calibration table of this code that is not reproduced), 3 (strict) something is inconclusive or skipped."""
    decided = [r for r in records if r["type"] in ("claim", "finding")]
    if any(not r["as_expected"] for r in decided) or any(
            r["type"] == "calibration" and r.get("failed") for r in records):
        return 1
    if any(s["state"] == answers.LOST for r in records if r["type"] == "answer" for s in r["sentences"]):
        return 1
    soft = any(r["word"] == SKIPPED for r in decided) or any(
        r["type"] == "instance" and r["status"] in (INCONCLUSIVE, SKIPPED) for r in records)
    return 3 if strict and soft else 0


def write_report(records, folder: Path):
    """The pages, verdicts.md and verdicts.jsonl, each written atomically; a page left by an earlier run goes."""
    from fltheory.report import html, markdown
    pages = html.pages(records)
    index = pages.pop(html.INDEX)
    for page in folder.glob("*.html"):
        if page.name not in pages and html.is_ours(page):
            page.unlink()  # it would pass for a page of this run
    pages |= {html.INDEX: index, "verdicts.md": markdown.page(records),
              "verdicts.jsonl": "".join(json.dumps(r) + "\n" for r in records)}
    for name, text in pages.items():
        write_atomically(folder / name, lambda f, text=text: f.write(text.encode()))


def _version():
    from fltheory import __version__
    return __version__


def _check_device(device):
    if device == "cpu":
        return
    from fltheory.runs import _device
    _device(device)


def _decide_all(tasks, options, jobs):
    if jobs <= 1 or len(tasks) <= 1:
        for task in tasks:
            yield task, decide(task, options)
        return
    # slowest kinds first would need timings; claims before findings keeps both workers busy to the end
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_follow, initargs=(os.getpid(),)
    ) as pool:
        futures = {pool.submit(decide, t, options): t for t in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _follow(parent):
    """End this worker when its parent is gone: a killed run leaves no orphans. One thread per worker."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()


class _Journal:
    """Append-only file of finished verdicts; a torn last line (killed while writing) is ignored."""

    def __init__(self, report, resume):
        self.path, self.finished, self.handle = None, {}, None
        if report is None:
            return
        folder = Path(report)
        self.path = folder / "verdicts.partial.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if resume and self.path.exists():
                self._read()
            self.handle = open(self.path, "a" if resume else "w", encoding="utf-8")  # noqa: SIM115 (kept open)
            if resume:
                self.handle.write("\n")  # close a torn line, if any
        except OSError as error:
            raise BadInput(f"report folder {str(folder)!r} cannot be written ({error.strerror}). "
                           "Choose another with --report.") from None

    def _read(self):
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                self.finished[tuple(entry["key"])] = entry["records"]
            except (ValueError, KeyError, TypeError):
                continue

    def append(self, key, records):
        if self.handle is not None:
            self.handle.write(json.dumps({"key": key, "records": records}) + "\n")
            self.handle.flush()
            os.fsync(self.handle.fileno())

    def close(self):
        if self.handle is not None:
            self.handle.close()


