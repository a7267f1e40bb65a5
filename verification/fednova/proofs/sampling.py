"""Pencil proofs of FedNova under client sampling: Lemma 5, (163), (175) and (182).

q draws l_1, .., l_q, independent, client i with probability p_i; every draw makes a fresh run. For every number of clients and
draws, dimension, local steps, and a >= 0.

Symbols: y = (1/q) sum_j z_{l_j} (z_i = h_i in the rounds), u = (1/q) sum_j (d - h)_{l_j}, G = grad F(x), h = sum_i p_i h_i,
e = (1/q) sum_j (z - grad F_i(x))_{l_j}, c = (1/q) sum_j grad F_{l_j}(x) - G; SZ = sum_i p_i E|z_i - grad F_i(x)|^2,
SG = sum_i p_i |grad F_i(x)|^2, V = sum_i p_i |grad F_i(x) - G|^2, R = sum_i p_i |a_i|_2^2 / |a_i|_1^2.
"""
import fltheory as ft
from verification.fednova.formulas import appendix_c as ac
from verification.fednova.formulas import client_sampling as c
from verification.fednova.proofs import local_run
from verification.fednova.proofs.descent import NUMBERS, VALUES, run_noise
from verification.fednova.proofs.theorems import mean_of_rounds

DOMAIN = ("every number of smooth clients, convex or not, and of draws, in every dimension; all weights, local steps, a >= 0 and "
          "tau_eff > 0; noise with mean 0 given the past and variance at most sigma^2, a fresh run for every draw, "
          "independent across clients")
DOMINATED = DOMAIN.replace("a >= 0", "b^(k) <= a (vanilla steps, step decay, momentum with 0 <= rho < 1)")


def lemma5():
    """Lemma 5 with beta^2 - 1, and as printed."""
    p = ft.Proof("q", "beta2 kappa2 y2 Ey J SZ Ee Ec v2 V SG", "mean", "G g e c")
    q, beta2, kappa2, G, g, e, mean = p("q beta2 kappa2 G g e c")
    norm = p.define("sampled mean", p("y2") - (e + mean + G).square, "y = e + c + G, y2 = |y|^2")
    apart = [p.square(f"apart {k}", v) for k, v in enumerate((e - mean, e - G, mean - G))]
    three = p.follows("three parts", 3 * (e.square + mean.square + G.square) - p("y2"), (-1, norm), *apart)
    path = p.expect("three parts in the mean", three, {"y2": "Ey", "e_e": "Ee", "c_c": "Ec"}, "G_G")
    jensen = p.standard("mean of the draws", p("J") - e.square, "Jensen", "J = (1/q) sum_j |z - grad F_l|^2")
    drift = p.expect("deviation of the draws", jensen, {"J": "SZ", "e_e": "Ee"}, says="a draw is client i with probability p_i")
    own = p.define("spread of one client", p("v2") - (g - G).square, "v2 = |grad F_i - grad F|^2, g = grad F_i, G = grad F")
    centred = p.given("mean of the gradients", p("mean") - G.square, "sum_i p_i <G, grad F_i> = |G|^2", equality=True)
    summed = p.total("spread about the mean", own, {"v2": "V", "g_g": "SG", "G_g": "mean"}, 1, "G_G", "weights p_i")
    spread = p.follows("spread", p("V") - p("SG") + G.square, summed, (-2, centred), equality=True)
    sum_ = p.standard("gradients of the draws", p("V") / q - p("Ec"), "variance of a sum", "independent draws")
    similar = p.given("Assumption 3", beta2 * G.square + kappa2 - p("SG"), "sum_i p_i |grad F_i|^2 <= beta^2 |grad F|^2 + kappa^2")

    def bound(sharper):
        return sum(c.lem5_terms(p("SZ"), G.square, q, beta2, kappa2, sharper).values()) - p("Ey")
    sharp = p.follows("with beta^2 - 1", bound(True), path, (3, drift), (3, sum_), (-3 / q, spread), (3 / q, similar))
    return p.conclude(sharp, p.follows("Lemma 5", bound(False), sharp))


