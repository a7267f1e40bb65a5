"""Misprints: each printed line beside the one that its neighbours give, on coded rounds or in symbols."""
import math
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.simfed import instances as made
from verification.simfed.claims.vacuous import read
from verification.symbols import Symbols

H, C = (1, 2, Q(1, 2)), (1, -2, 3)
THREE = made.scalar(H, C, made.UNEQUAL)   # p = (5, 6, 3)/14
P = [ft.fraction(str(v)) for v in made.UNEQUAL.weights]


def differ(left, right, label):
    """The printed line is another number."""
    return ft.at_most(0, abs(left - right), label, strict=True)


def local_models(method, start, steps):
    """[w_k^i (n,) for k = 0..steps] of one coded round from wbar = start, and the weights' mean after it."""
    problem, found = THREE.to(ft.RATIONAL), [np.array([Q(start)] * THREE.n, dtype=object)]
    for k in range(1, steps + 1):
        alone = []
        for j in range(THREE.n):   # with one client counted alone the server's model is its local one
            one = ft.Quadratic([[[H[j]]]], [[C[j]]], ["1"]).to(ft.RATIONAL)
            algorithm = method(k).to(ft.RATIONAL)
            state = algorithm.round(one, algorithm.init(one, ft.RATIONAL.array(np.array([start]))), ft.everyone(1, k))
            alone.append(ft.fraction(state.x[0]))
        found.append(np.array(alone, dtype=object))
    algorithm = method(steps).to(ft.RATIONAL)
    state = algorithm.round(problem, algorithm.init(problem, ft.RATIONAL.array(np.array([start]))), ft.everyone(THREE.n, steps))
    return found, ft.fraction(state.x[0])


GAMMA, ALPHA, START, STEPS = Q(1, 5), Q(2), 4, 3
MODELS, MEAN = local_models(lambda k: made.prox(GAMMA, k, ALPHA), START, STEPS)
SLOPES = [read(THREE.to(ft.RATIONAL).grad(ft.RATIONAL.array(w[:, None])))[:, 0] for w in MODELS]   # gradients at w_k^i


def mean_of(values):
    return sum(p * v for p, v in zip(P, values, strict=True))


# ---- weights --------------------------------------------------------------------------------------------------------
def _weights():
    """(18), (19), the variance of the averaged noise, and what (27) introduces."""
    last, i = MODELS[-1], 2
    wrong = sum(P[i] * v for v in last)                       # sum_j p_i w^j
    still = [Q(1)] * 3                                        # all local models equal: both sides of (19) are then 0
    signs = [[1 - 2 * (word >> j & 1) for j in range(3)] for word in range(8)]
    variance = sum(mean_of(s) ** 2 for s in signs) / Q(8)
    s = Symbols("L gamma p0 p1", a=2, b=2)
    p, fs, here = (s.p0, s.p1), s.a, s.b                      # weights, f_i(w_*), f_i(w_k^i)
    with_p = 4 * s.L * s.gamma**2 * sum(v * w for v, w in zip(p, fs, strict=True))
    with_c = 4 * s.L * s.gamma**2 / 2 * sum(fs)
    parts = [4 * s.L * s.gamma**2 * sum(v * (u - w) for v, u, w in zip(p, here, fs, strict=True)),
             4 * s.L * s.gamma**2 * sum(v * u for v, u in zip(p, here, strict=True))]
    return (ft.equal(mean_of(last), MEAN, "(18) with p_j: the coded mean"), differ(wrong, MEAN, "(18) with p_i: another number"),
            differ(sum(P[i] * v for v in still) - 1, 0, "(19) with p_i, equal models: its left side is not 0, its right side is"),
            ft.equal(variance, sum(v**2 for v in P), "variance of the averaged noise: S sigma^2, unit signs"),
            ft.at_most(Q(1, 3), variance, "sigma^2/C, as printed before Lemmas 1 and 2 are used, is smaller", strict=True),
            ft.equal(parts[1] - with_p, parts[0], "(27): the sum with weights p_i closes the difference"),
            ft.equal((with_p - with_c).substitute(p0=Q(3, 4), p1=Q(1, 4), a0=1, a1=0, L=1, gamma=1), Q(3) - 2 + 0 * s.L,
                     "(27): the sum with 1/C is another number"))


