"""Pencil proofs of R rounds of FedResSGD: what Theorem 1 says, from eq 8 without its gradient bound or on quadratics.

Symbols: GG = |grad F(x)|^2, Gt its expectation at the start of a round; F, EH1 the value before and the mean after a round, Ft, Fn
their expectations, Fs = F(x*), F0 and FR the first and last expectation; S, Sr sums of Gt over R and over r rounds.
"""
import fltheory as ft
from verification.fedres.formulas import theorem1 as f
from verification.fedres.proofs import appendix_a, eq8

VALUES = "F EH1 Ft Fn F0 FR Fs"


def caps(p, most, steps=True):
    """eta <= 1/(most gamma K), and what is counted."""
    gamma, eta, N, K = p("gamma eta N K")
    p.given("step", 1 - most * gamma * eta * K, f"eta <= 1/({most if most > 1 else ''} gamma K)")
    p.given("clients", N - 1)
    if steps:
        p.given("local steps", K - 1)


def free(p, **at):
    """(one round of any smooth losses, its gain, its noise). at: what GG is, where it is not the symbol GG."""
    gamma, eta, N, K, sigma2 = p("gamma eta N K sigma2")
    caps(p, 2)
    return p.lemma("one round", eq8.one_round(), **at), f.free_gain(eta, K), f.free_noise(gamma, eta, sigma2, N, K)


def quadratic(p):
    """The same on quadratics with noise that does not depend on the state."""
    gamma, eta, N, K, sigma2 = p("gamma eta N K sigma2")
    caps(p, 1)
    return p.lemma("one round", eq8.quadratic_round()), f.eq8_gain(eta, K), f.quadratic_noise(gamma, eta, sigma2, N, K)


def in_the_mean(p, one, square="GG", fixed="sigma2"):
    return p.expect("one round in the mean", one, {"F": "Ft", "EH1": "Fn", square: "Gt"}, fixed, "tower property")


def stationarity():
    """The average of E|grad F|^2 over R rounds."""
    p = ft.Proof("gamma eta N K R", "sigma2 GG Gt S Sr gap r", VALUES)
    gamma, eta, N, K, R, sigma2, S, Sr, r = p("gamma eta N K R sigma2 S Sr r")
    one, gain, noise = free(p)
    mean = in_the_mean(p, one)
    now = p.suppose("r rounds", p("F0") - p("Ft") + r * noise - gain * Sr)
    then = p.follows("r + 1 rounds", p("F0") - p("Fn") + (r + 1) * noise - gain * (Sr + p("Gt")), now, mean)
    end = p.induct("R rounds", now, then, {"r": 0, "Ft": "F0", "Sr": 0}, {"r": r + 1, "Ft": "Fn", "Sr": Sr + p("Gt")},
                   {"r": R, "Ft": "FR", "Sr": "S"})
    below = p.given("bounded below", p("FR") - p("Fs"), "Fs = inf F")
    start = p.define("gap", p("gap") - p("F0") + p("Fs"))
    bound = sum(f.free_stationarity(gamma, eta, sigma2, p("gap"), N, K, R).values())
    return p.conclude(p.follows("average over the rounds", bound - S / R, (1 / (gain * R), end), (1 / (gain * R), below),
                                (1 / (gain * R), start)))


# ---- convex losses ---------------------------------------------------------------------------------------------
CONVEX = "gamma eta N K R D"


def near(p):
    """Delta <= gamma D^2, so that c Delta <= 1/10 for the c of Lemma 3."""
    gamma, D, K, eta, F, Fs, Ft, e = p("gamma D K eta F Fs Ft e")
    far = p.given("distance", D**2 - p("Et"), "D^2 = sup over rounds of E|x - x*|^2")
    up = p.standard("from the optimum", gamma * e.square - (F - Fs), "descent lemma",
                    "grad F has the Lipschitz constant sqrt 2 gamma <= 2 gamma, and grad F(x*) = 0; e = x - x*")
    mean = p.expect("from the optimum in the mean", up, {"e_e": "Et", "F": "Ft"}, "Fs")
    gap = p.follows("gap at most gamma D^2", gamma * D**2 - (Ft - Fs), mean, (gamma, far))
    c = f.convex_slope(eta, D, K, f.DECREASE)
    return p.follows("c Delta at most 1/10", ft.fraction("1/10") - c * (Ft - Fs), (c, gap),
                     (ft.fraction("1/10"), p.facts["step"])), far


