"""Theorem 1 for every number of local steps, and its sharper forms, as chains of checked steps.

y stands for y_{k-1} - x_{t-tau}, d2 for |y_k - x_{t-tau}|^2; g, a, h are grad f_i(y_{k-1}), grad f_i and grad F at x_{t-tau}, n is
the noise of step k. E is over the noise, and over client and x_{t-tau} where these are random.
"""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import drift as f

H_STAR = "noise with mean zero given everything earlier in the round and before, the client, x_t and x_(t-tau)"
CLASS = f"every dimension, number of clients, L and loss that is L-smooth, with {H_STAR}, of conditional variance at most sigma_l^2"
DOMAIN = CLASS + "; gradients of clients at most sigma_g from grad F; steps within (T1); every K"


def lemma1():
    """|x_1 + .. + x_n|^2 <= n (|x_1|^2 + .. + |x_n|^2), s being the sum."""
    p = ft.Proof("n", "Sxx", "Sxs", "x s")
    n, x, s = p("n x s")
    one = p.square("one vector", x - 1 / n * s)
    every = p.total("all vectors", one, {"x_x": "Sxx", "s_x": "Sxs"}, n, "s_s", over="vectors")
    whole = p.define("sum", p("Sxs") - s.square, "sum_j <x_j, s> = |s|^2")
    return p.conclude(p.follows("Lemma 1", f.lemma1(n, [p("Sxx")]) - s.square, (n, every), (2, whole)))


def lemma2():
    """The average of L-smooth losses is L-smooth: u = grad f_i(x) - grad f_i(y), v their mean, z = x - y."""
    p = ft.Proof("L", "Suu", "", "u v z")
    L, (u, v, z) = p("L"), p("u v z")
    one = p.given("smooth client", L**2 * z.square - u.square, "Assumption 1")
    every = p.total("all clients", one, {"u_u": "Suu"}, 1, "z_z", "weights 1/m, their sum is 1")
    jensen = p.standard("mean gradient", p("Suu") - v.square, "Jensen", "Suu = (1/m) sum |u_i|^2")
    return p.conclude(p.follows("Lemma 2", L**2 * z.square - v.square, every, jensen))


def sent():
    """<w, y_k - x> = -sum_{j <= k} eta_j <w, g_j> for every vector w, as two inequalities. W is the sum, z = <w, y_k - x>."""
    return [_sent(sign) for sign in (1, -1)]


def _sent(sign):
    p = ft.Proof("", "k K", "eta eta1 etan etaK wg W WK z zn zK")
    k, eta, wg, W, z = p("k eta wg W z")
    step = p.define("local step", p("zn") - z + eta * wg, "y_k = y_(k-1) - eta_k g_k")
    held = p.suppose("after k steps", sign * (z + W))
    then = p.follows("after k + 1 steps", sign * (p("zn") + W + eta * wg), held, (sign, step))
    end = p.induct("at least" if sign > 0 else "at most", held, then, {"k": 0, "eta": "eta1", "W": 0, "z": 0},
                   {"k": k + 1, "eta": "etan", "W": W + eta * wg, "z": "zn"}, {"k": "K", "eta": "etaK", "W": "WK", "z": "zK"})
    return p.conclude(end)


def noise(p):
    """The facts about the noise of one step, in the mean: (mean against y, against g, variance)."""
    return (*(p.given(f"unbiased against {v}", p(f"E{v}n"), "H*", equality=True) for v in "yg"),
            p.given("variance", p("sigma2") - p("En"), "Assumption 2: E|n|^2 <= sigma_l^2"))


def moved(p):
    """|y_k - x|^2 from the local step."""
    return p.define("local step", p("d2") - (p("y") - p("eta") * (p("g") + p("n"))).square, "y_k = y_(k-1) - eta_k g_i(y_(k-1))")


