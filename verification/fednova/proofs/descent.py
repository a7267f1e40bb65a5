"""Pencil proofs of FedNova, one round of rule (4): (61) and (64), and what Theorem 1 says of one round.

For every number of clients n, weights w >= 0 that sum to 1, dimension, local steps and solver; the noise is independent across
clients given the model of the round.

Symbols, beside those of one client: s = eta tau_eff; G = grad F~(x), h = sum_i w_i h_i, z = sum_i w_i (d_i - h_i); F, F1 the values
of F~ before and after; sums over clients with weights w: SG of |grad F_i(x)|^2, SE of |grad F_i(x) - h_i|^2, B of what
multiplies sigma^2 in (85); R = sum_i w_i^2 |a_i|_2^2 / |a_i|_1^2.
"""
import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import appendix_c as c
from verification.fednova.proofs import local_run
from verification.fednova.proofs.local_run import noise_of

DOMAIN = ("every number of smooth clients, convex or not, in every dimension; all weights, local steps, a >= 0 and tau_eff > 0; "
          "noise with mean 0 given the past and variance at most sigma^2, independent across clients")
DOMINATED = DOMAIN.replace("a >= 0", "b^(k) <= a (vanilla steps, step decay, momentum with 0 <= rho < 1)")
FEDAVG = DOMAIN.replace("all weights, local steps, a >= 0 and tau_eff > 0",
                        "uniform weights, vanilla steps and plain averaging, all local steps")


def run_noise(p):
    """E|d_i - h_i|^2 <= sigma^2 |a_i|_2^2 / |a_i|_1^2."""
    run = noise_of(p, "nn", "(a_k)^2", "En")
    n, nn, rho, sigma2 = p("n nn rho sigma2")
    ratio = p.define("ratio", rho - nn / n**2, "rho = |a|_2^2 / |a|_1^2")
    scaled = p.define("noise of one client", p("Ed") - p("En") / n**2, "Ed = E|d_i - h_i|^2, d_i - h_i = noise of the run / |a|_1")
    return p.follows("noise of one client, bounded", sigma2 * rho - p("Ed"), (1 / n**2, run), (sigma2, ratio), (-1, scaled))


def averaged_noise(p):
    """E|z|^2 <= sigma^2 R."""
    total = p.total("noise of all clients", run_noise(p), {"rho": "R", "Ed": "SD"}, 0, "sigma2", "weights w_i^2")
    cross = p.standard("noise of the round", p("SD") - p("Ez"), "variance of a sum", "independent across clients")
    return p.follows("averaged noise", p("sigma2") * p("R") - p("Ez"), cross, total)


def one_round():
    """(61) and (64)."""
    p = ft.Proof("L eta tau_eff n", "sigma2 R nn rho es Es En Ed SD Ez Eh SE Se d2 Ed2", "F F1 EF1 EGz", "G h z")
    L, eta, tau_eff, sigma2, R, F = p("L eta tau_eff sigma2 R F")
    (G, h, z), s = p("G h z"), eta * tau_eff
    noise = averaged_noise(p)
    apart = p.square("noise and gradients apart", h - z)
    norm = p.define("direction", p("d2") - (h + z).square, "sum_i w_i d_i = h + z")
    second = p.follows("second moment of one round", 2 * h.square + 2 * z.square - p("d2"), apart, (-1, norm))
    mean = p.expect("second moment in the mean", second, {"d2": "Ed2", "h_h": "Eh", "z_z": "Ez"})
    eq61 = p.follows("(61)", sum(c.eq61_terms(sigma2, R, p("Eh")).values()) - p("Ed2"), mean, (2, noise))
    smooth = p.standard("descent", F - s * G.dot(h + z) + L / 2 * s**2 * (h + z).square - p("F1"), "descent lemma",
                        "x+ = x - s (h + z)")
    bias = p.standard("bias of the round", p("Se") - (G - h).square, "Jensen", "G - h = sum_i w_i (grad F_i(x) - h_i)")
    step = p.given("server step", 1 - 2 * s * L, "tau_eff eta L <= 1/2")
    path = p.follows("descent of one round", F - s / 2 * G.square + s / 2 * p("Se") - s * G.dot(z) + L * s**2 * z.square - p("F1"),
                     smooth,
                     (L * s**2 / 2, apart), (s / 2, bias), (s / 2 * h.square, step))
    average = p.expect("descent in the mean", path, {"F1": "EF1", "Se": "SE", "G_z": "EGz", "z_z": "Ez"}, fixed="F G_G")
    unbiased = p.given("unbiased noise", p("EGz"), "E<G, z> = 0, G fixed by x", equality=True)
    bound = sum(c.eq64_terms(eta, L, sigma2, tau_eff, R, p("SE"), F).values())
    eq64 = p.follows("(64)", bound - s / 2 * G.square - p("EF1"), average, (s, unbiased), (s**2 * L, noise))
    return p.conclude(eq61, eq64)


