"""Laws that draw every round afresh: full, uniform m of n, with replacement, independent Bernoulli."""
from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.arrays import EVERYONE
from fltheory.core.elements import Symbolic
from fltheory.core.errors import is_one_of, refuse
from fltheory.core.laws.base import Law, distribution, probabilities
from fltheory.core.laws.shares import FixedSize, Independent
from fltheory.core.scalars import declare, is_count


@dataclass(frozen=True)
class Full(Law):
    """Every client in every round: p_i = 1, q_i = 1/n."""

    def cohorts(self, n, mode=0):
        return [(Fraction(1), EVERYONE, np.ones(n, dtype=np.int64))]

    def cohort_count(self, n, mode=0):
        return 1

    def uniforms_needed(self, n):
        return 0

    def sample_cohort(self, uniforms, n, mode):
        return EVERYONE, np.ones(n, dtype=np.int64)


@dataclass(frozen=True)
class Uniform(Law):
    """m of n clients, uniformly without replacement: p_i = m/n, q_i = 1/n."""

    m: int = 1

    def __init__(self, m, steps=None, noise=0, batch=None):
        for k, v in (("m", m), ("steps", steps), ("noise", noise), ("batch", batch)):
            object.__setattr__(self, k, v)
        if not is_count(m):
            refuse("m", m, "a cohort has at least one client", "Give an int >= 1.")
        self.__post_init__()

    def _size(self, n):
        if self.m > n:
            refuse("m", self.m, f"only {n} clients exist", "Choose m <= n.")
        return self.m

    def cohort_count(self, n, mode=0):
        return math.comb(n, self._size(n))

    def cohorts(self, n, mode=0):
        prob = Fraction(1, self.cohort_count(n))
        for members in itertools.combinations(range(n), self.m):
            present = np.zeros(n, dtype=np.int64)
            present[list(members)] = 1
            yield prob, EVERYONE, present

    def sample_cohort(self, uniforms, n, mode):
        order = np.argsort(uniforms, axis=1)[:, :self._size(n)]
        return np.sort(order, axis=1), np.ones(order.shape, dtype=np.int64)

    def tilted(self, n):
        """The law's cohorts as `shares` integrates over them: in floats, any weights."""
        return FixedSize(n, self._size(n))

    def feature_moments(self, n):
        m = self._size(n)
        one = Fraction(m, n)
        two = Fraction(m * (m - 1), n * (n - 1)) if n > 1 else Fraction(0)
        block = np.array([[one if i == j else two for j in range(n)] for i in range(n)], dtype=object)
        mean = np.array([one] * n + [one / m] * n, dtype=object)
        return mean, np.block([[block, block / m], [block / m, block / m**2]]), Fraction(0)


MOST_DRAWS = 10**6


@dataclass(frozen=True)
class WithReplacement(Law):
    """q independent draws of a client, each a fresh run even if the client repeats (FedNova scheme (i), App. G).

    draws: q >= 1; probabilities: (n,) summing to 1, default uniform. p_i = 1 - (1 - w_i)^q.
    """

    draws: int = 1
    probabilities: object = None
    repeats = True

    def __init__(self, draws, probabilities=None, steps=None, noise=0, batch=None):
        chances = None if probabilities is None else tuple(declare(probabilities, "probabilities").reshape(-1))
        if chances:
            chances = distribution(probabilities, "probabilities")
        given = {"draws": draws, "probabilities": chances, "steps": steps, "noise": noise, "batch": batch}
        for k, v in given.items():
            object.__setattr__(self, k, v)
        if not is_count(draws) or draws > MOST_DRAWS:
            refuse("draws", draws, f"at least one draw a round, and at most {MOST_DRAWS}", "Give an int >= 1.")
        if chances == ():
            refuse("probabilities", chances, "one per client", "Give n numbers, or None for uniform draws.")
        self.__post_init__()

    def _chances(self, n):
        if self.probabilities is None:
            return [Fraction(1, n)] * n
        if len(self.probabilities) != n:
            refuse("probabilities", len(self.probabilities), f"one per client, so {n}", "Give n numbers.")
        return self.probabilities

    def cohort_count(self, n, mode=0):
        return n**self.draws

    def cohorts(self, n, mode=0):
        chances = self._chances(n)
        for places in itertools.product(range(n), repeat=self.draws):
            prob = math.prod((chances[i] for i in places), start=Fraction(1))  # exact or symbolic
            if prob != 0:
                yield prob, np.array(places), np.ones(self.draws, dtype=np.int64)

    def uniforms_needed(self, n):
        return self.draws

    def sample_cohort(self, uniforms, n, mode):
        edges = self._once(("edges", n), lambda: np.cumsum([float(v) for v in self._chances(n)])[:-1])
        who = np.searchsorted(edges, uniforms, side="right")
        return who, np.ones(who.shape, dtype=np.int64)


