"""Pencil proofs of Theorems 2 and 3 from the bound of one round of either option: stationarity, convex rate, (10).

Symbols: E.. means over all that happened before the round; G the mean of |grad F|^2 at a state, sumG its sum over rounds; Er, Er1
the mean gap F - F* before and after a round, E1 at the start; u = eta sqrt(N) K; x, q the inverses of the two other candidates for
the tuned u; a = 4 gap/R or 4 D^2/R; z = (w, theta) - (w*, theta*), D2 = D^2 >= E|z|^2 at every round; P = grad F.
"""
import fltheory as ft
from verification.fedres.formulas import appendix_d as d
from verification.fedres.formulas import theorem2 as t
from verification.fedres.proofs import either
from verification.fedres.proofs.appendix_a import lemma3

DOMAIN = either.DOMAIN
CONVEX = DOMAIN.replace("smooth clients, convex or not", "convex smooth clients")
EQ10 = either.EQ9


def one_round(p):
    """(Er1 <= Er - u/4 G + noise + drift): the bound of either option, for the gap."""
    one = p.lemma("one round", either.either(), EF0=p("Er"), EEF1=p("Er1"))
    gradient = p.define("gradient of F", p("EG") - p("EQ2") - p("ET2") / p("s") ** 4, "E|grad F|^2 = E|grad_w F|^2 + (1/N^2) sum_i "
                        "E|grad_theta L_i|^2, N = s^2")
    gamma, eta, K, s, sigma2, G2 = p("gamma eta K s sigma2 G2")
    fall = eta * s * K / 4
    return p.follows("fall of the gap", p("Er") - fall * p("EG") + sum(d.either(gamma, eta, sigma2, G2, s, K).values()) - p("Er1"),
                     one, (-fall, gradient))


def caps(p):
    p.given("cap", 1 - 96 * p("gamma") * p("s") * p("eta") * p("K"), "eta <= 1/(96 gamma sqrt N K)")
    p.given("root of the clients", p("s") - 1, "N >= 1")
    p.given("steps", p("K") - 1)


def along(p):
    """The sum over rounds 1..R, R >= 1."""
    gamma, eta, K, s, sigma2, G2, r, sumG = p("gamma eta K s sigma2 G2 r sumG")
    caps(p)
    one, fall, rest = one_round(p), eta * s * K / 4, sum(d.either(gamma, eta, sigma2, G2, s, K).values())
    held = p.suppose("after r rounds", p("E1") - fall * sumG + r * rest - p("Er"))
    then = p.follows("after r + 1 rounds", p("E1") - fall * (sumG + p("EG")) + (r + 1) * rest - p("Er1"), held, one)
    return p.induct("after R rounds", held, then, {"r": 0, "sumG": 0, "Er": p("E1")},
                    {"r": r + 1, "sumG": sumG + p("EG"), "Er": "Er1"}, {"r": p("R"), "sumG": "totalG", "Er": "last"})


def stationarity(tuned=False):
    """(1/R) sum_r E|grad F(x^r)|^2, for every eta below the cap, or for the tuned one."""
    p = ft.Proof("gamma eta K s R E1", "r sigma2 G2 EG sumG EQ2 ET2 Er Er1 totalG last x q S T")
    gamma, eta, K, s, sigma2, G2, R, E1 = p("gamma eta K s sigma2 G2 R E1")
    end = along(p)
    bound = sum(t.stationarity(gamma, eta, sigma2, G2, s, K, R, E1).values())
    every = p.follows("stationarity", bound - p("totalG") / R, (4 / (eta * s * K * R), end))
    if not tuned:
        return p.conclude(every)
    a, x, q, S, T = 4 * E1 / R, *p("x q S T")
    noise = p.given("x", x**2 * a - 8 * gamma * sigma2 / (s**2 * K), "at u = 1/x the noise term is a/u", equality=True)
    drift = p.given("q", q**3 * a - 44 * gamma**2 * G2 / s**2, "at u = 1/q the drift term is a/u", equality=True)
    u, low_x, low_q, least = choice(p)
    S_is, T_is = p.define("S", S - a * x), p.define("T", T - a * q)
    roots = t.stationarity_roots(gamma, sigma2, G2, s**2, K, R, E1)
    S_root = p.follows("S is a root", S**2 - roots["noise"][0], (S + a * x, S_is), (a, noise), equality=True)
    T_root = p.follows("T is a root", T**3 - roots["drift"][0], (T**2 + T * a * q + a**2 * q**2, T_is), (a**2, drift),
                       equality=True)
    end = p.follows("tuned", sum(t.tuned(gamma, R, E1, S, T).values()) - p("totalG") / R, every, (a, least), (a * x, low_x),
                    (a * q * (1 + q * u), low_q), (u, noise), (u**2, drift), (2, S_is), (2, T_is))
    return p.conclude(end, S_root, T_root)


