"""Wrong variants behind the published figures: MIFA's reference model, FedAU's counter, as read in the public code."""
from dataclasses import replace
from functools import partial

from fltheory.algorithms.mifa import Mifa
from fltheory.core.numbers.arrays import put, take
from fltheory.mutants.base import changed
from fltheory.mutants.memories import INTERVALS, PreviousModelMifa, Weighing, mifa_previous_local_model

# FedAU as in the public torch code: a participant's weight is the number of rounds so far, this one included
StuckFedAu = partial(Weighing, weight="stuck", divisor="sum")
fedau_counter_stuck = INTERVALS["fedau_counter_stuck"]


def mifa_as_published(algorithm):
    """The update is measured from the pulled server model: MIFA itself."""
    return Mifa(algorithm.lr, algorithm.steps) if type(algorithm) is PreviousModelMifa else None


@changed(PreviousModelMifa, "round")
def mifa_measured_twice(self, right, problem, s, draw):
    """The reference is half-way between the pulled server model and the previous local model."""
    half = s.last + (s.x[..., None, :] - s.last) / 2
    return right(problem, s._replace(last=put(s.last, draw.who, take(half, draw.who), draw.present)), draw)


def fedau_counter_runs(algorithm):
    """The intervals end, as in the public notebook: unequal weights, still normalised."""
    return replace(algorithm, weight="current") if type(algorithm) is Weighing and algorithm.weight == "stuck" else None


__all__ = ["PreviousModelMifa", "StuckFedAu", "fedau_counter_runs", "fedau_counter_stuck", "mifa_as_published",
           "mifa_measured_twice", "mifa_previous_local_model"]