def slope(p, far):
    """Delta^2 <= D^2 E|grad F|^2 and Delta >= 0, by convexity."""
    D, F, Fs, Ft, Gt, Et, Ege, g, e = p("D F Fs Ft Gt Et Ege g e")
    below = p.standard("convexity", g.dot(e) - (F - Fs), "strong convexity", "with mu = 0, from x to x*; g = grad F(x)")
    mean = p.expect("convexity in the mean", below, {"e_g": "Ege", "F": "Ft"}, "Fs")
    cauchy = p.standard("slope in the mean", Gt * Et - Ege**2, "Cauchy-Schwarz", "Ege = E<g, e>, Et = E|e|^2")
    best = p.expect("optimum in the mean", p.given("optimum", F - Fs), {"F": "Ft"}, "Fs")
    return p.follows("gap squared", D**2 * Gt - (Ft - Fs) ** 2, (Gt, far), cauchy, (mean, mean), (2, mean, best)), best


def convex():
    """Delta after R rounds where s = sqrt(c d) <= 1/2: Lemma 3 as one induction over 1 - r (c Delta - s) >= 0, whose step is
    1 - (r + 1) a M = (1 - r a) M + a^2 + 2 s (1 + a) for a = c Delta - s, M = 1 - c Delta - s."""
    p = ft.Proof(CONVEX, "sigma2 Gt Et s r", f"{VALUES} Ege", "g e")
    eta, K, R, D, s, r, Ft, Fn, Fs = p("eta K R D s r Ft Fn Fs")
    one, gain, noise = free(p, GG=p("g").square)
    (short, far), half = near(p), ft.fraction("1/2")
    square, best = slope(p, far)
    mean, c = in_the_mean(p, one, "g_g"), f.convex_slope(eta, D, K, f.DECREASE)
    root = p.given("root", s**2 - c * noise, "s = sqrt(c d) of Lemma 3", equality=True)
    small = p.given("small noise", 1 - 2 * s, "s <= 1/2; else Delta is below s/c at once")
    left = p.follows("M", 1 - c * (Ft - Fs) - s, short, (half, small))
    above = p.follows("1 + a", 1 + c * (Ft - Fs) - s, (c, best), (half, small))
    distance = p.square("a", c * (Ft - Fs) - s)
    held = p.suppose("after r rounds", 1 - r * (c * (Ft - Fs) - s))
    then = p.follows("after r + 1 rounds", 1 - (r + 1) * (c * (Fn - Fs) - s), ((r + 1) * c, mean),
                     ((r + 1) * gain * c / D**2, square),
                     (r + 1, root), (held, left), distance, (2 * s, above))
    end = p.induct("after R rounds", held, then, {"r": 0, "Ft": "F0"}, {"r": r + 1, "Ft": "Fn"}, {"r": R, "Ft": "FR"})
    return p.conclude(p.follows("convex rate", sum(f.free_convex(eta, D, K, R, s / c).values()) - (p("FR") - Fs),
                                (1 / (c * R), end)))


def convex_loud():
    """The same where s >= 1/2: c Delta <= 1/10 after any round."""
    p = ft.Proof(CONVEX, "Et s", "F Fs Ft", "e")
    gamma, eta, K, R, D, s = p("gamma eta K R D s")
    p.given("step", 1 - 2 * gamma * eta * K, "eta <= 1/(2 gamma K)")
    short, _ = near(p)
    large = p.given("large noise", 2 * s - 1, "s >= 1/2")
    c = f.convex_slope(eta, D, K, f.DECREASE)
    bound = sum(f.free_convex(eta, D, K, R, s / c).values())
    return p.conclude(p.follows("convex rate", bound - (p("Ft") - p("Fs")), (1 / c, short), (1 / (2 * c), large)))


def tuned_inside():
    """At the best step, inside the cap: the bound is 3 m with m = a/eta, and m^3 is as stated; E the noise term, a = 5 D^2/(KR)."""
    p = ft.Proof("gamma eta N K R D", "sigma2 E gap")
    gamma, eta, N, K, R, D, sigma2, E, gap = p("gamma eta N K R D sigma2 E gap")
    m = D**2 / (f.DECREASE * eta * K * R)
    rate = p.given("convex rate", sum(f.free_convex(eta, D, K, R, E).values()) - gap, "proved beside this")
    noise = p.given("noise term", E**2 - f.free_convex_noise2(gamma, eta, sigma2, D, N), "E = sqrt(d/c)", equality=True)
    best = p.given("best step", E - 2 * m, "where the derivative of a/eta + b sqrt(eta) is 0: E = b sqrt(eta) = 2a/eta",
                   equality=True)
    (cube, cap), factor = f.free_tuned(gamma, sigma2, D, N, K, R), f.tuned(1, 1)[1]
    value = p.follows("value of m", m**3 - cube, (m / 4, noise), (-m / 4 * (E + 2 * m), best), equality=True)
    return p.conclude(p.follows("tuned rate", factor * m + 10 * cap - gap, rate, (-1, best)), value)


