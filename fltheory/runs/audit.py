"""The audit of a run: recorded rounds are made again, of one replicate, by the superposition that every affine round obeys.

Many replicates made the round, in torch or in numpy and in whichever layout; what it should have been for one of them is
R(w, v) + R(z - w, xi - v) - R(0, 0), in numpy and plain arrays, from the algorithm's text alone: for an affine round R the same
vector, and for any other one not. That torch and numpy agree is the audit's on CUDA, and of runs in torch; where a run is made in
numpy, tests hold it for every algorithm.
"""
from __future__ import annotations

import math
from functools import partial

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.kinds import Law, Problem, Who
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.probe import Layout
from fltheory.runs.client_major import Placed
from fltheory.runs.streams import Stream

AUDITED = 16         # recorded rounds that are made again
AUDIT_BYTES = 64 * 2**20  # that one replay may allocate: what would need more is not audited, and not counted as audited
LARGEST_STATE = 1e150  # whose squares are still numbers: a run that has diverged further is not audited
_BUFFERS = 8         # arrays of local models that a local step holds at a time
_GOLDEN = (math.sqrt(5) - 1) / 2


def audit_rounds(seed, total, chunks):
    """{(chunk, round): number that picks the replicate}, the same for equal arguments."""
    rng = Stream(seed, "audit").generator()
    picks = [(int(rng.integers(chunks)), int(rng.integers(total)), int(rng.integers(2**31))) for _ in range(AUDITED)]
    return {(c, t): r for c, t, r in picks}


def start_of(alg, problem: Problem, law: Law, state, replicate):
    """What `replay` needs of the state before a round: a copy of one replicate's, since the round may write over memories."""
    if not _auditable(alg, problem, law):
        return state
    shapes = _in_numpy(alg, lambda: Layout.of(alg.to(FLOAT).init(problem.to(FLOAT), np.zeros(problem.d))).shapes)
    if shapes is None:
        return state
    return type(state)(*(np.array(_one(leaf, replicate, len(s))) for leaf, s in zip(state, shapes, strict=True)))


def _auditable(alg, problem: Problem, law: Law):
    return getattr(problem, "quadratic", False) and alg.affine and law.batch is None


def _in_numpy(alg, make):
    """What is made, or None where a user's algorithm cannot make it in numpy: it may know torch alone."""
    try:
        return make()
    except Exception:
        if type(alg).__module__.startswith("fltheory."):
            raise
        return None


def replay(alg, problem: Problem, law: Law, before, after, draw: Draw, replicate):
    """Deviation of one recorded round from superposition in numpy, relative to the largest entry of the states involved.

    None if it was not audited: for problems or rounds that have no operator, rounds of users that know torch alone, beyond
    AUDIT_BYTES, and where the state has left the range in which floats can be compared. inf if only one of the two rounds has
    left it.
    """
    if not _auditable(alg, problem, law):
        return None
    with np.errstate(all="ignore"):  # of diverging runs
        return _in_numpy(alg, lambda: _replay(alg, problem, before, after, draw, replicate))


def _replay(alg, problem: Problem, before, after, draw: Draw, replicate):
    size, places = sum(math.prod(leaf.shape[1:]) for leaf in after), draw.present.shape[-1]
    data, at_once = data_bytes(problem, places, draw.who), 3
    if data + split_bytes(size, places, problem.drawn) > AUDIT_BYTES:   # one after the other holds less at a time
        at_once = 1
        if data + split_bytes(size, places, problem.drawn, 1) > AUDIT_BYTES:
            return None
    alg, problem = alg.to(FLOAT), problem.to(FLOAT)
    lay = Layout.of(alg.init(problem, np.zeros(problem.d)))
    z0, z1 = (np.concatenate([_one(leaf, replicate, len(s)).reshape(-1) for leaf, s in zip(state, lay.shapes, strict=True)])
              for state in (before, after))
    if _beyond(z0):
        return None
    slots = {} if draw.xi is None else draw.xi.made()
    samples = {k: None if v is None else _one(v, replicate, 2) for k, v in slots.items()}
    one, longest = of_replicate(draw, replicate), int(draw.steps.max())
    count = int(one.steps.max())   # slots behind the last local step follow that of the longest in the batch
    samples = {k if k < longest else k - longest + count: v for k, v in samples.items() if k < count or k >= longest}
    predicted = _split(alg, problem, lay, one, z0, samples, draw.xi is not None, at_once)
    if _beyond(predicted) and _beyond(z1):
        return None
    gap = float(np.abs(predicted - z1).max() / max(np.abs(z0).max(), np.abs(z1).max(), 1e-300))
    return gap if gap < math.inf else math.inf


