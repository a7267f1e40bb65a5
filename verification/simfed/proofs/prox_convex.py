"""Pencil proofs of FedProx on strongly convex clients: Lemma 3 of Appendix A, its factor, and Theorem 1 with smaller constants.

Symbols: x = wbar_k - w_*, a = wbar_0 - w_*, e = w_k^i - wbar_k, d = wbar_0 - w_k^i; g, h gradients of f_i at w_k^i and wbar_k,
G = sum_i p_i g_i, n the averaged noise; fi, fb, fs, fm values of f_i at w_k^i, at wbar_k, at w_* and its minimum; D, D0, Dn =
E|wbar - w_*|^2 after k steps, none and k + 1; drift, disp as in `prox_drift`; Gm = Gamma; am = alpha + mu; z = (1 - gamma am)^k.
"""
import fltheory as ft
from verification.simfed.formulas import prox_convex as f
from verification.simfed.formulas.theorems import theorem1 as printed1
from verification.simfed.proofs import prox_drift

CLASS = ("every number of strongly convex smooth clients, weights, local steps and dimension; every alpha >= 0; noise with mean 0 "
         "given the past, uncorrelated across clients, variance at most sigma^2")
DOMAIN = CLASS + "; E|g|^2 <= G^2 before each local step"


def caps(p):
    p.given("cap of L", 1 - 2 * p("L") * p("gamma"), "gamma <= 1/(2L)")
    p.given("cap of alpha", 1 - p("gamma") * (p("alpha") + p("mu")), "gamma <= 1/(alpha + mu): q >= 0")


def client(p, name, z, apart, squares):
    """Of one client: gamma^2 |g|^2 - 2 gamma <z, g> is at most -gamma mu |x + e|^2, what lies between, and heterogeneity.

    apart: w_k^i - z - w_*, so that z = x or a; squares: what Young's inequality costs there."""
    L, gamma, mu, fb, fs, fm = p("L gamma mu fb fs fm")
    x, e, g = p("x e g")
    short, f_ = p.facts["cap of L"], p.facts
    young = p.square(f"Young at {name}", apart + gamma * g)
    slack = gamma * (2 - 2 * L * gamma)   # 2 gamma (1 - gamma L), of which 1 - 2 L gamma is taken
    bound = (squares + e.square + 6 * L * gamma**2 * (fs - fm) - gamma * mu * (x + e).square + 2 * gamma * z.dot(g)
             - gamma**2 * g.square - slack * (1 - 2 * L * gamma) * (fb - fs))
    return p.follows(f"one client at {name}", bound, young, (2 * gamma, f_["to the optimum"]), (2 * gamma**2, f_["gap here"]),
                     (2 * gamma, f_["to the mean"], short), (short, f_["Young between"]), (gamma**2, f_["gap there"], short),
                     (4 * L**2 * gamma**3, f_["above its minimum"]))


def recursion():
    """One local step with the measured drifts; a second conclusion holds for any way to split them."""
    p = ft.Proof("L gamma", "alpha mu dd Sg Se disp Edisp drift S sigma2 Gm es Es D D0 Dn En d2",
                 "fi fb fs fm F Fs Fm Xg Ag Xe Exn Ean EGn", "x a e g h G n")
    L, gamma, mu, fi, fb, fs, fm = p("L gamma mu fi fb fs fm")
    x, a, e, g, h = p("x a e g h")
    caps(p)
    p.standard("to the optimum", fs - fi + g.dot(x + e) - mu / 2 * (x + e).square, "strong convexity", "from w_k^i to w_*")
    p.standard("to the mean", fi - fb - h.dot(e), "strong convexity", "with mu = 0, from wbar_k to w_k^i")
    p.standard("gap here", 2 * L * (fi - fm) - g.square, "gradient below the gap")
    p.standard("gap there", 2 * L * (fb - fm) - h.square, "gradient below the gap")
    p.given("above its minimum", fs - fm, "fm = min f_i")
    p.square("Young between", e + gamma * h)
    where = p.define("distance from the start", p("dd") - (a - x - e).square, "d = wbar_0 - w_k^i = a - x - e, dd = |d|^2")
    here = client(p, "the mean", x, -e, e.square)
    there = client(p, "the start", a, a - x - e, (a - x - e).square)
    there = p.follows("one client at the start, dd put in", there.expression + p("dd") - (a - x - e).square, there, where)
    becomes = {"g_g": "Sg", "e_e": "Se", "fs": "Fs", "fm": "Fm", "fb": "F", "e_x": "Xe"}
    one = p.total("clients at the mean", here, becomes | {"g_x": "Xg"}, 1, "x_x mu alpha", "weights p_i")
    two = p.total("clients at the start", there, becomes | {"a_g": "Ag", "dd": "disp"}, 1, "x_x a_a a_x mu alpha", "weights p_i")
    return finished(p, one, two)


