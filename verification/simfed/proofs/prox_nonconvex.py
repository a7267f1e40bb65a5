"""Pencil proofs of FedProx on smooth clients, convex or not: Lemma 4 of Appendix A, Theorem 2, and both with smaller constants.

Symbols: P = grad f(wbar_k), G = sum_i p_i grad f_i(w_k^i), m = wbar_k - wbar_0, n the averaged noise; F, F1 values of f at wbar_k,
wbar_{k+1}; drift, mid as in `prox_drift`; X = (1/E) sum_k E|grad f(wbar_k)|^2 of a round, sumX over rounds; root = sqrt(TE).
"""
import fltheory as ft
from verification.simfed.formulas import prox as f
from verification.simfed.formulas import theorems
from verification.simfed.proofs import prox_drift

DOMAIN = ("every number of smooth clients, convex or not, weights, local steps and dimension; every alpha >= 0; noise with mean 0 "
          "given the past, uncorrelated across clients, variance at most sigma^2; E|g|^2 <= G^2 before each local step")
RATE = DOMAIN + "; f bounded below, every T with TE = root^2"


def step():
    """E f(wbar_{k+1}) <= E f(wbar_k) - gamma/2 E|grad f(wbar_k)|^2 + noise + drifts."""
    p = ft.Proof("L gamma", "alpha ee drift Edrift Sr EP mid S sigma2 es Es En", "F F1 EF EF1 EPn EGn Emn", "P G m n r")
    L, gamma, alpha, drift = p("L gamma alpha drift")
    P, G, m, n, r = p("P G m n r")
    cap = p.given("cap of L", 1 - L * gamma, "gamma <= 1/L")
    v = G + alpha * m
    smooth = p.standard("descent", p("F") - gamma * P.dot(v + n) + L * gamma**2 / 2 * (v + n).square - p("F1"), "descent lemma",
                        "wbar_{k+1} = wbar_k - gamma (G + alpha (wbar_k - wbar_0) + n)")
    one = p.given("Lipschitz gradient", L**2 * p("ee") - r.square,
                  "r = grad f_i(w_k^i) - grad f_i(wbar_k), ee = |w_k^i - wbar_k|^2")
    total = p.total("all clients", one, {"ee": "drift", "r_r": "Sr"}, 1, says="weights p_i")
    jensen = p.standard("mean gradient", p("Sr") - (G - P).square, "Jensen", "G - P = sum_i p_i r")
    apart, length = p.square("gradient and pull apart", G - P - alpha * m), p.square("direction", v)
    sure = p.follows("one step, surely", p("F") - gamma / 2 * P.square + gamma * (L**2 * drift + alpha**2 * m.square)
                     - gamma * P.dot(n) + L * gamma**2 * v.dot(n) + L * gamma**2 / 2 * n.square - p("F1"), smooth,
                     (gamma, total), (gamma, jensen), (gamma / 2, apart), (gamma / 2, length, cap))
    mean = p.expect("one step in the mean", sure, {"F": "EF", "F1": "EF1", "P_P": "EP", "drift": "Edrift", "m_m": "mid",
                                                   "n_n": "En", "P_n": "EPn", "G_n": "EGn", "m_n": "Emn"}, fixed="alpha")
    past = [p.given(f"unbiased noise against {v}", p(f"E{v}n"), "given the past, so in the mean", equality=True) for v in "PGm"]
    loud = p.given("variance", p("sigma2") - p("es"), "es = E|noise of one client|^2: Assumption 2")
    every = p.total("noise of all clients", loud, {"es": "Es"}, "S", "sigma2", "weights p_i^2, S their sum")
    spread = p.standard("averaged noise", p("Es") - p("En"), "variance of a sum", "uncorrelated across clients")
    half = L * gamma**2 / 2
    return p.conclude(p.follows(
        "descent of one step", p("EF") - gamma / 2 * p("EP") + gamma * (L**2 * p("Edrift") + alpha**2 * p("mid"))
        + half * p("S") * p("sigma2") - p("EF1"), mean, (gamma, past[0]), (-2 * half, past[1]), (-2 * half * alpha, past[2]),
        (half, spread), (half, every)))


def lemma4():
    """lema4s with the drift summed, as stated, and Lemma 4 as printed where gamma <= 1/(2 alpha)."""
    p = ft.Proof("L gamma E", "alpha k S sigma2 G2 Edrift mid EP sumP total X", "F0 EF EF1 FE")
    L, gamma, alpha = p("L gamma alpha")
    p.given("cap of L", 1 - L * gamma, "gamma <= 1/L")
    half = p.given("cap of alpha, printed", 1 - 2 * alpha * gamma, "gamma <= 1/(2 alpha)")
    return p.conclude(*within(p, half))


