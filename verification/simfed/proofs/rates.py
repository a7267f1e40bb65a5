"""Pencil proofs about clients of one curvature h: for every number of clients, every symmetric graph and every E.

Symbols: x the server's model; u, c, y of one client: its neighbours' mean, minimiser and last local model; U, C, V their weighted
means; w the optimum; z the power that E local steps leave. A client's closed form is a hypothesis here: the claims prove it by
induction on the coded local step, and it is tried on coded rounds.
"""
import fltheory as ft
from verification.simfed.formulas import rates as f


def optimum(p):
    return p.define("optimum", p("C") - p("w"), "w* = sum_i p_i c_i where all curvatures are equal")


def mean_of_ours(one_step=False):
    """V - w* = factor (x - w*); with one local step the factor has no beta."""
    p = ft.Proof("gamma beta h" if one_step else "beta", signed="x u c y U C V w" + " z" * (not one_step))
    beta, x = p("beta x")
    z = 1 - p("gamma") * beta * p("h") if one_step else p("z")
    one = p.given("a client after its steps", f.client(z, beta, x, p("u"), p("c")) - p("y"), "(1 - gamma beta h)^E is common",
                  equality=True)
    total = p.total("all clients", one, {"u": "U", "c": "C", "y": "V"}, 1, "x" + " z" * (not one_step))
    heard = p.given("neighbours on average", p("U") - x, "sum_i p_i u_i = sum_n p_n w_n, since p' P = p'", equality=True)
    best = optimum(p)
    factor = 1 - p("gamma") * p("h") if one_step else f.mean_ours(z, beta)
    return p.conclude(p.follows("mean of the method", factor * (x - p("w")) - (p("V") - p("w")), total,
                                ((1 - z) * (1 - beta) / beta, heard), (-(1 - z) / beta, best), equality=True))


def mean_of_prox(one_step=False):
    """s = h + alpha."""
    p = ft.Proof("h s" + " gamma" * one_step, signed="x c y C V w" + " z" * (not one_step))
    h, s, x = p("h s x")
    z = 1 - p("gamma") * s if one_step else p("z")
    one = p.given("a client after its steps", f.client_prox(z, h, s - h, x, p("c")) - p("y"), "(1 - gamma (h + alpha))^E is common",
                  equality=True)
    total = p.total("all clients", one, {"c": "C", "y": "V"}, 1, "x" + " z" * (not one_step))
    best = optimum(p)
    factor = 1 - p("gamma") * h if one_step else f.mean_prox(z, h, s - h)
    return p.conclude(p.follows("mean of FedProx", factor * (x - p("w")) - (p("V") - p("w")), total,
                                (-h * (1 - z) / s, best), equality=True))


def means():
    """D1 for the method and for FedProx."""
    return [mean_of_ours(), mean_of_prox()]


def single_step():
    """D2 at E = 1."""
    return [mean_of_ours(one_step=True), mean_of_prox(one_step=True)]


def ordering():
    """phi(s) = gamma sum_{j<E} (1 - gamma s)^j falls in s while gamma s <= 1, by gamma^2 e at least from s to s + e if E >= 2.

    b = 1 - gamma (s + e) and a = b + gamma e; T and gamma + r are phi(s) and phi(s + e) after k steps, k >= 1.
    """
    p = ft.Proof("gamma e", "b r rE", "T TE")
    gamma, e, b, r, T = p("gamma e b r T")
    a = b + gamma * e
    held = p.suppose("after k steps", T - (gamma + r), "phi(s) - phi(s + e) >= 0; both are gamma at k = 1")
    then = p.follows("after k + 1 steps", a * T + gamma - (gamma + b * (gamma + r)), (a, held))
    end = p.induct("after E - 1 steps", held, then, {"T": gamma, "r": 0}, {"T": a * T + gamma, "r": b * (gamma + r)},
                   {"T": "TE", "r": "rE"}, says="from k = 1; one more step multiplies by a or b and adds gamma")
    TE, rE = p("TE rE")
    return p.conclude(p.follows("after E >= 2 steps", a * TE + gamma - (gamma + b * (gamma + rE)) - gamma**2 * e, (a, end)))


def steps_of(p, k):
    """r = 1 - (1 - x)^k after k local steps, b = 1 - x >= 0: how it advances, and what b is."""
    return {k: p(k) + 1, "r": p("x") + p("b") * p("r")}, p.define("b", p("b") + p("x") - 1, "b = 1 - x >= 0 by the cap")


