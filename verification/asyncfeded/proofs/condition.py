"""Pencil proofs about condition (C1) and the constants: for every K, with logarithms as symbols whose growth is a fact of analysis.

Symbols: l = ln(K + 1), S2 = the sum of eta_k^2 = K M, u = 1/(k (2 k + 1)); th a lower bound of Theta. Facts about logarithms:
2/(2 i + 1) <= ln((i + 1)/i) <= 1/i.
"""
import fltheory as ft
from verification.asyncfeded.formulas import corollary1 as f
from verification.asyncfeded.formulas.steps import cap2, theta

HALF, THIRD = ft.fraction("1/2"), ft.fraction("1/3")


# ---- (C1) -----------------------------------------------------------------------------------------------------------
def positive():
    """Theta (12 K^2 L^2 M + K l)/3 is the distance of Gamma^2 from its cap, times what is positive: both signs in one identity."""
    p = ft.Proof("K L l M", "Gamma")
    K, L, log, Gamma, M = p("K L l Gamma M")
    cap = f.largest_gamma2(K, L, M, log)
    same = theta(Gamma, K, L, M, log) - (cap - Gamma**2) * (12 * K**2 * L**2 * M + K * log) / 3
    return p.conclude(p.follows("Theta against Gamma^2", same, equality=True))


def supremum():
    """The admissible Gamma^2 is at most 3/(K ln(K + 1)) <= 3/ln 2."""
    p = ft.Proof("K L l l2 M", "j")
    K, L, log, log2, M, j = p("K L l l2 M j")
    first = p.define("K", K - 1 - j, "K >= 1")
    grows = p.given("logarithm", log - log2, "ln(K + 1) >= ln 2")
    short = p.follows("any steps", f.largest_gamma2_of_short_steps(K, log) - f.largest_gamma2(K, L, M, log))
    least = p.follows("K ln(K + 1) is least at K = 1", K * log - log2, (log, first), grows)
    every = p.follows("every K", 3 / log2 - f.largest_gamma2_of_short_steps(K, log), (3 / (K * log * log2), least))
    return p.conclude(short, every)


def shrinks():
    """For a fixed M, and for prefixes of one schedule, where S2 grows."""
    p = ft.Proof("K L l", "M S2 more l1")
    K, L, log, M, S2, more, log1 = p("K L l M S2 more l1")
    grows = p.given("logarithm", log1 - log, "ln(K + 2) >= ln(K + 1)")
    fixed = p.follows("M fixed: the denominators", 12 * (K + 1)**2 * L**2 * M + (K + 1) * log1 - 12 * K**2 * L**2 * M - K * log,
                      (K + 1, grows))
    prefix = p.follows("prefixes: the denominators", 12 * (K + 1) * L**2 * (S2 + more) + (K + 1) * log1
                       - 12 * K * L**2 * S2 - K * log, (K + 1, grows))
    return p.conclude(fixed, prefix)


# ---- N, M ------------------------------------------------------------------------------------------------------------
def means():
    """N^2 <= M; under (T1) M <= (1/K) sum_k 1/(6 k (2 k + 1) L^2) <= 1/(18 L^2)."""
    p = ft.Proof("K L k", "e q u Se S2 U N M")
    K, L, k, e, q, u, S2, U, N, M = p("K L k e q u S2 U N M")
    square = p.define("q", q - e**2, "q = eta_k^2")
    apart = p.square("one step", e - N)
    apart = p.follows("one step, q put in", q - 2 * e * N + N**2, apart, square)
    spread = p.total("all steps", apart, {"e": "Se", "q": "S2"}, K, "N", over="local steps")
    mean, second = p.define("N", p("Se") - K * N), p.define("M", S2 - K * M)
    jensen = p.follows("N^2 <= M", M - N**2, (1 / K, spread), (2 * N / K, mean), (-1 / K, second))
    place, u_is = p.given("place", k - 1, "k = 1, 2, .."), p.define("u", u - 1 / (k * (2 * k + 1)))
    cap = p.given("(T1)", cap2(k, L) - q)
    one = p.follows("one cap", u / (6 * L**2) - q, cap, (1 / (6 * L**2), u_is))
    caps = p.total("all caps", one, {"u": "U", "q": "S2"}, K, over="local steps")
    first = p.follows("M by the caps", U / (6 * K * L**2) - M, (1 / K, caps), (1 / K, second))
    third = p.follows("u <= 1/3", THIRD - u, ((2 * k + 3) / (3 * k * (2 * k + 1)), place), (-1, u_is))
    thirds = p.total("sum of u", third, {"u": "U"}, K, over="local steps")
    return p.conclude(jensen, first, p.follows("M <= 1/(18 L^2)", 1 / (18 * L**2) - M, first, (1 / (6 * K * L**2), thirds)))


def harmonic():
    """1/a + 1/(a + 1) + .. + 1/(b - 1) >= ln b - ln a."""
    p = ft.Proof("i a b", "l l1 la lb", "s D")
    i, s, log, log1, start = p("i s l l1 la")
    more = p.given("next logarithm", 1 / i - (log1 - log), "a fact of analysis: ln((i + 1)/i) <= 1/i")
    held = p.suppose("below i", s - (log - start), "s = 1/a + .. + 1/(i - 1), l = ln i, la = ln a")
    then = p.follows("below i + 1", s + 1 / i - (log1 - start), held, more)
    return p.conclude(p.induct("harmonic sums", held, then, {"i": p("a"), "s": 0, "l": start},
                               {"i": i + 1, "s": s + 1 / i, "l": "l1"}, {"i": p("b"), "s": "D", "l": "lb"}))


