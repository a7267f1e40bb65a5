"""Sweeps: many runs as independent chunks, kept by what they depend on, merged into one table.

A chunk is some replicates of one point (problem, algorithm with its settings, law). Its name in the store is a digest of all
that its numbers depend on, so that resuming, reusing and trying again are the same: what the store has is not computed. Chunk k
of seed s has the seed s if k is 0, else one drawn from (s, k), whatever the point: all meet the same cohorts and the same noise.
"""
from __future__ import annotations

import hashlib
import itertools
import json
import logging
import math
import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fltheory.core.digests import digest_of
from fltheory.core.errors import BadInput, TooLarge, WorkersLost, check_flag, listed, refuse, shortened, shown
from fltheory.core.kinds import Algorithm, Array, Law, Problem
from fltheory.core.libraries import have
from fltheory.core.numbers.scalars import Number, fraction
from fltheory.core.operators.setting import prepare
from fltheory.core.records import count
from fltheory.core.statistics import Stream2
from fltheory.core.tables import aligned, html_row, to_csv
from fltheory.runs.arguments import check_numbers
from fltheory.runs.checkpoint import PARTS, Snapshots
from fltheory.runs.executors import check_executor, check_sendable, completed
from fltheory.runs.options import RunOptions, a_seed
from fltheory.runs.preparation import progress_bar
from fltheory.runs.sources import digest, engine
from fltheory.runs.streams import Stream
from fltheory.runs.trace import Trace, flat, write_atomically

MOST_CHUNKS = 10**6
MOST_ROUNDS, MOST_REPLICATES = 10**7, 10**10
_LOG = logging.getLogger("fltheory")


@dataclass(frozen=True)
class Point:
    """One row of a sweep: names of problem, algorithm and law, the settings of the grid, and the merged run."""

    problem: str
    algorithm: str
    law: str
    settings: dict
    trace: Trace = field(repr=False)


@dataclass(frozen=True)
class Sweep:
    """What `sweep` returns. points: one `Point` each. digest: of all numbers, equal wherever and in whatever order they were
    computed. computed, reused: chunks made now, and taken from the store."""

    points: tuple
    digest: str
    computed: int
    reused: int

    def trace(self, problem: str | None = None, algorithm: str | None = None, law: str | None = None, **settings: Any) -> Trace:
        """The merged run of the one point that these names and settings pick, numbers by their value: lr="1/20" and lr=0.05 are the
        same. Raises BadInput unless it is exactly one."""
        named = {"problem": problem, "algorithm": algorithm, "law": law}
        matches = [p for p in self.points if all(v is None or v == getattr(p, k) for k, v in named.items())
                   and all(k in p.settings and _value(p.settings[k]) == _value(v) for k, v in settings.items())]
        if len(matches) != 1:
            refuse("point", {**{k: v for k, v in named.items() if v is not None}, **settings},
                   f"names {len(matches)} of {len(self.points)} points", "Name problem, algorithm, law and settings of one.")
        return matches[0].trace

    def rows(self, metric: str | None = None, level: float = 0.999) -> list:
        """A dict for each point: its names and settings, replicates, the metric's expectation after the last round and its average
        over the tail (`Trace.interval`, `Trace.floor`), each with the half width at this level. metric: default "error", or the
        first that was recorded."""
        out = []
        for p in self.points:
            name = metric or ("error" if "error" in p.trace.metrics else next(iter(p.trace.metrics)))
            last, floor = p.trace.interval(-1, name, level), p.trace.floor(name, level)
            out.append({"problem": p.problem, "algorithm": p.algorithm, "law": p.law,
                        **{k: str(v) for k, v in p.settings.items()}, "replicates": p.trace.replicates,
                        name: float(last.value), "+/-": float(last.half_width),
                        f"{name}, tail": float(floor.value), "+/- tail": float(floor.half_width)})
        return out

    def save(self, path: str | os.PathLike) -> Path:
        """Write the rows as CSV; returns the path. Raises BadInput if it cannot be written."""
        try:
            write_atomically(Path(path), lambda f: f.write(to_csv(self.rows()).encode()))
        except (OSError, TypeError, ValueError) as error:
            refuse("path", path, f"cannot be written ({error})", "Make its folder, or choose another file.")
        return Path(path)

    def _cells(self):
        rows = self.rows()
        return [list(rows[0]), *([f"{v:.4g}" if isinstance(v, float) else str(v) for v in r.values()] for r in rows)]

    def _summary(self):
        return (f"{len(self.points)} points, {self.computed} chunks computed, {self.reused} from the store; "
                f"digest {self.digest[:16]}")

    def __str__(self):
        return "\n".join([self._summary(), *aligned(self._cells())])

    def _repr_html_(self):
        head, *rows = self._cells()
        return f"<p>{self._summary()}</p><table>{html_row(head, 'th')}{''.join(map(html_row, rows))}</table>"


