"""Laws that change with the round: participation probabilities p_i(t) with a period."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import listed, refuse
from fltheory.core.kinds import Array, Steps, Who
from fltheory.core.laws.base import Law, noisy
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import declared


def _turns(laws, what):
    laws = tuple(listed(laws, what, "is a list of laws", "List one law per round."))
    if not laws:
        refuse(what, laws, "a period has at least one round", "List one law per round.")
    for law in laws:
        if not isinstance(law, Law) or law.modes > 1 or law.repeats:
            refuse(what, law, "each is a memoryless law without repeats", "Use Full, Uniform, Weighted, Bernoulli.")
        if noisy(law.noise) or law.batch is not None:
            refuse(what, law, "noise and mini-batches belong to the whole sequence", "Give them to Periodic.")
    if len({law.empty == "skip" for law in laws}) > 1:
        refuse(what, [law.empty for law in laws], "empty rounds are skipped in all rounds or in none",
               'Give every law empty="skip", or none.')
    return laws


@dataclass(frozen=True)
class Periodic(Law):
    """The laws act in turn, laws[0] in the first round: participation that is not stationary, p_i(t) with period T.

    laws: memoryless laws without repeats. Local steps are those of the law in turn where it has some, else `steps`.
    A sequence that settles is covered by its last law; one without any period is a long one, replayed.
    `inclusion`, `averaging_weights` and `pairs` take mode=t, or average over a period.
    """

    laws: tuple = declared(_turns, ())

    def __init__(self, laws: Iterable[Law], steps: Steps = None, noise: Number = 0, batch: int | None = None):
        self.give(laws=laws, steps=steps, noise=noise, batch=batch)

    @property
    def empty(self):
        return "skip" if self.laws[0].empty == "skip" else "move"

    @property
    def modes(self):
        return len(self.laws)

    def steps_of(self, n: int, mode: int = 0) -> Steps:
        law = self.laws[mode]
        return super().steps_of(n, mode) if law.steps is None else law.steps_of(n)

    def with_steps(self, steps: Steps) -> Law:
        if steps is not None and all(law.steps is not None for law in self.laws):
            refuse("steps", steps, "every law of the period already has its own", "Give them once.")
        return super().with_steps(steps)

    def cohort_count(self, n: int, mode: int = 0) -> int:
        return self.laws[mode].cohort_count(n)

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        for chance, who, present in self.laws[mode].cohorts(n):
            yield chance, EVERYONE, over_all(who, present, n)

    def uniforms_needed(self, n: int) -> int:
        return self._once(("uniforms", n), lambda: max(law.uniforms_needed(n) for law in self.laws))

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        out = np.empty((len(uniforms), n), dtype=np.int64)
        for k in np.unique(mode):  # replicates are in the same round, so there is one
            law = self.laws[k]
            who, present = law.sample_cohort(uniforms[mode == k, :law.uniforms_needed(n)], n, None)
            out[mode == k] = over_all(who, present, n)
        return EVERYONE, out


def over_all(who: Who, present, n):
    """0/1 over all clients (..., n) of a cohort without repeats."""
    if isinstance(who, slice):
        return np.broadcast_to(present, (*present.shape[:-1], n))
    out = np.zeros((*who.shape[:-1], n), dtype=np.int64)
    np.put_along_axis(out, who, present, axis=-1)
    return out
