"""Recorded runs: streamed statistics with intervals, the objects that made them, and their audit."""
from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fltheory.errors import BadInput, refuse


@dataclass(frozen=True)
class Interval:
    """A measured value with a two-sided confidence interval at `level`."""

    value: float
    half_width: float
    level: float
    count: int

    @property
    def low(self) -> float:
        return self.value - self.half_width

    @property
    def high(self) -> float:
        return self.value + self.half_width

    def contains(self, predicted) -> bool:
        return self.low <= float(predicted) <= self.high

    def __str__(self):
        return f"{self.value:.6g} +/- {self.half_width:.2g} ({self.level:.3%}, n={self.count})"


def quantile(level, count):
    """Two-sided Student quantile of a confidence level in (0, 1) for a mean of `count` >= 2 values."""
    if not 0 < level < 1:
        refuse("level", level, "a confidence level lies in (0, 1)", "For example 0.999.")
    from scipy.special import stdtrit
    return float(stdtrit(count - 1, 0.5 + level / 2))


@dataclass
class Stream2:
    """Streamed count, mean and sum of squared deviations of independent values, merged by Chan's formula."""

    count: int
    mean: np.ndarray
    m2: np.ndarray

    @classmethod
    def empty(cls, shape):
        return cls(0, np.zeros(shape), np.zeros(shape))

    def merge(self, count, mean, m2):
        total = self.count + count
        delta = mean - self.mean
        self.mean = self.mean + delta * (count / total)
        self.m2 = self.m2 + m2 + delta**2 * (self.count * count / total)
        self.count = total


@dataclass(frozen=True)
class Trace:
    """A finished run. metrics[name] = {"mean", "m2"} arrays (rounds + 1,); tail[name] = {"mean", "m2"} scalars
    of each replicate's average over the last `tail_rounds` rounds; audit: largest deviation of the replayed rounds
    from the operator, relative to the largest iterate norm (None if not replayable)."""

    rounds: int
    replicates: int
    seed: int
    device: str
    tail_rounds: int
    metrics: dict
    tail: dict
    final: np.ndarray
    audit: float | None
    audited: int
    provenance: dict
    algorithm: object = field(default=None, repr=False)
    problem: object = field(default=None, repr=False)
    law: object = field(default=None, repr=False)

    def mean(self, metric="error") -> np.ndarray:
        """Mean over replicates before rounds 0..rounds (rounds + 1,)."""
        return self._metric(metric)["mean"]

    def interval(self, round=-1, metric="error", level=0.999) -> Interval:
        """Confidence interval of a metric's expectation before one round (Student's, over replicates)."""
        m = self._metric(metric)
        return self._interval(float(m["mean"][round]), float(m["m2"][round]), level)

    def floor(self, metric="error", level=0.999) -> Interval:
        """Error floor: the replicates' tail averages are independent, so their mean has an honest interval."""
        t = self.tail[metric] if metric in self.tail else self._metric(metric)
        return self._interval(float(t["mean"]), float(t["m2"]), level)

    def rate(self, metric="error", window=None) -> float:
        """Geometric mean contraction factor per round of a metric over rounds (start, stop), default the part of
        the run above 100 times its last value or rounding level. For squared errors this is a squared rate."""
        values = self.mean(metric)
        if window is None:
            low = max(values[-1] * 100, values[0] * 1e-24)
            inside = np.nonzero(values > low)[0]
            window = (int(inside[0]) + (len(inside) // 2), int(inside[-1])) if len(inside) > 3 else (0, self.rounds)
        a, b = window
        if not 0 <= a < b <= self.rounds:
            refuse("window", window, f"needs 0 <= start < stop <= {self.rounds}", "Choose rounds inside the run.")
        return float((values[b] / values[a]) ** (1 / (b - a)))

    def _metric(self, name):
        if name not in self.metrics:
            refuse("metric", name, f"this run recorded {sorted(self.metrics)}", "Name one of them.")
        return self.metrics[name]

    def _interval(self, mean, m2, level):
        n = self.replicates
        half = math.inf if n < 2 else quantile(level, n) * math.sqrt(m2 / (n - 1) / n)
        return Interval(mean, half, level, n)

    # ---- files -----------------------------------------------------------------------------------------
    def save(self, path) -> Path:
        """Write path.npz (arrays) and path.json (metadata); no pickles. Returns `path` without these suffixes."""
        stem = _stem(path)
        arrays = {"final": self.final}
        for group, table in (("metric", self.metrics), ("tail", self.tail)):
            for name, parts in table.items():
                for part, values in parts.items():
                    arrays[f"{group}/{name}/{part}"] = np.asarray(values)
        meta = {
            k: getattr(self, k)
            for k in ("rounds", "replicates", "seed", "device", "tail_rounds", "audit", "audited", "provenance")
        }
        write_atomically(f"{stem}.npz", lambda f: np.savez(f, **arrays))
        meta["sha256"] = hashlib.sha256(Path(f"{stem}.npz").read_bytes()).hexdigest()
        write_atomically(f"{stem}.json", lambda f: f.write(json.dumps(meta, indent=1).encode()))
        return stem

    @classmethod
    def load(cls, path) -> Trace:
        """Read a saved trace. Raises BadInput if a file is missing, unreadable or does not match its digest."""
        stem = _stem(path)
        try:
            meta = json.loads(Path(f"{stem}.json").read_text())
            content = Path(f"{stem}.npz").read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            if digest != meta.pop("sha256"):
                raise ValueError("the arrays do not match the digest in the metadata")
            tables = {"metric": {}, "tail": {}}
            with np.load(io.BytesIO(content), allow_pickle=False) as data:
                final = data["final"]
                for key in data.files:
                    if key != "final":
                        group, name, part = key.split("/")
                        tables[group].setdefault(name, {})[part] = data[key]
            return cls(metrics=tables["metric"], tail=tables["tail"], final=final, **meta)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            raise BadInput(f"trace {str(stem)!r} cannot be read ({error}): a trace is a .npz and a .json written by "
                           "Trace.save. Run it again or restore both files.") from None

    def _repr_html_(self):
        last = {name: self.interval(-1, name) for name in self.metrics}
        rows = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in last.items())
        return f"<table><tr><th>rounds</th><td>{self.rounds}</td></tr>{rows}</table>"


def _stem(path) -> Path:
    """The path without .npz or .json; other dots belong to the name ("lr0.05")."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in (".npz", ".json") else path


def write_atomically(path: Path, write):
    """Write through a temporary file and rename: a killed process leaves the old file or the new one."""
    path = Path(path)
    temporary = path.with_name(path.name + f".{os.getpid()}.tmp")
    with open(temporary, "wb") as handle:
        write(handle)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, path)
