"""Pencil proofs of the drifts of FedProx within a round, Lemmas 1 and 2 of Appendix A, for any gradients.

Symbols: t = alpha gamma; k local steps; c a power of 1 - t; v = sum_j (1 - t)^(k-1-j) g_j, so that w_k - wbar_0 = -gamma v;
Es = E|v|^2; own, off, mid = E|w_k^i - wbar_0|^2, E|wbar_k - w_k^i|^2, E|wbar_k - wbar_0|^2; disp, drift: the weighted means of the
first two.
"""
import fltheory as ft

DOMAIN = ("every number of clients, weights, local steps and dimension; every alpha >= 0 with alpha gamma <= 1 and all "
          "gradients with E|g|^2 <= G^2 before each local step, biased or not, of any losses")


def own():
    """E|w_k^i - wbar_0|^2 <= gamma^2 k^2 G^2; as a second conclusion with s = sum_{j<k} (1 - t)^j for k."""
    p = ft.Proof("gamma", "t k c cj s G2 gg Sgg Es own")
    gamma, t, k, c, s, G2, Sgg, Es = p("gamma t k c s G2 Sgg Es")
    cap = p.given("cap", 1 - t, "gamma <= 1/alpha, t = alpha gamma")
    held = p.suppose("power", 1 - c)
    then = p.follows("next power", 1 - c * (1 - t), held, says="c (1 - t) <= c")
    below = p.induct("powers of 1 - t are at most 1", held, then, {"c": 1}, {"c": c * (1 - t)}, {"c": "cj"},
                     keeps={"c": (c, cap)})
    count = p.total("their sum", below, {"cj": "s"}, k, says="s = sum_{j<k} (1 - t)^j", over="local steps")
    one = p.given("bounded gradients", G2 - p("gg"), "gg = E|g_i(w_j^i)|^2: Assumption 3")
    total = p.total("gradients", one, {"gg": "Sgg"}, s, "G2", "weights (1 - t)^(k-1-j)", "local steps")
    length = p.standard("weighted sum of gradients", s * Sgg - Es, "Jensen", "v = sum_j (1 - t)^(k-1-j) g_j, Es = E|v|^2")
    there = p.define("local model", p("own") - gamma**2 * Es, "w_k - wbar_0 = -gamma v, unrolled from the local step")
    sharp = p.follows("drift, sharp", gamma**2 * s**2 * G2 - p("own"), (-1, there), (gamma**2, length), (gamma**2 * s, total))
    return p.conclude(p.follows("drift", gamma**2 * k**2 * G2 - p("own"), sharp, (gamma**2 * G2 * (k + s), count)), sharp)


def everybody():
    """sum_i p_i E|w_k^i - wbar_0|^2 <= gamma^2 k^2 G^2, and the same of the mean square distance from the mean."""
    p = ft.Proof("gamma", "t k G2 own disp drift")
    gamma, k, G2 = p("gamma k G2")
    p.given("cap", 1 - p("t"), "gamma <= 1/alpha, t = alpha gamma")
    total = p.total("all clients", p.lemma("drift of one client", own()), {"own": "disp"}, 1, "k G2", "weights p_i")
    mean = p.standard("distance from the mean", p("disp") - p("drift"), "mean as nearest point",
                      "drift = sum_i p_i E|wbar_k - w_k^i|^2, disp that from wbar_0")
    return p.conclude(total, p.follows("weighted drift", gamma**2 * k**2 * G2 - p("drift"), total, mean))


def deviation():
    """E|wbar_k - w_k^i|^2 <= 4 gamma^2 k^2 G^2, and E|wbar_k - wbar_0|^2 <= gamma^2 k^2 G^2."""
    p = ft.Proof("gamma", "t k G2 own disp off mid d2", "", "m v")
    gamma, k, G2, m, v = p("gamma k G2 m v")
    p.given("cap", 1 - p("t"), "gamma <= 1/alpha, t = alpha gamma")
    one = p.lemma("drift of one client", own())
    total = p.lemma("drift of all", everybody(), 0)
    jensen = p.standard("mean model", p("disp") - p("mid"), "Jensen", "mid = E|wbar_k - wbar_0|^2")
    middle = p.follows("drift of the mean", gamma**2 * k**2 * G2 - p("mid"), jensen, total)
    is_ = p.define("deviation", p("d2") - (m - v).square, "m = wbar_k - wbar_0, v = w_k^i - wbar_0, d2 = |wbar_k - w_k^i|^2")
    apart = p.square("mean and client", m + v)
    path = p.follows("two distances", 2 * m.square + 2 * v.square - p("d2"), apart, (-1, is_))
    mean = p.expect("two distances in the mean", path, {"d2": "off", "m_m": "mid", "v_v": "own"})
    end = p.follows("deviation of one client", 4 * gamma**2 * k**2 * G2 - p("off"), mean, (2, middle), (2, one))
    return p.conclude(end, middle)