@dataclass(frozen=True)
class Bernoulli(Law):
    """Independent participation with probabilities p_i in (0, 1].

    p: one number or one per client. empty: what a round without participants does: "move" runs the round
    with nobody present (FOCUS still moves its server), "skip" keeps the state, "redraw" conditions on a
    non-empty cohort.
    """

    p: object = 1
    empty: str = "move"

    def __init__(self, p, empty="move", steps=None, noise=0, batch=None):
        declared = declare(p, "p")
        if declared.ndim > 1:
            refuse("p", declared.shape, "one probability for all clients, or one each", "Give a number or n numbers.")
        values = tuple(declared.tolist()) if declared.ndim and not isinstance(p, tuple) else p
        for k, v in (("p", values), ("empty", empty), ("steps", steps), ("noise", noise), ("batch", batch)):
            object.__setattr__(self, k, v)
        if not is_one_of(empty, ("move", "skip", "redraw")):
            refuse("empty", empty, 'is one of "move", "skip", "redraw"', "Choose what an empty round does.")
        probabilities(values, max(declared.size, 1), "p")
        self.__post_init__()

    def cohort_count(self, n, mode=0):
        certain = sum(v == 1 for v in probabilities(self.p, n, "p"))
        return 2 ** (n - certain)

    def _nobody(self, p):
        return math.prod((1 - v for v in p), start=Fraction(1))

    def cohorts(self, n, mode=0):
        p = probabilities(self.p, n, "p")
        waiting = [(Fraction(1) / (1 - self._nobody(p)) if self.empty == "redraw" else Fraction(1), ())]
        while waiting:  # client by client, so that a product is made once for all cohorts that begin alike
            chance, bits = waiting.pop()
            if len(bits) < n:
                v = p[len(bits)]
                waiting += [(chance * q, (*bits, b)) for b, q in (((1, v),) if v == 1 else ((1, v), (0, 1 - v)))]
            elif self.empty != "redraw" or any(bits):
                yield chance, EVERYONE, np.array(bits, dtype=np.int64)

    def uniforms_needed(self, n):
        return n + (1 if self.empty == "redraw" else 0)

    def sample_cohort(self, uniforms, n, mode):
        p = self._once(("chances", n), lambda: np.array([float(v) for v in probabilities(self.p, n, "p")]))
        if self.empty != "redraw":
            return EVERYONE, (uniforms < p).astype(np.int64)
        # exact conditioning without rejection: first present client by its conditional law, the rest independent
        ahead = np.concatenate([[1.0], np.cumprod(1 - p)[:-1]])
        edges = np.cumsum(p * ahead) / (p * ahead).sum()
        first = np.minimum(np.searchsorted(edges, uniforms[:, -1], side="right"), n - 1)
        present = (uniforms[:, :n] < p) & (np.arange(n) > first[:, None]) | (np.arange(n) == first[:, None])
        return EVERYONE, present.astype(np.int64)

    def tilted(self, n):
        """As of `Uniform`; symbols have none."""
        p = probabilities(self.p, n, "p")
        return None if any(isinstance(v, Symbolic) for v in p) else Independent([float(v) for v in p], self.empty == "redraw")

    def feature_moments(self, n):
        """Leave-two-out counts: E[I_i I_j |S|^-k] for k = 0, 1, 2 in O(n^3), exact."""
        return _bernoulli_moments(tuple(probabilities(self.p, n, "p")), self.empty)


@functools.lru_cache(maxsize=64)
def _bernoulli_moments(p, empty):
    n = len(p)
    blocks = [np.empty((n, n), dtype=object) for _ in range(3)]
    for i in range(n):
        for j in range(i, n):
            others = _count_law([p[k] for k in range(n) if k not in (i, j)])
            both, extra = (p[i], 1) if i == j else (p[i] * p[j], 2)
            for k in range(3):
                value = both * sum((c / Fraction(s + extra) ** k for s, c in enumerate(others)), Fraction(0))
                blocks[k][i, j] = blocks[k][j, i] = value
    nobody = math.prod((1 - v for v in p), start=Fraction(1))
    mean = np.array([*p, *(blocks[1][i, i] for i in range(n))], dtype=object)
    second = np.block([[blocks[0], blocks[1]], [blocks[1], blocks[2]]])
    if empty == "redraw":
        return mean / (1 - nobody), second / (1 - nobody), Fraction(0)
    return mean, second, nobody


def _count_law(p):
    """Distribution of the number of successes of independent trials."""
    law = [Fraction(1)]
    for v in p:
        law = [(law[s] * (1 - v) if s < len(law) else 0) + (law[s - 1] * v if s else 0) for s in range(len(law) + 1)]
    return law
