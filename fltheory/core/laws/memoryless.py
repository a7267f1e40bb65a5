"""Laws that draw every round afresh: full (with a coin), uniform m of n, with replacement, Bernoulli."""
from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Slots, Steps, Stream, Who
from fltheory.core.laws import shares
from fltheory.core.laws.base import LARGEST_SUPPORT, Law, distribution, mask, probabilities
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import Number, Numbers, declare
from fltheory.core.records import count, declared, one_of


@dataclass(frozen=True)
class Full(Law):
    """Every client in every round: p_i = 1, q_i = 1/n."""

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        return [(Fraction(1), EVERYONE, np.ones(n, dtype=np.int64))]

    def cohort_count(self, n: int, mode: int = 0) -> int:
        return 1

    def sizes(self, n: int) -> list | None:
        return [(n, Fraction(1))]

    def uniforms_needed(self, n: int) -> int:
        return 0

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        return EVERYONE, np.ones(n, dtype=np.int64)


@dataclass(frozen=True)
class Coin(Full):
    """Every client works in every round; a coin of probability p in (0, 1], common to all, says who communicates.

    The coin is `draw.extra["coin"]` (..., 1), 1 where all communicate and 0 where nobody does (ProxSkip's theta_t).
    Algorithms that know no coin run as under `Full`. p_i = 1: whoever works takes part.
    """

    p: Any = declared(lambda p, what: probabilities(p, 1, what)[0], 1)

    def __init__(self, p: Number, steps: Steps = None, noise: Number = 0, batch: int | None = None):
        self.give(p=p, steps=steps, noise=noise, batch=batch)

    def sizes(self, n: int) -> list | None:
        """None: a round draws its coin as well."""

    def support(self, n: int, mode: int = 0, limit: int = LARGEST_SUPPORT) -> list[tuple[Number, Draw]]:
        """[(probability, Draw)], both sides of the coin, exact."""
        rounds = super().support(n, mode, limit)
        return [(q * chance, draw._replace(extra={"coin": np.array([side])}))
                for chance, side in ((self.p, 1), (1 - self.p, 0)) if chance != 0 for q, draw in rounds]

    def _extra(self, present):
        return {"coin": np.array([1])}  # the typical round communicates

    def sample(self, stream: Stream, n: int, batch: int, mode: Array = None, slots: Slots = None) -> tuple[Draw, Array]:
        draw, mode = super().sample(stream, n, batch, mode, slots)
        toss = stream.child("coin").random((batch, 1))
        return draw._replace(extra={"coin": (toss < self._once("p", lambda: float(self.p))) * 1}), mode


class OfSize(Law):
    """Laws of m different clients: `_sets(n)` lists (members, probability), `_arrivals` are numbers whose m smallest are the
    cohort, and `_both(n)` is P(i and j both take part) (n, n), None where that is too much to list."""

    m: int

    def _size(self, n):
        if self.m > n:
            refuse("m", self.m, f"only {n} clients exist", "Choose m <= n.")
        return self.m

    def cohort_count(self, n: int, mode: int = 0) -> int:
        return math.comb(n, self._size(n))

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        for members, chance in self._sets(n):
            yield chance, EVERYONE, mask(members, n)

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        order = np.argsort(self._arrivals(uniforms, n), axis=1)[:, :self._size(n)]
        return np.sort(order, axis=1), np.ones(order.shape, dtype=np.int64)

    def feature_moments(self, n: int) -> tuple | None:
        """|S| = m always, so the shares are the indicators over m."""
        both, m = self._both(n), self.m
        if both is None:
            return None
        one = both.diagonal()
        return np.concatenate([one, one / m]), np.block([[both, both / m], [both / m, both / m**2]]), Fraction(0)


COHORT = count(rule="a cohort has at least one client")


@dataclass(frozen=True)
class Uniform(OfSize):
    """m of n clients, uniformly without replacement: p_i = m/n, q_i = 1/n."""

    m: int = declared(COHORT, 1)

    def __init__(self, m: int, steps: Steps = None, noise: Number = 0, batch: int | None = None):
        self.give(m=m, steps=steps, noise=noise, batch=batch)

    def sizes(self, n: int) -> list | None:
        return [(self._size(n), Fraction(1))]

    def _sets(self, n):
        chance = Fraction(1, self.cohort_count(n))
        return ((members, chance) for members in itertools.combinations(range(n), self.m))

    def _arrivals(self, uniforms, n):
        return uniforms

    def _both(self, n):
        m = self._size(n)
        both = np.full((n, n), Fraction(m * (m - 1), max(n * (n - 1), 1)), dtype=object)
        np.fill_diagonal(both, Fraction(m, n))
        return both

    def tilted(self, n: int) -> shares.FixedSize:
        """The law's cohorts as `shares` integrates over them: in floats, any weights."""
        return shares.FixedSize(n, self._size(n))


MOST_DRAWS = 10**6