def choice(p):
    """(u, x u <= 1, q u <= 1, 1/u <= 96 gamma + x + q) for u = eta sqrt(N) K at its tuned value."""
    u = p("eta") * p("s") * p("K")
    below = [p.given(f"u below 1/{v}", 1 - p(v) * u) for v in "xq"]
    return u, *below, p.given("u is one of them", 96 * p("gamma") + p("x") + p("q") - 1 / u, "1/u is the largest of 96 gamma, x, q")


def smoothness():
    """|grad F|^2 <= 2 gamma^2 |z|^2, and (as a second conclusion) F - F* <= 3/2 gamma D^2 in the mean."""
    p = ft.Proof("gamma N", "ri wi ti w2 t2 a2 b2 Sa Sb St g2 h2 f Er D2 Ezz", "EPz Pz", "P z")
    gamma, N, P, z, w2 = p("gamma N P z w2")
    many = p.given("clients", N - 1)
    smooth = p.given("Assumption 1", gamma * (p("wi") + p("ti")) - p("ri"), "ri = |grad L_i(w, theta_i) - grad L_i(w*, theta_i*)|")
    apart = p.square("two distances", p("wi") - p("ti"))
    both = p.define("gradients", p("ri") ** 2 - p("a2") - p("b2"), "a2, b2: the squares of its two blocks")
    sizes = p.define("distances", w2 - p("wi") ** 2), p.define("personal distance", p("t2") - p("ti") ** 2)
    one = p.follows("one client", 2 * gamma**2 * (w2 + p("t2")) - p("a2") - p("b2"),
                    (gamma * (p("wi") + p("ti")) + p("ri"), smooth),
                    (gamma**2, apart), both, *((2 * gamma**2, v) for v in sizes))
    every = p.total("all clients", one, {"t2": "St", "a2": "Sa", "b2": "Sb"}, N, "w2")
    mean = p.standard("shared block", p("Sa") / N - p("g2"), "Jensen", "g2 = |grad_w F|^2: grad F vanishes at the optimum")
    own = p.define("personal block", p("h2") - p("Sb") / N**2, "(1/N^2) sum_i |grad_theta L_i|^2")
    norm = p.define("gradient of F", P.square - p("g2") - p("h2"))
    far = p.define("distance", z.square - w2 - p("St"), "|z|^2 = |w - w*|^2 + sum_i |theta_i - theta_i*|^2")
    first = p.follows("gradient by distance", 2 * gamma**2 * z.square - P.square, mean, (-1, own), (-1, norm), (2 * gamma**2, far),
                      (1 / N, every), (2 * gamma**2 * p("St") / N, many), (p("Sb") / N**2, many))
    convex = p.standard("convexity", P.dot(z) - p("f"), "strong convexity", "with mu = 0, from x to x*; f = F(x) - F*")
    young = p.square("Young", P - 2 * gamma * z)
    gap = p.follows("gap", ft.fraction("3/2") * gamma * z.square - p("f"), convex, (1 / (4 * gamma), young),
                    (1 / (4 * gamma), first))
    average = p.expect("gap in the mean", gap, {"f": "Er", "z_z": "Ezz"})
    near = p.given("within D", p("D2") - p("Ezz"), "D2 = D^2 >= E|z|^2")
    return p.conclude(first, p.follows("gap by D", ft.fraction("3/2") * gamma * p("D2") - p("Er"), average,
                                       (ft.fraction("3/2") * gamma, near)))


