"""Scaffnew under partial participation: which clients hear of each other, and the rounds in the limit of small steps.

Clients are numbered 1..N, a law is a list [(probability, set)]; k_i stands for eta tau (h_i - grad f_i(x*)).
"""
from fractions import Fraction

import numpy as np

from fltheory.core.numbers import linalg


def components(sets, N):
    """The clients 1..N grouped by the sets with at least two members."""
    group = {i: {i} for i in range(1, N + 1)}
    for S in sets:
        joined = set().union(*(group[i] for i in S)) if len(S) > 1 else set()
        group |= dict.fromkeys(joined, joined)
    return sorted({tuple(sorted(g)) for g in group.values()})


def mean_over(values, S):
    """Mean of the values (numbered from 1) of the members of a set."""
    found = [values[i - 1] for i in S]
    return sum(found) / len(found)


def small_step_round(x, k, S):
    """(x, k) after a round with shifts moved at once, eta = 0: the participants average their k, the server moves by it."""
    level = mean_over(k, S) if S else 0 * x
    return x + level, [level if i in S else v for i, v in enumerate(k, start=1)]


def small_step_round_late(x, k, last, S):
    """(x, k, last) after a round with shifts moved at the next pull, eta = 0."""
    k = [v + x - u if i in S else v for i, (v, u) in enumerate(zip(k, last, strict=True), start=1)]
    last = [x + v if i in S else u for i, (v, u) in enumerate(zip(k, last, strict=True), start=1)]
    return (mean_over(last, S) if S else x), k, last


def lost_spread(k, S):
    """|k|^2 before minus after the participants have averaged: half the squared differences over all pairs, by |S|."""
    inside = [k[i - 1] for i in S]
    return sum(((a - b) ** 2 for n, a in enumerate(inside) for b in inside[n + 1:]), 0 * k[0]) / max(len(inside), 1)


def slow_weights(law, N):
    """(w, s): x + sum_i w_i k_i keeps its mean at eta = 0 on sum k = 0; s = sum_i q_i, one minus the chance of nobody."""
    zero = 0 * law[0][0]
    L = np.array([[zero] * N for _ in range(N)], dtype=object)
    q = [zero] * N
    for chance, S in law:
        for i in S:
            q[i - 1] = q[i - 1] + chance / len(S)
            L[i - 1, i - 1] = L[i - 1, i - 1] + chance
            for j in S:
                L[i - 1, j - 1] = L[i - 1, j - 1] - chance / len(S)
    total = sum(q)
    return linalg.solve(L + 1, np.array([v - total / N for v in q], dtype=object)), total


def mean_round_late(p, q, x, k, last):
    """Mean of `small_step_round_late` over a law with participation probabilities p and averaging weights q."""
    server = x
    for w, v, u in zip(q, k, last, strict=True):
        server = server + w * (x - u + v)
    return (server, [v + a * (x - u) for a, v, u in zip(p, k, last, strict=True)],
            [u + a * (2 * (x - u) + v) for a, v, u in zip(p, k, last, strict=True)])


def secular(p, q, mu):
    """sum_j q_j/(mu + p_j)."""
    terms = [b / (mu + a) for a, b in zip(p, q, strict=True)]
    return sum(terms)


def growing_state(p, mu):
    """(x, k, last) of the late form that one mean round at eta = 0 multiplies by 1 + mu where `secular` is 1."""
    one = 0 * mu + 1
    return one / mu, [a / (mu + a) ** 2 for a in p], [one / mu - mu / (mu + a) ** 2 for a in p]


def excess(law, p):
    """sum_j q_j/p_j - 1 set by set: P(S) (N - |S|)/(N |S|) sum_{j in S} 1/p_j, 0 only for the set of everybody."""
    N = len(p)
    terms = [sum((c * Fraction(N - len(S), N * len(S)) / p[j - 1] for j in S), 0 * c) for c, S in law]
    return sum(terms)


def small_step_round_scaffold(x, k, S):
    """(x, k) after a round of SCAFFOLD at eta = 0, k_i = eta tau (c_i - grad f_i(x*)): participants forget their k."""
    level = (mean_over(k, S) - mean_over(k, range(1, len(k) + 1))) if S else 0 * x
    return x + level, [0 * v if i in S else v for i, v in enumerate(k, start=1)]


def slow_weights_scaffold(p, q):
    """w such that x + sum_i w_i k_i keeps its mean under `small_step_round_scaffold`: (q_i - mean of q)/p_i."""
    level = sum(q) / len(q)
    return [(b - level) / a for a, b in zip(p, q, strict=True)]
