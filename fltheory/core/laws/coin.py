"""A shared coin: everybody works in every round, and all or none of them communicate."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.laws.base import LARGEST_SUPPORT, probabilities
from fltheory.core.laws.memoryless import Full


@dataclass(frozen=True)
class Coin(Full):
    """Every client works in every round; a coin of probability p in (0, 1], common to all, says who communicates.

    The coin is `draw.extra["coin"]` (..., 1), 1 where all communicate and 0 where nobody does (ProxSkip's theta_t).
    Algorithms that know no coin run as under `Full`. p_i = 1: whoever works takes part.
    """

    p: object = 1

    def __init__(self, p, steps=None, noise=0, batch=None):
        for k, v in (("p", probabilities(p, 1, "p")[0]), ("steps", steps), ("noise", noise), ("batch", batch)):
            object.__setattr__(self, k, v)
        self.__post_init__()

    def support(self, n, mode=0, limit=LARGEST_SUPPORT):
        """[(probability, Draw)], both sides of the coin, exact."""
        rounds = super().support(n, mode, limit)
        return [(q * chance, draw._replace(extra={"coin": np.array([side])}))
                for chance, side in ((self.p, 1), (1 - self.p, 0)) if chance != 0 for q, draw in rounds]

    def _extra(self, present):
        return {"coin": np.array([1])}  # the typical round communicates

    def sample(self, stream, n, batch, mode=None, slots=None):
        draw, mode = super().sample(stream, n, batch, mode, slots)
        toss = stream.child("coin").random((batch, 1))
        return draw._replace(extra={"coin": (toss < self._once("p", lambda: float(self.p))) * 1}), mode


__all__ = ["Coin"]
