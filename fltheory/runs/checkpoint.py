"""Snapshots of a run: written atomically, keyed by everything that its results depend on."""
from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fltheory.core.errors import BadInput, refuse, shortened, shown
from fltheory.core.kinds import Problem
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.statistics import Stream2
from fltheory.runs.sources import digest, engine
from fltheory.runs.trace import flat, write_atomically

PARTS = ("mean", "m2", "m3")  # the recorded moments of every metric


def run_key(phases, problem: Problem, laws, metrics, *rest) -> str:
    """What a snapshot belongs to, by parts: a JSON object {what: digest}."""
    return json.dumps({"arguments": digest(phases, problem, laws, rest, code=False),
                       "functions as metrics": digest(sorted(metrics.items())),
                       "code of algorithm, problem or law": digest(phases, problem, laws),
                       "version of fltheory, torch or numpy": engine()})


@dataclass
class Part:
    """A chunk of a run on its way, after `round` rounds: the state of its replicates and the modes of their laws; {metric: its
    moments in every round (rounds + 1,)}, and {metric: each replicate's average over the tail} so far."""

    state: Any
    modes: Any
    round: int
    moments: dict
    sums: dict

    def arrays(self) -> dict:
        return {"leaves": len(self.state), "mode": self.modes, **{f"state/{k}": to_numpy(v) for k, v in enumerate(self.state)},
                **{f"sums/{k}": to_numpy(v) for k, v in self.sums.items()},
                **{f"partial/{k}/{part}": v[i] for k, v in self.moments.items() for i, part in enumerate(PARTS)}}

    @classmethod
    def read(cls, content, kind, domain, measures) -> Part:
        """The part of a snapshot, in the arithmetic `domain`; kind: of its state."""
        leaves = [domain.array(content[f"state/{k}"]) for k in range(int(content["leaves"]))]
        moments = {name: tuple(content[f"partial/{name}/{part}"] for part in PARTS) for name in measures}
        sums = {name: domain.array(content[f"sums/{name}"]) for name in measures}
        return cls(kind(*leaves), content["mode"], content["round"], moments, sums)


@dataclass
class Totals:
    """What the finished chunks of a run come to: `Stream2` of every metric in every round, and of its averages over the tail; the
    sum of the final models; the deviations that audits of rounds found, None where one could not be made."""

    metrics: dict
    tails: dict
    final: np.ndarray
    audits: list

    def arrays(self) -> dict:
        stats, tails = ({name: vars(s) for name, s in table.items()} for table in (self.metrics, self.tails))
        return {"final": self.final, "audits": np.array([np.nan if a is None else a for a in self.audits]),
                **flat({"stats": stats, "tails": tails})}

    @classmethod
    def read(cls, content, measures) -> Totals:
        """The totals of a snapshot."""
        def table(group):
            return {name: Stream2(int(content[f"{group}/{name}/count"]), *(content[f"{group}/{name}/{part}"] for part in PARTS))
                    for name in measures}
        audits = [None if np.isnan(v) else float(v) for v in content["audits"]]
        return cls(table("stats"), table("tails"), content["final"], audits)


def _file(path):
    """The path of a regular file, there or creatable; devices, pipes and folders are refused before they are opened."""
    try:
        path = Path(os.fspath(path))
        kind = path.stat().st_mode if path.exists() else None
        folder = path.absolute().parent.is_dir()
    except (TypeError, ValueError, OSError):  # names that no file system takes
        refuse("checkpoint", path, "is no path of a file", "Give a path, or None.")
    if not folder:
        refuse("checkpoint", str(path), "its folder does not exist", "Make the folder or choose another file.")
    if kind is not None and not stat.S_ISREG(kind):
        refuse("checkpoint", str(path), "is no regular file: a folder, a device or a pipe holds no snapshot",
               "Choose a file.")
    trial = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # as `write_atomically` will make it
    try:
        trial.write_bytes(b"")
        trial.unlink()
    except (OSError, ValueError) as error:
        refuse("checkpoint", str(path), f"cannot be written ({error})", "Choose another file.")
    return path


def _difference(stored, key) -> str:
    """The first thing that two keys disagree on, in words."""
    expected = json.loads(key)
    try:
        stored = json.loads(stored)
        return next(what for what in expected if stored[what] != expected[what])
    except (ValueError, KeyError, TypeError, StopIteration):
        return "version of fltheory"


class Snapshots:
    """Atomic snapshots of a run, named arrays; a snapshot of a different run is refused, a damaged one too."""

    def __init__(self, path, key, every):
        self.path, self.key, self.every, self.last = None if path is None else _file(path), key, every, time.monotonic()

    def content(self):
        """{name: array} of the stored snapshot, with the ints `chunk` and `round`; None if there is none."""
        try:
            if self.path is None or not self.path.exists():
                return None
            stored = self.path.read_bytes()
            stored, digest = stored[:-32], stored[-32:]
            if hashlib.sha256(stored).digest() != digest:
                raise ValueError("it does not match its digest")
            with np.load(io.BytesIO(stored), allow_pickle=False) as data:
                content = {k: data[k] for k in data.files}
            key = str(content.pop("key"))
            content |= {k: int(content[k]) for k in ("chunk", "round")}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError, EOFError,
                zipfile.BadZipFile) as error:
            raise BadInput(f"checkpoint {shown(str(self.path))} cannot be read ({shortened(error)}): it is no snapshot of a run. "
                           "Delete it to start again.") from None
        if key != self.key:
            refuse("checkpoint", str(self.path), f"belongs to a run with other {_difference(key, self.key)}",
                   "Delete it or choose another file; to resume it, run what wrote it.")
        return content

    def due(self) -> bool:
        return self.path is not None and time.monotonic() - self.last >= self.every

    def write(self, content):
        buffer = io.BytesIO()
        np.savez(buffer, key=self.key, **content)
        stored = buffer.getvalue()
        try:
            write_atomically(self.path, lambda f: f.write(stored + hashlib.sha256(stored).digest()))
        except (OSError, UnicodeError) as error:
            refuse("checkpoint", str(self.path), f"cannot be written ({error})", "Choose another file.")
        self.last = time.monotonic()

    def remove(self):
        if self.path is not None:
            self.path.unlink(missing_ok=True)


class Checkpoint(Snapshots):
    """Snapshots of what `run` streams."""

    def maybe(self, chunk, part, totals):
        if self.due():
            self.write({"chunk": chunk, "round": part.round, **totals.arrays(), **part.arrays()})

    def finish_chunk(self, chunk, totals):
        if self.path is not None:
            self.write({"chunk": chunk, "round": 0, **totals.arrays()})
