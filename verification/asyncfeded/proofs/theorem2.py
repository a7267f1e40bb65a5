"""Pencil proofs around Theorem 2: K = 1, and the repaired bound for every number of local steps, any arrival order.

One arrival: G = grad F(x_t), V = G - grad F(x_{t-tau}), W = grad F - grad f_i at x_{t-tau}; A = sum_k eta_k grad
f_i(y_{k-1}), B the same sum of the noise, so that Delta = -(A + B); R = N (G - V - W) - A/K, the mean of eta_k (grad
f_i(x_{t-tau}) - grad f_i(y_{k-1})). dd = |x_t - x_{t-tau}|^2; F, Fn: F at x_t and x_{t+1}; H = |grad F(x_{t-tau})|^2.
Of one step: e = y_{k-1} - x_{t-tau}, u = grad f_i(y_{k-1}) - grad f_i(x_{t-tau}), w = -W, h = grad F(x_{t-tau}), n the
noise; e2, n2 squares, ee the mean of e2. Expectations are over the noise of the arrival, given the client, x_t,
x_{t-tau} and all that was drawn before. c: the share of the caps of (T1) that all eta_k keep to.
"""
import fltheory as ft
from verification.asyncfeded.formulas import theorem2 as f

HSTAR = ("noise has mean zero and variance at most sigma_l^2 given everything earlier in this round, in earlier "
         "rounds and at other clients, and given the client, x_t and x_{t-tau} (H*)")
DOMAIN = ("every number of clients, dimension, K and arrival order; " + HSTAR + "; ln(K+1) enters by "
          "ln((k+1)/k) >= 2/(2k+1) alone, the row cor1-log-sum")


# ---- K = 1 ----------------------------------------------------------------------------------------------------------
def telescoped(p, step, s, floor):
    """2/(s T) (F1 - FT) + floor - total/T >= 0, from s/2 X <= EF - EFn + s/2 floor at every arrival; total: sum of X."""
    t, T, F1, sumX, X = p("t T F1 sumX X")
    held = p.suppose("t arrivals", F1 - p("EF") + s / 2 * t * floor - s / 2 * sumX)
    then = p.follows("t + 1 arrivals", F1 - p("EFn") + s / 2 * (t + 1) * floor - s / 2 * (sumX + X), held, step)
    end = p.induct("T arrivals", held, then, {"t": 0, "EF": F1, "sumX": 0}, {"t": t + 1, "EF": "EFn", "sumX": sumX + X},
                   {"t": T, "EF": "FT", "sumX": "total"})
    return p.follows("average", 2 * (F1 - p("FT")) / (s * T) + floor - p("total") / T, (2 / (s * T), end))


def uniform():
    """K = 1, no staleness, clients drawn uniformly: g the client's gradient, n its noise; E over both and all before."""
    p = ft.Proof("L eta_g N T log theta", "t X sumX total Eg2 En2 sg2 sl2", "F Fn F1 EF EFn FT inf EGg EGn Egn",
                 "G g n")
    L, eta_g, N, T, sg2, sl2, theta, log, X = p("L eta_g N T sg2 sl2 theta log X")
    G, g, n = p("G g n")
    s, floor = eta_g * N, L * eta_g * N * (sg2 + sl2)
    cap = p.given("(T2)", 1 - L * s, "eta_g N L <= 1")
    local = p.given("(T1)", 1 - 18 * L**2 * N**2, "18 eta_1^2 L^2 <= 1")
    down = p.standard("descent", p("F") - p("Fn") - s * G.dot(g + n) + L * s**2 / 2 * (g + n).square, "descent lemma")
    mean = p.expect("in the mean", down,
                    {"F": "EF", "Fn": "EFn", "G_g": "EGg", "G_n": "EGn", "g_g": "Eg2", "n_n": "En2", "g_n": "Egn"})
    quiet = [p.given(f"unbiased noise against {v}", p(f"E{v}n"), "H*", equality=True) for v in "Gg"]
    drawn = p.given("uniform draws", p("EGg") - X, "E g = G given x_t, so that E<G, g> = E|G|^2 = X", equality=True)
    away = p.given("(A3)", X + sg2 - p("Eg2"), "E|g|^2 = E|G|^2 + E|g - G|^2, as E g = G given x_t")
    loud = p.given("(A2)", sl2 - p("En2"), "E|n|^2 <= sigma_l^2")
    one = p.follows("one arrival", p("EF") - p("EFn") + s / 2 * floor - s / 2 * X, mean, (s, drawn), (s, quiet[0]),
                    (-L * s**2, quiet[1]), (L * s**2 / 2, away), (L * s**2 / 2, loud), (s / 2 * X, cap))
    end, least = telescoped(p, one, s, floor), p.given("minimum", p("FT") - p("inf"), "F(x_*) <= F(x_{T+1})")
    smaller = p.given("Theta", 1 - theta, "0 < Theta <= 1")
    fits = p.follows("N and Theta", 1 - 18 * theta * L**2 * N**2, local, (18 * L**2 * N**2, smaller))
    bound = f.bound(L, 1, N, theta, log, eta_g, T, p("F1") - p("inf"), sl2, sg2)
    part = eta_g / (18 * L * N * theta) * (sl2 + sg2)
    return p.conclude(p.follows("(11)", sum(bound.values()) - p("total") / T, end, (2 / (s * T), least), (part, fits)))