def tuned_at_the_cap():
    """Where the best step lies beyond the cap, at the cap: E <= 2a/eta, so a/eta + E <= 10 gamma D^2/R + 2 m."""
    p = ft.Proof("gamma N K R D m", "sigma2 E gap")
    gamma, N, K, R, D, m, sigma2, E, gap = p("gamma N K R D m sigma2 E gap")
    eta = 1 / (2 * gamma * K)
    a = D**2 / (f.DECREASE * eta * K * R)
    rate = p.given("convex rate", sum(f.free_convex(eta, D, K, R, E).values()) - gap, "proved beside this")
    noise = p.given("noise term", E**2 - f.free_convex_noise2(gamma, eta, sigma2, D, N), "E = sqrt(d/c)", equality=True)
    beyond = p.given("best step beyond the cap", 2 * a - E, "E = b sqrt(eta) <= 2a/eta")
    (cube, cap), factor = f.free_tuned(gamma, sigma2, D, N, K, R), f.tuned(1, 1)[1]
    value = p.given("value of m", m**3 - cube, equality=True)
    apart = p.follows("m against E", m**3 - (E / 2) ** 3, value, (-a / 4, noise), (E**2 / 8, beyond))
    size = p.follows("a factor", m * E / 2 + E**2 / 4)
    least = p.cancel("E at most 2 m", m - E / 2, apart, size, m**2)
    return p.conclude(p.follows("tuned rate", factor * m + 10 * cap - gap, rate, (2, least)))


# ---- strongly convex losses ------------------------------------------------------------------------------------
def not_negative(p, rate):
    gamma, eta, K, N = p("gamma eta K N")
    curved = p.lemma("curvature", appendix_a.beta_cap())
    return p.follows("the rate is not negative", rate, (eta * K, curved), (eta * K * gamma / N, p.facts["clients"]),
                     p.facts["step"])


def unrolled(p, recursion, rate, floor):
    """Delta <= Z Delta_0 + floor after R rounds from Delta' <= rate Delta + (1 - rate) floor."""
    z, Fs, positive = p("z"), p("Fs"), not_negative(p, rate)
    first, now, new, last = (p(k) - Fs for k in ("F0", "Ft", "Fn", "FR"))
    held = p.suppose("after r rounds", z * first + floor - now)
    then = p.follows("after r + 1 rounds", rate * z * first + floor - new, recursion, (held, positive))
    end = p.induct("after R rounds", held, then, {"z": 1, "Ft": "F0"}, {"z": rate * z, "Ft": "Fn"}, {"z": "Z", "Ft": "FR"},
                   "Z is the rate to the power R", keeps={"z": (positive, z)})
    return p.follows("the linear rate", p("Z") * first + floor - last, end)


def recursion():
    """The linear recursion of the proof of Theorem 1, unrolled; F - Fs stands for Delta."""
    p = ft.Proof("gamma eta N K beta", "sigma2 G2 z Z", "Ft Fn F0 FR Fs")
    gamma, eta, N, K, beta, sigma2, G2 = p("gamma eta N K beta sigma2 G2")
    caps(p, 1, steps=False)
    rate, floor = f.contraction(eta, beta, K), sum(f.sc_floor(gamma, eta, sigma2, G2, beta, N, K).values())
    added = f.eq8_noise(gamma, eta, sigma2, N, K) + f.eq8_drift(gamma, eta, G2, N, K)
    step = p.given("recursion", rate * (p("Ft") - p("Fs")) + added - (p("Fn") - p("Fs")),
                   "eq 8 with |grad F|^2 >= 2 beta Delta (Lemma 2)")
    return p.conclude(unrolled(p, step, rate, floor))


def strongly_convex(of=free, gain=f.DECREASE, floor=f.free_floor):
    """The same from one round: contraction 1 - 2 gain beta eta K and its floor."""
    p = ft.Proof("gamma eta N K beta", "sigma2 GG Gt z Z", VALUES)
    gamma, eta, N, K, beta, sigma2, Fs = p("gamma eta N K beta sigma2 Fs")
    one, each, noise = of(p)
    mean = in_the_mean(p, one)
    steep = p.standard("steepness", p("GG") - 2 * beta * (p("F") - Fs), "strong convexity implies PL")
    steep = p.expect("steepness in the mean", steep, {"GG": "Gt", "F": "Ft"}, "Fs")
    rate = f.contraction(eta, beta, K, gain)
    step = p.follows("recursion", rate * (p("Ft") - Fs) + noise - (p("Fn") - Fs), mean, (each, steep))
    return p.conclude(unrolled(p, step, rate, floor(gamma, eta, sigma2, beta, N)))