def telescoped():
    """u_1 + .. + u_K = 2 - 2 (1/(K + 1) + .. + 1/(2 K + 1)): at most, which is what is needed. n = k + 1."""
    p = ft.Proof("n", "K U UK", "D DK")
    n, U, D = p("n U D")
    held = p.suppose("k terms", 2 - 2 * D - U, "U = u_1 + .. + u_k, D = 1/(k + 1) + .. + 1/(2 k + 1)")
    less = -1 / n + 1 / (2 * n) + 1 / (2 * n + 1)
    then = p.follows("k + 1 terms", 2 - 2 * (D + less) - (U + 1 / (n * (2 * n + 1))), held)
    ends = {"n": p("K") + 1, "U": "UK", "D": "DK"}
    return p.conclude(p.induct("telescoped", held, then, {"n": 1, "U": 0, "D": 1},
                               {"n": n + 1, "U": U + 1 / (n * (2 * n + 1)), "D": D + less}, ends))


def sharper():
    """Under (T1) K M L^2 <= (2 - 2 ln 2)/6."""
    p = ft.Proof("K L l2", "q u S2 UK M la lb", "DK")
    K, L, log2, q, u, S2, M, D = p("K L l2 q u S2 M DK")
    cap = p.given("(T1)", u / (6 * L**2) - q, "q = eta_k^2, u = 1/(k (2 k + 1))")
    caps = p.total("all caps", cap, {"u": "UK", "q": "S2"}, K, over="local steps")
    second = p.define("M", S2 - K * M)
    sums = p.lemma("the sum of u", telescoped())
    logs = p.lemma("1/(K + 1) + .. + 1/(2 K + 1)", harmonic(), a=K + 1, b=2 * K + 2, D=D)
    double = p.given("ln 2", p("lb") - p("la") - log2, "ln(2 K + 2) - ln(K + 1) = ln 2", equality=True)
    return p.conclude(p.follows("K M L^2", (2 - 2 * log2) / 6 - K * M * L**2, (L**2, caps), (L**2, second),
                                (THIRD * HALF, sums), (THIRD, logs), (THIRD, double)))


# ---- orders ---------------------------------------------------------------------------------------------------------
def below_K():
    """ln(K + 1) <= K."""
    p = ft.Proof("i", "K l l1 lK")
    i, log, log1 = p("i l l1")
    more = p.given("next logarithm", 1 / i - (log1 - log), "a fact of analysis: ln((i + 1)/i) <= 1/i")
    small = p.given("place", i - 1, "i = 1, 2, ..")
    held = p.suppose("ln i", i - 1 - log)
    then = p.follows("ln(i + 1)", i - log1, held, more, (1 / i, small))
    return p.conclude(p.induct("ln(K + 1) <= K", held, then, {"i": 1, "l": 0}, {"i": i + 1, "l": "l1"},
                               {"i": p("K") + 1, "l": "lK"}))


PARTS = {"current": (12, 3), "noise": (72, 72), "apart": (24, 6)}   # (n, b): a coefficient is (n K^2 L^2 M + K l)/(b L^2)


def quadratic():
    """Each coefficient of (10) is at most a constant times K^2/(L^2 th)."""
    p = ft.Proof("K L Theta th", "M l")
    K, L, M, log, Theta, th = p("K L M l Theta th")
    least = p.given("Theta", Theta - th, "Theta >= th > 0: (C1) with room")
    M_small, log_small = p.lemma("aux-nm", means(), 2), p.lemma("ln(K + 1) <= K", below_K(), lK=log)
    out = []
    for name, c in f.coefficients(K, L, M, log).items():
        above, (n, per) = f.quadratic(K, L)[name], PARTS[name]
        small = p.follows(name, above - c, (n * K**2 / per, M_small), (K / (per * L**2), log_small))
        out.append(p.follows(f"{name} over Theta", above / th - c / Theta, (1 / Theta, small), (above / (th * Theta), least)))
    return p.conclude(*out)


def order():
    """At steps within (T1) each coefficient is at most (a + ln(K + 1)) K/(b L^2 th), and never below K ln(K + 1)/(b L^2)."""
    p = ft.Proof("K L Theta th l2", "M l rest")
    K, L, M, log, log2, Theta, th = p("K L M l l2 Theta th")
    least = p.given("Theta", Theta - th, "Theta >= th > 0: (C1) with room")
    one = p.define("Theta at most 1", p("rest") - (1 - Theta), "what Gamma^2 multiplies is >= 0")
    half = p.given("logarithm", 1 - log2, "ln 2 <= 1")
    M_small = p.lemma("aux-nm-sharper", sharper())
    out = []
    for name, c in f.coefficients(K, L, M, log).items():
        above, below, (n, per) = f.ordered(K, L, log, log2)[name], f.least(K, L, log)[name], PARTS[name]
        small = p.follows(name, above - c, (n * K / (per * L**2), M_small))
        shared = K / (per * L**2 * th * Theta)
        out += [p.follows(f"{name} over Theta", above / th - c / Theta, (1 / Theta, small), (shared * log, least),
                          (shared * n / 3, half, least)),
                p.follows(f"{name} from below", c / Theta - below, (-below / Theta, one))]
    return p.conclude(*out)
