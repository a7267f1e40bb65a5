"""What the symbols of FedNova's proofs are on one coded round: numbers and vectors, exact, on which every fact is tried."""
import itertools
import math

import numpy as np

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import appendix_c as c
from verification.fednova.formulas import client_sampling as sc
from verification.fednova.instances import theorem
from verification.fednova.one_round import one_round

PATHS = 2   # outcomes of the noise on which what holds for each of them is tried


def square(v):
    return (v * v).sum()


def readable(i):
    """Whether the round of an instance is one that `one_round` runs, in rationals."""
    return i.problem is not None and i.domain is ft.RATIONAL and "m" not in i.extra


def total(weights, values, zero):
    return sum((w * v for w, v in zip(weights, values, strict=False)), zero)


def local_runs(i, corrected):
    """One client up to a local step k, and one step s before it: what `drift`, `restricted` and `bias` speak of."""
    if not readable(i):
        return
    r, t = one_round(i), theorem(i)
    largest = max(f.norm1(a) * (f.norm1(a) - a[-1]) for a in t["vectors"])
    largest = c.prefix_constant(i.solver, i.value, i.taus) if corrected else largest
    for j, a in enumerate(t["vectors"]):
        G, given = ([v[:, j] for v in steps[:len(a)]] for steps in (r.exact, r.given))
        noise, drifts, squares = [u - v for u, v in zip(given, G, strict=True)], r.drifts(j, len(a)), [r.square(v) for v in G]
        n, W, last, D = f.norm1(a), f.dot(a, drifts), a[-1], c.D(i.eta, t["L"], largest)
        h = total(a, G, 0 * G[0]) / n
        k = max(range(len(a)), key=lambda k, drifts=drifts: ft.fraction(drifts[k]))
        b, prefixes = f.prefix(i.solver, k, i.value), [f.prefix(i.solver, q, i.value) for q in range(len(a))]
        u, v = total(b, noise, 0 * G[0]), total(b, G, 0 * G[0])
        at = {"L": t["L"], "eta": i.eta, "rest": 1 - D, "n": n, "sigma2": t["sigma2"], "C": largest, "nn": f.norm2(a), "l": last,
              "N2": max(map(f.norm2, prefixes)) if corrected else f.norm2(a) - last**2, "n1": f.norm1(b), "n2": f.norm2(b),
              "M": drifts[k], "W": W, "Ed": drifts[k],
              "Eu": r.square(u), "Ev": r.square(v), "Es": f.dot([q * q for q in b], [r.square(v) for v in noise[:k]]),
              "ESGs": f.dot(b, squares[:k]), "Q": f.dot(b, squares[:k]), "T": f.dot(a[:k], squares[:k]), "S": f.dot(a, squares),
              "Sr": sum(b_s * math.sqrt(v) for b_s, v in zip(b, squares, strict=False)), "A1": f.norm1(a[:k]),
              "A2": f.norm2(a[:k]), "rest1": f.norm1(a[k:-1]), "rest2": f.norm2(a[k:-1]),
              "rest3": f.dot(a[k:], squares[k:]), "Ee": r.square(h - G[0]), "ESR": f.dot(a, [r.square(v - G[0]) for v in G])}
        for s, path in itertools.product({0, k - 1} if k else {0}, range(min(PATHS, len(G[0])))):
            of_step = {"ds": square(r.points[s][path, j] - r.x), "Eds": drifts[s], "Gs": square(G[s][path]), "EGs": squares[s],
                       "es": r.square(noise[s]), "a": a[s], "a2": a[s] ** 2, "Er": r.square(G[s] - G[0]),
                       "SR": total(a, [square(v[path] - G[0][path]) for v in G], 0)}
            of_step |= {"b": b[s], "b2": b[s] ** 2} if k else {}
            yield (at | of_step | {"d": square(r.points[k][path, j] - r.x), "SGs": total(b, [square(v[path]) for v in G], 0)},
                   {"g": G[0][path], "r": G[s][path] - G[0][path], "u": u[path], "v": v[path], "e": h[path] - G[0][path]})


def norms(i):
    """The same by norms instead of squares, in floats, for `smaller.drift`."""
    for known, points in local_runs(i, True):
        roots = {"rM": "M", "rd": "Eds", "rs": "EGs", "ru": "Eu", "rv": "Ev"}
        known |= {k: math.sqrt(known[v]) for k, v in roots.items()} | {"g": square(points["g"]),
                                                                       "r0": math.sqrt(square(points["g"]))}
        yield known | {"c1": max(f.norm1(f.prefix(i.solver, k, i.value)) for t in i.taus for k in range(t))}, {}


