"""A pencil proof of Theorem 1 with constants 3, 3, 6, 6 in place of 4, 4, 6, 12: the drift by norms instead of squares.

Symbols, beside those of a local run: r.. the root of a mean square (rM of E|x - y_k|^2 where it is largest, ru and rv of the noise
and the gradients of the run, rs of |grad F_i(y_s)|, rd of |x - y_s|), r0 = |grad F_i(x)|, c1 = max_{i,k} sum_s b_s^(k), so C = c1^2
and D = 4 q^2 with q = eta L c1.
"""
import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.proofs import local_run
from verification.fednova.proofs.descent import CONSTANTS, NUMBERS, VALUES, one_round
from verification.fednova.proofs.local_run import STEPS, noise_of
from verification.fednova.proofs.theorems import mean_of_rounds


def drift():
    """(1 - q)^2 L^2 E|x - y_k|^2 <= 2 eta^2 L^2 sigma^2 N2 + 2 q^2 |grad F_i(x)|^2, for every k and q <= 1."""
    p = ft.Proof("L eta", "sigma2 N2 c1 n1 n2 es Es Eu M g r0 rM rd rs ru rv Sr")
    L, eta, sigma2, N2, c1, n1, M, g, r0, rM, rd, rs, ru, rv = p("L eta sigma2 N2 c1 n1 M g r0 rM rd rs ru rv")
    q = eta * L * c1
    below = p.given("q below 1", 1 - q, "q = eta L c1")
    noise = noise_of(p, "n2", "(b_s)^2")
    root = p.define("root of the noise", ru**2 - p("Eu"))
    split = p.standard("noise and gradients", eta * (ru + rv) - rM, "triangle inequality",
                       "of the norm (E|.|^2)^(1/2); k attains M")
    sums = p.standard("gradients of the run", p("Sr") - rv, "triangle inequality", "Sr = sum_s b_s rs")
    there = p.standard("gradient at y_s", r0 + L * rd - rs, "triangle inequality", "and Lipschitz gradients")
    largest = p.given("largest", rM - rd, "rM = max_k")
    near = p.follows("gradient at y_s against M", r0 + L * rM - rs, there, (L, largest))
    summed = p.total("gradients, weighted", near, {"rs": "Sr"}, n1, "r0 rM", "weights b_s", STEPS)
    prefix = p.given("largest prefix", c1 - n1, "c1 = max_{i,k} sum_s b_s^(k)")
    squares = p.given("largest squares", N2 - p("n2"), "N2 = max_k sum_s (b_s^(k))^2")
    x = eta * L * ru + q * r0
    line = p.follows("norms", x - (1 - q) * L * rM, (L, split), (eta * L, sums), (eta * L, summed),
                     (eta * L * (r0 + L * rM), prefix))
    square = p.follows("norms, squared", x**2 - ((1 - q) * L * rM) ** 2, (line, x), (line, below, L * rM))
    young = p.square("Young", eta * L * ru - q * r0)
    mean, size = p.define("root of the drift", M - rM**2), p.define("root of the gradient", g - r0**2)
    k = 2 * eta**2 * L**2
    return p.conclude(p.follows("drift by norms", k * sigma2 * N2 + 2 * q**2 * g - (1 - q) ** 2 * L**2 * M, square, young,
                                (-((1 - q) ** 2) * L**2, mean), (2 * q**2, size), (-k, root), (k, noise), (k * sigma2, squares)))


def theorem1():
    """Theorem 1 with 3, 3, 6, 6, for prefix coefficients b >= 0 and the caps of the corrected form."""
    p = ft.Proof(f"{CONSTANTS} n", f"{NUMBERS} c1 M W", VALUES, "G")
    L, eta, tau_eff, beta2, m, T, sigma2, kappa2, C, B, A, g, F, EF1, G = p("L eta tau_eff beta2 m T sigma2 kappa2 C B A g F EF1 G")
    c1, s = p("c1"), eta * tau_eff
    q, k = eta * L * c1, 2 * eta**2 * L**2
    least = p.given("beta^2", beta2 - 1)
    p.given("server step", 1 - 2 * s * L, "tau_eff eta L <= 1/2")
    root = p.define("C", C - c1**2, "C = C' = max_{i,k} (sum_s b_s^(k))^2")
    given = p.given("cap of D", 1 - 4 * eta**2 * L**2 * (2 * beta2 + 1) * C, "4 eta^2 L^2 C' <= 1/(2 beta^2 + 1)")
    cap = p.follows("cap of q", 1 - 4 * q**2 * (2 * beta2 + 1), given, (4 * eta**2 * L**2 * (2 * beta2 + 1), root))
    third, quarter = p.square("1 - 3q", 1 - 3 * q), p.square("1 - 4q", 1 - 4 * q)
    half = p.follows("(1 - q)^2 above 1/2", (1 - q) ** 2 - ft.fraction("1/2"), (ft.fraction("1/3"), third),
                     (ft.fraction("1/6"), cap),
                     (ft.fraction("4/3") * q**2, least))
    factor = p.square("1 - q", 1 - q)
    p.follows("q below 1", 1 - q, (ft.fraction("1/2"), factor), (ft.fraction("1/2"), cap))
    one = p.lemma("drift of one client", drift(), N2=p("B1"))
    run = local_run.drift()   # for the a-weighted drift, which is at most the largest one
    near = p.follows("bias of one client", k * sigma2 * p("B1") + 2 * q**2 * g - (1 - q) ** 2 * p("Ee"), one,
                     (factor, p.lemma("weighted drift", run, 1)), (factor, p.lemma("(68)", local_run.bias())))
    total = p.total("drift of all clients", near, {"Ee": "SE", "B1": "B", "g": "SG"}, 1, "sigma2 c1", "weights w_i")
    spread = p.given("Assumption 3", beta2 * G.square + kappa2 - p("SG"), "sum_i w_i |grad F_i|^2 <= beta^2 |grad F~|^2 + kappa^2")
    descent = p.lemma("(64)", one_round(), 1)
    noise = p.define("A", A - m * tau_eff * p("R"), "A = m tau_eff sum_i w_i^2 |a_i|_2^2 / |a_i|_1^2")
    each = sum(f.thm1_smaller(eta, L, sigma2, kappa2, 0, tau_eff, 1, A, B, C, m).values())
    target = 3 / s * (F - EF1) + each - G.square
    rest = 3 * k * (sigma2 * B + c1**2 * kappa2)
    whole = p.follows("one round, times (1 - q)^2", (1 - q) ** 2 * target, (3 / s, descent, factor), (ft.fraction("3/2"), total),
                      (3 * q**2, spread), (3 * eta * L * sigma2 / m * (1 - q) ** 2, noise), (3 * k * kappa2 * (1 - q) ** 2, root),
                      (G.square / 8, quarter), (ft.fraction("3/8") * G.square, cap), (rest, half))
    end = p.cancel("one round", target, whole, half, ft.fraction("1/2"))
    mean = mean_of_rounds(p, end, 3 / s, each, "G_G")
    bound = sum(f.thm1_smaller(eta, L, sigma2, kappa2, p("gap"), tau_eff, T, A, B, C, m).values())
    return p.conclude(p.follows("Theorem 1, smaller constants", bound - p("S") / T, mean))
