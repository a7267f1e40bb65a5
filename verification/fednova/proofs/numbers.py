"""What the symbols of FedNova's proofs are on one coded round: numbers and vectors, exact, on which every fact is tried."""
import itertools
import math

import numpy as np

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import theorem
from verification.fednova.one_round import one_round

PATHS = 2   # outcomes of the noise on which what holds for each of them is tried
FEW = 20    # rounds whose last value is computed


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
    w, vectors, target = t["w"], t["vectors"], t["target"]
    d, h = r.directions(vectors), r.directions(vectors, "exact")
    G, mean, z = f.dot(w, r.exact[0][0]), mixed(w, h), mixed(w, d - h)
    gradients = [square(r.exact[0][0, j]) for j in range(i.n)]
    biases = [r.square(h[:, j] - r.exact[0][:, j]) for j in range(i.n)]
    noises = [r.square(d[:, j] - h[:, j]) for j in range(i.n)]
    at = {"L": t["L"], "eta": i.eta, "tau_eff": t["tau_eff"], "sigma2": t["sigma2"], "R": c.noise_factor(w, vectors),
          "F": value(target, r.x), "EF1": r.value(target), "EGz": (G * r.mean(z)).sum(), "Ez": r.square(z), "Eh": r.square(mean),
          "SE": f.dot(w, biases),
          "Q": f.dot(w, [square(r.exact[0][0, j] - G) for j in range(i.n)]), "chi2": f.chi2(i.p, w),
          "Ed2": r.square(mixed(w, d)), "SD": f.dot([q * q for q in w], noises), "SG": f.dot(w, gradients), "m": t["m"],
          "mean": f.dot(w, [(G * r.exact[0][0, j]).sum() for j in range(i.n)])}
    E = f.dot([p - q for p, q in zip(i.p, w, strict=True)], r.exact[0][0])
    at |= {"f2": square(E + G), "Ef2": square(E + G)}
    for (j, a), path in itertools.product(enumerate(vectors), range(min(PATHS, len(d)))):
        drifts = r.drifts(j, len(a))
        own = own_noise(r, j, a) | {"Ed": noises[j], "M": max(map(ft.fraction, drifts)), "W": f.dot(a, drifts), "Ee": biases[j],
                                    "g": gradients[j], "q2": square(r.exact[0][0, j] - G)} | ({"B1": squares[j]} if squares else {})
        yield (at | own | {"F1": value(target, r.after[path]), "d2": square(mixed(w, d)[path]),
                           "Se": f.dot(w, [square(r.exact[0][path, q] - h[path, q]) for q in range(i.n)])},
               {"G": G, "h": mean[path], "z": z[path], "E": E, "g": r.exact[0][0, j]})


def own_noise(r, j, a):
    """The vector of one client and the noise of its run, in a recorded round."""
    noise = [u[:, j] - v[:, j] for u, v in zip(r.given, r.exact, strict=True)][:len(a)]
    return {"n": f.norm1(a), "nn": f.norm2(a), "rho": f.norm2(a) / f.norm1(a) ** 2, "es": r.square(noise[-1]),
            "Es": f.dot([q * q for q in a], [r.square(v) for v in noise]), "En": r.square(total(a, noise, 0 * noise[0]))}


def value(problem, x):
    """The value of a problem at x, exact."""
    return ft.fraction(problem.to(ft.RATIONAL).value(ft.RATIONAL.array(x)))


def last_value(i, target):
    """{"FT": E F(x_T)} of a quadratic, from the exact moments of the coded rounds; {} where that is dear."""
    if not isinstance(target, ft.Quadratic) or not i.rounds or i.rounds > FEW:
        return {}
    *_, (mean, second) = i.op.trajectory(i.rounds + 1, i.x0)
    mean, spread = ft.linalg.to_fractions(mean), ft.linalg.to_fractions(second)
    H = f.dot([ft.fraction(v) for v in target.weights], target.H)
    return {"FT": value(target, mean) + (H * (spread - mean[:, None] * mean)).sum() / 2}


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
    last = last_value(i, theorem(i)["target"]) if left is not None else {}
    for numbers, points in rounds(i, beside_noise(i, prefixes), tau_eff):
        at |= {"Ft": numbers["F"], "Fn": numbers["EF1"], "Gt": square(points["G"])}
        if i.rounds and left is not None:
            gap = theorem(i)["gap"]
            at |= {"T": i.rounds, "S": left * i.rounds, "gap": gap, "F0": numbers["F"], "inf": numbers["F"] - gap} | last
        yield numbers | at, points


