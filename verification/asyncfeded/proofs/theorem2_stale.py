"""Pencil proof of (11) for K = 1 without noise and heterogeneity outside the condition of `one_local_step`: nothing is
stale there.

delta = L N Gamma, v = L N eta_g <= 1, n2 = L^2 N^2. Take the first arrival with gamma > 0, and the iteration b at
which its client started: every arrival from b on moved the model by a gradient step at itself. gb = grad F(x_b), Fb,
Fs, Fj, Ft: F at x_b, after the first of those steps, after some of them, and at the arrival; gj the gradient there, D
= x_t - x_b.
"""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import theorem2 as f
from verification.asyncfeded.proofs.theorem2 import one_local_step

SQUARE, RADIUS = Q(50, 407), Q(71, 200)   # above delta^2 and delta; .3501 is the supremum of delta


def radius():
    """(C1) with K = 1: delta^2 <= SQUARE, and delta <= RADIUS."""
    p = ft.Proof("n2 delta log")
    n2, delta, log = p("n2 delta log")
    cap = p.given("(T1)", 1 - 18 * n2, "n2 = L^2 N^2 <= 1/18")
    inside = p.given("(C1)", 3 * n2 - delta**2 * (12 * n2 + log), "delta^2 = n2 Gamma^2, K = 1: 0 < Theta")
    two = p.given("ln 2", log - Q(69, 100), "ln 2 > 69/100")
    whole = p.follows("times 12 n2 + ln 2", (12 * n2 + log) * (SQUARE - delta**2), inside, (Q(621, 407 * 18), cap),
                      (SQUARE, two))
    square = p.cancel("square", SQUARE - delta**2, whole, p.follows("above 12 n2", log), 12 * n2)
    near = p.square("delta against 7/20", delta - Q(7, 20))
    return p.conclude(square, p.follows("delta", RADIUS - delta, (Q(10, 7), square), (Q(10, 7), near)))


def nothing_stale():
    """-7/100 |gb|^2 >= 0 at the first arrival that would be stale: gb = 0, so that x_t = x_b by A4: it is not stale."""
    p = ft.Proof("L delta v n2 log", "", "Fb Fs Fj Fn Ft", "gb gj D")
    L, delta, v, n2, log, Fs, Fj = p("L delta v n2 log Fs Fj")
    g, gj, D = p("gb gj D")
    cap = p.given("(T2)", 1 - v, "L N eta_g <= 1")
    outside = p.given("outside", v - 1 + delta**2, "L N eta_g + L^2 N^2 Gamma^2 > 1")
    p.given("(T1)", 1 - 18 * n2, "n2 = L^2 N^2 <= 1/18")
    p.given("(C1)", 3 * n2 - delta**2 * (12 * n2 + log), "delta^2 = n2 Gamma^2, K = 1: 0 < Theta")
    p.given("ln 2", log - Q(69, 100), "ln 2 > 69/100")
    square, small = (p.lemma(name, radius(), which) for which, name in ((0, "delta^2"), (1, "delta")))
    first = p.standard("first step", p("Fb") - Fs - v / L * (1 - v / 2) * g.square, "descent lemma",
                       "from x_b by -gb v/L")
    each = p.standard("a later step", Fj - p("Fn") - v / L * (1 - v / 2) * gj.square, "descent lemma",
                      "a gradient step at x_j")
    held = p.suppose("after some steps", Fs - Fj)
    then = p.follows("after the next", Fs - p("Fn"), held, each, (v / (2 * L) * gj.square, cap))
    fallen = p.induct("at the arrival", held, then, {"Fj": Fs}, {"Fj": "Fn"}, {"Fj": "Ft"})
    stale = p.given("(A4)", delta**2 / L**2 * g.square - D.square, "|x_t - x_b| <= Gamma N |gb|")
    below = p.standard("from below", p("Ft") - p("Fb") - g.dot(D) + L / 2 * D.square, "descent lemma",
                       "for -F, from x_b to x_t")
    young = p.square("Young", g + L / delta * D)
    least = p.follows("F is not far below", p("Ft") - p("Fb") + (delta + delta**2 / 2) / L * g.square, below,
                      (delta / (2 * L), young),
                      (L / (2 * delta), stale), (L / 2, stale))
    step = p.follows("length of the step", v * (1 - v / 2) - (1 - delta**4) / 2, (Q(1, 2), cap, outside),
                     (delta**2 / 2, outside))
    both = p.follows("both together", (delta + delta**2 / 2 - (1 - delta**4) / 2) / L * g.square, least, fallen, first,
                     (g.square / L, step))
    return p.conclude(p.follows("no gradient", -Q(7, 100) * g.square, (L, both), (g.square, small),
                                (g.square / 2, square),
                                (g.square * (SQUARE + delta**2) / 2, square)))


def fresh():
    """(11) where no arrival is stale and L N eta_g <= 1: `one_local_step` at Gamma = 0."""
    p = ft.Proof("L eta_g N T", "total", "F1 FT inf")
    L, eta_g, N, T = p("L eta_g N T")
    p.given("(T2)", 1 - L * eta_g * N)
    p.given("minimum", p("FT") - p("inf"), "F(x_*) <= F(x_{T+1})")
    end = p.lemma("no staleness", one_local_step(), Gamma2=L * 0)
    bound = f.bound(L, 1, N, 1, 0, eta_g, T, p("F1") - p("inf"), 0, 0)
    return p.conclude(p.follows("(11)", sum(bound.values()) - p("total") / T, end))