def finished(p, one, two):
    """The local step from the sums over clients, in the mean."""
    L, gamma, alpha, mu, F, Fs, Gm, S, sigma2 = p("L gamma alpha mu F Fs Gm S sigma2")
    (x, a, G, n), t, Se, d2 = p("x a G n"), alpha * gamma, p("Se"), p("d2")
    mean = p.define("mean of the local models", p("Xe"), "sum_i p_i <x, e> = 0")
    sides = p.define("gradients against x", p("Xg") - x.dot(G)), p.define("gradients against a", p("Ag") - a.dot(G))
    jensen = p.standard("mean gradient", p("Sg") - G.square, "Jensen", "G = sum_i p_i g_i")
    least, gamma_is = p.given("minimum", F - Fs, "f(w_*) is the minimum"), p.define("Gamma", Gm - (Fs - p("Fm")))
    after = p.define("local step", d2 - ((1 - t) * x + t * a - gamma * (G + n)).square,
                     "wbar_{k+1} = (1 - alpha gamma) wbar_k + alpha gamma wbar_0 - gamma (G + n)")
    pull = p.follows("pull below 1", 1 - t, p.facts["cap of alpha"], says="alpha gamma <= 1")
    short = p.facts["cap of L"]
    convex = p.square("two starts", x - a)
    cross = 2 * gamma * ((1 - t) * x + t * a - gamma * G).dot(n)
    sure = p.follows(
        "one step, surely", (1 - t - gamma * mu) * x.square + t * a.square + gamma**2 * n.square - cross + 6 * L * gamma**2 * Gm
        + (2 - t) * Se + t * p("disp") - d2, (-1, after), (one, pull), (t, two), (t, pull, convex), (gamma**2, jensen),
        (-2 * gamma * (1 - t), sides[0]), (-2 * gamma * t, sides[1]), (2 * gamma * mu, mean), (6 * L * gamma**2, gamma_is),
        (2 * gamma, short, short, least), (2 * L * gamma**2, short, least))
    step = p.expect("one step in the mean", sure, {"x_x": "D", "a_a": "D0", "Se": "drift", "disp": "Edisp", "n_n": "En",
                                                   "n_x": "Exn", "a_n": "Ean", "G_n": "EGn", "d2": "Dn"}, fixed="alpha mu Gm")
    past = [p.given(f"unbiased noise against {v}", p(f"E{v}n"), "given the past, so in the mean", equality=True) for v in "xaG"]
    loud = p.given("variance", sigma2 - p("es"), "es = E|noise of one client|^2: Assumption 2")
    total = p.total("noise of all clients", loud, {"es": "Es"}, S, "sigma2", "weights p_i^2, S their sum")
    apart = p.standard("averaged noise", p("Es") - p("En"), "variance of a sum", "uncorrelated across clients")
    bound = f.step(L, mu, alpha, gamma, p("D"), p("D0"), S, sigma2, Gm, p("drift"), p("Edisp"))
    return p.conclude(p.follows("recursion", sum(bound.values()) - p("Dn"), step, (2 * gamma * (1 - t), past[0]),
                                (2 * gamma * t, past[1]), (-2 * gamma**2, past[2]), (gamma**2, apart), (gamma**2, total)))


