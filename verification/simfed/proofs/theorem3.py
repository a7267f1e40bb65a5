"""Pencil proofs of Theorem 3's forms, from one round of Lemma 3 at gamma = 1/(2LE): printed constants, A', averaged drift, 1/E.

Symbols: kappa = 1 - (1 - P)/beta; D, D1 mean squared distances before and after a round, D0 at the start; K = (decay factor)^t, KT
after the last round; B >= 0 what a round adds; gap = E f(wbar_t) - f_*, Delta = f(wbar_0) - f_*.
"""
import fltheory as ft
from verification.simfed.formulas import perturbed_convex as f
from verification.simfed.formulas import theorems
from verification.simfed.proofs import perturbed_convex as one

DOMAIN = one.DOMAIN + "; gamma = 1/(2LE), every E and t; stochastic gradients at most G in mean square along the run"
DERIVED = ("all mu <= L, beta in (0, 1], E >= 1, t and non-negative S, sigma, Gamma, G, Delta: whatever satisfies Lemma 3's "
           "inequality in every round")
NAMES = "K KT P B sigma2 S Gamma G D D0 D1 Dt gap Delta"


def new_proof():
    """A proof at the theorem's step, with kappa between 1/2 and the theorem's factor: (proof, gamma, both facts)."""
    p = ft.Proof("L mu beta E", NAMES)
    gamma = one.at_theorem(p)
    return p, gamma, p.lemma("at least 1/2", one.kappa_at_step()), p.lemma("decay factor", one.kappa_at_step(), 2)


def kappa(p):
    return 1 - (1 - p("P")) / p("beta")


def repeated(p, half, last, whole, floor, kept):
    """D_t <= K D_0 + floor, from D1 <= kappa D + .. (`whole`); kept: products that show floor >= kappa floor + ..."""
    L, mu, beta, K = p("L mu beta K")
    factor = 1 - mu / ((beta + 2) * L)
    positive = p.follows("kappa", kappa(p), half)
    shrinks = p.follows("decay", factor, positive, last)
    now = p.suppose("so far", K * p("D0") + floor - p("D"), "K = (1 - mu/((beta + 2)L))^t")
    step = p.follows("one more", factor * K * p("D0") + floor - p("D1"), whole, (positive, now), (K * p("D0"), last), *kept)
    return p.induct("rounds", now, step, {"K": 1, "D": p("D0")}, {"K": factor * K, "D": p("D1")}, {"K": "KT", "D": "Dt"},
                    "KT = (1 - mu/((beta + 2)L))^t", keeps={"K": (shrinks, K)})


def to_the_gap(p, terms, rounds, *products):
    """The bound on f from that on the distance. terms: the formula's; its decay is times KT."""
    L, mu = p("L mu")
    smooth = p.standard("smooth at the optimum", L / 2 * p("Dt") - p("gap"), "descent lemma", "grad f(w*) = 0, in the mean")
    convex = p.standard("strongly convex at the optimum", p("Delta") - mu / 2 * p("D0"), "strong convexity", "grad f(w*) = 0")
    return p.conclude(p.follows("the bound", sum(terms.values()) - p("gap"), smooth, (L / 2, rounds),
                                (L / mu * p("KT"), convex), *products))


def adds(p, size):
    """B = what a round adds, which `size` shows to be >= 0."""
    return p.define("B", p("B") - size.expression, f"B >= 0 by {size.name!r}")


def numbers(p):
    """L, mu, beta, Delta, S, sigma2, Gamma, G2, E as the formulas take them."""
    return (*p("L mu beta Delta S sigma2 Gamma"), p("G") ** 2, p("E"))


def derivation():
    """Theorem 3 as printed, from Lemma 3's inequality in every round as a hypothesis."""
    p, gamma, half, last = new_proof()
    L, mu, beta, Delta, S, sigma2, Gamma, G2, E = numbers(p)
    near, first = p.facts["beta"], p.lemma("kappa <= 1 - mu gamma", one.kappa_first(), gamma=gamma)
    A = f.lemma3(gamma, gamma, L, mu, beta, S, sigma2, Gamma, G2, E)
    whole = p.given("Lemma 3", kappa(p) * p("D") + sum(A.values()) - p("D1"), "its inequality, in every round")
    size = p.follows("A", sum(A.values()), (near, near, 8 * gamma**2 * E**3 * G2 * (1 + 8 / beta**2)),
                     (near, mu * gamma**3 * beta * E**3 * G2))
    added = adds(p, size)
    kept = [(1 / (mu * gamma), size, first), (first.expression / (mu * gamma) + 1, added)]
    rounds = repeated(p, half, last, whole, p("B") / (mu * gamma), kept)
    terms = theorems.theorem3(L, mu, beta, Delta, S, sigma2, Gamma, G2, E, 0)
    return to_the_gap(p, terms | {"decay": terms["decay"] * p("KT")}, rounds, (-L / (2 * mu * gamma), added))


