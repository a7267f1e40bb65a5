"""Runs on the event clock with every arrival recorded: who came when, from which model, with how many local steps."""
from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fltheory.asynchronous.arrivals import NEVER, Arriving, arrives, lasts, of
from fltheory.asynchronous.event_clock import EventClock
from fltheory.asynchronous.recorded import COLUMNS, WHOLE, Events
from fltheory.core.algorithms.base import advance
from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Algorithm, Array, Law, Problem
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import arange, norm, overwriting, ratio, to_numpy, whole
from fltheory.core.numbers.scalars import FLOAT, Number, Torch, entries, fraction, to_float
from fltheory.core.operators.setting import prepare
from fltheory.core.problems.shapes import shaped
from fltheory.core.records import count, declared, positive
from fltheory.runs.arguments import check_numbers, measures_of
from fltheory.runs.batched import closed, owned
from fltheory.runs.checkpoint import Snapshots
from fltheory.runs.draws import draw_round, start_modes, works_alone
from fltheory.runs.options import RunOptions
from fltheory.runs.preparation import Setting, check_carried, device_name, phases_of, progress_bar, provenance, schedule

MOST = 5 * 10**7   # arrivals of all replicates together: seven columns of them are kept
ROW = ("time", "client", "lag", "K", "gamma", "moved")   # what one arrival adds


def record(algorithm: Algorithm | list, problem: Problem, law: Law, arrivals: int | None = None, replicates: int = 1,
           seed: int = 0, device: str = "cpu", noise: Number = None, x0: Array = None, metrics: dict | None = None,
           every: int = 1, until: Number = None, clock: EventClock | None = None, chunk: int = 64,
           checkpoint: str | os.PathLike | None = None, seconds: Number = 5.0, progress: bool = False) -> Events:
    """Run a method on the event clock, batched over replicates, and keep every arrival.

    algorithm: an asynchronous method (AsyncFedED, FedAsync, FedBuff) with `arrivals`, its number of arrivals, or phases
    [(algorithm, arrivals), ...] as in `ft.run`. A synchronous one (FedAvg, FedProx, ...) runs on the same clock: the server waits
    for the slowest of the round's clients, and one of `arrivals` is one round. law: an `EventClock`, or for synchronous methods any
    law with clock=EventClock(...). Runs that start in a round of the server have the compute times and hangs of those that start
    with the arrival of the same number, so that methods are compared on the same draws. x0: (d,) start, or (replicates, d), default
    0; a network's own start is problem.initial(seed).
    metrics: name -> function of the server models (batch, d), a torch tensor, -> (batch,); taken at the start, after every `every`
    arrivals and after the last; "error", |x - x*|^2, is added if the problem has a computable minimiser, unless "error": None
    leaves it out. until: end where every replicate's clock has passed this time (looked at with the metrics; `arrivals` is the
    limit).
    seed, device, chunk as in `ft.run`: streams are keyed by (seed, block of 1,024 replicates, arrival). checkpoint: a file written
    every `seconds` seconds and removed at the end; an interrupted run with the same arguments resumes with identical results.
    Raises BadInput on bad arguments, TooLarge beyond 5 10^7 arrivals in all.
    """
    return _events(_setting(algorithm, problem, law, RecordOptions(
        arrivals, replicates, seed, device, noise, x0, metrics, chunk=chunk, checkpoint=checkpoint, seconds=seconds,
        progress=progress, every=every, until=until, clock=clock)))


