"""Pencil proofs of FedNova's Theorems 1, 2 and 3: as corrected, and as restricted to prefix coefficients b^(k) <= a.

Symbols, beside those of one round: Ft, Fn, Gt the expectations of F, EF1, |G|^2 after t rounds; St, S sums of Gt over t and over T
rounds; F0, FT the first and last value, inf the infimum; E.., Z.. expectations and their sums over rounds.
"""
import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import appendix_c as c
from verification.fednova.formulas import constants as fc
from verification.fednova.formulas import theorem3 as t3
from verification.fednova.formulas import true_objective as true
from verification.fednova.proofs.descent import CONSTANTS, DOMAIN, DOMINATED, FEDAVG, NUMBERS, VALUES, caps, gain

PRINTED = "N na la"   # |a_i|_1: the largest, and where C is attained with the last entry there


def mean_of_rounds(p, one, scale, each, square):
    """The mean over T rounds of a fact scale (F - E F1) + each - square >= 0, with the gap F0 - inf at the start."""
    t, T, St, S, Ft, Fn, F0, FT = p("t T St S Ft Fn F0 FT")
    mean = p.expect("one round in the mean", one, {"F": "Ft", "EF1": "Fn", square: "Gt"}, "sigma2 kappa2 A B C")
    now = p.suppose("t rounds", scale * (F0 - Ft) + t * each - St, "St = sum over t rounds of E|G|^2, Ft = E F(x_t)")
    then = p.follows("t + 1 rounds", scale * (F0 - Fn) + (t + 1) * each - St - p("Gt"), now, mean)
    end = p.induct("T rounds", now, then, {"t": 0, "Ft": "F0", "St": 0}, {"t": t + 1, "Ft": "Fn", "St": St + p("Gt")},
                   {"t": "T", "Ft": "FT", "St": "S"})
    below = p.given("bounded below", FT - p("inf"), "inf the infimum of F")
    start = p.define("gap", p("gap") - (F0 - p("inf")))
    return p.follows("mean of T rounds", scale * p("gap") / T + each - S / T, (1 / T, end), (scale / T, below), (scale / T, start))


def theorem1(printed=False):
    """Theorem 1 with B', C' from prefix coefficients, or as printed where b^(k) <= a: the mean over T rounds."""
    p = ft.Proof(CONSTANTS, f"{NUMBERS} {PRINTED if printed else ''}", VALUES, "G")
    L, eta, tau_eff, m, T, sigma2, kappa2, A, B, C, S = p("L eta tau_eff m T sigma2 kappa2 A B C S")
    each = sum(f.thm1(eta, L, sigma2, kappa2, 0, tau_eff, 1, A, B, C, m).values())
    mean = mean_of_rounds(p, gain(p, printed), 4 / (eta * tau_eff), each, "G_G")
    bound = sum(f.thm1(eta, L, sigma2, kappa2, p("gap"), tau_eff, T, A, B, C, m).values())
    return p.conclude(p.follows("Theorem 1", bound - S / T, mean))


