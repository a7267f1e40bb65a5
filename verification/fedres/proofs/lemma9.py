"""Pencil proofs of Lemma 9: how far the local runs of FedResAvg with Option II drift, and a crude bound for either option.

For every number of clients and local steps and every dimension; smooth clients, convex or not, with gradients at most G; control
variates of mean c that are means of K gradients of the last round, or of norm at most G at the very start.

Symbols: D = |w_i^[k] - w|^2 after k <= K local steps of client i; g2 = |grad_w F|^2 at the state before round r - 1. Distances
between the arguments of two gradients of rounds r and r - 1: a1 = |w_i^{r,[h]} - w^r|, a2 = |w^r - w^{r-1}|, a3 = |w^{r-1} -
w_i^{r-1,[h']}|, a4 = |theta_i^r' - theta_i^{r-1}'|; a5 = |theta_i^{r-1}' - theta_i^{r-1}|, or 0 in the reading
of the paper's proof, where g2 is after Step 1. A1 to A5: their squares.
q2, z2: squared changes of a gradient; t2, v2: of their means.
"""
import math

import fltheory as ft
from verification.fedres.formulas import appendix_d as d
from verification.fedres.proofs import lemma8

STEPS, PAIRS = "local steps", "pairs of local steps"
QUIET = ("every number of smooth clients, convex or not, in every dimension; every K, lambda, eta and alpha <= N; rounds r >= 2 of "
         "Option II from control variates of mean c and norm at most G; both readings of theta; no noise")
DOMAIN = QUIET.replace("every K, lambda, eta and alpha <= N",
                       "every K, lambda <= eta <= 1/(96 gamma alpha K), 1 <= alpha <= N").replace(
    "no noise", "noise with mean 0 given the past, variance at most sigma^2, common to the clients or not")


def length():
    """|w_i^[k] - w| <= 3 eta K G in every round without noise."""
    p = ft.Proof("eta K k", "G ng nci nc s S a1")
    eta, K, k, G = p("eta K k G")
    inside = p.given("local steps so far", K - k, "k <= K")
    parts = [p.given(name, G - p(symbol), says) for name, symbol, says in (
        ("gradients", "ng", "ng = |grad_w L_i(w_i^[h], theta_i')|: Assumption 2"),
        ("own variate", "nci", "nci = |c_i|: a mean of gradients of the last round, or at most G at the start"),
        ("mean variate", "nc", "nc = |c|, c the mean of the c_i"))]
    one = p.standard("one local step", eta * (p("ng") + p("nci") + p("nc")) - p("s"), "triangle inequality",
                     "s = |w_i^[h+1] - w_i^[h]|")
    short = p.follows("length of a local step", 3 * eta * G - p("s"), one, *((eta, part) for part in parts))
    every = p.total("local path", short, {"s": "S"}, k, "G", over=STEPS)
    path = p.standard("distance", p("S") - p("a1"), "triangle inequality", "a1 = |w_i^[k] - w|")
    return p.conclude(p.follows("local run", 3 * eta * K * G - p("a1"), path, every, (3 * eta * G, inside)))


def move(rate, moved, says):
    """`moved` <= rate K G after K gradients of norm at most G, each taken times the product `rate` of symbols."""
    p = ft.Proof("alpha eta K", f"lam G ng S {moved}")
    r, K, G = math.prod(p(n) for n in rate.split()), p("K"), p("G")
    one = p.given("gradients", G - p("ng"), "ng = |gradient|: Assumption 2")
    every = p.total("all gradients", one, {"ng": "S"}, K, "G", over=STEPS)
    path = p.standard("distance", r * p("S") - p(moved), "triangle inequality", says)
    return p.conclude(p.follows("move", r * K * G - p(moved), path, (r, every)))


