"""Pencil proofs of one round of FedResAvg with alpha = sqrt N and lambda = eta/sqrt N: Lemma 7 as corrected, (9), and a bound of
either option in every round. No convexity is used.

Symbols beside those of Lemma 8: s = sqrt N; L0, Lk, Ln the values of one L_i(w, .) at theta_i, after k and k + 1 steps of Step 1,
EL1 after all; F0, F, F1 the objective before the round, after Step 1 and after Step 2; t2 = |grad_theta L_i|^2 at the start, T2
its sum over clients, Q2 = |grad_w F|^2 at the start; Eg2 the same before the last round.
E of a number of the start: the mean over all that happened before.
"""
import fltheory as ft
from verification.fedres.formulas import appendix_d as d
from verification.fedres.proofs import lemma8, lemma9

DOMAIN = ("every number of smooth clients, convex or not, in every dimension; every K and round of either option, from control "
          "variates of mean c and norm at most G; noise with mean 0 given the past, uncorrelated across clients, variance at most "
          "sigma^2")
EQ9 = DOMAIN.replace("every K and round of either option", "every K and round r >= 2 of Option II")


def step_one():
    """Lemma 7 with K^3 and the noise along Step 1, by induction over its steps."""
    p = ft.Proof("gamma K", "k lam sigma2 G2 e Ee Enn", "L0 Lk Ln ELk ELn EL1 Egn", "g h n")
    gamma, k, lam, sigma2, G2, L0, Lk, g, h, n = p("gamma k lam sigma2 G2 L0 Lk g h n")
    cap = p.given("personal cap", 1 - lam * gamma, "lambda <= 1/gamma")
    smooth = p.standard("descent in theta", Lk - lam * g.dot(g + n) + gamma / 2 * lam**2 * (g + n).square - p("Ln"),
                        "descent lemma",
                        "theta^[k+1] = theta^[k] - lambda (g + n), g = grad_theta L_i(w, theta^[k])")
    turn = p.square("gradient against the first", 2 * g - h)
    near = p.given("Lipschitz along Step 1", gamma**2 * p("e") - (g - h).square,
                   "h = grad_theta L_i(w, theta_i), e = |theta^[k] - theta_i|^2")
    noise, cross = gamma * lam**2 / 2, lam * (1 - gamma * lam)
    path = p.follows("one step, surely",
                     Lk - lam / 4 * h.square + lam / 2 * gamma**2 * p("e") - cross * g.dot(n) + noise * n.square - p("Ln"),
                     smooth, (lam / 4, turn), (lam / 2, near), (lam / 2 * g.square, cap))
    mean = p.expect("one step in the mean", path, {"Lk": "ELk", "e": "Ee", "g_n": "Egn", "n_n": "Enn", "Ln": "ELn"},
                    fixed="lam h_h")
    unbiased = p.given("unbiased noise in theta", p("Egn"), "E<g, n> = 0: g is known before its noise", equality=True)
    loud = p.given("variance of a step", sigma2 - p("Enn"), "Assumption 3")
    moved = p.lemma("moves of Step 1", lemma8.moves())
    gain = lam / 4 * h.square - gamma**2 * lam**3 * (k**2 * G2 + k * sigma2) - noise * sigma2
    one = p.follows("one step", p("ELk") - gain - p("ELn"), mean, (cross, unbiased), (noise, loud), (lam / 2 * gamma**2, moved))

    def after(k):
        return L0 - lam * k / 4 * h.square + sum(d.step_one(gamma, lam, sigma2, G2, k).values())
    held = p.suppose("after k steps", after(k) - p("ELk"))
    then = p.follows("after k + 1 steps", after(k + 1) - p("ELn"), held, one)
    return p.conclude(p.induct("Lemma 7", held, then, {"k": 0, "ELk": L0}, {"k": k + 1, "ELk": "ELn"}, {"k": p("K"), "ELk": "EL1"}))


def put(p, fact, **values):
    """The fact with symbols replaced by what the definitions of these names say that they are."""
    for name, value in values.items():
        moved = fact.expression.substitute(**{name: value})
        rule = p.facts[name]
        fact = p.follows(f"{fact.name}, {name} put in", moved, fact, ((moved - fact.expression) / rule.expression, rule))
    return fact


def one_round():
    """(proof, E F1 <= F0 - eta s K/4 |grad F|^2 + noise + gradients + what the drift of Step 2 adds, 1/N <= 1)."""
    p = ft.Proof("gamma eta K s N", "lam sigma2 G2 t2 T2 Q2 ESds EEds ED Eg2 ET2 EQ2", "L0 EL1 S0 S1 F0 EF EF1 EF0 EEF1")
    gamma, eta, K, s, N, lam, sigma2, G2 = p("gamma eta K s N lam sigma2 G2")
    clients = p.define("N", N - s**2, "s = sqrt N, alpha = sqrt N")
    p.define("lam", lam - eta / s, "lambda = eta/sqrt N")
    cap = p.given("cap", 1 - 96 * gamma * s * eta * K, "eta <= 1/(96 gamma sqrt N K)")
    many, steps = p.given("root of the clients", s - 1, "N >= 1"), p.given("steps", K - 1)
    p.follows("personal cap", 1 - lam * gamma, cap, (96 * gamma * eta * K * (s + 1) / s, many), (96 * gamma * eta / s, steps),
              (-gamma, p.facts["lam"]))
    first = p.lemma("Lemma 7", step_one(), h_h=p("t2"))
    every = p.total("Step 1 of all clients", first, {"L0": "S0", "EL1": "S1", "t2": "T2"}, N, "lam sigma2 G2")
    start, middle = p.define("objective", p("S0") - N * p("F0")), p.define("objective after Step 1", p("S1") - N * p("EF"))
    second = p.lemma("Lemma 8", lemma8.noisy(), 2, alpha=s, Q_Q=p("Q2"))
    rest = (sum(d.step_one(gamma, lam, sigma2, G2, K).values()) + gamma * eta**2 * s**2 * sigma2 * K / N
            + gamma**2 * s * eta * lam**2 * K**2 * (K * G2 + sigma2) + gamma**2 * eta * s / (2 * N) * p("ESds"))
    down = p.follows("one round", p("F0") - lam * K / (4 * N) * p("T2") - s * eta * K / 4 * p("Q2") + rest - p("EF1"), second,
                     (1 / N, every), (-1 / N, start), (1 / N, middle))
    below = p.follows("1/N at most 1", 1 - 1 / s**2, ((s + 1) / s**2, many))
    here = put(p, down, N=s**2, lam=eta / s)
    mean = p.expect("one round in the mean", here, {"F0": "EF0", "Q2": "EQ2", "T2": "ET2", "ESds": "EEds", "EF1": "EEF1"},
                    fixed="sigma2 G2", says="tower property: over all that happened before")
    return p, mean, below, clients


