"""One round's draw of many replicates: blocks that have random streams of their own, joined, in either layout of the arrays.

Additive noise belongs to the stored rows of `Places`, in their order, so that plain arrays and placed ones hold the same numbers.
"""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.kinds import Algorithm, Law, Problem, Who
from fltheory.core.laws.base import RandomSteps, minibatch_slots
from fltheory.core.laws.draw import Alone, Draw, Slots, to_device
from fltheory.core.numbers.arrays import matvec
from fltheory.core.numbers.scalars import fraction
from fltheory.core.problems.plain import Rows
from fltheory.runs.audit import of_replicate
from fltheory.runs.client_major import Placed, Places
from fltheory.runs.streams import standard_normals

BLOCK = 1024         # replicates that share one random stream: results do not depend on how blocks are batched


def start_modes(law: Law, stream, size):
    if law.modes == 1:
        return np.zeros(size, dtype=np.int64)
    edges = np.cumsum([float(v) for v in law.start()])
    u = stream.child("start").generator().random(size)
    return np.minimum((u[:, None] >= edges).sum(1), law.modes - 1)


def works_alone(algorithm: Algorithm) -> bool:
    """Whether one client works in a round, which the state chooses: nobody else's samples are drawn."""
    return bool(getattr(algorithm, "arrivals", False))


def draw_round(law: Law, problem: Problem, streams, sizes, t, mode, domain, alone=False, placed=False, collapse=None):
    """(Draw, modes) of one round of all blocks of a chunk, each from its own stream, in the arithmetic `domain`.

    placed: in client order where a draw has one (numpy alone). collapse: see `Collapse`.
    """
    n, parts, modes, at = problem.n, [], [], 0
    later: dict = {"first": False} if t and law.clocked else {}
    rounds = [s.child("round", t) for s in streams]
    for stream, size in zip(rounds, sizes, strict=True):
        draw, new = law.sample(stream, n, size, mode[at:at + size], **later)
        parts.append(draw)
        modes.append(new)
        at += size
    joined, mode = _join(parts, sizes), _stacked(modes)

    def convert(a):
        if domain.library == "numpy":
            return a
        import torch
        a = torch.from_numpy(a)
        return a if domain.device == "cpu" else a.to(domain.device)
    if alone:
        slots = _of_one(law, problem, rounds, sizes, convert, domain)
    elif law.batch is not None:
        rows = [minibatch_slots(r, problem.sizes, d.who, (k, joined.present.shape[-1]), law.batch, lambda a: a)  # type: ignore[attr-defined]
                for r, k, d in zip(rounds, sizes, parts, strict=True)]
        slots = _keyed(lambda k: Rows(convert(_stacked([of_block(k).index for of_block in rows]))), law, n, joined.steps)
    else:
        places = _places(law, joined, n, sizes) if placed or fraction(law.noise) else None
        if placed and places is not None and places.size:
            return _placed(law, problem, joined, places, rounds, collapse), mode
        slots = None
        if fraction(law.noise):
            source = _noise(law, problem.drawn, rounds, sizes, joined, places, collapse)
            slots = _keyed(lambda k: None if (xi := source(k)) is None else convert(xi), law, n, joined.steps)
    if sizes == [1] and law.batch is None:  # a draw that all replicates share: its cohort is looked up, not grouped by client
        joined = of_replicate(joined, 0)
    return (joined if domain.library == "numpy" else to_device(joined, domain.device))._replace(xi=slots), mode


def _places(law: Law, draw: Draw, n, sizes):
    """The `Places` of a draw whose cohorts differ between replicates, else None."""
    if draw.present.ndim != 2 or (not isinstance(draw.who, slice) and draw.who.ndim != 2):
        return None
    return Places(draw, n, sizes, law.repeats)


def _placed(law: Law, problem: Problem, draw: Draw, at, rounds, collapse):
    steps, slots = at.of(draw.steps), None
    steps.same = int(steps.rows[0]) if (steps.rows == steps.rows[0]).all() else None
    if fraction(law.noise):
        source = _rows(law, problem.drawn, rounds, at, steps.rows, collapse)
        slots = _keyed(source, law, problem.n, steps)
    return Draw(at, at.present, steps, slots, draw.extra)


def _keyed(make, law: Law, n, steps):
    """Slots whose numbers do not depend on who is batched: those after the last local step of this batch are keyed as if after the
    law's longest."""
    count, most = int(steps.max()), _longest(law, n)
    return Slots(lambda k: make(k if k < count else k - count + most))