def cohorts(i):
    """[(probability, clients of the draws, the coded round they make)], over every cohort of the law."""
    law = i.law.with_steps(i.algorithm.steps)
    return [(chance, np.arange(i.problem.n)[draw.who], one_round(i, draw)) for chance, draw in law.support(i.problem.n)]


def draws(i, constants, prefixes):
    """One round of q draws, read off the coded round of every cohort, the noise averaged exactly; constants may hold the gap."""
    if not readable(i) or not isinstance(i.problem, ft.Quadratic):
        return
    r, p, vectors, made, s = one_round(i), i.p, i.vectors, cohorts(i), i.eta * i.tau_eff
    g, h, d = r.exact[0][0], r.directions(vectors, "exact"), r.directions(vectors)
    G, noises = f.dot(p, g), [r.square(d[:, j] - h[:, j]) for j in range(i.n)]
    parts = [sampled(one, [vectors[k] for k in who], [g[k] for k in who], G) for _, who, one in made]

    def mean(of):
        return sum(chance * of(one, v) for (chance, _, one), v in zip(made, parts, strict=True))

    def squared(name):
        return mean(lambda one, v: one.square(v[name]))

    def along(name):
        return mean(lambda one, v: (G * one.mean(v[name])).sum())

    F, SG = value(i.problem, r.x), f.dot(p, [square(v) for v in g])
    at = {"L": i.L, "eta": i.eta, "tau_eff": i.tau_eff, "q": i.q, "sigma2": i.sigma**2, "SG": SG, "Gt": square(G),
          "R": f.dot(p, [f.norm2(a) / f.norm1(a) ** 2 for a in vectors]), "V": f.dot(p, [square(v - G) for v in g]),
          "SZ": f.dot(p, [r.square(h[:, j] - g[j]) for j in range(i.n)]), "SD": f.dot(p, noises),
          "mean": f.dot(p, [(G * v).sum() for v in g]),
          "EGh": (G * r.mean(mixed(p, h))).sum(), "EGy": along("y"), "EGu": along("u"), "Ey": squared("y"), "Eu": squared("u"),
          "Ee": squared("e"), "Ec": mean(lambda one, v: square(v["c"])), "F": F, "Ft": F,
          "Ed2": mean(lambda one, v: one.square((one.x - one.after) / s)), "EF1": mean(lambda one, v: one.value(i.problem))}
    at |= {"Fn": at["EF1"]} | ({"F0": F, "inf": F - constants["gap"]} if "gap" in constants else {}) | constants
    for j, (a, b) in enumerate(zip(vectors, beside_noise(i, prefixes), strict=True)):
        yield at | own_noise(r, j, a) | {"v2": square(g[j] - G), "g": square(g[j]), "B1": b, "Ed": noises[j]}, {"G": G, "g": g[j]}
    for (_, _, one), v in itertools.islice(zip(made, parts, strict=True), PATHS):
        for k in {0, len(v["y"]) - 1}:
            own = {"y2": square(v["y"][k]), "d2": square((one.x - one.after[k]) / s), "F1": value(i.problem, one.after[k]),
                   "J": v["J"][k], "Se": f.dot(p, [square(h[0, j] - g[j]) for j in range(i.n)])}
            yield ({n: at[n] for n in ("L", "eta", "tau_eff", "q", "F")} | own,
                   {"G": G, "h": mixed(p, h)[0], "c": v["c"]} | {n: v[n][k] for n in "yue"})


def sampled(one, vectors, gradients, G):
    """y, u, e and J over the noise, and c, of one cohort: the symbols of `sampling`."""
    q, h, d = len(vectors), one.directions(vectors, "exact"), one.directions(vectors)
    g, y = np.stack(gradients), h.sum(1) / q
    mean = g.sum(0) / q
    return {"y": y, "u": d.sum(1) / q - y, "e": y - mean, "c": mean - G, "J": ((h - g) ** 2).sum(-1).sum(-1) / q}