def quiet():
    """Lemma 9 without noise, constants 192 and 6, both readings."""
    p = ft.Proof("gamma alpha eta K N k", "lam G a1 a2 a3 a4 a5 f rho q2 Sq2 t2 far z2 Sz2 v2 D g2")
    gamma, alpha, eta, K, N, k, lam, G, t2, v2, D, g2 = p("gamma alpha eta K N k lam G t2 v2 D g2")
    inside = p.given("local steps so far", K - k, "k <= K")
    one, few = p.given("clients", N - 1), p.given("server step", N - alpha, "alpha <= N")
    run, last = p.lemma("local run", length()), p.lemma("local run of the last round", length(), a1=p("a3"), k=K)
    server = p.lemma("server's move", move("alpha eta", "a2", "w^r - w^{r-1} = -alpha eta sum_k (mean gradient of step k)"))
    step1 = p.lemma("Step 1 of this round", move("lam", "a4", "theta_i^r' - theta_i^{r-1}' = -lambda sum_k grad_theta L_i"))
    before = p.lemma("Step 1 of the last round", move("lam", "a5", "theta_i^{r-1}' - theta_i^{r-1}, or 0"))
    B, B5 = gamma * ((6 + alpha) * eta + lam) * K * G, gamma * (3 * eta + lam) * K * G
    way = p.standard("between the iterates", p("a1") + p("a2") + p("a3") - p("f"), "triangle inequality",
                     "f = |w_i^{r,[h]} - w_i^{r-1,[h']}|")
    smooth = p.given("smooth", gamma * (p("f") + p("a4")) - p("rho"),
                     "rho^2 = q2, the change between rounds r - 1 and r: Assumption 1")
    change = p.follows("change of a gradient", B - p("rho"), smooth, (gamma, way), (gamma, run), (gamma, last), (gamma, server),
                       (gamma, step1))
    squared = p.follows("its square", B**2 - p("q2"), (B + p("rho"), change), (-1, p.define("size", p("q2") - p("rho") ** 2)))
    pairs = p.total("all pairs", squared, {"q2": "Sq2"}, k * K, "lam G", over=PAIRS)
    mean = p.standard("mean change", p("Sq2") / (k * K) - t2, "Jensen", "t2 = |mean of the gradients so far - c_i|^2")
    near = p.given("smooth, last round", gamma * (p("a3") + p("a5")) - p("far"),
                   "far^2 = z2, the change within round r - 1: Assumption 1")
    change5 = p.follows("change within the last round", B5 - p("far"), near, (gamma, last), (gamma, before))
    squared5 = p.follows("the square of that", B5**2 - p("z2"), (B5 + p("far"), change5),
                         (-1, p.define("its size", p("z2") - p("far") ** 2)))
    all5 = p.total("all clients and steps", squared5, {"z2": "Sz2"}, N * K, "lam G", over="clients and local steps")
    mean5 = p.standard("mean change of c", p("Sz2") / (N * K) - v2, "Jensen", "v2 = |c - grad_w F|^2 of round r - 1")
    split = p.standard("three parts", 3 * eta**2 * k**2 * (t2 + v2 + g2) - D, "Cauchy-Schwarz",
                       "w_i^[k] - w = -eta k ((mean gradient - c_i) + (c - grad_w F) + grad_w F)")
    s = 3 * eta**2 * k**2
    part = p.follows("drift by parts", s * (B**2 + B5**2 + g2) - D, split, (s, mean), (s / (k * K), pairs), (s, mean5),
                     (s / (N * K), all5))
    wide = p.follows("widest move", N * (7 * eta + lam) - (6 + alpha) * eta - lam, (6 * eta + lam, one), (eta, few))
    c = 3 * eta**2 * K**4 * gamma**2 * G**2
    bound = sum(d.lem9(gamma, eta, lam, 0, G**2, N, K, g2).values())
    return p.conclude(p.follows("Lemma 9 without noise", bound - D, part, (3 * eta**2 * (K + k) * (B**2 + B5**2 + g2), inside),
                                (c * (N * (7 * eta + lam) + (6 + alpha) * eta + lam), wide),
                                (c * (3 * eta + lam) ** 2 * (N + 1), one)))


