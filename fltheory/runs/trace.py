"""Recorded runs: streamed statistics with intervals, the objects that made them, and their audit."""
# mypy: disable-error-code="misc"
# mypy takes the fields that `declared` makes for fields with defaults
from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fltheory.core.errors import BadInput, listed, refuse, shortened, shown
from fltheory.core.numbers.scalars import is_count
from fltheory.core.records import Record, count, declared
from fltheory.core.statistics import Interval

META = ("rounds", "replicates", "seed", "device", "tail_rounds", "audit", "audited", "provenance")


@dataclass(frozen=True)
class Trace(Record):
    """A finished run. metrics[name] = {"mean", "m2", "m3"} arrays (rounds + 1,); tail[name] = the same as scalars
    of each replicate's average over the last `tail_rounds` rounds; audit: largest deviation of the replayed rounds
    from the operator, relative to the largest iterate norm (None if not replayable)."""

    rounds: int = declared(count(0))
    replicates: int = declared(count(1))
    seed: int = declared(count(0))
    device: str
    tail_rounds: int = declared(count(0))
    metrics: dict = field(repr=False)
    tail: dict = field(repr=False)
    final: np.ndarray = field(repr=False)
    audit: float | None
    audited: int = declared(count(0))
    provenance: dict = field(repr=False)
    algorithm: object = None
    problem: object = None
    law: object = None

    def mean(self, metric: str = "error") -> np.ndarray:
        """Mean over replicates before rounds 0..rounds (rounds + 1,)."""
        return self._metric(metric)["mean"]

    def interval(self, round: int = -1, metric: str = "error", level: float = 0.999) -> Interval:
        """Confidence interval of a metric's expectation before one round: Student's over replicates, see `skewed`."""
        parts = self._metric(metric)
        recorded = len(parts["mean"])
        if not (is_count(round, -recorded) and round < recorded):
            refuse("round", round, f"is an int from 0 to {recorded - 1}, or from -{recorded} to -1, counted from the end",
                   "Choose a round inside the run.")
        return self._interval({k: float(v[round]) for k, v in parts.items()}, level)

    def floor(self, metric: str = "error", level: float = 0.999) -> Interval:
        """Error floor: the replicates' tail averages are independent, so their mean has an honest interval."""
        return self._interval({k: float(v) for k, v in self._metric(metric, self.tail).items()}, level)

    def rate(self, metric: str = "error", window: tuple | None = None) -> float:
        """Geometric mean contraction factor per round of a metric over rounds (start, stop), default the part of
        the run above 100 times its last value or rounding level. For squared errors this is a squared rate.

        A run that diverged beyond float64 in the window has the rate inf, or nan. Raises BadInput for a window outside
        the run, and where the metric starts at 0 or changes its sign, so that there is no factor."""
        values = self.mean(metric)
        with np.errstate(all="ignore"):  # of diverging runs
            if window is None:
                low = max(values[-1] * 100, values[0] * 1e-24)
                inside = np.nonzero(values > low)[0]
                window = (int(inside[0]) + (len(inside) // 2), int(inside[-1])) if len(inside) > 3 else (0, self.rounds)
            a, b = self.window(window)
            ratio = values[b] / values[a]
            if values[a] == 0 or ratio < 0:
                refuse("window", window, f"{metric} goes from {values[a]:g} to {values[b]:g}, and no factor per round does that",
                       "Choose rounds between which it keeps its sign and is not 0.")
            return float(ratio ** (1 / (b - a)))

    def window(self, rounds: tuple) -> tuple:
        """A pair (start, stop) of rounds inside the run. Raises BadInput for anything else."""
        pair = listed(rounds, "window", "is a pair of rounds (start, stop)", "For example (10, 20).")
        if len(pair) != 2 or not all(is_count(k, 0) for k in pair) or not pair[0] < pair[1] <= self.rounds:
            refuse("window", rounds, f"needs ints 0 <= start < stop <= {self.rounds}", "Choose rounds inside the run.")
        return int(pair[0]), int(pair[1])

    def _metric(self, name, among=None):
        among = self.metrics if among is None else among
        if not isinstance(name, str) or name not in among:
            refuse("metric", name, f"this run recorded {sorted(among)}", "Name one of them.")
        return among[name]

    def _interval(self, part, level):
        # traces of earlier versions recorded no third moment
        return Interval.of_mean(self.replicates, part["mean"], part["m2"], part.get("m3", 0.0), level)

    # ---- files -----------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike) -> Path:
        """Write path.npz (arrays) and path.json (metadata); no pickles. Returns `path` without these suffixes.

        Raises BadInput for what is no path of a file that can be written."""
        arrays = {"final": self.final, **flat({"metric": self.metrics, "tail": self.tail})}
        return save_arrays(path, arrays, {k: getattr(self, k) for k in META})

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trace:
        """Read a saved trace. Raises BadInput if a file is missing, unreadable or does not match its digest."""
        def trace_of(meta, arrays):
            final = arrays.pop("final")
            tables = nested(arrays)
            trace = cls(metrics=tables["metric"], tail=tables["tail"], final=final, **meta)
            trace._check()
            return trace
        return load_arrays(path, "trace", "a trace is a .npz and a .json written by Trace.save. Run it again or restore both "
                           "files.", trace_of)

    def _check(self):
        """Raise ValueError unless metadata and arrays are of the kind that a run makes."""
        if not isinstance(self.device, str) or not isinstance(self.provenance, dict) or not (
                self.audit is None or isinstance(self.audit, (int, float))):
            raise ValueError("device, provenance or audit are of another kind")
        for parts in self.metrics.values():
            if any(v.shape != (self.rounds + 1,) for v in parts.values()):
                raise ValueError(f"metrics have {self.rounds + 1} rounds")

    def _repr_html_(self):
        last = {name: self.interval(-1, name) for name in self.metrics}
        rows = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in last.items())
        return f"<table><tr><th>rounds</th><td>{self.rounds}</td></tr>{rows}</table>"


def flat(tables) -> dict:
    """{"group/name/part": array} of {group: {name: {part: numbers}}}: the names that numbers have in a file."""
    return {f"{group}/{name}/{part}": np.asarray(numbers) for group, table in tables.items()
            for name, parts in table.items() for part, numbers in parts.items()}


def nested(arrays) -> dict:
    """{group: {name: {part: array}}} of {"group/name/part": array}."""
    tables: dict = {}
    for key, values in arrays.items():
        group, name, part = key.split("/")
        tables.setdefault(group, {}).setdefault(name, {})[part] = values
    return tables


def save_arrays(path, arrays, meta, compressed=False) -> Path:
    """Write path.npz (arrays by name) and path.json (metadata and a digest of the arrays); the path without these suffixes."""
    stem, buffer = _stem(path), io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    meta = {**meta, "sha256": hashlib.sha256(buffer.getvalue()).hexdigest()}
    try:
        write_atomically(f"{stem}.npz", lambda f: f.write(buffer.getvalue()))
        write_atomically(f"{stem}.json", lambda f: f.write(json.dumps(meta, indent=1).encode()))
    except (OSError, ValueError) as error:
        refuse("path", str(path), f"cannot be written ({error})", "Make its folder, or choose another.")
    return stem


def load_arrays(path, what, remedy, make):
    """make(meta, arrays) of what `save_arrays` wrote. Raises BadInput if a file is missing, unreadable, not what its digest says,
    or not what `make` expects."""
    stem = _stem(path)
    try:
        meta = json.loads(Path(f"{stem}.json").read_text())
        content = Path(f"{stem}.npz").read_bytes()
        if hashlib.sha256(content).hexdigest() != meta.pop("sha256"):
            raise ValueError("the arrays do not match the digest in the metadata")
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            arrays = {k: data[k] for k in data.files}
        return make(meta, arrays)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"{what} {shown(str(stem))} cannot be read ({shortened(error)}): {remedy}") from None


def _stem(path) -> Path:
    """The path without .npz or .json; other dots belong to the name ("lr0.05")."""
    try:
        path = Path(path)
    except TypeError:
        refuse("path", path, "is no path of a file", 'For example "runs/one".')
    if not path.name:
        refuse("path", str(path), "names no file", 'For example "runs/one".')
    return path.with_suffix("") if path.suffix in (".npz", ".json") else path


def write_atomically(path: str | os.PathLike, write):
    """Write through a temporary file and rename: a killed process leaves the old file or the new one.

    Links are followed. Raises OSError for a device or a pipe, which renaming would replace by a file, for everybody.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f"{shown(str(path))} is no regular file")
    whole = Path(os.path.realpath(path))
    temporary = whole.with_name(whole.name + f".{os.getpid()}.tmp")
    with open(temporary, "wb") as handle:
        write(handle)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, whole)
