"""Weighted sampling: m of n clients drawn one after the other with given weights, with or without replacement."""
from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Steps
from fltheory.core.laws.base import LARGEST_SUPPORT, Law
from fltheory.core.laws.memoryless import COHORT, OfSize, WithReplacement
from fltheory.core.numbers.scalars import Number, Numbers, fraction
from fltheory.core.records import flag, per_client, within


@dataclass(frozen=True)
class _WithoutReplacement(OfSize):
    """m clients, each drawn among those not yet drawn with probabilities proportional to w (n,), w_i > 0."""

    m: int = 1
    w: tuple = ()

    def _size(self, n):
        if len(self.w) != n:
            refuse("w", len(self.w), f"one weight per client, so {n}", "Give n numbers.")
        return super()._size(n)

    def _sets(self, n):
        self._size(n)
        return _sets(self.w, self.m).items()

    def _arrivals(self, uniforms, n):
        """Drawing in turn is a race of exponential clocks."""
        self._size(n)
        return -np.log1p(-uniforms) / self._once("w", lambda: np.array([float(v) for v in self.w]))

    def _both(self, n):
        return None if self.cohort_count(n) > LARGEST_SUPPORT else self.pairs(n, 0)


@functools.lru_cache(maxsize=64)
def _sets(w, m):
    """{members: probability} of the sets of m drawn in turn, by growing every smaller set by one client."""
    total = sum(w)
    smaller = sum(math.comb(len(w), k) for k in range(1, m + 1))
    if smaller > LARGEST_SUPPORT:
        raise TooLarge(f"{smaller} sets of up to {m} of {len(w)} clients exceed {LARGEST_SUPPORT}; use runs")
    sets = {(): Fraction(1)}
    for _ in range(m):
        grown = {}
        for members, chance in sets.items():
            left = total - sum(w[i] for i in members)
            for i in itertools.filterfalse(members.__contains__, range(len(w))):
                key = tuple(sorted((*members, i)))
                grown[key] = grown.get(key, Fraction(0)) + chance * w[i] / left
        sets = grown
    return sets


def Weighted(m: int, w: Numbers, replace: bool = False, steps: Steps = None, noise: Number = 0,
             batch: int | None = None) -> Law:
    """m clients a round, drawn one after the other with probabilities proportional to the weights w (n,), w_i > 0.

    replace=False: among those not yet drawn (FOCUS, Case 3); p_i, q_i = p_i/m and pairs are exact sums over the sets.
    replace=True: `WithReplacement`, each draw a fresh run, p_i = 1 - (1 - w_i)^m. Weights need not sum to 1.
    Raises BadInput for m < 1 or m > n, and for weights that are not positive (a client that never takes part).
    """
    weights = per_client(within(0, ends="()", remedy="Leave out a client that never appears."))(w, "w")
    exact = tuple(fraction(v) / sum(map(fraction, weights)) for v in weights)
    if flag(replace, "replace"):
        return WithReplacement(COHORT(m, "m"), exact, steps=steps, noise=noise, batch=batch)
    law = _WithoutReplacement(steps=steps, noise=noise, batch=batch, m=COHORT(m, "m"), w=exact)
    law._size(len(exact))
    return law
