"""The numbers that the symbols of FedAvg's proofs stand for, read off coded local steps and averagings on quadratics."""
from fractions import Fraction as Q
from itertools import pairwise
from math import sqrt

import numpy as np

import fltheory as ft
from verification.focus.coded import law_mean, local_models, moved, rounds
from verification.focus.families import best, curvatures, heterogeneity
from verification.focus.formulas import fedavg as f


def one_step_from(i):
    """What Lemma 1's symbols stand for at the stacked state, exactly."""
    if i.domain is not ft.RATIONAL or not isinstance(i.problem, ft.Quadratic):
        return
    X, (mu, L) = np.array([[ft.fraction(v) for v in row] for row in i.x0], dtype=object), curvatures(i)
    H, b = ft.linalg.to_fractions(i.problem.H), ft.linalg.to_fractions(i.problem.b)
    centre, at = f.weighted_mean(i.q, X), best(i)

    def grads(points):
        return np.stack([h.dot(x) - c for h, c, x in zip(H, b, points, strict=True)])
    here = grads([centre] * len(X))
    g, missed = here.sum(0) / len(X), grads(X) - here
    numbers = {"L": L, "eta": ft.fraction(i.eta), "mu": mu, "A": f.square(centre - at), "A1": f.square(moved(i, X) - at),
               "D": f.spread(i.q, X, centre), "V": sum(w * f.square(v) for w, v in zip(i.q, missed, strict=True)),
               "delta2": heterogeneity(i)[0], "gap": (centre - at).dot(H.sum(0).dot(centre - at)) / (2 * len(X))}
    yield numbers, {"x": list(centre - at), "g": list(g), "e": list(f.weighted_mean(i.q, missed)),
                    "d": list(f.weighted_mean(i.q, here) - g)}


def lemma2_round(i):
    """What Lemma 2's symbols stand for in one round."""
    if isinstance(i.problem, ft.Quadratic):
        yield from round_of(i, local_models(i, np.array([ft.fraction(v) for v in i.x0], dtype=object), i.tau),
                                   heterogeneity(i)[1])


def _norm(q, rows):
    return sqrt(sum(float(w) * float((v * v).sum()) for w, v in zip(q, rows, strict=True)))


def round_of(i, models, sigma2):
    """What Lemma 2's symbols stand for along the local steps of one round, in floats. models: stacked points after each step."""
    H, b = np.array(i.problem.H, dtype=float), np.array(i.problem.b, dtype=float)
    q, eta, L = np.array([float(v) for v in i.q]), float(i.eta), float(i.constants.L)
    Ys = [np.array(Y, dtype=float) for Y in models]

    def apart(Y):
        return _norm(q, Y - q @ Y)
    for t, (Y, after) in enumerate(pairwise(Ys)):
        g = np.einsum("nij,nj->ni", H, Y) - b
        F = (np.einsum("nij,j->ni", H, q @ Y) - b).mean(0)
        numbers = {"L": L, "eta": eta, "T": i.tau - 1, "R1": apart(after), "v": _norm(q, g - q @ g), "w": _norm(q, g - F),
                   "sigma": sqrt(float(sigma2)), "delta2": 0.0}
        inside = {"t": t, "k": i.tau - 1, "R0": apart(Y), "R": apart(Ys[-2])}
        yield numbers | (inside if t < i.tau - 1 else {"R": apart(Y)}), {}


def two_rounds(i):
    """What Theorem 3's symbols stand for at every step of two rounds, from x* and from beside it: exact but for roots."""
    if i.domain is not ft.RATIONAL or not isinstance(i.problem, ft.Quadratic):
        return
    at = best(i)
    for start in (at, at + 2):
        first, reached, k = f.square(start - at), [(Q(1), start)], 0
        for _ in range(2):
            runs = [(chance, x, local_models(i, x, i.tau)) for chance, x in reached]
            for t in range(i.tau):
                seen = [(chance, _local_step(i, x, Y, t, at)) for chance, x, Y in runs]
                EA, EA1 = (sum(chance * numbers[name] for chance, numbers in seen) for name in ("A", "A1"))
                rate = 1 - i.eta * curvatures(i)[0] / 2
                along = {"A0": first, "EA": EA, "EA1": EA1, "last": EA1, "z": rate**k, "Z": rate ** (k + 1)}
                yield from ((numbers | along, {}) for _, numbers in seen)
                k += 1
            reached = [(chance * c, y) for chance, x, Y in runs for c, y in rounds(i, Y[i.tau], x)]


def _local_step(i, x, Y, t, at):
    """Numbers of local step t + 1 of a round from x; Y: the local models after 0, 1, ... steps. The last step averages."""
    (mu, L), (delta2, sigma2) = curvatures(i), heterogeneity(i)
    centre, mean = (law_mean(i, models, x) for models in (Y[t], Y[t + 1]))
    drawn = rounds(i, Y[i.tau], x) if t + 1 == i.tau else [(Q(1), mean)]
    D, last = f.spread(i.q, Y[t], centre), f.spread(i.q, Y[t + 1], mean)
    return {"L": L, "eta": ft.fraction(i.eta), "mu": mu, "T": Q(i.tau - 1), "k": Q(t), "sigma": sqrt(sigma2), "delta2": delta2,
            "A": f.square(centre - at), "D": D, "R": sqrt(D), "R1": sqrt(last), "M": f.square(mean - at),
            "W": sum(chance * f.square(y - mean) for chance, y in drawn),
            "A1": sum(chance * f.square(y - at) for chance, y in drawn)}