# ---- the factor of a round --------------------------------------------------------------------------------------
def bernoulli():
    """q^E (1 + E u) <= 1 for q = 1 - u, u <= 1: what (1 - x)^E <= exp(-E x) <= 1/(1 + E x) is used for."""
    p = ft.Proof("u", "k E z zE")
    u, k, z = p("u k z")
    cap = p.given("power", 1 - u, "q = 1 - u >= 0")
    held = p.suppose("after k factors", 1 - z * (1 + k * u), "z = q^k")
    then = p.follows("after k + 1 factors", 1 - z * (1 - u) * (1 + (k + 1) * u), held)
    return p.conclude(p.induct("Bernoulli", held, then, {"k": 0, "z": 1}, {"k": k + 1, "z": z * (1 - u)}, {"k": p("E"), "z": "zE"},
                               keeps={"z": (z, cap)}))


def geometric(sign=1):
    """q^E = 1 - u s for s = 1 + q + .. + q^(E-1); sign: which of both inequalities."""
    p = ft.Proof("u", "z zE s sE")
    u, z, s = p("u z s")
    cap = p.given("power", 1 - u, "q = 1 - u >= 0")
    held = p.suppose("after k factors", sign * (1 - z - u * s), "z = q^k")
    then = p.follows("after k + 1 factors", sign * (1 - z * (1 - u) - u * (s + z)), held)
    return p.conclude(p.induct("geometric sum", held, then, {"z": 1, "s": 0}, {"z": z * (1 - u), "s": s + z},
                               {"z": "zE", "s": "sE"}, keeps={"z": (z, cap)}))


def first_power():
    """q^(E-1) <= 1."""
    p = ft.Proof("u", "z zE")
    u, z = p("u z")
    cap = p.given("power", 1 - u, "q = 1 - u >= 0")
    held = p.suppose("a power", 1 - z)
    then = p.follows("the next one", 1 - z * (1 - u), held)
    return p.conclude(p.induct("powers are at most 1", held, then, {"z": 1}, {"z": z * (1 - u)}, {"z": "zE"},
                               keeps={"z": (z, cap)}))


def factor():
    """kappa = 1 - gamma mu (1 + q + .. + q^(E-1)) <= 1 - gamma mu, and (57) at gamma = 1/(2 E L_alpha) and beyond."""
    p = ft.Proof("gamma L mu am La E", "alpha z z1 s")
    gamma, L, mu, am, La, E, alpha, z, z1 = p("gamma L mu am La E alpha z z1")
    u = gamma * am
    p.given("power", 1 - u, "gamma <= 1/(alpha + mu)")
    p.define("am", am - alpha - mu)
    am_is, La_is = p.facts["am"], p.define("La", La - L - alpha)
    above, below = (p.lemma(f"sum from {n}", geometric(sign), u=u, zE=z, sE=p("s"))
                    for n, sign in (("below", 1), ("above", -1)))
    k = 1 - mu / am * (1 - z)
    same = p.follows("the factor as printed", k - f.kappa(am - mu, mu, z), says="(alpha + mu z)/(alpha + mu)", equality=True)
    sums = [p.follows(f"geometric sum, {n}", sign * (1 - gamma * mu * p("s") - k), (mu / am, fact))
            for n, sign, fact in (("at least", 1, above), ("at most", -1, below))]
    one = p.lemma("powers", first_power(), u=u, zE=z1)
    step = p.facts["power"]
    least = p.follows("at most 1 - gamma mu", 1 - gamma * mu - f.kappa(am - mu, mu, z1 * (1 - u)), (mu / am, one, step),
                      says="z = q z1, E >= 1")
    slow = p.lemma("Bernoulli", bernoulli(), u=u, zE=z, E=E)
    at = p.given("step of Theorem 1", 2 * E * La * gamma - 1, "gamma = 1/(2 E L_alpha)", equality=True)
    bottom = 2 * La + am
    end = p.follows("(57)", 1 - mu / bottom - k, (2 * La * mu / (am * bottom), slow), (mu * z / bottom, at))
    written = p.follows("its denominator", bottom - (3 * alpha + 2 * L + mu), (2, La_is), am_is, equality=True)
    order = p.given("mu at most L", L - mu)
    last = p.follows("factor of Theorem 1", 1 - mu / (3 * La) - k, end, (mu / (3 * La * bottom), order),
                     (mu / (3 * La * bottom), La_is), (-mu / (3 * La * bottom), am_is))
    return p.conclude(*sums, same, least, end, written, last)


