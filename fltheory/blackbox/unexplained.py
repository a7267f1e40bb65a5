"""What is seen of maps that no known fault makes: cohorts that are ignored, memories, and how large the rest is."""
from __future__ import annotations

import numpy as np

from fltheory.blackbox.explanations import agreeing, with_numbers
from fltheory.blackbox.local_maps import apart, blocks, predicted
from fltheory.blackbox.result import Fault

KEPT = "the code keeps something between rounds, the reference does not"
FORGOTTEN = "the code keeps nothing between rounds, the reference does"


def observed(result, here, wanted):
    """Faults that probes of any algorithm's code show; notes on the result what they leave unexplained.

    wanted: the reference's maps. Probes: the same round of another cohort, without an absent client's data, and after
    another history.
    """
    found, base, whole = _ignored(here)
    if base is not None:
        if not whole:
            result.unexplained = _rest(here, base, here.keys) + ", were everybody there in every round"
        return found
    found = _outsiders(here)
    if found:
        everybody = [k for k in here.keys if k is None or set(k) == {None}]
        if any(apart(here.maps[k], wanted[k]) > here.loose for k in everybody):
            result.unexplained = _rest(here, here.reference, everybody) + " where nobody is absent"
        return found
    found = _memories(result, here, wanted)
    if not found:
        result.unexplained = _rest(here, here.reference, here.keys)
    return found


def _rest(here, reference, keys):
    """How far the maps are from a reference's, in percent of how far those are from changing nothing (root mean square)."""
    missed = changed = 0.0
    for key in keys:
        right = predicted(reference, here.scaled, key, here.joint, here.order if here.joint else None)
        size = right.shape[1] - 1
        still = np.tile(np.eye(size, size + 1), (len(right) // size, 1))
        missed += float(((here.maps[key] - right) ** 2).sum())
        changed += float(((right - still) ** 2).sum())
    if not changed:
        return "the reference's round changes nothing, the code's does"
    if not np.isfinite(missed / changed):
        return "the reference's maps overflow"
    return f"the difference is {float(f'{100 * (missed / changed) ** 0.5:.2g}'):g} % of what the round changes"


# ---- who takes part ------------------------------------------------------------------------------------------
def _differ(here, one, other):
    return float(np.abs(one - other).max()) > here.loose * max(1.0, float(np.abs(other).max()))


def _start(here):
    return np.random.default_rng([here.problems.seed, 17]).uniform(-1, 1, here.box.d)


def _ignored(here):
    """(faults, reference in which everybody takes part, whether it explains the maps) where the cohort changes nothing."""
    box, right, u = here.box, here.reference, _start(here)
    if not any(_differ(here, right.first(here.scaled, u, c), right.first(here.scaled, u)) for c in here.cohorts):
        return [], None, False
    whole = box.first(here.instance, u)
    gap = max(float(np.abs(box.first(here.instance, u, c) - whole).max()) for c in here.cohorts)
    if gap > here.loose * max(1.0, float(np.abs(whole).max())):
        return [], None, False
    partial = min(here.cohorts, key=len)
    fault = Fault(f"the cohort is ignored: clients outside the cohort {list(partial)} change the model",
                  "the round of every cohort is that of all clients", gap)
    base = right.ignoring_cohorts()
    if here.gap(base) <= here.loose:
        return [fault], base, True
    more = agreeing(here, base) or list(with_numbers(here, base))
    return [fault, *more], base, bool(more)


def _outsiders(here):
    """That the data of clients outside a cohort change the model, although they do not change the reference's."""
    box, problems, u = here.box, here.problems, _start(here)
    for cohort in sorted(here.cohorts, key=len):
        absent = [i for i in range(box.n) if i not in cohort]
        if _differ(here, *(here.reference.first(problems.generic(here.height, 1.0, of), u, cohort) for of in ((), absent))):
            return []
        code = [box.first(problems.generic(here.height, box.scale, of), u, cohort) for of in ((), absent)]
        if _differ(here, *code):
            moved = float(np.abs(code[0] - code[1]).max())
            return [Fault(f"clients outside the cohort {list(cohort)} change the model",
                          f"without their data the model is {moved:.2g} from where it was", here.tolerance)]
    return []


# ---- memories ------------------------------------------------------------------------------------------------
def _keeps(here):
    """Whether a second round of the code depends on more than the model that the first one left."""
    for cohort in (None, *here.cohorts[:1]):
        one, two = here.box.run(here.instance, _start(here), (cohort, cohort))
        if _differ(here, two, here.box.first(here.instance, one, cohort)):
            return True
    return False


def _memories(result, here, wanted):
    """The fault of memories where something is kept between rounds and every first round is the reference's."""
    kept = _keeps(here)
    if not (kept or here.keeping):
        return []
    names = KEPT if not here.keeping else "" if kept else FORGOTTEN
    d, gap = here.box.d, 0.0
    for key, value in here.maps.items():
        rows, columns = slice(0, d), slice(None)
        if here.joint:
            at = _model(here.box)
            rows, columns = slice(at, at + d), [*range(at, at + d), value.shape[1] - 1]
        gap = max(gap, apart(value[rows][:, columns], wanted[key][rows][:, columns]))
    if gap > here.loose:
        result.notes.extend([names] if names else [])
        return []
    where = blocks(here.maps, wanted, here.box, here.loose) if here.joint else "the first round agrees, later ones do not"
    used = here.joint and all(part.startswith("the new x ") for part in where.split("; "))
    return [Fault(f"{names or 'the memories are ' + ('used' if used else 'updated') + ' wrongly'}: {where}",
                  "every first round is the reference's", gap)]


def _model(box):
    """Where the model begins in the flattened state."""
    at = 0
    for name, value in box.template.items():
        if name == "x":
            return at
        at += value.size
    raise KeyError("x")