def replay(events: Events, algorithm: Algorithm | list, problem: Problem, law: Law | None = None, noise: Number = None,
           device: str = "cpu", metrics: dict | None = None, chunk: int = 64) -> Events:
    """The run again from its order of arrivals, their times and K alone: the same models, to rounding.

    events: what `record` made, or `Events.load` read, of an asynchronous method; algorithm, problem, law (its noise and batches;
    None: exact gradients) and noise as recorded, or others: then what they would have done with these arrivals.
    Raises BadInput where a client does not exist, comes without local steps, or before the one that came before it.
    """
    if not isinstance(events, Events):
        refuse("events", events, "are what ft.record made", "Record a run, or read one by ft.Events.load(path).")
    arrivals = events.arrivals if not isinstance(algorithm, (list, tuple)) else None
    phases = phases_of(algorithm, arrivals, "arrivals")
    law = EventClock() if law is None else law
    if isinstance(law, EventClock) and law.steps is None and getattr(phases[0][0], "steps", None) is None:
        law = law.with_steps(1)   # those of the first runs are recorded
    setting = _setting(algorithm, problem, law, RecordOptions(
        arrivals, events.replicates, events.seed, device, noise, events.start, metrics, chunk=chunk, every=events.every))
    if not setting.alone:
        refuse("algorithm", algorithm, "its rounds have no order of arrivals", "Record it again: rounds depend on the seed alone.")
    if (events.client < 0).all():
        refuse("events", "rounds of a synchronous method", "have no order of arrivals", "Record an asynchronous method.")
    if setting.total != events.arrivals:
        refuse("arrivals", setting.total, f"{events.arrivals} were recorded", "Let phases have as many together.")
    _check_order(events, problem.n)
    return _events(replace(setting, recorded=events))


def _check_order(events, n):
    there = events.client >= 0
    if (events.client >= n).any() or (events.client < -1).any():
        refuse("client", int(events.client.max()), f"clients are numbered 0..{n - 1}", "Replay on the problem that was recorded.")
    if (events.K[there] < 1).any():
        refuse("K", int(events.K[there].min()), "who arrives has made a local step", "Give K >= 1 where client >= 0.")
    time = np.where(there, events.time, np.inf)
    if not (time[:1] >= 0).all() or not (time[1:] >= time[:-1]).all():
        refuse("time", "of an arrival", "arrivals are ordered by time, from 0 on", "Sort the arrivals of every replicate.")


@dataclass(frozen=True)
class RecordOptions(RunOptions):
    """The options of `record`, which says what each is. rounds: its arrivals."""

    chunk: Any = declared(count(1, remedy="Give a positive int."), 64)
    every: int = declared(count(1, remedy="Give a positive int."), 1)
    until: Any = declared(lambda value, what: to_float(positive(value, what)), None)
    clock: Any = None


@dataclass(frozen=True)
class _Setting(Setting):
    """alone: whether a round is an arrival; recorded: `Events` that are to be followed."""

    options: RecordOptions
    clock: EventClock
    alone: bool
    recorded: Events | None = None


def _setting(algorithm: Algorithm | list, problem: Problem, law: Law, options: RecordOptions) -> _Setting:
    phases, clock, replicates = phases_of(algorithm, options.rounds, "arrivals"), options.clock, options.replicates
    check_numbers(algorithm=[a for a, _ in phases], law=law, clock=clock, noise=options.noise)
    device = device_name(options.device)
    domain = Torch(device)
    laws = [prepare(a, problem, law, options.noise) for a, _ in phases]
    alone = _check_kind(phases, law, clock)
    if clock is not None:
        if clock.steps is None and not isinstance(laws[0].steps, RandomSteps):
            clock = replace(clock, steps=laws[0].steps)
        clock.cohort_count(problem.n)
    converted, algorithms = problem.to(domain), [a.to(domain) for a, _ in phases]
    measures = measures_of(problem, domain, options.metrics, needed=False)
    arrivals = sum(k for _, k in phases)
    if arrivals * replicates > MOST:
        raise TooLarge(f"{arrivals} arrivals of {replicates} replicates exceed {MOST}: record fewer, or use ft.run")
    start = _starts(options.x0, replicates, problem.d)
    check_carried(algorithms, converted, domain.array(start[:1]))
    return _Setting(options, phases, algorithms, laws, problem, converted, domain, device, start, measures, options.chunk,
                    laws[0] if clock is None else clock, alone)


