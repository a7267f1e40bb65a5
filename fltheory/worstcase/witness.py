"""Functions that attain a worst case: interpolants of the recorded points, on which the float round is run."""
from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import refuse
from fltheory.core.kinds import Who
from fltheory.core.numbers.scalars import FLOAT, fraction
from fltheory.core.problems.base import Problem
from fltheory.worstcase.classes import QuadraticClass
from fltheory.worstcase.programme import SOLVED
from fltheory.worstcase.quadratic_forms import float_, floats
from fltheory.worstcase.view import FloatView

TIGHTER = Fraction(1, 100_000)  # share of the curvature range given away so that the points interpolate strictly
RANK = 1e-9  # relative size of Gram eigenvalues that count as 0


class Interpolant(Problem):
    """A problem of n clients in dimension d whose functions pass through given points (float arithmetic alone).

    clients: [(points (k, d), gradients (k, d), values (k,))]; classes: the clients' `FunctionClass`es; weights (n,).
    """

    def __init__(self, clients, classes, weights):
        self.n, self.d = len(clients), clients[0][0].shape[1]
        self.weights = self.p = np.asarray(weights, dtype=float)
        self.queries, self.named = [[] for _ in clients], {}
        kinds = [_Quadratic if isinstance(c, QuadraticClass) else _Smooth for c in classes]
        self.functions = [kind(*data, float_(c.low), float_(c.high)) for kind, data, c in zip(kinds, clients, classes, strict=True)]

    def to(self, domain):
        return self

    def _gradient(self, who: Who, y, sample):
        ids = range(self.n) if isinstance(who, slice) else who
        out = np.array([self._query(int(i), y[k if y.shape[-2] > 1 else 0]) for k, i in enumerate(ids)])
        return out if sample is None else out + sample

    def _query(self, i, x):
        gradient = self.functions[i](x)[1]
        self.queries[i].append((x, gradient))
        return gradient

    def _values(self, x):
        return np.array([f(x)[0] for f in self.functions])

    def free(self, name):
        """The named vectors (n, d) that the programme chose."""
        return self.named[name]

    def points_of(self, gradients):
        """The points (n, d) at which the rounds took these gradients (n, d): the nearest ones in floats."""
        return np.array([min(queries, key=lambda pair, g=g: np.abs(pair[1] - g).max())[0]
                         for queries, g in zip(self.queries, gradients, strict=True)])

    def value(self, x):
        return float(self.p @ self._values(x))

    def gradient(self, x):
        return self.p @ np.array([f(x)[1] for f in self.functions])


class _Quadratic:
    """x -> (value, gradient) of a quadratic with the given differences of gradients and curvature in [low, high]."""

    def __init__(self, X, G, F, low, high):
        self.x0, self.g0, self.f0 = X[0], G[0], F[0]
        dX, dG = X - X[0], G - G[0]
        vectors, sizes, _ = np.linalg.svd(dX.T, full_matrices=True)
        rank = int((sizes > 1e-7 * max(sizes.max(initial=0.0), 1e-300)).sum())
        U, V = vectors[:, :rank], vectors[:, rank:]
        image = np.linalg.lstsq(dX @ U, dG, rcond=None)[0].T if rank else np.zeros((X.shape[1], 0))  # H U
        inside, across = (U.T @ image + (U.T @ image).T) / 2, V.T @ image
        gap = np.linalg.pinv(inside - low * np.eye(rank), rcond=1e-9)
        rest = low * np.eye(V.shape[1]) + across @ gap @ across.T  # the smallest completion above `low`
        self.H = U @ inside @ U.T + V @ across @ U.T + U @ across.T @ V.T + V @ rest @ V.T

    def __call__(self, x):
        s = x - self.x0
        return self.f0 + self.g0 @ s + s @ self.H @ s / 2, self.g0 + self.H @ s


class _Smooth:
    """x -> (value, gradient) of low |x|^2 / 2 plus the smallest smooth convex function through the points (Taylor et al. 2017)."""

    def __init__(self, X, G, F, low, high):
        self.low, self.width = low, high - low
        G, F = G - low * X, F - low / 2 * (X * X).sum(1)
        self.centres = X - G / self.width
        self.heights = F - (G * G).sum(1) / (2 * self.width)

    def __call__(self, x):
        mix = _simplex(x, self.centres, self.heights, self.width)
        r = x - mix @ self.centres
        return self.width / 2 * (r @ r) + mix @ self.heights + self.low / 2 * (x @ x), self.width * r + self.low * x