def gap_below(p, gap="Er"):
    """(E gap)^2 <= D^2 E|grad F|^2, by convexity."""
    P, z = p("P z")
    convex = p.standard("convexity", P.dot(z) - p("f"), "strong convexity", "with mu = 0, from x to x*; f = F(x) - F*")
    mean = p.expect("convexity in the mean", convex, {"P_z": "EPz", "f": gap})
    product = p.standard("mean of a product", p("EG") * p("Ez") - p("EPz") ** 2, "Cauchy-Schwarz", "EG = E|grad F|^2, Ez = E|z|^2")
    near = p.given("distance", p("D2") - p("Ez"), "D2 = D^2, D the largest distance from the optimum")
    square = p.square("excess", p("EPz") - p(gap))
    return p.follows("gap below", p("EG") * p("D2") - p(gap) ** 2, product, (p("EG"), near), square, (2 * p(gap), mean))


VALUES = "sigma2 G2 EG EQ2 ET2 Er Er1 f Ez x q S T y y1 e E V B"


def halves(p, root):
    """(a, c = u/(4 D^2), e = a (x + q), of the name `root`) with the symbols of the two roots S = a x, T = a q defined."""
    a, e = 4 * p("D2") / p("R"), p(root)
    p.define("c", p("c") - p("eta") * p("s") * p("K") / (4 * p("D2")), "c = u/(4 D^2)")
    p.define(root, e - a * (p("x") + p("q")), "e = sqrt(d/c) at the tuned u")
    p.define("S", p("S") - a * p("x"))
    p.define("T", p("T") - a * p("q"))
    return a, p("c"), e


def within(p, large, end):
    """B = E gap after R rounds, by Lemma 3. large: 2 sqrt(cd) >= 1, where its hypothesis B <= 1/(2c) is the stronger bound."""
    gamma, eta, K, s, sigma2, G2, R, D2, Er, x, q, dd, B = p("gamma eta K s sigma2 G2 R D2 Er x q d B")
    (a, c, e), f = halves(p, "E" if large else "e"), p.facts
    target = sum(t.tuned(gamma, R, D2, p("S"), p("T")).values()) - B
    if large:
        p.given("cap", 1 - 96 * gamma * s * eta * K, "eta <= 1/(96 gamma sqrt N K)")
        big = p.given("2 sqrt(cd) >= 1", 2 * c * e - 1)
        gap = p.lemma("gap by D", smoothness(), 1, Er=B)
        inside = p.follows("times 2c", 1 - 2 * c * B, (2 * c, gap), (-3 * gamma * D2, f["c"]), (ft.fraction("3/384"), f["cap"]))
        low = p.follows("2c (e - B)", 2 * c * (e - B), big, inside)
        return p.follows(end, target, (1 / (2 * c), low), (-1, f["E"]), (2, f["S"]), (2, f["T"]))
    caps(p)
    one, below, fall = one_round(p), gap_below(p), eta * s * K / 4
    u, low_x, low_q, least = choice(p)
    noise = p.given("x", x**3 * a**2 - 8 * D2 * gamma * sigma2 / (s**2 * K), "at u = 1/x the noise term is a/u", equality=True)
    drift = p.given("q", q**4 * a**2 - 44 * D2 * gamma**2 * G2 / s**2, "at u = 1/q the drift term is a/u", equality=True)
    root = p.define("root", dd - c * e**2, "e = sqrt(d/c)")
    v = fall / D2
    paid = p.follows("noise and drift of a round", dd - sum(d.either(gamma, eta, sigma2, G2, s, K).values()), root,
                     (c * (e + a * (x + q)), f["e"]), (a**2 * (x + q) ** 2, f["c"]), (v * a**2 * x**2, low_x),
                     (v * a**2 * q**2 * (1 + q * u), low_q), (v * u, noise), (v * u**2, drift))
    half = ft.fraction("1/2")
    now, later = p.define("y", p("y") - half + c * Er), p.define("y1", p("y1") - half + c * p("Er1"))
    p.follows("recursion", p("y1") - p("y") ** 2 - half**2 + c * dd, (c, one), (c, paid), (c**2, below), later,
              (-(p("y") + half - c * Er), now), (-c * D2 * p("EG"), f["c"]))
    p.given("2 sqrt(cd) <= 1", 1 - 2 * c * e)
    bound = p.lemma("Lemma 3", lemma3(), r=R + 1)
    over = p.follows("start", 4 * D2 / (u * R) - 1 / (c * (R + 1)), (4 * D2 / (c * u * (R + 1)), f["c"]))
    return p.follows(end, target, bound, over, (a, least), (-1, f["e"]), (2, f["S"]), (2, f["T"]))


