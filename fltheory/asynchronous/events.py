"""Runs on the event clock with every arrival recorded: who came when, from which model, with how many local steps."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fltheory.asynchronous.arrivals import NEVER, Arriving, arrives, lasts, of
from fltheory.asynchronous.event_clock import EventClock
from fltheory.asynchronous.recorded import COLUMNS, WHOLE, Events
from fltheory.core.algorithms.base import advance
from fltheory.core.errors import TooLarge, refuse
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import arange, norm, overwriting, ratio, to_numpy, whole
from fltheory.core.numbers.scalars import FLOAT, Torch, entries, fraction, to_float
from fltheory.core.operators.setting import prepare
from fltheory.core.problems.shapes import shaped
from fltheory.core.records import count, flag, positive, within
from fltheory.runs.arguments import check_numbers, measures_of
from fltheory.runs.batched import (
    BLOCK,
    MOST_REPLICATES,
    _alone,
    _bar,
    _check_carried,
    _closed,
    _device,
    _draw,
    _owned,
    _phases,
    _schedule,
    _start_modes,
    provenance,
)
from fltheory.runs.checkpoint import Snapshots, run_key
from fltheory.runs.streams import Stream

MOST = 5 * 10**7   # arrivals of all replicates together: seven columns of them are kept
ROW = ("time", "client", "lag", "K", "gamma", "moved")   # what one arrival adds


def record(algorithm, problem, law, arrivals=None, replicates=1, seed=0, device="cpu", noise=None, x0=None, metrics=None, every=1,
           until=None, clock=None, chunk=64, checkpoint=None, seconds=5.0, progress=False) -> Events:
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
    replicates, every, chunk = (count(1, most, remedy="Give a positive int.")(v, what) for v, what, most in (
        (replicates, "replicates", MOST_REPLICATES), (every, "every", None), (chunk, "chunk", None)))
    seed = count(0, 2**128 - 1, "a seed is an int from 0 to 2^128 - 1", "Choose one, for example 0.")(seed, "seed")
    phases = _phases(algorithm, arrivals, "arrivals")
    until, seconds = None if until is None else to_float(positive(until, "until")), to_float(within(0)(seconds, "seconds"))
    return _events(_setting(phases, problem, law, clock, noise, device, metrics), replicates, seed, x0, every, until, chunk,
                   checkpoint, seconds, flag(progress, "progress"))


def replay(events, algorithm, problem, law=None, noise=None, device="cpu", metrics=None, chunk=64) -> Events:
    """The run again from its order of arrivals, their times and K alone: the same models, to rounding.

    events: what `record` made, or `Events.load` read, of an asynchronous method; algorithm, problem, law (its noise and batches;
    None: exact gradients) and noise as recorded, or others: then what they would have done with these arrivals.
    Raises BadInput where a client does not exist, comes without local steps, or before the one that came before it.
    """
    if not isinstance(events, Events):
        refuse("events", events, "are what ft.record made", "Record a run, or read one by ft.Events.load(path).")
    phases = _phases(algorithm, events.arrivals if not isinstance(algorithm, (list, tuple)) else None, "arrivals")
    law = EventClock() if law is None else law
    if isinstance(law, EventClock) and law.steps is None and getattr(phases[0][0], "steps", None) is None:
        law = law.with_steps(1)   # those of the first runs are recorded
    setting = _setting(phases, problem, law, None, noise, device, metrics)
    if not setting.alone:
        refuse("algorithm", algorithm, "its rounds have no order of arrivals", "Record it again: rounds depend on the seed alone.")
    if (events.client < 0).all():
        refuse("events", "rounds of a synchronous method", "have no order of arrivals", "Record an asynchronous method.")
    if setting.total != events.arrivals:
        refuse("arrivals", setting.total, f"{events.arrivals} were recorded", "Let phases have as many together.")
    _check_order(events, problem.n)
    return _events(setting._replace(given=events), events.replicates, events.seed, events.start, events.every, None,
                   count(1)(chunk, "chunk"), None, 5.0, False)


def _check_order(events, n):
    there = events.client >= 0
    if (events.client >= n).any() or (events.client < -1).any():
        refuse("client", int(events.client.max()), f"clients are numbered 0..{n - 1}", "Replay on the problem that was recorded.")
    if (events.K[there] < 1).any():
        refuse("K", int(events.K[there].min()), "who arrives has made a local step", "Give K >= 1 where client >= 0.")
    time = np.where(there, events.time, np.inf)
    if not (time[:1] >= 0).all() or not (time[1:] >= time[:-1]).all():
        refuse("time", "of an arrival", "arrivals are ordered by time, from 0 on", "Sort the arrivals of every replicate.")


class _Setting(NamedTuple):
    """What a run is made of, checked. alone: whether a round is an arrival; given: `Events` to be followed."""

    phases: list
    laws: list
    algorithms: list
    plain: Any
    problem: Any
    clock: Any
    metrics: Any
    measures: dict
    domain: Any
    alone: bool
    given: Any = None

    @property
    def total(self):
        return sum(k for _, k in self.phases)


def _setting(phases, problem, law, clock, noise, device, metrics):
    check_numbers(algorithm=[a for a, _ in phases], law=law, clock=clock, noise=noise)
    domain = Torch(_device(device))
    laws = [prepare(a, problem, law, noise) for a, _ in phases]
    alone = _alone(phases[0][0])
    for a, _ in phases:
        if _alone(a) != alone or (alone and not isinstance(a, Arriving)):
            refuse("algorithm", type(a).__name__, "asynchronous methods answer an `Arrival`, one after the other",
                   "Derive it from AsyncFedED, FedAsync or FedBuff, and let all phases be of one kind.")
    if alone and not isinstance(law, EventClock):
        refuse("law", law, "asynchronous methods need a clock", "Give ft.EventClock(...).")
    if clock is None and not isinstance(law, EventClock):
        refuse("clock", None, "the law says who takes part, not how long that takes", "Give clock=ft.EventClock(...).")
    if clock is not None:
        if isinstance(law, EventClock) or not isinstance(clock, EventClock) or fraction(clock.noise) or clock.batch is not None:
            refuse("clock", clock, "is a second law that says how long runs take, without noise and batches of its own",
                   "Give the clock alone as law, or a law of participation and clock=ft.EventClock(...).")
        if clock.steps is None and not isinstance(laws[0].steps, RandomSteps):
            clock = replace(clock, steps=laws[0].steps)
        clock.cohort_count(problem.n)
    converted = problem.to(domain)
    return _Setting(phases, laws, [a.to(domain) for a, _ in phases], problem, converted, laws[0] if clock is None else clock,
                    metrics, measures_of(problem, domain, metrics, needed=False), domain, alone)


def _starts(x0, replicates, d):
    """Starts (replicates, d) as floats."""
    if x0 is None:
        return np.zeros((replicates, d))
    if entries(x0, "x0").ndim == 2:
        return FLOAT.array(shaped(x0, "x0", "replicates", "d", replicates=replicates, d=d))
    return np.broadcast_to(FLOAT.array(shaped(x0, "x0", "d", d=d)), (replicates, d)).copy()


def _events(setting, replicates, seed, x0, every, until, chunk, checkpoint, seconds, progress):
    if setting.total * replicates > MOST:
        raise TooLarge(f"{setting.total} arrivals of {replicates} replicates exceed {MOST}: record fewer, or use ft.run")
    start, domain = _starts(x0, replicates, setting.problem.d), setting.domain
    _check_carried(setting.algorithms, setting.problem, domain.array(start[:1]))
    key = None if checkpoint is None else run_key(
        setting.phases, setting.plain, setting.laws, setting.metrics or {}, "events", sorted(setting.measures), replicates, seed,
        domain.device, start, every, until, setting.clock, chunk)
    at = Snapshots(checkpoint, key, seconds)
    stored = at.content()
    blocks = (replicates + BLOCK - 1) // BLOCK
    chunks = [range(k, min(k + chunk, blocks)) for k in range(0, blocks, chunk)]
    first = 0 if stored is None else stored["chunk"]
    done = [_Part.read(stored, f"done/{c}/", setting.measures) for c in range(first)]
    bar = _bar(progress, setting.total * len(chunks), first * setting.total)
    for c in range(first, len(chunks)):
        span = slice(chunks[c][0] * BLOCK, min(chunks[c][-1] * BLOCK + BLOCK, replicates))
        middle = stored if stored is not None and stored["chunk"] == c and stored["round"] else None
        done.append(_chunk(setting, [Stream(seed, "block", b) for b in chunks[c]], start, span, every, until, middle, bar,
                           lambda t, part, c=c: _keep(at, c, t, done, part)))
        if at.path is not None:
            _keep(at, c + 1, 0, done, None)
    bar.close()
    at.remove()
    return _joined(done, setting, replicates, seed, every, start)


class _Part(NamedTuple):
    """What a chunk has recorded so far: rows (arrivals, 6, batch) and metrics (points, batch); its state, mode, and clock `now`."""

    rows: Any
    metrics: dict
    state: Any
    mode: Any
    now: Any
    final: Any = None

    def arrays(self, prefix, middle):
        found = {"rows": self.rows, **{f"metric/{k}": v for k, v in self.metrics.items()}}
        found |= {"final": self.final} if not middle else {
            "mode": self.mode, "now": self.now, "leaves": len(self.state),
            **{f"state/{k}": to_numpy(v) for k, v in enumerate(self.state)}}
        return {prefix + k: v for k, v in found.items()}

    @classmethod
    def read(cls, stored, prefix, measures, kind=None, domain=None):
        def part(k):
            return stored[prefix + k]
        metrics = {k: part(f"metric/{k}") for k in measures}
        if kind is None:
            return cls(part("rows"), metrics, None, None, None, part("final"))
        state = kind(*(domain.array(part(f"state/{k}")) for k in range(int(part("leaves")))))
        return cls(part("rows"), metrics, state, part("mode"), part("now"))


def _keep(at, chunk, t, done, part):
    """Write a snapshot, of a chunk in its middle (`part`, made when asked for) only where one is due."""
    if part is not None and not at.due():
        return
    content = {"chunk": chunk, "round": t}
    for c, finished in enumerate(done):
        content |= finished.arrays(f"done/{c}/", False)
    at.write(content if part is None else content | part().arrays("middle/", True))


def _chunk(setting, streams, start, span, every, until, stored, bar, keep) -> _Part:
    """All arrivals of some blocks of replicates."""
    import torch
    prob, domain, total = setting.problem, setting.domain, setting.total
    batch = span.stop - span.start
    sizes = [min(BLOCK, batch - BLOCK * k) for k in range(len(streams))]
    x = domain.array(start[span])
    rows, state, t, now = [], None, 0, np.zeros(batch)
    seen = {name: [] for name in setting.measures}
    if stored is not None:
        kind = type(setting.algorithms[0].init(prob, x[:1]))
        part = _Part.read(stored, "middle/", setting.measures, kind, domain)
        state, mode, now, t = part.state, part.mode, part.now, stored["round"]
        rows, seen = [domain.array(part.rows)], {k: list(v) for k, v in part.metrics.items()}
    else:
        mode = np.concatenate([_start_modes(setting.laws[0], s, n) for s, n in zip(streams, sizes, strict=True)])

    def so_far():
        table = to_numpy(torch.cat(rows)) if rows else np.zeros((0, len(ROW), batch))
        return _Part(table, {k: np.array(v) for k, v in seen.items()}, state, mode, now)
    for number, alg, law in _schedule(setting.phases, t, setting.algorithms, setting.laws):
        draw, mode = _draw(law, prob, streams, sizes, number, mode, domain, setting.alone)
        if state is None:
            state = alg.init(prob, x, draw._replace(xi=None))
            _measure(setting.measures, alg, state, seen)
        with torch.inference_mode(_closed(alg, prob)), overwriting(setting.given is None and _owned(alg, prob)):
            if setting.alone:
                given = None if setting.given is None else _given(setting.given, number, span, domain)
                row, state = _arrival(alg, prob, state, draw, given)
                now = row[0]
            else:
                state, before = advance(alg, prob, state, draw), now
                now = before + _waits(setting.clock, streams, sizes, number, draw, prob.n)
                row = domain.array(_round_row(now, draw, batch))
        rows.append(row[None])
        bar.update(1)
        t = number + 1
        if t % every == 0 or t == total:
            _measure(setting.measures, alg, state, seen)
            if until is not None and bool((now >= until).all()):
                break
        now = now if isinstance(now, np.ndarray) else to_numpy(now)
        keep(t, so_far)
    part = so_far()
    return part._replace(state=None, final=to_numpy(setting.algorithms[-1].model(state)))


def _measure(measures, alg, state, seen):
    x = alg.model(state)
    for name, f in measures.items():
        seen[name].append(np.asarray(to_numpy(f(x)), dtype=float))


def _arrival(alg, prob, s, draw, given):
    """(row (6, batch), state) of one arrival; given: (time, client, K), each (batch, 1), which the clock then follows."""
    import torch
    if given is not None:
        time, client, K = given
        here = arange(prob.n, client) == client
        s = s._replace(finish=torch.where(here, time, torch.inf), K=torch.where(here, K, s.K))
    who, before = arrives(s), s
    time = of(s.finish, who)
    arrival = alg.arrival(prob, s, draw)
    own = type(alg).round is Arriving.round and "round" not in vars(alg)
    s = alg.served(prob, s, draw, arrival) if own else alg.round(prob, s, draw)   # wrong variants may have rounds of their own
    away = (time >= NEVER) | (arrival.K < 1)
    if given is not None:
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


def _given(events, t, span, domain):
    """(time, client, K) of a recorded arrival, each (batch, 1); time inf where nobody came."""
    time, client, K = (np.array(v[t, span], dtype=float)[:, None] for v in (events.time, events.client, events.K))
    return tuple(domain.array(v) for v in (np.where(client < 0, np.inf, time), client, K))


def _waits(clock, streams, sizes, t, draw, n):
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


def _round_row(now, draw, batch):
    present, steps = (to_numpy(v) for v in (draw.present, draw.steps))
    happens = 1 if draw.extra is None else to_numpy(draw.extra.get("happens", 1))
    return np.stack([np.broadcast_to(np.asarray(v, dtype=float), (batch,))
                     for v in (now, -1, 0, (present * steps).max(-1), np.nan, happens)])


def _joined(parts, setting, replicates, seed, every, start) -> Events:
    longest = max(len(p.rows) for p in parts)
    measured = np.array([0, *(t for t in range(1, longest + 1) if t % every == 0 or t == setting.total)])
    nothing = np.array([np.inf, -1, 0, 0, np.nan, 0])[None, :, None]

    def extended(rows):
        more = np.broadcast_to(nothing, (longest - len(rows), *rows.shape[1:]))
        return np.concatenate([rows, more])
    table = dict(zip(ROW, np.concatenate([extended(p.rows) for p in parts], -1).swapaxes(0, 1), strict=True))
    step = table.pop("moved").cumsum(0)
    before = np.concatenate([0 * step[:1], step[:-1]])
    table |= {"step": step, "version": np.where(table["client"] < 0, before, before - table["lag"])}
    metrics = {k: np.concatenate([_padded(p.metrics[k], len(measured)) for p in parts], -1) for k in setting.measures}
    device = setting.domain.device
    return Events(replicates=replicates, seed=seed, device=device, every=every, metrics=metrics, measured=measured, start=start,
                  **{k: np.ascontiguousarray(table[k], dtype=np.int64 if k in WHOLE else float) for k in COLUMNS},
                  final=np.concatenate([p.final for p in parts]), provenance=provenance(device))


def _padded(values, points):
    return np.concatenate([values, np.full((points - len(values), values.shape[1]), np.nan)])


__all__ = ["Events", "record", "replay"]