def _longest(law: Law, n):
    def find():
        steps = [law.steps_of(n, mode) for mode in range(law.modes)]
        return max(int(np.max(v)) for s in steps for v in ([c for _, c in s.choices] if isinstance(s, RandomSteps) else [s]))
    return law._once(("longest", n), find) if hasattr(law, "_once") else find()


def _rows(law: Law, d, rounds, at, steps, collapse):
    """A function of the slot that gives the noise of the stored rows, made when it is asked for."""
    scale = float(fraction(law.noise)) / math.sqrt(d)

    def make(k):
        if collapse is not None and not collapse.falls(k):
            return None
        streams, sizes = [r.child("noise", k) for r in rounds], [size * d for size in at.sizes]

        def fill(low, _, out):
            standard_normals(streams, sizes, out.reshape(-1), scale, low * d)
        out = Placed.deferred(at, d, fill, spare=True)
        if collapse is None or k >= collapse.longest:
            return out
        out = at.each(out, collapse.into, d, spare=True)
        return out if collapse.alike else out * Placed((steps == k + 1)[:, None], at)
    return make


def _noise(law: Law, d, rounds, sizes, draw: Draw, at, collapse):
    """A function of the slot that gives the noise (batch, places, d) in plain arrays."""
    if at is not None:
        stored = _rows(law, d, rounds, at, at.of(draw.steps).rows, collapse)
        return lambda k: None if (noise := stored(k)) is None else _with_absent(law, d, rounds, sizes, draw, at, noise.rows, k)
    scale, places = float(fraction(law.noise)) / math.sqrt(d), draw.present.shape[-1]

    def make(k):
        if collapse is not None and not collapse.falls(k):
            return None
        out = _normals(rounds, k, sizes, (places, d), scale)
        if collapse is None or k >= collapse.longest:
            return out
        out = matvec(collapse.factor if isinstance(draw.who, slice) else collapse.factor[draw.who], out)
        return out if collapse.alike else out * (draw.steps == k + 1)[..., None]
    return make


def _with_absent(law: Law, d, rounds, sizes, draw: Draw, at, rows, k):
    """The stored rows as plain arrays, with samples from streams of their own for those who are absent."""
    out = at.plain(rows)
    if at.masked:
        away, begin, scale = draw.present == 0, 0, float(fraction(law.noise)) / math.sqrt(d)
        for r, size in zip(rounds, sizes, strict=True):
            block = slice(begin, begin + size)
            out[block][away[block]] = r.child("absent", k).standard_normal((int(away[block].sum()), d), scale)
            begin += size
    return out


def _of_one(law: Law, problem: Problem, rounds, sizes, convert, domain):
    """Samples of the one client that the state chooses, in torch."""
    import torch
    if law.batch is not None:
        bound = torch.as_tensor(np.asarray(problem.sizes), device=domain.device)  # type: ignore[attr-defined]

        def rows(k, who: Who):
            u = _stacked([r.child("rows", k).random((size, 1, law.batch)) for r, size in zip(rounds, sizes, strict=True)])
            return Rows((convert(u) * bound[who][..., None]).to(torch.int64))
        return Alone(rows)
    if not fraction(law.noise):
        return None
    scale = float(fraction(law.noise)) / math.sqrt(problem.drawn)

    def noise(k, who: Who):
        return convert(_normals(rounds, k, sizes, (1, problem.drawn), scale))
    return Alone(noise)


def _normals(rounds, k, sizes, shape, scale):
    """The noise (sum of sizes, *shape) of slot k, of all blocks at once."""
    out, each = np.empty((sum(sizes), *shape)), math.prod(shape)
    standard_normals([r.child("noise", k) for r in rounds], [size * each for size in sizes], out.reshape(-1), scale)
    return out


def _stacked(parts):
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _join(parts, sizes):
    """Concatenate per-block draws along the replicate axis; fields shared by all replicates stay unbatched."""
    def cat(values, trailing):
        if values[0].ndim == trailing:
            return values[0]
        return _stacked([np.broadcast_to(v, (k,) + v.shape[1:]) for v, k in zip(values, sizes, strict=True)])
    first = parts[0]
    who = first.who if isinstance(first.who, slice) else cat([p.who for p in parts], 1)
    extra = None
    if first.extra is not None:
        extra = {k: (cat([p.extra[k] for p in parts], 0 if k == "happens" else 1) if hasattr(v, "shape") else v)
                 for k, v in first.extra.items()}
    return Draw(who, cat([p.present for p in parts], 1), cat([p.steps for p in parts], 1), None, extra)
