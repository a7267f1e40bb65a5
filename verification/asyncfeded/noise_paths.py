"""The K coded local steps of one client over every outcome of their noise, with the chance of each: exact in rationals.

`Local` is an instance: a client of a problem, the model it starts from, a listed schedule, a law of its noise. Its algorithm is one
arrival of `ft.StaleSteps` with server step 1, so that what a claim reads is what the coded round asked for and sent back.
"""
import itertools
from dataclasses import dataclass
from fractions import Fraction as Q
from functools import lru_cache
from math import isqrt, prod

import numpy as np

import fltheory as ft
from fltheory.asynchronous.fedasync import Stale
from fltheory.core.errors import refuse
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.problems.base import Cohort

MOST = 2**12   # outcomes of all local steps together


# ---- laws of noise -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Points:
    """The same finitely many values at every step and state: outcomes = ((chance, value), ..), a value a number or d of them."""

    outcomes: tuple

    def count(self, k):
        return len(self.outcomes)

    def at(self, k, y, past):
        """[(chance (m,), value (m, d))] at step k = 0, 1, .. of paths that are at y (m, d) and whose noise was past [k] (m, d)."""
        d = y.shape[-1]
        return [(np.full(len(y), p, dtype=object), np.array([_vector(v, d)] * len(y), dtype=object)) for p, v in self.outcomes]


@dataclass(frozen=True)
class ByState:
    """One law where the first coordinate is at most `at`, another one beyond; as many outcomes each."""

    below: Points
    above: Points
    where: Q = Q(0)

    def count(self, k):
        return len(self.below.outcomes)

    def at(self, k, y, past):
        low = np.array([ft.fraction(v) <= self.where for v in y[:, 0]])
        both = zip(self.below.at(k, y, past), self.above.at(k, y, past), strict=True)
        return [(np.where(low, p, q), np.where(low[:, None], u, v)) for (p, u), (q, v) in both]


@dataclass(frozen=True)
class OneBatch:
    """One draw for all steps of the round, a mini-batch used again: its mean is 0 given a model, not given the past."""

    law: Points

    def count(self, k):
        return len(self.law.outcomes) if k == 0 else 1

    def at(self, k, y, past):
        return self.law.at(k, y, past) if k == 0 else [(np.full(len(y), Q(1), dtype=object), past[0])]


CALM = Points(((Q(1), Q(0)),))


def skewed(sigma, r=1, along=None):
    """r sigma with chance 1/(1 + r^2), else -sigma/r: mean 0, variance sigma^2. r = 1: a sign. along: a vector of length 1."""
    sigma, r = Q(sigma), Q(r)
    values = [(1 / (1 + r * r), r * sigma), (r * r / (1 + r * r), -sigma / r)]
    return Points(tuple((p, v if along is None else tuple(v * Q(u) for u in along)) for p, v in values)) if sigma else CALM


def _vector(v, d):
    return list(v) if isinstance(v, tuple) else [v] + [Q(0)] * (d - 1)


# ---- the instance -------------------------------------------------------------------------------------------------
class Local(ft.Instance):
    """What one arrival states, by the paper's letters. Extras: who (client), base (d,), now (d,) the server's model when it
    arrives, law (of noise), loud (steps k = 0, 1, .. with noise; None: all), L and sigma_g2 where larger ones than computed."""

    @property
    def K(self):
        return self.stated.algorithm.steps

    def number(self, v):
        """A rational as the instance's arithmetic has it."""
        return v if v is None or self.domain.exact else self.domain.scalar(v)

    @property
    def eta(self):
        """[eta_1, .., eta_K]."""
        lr = ft.fraction(self.stated.algorithm.lr)
        return [self.number(lr * ft.fraction(v)) for v in self.stated.algorithm.solver.factors][:self.K]

    @property
    def L(self):
        return self.number(ft.fraction(self.extra["L"]) if self.extra.get("L") is not None else self.stated.L)

    @property
    def sigma2(self):
        """sigma_l^2."""
        return self.number(self.stated.sigma**2)

    @property
    def sigma_g2(self):
        """A stated sigma_g^2, or the least one."""
        given = self.extra.get("sigma_g2")
        return self.number(heterogeneity(self.stated.problem) if given is None else given)

    @property
    def slope(self):
        """grad F (d,) at the base."""
        return gradients(self.stated.problem, self.base, self.domain)[1]

    @property
    def own(self):
        """grad f_i (d,) at the base."""
        return gradients(self.stated.problem, self.base, self.domain)[0][self.who]

    @property
    def slope2(self):
        return square(self.slope)

    @property
    def own2(self):
        return square(self.own)


