"""Moments, chains and samplers of every law, against counting."""
import math
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.runs.streams import Stream
from verification.engine.faults import these
from verification.engine.instances import laws as on
from verification.engine.twins import laws as by_hand

LISTED = "the listed laws, every cohort counted"
MANY = 4096


def flat(table):
    return [v for row in table for v in row]


@ft.claim("law-moments", on=[*on.MEMORYLESS, *on.LONG_RUN], domain=LISTED, rejects=these("weighted-with-what-is-left"))
def law_moments(i):
    """Inclusion probabilities, averaging weights and pairs of a law are those of its cohorts, counted one by one."""
    law = i.make()
    return [ft.equal(law.inclusion(i.n), by_hand.inclusion(i.cohorts, i.n), "inclusion"),
            ft.equal(law.averaging_weights(i.n), by_hand.weights(i.cohorts, i.n), "averaging weights"),
            ft.equal(flat(law.pairs(i.n)), flat(by_hand.pairs(i.cohorts, i.n)), "pairs")]


@ft.claim("law-features", on=on.FEATURES, domain=LISTED, rejects=these("bernoulli-pairs"))
def law_features(i):
    """First and second moments of (1{i in S}, 1{i in S}/|S|) and the chance of nobody are those counted over all cohorts."""
    mean, second, nobody = i.make().feature_moments(i.n)
    wanted = by_hand.features(i.cohorts, i.n)
    return [ft.equal(list(mean), wanted[0], "mean"), ft.equal(flat(second), flat(wanted[1]), "second"),
            ft.equal(nobody, wanted[2], "nobody")]


def cohorts_of(law, n, mode=0):
    """[(probability, members)] as the law lists its outcomes, in plain numbers."""
    out = []
    for q, draw in law.support(n, mode):
        who = range(n) if isinstance(draw.who, slice) else draw.who
        out.append((q, tuple(int(k) for k, here in zip(who, draw.present, strict=True) if here)))
    return out


@ft.claim("law-cohorts", on=on.MEMORYLESS, domain=LISTED, rejects=these("weighted-with-what-is-left"))
def law_cohorts(i):
    """A law lists every cohort with its probability, and no other."""
    listed, wanted = (by_hand.chances(c) for c in (cohorts_of(i.make().with_steps(1), i.n), i.cohorts))
    keys = sorted({*listed, *wanted})
    return ft.equal([listed.get(k, Q(0)) for k in keys], [wanted.get(k, Q(0)) for k in keys])


@ft.claim("law-sticky", on=on.STICKY, domain=LISTED, rejects=these("markov-stay"))
def law_sticky(i):
    """The joint chain of Markov participation has the transition probabilities that p and the correlation define, and
    starts in, and keeps, its stationary law."""
    wanted = by_hand.markov(i.p, i.r)
    start = by_hand.chances(by_hand.bernoulli(i.p))
    law = i.make()
    chain = {(a, b): law.chain()[k][j] for k, a in enumerate(law.sets) for j, b in enumerate(law.sets)}
    return [ft.equal([chain[k] for k in wanted], list(wanted.values()), "transitions"),
            ft.equal(law.start(), [start[s] for s in law.sets], "start"),
            ft.equal(law.stationary(), [start[s] for s in law.sets], "long run")]


@ft.claim("law-in-turn", on=on.SCHEDULES, domain=LISTED + ", two periods", rejects=these("replay-starts-late"))
def law_in_turn(i):
    """A law with a period acts in the order in which it is written, from its first round on."""
    law, out = i.make(), []
    pi, chain = list(law.start()), law.chain()
    for t in range(2 * len(i.rounds)):
        pi = [sum((pi[k] * chain[k][j] for k in range(law.modes)), Q(0)) for j in range(law.modes)]
        seen = {}
        for j, chance in enumerate(pi):
            for q, who, present in law.cohorts(i.n, j) if chance else ():
                members = tuple(int(k) for k in np.arange(i.n)[who][np.asarray(present) > 0])
                seen[members] = seen.get(members, Q(0)) + chance * q
        wanted = by_hand.chances(i.rounds[t % len(i.rounds)])
        keys = sorted({*seen, *wanted})
        out.append(ft.equal([seen.get(k, Q(0)) for k in keys], [wanted.get(k, Q(0)) for k in keys], f"round {t}"))
    return out