def convex(large=False):
    """E gap after R rounds, tuned: two roots and 384 gamma D^2/R."""
    p = ft.Proof("gamma eta K s R D2 c", VALUES, "d EPz", "P z")
    end = within(p, large, "tuned")
    if large:
        return p.conclude(end)
    gamma, K, s, sigma2, G2, R, D2, x, q, S, T = p("gamma K s sigma2 G2 R D2 x q S T")
    a, f, roots = 4 * D2 / R, p.facts, t.convex_roots(gamma, sigma2, G2, s**2, K, R, D2)
    S_root = p.follows("S is a root", S**3 - roots["noise"][0], (S**2 + S * a * x + a**2 * x**2, f["S"]), (a, f["x"]),
                       equality=True)
    T_root = p.follows("T is a root", T**4 - roots["drift"][0], ((T + a * q) * (T**2 + a**2 * q**2), f["T"]), (a**2, f["q"]),
                       equality=True)
    gap = p.lemma("gap by D", smoothness(), 1)
    sign = p.follows("y is not negative", ft.fraction("1/2") - p("c") * p("Er"), (p("c"), gap),
                     (-ft.fraction("3/2") * gamma * D2, f["c"]), (ft.fraction("3/768"), f["cap"]))
    return p.conclude(end, S_root, T_root, sign)


def printed(large=False, early=False):
    """The same with the printed third term V in place of gamma D^2/R. early: R <= gamma D/G, by bounded gradients alone."""
    p = ft.Proof("gamma eta K s R D2 c D G" + " N" * early, VALUES + " aa bb Sa Sb g2" * early, "d EPz", "P z")
    gamma, R, D, G, V, D2 = p("gamma R D G V D2")
    p.define("D", D2 - D**2)
    fifth = p.given("V", V**5 - D**8 * G**2 * gamma**3 / R**3, "the printed third term", equality=True)
    v = D * G if early else gamma * D**2 / R
    when = p.given("R <= gamma D/G", gamma * D - G * R) if early else p.given("R >= gamma D/G", G * R - gamma * D)
    rest = (D**5 * G**2 / R**3 * (gamma**2 * D**2 + gamma * D * G * R + G**2 * R**2) if early
            else gamma**3 * D**8 / R**5 * (G * R + gamma * D))
    whole = p.follows("V^5 against it", (V**4 + V**3 * v + V**2 * v**2 + V * v**3 + v**4) * (V - v), fifth, (rest, when))
    factor = p.follows("a positive factor", V**4 + V**3 * v + V**2 * v**2 + V * v**3)
    above = p.cancel("V above it", V - v, whole, factor, v**4)
    target = sum(t.tuned_printed(p("S"), p("T"), V).values()) - p("B")
    if not early:
        return p.conclude(p.follows("printed", target, within(p, large, "tuned"), (384, above), (-384 * gamma / R, p.facts["D"])))
    return p.conclude(p.follows("printed", target, small_gap(p), (384, above)))


