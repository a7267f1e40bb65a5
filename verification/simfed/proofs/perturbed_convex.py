"""Pencil proofs of Appendix B, Lemma 3: the recursion along the local steps, how far bounded gradients move, kappa, one round.

Vectors are taken from the optimum w*: y, z the mean iterate wbar_k and wbar_0; a the perturbed point of a client; o its gradient
at w*, o + q at a; M = sum_i p_i q_i = sum_i p_i grad f_i(wtilde_i), since sum_i p_i o_i = 0; X the mean noise. s: what the drift is
multiplied by, at least gamma L/(1 - gamma L). Sums S.. have the weights p_i; D, D1, D0 are means of |y|^2 now, after the
step and at the start. P = (1 - beta mu gamma)^E.
"""
import fltheory as ft
from verification.simfed.formulas import perturbed_convex as f
from verification.simfed.formulas.perturbed import lemma2
from verification.simfed.proofs import perturbed_drift

NOISE = "noise with mean 0 given the past, uncorrelated across clients, variance at most sigma^2"
DOMAIN = ("every number of clients, every symmetric graph without isolated clients, dimension and beta in (0, 1]; L-smooth, "
          f"mu-strongly convex clients; full participation; {NOISE}")
STEPS = "local steps"


def one_client(p):
    """2 gamma <y, q> >= gamma mu |a|^2 + gamma^2 |q|^2 - s |y - a|^2 of a client."""
    gamma, L, mu, s, fa, fw = p("gamma L mu s fa fw")
    y, a, o, q = p("y a o q")
    room = p.given("share", s * (1 - gamma * L) - gamma * L, "s >= gamma L/(1 - gamma L)")
    there = p.standard("convex, from w*", fa - fw - o.dot(a) - mu / 2 * a.square, "strong convexity", "fa, fw: f_i at both points")
    back = p.standard("convex, from the point", fw - fa + (o + q).dot(a) - mu / 2 * a.square, "strong convexity")
    tilted = p.standard("smooth, tilted at w*", 2 * L * (fa - fw - o.dot(a)) - q.square, "gradient below the gap",
                        "of f_i - <o, .>, convex and least at w*")
    other = p.standard("smooth, tilted at the point", 2 * L * (fw - fa + (o + q).dot(a)) - q.square, "gradient below the gap",
                       "of f_i - <o + q, .>, convex and least at the point")
    young = p.square("drift against gradient", s * (y - a) + gamma * q)
    drift = p.define("distance", p("dd") - (y - a).square, "dd = |wbar_k - wtilde_i|^2")
    return p.follows("one client", 2 * gamma * y.dot(q) + s * p("dd") - gamma * mu * a.square - gamma**2 * q.square,
                     (gamma, there), (gamma, back), (gamma / (2 * L), tilted), (gamma / (2 * L), other), (1 / s, young), (s, drift),
                     (gamma / (L * s) * q.square, room))


