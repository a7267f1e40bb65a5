"""Pencil proofs of Lemma 8: Step 2 of FedResAvg, from smoothness at w instead of at the local iterates. No convexity is used.

For every number of clients and local steps, dimension, alpha and lambda, either option, eta <= 1/(96 gamma alpha K); control
variates whose mean is c, of any size; noise with mean 0 given the past, uncorrelated across clients, variance at most sigma^2.

Symbols: h = alpha eta K; F, F1 the values of (1/N) sum_i L_i(., theta_i') at w and w'; P = grad_w F(w, theta'), Q = grad_w
F(w, theta), M the mean of grad_w L_i(w_i^[k], theta_i') over clients and local steps, X that of the noise; Sds, Se sums of
|w_i^[k] - w|^2 over clients and steps and of |theta_i' - theta_i|^2 over clients; E.. an expectation given the start of the round.
"""
import fltheory as ft
from verification.fedres.formulas import appendix_d as d

DOMAIN = ("every number of smooth clients, convex or not, in every dimension; every K, alpha and lambda, either option, control "
          "variates of mean c; noise with mean 0 given the past, uncorrelated across clients, variance at most sigma^2")
QUIET = DOMAIN.partition("; noise")[0] + "; no noise"
NUMBERS = "lam sigma2 G2 ds Sds ESds Sr es Es EX EP e Se ESe Ee Sq gg Sgg S2 nn Snn Eb Ea"
SIGNED = "F F1 EF EF1 EPX"
VECTORS = "P M X Q r q a b"


def new_proof(noisy=True):
    """A proof that declares what it speaks of, with the cap on eta."""
    p = ft.Proof("gamma alpha eta K N", NUMBERS if noisy else "lam G2 ds Sds Sr e Se Sq gg Sgg", SIGNED if noisy else "F F1",
                 VECTORS if noisy else "P M Q r q a")
    p.given("cap", 1 - 96 * p("gamma") * step(p), "eta <= 1/(96 gamma alpha K)")
    return p


def step(p):
    """h = alpha eta K."""
    return p("alpha") * p("eta") * p("K")


def mean_gradient(p):
    """|M - P|^2 <= gamma^2 drift."""
    gamma, NK, r = p("gamma"), p("N") * p("K"), p("r")
    one = p.given("Lipschitz in w", gamma**2 * p("ds") - r.square, "r = grad_w L_i(w_i^[k], theta_i') - grad_w L_i(w, theta_i')")
    total = p.total("changes of gradients", one, {"ds": "Sds", "r_r": "Sr"}, NK, over="clients and local steps")
    mean = p.standard("mean of the changes", p("Sr") / NK - (p("M") - p("P")).square, "Jensen", "M - P is the mean of the r")
    return p.follows("mean gradient", gamma**2 * p("Sds") / NK - (p("M") - p("P")).square, mean, (1 / NK, total))


def averaged_noise(p):
    """E|X|^2 <= sigma^2/(N K)."""
    NK, sigma2 = p("N") * p("K"), p("sigma2")
    one = p.given("variance", sigma2 - p("es"), "es = E|noise of a gradient|^2: Assumption 3")
    total = p.total("noise of all steps", one, {"es": "Es"}, NK, "sigma2", over="clients and local steps")
    apart = p.standard("averaged noise", p("Es") / NK**2 - p("EX"), "variance of a sum",
                       "uncorrelated across clients, martingale differences along a run")
    return p.follows("noise of the round", sigma2 / NK - p("EX"), apart, (1 / NK**2, total))


