"""Pencil proofs about the error term T2 of Appendix A.4: (32), what (33c) lacks, (33d) for every K, (34e) and (34f) corrected.

Symbols: u, h = deviations of y_{k-1} and of grad f_i(y_{k-1}) from their means, n the noise of step k, V = E|u|^2; q0, q = sums of
eta_j^2 before step k and over the round; c = sum_k eta_k n_k; m + s = N grad F(x_t) - (1/K) sum_k eta_k grad f_i(y_{k-1}), m its
mean; X, SX = 2 eta_k E<h, c> and its sum; T, T1 = T2 and T21, ET, ET1 their means; d = Delta; D2 = |x_t - x_{t-tau}|^2.
"""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import error_term as f
from verification.asyncfeded.proofs import corollary1

CLASS = ("every m, d, K and L > 0, smooth clients whether convex or not; noise with mean zero given everything earlier and "
         "given i, x_t and x_{t-tau} (H*)")


# ---- (31) and (32) ----------------------------------------------------------------------------------------------------
def descent():
    """(32), for every step eta_g that the noise of this update does not enter."""
    p = ft.Proof("L K N eg", "T ET Ed", "drop Edrop", "a d")
    L, K, N, eg, T, a, d = p("L K N eg T a d")
    down = p.standard("(31)", f.smooth31(L, eg, a.dot(d), d.square) - p("drop"), "descent lemma",
                      "of F from x_t to x_t + eta_g Delta; drop = F(x_{t+1}) - F(x_t)")
    error = p.define("T2", T - (N * a + d * (1 / K)).square)
    sure = p.follows("(32) for every draw", sum(f.descent(L, eg, K, N, a.square, d.square, T).values()) - p("drop"), down,
                     (K * eg / (2 * N), error))
    return p.conclude(p.expect("(32)", sure, {"T": "ET", "d_d": "Ed", "drop": "Edrop"}, "a_a"))


# ---- (33): noise ----------------------------------------------------------------------------------------------------
def spread():
    """One local step spreads y by at most a factor 1 + L eta, and by its noise."""
    p = ft.Proof("L", "eta V Er Eh En Vn d2 sigma2", "Eun Ehn", "u h n r")
    L, eta, V, Eh, sigma2 = p("L eta V Eh sigma2")
    u, h, n, r = p("u h n r")
    step = p.define("local step", p("d2") - (u - eta * (h + n)).square, "y_k - E y_k")
    young = p.square("Young", u + h * (1 / L))
    sure = p.follows("one step, surely", (1 + L * eta) * u.square + (eta**2 + eta / L) * h.square + eta**2 * n.square
                     - 2 * eta * u.dot(n) + 2 * eta**2 * h.dot(n) - p("d2"), (-1, step), (L * eta, young))
    mean = p.expect("one step in the mean", sure, {"u_u": "V", "h_h": "Eh", "n_n": "En", "n_u": "Eun", "h_n": "Ehn", "d2": "Vn"},
                    "eta")
    free = [p.given(f"H* against {v}", p(f"E{v}n"), "noise of mean 0 given everything earlier", equality=True) for v in "uh"]
    quiet = p.given("A2", sigma2 - p("En"))
    near = p.standard("mean gradient", p("Er") - Eh, "mean as nearest point", "r = grad f_i(y) - grad f_i(E y)")
    smooth = p.expect("A1 in the mean", p.given("A1", L**2 * u.square - r.square), {"u_u": "V", "r_r": "Er"})
    whole = eta**2 + eta / L
    return p.conclude(p.follows("spread", (1 + L * eta) ** 2 * V + eta**2 * sigma2 - p("Vn"), mean, (2 * eta, free[0]),
                                (-2 * eta**2, free[1]), (eta**2, quiet), (whole, near), (whole, smooth)))


def capped(p, k, eta):
    """(T1) at step k."""
    return p.given("(T1)", 1 - 6 * k * (2 * k + 1) * p("L") ** 2 * eta**2, "of step k, with its own eta_k")