def recursion():
    """(22), for every q > 0."""
    p = ft.Proof("L q", "eta d2 D Dn En F2 sg2 sigma2", "Eyn Egn", "y g a h n")
    L, q, eta = p("L q eta")
    y, g, a, h, n = p("y g a h n")
    young = p.square("Young", y + q * eta * g, "2 <y, g> eta at most |y|^2/q + q eta^2 |g|^2")
    squares = [p.square(name, v) for name, v in (("three vectors", g - a - (a - h)), ("three vectors, second", a - 2 * h),
                                                 ("three vectors, third", g - a - h))]
    smooth = p.given("smooth client", L**2 * y.square - (g - a).square, "Assumption 1")
    near = p.given("near the mean", p("sg2") - (a - h).square, "Assumption 3")
    three = p.follows("Lemma 1", 3 * (g - a).square + 3 * (a - h).square + 3 * h.square - g.square, *squares)
    after, c = moved(p), (1 + q) * eta**2
    cross = 2 * eta * y.dot(n) - 2 * eta**2 * g.dot(n)
    sure = p.follows("one step, surely", (1 + 1 / q + 3 * c * L**2) * y.square + 3 * c * (p("sg2") + h.square)
                     + eta**2 * n.square - cross - p("d2"), (-1, after), (1 / q, young), (c, three), (3 * c, smooth), (3 * c, near))
    mean = p.expect("one step in the mean", sure, {"y_y": "D", "h_h": "F2", "n_n": "En", "n_y": "Eyn", "g_n": "Egn", "d2": "Dn"},
                    fixed="sg2 eta")
    one, two, loud = noise(p)
    bound = f.one_step(q, eta**2, L, p("D"), p("sg2"), p("F2"), p("sigma2"))
    return p.conclude(p.follows("(22)", sum(bound.values()) - p("Dn"), mean, (2 * eta, one), (-2 * eta**2, two), (eta**2, loud)))


def factor():
    """With q = 2k and a step within (T1): the factor of (22) is at most 1 + 1/k, the heterogeneity at most 1/(2 k L^2)."""
    p = ft.Proof("L k", "eta")
    L, k, eta = p("L k eta")
    cap = p.given("(T1)", 1 - 6 * k * (2 * k + 1) * L**2 * eta**2, "of step k")
    first = p.follows("factor", 1 + 1 / k - (1 + 1 / (2 * k) + 3 * (2 * k + 1) * eta**2 * L**2), (1 / (2 * k), cap))
    second = p.follows("heterogeneity", 1 / (2 * k * L**2) - 3 * (2 * k + 1) * eta**2, (1 / (2 * k * L**2), cap))
    return p.conclude(first, second)


def theorem1():
    """(9), with the noise of (23g) and then as printed; k is the number of steps already made, m = k + 1 the next one."""
    p = ft.Proof("L m K", "k eta eta1 etan etaK D Dn DK F2 sg2 sigma2")
    L, m, k, K, eta, D, F2, sg2, sigma2 = p("L m k K eta D F2 sg2 sigma2")
    index = p.define("m", m - k - 1, "the next step")
    cap = p.given("(T1)", 1 - 6 * m * (2 * m + 1) * L**2 * eta**2, "of step m, with its own eta_m")
    one = p.lemma("one step", recursion(), q=2 * m)
    first, second = (p.lemma(name, factor(), which, k=m) for which, name in enumerate(("factor", "heterogeneity")))
    bound = f.one_step_at_cap(m, eta**2, L, D, sg2, F2, sigma2)
    bounded = p.follows("(23b)", sum(bound.values()) - p("Dn"), one, (D, first), (sg2 + F2, second))

    def after(k, D, noise):
        return k / (2 * L**2) * (sg2 + F2) + noise(k) * sigma2 / L**2 - D
    held = p.suppose("after m - 1 steps", after(m - 1, D, f.noise23g))
    then = p.follows("after m steps", after(m, p("Dn"), f.noise23g), bounded, (1 + 1 / m, held),
                     (sigma2 / (6 * m * (2 * m + 1) * L**2), cap), (sigma2 / (6 * m * (m + 2) * (2 * m + 1) * L**2), index))
    end = p.induct("(23g)", held, then, {"m": 1, "k": 0, "eta": "eta1", "D": 0}, {"m": m + 1, "k": k + 1, "eta": "etan", "D": "Dn"},
                   {"m": K + 1, "k": K, "eta": "etaK", "D": "DK"})
    printed = f.theorem1(K, L, sg2, F2, sigma2)
    return p.conclude(end, p.follows("(9)", sum(printed.values()) - p("DK"), end))


