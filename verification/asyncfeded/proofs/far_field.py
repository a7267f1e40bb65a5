"""Linear losses: the staleness of equal clients that arrive in turn converges geometrically; scaling all K changes nothing.

Of m equal clients with one common gradient, K local steps each, the server moves by eta_j Delta at every arrival, and gamma at
an arrival is the sum of the last m - 1 steps eta_j. N = m - 1; e is the positive root of e (N e + eps) = lambda, c a number with
eta <= e + c for all of the last N arrivals.
"""
import fltheory as ft
from verification.asyncfeded.formulas import far_field as f

DOMAIN = ("every number m >= 2 of clients, dimension, K, local step, lambda > 0 and eps > 0; m clients of equal speed with one "
          "common linear loss")
SCALED = ("every number of clients, dimension, paces, linear losses, K and factor; by induction over arrivals from x_1, where "
          "all distances are 0; a constant local step, no transmission times, no noise, no momentum between runs")


def convergence():
    """After N arrivals eta >= l, after N more eta <= e + c' with c' <= theta^2 c; from c = lambda/eps - e on, for ever."""
    p = ft.Proof("e eps N c cT", "r g h g2 h2 rT")
    e, eps, N, c, r, g, h, g2, h2 = p("e eps N c r g h g2 h2")
    lam, theta, start = e * (N * e + eps), N * e / (N * e + eps), N * e**2 / eps
    least = lam / (N * (e + c) + eps)
    rule = p.given("rule (7)", h * (g + eps) - lam, "h = lambda/(gamma + eps)", equality=True)
    sum_ = p.given("staleness at most", N * (e + c) - g, "at most N steps, each at most e + c")
    low = p.follows("steps from below", h - least, (h / (N * (e + c) + eps), sum_), (1 / (N * (e + c) + eps), rule))
    near = p.follows("how near", h - e + theta * c, low, says="e - h <= theta c")
    rule2 = p.given("rule (7), N arrivals later", h2 * (g2 + eps) - lam, equality=True)
    sum2 = p.given("staleness at least", g2 - N * least, "N steps, none below that bound")
    below = N * least + eps
    gap = f.next_gap(N, eps, e, c)
    high = p.follows("steps from above", e + gap - h2, (h2 / below, sum2), (-1 / below, rule2))
    held = p.suppose("gap", start * r - c, "c <= (lambda/eps - e) r")
    then = p.follows("next gap", start * theta**2 * r - gap, (theta**2, held))
    end = p.induct("gap after n double passes", held, then, {"r": 1, "c": start}, {"r": theta**2 * r, "c": gap},
                   {"r": "rT", "c": "cT"})
    first = p.follows("start", e + start - lam / eps, says="eta <= lambda/eps always", equality=True)
    fixed = p.follows("the limit", N * e * (N * e + eps) - N * lam, says="gamma = N e there", equality=True)
    return p.conclude(near, high, end, first, fixed)


def scaled():
    """All K times c: positions from x_1 and times are c times as large, and gamma is what it was."""
    p = ft.Proof("c lr K pace least", "eta G G2", "s P P2 Pn P2n D D2 F F2 Fn F2n", "u v")
    c, eta, K, G, G2, u, v = p("c eta K G G2 u v")
    local, local2 = p.define("D", p("D") + p("lr") * K * p("s"), "Delta, of slope s"), p.define(
        "D2", p("D2") + p("lr") * c * K * p("s"), "Delta with c K steps")
    held = p.given("up to now", p("P2") - c * p("P"), "positions of the server and of the bases, from x_1", equality=True)
    move, move2 = p.define("Pn", p("Pn") - p("P") - eta * p("D"), "(5)"), p.define("P2n", p("P2n") - p("P2") - eta * p("D2"), "(5)")
    after = p.follows("positions", p("P2n") - c * p("Pn"), held, move2, (-c, move), (eta, local2), (-eta * c, local), equality=True)
    clock = p.given("times up to now", p("F2") - c * p("F"), equality=True)
    run, run2 = p.define("Fn", p("Fn") - p("F") - p("pace") * K), p.define("F2n", p("F2n") - p("F2") - p("pace") * c * K)
    times = p.follows("times", p("F2n") - c * p("Fn"), clock, run2, (-c, run), equality=True)
    one = p.given("gamma^2", G * v.square - u.square, "(6), u = x - base and v = Delta", equality=True)
    two = p.given("gamma^2, scaled", G2 * (c * v).square - (c * u).square, "(6)", equality=True)
    length = p.given("Delta is not 0", v.square - p("least"))
    same = []
    for name, sign in (("not below", 1), ("not above", -1)):
        whole = p.follows(f"{name}, times |Delta|^2", sign * v.square * (G2 - G), (sign / c**2, two), (-sign, one))
        same.append(p.cancel(f"gamma^2 {name}", sign * (G2 - G), whole, length, p("least")))
    return p.conclude(after, times, *same)