def variance():
    """Under (T1) the variance before step k is at most (k - 1) sigma_l^2 times the sum of eta^2 over the steps before."""
    p = ft.Proof("L k", "eta eta1 etan etaK K q0 qK V Vn VK sigma2")
    L, k, eta, q, V, sigma2 = p("L k eta q0 V sigma2")
    first, cap = p.given("place", k - 1, "k = 1, 2, .."), capped(p, k, eta)
    root = p.square("step against its square", 1 - 3 * k * L * eta, "2 L eta <= 1/(3k) + 3 k L^2 eta^2")
    factor = p.follows("factor", k - (k - 1) * (1 + L * eta) ** 2, (1 / (3 * k), first, root),
                       ((3 * k + 1) / (6 * k * (2 * k + 1)), first, cap))
    step = p.lemma("spread", spread())
    held = p.suppose("before step k", (k - 1) * q * sigma2 - V)
    then = p.follows("before step k + 1", k * (q + eta**2) * sigma2 - p("Vn"), step, ((1 + L * eta) ** 2, held),
                     (q * sigma2, factor), (eta**2 * sigma2, first))
    return p.conclude(p.induct("variance", held, then, {"k": 1, "eta": "eta1", "q0": 0, "V": 0},
                               {"k": k + 1, "eta": "etan", "q0": q + eta**2, "V": "Vn"},
                               {"k": p("K") + 1, "eta": "etaK", "q0": "qK", "V": "VK"}))


def covariance():
    """2 eta_k E<h, c> is at most 7/12 of q sigma_l^2 at every step k; in sum over the steps k >= 2, as it is 0 at k = 1."""
    p = ft.Proof("L k K", "J eta q q0 V Eh Er Ec sigma2 w W e2 En", "x X SX", "u h r c")
    L, k, K, eta, q, q0, V, sigma2, h, r, c = p("L k K eta q q0 V sigma2 h r c")
    first, cap, more = p.given("place", k - 1, "k = 1, 2, .."), capped(p, k, eta), p.given("steps before", q - q0)
    before = p.given("variance before step k", (k - 1) * q0 * sigma2 - V, "its own lemma, on k - 1 steps")
    near = p.standard("mean gradient", p("Er") - p("Eh"), "mean as nearest point", "r = grad f_i(y) - grad f_i(E y)")
    smooth = p.expect("A1 in the mean", p.given("A1", L**2 * p("u").square - r.square), {"u_u": "V", "r_r": "Er"})
    young = p.square("Young", 2 * eta * h - c)
    inner = p.define("x", p("x") - 2 * eta * h.dot(c))
    one = p.follows("one step, surely", 2 * eta**2 * h.square + c.square / 2 - p("x"), (Q(1, 2), young), (-1, inner))
    mean = p.expect("one step in the mean", one, {"h_h": "Eh", "c_c": "Ec", "x": "X"}, "eta")
    weighted = p.define("w", p("w") - p("e2") * p("En"), "w = eta_k^2 E|n_k|^2, e2 = eta_k^2")
    loud = p.follows("A2 weighted", p("e2") * sigma2 - p("w"), (p("e2"), p.given("A2", sigma2 - p("En"))), (-1, weighted))
    total = p.total("A2 over the steps", loud, {"e2": "q", "w": "W"}, K, "sigma2", over="local steps")
    noise = p.standard("noise of the round", p("W") - p("Ec"), "variance of a sum", "c = sum_k eta_k n_k, H*", equality=True)
    whole = p.follows("E|c|^2", q * sigma2 - p("Ec"), total, noise)
    low, room = k * (2 * k + 1), p.square("room", k - Q(3, 4))
    step = p.follows("one covariance", Q(7, 12) * q * sigma2 - p("X"), mean, (2 * eta**2, near), (2 * eta**2, smooth),
                     (2 * L**2 * eta**2, before), (2 * L**2 * eta**2 * sigma2, first, more), (q * sigma2 / (3 * low), first, cap),
                     (q * sigma2 / (6 * low), room), (Q(1, 2), whole))
    sums = p.total("all covariances", step, {"X": "SX"}, "J", "q sigma2", over="the local steps 2, .., K")
    return p.conclude(sums, whole)


def split():
    """(33c) with its covariance, an identity; B = E|c|^2/K^2, C = -E<m + s, c>/K."""
    p = ft.Proof("K", "T T1 ET ET1 Ec", "Esc Emc SX", "m s c")
    K, m, s, c = p("K m s c")
    two = p.define("T2", p("T") - (m + s - c * (1 / K)).square)
    one = p.define("T21", p("T1") - (m + s).square)
    sure = p.follows("T2 for every draw", p("T1") - 2 / K * (m.dot(c) + s.dot(c)) + c.square / K**2 - p("T"), (-1, two), one,
                     equality=True)
    mean = p.expect("in the mean", sure, {"T": "ET", "T1": "ET1", "c_m": "Emc", "c_s": "Esc", "c_c": "Ec"})
    free = p.given("H* in sum", p("Emc"), "m is fixed, E c = 0", equality=True)
    first = p.follows("(33c) corrected", sum(f.split(p("ET1"), p("Ec") / K**2, -p("Esc") / K).values()) - p("ET"), mean,
                      (2 / K, free), equality=True)
    parts = p.define("covariance", 2 * K * p("Esc") + p("SX"), "s = -(1/K) sum_k eta_k h_k; SX without k = 1, where h = 0")
    return p.conclude(first, p.follows("by local steps", p("ET1") + p("SX") / K**2 + p("Ec") / K**2 - p("ET"), first,
                                       (1 / K**2, parts), equality=True))


