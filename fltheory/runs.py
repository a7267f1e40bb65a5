"""Batched torch runs with replayable randomness, streamed metrics, an audit against the operator, and resume."""
from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fltheory.algorithms.base import advance
from fltheory.arrays import to_numpy
from fltheory.errors import BadInput, CertificateFailed, NoMinimiser, refuse, shortened, shown
from fltheory.laws.base import gaussian_slots, minibatch_slots
from fltheory.laws.draw import Draw, Slots, to_device
from fltheory.operators.operator import prepare
from fltheory.operators.probe import Layout, probe_round
from fltheory.optima import optimum
from fltheory.problems.base import Rows
from fltheory.problems.quadratic import Quadratic
from fltheory.problems.residual import Residual
from fltheory.scalars import FLOAT, Torch, declare, fraction, is_count
from fltheory.streams import Stream
from fltheory.trace import Stream2, Trace, moments, write_atomically

BLOCK = 256          # replicates that share one random stream: results do not depend on how blocks are batched
MOST_ROUNDS, MOST_REPLICATES = 10**7, 10**8
AUDITED = 16         # recorded rounds replayed through the operator
PARTS = ("mean", "m2", "m3")  # the recorded moments of every metric
LARGEST_PROBE = 400  # state size up to which the audit probes a full operator


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
    _check(replicates, seed, tail, chunk)
    replicates, seed, chunk = int(replicates), int(seed), int(chunk)
    domain = Torch(_device(device))
    laws = [prepare(a, problem, law, noise) for a, _ in phases]
    prob = problem.to(domain)
    algorithms = [a.to(domain) for a, _ in phases]
    start = FLOAT.array(declare([0] * problem.d if x0 is None else x0, "x0"))
    if start.shape != (problem.d,):
        refuse("x0.shape", start.shape, f"one server model of shape ({problem.d},)", "All replicates share it.")
    if metrics is not None and (not isinstance(metrics, dict)
                                or not all(isinstance(k, str) and "/" not in k and callable(f) for k, f in metrics.items())):
        refuse("metrics", metrics, "are functions by name", 'For example {"norm": lambda x: (x * x).sum(-1)}.')
    measures = _measures(problem, domain, metrics or {})
    tail_rounds = max(1, round(float(fraction(tail)) * total))
    key = _key(phases, problem, laws[0], replicates, seed, domain.device, start.tobytes().hex(), sorted(measures),
               tail_rounds, chunk)

    blocks = (replicates + BLOCK - 1) // BLOCK
    chunks = [range(k, min(k + chunk, blocks)) for k in range(0, blocks, chunk)]
    stats = {name: Stream2.empty(total + 1) for name in measures}
    tails = {name: Stream2.empty(()) for name in measures}
    audits, final, at = [], np.zeros(problem.d), _Checkpoint(checkpoint, key, every)
    resumed = at.read()
    first = 0
    if resumed is not None:
        first, stats, tails, final, audits = resumed.finished(stats, tails)
    bar = _bar(progress, total * len(chunks), first * total)
    watch = _audit_rounds(seed, total, len(chunks))
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
            draw, new_mode = _draw(phase_law, prob, streams, sizes, number, mode, domain)
            if state is None:
                x = torch.as_tensor(start, device=domain.device).expand(batch, -1)
                state = alg.init(prob, x, draw._replace(xi=None))  # a warm start is one exact pass, as in `derive`
                _record(measures, alg, state, 0, partial, sums, 0)
            before = state
            state = advance(alg, prob, state, draw)
            mode = new_mode
            if (c, number) in watch:
                audits.append(_replay(alg, problem, phase_law, before, state, draw, watch[c, number] % batch))
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


def _phases(algorithm, rounds):
    phases = list(algorithm) if isinstance(algorithm, (list, tuple)) else [(algorithm, rounds)]
    if isinstance(algorithm, (list, tuple)) and rounds is not None:
        refuse("rounds", rounds, "phases carry their own numbers of rounds", "Leave rounds out.")
    if not phases:
        refuse("phases", phases, "a run has at least one phase", "List (algorithm, rounds) pairs.")
    for entry in phases:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            refuse("phases", entry, "a phase is a pair (algorithm, rounds)", "List (algorithm, rounds) pairs.")
    for _, k in phases:
        if not is_count(k) or k > MOST_ROUNDS:
            refuse("rounds", k, f"a run has at least one round (and at most {MOST_ROUNDS})", "Give an int >= 1.")
    return [(a, int(k)) for a, k in phases]


