"""Pencil proofs of one round of FedResSGD: eq 8 without its gradient bound, for any smooth losses and sharper on quadratics.

lambda = eta/N throughout. Symbols: Step 1 of one client starts at theta_0 and visits theta_k with g = grad_theta L_i(w, theta_k)
and noise e; F0, Fk, Fk1, F1 are the values of L_i(w, .) at its start, after k and k + 1 steps and at its end; S sums E|g|^2 over
the K steps, Q over the first k. d = |theta_k - theta_0|^2. Of a round: P = grad_w F at the start, q = grad_w F(w, theta') after
Step 1, r = q - P, z the noise of the mean large batch.
"""
import fltheory as ft
from verification.fedres.formulas import theorem1 as f

SMOOTH = ("every number of clients, local steps and dimensions, also unequal ones; smooth losses, convex or not; noise with mean "
          "0 given the past and variance at most sigma^2, which may depend on the state, independent across clients")
QUADRATIC = SMOOTH.replace("smooth losses, convex or not", "convex quadratics")
STEADY = QUADRATIC.replace("which may depend on the state, ", "which does not depend on the state, ")


def displacement():
    """E|theta_k - theta_0|^2 <= 2 lambda^2 k (S + sigma^2)."""
    p = ft.Proof("eta N", "k sigma2 S Q rest d Ed Eu Ev Es es Q1", "", "u v")
    eta, N, k, sigma2, S, Q, u, v = p("eta N k sigma2 S Q u v")
    lam = eta / N
    where = p.define("after k steps", p("d") - (lam * (u + v)).square,
                     "theta_k - theta_0 = -lambda (u + v), u the sum of the noise, v of the gradients")
    apart = p.square("noise and gradients apart", u - v)
    path = p.follows("displacement", 2 * lam**2 * (u.square + v.square) - p("d"), (-1, where), (lam**2, apart))
    mean = p.expect("displacement in the mean", path, {"d": "Ed", "u_u": "Eu", "v_v": "Ev"})
    one = p.given("variance", sigma2 - p("es"), "es = E|e|^2 of one mini-batch: Assumption 3")
    summed = p.total("variances", one, {"es": "Es"}, k, "sigma2", over="local steps")
    cross = p.standard("noise of the run", p("Es") - p("Eu"), "variance of a sum", "martingale differences along the run")
    jensen = p.standard("sum of the gradients", k * p("Q1") - v.square, "Cauchy-Schwarz", "k terms")
    gradients = p.expect("sum of the gradients in the mean", jensen, {"Q1": "Q", "v_v": "Ev"}, fixed="k")
    share = p.define("gradients of the first k steps", S - Q - p("rest"), "S sums E|g|^2 over all K steps")
    return p.conclude(p.follows("displacement after k steps", 2 * lam**2 * k * (S + sigma2) - p("Ed"), mean,
                                (2 * lam**2, cross), (2 * lam**2, summed), (2 * lam**2, gradients), (2 * lam**2 * k, share)))


