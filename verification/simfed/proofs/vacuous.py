"""Pencil proofs of what the hypotheses give without an algorithm: Polyak-Lojasiewicz on a bounded gradient.

Symbols: Gi = E|g_i|^2 and Mi = E|grad f_i|^2 at the round's start wbar_t, SM their weighted sum, q = |grad f|^2 and Q its mean,
f1 = f(wbar_t), Ef its mean, fs = f_*; G2 = G^2. La = L + alpha; Z: the power of the decay factor, a number >= 0; gap: Delta.
"""
import fltheory as ft
from verification.simfed.formulas import theorems as th
from verification.simfed.formulas import trivial as f

ANY = ("every number of clients, dimension and weights, all strongly convex clients and all methods, at every round whose start "
       "lies in the range of Assumption 3 (t <= T - 1); stochastic gradients unbiased given the past")
POINT = "Mi SM q Q G2"


def from_clients(p, one, bound, fixed):
    """E f - f_* <= bound/(2 mu) from the fact `one`: bound - Mi >= 0 for every client."""
    mu, Q, Ef, fs = p("mu Q Ef fs")
    every = p.total("all clients", one, {"Mi": "SM"}, 1, fixed, "weights p_i")
    mean = p.standard("mean of the clients", p("SM") - Q, "Jensen", "grad f = sum_i p_i grad f_i")
    steep = p.standard("steepness", p("q") - 2 * mu * (p("f1") - fs), "strong convexity implies PL",
                       "f is mu-strongly convex as a weighted mean of such functions")
    average = p.expect("steepness in the mean", steep, {"q": "Q", "f1": "Ef"}, "fs")
    return p.follows("level", f.level(bound, mu) - (Ef - fs), (1 / (2 * mu), every), (1 / (2 * mu), mean), (1 / (2 * mu), average))


def at_start(p):
    """The same from Assumption 3 at wbar_t itself."""
    G2 = p("G2")
    bounded = p.given("Assumption 3", G2 - p("Gi"), "E|g_i|^2 <= G^2 at k = 0")
    unbiased = p.standard("mean of the gradient", p("Gi") - p("Mi"), "Jensen", "grad f_i = E[g_i | past]: Assumption 2")
    one = p.follows("one client", G2 - p("Mi"), bounded, unbiased)
    return from_clients(p, one, G2, "G2")


def pl():
    """E f - f_* <= G^2/(2 mu)."""
    p = ft.Proof("mu", f"Gi {POINT}", "f1 Ef fs")
    return p.conclude(at_start(p))


def theorem1():
    """Theorem 1 for alpha <= (4 E^2 - 1) L, from that level alone."""
    p = ft.Proof("mu L La E", f"Gi {POINT} Z gap S sigma2 Gamma", "f1 Ef fs")
    mu, L, La, E, G2, Z = p("mu L La E G2 Z")
    small = p.given("proximal weight", f.largest_alpha(E, L) - (La - L), "alpha = La - L <= (4 E^2 - 1) L")
    rest = sum(th.theorem1(L, mu, La - L, 0, *p("S sigma2 Gamma"), G2, E, 1).values())
    return p.conclude(p.follows("Theorem 1", Z * L * p("gap") / mu + rest - (p("Ef") - p("fs")), at_start(p),
                                (G2 / (2 * mu * La), small)))


def _beta(p):
    return p.given("beta", p("b") + p("beta") - 1, "b = 1 - beta >= 0", equality=True)


def _theorem3(p, level, room, below):
    """Theorem 3 from level: E f - f_* <= c G^2/(2 mu), room: 16 - c >= 0, below: b = 1 - beta."""
    mu, L, E, beta, Z, G2 = p("mu L E beta Z G2")
    rest = sum(th.theorem3(L, mu, beta, 0, *p("S sigma2 Gamma"), G2, E, 1).values())
    steps = p.given("local steps", E - 1)
    squares = p.square("first square", 1 - beta), p.square("second square", 1 - 1 / beta)
    return p.follows("Theorem 3", Z * L * p("gap") / mu + rest - (p("Ef") - p("fs")), level, (G2 / (2 * mu), room),
                     (8 * (E + 1) * G2 / mu, steps), (2 * E**2 * G2 / mu, squares[0]), (16 * E**2 * G2 / mu, squares[1]),
                     (-beta * E * G2 / (8 * L), below))


def theorem3():
    """Theorem 3, for all parameters, where Assumption 3 holds at wbar_t."""
    p = ft.Proof("mu L E beta", f"Gi {POINT} b Z gap S sigma2 Gamma", "f1 Ef fs")
    below = _beta(p)
    return p.conclude(_theorem3(p, at_start(p), p.follows("room", 0 * p("mu") + 16 - 1), below))


def theorem3_perturbed():
    """The same where Assumption 3 holds at the perturbed points alone: |grad f| <= (2 - beta) G in the mean square.

    n, a, r: root mean squares of g_i and grad f_i at the perturbed point of k = 0, of grad f_i at wbar_t; d that of wbar_t - u_t^i.
    """
    p = ft.Proof("mu L E beta", f"{POINT} b Z gap S sigma2 Gamma G n a r d", "f1 Ef fs")
    L, E, b, G, n, a, r, d, G2 = p("L E b G n a r d G2")
    gamma = 1 / (2 * L * E)
    bounded = p.given("Assumption 3", G - n, "at the perturbed point of k = 0, in root mean square")
    unbiased = p.standard("mean of the gradient", n - a, "Jensen", "grad f_i = E[g_i | past]")
    near = p.standard("starts", 2 * gamma * E * G - d, "triangle inequality",
                      "wbar_t and u_t^i are means of models that moved by at most gamma E G in the round before; d = 0 at t = 0")
    smooth = p.standard("smoothness", a + L * b * d - r, "triangle inequality",
                        "Assumption 4: the perturbed point is wbar_t + (1 - beta)(u_t^i - wbar_t)")
    length = p.follows("gradient at the start", (1 + b) * G - r, smooth, unbiased, bounded, (L * b, near))
    squared = p.define("Mi", p("Mi") - r**2)
    one = p.follows("one client", (1 + b) ** 2 * G**2 - p("Mi"), ((1 + b) * G + r, length), (-1, squared))
    level = from_clients(p, one, (1 + b) ** 2 * G**2, "b G")
    size = p.define("G2", G2 - G**2)
    mu = p("mu")
    moved = p.follows("level in G2", f.level((1 + b) ** 2 * G2, mu) - (p("Ef") - p("fs")), level, ((1 + b) ** 2 / (2 * mu), size))
    below = _beta(p)
    apart = p.follows("beta above 0", 1 - b, (-1, below))
    return p.conclude(_theorem3(p, moved, p.follows("room", 16 - (1 + b) ** 2, (b + 3, apart)), below))


def bounded_gradient():
    """A gradient that is at most G everywhere, of a mu-strongly convex function: mu |w - w*| <= G for every w."""
    p = ft.Proof("mu", "G2", "f1 fs", "g e")
    mu, G2, f1, fs, g, e = p("mu G2 f1 fs g e")
    bounded = p.given("gradient bound", G2 - g.square, "g = grad f_i(w), at any w")
    there = p.standard("from w to the minimiser", fs - f1 + g.dot(e) - mu / 2 * e.square, "strong convexity", "e = w - w*")
    back = p.standard("from the minimiser to w", f1 - fs - mu / 2 * e.square, "strong convexity", "grad f_i(w*) = 0")
    young = p.square("Young", g - mu * e)
    return p.conclude(p.follows("no room", G2 - mu**2 * e.square, bounded, young, (2 * mu, there), (2 * mu, back)))