def on_quadratics():
    """The same on quadratics."""
    return strongly_convex(quadratic, ft.fraction("1/4"), f.quadratic_floor)


# ---- what the tuned bound needs and shows ------------------------------------------------------------------------
def window():
    """eta = 4 log R/(beta K R) <= 1/(gamma K) asks for R/log R >= 4 gamma/beta >= 4 N."""
    p = ft.Proof("gamma beta N K R l", "eta")
    gamma, beta, N, K, R, log_R, eta = p("gamma beta N K R l eta")
    cap = p.given("step", 1 - gamma * eta * K, "eta <= 1/(gamma K)")
    tuned = p.given("tuned step", eta - f.sc_step(beta, K, R, log_R), "l = log R", equality=True)
    curved = p.lemma("curvature", appendix_a.beta_cap())
    least = p.follows("R/log R against gamma/beta", R / log_R - 4 * gamma / beta, (R / log_R, cap), (gamma * K * R / log_R, tuned))
    return p.conclude(least, p.follows("R/log R against N", R / log_R - 4 * N, least, (4 * N / beta, curved)))


def no_speedup():
    """gamma sigma^2/(beta^2 N K R) >= N sigma^2/(gamma K R)."""
    p = ft.Proof("gamma beta N K R", "sigma2")
    gamma, beta, N, K, R, sigma2 = p("gamma beta N K R sigma2")
    curved = p.lemma("curvature", appendix_a.beta_cap())
    bound, least = f.strongly_convex(gamma, beta, sigma2, N, K, R), N * sigma2 / (gamma * K * R)
    return p.conclude(p.follows("the bound grows with N", bound - least,
                                (N * sigma2 / (gamma * beta**2 * K * R) * (gamma / N + beta), curved)))


def _gradient_at_a_point():
    """(proof, the facts and multipliers of |grad F|^2 <= G^2): Assumption 2 at one point, whatever brought us there."""
    p = ft.Proof("beta N s", "G2 a2 b2 SA SB", "F Fs", "P g e")
    N, G2, SA, SB, P = *p("N G2 SA SB"), p("P")
    several = p.given("clients", N - 1)
    one = p.given("Assumption 2", G2 - p("a2") - p("b2"), "a2 = |grad_w L_i|^2, b2 = |grad_theta L_i|^2 at any point")
    total = p.total("all clients", one, {"a2": "SA", "b2": "SB"}, N, "G2")
    mean = p.standard("shared part", SA / N - P.square, "Jensen", "P = (1/N) sum_i grad_w L_i")
    whole = p.define("gradient of F", p("g_g") - f.squared_gradient(P.square, SB, N), "g = grad F")
    return p, ((1 / N, total), mean, (-1, whole), (SB / N**2, several))


def bounded_gradient():
    """Assumption 2 and strong convexity together: beta^2 |x - x*|^2 <= G^2 for every x, which no function on the whole space
    has."""
    p, gradient = _gradient_at_a_point()
    beta, G2, F, Fs, (g, e) = *p("beta G2 F Fs"), p("g e")
    there = p.standard("from x to x*", Fs - F + g.dot(e) - beta / 2 * e.square, "strong convexity", "e = x - x*")
    back = p.standard("from x* to x", F - Fs - beta / 2 * e.square, "strong convexity", "grad F(x*) = 0")
    young = p.square("Young", g - beta * e)
    return p.conclude(p.follows("no room", G2 - beta**2 * e.square, *gradient, young, (2 * beta, there), (2 * beta, back)))


def no_algorithm():
    """What Assumption 2 gives at a point with strong convexity, 2 beta (F - F*) <= G^2, and with convexity,
    F - F* <= (s/2) G^2 + |x - x*|^2/(2s) for every s > 0, so at most |x - x*| G."""
    p, gradient = _gradient_at_a_point()
    beta, s, G2, F, Fs, (g, e) = *p("beta s G2 F Fs"), p("g e")
    strongly = p.standard("from x to x*", Fs - F + g.dot(e) - beta / 2 * e.square, "strong convexity", "e = x - x*")
    far = p.square("Young, s = 1/beta", g - beta * e)
    first = p.follows("strongly convex", G2 - 2 * beta * (F - Fs), *gradient, far, (2 * beta, strongly))
    convex = p.standard("tangent", Fs - F + g.dot(e), "strong convexity", "with mu = 0: plain convexity")
    young = p.square("Young", s * g - e)
    scaled = [(s / 2 * (m[0] if isinstance(m, tuple) else 1), m[1] if isinstance(m, tuple) else m) for m in gradient]
    second = p.follows("convex", s / 2 * G2 + e.square / (2 * s) - (F - Fs), *scaled, (1 / (2 * s), young), convex)
    return p.conclude(first, second)
