"""The loop of a run: replayable randomness, chunks of replicates, streamed metrics."""
from __future__ import annotations

import math
import platform

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.arrays import overwriting, to_numpy
from fltheory.core.errors import BadInput, CertificateFailed, NoMinimiser, TooLarge, refuse
from fltheory.core.laws.base import gaussian_slots, minibatch_slots
from fltheory.core.laws.clock import EventClock
from fltheory.core.laws.draw import Alone, Draw, Slots, to_device
from fltheory.core.operators.setting import prepare
from fltheory.core.optima import float_optimum
from fltheory.core.problems.base import Rows
from fltheory.core.problems.network import Network
from fltheory.core.problems.shapes import shaped
from fltheory.core.records import count, within
from fltheory.core.runs.audit import audit_rounds, of_replicate, replay
from fltheory.core.runs.checkpoint import PARTS, Checkpoint, run_key
from fltheory.core.scalars import FLOAT, Torch, fraction
from fltheory.core.statistics import Stream2, moments
from fltheory.core.streams import Stream
from fltheory.core.trace import Trace

BLOCK = 256          # replicates that share one random stream: results do not depend on how blocks are batched
MOST_ROUNDS, MOST_REPLICATES = 10**7, 10**8


def run(algorithm, problem, law, rounds=None, replicates=1, seed=0, device="cpu", noise=None, x0=None,
        metrics=None, tail=0.25, chunk=64, checkpoint=None, every=5.0, progress=False) -> Trace:
    """Run an algorithm in batched torch and stream its metrics.

    algorithm: one algorithm with `rounds`, or phases [(algorithm, rounds), ...] whose state carries over.
    replicates: independent repetitions (>= 1). seed: int >= 0; streams are keyed by (seed, block, round).
    device: "cpu" or "cuda". noise: sigma of additive gradient noise. x0: (d,) start, default 0.
    metrics: name -> function of the server models (batch, d) tensor -> (batch,) tensor; always recorded:
    "error" |x - x*|^2 if the problem has a computable minimiser. tail: last fraction of rounds averaged
    for `Trace.floor`. chunk: blocks of 256 replicates stepped together. checkpoint: file written every `every`
    seconds and removed at the end; an interrupted run with the same arguments resumes with identical results.
    Raises BadInput on bad arguments, an unknown device, a checkpoint of another run.
    """
    import torch
    phases = _phases(algorithm, rounds)
    total = sum(k for _, k in phases)
    replicates, chunk = (count(1, MOST_REPLICATES, remedy="Give a positive int.")(v, what)
                         for what, v in (("replicates", replicates), ("chunk", chunk)))
    seed = count(0, 2**128 - 1, "a seed is an int from 0 to 2^128 - 1", "Choose one, for example 0.")(seed, "seed")
    domain = Torch(_device(device))
    laws = [prepare(a, problem, law, noise) for a, _ in phases]
    prob = problem.to(domain)
    algorithms = [a.to(domain) for a, _ in phases]
    start = FLOAT.array(shaped([0] * problem.d if x0 is None else x0, "x0", "d", d=problem.d))
    _check_carried(algorithms, prob, domain.array(start)[None])
    measures = _measures(problem, domain, metrics)
    tail = within(0, 1, "(]", "Give a fraction of the rounds, for example 0.25.")(tail, "tail")
    tail_rounds = max(1, round(float(fraction(tail)) * total))
    key = None if checkpoint is None else run_key(phases, problem, laws, metrics or {}, sorted(measures), replicates, seed,
                                                  domain.device, start, tail_rounds, chunk)

    blocks = (replicates + BLOCK - 1) // BLOCK
    chunks = [range(k, min(k + chunk, blocks)) for k in range(0, blocks, chunk)]
    stats = {name: Stream2.empty(total + 1) for name in measures}
    tails = {name: Stream2.empty(()) for name in measures}
    audits, final, at = [], np.zeros(problem.d), Checkpoint(checkpoint, key, every)
    resumed = at.read()
    first = 0
    if resumed is not None:
        first, stats, tails, final, audits = resumed.finished(stats, tails)
    bar = _bar(progress, total * len(chunks), first * total)
    watch = audit_rounds(seed, total, len(chunks))
    for c in range(first, len(chunks)):
        sizes = [min(BLOCK, replicates - b * BLOCK) for b in chunks[c]]
        batch = sum(sizes)
        streams = [Stream(seed, "block", b) for b in chunks[c]]
        state, t = None, 0
        partial = {name: tuple(np.zeros(total + 1) for _ in PARTS) for name in measures}
        sums = {name: torch.zeros(batch, dtype=torch.float64, device=domain.device) for name in measures}
        if resumed is not None and resumed.chunk == c and resumed.round > 0:
            kind = type(algorithms[0].init(prob, domain.array(start)[None]))
            state, mode, t, partial, sums = resumed.middle(kind, domain, measures)
        else:
            mode = np.concatenate([_start_modes(laws[0], s, n) for s, n in zip(streams, sizes, strict=True)])
        for alg, phase_law, number in _schedule(algorithms, laws, phases, t):
            draw, new_mode = _draw(phase_law, prob, streams, sizes, number, mode, domain, _alone(alg))
            if state is None:
                x = torch.as_tensor(start, device=domain.device).expand(batch, -1)
                state = alg.init(prob, x, draw._replace(xi=None))  # a warm start is one exact pass, as in `derive`
                _record(measures, alg, state, 0, partial, sums, 0)
            before = state
            with torch.inference_mode(_closed(alg, prob)), overwriting(_owned(alg, prob)):
                state = advance(alg, prob, state, draw)
            mode = new_mode
            if (c, number) in watch:
                audits.append(replay(alg, problem, phase_law, before, state, draw, watch[c, number] % batch))
            t = number + 1
            _record(measures, alg, state, t, partial, sums, tail_rounds if t > total - tail_rounds else 0)
            bar.update(1)
            at.maybe(c, t, state, mode, partial, sums, stats, tails, final, audits)
        for name in measures:
            stats[name].merge(batch, *partial[name])
            tails[name].merge(batch, *moments(to_numpy(sums[name])))
        final = final + to_numpy(algorithms[-1].model(state)).sum(0)
        at.finish_chunk(c + 1, stats, tails, final, audits)
        resumed = None
    bar.close()
    at.remove()
    done = [a for a in audits if a is not None]
    return Trace(rounds=total, replicates=replicates, seed=seed, device=domain.device, tail_rounds=tail_rounds,
                 metrics={k: {part: getattr(s, part) for part in PARTS} for k, s in stats.items()},
                 tail={k: {part: getattr(s, part) for part in PARTS} for k, s in tails.items()}, final=final / replicates,
                 audit=max(done) if done else None, audited=len(done), provenance=provenance(domain.device),
                 algorithm=algorithm, problem=problem, law=law)


