"""Pencil proofs of Lemma 3, of Corollary 1, and of what the proof of the latter passes through.

Symbols: u, v = grad F at x_{t-tau} and at x_t; h, f = grad f_i at x_{t-tau} and at y_{k-1}; n the noise of step k, e2 = eta_k^2;
r, Er = |y_{k-1} - x_{t-tau}|^2 and its mean; D2 = |x_t - x_{t-tau}|^2; d2, ED = |Delta|^2 and its mean; Gamma2 = Gamma^2; a, b, z =
eta_k^2 times E|g_k|^2, E|f|^2 and Er, their sums over the local steps in capitals; log = ln(K + 1).
"""
import fltheory as ft
from verification.asyncfeded.formulas import corollary1 as f
from verification.asyncfeded.formulas.steps import theta
from verification.asyncfeded.proofs import drift

CLASS = ("every m, d, K and L > 0, smooth clients whether convex or not, noise with mean zero given everything earlier and "
         "given i, x_t and x_{t-tau} (H*)")


def lemma3():
    """(14): along x_{t-tau} -> x_t the gradient of F changes by at most L D."""
    p = ft.Proof("L", "Gamma2 d2 D2", "", "u v")
    L, Gamma2, d2, D2 = p("L Gamma2 d2 D2")
    u, v = p("u v")
    smooth = p.given("A1 for F", L**2 * D2 - (u - v).square, "D2 = |x_t - x_{t-tau}|^2; of F by lem2")
    stale = p.given("A4", Gamma2 * d2 - D2, "gamma <= Gamma, which is D2 <= Gamma^2 |Delta|^2 also where Delta = 0")
    return p.conclude(p.follows("Lemma 3", sum(f.lemma3(L, Gamma2, d2, v.square).values()) - u.square, (2, smooth),
                                (2 * L**2, stale), p.square("lem1", u - 2 * v)))


def log_sum():
    """1/3 + 1/5 + .. + 1/(2 K + 1) <= ln(K + 1)/2."""
    p = ft.Proof("i", "K s V l l1 log")
    i, s, here, l1 = p("i s l l1")
    more = p.given("next logarithm", l1 - here - 2 / (2 * i + 1),
                   "a fact of analysis: ln((i + 1)/i) = 2 artanh z = 2 z + 2 z^3/3 + .. at z = 1/(2 i + 1)")
    held = p.suppose("below i", here / 2 - s, "l = ln i, s = the sum of 1/(2 k + 1) for k < i")
    then = p.follows("below i + 1", l1 / 2 - s - 1 / (2 * i + 1), held, (ft.fraction("1/2"), more))
    return p.conclude(p.induct("sum of 1/(2 k + 1)", held, then, {"i": 1, "s": 0, "l": 0},
                               {"i": i + 1, "s": s + 1 / (2 * i + 1), "l": "l1"}, {"i": p("K") + 1, "s": "V", "l": "log"}))


def update_split():
    """(25f)."""
    p = ft.Proof("K", "M sigma_l2 gg Eg Ef En e2 a b A B S2 ED", "Efn", "f n")
    K, M, sigma_l2, Eg, Ef, En, e2, a, b, A, B, S2, ED, Efn = p("K M sigma_l2 Eg Ef En e2 a b A B S2 ED Efn")
    g = p.define("stochastic gradient", p("gg") - (p("f") + p("n")).square, "g = f + n")
    mean = p.expect("its mean square", g, {"gg": "Eg", "f_f": "Ef", "f_n": "Efn", "n_n": "En"})
    free = p.given("H*", Efn, "noise of mean zero given y_{k-1} and everything earlier", equality=True)
    quiet = p.given("A2", sigma_l2 - En, "variance at most sigma_l^2")
    step = p.follows("one step", Ef + sigma_l2 - Eg, (-1, mean), (-2, free), quiet)
    parts = [p.define(name, value, "weighted by eta_k^2") for name, value in (("a", a - e2 * Eg), ("b", b - e2 * Ef))]
    weighted = p.follows("one weighted step", b + e2 * sigma_l2 - a, (e2, step), (-1, parts[0]), parts[1])
    total = p.total("all steps", weighted, {"a": "A", "b": "B", "e2": "S2"}, K, "sigma_l2", over="local steps")
    square = p.define("M", S2 - K * M, "the sum of eta_k^2 is K M")
    lem1 = p.standard("lem1", K * A - ED, "Cauchy-Schwarz", "|Delta|^2 <= K sum eta_k^2 |g_k|^2, in the mean")
    return p.conclude(p.follows("(25f)", sum(f.update_split(K, M, sigma_l2, K * B).values()) - ED, lem1, (K, total),
                                (-K * sigma_l2, square)))