def personal_steps():
    """Step 1 of one client: its descent by S, |theta' - theta|^2 by S, and K |g_0|^2 by S; t = gamma lambda K <= 1/2."""
    p = ft.Proof("gamma eta N K", "k sigma2 S Sk Eg Ee Ed EdK SD SDk Gk dk g2 GK", "F0 Fk Fk1 EFk EFk1 F1 Ege", "g e g0 c")
    gamma, eta, N, K, k, sigma2, S, Sk, EdK, SDk = p("gamma eta N K k sigma2 S Sk EdK SDk")
    (g, e, g0, c), lam = p("g e g0 c"), eta / N
    t = gamma * lam * K
    smooth = p.standard("one step", p("Fk") - lam * g.dot(g + e) + gamma / 2 * lam**2 * (g + e).square - p("Fk1"), "descent lemma",
                        "theta_{k+1} = theta_k - lambda (g + e)")
    mean = p.expect("one step in the mean", smooth, {"Fk": "EFk", "Fk1": "EFk1", "g_g": "Eg", "e_g": "Ege", "e_e": "Ee"})
    unbiased = p.given("unbiased noise", p("Ege"), "E<g, e> = 0: e has mean 0 given theta_k", equality=True)
    variance = p.given("variance of one step", sigma2 - p("Ee"), "Assumption 3")
    gain = lam * (1 - gamma * lam / 2)
    step = p.follows("descent of one step", p("EFk") - p("EFk1") - gain * p("Eg") + gamma * lam**2 / 2 * sigma2, mean,
                     (lam - gamma * lam**2, unbiased), (gamma * lam**2 / 2, variance))
    held = p.suppose("after k steps", p("F0") - p("EFk") - gain * Sk + k * gamma * lam**2 / 2 * sigma2,
                     "Sk sums E|g|^2 over the first k steps")
    then = p.follows("after k + 1 steps", p("F0") - p("EFk1") - gain * (Sk + p("Eg")) + (k + 1) * gamma * lam**2 / 2 * sigma2,
                     held, step)
    descent = p.induct("descent of Step 1", held, then, {"k": 0, "EFk": "F0", "Sk": 0},
                       {"k": k + 1, "EFk": "EFk1", "Sk": Sk + p("Eg")},
                       {"k": K, "EFk": "F1", "Sk": "S"})
    near = p.lemma("displacement", displacement())
    far = p.lemma("displacement of Step 1", displacement(), k=K, Ed=EdK)
    now = p.suppose("displacements before k", lam**2 * k**2 * (S + sigma2) - SDk, "SDk sums E|theta_j - theta_0|^2 over j < k")
    more = p.follows("displacements before k + 1", lam**2 * (k + 1) ** 2 * (S + sigma2) - SDk - p("Ed"), now, near)
    drift = p.induct("displacements of Step 1", now, more, {"k": 0, "SDk": 0}, {"k": k + 1, "SDk": SDk + p("Ed")},
                     {"k": K, "SDk": "SD"})
    lipschitz = p.given("Lipschitz gradient", gamma**2 * p("dk") - c.square,
                        "c = grad_theta L_i(w, theta_k) - grad_theta L_i(w, theta_0), dk = |theta_k - theta_0|^2")
    there = p.define("gradient at theta_k", p("Gk") - (g0 + c).square, "g0 = grad_theta L_i(w, theta_0), Gk = |g0 + c|^2")
    young = p.square("change of the gradient", g0 + 2 * c)
    back = p.follows("gradient at the start", 2 * p("Gk") + 2 * gamma**2 * p("dk") - g0.square, (2, there), young, (2, lipschitz))
    back = p.expect("gradient at the start in the mean", back, {"Gk": "g2", "dk": "Ed"}, fixed="g0_g0")
    summed = p.total("gradient at the start, K times", back, {"g2": "S", "Ed": "SD"}, K, "g0_g0", over="local steps")
    start = p.follows("start against the run", (2 + 2 * t**2) * S + 2 * t**2 * sigma2 - K * g0.square, summed,
                      (2 * gamma**2, drift))
    return p.conclude(descent, far, start)


def server_step(p, x, variance="sigma2"):
    """E F(w, theta') - E F(w', theta') >= eta K/2 (2 - x) E|q|^2 - gamma eta^2 sigma^2 K/(2N), eq (6) with x = eta gamma K.
    variance: what bounds that of the gradient in w."""
    gamma, eta, N, K, sigma2 = p(f"gamma eta N K {variance}")
    q, z, s = p("q"), p("z"), eta * K
    smooth = p.standard("Step 2", p("H") - s * q.dot(q + z) + gamma / 2 * s**2 * (q + z).square - p("H1"), "descent lemma",
                        "w' = w - eta K (q + z) at fixed theta'; H = F(w, theta'), H1 = F(w', theta')")
    mean = p.expect("Step 2 in the mean", smooth, {"H": "EH", "H1": "EH1", "q_q": "Eq", "q_z": "Eqz", "z_z": "Ez"})
    unbiased = p.given("unbiased large batches", p("Eqz"), "E<q, z> = 0: z has mean 0 given theta'", equality=True)
    one = p.given("variance of a large batch", sigma2 / K - p("ez"), "ez = E|z_i|^2 of the mean of K mini-batches: Assumption 3")
    summed = p.total("variances of the large batches", one, {"ez": "Sz"}, N, variance)
    cross = p.standard("noise of the round", p("Sz") / N**2 - p("Ez"), "variance of a sum",
                       "z = (1/N) sum_i z_i, independent clients")
    return p.follows("eq 6", p("EH") - p("EH1") - s * (1 - x / 2) * p("Eq") + gamma * s**2 / (2 * N * K) * sigma2, mean,
                     (s - gamma * s**2, unbiased), (gamma / 2 * s**2, cross), (gamma / 2 * s**2 / N**2, summed))