def ages_seen(law, n, rounds):
    """[{(members, their ages): probability}] of every round, as the law lists them."""
    law, pi, out = law.with_steps(1), list(law.start()), []
    chain = law.chain()
    for _ in range(rounds):
        pi = [sum((pi[k] * chain[k][j] for k in range(law.modes)), Q(0)) for j in range(law.modes)]
        seen = {}
        for j, chance in enumerate(pi):
            for q, draw in law.support(n, j) if chance else ():
                members = tuple(int(k) for k in np.flatnonzero(draw.present))
                key = members, tuple(int(draw.extra["age"][k]) for k in members)
                seen[key] = seen.get(key, Q(0)) + chance * q
        out.append(seen)
    return out


@ft.claim("law-ages", on=on.AGES, domain=LISTED + ", four rounds", rejects=these("ages-impossible-moves"))
def law_ages(i):
    """The ages that a law hands to its participants are counted from a first round of all, up to the cap."""
    out = []
    for t, seen in enumerate(ages_seen(i.make(), i.n, 4)):
        wanted = by_hand.used_ages(i.cohorts, i.n, i.cap, t + 1, i.skip)
        keys = sorted({*seen, *wanted})
        out.append(ft.equal([seen.get(k, Q(0)) for k in keys], [wanted.get(k, Q(0)) for k in keys], f"round {t}"))
    return out


@ft.claim("law-ages-in-turn", on=on.IN_ROUNDS, domain=LISTED + ", seven rounds", rejects=these("ages-impossible-moves"))
def law_ages_in_turn(i):
    """Along a fixed schedule the ages are those that one counts on one's fingers."""
    return [ft.equal(seen.get(wanted, Q(0)), 1, f"round {t}")
            for t, (seen, wanted) in enumerate(zip(ages_seen(i.make(), i.n, len(i.seen)), i.seen, strict=True))]


@ft.claim("law-coin", on=on.COINS, domain=LISTED, rejects=these("coin-other-side"))
def law_coin(i):
    """A coin shows 1 with its probability, and something in every round."""
    sides = [(q, int(draw.extra["coin"][0])) for q, draw in i.make().with_steps(1).support(i.n)]
    return [ft.equal(sum((q for q, side in sides if side), Q(0)), i.p, "shows 1"),
            ft.equal(sum((q for q, _ in sides), Q(0)), 1, "shows something")]


@ft.claim("law-samplers", on=on.SAMPLED, rejects=these("redraw-first-member"))
def law_samplers(i):
    """The sampler of a law draws every cohort as often as counting says, within five standard deviations."""
    law, mode = i.make().with_steps(1), None
    if law.modes > 1:  # in the long run: one block from every mode of the stationary law
        edges = np.cumsum([float(v) for v in law.stationary()])
        mode = np.searchsorted(edges, (np.arange(MANY) + 0.5) / MANY)
        if type(law) is ft.Periodic:
            return [c for k in range(3) for c in _frequencies(law, i.n, np.full(MANY, (k + 2) % 3), on.IN_TURN[k], k)]
    return _frequencies(law, i.n, mode, i.cohorts, 0)


def _frequencies(law, n, mode, cohorts, key):
    draw, _ = law.sample(Stream(7, "claim", key), n, MANY, mode)
    present = np.broadcast_to(draw.present, (MANY, draw.present.shape[-1]))
    seen = {}
    for r in range(MANY):
        who = range(n) if isinstance(draw.who, slice) else draw.who[r]
        members = tuple(sorted(int(k) for k, here in zip(who, present[r], strict=True) if here))
        seen[members] = seen.get(members, 0) + 1
    wanted, out = by_hand.chances(cohorts), []
    for members in sorted({*seen, *wanted}):
        p = float(wanted.get(members, 0))
        spread = math.sqrt(p * (1 - p) / MANY)
        out.append(ft.at_most(abs(seen.get(members, 0) / MANY - p), 5.0 * spread + 1e-12, f"cohort {members}"))
    return out
