"""Fourth moments of the rounds of an operator: how far a squared error strays from its mean, exactly.

With h = (z, 1) and w = vech(h h'), the pairs h_i h_j with i <= j, one round maps E[w w'] linearly: every outcome A
acts by its compression C to pairs, and Gaussian noise adds the products of its covariance with second moments. What
`Moments` does for E[zz'] is done here for all moments up to order four, per mode of the law, in floats.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import TooLarge
from fltheory.core.kinds import Operator
from fltheory.core.numbers.scalars import FLOAT

LARGEST = 1e11  # multiplications of a whole computation, some ten seconds


@dataclass(frozen=True)
class Spread:
    """Exact means and variances of one metric of the server model before rounds 0..T, and over the last rounds.

    mean, variance (T + 1,): of the squared error e_t = |x_t - x*|^2; tail: (mean, variance) of its average over the
    last `tail_rounds` rounds; along: (mean, variance, fourth central moment) of <x_T - x*, direction>.
    """

    mean: np.ndarray
    variance: np.ndarray
    tail: tuple
    along: tuple | None


def spread(op: Operator, x0, at, rounds, tail_rounds, direction=None) -> Spread:
    """Moments up to order four of |x_t - at|^2 for an operator in floats whose additive noise is Gaussian.

    x0, at, direction: (d,); rounds >= 1; tail_rounds >= 1. Raises TooLarge if the outcomes of a round are not listed
    or the pairs of coordinates are too many.
    """
    op = op if op.domain is FLOAT else op.in_domain(FLOAT)
    moments = op.moments
    if any(mix.featured for mix in moments.mixtures):
        raise TooLarge("the cohorts of a round are too many to be listed, so fourth moments are not known")
    pairs = _Pairs(moments.size + 1)
    outcomes = sum(len(mix.first) for mix in moments.mixtures)
    cost = 4.0 * rounds * outcomes * pairs.count**3
    if cost > LARGEST:
        raise TooLarge(f"fourth moments of {moments.size} coordinates take {cost:.1g} operations, above {LARGEST:.0e}")
    steps = [[_Outcome.of(part, q, moments.variance, pairs) for part, q in zip(mix.parts, mix.first, strict=True) if q]
             for mix in moments.mixtures]
    V = op.domain.array(op.reach.V)
    E, e = op.model
    to_model = np.concatenate([E @ V, (E @ op.origin + e - np.asarray(at, dtype=float))[:, None]], axis=1)
    square = pairs.form(to_model.T @ to_model)

    pi, m, _ = op.begin(x0)
    total = np.where(pi == 0, 1, pi)[:, None]
    h = np.concatenate([m / total, np.ones((len(pi), 1))], axis=1)      # every mode starts at the same state
    w = np.stack([pairs.of(v) for v in h])
    fourth = pi[:, None, None] * w[:, :, None] * w[:, None, :]          # (J, pairs, pairs)
    summed, summed_square = 0 * w, 0.0                                  # E[S w 1{mode}], E[S^2] of the tail's sum S
    mean, variance = [], []
    for t in range(rounds + 1):
        if t:
            carried, fourth = moments.move(fourth), 0 * fourth
            moved, summed = moments.move(summed), 0 * summed
            for j, listed in enumerate(steps):
                for outcome in listed:
                    fourth[j] += outcome.push(carried[j], pairs)
                    summed[j] += outcome.mean(moved[j], pairs)
        now = fourth.sum(0)
        mean.append(square @ now @ pairs.one)
        variance.append(max(square @ now @ square - mean[-1] ** 2, 0.0))
        if t > rounds - tail_rounds:
            summed_square += 2 * square @ summed.sum(0) + square @ now @ square
            summed = summed + fourth @ square
    average = summed.sum(0) @ pairs.one / tail_rounds
    tail = average, max(summed_square / tail_rounds**2 - average**2, 0.0)
    return Spread(np.array(mean), np.array(variance), tail, _along(now, pairs, to_model, direction))


def _along(now, pairs, to_model, direction):
    if direction is None:
        return None
    a = np.asarray(direction, dtype=float) @ to_model
    centre = float(pairs.form(np.outer(a, pairs.last)) @ now @ pairs.one)
    gap = pairs.form(np.outer(*[a - centre * pairs.last] * 2))          # (<x - x*, direction> - centre)^2
    return centre, max(float(gap @ now @ pairs.one), 0.0), max(float(gap @ now @ gap), 0.0)


class _Pairs:
    """Index pairs i <= j of a vector h (s,) whose last entry is 1."""

    def __init__(self, s):
        self.s = s
        self.i, self.j = np.triu_indices(s)
        self.count = len(self.i)
        self.last = np.eye(s)[-1]
        self.one = self.of(self.last)                                    # picks the pair of the constant
        self.place = np.empty((s, s), dtype=int)
        self.place[self.i, self.j] = self.place[self.j, self.i] = np.arange(self.count)

    def of(self, h):
        return h[self.i] * h[self.j]

    def form(self, Q):
        """The coefficients of h'Qh on pairs."""
        return np.where(self.i == self.j, Q[self.i, self.j], Q[self.i, self.j] + Q[self.j, self.i])

    def compress(self, A):
        """The matrix of h h' -> A h h' A' on pairs."""
        i, j = self.i, self.j
        both = A[np.ix_(i, i)] * A[np.ix_(j, j)]
        return np.where(i == j, both, both + A[np.ix_(i, j)] * A[np.ix_(j, i)])


@dataclass(frozen=True)
class _Outcome:
    """One outcome of a round: its probability q, the compression C of h -> A h, the covariance N (s, s) of its noise."""

    q: float
    C: np.ndarray
    N: np.ndarray | None

    @classmethod
    def of(cls, part, q, variance, pairs):
        r = len(part)
        A = np.zeros((r + 1, r + 1))
        A[:r], A[r, r] = part[:, :r + 1], 1
        G, N = part[:, r + 1:], None
        if G.shape[1]:
            N = np.zeros((r + 1, r + 1))
            N[:r, :r] = variance * (G @ G.T)
        return cls(float(q), pairs.compress(A), N)

    def mean(self, second, pairs):
        """q E[w'] for weighted second moments E[w] on pairs."""
        new = self.C @ second
        return self.q * (new if self.N is None else new + (second @ pairs.one) * self.N[pairs.i, pairs.j])

    def push(self, fourth, pairs):
        """q E[w' w''] : the noise n is Gaussian, so E nnnn is the sum over the three pairings of N."""
        new = self.C @ fourth @ self.C.T
        if self.N is None:
            return self.q * new
        mass = pairs.one @ fourth @ pairs.one
        i, j, N = pairs.i, pairs.j, self.N
        S = (self.C @ fourth @ pairs.one)[pairs.place]                   # E[A h h' A'] (s, s)
        cross = S[np.ix_(i, i)] * N[np.ix_(j, j)] + S[np.ix_(i, j)] * N[np.ix_(j, i)]
        cross = cross + S[np.ix_(j, i)] * N[np.ix_(i, j)] + S[np.ix_(j, j)] * N[np.ix_(i, i)]
        second, flat = S[i, j], N[i, j]
        pairings = np.outer(flat, flat) + N[np.ix_(i, i)] * N[np.ix_(j, j)] + N[np.ix_(i, j)] * N[np.ix_(j, i)]
        return self.q * (new + cross + np.outer(second, flat) + np.outer(flat, second) + mass * pairings)