def step_two(p, sharp=False):
    """E F(w') <= E F(w) - h/2 E|grad_w F(w, theta')|^2 + noise + drift, surely where there is no noise."""
    gamma, h, F, F1, M, P, NK = p("gamma"), step(p), p("F"), p("F1"), p("M"), p("P"), p("N") * p("K")
    noisy, cap, near = "X" in p._vectors, p.facts["cap"], mean_gradient(p)
    said = "w' = w - alpha eta K (M + X): the control variates cancel, c being the mean of the c_i"
    if not noisy:
        smooth = p.standard("descent", F - h * P.dot(M) + gamma / 2 * h**2 * M.square - F1, "descent lemma",
                            said.replace("(M + X)", "M"))
        return p.follows("Step 2", F - h / 2 * P.square + h / 2 * gamma**2 * p("Sds") / NK - F1, smooth, (h / 2, near),
                         (h / 192 * M.square, cap))
    X = p("X")
    smooth = p.standard("descent", F - h * P.dot(M + X) + gamma / 2 * h**2 * (M + X).square - F1, "descent lemma", said)
    u = gamma * h
    noise = gamma * h**2 * (1 + u) / 2 if sharp else gamma * h**2
    drift = h if sharp else h / 2
    cross = h - gamma * h**2 if sharp else h
    young = p.square("gradients against noise", M - P - u * X if sharp else M - X)
    path = p.follows("Step 2, surely",
                     F - h / 2 * P.square + drift * gamma**2 * p("Sds") / NK - cross * P.dot(X) + noise * X.square - F1,
                     smooth, (h / 2 if sharp else gamma * h**2 / 2, young), (drift, near),
                     (h / 192 * M.square if sharp else h / 96 * M.square, cap))
    mean = p.expect("Step 2 in the mean", path, {"F": "EF", "F1": "EF1", "P_P": "EP", "Sds": "ESds", "P_X": "EPX", "X_X": "EX"})
    unbiased = p.given("unbiased noise", p("EPX"), "E<P, X> = 0: P is known when Step 2 begins", equality=True)
    left = p("EF") - h / 2 * p("EP") + drift * gamma**2 * p("ESds") / NK - p("EF1")
    return p.follows("Step 2 with noise", left + noise * p("sigma2") / NK, mean, (cross, unbiased), (noise, averaged_noise(p)))


def personal_steps(p, steps, noisy=True):
    """|theta^[k] - theta|^2 <= lambda^2 k^2 G^2, k = `steps` of them; with noise 2 lambda^2 (k^2 G^2 + k sigma^2)."""
    lam, G2, a, e = p("lam"), p("G2"), p("a"), p("e")
    one = p.given("bounded gradients", G2 - p("gg"), "gg = |grad_theta L_i|^2: Assumption 2")
    total = p.total("gradients of Step 1", one, {"gg": "Sgg"}, steps, "G2", over="local steps")
    length = p.standard("their sum", steps * p("Sgg") - a.square, "Cauchy-Schwarz", "a = sum_k grad_theta L_i(w, theta^[k])")
    size = p.follows("size of their sum", steps**2 * G2 - a.square, length, (steps, total))
    if not noisy:
        moved = p.define("personal move", e - (lam * a).square, "theta' - theta = -lambda a, e = |theta' - theta|^2")
        return p.follows("Step 1 moves", lam**2 * steps**2 * G2 - e, (-1, moved), (lam**2, size))
    b = p("b")
    moved = p.define("personal move", e - (lam * (a + b)).square,
                     "theta' - theta = -lambda (a + b), b the noise, e = |theta' - theta|^2")
    apart = p.square("gradients and noise apart", a - b)
    path = p.follows("Step 1 moves, surely", 2 * lam**2 * (steps**2 * G2 + b.square) - e, (-1, moved), (lam**2, apart),
                     (2 * lam**2, size))
    mean = p.expect("Step 1 moves in the mean", path, {"e": "Ee", "b_b": "Eb"}, fixed="lam G2 k")
    loud = p.given("variance in Step 1", p("sigma2") - p("nn"), "nn = E|noise of a gradient|^2: Assumption 3")
    summed = p.total("noise of Step 1", loud, {"nn": "Snn"}, steps, "sigma2", over="local steps")
    cross = p.standard("noise along Step 1", p("Snn") - p("Eb"), "variance of a sum", "martingale differences along Step 1")
    return p.follows("Step 1 moves", 2 * lam**2 * (steps**2 * G2 + steps * p("sigma2")) - p("Ee"), mean, (2 * lam**2, cross),
                     (2 * lam**2, summed))


def moves():
    """E|theta^[k] - theta|^2 <= 2 lambda^2 (k^2 G^2 + k sigma^2) after k steps on theta, none included."""
    p = ft.Proof("", "k lam sigma2 G2 gg Sgg nn Snn e Ee Eb", "", "a b")
    return p.conclude(personal_steps(p, p("k")))


