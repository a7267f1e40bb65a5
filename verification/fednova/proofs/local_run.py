"""Pencil proofs of FedNova, one client: (68) and the drift (85), as corrected and, where b^(k) <= a, as printed.

For every dimension and number of local steps, a smooth objective that need not be convex, accumulation vectors a >= 0 and prefix
coefficients b^(k) >= 0, and noise with mean 0 given the past and variance at most sigma^2.

Symbols: n = |a|_1, nn = |a|_2^2, l the last entry of a; k, s local steps; E.. an expectation given the model x of the round;
M = max_k E|x - y_k|^2, W = sum_k a_k E|x - y_k|^2, Ee = E|grad F_i(x) - h_i|^2, g = grad F_i(x).
"""
import fltheory as ft
from verification.fednova.formulas import appendix_c as c

STEPS = "local steps"
DOMAIN = ("every smooth client, convex or not, in every dimension; every number of local steps, a >= 0 and b^(k) >= 0; noise with "
          "mean 0 given the past and variance at most sigma^2")
DOMINATED = DOMAIN.replace("a >= 0 and b^(k) >= 0", "b^(k) <= a (vanilla steps, step decay, momentum with 0 <= rho < 1)")


def displacement(p):
    """E|x - y_k|^2 <= 2 eta^2 (E|u|^2 + E|v|^2), u the noise and v the gradients of k steps, weighted with b^(k)."""
    eta, D, u, v = p("eta d u v")
    where = p.define("model after k steps", D - (eta * (u + v)).square,
                     "x - y_k = eta (u + v), u = sum_s b_s (g(y_s) - grad F_i(y_s)), v = sum_s b_s grad F_i(y_s), d = |x - y_k|^2")
    apart = p.square("noise and gradients apart", u - v)
    path = p.follows("displacement", 2 * eta**2 * (u.square + v.square) - D, (-1, where), (eta**2, apart))
    return p.expect("mean displacement", path, {"d": "Ed", "u_u": "Eu", "v_v": "Ev"})


def noise_of(p, square, weights, total="Eu"):
    """E|noise|^2 <= sigma^2 `square`, the sum of the squared coefficients."""
    one = p.given("variance", p("sigma2") - p("es"), "es = E|g_i(y_s) - grad F_i(y_s)|^2: Assumption 2")
    summed = p.total("variances, weighted", one, {"es": "Es"}, square, "sigma2", f"weights {weights}", STEPS)
    cross = p.standard("noise of a run", p("Es") - p(total), "variance of a sum", "martingale differences along the run")
    return p.follows("noise", p(square) * p("sigma2") - p(total), cross, summed)


def gradient_at(p):
    """2 |grad F_i(x)|^2 + 2 L^2 E|x - y_s|^2 >= E|grad F_i(y_s)|^2."""
    L, ds, Gs, g, r = p("L ds Gs g r")
    lipschitz = p.given("Lipschitz gradient", L**2 * ds - r.square, "r = grad F_i(y_s) - grad F_i(x), ds = |x - y_s|^2")
    there = p.define("gradient there", Gs - (g + r).square, "Gs = |grad F_i(y_s)|^2, g = grad F_i(x)")
    apart = p.square("gradient and change apart", g - r)
    path = p.follows("gradient at y_s", 2 * g.square + 2 * L**2 * ds - Gs, (-1, there), apart, (2, lipschitz))
    return p.expect("gradient at y_s in the mean", path, {"Gs": "EGs", "ds": "Eds"}, fixed="g_g")


def divided(p, bound, left, whole):
    """bound - left >= 0 from (1 - D) (bound - left) >= 0, D = 4 eta^2 L^2 C at most 1 - rest."""
    below = p.given("D below 1", 1 - c.D(p("eta"), p("L"), p("C")) - p("rest"), "D = 4 eta^2 L^2 C < 1")
    return p.cancel("drift", bound - left, whole, below, p("rest"))


