"""How far bounded gradients can move a parameter in one round, for every number of clients and local steps."""
import fltheory as ft
from verification.fedres.formulas import drift as f

DOMAIN = ("the upper bound for every number of clients, local steps and dimension; that it is attained, by the coded rounds of the "
          "listed settings")


def path(formula):
    """K steps of one length with directions of norm at most G: printed eta G K, lambda G K in Step 1."""
    p = ft.Proof("step G K", "g Sg D")
    step, G, K, g, Sg, D = p("step G K g Sg D")
    one = p.given("bounded gradient", G - g, "g = |gradient of one local step|")
    total = p.total("all local steps", one, {"g": "Sg"}, K, "G", over="local steps")
    moved = p.standard("displacement", step * Sg - D, "triangle inequality")
    return p.conclude(p.follows("the whole path", formula(step, K) * G - D, moved, (step, total)))


def corrected():
    """Local steps along g_i - c_i + c. With c_i and c of norm at most G the own variate counts 1 - 1/N, the others (N - 1)/N."""
    p = ft.Proof("eta G K N", "M g h Sh own a Sa c v Sv D")
    eta, G, K, N, M, g, h, Sh, own, a, Sa, c, v, Sv, D = p("eta G K N M g h Sh own a Sa c v Sv D")
    rest = p.define("other clients", N - 1 - M)
    here = p.given("bounded gradient", G - g, "g = |gradient of one local step of client i|")
    before = p.given("bounded gradients of the round before", G - h, "h = |gradient of one of its local steps then|")
    total = p.total("its local steps", before, {"h": "Sh"}, K, "G", over="local steps")
    mean = p.standard("own variate", Sh - K * own, "triangle inequality", "K c_i is the sum of those gradients, own = |c_i|")
    own_bound = p.follows("own variate bounded", G - own, (1 / K, total), (1 / K, mean))
    each = p.given("others' variates", G - a, "a = |c_j|, by the same argument")
    others = p.total("all others", each, {"a": "Sa"}, M, "G")
    mean_rest = p.standard("mean of the others", Sa / N - c, "triangle inequality", "c = |(1/N) sum over j other than i of c_j|")
    step = p.standard("local step", g + M / N * own + c - v, "triangle inequality",
                      "v = |g_i - c_i + c|; c_i counts 1 - 1/N in c - c_i")
    one = p.follows("one local step", f.corrected(1, 1, N) * G - v, step, here, (M / N, own_bound), mean_rest,
                    (1 / N, others), (2 * G / N, rest))
    every = p.total("all local steps", one, {"v": "Sv"}, K, "G N", over="local steps")
    moved = p.standard("displacement", eta * Sv - D, "triangle inequality")
    return p.conclude(p.follows("the whole path", f.corrected(eta, K, N) * G - D, moved, (eta, every)))