def theorem2():
    """Lemma 3 and Theorem 2, with the error of Theorem 1 as corrected (constants Bx, Cx) and as printed where b^(k) <= a."""
    p = ft.Proof(CONSTANTS, "sigma2 kappa2 A B C Bx Cx gap S chi2 SG Q q2 f2 Ef2 Gt SF", "mean", "g G E")
    L, eta, tau_eff, beta2, m, T, sigma2, kappa2, A, gap, chi2 = p("L eta tau_eff beta2 m T sigma2 kappa2 A gap chi2")
    g, G, E, SG, Q = p("g G E SG Q")
    one = p.define("spread of one client", p("q2") - (g - G).square, "q2 = |grad F_i - grad F~|^2, g = grad F_i, G = grad F~")
    centred = p.given("mean of the gradients", p("mean") - G.square, "sum_i w_i <G, grad F_i> = |G|^2", equality=True)
    summed = p.total("spread about the mean", one, {"q2": "Q", "g_g": "SG", "G_g": "mean"}, 1, "G_G", "weights w_i")
    spread = p.follows("spread", Q - SG + G.square, summed, (-2, centred), equality=True)
    cauchy = p.standard("mismatch", chi2 * Q - E.square, "Cauchy-Schwarz",
                        "E = grad F - grad F~ = sum_i (p_i - w_i) (grad F_i - grad F~)")
    similar = p.given("Assumption 3", beta2 * G.square + kappa2 - SG, "sum_i w_i |grad F_i|^2 <= beta^2 |grad F~|^2 + kappa^2")
    lemma3 = p.follows("Lemma 3", sum(true.lem3(chi2, beta2, kappa2, G.square).values()) - E.square, cauchy, (-chi2, spread),
                       (chi2, similar))
    apart = p.square("two gradients", E - G)
    norm = p.define("true gradient", p("f2") - (E + G).square, "f2 = |grad F|^2")
    point = p.follows("(110)", sum(true.eq110(chi2, beta2, kappa2, G.square).values()) - p("f2"), (2, lemma3), apart, (-1, norm))
    mean = p.expect("(110) in the mean", point, {"f2": "Ef2", "G_G": "Gt"}, "chi2 kappa2")
    total = p.total("(112)", mean, {"Ef2": "SF", "Gt": "S"}, T, "chi2 kappa2", over="rounds")
    caps(p, C=p("Cx"))
    ends = []
    for name, printed, B, C in (("corrected", False, "Bx", "Cx"), ("printed", True, "B", "C")):
        first = p.lemma(f"Theorem 1, {name}", theorem1(printed), B=p(B), C=p(C))
        error = f.thm1(eta, L, sigma2, kappa2, gap, tau_eff, T, A, p(B), p(C), m)
        ends.append(p.follows(f"Theorem 2, {name}", sum(true.thm2(chi2, beta2, kappa2, error).values()) - p("SF") / T,
                              (1 / T, total),
                              (2, first), (2 * chi2, p.facts["beta^2"], first)))
    return p.conclude(*ends)


def theorem1_rate():
    """Eq 8 where b^(k) <= a: Theorem 1 at the prescribed step."""
    p = ft.Proof(f"{CONSTANTS} taubar", "sigma2 kappa2 A B C gap S")
    L, eta, tau_eff, m, T, taubar, sigma2, kappa2, A, B, C, gap = p("L eta tau_eff m T taubar sigma2 kappa2 A B C gap")
    caps(p, named=False)
    first = p.lemma("Theorem 1", theorem1(printed=True))
    step = p.given("step as prescribed", eta**2 * taubar * T - m, "eta = sqrt(m / (taubar T))", equality=True)
    bound = sum(c.eq8(m / eta, m, taubar, T, L, sigma2, kappa2, gap, tau_eff, A, B, C).values())
    rest = sum(f.thm1(eta, L, sigma2, kappa2, gap, tau_eff, T, A, B, C, m).values())
    return p.conclude(p.follows("(8)", bound - p("S") / T, first, ((bound - rest) / step.expression, step)))


def fedavg(p):
    """A = 1, B = taubar - 1 + var/taubar and C of FedAvg with uniform weights and vanilla steps."""
    m, taubar, longest, A, B, C, ti = p("m taubar longest A B C ti")
    k = 1 / (m * taubar)
    steps = p.define("mean", p("St") - m * taubar, "taubar = sum_i tau_i / m, St = sum_i tau_i")
    spread = p.define("variance", p("S2") - m * (p("var") + taubar**2), "var = sum_i tau_i^2 / m - taubar^2")
    one = p.define("noise of one client", p("r") - k**2 * ti, "w_i^2 |a_i|_2^2 / |a_i|_1^2, w_i = tau_i / (m taubar)")
    noise = p.total("noise of all clients", one, {"r": "R", "ti": "St"}, 1)
    first = p.define("A", A - m * taubar * p("R"), "A = m tau_eff sum_i w_i^2 |a_i|_2^2 / |a_i|_1^2")
    square = p.define("square", p("t2") - ti**2)
    own = p.define("drift noise of one client", p("b") - k * (ti**2 - ti), "w_i (|a_i|_2^2 - a_{i,-1}^2)")
    plain = p.follows("the same, apart", p("b") - k * (p("t2") - ti), own, (-k, square), equality=True)
    drift = p.total("drift noise of all clients", plain, {"b": "B", "t2": "S2", "ti": "St"}, 1)
    return (p.follows("A = 1", A - 1, first, (m * taubar, noise), (k, steps), equality=True),
            p.follows("B", B - (taubar - 1 + p("var") / taubar), drift, (k, spread), (-k, steps), equality=True),
            p.define("C", C - longest * (longest - 1), "C = max_i |a_i|_1 (|a_i|_1 - a_{i,-1}), longest = max_i tau_i"))


