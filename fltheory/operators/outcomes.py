"""From a law to the mixture of round maps of one mode: enumerated, or through moments of features."""
from __future__ import annotations

from fractions import Fraction

import numpy as np

from fltheory.arrays import EVERYONE
from fltheory.errors import TooLarge
from fltheory.laws.base import RandomSteps, probabilities
from fltheory.laws.draw import Draw
from fltheory.operators.mixture import Mixture
from fltheory.operators.probe import Layout, joined, probe_round
from fltheory.scalars import FLOAT

FEW = 64  # enumerate without asking for feature moments up to this many outcomes


def mixture(algorithm, problem, lay: Layout, law, mode=0, noise=False) -> Mixture:
    """The exact mixture of one mode; raises TooLarge if it can neither be enumerated nor expressed in features."""
    n = problem.n
    fixed_steps = not isinstance(law.steps_of(n, mode), RandomSteps)
    if law.cohort_count(n, mode) > FEW and fixed_steps and n >= 3:
        found = _featured(algorithm, problem, lay, law, mode, noise)
        if found is not None:
            return found
    return _enumerated(algorithm, problem, lay, law.support(n, mode), noise)


def _enumerated(algorithm, problem, lay, support, noise):
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
    return Mixture(joined(parts), probabilities, probabilities)


def _stack(draws):
    extra = None if draws[0].extra is None else {k: np.stack([d.extra[k] for d in draws]) for k in draws[0].extra}
    return Draw(EVERYONE, np.stack([d.present for d in draws]), np.stack([d.steps for d in draws]), None, extra)


def _sets(n, masks, steps):
    masks = np.asarray(masks, dtype=np.int64)
    return Draw(EVERYONE, masks, np.broadcast_to(steps, masks.shape), None, None)


def _featured(algorithm, problem, lay, law, mode, noise):
    """Parts M_0, B_i, C_i with M_S = M_0 + sum_{i in S} (B_i + C_i/|S|), or None if the round is not of this form.

    Read off the empty set, the singletons and their complements; checked on other sets (exactly if exact).
    """
    n, domain = problem.n, problem.domain
    moments = law.feature_moments(n)
    if moments is None:
        return None
    steps = law.steps_of(n, mode)
    eye = np.eye(n, dtype=np.int64)
    probes = np.concatenate([np.zeros((1, n), dtype=np.int64), eye, 1 - eye])
    out = probe_round(algorithm, problem, lay, _sets(n, probes, steps), noise, plain=True)
    base, single, rest = out[0], out[1:n + 1] - out[0], out[n + 1:] - out[0]
    total = single.sum(0)
    # rest_i = sum_{j != i} (B_j + C_j/(n-1)), single_j = B_j + C_j
    missing = (total - single - rest) * (n - 1) / (n - 2)          # sum_{j != i} C_j
    share = missing.sum(0) / (n - 1) - missing                     # C_i
    count = single - share                                         # B_i
    # other sizes of cohorts, fixed so that the check does not depend on anything but n
    tests = np.array([[(i * (k + 2) + k) % (k + 3) < 2 for i in range(n)] for k in range(5)], dtype=np.int64)
    seen = probe_round(algorithm, problem, lay, _sets(n, tests, steps), noise, plain=True)
    for mask, direct in zip(tests, seen, strict=True):
        size = int(mask.sum())
        members = mask[:, None, None]
        guess = base + (members * count).sum(0) + ((members * share).sum(0) / size if size else 0)
        gap = direct - guess
        if domain is FLOAT:
            if not np.abs(gap).max() <= 1e-10 * max(1.0, np.abs(direct).max()):
                return None
        elif not all(v == 0 for v in gap.reshape(-1)):
            return None
    mean, second, nobody = moments
    one = Fraction(1)
    first = [one, *mean]
    gram = np.empty((2 * n + 1, 2 * n + 1), dtype=object)
    gram[0, 0], gram[0, 1:], gram[1:, 0], gram[1:, 1:] = one, mean, mean, second
    parts = [base, *count, *share]
    if law.empty == "skip" and nobody:
        identity = domain.array(
            np.concatenate(
                [np.eye(lay.size, dtype=np.int64), np.zeros((lay.size, base.shape[1] - lay.size), dtype=np.int64)],
                axis=1,
            )
        )
        parts.append(identity - base)                              # coefficient 1{S empty}
        first.append(nobody)
        grown = np.full((2 * n + 2, 2 * n + 2), Fraction(0), dtype=object)
        grown[:-1, :-1] = gram
        grown[0, -1] = grown[-1, 0] = grown[-1, -1] = nobody
        gram = grown
    keep = [k for k, part in enumerate(parts) if k == 0 or not _vanishes(part, domain)]
    return Mixture(np.stack([parts[k] for k in keep]), domain.array(np.array(first, dtype=object)[keep]),
                   domain.array(gram[np.ix_(keep, keep)]))


def _vanishes(part, domain):
    return np.abs(part).max() < 1e-13 if domain is FLOAT else all(v == 0 for v in part.reshape(-1))


def spanning(law, n, featured) -> list:
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


def pieces(draw, most, copies=1):
    """A stacked draw, every outcome `copies` times, in parts of at most so many."""
    size = len(draw.present)
    chosen = np.tile(np.arange(size), copies)
    for k in range(0, len(chosen), most):
        part = chosen[k:k + most]
        yield draw.map(lambda v, part=part: v[part] if v.ndim and len(v) == size and v is not draw.who else v)


def _some_cohorts(law, n):
    """Possible cohorts (k, n) whose features span those of all possible ones."""
    size = getattr(law, "m", None)
    if size is not None:                                           # fixed size: windows and swaps
        masks = [np.isin(np.arange(n), (np.arange(size) + k) % n) for k in range(n)]
        masks += [np.isin(np.arange(n), np.append(np.arange(size - 1), k)) for k in range(size - 1, n)]
        return np.array(masks, dtype=np.int64)
    sure = np.array([int(v == 1) for v in probabilities(law.p, n, "p")])
    eye = np.eye(n, dtype=np.int64)[sure == 0]
    masks = np.concatenate([sure + eye, 1 - eye, np.ones((1, n), dtype=np.int64), sure[None]])
    return masks if law.empty == "move" else masks[masks.any(1)]


__all__ = ["TooLarge", "mixture", "pieces", "spanning"]
