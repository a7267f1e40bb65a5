"""Pencil proofs of Lemma 4 of Appendix B and of Theorem 4, with the printed drift constant and with the sharp ones.

F, F1: f(wbar_k), f(wbar_{k+1}); q = grad f(wbar_k), h = sum_i p_i grad f_i(wtilde_k^i), x = sum_i p_i (noise of client i), so that
wbar_{k+1} = wbar_k - gamma (h + x); r, dist: of one client, grad f_i(wtilde_k^i) - grad f_i(wbar_k) and |wtilde_k^i - wbar_k|^2;
E..: expectations, ESX = sum_i p_i E dist. A: the sum of E|q|^2 over the m local steps so far, of all rounds: wbar_{t,E} is
wbar_{t+1,0}.
"""
import fltheory as ft
from verification.simfed.formulas import perturbed as f
from verification.simfed.formulas import theorems
from verification.simfed.proofs import perturbed_drift as drift

ROUNDS = ("every number of clients, dimension, E and beta in (0, 1]; every graph of symmetric weights; L-smooth losses, convex or "
          "not; noise with mean 0 given the past, uncorrelated across clients, variance at most sigma^2; E|g|^2 <= G^2 at the "
          "perturbed points")
RUNS = ROUNDS + "; f bounded below, every T and E with the printed step"


def _lemma4_bound(p):
    return sum(f.lemma2(p("gamma"), p("last"), p("beta"), p("E"), p("G") ** 2).values())


def _times(bracket):
    return lambda p: 4 * p("gamma") ** 2 * p("E") ** 2 * p("G") ** 2 * bracket(p("beta"))


BRACKETS = {"printed": None, "uniform": f.uniform, "averaged": f.mean}
# bound of a client's (or the clients' mean) squared distance, and where it is proved
DRIFTS = {"Lemma 2": (_lemma4_bound, drift.lemma2), "printed": (_times(theorems.drift_constant), drift.constant_printed),
          "uniform": (_times(f.uniform), drift.constant_sharp), "averaged": (_times(f.mean), drift.constant_averaged)}


def constant_step(p):
    p.given("constant step", p("gamma") - p("last"), "gamma_{t-1} = gamma_t; the first round is last = 0")


def mean_drift(p, which):
    """bound - sum_i p_i E dist_i >= 0."""
    bound, proof = DRIFTS[which]
    if which != "Lemma 2":
        constant_step(p)
    if which == "averaged":
        return bound(p), p.lemma("drift", proof())
    one = p.lemma("drift of a client", proof())
    square = p.define("mean square", p("EZ") - p("Z") ** 2)
    each = p.follows("drift of a client, squared", bound(p) - p("EZ"), one, (-1, square))
    return bound(p), p.total("drift", each, {"EZ": "ESX"}, 1, "last G", "weights p_i")


def one_step(p, which):
    """E F1 <= E F - gamma/2 E|q|^2 + gamma/2 L^2 bound + gamma^2 L/2 S sigma^2: that bound, and the fact."""
    gamma, L, S, sigma2 = p("gamma L S sigma2")
    q, h, x, r = p("q h x r")
    smooth = p.standard("descent", p("F") - gamma * q.dot(h + x) + gamma**2 * L / 2 * (h + x).square - p("F1"), "descent lemma",
                        "wbar_{k+1} = wbar_k - gamma (h + x); f is L-smooth")
    cap = p.given("step", 1 - gamma * L, "gamma <= 1/L")
    lipschitz = p.given("smooth losses", L**2 * p("dist") - r.square, "Assumption 4")
    all_clients = p.total("all clients", lipschitz, {"dist": "SX", "r_r": "Sr"}, 1, "", "weights p_i")
    jensen = p.standard("mean gradient", p("Sr") - (h - q).square, "Jensen", "h - q = sum_i p_i r_i")
    half = gamma / 2
    path = p.follows("one local step", p("F") - half * q.square + half * L**2 * p("SX") - (gamma - gamma**2 * L) * h.dot(x)
                     - gamma * (q - h).dot(x) + gamma * half * L * x.square - p("F1"), smooth, (half * h.square, cap),
                     (half, all_clients), (half, jensen))
    mean = p.expect("in the mean", path, {"F": "EF", "F1": "EF1", "q_q": "Eq", "SX": "ESX", "h_x": "Ehx", "q_x": "Eqx",
                                              "x_x": "Ex"})
    unbiased = [p.given(f"unbiased noise, {v}", p(f"E{v}x"), f"E<{v}, x> = 0: {v} is known before the noise", equality=True)
                for v in "hq"]
    variance = p.given("Assumption 2", sigma2 - p("noise"), "noise = E|noise of a client|^2")
    total = p.total("noise of all clients", variance, {"noise": "Snoise"}, "S", "sigma2", "weights p_i^2")
    apart = p.standard("mean noise", p("Snoise") - p("Ex"), "variance of a sum", "uncorrelated across clients")
    bound, far = mean_drift(p, which)
    left = p("EF") - half * p("Eq") + half * L**2 * bound + gamma * half * L * S * sigma2 - p("EF1")
    return bound, p.follows("one local step in the mean", left, mean, (-gamma**2 * L, unbiased[0]), (gamma, unbiased[1]),
                            (gamma * half * L, total), (gamma * half * L, apart), (half * L**2, far))


