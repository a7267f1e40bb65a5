"""Weighted sampling: m of n clients drawn one after the other with given weights, with or without replacement."""
from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.arrays import EVERYONE
from fltheory.core.errors import TooLarge, check_flag, refuse
from fltheory.core.laws.base import LARGEST_SUPPORT, Law
from fltheory.core.laws.memoryless import WithReplacement
from fltheory.core.scalars import declare, fraction, is_count


@dataclass(frozen=True)
class _WithoutReplacement(Law):
    """m clients, each drawn among those not yet drawn with probabilities proportional to w (n,), w_i > 0."""

    m: int = 1
    w: tuple = ()

    def _check(self, n):
        if len(self.w) != n:
            refuse("w", len(self.w), f"one weight per client, so {n}", "Give n numbers.")
        if self.m > n:
            refuse("m", self.m, f"only {n} clients exist", "Choose m <= n.")

    def cohort_count(self, n, mode=0):
        self._check(n)
        return math.comb(n, self.m)

    def cohorts(self, n, mode=0):
        self._check(n)
        for members, chance in _sets(self.w, self.m).items():
            present = np.zeros(n, dtype=np.int64)
            present[list(members)] = 1
            yield chance, EVERYONE, present

    def sample_cohort(self, uniforms, n, mode):
        # drawing in turn is a race of exponential clocks: the m smallest arrival times are the cohort
        self._check(n)
        arrival = -np.log1p(-uniforms) / self._once("w", lambda: np.array([float(v) for v in self.w]))
        order = np.argsort(arrival, axis=1)[:, :self.m]
        return np.sort(order, axis=1), np.ones(order.shape, dtype=np.int64)

    def feature_moments(self, n):
        """|S| = m always, so the shares are the indicators over m; the pairs come from the listed cohorts."""
        if self.cohort_count(n) > LARGEST_SUPPORT:
            return None
        both = self.pairs(n, 0)
        one = [both[i, i] for i in range(n)]
        mean = np.array([*one, *(v / self.m for v in one)], dtype=object)
        return mean, np.block([[both, both / self.m], [both / self.m, both / self.m**2]]), Fraction(0)


@functools.lru_cache(maxsize=64)
def _sets(w, m):
    """{members: probability} of the sets of m drawn in turn, by growing every smaller set by one client."""
    total = sum(w)
    smaller = sum(math.comb(len(w), k) for k in range(1, m + 1))
    if smaller > LARGEST_SUPPORT:
        raise TooLarge(f"{smaller} sets of up to {m} of {len(w)} clients exceed {LARGEST_SUPPORT}; use runs")
    found = {(): Fraction(1)}
    for _ in range(m):
        grown: dict = {}
        for members, chance in found.items():
            left = total - sum(w[i] for i in members)
            for i in itertools.filterfalse(members.__contains__, range(len(w))):
                key = tuple(sorted((*members, i)))
                grown[key] = grown.get(key, Fraction(0)) + chance * w[i] / left
        found = grown
    return found


def Weighted(m, w, replace=False, steps=None, noise=0, batch=None) -> Law:
    """m clients a round, drawn one after the other with probabilities proportional to the weights w (n,), w_i > 0.

    replace=False: among those not yet drawn (FOCUS, Case 3); p_i, q_i = p_i/m and pairs are exact sums over the sets.
    replace=True: `WithReplacement`, each draw a fresh run, p_i = 1 - (1 - w_i)^m. Weights need not sum to 1.
    Raises BadInput for m < 1 or m > n, and for weights that are not positive (a client that never takes part).
    """
    if not is_count(m):
        refuse("m", m, "a cohort has at least one client", "Give an int >= 1.")
    weights = declare(w, "w")
    if weights.ndim > 1:
        refuse("w.shape", weights.shape, "one weight per client", "Give n numbers > 0.")
    exact = tuple(fraction(v) for v in weights.reshape(-1))
    check_flag(replace, "replace")
    if not exact:
        refuse("w", w, "one weight per client", "Give n numbers > 0.")
    for v in exact:
        if v <= 0:
            refuse("w", str(v), "weights are positive", "Leave out a client that never appears.")
    exact = tuple(v / sum(exact) for v in exact)
    if replace:
        return WithReplacement(int(m), exact, steps=steps, noise=noise, batch=batch)
    if m > len(exact):
        refuse("m", m, f"only {len(exact)} clients exist", "Choose m <= n.")
    return _WithoutReplacement(steps=steps, noise=noise, batch=batch, m=int(m), w=exact)


__all__ = ["Weighted"]