# ---- one round --------------------------------------------------------------------------------------------------
def squares_not_negative(p):
    """k (k - 1) (2k - 1) >= 0 for every integer k >= 0."""
    k = p("k")
    held = p.suppose("squares below k", k * (k - 1) * (2 * k - 1))
    then = p.follows("squares up to k", (k + 1) * k * (2 * k + 1))
    return p.induct("sum of squares", held, then, {"k": 0}, {"k": k + 1}, {"k": k})


def lemma3(summed=True):
    """Lemma 3, with the noise and heterogeneity of E steps, or (not summed) with their geometric sum; then as printed."""
    p = ft.Proof("L gamma am", "alpha mu k E z zE S sigma2 Gm G2 D0 D Dn DE drift disp")
    L, gamma, am, alpha, mu, k, E, z, G2, D0 = p("L gamma am alpha mu k E z G2 D0")
    caps(p)
    u, t, am_is = gamma * am, alpha * gamma, p.define("am", am - alpha - mu)
    pull = p.follows("pull below 1", 1 - t, (1, p.facts["cap of alpha"]))
    p.follows("power", 1 - u, p.facts["cap of alpha"], (-gamma, am_is))
    step = p.lemma("local step", recursion(), Edisp=p("disp"))
    disp, drift = (p.lemma(name, prox_drift.everybody(), which, t=t) for which, name in ((0, "drift"), (1, "weighted drift")))
    one = gamma**2 * (p("S") * p("sigma2") + 6 * L * p("Gm"))
    bounded = p.follows("drifts put in", (1 - u) * p("D") + t * D0 + one + 2 * gamma**2 * k**2 * G2 - p("Dn"), step,
                        (-gamma * p("D"), am_is), drift, (drift, pull), (t, disp))

    def after(k, z):
        steps = k * one if summed else (1 - z) / u * one
        return (1 - mu / am * (1 - z)) * D0 + steps + 2 * gamma**2 * f.squares(k) * G2
    q = p.facts["power"]
    held = p.suppose("after k steps", after(k, z) - p("D"))
    then = p.follows("after k + 1 steps", after(k + 1, z * (1 - u)) - p("Dn"), (q, held), bounded, (gamma * D0, am_is),
                     (u * gamma**2 * G2 / 3, squares_not_negative(p)))
    end = p.induct("one round", held, then, {"k": 0, "z": 1, "D": D0}, {"k": k + 1, "z": z * (1 - u), "D": "Dn"},
                   {"k": E, "z": "zE", "D": "DE"}, keeps={"z": (z, q)})
    if not summed:
        return p.conclude(end)
    whole = p.given("local steps", E - 1)
    bound = f.lemma3(L, f.kappa(am - mu, mu, p("zE")), gamma, D0, p("S"), p("sigma2"), p("Gm"), G2, E)
    return p.conclude(end, p.follows("Lemma 3 as printed", sum(bound.values()) - p("DE"), end, (gamma**2 * G2 * E / 3, whole)))