def one_local_step():
    """K = 1 with staleness, equal gradients, no noise: g = grad F(x_{t-tau})."""
    p = ft.Proof("L eta_g N T", "t X sumX total dd Gamma2", "F1 EF EFn FT inf", "G g")
    L, eta_g, N, T, dd, Gamma2, (G, g) = *p("L eta_g N T dd Gamma2"), p("G g")
    s = eta_g * N
    down = p.standard("descent", p("EF") - p("EFn") - s * G.dot(g) + L * s**2 / 2 * g.square, "descent lemma")
    smooth = p.given("(A1)", L**2 * dd - (G - g).square, "dd = |x_t - x_{t-tau}|^2")
    near = p.given("(A4)", Gamma2 * N**2 * g.square - dd, "|Delta| = N |g|")
    room = p.given("condition", 1 - L * s - L**2 * N**2 * Gamma2, "L N eta_g + L^2 N^2 Gamma^2 <= 1")
    now = p.define("X", p("X") - G.square, "X = |grad F(x_t)|^2")
    one = p.follows("one arrival", p("EF") - p("EFn") - s / 2 * p("X"), down, (s / 2, smooth), (s / 2 * L**2, near),
                    (s / 2 * g.square, room), (-s / 2, now))
    end, least = telescoped(p, one, s, p("L") * 0), p.given("minimum", p("FT") - p("inf"), "F(x_*) <= F(x_{T+1})")
    bound = f.bound(L, 1, N, 1, 0, eta_g, T, p("F1") - p("inf"), 0, 0)
    return p.conclude(p.follows("(11)", sum(bound.values()) - p("total") / T, end, (2 / (s * T), least)))


# ---- any K: drift within a round ------------------------------------------------------------------------------------
def drifted(L, c, k, U, sl2):
    """P_{k-1} >= E|y_{k-1} - x_{t-tau}|^2; U = sigma_g^2 + |grad F(x_{t-tau})|^2."""
    return c**2 * ((k - 1) / (2 * L**2) * U + (k - 1) * (k + 2) / (24 * (k + 1) * L**2) * sl2)