def rounds(i, squares=None, tau_eff=None):
    """One round: what `one_round` speaks of, once per client and outcome; squares: the numbers beside sigma^2 in (85)."""
    if not readable(i) or theorem(i)["gap"] is None:
        return
    r, t = one_round(i), theorem(i)
    t = t if tau_eff is None else t | {"tau_eff": tau_eff}
    w, vectors, target = t["w"], t["vectors"], t["target"].to(ft.RATIONAL)
    d, h = r.directions(vectors), r.directions(vectors, "exact")
    G, mean, z = f.dot(w, r.exact[0][0]), mixed(w, h), mixed(w, d - h)

    def value(x):
        return ft.fraction(target.value(ft.RATIONAL.array(x)))
    gradients = [square(r.exact[0][0, j]) for j in range(i.n)]
    biases = [r.square(h[:, j] - r.exact[0][:, j]) for j in range(i.n)]
    noises = [r.square(d[:, j] - h[:, j]) for j in range(i.n)]
    at = {"L": t["L"], "eta": i.eta, "tau_eff": t["tau_eff"], "sigma2": t["sigma2"], "R": c.noise_factor(w, vectors),
          "F": value(r.x), "EF1": r.value(t["target"]), "EGz": (G * r.mean(z)).sum(), "Ez": r.square(z), "Eh": r.square(mean),
          "SE": f.dot(w, biases),
          "Q": f.dot(w, [square(r.exact[0][0, j] - G) for j in range(i.n)]), "chi2": f.chi2(i.p, w),
          "Ed2": r.square(mixed(w, d)), "SD": f.dot([q * q for q in w], noises), "SG": f.dot(w, gradients), "m": t["m"]}
    E = f.dot([p - q for p, q in zip(i.p, w, strict=True)], r.exact[0][0])
    at |= {"f2": square(E + G), "Ef2": square(E + G)}
    for (j, a), path in itertools.product(enumerate(vectors), range(min(PATHS, len(d)))):
        noise = [u[:, j] - v[:, j] for u, v in zip(r.given, r.exact, strict=True)][:len(a)]
        drifts = r.drifts(j, len(a))
        own = {"n": f.norm1(a), "nn": f.norm2(a), "rho": f.norm2(a) / f.norm1(a) ** 2, "es": r.square(noise[-1]), "Ed": noises[j],
               "M": max(map(ft.fraction, drifts)), "W": f.dot(a, drifts),
               "Es": f.dot([q * q for q in a], [r.square(v) for v in noise]), "En": r.square(total(a, noise, 0 * noise[0])),
               "g": gradients[j], "Ee": biases[j], "q2": square(r.exact[0][0, j] - G)} | ({"B1": squares[j]} if squares else {})
        yield (at | own | {"F1": value(r.after[path]), "d2": square(mixed(w, d)[path]),
                           "Se": f.dot(w, [square(r.exact[0][path, q] - h[path, q]) for q in range(i.n)])},
               {"G": G, "h": mean[path], "z": z[path], "E": E, "g": r.exact[0][0, j]})


def mixed(w, directions):
    """sum_i w_i v_i over clients, for v (batch, n, d)."""
    return total(w, [directions[:, j] for j in range(directions.shape[1])], 0 * directions[:, 0])


def beside_noise(i, prefixes):
    """max_k |b^(k)|_2^2, or |a|_2^2 - a_{-1}^2, of every client."""
    if prefixes:
        return [max(f.norm2(f.prefix(i.solver, k, i.value)) for k in range(t)) for t in i.taus]
    return [f.norm2(a) - a[-1] ** 2 for a in i.vectors]