def recursion():
    """E|wbar_{k+1} - w*|^2 with any share s of the drift; no heterogeneity is left."""
    p = ft.Proof("gamma L mu beta s", "sigma2 S dd Sdd Saa Sqq A2 e d1 es Ses D D0 D1 drift disp EX", "fa fw EXy EMX",
                 "y z a o q M X")
    gamma, mu, beta, s = p("gamma mu beta s")
    y, z, M, X = p("y z M X")
    total = p.total("all clients", one_client(p), {"q_y": "M_y", "dd": "Sdd", "a_a": "Saa", "q_q": "Sqq"}, 1)
    slope = p.standard("mean gradient", p("Sqq") - M.square, "Jensen")
    near = p.standard("mean of the perturbed points", p("Saa") - p("A2"), "Jensen", "A2 = |sum_i p_i wtilde_i - w*|^2")
    lemma1 = p.given("Lemma 1", p("A2") - (beta * y + (1 - beta) * z).square,
                     "sum_i p_i wtilde_i = beta wbar_k + (1 - beta) wbar_0 (lem1)", equality=True)
    moved = p.define("displacement", p("e") - (y - z).square, "e = |wbar_k - wbar_0|^2")
    step = p.define("local step", p("d1") - (y - gamma * (M + X)).square, "d1 = |wbar_{k+1} - w*|^2")
    rest = f.sharper(gamma, mu, beta, 0, 0, y.square, z.square, p("Sdd"), p("e"), s)
    path = p.follows("on every path",
                     sum(rest.values()) - 2 * gamma * X.dot(y - gamma * M) + gamma**2 * X.square - p("d1"), total,
                     (gamma**2, slope), (gamma * mu, near), (gamma * mu, lemma1), (mu * gamma * beta * (1 - beta), moved),
                     (-1, step))
    mean = p.expect("in the mean", path, {"y_y": "D", "z_z": "D0", "e": "disp", "Sdd": "drift", "d1": "D1", "X_y": "EXy",
                                          "M_X": "EMX", "X_X": "EX"})
    quiet = [p.given(name, p(name), f"E<X, {what}> = 0: the noise has mean 0 given the past", equality=True)
             for name, what in (("EXy", "wbar_k - w*"), ("EMX", "M"))]
    one = p.given("variance", p("sigma2") - p("es"), "es = E|noise of a client|^2: Assumption 2")
    every = p.total("variances", one, {"es": "Ses"}, "S", "sigma2", says="with weights p_i^2, whose sum is S")
    apart = p.standard("mean noise", p("Ses") - p("EX"), "variance of a sum", "uncorrelated across clients")
    bound = f.sharper(gamma, mu, beta, p("S"), p("sigma2"), p("D"), p("D0"), p("drift"), p("disp"), s)
    return p.conclude(p.follows("recursion", sum(bound.values()) - p("D1"), mean, (2 * gamma, quiet[0]), (-2 * gamma**2, quiet[1]),
                                (gamma**2, apart), (gamma**2, every)))


def printed():
    """The recursion as the paper has it, gamma <= 1/(2L)."""
    p = ft.Proof("gamma L mu beta", "sigma2 S Gamma D D0 D1 drift disp")
    gamma, L = p("gamma L")
    cap = p.given("step", 1 - 2 * gamma * L, "gamma <= 1/(2L)")
    p.follows("share", 2 * (1 - gamma * L) - gamma * L, (ft.fraction("3/2"), cap))
    one = p.lemma("recursion", recursion(), s=2)
    bound = f.recursion(gamma, L, *p("mu beta S sigma2 Gamma D D0 drift disp"))
    return p.conclude(p.follows("as printed", sum(bound.values()) - p("D1"), one))


# ---- how far bounded gradients move ---------------------------------------------------------------------------
def moved_by(p, g, count, distance, says):
    """distance <= gamma count G, in root mean square over clients and noise."""
    one = p.given(f"bounded {g}", p("G") - p(g), f"{g}: root mean square of the stochastic gradients at a local step, Assumption 3")
    every = p.total(f"sum of {g}", one, {g: f"S{g}"}, count, "G", over=STEPS)
    path = p.standard(f"distance {distance}", p("gamma") * p(f"S{g}") - p(distance), "triangle inequality", says)
    return p.follows(f"move {distance}", p("gamma") * count * p("G") - p(distance), path, (p("gamma"), every))


