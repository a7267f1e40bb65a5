"""Pencil proofs of what one step of a round adds to F: Lemma 5 as corrected, (6), Lemma 6 as corrected.

Symbols: L, L1 the loss of one client before and after a local step, EL, .. their means given the past; g its gradient in theta
there, g0 at the start of Step 1, n the noise; S, M the sums of gradients and of noise so far, so that theta_k - theta_0 =
-lam (S + M); F the objective. In Step 2: h the mean gradient in w at the new theta, q at the old one, n the server's noise.
"""
import fltheory as ft
from verification.fedres.formulas import steps as f

STEP1 = ("every number of clients and local steps, every dimension, smooth losses, convex or not; noise with mean 0 given the past "
         "and variance at most sigma^2 per mini-batch, dependent across clients or not; the steps are held against coded rounds")
STEP2 = ("every number of clients and local steps, every dimension, smooth losses, convex or not; noise with mean 0 given the past "
         "and variance at most sigma^2 per mini-batch, uncorrelated across clients and mini-batches; the steps are held against "
         "coded rounds")
STEPS = "local steps"


def one_personal_step(p):
    """E L(theta_{k+1}) <= E L(theta_k) - lam/2 E|g|^2 + gamma lam^2 sigma^2/2, and E|g|^2 against |g0|^2."""
    gamma, lam, sigma2, k, G, Eg = p("gamma lam sigma2 k G Eg")
    g0, g, n, S, M = p("g0 g n S M")
    smooth = p.standard("descent", p("L") - lam * g.dot(g + n) + gamma / 2 * lam**2 * (g + n).square - p("L1"), "descent lemma",
                        "theta' = theta - lam (g + n), w frozen")
    mean = p.expect("descent in the mean", smooth, {"L": "EL", "L1": "EL1", "g_g": "Eg", "g_n": "Egn", "n_n": "En"})
    unbiased = p.given("unbiased noise", p("Egn"), "E<g, n> = 0", equality=True)
    variance = p.given("Assumption 3", sigma2 - p("En"))
    cap = p.given("step", 1 - gamma * lam, "lam <= 1/gamma")
    down = p.follows("one local step", p("EL") - lam / 2 * Eg + gamma * lam**2 / 2 * sigma2 - p("EL1"), mean,
                     (lam - gamma * lam**2, unbiased), (gamma * lam**2 / 2, variance), (lam / 2 * Eg, cap))
    lipschitz = p.given("Assumption 1", gamma**2 * lam**2 * (S + M).square - (g - g0).square, "|theta_k - theta_0| = lam |S + M|")
    short = p.standard("gradients so far", (k * G) ** 2 - S.square, "triangle inequality", "k gradients, Assumption 2")
    apart, back = p.square("noise and gradients apart", S - M), p.square("from the start", 2 * g - g0)
    path = p.follows("gradient against the first", g.square - g0.square / 2 + gamma**2 * lam**2 * (2 * k**2 * G**2 + 2 * M.square),
                     (ft.fraction("1/2"), back), lipschitz, (gamma**2 * lam**2, apart), (2 * gamma**2 * lam**2, short))
    against = p.expect("the same in the mean", path, {"g_g": "Eg", "M_M": "EM"}, fixed="g0_g0 k G")
    total = p.total("noise so far", variance, {"En": "SEn"}, k, "sigma2", over=STEPS)
    cross = p.standard("noise of a run", p("SEn") - p("EM"), "variance of a sum", "martingale differences along the run")
    return p.follows("one local step from the start", p("EL") - lam / 4 * g0.square + gamma * lam**2 / 2 * sigma2
                     + gamma**2 * lam**3 * (k**2 * G**2 + k * sigma2) - p("EL1"), down, (lam / 2, against),
                     (gamma**2 * lam**3, total), (gamma**2 * lam**3, cross))


def lemma5():
    """Lemma 5 with the drift of noise in its last term: the sum of k^2 is at most K^3/3, that of k at most K^2/2."""
    p = ft.Proof("gamma lam K", "k G sigma2 En Eg SEn EM A", "L L1 EL EL1 Egn L0 ELK F F1", "g0 g n S M")
    gamma, lam, K, k, G, sigma2, EL, L0, g0 = p("gamma lam K k G sigma2 EL L0 g0")

    def after(steps, loss):
        return (L0 - loss - f.step1_descent(lam, steps, g0.square)
                + sum(f.lemma5_corrected(gamma, lam, steps, G**2, sigma2).values()))
    one = one_personal_step(p)
    held = p.suppose("after k steps", after(k, EL))
    then = p.follows("after k + 1 steps", after(k + 1, p("EL1")), held, one)
    end = p.induct("after K steps", held, then, {"k": 0, "EL": L0}, {"k": k + 1, "EL": "EL1"}, {"k": K, "EL": "ELK"})
    return p.conclude(p.total("Lemma 5, corrected", end, {"L0": "F", "ELK": "F1", "g0_g0": "A"}, 1, "K G sigma2", "weights 1/N"))