def noise23():
    """(23g) is at most (23h)."""
    p = ft.Proof("k L", "sigma2")
    k, L, sigma2 = p("k L sigma2")
    return p.conclude(p.follows("(23h)", (f.noise23h(k) - f.noise23g(k)) * sigma2 / L**2))


# ---- sharper ---------------------------------------------------------------------------------------------------------------
def sharp():
    """r_k^2 <= ((1 + L eta_k) r_(k-1) + eta_k G)^2 + eta_k^2 sigma_l^2, r_k^2 = E|y_k - x|^2; any steps, client and x fixed."""
    p = ft.Proof("L", "eta G size d2 r Er D Dn En sigma2", "Eyn Egn", "y g n")
    L, eta, G, size, r, Er, D = p("L eta G size r Er D")
    y, g, n = p("y g n")
    length = p.define("length", y.square - size**2, "size = |y|")
    steep = p.standard("gradient there", (L * size + G)**2 - g.square, "triangle inequality", "|g| <= L |y| + |grad f_i(x)|")
    angle = p.standard("angle", size * (L * size + G) + y.dot(g), "Cauchy-Schwarz", "|<y, g>| <= |y| |g|, and the bound of |g|")
    a, jensen = L * eta, p.standard("mean length", r - Er, "Jensen", "Er = E|y| and r = sqrt(E|y|^2)")
    cross = 2 * eta * y.dot(n) - 2 * eta**2 * g.dot(n)
    sure = p.follows("one step, surely", (1 + a)**2 * y.square + 2 * (1 + a) * eta * G * size + eta**2 * G**2 + eta**2 * n.square
                     - cross - p("d2"), (-1, moved(p)), (2 * a + a**2, length), (2 * eta, angle), (eta**2, steep))
    mean = p.expect("one step in the mean", sure, {"y_y": "D", "size": "Er", "n_n": "En", "n_y": "Eyn", "g_n": "Egn", "d2": "Dn"},
                    fixed="eta G")
    one, two, loud = noise(p)
    bound = f.sharp(a, eta, r, D, G, p("sigma2"))
    return p.conclude(p.follows("sharper recursion", sum(bound.values()) - p("Dn"), mean, (2 * (1 + a) * eta * G, jensen),
                                (2 * eta, one), (-2 * eta**2, two), (eta**2, loud)))


def noise_free():
    """Without noise |y_k - x| <= (prod_j (1 + L eta_j) - 1) G/L."""
    p = ft.Proof("L", "eta eta1 etan etaK G P PK size sizen sizeK")
    L, eta, G, P, size = p("L eta G P size")
    step = p.standard("local step", (1 + L * eta) * size + eta * G - p("sizen"), "triangle inequality",
                      "y_k - x = y - eta g with |g| <= L |y| + G")
    held = p.suppose("after k - 1 steps", (P - 1) * G / L - size, "P = prod_j (1 + L eta_j)")
    then = p.follows("after k steps", (P * (1 + L * eta) - 1) * G / L - p("sizen"), step, (1 + L * eta, held))
    return p.conclude(p.induct("noise-free drift", held, then, {"P": 1, "eta": "eta1", "size": 0},
                               {"P": P * (1 + L * eta), "eta": "etan", "size": "sizen"},
                               {"P": "PK", "eta": "etaK", "size": "sizeK"}))