def _simplex(x, centres, heights, width):
    """argmin over the simplex of width/2 |x - mix centres|^2 + mix heights, by an active set from the best vertex."""
    K = width * centres @ centres.T
    linear = heights - width * centres @ x
    active = [int(np.argmin(np.diag(K) / 2 + linear))]
    mix = np.zeros(len(heights))
    mix[active] = 1.0
    for _ in range(20 * len(heights)):
        slope = K @ mix + linear
        level = slope[active].mean()
        enter = int(np.argmin(slope))
        if enter in active or slope[enter] >= level - 1e-14 * max(1.0, abs(level)):
            return mix
        active.append(enter)
        while True:
            k = len(active)
            system = np.block([[K[np.ix_(active, active)], np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
            aim = np.linalg.lstsq(system, np.append(-linear[active], 1.0), rcond=1e-13)[0][:k]
            if aim.min() > 0:
                mix[:] = 0
                mix[active] = aim
                break
            now = mix[active]
            steps = np.where(aim <= 0, now / np.maximum(now - aim, 1e-300), 1.0)
            t = steps.min()
            mix[active] = np.maximum(now + t * (aim - now), 0.0)
            leaving = active[int(np.argmin(steps))]
            mix[leaving] = 0.0
            active = [a for a in active if a != leaving]
    return mix


def realised(programme, solution):
    """(vec, d): vectors of the programme as points of R^d from its one Gram block."""
    columns = np.array(programme.columns[0])[programme.faces[0]]
    weights, vectors = np.linalg.eigh(solution.blocks[0])
    keep = weights > RANK * max(weights[-1], 1e-300)
    E = vectors[:, keep] * np.sqrt(weights[keep])

    def vec(u):
        return floats(np.asarray(programme.gram.coordinates(u)[0])[columns]) @ E
    return vec, int(keep.sum())


@dataclass(frozen=True)
class Witness:
    """problem: n functions in dimension d; x0 (d,); before: the state there; attained: the measure after the float rounds."""

    problem: Any = field(repr=False)
    x0: np.ndarray
    before: Any = field(repr=False)
    attained: float = 0.0


def attaining(setting) -> Witness:
    """The witness of a `Setting`. Raises BadInput for counted classes, noise, and where the solver fails."""
    if setting.algorithm.personal:
        refuse("algorithm", type(setting.algorithm).__name__, "has personal parameters: functions of both are not interpolated",
               "Use the certificate alone.")
    if setting.counts:
        refuse("counts", setting.counts, "clients that are counted have no functions of their own in the programme",
               "Ask without counts, for few clients.")
    if setting.noise is not None:
        refuse("noise", setting.noise, "atoms of the noise are not replayed", "Ask without noise.")
    inner = tuple(_tighter(c) for c in setting.classes)
    programme = replace(setting, classes=inner).programme()
    solution = programme.solve()
    if solution.status != SOLVED:
        refuse("witness", solution.status, "the solver did not solve the tightened programme", "Rescale, or take fewer steps.")
    gram = programme.gram
    vec, _ = realised(programme, solution)
    forms = [programme.less, programme.same, *(itertools.chain(*m) for m in programme.matrices)]
    clients = []
    for points in gram.live([*itertools.chain(*forms)]):
        X, G = (np.array([vec(getattr(p, k)) for p in points]) for k in ("x", "gradient"))
        F = np.array([_value(p.value, vec, solution.values, programme) for p in points])
        clients.append((X, G, F))
    problem = Interpolant(clients, setting.classes, [float(fraction(v)) for v in gram.p])
    problem.named = {name: np.array([vec(r) for r in rows]) for name, rows in gram._free.items()}
    algorithm = setting.algorithm.to(FLOAT)
    x0 = vec(programme.start.x)
    before = algorithm.init(problem, x0)
    if setting.start != "init":
        before = type(before)(*(vec(v) if v.ndim == 1 else np.array([vec(r) for r in v]) for v in programme.start))
        for i, points in enumerate(gram.points):
            problem.queries[i] = [(vec(p.x), vec(p.gradient)) for p in points.values()]
    star = functools.cache(lambda: vec(programme.star()))
    attained = 0.0
    for draws in itertools.product(setting.law.support(gram.n, 0), repeat=setting.rounds):
        state, q = before, 1.0
        for chance, draw in draws:
            q, state = q * float(fraction(chance)), advance(algorithm, problem, state, draw)
        attained += q * float(setting.measure(FloatView(problem, algorithm, before, state, star)))
    return Witness(problem, x0, before, attained)


def _value(form, vec, values, programme):
    total = float(fraction(form.constant))
    total += sum(float(fraction(c)) * (vec(u) @ vec(v)) for c, u, v in form.terms)
    return total + sum(float(fraction(c)) * values[programme.place[k]] for k, c in form.values.items() if k in programme.place)


def _tighter(kind):
    low, high = fraction(kind.mu), fraction(kind.L)
    gap = (high - low) * TIGHTER
    return replace(kind, L=high - gap, mu=low + gap)