def small_gap(p):
    """B <= D G: convexity and bounded gradients."""
    B, D, G = p("B D G")
    one = p.given("bounded gradients", G**2 - p("aa") - p("bb"), "aa + bb = |grad L_i|^2, in its two blocks: Assumption 2")
    N = p("N")
    every = p.total("all clients", one, {"aa": "Sa", "bb": "Sb"}, N, "G")
    mean = p.standard("shared block", p("Sa") / N - p("g2"), "Jensen", "g2 = |grad_w F|^2")
    norm = p.define("gradient of F", p("EG") - p("g2") - p("Sb") / N**2)
    many, below = p.given("clients", N - 1), gap_below(p, "B")
    whole = p.follows("squares", (D * G + B) * (D * G - B), below, (-D**2, norm), (D**2, mean), (D**2 / N, every),
                      (D**2 * p("Sb") / N**2, many), (-p("EG"), p.facts["D"]))
    return p.cancel("small gap", D * G - B, whole, p.follows("a factor", B), D * G)


def delta_le_one():
    """eta sqrt(N) K delta/(2 D^2) <= 1 for delta = 6 gamma eta^2 K^2 E|grad F|^2, from smoothness."""
    p = ft.Proof("gamma eta K s N D2", "delta EG Ezz", "", "P z")
    gamma, eta, K, s, D2, delta, EG = p("gamma eta K s D2 delta EG")
    p.given("clients", p("N") - 1)
    cap, many = p.given("cap", 1 - 96 * gamma * s * eta * K, "eta <= 1/(96 gamma sqrt N K)"), p.given("root of the clients", s - 1)
    smooth = p.expect("gradient by distance in the mean", p.lemma("smoothness", smoothness()), {"P_P": "EG", "z_z": "Ezz"})
    near, is_ = p.given("within D", D2 - p("Ezz"), "D2 = D^2 >= E|z|^2"), p.define("delta", delta - d.delta(gamma, eta, K, EG))
    u, w = gamma * eta * K, eta * s * K / (2 * D2)
    return p.conclude(p.follows("condition on delta", 1 - w * delta, (-w, is_), (w * 6 * gamma * eta**2 * K**2, smooth),
                                (w * 12 * gamma**3 * eta**2 * K**2, near), (6 * u**3 * (s + 1) * s, many),
                                (6 * u**3 * s * (s + 1) * 0 + ft.fraction("1/96") * (1 + 96 * u * s + 96**2 * u**2 * s**2), cap)))


def eq10():
    """(10): (gap' + 2 delta') - (gap + delta) <= -eta sqrt(N) K/8 E|grad F|^2 + the constants of (9) at lambda = eta/sqrt N."""
    p = ft.Proof("gamma eta K s", "sigma2 G2 EQ2 ET2 Eg2 EG EGb Eh2 delta delta1", "EF0 EEF1")
    gamma, eta, K, s, sigma2, G2, EG = p("gamma eta K s sigma2 G2 EG")
    N, lam = s**2, eta / s
    caps(p)
    one = p.lemma("(9)", either.eq9())
    now = p.define("gradient of F", EG - p("EQ2") - p("ET2") / N**2, "|grad F|^2 = |grad_w F|^2 + (1/N^2) sum_i |grad_theta L_i|^2")
    before = p.define("gradient of F before", p("EGb") - p("Eg2") - p("Eh2"), "Eh2: its personal block before the last round")
    first = p.define("delta", p("delta") - d.delta(gamma, eta, K, p("EGb")))
    later = p.define("delta after", p("delta1") - d.delta(gamma, eta, K, EG))
    rest = sum(d.eq9(gamma, eta, lam, sigma2, G2, N, s, K, 0).values())
    fall, c = eta * s * K, 6 * gamma * eta**2 * K**2
    end = p.follows("(10)", p("EF0") + p("delta") - fall / 8 * EG + rest - p("EEF1") - 2 * p("delta1"), one, (-fall / 4, now),
                    first, (c, before), (-2, later), (fall / 8 * EG, p.facts["cap"]),
                    (12 * gamma * eta**2 * K**2 * EG * (s + 1), p.facts["root of the clients"]))
    total = t.recursion(gamma, eta, s, N, G2, sigma2, K)
    bound = 20 * total["noise"] + 2 * total["drift"] + 192 * total["last"]
    many = p.facts["root of the clients"]
    return p.conclude(end, p.follows("with rounded constants", bound - rest, (total["noise"] * (s + 1) / s**2, many),
                                     (total["drift"] * (s + 1) * (s**2 + 1) / s**4, many)))
