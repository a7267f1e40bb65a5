"""Theorems 1, 2 and 4 as printed, from the inequality of their lemma in every round as a hypothesis: where constants come from.

Symbols: D, D1 mean squared distances before and after a round, D0 at the start; K = (decay factor)^t, KT after the last round; B
what a round adds; La = L + alpha; F, Fn values of f before and after a round, X a round's mean of E|grad f(wbar_k)|^2; root is
sqrt(TE).
"""
import fltheory as ft
from verification.simfed.formulas import discussion_bias, perturbed, prox, prox_convex, theorems
from verification.simfed.proofs import prox_convex as convex

DERIVED1 = ("all mu <= L, alpha >= 0, E >= 1, t and non-negative S, sigma, Gamma, G, Delta: whatever satisfies Lemma 3's "
            "inequality in every round")
DERIVED = "all positive constants, T and E with TE = root^2: whatever satisfies Lemma 4's inequality in every round"


def theorem1():
    """Theorem 1 from Lemma 3 of Appendix A."""
    p = ft.Proof("L mu am La E", "alpha z z1 K KT B S sigma2 Gm G2 D D0 D1 Dt Delta", "gap")
    L, mu, am, La, E, z, K, B, S, sigma2, Gm, G2 = p("L mu am La E z K B S sigma2 Gm G2")
    gamma, am_is, La_is, order = convex.at_step(p)
    slow, least = (p.lemma(name, convex.factor(), which, gamma=gamma) for name, which in (("decay factor", 6), ("a step", 3)))
    power = p.define("powers", z - p("z1") * (1 - gamma * am), "z = q^E, z1 = q^(E - 1)")
    share = mu / am * (1 - z)
    positive = p.follows("kappa", 1 - share, (1 / am, am_is))
    gain = p.follows("kappa <= 1 - gamma mu", share - gamma * mu, least, (-mu / am, power))
    m = mu / (3 * La)
    shrinks = p.follows("decay", 1 - m, (1 / (3 * La), order), (1 / (3 * La), La_is))
    A = sum(prox_convex.lemma3(L, 1 - share, gamma, 0, S, sigma2, Gm, G2, E).values())
    one = p.given("Lemma 3", (1 - share) * p("D") + A - p("D1"), "its inequality, in every round")
    adds, floor = p.define("B", B - A), B / (mu * gamma)
    now = p.suppose("so far", K * p("D0") + floor - p("D"), "K = (1 - mu/(3 L_alpha))^t")
    step = p.follows("one more", K * (1 - m) * p("D0") + floor - p("D1"), one, (positive, now), (K * p("D0"), slow), (floor, gain),
                     adds)
    rounds = p.induct("rounds", now, step, {"K": 1, "D": p("D0")}, {"K": K * (1 - m), "D": "D1"}, {"K": "KT", "D": "Dt"},
                      keeps={"K": (K, shrinks)})
    smooth = p.standard("smooth at the optimum", L / 2 * p("Dt") - p("gap"), "descent lemma", "gap = E f(wbar_t) - f_*")
    start = p.standard("strongly convex at the optimum", p("Delta") - mu / 2 * p("D0"), "strong convexity", "grad f(w*) = 0")
    terms = theorems.theorem1(L, mu, La - L, p("Delta"), S, sigma2, Gm, G2, E, 0)
    bound = sum((terms | {"decay": terms["decay"] * p("KT")}).values())
    return p.conclude(p.follows("Theorem 1", bound - p("gap"), smooth, (L / 2, rounds), (L / mu * p("KT"), start),
                                (-L / (2 * mu * gamma), adds)))


def telescoped(p, rest, start, bound):
    """X <= start (F - Fn) + rest in every round: the mean of X over T rounds is at most `bound`, a function of the gap, where
    root^2 = TE is put in."""
    T, t, sumX, X = p("T t sumX X")
    one = p.given("Lemma 4", start * (p("F") - p("Fn")) + rest - X, "its inequality, in every round")
    held = p.suppose("after t rounds", start * (p("F0") - p("F")) + t * rest - sumX)
    then = p.follows("after t + 1 rounds", start * (p("F0") - p("Fn")) + (t + 1) * rest - sumX - X, held, one)
    end = p.induct("after T rounds", held, then, {"t": 0, "sumX": 0, "F": p("F0")}, {"t": t + 1, "sumX": sumX + X, "F": "Fn"},
                   {"t": T, "sumX": "totalX", "F": "FT"})
    low = p.given("bounded below", p("FT") - p("inf"), "Assumption 6")
    root = p.given("root", p("root") ** 2 - T * p("E"), "root = sqrt(TE)", equality=True)
    terms, moved = bound(p("F0") - p("inf"))
    return p.conclude(p.follows("the theorem", sum(terms.values()) - p("totalX") / T, (1 / T, end), (start / T, low),
                                (moved, root)))


def theorem2():
    """Theorem 2 from Lemma 4 of Appendix A."""
    p = ft.Proof("L La E T root", "S sigma2 G2 X sumX totalX t", "F0 F Fn FT inf")
    L, La, E, T, root, S, sigma2, G2 = p("L La E T root S sigma2 G2")
    alpha, gamma = La - L, 1 / (2 * La * root)
    lemma = prox.lemma4(L, alpha, gamma, 1, S, sigma2, G2, E)
    start = lemma.pop("start")

    def bound(gap):
        terms = theorems.theorem2(L, alpha, gap, S, sigma2, G2, E, T, root)
        return terms, -terms["start"] / (T * E) + (terms["drift"] + terms["last"]) / root**2
    return telescoped(p, sum(lemma.values()), start, bound)


def theorem4():
    """Theorem 4 from Lemma 4 of Appendix B, whose first round has less than is supposed of it here."""
    p = ft.Proof("L E T root beta", "S sigma2 G2 X sumX totalX t", "F0 F Fn FT inf")
    L, E, T, root, beta, S, sigma2, G2 = p("L E T root beta S sigma2 G2")
    gamma = 1 / (2 * L * root)

    def bound(gap):
        terms = theorems.theorem4(L, beta, gap, S, sigma2, G2, E, T, root)
        return terms, -terms["start"] / (T * E) + terms["drift"] / root**2
    return telescoped(p, sum(perturbed.lemma4(L, gamma, gamma, beta, S, sigma2, G2, E).values()), 2 / (gamma * E), bound)


def decreasing():
    """E|wbar_t - w*|^2 <= (m D0 + 4 B/mu^2)/n at n = t + m for gamma_t = 2/(mu n), from Lemma 3 with gamma_t^2 B for its additive
    part."""
    p = ft.Proof("mu m n N", "kappa B D D0 D1 DN")
    mu, m, n, kappa, B, D, D0 = p("mu m n kappa B D D0")
    gamma = 2 / (mu * n)
    one = p.given("Lemma 3", kappa * D + gamma**2 * B - p("D1"), "its inequality in every round; B is one constant for all of them")
    gain = p.given("kappa", 1 - gamma * mu - kappa, "kappa <= 1 - gamma mu (lema3-kappa); not negative within the cap")

    def bound(n):
        return discussion_bias.decreasing(mu, m, D0, B, n - m)
    held = p.suppose("so far", bound(n) - D)
    then = p.follows("one more", bound(n + 1) - p("D1"), one, (kappa, held), (bound(n), gain))
    return p.conclude(p.induct("rounds", held, then, {"n": m, "D": D0}, {"n": n + 1, "D": "D1"}, {"n": p("N"), "D": "DN"}))
