"""The loop of a run: replayable randomness, chunks of replicates, streamed metrics."""
from __future__ import annotations

import platform
from importlib.metadata import version
from inspect import isfunction

import numpy as np

from fltheory.core.algorithms.base import ROOMS, advance, ours
from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import overwriting, to_numpy
from fltheory.core.numbers.scalars import FLOAT, Torch, fraction, to_float
from fltheory.core.operators.setting import prepare
from fltheory.core.problems.shapes import shaped
from fltheory.core.records import count, flag, within
from fltheory.core.statistics import Stream2, moments
from fltheory.runs.arguments import check_numbers, measures_of
from fltheory.runs.audit import audit_rounds, replay, start_of
from fltheory.runs.checkpoint import PARTS, Checkpoint, run_key
from fltheory.runs.client_major import Places, Unplaced
from fltheory.runs.collapsed_noise import collapse
from fltheory.runs.draws import BLOCK
from fltheory.runs.draws import alone as _alone
from fltheory.runs.draws import draw_round as _draw
from fltheory.runs.draws import start_modes as _start_modes
from fltheory.runs.network import Network
from fltheory.runs.streams import Stream
from fltheory.runs.trace import Trace

TOGETHER = 2**19     # numbers of an array of local models that are stepped together on a CPU: more leave its caches
MOST_TOGETHER = 16   # blocks
MOST_ROUNDS, MOST_REPLICATES = 10**7, 10**8


def run(algorithm, problem, law, rounds=None, replicates=1, seed=0, device="cpu", noise=None, x0=None,
        metrics=None, tail=0.25, chunk=None, checkpoint=None, every=5.0, progress=False, audit=True,
        collapsed=False) -> Trace:
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
    phases = _phases(algorithm, rounds)
    total = sum(k for _, k in phases)
    counted = count(1, MOST_REPLICATES, remedy="Give a positive int.")
    replicates, audit, collapsed = counted(replicates, "replicates"), flag(audit, "audit"), flag(collapsed, "collapsed")
    seed = count(0, 2**128 - 1, "a seed is an int from 0 to 2^128 - 1", "Choose one, for example 0.")(seed, "seed")
    progress, every = flag(progress, "progress"), to_float(within(0)(every, "every"))
    check_numbers(algorithm=[a for a, _ in phases], law=law, noise=noise)
    device = _device(device)
    domain = _arithmetic([a for a, _ in phases], problem, device)
    laws = [prepare(a, problem, law, noise) for a, _ in phases]
    collapses = [collapse(a, problem, law, seed) if collapsed else None for (a, _), law in zip(phases, laws, strict=True)]
    prob = problem.to(domain)
    algorithms = [a.to(domain) for a, _ in phases]
    start = FLOAT.array(shaped([0] * problem.d if x0 is None else x0, "x0", "d", d=problem.d))
    _check_carried(algorithms, prob, domain.array(start)[None])
    measures = measures_of(problem, domain, metrics)
    chunk = _together(laws[0], problem, domain) if chunk is None else counted(chunk, "chunk")
    tail = within(0, 1, "(]", "Give a fraction of the rounds, for example 0.25.")(tail, "tail")
    tail_rounds = max(1, round(float(fraction(tail)) * total))
    key = None if checkpoint is None else run_key(phases, problem, laws, metrics or {}, sorted(measures), replicates, seed,
                                                  device, start, tail_rounds, chunk, audit, collapsed)

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
    watch = audit_rounds(seed, total, len(chunks)) if audit else {}
    layout = _Layout()
    for c in range(first, len(chunks)):
        sizes = [min(BLOCK, replicates - b * BLOCK) for b in chunks[c]]
        batch = sum(sizes)
        streams = [Stream(seed, "block", b) for b in chunks[c]]
        state, t = None, 0
        partial = {name: tuple(np.zeros(total + 1) for _ in PARTS) for name in measures}
        sums = {name: _zeros(batch, domain) for name in measures}
        if resumed is not None and resumed.chunk == c and resumed.round > 0:
            kind = type(algorithms[0].init(prob, domain.array(start)[None]))
            state, mode, t, partial, sums = resumed.middle(kind, domain, measures)
        else:
            mode = np.concatenate([_start_modes(laws[0], s, n) for s, n in zip(streams, sizes, strict=True)])
        for number, alg, phase_law, collapsing in _schedule(phases, t, algorithms, laws, collapses):
            if state is None:
                draw, _ = _draw(phase_law, prob, streams, sizes, number, mode, domain, _alone(alg))
                state = _started(alg, prob, start, batch, domain, draw)
                _record(measures, alg, state, 0, partial, sums, 0)
            picked = watch.get((c, number))
            if picked is not None:
                picked %= batch
                before = start_of(alg, problem, phase_law, state, picked)
            given = (phase_law, prob, streams, sizes, number, mode, domain, _alone(alg))
            state, draw, mode = _stepped(alg, state, given, layout, collapsing)
            if picked is not None:
                audits.append(replay(alg, problem, phase_law, before, state, draw, picked))
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
    return Trace(rounds=total, replicates=replicates, seed=seed, device=device, tail_rounds=tail_rounds,
                 metrics={k: {part: getattr(s, part) for part in PARTS} for k, s in stats.items()},
                 tail={k: {part: getattr(s, part) for part in PARTS} for k, s in tails.items()}, final=final / replicates,
                 audit=max(done) if done else None, audited=len(done), provenance=provenance(device),
                 algorithm=algorithm, problem=problem, law=law)