def falls(p, bound):
    """F before - eta sqrt(N) K/4 |grad F|^2 + bound - F after, all in the mean."""
    return p("EF0") - p("eta") * p("s") * p("K") / 4 * (p("EQ2") + p("ET2") / p("s") ** 4) + bound - p("EEF1")


def either():
    """Either option, every round: 2 gamma eta^2 sigma^2 K + 11 sqrt N gamma^2 eta^3 G^2 K^3."""
    p, down, below, _ = one_round()
    gamma, eta, K, s, sigma2, G2 = p("gamma eta K s sigma2 G2")
    N, v = s**2, gamma * eta**2 * sigma2 * K
    drift = p.lemma("crude drift", lemma9.drift())
    total = put(p, p.total("drift of all", drift, {"ED": "EEds"}, p("N") * K, "sigma2 G2", over="clients and local steps"), N=N)
    bound = sum(d.either(gamma, eta, sigma2, G2, s, K).values())
    u, w = gamma * eta * K * s, s * gamma**2 * eta**3 * G2 * K**3
    return p.conclude(p.follows(
        "either option", falls(p, bound), down,
        (gamma**2 * eta * s / (2 * N), total), (v / 2, below), (v * u * (1 + (1 + 1 / N) / 2), below),
        (v * ft.fraction("21/192"), p.facts["cap"]), (w * (1 + (1 + 1 / N) / 3), below)))


def eq9():
    """(9) with K^3, rounds r >= 2 of Option II."""
    p, down, below, clients = one_round()
    gamma, eta, K, s, sigma2, G2 = p("gamma eta K s sigma2 G2")
    N, lam, v, cap, many = s**2, eta / s, gamma * eta**2 * sigma2 * K, p.facts["cap"], p.facts["root of the clients"]
    p.follows("clients", p("N") - 1, (s + 1, many), clients)
    p.follows("server step", p("N") - s, (s, many), clients)
    p.follows("personal step", eta - p("lam"), (eta / s, many), (-1, p.facts["lam"]))
    drift = p.lemma("Lemma 9", lemma9.noisy(), alpha=s)
    total = p.total("drift of all", drift, {"ED": "EEds"}, p("N") * K, "lam sigma2 G2 Eg2", over="clients and local steps")
    total, short = put(p, total, N=N, lam=lam), p.follows("smaller personal step", eta - lam, (eta / s, many))
    bound = sum(d.eq9(gamma, eta, lam, sigma2, G2, N, s, K, p("Eg2")).values())
    u, w = gamma * eta * K * s, s * gamma**2 * eta**3 * G2 * K**3
    local = sum(d.lem9(gamma, eta, lam, sigma2, G2, N, K, p("Eg2"), 19, 1128).values())
    return p.conclude(p.follows(
        "(9)", falls(p, bound), down,
        (gamma**2 * eta * s / (2 * N), total), (gamma / 192 * local, cap), (v * u * (1 + (1 + 1 / N) / 2), below),
        (v * ft.fraction("3/192"), cap), (w, below),
        (gamma / 192 * 1128 * gamma**2 * eta**2 * N**2 * G2 * K**4 * (3 * eta + lam), short)))


def first_round():
    """(9) in round 1 from any variates of norm at most G: gamma eta^2 K^2 G^2 in place of what speaks of the round before."""
    p, down, below, _ = one_round()
    gamma, eta, K, s, sigma2, G2 = p("gamma eta K s sigma2 G2")
    N, lam, v, cap = s**2, eta / s, gamma * eta**2 * sigma2 * K, p.facts["cap"]
    drift = p.lemma("crude drift", lemma9.drift())
    total = put(p, p.total("drift of all", drift, {"ED": "EEds"}, p("N") * K, "sigma2 G2", over="clients and local steps"), N=N)
    once = d.first_round(gamma, eta, G2, K)["start"]
    bound = sum(d.eq9(gamma, eta, lam, sigma2, G2, N, s, K, 0).values()) + once
    u, w = gamma * eta * K * s, s * gamma**2 * eta**3 * G2 * K**3
    return p.conclude(p.follows("round 1", falls(p, bound), down, (gamma**2 * eta * s / (2 * N), total),
                                (gamma / 192 * sum(d.crude_drift(eta, sigma2, G2, K).values()), cap),
                                (v * u * (1 + (1 + 1 / N) / 2), below), (v * ft.fraction("3/192"), cap), (w, below)))