@dataclass(frozen=True)
class WithReplacement(Law):
    """q independent draws of a client, each a fresh run even if the client repeats (FedNova scheme (i), App. G).

    draws: q >= 1; probabilities: (n,) summing to 1, default uniform. p_i = 1 - (1 - w_i)^q.
    """

    draws: int = declared(count(1, MOST_DRAWS, f"at least one draw a round, and at most {MOST_DRAWS}"), 1)
    probabilities: Any = declared(distribution, None)
    repeats = True

    def __init__(self, draws: int, probabilities: Numbers = None, steps: Steps = None, noise: Number = 0,
                 batch: int | None = None):
        self.give(draws=draws, probabilities=probabilities, steps=steps, noise=noise, batch=batch)

    def _chances(self, n):
        if self.probabilities is None:
            return [Fraction(1, n)] * n
        if len(self.probabilities) != n:
            refuse("probabilities", len(self.probabilities), f"one per client, so {n}", "Give n numbers.")
        return self.probabilities

    def cohort_count(self, n: int, mode: int = 0) -> int:
        return n**self.draws

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        chances = self._chances(n)
        for places in itertools.product(range(n), repeat=self.draws):
            prob = math.prod((chances[i] for i in places), start=Fraction(1))  # exact or symbolic
            if prob != 0:
                yield prob, np.array(places), np.ones(self.draws, dtype=np.int64)

    def uniforms_needed(self, n: int) -> int:
        return self.draws

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        edges = self._once(("edges", n), lambda: np.cumsum([float(v) for v in self._chances(n)])[:-1])
        who = np.searchsorted(edges, uniforms, side="right")
        return who, np.ones(who.shape, dtype=np.int64)


def _participation(p, what):
    array = declare(p, what)
    if array.ndim > 1:
        refuse(what, array.shape, "one probability for all clients, or one each", "Give a number or n numbers.")
    probabilities(p, max(array.size, 1), what)
    return tuple(array.tolist()) if array.ndim and not isinstance(p, tuple) else p


@dataclass(frozen=True)
class Bernoulli(Law):
    """Independent participation with probabilities p_i in (0, 1].

    p: one number or one per client. empty: what a round without participants does: "move" runs the round
    with nobody present (FOCUS still moves its server), "skip" keeps the state, "redraw" conditions on a
    non-empty cohort.
    """

    p: Any = declared(_participation, 1)
    empty: str = declared(one_of("move", "skip", "redraw", remedy="Choose what an empty round does."), "move")

    def __init__(self, p: Numbers, empty: str = "move", steps: Steps = None, noise: Number = 0,
                 batch: int | None = None):
        self.give(p=p, empty=empty, steps=steps, noise=noise, batch=batch)

    def cohort_count(self, n: int, mode: int = 0) -> int:
        certain = sum(v == 1 for v in probabilities(self.p, n, "p"))
        return 2 ** (n - certain)

    def _nobody(self, p):
        return math.prod((1 - v for v in p), start=Fraction(1))

    def sizes(self, n: int) -> list | None:
        """Binomial where all p_i are equal numbers."""
        chances = probabilities(self.p, n, "p")
        if any(isinstance(v, Symbolic) or v != chances[0] for v in chances):
            return None
        p = Fraction(chances[0])
        nobody = 1 - self._nobody(chances) if self.empty == "redraw" else Fraction(1)
        terms = ((k, math.comb(n, k) * p**k * (1 - p) ** (n - k) / nobody) for k in range(self.empty == "redraw", n + 1))
        return [(k, q) for k, q in terms if q]

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        p = probabilities(self.p, n, "p")
        waiting: list[tuple] = [(Fraction(1) / (1 - self._nobody(p)) if self.empty == "redraw" else Fraction(1), ())]
        while waiting:  # client by client, so that a product is made once for all cohorts that begin alike
            chance, bits = waiting.pop()
            if len(bits) < n:
                v = p[len(bits)]
                waiting += [(chance * q, (*bits, b)) for b, q in (((1, v),) if v == 1 else ((1, v), (0, 1 - v)))]
            elif self.empty != "redraw" or any(bits):
                yield chance, EVERYONE, np.array(bits, dtype=np.int64)

    def uniforms_needed(self, n: int) -> int:
        return n + (1 if self.empty == "redraw" else 0)

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        p = self._once(("chances", n), lambda: np.array([float(v) for v in probabilities(self.p, n, "p")]))
        if self.empty != "redraw":
            return EVERYONE, (uniforms < p).astype(np.int64)
        # exact conditioning without rejection: first present client by its conditional law, the rest independent
        ahead = np.concatenate([[1.0], np.cumprod(1 - p)[:-1]])
        edges = np.cumsum(p * ahead) / (p * ahead).sum()
        first = np.minimum(np.searchsorted(edges, uniforms[:, -1], side="right"), n - 1)
        present = (uniforms[:, :n] < p) & (np.arange(n) > first[:, None]) | (np.arange(n) == first[:, None])
        return EVERYONE, present.astype(np.int64)

    def tilted(self, n: int) -> shares.Independent | None:
        """As of `Uniform`; symbols have none."""
        p = probabilities(self.p, n, "p")
        symbolic = any(isinstance(v, Symbolic) for v in p)
        return None if symbolic else shares.Independent([float(v) for v in p], self.empty == "redraw")

    def feature_moments(self, n: int) -> tuple | None:
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