def noise_of(p, total, count, each, says):
    """E|sum of `count` noises|^2 <= count sigma^2."""
    one = p.given(f"variance of {each}", p("sigma2") - p(each), f"{each} = E|noise of a gradient|^2: Assumption 3")
    summed = p.total(f"sum of {each}", one, {each: f"S{each}"}, count, "sigma2", over=STEPS)
    apart = p.standard(f"noise {total}", p(f"S{each}") - p(total), "variance of a sum", f"martingale differences: {says}")
    return p.follows(f"noise {total}, bounded", count * p("sigma2") - p(total), apart, summed)


def noises():
    """E|n|^2 <= K sigma^2 of a run, sigma^2/K of c_i, and of c."""
    p = ft.Proof("K k N", "sigma2 En2 EN2 Eb2 SEb EB2 es Ses eb Seb")
    K, k, N, sigma2 = p("K k N sigma2")
    run = noise_of(p, "En2", k, "es", "along the run, n2 = |n|^2")
    old = noise_of(p, "EN2", K, "eb", "along the last round; K b_i is their sum")
    scaled = p.define("noise of c_i", p("EN2") / K**2 - p("Eb2"), "b_i: the mean of K noises of the last round")
    own = p.follows("noise of c_i, bounded", sigma2 / K - p("Eb2"), scaled, (1 / K**2, old))
    all_ = p.total("noise of all variates", own, {"Eb2": "SEb"}, N, "sigma2")
    common = p.standard("noise of c", p("SEb") / N - p("EB2"), "Jensen", "B2 = |(1/N) sum_i b_i|^2")
    return p.conclude(run, own, p.follows("noise of c, bounded", sigma2 / K - p("EB2"), common, (1 / N, all_)))


def drift():
    """E|w_i^[k] - w|^2 <= 18 eta^2 (K^2 G^2 + K sigma^2) in every round, either option."""
    p = ft.Proof("eta K k N", "sigma2 G2 gg Sgg s2 c2 Sa M2 n2 b2 B2 D En2 Eb2 EB2 ED")
    eta, K, k, N, sigma2, G2 = p("eta K k N sigma2 G2")
    s = 6 * eta**2
    inside = p.given("local steps so far", K - k, "k <= K")
    one = p.given("gradients", G2 - p("gg"), "gg = |grad_w L_i(w_i^[h], theta_i')|^2: Assumption 2")
    every = p.total("gradients so far", one, {"gg": "Sgg"}, k, "G2", over=STEPS)
    length = p.standard("their sum", k * p("Sgg") - p("s2"), "Cauchy-Schwarz", "s2 = |sum_h grad_w L_i(w_i^[h], theta_i')|^2")
    own = p.given("own variate", G2 - p("c2"), "c_i = a_i + b_i, |a_i|^2 = c2: a mean of gradients, or at most G at the start")
    mean = p.standard("mean variate", p("Sa") / N - p("M2"), "Jensen", "M2 = |(1/N) sum_i a_i|^2")
    split = p.standard("six parts", s * (p("s2") + p("n2") + k**2 * (p("c2") + p("M2") + p("b2") + p("B2"))) - p("D"),
                       "Cauchy-Schwarz",
                       "w_i^[k] - w = -eta (sum of gradients + n - k a_i - k b_i + k mean of a_j + k mean of b_j), n2 = |n|^2")
    path = p.follows("drift, surely", s * (3 * k**2 * G2 + p("n2") + k**2 * (p("b2") + p("B2"))) - p("D"), split, (s, length),
                     (s * k, every),
                     (s * k**2, own), (s * k**2, mean), (s * k**2 / N, p.total("all variates", own, {"c2": "Sa"}, N, "G2")))
    average = p.expect("drift in the mean", path, {"n2": "En2", "b2": "Eb2", "B2": "EB2", "D": "ED"}, fixed="G2")
    noise, quietly, common = (p.lemma(name, noises(), at) for at, name in enumerate(("noise", "noise of c_i", "noise of c")))
    more = 3 * G2 * (K + k) + sigma2 + 2 * sigma2 * (K + k) / K
    return p.conclude(p.follows("crude drift", sum(d.crude_drift(eta, sigma2, G2, K).values()) - p("ED"), average, (s, noise),
                                (s * k**2, quietly), (s * k**2, common), (s * more, inside)))