def drift():
    """c^2 times Theorem 1 for every k, with its noise term as in (23g)."""
    p = ft.Proof("L c k kE", "ee een eeE H sg2 sl2 eta en2 v2", "Een Eun Ewn Ehn", "e u w h n")
    L, c, k, H, sg2, sl2, eta = p("L c k H sg2 sl2 eta")
    e, u, w, h, n = p("e u w h n")
    cap = p.given("share of (T1)", c**2 - 6 * k * (2 * k + 1) * L**2 * eta**2, "eta_k <= c cap_k")
    most = p.given("c at most 1", 1 - c)
    smooth = p.given("(A1)", L**2 * e.square - u.square, "f_i is L-smooth")
    near = p.given("(A3)", sg2 - w.square, "at x_{t-tau}")
    size = p.define("H", H - h.square, "H = |grad F(x_{t-tau})|^2")
    first = p.given("a step", k - 1, "k = 1, 2, ..")
    g, U = u + w + h, sg2 + H
    apart = [p.square(f"apart {m}", a - b) for m, (a, b) in enumerate(((u, w), (w, h), (h, u)))]
    own = p.follows("gradient", 3 * (L**2 * e.square + U) - g.square, *apart, (3, smooth), (3, near), (3, size),
                    says="|u + w + h|^2 <= 3 (|u|^2 + |w|^2 + |h|^2)")
    young = p.square("Young", e + 2 * k * eta * g)
    small = (2 * k + 1) * eta**2
    still = p.follows("without noise", (1 + 1 / k) * e.square + c**2 / (2 * k * L**2) * U - (e - eta * g).square,
                      (1 / (2 * k), young), (small, own), (e.square / (2 * k), cap), (U / (2 * k * L**2), cap),
                      ((1 + c) * e.square / (2 * k), most), says="with parameter 2k")
    after = p.define("local step", p("v2") - (e - eta * g - eta * n).square, "v2 = |y_k - x_{t-tau}|^2")
    sure = p.follows("one step, surely",
                     (1 + 1 / k) * e.square + c**2 / (2 * k * L**2) * U - 2 * eta * (e - eta * g).dot(n)
                     + eta**2 * n.square - p("v2"), still, (-1, after))
    mean = p.expect("one step in the mean", sure,
                    {"e_e": "ee", "v2": "een", "n_n": "en2", "e_n": "Een", "n_u": "Eun", "n_w": "Ewn",
                                                   "h_n": "Ehn"}, fixed="H sg2 eta")
    past = {v: p.given(f"unbiased noise against {v}", p(f"E{v}n"), "H*", equality=True) for v in "euwh"}
    loud = p.given("(A2)", sl2 - p("en2"), "E|n|^2 <= sigma_l^2")
    held = p.suppose("before step k", drifted(L, c, k, U, sl2) - p("ee"))
    then = p.follows("before step k + 1", drifted(L, c, k + 1, U, sl2) - p("een"), mean, (1 + 1 / k, held),
                     (2 * eta, past["e"]),
                     *((-2 * eta**2, past[v]) for v in "uwh"), (eta**2, loud),
                     (sl2 / (6 * k * (2 * k + 1) * L**2), cap),
                     (c**2 * sl2 / (6 * k * (k + 2) * (2 * k + 1) * L**2), first))
    end = p.induct("every step", held, then, {"k": 1, "ee": 0}, {"k": k + 1, "ee": "een"}, {"k": p("kE"), "ee": "eeE"})
    return p.conclude(end)


def steps():
    """E Q <= c^4 ln(K + 1)/(24 L^4) (sigma_g^2 + H + sigma_l^2/12) for Q = sum_k eta_k^2 |y_{k-1} - x_{t-tau}|^2."""
    p = ft.Proof("L c k K", "ee H sg2 sl2 eta hk h log r EQ")
    L, c, k, H, sg2, sl2, eta, log = p("L c k H sg2 sl2 eta log")
    cap = p.given("share of (T1)", c**2 - 6 * k * (2 * k + 1) * L**2 * eta**2, "eta_k <= c cap_k")
    p.given("c at most 1", 1 - c)
    first = p.given("a step", k - 1, "k = 1, 2, ..")
    far = p.lemma("drift before step k", drift(), kE=k, eeE=p("ee"))
    share = p.define("1/(2k + 1)", p("hk") - 1 / (2 * k + 1), "hk")
    own = p.define("r", p("r") - eta**2 * p("ee"), "r = eta_k^2 E|y_{k-1} - x_{t-tau}|^2")
    worth = c**4 / (12 * L**4) * (sg2 + H + sl2 / 12)
    one = p.follows("one step", worth * p("hk") - p("r"), (eta**2, far), (-1, own), (worth, share),
                    (drifted(L, c, k, sg2 + H, sl2) / ((k - 1) * 6 * k * (2 * k + 1) * L**2), first, cap))
    total = p.total("all steps", one, {"hk": "h", "r": "EQ"}, p("K"), "sg2 H sl2", over="local steps")
    known = p.given("logarithm", log / 2 - p("h"), "h = sum_k 1/(2k + 1), as ln((k+1)/k) >= 2/(2k+1)")
    return p.conclude(p.follows("within a round", c**4 * log / (24 * L**4) * (sg2 + H + sl2 / 12) - p("EQ"), total,
                                (worth, known)))