def average_drift():
    """sum_i p_i E|wbar_k - wtilde_i|^2 <= gamma^2 G^2 s_k, and E|wbar_k - wbar_0|^2 <= gamma^2 k^2 G^2."""
    p = ft.Proof("gamma beta E", "k G g Sg h Sh a b u v V W drift disp")
    gamma, beta, E, k, G, v = p("gamma beta E k G v")
    near = p.given("beta", 1 - beta, "beta <= 1")
    here = moved_by(p, "g", k, "a", "a: of w_k^i from wbar_0")
    before = moved_by(p, "h", E, "b", "b: of the last local models from the model before, wbar_{-1}")
    rows = p.standard("neighbours", p("b") - p("u"), "Jensen",
                      "u: of the u_i from wbar_{-1}; means of the models, and p'P = p'; 0 in the first round")
    mixed = p.standard("perturbed points", beta * p("a") + (1 - beta) * p("u") - v, "triangle inequality",
                       "v: of the wtilde_i from c = beta wbar_0 + (1 - beta) wbar_{-1}")
    size = gamma * G * (beta * k + (1 - beta) * E)
    below = p.follows("v bounded", size - v, mixed, (beta, here), (near, before), (near, rows))
    above = p.follows("its bound and v", size + v, (gamma * G * E, near))
    square = p.follows("its square", size**2 - v**2, (below, above))
    about = p.define("about c", p("W") - v**2)
    least = p.standard("about the mean", p("W") - p("V"), "mean as nearest point", "V: of the wtilde_i about their mean")
    split = p.standard("drift", p("drift") - (1 - beta) ** 2 * p("disp") - p("V"), "variance of a sum",
                       "the mean of the wtilde_i is beta wbar_k + (1 - beta) wbar_0 (lem1)", equality=True)
    mean = p.standard("mean iterate", p("a") ** 2 - p("disp"), "Jensen")
    moved = p.follows("displacement", (gamma * k * G) ** 2 - p("disp"), mean, (gamma * k * G + p("a"), here))
    bound = gamma**2 * G**2 * f.drift_factor(beta, k, E)
    return p.conclude(p.follows("average drift", bound - p("drift"), square, (-1, about), least, (-1, split), (near, near, moved)),
                      moved)


# ---- kappa ------------------------------------------------------------------------------------------------------
def setting(p):
    """gamma <= 1/(2L), mu <= L, beta <= 1."""
    return (p.given("step", 1 - 2 * p("gamma") * p("L"), "gamma <= 1/(2L)"),
            p.given("curvatures", p("L") - p("mu"), "mu <= L: Assumptions 4 and 5"), p.given("beta", 1 - p("beta"), "beta <= 1"))


def shrink(p):
    """1 - beta mu gamma >= 0."""
    gamma, L, mu, beta = p("gamma L mu beta")
    cap, curved, near = setting(p)
    return p.follows("factor of a step", 1 - beta * mu * gamma, (ft.fraction("1/2"), cap), (gamma * beta, curved),
                     (gamma * L, near))


def bernoulli(upper=False):
    """(1 - x)^E >= 1 - E x, or <= 1/(1 + E x), for x = beta mu gamma."""
    p = ft.Proof("gamma L mu beta E", "k R P")
    factor, k, R, x = shrink(p), p("k"), p("R"), p("beta") * p("mu") * p("gamma")
    if upper:
        now = p.suppose("so far", 1 - (1 + k * x) * R, "R = (1 - x)^k")
        step = p.follows("one more", 1 - (1 + (k + 1) * x) * R * (1 - x), now)
    else:
        now = p.suppose("so far", R - 1 + k * x, "R = (1 - x)^k")
        step = p.follows("one more", R * (1 - x) - 1 + (k + 1) * x, (factor, now))
    return p.conclude(p.induct("power", now, step, {"k": 0, "R": 1}, {"k": k + 1, "R": R * (1 - x)}, {"k": p("E"), "R": "P"},
                               "P = (1 - x)^E", keeps={"R": (factor, R)}))


def kappa_first():
    """kappa <= 1 - mu gamma, for E >= 1 steps."""
    p = ft.Proof("gamma L mu beta", "R Q P")
    factor, R, x, beta = shrink(p), p("R"), p("beta") * p("mu") * p("gamma"), p("beta")
    now = p.suppose("so far", 1 - R, "R = (1 - x)^k")
    step = p.follows("one more", 1 - R * (1 - x), now)
    end = p.induct("power", now, step, {"R": 1}, {"R": R * (1 - x)}, {"R": "Q"}, "Q = (1 - x)^(E - 1)", keeps={"R": (factor, R)})
    last = p.define("the last step", p("P") - (1 - x) * p("Q"), "P = (1 - x)^E")
    return p.conclude(p.follows("kappa", 1 - p("mu") * p("gamma") - (1 - (1 - p("P")) / beta), (1 / beta, factor, end),
                                (-1 / beta, last)))


