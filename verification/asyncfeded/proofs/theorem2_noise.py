"""Pencil proof that noise alone keeps a floor for two and more local steps, whatever the server's step.

One client with F'(x) = L max(x, a x), 0 < a < 1, minimiser 0; noise is drawn afresh in every round, by one law that does
not depend on the models, with mean zero; in the first local step it is +-s with chance 1/2 each. q = 1 - z, qa = 1 - u:
z, u the products of 1 - L eta_k and of 1 - a L eta_k. Runs from different models are compared under the same noise: d is
their distance, d0 that at the start.
"""
import fltheory as ft
from verification.asyncfeded.formulas import theorem2 as f
from verification.asyncfeded.proofs.theorem2 import share_left


def below():
    """E y_K <= -delta P from 0: one kink passed in the second step, and no later step brings the mean back."""
    p = ft.Proof("L a e1 e2 s", "eta P PE", "gu gd Y2 Y YE YN y v g n Ey Ev Eg En")
    L, a, e1, e2, s, eta, P, Y, Y2, g = p("L a e1 e2 s eta P Y Y2 g")
    up = p.given("right of 0", p("gu") - L * e1 * s, "F'(y) >= L y at y_1 = e1 s")
    down = p.given("left of 0", p("gd") + a * L * e1 * s, "F'(y) >= a L y at y_1 = -e1 s")
    second = p.define("mean after two steps", Y2 + e2 * (p("gu") + p("gd")) / 2,
                      "Y2 = -e2 E F'(y_1): the noise of both steps has mean 0")
    first = p.follows("after two steps", -Y2 - f.noise_push(L, a, e1, e2, s), (-1, second),
                      (e2 / 2, up), (e2 / 2, down))
    cap = p.given("(T1)", 1 - a * L * eta, "L eta_k <= 1, a < 1")
    line = p.given("slope", g - a * L * p("y"), "F'(y) >= a L y")
    step = p.define("local step", p("v") - (p("y") - eta * g - eta * p("n")), "v = y_k")
    sure = p.follows("one step, surely", (1 - a * L * eta) * p("y") - eta * p("n") - p("v"), (eta, line), (-1, step))
    mean = p.expect("one step in the mean", sure, {"y": "Ey", "v": "Ev", "n": "En"}, fixed="eta")
    fair = p.given("unbiased noise", p("En"), "H*", equality=True)
    now, then_ = p.define("now", p("Ey") - Y, "Y = E y_{k-1}"), p.define("next", p("Ev") - p("YN"), "YN = E y_k")
    held = p.suppose("after k - 1 steps", P * Y2 - Y)
    then = p.follows("after k steps", P * (1 - a * L * eta) * Y2 - p("YN"), (held, cap), mean, (eta, fair),
                     (-(1 - a * L * eta), now), then_)
    end = p.induct("every later step", held, then, {"P": 1, "Y": Y2}, {"P": P * (1 - a * L * eta), "Y": "YN"},
                   {"P": "PE", "Y": "YE"}, keeps={"P": (P, cap)})
    return p.conclude(p.follows("after all steps", -p("YE") - f.noise_push(L, a, e1, e2, s) * p("PE"), end,
                                (p("PE"), first)))


def at_least():
    """Two runs under the same noise: d >= z d0 after all steps, z = prod(1 - L eta_k)."""
    p = ft.Proof("L d0", "eta", "d dN dE dg z zE")
    L, d0, eta, d, z = p("L d0 eta d z")
    steep = p.given("L-smooth", L * d - p("dg"), "F' grows by at most L d over the distance d")
    cap = p.given("(T1)", 1 - L * eta, "L eta_k <= 1, so that the runs keep their order")
    moved = p.define("local step", p("dN") - (d - eta * p("dg")), "the noise of both is the same")
    held = p.suppose("before", d - z * d0)
    then = p.follows("after", p("dN") - z * (1 - L * eta) * d0, (held, cap), (eta, steep), moved)
    return p.conclude(p.induct("at least", held, then, {"z": 1, "d": d0}, {"z": z * (1 - L * eta), "d": "dN"},
                               {"z": "zE", "d": "dE"}))


def at_most():
    """d <= u d0, u = prod(1 - a L eta_k)."""
    p = ft.Proof("L a d0", "eta", "d dN dE dg u uE")
    L, a, d0, eta, d, u = p("L a d0 eta d u")
    flat = p.given("slopes", p("dg") - a * L * d, "F' grows by at least a L d")
    cap = p.given("(T1), flat side", 1 - a * L * eta, "L eta_k <= 1, a < 1")
    moved = p.define("local step", p("dN") - (d - eta * p("dg")), "the noise of both is the same")
    held = p.suppose("before", u * d0 - d)
    then = p.follows("after", u * (1 - a * L * eta) * d0 - p("dN"), (held, cap), (eta, flat), (-1, moved))
    return p.conclude(p.induct("at most", held, then, {"u": 1, "d": d0}, {"u": u * (1 - a * L * eta), "d": "dN"},
                               {"u": "uE", "d": "dE"}))