def provenance(device="cpu") -> dict:
    """Versions and device that a recorded result depends on."""
    import torch
    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    return {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__, "device": name}


def _phases(algorithm, rounds, what="rounds"):
    phases = list(algorithm) if isinstance(algorithm, (list, tuple)) else [(algorithm, rounds)]
    if isinstance(algorithm, (list, tuple)) and rounds is not None:
        refuse(what, rounds, f"phases carry their own numbers of {what}", f"Leave {what} out.")
    if not phases:
        refuse("phases", phases, "a run has at least one phase", f"List (algorithm, {what}) pairs.")
    for entry in phases:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            refuse("phases", entry, f"a phase is a pair (algorithm, {what})", f"List (algorithm, {what}) pairs.")
    number = count(1, MOST_ROUNDS, f"a run has at least one {what[:-1]} (and at most {MOST_ROUNDS})")
    return [(a, number(k, what)) for a, k in phases]


def _check_carried(algorithms, problem, x0):
    """Refuse a phase whose state has other parts than that of the phase before it."""
    if len(set(map(type, algorithms))) == 1:
        return
    states = [algorithm.init(problem, x0) for algorithm in algorithms]
    for before, state, algorithm in zip(states, states[1:], algorithms[1:], strict=False):
        if state._fields != before._fields:
            refuse("phases", type(algorithm).__name__, f"its state is {', '.join(state._fields)}, and the phase before it carries "
                   f"{', '.join(before._fields)} over", "Let phases be one method with other numbers.")


def _device(device):
    import torch
    try:
        name = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        refuse("device", device, "is no torch device", 'Use "cpu" or "cuda".')
    if name.type not in ("cpu", "cuda"):
        refuse("device", str(device), "runs are made on a CPU or a CUDA device", 'Use "cpu" or "cuda".')
    if name.type == "cuda" and not torch.cuda.is_available():
        refuse("device", str(device), "no CUDA device is available here", 'Use device="cpu".')
    return str(name)


def _measures(problem, domain, metrics, needed=True):
    """The functions by name, and "error" where there is a minimiser; without any a run is refused if they are `needed`."""
    if metrics is not None and (not isinstance(metrics, dict)
                                or not all(isinstance(k, str) and "/" not in k and callable(f) for k, f in metrics.items())):
        refuse("metrics", metrics, "are functions by name", 'For example {"norm": lambda x: (x * x).sum(-1)}.')
    measures = dict(metrics or {})
    if "error" in measures:
        return measures
    try:
        target = domain.array(float_optimum(problem))
    except (NoMinimiser, NotImplementedError, BadInput, CertificateFailed, TooLarge):
        return measures if measures or not needed else refuse(
            "metrics", None, "this problem has no computable minimiser, so nothing would be recorded",
            "Pass metrics={name: function}.")
    measures["error"] = lambda x: ((x - target) ** 2).sum(-1)
    return measures


def _record(measures, alg, state, t, partial, sums, tail_rounds):
    x = alg.model(state)
    x = x.clone() if x.is_inference() else x  # metrics may differentiate
    for name, f in measures.items():
        values = f(x)
        if tail_rounds:
            sums[name] += values / tail_rounds
        for into, value in zip(partial[name], moments(values), strict=True):
            into[t] = value


