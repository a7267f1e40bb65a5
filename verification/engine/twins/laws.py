"""Laws of participation by counting: every law is a list of (probability, members), written out from its definition."""
import itertools
import math
from fractions import Fraction as Q


def full(n):
    return [(Q(1), tuple(range(n)))]


def uniform(n, m):
    sets = list(itertools.combinations(range(n), m))
    return [(Q(1, len(sets)), s) for s in sets]


def drawn_in_turn(w, m):
    """m clients one after the other, each among those left with chances proportional to w: over all orders."""
    out = {}
    for order in itertools.permutations(range(len(w)), m):
        chance, left = Q(1), sum(w)
        for i in order:
            chance, left = chance * w[i] / left, left - w[i]
        out[tuple(sorted(order))] = out.get(tuple(sorted(order)), Q(0)) + chance
    return [(q, s) for s, q in out.items()]


def with_replacement(w, draws):
    """Every sequence of draws; a member stands once per draw."""
    return [(math.prod((w[i] for i in places), start=Q(1)), places)
            for places in itertools.product(range(len(w)), repeat=draws)]


def bernoulli(p, empty="move"):
    out = []
    for mask in itertools.product((0, 1), repeat=len(p)):
        chance = math.prod((v if b else 1 - v for v, b in zip(p, mask, strict=True)), start=Q(1))
        out.append((chance, tuple(i for i, b in enumerate(mask) if b)))
    if empty == "redraw":
        some = sum(q for q, s in out if s)
        out = [(q / some, s) for q, s in out if s]
    return [(q, s) for q, s in out if q]


def average(laws):
    """One of several laws, each as likely: what the rounds of a period are in the long run."""
    return [(q / len(laws), s) for law in laws for q, s in law]


def inclusion(cohorts, n):
    return [sum(q for q, s in cohorts if i in s) for i in range(n)]


def weights(cohorts, n):
    return [sum((q * Q(s.count(i), len(s)) for q, s in cohorts if s), Q(0)) for i in range(n)]


def pairs(cohorts, n):
    return [[sum((q for q, s in cohorts if i in s and j in s), Q(0)) for j in range(n)] for i in range(n)]


def features(cohorts, n):
    """(mean, second moments, chance of nobody) of (1{i in S}, 1{i in S}/|S|), one cohort after the other."""
    mean, second, nobody = [Q(0)] * (2 * n), [[Q(0)] * (2 * n) for _ in range(2 * n)], Q(0)
    for q, s in cohorts:
        if not s:
            nobody += q
            continue
        phi = [Q(int(i in s)) for i in range(n)] + [Q(int(i in s), len(s)) for i in range(n)]
        mean = [a + q * b for a, b in zip(mean, phi, strict=True)]
        second = [[a + q * u * v for a, v in zip(row, phi, strict=True)] for row, u in zip(second, phi, strict=False)]
    return mean, second, nobody


def chances(cohorts):
    """{sorted members: probability}."""
    out = {}
    for q, s in cohorts:
        key = tuple(sorted(s))
        out[key] = out.get(key, Q(0)) + q
    return out


# ---- with memory ------------------------------------------------------------------------------------------
def markov(p, r):
    """{(before, after): probability} of two sets: client i present with p_i, correlated by r from round to round.

    From the definition: P(in, in) = p p + r p (1 - p), the covariance of two rounds, divided by P(in).
    """
    def moves(a):
        both = a * a + r * a * (1 - a)
        return {(1, 1): both / a, (1, 0): 1 - both / a, (0, 1): (a - both) / (1 - a), (0, 0): (1 - 2 * a + both) / (1 - a)}
    out = {}
    for x in itertools.product((0, 1), repeat=len(p)):
        for y in itertools.product((0, 1), repeat=len(p)):
            key = tuple(tuple(i for i, b in enumerate(v) if b) for v in (x, y))
            out[key] = math.prod((moves(a)[u, v] for a, u, v in zip(p, x, y, strict=True)), start=Q(1))
    return out


def used_ages(cohorts, n, cap, rounds, skip=False):
    """{(members, their ages): probability} of the last of `rounds` independent rounds: ages count from a round of all."""
    now, used = {(1,) * n: Q(1)}, {}
    for _ in range(rounds):
        later, used = {}, {}
        for ages, chance in now.items():
            for q, s in cohorts:
                seen = tuple(sorted(s)), tuple(ages[i] for i in sorted(s))
                used[seen] = used.get(seen, Q(0)) + chance * q
                new = ages if skip and not s else tuple(1 if i in s else min(a + 1, cap) for i, a in enumerate(ages))
                later[new] = later.get(new, Q(0)) + chance * q
        now = later
    return used
