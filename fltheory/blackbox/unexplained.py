"""What is seen of maps that no known fault makes: cohorts that are ignored, memories, and how large the rest is."""
from __future__ import annotations

import numpy as np

from fltheory.blackbox.explanations import agreeing, with_numbers
from fltheory.blackbox.local_maps import apart, blocks, predicted
from fltheory.blackbox.result import Fault

KEEPS = "the code keeps something between rounds, the reference does not"
FORGETS = "the code keeps nothing between rounds, the reference does"


def observed(result, case, wanted):
    """Faults that probes of any algorithm's code show; notes on the result what they leave unexplained.

    wanted: the reference's maps. Probes: the same round of another cohort, without an absent client's data, and after
    another history.
    """
    faults, base, whole = _ignored(case)
    if base is not None:
        if not whole:
            result.unexplained = _rest(case, base, case.keys) + ", were everybody there in every round"
        return faults
    faults = _outsiders(case)
    if faults:
        everybody = [k for k in case.keys if k is None or set(k) == {None}]
        if any(apart(case.maps[k], wanted[k]) > case.loose for k in everybody):
            result.unexplained = _rest(case, case.reference, everybody) + " where nobody is absent"
        return faults
    faults = _memories(result, case, wanted)
    if not faults:
        result.unexplained = _rest(case, case.reference, case.keys)
    return faults


def _rest(case, reference, keys):
    """How far the maps are from a reference's, in percent of how far those are from changing nothing (root mean square)."""
    missed = changed = 0.0
    for key in keys:
        right = predicted(reference, case.scaled, key, case.joint, case.order if case.joint else None)
        size = right.shape[1] - 1
        still = np.tile(np.eye(size, size + 1), (len(right) // size, 1))
        missed += float(((case.maps[key] - right) ** 2).sum())
        changed += float(((right - still) ** 2).sum())
    if not changed:
        return "the reference's round changes nothing, the code's does"
    if not np.isfinite(missed / changed):
        return "the reference's maps overflow"
    return f"the difference is {float(f'{100 * (missed / changed) ** 0.5:.2g}'):g} % of what the round changes"


# ---- who takes part ------------------------------------------------------------------------------------------
def _differ(case, one, other):
    return float(np.abs(one - other).max()) > case.loose * max(1.0, float(np.abs(other).max()))


def _start(case):
    return np.random.default_rng([case.problems.seed, 17]).uniform(-1, 1, case.box.d)


def _ignored(case):
    """(faults, reference in which everybody takes part, whether it explains the maps) where the cohort changes nothing."""
    box, right, u = case.box, case.reference, _start(case)
    if not any(_differ(case, right.first(case.scaled, u, c), right.first(case.scaled, u)) for c in case.cohorts):
        return [], None, False
    whole = box.first(case.instance, u)
    gap = max(float(np.abs(box.first(case.instance, u, c) - whole).max()) for c in case.cohorts)
    if gap > case.loose * max(1.0, float(np.abs(whole).max())):
        return [], None, False
    partial = min(case.cohorts, key=len)
    fault = Fault(f"the cohort is ignored: clients outside the cohort {list(partial)} change the model",
                  "the round of every cohort is that of all clients", gap)
    base = right.ignoring_cohorts()
    if case.gap(base) <= case.loose:
        return [fault], base, True
    more = agreeing(case, base) or list(with_numbers(case, base))
    return [fault, *more], base, bool(more)


def _outsiders(case):
    """That the data of clients outside a cohort change the model, although they do not change the reference's."""
    box, problems, u = case.box, case.problems, _start(case)
    for cohort in sorted(case.cohorts, key=len):
        absent = [i for i in range(box.n) if i not in cohort]
        if _differ(case, *(case.reference.first(problems.generic(case.height, 1.0, of), u, cohort) for of in ((), absent))):
            return []
        code = [box.first(problems.generic(case.height, box.scale, of), u, cohort) for of in ((), absent)]
        if _differ(case, *code):
            moved = float(np.abs(code[0] - code[1]).max())
            return [Fault(f"clients outside the cohort {list(cohort)} change the model",
                          f"without their data the model is {moved:.2g} from where it was", case.tolerance)]
    return []


# ---- memories ------------------------------------------------------------------------------------------------
def _keeps(case):
    """Whether a second round of the code depends on more than the model that the first one left."""
    for cohort in (None, *case.cohorts[:1]):
        one, two = case.box.run(case.instance, _start(case), (cohort, cohort))
        if _differ(case, two, case.box.first(case.instance, one, cohort)):
            return True
    return False


def _memories(result, case, wanted):
    """The fault of memories where something is kept between rounds and every first round is the reference's."""
    keeps = _keeps(case)
    if not (keeps or case.keeping):
        return []
    names = KEEPS if not case.keeping else "" if keeps else FORGETS
    d, gap = case.box.d, 0.0
    for key, value in case.maps.items():
        rows, columns = slice(0, d), slice(None)
        if case.joint:
            rows = case.box.places["x"]
            columns = [*range(rows.start, rows.stop), value.shape[1] - 1]
        gap = max(gap, apart(value[rows][:, columns], wanted[key][rows][:, columns]))
    if gap > case.loose:
        result.notes.extend([names] if names else [])
        return []
    where = blocks(case.maps, wanted, case.box, case.loose) if case.joint else "the first round agrees, later ones do not"
    used = case.joint and all(part.startswith("the new x ") for part in where.split("; "))
    return [Fault(f"{names or 'the memories are ' + ('used' if used else 'updated') + ' wrongly'}: {where}",
                  "every first round is the reference's", gap)]