def drift():
    """(85) as corrected: the largest displacement M of a run instead of the a-weighted one."""
    p = ft.Proof("L eta rest n", "sigma2 C N2 n1 n2 M W d Ed ds Eds Gs EGs SGs ESGs es Es Eu Ev", "", "g r u v")
    L, eta, n, C, N2, n1, n2, M, W, Eds, sigma2 = p("L eta n C N2 n1 n2 M W Eds sigma2")
    g, v = p("g v")
    D = c.D(eta, L, C)
    run, noise, there = displacement(p), noise_of(p, "n2", "(b_s)^2"), gradient_at(p)
    largest = p.given("largest", M - Eds, "M = max_k E|x - y_k|^2, at least that at any s")
    attained = p.define("attained", M - p("Ed"), "k is the step with the largest displacement")
    near = p.follows("gradient against M", 2 * g.square + 2 * L**2 * M - p("EGs"), there, (2 * L**2, largest))
    summed = p.total("gradients, weighted", near, {"EGs": "ESGs"}, n1, "g_g M", "weights b_s", STEPS)
    jensen = p.standard("sum of gradients", n1 * p("SGs") - v.square, "Jensen", "weights b_s / n1, n1 = sum_s b_s")
    mean = p.expect("sum of gradients in the mean", jensen, {"SGs": "ESGs", "v_v": "Ev"}, fixed="n1")
    squares = p.given("largest squares", N2 - n2, "N2 = max_k sum_s (b_s^(k))^2, n2 = sum_s (b_s^(k))^2")
    prefix = p.given("largest prefix", C - n1**2, "C = C' = max_{i,k} (sum_s b_s^(k))^2")
    bound = sum(c.eq85_terms(eta, L, sigma2, N2, D, g.square).values())
    s = 2 * eta**2 * L**2
    whole = p.follows("drift, times 1 - D", (1 - D) * (bound - L**2 * M), (L**2, run), (-(L**2), attained), (s, noise),
                      (s * sigma2, squares), (s, mean), (s * n1, summed), (s * (2 * g.square + 2 * L**2 * M), prefix))
    end = divided(p, bound, L**2 * M, whole)
    average = p.total("average below the largest", largest, {"Eds": "W"}, n, "M", "weights a_k, n = |a|_1", STEPS)
    first = p.follows("weighted drift", L**2 * M - c.weighted_drift(L, [n], [W / n]), (L**2 / n, average))
    return p.conclude(end, first)


def restricted():
    """(85) as printed, for prefix coefficients b^(k) <= a."""
    p = ft.Proof("L eta rest n",
                 "sigma2 C N2 nn l W d Ed ds Eds Gs EGs es Es Eu Ev a b a2 b2 n1 n2 A1 A2 rest1 rest2 rest3 SGs Q S T",
                 "", "g r u v")
    L, eta, n, sigma2, C, nn, last, W, Ed, a, b, n1, S, T = p("L eta n sigma2 C nn l W Ed a b n1 S T")
    g, v, e2, D = p("g"), p("v"), 2 * eta**2, c.D(eta, L, C)
    run, noise, there = displacement(p), noise_of(p, "n2", "(b_s)^2"), gradient_at(p)
    below = p.given("prefix coefficients", a - b, "0 <= b_s <= a_s (vanilla, decay, momentum)")
    first = p.total("coefficients", below, {"a": "A1", "b": "n1"}, 0, says="over s < k", over=STEPS)
    square = p.follows("one square", p("a2") - p("b2"), (a + b, below), p.define("square of a", p("a2") - a**2),
                        p.define("square of b", b**2 - p("b2")))
    second = p.total("squares of a prefix", square, {"a2": "A2", "b2": "n2"}, 0, says="over s < k", over=STEPS)
    third = p.total("gradients of a prefix", below, {"a": "T", "b": "Q"}, 0, says="over s < k, weights E|grad F_i(y_s)|^2",
                    over=STEPS)
    end1 = p.define("coefficients but the last", n - last - p("A1") - p("rest1"), "k <= tau - 1: what lies between adds rest1 >= 0")
    end2 = p.define("squares but the last", nn - last**2 - p("A2") - p("rest2"), "likewise")
    end3 = p.define("gradients of the run", S - T - p("rest3"), "S = sum_s a_s E|grad F_i(y_s)|^2 over the whole run")
    jensen = p.standard("sum of gradients", n1 * p("SGs") - v.square, "Jensen", "weights b_s / n1, n1 = sum_s b_s")
    mean = p.expect("sum of gradients in the mean", jensen, {"SGs": "Q", "v_v": "Ev"}, fixed="n1")
    one = p.follows("displacement after k steps", e2 * (sigma2 * (nn - last**2) + (n - last) * S) - Ed, run, (e2, noise),
                    (e2 * sigma2, second),
                    (e2 * sigma2, end2), (e2, mean), (e2 * n1, third), (e2 * n1, end3), (e2 * S, first), (e2 * S, end1))
    summed = p.total("weighted over k", one, {"Ed": "W"}, n, "sigma2 nn l S", "weights a_k, n = |a|_1", STEPS)
    run_of = p.total("gradients of the run, bounded", there, {"EGs": "S", "Eds": "W"}, n, "g_g", "weights a_s", STEPS)
    largest = p.given("largest product", C - n * (n - last), "C = max_i |a_i|_1 (|a_i|_1 - a_{i,-1})")
    squares = p.define("squares", p("N2") - (nn - last**2), "N2 = |a|_2^2 - a_{-1}^2")
    bound, left = sum(c.eq85_terms(eta, L, sigma2, p("N2"), D, g.square).values()), c.weighted_drift(L, [n], [W / n])
    s = e2 * L**2
    whole = p.follows("drift, times 1 - D", (1 - D) * (bound - left), (L**2 / n, summed), (s * (p("A1") + p("rest1")), run_of),
                      (s * run_of.expression, end1), (s * sigma2, squares), (4 * eta**2 * L**2 * (g.square + left), largest))
    return p.conclude(divided(p, bound, left, whole))


