"""A law whose cohorts are written as masks over all clients: for methods in which absent clients act too."""
from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Slots, Steps, Stream
from fltheory.core.laws.base import Law
from fltheory.core.laws.periodic import over_all
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import Number


@dataclass(frozen=True)
class Masks(Law):
    """The same participation, local steps and noise as `law`, with a mask, steps and a sample for every client.

    law: any law that never draws a client twice in a round.
    """

    law: Any = None

    modes, empty, chain, successor, start, stationary, steps_of, cohort_count, sizes = (
        property(operator.attrgetter(f"law.{name}"))
        for name in ("modes", "empty", "chain", "successor", "start", "stationary", "steps_of", "cohort_count", "sizes"))

    def __init__(self, law: Law):
        self.give(law=without_repeats(law), steps=law.steps, noise=law.noise, batch=law.batch)

    def _again(self, law: Law):
        return Masks(law)

    def with_noise(self, sigma: Number) -> Law:
        return self._again(self.law.with_noise(sigma))

    def with_steps(self, steps: Steps) -> Law:
        return self._again(self.law.with_steps(steps))

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        for chance, who, present in self.law.cohorts(n, mode):
            yield chance, EVERYONE, over_all(who, present, n)

    def sample(self, stream: Stream, n: int, batch: int, mode: Array = None, slots: Slots = None) -> tuple[Draw, Array]:
        draw, mode = self.law.sample(stream, n, batch, mode, slots)
        steps = self.law._sample_steps(stream, n, batch, mode)  # of the same stream, so the same steps for those present
        return draw._replace(who=EVERYONE, present=over_all(draw.who, draw.present, n), steps=np.asarray(steps)), mode


def without_repeats(law: Law):
    if not isinstance(law, Law):
        refuse("law", law, "is no law of participation", "Give ft.Full(), ft.Uniform(m), ft.Bernoulli(p), ...")
    if law.repeats:
        refuse("law", type(law).__name__, "it may draw one client twice, and a mask cannot say so", "Use a law without repeats.")
    return law