def corollary1():
    """Corollary 1: eq 8 with the constants of FedAvg."""
    p = ft.Proof(CONSTANTS.replace("tau_eff", "taubar"), "sigma2 kappa2 A B C gap S R r b ti t2 St S2 var longest")
    L, eta, m, T, taubar, sigma2, kappa2, B, C, gap = p("L eta m T taubar sigma2 kappa2 B C gap")
    p.given("beta^2", p("beta2") - 1)
    p.given("server step", 1 - 2 * eta * taubar * L, "tau_eff = taubar for uniform weights and vanilla steps")
    step = p.given("step as prescribed", eta**2 * taubar * T - m, "eta = sqrt(m / (taubar T))", equality=True)
    rate = p.lemma("(8)", theorem1_rate(), tau_eff=taubar)
    is_a, is_b, is_c = fedavg(p)
    bound = sum(fc.corollary1_terms(m / eta, L, sigma2, kappa2, gap, m, taubar, p("var"), p("longest")).values())
    noise, drift = 6 * L**2 * sigma2, 12 * L**2 * kappa2
    return p.conclude(p.follows("Corollary 1", bound - p("S") / T, rate, (-4 * L * sigma2 * eta / m, is_a),
                                (-(eta**2) * noise, is_b),
                                (-(eta**2) * drift, is_c), ((noise * B + drift * C) / (taubar * T), step)))


def theorem3(printed=False):
    """Theorem 3 with tau_eff, A, B, C of each round, which earlier rounds may decide: sums weighted with tau_eff, Z their mean."""
    p = ft.Proof(f"{CONSTANTS} Z", f"{NUMBERS} {PRINTED if printed else ''} tA tB tC tG EA EB EC EG ZA ZB ZC ZG YA YB YC YG",
                 VALUES, "G")
    L, eta, tau_eff, m, T, Z, sigma2, kappa2, A, B, C, G = p("L eta tau_eff m T Z sigma2 kappa2 A B C G")
    Ft, Fn, F0, FT = p("Ft Fn F0 FT")

    def bound(start, of_a, of_b, of_c, left):
        return 4 / eta * start + sum(t3.thm3(eta, L, sigma2, kappa2, 0, 1, 1, of_a, of_b, of_c, m).values()) - left
    named = [(k, p.define(f"tau_eff {name}", p(f"t{name}") - tau_eff * what)) for k, name, what in
             ((4 * eta * L * sigma2 / m, "A", A), (6 * eta**2 * L**2 * sigma2, "B", B), (12 * eta**2 * L**2 * kappa2, "C", C),
              (-1, "G", G.square))]
    one = p.follows("one round, times tau_eff", bound(p("F") - p("EF1"), *p("tA tB tC tG")), (tau_eff, gain(p, printed)), *named)
    mean = p.expect("one round in the mean", one, {"F": "Ft", "EF1": "Fn", "tA": "EA", "tB": "EB", "tC": "EC", "tG": "EG"},
                    "sigma2 kappa2", "tau_eff and the vectors a_i of a round are known before it")
    now = p.suppose("t rounds", bound(F0 - Ft, *p("YA YB YC YG")), "Y.: sums over t rounds of E[tau_eff .]")
    then = p.follows("t + 1 rounds", bound(F0 - Fn, *(p(f"Y{k}") + p(f"E{k}") for k in "ABCG")), now, mean)
    end = p.induct("T rounds", now, then, {"Ft": "F0"} | {f"Y{k}": 0 for k in "ABCG"},
                   {"Ft": "Fn"} | {f"Y{k}": p(f"Y{k}") + p(f"E{k}") for k in "ABCG"},
                   {"Ft": "FT"} | {f"Y{k}": f"Z{k}" for k in "ABCG"})
    below = p.given("bounded below", FT - p("inf"), "inf = inf F")
    start = p.define("gap", p("gap") - (F0 - p("inf")))
    terms = t3.thm3(eta, L, sigma2, kappa2, p("gap"), Z / T, T, p("ZA") / Z, p("ZB") / Z, p("ZC") / Z, m)
    return p.conclude(p.follows("Theorem 3", sum(terms.values()) - p("ZG") / Z, (1 / Z, end), (4 / (eta * Z), below),
                                (4 / (eta * Z), start)))