# ---- the usual bound -------------------------------------------------------------------------------------------------------
def _constant_step(p):
    """(K = 1 + j, eta <= 1/(8LK), eta^2 <= 1/(64 L^2 K^2))."""
    L, K, j, eta = p("L K j eta")
    index = p.define("K", K - j - 1, "K >= 1")
    step = p.given("step", 1 - 8 * L * K * eta, "eta <= 1/(8LK)")
    return index, p.follows("square of the step", 1 / (64 * L**2 * K**2) - eta**2,
                            ((1 + 8 * L * K * eta) / (64 * L**2 * K**2), step))


def usual_below():
    """At a constant step of at most 1/(8LK) each term of the usual bound is at most that of Theorem 1 at k = K, and (T1) holds."""
    p = ft.Proof("L K", "j eta F2 sg2 sigma2")
    L, K, j, eta, F2, sg2, sigma2 = p("L K j eta F2 sg2 sigma2")
    index, small = _constant_step(p)

    def above(name, expression, factor):
        """expression >= 0, of which factor * (the bound of eta^2) is one part, and K = 1 + j shows the sign of the other."""
        left = expression - factor * small.expression
        top = left * 192 * K**2 * (2 * K + 1) * L**2
        quotient = (top - top.substitute(K=j + 1)) / (K - j - 1)
        return p.follows(name, expression, (factor, small), (quotient / (192 * K**2 * (2 * K + 1) * L**2), index))
    loose, printed = (made(*at) for made, at in ((f.usual, (K, eta, sg2, F2, sigma2)), (f.theorem1, (K, L, sg2, F2, sigma2))))
    parts = {"heterogeneity": 30 * K**2 * sg2, "gradient": 30 * K**2 * F2, "noise": 5 * K * sigma2}
    return p.conclude(*(above(name, printed[name] - loose[name], factor) for name, factor in parts.items()),
                      above("(T1) at k = K, where it is strictest", 1 / (6 * K * (2 * K + 1) * L**2) - eta**2, 1 + 0 * K))


def usual():
    """The usual bound after n <= K steps of at most 1/(8LK): D_k <= (k + k^2/K) (9 K eta^2 B + eta^2 sigma_l^2)."""
    p = ft.Proof("L K", "j k n eta D Dn DN F2 sg2 sigma2")
    L, K, k, n, eta, D, F2, sg2, sigma2 = p("L K k n eta D F2 sg2 sigma2")
    index, small = _constant_step(p)
    inside, most = p.given("inside", n - k - 1, "steps are made up to n", within="k"), p.given("steps", K - n, "n <= K")
    one = p.lemma("one step", recursion(), q=2 * K)
    B, factor = sg2 + F2, 1 + 1 / (2 * K) + 3 * (2 * K + 1) * eta**2 * L**2
    X = 9 * K * eta**2 * B + eta**2 * sigma2

    def c(k):
        return k + k**2 / K
    near = p.follows("2 K + 1 at most 3 K", 3 * K - (2 * K + 1), (1, index))
    growth = p.follows("factor", 1 + Q(41, 64) / K - factor, (9 * K * L**2, small), (3 * eta**2 * L**2, near))
    held = p.suppose("after k steps", c(k) * X - D)
    then = p.follows("after k + 1 steps", c(k + 1) * X - p("Dn"), one, (factor, held), (3 * eta**2 * B, near), (c(k) * X, growth),
                     (Q(41, 64) * k / K**2 * X, most), (Q(41, 64) * k / K**2 * X, inside))
    end = p.induct("after n steps", held, then, {"k": 0, "D": 0}, {"k": k + 1, "D": "Dn"}, {"k": n, "D": "DN"})
    bound = f.usual(K, eta, sg2, F2, sigma2)
    return p.conclude(p.follows("usual bound", sum(bound.values()) - p("DN"), end, ((1 + (K + n) / K) * X, most)))