def noise():
    """(33d) with 7/12 + 5/(12 K) of M sigma_l^2, and as printed; for K = 1 an equality where the noise has variance sigma_l^2."""
    p = ft.Proof("K", "J ET ET1 Ec q M sigma2", "SX")
    K, J, q, sigma2 = p("K J q sigma2")
    last, count, mean = p.lemma("(33c)", split(), 1), p.define("J", K - 1 - J), p.define("M", q - K * p("M"))
    sums, whole = (p.lemma(name, covariance(), which) for which, name in enumerate(("covariances", "noise")))
    share = f.share33d(K)
    sharp = p.follows("(33d) with less", p("ET1") + share * p("M") * sigma2 - p("ET"), last, (1 / K**2, sums), (1 / K**2, whole),
                      (Q(7, 12) * q * sigma2 / K**2, count), (-share * sigma2 / K, mean))
    return p.conclude(sharp, p.follows("(33d)", sum(f.bound33d(p("ET1"), p("M"), sigma2).values()) - p("ET"), sharp,
                                       (5 * p("M") * sigma2 / (12 * K), count)))


# ---- (34) and (35) ------------------------------------------------------------------------------------------------------
def exact():
    """(34d) with Assumptions 1 and 3 put in, then (34e).

    u, v = grad F at x_{t-tau} and x_t, h = grad f_i at x_{t-tau}, c = (1/K) sum_k eta_k (h - grad f_i(y_{k-1})), s2 = |h - ..|^2.
    """
    p = ft.Proof("L K N", "T1 ET1 Gamma2 D2 d2 ED sigma_g2 e2 r Er s2 Es z Z w W Ecc", "", "u v h c")
    L, K, N, D2, sigma_g2, e2 = p("L K N D2 sigma_g2 e2")
    u, v, h, c = p("u v h c")
    smooth = p.given("A1 for F", L**2 * D2 - (u - v).square, "D2 = |x_t - x_{t-tau}|^2; of F by lem2")
    near = p.given("A3", sigma_g2 - (h - u).square)
    one, two = N * (v - u), N * (u - h)
    whole = p.define("T21", p("T1") - (one + two + c).square, "N is the mean of the steps")
    three = [p.square(name, x) for name, x in (("three vectors", one - two), ("three vectors, second", two - c),
                                               ("three vectors, third", one - c))]
    sure = p.follows("(34d)", 3 * N**2 * L**2 * D2 + 3 * N**2 * sigma_g2 + 3 * c.square - p("T1"), (-1, whole), *three,
                     (3 * N**2, smooth), (3 * N**2, near))
    mean = p.expect("(34d) in the mean", sure, {"T1": "ET1", "c_c": "Ecc"}, "D2 sigma_g2")
    stale = p.given("A4 for every draw", p("Gamma2") * p("d2") - D2, "x_t and x_{t-tau} do not depend on the noise of this update")
    fresh = p.expect("A4 in the mean", stale, {"d2": "ED"}, fixed="Gamma2 D2")
    smooth_i = p.given("A1", L**2 * p("r") - p("s2"), "r = |y_{k-1} - x_{t-tau}|^2")
    step = p.expect("A1 in the mean", smooth_i, {"r": "Er", "s2": "Es"})
    parts = [p.define(name, value, "weighted by eta_k^2") for name, value in (("z", p("z") - e2 * p("Er")),
                                                                              ("w", p("w") - e2 * p("Es")))]
    weighted = p.follows("one step", L**2 * p("z") - p("w"), (e2, step), (L**2, parts[0]), (-1, parts[1]))
    total = p.total("all steps", weighted, {"z": "Z", "w": "W"}, K, over="local steps")
    jensen = p.standard("mean of the steps", p("W") / K - p("Ecc"), "Jensen", "c is the mean of K vectors")
    bound = f.bound34e(N, L, K, p("Gamma2"), p("ED"), sigma_g2, p("Z"))
    return p.conclude(mean, p.follows("(34e)", sum(bound.values()) - p("ET1"), mean, (3 * N**2 * L**2, fresh), (3, jensen),
                                      (3 / K, total)))