def _check_kind(phases, law: Law, clock) -> bool:
    """Whether a round is an arrival, as of all phases or of none; a clock says how long runs last, and it is one."""
    alone = works_alone(phases[0][0])
    for a, _ in phases:
        if works_alone(a) != alone or (alone and not isinstance(a, Arriving)):
            refuse("algorithm", type(a).__name__, "asynchronous methods answer an `Arrival`, one after the other",
                   "Derive it from AsyncFedED, FedAsync or FedBuff, and let all phases be of one kind.")
    if alone and not isinstance(law, EventClock):
        refuse("law", law, "asynchronous methods need a clock", "Give ft.EventClock(...).")
    if clock is None and not isinstance(law, EventClock):
        refuse("clock", None, "the law says who takes part, not how long that takes", "Give clock=ft.EventClock(...).")
    if clock is not None and (isinstance(law, EventClock) or not isinstance(clock, EventClock) or fraction(clock.noise)
                              or clock.batch is not None):
        refuse("clock", clock, "is a second law that says how long runs take, without noise and batches of its own",
               "Give the clock alone as law, or a law of participation and clock=ft.EventClock(...).")
    return alone


def _starts(x0, replicates, d):
    """Starts (replicates, d) as floats."""
    if x0 is not None and entries(x0, "x0").ndim == 2:
        return FLOAT.array(shaped(x0, "x0", "replicates", "d", replicates=replicates, d=d))
    start = FLOAT.array(shaped([0] * d if x0 is None else x0, "x0", "d", d=d))
    return np.broadcast_to(start, (replicates, d)).copy()


def _events(setting) -> Events:
    options = setting.options
    key = setting.key("events", options.every, options.until, setting.clock)
    at = Snapshots(options.checkpoint, key, options.seconds)
    snapshot = at.content()
    first = 0 if snapshot is None else snapshot["chunk"]
    parts = [_Part.read(snapshot, f"done/{c}/", setting.measures) for c in range(first)]
    bar = progress_bar(options.progress, setting.total * setting.chunks, first * setting.total)
    for c in range(first, setting.chunks):
        middle = snapshot if snapshot is not None and snapshot["chunk"] == c and snapshot["round"] else None
        parts.append(_chunk(setting, c, middle, bar, lambda t, part, c=c: _keep(at, c, t, parts, part)))
        if at.path is not None:
            _keep(at, c + 1, 0, parts, None)
    bar.close()
    at.remove()
    return _joined(setting, parts)


class _Part(NamedTuple):
    """What a chunk has recorded so far: rows (arrivals, 6, batch) and metrics (points, batch); its state, mode, and clock `now`."""

    rows: Any
    metrics: dict
    state: Any
    mode: Any
    now: Any
    final: Any = None

    def arrays(self, prefix, middle):
        content = {"rows": self.rows, **{f"metric/{k}": v for k, v in self.metrics.items()}}
        content |= {"final": self.final} if not middle else {
            "mode": self.mode, "now": self.now, "leaves": len(self.state),
            **{f"state/{k}": to_numpy(v) for k, v in enumerate(self.state)}}
        return {prefix + k: v for k, v in content.items()}

    @classmethod
    def read(cls, stored, prefix, measures, kind=None, domain=None):
        def part(k):
            return stored[prefix + k]
        metrics = {k: part(f"metric/{k}") for k in measures}
        if kind is None:
            return cls(part("rows"), metrics, None, None, None, part("final"))
        state = kind(*(domain.array(part(f"state/{k}")) for k in range(int(part("leaves")))))
        return cls(part("rows"), metrics, state, part("mode"), part("now"))


def _keep(at, chunk, t, parts, part):
    """Write a snapshot, of a chunk in its middle (`part`, made when asked for) only where one is due."""
    if part is not None and not at.due():
        return
    content = {"chunk": chunk, "round": t}
    for c, finished in enumerate(parts):
        content |= finished.arrays(f"done/{c}/", False)
    at.write(content if part is None else content | part().arrays("middle/", True))