def _check(replicates, seed, tail, chunk):
    for what, v in (("replicates", replicates), ("chunk", chunk)):
        if not is_count(v) or v > MOST_REPLICATES:
            refuse(what, v, f"is an int >= 1 (and at most {MOST_REPLICATES})", "Give a positive int.")
    if not is_count(seed, 0) or seed >= 2**128:
        refuse("seed", seed, "a seed is an int from 0 to 2^128 - 1", "Choose one, for example 0.")
    try:
        good = 0 < fraction(tail) <= 1
    except BadInput:  # it would name a number, not the argument
        good = False
    if not good:
        refuse("tail", tail, "a fraction of the rounds in (0, 1]", "For example 0.25.")


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


def _measures(problem, domain, extra):
    measures = dict(extra)
    if "error" in measures:
        return measures
    try:
        target = domain.array(FLOAT.array(optimum(problem).x))
    except (NoMinimiser, NotImplementedError, BadInput, CertificateFailed):
        return measures or refuse("metrics", None, "this problem has no computable minimiser, so nothing would be "
                                  "recorded", "Pass metrics={name: function}.")
    measures["error"] = lambda x: ((x - target) ** 2).sum(-1)
    return measures


def _record(measures, alg, state, t, partial, sums, tail_rounds):
    x = alg.model(state)
    for name, f in measures.items():
        values = f(x)
        if tail_rounds:
            sums[name] += values / tail_rounds
        for into, value in zip(partial[name], moments(values), strict=True):
            into[t] = value


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


def _draw(law, problem, streams, sizes, t, mode, domain):
    """One round's draw of all blocks of a chunk, each from its own stream, on the device."""
    import torch
    n, at, parts, modes = problem.n, 0, [], []
    for stream, size in zip(streams, sizes, strict=True):
        draw, new = law.sample(stream.child("round", t), n, size, mode[at:at + size])
        parts.append(draw)
        modes.append(new)
        at += size
    joined = _join(parts, sizes)
    places = joined.present.shape[-1]

    def convert(a):
        return torch.as_tensor(a, device=domain.device)
    if fraction(law.noise):
        made = [gaussian_slots(s.child("round", t), law.noise, (k, places, problem.d), lambda a: a)
                for s, k in zip(streams, sizes, strict=True)]
        slots = Slots(lambda k: convert(np.concatenate([m(k) for m in made])))
    elif law.batch is not None:
        made = [minibatch_slots(s.child("round", t), problem.sizes, d.who, (k, places), law.batch, lambda a: a)
                for s, k, d in zip(streams, sizes, parts, strict=True)]
        slots = Slots(lambda k: Rows(convert(np.concatenate([m(k).index for m in made]))))
    else:
        slots = None
    return to_device(joined, domain.device)._replace(xi=slots), np.concatenate(modes)


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


# ---- audit -----------------------------------------------------------------------------------------------
def _audit_rounds(seed, total, chunks):
    rng = Stream(seed, "audit").generator()
    picks = [(int(rng.integers(chunks)), int(rng.integers(total)), int(rng.integers(2**31))) for _ in range(AUDITED)]
    return {(c, t): r for c, t, r in picks}


def _one(a, replicate, trailing):
    a = to_numpy(a)
    return a[replicate] if a.ndim > trailing else a


def _replay(alg, problem, law, before, after, draw, replicate):
    """Deviation of one recorded round from the operator probed in numpy at the recorded draw, or None.

    Relative to the largest entry of the states involved; None for problems or rounds that have no operator.
    """
    if not (isinstance(problem, (Quadratic, Residual)) and alg.affine) or law.batch is not None:
        return None
    a, p = alg.to(FLOAT), problem.to(FLOAT)
    x_lay = Layout.of(a.init(p, np.zeros(problem.d)))
    if x_lay.size > LARGEST_PROBE:
        return None
    z0, z1 = (np.concatenate([_one(leaf, replicate, len(s)).reshape(-1) for leaf, s in
                              zip(state, x_lay.shapes, strict=True)]) for state in (before, after))
    extra = None if draw.extra is None else {k: _one(v, replicate, 0 if k == "happens" else 1)
                                             for k, v in draw.extra.items()}
    one = Draw(
        draw.who if isinstance(draw.who, slice) else _one(draw.who, replicate, 1),
        _one(draw.present, replicate, 1),
        _one(draw.steps, replicate, 1),
        None,
        extra,
    )
    noisy = draw.xi is not None
    A = probe_round(a, p, x_lay, one, noise=noisy)
    D = x_lay.size
    predicted = A[:, :D] @ z0 + A[:, D]
    if noisy:
        made = draw.xi.made()
        xi = np.concatenate([_one(made[k], replicate, 2).reshape(-1) for k in sorted(made)])
        predicted = predicted + A[:, D + 1:] @ xi[:A.shape[1] - D - 1]
    return float(np.abs(predicted - z1).max() / max(np.abs(z0).max(), np.abs(z1).max(), 1e-300))


