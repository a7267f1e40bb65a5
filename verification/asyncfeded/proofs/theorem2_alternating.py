"""Pencil proof for the counter-examples with two clients in turn: all models stay near the point where both pull
equally.

Inside their straight part client i moves its start y by -Q_i (y - B_i). Deviations from the point where Q_1 (x - B_1)
= -kappa and Q_2 (x - B_2) = kappa: u after client 2, v after client 1 just before, d = u - v + g kappa. The run starts
at that point, so that after the first period v = g kappa and u = d = 0.
"""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas.theorem2 import RADIUS


def after_client2():
    """|u| <= 2 g kappa after every period, if g (Q_1 + Q_2) <= 1/3."""
    p = ft.Proof("g Q1 Q2 kappa", "", "u d uE dE")
    g, Q1, Q2, kappa, u, d = p("g Q1 Q2 kappa u d")
    a, s = g * (Q1 + Q2), Q1 + Q2
    cap = p.given("small server step", 1 - 3 * a, "g (Q_1 + Q_2) <= 1/3")

    def inside(u, d):
        return 4 * g**2 * kappa**2 - u**2 - 4 * a * d**2

    def moved(u, d):   # client 1 from v = u - d + g kappa, then client 2 from u
        return u - g * Q1 * (u - d + g * kappa) - g * Q2 * u, -g * Q2 * u
    held = p.suppose("after j periods", inside(u, d))
    y = Q1 / s * (d - g * kappa)
    apart = p.square("apart", u - y, says="u_{j+1} is between u and y = Q_1 (d - g kappa)/(Q_1 + Q_2)")
    near, own, other = p.square("d + g kappa", d + g * kappa), p.square("u", u), p.square("d", d)
    then = p.follows("after j + 1 periods", inside(*moved(u, d)), (Q(5, 6), held), (Q(1, 6), cap, held),
                     (2 * a / 3, apart),
                     (a / 3, cap, apart), (a * (Q1 / s) ** 2, near), (4 * a / 9 * (1 + 3 * a), cap, own),
                     (2 * a / 3, cap, other))
    end = p.induct("every period", held, then, {"u": 0, "d": 0}, {"u": moved(u, d)[0], "d": moved(u, d)[1]},
                   {"u": "uE", "d": "dE"})
    return p.conclude(p.follows("after client 2", 4 * g**2 * kappa**2 - p("uE") ** 2, end,
                                (4 * a, p.square("dE", p("dE")))))


def box():
    """|v| <= RADIUS g kappa, too: v lies between the u of two periods."""
    p = ft.Proof("g Q1 Q2 kappa", "", "u v un")
    g, Q1, Q2, kappa, u, v, un = p("g Q1 Q2 kappa u v un")
    cap = p.given("small server step", 1 - 3 * g * (Q1 + Q2), "g (Q_1 + Q_2) <= 1/3")
    last, now = (p.lemma(f"after client 2, {name}", after_client2(), uE=w) for name, w in (("before", u), ("next", un)))
    same = p.define("client 2", v - un - g * Q2 * u - g * kappa, "un = v - g Q_2 u - g kappa")
    parts = un, g * Q2 * u, g * kappa
    apart = [p.square(f"apart {k}", parts[k] - parts[k - 1]) for k in range(3)]
    small = p.follows("g Q_2 is at most 1/3", 1 - 3 * g * Q2, cap)
    whole = un + g * Q2 * u + g * kappa
    bound = p.follows("square of the sum", RADIUS**2 * g**2 * kappa**2 - whole**2, *apart, (3, now),
                      (3 * g**2 * Q2**2, last),
                      (12 * g**2 * kappa**2 * (1 + 3 * g * Q2) / 9, small))
    return p.conclude(last, p.follows("after client 1", RADIUS**2 * g**2 * kappa**2 - v**2, bound,
                                      (-(v + whole), same)))
