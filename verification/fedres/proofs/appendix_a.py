"""Pencil proofs of Appendix A, Lemma 3 by a repaired induction, and of beta <= gamma/N."""
import fltheory as ft
from verification.fedres.formulas import appendix_a as f

FUNCTIONS = "all functions under the hypotheses, in every dimension; the steps are held against values and gradients of listed ones"
SEQUENCES = "all sequences, c, d and r under the hypotheses; the steps are held against listed sequences"


def lemma1():
    """f(a) - f(b) by the descent lemma from c to a and convexity from c to b."""
    p = ft.Proof("gamma", "", "fa fb fc", "a b g")
    gamma, fa, fb, fc, a, b, g = p("gamma fa fb fc a b g")
    up = p.standard("from c to a", fc + g.dot(a) + gamma / 2 * a.square - fa, "descent lemma", "a, b stand for a - c, b - c; g = "
                                                                                               "grad f(c)")
    below = p.standard("from c to b", fb - fc - g.dot(b), "strong convexity", "with mu = 0: convexity")
    bound = sum(f.lemma1(gamma, g.dot(a - b), a.square).values())
    return p.conclude(p.follows("Lemma 1", bound - (fa - fb), up, below))


def lemma2():
    """f(x) - f(x*) by strong convexity from x to x*."""
    p = ft.Proof("beta", "", "fx fs", "v g")
    beta, fx, fs, v, g = p("beta fx fs v g")
    below = p.standard("from x to x*", fs - fx - g.dot(v) - beta / 2 * v.square, "strong convexity", "v = x* - x, g = grad f(x)")
    young = p.square("Young", g + beta * v)
    return p.conclude(p.follows("Lemma 2", sum(f.lemma2(beta, g.square).values()) - (fx - fs), below, (1 / (2 * beta), young)))


def lemma3():
    """2 sqrt(cd) <= 1. With y = 1/2 - cB >= 0 the recursion reads y' >= y^2 + 1/4 - cd, without a case distinction."""
    p = ft.Proof("c r", "e y y1 z k J", "d B")
    c, r, e, y, y1, z, k, J, d, B = p("c r e y y1 z k J d B")
    m = 1 - 2 * c * e
    root = p.define("root", d - c * e**2, "e = sqrt(d/c)")
    small = p.given("2 sqrt(cd) <= 1", m)
    recursion = p.given("recursion", y1 - y**2 - ft.fraction("1/4") + c * d, "y = 1/2 - cB_r >= 0, y1 = 1/2 - cB_{r+1} >= 0, "
                                                                            "k = r - 1")
    held = p.suppose("bound at k", (k + 2) * y - m * k / 2)
    square = p.square("distance to the bound", (k + 2) * y - m * k / 2)
    whole = p.follows("bound at k + 1, times (k + 2)^2", (k + 2) ** 2 * ((k + 3) * y1 - m * (k + 1) / 2),
                      ((k + 2) ** 2 * (k + 3), recursion), (-c * (k + 2) ** 2 * (k + 3), root), (k + 3, square),
                      ((k + 3) * k, held, small), (2 * c * e * (k + 1) * (k + 3) + 1, small))
    factor = p.follows("a factor >= 4", (k + 2) ** 2 - 4)
    then = p.cancel("the bound at k + 1", (k + 3) * y1 - m * (k + 1) / 2, whole, factor, 4)
    every = p.induct("bound at every r", held, then, {"k": 0, "y": y}, {"k": k + 1, "y": y1}, {"k": J, "y": "z"})
    index = p.define("index", r - J - 1, "r = J + 1")
    value = p.define("value", z - ft.fraction("1/2") + c * B, "z = 1/2 - cB_r")
    scale = 1 / (c * (r + 1))
    sharper = p.follows("sharper", sum(f.lemma3_sharper(c, e, r).values()) - B, (scale, every), ((z - m / 2) * scale, index),
                        (-1 / c, value))
    return p.conclude(p.follows("Lemma 3", sum(f.lemma3(c, e, r).values()) - B, sharper), sharper)


def lemma3_large():
    """2 sqrt(cd) >= 1: the hypothesis B_r <= 1/(2c) is the stronger bound."""
    p = ft.Proof("c r", "E", "B")
    c, r, E, B = p("c r E B")
    large = p.given("2 sqrt(cd) >= 1", 2 * c * E - 1, "E = sqrt(d/c)")
    cap = p.given("cap", 1 / (2 * c) - B)
    return p.conclude(p.follows("Lemma 3", sum(f.lemma3(c, E, r).values()) - B, cap, (1 / (2 * c), large)))


def lemma4():
    """Induction over r with q = (1 - c)^(r-1)."""
    p = ft.Proof("c d", "B B1 B2 BR q Q")
    c, d, B, B1, B2, q = p("c d B B1 B2 q")
    below = p.given("c < 1", 1 - c)
    recursion = p.given("recursion", (1 - c) * B + d - B2, "B = B_r, B2 = B_{r+1}")
    held = p.suppose("bound at r", sum(f.lemma4(q, c, d, B1).values()) - B, "q = (1 - c)^(r - 1)")
    then = p.follows("bound at r + 1", sum(f.lemma4((1 - c) * q, c, d, B1).values()) - B2, recursion, (held, below))
    return p.conclude(p.induct("Lemma 4", held, then, {"q": 1, "B": B1}, {"q": (1 - c) * q, "B": B2}, {"q": "Q", "B": "BR"},
                               keeps={"q": (below, q)}))


def beta_cap():
    """F moves along theta_i alone by a unit vector v: strong convexity of F both ways, and Assumption 1 for L_i."""
    p = ft.Proof("gamma beta N", "", "F0 F1", "v g u")
    gamma, beta, N, F0, F1, v, g, u = p("gamma beta N F0 F1 v g u")
    there = p.standard("there", F1 - F0 - g.dot(v) / N - beta / 2 * v.square, "strong convexity", "g = grad_theta L_i before")
    back = p.standard("back", F0 - F1 + (g + u).dot(v) / N - beta / 2 * v.square, "strong convexity", "g + u: the same after")
    smooth = p.given("Assumption 1", gamma**2 * v.square - u.square, "theta_i alone moves")
    unit = p.given("unit step", v.square - 1, equality=True)
    young = p.square("Young", gamma * v - u)
    return p.conclude(p.follows("beta <= gamma/N", f.beta_cap(gamma, N) - beta, there, back, (1 / (2 * gamma * N), young),
                                (1 / (2 * gamma * N), smooth), (beta - gamma / N, unit)))
