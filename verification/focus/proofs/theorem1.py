"""Theorem 1: strongly convex as printed with smaller steps; the PL and the non-convex part with another potential."""
import fltheory as ft
from verification.focus.formulas import lemmas as f
from verification.focus.proofs.drift import CLIENT, HALF, THIRD, in_the_mean
from verification.focus.proofs.lemmas import descent, lemma3, lemma4


def theorem1():
    """Theorem 1, strongly convex: the steps of Lemmas 3 and 4 and of (110) as corrected, and eta <= q/(18 L N^2)."""
    p = ft.Proof("L eta N q mu", "T A EA A1 EA1 B EB B0 EB0 gap Egap G EG Psi Psi_1 Psi_next Psi_R z Z V_R B_R")
    L, eta, N, q, mu, T, EA, EA1, EB, EB0, Egap, EG, B = p("L eta N q mu T EA EA1 EB EB0 Egap EG B")
    k = L * eta
    p.given("step below 1/mu", 1 - eta * mu)
    several = p.given("several clients", N - 2)
    p.follows("clients", N - 1, several)
    p.given("local steps", 1 - 3 * k * T, "eta <= 1/(3L (tau - 1))")
    share = p.given("smallest weight", 1 - q * N, "the q_i sum to 1")
    p.given("step", q**3 - 64 * k**2 * N**2, "eta <= q^{3/2}/(8LN), squared")
    p.given("step with local steps", q**3 - 128 * k**2 * T**2, "eta <= q^{3/2}/(8 sqrt 2 L (tau - 1)), squared")
    weighted = p.given("step of (110)", q - 3 * eta * N * (8 * L**2 / mu + mu / 2))
    small = p.given("smaller step", q - 18 * k * N**2, "eta <= q/(18 L N^2)")
    server = p.expect("Lemma 3 in the mean", p.lemma("Lemma 3", lemma3(), EA1=p("A1")),
                      {"A": "EA", "B": "EB", "gap": "Egap", "A1": "EA1"}, says="tower property")
    spread = p.expect("Lemma 4 in the mean", p.lemma("Lemma 4", lemma4(), B=p("B0"), EB1=B, EG=p("G")),
                      {"B0": "EB0", "B": "EB", "G": "EG"}, says="tower property; x_r is the model after round r - 1")
    smooth = p.standard("gradient", 2 * L * Egap - EG, "gradient below the gap", "in the mean, at x_r")
    rate, weight = f.strongly_convex_rate(eta, mu, N), f.weight_of_the_appendix(eta, L, N, mu)
    now, later = EA + weight * EB0, EA1 + weight * EB
    one = p.follows("one round of Psi", rate * now - later, server, spread, (f.lemma4_corrected(eta, N, q)[1], smooth),
                    (EB0 / 3, weighted), (eta / q * Egap * N, small), (eta * Egap * 2 / 9, small),
                    (eta * Egap * (1 + q / 9), several), (eta * Egap / 9, share))
    left = p.follows("the rate is not negative", rate, (ft.fraction("1/3"), weighted), (ft.fraction("1/3"), share),
                     (q / 3, several))
    weighs = p.follows("nor the weight", weight, (ft.fraction("1/3"), weighted), (ft.fraction("1/3"), share), (q / 3, several))
    return p.conclude(rounds(p, one, left, rate, now, later, weight, weighs), one)


def rounds(p, one, left, rate, now, later, weight, weighs):
    """V_R <= rate^{R-1} Psi_1 where Psi = V + weight B, by induction from E Psi_{r+1} <= rate E Psi_r."""
    Psi, Psi_1, next_, Psi_R, z, Z = p("Psi Psi_1 Psi_next Psi_R z Z")
    here = p.define("potential", Psi - now)
    there = p.define("potential after the round", next_ - later)
    held = p.suppose("after r rounds", z * Psi_1 - Psi)
    then = p.follows("after r + 1 rounds", rate * z * Psi_1 - next_, one, (held, left), (rate, here), (-1, there))
    end = p.induct("after all rounds", held, then, {"z": 1, "Psi": "Psi_1"}, {"z": rate * z, "Psi": "Psi_next"},
                   {"z": "Z", "Psi": "Psi_R"}, "Z is the rate to the number of rounds since Psi_1", keeps={"z": (left, z)})
    last = p.define("potential at the end", Psi_R - p("V_R") - weight * p("B_R"), "V_R, B_R: both parts after R rounds")
    return p.follows("after R rounds", Z * Psi_1 - p("V_R"), end, last, (p("B_R"), weighs))


PARTS = f"{CLIENT} C2 B1 EB1 V F F1 EF1 G"