def sweep(problems: Problem | list | dict, algorithms: Algorithm | list | dict, laws: Law | list | dict, rounds: int,
          replicates: int = 1, seeds: int | list = 0, grid: dict | None = None, chunk: int = 4096, noise: Number = None,
          x0: Array = None, metrics: dict | None = None, tail: Number = 0.25, device: str = "cpu",
          store: str | os.PathLike | None = None, executor: Any = None, progress: bool = False) -> Sweep:
    """Run every algorithm with every setting on every problem under every law, in chunks of replicates that run anywhere.

    problems, algorithms, laws: one record, a list, or {name: record}. grid: {field of the algorithms: values}, each combination of
    which replaces the algorithms' own, such as {"lr": ["1/20", "1/10"], "steps": [1, 10]}; the values of a field are
    different in float64: "1/20" beside 0.05 is refused. seeds: an int or several, which are merged: each has `replicates`
    repetitions. chunk: replicates that a worker computes at once; numbers depend on it, as on seeds.
    rounds, noise, x0, metrics, tail, device: as in `run`; a metric that other processes compute is a function of a module.
    store: folder of finished chunks (made if it is not there), or None; a sweep that was interrupted, or asks for more, takes
    from it what it has.
    executor: None, a number of processes, a `concurrent.futures.Executor`, or "tcp://host:port" of a Dask scheduler
    (`pip install 'fltheory[cluster]'`). The digest does not depend on executor, workers, deaths of workers, or interruptions;
    it may on the kind of processor and on the version of numpy.
    Raises BadInput (also by a worker with other code than ours), TooLarge beyond 10^6 chunks, WorkersLost, MissingLibrary.
    """
    executor = check_executor(executor)
    check_flag(progress, "progress")
    plan = _Plan.of(problems, algorithms, laws, grid, RunOptions(
        count(1, MOST_ROUNDS)(rounds, "rounds"), device=device, noise=noise, x0=x0, metrics=metrics, tail=tail))
    if isinstance(executor, (int, np.integer, ProcessPoolExecutor)):
        plan.check_sendable()
    replicates = count(1, MOST_REPLICATES)(replicates, "replicates")
    chunk = count(1, MOST_REPLICATES)(chunk, "chunk")
    seeds = [seeds] if np.ndim(seeds) == 0 else listed(seeds, "seeds", "is an int or a list of ints", "For example [0, 1].")
    seeds = [a_seed(s, "seeds") for s in seeds]
    if len(set(seeds)) < max(len(seeds), 1):
        refuse("seeds", seeds, "are different ints, at least one: equal seeds are equal runs", "Leave out what is repeated.")
    each = math.ceil(replicates / chunk)
    total = len(plan.points) * len(seeds) * each
    if total > MOST_CHUNKS:
        raise TooLarge(f"sweep: {total} chunks ({len(plan.points)} points, {len(seeds)} seeds, {each} for {replicates} "
                       f"replicates); at most {MOST_CHUNKS} are made. Use larger chunks or a smaller grid.")
    pieces = [(s if k == 0 else int.from_bytes(Stream(s, "sweep", k).key(), "big"), min(chunk, replicates - k * chunk))
              for s in seeds for k in range(each)]
    tasks = {(p, *piece): plan.key(p, *piece) for p in range(len(plan.points)) for piece in pieces}
    folder = _Store(store)
    contents = {task: content for task, key in tasks.items() if (content := folder.read(key)) is not None}
    rest, reused = [t for t in tasks if t not in contents], len(contents)
    with closing(progress_bar(progress, total, reused, "chunk")) as bar, closing(completed(plan, rest, executor)) as results:
        try:
            for task, content in results:
                folder.write(tasks[task], content)
                contents[task] = content
                bar.update(1)
        except WorkersLost as error:
            where = "" if store is None else f" {len(contents)} of {total} chunks are in {str(store)!r}: run it again to go on."
            raise WorkersLost(f"{error}{where}") from error
    points = tuple(plan.point(p, [contents[p, *piece] for piece in pieces], [n for _, n in pieces], seeds[0])
                   for p in range(len(plan.points)))
    return Sweep(points, _numbers(points), len(rest), reused)


def _numbers(points) -> str:
    h = hashlib.sha256()
    for p in points:
        names = [p.problem, p.algorithm, p.law, {k: str(v) for k, v in p.settings.items()}, p.trace.replicates]
        h.update(json.dumps(names).encode())
        for table in (p.trace.metrics, p.trace.tail):
            for name in sorted(table):
                h.update(name.encode() + b"".join(np.ascontiguousarray(table[name][part], float).tobytes() for part in PARTS))
        h.update(np.ascontiguousarray(p.trace.final, float).tobytes())
    return h.hexdigest()


