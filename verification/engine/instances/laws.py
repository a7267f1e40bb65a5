"""Laws beside what their definitions say, written out by counting."""
from fractions import Fraction as Q

import fltheory as ft
from fltheory.core.laws.masks import Masks
from verification.engine.twins import laws as by_hand

HALF, P3, W3 = Q(1, 2), (Q(1, 2), Q(1, 3), Q(3, 4)), (Q(1, 2), Q(1, 3), Q(1, 6))
EMPTY = ("move", "skip", "redraw")


def law(name, make, n, cohorts, **more):
    """make: builds the law, so that a fault in its construction is met as well."""
    return ft.Instance(name, make=make, n=n, cohorts=cohorts, **more)


MEMORYLESS = [
    law("everybody", lambda: ft.Full(), 3, by_hand.full(3)),
    law("2 of 4", lambda: ft.Uniform(2), 4, by_hand.uniform(4, 2)),
    law("2 of 3 in turn", lambda: ft.Weighted(2, (3, 2, 1)), 3, by_hand.drawn_in_turn((Q(3), Q(2), Q(1)), 2)),
    law("3 of 4 in turn", lambda: ft.Weighted(3, (4, 3, 2, 1)), 4, by_hand.drawn_in_turn((Q(4), Q(3), Q(2), Q(1)), 3)),
    law("2 draws", lambda: ft.WithReplacement(2, ("1/2", "1/3", "1/6")), 3, by_hand.with_replacement(W3, 2)),
    *[law(f"independent, {e}", lambda e=e: ft.Bernoulli(("1/2", "1/3", "3/4"), e), 3, by_hand.bernoulli(P3, e)) for e in EMPTY],
    law("masks of 2 of 3 in turn", lambda: Masks(ft.Weighted(2, (3, 2, 1))), 3,
        by_hand.drawn_in_turn((Q(3), Q(2), Q(1)), 2)),
    law("arrivals", lambda: ft.EventClock((1, 3, 2)), 3, by_hand.full(3)),
]
HALVES = [ft.Bernoulli("1/2"), ft.Uniform(1), ft.Bernoulli(("1/2", "1/3", "3/4"))]
IN_TURN = [by_hand.bernoulli((HALF,) * 3), by_hand.uniform(3, 1), by_hand.bernoulli(P3)]
LONG_RUN = [
    law("period of three laws", lambda: ft.Periodic(HALVES), 3, by_hand.average(IN_TURN)),
    law("groups in turn", lambda: ft.Cyclic([[0, 1], [2]]), 3, by_hand.average([[(Q(1), (0, 1))], [(Q(1), (2,))]])),
    law("replayed", lambda: ft.Replay([([0], None), ([], None), ([0, 2], None), ([1], None)]), 3,
        by_hand.average([[(Q(1), s)] for s in ((0,), (), (0, 2), (1,))])),
    law("sticky", lambda: ft.Markov(("1/2", "1/3"), "1/4", 2), 2, by_hand.bernoulli((Q(1, 2), Q(1, 3)))),
]
FEATURES = [
    law("3 of 5", lambda: ft.Uniform(3), 5, by_hand.uniform(5, 3)), MEMORYLESS[2],
    *[law(f"independent, n = 4, {e}", lambda e=e: ft.Bernoulli(("1/2", "1/3", "3/4", "1/5"), e), 4,
          by_hand.bernoulli((*P3, Q(1, 5)), e)) for e in EMPTY],
]
STICKY = [
    law("equal", lambda: ft.Markov("1/3", "1/2", 2), 2, None, p=(Q(1, 3), Q(1, 3)), r=Q(1, 2)),
    law("unequal, alternating", lambda: ft.Markov(("1/2", "2/5"), "-1/3", 2), 2, None, p=(Q(1, 2), Q(2, 5)), r=Q(-1, 3)),
]
SCHEDULES = [
    law("groups in turn", lambda: ft.Cyclic([[0, 1], [2], [1]]), 3, None, rounds=[[(Q(1), s)] for s in ((0, 1), (2,), (1,))]),
    law("replayed, an empty round", lambda: ft.Replay([([0], 2), ([], 2), ([0, 2], 1)]), 3, None,
        rounds=[[(Q(1), s)] for s in ((0,), (), (0, 2))]),
    law("period of three laws", lambda: ft.Periodic(HALVES), 3, None, rounds=IN_TURN),
]
_PAIR = by_hand.bernoulli((Q(1, 2), Q(1, 3)))
_SURE = by_hand.bernoulli((Q(1, 2), Q(1)))
AGES = [
    law("cap 2", lambda: ft.Ages(ft.Bernoulli(("1/2", "1/3")), 2, 2), 2, _PAIR, cap=2, skip=False),
    law("cap 3, skipped", lambda: ft.Ages(ft.Bernoulli(("1/2", "1/3"), "skip"), 3, 2), 2, _PAIR, cap=3, skip=True),
    law("one always there", lambda: ft.Ages(ft.Bernoulli(("1/2", "1")), 3, 2), 2, _SURE, cap=3, skip=False),
]
IN_ROUNDS = [
    law("ages along groups in turn", lambda: ft.Ages(ft.Cyclic([[0, 1], [1], [1]]), 3, 2), 2, None,
        seen=[((0, 1), (1, 1)), ((1,), (1,)), ((1,), (1,)), ((0, 1), (3, 1)), ((1,), (1,)), ((1,), (1,)), ((0, 1), (3, 1))]),
]
COINS = [law("coin", lambda: ft.Coin("1/3"), 2, None, p=Q(1, 3)), law("sure", lambda: ft.Coin(1), 2, None, p=Q(1))]
SAMPLED = [*MEMORYLESS[1:8], *LONG_RUN]
