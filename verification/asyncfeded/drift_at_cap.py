"""Local steps at the very cap of (T1), whose sizes are no rationals: coded in balls; and rational bounds of a_k = L eta_k there."""
from fractions import Fraction as Q
from math import isqrt

import numpy as np

import fltheory as ft
from fltheory.asynchronous.fedasync import Stale
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.problems.base import Cohort
from fltheory.core.records import unread

BITS = 256


class Noted:
    """The problem as a round sees it; notes where gradients are asked for."""

    def __init__(self, problem):
        self.problem, self.n, self.p, self.d, self.points = problem, problem.n, problem.p, problem.d, []

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _gradient(self, who, y, sample):
        self.points.append(y)
        return self.problem._gradient(who, y, sample)


def models(i, noisy=False):
    """[y_0, .., y_K] (m,) of client 0 on the line from 0, balls, with steps 1/(L sqrt(6k(2k+1))). m = 1 without noise; noisy: m = K
    runs of which run j has noise 1 in local step j alone, so that linear runs have E y_k^2 = sigma^2 sum_j y_k[j]^2."""
    ball, K, L = ft.Balls(BITS), i.stated.algorithm.steps, i.stated.L
    problem = i.problem.to(ball)
    steps = [1 / (ball.scalar(6 * k * (2 * k + 1)).sqrt() * ball.scalar(L)) for k in range(1, K + 1)]
    algorithm = i.algorithm.to(ball)
    algorithm = unread(algorithm, solver=unread(algorithm.solver, factors=np.array(steps, dtype=object)))
    m, one = K if noisy else 1, np.array([1])
    noise = [ball.array(np.array([[[Q(int(noisy and j == k))]] for j in range(m)], dtype=object)) for k in range(K)]
    base = ball.array(np.zeros((m, 1), dtype=object))
    noted = Noted(problem)
    state = Stale(base, base[:, None, :] + 0 * problem.p[:, None])
    draw = Draw(np.array([0]), one, one * K, lambda k: noise[k])
    x = algorithm.round(noted, state, draw).x
    return [*(y[:, 0, 0] if len(y) == m else np.repeat(y[:, 0, 0], m) for y in noted.points[:K]), x[:, 0]]


def a_between(k, digits=15):
    """(low, high): rationals around 1/sqrt(6k(2k+1))."""
    low = Q(isqrt(10 ** (2 * digits) // (6 * k * (2 * k + 1))), 10**digits)
    return low, low + Q(1, 10**digits)
