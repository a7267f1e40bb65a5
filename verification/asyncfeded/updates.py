"""What the lemmas say of one update, read off coded arrivals: `Local` rounds over all outcomes of their noise, and whole `Run`s.

In a run every arrival is an update of its own, with Gamma the largest staleness of all of them; with `signs` the local steps of
each arrival are listed over all signs of noise, from the models that the run has at that arrival.
"""
from dataclasses import replace
from fractions import Fraction as Q
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import fltheory as ft
from verification.asyncfeded import arrivals_run as runs
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.formulas import corollary1 as f
from verification.asyncfeded.formulas.steps import mean_square
from verification.asyncfeded.instances import log_between


class Update(NamedTuple):
    """One update by the paper's letters: vectors u = grad F(x_{t-tau}), v = grad F(x_t); D2 = |x_t - x_{t-tau}|^2; chance (m,) and
    delta (m, d) of every outcome of its noise; paths: its `Paths`, None where a run has no noise."""

    eta: list
    u: np.ndarray
    v: np.ndarray
    D2: Q
    chance: np.ndarray
    delta: np.ndarray
    paths: Any
    says: str = ""

    @property
    def K(self):
        return len(self.eta)

    @property
    def M(self):
        return mean_square(self.eta)

    @property
    def squares(self):
        """|Delta|^2 (m,)."""
        return (self.delta * self.delta).sum(-1)

    @property
    def delta2(self):
        """E|Delta|^2."""
        return (self.chance * self.squares).sum()

    @property
    def gamma2(self):
        """The largest gamma^2 of all outcomes; None where one is infinite."""
        if not self.D2:
            return Q(0)
        least = min(self.squares, default=0)
        return self.D2 / least if least else None

    def log(self, high=False):
        return _log(self.K + 1)[high]


@lru_cache
def _log(n):
    return log_between(n)


# ---- one arrival ----------------------------------------------------------------------------------------------------
def kept(i, law):
    """The outcomes of `law` with gamma <= i.Gamma, and their noise given that they were kept: what discarding leaves."""
    D2, squares = paths.square([a - b for a, b in zip(i.now, i.base, strict=True)]), (law.delta**2).sum(-1)
    rows = [k for k, s in enumerate(squares) if ft.fraction(i.extra["Gamma"]) ** 2 * s >= D2]
    chance = law.chance[rows] / law.chance[rows].sum()
    noise, bias, spread = [v[rows] for v in law.noise], [], []
    for k, now in enumerate(noise):
        groups = {}
        for row in range(len(rows)):
            groups.setdefault(tuple(tuple(v[row]) for v in noise[:k]), []).append(row)
        mean, second = now.copy(), chance.copy()
        for group in groups.values():
            share = chance[group] / chance[group].sum()
            mean[group] = (share[:, None] * now[group]).sum(0)
            second[group] = (share * (now[group] ** 2).sum(-1)).sum()
        bias.append(mean)
        spread.append(second)
    return replace(law, chance=chance, y=[v[rows] for v in law.y], exact=[v[rows] for v in law.exact], noise=noise,
                   delta=law.delta[rows], bias=bias, spread=spread)


def _of_local(i, law):
    law = kept(i, law) if i.extra.get("discarding") else law
    u, v = (paths.gradients(i.stated.problem, x)[1] for x in (i.base, i.now))
    return Update(i.eta, u, v, paths.square([a - b for a, b in zip(i.now, i.base, strict=True)]), law.chance, law.delta, law)


# ---- runs -----------------------------------------------------------------------------------------------------------
class Run(ft.Instance):
    """A run of AsyncFedED, FedAsync (law: an `EventClock`) or StaleSteps (order: the clients that arrive) from x0, with a listed
    schedule. Extras: rounds, digits as for `arrivals_run.record`; signs: the size of the noise's signs, 0 or None for none."""

    @property
    def eta(self):
        a = self.stated.algorithm
        return [ft.fraction(a.lr) * ft.fraction(v) for v in a.solver.factors]

    @property
    def L(self):
        return self.stated.L

    @property
    def sigma2(self):
        return Q(self.extra.get("signs") or 0) ** 2

    @property
    def sigma_g2(self):
        return paths.heterogeneity(self.stated.problem)

    @property
    def K(self):
        """Of every arrival."""
        return [u.K for u in updates(right(self))]