def within(p, half=None):
    L, gamma, E, alpha, k, S, sigma2, G2 = p("L gamma E alpha k S sigma2 G2")
    if half is not None:
        p.follows("cap of alpha", 1 - alpha * gamma, (ft.fraction("1/2"), half))
    fall, whole = p("F0") - p("FE"), p.given("local steps", E - 1)
    one = p.lemma("local step", step())
    drift = p.lemma("weighted drift", prox_drift.everybody(), 1, t=alpha * gamma, drift=p("Edrift"))
    mid = p.lemma("drift of the mean", prox_drift.deviation(), 1, t=alpha * gamma)
    down = p.follows("drifts put in", p("EF") - gamma / 2 * p("EP") + gamma**3 * k**2 * G2 * (L**2 + alpha**2)
                     + L * gamma**2 / 2 * S * sigma2 - p("EF1"), one, (gamma * L**2, drift), (gamma * alpha**2, mid))

    def after(k, sumP, F):
        return (p("F0") - gamma / 2 * sumP + gamma**3 * G2 * (L**2 + alpha**2) * k * (k - 1) * (2 * k - 1) / 6
                + k * L * gamma**2 / 2 * S * sigma2 - F)
    held = p.suppose("after k steps", after(k, p("sumP"), p("EF")))
    then = p.follows("after k + 1 steps", after(k + 1, p("sumP") + p("EP"), p("EF1")), held, down)
    end = p.induct("one round", held, then, {"k": 0, "sumP": 0, "EF": p("F0")},
                   {"k": k + 1, "sumP": p("sumP") + p("EP"), "EF": "EF1"}, {"k": E, "sumP": "total", "EF": "FE"})
    X_is = p.define("X", p("X") - p("total") / E, "X = (1/E) sum_k E|grad f(wbar_k)|^2")
    args = (L, alpha, gamma, fall, S, sigma2, G2, E)
    summed, stated = (sum(made(*args).values()) - p("X") for made in (f.lemma4_summed, f.lemma4_s))
    sharp = p.follows("Lemma 4, drift summed", summed, (2 / (gamma * E), end), (-1, X_is))
    bound = p.follows("lema4s", stated, sharp, (gamma**2 * G2 * (L**2 + alpha**2), whole))
    if half is None:
        return sharp, bound
    unit = gamma * alpha * E**2 * G2
    return sharp, bound, p.follows("Lemma 4 as printed", sum(f.lemma4(*args).values()) - p("X"), (2, bound),
                                   (ft.fraction("2/3") * unit, half))


def lemma4_s():
    """lema4s for gamma <= min{1/L, 1/alpha}."""
    p = ft.Proof("L gamma E", "alpha k S sigma2 G2 Edrift mid EP sumP total X", "F0 EF EF1 FE")
    p.given("cap of L", 1 - p("L") * p("gamma"), "gamma <= 1/L")
    p.given("cap of alpha", 1 - p("alpha") * p("gamma"), "gamma <= 1/alpha")
    return p.conclude(*within(p))


def theorem2():
    """thm2s, then Theorem 2 as printed."""
    p = ft.Proof("L La E T root", "alpha S sigma2 G2 X sumX totalX t", "F0 F Fn FT inf")
    L, La, E, T, root, alpha, S, sigma2, G2, X, sumX, t = p("L La E T root alpha S sigma2 G2 X sumX t")
    gamma = 1 / (2 * La * root)
    La_is = p.define("La", La - L - alpha)
    p.given("local steps", E - 1)
    many = p.given("steps in all", root - 1, "TE >= 1")
    area = p.given("root", root**2 - T * E, "root = sqrt(TE)", equality=True)
    p.follows("cap of L", 1 - L * gamma, (1 / root, many), (gamma, La_is))
    p.follows("cap of alpha", 1 - alpha * gamma, (1 / root, many), (gamma, La_is))
    one = p.lemma("one round", lemma4_s(), 1, gamma=gamma, F0=p("F"), FE=p("Fn"))
    share = gamma * E / 2
    rest = sum(f.lemma4_s(L, alpha, gamma, 0, S, sigma2, G2, E).values())
    held = p.suppose("after t rounds", p("F0") - share * sumX + t * share * rest - p("F"))
    then = p.follows("after t + 1 rounds", p("F0") - share * (sumX + X) + (t + 1) * share * rest - p("Fn"), held, (share, one))
    end = p.induct("after T rounds", held, then, {"t": 0, "sumX": 0, "F": p("F0")}, {"t": t + 1, "sumX": sumX + X, "F": "Fn"},
                   {"t": T, "sumX": "totalX", "F": "FT"})
    low = p.given("bounded below", p("FT") - p("inf"), "Assumption 6")
    left, gap = p("totalX") / T, p("F0") - p("inf")
    sharp = sum(f.theorem2_s(L, La - L, gap, S, sigma2, G2, E, T, root).values())
    unit = 4 * La * root / (E * T)
    a, each = La - L, E * G2 / (6 * La**2 * T)
    square = each / E * (a + alpha)   # what turns alpha^2 into (La - L)^2
    first = p.follows("thm2s", sharp - left, (unit, end), (unit, low), (-4 * La * gap / (E * T * root), area),
                      (each * (L**2 + alpha**2) / root**2, area), (E * square, La_is))
    above = p.given("start above the bound", gap, "f_inf <= f(wbar_0)")
    printed = sum(theorems.theorem2(L, a, gap, S, sigma2, G2, E, T, root).values())
    lead, last = E**2 * G2 / (La * root), L * E * G2 / (16 * La**3 * T * root)
    second = p.follows("Theorem 2 as printed", printed - left, first, (4 * La / root, above), (lead, La_is),
                       (last * (a + alpha), La_is), (-E * square, La_is), (-each * alpha**2 / root**2, area),
                       (alpha * lead / root, many), (alpha * lead / (6 * La * root), La_is))
    return p.conclude(first, second)
