"""FedAvg in Appendix B: Lemma 1, Lemma 2, Theorem 3 as corrected and its corollaries, for every law without empty rounds.

R is the root of sum_i q_i |x_i - xbar|^2 with xbar = sum_i q_i x_i; a norm of stacked vectors (v_1, ..., v_N) is the root of
sum_i q_i |v_i|^2. sigma bounds sum_i q_i |grad f_i(x) - grad F(x)|^2 by its square (Assumption 5).
"""
import fltheory as ft
from verification.focus.formulas import fedavg as f

EVERY = ("all functions with L-Lipschitz gradients under the hypotheses (F strongly convex but for Lemma 2), every law with "
         "independent "
         "rounds of which none is empty, every delta_q")


def lemma2():
    """Inside a round, k <= tau - 1: R <= (4/3) eta k sigma, by induction (1 - L eta t) R_t <= eta t sigma."""
    p = ft.Proof("L eta", "T t k R R0 R1 v w sigma delta2")
    L, eta, T, t, k, R, R0, R1, v, w, sigma, delta2 = p("L eta T t k R R0 R1 v w sigma delta2")
    cap = p.given("local steps", 1 - 4 * L * eta * T, "eta <= 1/(4L (tau - 1))")
    within = p.given("inside the round", T - k, "k <= tau - 1")
    inside = p.given("index", k - t - 1, "t < k", within="t")
    nearest = p.standard("centred gradients", w - v, "mean as nearest point",
                         "v, w: norms of grad f_i(x_i) less their mean, less grad F(xbar)")
    split = p.standard("gradients", L * R0 + sigma - w, "triangle inequality",
                       "|grad f_i(x_i) - grad f_i(xbar)| <= L |x_i - xbar|, and Assumption 5")
    move = p.standard("one local step", R0 + eta * v - R1, "triangle inequality", "x_i - xbar moves by -eta (grad f_i(x_i) - mean)")
    growth = p.follows("growth", (1 + L * eta) * R0 + eta * sigma - R1, move, (eta, nearest), (eta, split))
    held = p.suppose("after t steps", eta * t * sigma - (1 - L * eta * t) * R0)
    then = p.follows("after t + 1 steps", eta * (t + 1) * sigma - (1 - L * eta * (t + 1)) * R1, held, (growth, cap),
                     (3 * L * eta * T, growth), (L * eta, growth, within), (L * eta, growth, inside))
    end = p.induct("after k steps", held, then, {"t": 0, "R0": 0}, {"t": t + 1, "R0": "R1"}, {"t": "k", "R0": "R"})
    bound = p.follows("spread", 4 * eta * k * sigma - 3 * R, (4, end), (R, cap), (4 * L * eta * R, within))
    squared = p.follows("spread squared", 16 * eta**2 * k**2 * sigma**2 - 9 * R**2, (4 * eta * k * sigma + 3 * R, bound))
    return p.conclude(p.follows("Lemma 2", f.lem2(eta, T, delta2, sigma**2) - R**2, (ft.fraction("1/9"), squared),
                                (ft.fraction("16/9") * eta**2 * sigma**2 * (T + k), within)), bound)


def lemma2_end():
    """Just before averaging, after tau local steps."""
    p = ft.Proof("L eta", "T R R1 v w sigma delta2")
    L, eta, T, R, R1, v, w, sigma, delta2 = p("L eta T R R1 v w sigma delta2")
    cap = p.given("local steps", 1 - 4 * L * eta * T, "eta <= 1/(4L (tau - 1))")
    before = p.lemma("Lemma 2 after tau - 1 steps", lemma2(), which=1, k=T)
    nearest = p.standard("centred gradients", w - v, "mean as nearest point")
    split = p.standard("gradients", L * R + sigma - w, "triangle inequality", "Lipschitz gradients and Assumption 5")
    move = p.standard("last local step", R + eta * v - R1, "triangle inequality")
    bound = p.follows("spread", 4 * eta * (T + 1) * sigma - 3 * R1, (3, move), (3 * eta, nearest), (3 * eta, split),
                      (1 + L * eta, before),
                      (eta * sigma, cap))
    return p.conclude(p.follows("Lemma 2, just before averaging", f.lem2(eta, T + 1, delta2, sigma**2) - R1**2,
                                (ft.fraction("1/9") * (4 * eta * (T + 1) * sigma + 3 * R1), bound)))