# ---- what is to be run ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Plan:
    """All points of a sweep; called with a task (point, seed, replicates) it computes that chunk, wherever it is."""

    problems: dict
    algorithms: dict   # {(name, settings as a tuple of pairs): record}
    laws: dict
    options: RunOptions
    points: tuple      # keys of the three
    code: str          # of the engine that made the plan
    parts: dict = field(repr=False)

    @classmethod
    def of(cls, problems, algorithms, laws, grid, options):
        problems, laws = _named(problems, "problems"), _named(laws, "laws")
        algorithms = {(name, s): _with(a, name, s) for name, a in _named(algorithms, "algorithms").items() for s in _settings(grid)}
        check_numbers(problem=list(problems.values()), algorithm=list(algorithms.values()), law=list(laws.values()), **{
            k: getattr(options, k) for k in ("noise", "x0")})
        for (_, problem), (_, algorithm), (_, law) in itertools.product(problems.items(), algorithms.items(), laws.items()):
            prepare(algorithm, problem, law, options.noise)  # what has no meaning is refused before anything is run
        parts = {kind: {name: digest(value) for name, value in records.items()}
                 for kind, records in (("problem", problems), ("algorithm", algorithms), ("law", laws))}
        values = {k: getattr(options, k) for k in ("rounds", "device", "noise", "x0", "metrics", "tail")}
        digests = {k: digest(sorted(v.items()) if k == "metrics" and isinstance(v, dict) else v) for k, v in values.items()}
        return cls(problems, algorithms, laws, options, tuple(itertools.product(problems, algorithms, laws)), engine(),
                   {**parts, "options": digests})

    def check_sendable(self):
        """Refuse what no other process could make again, by its name."""
        try:
            check_sendable(self, "sweep")
        except BadInput:
            records = {"problems": self.problems, "algorithms": {name: a for (name, _), a in self.algorithms.items()},
                       "laws": self.laws, "metrics": self.options.metrics}
            for what, values in records.items():
                for name, value in values.items() if isinstance(values, dict) else ():
                    check_sendable(value, f"{what}[{name!r}]")
            raise

    def key(self, point, seed, replicates) -> str:
        """The digest of everything that a chunk's numbers depend on."""
        problem, algorithm, law = self.points[point]
        parts = {"problem": self.parts["problem"][problem], "algorithm": self.parts["algorithm"][algorithm],
                 "law": self.parts["law"][law], **self.parts["options"], "code": self.code, "seed": seed, "replicates": replicates}
        return digest_of(parts.items())

    def __call__(self, task) -> dict:
        from fltheory.runs.batched import run_with
        if engine() != self.code:
            raise BadInput("this worker has another fltheory, numpy or torch than the sweep that asks it. Install the same on all "
                           "machines, and edit nothing while it runs.")
        point, seed, replicates = task
        a, b, c = self.points[point]
        with _one_thread():
            trace = run_with(self.algorithms[b], self.problems[a], self.laws[c],
                             replace(self.options, replicates=replicates, seed=seed))
        return {"final": trace.final, "audit": np.array(np.nan if trace.audit is None else trace.audit),
               "audited": np.array(trace.audited), "tail_rounds": np.array(trace.tail_rounds),
               "provenance": np.array(json.dumps(trace.provenance)), **flat({"metric": trace.metrics, "tail": trace.tail})}

    def point(self, p, contents, counts, seed) -> Point:
        """The chunks of a point, merged in the order of their numbers."""
        problem, (algorithm, settings), law = self.points[p]
        tables: dict = {"metric": {}, "tail": {}}
        first = contents[0]
        for group, name in dict.fromkeys(tuple(k.split("/")[:2]) for k in first if "/" in k):
            moments = [[c[f"{group}/{name}/{part}"] for part in PARTS] for c in contents]
            whole = Stream2(counts[0], *moments[0])
            for n, parts in zip(counts[1:], moments[1:], strict=True):
                whole.merge(n, *parts)
            tables[group][name] = {part: getattr(whole, part) for part in PARTS}
        audits = [float(c["audit"]) for c in contents if int(c["audited"])]
        machine, *others = [json.loads(v) for v in dict.fromkeys(str(c["provenance"]) for c in contents)]
        final = sum(n * c["final"] for n, c in zip(counts, contents, strict=True)) / sum(counts)
        trace = Trace(rounds=self.options.rounds, replicates=sum(counts), seed=seed, device=str(self.options.device),
                      tail_rounds=int(first["tail_rounds"]), metrics=tables["metric"], tail=tables["tail"], final=final,
                      audit=max(audits) if audits else None, audited=sum(int(c["audited"]) for c in contents),
                      provenance={**machine, **({"also": others} if others else {})},
                      algorithm=self.algorithms[algorithm, settings], problem=self.problems[problem], law=self.laws[law])
        return Point(problem, algorithm, law, dict(settings), trace)


