"""Pencil proofs of FOCUS: local drift, Lemmas 3 and 4 as corrected, Theorem 1.

For every number of clients, dimension, number of local steps and law with independent rounds; of the clients only Lipschitz
gradients are used, and of F what each statement assumes.

Symbols of one client: b = |x - z| (z the point of its stored gradient), D = |x - u| after its T = tau - 1 moves, J = 1 where it
takes part, a = x - z' with the new point z', b2 = b^2, D2 = |a|^2. Sums over clients: B of b2, S of D2, B1 of |x' - z'|^2. The
server moves by -eta y, y the sum of the stored gradients after the round; g = grad F(x), h = grad F(x').
"""
import fltheory as ft


def drift(most):
    """(most - 1)^2 D^2 <= b^2 for a participant, eta L T <= 1/most: by induction (1 - k t) d_t <= k t b with k = eta L."""
    p = ft.Proof("L eta", "T t d d1 b D v w")
    L, eta, T, t, d, d1, b, D, v, w = p("L eta T t d d1 b D v w")
    k = L * eta
    cap = p.given("local steps", 1 - most * k * T, f"eta <= 1/({most} L (tau - 1))")
    inside = p.given("index", T - t - 1, "t <= tau - 2", within="t")
    near = p.standard("distance to the stored point", d + b - w, "triangle inequality", "w = |u_t - z|, d = |u_t - x|, b = |x - z|")
    change = p.given("change of the gradient", L * w - v, "v = |grad f(u_t) - grad f(z)|, Lipschitz gradients")
    move = p.standard("one move", d + eta * v - d1, "triangle inequality", "u_{t+1} = u_t - eta (grad f(u_t) - grad f(z))")
    growth = p.follows("growth", d + k * (d + b) - d1, move, (eta, change), (k, near))
    now = p.suppose("after t moves", k * t * b - (1 - k * t) * d)
    then = p.follows("after t + 1 moves", k * (t + 1) * b - (1 - k * (t + 1)) * d1, now, (growth, cap),
                     ((most - 1) * k * T, growth), (k, growth, inside))
    end = p.induct("after T moves", now, then, {"t": 0, "d": 0}, {"t": t + 1, "d": "d1"}, {"t": "T", "d": "D"})
    bound = p.follows("drift", b - (most - 1) * D, (most, end), (b + D, cap))
    return p.conclude(p.follows("drift squared", b**2 - (most - 1) ** 2 * D**2, (b + (most - 1) * D, bound)), end)


def drift_half():
    """4 b^2 >= 9 D^2 for a participant, eta L T <= 1/2: by induction d_t <= (k t + 2 k^2 t^2/3) b."""
    p = ft.Proof("L eta", "T t d d1 b D v w")
    L, eta, T, t, d, d1, b, D, v, w = p("L eta T t d d1 b D v w")
    k = L * eta
    cap = p.given("local steps", 1 - 2 * k * T, "eta <= 1/(2L (tau - 1))")
    inside = p.given("index", T - t - 1, "t <= tau - 2", within="t")
    near = p.standard("distance to the stored point", d + b - w, "triangle inequality", "w = |u_t - z|, d = |u_t - x|, b = |x - z|")
    change = p.given("change of the gradient", L * w - v, "v = |grad f(u_t) - grad f(z)|, Lipschitz gradients")
    move = p.standard("one move", d + eta * v - d1, "triangle inequality", "u_{t+1} = u_t - eta (grad f(u_t) - grad f(z))")
    growth = p.follows("growth", d + k * (d + b) - d1, move, (eta, change), (k, near))
    third = ft.fraction("1/3")
    now = p.suppose("after t moves", (k * t + 2 * third * k**2 * t**2) * b - d)
    then = p.follows("after t + 1 moves", (k * (t + 1) + 2 * third * k**2 * (t + 1) ** 2) * b - d1, growth, (1 + k, now),
                     (third * k**2 * t * b, cap), (2 * third * k**3 * t * b, inside))
    end = p.induct("after T moves", now, then, {"t": 0, "d": 0}, {"t": t + 1, "d": "d1"}, {"t": "T", "d": "D"})
    bound = p.follows("drift", 2 * b - 3 * D, (3, end), (2 * b, cap), (k * T * b, cap))
    return p.conclude(p.follows("drift squared", 4 * b**2 - 9 * D**2, (2 * b + 3 * D, bound)), bound)


THIRD, ELEVENTH, HALF = (3, "1/4", "1/4"), (11, "1/100", "1/100"), (2, "4/9", "1/9")   # eta L T <= 1/m: D^2 <= share b^2
CLIENT = "B S ES b b2 D D2 ED2 J P T"   # numbers of a proof with clients, beside its parameters


def client(p, cap):
    """(D2 <= (1 - J (1 - share)) b2, share) of one client; cap: how small eta L T is."""
    (most, share, scale), (b, b2, D, D2, J) = cap, p("b b2 D D2 J")
    share, scale = ft.fraction(share), ft.fraction(scale)
    if "local steps" not in p.facts:
        p.given("local steps", 1 - most * p("L") * p("eta") * p("T"), f"eta <= 1/({most} L (tau - 1))")
    run = p.lemma("drift of a participant", drift_half() if most == 2 else drift(most))
    after = p.define("point after the round", D2 - J * D**2 - (1 - J) * b2, "z' = u_{tau-1} of a participant, else z' = z")
    square = p.define("distance", b2 - b**2)
    one = p.follows("one client", (1 - J * (1 - share)) * b2 - D2, (-1, after), (share * J, square), (scale * J, run))
    return one, share


def surely(p, cap):
    """S <= B."""
    one, _ = client(p, cap)
    return p.total("sum of distances", p.follows("one client, surely", p("b2") - p("D2"), one), {"b2": "B", "D2": "S"}, p("N"))


def in_the_mean(p, cap):
    """E S <= (1 - q (1 - share)) B."""
    (one, share), (N, q, b2, P) = client(p, cap), p("N q b2 P")
    mean = p.expect("one client in the mean", one, {"J": "P", "D2": "ED2"}, fixed="b2")
    often = p.given("participation", P - q, "q = min q_i, and q_i = E[I_i / sum_j I_j] <= E I_i = P")
    least = p.follows("rarest client", (1 - q * (1 - share)) * b2 - p("ED2"), mean, ((1 - share) * b2, often))
    return p.total("sum of distances in the mean", least, {"b2": "B", "ED2": "ES"}, N)