# ---- resume ----------------------------------------------------------------------------------------------
def _key(phases, problem, law, *rest):
    h = hashlib.sha256()
    for part in ([repr(a) + str(k) for a, k in phases], problem.identity, repr(law), *[str(r) for r in rest]):
        h.update(json.dumps(part).encode())
    for name in (*problem._data, "weights"):
        value = getattr(problem, name)
        h.update(b"-" if value is None else np.ascontiguousarray(FLOAT.array(value)).tobytes())
    return h.hexdigest()


@dataclass
class _Resumed:
    chunk: int
    round: int
    data: dict

    def finished(self, stats, tails):
        d = self.data
        for group, table in (("stats", stats), ("tails", tails)):
            for name in table:
                count, *parts = (d[f"{group}/{name}/{part}"] for part in ("count", *PARTS))
                table[name] = Stream2(int(count), *parts)
        audits = [None if np.isnan(v) else float(v) for v in d["audits"]]
        return self.chunk, stats, tails, d["final"], audits

    def middle(self, kind, domain, measures):
        d = self.data
        leaves = [domain.array(d[f"state/{k}"]) for k in range(int(d["leaves"]))]
        partial = {name: tuple(d[f"partial/{name}/{part}"] for part in PARTS) for name in measures}
        sums = {name: domain.array(d[f"sums/{name}"]) for name in measures}
        return kind(*leaves), d["mode"], self.round, partial, sums


def _is_folder(path):
    try:
        return path.is_dir()
    except (OSError, ValueError):  # names that no file system takes
        return False


class _Checkpoint:
    """Atomic snapshots of a run; a snapshot of a different run is refused, a damaged one too."""

    def __init__(self, path, key, every):
        if (path is not None and not isinstance(path, (str, os.PathLike))) or "\0" in str(path):
            refuse("checkpoint", path, "is no path of a file", "Give a path, or None.")
        self.path, self.key, self.every, self.last = (
            (None if path is None else Path(path)),
            key,
            every,
            time.monotonic(),
        )
        if self.path is not None and not _is_folder(self.path.absolute().parent):
            refuse("checkpoint", str(path), "its folder does not exist", "Make the folder or choose another file.")

    def read(self):
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
            resumed = _Resumed(int(content["chunk"]), int(content["round"]), content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError, EOFError,
                zipfile.BadZipFile) as error:
            raise BadInput(f"checkpoint {shown(str(self.path))} cannot be read ({shortened(error)}): it is no snapshot of a run. "
                           "Delete it to start again.") from None
        if key != self.key:
            refuse(
                "checkpoint",
                str(self.path),
                "belongs to a run with other arguments",
                "Delete it or choose another file.",
            )
        return resumed

    def maybe(self, chunk, t, state, mode, partial, sums, stats, tails, final, audits):
        if self.path is None or time.monotonic() - self.last < self.every:
            return
        middle = {"leaves": len(state), "mode": mode, **{f"state/{k}": to_numpy(v) for k, v in enumerate(state)},
                  **{f"sums/{k}": to_numpy(v) for k, v in sums.items()},
                  **{f"partial/{k}/{part}": v[i] for k, v in partial.items() for i, part in enumerate(PARTS)}}
        self._write(chunk, t, stats, tails, final, audits, middle)

    def finish_chunk(self, chunk, stats, tails, final, audits):
        if self.path is not None:
            self._write(chunk, 0, stats, tails, final, audits, {})

    def _write(self, chunk, t, stats, tails, final, audits, middle):
        content = {"key": self.key, "chunk": chunk, "round": t, "final": final,
                   "audits": np.array([np.nan if a is None else a for a in audits]), **middle}
        for group, table in (("stats", stats), ("tails", tails)):
            for name, s in table.items():
                content |= {f"{group}/{name}/{part}": getattr(s, part) for part in ("count", *PARTS)}
        made = io.BytesIO()
        np.savez(made, **content)
        stored = made.getvalue()
        try:
            write_atomically(self.path, lambda f: f.write(stored + hashlib.sha256(stored).digest()))
        except (OSError, UnicodeError) as error:
            refuse("checkpoint", str(self.path), f"cannot be written ({error})", "Choose another file.")
        self.last = time.monotonic()

    def remove(self):
        if self.path is not None:
            self.path.unlink(missing_ok=True)


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