def lemma5_convex():
    """Lemma 5 with K^3/4 for K^2/2, for convex losses: the whole of Step 1 is compared with its start, not each step with the last.

    With p = g0 + gamma (theta_k - theta_0), the gradient if the curvature were gamma, W = |p|^2 and u = gamma lam <= 1:
    E L(theta_K) - L(theta_0) <= (E W_K - |g0|^2)/(2 gamma), and <p, g> >= <p, g0> + |g|^2 - <g, g0> makes W fall. r = |g0|.
    """
    p = ft.Proof("gamma lam K", "k G sigma2 r W W1 En EW EW1 EWK WK A", "L0 L LK ELK z Ez y Ey F F1", "g0 g n S M D")
    gamma, lam, K, k, G, sigma2, r, W, EW, L0 = p("gamma lam K k G sigma2 r W EW L0")
    g0, g, n, S, M, D = p("g0 g n S M D")
    u = gamma * lam
    move = -lam * (S + M)
    point = g0 + gamma * move
    length = p.define("length", g0.square - r**2)
    there = p.standard("from the start", p("L") - L0 - g0.dot(move) - (g - g0).square / (2 * gamma), "gradient below the gap",
                       "of L - <g0, .>, convex and so smallest at theta_0")
    back = p.standard("back to the start", L0 - p("L") + g.dot(move) - (g - g0).square / (2 * gamma), "gradient below the gap",
                      "of L - <g, .>, convex and so smallest at theta_k")
    before = p.define("before", W - point.square, "theta_k - theta_0 = -lam (S + M)")
    after = p.define("after", p("W1") - (point - u * (g + n)).square)
    known = p.define("noise against what is known", p("z") - (point - u * g).dot(n))
    mixed = p.define("noise so far", p("y") - g0.dot(M))
    short = p.standard("gradients so far", r * k * G - g0.dot(S), "Cauchy-Schwarz", "|S| <= k G: k gradients, Assumption 2")
    cap = p.given("step", 1 - u, "lam <= 1/gamma")
    near = p.square("against the first gradient", g - g0)
    path = p.follows("one local step", W - u * r**2 + 2 * u**2 * (k * G * r + p("y")) - 2 * u * p("z") + u**2 * n.square - p("W1"),
                     (2 * u * gamma, there), (2 * u * gamma, back), before, (-1, after), (-2 * u, known), (2 * u**2, mixed),
                     (2 * u**2, short), (u, near), (u * g.square, cap), (u, length))
    mean = p.expect("one local step in the mean", path, {"W": "EW", "W1": "EW1", "z": "Ez", "y": "Ey", "n_n": "En"}, fixed="k G r")
    unbiased = p.given("unbiased noise", p("Ez"), "each mini-batch has mean 0 given the past", equality=True)
    past = p.given("unbiased noise so far", p("Ey"), "likewise, g0 fixed", equality=True)
    variance = p.given("Assumption 3", sigma2 - p("En"))
    down = p.follows("fall of W", EW - u * r**2 + 2 * u**2 * k * G * r + u**2 * sigma2 - p("EW1"), mean, (2 * u, unbiased),
                     (-2 * u**2, past), (u**2, variance))

    def bound(steps, value):
        return r**2 - steps * u * r**2 + u**2 * steps**2 * G * r + steps * u**2 * sigma2 - value
    held = p.suppose("W after k steps", bound(k, EW))
    then = p.follows("W after k + 1 steps", bound(k + 1, p("EW1")), held, down)
    end = p.induct("W after K steps", held, then, {"k": 0, "EW": r**2}, {"k": k + 1, "EW": "EW1"}, {"k": K, "EW": "EWK"})
    smooth = p.standard("descent", L0 + g0.dot(D) + gamma / 2 * D.square - p("LK"), "descent lemma", "D = theta_K - theta_0")
    last = p.define("W at the end", p("WK") - (g0 + gamma * D).square)
    whole = p.follows("descent by W", L0 + (p("WK") - r**2) / (2 * gamma) - p("LK"), smooth, (1 / (2 * gamma), last),
                      (1 / (2 * gamma), length))
    ends = p.expect("descent in the mean", whole, {"LK": "ELK", "WK": "EWK"}, fixed="L0 r")
    young = p.square("Young", r - u * K * G)
    one = p.follows("one client", L0 - p("ELK") - f.step1_descent(lam, K, g0.square)
                    + sum(f.lemma5_sharper(gamma, lam, K, G**2, sigma2).values()), ends, (1 / (2 * gamma), end),
                    (lam * K / 4, young), (-lam * K / 4, length))
    every = p.total("Lemma 5 with K^3/4", one, {"L0": "F", "ELK": "F1", "g0_g0": "A"}, 1, "K G sigma2", "weights 1/N")
    bound = sum(f.lemma5_k3(gamma, lam, K, G**2, sigma2).values()) - f.step1_descent(lam, K, p("A"))
    return p.conclude(p.follows("Lemma 5 with K^3/2", p("F") + bound - p("F1"), every), every)