def _chunk(setting, c, snapshot, bar, keep) -> _Part:
    """All arrivals of some blocks of replicates."""
    import torch
    prob, domain, span, (streams, sizes) = setting.problem, setting.domain, setting.span(c), setting.blocks(c)
    batch, x = sum(sizes), domain.array(setting.start[span])
    rows, state, t, now = [], None, 0, np.zeros(batch)
    values: dict = {name: [] for name in setting.measures}
    if snapshot is not None:
        part = _Part.read(snapshot, "middle/", setting.measures, type(setting.algorithms[0].init(prob, x[:1])), domain)
        state, mode, now, t = part.state, part.mode, part.now, snapshot["round"]
        rows, values = [domain.array(part.rows)], {k: list(v) for k, v in part.metrics.items()}
    else:
        mode = np.concatenate([start_modes(setting.laws[0], stream, n) for stream, n in zip(streams, sizes, strict=True)])

    def so_far():
        table = to_numpy(torch.cat(rows)) if rows else np.zeros((0, len(ROW), batch))
        return _Part(table, {k: np.array(v) for k, v in values.items()}, state, mode, now)
    for number, alg, law in schedule(setting.phases, t, setting.algorithms, setting.laws):
        draw, mode = draw_round(law, prob, streams, sizes, number, mode, domain, setting.alone)
        if state is None:
            state = alg.init(prob, x, draw._replace(xi=None))
            _measure(setting.measures, alg, state, values)
        with torch.inference_mode(closed(alg, prob)), overwriting(setting.recorded is None and owned(alg, prob)):
            if setting.alone:
                due = None if setting.recorded is None else _due(setting.recorded, number, span, domain)
                row, state = _arrival(alg, prob, state, draw, due)
                now = row[0]
            else:
                state, before = advance(alg, prob, state, draw), now
                now = before + _waits(setting.clock, streams, sizes, number, draw, prob.n)
                row = domain.array(_round_row(now, draw, batch))
        rows.append(row[None])
        bar.update(1)
        t = number + 1
        if t % setting.options.every == 0 or t == setting.total:
            _measure(setting.measures, alg, state, values)
            if setting.options.until is not None and bool((now >= setting.options.until).all()):
                break
        now = now if isinstance(now, np.ndarray) else to_numpy(now)
        keep(t, so_far)
    part = so_far()
    return part._replace(state=None, final=to_numpy(setting.algorithms[-1].model(state)))


def _measure(measures, alg, state, values):
    x = alg.model(state)
    for name, f in measures.items():
        values[name].append(np.asarray(to_numpy(f(x)), dtype=float))


def _arrival(alg, prob, s, draw: Draw, due):
    """(row (6, batch), state) of one arrival; due: (time, client, K), each (batch, 1), which the clock then follows."""
    import torch
    if due is not None:
        time, client, K = due
        theirs = arange(prob.n, client) == client
        s = s._replace(finish=torch.where(theirs, time, torch.inf), K=torch.where(theirs, K, s.K))
    who, before = arrives(s), s
    time = of(s.finish, who)
    arrival = alg.arrival(prob, s, draw)
    coded = type(alg).round is Arriving.round and "round" not in vars(alg)
    s = alg.served(prob, s, draw, arrival) if coded else alg.round(prob, s, draw)   # wrong variants may have rounds of their own
    away = (time >= NEVER) | (arrival.K < 1)
    if due is not None:
        s = type(s)(*(torch.where(away.reshape(-1, *(1,) * (new.ndim - 1)), old, new)
                      for old, new in zip(before, s, strict=True)))
    moved = _counted(alg, prob, before, s)
    length, distance = norm(arrival.delta), norm(arrival.moved)
    gamma = torch.where((length == 0) & (distance != 0), torch.inf, ratio(distance, length))
    values = (time, who, arrival.lag, whole(arrival.K), gamma, moved)
    none = (torch.inf, -1, 0, 0, torch.nan, 0)
    return torch.cat([torch.where(away, v, value * 1.0) for value, v in zip(values, none, strict=True)], -1).T, s