ft.finding("typo-weights", kind="misprint", check=_weights,
           reading="(18), (19): sum_j p_i; the line before Lemmas 1 and 2 are used: gamma^2 sigma^2/C; before (27): 4 L gamma^2/C. "
                   "The next lines and the statements have p_j and p_i.",
           survives="All statements; with equal weights the printed lines too.")


# ---- Lemma 2 of Appendix A ----------------------------------------------------------------------------------------------
def _run(i=0, j=1):
    """(delta^ij at the end, sum_m (1 - alpha gamma)^m Delta g with g_j - g_i, sum of squared Delta g) of the coded round."""
    delta, keep = MODELS[-1][j] - MODELS[-1][i], 1 - ALPHA * GAMMA
    parts = [SLOPES[STEPS - 1 - m][j] - SLOPES[STEPS - 1 - m][i] for m in range(STEPS)]
    return delta, sum(keep**m * v for m, v in enumerate(parts)), sum(v**2 for v in parts), parts


def _equation20():
    delta, total, *_ = _run()
    return (ft.equal(delta**2, GAMMA**2 * total**2, "(20) with |delta|^2 on the left"),
            differ(delta, GAMMA**2 * total**2, "(20) as printed, delta without the squared norm"))


ft.finding("typo-20", kind="misprint", check=_equation20, reading="The left side is printed without |.|^2, the right side with it.",
           survives="(21) and what follows are bounds of |delta|^2.")


def _equations22_26():
    """(22) on the round; (26) on the squared distance of a deterministic round."""
    *_, squares, parts = _run()
    keep = 1 - ALPHA * GAMMA
    weighted = sum(keep**m for m in range(STEPS)) * sum(keep**m * v**2 for m, v in enumerate(parts))
    least, mu, L = ft.optimum(THREE).x[0], THREE.constants.mu, THREE.constants.L
    gamma, alpha = Q(1, 20), Q(1)
    (_, first), mean = local_models(lambda k: made.prox(gamma, k, alpha), START, 1)
    before, after = (START - least) ** 2, (mean - least) ** 2
    Gamma, G2 = ft.optimum(THREE).value, max(v**2 for v in SLOPES[0])
    right = (1 - gamma * (alpha + mu)) * before + alpha * gamma * before + 6 * L * Gamma * gamma**2 + 8 * gamma**2 * G2
    return (ft.at_most(weighted, STEPS * squares, "(22): (21) is at most it, and not equal to it", strict=True),
            ft.equal(mean_of(first), mean, "a coded step of FedProx, k = 0"),
            ft.at_most(after, right, "(26): at most, and not equal", strict=True))


ft.finding("typo-22-26", kind="misprint", check=_equations22_26,
           reading="Both print = for at most; the text beside (22) names the bound used.",
           survives="Both as inequalities.")


def _sign_of_lemma2():
    delta, total, *_ = _run()
    return (ft.equal(delta, -GAMMA * total, "delta = w^j - w^i goes with g_j - g_i"),
            differ(delta, GAMMA * total, "the printed g_i - g_j gives the opposite sign"))


ft.finding("typo-lema2-sign", kind="misprint", check=_sign_of_lemma2,
           reading="delta^ij = w^j - w^i and Delta g^ij = g_i - g_j as printed.",
           survives="Only squares of both are used.")


