"""The event clock of asynchronous methods: who arrives next is decided by the state, not by the law."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.laws.memoryless import Full
from fltheory.core.scalars import entries, is_count


@dataclass(frozen=True)
class EventClock(Full):
    """A local run of client i with K steps lasts c_i K time units; one round is one arrival.

    pace: the c_i, an int >= 1 or one per client, carried in `draw.extra["pace"]`. steps: K of the first runs.
    Samples are drawn for every client; the algorithm uses those of the client that arrives.
    """

    pace: object = 1

    def __init__(self, pace=1, steps=None, noise=0, batch=None):
        for k, v in (("steps", steps), ("noise", noise), ("batch", batch), ("pace", pace)):
            object.__setattr__(self, k, v)
        given = entries(pace, "pace")
        if given.ndim > 1 or given.size == 0:
            refuse("pace", pace, "one int for all clients, or one each", "Give an int or a flat list.")
        for v in given.reshape(-1):
            if not is_count(v) or v > 2**40:
                refuse("pace", pace, "paces are integers >= 1, so that equal times are equal", "Rescale the time unit.")
        object.__setattr__(self, "pace", tuple(int(v) for v in given) if given.ndim else int(given.item()))
        self.__post_init__()

    def cohort_count(self, n, mode=0):
        if isinstance(self.pace, tuple) and len(self.pace) != n:
            refuse("pace", self.pace, f"one per client, so {n} of them", "Give an int for a common pace.")
        return 1

    def _extra(self, present):
        n = present.shape[-1]
        self.cohort_count(n)
        return {"pace": np.array(np.broadcast_to(np.array(self.pace), (n,)))}