# ---- rounds -----------------------------------------------------------------------------------------------------
def at_step(p):
    """(gamma = 1/(2 E L_alpha), alpha + mu and L_alpha as defined, mu <= L), with the cap of alpha."""
    L, mu, am, La, E, alpha = p("L mu am La E alpha")
    gamma = 1 / (2 * E * La)
    am_is, La_is = p.define("am", am - alpha - mu), p.define("La", La - L - alpha)
    whole, order = p.given("local steps", E - 1), p.given("mu at most L", L - mu)
    short = p.follows("cap of alpha", 1 - gamma * (alpha + mu), (gamma, order), (1 / E, whole), (gamma, La_is))
    p.follows("power", 1 - gamma * am, short, (-gamma, am_is))
    p.follows("step of Theorem 1", 2 * E * La * gamma - 1, equality=True)
    return gamma, am_is, La_is, order


def theorem1():
    """Theorem 1 with noise and heterogeneity over E; as a second conclusion thm1s, as a third with the printed constants."""
    p = ft.Proof("L mu am La E", "alpha z r rT S sigma2 Gm G2 D D0 Dn DT W", "gap gT")
    L, mu, am, La, E, z, r, S, sigma2, Gm, G2, D, D0 = p("L mu am La E z r S sigma2 Gm G2 D D0")
    gamma, am_is, La_is, order = at_step(p)
    whole = p.facts["local steps"]
    p.follows("cap of L", 1 - 2 * L * gamma, (1 / E, whole), (1 / (E * La), La_is))
    one = p.lemma("one round", lemma3(False), gamma=gamma, D0=D, DE=p("Dn"), zE=z)
    slow = p.lemma("factor", factor(), 6, gamma=gamma)
    m, c = mu / (3 * La), mu / am * (1 - z)
    loud = gamma / mu * (S * sigma2 + 6 * L * Gm)
    W, drift = p.define("W", p("W") - f.squares(E), "W = sum_{k<E} k^2"), 2 * gamma**2 * p("W") * G2
    k = p.follows("the factor is not negative", 1 - c, (1 / am, am_is))
    below = p.follows("rate at most 1", 1 - m, (1 / (3 * La), order), (1 / (3 * La), La_is))

    def after(r, D):
        return r * D0 + loud + drift / m - D
    held = p.suppose("after t rounds", after(r, D))
    then = p.follows("after t + 1 rounds", after(r * (1 - m), p("Dn")), one, (k, held), (r * D0, slow), (drift / m, slow),
                     (2 * gamma**2 * G2, W))
    end = p.induct("distance after t rounds", held, then, {"r": 1, "D": D0}, {"r": r * (1 - m), "D": "Dn"}, {"r": "rT", "D": "DT"},
                   keeps={"r": (r, below)})
    smooth = p.standard("value", L / 2 * p("DT") - p("gT"), "descent lemma", "from w_*, gT = E f(wbar_t) - f_*")
    start = p.standard("start", p("gap") - mu / 2 * D0, "strong convexity", "from w_* to wbar_0")
    rest = [made(L, mu, La - L, S, sigma2, Gm, G2, E) for made in (f.theorem1_over_e, f.theorem1_s)]
    decays = L / mu * p("gap") * p("rT")
    first = p.follows("Theorem 1 over E", decays + sum(rest[0].values()) - p("gT"), smooth, (L / 2, end), (L / mu * p("rT"), start),
                      (-L * gamma**2 * G2 / m, W))
    integer = p.given("an integer", (E - 1) * (E - 2), "no E between 1 and 2")
    share = L / La
    second = p.follows("Theorem 1 with smaller drift", decays + sum(rest[1].values()) - p("gT"), first,
                       (share * (S * sigma2 / 4 + 3 * L * Gm / 2) / (mu * E), whole),
                       (share * G2 / (6 * E * mu), integer, whole), (share * G2 / (12 * E * mu), integer),
                       (share * G2 / (12 * E * mu), whole, whole), (share * G2 / (24 * E * mu), whole))
    printed = printed1(L, mu, La - L, 0, S, sigma2, Gm, G2, E, 0)
    third = p.follows("Theorem 1 as printed", decays + sum(printed.values()) - p("gT"), second,
                      (share * G2 / (12 * mu), whole))
    return p.conclude(first, second, third)
