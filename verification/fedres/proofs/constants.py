"""Constants of Assumptions 1 to 3, for blocks and sums of any size."""
import fltheory as ft

NORM = "the spectral norm is the largest factor of lengths"


def gamma_block():
    """|H (u, v)| <= gamma (|u| + |v|) for gamma = max(|H_w|, |H_theta|)."""
    p = ft.Proof("gamma", "U V a b n M_w M_t")
    gamma, U, V, a, b, n, M_w, M_t = p("gamma U V a b n M_w M_t")
    first = p.given("columns of w", gamma - M_w, "gamma is the larger one")
    second = p.given("columns of theta", gamma - M_t, "gamma is the larger one")
    left = p.given("norm of the first", M_w * U - a, f"a = |H_w u|, U = |u|; {NORM}")
    right = p.given("norm of the second", M_t * V - b, f"b = |H_theta v|, V = |v|; {NORM}")
    sum_ = p.standard("both blocks", a + b - n, "triangle inequality", "n = |H_w u + H_theta v|")
    return p.conclude(p.follows("Assumption 1", gamma * (U + V) - n, sum_, left, right, (U, first), (V, second)))


def gamma_smallest():
    """No smaller g does: at v = 0 and the u0 at which |H_w| is attained, |H (u0, 0)| = |H_w| |u0|."""
    p = ft.Proof("U0", "g M_w a0")
    U0, g, M_w, a0 = p("U0 g M_w a0")
    attained = p.given("where the norm is attained", a0 - M_w * U0, f"a0 = |H_w u0|, U0 = |u0| > 0; {NORM}", equality=True)
    valid = p.given("a constant of Assumption 1", g * U0 - a0, "at v = 0")
    return p.conclude(p.follows("g >= |H_w|", g - M_w, (1 / U0, valid), (1 / U0, attained)))


def gamma_sqrt2():
    """lambda^2 |z|^2 = |H z|^2 <= 2 gamma^2 |z|^2 for an eigenvector z = (u, v)."""
    p = ft.Proof("gamma", "U2 V2 lam2 n2 a2 b2", "", "a b")
    gamma, U2, V2, lam2, n2, a2, b2, a, b = p("gamma U2 V2 lam2 n2 a2 b2 a b")
    whole = p.define("H z", n2 - (a + b).square, "a = H_w u, b = H_theta v")
    first = p.define("first block", a2 - a.square)
    second = p.define("second block", b2 - b.square)
    left = p.given("columns of w", gamma**2 * U2 - a2, f"U2 = |u|^2; {NORM}")
    right = p.given("columns of theta", gamma**2 * V2 - b2, f"V2 = |v|^2; {NORM}")
    eigen = p.given("eigenvector", lam2 * (U2 + V2) - n2, "H z = lambda z", equality=True)
    apart = p.square("difference of the blocks", a - b)
    return p.conclude(p.follows("lambda <= sqrt 2 gamma", (2 * gamma**2 - lam2) * (U2 + V2), apart, (2, left), (2, right),
                                (2, first), (2, second), (-1, whole), (-1, eigen)))


def huber_ends():
    """A row's share t in [0, 1] of a vector p + t q: its norm is at most the larger one at the two ends. Row after row this leads
    from any clipped residuals, and from any shares of curvature, to signs and to subsets."""
    p = ft.Proof("", "t rest M low high n")
    t, rest, M, low, high, n = p("t rest M low high n")
    share = p.given("share", 1 - t - rest, "a convex combination: rest = 1 - t", equality=True)
    zero = p.given("one end", M - low, "M is the largest norm over all ends")
    one = p.given("other end", M - high)
    between = p.standard("between them", rest * low + t * high - n, "triangle inequality", "p + t q = (1 - t) p + t (p + q)")
    return p.conclude(p.follows("norm at the ends", M - n, between, (rest, zero), (t, one), (M, share)))


def softmax_slope():
    """|p - e_y|^2 <= 2, p_y = 1 - r: the others sum to r."""
    p = ft.Proof("", "r others2 s2")
    r, others2, s2 = p("r others2 s2")
    slope = p.define("slope", s2 - r**2 - others2, "|p - e_y|^2 = (1 - p_y)^2 + sum of the other p_z^2")
    below = p.given("the others", r**2 - others2, "sum p_z^2 <= (sum p_z)^2 for p_z >= 0")
    least = p.given("r at most 1", 1 - r, "r = 1 - p_y and p_y >= 0")
    return p.conclude(p.follows("slope at most sqrt 2", 2 - s2, (-1, slope), below, (2 + 2 * r, least)))


def softmax_curvature():
    """v'(diag p - p p')v <= |v|^2/2: the variance of v under p, with all entries between low and high."""
    p = ft.Proof("", "E2 V2 var rest", "m low high")
    E2, V2, var, rest, m, low, high = p("E2 V2 var rest m low high")
    within = p.given("between the ends", -E2 + (low + high) * m - low * high, "sum p_z (v_z - low)(high - v_z) >= 0")
    variance = p.define("variance", var - E2 + m**2, "m = sum p_z v_z, E2 = sum p_z v_z^2")
    length = p.given("length", V2 - low**2 - high**2 - rest, "low and high are two of the entries of v", equality=True)
    middle = p.square("middle", low + high - 2 * m)
    ends = p.square("ends", low + high)
    return p.conclude(p.follows("curvature at most 1/2", V2 / 2 - var, within, (-1, variance), (ft.fraction("1/2"), length),
                                (ft.fraction("1/4"), middle), (ft.fraction("1/4"), ends)))