def lemma1():
    """(49): eta <= 1/(3L), F mu-strongly convex."""
    p = ft.Proof("L eta mu", "gap A A1 D V delta2", "", "x g e d")
    L, eta, mu, gap, A, A1, D, V, delta2, x, g, e, d = p("L eta mu gap A A1 D V delta2 x g e d")
    step = p.given("step", 1 - 3 * L * eta, "eta <= 1/(3L)")
    curved = p.given("curvatures", L - mu)
    convex = p.standard("descent direction", g.dot(x) - gap - mu / 2 * x.square, "strong convexity", "x stands for xbar - x*")
    smooth = p.standard("gradient", 2 * L * gap - g.square, "gradient below the gap", "g = grad F(xbar)")
    lipschitz = p.given("local gradients", L**2 * D - V, "V = sum_i q_i |grad f_i(x_i) - grad f_i(xbar)|^2, D = sum_i q_i "
                                                         "|x_i - xbar|^2")
    mean = p.standard("their mean", V - e.square, "Jensen", "e = sum_i q_i (grad f_i(x_i) - grad f_i(xbar))")
    drawn = p.given("sampling", delta2 - d.square, "(37) at consensus: d = sum_i (q_i - 1/N) grad f_i(xbar)")
    before = p.define("error before", A - x.square)
    after = p.define("error after", A1 - (x - eta * (g + e + d)).square, "q'X - eta q' grad f(X)")
    s = eta * mu / 2
    young = p.square("Young", s * (x - eta * g) + eta * (e + d))
    both = p.square("two terms", e - d)
    terms = f.lem1(eta, mu, L, A, D, delta2)
    share = (1 + 1 / s) * eta**2
    return p.conclude(p.follows("Lemma 1", sum(terms.values()) - A1, (-1, after), (1 - eta * mu / 2, before), (1 / s, young),
                                (2 * eta * (1 + s), convex), (eta**2 * (1 + s), smooth), (share, both), (2 * share, mean),
                                (2 * share, lipschitz), (2 * share, drawn), (eta / mu * (L**2 * D + delta2), step),
                                (3 * eta**2 / mu * (L**2 * D + delta2), curved), (2 * eta * gap * (1 + s), step)))


def theorem3():
    """E|xbar_k - x*|^2 <= (1 - eta mu/2)^k |xbar_0 - x*|^2 + the bound of Theorem 3 as corrected, for every k."""
    p = ft.Proof("L eta mu", "T k R R1 sigma delta2 A0 A M A1 EA1 D W Z z EA last")
    L, eta, mu, T, R, R1, sigma, delta2, A0, A, D, W, z = p("L eta mu T R R1 sigma delta2 A0 A D W z")
    p.given("local steps", 1 - 4 * L * eta * T, "eta <= 1/(4L (tau - 1))")
    p.given("step", 1 - 3 * L * eta, "eta <= 1/(3L)")
    p.given("inside the round", T - p("k"), "k <= tau - 1")
    curved = p.given("curvatures", L - mu)
    spread = p.define("spread of the local models", D - R**2)
    one = p.lemma("Lemma 1", lemma1(), A1=p("M"))
    inside, before = p.lemma("Lemma 2", lemma2()), p.lemma("Lemma 2 before averaging", lemma2_end())
    drawn = p.standard("who is averaged", R1**2 - W, "Jensen", "W = E|mean over S - q'Y|^2, 0 in a step that does not "
                                                               "average; no empty rounds")
    after = p.standard("the mean and its variance", p("M") + W - p("A1"), "variance of a sum", "E over S; q' Y is the mean over S")
    constants = (eta, T + 1, mu, L, delta2, sigma**2)
    floor, rate = sum(f.thm3(*constants).values()), 1 - eta * mu / 2
    step = p.follows("one step", rate * A + eta * mu / 2 * floor - p("A1"), one, after, drawn, before, (5 * eta * L**2 / mu,
                                                                                                        inside),
                     (-5 * eta * L**2 / mu, spread))
    mean = p.expect("in the mean", step, {"A": "EA", "A1": "EA1"}, fixed="T sigma delta2", says="tower property")
    left = p.follows("the rate is not negative", rate, (ft.fraction("1/6"), p.facts["step"]), (eta / 2, curved))
    held = p.suppose("after k steps", z * A0 + floor - p("EA"))
    then = p.follows("after k + 1 steps", rate * z * A0 + floor - p("EA1"), mean, (held, left))
    end = p.induct("after all steps", held, then, {"z": 1, "EA": "A0"}, {"z": rate * z, "EA": "EA1"}, {"z": "Z", "EA": "last"},
                   "Z = (1 - eta mu/2)^K tends to 0", keeps={"z": (left, z)})
    return p.conclude(end)


def corollary(alone=False):
    """Theorem 3 for uniform weights, so that delta_q = 0: Corollary 1; with one local step alone: Corollary 2."""
    p = ft.Proof("L eta mu", "T sigma A0 Z last")
    L, eta, mu, T, sigma, A0, Z, last = p("L eta mu T sigma A0 Z last")
    if not alone:
        p.given("local steps", 1 - 4 * L * eta * T, "eta <= 1/(4L (tau - 1))")
    p.given("step", 1 - 3 * L * eta, "eta <= 1/(3L)")
    p.given("curvatures", L - mu)
    floor = f.cor2(eta, mu, sigma**2) if alone else f.thm3(eta, T + 1, mu, L, 0, sigma**2)["local"]
    whole = p.lemma("Theorem 3", theorem3(), delta2=0, T=0 if alone else T)
    return p.conclude(p.follows("Corollary", Z * A0 + floor - last, whole))
