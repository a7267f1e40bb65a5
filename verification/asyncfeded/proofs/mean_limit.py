"""Clients drawn uniformly and never stale: the mean of the server's model tends to the point where the mean update vanishes."""
import fltheory as ft

DOMAIN = ("every number of clients h_i (x - b_i)^2/2 on the line, K, local steps and constant eta_g; clients drawn uniformly and "
          "independently, no staleness; noise with H*")


def tends():
    """E x_t - r = w (x_1 - r) with w = (1 - eta_g Q)^(t-1). Q, B: means of Q_i and Q_i b_i over clients; r: the resting point."""
    p = ft.Proof("", "", "g Q B r x1 w m mn best")
    g, Q, r, x1, w, m = p("g Q r x1 w m")
    rests = p.given("resting point", Q * r - p("B"), "sum_i Q_i (r - b_i) = 0", equality=True)
    move = p.given("one arrival", p("mn") - m + g * (Q * m - p("B")),
                   "E Delta = -E Q_i (x - b_i): i is drawn independently of x, and noise has mean 0 given both", equality=True)
    held = p.given("up to now", m - r - w * (x1 - r), "E x_t - r = w (x_1 - r); 0 at w = 1, m = x_1", equality=True)
    then = p.follows("next", p("mn") - r - (1 - g * Q) * w * (x1 - r), move, (-g, rests), (1 - g * Q, held), equality=True,
                     says="by induction over t")
    first = p.follows("start", x1 - r - 1 * (x1 - r), equality=True, says="t = 1")
    same = p.given("equal curvature", Q * p("best") - p("B"), "Q_i = Q: both are Q times the mean of b_i", equality=True)
    there = p.follows("then r is the minimiser, times Q", Q * (r - p("best")), rests, (-1, same), equality=True)
    return p.conclude(then, first, there)