def one_round(p, cap, C, step, short):
    """F - E F' - eta N/2 G + (eta L^2/2 + w (1 + q/4)) (1 - q (1 - share)) B - w E B' >= 0 with w = 2 eta L^2/q, by the
    facts step: q >= C eta L N, and short: q <= 1. What the push gains pays for the consensus error that it makes."""
    L, eta, N, q, S, B, D2, C2, B1, F, F1, G, a, g = p("L eta N q S B D2 C2 B1 F F1 G a g")
    k, s, w, share = L * eta, q / 4, f.weight_of_the_rate(eta, L, q), ft.fraction(cap[1])
    mean = in_the_mean(p, cap)
    down, y = descent(p)
    near = p.define("squared distance", D2 - a.square, "a = x - z_i'")
    move = p.define("distance from the new model", C2 - (a - eta * y).square, "x' = x - eta y")
    young = p.square("Young", s * a + eta * y)
    one = p.follows("one client and the server's move", (1 + s) * D2 + (1 + 1 / s) * eta**2 * y.square - C2, (-1, move),
                    (1 + s, near), (1 / s, young))
    total = p.total("all clients", one, {"D2": "S", "C2": "B1"}, N, fixed="g_g e_e e_g")
    gradient = p.define("gradient", G - g.square)
    paid = p.follows("the push pays", q**2 * (1 - k * N) - 4 * (q + 4) * k**2 * N**2, (q**2 / C, step),
                     (4 * (q + 4) / C**2 * (q + C * k * N), step), (q**2 * (C + 4) / C**2, short))
    push = p.square("push", y)
    one = p.follows("one round", F - F1 - eta * N / 2 * G + (eta * L**2 / 2 + w * (1 + s)) * S - w * B1, down, (w, total),
                    (eta / (2 * N * q**2), paid, push), (-eta * N / 2, gradient))
    mean_round = p.expect("one round in the mean", one, {"F1": "EF1", "S": "ES", "B1": "EB1"}, fixed="F G")
    spread = eta * L**2 / 2 + w * (1 + s)
    return p.follows("one round from B", F - p("EF1") - eta * N / 2 * G + spread * (1 - q * (1 - share)) * B - w * p("EB1"),
                     mean_round, (spread, mean))


def q_below_1(p):
    several = p.given("clients", p("N") - 1)
    return p.follows("q <= 1", 1 - p("q"), p.given("smallest weight", 1 - p("q") * p("N"), "the q_i sum to 1"), (p("q"), several))


def rate():
    """E Phi' <= (1 - eta beta N) Phi for Phi = F - F* + 2 eta L^2/q B: eta <= q/(5LN), eta <= 1/(3L(tau-1)), the PL condition."""
    p = ft.Proof("L eta N q beta", f"{PARTS} EG Psi Psi_1 Psi_next Psi_R z Z V_R B_R EB EF EB2 EF2", "", "a g e")
    L, eta, N, q, beta, B, F, EF1, EB1, G, EF, EB, EF2, EB2 = p("L eta N q beta B F EF1 EB1 G EF EB EF2 EB2")
    short = q_below_1(p)
    step = p.given("step", q - 5 * L * eta * N, "eta <= q/(5 L N)")
    curved = p.given("PL constant", L - beta, "beta <= L")
    pl = p.given("PL condition", G - 2 * beta * F, "F stands for F(x) - F*")
    down = one_round(p, THIRD, 5, step, short)
    w, share = f.weight_of_the_rate(eta, L, q), f.pl_rate(eta, beta, N)
    one = p.follows("one round of Phi", share * (F + w * B) - EF1 - w * EB1, down, (eta * N / 2, pl),
                    (w * eta * N * B, curved), (w * B / 5, step))
    total = p.expect("in the mean", one, {"F": "EF", "B": "EB", "EF1": "EF2", "EB1": "EB2"}, says="tower property")
    left = p.follows("the rate is not negative", share, (eta * N, curved), (ft.fraction("1/5"), step), (ft.fraction("1/5"), short))
    return p.conclude(rounds(p, total, left, share, EF + w * EB, EF2 + w * EB2, w, p.follows("the weight is not negative", w)), one)


def nonconvex():
    """(25) with 2 in place of 8, from B_0 = 0, at the printed steps."""
    p = ft.Proof("L eta N q", f"{PARTS} F0 EF EB EF2 EB2 EG sumG totalG endF endB", "", "a g e")
    L, eta, N, q, B, F, EF1, EB1, G, EF, EB, EG, EF2, EB2, sumG = p("L eta N q B F EF1 EB1 G EF EB EG EF2 EB2 sumG")
    k, w, F0 = L * eta, f.weight_of_the_rate(eta, L, q), p("F0")
    short = q_below_1(p)
    printed = p.given("printed step", q**3 - 64 * k**2 * N, "eta <= q^{3/2}/(8 L sqrt N), squared")
    squared = p.follows("squared", (q + 8 * k * N) * (q - 8 * k * N), (N, printed), (q**2, p.facts["smallest weight"]))
    step = p.cancel("step", q - 8 * k * N, squared, p.follows("a factor >= q", 8 * k * N), q)
    down = one_round(p, HALF, 8, step, short)
    one = p.follows("one round of Phi", F + w * B - EF1 - w * EB1 - eta * N / 2 * G, down)
    total = p.expect("in the mean", one, {"F": "EF", "B": "EB", "G": "EG", "EF1": "EF2", "EB1": "EB2"}, says="tower property")
    held = p.suppose("after r rounds", F0 - eta * N / 2 * sumG - EF - w * EB)
    then = p.follows("after r + 1 rounds", F0 - eta * N / 2 * (sumG + EG) - EF2 - w * EB2, held, total)
    end = p.induct("after R rounds", held, then, {"sumG": 0, "EF": F0, "EB": 0},
                   {"sumG": sumG + EG, "EF": "EF2", "EB": "EB2"}, {"sumG": "totalG", "EF": "endF", "EB": "endB"})
    sharp = p.follows("(25) with 2", f.nonconvex_proved(eta, N) * F0 - p("totalG"), (2 / (eta * N), end))
    return p.conclude(p.follows("(25)", f.nonconvex(eta, N) * F0 - p("totalG"), sharp), sharp)
