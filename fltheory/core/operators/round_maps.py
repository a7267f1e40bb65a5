"""From a law to the mixture of round maps of one mode: enumerated, or through moments of features."""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import TooLarge
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import RandomSteps, probabilities
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.features import features_of
from fltheory.core.operators.probe import Layout, joined, probe_round
from fltheory.core.operators.random_map import Enumerated, Featured, Mixture

FEW = 64               # enumerate without asking for feature moments up to this many outcomes
ROUNDING = 1e-15       # entries of a part that are left out as rounding of numbers of the size of 1
MOST_ENTRIES = 60_000_000  # of dense parts: 480 MB in floats, and as much again for their probing


def mixtures(algorithm: Algorithm, problem: Problem, lay: Layout, law: Law, noise=False) -> list:
    """The mixture of every mode; modes with one sure cohort are probed together: recorded schedules are long."""
    n = problem.n
    sure = law.modes > 1 and all(law.sure(n, k) for k in range(law.modes))
    draws = [law.support(n, k)[0][1] for k in range(law.modes)] if sure else []
    if not draws or not all(isinstance(draw.who, slice) for draw in draws):
        return [mixture(algorithm, problem, lay, law, mode, noise) for mode in range(law.modes)]
    _check_entries(lay, law.modes, law)
    one = problem.domain.array(np.ones(1, dtype=np.int64))
    return [Enumerated(part[None], one) for part in probe_round(algorithm, problem, lay, _stack(draws), noise)]


def mixture(algorithm: Algorithm, problem: Problem, lay: Layout, law: Law, mode=0, noise=False) -> Mixture:
    """The exact mixture of one mode; raises TooLarge if it can neither be enumerated nor expressed in features."""
    n = problem.n
    fixed_steps = not isinstance(law.steps_of(n, mode), RandomSteps)
    if law.cohort_count(n, mode) > FEW and fixed_steps and n >= 3:
        featured = _featured(algorithm, problem, lay, law, mode, noise)
        if featured is not None:
            return featured
    support = law.support(n, mode)
    _check_entries(lay, len(support), law)
    return _enumerated(algorithm, problem, lay, support, noise)


def _check_entries(lay, parts, law: Law):
    if parts * lay.size * (lay.size + 1) > MOST_ENTRIES:
        raise TooLarge(f"{parts} round maps of {lay.size} coordinates under {type(law).__name__} have "
                       f"{parts * lay.size * (lay.size + 1):.1e} entries, above {MOST_ENTRIES:.0e}: use ft.run, or fewer clients, "
                       "coordinates or outcomes")


def _enumerated(algorithm: Algorithm, problem: Problem, lay, support, noise):
    domain = problem.domain
    masks = [(p, d) for p, d in support if isinstance(d.who, slice)]
    parts, weights = [], []
    if masks:
        parts.append(probe_round(algorithm, problem, lay, _stack([d for _, d in masks]), noise))
        weights += [p for p, _ in masks]
    for p, d in support:
        if not isinstance(d.who, slice):
            parts.append(probe_round(algorithm, problem, lay, d, noise)[None])
            weights.append(p)
    probabilities = domain.array(np.array(weights + [None], dtype=object)[:-1])
    return Enumerated(joined(parts), probabilities)


def _stack(draws):
    extra = None if draws[0].extra is None else {k: np.stack([d.extra[k] for d in draws]) for k in draws[0].extra}
    return Draw(EVERYONE, np.stack([d.present for d in draws]), np.stack([d.steps for d in draws]), None, extra)


def _sets(n, masks, steps):
    masks = np.asarray(masks, dtype=np.int64)
    return Draw(EVERYONE, masks, np.broadcast_to(steps, masks.shape), None, None)


def cohorts(law: Law, n, masks, mode=0):
    """A stacked draw of these cohorts (k, n), whether the law draws them or not, with its local steps."""
    return _sets(n, masks, law.steps_of(n, mode))