# ---- any K: one arrival ---------------------------------------------------------------------------------------------
def noise():
    """E|B|^2 <= K M sigma_l^2 for B = sum_k eta_k n_k."""
    p = ft.Proof("K", "M sl2 eta n2 es en Se b2 EB")
    sl2, eta = p("sl2 eta")
    loud = p.given("(A2)", sl2 - p("n2"), "E|n_k|^2 <= sigma_l^2")
    square = p.define("square", p("es") - eta**2, "eta_k^2")
    own = p.define("own", p("en") - eta**2 * p("n2"), "eta_k^2 E|n_k|^2")
    one = p.follows("one step", sl2 * p("es") - p("en"), (eta**2, loud), (sl2, square), (-1, own))
    total = p.total("all steps", one, {"es": "Se", "en": "b2"}, p("K"), "sl2", over="local steps")
    mean = p.define("M", p("Se") - p("K") * p("M"), "M = sum_k eta_k^2/K")
    apart = p.standard("noise of a round", p("b2") - p("EB"), "variance of a sum", "martingale differences, H*")
    return p.conclude(p.follows("noise", p("K") * p("M") * sl2 - p("EB"), apart, total, (-sl2, mean)))


def arrival():
    """(1 - rho) |grad F(x_t)|^2 <= 2/(K N eta_g) (F - E F(x_{t+1})) + floors, given the client, x_t and x_{t-tau}."""
    p = ft.Proof("L K N eta_g c", "log M dd Gamma2 sg2 sl2 Q EQ H EB EA", "F Fn EFn EGB EAB", "G V W A B")
    L, K, N, eta_g, c, log, M, Gamma2, sg2, sl2, H = p("L K N eta_g c log M Gamma2 sg2 sl2 H")
    G, V, W, A, B = p("G V W A B")
    delta, R = A + B, N * (G - V - W) - (1 / K) * A
    down = p.standard("descent", p("F") - p("Fn") - eta_g * G.dot(delta) + L * eta_g**2 / 2 * delta.square,
                      "descent lemma")
    smooth = p.given("(A1) of F", L**2 * p("dd") - V.square, "grad F at x_t and x_{t-tau}")
    stale = p.given("(A4)", Gamma2 * delta.square - p("dd"), "for every outcome of the noise")
    near = p.given("(A3)", sg2 - W.square, "at x_{t-tau}")
    local = p.standard("within the round", L**2 / K * p("Q") - R.square, "Cauchy-Schwarz",
                       "R: mean of eta_k (grad f_i(x_{t-tau}) - grad f_i(y_{k-1})), f_i L-smooth; Q = sum_k eta_k^2 "
                       "|y_{k-1} - x_{t-tau}|^2")
    moved = p.follows("staleness", L**2 * Gamma2 * delta.square - V.square, smooth, (L**2, stale))
    back = p.define("H", H - (G - V).square, "H = |grad F(x_{t-tau})|^2, G - V the gradient there")
    old = p.follows("gradient there, surely", 2 * G.square + 2 * L**2 * Gamma2 * delta.square - H,
                    p.square("G + V", G + V), (2, moved),
                    (-1, back))
    three = [p.square(f"three parts {m}", a - b) for m, (a, b) in enumerate(((N * V, N * W), (N * W, R), (R, N * V)))]
    sides = N**2 * L**2 * Gamma2 * delta.square + N**2 * sg2 + L**2 / K * p("Q")
    T21 = p.follows("T21, surely", 3 * sides - (N * G - (1 / K) * A).square, *three, (3 * N**2, moved),
                    (3 * N**2, near), (3, local),
                    says="N G - A/K = N V + N W + R")
    sure = p.follows("descent, surely", p("F") - p("Fn") - eta_g * G.dot(B) + L * eta_g**2 / 2 * delta.square
                     - K * N * eta_g / 2 * G.square - eta_g / (2 * K * N) * A.square + 3 * K * eta_g / (2 * N) * sides,
                     down,
                     (K * eta_g / (2 * N), T21))
    becomes = {"Fn": "EFn", "B_G": "EGB", "A_A": "EA", "A_B": "EAB", "B_B": "EB", "Q": "EQ"}
    mean = p.expect("descent in the mean", sure, becomes, fixed="F G_G Gamma2 sg2")
    there = p.expect("gradient there", old, {k: becomes[k] for k in ("A_A", "A_B", "B_B")}, fixed="H G_G Gamma2")
    two = p.expect("two parts", p.square("A - B", A - B), {k: becomes[k] for k in ("A_A", "A_B", "B_B")})
    past = p.given("unbiased noise", p("EGB"), "H*: E<grad F(x_t), B> = 0", equality=True)
    p.given("c at most 1", 1 - c)
    within, loud = p.lemma("within the round, in the mean", steps()), p.lemma("noise of the round", noise())
    room = p.given("condition", 1 - f.room(L, K, N, log, c**4, eta_g, Gamma2), "2 S L eta_g + 2 K^2 Gamma^2 w <= 1")
    r = f.rho(L, K, N, log, c**4)
    weight = K * eta_g * Gamma2 * f.weight(L, K, N, log, c**4) / (2 * N) + L * eta_g**2 / 2   # of E|Delta|^2
    half, scale = eta_g / (2 * K * N), 2 / (K * N * eta_g)
    load = f.room(L, K, N, log, c**4, eta_g, Gamma2)   # what the condition keeps below 1; so much of E|B|^2 is left
    floor = sum(f.repaired_floor(L, K, N, M, log, c**4, eta_g, Gamma2, sl2, sg2).values())
    return p.conclude(p.follows(
        "one arrival", scale * (p("F") - p("EFn")) + floor - (1 - r) * G.square, (scale, mean), (scale * eta_g, past),
        (3 * L**2 / N**2 / K, within), (L**2 * c**4 * log / (8 * K * L**4 * N**2), there), (scale * weight, two),
        (scale * half * p("EA"), room), (scale * half * load, loud)))