def kappa_at_step():
    """At gamma = 1/(2LE): 1/2 <= kappa <= 1 - mu/(2L + beta mu) <= 1 - mu/((beta + 2)L)."""
    p = ft.Proof("L mu beta E", "P")
    L, mu, beta, P = p("L mu beta P")
    gamma = at_theorem(p)
    low = p.lemma("power from below", bernoulli(), gamma=gamma)
    high = p.lemma("power from above", bernoulli(upper=True), gamma=gamma)
    kappa = 1 - (1 - P) / beta
    wide = 2 * L + beta * mu
    half = p.follows("at least 1/2", kappa - ft.fraction("1/2"), (1 / beta, low), (1 / (2 * L), p.facts["curvatures"]))
    rate = p.follows("factor (191)", 1 - mu / wide - kappa, (2 * L / (beta * wide), high))
    last = p.follows("factor of Theorem 3", 1 - mu / ((beta + 2) * L) - kappa, rate,
                     (mu * beta / (wide * (beta + 2) * L), p.facts["curvatures"]))
    return p.conclude(half, rate, last)


def at_theorem(p):
    """gamma = 1/(2LE), with what it is supposed to satisfy."""
    L, mu, beta, E = p("L mu beta E")
    one = p.given("local steps", E - 1, "E >= 1")
    p.given("curvatures", L - mu, "mu <= L: Assumptions 4 and 5")
    p.given("beta", 1 - beta, "beta <= 1")
    p.follows("step", 1 - 1 / E, (1 / E, one))
    return 1 / (2 * L * E)


# ---- one round ----------------------------------------------------------------------------------------------------
def sums(power):
    """The sum of k^power over k < E, power 1 or 2, in closed form."""
    name = "QE" if power == 2 else "TE"
    p = ft.Proof("E", f"k Q {name}")
    k, Q = p("k Q")
    closed = f.squares if power == 2 else f.ones
    now = p.suppose("so far", closed(k) - Q)
    step = p.follows("one more", closed(k + 1) - (Q + k**power), now)
    return p.conclude(p.induct(f"sum of k^{power}", now, step, {"k": 0, "Q": 0}, {"k": k + 1, "Q": Q + k**power},
                               {"k": p("E"), "Q": name}))


def after(p, k, R, T, Q):
    """The bound after k local steps; T, Q: sums of j and j^2 over j < k."""
    gamma, mu, beta, s, E, G = p("gamma mu beta s E G")
    return ((1 - (1 - R) / beta) * p("D0") + gamma * p("S") * p("sigma2") * (1 - R) / (beta * mu)
            + gamma**2 * G**2 * (s * f.drift_total(beta, E, k, T, Q) + mu * gamma * beta * (1 - beta) * Q))