def old_theta(p, noisy=True):
    """|grad_w F(w, theta)|^2 <= 2 E|grad_w F(w, theta')|^2 + 2 gamma^2 (1/N) sum_i E|theta_i' - theta_i|^2, bounded."""
    gamma, N, P, Q, q = p("gamma"), p("N"), p("P"), p("Q"), p("q")
    turn = p.square("old gradient and change", 2 * P - Q)
    one = p.given("Lipschitz in theta", gamma**2 * p("e") - q.square, "q = grad_w L_i(w, theta_i') - grad_w L_i(w, theta_i)")
    total = p.total("changes by Step 1", one, {"e": "Se", "q_q": "Sq"}, N)
    mean = p.standard("mean change by Step 1", p("Sq") / N - (P - Q).square, "Jensen", "P - Q is the mean of the q")
    path = p.follows("old gradient", 2 * P.square + 2 * gamma**2 * p("Se") / N - Q.square, turn, (2, mean), (2 / N, total))
    moves, G2, lam, K = personal_steps(p, p("K"), noisy), p("G2"), p("lam"), p("K")
    if not noisy:
        every = p.total("all clients move", moves, {"e": "Se"}, N, "lam G2")
        return p.follows("old theta", 2 * P.square + 2 * gamma**2 * lam**2 * K**2 * G2 - Q.square, path, (2 * gamma**2 / N, every))
    path = p.expect("old gradient in the mean", path, {"P_P": "EP", "Se": "ESe"}, fixed="Q_Q")
    every = p.total("all clients move", moves, {"Ee": "ESe"}, N, "lam G2 sigma2")
    return p.follows("old theta", 2 * p("EP") + 4 * gamma**2 * lam**2 * (K**2 * G2 + K * p("sigma2")) - Q.square, path,
                     (2 * gamma**2 / N, every))


def terms(p):
    """gamma, alpha, eta, sigma2, N, K and the drift, as the formulas take them."""
    return p("gamma"), p("alpha"), p("eta"), p("sigma2"), p("N"), p("K"), p("ESds") / (p("N") * p("K"))


def sharp():
    """With 97/192 and 1/96, at the new theta."""
    p = new_proof()
    gamma, alpha, eta, sigma2, N, K, drift = terms(p)
    down, h = step_two(p, True), step(p)
    bound = sum(d.lem8_sharp(gamma, alpha, eta, sigma2, N, K, drift).values())
    return p.conclude(p.follows("Lemma 8, sharp", p("EF") - h / 2 * p("EP") + bound - p("EF1"), down,
                                (gamma * drift / 96 + gamma * h**2 * sigma2 / (192 * N * K), p.facts["cap"])))


def noisy():
    """In full expectation, with the constants 1 and then 2, at the old theta."""
    p = new_proof()
    gamma, alpha, eta, sigma2, N, K, drift = terms(p)
    down, old, h, Q, G2, lam = step_two(p), old_theta(p), step(p), p("Q"), p("G2"), p("lam")
    def left(bound):
        return p("EF") - h / 4 * Q.square + bound - p("EF1")
    one, two = (sum(d.lem8_noisy(gamma, alpha, eta, lam, sigma2, G2, N, K, drift, scale).values()) for scale in (1, 2))
    least = sum(d.lem8_noisy(gamma, alpha, eta, lam, sigma2, G2, N, K, 0).values()) + h / 2 * gamma**2 * drift
    small = p.follows("Lemma 8, the drift uncapped", left(least), down, (h / 4, old))
    end = p.follows("Lemma 8 in full expectation", left(one), small, (gamma * drift / 192, p.facts["cap"]))
    return p.conclude(end, p.follows("the same with 2", left(two), end), small)


def quiet(restricted=False):
    """Without noise, for every lambda; restricted: as printed, for lambda <= sqrt 2 eta."""
    p = new_proof(noisy=False)
    gamma, alpha, eta, lam, G2, N, K, Q, h = (*p("gamma alpha eta lam G2 N K Q"), step(p))
    drift, down, old, cap = p("Sds") / (N * K), step_two(p), old_theta(p, noisy=False), p.facts["cap"]
    small = sum(d.lem8_quiet(gamma, alpha, eta, lam, G2, K, drift, ft.fraction("1/2"), ft.fraction("1/192")).values())
    end = p.follows("Lemma 8 without noise, smaller", p("F") - h / 4 * Q.square + small - p("F1"), down, (h / 4, old),
                    (gamma * drift / 192, cap))
    if not restricted:
        bound = sum(d.lem8_quiet(gamma, alpha, eta, lam, G2, K, drift).values())
        return p.conclude(p.follows("Lemma 8 without noise", p("F") - h / 4 * Q.square + bound - p("F1"), end), end)
    short = p.given("lambda at most sqrt 2 eta", 2 * eta**2 - lam**2)
    bound = sum(d.lem8(gamma, alpha, eta, lam, 0, G2, N, K, drift).values())
    return p.conclude(p.follows("Lemma 8 as printed", p("F") - h / 4 * Q.square + bound - p("F1"), end,
                                (gamma**2 * alpha * eta * G2 * K**3 / 2, short)))