def repaired():
    """The repaired bound: all arrivals at one eta_g; noise of both kinds."""
    p = ft.Proof("L K N eta_g c T below", "t log M Gamma2 sg2 sl2 GG X sumX total", "F EFn EF EFm F1 FT")
    L, K, N, eta_g, c, T, log, M, Gamma2, sg2, sl2, X, t = p("L K N eta_g c T log M Gamma2 sg2 sl2 X t")
    p.given("c at most 1", 1 - c)
    p.given("condition", 1 - f.room(L, K, N, log, c**4, eta_g, Gamma2), "2 S L eta_g + 2 K^2 Gamma^2 w <= 1")
    r, s = f.rho(L, K, N, log, c**4), K * N * eta_g
    floor = sum(f.repaired_floor(L, K, N, M, log, c**4, eta_g, Gamma2, sl2, sg2).values())
    small = p.given("rho below 1", 1 - r - p("below"), "rho < 1")
    one = p.lemma("one arrival", arrival(), G_G=p("GG"))
    mean = p.expect("over all that came before", one, {"F": "EF", "EFn": "EFm", "GG": "X"},
                    fixed="log M Gamma2 sg2 sl2")
    held = p.suppose("t arrivals", 2 / s * (p("F1") - p("EF")) + t * floor - (1 - r) * p("sumX"))
    then = p.follows("t + 1 arrivals", 2 / s * (p("F1") - p("EFm")) + (t + 1) * floor - (1 - r) * (p("sumX") + X), held,
                     mean)
    end = p.induct("T arrivals", held, then, {"t": 0, "EF": p("F1"), "sumX": 0},
                   {"t": t + 1, "EF": "EFm", "sumX": p("sumX") + X},
                   {"t": T, "EF": "FT", "sumX": "total"})
    whole = p.follows("average", 2 / (s * T) * (p("F1") - p("FT")) + floor - (1 - r) * p("total") / T, (1 / T, end))
    bound = f.repaired(L, K, N, M, log, c**4, eta_g, T, p("F1") - p("FT"), Gamma2, sl2, sg2)
    return p.conclude(p.cancel("the bound", sum(bound.values()) - p("total") / T, whole, small, p("below")))