def provenance(device="cpu") -> dict:
    """Versions and device that a recorded result depends on."""
    name = platform.machine()
    if device.startswith("cuda"):
        import torch
        name = torch.cuda.get_device_name()
    return {"python": platform.python_version(), "torch": version("torch"), "numpy": np.__version__, "device": name}


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
    if isinstance(device, str) and device == "cpu":   # whose runs may need no torch, which takes longer to load than a small run
        return device
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


def _arithmetic(algorithms, problem, device):
    """numpy for our own closed formulas on a CPU, torch elsewhere."""
    own = device == "cpu" and all(_closed(a, problem) and not _alone(a) for a in algorithms)
    return FLOAT if own else Torch(device)


def _together(law, problem, domain):
    """How many blocks are stepped together."""
    if domain.library != "numpy":
        return MOST_TOGETHER
    places = law.sample(Stream(0, "size"), problem.n, 1)[0].present.shape[-1]
    return min(max(TOGETHER // (BLOCK * places * problem.drawn), 1), MOST_TOGETHER)


def _zeros(size, domain):
    if domain.library == "numpy":
        return np.zeros(size)
    import torch
    return torch.zeros(size, dtype=torch.float64, device=domain.device)


def _started(alg, prob, start, batch, domain, draw):
    """The states at x0; a warm start is one exact pass, as in `derive`."""
    if domain.library == "numpy":
        with np.errstate(all="ignore"):
            return alg.init(prob, np.broadcast_to(start, (batch, len(start))), draw._replace(xi=None))
    import torch
    x = torch.as_tensor(start, device=domain.device).expand(batch, -1)
    return alg.init(prob, x, draw._replace(xi=None))


class _Layout:
    """What a run knows of placed arrays: `plain`, the algorithms whose rounds ask for what these do not answer, and `own`, client
    memories that nothing but the state holds. A round of ours may write over them, which saves a copy of all clients for a
    cohort."""

    def __init__(self):
        self.plain, self.own = set(), ()

    def answered(self, alg, prob, state, draw):
        """The round in placed arrays, or None where it fails in whatever way: what is wrong with it fails in plain ones too."""
        at = draw.who
        if isinstance(at, Places) and _ours(alg):
            at.own = [v for v in self.own if sum(v is leaf for leaf in state) == 1]
        self.own = ()
        try:
            made = advance(alg, prob, state, draw)
            if not all(isinstance(v, np.ndarray) for v in made):
                raise Unplaced("a state in placed arrays")
        except Exception:   # of numpy, asked by a round for what placed arrays are not
            if getattr(at, "overwritten", False):   # no state is left from which it could be made again
                raise
            return None
        self.own = getattr(at, "made", ())
        return made


def _stepped(alg, state, given, layout, collapse):
    """(state, draw, modes) after one round."""
    law, prob, _, sizes, _, _, domain, _ = given
    if domain.library != "numpy":
        import torch
        draw, mode = _draw(*given, collapse=collapse)
        with torch.inference_mode(_closed(alg, prob)), overwriting(_owned(alg, prob)):
            return advance(alg, prob, state, draw), draw, mode
    with np.errstate(all="ignore"):  # of diverging runs
        if id(alg) not in layout.plain and _placeable(alg, prob, law, sizes):
            draw, mode = _draw(*given, placed=True, collapse=collapse)
            made = layout.answered(alg, prob, state, draw)
            if made is not None:
                return made, draw, mode
            layout.plain.add(id(alg))
        draw, mode = _draw(*given, collapse=collapse)
        return advance(alg, prob, state, draw), draw, mode


def _placeable(alg, prob, law, sizes):
    return prob.placed and law.batch is None and sizes != [1] and alg.partial and not alg.absent_act


def _record(measures, alg, state, t, partial, sums, tail_rounds):
    with np.errstate(all="ignore"):  # of diverging runs
        x = alg.model(state)
        for name, f in measures.items():
            values = f(x)
            if tail_rounds:
                sums[name] += (to_numpy(values) if isinstance(sums[name], np.ndarray) else values) / tail_rounds
            for into, value in zip(partial[name], moments(values), strict=True):
                into[t] = value


def _closed(algorithm, problem) -> bool:
    """Whether a round is made of our own closed formulas, so that torch need not prepare for derivatives: a fifth of what an
    operation on few numbers costs. Networks differentiate, and what users write may."""
    parts = (algorithm, getattr(algorithm, "solver", algorithm), problem)
    return all(type(v).__module__.startswith("fltheory.") for v in parts) and not isinstance(problem, Network)


def _owned(algorithm, problem) -> bool:
    """Whether an arrival may be written into the state itself: the engine's own asynchronous rounds keep no earlier one."""
    return _ours(algorithm) and _alone(algorithm) and _closed(algorithm, problem)


def _ours(algorithm) -> bool:
    """Whether a round is the engine's own, and nobody has put another function in its place: it looks at no memory behind the `put`
    that replaces it."""
    return ours(type(algorithm).__module__) and all(
        f.__module__.startswith((*ROOMS, "fltheory.core.records"))
        for kind in type(algorithm).__mro__ for f in vars(kind).values() if isfunction(f))


def _schedule(phases, begin, *of_phases):
    """(number of a round from `begin` on, what each list holds of its phase)."""
    t = 0
    for (_, k), *its in zip(phases, *of_phases, strict=True):
        for number in range(max(t, begin), t + k):
            yield number, *its
        t += k


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
    return tqdm(total=total, initial=done, unit="round")