def run_of(name, problem, algorithm, law=None, x0=(1,), rounds=10, digits=18, signs=None, order=None, **extra):
    return Run(name, problem, algorithm, law, x0=list(x0), rounds=rounds, digits=digits, signs=signs, order=order, **extra)


@lru_cache(256)
def arrivals(i):
    """The arrivals of a `Run`, as its algorithm makes them."""
    noise = None
    if i.signs:
        noise = _signs(i)
    if i.order is not None:
        return runs.record_stale(i.algorithm, i.problem, i.order, i.x0, i.digits, noise)
    return runs.record(i.algorithm, i.problem, i.law, i.x0, i.rounds, i.digits, noise)


def _signs(i):
    """The signs that a run takes: those of a fixed sequence."""
    n, d = i.stated.n, i.stated.d
    return lambda t, k: [[Q(i.signs) * (1 - 2 * (((t * 7 + k * 3 + j * 5) * 11 >> 2) & 1)), *[Q(0)] * (d - 1)] for j in range(n)]


def _of_run(i):
    out = []
    for a in arrivals(i):
        u, v = (_slope(i.stated.problem, tuple(x)) for x in (a.base, a.x))
        D2, eta = runs.square(a.x - a.base), i.eta[:a.K]
        chance, delta, law = np.array([Q(1)], dtype=object), a.delta[None, :], None
        if i.signs:
            one = paths.local(f"arrival {a.t}", i.problem, eta, list(a.base), paths.skewed(i.signs), who=a.client, now=list(a.x))
            law = paths.path(one)
            chance, delta = law.chance, law.delta
        out.append(Update(eta, u, v, D2, chance, delta, law, f"arrival {a.t}, K = {a.K}"))
    return out


@lru_cache(4096)
def _slope(problem, x):
    return paths.gradients(problem, list(x))[1]


# ---- both -------------------------------------------------------------------------------------------------------------
@lru_cache(256)
def updates(i):
    """The instance's updates, as its algorithm makes them."""
    return _of_run(i) if isinstance(i, Run) else [_of_local(i, paths.path(i))]


def right(i):
    """The instance as stated, whatever was swapped into it."""
    return i if i.algorithm == i.stated.algorithm else i.but(algorithm=i.stated.algorithm)


@lru_cache(256)
def Gamma2(i):
    """Gamma^2: a stated one, or the largest that the right updates show; None where that is infinite."""
    if i.extra.get("Gamma") is not None:
        return ft.fraction(i.extra["Gamma"]) ** 2
    found = [u.gamma2 for u in updates(right(i))]
    return None if None in found else max(found)


def _stale(i):
    found = [u.gamma2 for u in updates(right(i))]
    return (None if None in found else max(found)), Gamma2(i)


def _c1(i):
    """The largest Gamma^2/(its cap) of all arrivals."""
    most = Gamma2(i)
    return most and max(most / f.largest_gamma2(u.K, i.L, u.M, u.log(high=True)) for u in updates(right(i))), 1



smooth, near, steps = paths.smooth, paths.near, paths.steps
stale = ft.Hypothesis("Assumption 4", r"$\gamma^2\le\Gamma^2$ for every outcome of the noise", _stale)
c1 = ft.Hypothesis("(C1)", r"$\Gamma^2(12K^2L^2M+K\ln(K+1))<3$ at every arrival", _c1, strict=True)


def _bias(i):
    return max((paths.square(b) for u in updates(right(i)) if u.paths is not None for part in u.paths.bias for b in part),
               default=Q(0)), 0


def _spread(i):
    laws = [u.paths for u in updates(right(i)) if u.paths is not None]
    return max((v for law in laws for part in law.spread for v in part), default=Q(0)), i.sigma2


unbiased = ft.Hypothesis("H*", "noise has mean zero given everything earlier in this round and before, the client, $x_t$, "
                         r"$x_{t-\tau}$, and that the update is used", _bias)
quiet = ft.Hypothesis("Assumption 2", r"$E\|g_i-\nabla f_i\|^2\le\sigma_l^2$ given the same", _spread)