def after_step1(p):
    """E|q|^2 >= 4/15 (|P|^2 - 15/11 E|r|^2) and E|r|^2 <= gamma^2/N sum_i E|theta_i' - theta_i|^2."""
    gamma, N, (P, r) = p("gamma"), p("N"), p("P r")
    there = p.define("gradient after Step 1", p("q2") - (P + r).square, "q2 = |q|^2, q = P + r")
    young = p.square("change of the gradient of w", 11 * P + 15 * r)
    path = p.follows("gradient after Step 1 against the start", 15 * p("q2") / 4 + 15 * r.square / 11 - P.square,
                     (15 * ft.fraction("1/4"), there), (ft.fraction("1/44"), young))
    mean = p.expect("the same in the mean", path, {"q2": "Eq", "r_r": "Er"}, fixed="P_P")
    jensen = p.standard("mean change", p("sc") / N - r.square, "Jensen", "r = (1/N) sum_i c_i, sc = sum_i |c_i|^2")
    change = p.expect("mean change, in the mean", jensen, {"sc": "SC", "r_r": "Er"})
    one = p.given("Lipschitz gradient in theta", gamma**2 * p("di") - p("ci"),
                  "ci = |grad_w L_i(w, theta_i') - grad_w L_i(w, theta_i)|^2, di = |theta_i' - theta_i|^2")
    one = p.expect("the same for one client", one, {"di": "EdK", "ci": "Ec"})
    total = p.total("changes of all clients", one, {"EdK": "SE", "Ec": "SC"}, N)
    return mean, p.follows("change of the gradient in the mean", gamma**2 / N * p("SE") - p("Er"), change, (1 / N, total))


def one_round():
    """E F(x') <= F(x) - eta K/5 |grad F(x)|^2 + 3/2 gamma eta^2 sigma^2 K/N for eta <= 1/(2 gamma K)."""
    p = ft.Proof("gamma eta N K", "sigma2 S EdK SS SE SG Eq Ez ez Sz Er q2 sc SC di ci Ec GG", "F0 F1 NF NH F EH H H1 EH1 Eqz",
                 "P q r z g0")
    gamma, eta, N, K, sigma2, SS, Eq, P = p("gamma eta N K sigma2 SS Eq P")
    lam, x, part = eta / N, gamma * eta * K, ft.fraction
    cap = p.given("step", 1 - 2 * x, "eta <= 1/(2 gamma K)")
    several, steps = p.given("clients", N - 1), p.given("local steps", K - 1)
    own = personal_steps()
    named = {"F0": "NF", "F1": "NH", "S": "SS", "EdK": "SE", "g0_g0": "SG"}
    descent, far, start = (p.total(f"Step 1 of all clients: {what}", p.lemma(f"Step 1: {what}", own, k),
                                   {v: named[v] for v in use.split()},
                                   N, "sigma2")
                           for k, (what, use) in enumerate({"descent": "F0 F1 S", "displacement": "S EdK",
                                                            "gradient": "S g0_g0"}.items()))
    before = p.define("value before", p("NF") - N * p("F"), "F = (1/N) sum_i L_i(w, theta_i)")
    after = p.define("value after Step 1", p("NH") - N * p("EH"))
    server = server_step(p, x)
    apart, change = after_step1(p)
    room = p.follows("room for the gradients", part("3/5") - x / (2 * K * N) - 6 * x**2 / (11 * N) - 2 * x**2 / (5 * N**2),
                     (x / (2 * K), steps), (x / (2 * K * N), several), (6 * x**2 / (11 * N), several),
                     (2 * x**2 * (N + 1) / (5 * N**2), several), (26 * x / 55, cap), (part("107/220"), cap))
    noise = p.follows("room for the noise", 1 - 1 / (2 * N) - 6 * x / (11 * N) - 2 * x / (5 * N**2), (1 / (2 * N), several),
                      (6 * x / (11 * N), several), (2 * x * (N + 1) / (5 * N**2), several), (part("26/55"), cap))
    gradient = p.define("gradient of F", p("GG") - f.squared_gradient(P.square, p("SG"), N), "GG = |grad F(x)|^2")
    bound = p("F") - f.free_gain(eta, K) * p("GG") + f.free_noise(gamma, eta, sigma2, N, K)
    return p.conclude(p.follows(
        "eq 8 without G", bound - p("EH1"), (1 / N, descent), (-1 / N, before), (1 / N, after), server, (eta * K / 4 * Eq, cap),
        (-eta * K / 5, gradient), (eta * K / 5, apart), (3 * eta * K / 11, change), (3 * eta * K * gamma**2 / (11 * N), far),
        (lam / (5 * N), start),
        (lam / N * SS, room), (gamma * eta**2 * K * sigma2 / N, noise)))