def _counted(alg, prob, before, s):
    """Whether an arrival counts as a change of the server (batch, 1): others' lags say so; of a single client, whether it may."""
    if prob.n > 1:
        return (s.lag - before.lag).amax(-1, keepdim=True).clamp(min=0)
    always = getattr(alg, "discard", None) is None and not hasattr(alg, "server_lr")
    return 0 * s.lag + 1 if always else (s.x != before.x).any(-1, keepdim=True)


def _due(events, t, span, domain):
    """(time, client, K) of a recorded arrival, each (batch, 1); time inf where nobody came."""
    time, client, K = (np.array(v[t, span], dtype=float)[:, None] for v in (events.time, events.client, events.K))
    return tuple(domain.array(v) for v in (np.where(client < 0, np.inf, time), client, K))


def _waits(clock, streams, sizes, t, draw: Draw, n):
    """How long a round lasts (batch,): until the last of those who take part is there; 0 if nobody does."""
    parts = [clock.times(s.child("round", max(t - 1, 0)), n, k, t == 0) for s, k in zip(streams, sizes, strict=True)]
    extra = {k: np.concatenate([np.broadcast_to(p[k], (size, n)) for p, size in zip(parts, sizes, strict=True)])
             for k in parts[0]}
    present, steps = (np.atleast_2d(to_numpy(v)) for v in (draw.present, draw.steps))
    if not isinstance(draw.who, slice):
        who = np.broadcast_to(np.atleast_2d(to_numpy(draw.who)), (len(extra["pace"]), present.shape[-1]))
        extra = {k: np.take_along_axis(v, who, -1) for k, v in extra.items()}
    lasting = lasts(Draw(None, None, None, None, extra), steps, "hang" if t else "first")
    return (lasting * present).max(-1)


def _round_row(now, draw: Draw, batch):
    present, steps = (to_numpy(v) for v in (draw.present, draw.steps))
    happens = 1 if draw.extra is None else to_numpy(draw.extra.get("happens", 1))
    return np.stack([np.broadcast_to(np.asarray(v, dtype=float), (batch,))
                     for v in (now, -1, 0, (present * steps).max(-1), np.nan, happens)])


def _joined(setting, parts) -> Events:
    longest = max(len(p.rows) for p in parts)
    measured = np.array([0, *(t for t in range(1, longest + 1) if t % setting.options.every == 0 or t == setting.total)])
    nothing = np.array([np.inf, -1, 0, 0, np.nan, 0])[None, :, None]

    def extended(rows):
        more = np.broadcast_to(nothing, (longest - len(rows), *rows.shape[1:]))
        return np.concatenate([rows, more])
    table = dict(zip(ROW, np.concatenate([extended(p.rows) for p in parts], -1).swapaxes(0, 1), strict=True))
    step = table.pop("moved").cumsum(0)
    before = np.concatenate([0 * step[:1], step[:-1]])
    table |= {"step": step, "version": np.where(table["client"] < 0, before, before - table["lag"])}
    metrics = {k: np.concatenate([_padded(p.metrics[k], len(measured)) for p in parts], -1) for k in setting.measures}
    options = setting.options
    return Events(replicates=options.replicates, seed=options.seed, device=setting.device, every=options.every, metrics=metrics,
                  measured=measured, start=setting.start,
                  **{k: np.ascontiguousarray(table[k], dtype=np.int64 if k in WHOLE else float) for k in COLUMNS},
                  final=np.concatenate([p.final for p in parts]), provenance=provenance(setting.device))


def _padded(values, points):
    return np.concatenate([values, np.full((points - len(values), values.shape[1]), np.nan)])
