"""Every order of uniform draws: `Fresh` rounds with one local step over all draws of clients and of noise, exact."""
import itertools
from fractions import Fraction as Q
from functools import lru_cache

import numpy as np

import fltheory as ft
from fltheory.core.errors import refuse
from verification.asyncfeded import arrivals_run as arrivals
from verification.asyncfeded import runs_theorem2 as runs

MOST = 2**10


@lru_cache(64)
def uniform(i, count):
    """(chances (m,), [x_t (m, d)] for t = 1..count + 1, [(client, noise) (m,)] of each of so many arrivals): all draws
    of clients and noise of `Fresh` rounds with one local step; exact."""
    algorithm, problem, n = i.algorithm.to(ft.RATIONAL), runs.rational(i.problem), i.problem.n
    loud = i.extra.get("chances", runs.SIGNS) if i.stated.sigma else ((Q(1), Q(0)),)
    choices = [(Q(1, n) * p, client, v * i.stated.sigma) for client in range(n) for p, v in loud]
    if len(choices) ** count > MOST:
        refuse("outcomes", len(choices) ** count, f"more than {MOST}", "Draw fewer arrivals.")
    words = list(itertools.product(choices, repeat=count))
    chance = np.array([np.prod([c for c, _, _ in word], initial=Q(1)) for word in words], dtype=object)
    x = ft.RATIONAL.array(np.array([list(i.x0)] * len(words), dtype=object))
    state, seen, drawn = algorithm.init(problem, x), [arrivals.fractions(x)], []
    for t in range(count):
        who, noise = [word[t][1] for word in words], [word[t][2] for word in words]
        xi = ft.RATIONAL.array(np.array([[[v] + [0] * (i.d - 1)] * n for v in noise], dtype=object))
        draw = ft.everyone(n, 1, np.eye(n, dtype=int)[who])._replace(xi=lambda k, xi=xi: xi)
        state = algorithm.round(problem, state, draw)
        seen.append(arrivals.fractions(state.x))
        drawn.append((who, noise))
    return chance, seen, drawn


def average_uniform(i):
    """(1/T) sum_t E|grad F(x_t)|^2 over all draws."""
    chance, seen, _ = uniform(i, i.T - 1)
    return sum((chance * (slopes(i.problem, x) ** 2).sum(-1)).sum() for x in seen) / i.T


def slopes(problem, x):
    """grad F at the rows of x (m, d)."""
    return arrivals.fractions(runs.rational(problem).gradient(ft.RATIONAL.array(x)))


def meaning(i):
    """What the symbols of the proof for uniform draws are at the first and the last arrival."""
    if i.n > 3 or i.T > 5:
        return
    right = i if i.algorithm == i.stated.algorithm else i.but(algorithm=i.stated.algorithm)
    chance, seen, drawn = uniform(right, i.T)
    problem, G = runs.rational(i.problem), [slopes(i.problem, x) for x in seen]
    F = [arrivals.fractions(problem.value(ft.RATIONAL.array(x))) for x in seen]

    def mean(v):
        return (chance * v).sum()
    X = [mean((g * g).sum(-1)) for g in G]
    for t in {0, i.T - 1}:
        who, noise = drawn[t]
        at = ft.RATIONAL.array(seen[t])[:, None, :] + 0 * problem.p[:, None]
        exact = arrivals.fractions(problem.grad(at))[np.arange(len(who)), who]
        xi = ft.RATIONAL.array(np.array([[[v] + [0] * (i.d - 1)] * i.n for v in noise], dtype=object))
        n = arrivals.fractions(problem.grad(at, xi))[np.arange(len(who)), who] - exact
        common = {"L": i.L, "eta_g": i.eta_g, "N": i.N, "T": i.T, "log": i.logs[0], "theta": Q(1), "t": t, "X": X[t],
                  "sumX": sum(X[:t]), "total": sum(X[:i.T]), "Eg2": mean((exact**2).sum(-1)),
                  "En2": mean((n**2).sum(-1)), "sg2": i.sg2, "sl2": i.sl2, "F1": F[0][0], "EF": mean(F[t]),
                  "EFn": mean(F[t + 1]), "FT": mean(F[-1]), "inf": runs.best(i.problem)[1],
                  "EGg": mean((G[t] * exact).sum(-1)), "EGn": mean((G[t] * n).sum(-1)),
                  "Egn": mean((exact * n).sum(-1))}
        for o in {0, len(who) - 1}:
            yield common | {"F": F[t][o], "Fn": F[t + 1][o]}, {"G": G[t][o], "g": exact[o], "n": n[o]}