def _closed(algorithm, problem) -> bool:
    """Whether a round is made of our own closed formulas, so that torch need not prepare for derivatives: a fifth of what an
    operation on few numbers costs. Networks differentiate, and what users write may."""
    parts = (algorithm, getattr(algorithm, "solver", algorithm), problem)
    return all(type(v).__module__.startswith("fltheory.") for v in parts) and not isinstance(problem, Network)


def _owned(algorithm, problem) -> bool:
    """Whether an arrival may be written into the state itself: the engine's own asynchronous rounds keep no earlier one."""
    known = type(algorithm).__module__.startswith("fltheory.core.algorithms.") and "round" not in vars(algorithm)
    return known and _alone(algorithm) and _closed(algorithm, problem)


def _schedule(algorithms, laws, phases, begin):
    t = 0
    for alg, law, (_, k) in zip(algorithms, laws, phases, strict=True):
        for number in range(t, t + k):
            if number >= begin:
                yield alg, law, number
        t += k


def _start_modes(law, stream, size):
    if law.modes == 1:
        return np.zeros(size, dtype=np.int64)
    edges = np.cumsum([float(v) for v in law.start()])
    u = stream.child("start").generator().random(size)
    return np.minimum((u[:, None] >= edges).sum(1), law.modes - 1)


def _alone(algorithm) -> bool:
    """Whether one client works in a round, which the state chooses: nobody else's samples are drawn."""
    return bool(getattr(algorithm, "arrivals", False))


def _draw(law, problem, streams, sizes, t, mode, domain, alone=False):
    """One round's draw of all blocks of a chunk, each from its own stream, on the device."""
    import torch
    n, at, parts, modes = problem.n, 0, [], []
    later = {"first": False} if t and isinstance(law, EventClock) else {}
    for stream, size in zip(streams, sizes, strict=True):
        draw, new = law.sample(stream.child("round", t), n, size, mode[at:at + size], **later)
        parts.append(draw)
        modes.append(new)
        at += size
    joined = _join(parts, sizes)
    places = joined.present.shape[-1]

    def convert(a):
        a = torch.from_numpy(a)
        return a if domain.device == "cpu" else a.to(domain.device)
    rounds = [s.child("round", t) for s in streams]
    if alone and law.batch is not None:
        bound = torch.as_tensor(np.asarray(problem.sizes), device=domain.device)

        def rows(k, who):
            u = _stacked([r.child("rows", k).random((size, 1, law.batch)) for r, size in zip(rounds, sizes, strict=True)])
            return Rows((convert(u) * bound[who][..., None]).to(torch.int64))
        slots = Alone(rows)
    elif alone and fraction(law.noise):
        scale = float(fraction(law.noise)) / math.sqrt(problem.drawn)

        def noise(k, who):
            out, begin = np.empty((sum(sizes), 1, problem.drawn)), 0
            for r, size in zip(rounds, sizes, strict=True):   # as `gaussian_slots`, without copies
                np.multiply(scale, r.child("noise", k).standard_normal((size, 1, problem.drawn)), out=out[begin:begin + size])
                begin += size
            return convert(out)
        slots = Alone(noise)
    elif fraction(law.noise):
        made = [gaussian_slots(r, law.noise, (k, places, problem.drawn), lambda a: a)
                for r, k in zip(rounds, sizes, strict=True)]
        slots = Slots(lambda k: convert(_stacked([m(k) for m in made])))
    elif law.batch is not None:
        made = [minibatch_slots(r, problem.sizes, d.who, (k, places), law.batch, lambda a: a)
                for r, k, d in zip(rounds, sizes, parts, strict=True)]
        slots = Slots(lambda k: Rows(convert(_stacked([m(k).index for m in made]))))
    else:
        slots = None
    if sizes == [1] and law.batch is None:  # a draw that all replicates share: its cohort is looked up, not grouped by client
        joined = of_replicate(joined, 0)
    return to_device(joined, domain.device)._replace(xi=slots), np.concatenate(modes)


def _stacked(parts):
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _join(parts, sizes):
    """Concatenate per-block draws along the replicate axis; fields shared by all replicates stay unbatched."""
    def cat(values, trailing):
        if values[0].ndim == trailing:
            return values[0]
        return np.concatenate([np.broadcast_to(v, (k,) + v.shape[1:]) for v, k in zip(values, sizes, strict=True)])
    first = parts[0]
    who = first.who if isinstance(first.who, slice) else cat([p.who for p in parts], 1)
    extra = None
    if first.extra is not None:
        extra = {k: (cat([p.extra[k] for p in parts], 0 if k == "happens" else 1) if hasattr(v, "shape") else v)
                 for k, v in first.extra.items()}
    return Draw(who, cat([p.present for p in parts], 1), cat([p.steps for p in parts], 1), None, extra)


# ---- progress ---------------------------------------------------------------------------------------------
class _Silent:
    def update(self, k):
        pass

    def close(self):
        pass


def _bar(progress, total, done):
    if not progress:
        return _Silent()
    from tqdm.auto import tqdm
    return tqdm(total=total, initial=done, unit="round", disable=None if progress == "auto" else False)
