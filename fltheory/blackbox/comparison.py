"""The maps of a black box beside those of a named algorithm, and of what it may be instead."""
from __future__ import annotations

from functools import cached_property

import numpy as np

from fltheory.blackbox.box import Reference
from fltheory.blackbox.explanations import explanations, structured, variant
from fltheory.blackbox.local_maps import SINGLE, apart, arrangement, distance, measured, plan, predicted
from fltheory.blackbox.result import Fault, first_line, wrong_of
from fltheory.blackbox.unexplained import observed
from fltheory.core.errors import FLTheoryError, refuse
from fltheory.core.kinds import Law


class Comparison:
    """A black box and a reference at one height. joint: whether rounds of the whole state are compared, else models."""

    def __init__(self, box, problems, height, reference, law: Law | None, rounds, tolerance, strict):
        """strict: whether the tolerance is the user's, not the arithmetic's."""
        self.loose = tolerance if strict else max(tolerance, SINGLE)
        self.box, self.problems, self.height, self.reference = box, problems, height, reference
        self.tolerance, self._plan = tolerance, (law, rounds)
        self._cache: dict = {}
        self.instance = problems.generic(height, box.scale)
        self.scaled = problems.generic(height)   # in units of the scale
        self.order = arrangement(box, reference, self.instance)   # of the state's coordinates
        self.named = self.order is not None
        self.keeping = len(reference.layout(self.scaled).kind._fields) > 1   # whether the reference keeps more than its model
        self.joint = self.named and reference.algorithm.affine
        if box.template is not None and not self.joint and reference.follows(self.instance):
            refuse("state", sorted(box.template), f"{type(reference.algorithm).__name__} starts more than x at the model, and its "
                   "whole state cannot be compared map by map", "Give a round x -> x_new that starts itself, and reset=.")
        self.keys = self.keys_for(reference, self.joint)

    def keys_for(self, other, joint):
        return plan(self.box, other, *self._plan, joint, self.problems.seed, self.keeping)

    def measured(self, key, joint):
        """The map of the black box, measured once."""
        if (key, joint) not in self._cache:
            self._cache[key, joint] = measured(self.box, self.instance, key, joint)
        return self._cache[key, joint]

    @cached_property
    def cohorts(self):
        """The cohorts of the keys, in order, without those in which a client stands twice."""
        listed = {c for key in self.keys for c in ((key,) if self.joint else key) if c is not None}
        return sorted(c for c in listed if len(set(c)) == len(c))

    @cached_property
    def maps(self):
        return {key: self.measured(key, self.joint) for key in self.keys}

    def predicted(self, other, keys, joint):
        """{key: map} of another reference, or None where it has none to compare."""
        try:
            return self.wanted(other, keys, joint)
        except FLTheoryError:
            return None

    def wanted(self, other, keys, joint):
        """The same, but what the reference refuses is raised: of the named algorithm it is the answer."""
        order = arrangement(self.box, other, self.scaled) if joint else None
        return None if joint and order is None else {k: predicted(other, self.scaled, k, joint, order) for k in keys}

    def gap(self, other):
        """How far another reference's maps are from the black box's. Where models over rounds do not agree, the joint states'
        maps may."""
        worst = self._gap(other, self.keys, self.joint)
        if worst > self.tolerance and not self.joint and self.box.template is not None and other.algorithm.affine:
            worst = min(worst, self._gap(other, self.keys_for(other, True), True))
        return worst

    def _gap(self, other, keys, joint):
        worst = 0.0
        for key in keys:
            expected = self.predicted(other, [key], joint)
            worst = np.inf if expected is None else max(worst, apart(self.measured(key, joint), expected[key]))
            if worst > self.loose:
                break
        return worst

    def misses(self, make, value):
        """The entries of some maps less those of a reference with a number in it; None where it has none."""
        try:
            maps = self.predicted(make(value), self.keys[:4], self.joint)
        except FLTheoryError:
            return None
        return None if maps is None else np.concatenate([(self.maps[k] - maps[k]).ravel() for k in maps])


def compare(result, case, bugs):
    """Fill in the result: the maps agree, or what the code does instead."""
    if case.box.template is not None and not case.named:
        result.notes.append("the state's names or shapes are not the reference's: models over rounds are compared")
    result.maps, wanted = case.maps, case.wanted(case.reference, case.keys, case.joint)
    result.deviation, result.tolerance = distance(result.maps, wanted), case.tolerance
    if result.deviation > case.tolerance:
        result.variant = variant(case)
        if result.variant:
            result.deviation = case.gap(case.reference.counting_alike())
            result.notes.append("a variant: " + result.variant)
    if case.tolerance < result.deviation <= case.loose and not structured(case):
        result.verdict, result.tolerance = "matches", case.loose
        result.reason = f"the maps agree to single precision ({result.deviation:.2g} apart): some numbers are float32 inside"
        return
    start = _wrong_start(result, case, wanted)
    if start is not None:
        result.verdict, (result.reason, fault) = "differs", start
        result.faults = [fault]
        return
    if result.deviation <= case.tolerance:
        result.verdict, result.reason = "matches", f"the maps agree entry by entry ({len(case.keys)} maps)"
        return
    result.verdict, result.reason = "differs", f"the maps are {result.deviation:.2g} apart"
    of_bugs, others = _catalogued(case, bugs), explanations(result, case)
    result.faults = of_bugs + ([f for f in others if f.residual < 1] or others)   # what says little only where nothing else does
    if all(f.residual >= 1 for f in result.faults):
        result.faults = observed(result, case, wanted) or result.faults


def _wrong_start(result, case, wanted):
    """(reason, fault) where memories do not start at 0, or a constant is added; else None."""
    nothing = np.zeros(case.box.d)
    drift = float(np.abs(case.box.first(case.problems.single(0, nothing), nothing)).max())
    memory = case.box.form != "round" or case.reference.algorithm.stateful
    sentence = "the memories do not start at 0 (random or stale initial values?)" if memory else \
        "the model moves although every gradient vanishes: a constant is added"
    if drift > case.loose:
        return "the first round moves the model although every gradient vanishes", \
            Fault(sentence, f"the model 0 moves by {drift:.3g} in a problem without gradients", drift)
    linear = [{k: v[:, :-1] for k, v in maps.items()} for maps in (result.maps, wanted)]
    if result.deviation > case.tolerance and distance(*linear) <= case.tolerance:
        return "the maps have the right linear parts, but not the right constants", \
            Fault(sentence, "only the constants of the maps differ", drift)
    return None


def _catalogued(case, bugs):
    """The faults among `bugs` whose maps agree."""
    faults, right = [], case.reference
    for bug in bugs:
        wrong = wrong_of(bug, right.algorithm)
        if wrong is not None:
            steps = None if wrong.steps != right.algorithm.steps else right.steps
            residual = case.gap(Reference(wrong, case.box.n, case.box.d, steps))
            if residual <= case.tolerance:
                faults.append(Fault(first_line(bug), f"catalogued bug {bug.__name__}: its maps agree", residual, bug.__name__))
    return faults