def server():
    """E|w^r - w^{r-1}|^2 <= 2 alpha^2 eta^2 (K^2 G^2 + K sigma^2)."""
    p = ft.Proof("alpha eta K N", "sigma2 G2 A2 EA2 m2 x2 Ex2 n2 Sn EN es Ses gg Sgg")
    alpha, eta, K, N, sigma2, G2 = p("alpha eta K N sigma2 G2")
    s = 2 * alpha**2 * eta**2
    one = p.given("gradients", G2 - p("gg"), "Assumption 2")
    every = p.total("all gradients", one, {"gg": "Sgg"}, N * K, "G2", over="clients and local steps")
    mean = p.standard("mean gradient", p("Sgg") / (N * K) - p("m2"), "Jensen", "m2 = |mean of all gradients of round r - 1|^2")
    split = p.standard("gradients and noise", s * K**2 * p("m2") + s * p("x2") - p("A2"), "Cauchy-Schwarz",
                       "w^r - w^{r-1} = -alpha eta (K mean gradient + mean over clients of the noise of their runs)")
    path = p.follows("server's move, surely", s * K**2 * G2 + s * p("x2") - p("A2"), split, (s * K**2, mean), (s * K / N, every))
    average = p.expect("server's move in the mean", path, {"A2": "EA2", "x2": "Ex2"}, fixed="G2")
    noise = noise_of(p, "n2", K, "es", "along the run of a client, n2 = E|its sum|^2")
    clients = p.total("noise of all runs", noise, {"n2": "Sn"}, N, "sigma2")
    common = p.standard("averaged noise", p("Sn") / N - p("Ex2"), "Jensen", "x2 = |mean over clients of the noise of their runs|^2")
    return p.conclude(p.follows("server's move", s * (K**2 * G2 + K * sigma2) - p("EA2"), average, (s, common), (s / N, clients)))


