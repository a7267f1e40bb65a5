"""Pencil proofs about rates on quadratics, along eigenvectors: FedProx against FedAvg, a cluster that hears itself alone."""
import fltheory as ft

PROX = ("every client number, dimension and E; positive semidefinite H_i with curvatures of at most L; gamma <= 1/(L + alpha), "
        "alpha >= 0")
CLUSTER = "every number of members, E and graph of the others, beta <= 1, gamma h <= 1, any weight; eigenvectors of the common H"


def _step(p):
    """W = 1 - x - y >= 0 for x = gamma h, y = gamma alpha."""
    return p.given("step", p("W"), "W = 1 - gamma (h + alpha) is not negative, as gamma <= 1/(L + alpha)")


def within():
    """Eigenvalues of sum_i p_i Pi_i lie in [0, 1], so that rho = 1 - lambda_min."""
    p = ft.Proof("E", "x y W Q k QE fQ")
    x, y, W, Q, k = p("x y W Q k")
    step, parts = _step(p), p.given("parts", W + x + y - 1, "x = gamma h, y = gamma alpha", equality=True)
    held = p.suppose("share after k steps", 1 - Q, "Q: the part of the way to its minimiser along an eigenvector of H_i")
    then = p.follows("share after k + 1 steps", 1 - (W * Q + x), (held, step), (-1, parts),
                     says="the next share is (1 - gamma (h + alpha)) Q + gamma h")
    end = p.induct("share", held, then, {"k": 0, "Q": 0}, {"k": k + 1, "Q": W * Q + x}, {"k": p("E"), "Q": "QE"})
    return p.conclude(p.total("all clients", end, {"QE": "fQ"}, 1, over="eigenvectors of the H_i, weights of a unit vector"))


def slower():
    """rho of FedProx >= rho of FedAvg: each share falls with alpha, so does the least eigenvalue of their mean."""
    p = ft.Proof("E", "x y W P Q k PE QE fP fQ", "lP lQ")
    x, y, W, P, Q, k = p("x y W P Q k")
    step = _step(p)
    held = p.suppose("shares after k steps", P - Q, "P of FedAvg, Q of FedProx")
    then = p.follows("shares after k + 1 steps", (W + y) * P + x - (W * Q + x), (held, step), says="1 - gamma h = W + y")
    end = p.induct("shares", held, then, {"k": 0, "P": 0, "Q": 0}, {"k": k + 1, "P": (W + y) * P + x, "Q": W * Q + x},
                   {"k": p("E"), "P": "PE", "Q": "QE"})
    every = p.total("all clients", end, {"PE": "fP", "QE": "fQ"}, 1, over="eigenvectors of the H_i, weights of a unit vector")
    at = p.given("unit vector", p("lP") - p("fP"), "at which the form of FedAvg's sum p_i Pi_i is least", equality=True)
    least = p.given("least eigenvalue", p("fQ") - p("lQ"), "FedProx's form at that vector")
    return p.conclude(p.follows("rho of FedProx - rho of FedAvg", p("lP") - p("lQ"), every, at, least,
                                says="rho = 1 - least eigenvalue"))


def rests(above):
    """Where members rest on the way from the server's model, 0, to their minimiser, 1: G (beta + (1 - beta) R) <= R, or >= R where
    `above`. The neighbours' average is G, too."""
    p = ft.Proof("beta E", "x q Q k", "y Y G")
    beta, x, q, k, y, G = p("beta x q k y G")
    sign = -1 if above else 1
    step = p.given("step", 1 - x, "x = gamma beta h")
    goal = 1 - (1 - beta) * G
    held = p.suppose("k local steps", sign * ((1 - q) * goal - beta * y), "q = (1 - x)^k; in fact both sides agree")
    move = y - x / beta * (beta * y + (1 - beta) * G - 1)
    then = p.follows("k + 1 local steps", sign * ((1 - q * (1 - x)) * goal - beta * move), (held, step),
                     says="y' = y - gamma h (beta y + (1 - beta) G - 1)")
    end = p.induct("E local steps", held, then, {"k": 0, "q": 1, "y": 0}, {"k": k + 1, "q": q * (1 - x), "y": move},
                   {"k": p("E"), "q": "Q", "y": "Y"}, keeps={"q": (step, q)})
    rest = p.given("at rest", p("Y") - G, equality=True)
    R = 1 - p("Q")
    return p.conclude(p.follows("share of the way", sign * (R - G * (beta + (1 - beta) * R)), end, (sign * beta, rest)))


def less():
    """R/(beta + (1 - beta) R) <= 1 - (1 - gamma h)^E."""
    p = ft.Proof("beta E", "g B A q j AE qE k")
    beta, g, B, A, q, j, k = p("beta g B A q j k")
    step, small = p.given("step", 1 - g, "g = gamma h"), p.given("beta at most 1", 1 - beta)
    ours = p.follows("its step", 1 - beta * g, (beta, step), small)
    held = p.suppose("power, k steps", 1 - B, "B = (1 - gamma h)^k")
    then = p.follows("power, k + 1 steps", 1 - B * (1 - g), held, (B, p.given("convex", g)))
    below = p.induct("power", held, then, {"k": 0, "B": 1}, {"k": k + 1, "B": B * (1 - g)}, {"k": j, "B": "A"},
                     keeps={"B": (step, B)})
    held = p.suppose("j steps", q * (beta + (1 - beta) * A) - A, "A = (1 - gamma h)^j, q = (1 - gamma beta h)^j")
    then = p.follows("j + 1 steps", q * (1 - beta * g) * (beta + (1 - beta) * A * (1 - g)) - A * (1 - g), (held, step),
                     (q * beta * g, small, below), (q * beta * g * g * A, small))
    end = p.induct("E steps", held, then, {"j": 0, "A": 1, "q": 1}, {"j": j + 1, "A": A * (1 - g), "q": q * (1 - beta * g)},
                   {"j": p("E"), "A": "AE", "q": "qE"}, keeps={"A": (step, A), "q": (ours, q)})
    R = 1 - p("qE")
    return p.conclude(p.follows("less than FedAvg", (1 - p("AE")) * (beta + (1 - beta) * R) - R, end))