def corrected():
    """(35) with Gamma^2 ln(K + 1)/(4K), from (33d), (34e), (27e) and Lemma 3."""
    p = ft.Proof("L K N", "Gamma2 D2 d2 ED M log sigma_l2 sigma_g2 Z ET ET1", "", "u v")
    L, K, N, Gamma2, ED, M, log, sigma_l2, sigma_g2 = p("L K N Gamma2 ED M log sigma_l2 sigma_g2")
    u, v = p("u v")
    p.given("A1 for F", L**2 * p("D2") - (u - v).square, "D2 = |x_t - x_{t-tau}|^2; of F by lem2")
    stale = p.given("A4 for every draw", Gamma2 * p("d2") - p("D2"), "x_t and x_{t-tau} do not depend on the noise of this update")
    p.expect("A4 in the mean", stale, {"d2": "ED"}, fixed="Gamma2 D2")
    lem3 = p.lemma("Lemma 3", corollary1.lemma3(), d2=ED)
    loud, calm = p.lemma("(33d)", noise(), 1, sigma2=sigma_l2), p.lemma("(34e)", exact(), 1)
    drift = p.lemma("(27e)", corollary1.weighted_drift(), stale2=u.square)
    bound = f.bound35(N, M, L, K, log, Gamma2, v.square, ED, sigma_g2, sigma_l2)
    return p.conclude(p.follows("(35) corrected", sum(bound.values()) - p("ET"), loud, calm, (3 * L**2 / K, drift),
                                (log / (8 * K * L**2), lem3)))


def restricted():
    """(35) as printed, for L <= 1."""
    p = ft.Proof("L K N", "Gamma2 D2 d2 ED M log sigma_l2 sigma_g2 Z ET ET1", "", "u v")
    L, K, N, Gamma2, ED, M, log, sigma_l2, sigma_g2 = p("L K N Gamma2 ED M log sigma_l2 sigma_g2")
    flat = p.given("L at most 1", 1 - L)
    p.given("A1 for F", L**2 * p("D2") - (p("u") - p("v")).square, "D2 = |x_t - x_{t-tau}|^2; of F by lem2")
    p.given("A4 for every draw", Gamma2 * p("d2") - p("D2"), "x_t and x_{t-tau} do not depend on the noise of this update")
    right = p.lemma("(35) corrected", corrected())
    bound = f.printed35(N, M, L, K, log, Gamma2, p("v").square, ED, sigma_g2, sigma_l2)
    return p.conclude(p.follows("(35) as printed", sum(bound.values()) - p("ET"), right,
                                (Gamma2 * log * ED * (1 + L) / (4 * K * L**2), flat)))


def rho():
    """ln(K + 1)/(4 K L^2 N^2) is at least 9/2 ln 2 = 3.119.. for every schedule within (T1); equality at K = 1 and its cap."""
    p = ft.Proof("L K N m", "M e2 S2 b ln2 q l l1 qK log")
    L, K, N, m, M, e2, ln2, q, log = p("L K N m M e2 ln2 q l")
    place, half = p.given("place", m - 2, "m = 2, 3, ..; step 1 is the start"), p.given("ln 2", 1 - ln2, "ln 2 is at most 1")
    more = p.given("next logarithm", p("l1") - log - 2 / (2 * m + 1),
                   "ln((m + 1)/m) = 2 artanh z = 2 z + 2 z^3/3 + .. at z = 1/(2m + 1)")
    cap = 1 / (6 * m * (2 * m + 1))
    held = p.suppose("before step m", log - 18 * ln2 * q, "l = ln m, q = the sum of 1/(6k(2k + 1)) over k < m")
    then = p.follows("before step m + 1", p("l1") - 18 * ln2 * (q + cap), held, more, (2 / (m * (2 * m + 1)), place),
                     (3 / (m * (2 * m + 1)), half))
    end = p.induct("logarithm against the caps", held, then, {"m": 2, "q": Q(1, 18), "l": ln2},
                   {"m": m + 1, "q": q + cap, "l": "l1"}, {"m": K + 1, "q": "qK", "l": "log"})
    step = p.given("(T1)", p("b") - L**2 * e2, "b = 1/(6k(2k + 1)) and e2 = eta_k^2 of step k = 1, .., K")
    total = p.total("(T1) summed", step, {"b": "qK", "e2": "S2"}, K, over="local steps")
    square = p.define("M", p("S2") - K * M, "the sum of eta_k^2 is K M")
    jensen = p.standard("mean step", M - N**2, "Jensen", "N^2 <= M")
    whole = 1 / (4 * K * L**2 * N**2)
    return p.conclude(p.follows("rho", f.rho(K, L, N, p("log")) - Q(9, 2) * ln2, (whole, end), (18 * ln2 * whole, total),
                                (18 * ln2 * L**2 * whole, square), (18 * ln2 * K * L**2 * whole, jensen)))