def steps(which):
    """The average of E|grad f(wbar)|^2 over some local steps, of one round or several."""
    p = ft.Proof("gamma L E beta count", "last G sigma2 S noise Snoise Ex Eq dist Z EZ ESX SX Sr m A AN",
                 "F F1 EF EF1 Eqx Ehx F0 FN", "q h x r")
    gamma, L, m, count, A, F0 = p("gamma L m count A F0")
    bound, one = one_step(p, which)

    def after(number, value, squares):
        return F0 - value - gamma / 2 * squares + number * (gamma / 2 * L**2 * bound + gamma**2 * L / 2 * p("S") * p("sigma2"))
    held = p.suppose("after m steps", after(m, p("EF"), A))
    then = p.follows("after m + 1 steps", after(m + 1, p("EF1"), A + p("Eq")), held, one)
    end = p.induct("after all steps", held, then, {"m": 0, "EF": F0, "A": 0}, {"m": m + 1, "EF": "EF1", "A": A + p("Eq")},
                   {"m": count, "EF": "FN", "A": "AN"})
    left = 2 / (gamma * count) * (F0 - p("FN")) + gamma * L * p("S") * p("sigma2") + L**2 * bound - p("AN") / count
    return p.conclude(p.follows("average", left, (2 / (gamma * count), end)))


def lemma4():
    """(192): the E local steps of one round."""
    p = ft.Proof("gamma L E beta", "last G sigma2 S AN", "F0 FN")
    gamma, E = p("gamma E")
    p.given("step", 1 - gamma * p("L"), "gamma <= 1/L")
    average = p.lemma("average", steps("Lemma 2"), count=E)
    bound = sum(f.lemma4(p("L"), gamma, p("last"), p("beta"), p("S"), p("sigma2"), p("G") ** 2, E).values())
    return p.conclude(p.follows("(192)", 2 / (gamma * E) * (p("F0") - p("FN")) + bound - p("AN") / E, average))


def theorem4(which):
    """gamma = 1/(2 L sqrt(TE)) over all T E local steps."""
    p = ft.Proof("gamma L E beta T root", "last G sigma2 S AN gap", "F0 FN")
    gamma, L, E, beta, T, root, G, S, sigma2 = p("gamma L E beta T root G S sigma2")
    square = p.define("root", root**2 - T * E, "root = sqrt(TE)")
    size = p.define("step size", 2 * L * root * gamma - 1, "gamma = 1/(2 L sqrt(TE))")
    whole = p.given("one step at least", root - 1, "T, E >= 1")
    p.follows("step", 1 - gamma * L, (1 / root, whole), (-1 / (2 * root), size))
    constant_step(p)
    average = p.lemma("average", steps(which), count=T * E)
    least = p.given("Assumption 6", p("gap") - (p("F0") - p("FN")), "gap = f(wbar_0) - f_inf")
    bracket = BRACKETS[which]
    bound = sum(f.theorem4(bracket, L, beta, p("gap"), S, sigma2, G**2, E, T, root).values())
    A = (bracket or theorems.drift_constant)(beta) * E**2 * G**2
    rate = 2 / (gamma * T * E)
    moved = {"start": (rate * p("gap"), -4 * L * p("gap") / (T * E * root)), "noise": (-S * sigma2 / (2 * root), 0),
             "drift": (-A * (1 + 2 * L * root * gamma) / root**2, A / (T * E * root**2))}   # root and gamma put in, term by term
    by_size, by_root = (sum(pair[j] for pair in moved.values()) for j in (0, 1))
    return p.conclude(p.follows("Theorem 4", bound - p("AN") / (T * E), average, (rate, least), (by_size, size), (by_root, square)))