def arrival():
    """h >= push - (1 - z)/(a L) |F'(x_t)| on both sides of 0, h the mean of x_t - y_K; h0 = -E y_K from 0 >= push."""
    p = ft.Proof("L a qa", "zE X G", "push h0 left right dl dr El Er")
    L, a, qa, z, X, G, h0, push = p("L a qa zE X G h0 push")
    most = p.given("z at most 1", 1 - z, "a product of numbers in [0, 1]")
    slope = p.given("slope", G - a * L * X, "G = |F'(x_t)| >= a L |x_t|")
    start = p.given("from the minimiser", h0 - push, "`below`")
    less = p.given("at least", p("dl") - z * X, "`at_least`, d0 = X = |x_t|: the run from x_t < 0 against that from 0")
    more = p.given("at most", (1 - qa) * X - p("dr"), "`at_most`, from x_t > 0; 1 - qa = prod(1 - a L eta_k)")
    lmean = p.expect("at least, in the mean", less, {"dl": "El"}, fixed="zE X")
    rmean = p.expect("at most, in the mean", more, {"dr": "Er"}, fixed="X")
    left = p.define("left of 0", p("left") + X - h0 - p("El"), "h = x_t - E y_K = -X + h0 + E d")
    right = p.define("right of 0", p("right") - X - h0 + p("Er"), "h = X + h0 - E d")
    steep, b = (1 / (a * L), slope, most), (1 - z) / (a * L)
    return p.conclude(p.follows("x_t < 0", p("left") - push + b * G, left, start, lmean, steep),
                      p.follows("x_t > 0", p("right") - push + b * G, right, start, rmean, (X, most), steep))


def moves():
    """1 - z <= L S for z = prod(1 - L eta_k), S = sum_k eta_k."""
    p = ft.Proof("L", "eta S SE z zE")
    L, eta, S, z = p("L eta S z")
    p.given("(T1)", 1 - L * eta, "L eta_k <= 1")
    before = p.lemma("share left", share_left(), zE=z, eta=L * eta)
    held = p.suppose("after k steps", L * S - (1 - z))
    then = p.follows("after k + 1 steps", L * (S + eta) - (1 - z * (1 - L * eta)), held, (L * eta, before))
    return p.conclude(p.induct("every k", held, then, {"S": 0, "z": 1}, {"S": S + eta, "z": z * (1 - L * eta)},
                               {"S": "SE", "z": "zE"}, keeps={"z": (z, p.facts["(T1)"])}))


def near():
    """E|x_t| <= D/qa at every t, from x_1 = 0; D = E|Delta| of a round from 0."""
    p = ft.Proof("L g qa", "SE zE R Rn xi U UN UE D", "dT")
    L, g, qa, z, R, U, D, d = p("L g qa zE R U D dT")
    cap = p.given("(T2)", 1 - g * L * p("SE"), "eta_g L S <= 1")
    inside = p.follows("eta_g (1 - z) at most 1", 1 - g * (1 - z), cap, (g, p.lemma("1 - z at most L S", moves())))
    less = p.given("at least", d - z * R, "`at_least` at d0 = R = |x_t|, d after the round")
    more = p.given("at most", (1 - qa) * R - d, "`at_most`")
    order = p.follows("no overshooting", R - g * (R - d), (g, less), (R, inside),
                      says="x_t + eta_g (Delta(x_t) - Delta(0)) has the sign of x_t")
    apart = p.standard("distance", R - g * (R - d) + g * p("xi") - p("Rn"), "triangle inequality",
                       "x_{t+1} = [x_t + eta_g (Delta(x_t) - Delta(0))] + eta_g Delta(0), Rn = |x_{t+1}|")
    sure = p.follows("one arrival, surely", (1 - g * qa) * R + g * p("xi") - p("Rn"), apart, (g, more))
    mean = p.expect("one arrival", sure, {"R": "U", "xi": "D", "Rn": "UN"})
    share = p.given("qa at most 1 - z", 1 - z - qa, "a < 1")
    slow = p.follows("eta_g qa at most 1", 1 - g * qa, inside, (g, share))
    held = p.suppose("E|x_t|", D / qa - U)
    then = p.follows("E|x_{t+1}|", D / qa - p("UN"), mean, (held, slow))
    return p.conclude(p.induct("every t", held, then, {"U": 0}, {"U": "UN"}, {"U": "UE"}), order)


def average():
    """b/T sum_t E|F'(x_t)| >= push - D/(qa g T) from x_1 = 0, where h >= push - b |F'(x_t)| at every x_t."""
    p = ft.Proof("g qa T b", "t G EG sumG total D UE", "push h Eh m mN mE")
    g, qa, T, b, t, sumG, push = p("g qa T b t sumG push")
    pushed = p.given("one round", p("h") - push + b * p("G"), "`arrival`, or exactly at the kinks")
    mean = p.expect("one round, in the mean", pushed, {"h": "Eh", "G": "EG"}, fixed="push")
    step = p.given("server", p("mN") - p("m") + g * p("Eh"),
                   "m = E x_t, noise unbiased given the past (H*)", equality=True)
    held = p.suppose("t arrivals", b * sumG - t * push - p("m") / g)
    then = p.follows("t + 1 arrivals", b * (sumG + p("EG")) - (t + 1) * push - p("mN") / g, held, mean, (-1 / g, step))
    end = p.induct("T arrivals", held, then, {"t": 0, "m": 0, "sumG": 0},
                   {"t": t + 1, "m": "mN", "sumG": sumG + p("EG")}, {"t": T, "m": "mE", "sumG": "total"})
    far = p.lemma("the last model", near())
    sign = p.standard("mean", p("UE") + p("mE"), "Jensen", "E x >= -E|x|")
    return p.conclude(p.follows("average", b * p("total") / T - push + p("D") / (qa * g * T), (1 / T, end),
                                (1 / (g * T), sign), (1 / (g * T), far)))


def whole():
    return below(), at_least(), at_most(), arrival(), average()