# ---- geometric sums, signs ------------------------------------------------------------------------------------------------
def _stray_sum():
    s = Symbols("k")
    closed = (1 - s.k**3) / (1 - s.k)
    return (ft.equal(sum(s.k**m for m in range(3)), closed, "t = 3: the sum of the powers of kappa"),
            ft.equal(sum(closed for _ in range(3)) - closed, 2 * closed, "with the sum sign it is counted t times: (184) is wrong"),
            ft.at_most(closed.substitute(k=Q(1, 2)), 3 * Q(7, 4), "and (52) does not follow from it: kappa = 1/2, 7/4 against 21/4",
                       strict=True))


ft.finding("typo-51-184", kind="misprint", check=_stray_sum,
           reading="sum_{m<t} (1 - kappa^t)/(1 - kappa); the summand does not depend on m.",
           survives="(52), (185) and the theorems: they follow from the quotient alone.")


def _signs():
    s = Symbols("gamma", v=2, h=2)

    def square(a):
        return sum(x * x for x in a)
    inner = -s.gamma * sum(a * b for a, b in zip(s.v, s.h, strict=True))
    apart = s.gamma / 2 * square([a - b for a, b in zip(s.v, s.h, strict=True)])
    minus, plus = (apart + sign * s.gamma / 2 * square(s.v) - s.gamma / 2 * square(s.h) for sign in (-1, 1))
    gamma, alpha = Q(1, 10), Q(5)
    return (ft.equal(inner, minus, "(67) is (68) with a minus, in the plane"),
            ft.equal(plus - minus, s.gamma * square(s.v), "with the printed plus (70), an equality, is off by gamma |v|^2"),
            ft.equal(1, int(2 * alpha * gamma <= 1), "gamma <= 1/(2 alpha)"),
            ft.at_most(-gamma * (1 - alpha * gamma), -gamma / 2, "after (87): -gamma(1 - alpha gamma) <= -gamma/2"),
            ft.at_most(-Q(1, 2), -gamma * (1 - alpha * gamma), "the printed -1/2 lies below it", strict=True))


ft.finding("typo-signs", kind="misprint", check=_signs,
           reading="(68) prints +gamma/2 |sum_i p_i grad f_i|^2; after (87) the factor gamma is lost.",
           survives="(70) and (92) print both correctly.")


def _exponential():
    """(1 - 1/n)^(-n), which (55) and (188) raise to a negative power: n = 2 E (alpha + L)/(alpha + mu), 2EL/(beta mu)."""
    e = Q(271829, 100000)   # above e
    least = sum(Q(1, math.factorial(k)) for k in range(12)) + Q(2, math.factorial(12))
    return (ft.at_most(least, e, "e, as a series with its rest", strict=True),
            *(ft.at_most(e, Q(n, n - 1) ** n, f"n = {n}: (1 - 1/n)^(-n) is above e, where at most is printed", strict=True)
              for n in (2, 10, 1000)),
            *(ft.at_most((1 - Q(1, n)) ** E, 1 / (1 + Q(E, n)), f"n = {n}, E = {E}: (57), (191) hold all the same")
              for n, E in ((2, 1), (10, 5), (1000, 10))))


ft.finding("typo-exponential", kind="misprint", check=_exponential,
           reading="(1 + 1/x)^x <= e is cited for (56) and (189), where x = -n is negative; what is needed, and true, "
                   "is (1 - 1/n)^(-n) >= e.",
           survives="(56), (189) and what follows: (1 - x)^E <= exp(-E x) (lema3-kappa, lemb3-kappa).")


