"""From orbits to the maps on first and second moments: cohorts of a size are equally likely, deviations sum to 0.

With D the mean of E e_i e_i' over n clients, E e_i e_j' = -D/(n - 1) for i != j; so the sum E of a cohort of k has covariance
k (n - k)/(n - 1) D, and with a participant's (an absent client's) deviation (n - k)/(n - 1) D (-k/(n - 1) D).
"""
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fltheory.core.numbers import linalg


def packed(whole, per_client):
    """(i, j) of the entries that are kept of a block-diagonal symmetric matrix: the upper halves of both blocks."""
    i, j = np.triu_indices(whole + per_client)
    keep = (i < whole) == (j < whole)
    return i[keep], j[keep]


class Side:
    """One orbit of a cohort: `inside` (participants) or `outside`. Weights are functions of the size k of the cohort."""

    def __init__(self, n, inside):
        self.n, self.inside = n, inside

    def count(self, k):
        return Fraction(k if self.inside else self.n - k)

    def share(self, k):
        return self.count(k) / self.n

    def along(self, k):
        """Share times the covariance of a client's deviation with the cohort's sum, in units of D."""
        return self.share(k) * Fraction(self.n - k if self.inside else -k, max(self.n - 1, 1))

    def peers(self, k):
        return self.share(k) * max(self.count(k) - 1, 0)

    def strangers(self, k):
        return self.share(k) * (self.n - self.count(k))

    def moves(self, j):
        """Orbits -> R, a, b of this side."""
        return lambda o: (o.inside if self.inside else o.outside)[j]

    def struck(self, j):
        """Orbits -> the responses to noise of a client of this side."""
        return lambda o: o.noise[0 if self.inside else 1][j]


class OrbitMoments:
    """sizes: [(k, P(k), features of k)]; parts: the orbits of each feature."""

    def __init__(self, probe, sizes, parts):
        self.n, self.domain, self.sizes, self.parts = probe.n, probe.domain, sizes, parts
        self.whole, self.per_client = probe.at.whole, probe.at.per_client
        self.sides = [Side(self.n, True), Side(self.n, False)]
        chances, below = linalg.cleared(np.array([q for _, q, _ in sizes], dtype=object))
        self._chances = [int(q) for q in chances], int(below)
        self.blocks = {"u": slice(0, self.whole), "e": slice(self.whole, self.whole + self.per_client)}

    def total(self, k):
        """The covariance of a cohort's sum of deviations, in units of D."""
        return Fraction(k * (self.n - k), max(self.n - 1, 1))

    def mean(self):
        """(size, size), block-diagonal: E u' from u, and the mean of e_i' from that of e_i."""
        out = self._zero()
        out[self.blocks["u"], self.blocks["u"]] = self._weighted(lambda o: o.P, lambda k: Fraction(1))
        e = self.blocks["e"]
        for side in self.sides:
            out[e, e] = out[e, e] + self._weighted(side.moves(1), side.share) + self._weighted(side.moves(2), side.along)
        return linalg.to_fractions(out)

    def second(self, variance):
        """(q, q): packed second moments after a round from those before it; variance: of one coordinate of one sample."""
        terms = [(target, source, list(self._products(left, right, weigh))) for target, source, left, right, weigh in self._terms()]
        entries = list(zip(*packed(self.whole, self.per_client), strict=True))
        columns = []
        for a, b in entries:
            X = self._zero()
            X[a, b] = X[b, a] = self.domain.scalar(1)
            out = 0 * X
            for target, source, products in terms:
                inner, scale = self._source(source, X, variance if a == b == 0 else 0)
                for w, L, R in products if scale else ():
                    moved = linalg.matmul(L if inner is None else linalg.matmul(L, inner), np.swapaxes(R, 0, 1))
                    out[self.blocks[target], self.blocks[target]] += self.domain.scalar(scale) * w * moved
            columns.append([out[entry] for entry in entries])
        return linalg.to_fractions(np.array(columns, dtype=object).T)

    def _source(self, source, X, variance):
        """(block of X that a term acts on, its factor); noise acts on no block."""
        if source == "noise":
            return None, variance
        inner = X[self.blocks[source], self.blocks[source]]
        return inner, int(any(v != 0 for v in inner.reshape(-1)))

    def _terms(self):
        """(target, source, left, right, weight of k): what second moments of u and of deviations are made of, L X R' each."""
        def P(o):
            return o.P

        def Q(o):
            return o.Q

        def means(select):
            return lambda o: select(o)[self.whole - self.per_client:]
        yield "u", "u", P, P, lambda k: Fraction(1)
        yield "u", "e", Q, Q, self.total
        # deviations after the round: mean square over the clients less the square of their mean
        yield "e", "u", means(P), means(P), lambda k: Fraction(-1)
        yield "e", "e", means(Q), means(Q), lambda k: -self.total(k)
        for side in self.sides:
            R, a, b = (side.moves(j) for j in range(3))
            of_u = side.struck(0)
            yield "e", "u", R, R, side.share
            yield "e", "e", a, a, side.share
            yield "e", "e", a, b, side.along
            yield "e", "e", b, a, side.along
            yield "e", "e", b, b, lambda k, side=side: side.share(k) * self.total(k)
            yield "u", "noise", of_u, of_u, side.count
            yield "e", "noise", means(of_u), means(of_u), lambda k, side=side: -side.count(k)
            for j, weigh in ((1, side.share), (2, side.peers), (3, side.strangers)):
                yield "e", "noise", side.struck(j), side.struck(j), weigh

    # ---- weights of features ---------------------------------------------------------------------------
    def _products(self, left, right, weigh):
        """(E[weigh(k) phi_f phi_g], left_f, right_g) of the parts that are not 0."""
        def nonzero(select):
            every = [(f, select(part)) for f, part in enumerate(self.parts)]
            return [(f, A) for f, A in every if any(v != 0 for v in A.flat)]
        lefts, rights = nonzero(left), nonzero(right)
        for f, L in lefts:
            for g, R in rights:
                w = self._expect(lambda k, phi, f=f, g=g: weigh(k) * phi[f] * phi[g])
                if w:
                    yield self.domain.scalar(w), L, R

    def _weighted(self, select, weigh):
        """E[weigh(k) select(orbits of k)]."""
        weights = [self._expect(lambda k, phi, f=f: weigh(k) * phi[f]) for f in range(len(self.parts))]
        return sum(self.domain.scalar(w) * select(part) for w, part in zip(weights, self.parts, strict=True))

    def _expect(self, number):
        """E number(k, features of k), summed over common denominators: probabilities of many sizes are long."""
        values = [Fraction(number(k, phi)) for k, _, phi in self.sizes]
        below = math.lcm(*(v.denominator for v in values))
        total = sum(q * v.numerator * (below // v.denominator) for q, v in zip(self._chances[0], values, strict=True))
        return Fraction(total, below * self._chances[1])

    def _zero(self):
        size = self.whole + self.per_client
        return self.domain.array(np.zeros((size, size), dtype=np.int64))
