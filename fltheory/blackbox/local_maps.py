"""Affine maps of a black box and of a reference, under the same keys."""
from __future__ import annotations

import itertools

import numpy as np

from fltheory.core.kinds import Law
from fltheory.core.laws.memoryless import Full

MOST_COHORTS = 10
SINGLE = 1e-6   # what numbers in single precision inside code in double precision make of maps


def plan(box, reference, law: Law | None, rounds, joint, seed, keeping=False):
    """Keys of the maps to compare: cohorts (tuples, None for all) if `joint`, else schedules of cohorts.

    keeping: whether the reference is known to keep more than its model between rounds.
    """
    n = box.n
    some = []
    if box.takes_cohort and (reference is None or reference.algorithm.partial):
        some = _cohorts(n, law, seed)
    memory = keeping or box.form != "round" or (reference is not None and reference.algorithm.stateful)
    memory = memory or (reference is not None and hasattr(reference.algorithm, "beta"))
    if joint:
        return [None, *some]
    if not memory:
        return [(None,), *((c,) for c in some)]
    rng = np.random.default_rng([seed, 5])
    if some and reference is not None and reference.algorithm.counters:   # counts act once a client has come twice
        picks = [rng.integers(len(some), size=max(rounds, 2 * n)) for _ in range(3)]
        return [(None,) * rounds, *dict.fromkeys(tuple(some[k] for k in pick) for pick in picks)]
    mixed = [tuple(some[k] for k in rng.permutation(len(some))[:max(rounds, 2)]) for _ in range(3)] if some else []
    return [(None,) * rounds, *dict.fromkeys(m for m in mixed if m)]


def _cohorts(n, law: Law | None, seed):
    rng = np.random.default_rng([seed, 3])
    if law is not None and not isinstance(law, Full):
        listed = []
        for mode in range(law.modes):
            for prob, who, present in itertools.islice(law.cohorts(n, mode), 400):
                members = tuple(np.arange(n)[who][np.asarray(present) > 0].tolist())
                if prob and members:
                    listed.append(members)
        listed = list(dict.fromkeys(listed))
    elif n <= 4:
        listed = [c for m in range(1, n) for c in itertools.combinations(range(n), m)]
    else:
        listed = list(dict.fromkeys(tuple(sorted(rng.choice(n, size=m, replace=False).tolist()))
                                    for m in [1, 2, 2, 3, n // 2, n - 1, n - 1, n - 2, max(1, n // 3)]))
    if len(listed) > MOST_COHORTS:
        listed = [listed[k] for k in sorted(rng.permutation(len(listed))[:MOST_COHORTS])]
    return listed


def measured(box, instance, key, joint):
    """The extended map (rows, D + 1) of the black box under a key, in D + 1 calls per round."""
    run = box.joint if joint else box.run
    return _extended(box.size if joint else box.d, lambda points: [run(instance, z, key).reshape(-1) for z in points])


def predicted(reference, instance, key, joint, order=None):
    """The same of a reference. order: rearranges its state's coordinates as the user's dict has them."""
    if joint:
        back = np.argsort(order)
        return _extended(len(order), lambda points: reference.joint(instance, points[:, back], key)[:, order])
    return _extended(reference.d, lambda points: np.concatenate(reference.run(instance, points, key), axis=1))


def _extended(size, images):
    """(rows, size + 1): the linear part of an affine map and its constant, from the images of 0 and the unit vectors."""
    out = np.stack(images(np.concatenate([np.zeros((1, size)), np.eye(size)])))
    return np.concatenate([(out[1:] - out[0]).T, out[0][:, None]], axis=1)


def arrangement(box, reference, instance):
    """Where each coordinate of the user's flattened dict stands in the reference's state, or None if names differ."""
    if box.template is None:
        return None
    lay = reference.layout(instance)
    places = lay.unflatten(np.arange(lay.size))._asdict()
    if {k: v.shape for k, v in box.template.items()} != {k: v.shape for k, v in places.items()}:
        return None
    return np.concatenate([places[k].reshape(-1) for k in box.template])


def apart(value, other):
    """Largest deviation of two maps, relative to the larger of 1 and the second one's size."""
    gap = float(np.abs(value - other).max() / max(1.0, np.abs(other).max()))
    return gap if np.isfinite(gap) else np.inf


def distance(maps, others):
    """Largest deviation of maps under the same keys."""
    return max(apart(value, others[key]) for key, value in maps.items())


def blocks(maps, others, box, tolerance):
    """Which parts of the joint map differ, as text: 'new c from x, ci'."""
    columns, wrong = box.places | {"the data": slice(box.size, None)}, {}
    for key, value in maps.items():
        gap = np.abs(value - others[key]) > tolerance * max(1.0, np.abs(others[key]).max())
        for row in box.template:
            for column, place in columns.items():
                if gap[columns[row], place].any():
                    wrong.setdefault(row, {})[column] = True
    return "; ".join(f"the new {row} depends wrongly on {', '.join(names)}" for row, names in wrong.items())