def noisy():
    """Lemma 9 with noise, constants 19, 1128 and 6, both readings."""
    p = ft.Proof("gamma alpha eta K N k", "lam sigma2 G2 a1 a2 a3 a4 a5 A1 A2 A3 A4 A5 f rho q2 far z2 D n2 b2 B2 t2 v2 g2 "
                 "EA1 EA2 EA3 EA4 EA5 Eq2 Ez2 ED En2 Eb2 EB2 Et2 Ev2 Eg2 SEq SEz")
    gamma, alpha, eta, K, N, k, lam, sigma2, G2, g2 = p("gamma alpha eta K N k lam sigma2 G2 Eg2")
    inside = p.given("local steps so far", K - k, "k <= K")
    one, few = p.given("clients", N - 1), p.given("server step", N - alpha, "alpha <= N")
    wide = p.given("no small alpha", alpha - 1)
    cap = p.given("cap", 1 - 96 * gamma * alpha * eta * K, "eta <= 1/(96 gamma alpha K)")
    short = p.given("personal step", eta - lam, "lambda <= eta")
    C, S = sum(d.crude_drift(eta, sigma2, G2, K).values()), 2 * (K**2 * G2 + K * sigma2)
    run, last = p.lemma("local run", drift(), ED=p("EA1")), p.lemma("local run of the last round", drift(), ED=p("EA3"), k=K)
    moved, step1 = p.lemma("server's move", server()), p.lemma("Step 1 of this round", lemma8.moves(), Ee=p("EA4"), k=K)
    before = p.lemma("Step 1 of the last round", lemma8.moves(), Ee=p("EA5"), k=K)
    sizes = [p.define(f"square of {v}", p(v.upper()) - p(v) ** 2) for v in ("a1", "a2", "a3", "a4", "a5")]
    way = p.standard("between the iterates", p("a1") + p("a2") + p("a3") - p("f"), "triangle inequality",
                     "f = |w_i^{r,[h]} - w_i^{r-1,[h']}|")
    smooth = p.given("smooth", gamma * (p("f") + p("a4")) - p("rho"),
                     "rho^2 = q2, the change between rounds r - 1 and r: Assumption 1")
    long = p.follows("change of a gradient", gamma * sum(p("a1 a2 a3 a4")) - p("rho"), smooth, (gamma, way))
    whole = gamma * sum(p("a1 a2 a3 a4"))
    four = p.standard("four parts", 4 * sum(v**2 for v in p("a1 a2 a3 a4")) - sum(p("a1 a2 a3 a4")) ** 2, "Cauchy-Schwarz")
    squared = p.follows("its square", 4 * gamma**2 * sum(p("A1 A2 A3 A4")) - p("q2"), (whole + p("rho"), long), (gamma**2, four),
                        (-1, p.define("size", p("q2") - p("rho") ** 2)), *((4 * gamma**2, v) for v in sizes[:4]))
    mean = p.expect("change in the mean", squared, {"q2": "Eq2", "A1": "EA1", "A2": "EA2", "A3": "EA3", "A4": "EA4"})
    bounded = p.follows("change, bounded", 4 * gamma**2 * (2 * C + (alpha**2 * eta**2 + lam**2) * S) - p("Eq2"), mean,
                        *((4 * gamma**2, v) for v in (run, last, moved, step1)))
    pairs = p.total("all pairs", bounded, {"Eq2": "SEq"}, k * K, "lam sigma2 G2", over=PAIRS)
    jensen = p.standard("mean change", p("SEq") / (k * K) - p("Et2"), "Jensen",
                        "t2 = |mean of the gradients so far - a_i|^2, c_i = a_i + b_i")
    near = p.given("smooth, last round", gamma * (p("a3") + p("a5")) - p("far"),
                   "far^2 = z2, the change within round r - 1: Assumption 1")
    two = p.square("two parts", p("a3") - p("a5"))
    squared5 = p.follows("the square of that", 2 * gamma**2 * (p("A3") + p("A5")) - p("z2"),
                         (gamma * (p("a3") + p("a5")) + p("far"), near),
                         (gamma**2, two), (-1, p.define("its size", p("z2") - p("far") ** 2)), (2 * gamma**2, sizes[2]),
                         (2 * gamma**2, sizes[4]))
    mean5 = p.expect("that in the mean", squared5, {"z2": "Ez2", "A3": "EA3", "A5": "EA5"})
    bounded5 = p.follows("that, bounded", 2 * gamma**2 * (C + lam**2 * S) - p("Ez2"), mean5, (2 * gamma**2, last),
                         (2 * gamma**2, before))
    all5 = p.total("all clients and steps", bounded5, {"Ez2": "SEz"}, N * K, "lam sigma2 G2", over="clients and local steps")
    jensen5 = p.standard("mean change of c", p("SEz") / (N * K) - p("Ev2"), "Jensen",
                         "v2 = |mean of the a_j - grad_w F|^2 of round r - 1")
    s = 6 * eta**2
    split = p.standard("six parts", s * (p("n2") + k**2 * (p("b2") + p("B2") + p("t2") + p("v2") + p("g2"))) - p("D"),
                       "Cauchy-Schwarz",
                       "as in the paper's proof: three noises, t, v and grad_w F of round r - 1")
    average = p.expect("parts in the mean", split, {"n2": "En2", "b2": "Eb2", "B2": "EB2", "t2": "Et2", "v2": "Ev2",
                                                    "g2": "Eg2", "D": "ED"})
    noise, old, common = p.lemma("noise", noises()), p.lemma("noise of c_i", noises(), 1), p.lemma("noise of c", noises(), 2)
    Qt, Qv = 4 * gamma**2 * (2 * C + (alpha**2 * eta**2 + lam**2) * S), 2 * gamma**2 * (C + lam**2 * S)
    rest = s * (K + k) * (2 * sigma2 / K + Qt + Qv + g2)
    part = p.follows("drift by parts", s * (3 * K * sigma2 + K**2 * (Qt + Qv + g2)) - p("ED"), average, (s, noise), (s * k**2, old),
                     (s * k**2, common), (s * k**2, jensen), (s * k / K, pairs), (s * k**2, jensen5),
                     (s * k**2 / (N * K), all5), (rest, inside),
                     (s * sigma2, inside))
    bound = sum(d.lem9(gamma, eta, lam, sigma2, G2, N, K, g2, 19, 1128).values())
    v, u, lead = 6 * gamma**2 * eta**2 * K**4 * G2, gamma * eta * K, 6 * gamma**2 * eta**2 * K**3 * sigma2
    return p.conclude(p.follows("Lemma 9", bound - p("ED"), part, (8 * v * eta**2 * (N + alpha), few),
                                (v * (180 * eta**2 + 12 * lam**2) * (N + 1), one), (12 * lead * (eta + lam), short),
                                (192 * lead * eta**2 * (alpha + 1), wide),
                                (ft.fraction("25/192") * eta**2 * K * sigma2 * (1 + 96 * u * alpha), cap)))