def second_moment():
    """(162) and (163): the noise of fresh runs is divided by q."""
    p = ft.Proof("n q", "sigma2 R nn rho es Es En Ed SD Eu Ey d2 Ed2", "", "y u")
    q, sigma2, y, u = p("q sigma2 y u")
    one = run_noise(p)
    total = p.total("noise of all clients", one, {"rho": "R", "Ed": "SD"}, 0, "sigma2", "weights p_i")
    cross = p.standard("noise of the draws", p("SD") / q - p("Eu"), "variance of a sum", "independent draws, fresh runs",
                       equality=True)
    apart = p.square("noise and gradients apart", y - u)
    norm = p.define("direction", p("d2") - (y + u).square, "(1/q) sum_j d_{l_j} = y + u")
    second = p.follows("second moment of one round", 2 * y.square + 2 * u.square - p("d2"), apart, (-1, norm))
    mean = p.expect("second moment in the mean", second, {"d2": "Ed2", "y_y": "Ey", "u_u": "Eu"})
    bound = sum(c.eq163(q, sigma2, p("R"), p("Ey")).values())
    return p.conclude(cross, p.follows("(163)", bound - p("Ed2"), mean, (2, cross), (2 / q, total)))


def descent():
    """(175), and with 3/4 in place of 3/2."""
    p = ft.Proof("L eta tau_eff q beta2", "sigma2 kappa2 R SG SZ Se Ey d2 Ed2", "F F1 EF1 EGy EGu EGh", "G h y u")
    L, eta, tau_eff, q, beta2, sigma2, kappa2, R, F = p("L eta tau_eff q beta2 sigma2 kappa2 R F")
    (G, h, y, u), s = p("G h y u"), eta * tau_eff
    p.given("Assumption 3", beta2 * G.square + kappa2 - p("SG"), "sum_i p_i |grad F_i|^2 <= beta^2 |grad F|^2 + kappa^2")
    step = p.given("server step", 1 - 12 * s * L * (1 + beta2 / q), "6 tau_eff eta L (1 + beta^2/q) <= 1/2")
    norm = p.define("direction", p("d2") - (y + u).square, "(1/q) sum_j d_{l_j} = y + u")
    smooth = p.standard("descent", F - s * G.dot(y + u) + L / 2 * s**2 * (y + u).square - p("F1"), "descent lemma",
                        "x+ = x - s (y + u)")
    path = p.follows("descent of one round", F - s * G.dot(y + u) + L / 2 * s**2 * p("d2") - p("F1"), smooth, (L / 2 * s**2, norm))
    mean = p.expect("descent in the mean", path, {"F1": "EF1", "G_y": "EGy", "G_u": "EGu", "d2": "Ed2"}, "F")
    noise = p.given("unbiased noise", p("EGu"), "E<G, u> = 0, G fixed by x", equality=True)
    draws = p.given("unbiased draws", p("EGy") - p("EGh"), "E<G, y> = E<G, h>", equality=True)
    bias = p.standard("bias of the round", p("Se") - (G - h).square, "Jensen", "G - h = sum_i p_i (grad F_i(x) - h_i)")
    along = p.follows("alignment", G.dot(h) - G.square / 2 + p("Se") / 2, (ft.fraction("1/2"), bias))
    align = p.expect("alignment in the mean", along, {"G_h": "EGh", "Se": "SZ"}, "G_G")
    square, sampled = p.lemma("(163)", second_moment(), 1), p.lemma("Lemma 5", lemma5(), 1)

    def bound(factor):
        terms = c.eq175(p("SZ"), eta, L, tau_eff, q, sigma2, R, kappa2) | {"drift": ft.fraction(factor) * p("SZ")}
        return F - s / 4 * G.square + s * sum(terms.values()) - p("EF1")
    sharp = p.follows("with 3/4", bound("3/4"), mean, (s, noise), (s, draws), (s, align), (L * s**2 / 2, square),
                      (L * s**2, sampled),
                      (s / 4 * (G.square + p("SZ")), step))
    printed = F - s / 4 * G.square + s * sum(c.eq175(p("SZ"), eta, L, tau_eff, q, sigma2, R, kappa2).values()) - p("EF1")
    return p.conclude(sharp, p.follows("(175)", printed, sharp))