# ---- quadratics ------------------------------------------------------------------------------------------------
def steps_taken():
    """S <= m for S_0 = 0, S_{k+1} = 1 + (1 - x) S_k, 0 <= x <= 1: m steps move theta by -lambda S g along a direction, x =
    lambda c."""
    p = ft.Proof("", "k x m S Sk")
    k, x, Sk = p("k x Sk")
    unit = p.given("lambda c below 1", 1 - x)
    held = p.suppose("after k steps", k - Sk, "one step adds g - lambda c S g to S g")
    then = p.follows("after k + 1 steps", k + 1 - (1 + (1 - x) * Sk), held, says="x S >= 0")
    sign = p.follows("S stays positive", 1 + (1 - x) * Sk, (unit, Sk))
    return p.conclude(p.induct("after m steps", held, then, {"k": 0, "Sk": 0}, {"k": k + 1, "Sk": 1 + (1 - x) * Sk},
                               {"k": "m", "Sk": "S"}, keeps={"Sk": sign}))


def least_steps(p, K, x):
    """S >= K - K^2 x/2."""
    k, Sk = p("k Sk")
    most = p.lemma("at most k", steps_taken(), m=k, S=Sk, x=x)
    sign = p.follows("S stays positive", 1 + (1 - x) * Sk, (p.facts["lambda c below 1"], Sk))
    held = p.suppose("at least, after k steps", Sk - k + k**2 * x / 2)
    then = p.follows("at least, after k + 1 steps", 1 + (1 - x) * Sk - (k + 1) + (k + 1) ** 2 * x / 2, held, (x, most))
    return p.induct("at least, after K steps", held, then, {"k": 0, "Sk": 0}, {"k": k + 1, "Sk": 1 + (1 - x) * Sk},
                    {"k": K, "Sk": "S"}, keeps={"Sk": sign})


def noise_of_steps(p, lam, x):
    """E|xi|^2 <= lambda^2 E: xi the noise of theta' along a direction, E the sum of E|e|^2 over the K steps."""
    Xk, Ek, Ee, unit, (a, e) = *p("Xk Ek Ee"), p.facts["lambda c below 1"], p("a e")
    move = p.define("noise of one step", p("a2") - ((1 - x) * a - lam * e).square,
                    "a the noise of theta_k, a2 = |a'|^2, a' = (1 - lambda c) a - lambda e")
    mean = p.expect("noise of one step in the mean", move, {"a2": "Xk1", "a_a": "Xk", "a_e": "Eae", "e_e": "Ee"}, fixed="c")
    past = p.given("martingale differences", p("Eae"), "E<a, e> = 0: e has mean 0 given the past", equality=True)
    held = p.suppose("noise after k steps", lam**2 * Ek - Xk, "Ek sums E|e|^2 over the first k steps")
    then = p.follows("noise after k + 1 steps", lam**2 * (Ek + Ee) - p("Xk1"), held, (-1, mean), (2 * lam * (1 - x), past),
                     (x * Xk, unit))
    return p.induct("noise after K steps", held, then, {"Ek": 0, "Xk": 0}, {"Ek": Ek + Ee, "Xk": "Xk1"}, {"Ek": "E", "Xk": "X"})