def bias():
    """(68): E|grad F_i(x) - h_i|^2 <= L^2 / |a|_1 sum_k a_k E|x - y_k|^2."""
    p = ft.Proof("L n", "W ds Eds Er SR ESR Ee", "", "e r")
    L, n, W, r, e = p("L n W r e")
    lipschitz = p.given("Lipschitz gradient", L**2 * p("ds") - r.square, "r = grad F_i(y_k) - grad F_i(x), ds = |x - y_k|^2")
    summed = p.total("weighted over k", p.expect("in the mean", lipschitz, {"ds": "Eds", "r_r": "Er"}), {"Eds": "W", "Er": "ESR"},
                     n,
                     says="weights a_k, n = |a|_1", over=STEPS)
    jensen = p.standard("mean of the run", p("SR") / n - e.square, "Jensen", "e = h_i - grad F_i(x) = sum_k a_k r_k / n")
    mean = p.expect("mean of the run, in the mean", jensen, {"SR": "ESR", "e_e": "Ee"})
    return p.conclude(p.follows("bias of a run", c.weighted_drift(L, [n], [W / n]) - p("Ee"), mean, (1 / n, summed)))


def deviation(printed=False):
    """E|grad F_i(x) - h_i|^2 against (85), with B = max_k sum_s (b_s^(k))^2, or B = |a|_2^2 - a_{-1}^2 as printed."""
    p = ft.Proof("L eta rest n", "sigma2 C B W M Ee nn l", "", "g")
    L, eta, C, B, sigma2, g = p("L eta C B sigma2 g")
    D = c.D(eta, L, C)
    p.given("D below 1", 1 - D - p("rest"), "D = 4 eta^2 L^2 C < 1")
    near = p.lemma("(68)", bias())
    if printed:
        p.given("largest product", C - p("n") * (p("n") - p("l")), "C = max_i |a_i|_1 (|a_i|_1 - a_{i,-1})")
        p.define("squares", B - (p("nn") - p("l") ** 2), "B = |a|_2^2 - a_{-1}^2")
        parts = [p.lemma("(85)", restricted(), N2=B)]
    else:
        run = drift()
        parts = [p.lemma("largest drift", run, N2=B), p.lemma("weighted drift", run, 1)]
    return p.conclude(p.follows("bias and drift", sum(c.eq85_terms(eta, L, sigma2, B, D, g.square).values()) - p("Ee"), near,
                                *parts))