def theorem3_constant(printed=True):
    """Theorem 3 with one tau_eff for all rounds: plain averages."""
    p = ft.Proof("L eta tau_eff beta2 m T", "sigma2 kappa2 gap SA SB SC S")
    L, eta, tau_eff, m, T, sigma2, kappa2, gap, SA, SB, SC, S = p("L eta tau_eff m T sigma2 kappa2 gap SA SB SC S")
    caps(p, named=False)
    first = p.lemma("weighted sums", theorem3(printed), Z=T * tau_eff, ZA=tau_eff * SA, ZB=tau_eff * SB, ZC=tau_eff * SC,
                    ZG=tau_eff * S)
    terms = t3.thm3(eta, L, sigma2, kappa2, gap, tau_eff, T, SA / T, SB / T, SC / T, m)
    return p.conclude(p.follows("Theorem 3, constant tau_eff", sum(terms.values()) - S / T, first))


# ---- what the first terms say --------------------------------------------------------------------------------
def headline():
    """The short rate of Theorem 3: at most twice its first two terms, with bounds R of tau/tau_eff and A0 of A."""
    p = ft.Proof(f"{CONSTANTS} tau", "sigma2 kappa2 gap SA SB SC S R A0")
    L, eta, tau_eff, m, T, tau, sigma2, kappa2, gap, R, A0 = p("L eta tau_eff m T tau sigma2 kappa2 gap R A0")
    caps(p, named=False)
    first = p.lemma("Theorem 3", theorem3_constant())
    step = p.given("step as prescribed", eta**2 * tau * T - m, "eta = sqrt(m / (tau T))", equality=True)
    ratio = p.given("bounded tau/tau_eff", R - tau / tau_eff)
    noise = p.given("bounded A", A0 - p("SA") / T)
    leading = sum(t3.headline(m / eta, gap, L, sigma2, R, A0, m).values())
    large = p.given("large T", leading - t3.remainder(m / eta, m, L, sigma2, kappa2, p("SB") / T, p("SC") / T))
    return p.conclude(p.follows("short rate", 2 * leading - p("S") / T, first, large, (4 * eta * L * sigma2 / m, noise),
                                (4 * gap * eta / m, ratio), (4 * gap / (eta * tau_eff * m * T), step)))


def speedup():
    """The linear speed-up: eq 8 is at most twice its first two terms, with a bound A0 of A for every number of clients."""
    p = ft.Proof(f"{CONSTANTS} taubar", "sigma2 kappa2 A B C gap S A0")
    L, eta, tau_eff, m, T, taubar, sigma2, kappa2, A, B, C, gap, A0 = p("L eta tau_eff m T taubar sigma2 kappa2 A B C gap A0")
    caps(p, named=False)
    p.given("step as prescribed", eta**2 * taubar * T - m, "eta = sqrt(m / (taubar T))", equality=True)
    rate = p.lemma("(8)", theorem1_rate())
    noise = p.given("bounded A", A0 - A)
    terms = c.eq8(m / eta, m, taubar, T, L, sigma2, kappa2, gap, tau_eff, A0, B, C)
    leading = terms["start"] + terms["noise"]
    large = p.given("large T", leading - terms["drift_noise"] - terms["drift"])
    return p.conclude(p.follows("speed-up", 2 * leading - p("S") / T, rate, large, (4 * L * sigma2 * eta / m, noise)))


__all__ = ["DOMAIN", "DOMINATED", "FEDAVG", "corollary1", "headline", "mean_of_rounds", "speedup", "theorem1", "theorem1_rate",
           "theorem2", "theorem3", "theorem3_constant"]