def direction():
    """One eigen-direction of C_i, curvature c: what Step 1 gains, less what it costs Step 2, is at least lambda K/4 |g|^2."""
    p = ft.Proof("gamma eta N K", "k c S Sk E Ek Ee X Xk Xk1 a2 v2 cv2", "Exi drop Edrop Eae", "g xi a e")
    gamma, eta, N, K, c, S, (g, xi) = *p("gamma eta N K c S"), p("g xi")
    lam, u, v, x, half = eta / N, eta * gamma * K, eta * c * K / N, eta * c / N, ft.fraction("1/2")
    cap, several, steps = p.given("step", 1 - u, "eta <= 1/(gamma K)"), p.given("clients", N - 1), p.given("local steps", K - 1)
    curved = p.given("curvature", gamma - c, "Assumption 1; c >= 0: convex")
    below = p.follows("v below 1", 1 - v, cap, (u / N, several), (lam * K, curved), says="v = lambda c K")
    p.follows("lambda c below 1", 1 - x, below, (x, steps))
    least, most, spread = least_steps(p, K, x), p.lemma("at most K", steps_taken(), m=K, x=x), noise_of_steps(p, lam, x)
    m = x / 2 + eta * K * lam * (gamma**2 - c**2) / 2
    sign = p.follows("m", m, (eta * K * lam * (gamma + c) / 2, curved), says="m = lambda c/2 + eta K lambda (gamma^2 - c^2)/2")
    size = p.follows("size of m", (1 + v - v**2) / 2 - m * K, ((1 + u) / 2, cap), (u**2 / (2 * N), several), (v**2 / 2, several))
    small = p.follows("m K below 1", 1 - m * K, size, (half, below))
    gain = p.follows("S - m S^2 is at least K/4", S - m * S**2 - K / 4, (sign, most, S), (small, least), (K / 2, size),
                     (K / 2, below, size), (K / 4, below, below, below))
    move = lam * S * g - xi
    value = p.define("value along the direction", p("drop") - g.dot(move) + c / 2 * move.square, "theta' = theta - lambda S g + xi")
    mean = p.expect("value in the mean", value, {"drop": "Edrop", "g_xi": "Exi", "xi_xi": "X"}, fixed="g_g S c")
    zero = p.given("mean of the noise", p("Exi"), "E<g, xi> = 0", equality=True)
    shift = p.define("mean move", p("v2") - lam**2 * S**2 * g.square, "v2 = |lambda S g|^2")
    bent = p.define("mean move, curved", p("cv2") - c**2 * p("v2"))
    cost = eta * K / 2 * (gamma**2 * p("v2") - p("cv2"))
    return p.conclude(p.follows(
        "one direction", p("Edrop") - cost - lam * K / 4 * g.square + gamma * lam**2 / 2 * p("E"), mean, (lam * g.square, gain),
        (c * lam * S - 1, zero), (-eta * K / 2 * (gamma**2 - c**2), shift), (eta * K / 2, bent), (c / 2, spread),
        (lam**2 / 2 * p("E"), curved)))


