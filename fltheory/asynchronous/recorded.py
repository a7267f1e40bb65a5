"""What a recorded run on the event clock knows of every arrival, saved and read without pickles."""
# mypy: disable-error-code="misc"
# mypy takes the fields that `declared` makes for fields with defaults
from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers, entries, to_float
from fltheory.core.records import Record, count, declared
from fltheory.runs.trace import load_arrays, save_arrays

WHOLE = ("client", "version", "lag", "K", "step")
COLUMNS = ("time", "gamma", *WHOLE)
META = ("replicates", "seed", "device", "every", "provenance")


@dataclass(frozen=True)
class Events(Record):
    """A run on the event clock, arrival by arrival. All columns are arrays (arrivals, replicates):

    time: when the client arrives; client; version: the server's changes before it started; lag: those since; K: the local steps it
    has made; gamma: |x - base|/|Delta|, 0 where both vanish and inf where Delta alone does; step: the server's changes after the
    arrival. A synchronous round is one arrival with client -1 and gamma nan at the time when its slowest client is there, K the
    most local steps of a client. Where nobody comes any more (AsyncFedED without clamp), and after the end of a replicate's chunk
    under `until`, client is -1, K 0, time inf and gamma nan.
    measured (points,): after how many arrivals metrics were taken; metrics[name] (points, replicates); start and final
    (replicates, d): the server's models.
    """

    replicates: int = declared(count(1))
    seed: int = declared(count(0))
    device: str
    every: int = declared(count(1))
    time: np.ndarray = field(repr=False)
    client: np.ndarray = field(repr=False)
    version: np.ndarray = field(repr=False)
    lag: np.ndarray = field(repr=False)
    K: np.ndarray = field(repr=False)
    gamma: np.ndarray = field(repr=False)
    step: np.ndarray = field(repr=False)
    measured: np.ndarray = field(repr=False)
    metrics: dict = field(repr=False)
    start: np.ndarray = field(repr=False)
    final: np.ndarray = field(repr=False)
    provenance: dict = field(repr=False)

    @property
    def arrivals(self) -> int:
        return len(self.time)

    def metric_times(self) -> np.ndarray:
        """When metrics were taken, (points, replicates)."""
        return np.concatenate([np.zeros((1, self.replicates)), self.time])[self.measured]

    def value_at(self, times: Numbers, metric: str) -> np.ndarray:
        """The last value of a metric that was measured by each time, (times, replicates). times: a flat list of numbers >= 0."""
        times, values, when = FLOAT.array(entries(times, "times")), self._metric(metric), self.metric_times()
        if times.ndim != 1 or not times.size or not (times >= 0).all():
            refuse("times", times, "a flat list of times >= 0, the clock starts at 0", "For example [0, 10, 20].")
        last = np.stack([np.searchsorted(when[:, r], times, side="right") - 1 for r in range(self.replicates)], axis=1)
        return np.take_along_axis(values, last, 0)

    def first_time(self, metric: str, level: Number) -> np.ndarray:
        """When a metric was first measured to be at least `level`, (replicates,); nan where it never was."""
        reached = self._metric(metric) >= to_float(level)
        when = np.take_along_axis(self.metric_times(), reached.argmax(0)[None], 0)[0]
        return np.where(reached.any(0) & np.isfinite(when), when, np.nan)

    def _metric(self, name):
        if not isinstance(name, str) or name not in self.metrics:
            refuse("metric", name, f"this run recorded {sorted(self.metrics)}", "Name one of them.")
        return self.metrics[name]

    # ---- files -----------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike) -> Path:
        """Write path.npz (arrays) and path.json (metadata); no pickles. Returns `path` without these suffixes.

        Raises BadInput for what is no path of a file that can be written."""
        arrays = {k: getattr(self, k) for k in (*COLUMNS, "measured", "start", "final")}
        arrays |= {f"metric/{k}": v for k, v in self.metrics.items()}
        return save_arrays(path, arrays, {k: getattr(self, k) for k in META}, compressed=True)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Events:
        """Read what `save` wrote. Raises BadInput if a file is missing, unreadable or does not match its digest."""
        def events_of(meta, arrays):
            metrics = {k.partition("/")[2]: arrays.pop(k) for k in list(arrays) if k.startswith("metric/")}
            events = cls(**arrays, metrics=metrics, **meta)
            events._check()
            return events
        return load_arrays(path, "events", "they are a .npz and a .json written by Events.save. Record them again or restore both "
                           "files.", events_of)

    def _check(self):
        """Raise ValueError unless metadata and arrays are of the kind that `record` makes."""
        shape = (self.arrivals, self.replicates)
        if not isinstance(self.device, str) or not isinstance(self.provenance, dict):
            raise ValueError("device or provenance are of another kind")
        if any(getattr(self, k).shape != shape or getattr(self, k).dtype.kind != ("i" if k in WHOLE else "f") for k in COLUMNS):
            raise ValueError(f"the columns are no numbers of shape {shape}")
        if any(v.shape != (len(self.measured), self.replicates) for v in self.metrics.values()):
            raise ValueError(f"metrics were taken {len(self.measured)} times")
        inside = self.measured.dtype.kind == "i" and ((self.measured >= 0) & (self.measured <= self.arrivals)).all()
        numbers = all(v.ndim == 2 and v.dtype.kind == "f" for v in (self.start, self.final))
        inside = inside and self.measured.ndim == 1 and (np.diff(self.measured) > 0).all()
        if not inside or not numbers or self.start.shape != self.final.shape or len(self.start) != self.replicates:
            raise ValueError("measured, start or final are of another kind")
