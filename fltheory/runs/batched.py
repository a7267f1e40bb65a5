"""The loop of a run: replayable randomness, chunks of replicates, streamed metrics."""
from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from inspect import isfunction

import numpy as np

from fltheory.core.algorithms.base import ROOMS, advance, ours
from fltheory.core.kinds import Algorithm, Array, Draw, Law, Problem
from fltheory.core.numbers.arrays import broadcast, overwriting, to_numpy
from fltheory.core.numbers.scalars import FLOAT, Number, Torch, fraction
from fltheory.core.operators.setting import prepare
from fltheory.core.problems.shapes import shaped
from fltheory.core.statistics import Stream2, moments
from fltheory.runs.arguments import check_numbers, measures_of
from fltheory.runs.audit import audit_rounds, replay, start_of
from fltheory.runs.checkpoint import PARTS, Checkpoint, Part, Totals
from fltheory.runs.client_major import Places, Unplaced
from fltheory.runs.collapsed_noise import collapse
from fltheory.runs.draws import BLOCK, draw_round, start_modes, works_alone
from fltheory.runs.network import Network
from fltheory.runs.options import RunOptions, in_seconds
from fltheory.runs.preparation import Setting, check_carried, device_name, phases_of, progress_bar, provenance, schedule
from fltheory.runs.streams import Stream
from fltheory.runs.trace import Trace

TOGETHER = 2**19     # numbers of an array of local models that are stepped together on a CPU: more leave its caches
MOST_TOGETHER = 16   # blocks


def run(algorithm: Algorithm | list, problem: Problem, law: Law, rounds: int | None = None, replicates: int = 1,
        seed: int = 0, device: str = "cpu", noise: Number = None, x0: Array = None, metrics: dict | None = None,
        tail: Number = 0.25, chunk: int | None = None, checkpoint: str | os.PathLike | None = None, every: Number = 5.0,
        progress: bool = False, audit: bool = True, collapsed: bool = False) -> Trace:
    """Run an algorithm in batches of replicates, in numpy on a CPU and in torch on CUDA, and stream its metrics.

    Networks, asynchronous methods and what users have written (whose rounds may know torch alone) are run in torch anywhere.

    algorithm: one algorithm with `rounds`, or phases [(algorithm, rounds), ...] whose state carries over.
    replicates: independent repetitions (>= 1). seed: int >= 0; streams are keyed by (seed, block, round).
    device: "cpu" or "cuda". noise: sigma of additive gradient noise. x0: (d,) start, default 0.
    metrics: name -> function of the server models (batch, d) tensor -> (batch,) tensor; recorded besides:
    "error" |x - x*|^2 if the problem has a computable minimiser, unless "error": None leaves it out. tail: last fraction of rounds
    averaged for `Trace.floor`. chunk: blocks of 1,024 replicates stepped together, None for as many as a cache holds; the results
    are the same to rounding. checkpoint: file written every `every` seconds and removed at the end; an interrupted run with the
    same arguments resumes with identical results. audit: whether recorded rounds are made again, see `Trace.audit`. collapsed: draw
    one Gaussian for each client and round, with the distribution that the noise of its local steps has together, instead of all of
    them; refused where that is not exact.
    Raises BadInput on bad arguments, an unknown device, a checkpoint of another run.
    """
    return run_with(algorithm, problem, law, RunOptions(
        rounds, replicates, seed, device, noise, x0, metrics, tail, chunk, checkpoint, in_seconds(every, "every"), progress, audit,
        collapsed))


def run_with(algorithm: Algorithm | list, problem: Problem, law: Law, options: RunOptions) -> Trace:
    """`run`, with its options as one record."""
    setting = _setting(algorithm, problem, law, options)
    key = setting.key(setting.tail_rounds, options.audit, options.collapsed)
    at = Checkpoint(options.checkpoint, key, options.seconds)
    snapshot = at.content()
    first, totals = (0, _nothing(setting)) if snapshot is None else (snapshot["chunk"], Totals.read(snapshot, setting.measures))
    bar = progress_bar(options.progress, setting.total * setting.chunks, first * setting.total)
    for c in range(first, setting.chunks):
        middle = c == first and snapshot is not None and snapshot["round"] > 0
        _chunk(setting, c, _resumed(setting, snapshot) if middle else _begun(setting, c), totals, at, bar)
        at.finish_chunk(c + 1, totals)
    bar.close()
    at.remove()
    return _joined(setting, totals, algorithm, law)