def signs(p):
    """The sums of k, k^2 and s_k over k < E are not negative."""
    E, beta, only, near = p("E"), p("beta"), p.facts["local steps"], p.facts["beta"]
    twos = p.follows("sum of k^2", f.squares(E), (only, only, E / 3), (only, E / 6))
    return twos, p.follows("sum of s_k", f.drift_sum(beta, E, E), (near, near, twos), (beta**2, twos),
                           (near, only, beta * E**2), (near, near, E**3))


def averaged_rounds(sharp):
    """The bound on E|wbar_t - w*|^2 with the averaged drift; sharp: its share 1/E, divided by mu/(2L + beta mu) <= 1 - kappa."""
    p, gamma, half, last = new_proof()
    L, mu, beta, E, G = p("L mu beta E G")
    only, near = p.facts["local steps"], p.facts["beta"]
    share = 1 / E if sharp else 2 + 0 * E
    p.follows("share", share * (1 - gamma * L) - gamma * L, (1 / (2 * E**2) if sharp else 3 / (2 * E), only))
    whole = p.lemma("one round", one.one_round(), gamma=gamma, s=share, D0=p("D"), DE=p("D1"))
    twos, drifts = signs(p)
    rest = gamma**2 * G**2 * (share * f.drift_sum(beta, E, E) + mu * gamma * beta * (1 - beta) * f.squares(E))
    size = p.follows("drift of a round", rest, (gamma**2 * G**2 * share, drifts),
                     (near, twos, gamma**3 * G**2 * mu * beta))
    if sharp:
        least, gain = p.lemma("(191)", one.kappa_at_step(), 1), (2 * L + beta * mu) / mu
    else:
        least, gain = p.lemma("kappa <= 1 - mu gamma", one.kappa_first(), gamma=gamma), 1 / (mu * gamma)
    floor, added = gamma * p("S") * p("sigma2") / mu + gain * p("B"), adds(p, size)
    rounds = repeated(p, half, last, whole, floor, [(gain, size, least), (gain * least.expression + 1, added)])
    return p, rounds, (-L / 2 * gain, added), twos, drifts


def averaged():
    """Theorem 3 with the averaged drift."""
    p, rounds, added, _, _ = averaged_rounds(False)
    E, S, sigma2, mu = p("E S sigma2 mu")
    return to_the_gap(p, f.theorem3_averaged(*numbers(p), p("KT")), rounds, added,
                      (S * sigma2 / (4 * mu * E), p.facts["local steps"]))


def sharp():
    """The same without heterogeneity, and with less drift."""
    p, rounds, added, _, _ = averaged_rounds(True)
    L, mu, beta, Delta, S, sigma2, _, G2, E = numbers(p)
    return to_the_gap(p, f.theorem3_sharp(L, mu, beta, Delta, S, sigma2, G2, E, p("KT")), rounds, added)


def over_e():
    """Theorem 3 with noise, heterogeneity and averaged drift over E."""
    p, rounds, added, _, drifts = averaged_rounds(True)
    L, mu, beta, E, G = p("L mu beta E G")
    only, near, curved = (p.facts[name] for name in ("local steps", "beta", "curvatures"))
    whole = p.given("whole", (E - 1) * (E - 2), "E is 1, or at least 2")
    double = p.follows("a step's room", 2 * L - beta * mu, (beta, curved), (L, near))
    room = p.follows("a round's room", 4 * L * E - 2 * L - beta * mu, double, (4 * L, only))
    c = beta * G**2 / (96 * L**2 * E**2)
    return to_the_gap(p, f.theorem3_over_e(*numbers(p), p("KT")), rounds, added, (G**2 / (8 * L * E**3 * mu), drifts, room),
                      (near, whole, 2 * L * c), (near, whole, only, 4 * L * c), (near, only, double, c),
                      (near, only, only, double, 2 * c))


def bounded():
    """Theorem 3 with A' = (3 - beta)^2/4, from the averaged drift."""
    p, rounds, added, _, _ = averaged_rounds(False)
    L, mu, beta, E, G, S, sigma2 = p("L mu beta E G S sigma2")
    only, near = p.facts["local steps"], p.facts["beta"]
    c = G**2 / (2 * mu * E)
    return to_the_gap(p, f.theorem3_bounded(*numbers(p), p("KT")), rounds, added, (S * sigma2 / (4 * mu * E), only),
                      (near, near, c * (23 * E**3 + E**2) / 3), (near, near, only, c * E / 6),
                      (near, beta * c * (11 * E**3 + E**2)), (beta**2 * c * E / 6, only),
                      (near, beta * G**2 * (4 * E + 2) / (48 * L)), (near, beta * G**2 / (48 * L * E), only))
