"""What the symbols of the proofs around Theorem 2 are on coded runs."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import arrivals_run as arrivals
from verification.asyncfeded import runs_theorem2 as runs
from verification.asyncfeded.formulas import theorem2 as f

ROUND = 40


def local_steps(i, client, base, drawn, t):
    """[(e, u, w, h, n)] of the arrival's local steps: y - base, grad f_i(y) - grad f_i(base), grad f_i - grad F and
    grad F at the base, and the noise; the last entry is (y_K - base, ..)."""
    problem, y, out = runs.rational(i.problem), base, []

    def own(x, noise=None):
        at = ft.RATIONAL.array(np.array([list(x)], dtype=object))
        sample = None if noise is None else ft.RATIONAL.array(np.array([[noise] + [0] * (len(x) - 1)], dtype=object))
        return arrivals.fractions(problem.at(np.array([client])).grad(at, sample))[0]
    here, mean = own(base), runs.slope(i.problem, base)
    for k, eta in enumerate([*i.schedule, 0]):
        exact = own(y)
        given = own(y, drawn.get((t, k), Q(0)))
        out.append((y - base, exact - here, here - mean, mean, given - exact))
        y = y - eta * given
    return out


def arrival(i):
    """Of the first and the last arrival: over all outcomes of its noise, given that of the earlier ones as first drawn."""
    if i.n > 3 or i.K > 12:
        return
    whole = list(zip(runs.outcomes(i), runs.path(i), strict=True))
    share = arrivals.root(i.share2) + (Q(1, 10**ROUND) if arrivals.root(i.share2) ** 2 != i.share2 else 0)
    F = [sum(c * runs.value(i.problem, run[t].x) for (c, _), (_, run) in whole) for t in range(i.T)] + [runs.ended(i)]
    X = [sum(c * runs.slope2(i.problem, run[t].x) for (c, _), (_, run) in whole) for t in range(i.T)]
    log, low, high = i.logs[0], min(i.server), max(i.server)
    if share > 1 or f.room(i.L, i.K, i.N, log, share**4, high, i.Gamma2) > 1:
        return
    steps = [low if a.eta is None else a.eta for a in whole[0][1][1]] if low < high else [low] * i.T
    common = {"L": i.L, "K": i.K, "N": i.N, "M": i.M, "c": share, "log": log, "Gamma2": i.Gamma2, "sg2": i.sg2,
              "sl2": i.sl2, "T": i.T, "below": 1 - f.rho(i.L, i.K, i.N, log, share**4), "F1": F[0], "FT": F[-1],
              "total": sum(X), "low": low, "high": high, "h": sum(Q(1, 2 * k + 1) for k in range(1, i.K + 1)),
              "Se": i.K * i.M, "kE": i.K, "totalE": sum(steps)}
    for t in {1, i.T}:
        pasts = [{at: v for at, v in d.items() if at[0] < t} for (_, d), _ in whole]
        alike = [(c, d, run[t - 1]) for p, ((c, d), (_, run)) in zip(pasts, whole, strict=True) if p == pasts[0]]
        total = sum(c for c, _, _ in alike)
        yield from _one_arrival(i, t, [(c / total, d, a) for c, d, a in alike], common | {
            "t": t - 1, "X": X[t - 1], "sumX": sum(X[:t - 1]), "EF": F[t - 1], "EFm": F[t], "eta_g": steps[t - 1],
            "eta_t": steps[t - 1], "sumE": sum(steps[:t - 1])})


def _one_arrival(i, t, alike, common):
    steps = [local_steps(i, a.client, a.base, d, t) for _, d, a in alike]
    etas, chance = i.schedule, [c for c, _, _ in alike]

    def mean(values):
        return sum(c * v for c, v in zip(chance, values, strict=True))
    sums = []
    for s, (_, _, a) in zip(steps, alike, strict=True):
        A = sum(e * (u + w + h) for e, (_, u, w, h, _) in zip(etas, s, strict=False))
        B = sum(e * n for e, (*_, n) in zip(etas, s, strict=False))
        if (a.delta != -(A + B)).any():
            raise ArithmeticError("the coded update is another one")
        sums.append((A, B))
    x, base = alike[0][2].x, alike[0][2].base
    G, there = runs.slope(i.problem, x), runs.slope(i.problem, base)
    Fn = [runs.value(i.problem, a.after) for *_, a in alike]
    whole = [sum(e * e * arrivals.square(s[k][0]) for k, e in enumerate(etas)) for s in steps]
    at = {"dd": arrivals.square(x - base), "H": arrivals.square(there), "GG": arrivals.square(G),
          "F": runs.value(i.problem, x), "EFn": mean(Fn), "EGB": mean(G @ B for _, B in sums), "EQ": mean(whole),
          "EAB": mean(A @ B for A, B in sums), "EA": mean(arrivals.square(A) for A, _ in sums),
          "EB": mean(arrivals.square(B) for _, B in sums)}
    noise = [mean(arrivals.square(s[k][4]) for s in steps) for k in range(i.K)]
    at["b2"] = sum(e * e * v for e, v in zip(etas, noise, strict=True))
    for o in {0, len(alike) - 1}:
        A, B = sums[o]
        for k in sorted({0, i.K - 1}):
            e, u, w, h, n = steps[o][k]
            far = [mean(arrivals.square(s[j][0]) for s in steps) for j in (k, k + 1, i.K - 1)]
            own = {"Fn": Fn[o], "Q": whole[o], "k": k + 1, "eta": etas[k], "ee": far[0], "een": far[1], "eeE": far[2],
                   "en2": noise[k], "n2": noise[k], "v2": arrivals.square(steps[o][k + 1][0]), "es": etas[k] ** 2,
                   "en": etas[k] ** 2 * noise[k], "hk": Q(1, 2 * k + 3), "r": etas[k] ** 2 * far[0]}
            own |= {f"E{v}n": mean(s[k][j] @ s[k][4] for s in steps) for j, v in enumerate("euwh")}
            points = {"G": G, "V": G - there, "W": -w, "A": A, "B": B, "e": e, "u": u, "w": w, "h": h, "n": n}
            yield common | at | own, points


def one_local_step(i):
    """What the symbols of the proofs for equal clients and one local step are at the first and the last arrival."""
    (_, run), = runs.right(i)
    F = [runs.value(i.problem, x) for x in (*(a.x for a in run), run[-1].after)]
    X = [runs.slope2(i.problem, a.x) for a in run]
    common = {"L": i.L, "eta_g": i.eta_g, "N": i.N, "T": i.T, "F1": F[0], "FT": F[-1], "total": sum(X),
              "inf": runs.best(i.problem)[1], "Gamma2": i.Gamma2, "v": i.L * i.N * i.eta_g, "n2": (i.L * i.N) ** 2,
              "log": i.logs[0]}
    if "Gamma" in i.extra:   # no stale arrival exists, so that what is said of one has no meaning: delta stands alone
        yield common | {"delta": i.L * i.N * i.Gamma}, {}
    for t in {0, i.T - 1}:
        a = run[t]
        at = {"t": t, "X": X[t], "sumX": sum(X[:t]), "EF": F[t], "EFn": F[t + 1], "dd": arrivals.square(a.x - a.base),
              "Fj": F[t],
              "Fn": F[t + 1], "Fb": F[t], "Fs": F[t + 1]}
        yield common | at, {"G": runs.slope(i.problem, a.x), "g": runs.slope(i.problem, a.base),
                            "gj": runs.slope(i.problem, a.x)}