def weighted_drift():
    """(27e) from Theorem 1 after j = k - 1 = 1, 2, .. steps and (T1) at step k; v = 1/(2 k + 1), sums from k = 2 on are Z2, V2."""
    p = ft.Proof("L j", "J stale2 sigma_l2 sigma_g2 e2 Er z Z2 Z v V2 V log")
    L, j, J, stale2, sigma_l2, sigma_g2, e2, Er, z, Z, v, V, log = p("L j J stale2 sigma_l2 sigma_g2 e2 Er z Z v V log")
    G = sigma_g2 + stale2
    cap = p.given("(T1) at step k", 1 / (6 * (j + 1) * (2 * j + 3) * L**2) - e2, "k = j + 1")
    drift_ = p.lemma("Theorem 1 after k - 1 steps", drift.theorem1(), 1, K=j, DK=Er, F2=stale2, sg2=sigma_g2, sigma2=sigma_l2)
    z_is, v_is = p.define("z", z - e2 * Er), p.define("v", v - 1 / (2 * j + 3))
    one = p.follows("one step", v / (12 * L**4) * G + v / (144 * L**4) * sigma_l2 - z, (e2, drift_), (-1, z_is),
                    (G * j / (2 * L**2) + (j + 1) * sigma_l2 / (24 * L**2), cap),
                    (G / (12 * L**4) + sigma_l2 / (144 * L**4), v_is))
    total = p.total("steps from the second on", one, {"z": "Z2", "v": "V2"}, J, "stale2 sigma_l2 sigma_g2", over="local steps")
    first = p.define("Z", Z - p("Z2"), "y_0 = x_{t-tau}: the first term is 0")
    rest = p.define("V", V - p("V2") - ft.fraction("1/3"), "the first term is 1/3")
    logs = p.lemma("cor1-log-sum", log_sum())
    weight = G / (12 * L**4) + sigma_l2 / (144 * L**4)
    return p.conclude(p.follows("(27e)", sum(f.weighted_drift(L, log, stale2, sigma_l2, sigma_g2).values()) - Z, total,
                                (-1, first), (weight, rest), (weight, logs)))


def corollary1():
    """(10) from lem3, (25f), (27e) and, in it, Theorem 1."""
    p = ft.Proof("L K th", "Gamma d2 D2 ED M log sigma_l2 sigma_g2 e2 r Er Ef b B z Z S2", "", "u v h f")
    L, K, Gamma, d2, D2, ED, M, log, sigma_l2, sigma_g2 = p("L K Gamma d2 D2 ED M log sigma_l2 sigma_g2")
    (u, v, h, g), e2, Er, Ef, b, z, S2 = p("u v h f"), *p("e2 Er Ef b z S2")
    Theta = theta(Gamma, K, L, M, log)
    c1 = p.given("(C1)", Theta - p("th"), "Theta >= th > 0")
    smooth = p.given("A1 for F", L**2 * D2 - (u - v).square, "D2 = |x_t - x_{t-tau}|^2; of F by lem2")
    lipschitz = p.given("A1", L**2 * p("r") - (g - h).square, "r = |y_{k-1} - x_{t-tau}|^2")
    near = p.given("A3", sigma_g2 - (h - u).square)
    stale = p.given("A4 for every draw", Gamma**2 * d2 - D2, "x_t and x_{t-tau} do not depend on the noise of this update")
    four = p.standard("lem1 with four vectors", 4 * ((g - h).square + (h - u).square + (u - v).square + v.square) - g.square,
                      "Cauchy-Schwarz", "grad f_i(y_{k-1}) over grad f_i and grad F at x_{t-tau} and grad F(x_t)")
    path = p.follows("one gradient (26c)", 4 * (L**2 * p("r") + sigma_g2 + L**2 * D2 + v.square) - g.square, four,
                     (4, lipschitz), (4, near), (4, smooth))
    mean = p.expect("in the mean", path, {"r": "Er", "f_f": "Ef"}, fixed="D2 sigma_g2 v_v")
    parts = [p.define(name, value, "weighted by eta_k^2") for name, value in (("b", b - e2 * Ef), ("z", z - e2 * Er))]
    rest = 4 * (sigma_g2 + L**2 * D2 + v.square)
    weighted = p.follows("weighted", 4 * L**2 * z + e2 * rest - b, (e2, mean), (-1, parts[0]), (4 * L**2, parts[1]))
    total = p.total("all steps (26d)", weighted, {"b": "B", "z": "Z", "e2": "S2"}, K, "D2 sigma_g2 v_v", over="local steps")
    square = p.define("M", S2 - K * M, "the sum of eta_k^2 is K M")
    fresh = p.expect("A4 in the mean", stale, {"d2": "ED"}, fixed="Gamma D2")
    split = p.lemma("(25f)", update_split())
    moved = p.lemma("(27e)", weighted_drift(), stale2=u.square)
    lem3 = p.lemma("Lemma 3", lemma3(), d2=ED, Gamma2=Gamma**2)
    bound = f.coefficients(K, L, M, log)
    whole = p.follows("before the division", bound["current"] * v.square + bound["noise"] * sigma_l2 + bound["apart"] * sigma_g2
                      - Theta * ED, split, (K, total), (-K * rest, square), (4 * K * L**2, moved),
                      (K * log / (6 * L**2), lem3), (4 * K**2 * L**2 * M, fresh))
    final = sum(f.corollary1(K, L, M, log, Theta, v.square, sigma_l2, sigma_g2).values()) - ED
    return p.conclude(p.cancel("Corollary 1", final, whole, c1, p("th")))
