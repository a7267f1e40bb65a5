"""`fltheory calibrate`: repetitions of our own statistical checks, counted; `verdicts/calibration.py` says what a repetition is."""
from __future__ import annotations

import functools
import json
import platform
from contextlib import closing
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.numbers.scalars import need
from fltheory.core.records import count
from fltheory.core.statistics import clopper_pearson
from fltheory.runs.executors import check_executor, completed
from fltheory.runs.trace import write_atomically
from fltheory.verdicts.calibration import (
    BATCH,
    CONFIDENCE,
    LEVELS,
    NAME,
    SHIFT,
    Check,
    checks,
    code_hash,
    share,
    traces,
)
from fltheory.verdicts.report.figures import to_csv


def tally(group, batch: int, seed=0, most=BATCH) -> np.ndarray:
    """Rejections in one batch by checks that read the same runs: (checks, levels, 3) of the true value, of 10 % less and
    of 10 % more (which is no error of a bound). At most `most` repetitions are used."""
    counts = np.zeros((len(group), len(LEVELS), 3), dtype=int)
    values = []
    for check in group:
        truth = check.predicted()
        values.append((truth, truth * (1 - SHIFT), truth * (1 + SHIFT)))
    for trace in traces(group[0], batch, seed)[:most]:
        for c, check in enumerate(group):
            for k, level in enumerate(LEVELS):
                interval = check.measured(trace, 1 - level)
                counts[c, k] += [check.rejects(interval, v) for v in values[c]]
    return counts


def rows_of(check: Check, counts, repetitions: int) -> list[dict]:
    """The check's rows of the table, from its counts (levels, 3). power: the share of repetitions that reject a
    prediction that is 10 % wrong, the worse of both directions (a bound is wrong only if it is too small)."""
    out = []
    for level, (alarms, less, more) in zip(LEVELS, counts.tolist(), strict=True):
        low, high = clopper_pearson(alarms, repetitions, CONFIDENCE)
        out.append({"check": check.name, "level": level, "repetitions": repetitions, "alarms": alarms, "low": low,
                    "high": high, "power": (less if check.bound else min(less, more)) / repetitions, "shift": "10 %",
                    "note": check.note})
    return out


def _tally(groups, seed, task):
    """`tally` of one batch by names, for worker processes."""
    group, batch, most = task
    return tally([c for c in checks() if c.name in groups[group]], batch, seed, most)


def calibrate(repetitions=1000, seed=0, only=(), executor=None, on_rows=None) -> tuple[list, dict]:
    """(rows, provenance) of every check, or only some by name. repetitions: at least this many per check (>= 1).

    executor: where batches run, see `runs.executors.completed`; results do not depend on it. on_rows(rows) is called after each
    check. Raises BadInput, MissingLibrary without torch.
    """
    for what, value, least in (("repetitions", repetitions, 1), ("seed", seed, 0)):
        count(least)(value, what)
    check_executor(executor)
    need("torch", "repeated runs")
    every = checks()
    unknown = [name for name in only if name not in {c.name for c in every}]
    if unknown:
        refuse("check", unknown, f"is none of {[c.name for c in every]}", "Name one of them.")
    by_run: dict[tuple, list[Check]] = {}
    for check in every:
        if not only or check.name in only:
            by_run.setdefault((check.instance.name, check.rounds, check.replicates), []).append(check)
    code, groups = code_hash(), list(by_run.values())  # the code of what runs, should a file change meanwhile
    totals = [repetitions * group[0].more for group in groups]
    tasks = [(g, k // BATCH, min(BATCH, total - k)) for g, total in enumerate(totals) for k in range(0, total, BATCH)]
    waiting, counts, tables = [sum(t[0] == g for t in tasks) for g in range(len(groups))], [0] * len(groups), {}
    work = functools.partial(_tally, [[c.name for c in group] for group in groups], seed)
    with closing(completed(work, tasks, executor)) as results:
        for (g, _, _), alarms in results:
            counts[g], waiting[g] = counts[g] + alarms, waiting[g] - 1
            if waiting[g]:
                continue
            tables[g] = [rows_of(check, c, totals[g]) for check, c in zip(groups[g], counts[g], strict=True)]
            for new in tables[g] if on_rows is not None else ():
                on_rows(new)
    rows = [row for g in sorted(tables) for new in tables[g] for row in new]
    return rows, {"seed": seed, "date": f"{datetime.now(UTC):%Y-%m-%d}", "python": platform.python_version(),
                  **{k: metadata.version(k) for k in ("numpy", "scipy", "torch")}, "machine": platform.machine(),
                  "interval": f"Clopper-Pearson at {CONFIDENCE:.1%}", "code": code, "replay": share(seed)}


def save(rows, provenance, folder) -> list[Path]:
    """Write calibration.csv and calibration.json into a folder; returns both paths."""
    folder = Path(folder)
    if not folder.is_dir():
        refuse("out", str(folder), "is no folder", "Make it, or choose another with --out.")
    texts = {folder / f"{NAME}.csv": to_csv(rows), folder / f"{NAME}.json": json.dumps(provenance, indent=1) + "\n"}
    for path, text in texts.items():
        write_atomically(path, lambda f, text=text: f.write(text.encode()))
    return list(texts)
