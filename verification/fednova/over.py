"""FedNova over whole classes of functions: settings with L = 1 and no noise, and the quantities of one coded round.

Clients are L-smooth, convex or not. What a row compares is one round from any server model; its sum over rounds is the bound.
"""
from fractions import Fraction
from math import isqrt

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, Local

VANILLA = ("vanilla", None)
DOMINATED = (VANILLA, ("momentum", Fraction(1, 2)), ("decay", Fraction(1, 2)))
PROXIMAL = (("proximal", Fraction(1, 2)), ("proximal", Fraction(1)))
EVERY = (*DOMINATED, *PROXIMAL)
NOISELESS = {"sigma": "0"}  # what the certified words say beside their parameters


def setting(solver, taus, eta, p=None, server=ft.FedAvg, kind=Local, law=None, said="", fields=(), **extra):
    """One setting: (name of a solver, its parameter), local steps, client step, weights (uniform); fields: of the server."""
    (name, value), n = solver, len(taus)
    p = [Fraction(1, n)] * n if p is None else [Fraction(v) for v in p]
    words = [server.__name__, name if value is None else f"{name} {value}", f"tau=({', '.join(map(str, taus))})",
             f"p=({', '.join(map(str, p))})", f"eta={eta}", *([said] if said else [])]
    algorithm = server(eta, tuple(taus), SOLVERS[name](value), **dict(fields))
    return kind(", ".join(words), None, algorithm, law or ft.Full(), classes=ft.Smooth(1), n=n, p=p, L=Fraction(1),
                mu=Fraction(-1), kappa2=Fraction(1), gap=Fraction(0), **extra)


def local_run(s, i):
    """[(points (n, d), gradients (n, d))] of the coded local steps of all clients from the server model."""
    solver, lr = i.algorithm.to(ft.RATIONAL).solver, i.algorithm.to(ft.RATIONAL).lr
    gradients, out = s.grads(s.x), []
    start = points = s.x + 0 * gradients
    buffer = solver.start(start)
    for _ in range(max(i.taus)):
        gradients = s.grads(points)
        out.append((points, gradients))
        points, buffer = solver.step(points, start, buffer, gradients, lr, 1)
    return out


def directions(s, i):
    """h_i (n, d): the a-weighted means of the local gradients."""
    run = local_run(s, i)
    return [sum((g[j] * ft.RATIONAL.scalar(v / f.norm1(a)) for v, (_, g) in zip(a, run, strict=False)), s.problem.zero())
            for j, a in enumerate(i.vectors)]


def value(s, w, x):
    """F~(x) = sum w_i F_i(x)."""
    return sum((s.client_value(j, x) * v for j, v in enumerate(w[1:], 1)), s.client_value(0, x) * w[0])


def gradient(s, w, x):
    """grad F~(x)."""
    return sum((s.client_grad(j, x) * ft.RATIONAL.scalar(v) for j, v in enumerate(w)), s.problem.zero())


def squares(s, w, rows):
    """sum_i w_i |row_i|^2."""
    return sum((s.square(v) * q for v, q in zip(rows[1:], w[1:], strict=True)), s.square(rows[0]) * w[0])


def excess(s, w, beta2):
    """sum_i w_i |grad F_i(x)|^2 - beta^2 |grad F~(x)|^2, which Assumption 3 bounds by kappa^2."""
    return squares(s, w, s.grads(s.x)) - s.square(gradient(s, w, s.x)) * beta2


def bias(s, i, w):
    """sum_i w_i |grad F_i(x) - h_i|^2."""
    return squares(s, w, [h - g for h, g in zip(directions(s, i), s.grads(s.x), strict=True)])


def certified(i, left, tight, label="", **terms):
    """left <= sum of coefficient * form for every function of the class, after one coded round."""
    return ft.certified_over(i.algorithm, i.classes, i.law, clients=i.n, weights=i.p, left=left, terms=terms, tight=tight,
                             label=label)


def descent(i, w, tau_eff):
    """|grad F~(x)|^2 minus 4/(eta tau_eff) times the decrease of F~ over the round."""
    scale = 4 / (i.eta * tau_eff)
    return lambda s: s.square(gradient(s, w, s.x)) - (value(s, w, s.x) - value(s, w, s.next)) * scale


def root_below(square):
    """A rational with four digits just below the root of a rational."""
    return Fraction(isqrt(int(square * 10**8)), 10**4)


TAUS = ((2, 2), (1, 3), (3, 3), (1, 2, 3), (5, 5))


def at_the_cap(solvers, corrected, taus=TAUS):
    """Settings of Theorem 1 at the largest step for beta^2 = 4: 6 eta L max |a_i|_1 <= 1, or with the prefixes, and the server's
    condition."""
    out = []
    for solver in solvers:
        for steps in taus:
            vectors = [f.a_vector(solver[0], t, solver[1]) for t in steps]
            longest = max(map(f.norm1, vectors))
            if corrected:
                longest = max(longest / 3, *(f.norm1(f.prefix(solver[0], k, solver[1])) for t in steps for k in range(t)))
            out.append(setting(solver, steps, 1 / (6 * longest)))
    steps = (1, 3)
    out.append(setting(VANILLA, steps, Fraction(1, 18), ("3/4", "1/4"), ft.FedNova))
    out.append(setting(VANILLA, steps, Fraction(1, 18), ("1/4", "3/4")))
    return out


def corrected(taus=TAUS):
    """The same where only the proximal solver has prefix constants."""
    return at_the_cap(DOMINATED, False, taus) + [i for i in at_the_cap(PROXIMAL, True, taus) if i.solver == "proximal"]