def norms():
    """(180): |a|_2 <= |a|_1 for a >= 0, entry by entry."""
    p = ft.Proof("n", "nn a s1 s2 rho")
    a, s1, s2, n, nn = p("a s1 s2 n nn")
    now = p.suppose("first entries", s1**2 - s2, "s1, s2: sums of the first entries and of their squares")
    then = p.follows("one entry more", (s1 + a) ** 2 - s2 - a**2, now)
    whole = p.induct("all entries", now, then, {"s1": 0, "s2": 0}, {"s1": s1 + a, "s2": s2 + a**2}, {"s1": "n", "s2": "nn"})
    ratio = p.define("ratio", p("rho") - nn / n**2, "rho = |a|_2^2 / |a|_1^2")
    return p.conclude(p.follows("(180)", 1 - p("rho"), (1 / n**2, whole), (-1, ratio)))


def corollary3(printed=False):
    """(182) with B', C' from prefix coefficients, or as printed where b^(k) <= a."""
    p = ft.Proof("L eta tau_eff q beta2 T", f"{NUMBERS} SZ rho", VALUES, "G")
    L, eta, tau_eff, q, beta2, T, sigma2, kappa2, B, C, F, EF1, G = p("L eta tau_eff q beta2 T sigma2 kappa2 B C F EF1 G")
    s, D, rest = eta * tau_eff, ac.D(eta, L, C), 12 * beta2 / (12 * beta2 + 1)
    least = p.given("beta^2", beta2 - 1)
    p.given("server step", 1 - 12 * s * L * (1 + beta2 / q), "6 tau_eff eta L (1 + beta^2/q) <= 1/2")
    cap = p.given("cap of D", 1 - D * (12 * beta2 + 1), "D = 4 eta^2 L^2 C <= 1/(12 beta^2 + 1)")
    below = p.follows("D below 1", 1 - D - rest, (1 / (12 * beta2 + 1), cap))
    similar = p.given("Assumption 3", beta2 * G.square + kappa2 - p("SG"), "sum_i p_i |grad F_i|^2 <= beta^2 |grad F|^2 + kappa^2")
    one = p.lemma("drift of one client", local_run.deviation(printed), rest=rest, g_g=p("g"), B=p("B1"))
    drift = p.total("drift of all clients", one, {"Ee": "SZ", "B1": "B", "g": "SG"}, 1, "sigma2 C", "weights p_i")
    descends = p.lemma("(175)", descent(), 1)
    share = p.total("(180) of all clients", p.lemma("(180)", norms()), {"rho": "R"}, 1, says="weights p_i")
    k = 12 * D * kappa2 + 24 * eta**2 * L**2 * sigma2 * B
    each = sum(c.cor3(eta, L, sigma2, kappa2, 0, tau_eff, 1, q, B, C).values())
    target = 8 / s * (F - EF1) + each - G.square
    whole = p.follows("one round, times 1 - D", (1 - D) * target, (8 / s, descends, below), (8 / s * rest, descends),
                      (12, drift, below),
                      (12 * rest, drift), (12 * D, similar), (8 * tau_eff * eta * L * sigma2 / q, share, below),
                      (8 * tau_eff * eta * L * sigma2 / q * rest, share), (G.square, cap), (k, cap), (12 * k * D, least))
    mean = mean_of_rounds(p, p.cancel("one round", target, whole, below, rest), 8 / s, each, "G_G")
    bound = sum(c.cor3(eta, L, sigma2, kappa2, p("gap"), tau_eff, T, q, B, C).values())
    return p.conclude(p.follows("(182)", bound - p("S") / T, mean))