@dataclass(frozen=True)
class _Batched(Setting):
    """collapses: what is drawn in place of the noise of each phase, or None."""

    collapses: list

    @functools.cached_property
    def tail_rounds(self) -> int:
        return max(1, round(float(fraction(self.options.tail)) * self.total))

    @functools.cached_property
    def audited(self) -> dict:
        return audit_rounds(self.options.seed, self.total, self.chunks) if self.options.audit else {}

    @functools.cached_property
    def layout(self) -> _Layout:
        return _Layout()


def _setting(algorithm: Algorithm | list, problem: Problem, law: Law, options: RunOptions) -> _Batched:
    phases = phases_of(algorithm, options.rounds)
    check_numbers(algorithm=[a for a, _ in phases], law=law, noise=options.noise)
    device = device_name(options.device)
    domain = _arithmetic([a for a, _ in phases], problem, device)
    laws = [prepare(a, problem, law, options.noise) for a, _ in phases]
    collapses = [collapse(a, problem, law, options.seed) if options.collapsed else None
                 for (a, _), law in zip(phases, laws, strict=True)]
    converted, algorithms = problem.to(domain), [a.to(domain) for a, _ in phases]
    start = FLOAT.array(shaped([0] * problem.d if options.x0 is None else options.x0, "x0", "d", d=problem.d))
    check_carried(algorithms, converted, domain.array(start)[None])
    measures = measures_of(problem, domain, options.metrics)
    chunk = options.chunk or _together(laws[0], problem, domain)
    return _Batched(options, phases, algorithms, laws, problem, converted, domain, device, start, measures, chunk, collapses)


def _nothing(setting) -> Totals:
    """What no chunk comes to."""
    metrics, tails = ({name: Stream2.empty(shape) for name in setting.measures} for shape in (setting.total + 1, ()))
    return Totals(metrics, tails, np.zeros(setting.plain.d), [])


def _begun(setting, c) -> Part:
    """A chunk before its first round."""
    streams, sizes = setting.blocks(c)
    modes = np.concatenate([start_modes(setting.laws[0], stream, size) for stream, size in zip(streams, sizes, strict=True)])
    moments = {name: tuple(np.zeros(setting.total + 1) for _ in PARTS) for name in setting.measures}
    return Part(None, modes, 0, moments, {name: setting.domain.array(np.zeros(sum(sizes))) for name in setting.measures})


def _resumed(setting, snapshot) -> Part:
    """The chunk that a snapshot was taken in."""
    kind = type(setting.algorithms[0].init(setting.problem, setting.domain.array(setting.start)[None]))
    return Part.read(snapshot, kind, setting.domain, setting.measures)


def _chunk(setting, c, part, totals, at, bar):
    """The rounds of a chunk from `part` on, and what they add to the totals."""
    streams, sizes = setting.blocks(c)
    batch = sum(sizes)
    for number, alg, law, collapsing in schedule(setting.phases, part.round, setting.algorithms, setting.laws, setting.collapses):
        drawing = law, setting.problem, streams, sizes, number, part.modes, setting.domain, works_alone(alg)
        if part.state is None:
            draw, _ = draw_round(*drawing)
            part.state = _started(alg, setting.problem, setting.start, batch, setting.domain, draw)
            _record(setting, alg, part)
        pick = setting.audited.get((c, number))
        if pick is not None:
            before = start_of(alg, setting.plain, law, part.state, pick % batch)
        part.state, draw, part.modes = _stepped(alg, part.state, drawing, setting.layout, collapsing)
        if pick is not None:
            totals.audits.append(replay(alg, setting.plain, law, before, part.state, draw, pick % batch))
        part.round = number + 1
        _record(setting, alg, part)
        bar.update(1)
        at.maybe(c, part, totals)
    for name in setting.measures:
        totals.metrics[name].merge(batch, *part.moments[name])
        totals.tails[name].merge(batch, *moments(to_numpy(part.sums[name])))
    totals.final = totals.final + to_numpy(setting.algorithms[-1].model(part.state)).sum(0)


def _joined(setting, totals, algorithm: Algorithm | list, law: Law) -> Trace:
    """The run that its chunks are together."""
    metrics, tail = ({name: {part: getattr(stats, part) for part in PARTS} for name, stats in table.items()}
                     for table in (totals.metrics, totals.tails))
    audits, replicates = [a for a in totals.audits if a is not None], setting.options.replicates
    return Trace(rounds=setting.total, replicates=replicates, seed=setting.options.seed, device=setting.device,
                 tail_rounds=setting.tail_rounds, metrics=metrics, tail=tail, final=totals.final / replicates,
                 audit=max(audits) if audits else None, audited=len(audits), provenance=provenance(setting.device),
                 algorithm=algorithm, problem=setting.plain, law=law)