def safe_beyond_half():
    """D5 for beta = 1/2 + s, x = gamma beta h <= 1: R = 1 - (1 - x)^E lies in [x, 1]. lam: |eigenvalue| of a deviation.

    Times beta^2 and beta: 1 - (mean factor)^2 >= 2 s x and 1 - |factor of the deviation| >= 2 s.
    """
    p = ft.Proof("x s", "b r rE k t lam m")
    x, s, b, r, t, lam = p("x s b r t lam")
    further, one = steps_of(p, "k")
    held = p.suppose("R at most 1", 1 - r)
    then = p.follows("one step more", 1 - further["r"], (b, held), (-1, one))
    last = p.induct("after E - 1 steps", held, then, {"k": 0, "r": 0}, further, {"k": p("m"), "r": "rE"})
    R = x + b * p("rE")
    top = p.follows("R at most 1 after E steps", 1 - R, (b, last), (-1, one))
    p.define("1 - beta", t + s - ft.fraction("1/2"), "beta = 1/2 + s is at most 1, t = 1 - beta >= 0")
    within = p.given("eigenvalues", 1 - lam, "P is stochastic and self-adjoint in the inner product with weights p: |lam| <= 1")
    beta = s + ft.fraction("1/2")
    mean = p.follows("mean", R * (2 * beta - R) - 2 * s * x, (R, top))
    apart = p.follows("deviations", beta - t * R * lam - 2 * s, (t, top), (t * R, within), (-1, p.facts["1 - beta"]))
    return p.conclude(mean, apart)


def safe_short_steps():
    """D5 for every beta if gamma E h <= 1: R <= E x <= beta. Times beta^2 and beta: 1 - (mean factor)^2 >= beta x and
    1 - |factor of the deviation| >= beta^2."""
    p = ft.Proof("gamma h beta x", "b r rE k t lam m")
    gamma, h, beta, x, b, r, k, t, lam, m = p("gamma h beta x b r k t lam m")
    p.define("x", x - gamma * beta * h)
    further, one = steps_of(p, "k")
    held = p.suppose("R at most k x", k * x - r)
    then = p.follows("one step more", (k + 1) * x - further["r"], held, (-r, one))
    last = p.induct("after E - 1 steps", held, then, {"k": 0, "r": 0}, further, {"k": m, "r": "rE"})
    R = x + b * p("rE")
    cap = p.given("short steps", 1 - gamma * (m + 1) * h, "gamma E h <= 1, E = m + 1")
    top = p.follows("R at most beta", beta - R, last, (-p("rE"), one), (beta, cap), (-(m + 1), p.facts["x"]))
    p.define("1 - beta", t + beta - 1, "beta <= 1, t = 1 - beta >= 0")
    within = p.given("eigenvalues", 1 - lam, "P is stochastic and self-adjoint in the inner product with weights p: |lam| <= 1")
    mean = p.follows("mean", R * (2 * beta - R) - beta * x, (R, top))
    apart = p.follows("deviations", beta - t * R * lam - beta**2, (t, top), (t * R, within), (-beta, p.facts["1 - beta"]))
    return p.conclude(mean, apart)


def safe():
    return [safe_beyond_half(), safe_short_steps()]


def any_graph():
    """D6: the rank-one graph p_in = p_i p_n has columns, and so rows, that sum to p_n, for every p and number of clients n."""
    p = ft.Proof("pn n", "q e Q E")
    pn = p("pn")
    one = p.given("edge weights", pn * p("q") - p("e"), "q = p_i, pn = p_n", equality=True)
    total = p.total("a column", one, {"q": "Q", "e": "E"}, "n", "pn")
    unit = p.given("weights", p("Q") - 1, "sum_i p_i = 1", equality=True)
    return p.conclude(p.follows("p' P = p'", pn - p("E"), total, (-pn, unit), equality=True))


def unbiased():
    """D7: with one local step the server's model makes a gradient step of f, whatever the losses and alpha."""
    p = ft.Proof("gamma", "alpha", signed="x v g V G")
    gamma, x, v = p("gamma x v")
    one = p.given("one local step", v - x + gamma * (p("g") + p("alpha") * (x - x)), "the proximal term is 0 at the server's model",
                  equality=True)
    total = p.total("all clients", one, {"v": "V", "g": "G"}, 1, "x")
    return p.conclude(p.follows("the server's move", p("V") - x + gamma * p("G"), total, says="G = grad f(x)", equality=True))