def warm():
    """Round 1 without noise from c_i = grad_w L_i(w^1, theta_i^1): the bound of Lemma 9 with g2 at that state."""
    p = ft.Proof("gamma eta K N k", "lam G a1 a4 rho q2 Sq2 t2 D g2")
    gamma, eta, K, N, k, lam, G, t2, D, g2 = p("gamma eta K N k lam G t2 D g2")
    inside, one = p.given("local steps so far", K - k, "k <= K"), p.given("clients", N - 1)
    run = p.lemma("local run", length())
    step1 = p.lemma("Step 1", move("lam", "a4", "theta_i' - theta_i = -lambda sum_k grad_theta L_i"))
    B = gamma * (3 * eta + lam) * K * G
    smooth = p.given("smooth", gamma * (p("a1") + p("a4")) - p("rho"),
                     "rho^2 = q2 = |grad_w L_i(w_i^[h], theta_i') - c_i|^2: Assumption 1")
    change = p.follows("change of a gradient", B - p("rho"), smooth, (gamma, run), (gamma, step1))
    squared = p.follows("its square", B**2 - p("q2"), (B + p("rho"), change), (-1, p.define("size", p("q2") - p("rho") ** 2)))
    every = p.total("all steps", squared, {"q2": "Sq2"}, k, "lam G", over=STEPS)
    mean = p.standard("mean change", p("Sq2") / k - t2, "Jensen", "t2 = |mean of the gradients so far - c_i|^2")
    s = 2 * eta**2 * k**2
    split = p.standard("two parts", s * (t2 + g2) - D, "Cauchy-Schwarz",
                       "w_i^[k] - w = -eta k ((mean gradient - c_i) + c), c = grad_w F")
    bound = sum(d.lem9(gamma, eta, lam, 0, G**2, N, K, g2).values())
    return p.conclude(p.follows("round 1 from a warm start", bound - D, split, (s, mean), (s / k, every),
                                (2 * eta**2 * (K + k) * (B**2 + g2), inside),
                                (192 * gamma**2 * eta**2 * (eta + lam) ** 2 * G**2 * K**4 * (N + 1), one)))
