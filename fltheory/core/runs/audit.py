"""The audit of a run: recorded rounds are made again in numpy, by the operator that `derive` probes.

Torch made the round; numpy says what it should have been. What is compared is the operator's action on the one recorded
state and the recorded samples: where the whole basis fits the budget, through the probed map M z + c + G xi; beyond, by
superposition, R(w, v) + R(z - w, xi - v) - R(0, 0), which for an affine round R is the same vector, and for any other one
is not. Both are computed in numpy from the algorithm's text alone; neither trusts torch.
"""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.arrays import to_numpy
from fltheory.core.laws.draw import Draw
from fltheory.core.operators.probe import Layout, probe_round
from fltheory.core.scalars import FLOAT
from fltheory.core.streams import Stream

AUDITED = 16         # recorded rounds replayed through the operator
LARGEST_PROBE = 400  # state size up to which a full operator is probed
AUDIT_BYTES = 64 * 2**20  # that one replay may allocate: what would need more is not audited, and not counted as audited
LARGEST_STATE = 1e150  # whose squares are still numbers: a run that has diverged further is not audited
_BUFFERS = 8         # arrays of local models that a local step holds at a time
_GOLDEN = (math.sqrt(5) - 1) / 2


def audit_rounds(seed, total, chunks):
    """{(chunk, round): number that picks the replicate}, the same for equal arguments."""
    rng = Stream(seed, "audit").generator()
    picks = [(int(rng.integers(chunks)), int(rng.integers(total)), int(rng.integers(2**31))) for _ in range(AUDITED)]
    return {(c, t): r for c, t, r in picks}


def replay(alg, problem, law, before, after, draw, replicate):
    """Deviation of one recorded round from the operator in numpy, relative to the largest entry of the states involved.

    None if it was not audited: for problems or rounds that have no operator, beyond AUDIT_BYTES, and where the state has
    left the range in which floats can be compared. inf if only one of the two rounds has left it.
    """
    if not (getattr(problem, "quadratic", False) and alg.affine) or law.batch is not None:
        return None
    with np.errstate(all="ignore"):  # of diverging runs
        return _replay(alg, problem, before, after, draw, replicate)


def _replay(alg, problem, before, after, draw, replicate):
    made = {} if draw.xi is None else draw.xi.made()
    size, places = sum(math.prod(leaf.shape[1:]) for leaf in after), draw.present.shape[-1]
    own = own_bytes(problem, places, draw.who)
    full = size <= LARGEST_PROBE and own + full_bytes(size, places, problem.drawn, len(made)) <= AUDIT_BYTES
    if not full and own + split_bytes(size, places, problem.drawn) > AUDIT_BYTES:
        return None
    alg, problem = alg.to(FLOAT), problem.to(FLOAT)
    lay = Layout.of(alg.init(problem, np.zeros(problem.d)))
    z0, z1 = (np.concatenate([_one(leaf, replicate, len(s)).reshape(-1) for leaf, s in zip(state, lay.shapes, strict=True)])
              for state in (before, after))
    if _beyond(z0):
        return None
    one = of_replicate(draw, replicate)
    samples = {k: _one(v, replicate, 2) for k, v in made.items()}
    predicted = (_probed if full else _split)(alg, problem, lay, one, z0, samples, draw.xi is not None)
    if _beyond(predicted) and _beyond(z1):
        return None
    gap = float(np.abs(predicted - z1).max() / max(np.abs(z0).max(), np.abs(z1).max(), 1e-300))
    return gap if gap < math.inf else math.inf


def _probed(alg, problem, lay, one, z0, samples, noisy):
    """The round through its whole map, probed at the recorded draw."""
    A, D = probe_round(alg, problem, lay, one, noise=noisy), lay.size
    predicted = A[:, :D] @ z0 + A[:, D]
    if noisy:
        columns = A.shape[1] - D - 1
        xi = np.concatenate([np.zeros(0), *(samples[k].reshape(-1) for k in sorted(samples))])[:columns]
        if len(xi) < columns:  # torch asked for fewer samples: another round
            return np.full(D, np.nan)
        predicted = predicted + A[:, D + 1:] @ xi
    return predicted


def _split(alg, problem, lay, one, z0, samples, noisy):
    """The round at the state and samples written as a sum of two: R(w, v) + R(z - w, xi - v) - R(0, 0)."""
    part = _shares(lay.size, 0) * z0
    points = np.stack([part, z0 - part, 0 * z0])

    def sample(k):
        if k not in samples:  # torch never asked for it: another round
            return np.full((3, one.present.shape[-1], problem.drawn), np.nan)
        part = _shares(samples[k].size, k + 1).reshape(samples[k].shape) * samples[k]
        return np.stack([part, samples[k] - part, 0 * part])
    out = lay.flatten(advance(alg, problem, lay.unflatten(points), one._replace(xi=sample if noisy else None)))
    out = np.broadcast_to(out, points.shape)
    return out[0] + out[1] - out[2]


def _shares(size, shift):
    """Numbers in [0, 1) without a pattern that a round could share."""
    return np.mod((np.arange(size) + 1) * _GOLDEN + shift * math.sqrt(2), 1)


def full_bytes(size, places, d, slots) -> int:
    """About the most that probing the whole map allocates: bases, the local models at each of their points, responses."""
    noise = slots * places * d
    states = (size + 1) * (4 * size + _BUFFERS * places * d)
    samples = noise * (4 * noise + _BUFFERS * places * d + 4 * size)
    return 8 * (states + samples + 2 * size * (size + 1 + noise))


def split_bytes(size, places, d) -> int:
    """About the most that a superposition allocates: three states and their local models."""
    return 8 * (30 * size + 3 * (_BUFFERS + 4) * places * d)


def own_bytes(problem, places, who) -> int:
    """About what either way needs of the problem: its data as floats, if they are none, and copies for a cohort."""
    data = [np.asarray(getattr(problem, k)) for k in problem._data if getattr(problem, k) is not None]
    gathered = 0 if isinstance(who, slice) else 2 * places * sum(v.size for v in data) // problem.n
    return 8 * (4 * problem.n * problem.d + gathered + sum(5 * v.size for v in data if v.dtype == object))


def _beyond(z):
    return not bool((np.abs(z) <= LARGEST_STATE).all())


def of_replicate(draw, replicate):
    """One replicate's draw, in numpy, without samples."""
    extra = None if draw.extra is None else {k: _one(v, replicate, 0 if k == "happens" else 1) for k, v in draw.extra.items()}
    who = draw.who if isinstance(draw.who, slice) else _one(draw.who, replicate, 1)
    return Draw(who, _one(draw.present, replicate, 1), _one(draw.steps, replicate, 1), None, extra)


def _one(a, replicate, trailing):
    return to_numpy(a[replicate] if a.ndim > trailing else a)


__all__ = ["AUDITED", "AUDIT_BYTES", "audit_rounds", "of_replicate", "replay"]
