"""Pencil proofs of Section 5: ordered powers, Bernoulli's inequality, the exact gain of a round, the softmax loss."""
import fltheory as ft
from verification.simfed.formulas import discussion as f


def _ordered(p, name, low, high, apart, positive, symbols):
    """high^t >= low^t from high - low >= 0 and low, high >= 0. symbols: the powers before the last step and at the end."""
    (z, y), (last_z, last_y) = (s.split() for s in symbols)
    Z, Y = p(z), p(y)
    held = p.suppose(f"{name}: t steps", Y - Z)
    then = p.follows(f"{name}: t + 1 steps", high * Y - low * Z, (positive[1], held), (apart, Z))
    return p.induct(name, held, then, {z: 1, y: 1}, {z: low * Z, y: high * Y}, {z: last_z, y: last_y}, "from the powers at t = 0",
                    keeps={z: (positive[0], Z), y: (positive[1], Y)})


def eq9():
    """(9) for every t."""
    p = ft.Proof("L mu beta La", "Z Y A B z y a b")
    L, mu, beta, La = p("L mu beta La")
    curved = p.given("curvature", L - mu, "mu <= L")
    below = p.given("beta", 1 - beta)
    prox = p.given("alpha", La - L, "La = L + alpha")
    ours, avg, far = f.factors(L, mu, La - L, beta)
    positive = [p.follows(f"factor {k}", v, (1 / (c * L), curved)) for k, v, c in (("ours", ours, beta + 2), ("FedAvg", avg, 3))]
    positive.append(p.follows("factor FedProx", far, (1 / (3 * La), curved), (1 / (3 * La), prox)))
    first = p.follows("ours and FedAvg", avg - ours, (mu / (3 * (beta + 2) * L), below))
    second = p.follows("FedAvg and FedProx", far - avg, (mu / (3 * L * La), prox))
    return p.conclude(_ordered(p, "ours against FedAvg", ours, avg, first, positive[:2], ("Z Y", "A B")),
                      _ordered(p, "FedAvg against FedProx", avg, far, second, positive[1:], ("z y", "a b")))


def invisible():
    """The decay factor over 200 rounds, by Bernoulli's inequality."""
    p = ft.Proof("L beta", "t z Z")
    L, beta, t, z, Z = p("L beta t z Z")
    x = f.MU / ((beta + 2) * L)
    smooth = p.given("smoothness", L - 1, "L >= 1")
    below = p.follows("factor", 1 - x, (1 / ((beta + 2) * L), smooth))
    held = p.suppose("t rounds", z - 1 + t * x)
    then = p.follows("t + 1 rounds", (1 - x) * z - 1 + (t + 1) * x, (below, held))
    end = p.induct("200 rounds", held, then, {"t": 0, "z": 1}, {"t": t + 1, "z": (1 - x) * z}, {"t": f.ROUNDS, "z": "Z"},
                   keeps={"z": (below, z)})
    return p.conclude(p.follows("above .99", Z - ft.fraction("99/100"), end, (f.ROUNDS * f.MU / ((beta + 2) * L), smooth)))


def gain():
    """x/2 - beta x^2/8 <= 1 - kappa <= x/2 for every E: Z = (1 - s)^E, s = beta x/(2E), 1 - kappa = (1 - Z)/beta."""
    p = ft.Proof("x beta E", "k z y Z Y")
    x, beta, E, k, z, y = p("x beta E k z y")
    s = beta * x / (2 * E)
    small = p.given("curvature", 1 - x, "x = mu/L <= 1")
    steps, share = p.given("local steps", E - 1), p.given("beta", 1 - beta)
    positive = p.follows("one step", 1 - s, (1 / (2 * E), small), (x / (2 * E), share), (1 / E, steps))
    low = p.suppose("Bernoulli, k steps", z - 1 + k * s)
    low_next = p.follows("Bernoulli, k + 1 steps", (1 - s) * z - 1 + (k + 1) * s, (positive, low))
    above = p.induct("Bernoulli", low, low_next, {"k": 0, "z": 1}, {"k": k + 1, "z": (1 - s) * z}, {"k": E, "z": "Z"},
                     keeps={"z": (positive, z)})
    high = p.suppose("second order, k steps", 1 - k * s + k**2 * s**2 / 2 - y)
    high_next = p.follows("second order, k + 1 steps", 1 - (k + 1) * s + (k + 1) ** 2 * s**2 / 2 - (1 - s) * y, (positive, high))
    below = p.induct("second order", high, high_next, {"k": 0, "y": 1}, {"k": k + 1, "y": (1 - s) * y}, {"k": E, "y": "Y"},
                     keeps={"y": (positive, y)})
    return p.conclude(p.follows("at most x/2", x / 2 - (1 - p("Z")) / beta, (1 / beta, above)),
                      p.follows("at least x/2 - beta x^2/8", (1 - p("Y")) / beta - x / 2 + beta * x**2 / 8, (1 / beta, below)))


def softmax():
    """The cross entropy is convex and does not see one vector added to all classes, so the penalty is the curvature.

    lx, ly: the loss at w and w + e, g its gradient at w; fx, fy with penalty. a, la: a step for every class, and the loss there.
    """
    p = ft.Proof("lam", "V2", "m lx ly fx fy la fa", "w e g a")
    lam, V2, m, lx, ly, la, w, e, g, a = p("lam V2 m lx ly la w e g a")
    curve = p.standard("curvature", V2 - m**2, "Jensen", "v'(diag q - q q')v: V2, m the means of v^2 and v under the softmax q")
    convex = p.standard("convexity", ly - lx - g.dot(e), "strong convexity", "with mu = 0, as the Hessian is a mean of such forms")
    here = p.define("fx", p("fx") - lx - lam / 2 * w.square)
    there = p.define("fy", p("fy") - ly - lam / 2 * (w + e).square)
    same = p.given("one vector for all classes", la - lx, "all z_k grow by one number, which drops out of the loss", equality=True)
    level = p.given("slope along it", g.dot(a), "the loss is constant along it", equality=True)
    shifted = p.define("fa", p("fa") - la - lam / 2 * (w + a).square)
    lower = p.follows("at least lam", p("fy") - p("fx") - g.dot(e) - lam * w.dot(e) - lam / 2 * e.square, convex, there, (-1, here))
    exact = p.follows("no more than lam", p("fa") - p("fx") - g.dot(a) - lam * w.dot(a) - lam / 2 * a.square, shifted, (-1, here),
                      same, (-1, level), equality=True)
    return p.conclude(curve, lower, exact)