def _arithmetic(algorithms, problem: Problem, device):
    """numpy for our own closed formulas on a CPU, torch elsewhere."""
    in_numpy = device == "cpu" and all(closed(a, problem) and not works_alone(a) for a in algorithms)
    return FLOAT if in_numpy else Torch(device)


def _together(law: Law, problem: Problem, domain):
    """How many blocks are stepped together."""
    if domain.library != "numpy":
        return MOST_TOGETHER
    places = law.sample(Stream(0, "size"), problem.n, 1)[0].present.shape[-1]
    return min(max(TOGETHER // (BLOCK * places * problem.drawn), 1), MOST_TOGETHER)


def _started(alg, prob, start, batch, domain, draw: Draw):
    """The states at x0; a warm start is one exact pass, as in `derive`."""
    with np.errstate(all="ignore"):
        return alg.init(prob, broadcast(domain.array(start), (batch, len(start))), draw._replace(xi=None))


class _Layout:
    """What a run knows of placed arrays: `plain`, the algorithms whose rounds ask for what these do not answer, and `exclusive`,
    client memories that nothing but the state holds. A round of ours may write over them, which saves a copy of all clients for a
    cohort."""

    def __init__(self):
        self.plain, self.exclusive = set(), ()

    def answered(self, alg, prob, state, draw: Draw):
        """The round in placed arrays, or None where it fails in whatever way: what is wrong with it fails in plain ones too."""
        at = draw.who
        if isinstance(at, Places) and _ours(alg):
            at.writable = [v for v in self.exclusive if sum(v is leaf for leaf in state) == 1]
        self.exclusive = ()
        try:
            new = advance(alg, prob, state, draw)
            if not all(isinstance(v, np.ndarray) for v in new):
                raise Unplaced("a state in placed arrays")
        except Exception:   # of numpy, asked by a round for what placed arrays are not
            if getattr(at, "overwritten", False):   # no state is left from which it could be made again
                raise
            return None
        self.exclusive = getattr(at, "memories", ())
        return new


def _stepped(alg, state, drawing, layout, collapse):
    """(state, draw, modes) after one round; drawing: what `draw_round` takes."""
    law, prob, _, sizes, _, _, domain, _ = drawing
    if domain.library != "numpy":
        import torch
        draw, mode = draw_round(*drawing, collapse=collapse)
        with torch.inference_mode(closed(alg, prob)), overwriting(owned(alg, prob)):
            return advance(alg, prob, state, draw), draw, mode
    with np.errstate(all="ignore"):  # of diverging runs
        if id(alg) not in layout.plain and _placeable(alg, prob, law, sizes):
            draw, mode = draw_round(*drawing, placed=True, collapse=collapse)
            new = layout.answered(alg, prob, state, draw)
            if new is not None:
                return new, draw, mode
            layout.plain.add(id(alg))
        draw, mode = draw_round(*drawing, collapse=collapse)
        return advance(alg, prob, state, draw), draw, mode


def _placeable(alg, prob, law: Law, sizes):
    return prob.placed and law.batch is None and sizes != [1] and alg.partial and not alg.absent_act


def _record(setting, alg, part):
    """The metrics of the models after the rounds so far."""
    with np.errstate(all="ignore"):  # of diverging runs
        x = alg.model(part.state)
        for name, f in setting.measures.items():
            values = f(x)
            if part.round > setting.total - setting.tail_rounds:
                sums = part.sums[name]
                sums += (to_numpy(values) if isinstance(sums, np.ndarray) else values) / setting.tail_rounds
            for into, value in zip(part.moments[name], moments(values), strict=True):
                into[part.round] = value


def closed(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether a round is made of our own closed formulas, so that torch need not prepare for derivatives: a fifth of what an
    operation on few numbers costs. Networks differentiate, and what users write may."""
    parts = (algorithm, getattr(algorithm, "solver", algorithm), problem)
    return all(type(v).__module__.startswith("fltheory.") for v in parts) and not isinstance(problem, Network)


def owned(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether an arrival may be written into the state itself: the engine's own asynchronous rounds keep no earlier one."""
    return _ours(algorithm) and works_alone(algorithm) and closed(algorithm, problem)


def _ours(algorithm: Algorithm) -> bool:
    """Whether a round is the engine's own, and nobody has put another function in its place: it looks at no memory behind the `put`
    that replaces it."""
    return ours(type(algorithm).__module__) and all(
        f.__module__.startswith((*ROOMS, "fltheory.core.records"))
        for kind in type(algorithm).__mro__ for f in vars(kind).values() if isfunction(f))