def personal_quadratic(p):
    """Sum over clients of what Step 1 gains, less what it costs Step 2; st bounds the variance of the noise of theta."""
    gamma, eta, N, K, st = p("gamma eta N K st")
    p.define("mean move, curved", p("cv2") - p("c") ** 2 * p("v2"))
    own = p.total("one client", p.lemma("one direction", direction()),
                  {"Edrop": "Drop", "v2": "DV", "cv2": "DC", "g_g": "DG", "E": "DE"}, 1, over="eigen-directions of C_i")
    one = p.given("variance of one step", st - p("e2"), "e2 = E|e|^2 of one step: Assumption 3")
    noise = p.total("variance of Step 1", one, {"e2": "EV"}, K, "st", over="local steps")
    order = p.define("order of summation", p("DE") - p("EV"), "over directions and steps")
    cross = p.given("Assumption 1 on quadratics", gamma**2 * p("DV") - p("DC") - p("bb"),
                    "|B v|^2 + |C v|^2 <= gamma^2 |v|^2, v the mean move of theta in Step 1; bb = |B v|^2")
    client = p.follows("one client, bounded", p("Drop") - eta * K / 2 * p("bb") - eta * K / (4 * N) * p("DG")
                       + gamma * eta**2 * K / (2 * N**2) * st, own, (eta * K / 2, cross), (gamma * eta**2 / (2 * N**2), noise),
                       (-gamma * eta**2 / (2 * N**2), order))
    return p.total("Step 1 of all clients", client, {"Drop": "ND", "bb": "NB", "DG": "NG"}, N, "st")


def quadratic_round(depends=False):
    """E F(x') <= F(x) - eta K/4 |grad F(x)|^2 + gamma eta^2 sigma^2 K/(2N) for eta <= 1/(gamma K), times 1 + 1/N where the noise
    depends on the state; st, sw bound the variances of the blocks. P = m + b: b = (1/N) sum_i B_i v_i, theta_i' = theta_i - v_i
    + noise."""
    p = ft.Proof("gamma eta N K", "c E v2 cv2 DE DV DC DG e2 EV bb NB NG Eq Ez ez Sz q2 st sw sigma2 Ey GG",
                 "Edrop Drop ND F EH H H1 EH1 Eqz Emy", "g m b y q z")
    gamma, eta, N, K, sigma2, st, sw, Eq, (m, b, y) = *p("gamma eta N K sigma2 st sw Eq"), p("m b y")
    u, P = eta * gamma * K, m + b
    cap, several = p.given("step", 1 - u, "eta <= 1/(gamma K)"), p.given("clients", N - 1)
    p.given("local steps", K - 1)
    p.given("curvature", gamma - p("c"), "Assumption 1; c >= 0: convex")
    total = personal_quadratic(p)
    value = p.define("value after Step 1", p("ND") - N * (p("F") - p("EH")), "F = (1/N) sum_i L_i")
    there = p.define("gradient after Step 1", p("q2") - (m + y).square, "q = m + y, y the noise that Step 1 leaves in it")
    mean = p.expect("gradient after Step 1, in the mean", there, {"q2": "Eq", "m_y": "Emy", "y_y": "Ey"}, fixed="m_m")
    zero = p.given("mean of the noise of Step 1", p("Emy"), "E y = 0", equality=True)
    young = p.square("mean gradient after Step 1 against the start", m - b)
    jensen = p.standard("mean move", p("NB") / N - b.square, "Jensen", "NB = sum_i |B_i v_i|^2")
    server = server_step(p, u, "sw")
    if depends:
        blocks = [p.given(f"variance bounded by {name}", sigma2 - p(name), "Assumption 3") for name in ("st", "sw")]
        noise = [(gamma * eta**2 * K / (2 * N**2), blocks[0]), (gamma * eta**2 * K / (2 * N), blocks[1])]
    else:
        both = p.given("variance of both blocks", sigma2 - st - sw, "Assumption 3, the same noise at every state")
        noise = [(gamma * eta**2 * K / (2 * N), both), (gamma * eta**2 * K / (2 * N**2) * st, several)]
    gradient = p.define("gradient of F", p("GG") - f.squared_gradient(P.square, p("NG"), N), "GG = |grad F(x)|^2")
    bound, s = p("F") - f.eq8_gain(eta, K) * p("GG") + f.quadratic_noise(gamma, eta, sigma2, N, K, depends), eta * K
    return p.conclude(p.follows(
        "eq 8 on quadratics", bound - p("EH1"), (1 / N, total), (-1 / N, value), server, (-s / 4, gradient), (s / 2 * Eq, cap),
        (s / 2, mean),
        (s, zero), (s / 4, young), (s / 2, jensen), *noise))