def _split(alg, problem: Problem, lay, one, z0, samples, noisy, at_once):
    """The round at the state and samples written as a sum of two: R(w, v) + R(z - w, xi - v) - R(0, 0)."""
    def thirds(values, shift):
        part = _shares(values.size, shift).reshape(values.shape) * values
        return part, values - part, 0 * part

    def sample(k, j):
        if k not in samples:  # the run never asked for it: another round
            return np.full((one.present.shape[-1], problem.drawn), np.nan)
        if samples[k] is None:
            return None
        return thirds(samples[k], k + 1)[j]

    def stacked(make, chosen):
        parts = [make(j) for j in chosen]
        return None if parts[0] is None else np.stack(parts)
    out = 0
    for chosen in [range(3)] if at_once == 3 else [[0], [1], [2]]:
        points = stacked(lambda j: thirds(z0, 0)[j], chosen)
        xi = partial(lambda chosen, k: stacked(partial(sample, k), chosen), chosen) if noisy else None
        ends = lay.flatten(advance(alg, problem, lay.unflatten(points), one._replace(xi=xi)))
        out = out + sum((-1 if j == 2 else 1) * end for j, end in zip(chosen, np.broadcast_to(ends, points.shape), strict=True))
    return out


def _shares(size, shift):
    """Numbers in [0, 1) without a pattern that a round could share."""
    return np.mod((np.arange(size) + 1) * _GOLDEN + shift * math.sqrt(2), 1)


def split_bytes(size, places, d, points=3) -> int:
    """About the most that a superposition allocates: states and their local models, all three of them or one by one."""
    return 8 * (10 * points * size + points * (_BUFFERS + 4) * places * d)


def data_bytes(problem: Problem, places, who: Who) -> int:
    """About what is needed of the problem: its data as floats, if they are none, and copies for a cohort."""
    data = [np.asarray(getattr(problem, k)) for k in problem._data if getattr(problem, k) is not None]
    gathered = 0 if isinstance(who, slice) else 2 * places * sum(v.size for v in data) // problem.n
    return 8 * (4 * problem.n * problem.d + gathered + sum(5 * v.size for v in data if v.dtype == object))


def _beyond(z):
    return not bool((np.abs(z) <= LARGEST_STATE).all())


def of_replicate(draw: Draw, replicate):
    """One replicate's draw, in numpy, without samples."""
    if isinstance(draw.present, Placed):
        whole = draw.who.draw
        steps = np.where(whole.present > 0, whole.steps, 1) if draw.who.masked else whole.steps
        draw = whole._replace(steps=steps, extra=draw.extra)
    extra = None if draw.extra is None else {k: _one(v, replicate, 0 if k == "happens" else 1) for k, v in draw.extra.items()}
    who = draw.who if isinstance(draw.who, slice) else _one(draw.who, replicate, 1)
    return Draw(who, _one(draw.present, replicate, 1), _one(draw.steps, replicate, 1), None, extra)


def _one(a, replicate, trailing):
    if isinstance(a, Placed):  # samples, which are those of the present alone
        return a.of_replicate(replicate)
    return to_numpy(a[replicate] if a.ndim > trailing else a)