def local(name, problem, eta, base=0, law=CALM, sigma=None, who=0, now=None, loud=None, L=None, **extra):
    """An arrival with the schedule eta. sigma: sigma_l; by default that of a law of `skewed` or `Points`. base, now: numbers or
    (d,); further keywords become extras."""
    d = problem.d
    base = [Q(base)] * d if isinstance(base, int | str | Q) else [Q(v) for v in base]
    now = base if now is None else [Q(now)] * d if isinstance(now, int | str | Q) else [Q(v) for v in now]
    if sigma is None:
        sigma = root(max(variance(part) for part in _parts(law)))
    algorithm = ft.StaleSteps(1, len(eta), solver=ft.Listed([Q(v) for v in eta]))
    return Local(name, problem, algorithm, noise=Q(sigma), who=who, base=base, now=now, noise_law=law, loud=loud, L=L, **extra)


def _parts(law):
    return [law.below, law.above] if isinstance(law, ByState) else [law.law] if isinstance(law, OneBatch) else [law]


def variance(points):
    return sum(p * square(_vector(v, 1)) for p, v in points.outcomes)


def root(v):
    """The square root of a rational square; others are refused."""
    out = Q(isqrt(v.numerator), isqrt(v.denominator))
    return out if out * out == v else refuse("sigma", v, "the variance is no square of a rational", "Give sigma=.")


def square(v):
    return sum(u * u for u in v)


def gradients(problem, x, domain=ft.RATIONAL):
    """([grad f_i (d,)], grad F (d,)) at x (d,): Fractions, or numbers of an arithmetic that is not exact."""
    p = problem.to(domain)
    own = _plain(p.grad(_read(p, [list(x)] * p.n)), p)
    return list(own), sum(w * g for w, g in zip(_plain(p.p, p), own, strict=True))


@lru_cache(256)
def heterogeneity(problem):
    """The least sigma_g^2 of Assumption 3 over all x and i; None where it is infinite."""
    if hasattr(problem, "sigma_g2"):
        return problem.sigma_g2
    if isinstance(problem, ft.Quadratic):
        same = all((h == problem.H[0]).all() for h in problem.H)
        mean = sum(ft.fraction(w) * b for w, b in zip(problem.weights, problem.b, strict=True))
        return max(square(b - mean) for b in problem.b) if same else None
    w, most = [ft.fraction(v) for v in problem.weights], Q(0)
    for low, high, a, c in problem.pieces():
        slope, push = (sum(u * v for u, v in zip(w, part, strict=True)) for part in (a, c))
        if None in (low, high) and any(v != slope for v in a):
            return None
        ends = [v for v in (low, high) if v is not None] or [Q(0)]
        most = max([most, *(((u - slope) * x + v - push) ** 2 for u, v in zip(a, c, strict=True) for x in ends)])
    return most


# ---- its coded round ------------------------------------------------------------------------------------------------
class Watched:
    """The problem as a round sees it: draws the noise of each path, and notes where gradients are asked for."""

    def __init__(self, problem, law, loud, digits):
        self.problem, self.n, self.p, self.d = problem, problem.n, problem.p, problem.d
        self.law, self.loud, self.digits = law, loud, digits
        self.chance, self.points, self.exact, self.noise, self.bias, self.spread = 1, [], [], [], [], []

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _gradient(self, who, y, k):
        m = len(self.digits)
        y = y + self.problem.domain.array(np.zeros((m, 1, self.d), dtype=object))
        exact = self.problem._gradient(who, y, None)
        now, past = _plain(y[:, 0], self.problem), self.noise
        law = self.law if self.loud is None or k in self.loud else CALM
        given = law.at(k, now, past)
        if getattr(self.problem, "calm", None) is not None:   # the problem itself makes noise depend on the state
            calmed = [self.problem._gradient(who, y, _read(self.problem, v)[:, None]) - exact for _, v in given]
            given = [(p, _plain(v[:, 0], self.problem)) for (p, _), v in zip(given, calmed, strict=True)]
        self.bias.append(sum(p[:, None] * v for p, v in given))
        self.spread.append(sum(p * (v * v).sum(-1) for p, v in given))
        given = [tuple(_plain(_read(self.problem, v), self.problem) for v in pair) for pair in given]
        taken = self.digits[:, k]
        value = np.array([given[j][1][row] for row, j in enumerate(taken)], dtype=object)
        self.chance = self.chance * np.array([given[j][0][row] for row, j in enumerate(taken)], dtype=object)
        for into, what in zip((self.points, self.exact, self.noise), (now, _plain(exact[:, 0], self.problem), value), strict=True):
            into.append(what)
        return exact + _read(self.problem, value)[:, None]