# ---- gradients --------------------------------------------------------------------------------------------------------------
def _gradients():
    """(79) needs the mean of g; (204) the perturbed points."""
    def parts(centre):                                        # E|g - centre|^2 + |centre|^2 for g = w + sign at w = 1, f = w^2/2
        return sum((1 + s - centre) ** 2 for s in (1, -1)) / Q(2) + centre**2
    whole = sum(Q(1 + s) ** 2 for s in (1, -1)) / 2
    beta, problem = Q(1, 2), THREE.to(ft.RATIONAL)
    algorithm = made.ours(GAMMA, 1, beta, made.UNEQUAL).to(ft.RATIONAL)
    state = algorithm.round(problem, algorithm.init(problem, ft.RATIONAL.array(np.array([START]))), ft.everyone(3, 1))
    x, w, edges = read(state.x), read(state.w)[:, 0], made.UNEQUAL.edges
    u = [sum(ft.fraction(str(edges[i][n])) * w[n] for n in range(3)) / P[i] for i in range(3)]
    tilde = np.array([[beta * x[0] + (1 - beta) * v] for v in u], dtype=object)
    moved = read(algorithm.round(problem, state, ft.everyone(3, 1)).x)[0] - x[0]
    at = {name: -GAMMA * mean_of(read(problem.grad(ft.RATIONAL.array(point)))[:, 0]) for name, point in
          (("perturbed", tilde), ("local", np.array([list(x)] * 3, dtype=object)))}
    return (ft.equal(parts(Q(1)), whole, "(79) with grad f = 1: E|g|^2"),
            differ(parts(Q(1, 2)), whole, "(79) with f = 1/2: another number, as g - f has a mean"),
            ft.equal(moved, at["perturbed"], "(204): a coded step in round 1, gradients at the perturbed points"),
            differ(moved, at["local"], "(204) with the local models: another one"))


ft.finding("typo-gradients", kind="misprint", check=_gradients,
           reading="f_i for grad f_i in (77) to (82) and (204) to (206); w for the perturbed point in (204) to (207).",
           survives="(83) and (208) have the gradients, (208) the perturbed points.")


def _a41():
    """g = 1 + sign, grad f = 1, gamma = 1/10: the term v of the distance is gamma (grad f - g)."""
    gamma = Q(1, 10)
    v2 = sum((gamma - gamma * (1 + s)) ** 2 for s in (1, -1)) / 2
    right = gamma**2 * sum((1 - Q(1 + s)) ** 2 for s in (1, -1)) / 2
    printed = gamma**2 * sum((1 - gamma * (1 + s)) ** 2 for s in (1, -1)) / 2
    loud, sigma2 = [(1 - Q(1 + 2 * s)) ** 2 for s in (1, -1)], 4                # noise +-2: a41 = |grad f - g|^2 = 4
    return (ft.equal(v2, right, "E|v|^2 is gamma^2 E|grad f - g|^2"), differ(v2, printed, "with gamma g in a41: another number"),
            ft.at_most(sum(loud) / 2, sigma2, "E a41 <= S sigma^2 for noise +-2"),
            ft.at_most(sigma2, sum(a**2 for a in loud) / 2, "E|a41|^2, squared once more, is not", strict=True))


ft.finding("typo-a41", kind="misprint", check=_a41,
           reading="gamma^2 E|sum p_i grad f_i - gamma sum p_i g_i|^2, norms squared within a41 and a42; then |a41|^2, |a42|^2.",
           survives="The bound S sigma^2 that is drawn from it, without the inner gamma and squared once.")


# ---- the model -----------------------------------------------------------------------------------------------------------------
def _bias():
    """Three classes, two features: parameters of the coded softmax with a constant feature, and e_i' v_0."""
    D, K, X = 2, 3, [[1, 2, 1], [0, 1, 1], [2, 0, 1]]
    coded = ft.Logistic([X], [[0, 1, 2]], "1/10", classes=K)
    return (ft.equal(coded.d, K * D + K, "v_1, .., v_K in R^D and v_0 in R^K"),
            differ(coded.d, K * D + D, "v_0 in R^D, as printed, has another number of entries"),
            ft.at_most(D, K, "and no e_K to read z_K's bias with", strict=True))


ft.finding("typo-v0", kind="misprint", check=_bias, reading="z_i = v_i'x + v_0'e_i for i = 1..K, with v_k in R^D for k = 0..K.",
           survives="(213) itself, with v_0 in R^K.")