def eq6():
    """(6): one step of size eta K with the mean of N K mini-batch gradients."""
    p = ft.Proof("gamma eta K N", "sigma2 e Se En Eh", "F F1 EF1 Ehn", "h n")
    gamma, eta, K, N, sigma2, F, h, n = p("gamma eta K N sigma2 F h n")
    s = eta * K
    smooth = p.standard("descent", F - s * h.dot(h + n) + gamma / 2 * s**2 * (h + n).square - p("F1"), "descent lemma",
                        "w' = w - eta K (h + n), theta' frozen; the mean of the L_i is gamma-smooth in w")
    mean = p.expect("descent in the mean", smooth, {"F1": "EF1", "h_n": "Ehn", "n_n": "En"}, fixed="F h_h")
    unbiased = p.given("unbiased noise", p("Ehn"), "E<h, n> = 0, h fixed by the past", equality=True)
    variance = p.given("Assumption 3", sigma2 - p("e"), "e: variance of one mini-batch")
    batches = p.total("all mini-batches", variance, {"e": "Se"}, 1 / (N * K), "sigma2", "weights 1/(NK)^2", "N K mini-batches")
    cross = p.standard("noise of the server's step", p("Se") - p("En"), "variance of a sum", "uncorrelated across clients")
    cap = p.given("step", 1 - gamma * eta * K, "eta <= 1/(gamma K)")
    bound = sum(f.eq6(gamma, eta, K, N, sigma2).values()) - f.step2_descent(eta, K, h.square)
    half = gamma * s**2 / 2
    return p.conclude(p.follows("(6)", F + bound - p("EF1"), mean, (s - 2 * half, unbiased), (half, batches), (half, cross),
                                (s / 2 * h.square, cap)))


def _hypotheses_of_eq6(p):
    p.given("unbiased noise", p("Ehn"), "E<h, n> = 0, h fixed by the past", equality=True)
    p.given("Assumption 3", p("sigma2") - p("e"), "e: variance of one mini-batch")
    p.given("step", 1 - p("gamma") * p("eta") * p("K"), "eta <= 1/(gamma K)")
    return p.lemma("(6)", eq6())


def lemma6():
    """The printed right side, from (6): half the descent, and a term that is not needed."""
    p = ft.Proof("gamma eta K N", "sigma2 lam G e Se En", "F EF1 Ehn", "h")
    gamma, eta, K, N, sigma2, lam, G, h = p("gamma eta K N sigma2 lam G h")
    bound = sum(f.lemma6(gamma, eta, lam, K, N, G**2, sigma2).values()) - f.lemma6_descent(eta, K, h.square)
    return p.conclude(p.follows("Lemma 6, corrected", p("F") + bound - p("EF1"), _hypotheses_of_eq6(p)))


def lemma6_old_theta():
    """The last display of Lemma 6's proof: the gradient at the old theta, for Step 1 without noise."""
    p = ft.Proof("gamma eta K N", "sigma2 lam G e D2 T2 SD", "F EF1 Ehn", "h q")
    gamma, eta, K, N, sigma2, lam, G, h, q = p("gamma eta K N sigma2 lam G h q")
    lipschitz = p.given("Assumption 1", gamma**2 * p("T2") - p("D2"), "D2 = |grad_w L_i(w, theta') - grad_w L_i(w, theta)|^2, T2 = "
                                                                    "|theta' - theta|^2")
    short = p.standard("Step 1", (lam * K * G) ** 2 - p("T2"), "triangle inequality", "K steps without noise, Assumption 2")
    one = p.follows("one client", (gamma * lam * K * G) ** 2 - p("D2"), lipschitz, (gamma**2, short))
    every = p.total("all clients", one, {"D2": "SD"}, 1, "lam K G", "weights 1/N")
    jensen = p.standard("mean gradients", p("SD") - (h - q).square, "Jensen", "weights 1/N")
    back = p.square("from the old theta", 2 * h - q)
    bound = sum(f.lemma6(gamma, eta, lam, K, N, G**2, sigma2).values()) - f.lemma6_descent(eta, K, q.square)
    s = eta * K / 2
    return p.conclude(p.follows("Lemma 6 at the old theta", p("F") + bound - p("EF1"), _hypotheses_of_eq6(p), (s, every),
                                (s, jensen), (s / 2, back)))