def varying():
    """Without noise for eta_g in [low, high] at every arrival, as rule (7) gives them; sumE: the sum of the eta_g."""
    p = ft.Proof("L K N eta_t low high c T below", "t log M Gamma2 sg2 X sumX total sumE totalE", "F Fn F1 FT")
    L, K, N, eta_t, low, high, c, T, log, sg2, X = p("L K N eta_t low high c T log sg2 X")
    p.given("c at most 1", 1 - c)
    room = p.given("condition", 1 - f.room(L, K, N, log, c**4, high, p("Gamma2")),
                   "2 S L eta_max + 2 K^2 Gamma^2 w <= 1")
    least, most = p.given("eta_min", eta_t - low), p.given("eta_max", high - eta_t)
    p.follows("condition at this arrival", 1 - f.room(L, K, N, log, c**4, eta_t, p("Gamma2")), room,
              (2 * K * N * L, most))
    r, floor = f.rho(L, K, N, log, c**4), (3 + f.rho(L, K, N, log, c**4) / 2) * sg2
    small = p.given("rho below 1", 1 - r - p("below"), "rho < 1")
    one = p.lemma("one arrival", arrival(), eta_g=eta_t, G_G=X, EFn=p("Fn"), sl2=p("L") * 0)
    held = p.suppose("t arrivals", 2 / (K * N) * (p("F1") - p("F")) + p("sumE") * floor - (1 - r) * low * p("sumX"))
    then = p.follows("t + 1 arrivals",
                     2 / (K * N) * (p("F1") - p("Fn")) + (p("sumE") + eta_t) * floor - (1 - r) * low * (p("sumX") + X),
                     held, (eta_t, one), (X, least, small), (X * p("below"), least))
    end = p.induct("T arrivals", held, then, {"F": p("F1"), "sumX": 0, "sumE": 0},
                   {"F": "Fn", "sumX": p("sumX") + X, "sumE": p("sumE") + eta_t},
                   {"F": "FT", "sumX": "total", "sumE": "totalE"})
    whole = p.follows("average", 2 / (K * N * low * T) * (p("F1") - p("FT")) + p("totalE") / (T * low) * floor
                      - (1 - r) * p("total") / T, (1 / (T * low), end))
    bound = f.repaired(L, K, N, 0, log, c**4, low, T, p("F1") - p("FT"), p("Gamma2"), 0, sg2, p("totalE") / (T * low))
    return p.conclude(p.cancel("the bound", sum(bound.values()) - p("total") / T, whole, small, p("below")))


# ---- one client x^2/2, every K >= 2 ---------------------------------------------------------------------------------
def share_left():
    """z = prod_k (1 - eta_k) <= 1."""
    p = ft.Proof("", "eta z zE")
    eta, z = p("eta z")
    cap = p.given("(T1)", 1 - eta, "eta_k <= 1")
    held = p.suppose("after k steps", 1 - z)
    then = p.follows("after k + 1 steps", 1 - z * (1 - eta), held)
    return p.conclude(p.induct("every k", held, then, {"z": 1}, {"z": z * (1 - eta)}, {"z": "zE"},
                               keeps={"z": (z, cap)}))


def not_the_whole_way():
    """S - q >= e1 e2 > 0 for S = sum_k eta_k, q = 1 - prod_k (1 - eta_k) and every K >= 2, e1, e2 the last two steps."""
    p = ft.Proof("e1 e2", "eta S SE z zE")
    e1, e2, eta, S, SE, z, zE = p("e1 e2 eta S SE z zE")
    cap, also = p.given("(T1)", 1 - eta, "eta_k <= 1"), p.given("(T1) of e1", 1 - e1)
    before = p.lemma("share left", share_left(), zE=z)
    held = p.suppose("after k steps", S - (1 - z))
    then = p.follows("after k + 1 steps", S + eta - (1 - z * (1 - eta)), held, (eta, before))
    end = p.induct("all but two", held, then, {"S": 0, "z": 1}, {"S": S + eta, "z": z * (1 - eta)},
                   {"S": "SE", "z": "zE"},
                   keeps={"z": (z, cap)})
    last = p.lemma("share left before them", share_left())
    return p.conclude(p.follows("all", SE + e1 + e2 - (1 - zE * (1 - e1) * (1 - e2)) - e1 * e2, end, (e1, last),
                                (e2, last, also)))