def _named(values, what) -> dict:
    """{name: record} of one record, a list or a dict: records of a list have the names of their types, where these differ."""
    if isinstance(values, dict):
        if not values or not all(isinstance(k, str) for k in values):
            refuse(what, values, "is one record, a list of them, or {name: record}", "Name at least one.")
        return dict(values)
    records = list(values) if isinstance(values, (list, tuple)) else [values]
    names = [type(v).__name__ for v in records]
    if len(set(names)) < len(names):
        names = [shortened(repr(v), 60) for v in records]
    if not records or len(set(names)) < len(names):
        refuse(what, names, "are at least one, with different names", 'Give them as {"name": record}.')
    return dict(zip(names, records, strict=True))


def _settings(grid) -> list:
    """All combinations of a grid, each a tuple of pairs (field, value)."""
    if grid is None:
        return [()]
    if not isinstance(grid, dict) or not all(isinstance(k, str) for k in grid):
        refuse("grid", grid, "gives values of fields of the algorithms", 'For example {"lr": ["1/20", "1/10"]}.')
    axes = [[(name, _plain(v)) for v in listed(values, f"grid[{name!r}]", "is a list of values", 'For example ["1/20", "1/10"].')]
            for name, values in grid.items()]
    for name, axis in zip(grid, axes, strict=True):
        check_numbers(**{f"grid[{name!r}]": [v for _, v in axis]})
        values: dict = {}
        for _, v in axis:
            if (key := _value(v)) in values:
                one = f"{shown(values[key])} and {shown(v)}"
                refuse(f"grid[{name!r}]", [v for _, v in axis], f"gives different values, and {one} are one in float64",
                       "Leave out what is repeated.")
            values[key] = v
        if not axis:
            refuse(f"grid[{name!r}]", [], "gives different values, at least one", "Name one, or leave the field out.")
    if math.prod(map(len, axes)) > MOST_CHUNKS:
        raise TooLarge(f"grid: {math.prod(map(len, axes))} combinations; a sweep has at most {MOST_CHUNKS} chunks. "
                       "Use a smaller grid.")
    return list(itertools.product(*axes))


def _plain(value):
    """What can be named: numpy numbers as Python's, lists as tuples."""
    value = value.item() if isinstance(value, np.generic) else value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(value) if isinstance(value, list) else value


def _value(value):
    """What two settings are compared by: numbers, and texts that are numbers, as float64; truth values are none."""
    value = _plain(value)
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    try:
        return float(fraction(value))
    except (BadInput, OverflowError):
        return repr(value)


def _with(algorithm: Algorithm, name, settings):
    if not settings:
        return algorithm
    names = [f.name for f in fields(algorithm) if f.init] if is_dataclass(algorithm) and not isinstance(algorithm, type) else []
    unknown = [k for k, _ in settings if k not in names]
    if unknown:
        refuse("grid", unknown, f"are no fields of {name}, which has {names}", "Name fields of every algorithm.")
    return replace(algorithm, **dict(settings))


@contextmanager
def _one_thread():
    """One thread of torch and of the linear algebra below numpy: sums do not depend on how many cores a worker has."""
    import sys
    torch = sys.modules.get("torch")
    before = None if torch is None else torch.get_num_threads()
    if have("threadpoolctl"):
        from threadpoolctl import threadpool_limits
        limited = threadpool_limits(1)
    else:
        limited = nullcontext()
    try:
        if torch is not None:
            torch.set_num_threads(1)
        with limited:
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)


# ---- what has been run --------------------------------------------------------------------------------------------
class _Store:
    """A folder of finished chunks by their digests, written by the driver alone: workers need no common file system."""

    def __init__(self, folder):
        self.folder = None
        if folder is None:
            return
        try:
            self.folder = Path(folder)
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, TypeError, ValueError) as error:
            refuse("store", folder, f"cannot be made a folder ({shortened(error)})", "Choose another.")

    def _file(self, key):
        return Snapshots(self.folder / f"{key}.chunk", key, 0.0)

    def read(self, key):
        """The arrays of a chunk, None if they are not there; what is damaged is computed again."""
        if self.folder is None or not (self.folder / f"{key}.chunk").exists():
            return None
        try:
            content = self._file(key).content()
        except BadInput as error:
            _LOG.warning("computed again: %s", error)
            return None
        return {k: v for k, v in content.items() if k not in ("chunk", "round")}

    def write(self, key, content):
        if self.folder is not None:
            self._file(key).write({"chunk": 0, "round": 0, **content})