@dataclass(frozen=True)
class Paths:
    """m outcomes of the local steps. chance (m,); y: [y_0, .., y_K] (m, d), the last one from what was sent; exact, noise: of step
    k = 1..K at [k - 1] (m, d); delta (m, d); bias, spread: mean (m, d) and mean square (m,) of the noise given the past."""

    chance: np.ndarray
    y: list
    exact: list
    noise: list
    delta: np.ndarray
    bias: list
    spread: list

    def mean(self, v):
        """E v of (m, ..)."""
        v = np.asarray(v)
        return (self.chance.reshape(-1, *(1,) * (v.ndim - 1)) * v).sum(0)

    def square(self, v):
        """E|v|^2 of (m, d)."""
        return self.mean((v * v).sum(-1))

    def dot(self, u, v):
        """E<u, v>."""
        return self.mean((u * v).sum(-1))

    @property
    def drift(self):
        """[E|y_k - y_0|^2], k = 0..K."""
        return [self.square(v - self.y[0]) for v in self.y]


def _read(problem, v):
    return problem.domain.array(np.asarray(v, dtype=object))


def _plain(v, problem):
    return ft.linalg.to_fractions(v) if problem.domain.exact else np.asarray(v)


@lru_cache(64)
def path(i) -> Paths:
    """The instance's coded arrival over all outcomes. The noise of steps beyond K, which a wrong round may make, is that of K."""
    problem, algorithm, K = i.problem.to(i.domain), i.algorithm.to(i.domain), i.K
    law = i.noise_law
    counts = [law.count(k) if i.loud is None or k in i.loud else 1 for k in range(K)]
    if prod(counts) > MOST:
        refuse("noise", prod(counts), f"more than {MOST} outcomes", "Give fewer steps noise, loud=[..].")
    digits = np.array(list(itertools.product(*map(range, counts))))
    watched, m = Watched(problem, law, i.loud, digits), len(digits)
    base, now = (_read(problem, np.array([list(v)] * m, dtype=object)) for v in (i.base, i.now))
    state = Stale(now, base[:, None, :] + 0 * problem.p[:, None])
    one = np.array([1])
    draw = Draw(np.array([i.who]), one, one * getattr(algorithm, "steps", K), lambda k: min(k, K - 1))
    delta = _plain(algorithm.round(watched, state, draw).x - now, problem)
    y = [*watched.points[:K], _plain(base, problem) + delta]
    return Paths(watched.chance + np.zeros(m, dtype=object), y, watched.exact, watched.noise, delta, watched.bias, watched.spread)


def right(i) -> Paths:
    """The coded arrival as stated, whatever was swapped into the instance."""
    return path(i if i.algorithm == i.stated.algorithm else i.but(algorithm=i.stated.algorithm))


# ---- hypotheses --------------------------------------------------------------------------------------------------------
smooth = ft.Hypothesis("Assumption 1", r"every $f_i$ is $L$-smooth", lambda i: (i.stated.L, i.extra.get("L") or i.stated.L))
near = ft.Hypothesis("Assumption 3", r"$\|\nabla f_i(x)-\nabla F(x)\|^2\le\sigma_g^2$ for all $i$ and $x$, weights alike",
                     lambda i: (heterogeneity(i.stated.problem) if len(set(i.p)) == 1 else None, i.sigma_g2))
unbiased = ft.Hypothesis("H*", "noise has mean zero given everything earlier in this round and before, the client, $x_t$ and "
                         r"$x_{t-\tau}$", lambda i: (max(square(b) for bias in right(i).bias for b in bias), 0))
quiet = ft.Hypothesis("Assumption 2", r"noise has $E\|g_i-\nabla f_i\|^2\le\sigma_l^2$ given the past; weaker than the printed "
                      "bound of every draw", lambda i: (max(v for spread in right(i).spread for v in spread), i.stated.sigma**2))
steps = ft.Hypothesis("(T1)", r"$6k(2k+1)L^2\eta_{i,k}^2\le1$ for $k=1,\dots,K$",
                      lambda i: (max(6 * k * (2 * k + 1) * i.L**2 * e**2 for k, e in enumerate(i.eta, 1)), 1), cap=2)
NEEDS = [smooth, unbiased, quiet, near, steps]
