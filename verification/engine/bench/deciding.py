"""What `verify` costs beyond evaluating each statement once: the example of `new-paper`, decided in this process."""
from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.skeletons import new_paper
from fltheory.verdicts.deciding.check import check_instance
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.verify import verify

REPEATS = 5
WHAT = ("verify --quick", "verify: searches, mutants, units, the report", "verify --resume, nothing changed")


def deciding(repeats=REPEATS) -> tuple[str, list]:
    """(what the baseline is, [(what, its seconds, seconds of the baseline)]), medians over `repeats` papers.

    The paper is the example that `fltheory new-paper` writes, under another name each time, so that no operator is kept from
    the run before. The baseline is each claim's body on each of its instances, once, by the same code. One process and
    `time.process_time`; a first round that imports what is imported once is not counted. Raises AssertionError where the
    paper is not decided as its ledger says.
    """
    runs = []
    with tempfile.TemporaryDirectory(prefix="bench_") as where:
        for k in range(repeats + 1):
            runs.append(_times(Path(where), k))
    claims, bodies = runs[0][:2]
    plain, *spent = (statistics.median(run[2][j] for run in runs[1:]) for j in range(4))
    return (f"the {claims} claims of the example paper, each body once on its instances ({bodies} in all)",
            [(what, seconds, plain) for what, seconds in zip(WHAT, spent, strict=True)])


def _times(where, k):
    """(claims, bodies evaluated, [seconds of the bodies, of a quick run, of a whole one, of one resumed])."""
    def written(part):
        new_paper(f"{part}{k}", where)
        folder = where / f"{part}{k}"
        return folder, load(folder)

    _, paper = written("plain")
    start = time.process_time()
    words = [check_instance(claim, i).status for claim in paper.claims.values() for i in claim.on]
    spent = [time.process_time() - start]
    if not words or not set(words) <= {HOLDS, FALSIFIED}:
        raise AssertionError(f"the example paper's claims say {sorted(set(words))}")
    quick, whole = written("quick")[0], written("whole")[0]
    notes = []
    for folder, options in ((quick, {"quick": True}), (whole, {}), (whole, {"resume": True})):
        start = time.process_time()
        _, code = verify([folder], where / f"report_{folder.name}", on_record=lambda records: None,
                         on_note=notes.append, **options)
        spent.append(time.process_time() - start)
        if notes:   # the code was written meanwhile: what resumes would decide anew
            raise AssertionError(notes[0])
        if code != 0:
            raise AssertionError(f"the example paper is not decided as its ledger says: exit status {code}")
    return len(paper.claims), len(words), spent


def lines(repeats=REPEATS) -> list[str]:
    """The measurements as lines of the table."""
    baseline, rows = deciding(repeats)
    return [f"verify, one process, beside {baseline}",
            *(f"{what:<86} {seconds * 1e3:10.4f} ms   {seconds / plain:10.2f} x the bodies' time"
              for what, seconds, plain in rows)]


__all__ = ["deciding", "lines"]