def one_round():
    """D_E <= kappa D_0 + gamma S sigma^2 (1 - kappa)/mu + gamma^2 G^2 (s sum_k s_k + mu gamma beta (1 - beta) sum_k k^2)."""
    p = ft.Proof("gamma L mu beta s E", "k R P T TE Q QE sigma2 S G D D0 Dn DE drift disp")
    gamma, L, mu, beta, s, E, k, R, T, Q, G = p("gamma L mu beta s E k R T Q G")
    factor = shrink(p)
    near = p.facts["beta"]
    p.given("share", s * (1 - gamma * L) - gamma * L, "s >= gamma L/(1 - gamma L)")
    one = p.lemma("recursion", recursion(), D1=p("Dn"))
    drift, disp = (p.lemma(name, average_drift(), at) for at, name in enumerate(("average drift", "displacement")))
    now = p.suppose("so far", after(p, k, R, T, Q) - p("D"), "R = (1 - beta mu gamma)^k")
    c = beta * mu * gamma**3 * G**2
    following = {"k": k + 1, "R": R * (1 - beta * mu * gamma), "T": T + k, "Q": Q + k**2}
    step = p.follows("one more", after(p, *following.values()) - p("Dn"), (factor, now), one, (s, drift),
                     (mu * gamma * beta, near, disp), (c * s * (Q + E**2 * k), near, near), (2 * c * s * beta * E * T, near),
                     (c * mu * gamma * beta * Q, near))
    last = p.induct("round", now, step, {"k": 0, "R": 1, "T": 0, "Q": 0, "D": p("D0")}, following | {"D": p("Dn")},
                    {"k": E, "R": "P", "T": "TE", "Q": "QE", "D": "DE"}, "P = (1 - beta mu gamma)^E", keeps={"R": (factor, R)})
    ones, twos = p.lemma("sum of k", sums(1)), p.lemma("sum of k^2", sums(2))
    C = gamma**2 * G**2
    return p.conclude(p.follows("after a round", after(p, E, p("P"), f.ones(E), f.squares(E)) - p("DE"), last,
                                (C * s, near, near, twos), (C * s * beta**2, twos), (2 * C * s * beta * E, near, ones),
                                (C * mu * gamma * beta, near, twos)))


def lemma3():
    """Lemma 3 as printed, for any step `last` of the round before, 0 in the first one."""
    p = ft.Proof("gamma L mu beta E", "last j R P Q QE sigma2 S Gamma G D D0 Dn DE drift disp Z EZ")
    gamma, L, mu, beta, E, last, j, R, Q, Gamma, G = p("gamma L mu beta E last j R Q Gamma G")
    factor, near = shrink(p), p.facts["beta"]
    whole = p.given("at least one step", E - 1, "E >= 1")
    one = p.lemma("recursion", printed(), D1=p("Dn"))
    far = sum(lemma2(gamma, last, beta, E, G**2).values())
    client, square = p.lemma("drift of a client", perturbed_drift.lemma2()), p.define("mean square", p("EZ") - p("Z") ** 2)
    each = p.follows("drift of a client, squared", far - p("EZ"), client, (-1, square))
    drift = p.total("drift", each, {"EZ": "drift"}, 1, "last G", "weights p_i")
    moved = p.lemma("displacement", average_drift(), 1, k=j)
    x, c = beta * mu * gamma, mu * gamma**3 * beta * (1 - beta) * G**2
    each_step = gamma**2 * p("S") * p("sigma2") + 6 * gamma**2 * L * Gamma + 2 * far

    def bound(j, R, Q):
        return (1 - (1 - R) / beta) * p("D0") + j * each_step + c * Q
    now = p.suppose("so far", bound(j, R, Q) - p("D"), "R = (1 - beta mu gamma)^j, Q the sum of squares below j^2")
    following = {"j": j + 1, "R": R * (1 - x), "Q": Q + j**2}
    size = x * j * E**2 * G**2
    step = p.follows("one more", bound(*following.values()) - p("Dn"), (factor, now), one, (2, drift),
                     (mu * gamma * beta, near, moved), (near, near, 8 * (gamma**2 + 8 * last**2 / beta**2) * size),
                     (near, x * mu * gamma**3 * beta * G**2 * Q))
    end = p.induct("round", now, step, {"j": 0, "R": 1, "Q": 0, "D": p("D0")}, following | {"D": p("Dn")},
                   {"j": E, "R": "P", "Q": "QE", "D": "DE"}, "P = (1 - beta mu gamma)^E", keeps={"R": (factor, R)})
    twos, unit = p.lemma("sum of k^2", sums(2)), mu * gamma**3 * beta * G**2
    A = sum(f.lemma3(gamma, last, L, mu, beta, p("S"), p("sigma2"), Gamma, G**2, E).values())
    return p.conclude(p.follows("Lemma 3", (1 - (1 - p("P")) / beta) * p("D0") + A - p("DE"), end, (near, twos, unit),
                                (near, whole, unit * E / 6), (near, unit * (2 * E**3 + E**2) / 3)))