def bounds(i, prefixes, constants, left=None, tau_eff=None):
    """One round with the constants of Theorem 1, {symbol: number}; left: the mean of |grad F~|^2 over the rounds, where known."""
    if not readable(i) or constants["kappa2"] is None:
        return
    last = max(i.vectors, key=lambda a: f.norm1(a) * (f.norm1(a) - a[-1]))
    at = constants | ({} if prefixes else {"N": max(map(f.norm1, i.vectors)), "na": f.norm1(last), "la": last[-1]})
    for numbers, points in rounds(i, beside_noise(i, prefixes), tau_eff):
        at |= {"Ft": numbers["F"], "Fn": numbers["EF1"], "Gt": square(points["G"])}
        if i.rounds and left is not None:
            gap = theorem(i)["gap"]
            at |= {"T": i.rounds, "S": left * i.rounds, "gap": gap, "F0": numbers["F"], "inf": numbers["F"] - gap}
        yield numbers | at, points


def draws(i, constants, prefixes, square_of_move, rise):
    """One round of q draws; square_of_move: E|(x - x+)/(eta tau_eff)|^2 of the coded round, rise: E F(x+) - F(x) of it."""
    if i.problem is None or i.domain is not ft.RATIONAL or not isinstance(i.problem, ft.Quadratic) or "m" in i.extra:
        return
    x, q, p, sigma2 = ft.declare(i.x0), i.q, i.p, i.sigma**2
    g = [(H * x).sum(-1) - b for H, b in zip(i.problem.H, i.problem.b, strict=True)]
    G = f.dot(p, g)
    response = [sc.noise_response(H, i.eta, i.solver, t, i.value) for H, t in zip(i.problem.H, i.taus, strict=True)]
    spreads = [[sc.spread(v, sigma2) for v in (a, b, [u - w for u, w in zip(a, b, strict=True)])] for a, b in response]
    h = [sc.averaged_gradient(lambda y, H=H, b=b: (H * y).sum(-1) - b, x, i.eta, i.solver, t, i.value)
         for H, b, t in zip(i.problem.H, i.problem.b, i.taus, strict=True)]
    bias = [square(u - v) + s[0] for u, v, s in zip(h, g, spreads, strict=True)]
    mean, SG, noises = f.dot(p, h), f.dot(p, list(map(square, g))), [s[2] for s in spreads]
    V, along = SG - square(G), (G * mean).sum()
    at = {"L": i.L, "eta": i.eta, "tau_eff": i.tau_eff, "q": q, "sigma2": sigma2, "R": sc.noise_share(p, i.vectors),
          "SZ": f.dot(p, bias), "SG": SG, "V": V, "Ec": V / q,
          "Ee": sc.mean_square(p, q, [u - v for u, v in zip(h, g, strict=True)], [s[0] for s in spreads]),
          "Ey": sc.mean_square(p, q, h, [s[0] for s in spreads]), "Eu": sc.fresh_variance(p, noises, q), "SD": f.dot(p, noises),
          "Ed2": square_of_move, "F": 0, "EF1": rise, "EGy": along, "EGh": along, "EGu": 0, "Ft": 0, "Fn": rise, "Gt": square(G)}
    for a, v, b, noise in zip(i.vectors, g, beside_noise(i, prefixes), noises, strict=True):
        own = {"n": f.norm1(a), "nn": f.norm2(a), "rho": f.norm2(a) / f.norm1(a) ** 2, "v2": square(v - G), "g": square(v), "B1": b,
               "En": noise * f.norm1(a) ** 2, "Ed": noise}
        yield at | own | constants, {"G": G, "g": v}
    problem, algorithm = i.problem.to(ft.RATIONAL), i.algorithm.to(ft.RATIONAL)
    F = ft.fraction(problem.value(ft.RATIONAL.array(x)))
    for _, draw in itertools.islice(i.law.with_steps(i.algorithm.steps).support(problem.n), PATHS):   # a coded round without noise
        after = np.array([ft.fraction(v) for v in algorithm.round(problem, algorithm.init(problem, ft.RATIONAL.array(x)), draw).x])
        y, who = (x - after) / (i.eta * i.tau_eff), np.arange(problem.n)[draw.who]
        e = sum(h[k] - g[k] for k in who) / q
        own = {"y2": square(y), "d2": square(y), "F": F, "F1": ft.fraction(problem.value(ft.RATIONAL.array(after))),
               "J": sum(square(h[k] - g[k]) for k in who) / q, "Se": f.dot(p, [square(a - b) for a, b in zip(h, g, strict=True)])}
        yield {k: at[k] for k in ("L", "eta", "tau_eff", "q")} | own, {"G": G, "h": mean, "y": y, "u": 0 * y, "e": e,
                                                                      "c": sum(g[k] for k in who) / q - G}