def _featured(algorithm: Algorithm, problem: Problem, lay, law: Law, mode, noise):
    """Parts M_0, B_i, C_i with M_S = M_0 + sum_{i in S} (B_i + s_i(S) C_i), or None if the round is not of this form.

    The shares s_i are 1/|S|, or p_i over the weights of S. Read off the empty set, the singletons and their complements;
    checked on other sets (exactly if exact).
    """
    n, domain, steps = problem.n, problem.domain, law.steps_of(problem.n, mode)
    _check_entries(lay, 2 * n + 1, law)
    for features in features_of(law, problem):
        parts = _parts(algorithm, problem, lay, law, steps, features, noise)
        if parts is None:
            continue
        if law.empty == "skip" and features.nobody:
            parts = [*parts, domain.array(np.eye(*parts[0].shape, dtype=np.int64)) - parts[0]]      # coefficient 1{S empty}
        keep = [k for k, part in enumerate(parts) if k == 0 or not _vanishes(part, domain)]
        parts, first = [parts[k] for k in keep], domain.array(features.first[keep])
        spans = domain.array(features.vectors(_some_cohorts(law, n))[:, keep])

        def gram(features=features, keep=keep):
            return domain.array(features.second()[np.ix_(keep, keep)])
        return Featured(np.stack(parts), first, gram, spans)
    return None


def _parts(algorithm: Algorithm, problem: Problem, lay, law: Law, steps, features, noise):
    n, domain = problem.n, problem.domain
    eye = np.eye(n, dtype=np.int64)
    probes = np.concatenate([np.zeros((1, n), dtype=np.int64), eye, 1 - eye])
    out = probe_round(algorithm, problem, lay, _sets(n, probes, steps), noise, plain=True)
    base, single, rest = out[0], out[1:n + 1] - out[0], out[n + 1:] - out[0]
    count, share = features.split(single, rest)
    tests = features.tested(law)
    direct = probe_round(algorithm, problem, lay, _sets(n, tests, steps), noise, plain=True)
    for mask, of_mask in zip(tests, direct, strict=True):
        members, weight = mask[:, None, None], domain.array(features.shares(mask))[:, None, None]
        gap = of_mask - (base + (members * count).sum(0) + (weight * share).sum(0))
        if domain is FLOAT:
            if not np.abs(gap).max() <= 1e-10 * max(1.0, np.abs(of_mask).max()):
                return None
        elif not all(v == 0 for v in gap.reshape(-1)):
            return None
    return [base, *count, *share]


def _vanishes(part, domain):
    """Whether a part is nothing but rounding; tiny steps make tiny parts, so no more than that is left out."""
    return np.abs(part).max() < ROUNDING if domain is FLOAT else all(v == 0 for v in part.reshape(-1))


def spanning(law: Law, n, featured) -> list:
    """Draws, stacked where they are masks, that speak for all outcomes of all modes: whatever linear statement holds for
    the rounds at these holds for every round. featured: the round is affine in the features of the cohort."""
    masks, alone = [], []
    for mode in range(law.modes):
        if featured and law.cohort_count(n, mode) > FEW:
            masks += [Draw(EVERYONE, mask, law.steps_of(n, mode), None, law._extra(mask)) for mask in _some_cohorts(law, n)]
            continue
        for _, draw in law.support(n, mode):
            if isinstance(draw.who, slice):
                masks.append(draw)
            else:
                alone.append(draw._replace(present=draw.present[None], steps=np.asarray(draw.steps)[None]))
    return ([_stack(masks)] if masks else []) + alone


def pieces(draw: Draw, most, copies=1):
    """A stacked draw, every outcome `copies` times, in parts of at most so many."""
    size = len(draw.present)
    chosen = np.tile(np.arange(size), copies)
    for k in range(0, len(chosen), most):
        part = chosen[k:k + most]
        yield draw.map(lambda v, part=part: v[part] if v.ndim and len(v) == size and v is not draw.who else v)


def _some_cohorts(law: Law, n):
    """Possible cohorts (k, n) whose features span those of all possible ones."""
    size = getattr(law, "m", None)
    if size is not None:                                           # fixed size: windows and swaps
        windows = [np.isin(np.arange(n), (np.arange(size) + k) % n) for k in range(n)]
        swaps = [np.isin(np.arange(n), np.append(np.arange(size - 1), k)) for k in range(size - 1, n)]
        return np.array(windows + swaps, dtype=np.int64)
    sure = np.array([int(v == 1) for v in probabilities(law.p, n, "p")])
    eye = np.eye(n, dtype=np.int64)[sure == 0]
    masks = np.concatenate([sure + eye, 1 - eye, np.ones((1, n), dtype=np.int64), sure[None]])
    return masks if law.empty == "move" else masks[masks.any(1)]