# ---- Theorem 1, one round ------------------------------------------------------------------------------------
CONSTANTS = "L eta tau_eff beta2 m T"                            # positive
NUMBERS = "sigma2 kappa2 C B B1 Ee g SG SE R A t Gt St S gap"    # non-negative
VALUES = "F EF1 Ft Fn F0 FT inf"


def caps(p, printed=False, C=None, named=True):
    """(101) and beta^2 >= 1: what a theorem supposes of the step. named: that of the drift too, of C or the largest |a_i|_1."""
    L, eta, beta2 = p("L eta beta2")
    k = 4 * eta**2 * L**2 * (2 * beta2 + 1)
    p.given("beta^2", beta2 - 1)
    p.given("server step", 1 - 2 * eta * p("tau_eff") * L, "tau_eff eta L <= 1/2")
    if not named:
        return
    C = p("C") if C is None else C
    if not printed:
        p.given("cap of D", 1 - k * C, "4 eta^2 L^2 C' <= 1/(2 beta^2 + 1)")
        return
    N, n, last = p("N na la")
    given = p.given("drift cap", 1 - k * N**2, "eta L max_i |a_i|_1 sqrt(2 beta^2 + 1) <= 1/2, squared; N the largest |a_i|_1")
    longest = p.given("longest", N - n)
    product = p.define("largest product", C - n * (n - last), "C = max_i |a_i|_1 (|a_i|_1 - a_{i,-1}), attained at na, la")
    p.follows("cap of D", 1 - k * C, given, (k * (N + n), longest), (-k, product))


def drift_of_all(p, rest, printed=False):
    """sum_i w_i E|grad F_i(x) - h_i|^2 <= (85) with Assumption 3 inside."""
    L, eta, sigma2, kappa2, beta2, C, B, g, G = p("L eta sigma2 kappa2 beta2 C B g G")
    D = c.D(eta, L, C)
    one = p.lemma("drift of one client", local_run.deviation(printed), rest=rest, g_g=g, B=p("B1"))
    total = p.total("drift of all clients", one, {"Ee": "SE", "B1": "B", "g": "SG"}, 1, "sigma2 C", "weights w_i")
    spread = p.given("Assumption 3", beta2 * G.square + kappa2 - p("SG"), "sum_i w_i |grad F_i|^2 <= beta^2 |grad F~|^2 + kappa^2")
    return p.follows("drift of a round", 2 * eta**2 * L**2 * sigma2 * B + D * (beta2 * G.square + kappa2) - (1 - D) * p("SE"),
                     (total, p.facts["D below 1"]), (rest, total), (D, spread))


def gain(p, printed=False):
    """One round of Theorem 1: |grad F~(x)|^2 <= 4 (F - E F1) / (eta tau_eff) + the other terms of (97)."""
    L, eta, tau_eff, beta2, m, sigma2, kappa2, C, B, A, F, EF1, G = p("L eta tau_eff beta2 m sigma2 kappa2 C B A F EF1 G")
    s, D, rest = eta * tau_eff, c.D(eta, L, C), 2 * beta2 / (2 * beta2 + 1)
    caps(p, printed)
    cap, least = p.facts["cap of D"], p.facts["beta^2"]
    below = p.follows("D below 1", 1 - D - rest, (1 / (2 * beta2 + 1), cap))
    drift, descent = drift_of_all(p, rest, printed), p.lemma("(64)", one_round(), 1)
    factor = p.define("A", A - m * tau_eff * p("R"), "A = m tau_eff sum_i w_i^2 |a_i|_2^2 / |a_i|_1^2")
    target = sum(f.thm1(eta, L, sigma2, kappa2, F - EF1, tau_eff, 1, A, B, C, m).values()) - G.square
    k = 2 * eta**2 * L**2 * (sigma2 * B + 2 * C * kappa2)
    whole = p.follows("one round, times 1 - D", (1 - D) * target, (4 / s, descent, below), (4 / s * rest, descent), (2, drift),
                      (4 * eta * L * sigma2 / m * (1 - D), factor), (G.square, cap), (k, cap), (2 * D * k, least))
    return p.cancel("one round", target, whole, below, rest)
