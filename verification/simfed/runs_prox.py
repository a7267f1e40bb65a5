"""Coded rounds of FedProx with their local models, over every outcome of their noise, exact in rationals; G as measured along them.

Noise is a fresh sign times sigma on the first coordinate, of every client and local step, or of the listed ones (round, step). On
quadratics everything is affine in the noise, and second moments are sums over its parts; elsewhere all outcomes are listed.
"""
import itertools
from dataclasses import dataclass
from fractions import Fraction as Q
from functools import lru_cache
from math import isqrt

import numpy as np

import fltheory as ft
from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.problems.base import Cohort

try:
    import hypothesis
    import hypothesis.strategies
except ImportError:  # the searches are then SKIPPED, with that reason
    hypothesis = None

MOST = 2**12   # outcomes of all rounds together


class Prox(ft.Instance):
    """Rounds of FedProx from x0 (`rounds` of them); what they state goes by the paper's letters."""

    @property
    def E(self):
        return self.stated.algorithm.steps

    @property
    def alpha(self):
        return ft.fraction(self.stated.algorithm.solver.mu)

    @property
    def gamma(self):
        return self.eta

    @property
    def S(self):
        return sum(q * q for q in self.p)

    @property
    def sigma2(self):
        return self.sigma**2

    @property
    def G2(self):
        """A stated bound, or the largest E|g|^2 that the right rounds meet before a local step."""
        return self.extra["bound"] if "bound" in self.extra else measured(self)

    @property
    def best(self):
        """(w_* (d,), f_*, the minima of the clients), Fractions."""
        return optimum(self.stated.problem)

    @property
    def Gamma(self):
        return self.best[1] - sum(q * v for q, v in zip(self.p, self.best[2], strict=True))

    @property
    def gap(self):
        """f(w_0) - f_* or f_inf."""
        return values(self.stated.problem, [self.x0])[0] - self.best[1]


@lru_cache(512)
def optimum(problem):
    """(minimiser, minimum, the clients' minima); a quadratic client's minimum is 0, at its c_i; of sines they are not needed."""
    if isinstance(problem, ft.Quadratic):
        found = ft.optimum(problem)
        return np.array([ft.fraction(v) for v in found.x], dtype=object), ft.fraction(found.value), [Q(0)] * problem.n
    x, least = problem.least()
    if not hasattr(problem, "slopes"):
        return np.array([x]), least, [None] * problem.n
    own = [(tuple(a), tuple(t), (b,)) for a, t, b in zip(problem.slopes, problem.knots, problem.b, strict=True)]
    alone = {one: ft.PiecewiseQuadratic([one[0]], [one[1]], one[2]).least() for one in set(own)}
    return np.array([x], dtype=object), least, [alone[one] and alone[one][1] for one in own]   # None: not bounded below


@dataclass(frozen=True)
class Run:
    """points, exact, noise: [round][step] (m, n, d), m outcomes or parts of the noise; along: [round][0..E] (m, d), the last one
    the model that the coded round returns; ends: [round] (n, m, d) models of single clients at the end, if asked for. parts: the m
    are [no noise, each part of it]."""

    points: list
    exact: list
    noise: list
    along: list
    ends: list
    parts: bool
    problem: object

    def mean(self, v):
        """E of (m, ...): affine in the noise, or any."""
        return v[0] if self.parts else v.sum(0) / len(v)

    def square(self, v):
        """E|v|^2 over the last axis."""
        square = (v * v).sum(-1)
        if not self.parts:
            return self.mean(square)
        spread = v[1:] - v[:1]
        return square[0] + (spread * spread).sum(-1).sum(0)

    def dot(self, u, v):
        """E<u, v>."""
        return (self.square(u + v) - self.square(u - v)) / 4

    def value(self, w):
        """E f(w) for w (m, d)."""
        if not self.parts:
            return self.mean(values(self.problem, w))
        spread = w[1:] - w[:1]
        at = values(self.problem, w[:1])[0]
        return at + sum((values(self.problem, w[:1] + s * spread) - at).sum() for s in (1, -1)) * Q(1, 2)

    def slope(self, w):
        """grad f (m, d)."""
        return _plain(self.problem.gradient(_read(self.problem, w)), self.problem)

    def drifts(self, p, r, k):
        """(sum_i p_i E|wbar_k - w_k^i|^2, sum_i p_i E|wbar_0 - w_k^i|^2)."""
        w = self.points[r][k]
        return tuple((p * self.square(w - self.along[r][at][:, None])).sum() for at in (k, 0))


class Watched:
    """The problem as a round sees it; notes where gradients are asked for and what they are."""

    def __init__(self, problem):
        self.problem, self.n, self.p, self.d = problem, problem.n, problem.p, problem.d
        self.points, self.exact = [], []

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _gradient(self, who, y, sample):
        exact = self.problem._gradient(who, y, None)
        self.points.append(y + 0 * exact + (0 if sample is None else 0 * sample))
        self.exact.append(exact)
        return exact if sample is None else exact + sample


def _read(problem, v):
    return problem.domain.array(np.asarray(v, dtype=object)) if problem.domain.exact else np.asarray(v, dtype=float)


def _plain(v, problem):
    return ft.linalg.to_fractions(v) if problem.domain.exact else np.asarray(v)


def values(problem, w):
    """f at the rows of w (m, d)."""
    problem = problem if "p" in problem.__dict__ else problem.to(ft.FLOAT if hasattr(problem, "phases") else ft.RATIONAL)
    return _plain(problem.value(_read(problem, w)), problem)


def samples(i, steps):
    """(whether they are parts, (m, rounds, steps, n, d) noise)."""
    rounds, n, d = i.rounds, i.problem.n, i.problem.d
    loud = i.extra.get("slots") or list(itertools.product(range(rounds), range(steps)))
    places = [(r, k, j) for r, k in loud if k < steps for j in range(n)] if i.stated.sigma else []
    parts = isinstance(i.problem, ft.Quadratic)
    if parts:
        signs = np.concatenate([np.zeros((1, len(places)), dtype=int), np.eye(len(places), dtype=int)])
    elif 2 ** len(places) > MOST:
        refuse("noise", len(places), f"more than {MOST} outcomes", "Give fewer slots noise.")
    else:
        signs = np.array(list(itertools.product((1, -1), repeat=len(places))))
    out = np.zeros((len(signs), rounds, steps, n, d), dtype=object)
    for at, place in enumerate(places):
        out[(slice(None), *place, 0)] = signs[:, at] * i.stated.sigma
    return parts, out


@lru_cache(32)
def path(i, ends=False) -> Run:
    """The instance's coded rounds. ends: also the clients' own models at the end, from rounds with one client each."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    n, steps, p = problem.n, algorithm.steps, np.array(i.stated.p, dtype=object)[:, None]
    parts, xi = samples(i, steps)
    present = np.concatenate([np.ones((1, n), dtype=int), np.eye(n, dtype=int)])[:, None] if ends else np.ones(n, dtype=int)
    x, made = _read(problem, np.broadcast_to(np.array(i.x0, dtype=object), (len(xi), problem.d))), ([], [], [], [], [])
    for r in range(i.rounds):
        watched, noise = Watched(problem), [_read(problem, xi[:, r, k]) for k in range(steps)]
        draw = ft.everyone(n, steps, present)._replace(xi=noise.__getitem__)
        after = algorithm.round(watched, algorithm.init(watched, x), draw).x
        x = after[0] if ends else after
        points, exact = ([np.broadcast_to(_plain(v[0] if v.ndim > 3 else v, problem), (len(xi), n, problem.d)) for v in what]
                         for what in (watched.points, watched.exact))
        along = [(p * w).sum(-2) for w in points[:i.E]]
        along += [_plain(x, problem)] * (i.E + 1 - len(along))
        own = _plain(after[1:], problem) if ends else None
        for into, what in zip(made, (points, exact, [_plain(v, problem) for v in noise], along, own), strict=True):
            into.append(what)
    return Run(*made, parts, problem)


@lru_cache(64)
def measured(i):
    """The largest E|g_i|^2 before a local step of the rounds as stated."""
    right = i if i.algorithm == i.stated.algorithm else i.but(algorithm=i.stated.algorithm)
    run = path(right)
    return max(v for steps in run.exact for g in steps for v in run.square(g)) + i.sigma2


def local_models(i):
    """(the rounds, [(k, models of the clients (m, n, d), their mean (m, d), wbar_0 (m, d))] for 0 < k <= E of the first round)."""
    run = path(i, ends=True)
    local = [*run.points[0][1:i.E], np.moveaxis(run.ends[0], 0, 1)]
    return run, [(k, w, run.along[0][k], run.along[0][0]) for k, w in enumerate(local, 1)]


def drifts_of(i):
    """What the symbols of the proofs of drifts are on the coded round: up to three clients, the first and the last steps."""
    run, local = local_models(i)
    given, p, t = [g + e for g, e in zip(run.exact[0], run.noise[0], strict=True)], np.array(i.p, dtype=object), i.alpha * i.gamma
    for (k, w, mean, start), j in itertools.product(local[:2] + local[-1:], range(min(i.n, 3))):
        c = [(1 - t) ** (k - 1 - s) for s in range(k)]
        g, apart = [run.square(v[:, j]) for v in given[:k]], run.square(w - start[:, None])
        at = {"gamma": i.gamma, "t": t, "k": k, "s": sum(c), "G2": i.G2, "gg": g[-1], "cj": c[0],
              "Sgg": sum(a * b for a, b in zip(c, g, strict=True)), "own": apart[j], "disp": (p * apart).sum(),
              "Es": run.square(sum(a * v[:, j] for a, v in zip(c, given, strict=False))), "mid": run.square(mean - start),
              "off": run.square(w[:, j] - mean), "drift": (p * run.square(w - mean[:, None])).sum()}
        yield at | {"d2": ((mean - w[:, j])[0] ** 2).sum()}, {"m": (mean - start)[0], "v": (w[:, j] - start)[0]}


def constants(i):
    """What the proofs call the constants of an instance."""
    return {"L": i.L, "mu": i.mu, "alpha": i.alpha, "gamma": i.gamma, "S": i.S, "sigma2": i.sigma2, "G2": i.G2, "E": i.E,
            "am": i.alpha + i.mu, "La": i.L + i.alpha}


def clients_values(problem, w):
    """f_i at the rows of w (.., d), clients last."""
    return _plain(problem._values(_read(problem, w)), problem)


def step_of(i):
    """What the symbols of the proof of one local step are, at the first and the last step of the coded round."""
    if i.n > 3:
        return
    run, p, star = path(i), np.array(i.p, dtype=object), i.best[0]
    at = constants(i) | {"Gm": i.Gamma, "Fs": i.best[1], "Fm": i.best[1] - i.Gamma, "es": i.sigma2, "Es": i.S * i.sigma2}
    for k in sorted({0, 1, i.E - 1} & set(range(i.E))):
        w, mean, start, g, e = run.points[0][k], run.along[0][k], run.along[0][0], run.exact[0][k], run.noise[0][k]
        x, a, own = mean - star, start - star, w - mean[:, None]
        G, n = ((p[:, None] * np.broadcast_to(v, g.shape)).sum(-2) for v in (g, e))
        after, drift, disp = run.along[0][k + 1] - star, *run.drifts(p, 0, k)
        quiet = i.extra.get("slots") and (0, k) not in i.slots
        means = {"D": run.square(x), "D0": run.square(a), "Dn": run.square(after), "drift": drift, "Edisp": disp,
                 "En": run.square(n), "Exn": run.dot(x, n), "Ean": run.dot(a, n), "EGn": run.dot(G, n)}
        numbers = at | means | ({"es": 0, "Es": 0} if quiet else {})
        o = len(x) - 1
        slopes = _plain(run.problem.at().grad(_read(run.problem, mean[:, None] + 0 * w)), run.problem)[o]
        fb, fs = clients_values(run.problem, mean)[o], clients_values(run.problem, star[None])[0]
        numbers |= {"F": (p * fb).sum(), "Sg": (p * (g[o] ** 2).sum(-1)).sum(), "Se": (p * (own[o] ** 2).sum(-1)).sum(),
                    "disp": (p * ((w - start[:, None])[o] ** 2).sum(-1)).sum(), "Xe": (p * (own[o] * x[o]).sum(-1)).sum(),
                    "Xg": (p * (g[o] * x[o]).sum(-1)).sum(), "Ag": (p * (g[o] * a[o]).sum(-1)).sum(), "d2": (after[o] ** 2).sum()}
        for j in range(i.n):
            mine = {"fi": clients_values(run.problem, w[:, j])[o][j], "fb": fb[j], "fs": fs[j], "fm": i.best[2][j],
                    "dd": ((start - w[:, j])[o] ** 2).sum()}
            yield numbers | mine, {"x": x[o], "a": a[o], "e": own[o, j], "g": g[o, j], "h": slopes[j], "G": G[o], "n": n[o]}


def round_of(i):
    """Of one round, for Lemma 3."""
    run, p, q = path(i), np.array(i.p, dtype=object), 1 - i.gamma * (i.alpha + i.mu)
    D = [run.square(run.along[0][k] - i.best[0]) for k in range(i.E + 1)]
    for k in sorted({0, i.E - 1}):
        drift, disp = run.drifts(p, 0, k)
        at = {"Gm": i.Gamma, "k": k, "z": q**k, "zE": q**i.E, "drift": drift, "disp": disp}
        yield constants(i) | at | {"D0": D[0], "D": D[k], "Dn": D[k + 1], "DE": D[-1]}, {}


def rounds_of(i):
    """Of all rounds, for Theorem 1."""
    run, m = path(i), i.mu / (3 * (i.L + i.alpha))
    D = [run.square(w[0] - i.best[0]) for w in run.along] + [run.square(run.along[-1][-1] - i.best[0])]
    last = run.value(run.along[-1][-1]) - i.best[1]
    for r in {0, i.rounds - 1}:
        at = {"Gm": i.Gamma, "gap": i.gap, "z": (1 - i.gamma * (i.alpha + i.mu)) ** i.E, "W": sum(k * k for k in range(i.E))}
        yield constants(i) | at | {"r": (1 - m) ** r, "rT": (1 - m) ** i.rounds, "D0": D[0], "D": D[r], "Dn": D[r + 1],
                                   "DT": D[-1], "gT": last}, {}


def rates_of(i):
    """What the symbols of the proof of Theorem 2 are on the coded rounds."""
    run = path(i)
    F = [run.value(w) for w in (run.along[0][0], *(along[-1] for along in run.along))]
    X = [sum(run.square(run.slope(w)) for w in along[:i.E]) / i.E for along in run.along]
    for r in {0, i.rounds - 1}:
        yield constants(i) | {"T": i.rounds, "root": isqrt(i.rounds * i.E), "t": r, "X": X[r], "sumX": sum(X[:r]), "totalX": sum(X),
                              "F0": F[0], "F": F[r], "Fn": F[r + 1], "FT": F[-1], "inf": i.best[1]}, {}


def descent_of(i):
    """What the symbols of the proofs of Lemma 4 are on the coded round."""
    if i.n > 3:
        return
    run, p = path(i), np.array(i.p, dtype=object)
    means = [run.value(w) for w in run.along[0]]
    slopes = [run.square(run.slope(w)) for w in run.along[0][:i.E]]
    total = {"F0": means[0], "FE": means[-1], "total": sum(slopes), "X": sum(slopes) / i.E}
    for k in sorted({0, 1, i.E - 1} & set(range(i.E))):
        w, mean, g, e = run.points[0][k], run.along[0][k], run.exact[0][k], run.noise[0][k]
        G, n = ((p[:, None] * np.broadcast_to(v, g.shape)).sum(-2) for v in (g, e))
        P, m, own, o = run.slope(mean), mean - run.along[0][0], w - mean[:, None], len(w) - 1
        there = _plain(run.problem.at().grad(_read(run.problem, mean[:, None] + 0 * w)), run.problem)
        drift, (F, F1) = run.drifts(p, 0, k)[0], (values(run.problem, run.along[0][s])[o] for s in (k, k + 1))
        loud = 0 if i.extra.get("slots") and (0, k) not in i.slots else i.sigma2
        at = {"F": F, "F1": F1, "drift": (p * (own[o] ** 2).sum(-1)).sum(), "Edrift": drift, "mid": run.square(m), "k": k,
              "EF": means[k], "EF1": means[k + 1], "EP": slopes[k], "sumP": sum(slopes[:k]), **total, "EPn": run.dot(P, n),
              "EGn": run.dot(G, n), "Emn": run.dot(m, n), "En": run.square(n), "es": loud, "Es": i.S * loud,
              "Sr": (p * ((g - there)[o] ** 2).sum(-1)).sum()}
        for j in range(i.n):
            points = {"P": P[o], "G": G[o], "m": m[o], "n": n[o], "r": (g - there)[o, j]}
            yield constants(i) | at | {"ee": (own[o, j] ** 2).sum()}, points


def joined(terms, name, *parts):
    """The terms with some of them under one name, which the declared runs miss no more than together."""
    return {k: v for k, v in terms.items() if k not in parts} | {name: sum(terms[k] for k in parts)}


# ---- instances ----------------------------------------------------------------------------------------------------
def run_of(name, problem, E, alpha, gamma, w=0, noise=0, rounds=1, **extra):
    """w: the start, a number for every coordinate; noise: sigma."""
    alpha, gamma = ft.fraction(alpha), ft.fraction(gamma)
    words = f"E={E}, alpha={alpha}, gamma={gamma}, w_0={w}, sigma={noise}, {rounds} rounds"
    said = extra.pop("says", "")
    return Prox(name, problem, ft.FedProx(gamma, E, mu=alpha), ft.Full(), noise=ft.fraction(noise), x0=[ft.fraction(w)] * problem.d,
                rounds=rounds, says=f"{said}; {words}" if said else words, **extra)


def lines(h, c, weights=None):
    """f_i = h_i/2 (w - c_i)^2 on the line."""
    return ft.Quadratic([[[v]] for v in h], [[v] for v in c], weights)


def curvatures(problem):
    return ft.fraction(problem.constants.L), ft.fraction(problem.constants.mu)


def convex_cap(problem, alpha):
    """min{1/(2L), 1/(alpha + mu)}."""
    L, mu = curvatures(problem)
    return 1 / max(2 * L, ft.fraction(alpha) + mu)


def smooth_cap(problem, alpha, factor=1):
    """min{1/L, 1/(factor alpha)}."""
    return 1 / max(curvatures(problem)[0], factor * ft.fraction(alpha))


def drawn(draw, cap, n=None, E=None, alpha=None, share=None, rounds=1, convex=True, noise=True):
    """Clients on the line with piecewise linear gradients, at a share of cap(problem, alpha), from any point; many clients are two
    in turns. None where not bounded below."""
    st = hypothesis.strategies
    n, E, k = n or draw(st.integers(1, 3)), E or draw(st.integers(1, 4)), 2
    bend = st.sampled_from([Q(1, 5), Q(1, 2), Q(1), Q(2)] if convex else [Q(-1), Q(0), Q(1, 2), Q(1), Q(2)])
    halves = [st.integers(-m, m) for m in (2, 4, 6)]
    own = [([draw(bend) for _ in range(k)], [Q(draw(halves[0]), 2)], Q(draw(halves[1]), 2)) for _ in range(min(n, 3))]
    slopes, knots, b = zip(*(own[j % len(own)] for j in range(n)), strict=True)
    parts = [draw(st.integers(1, 5)) for _ in range(n)] if n < 4 else [1] * n
    problem = ft.PiecewiseQuadratic(slopes, knots, b, [Q(v, sum(parts)) for v in parts])
    if not any(v for row in slopes for v in row) or (problem.least() is None):
        return None
    alpha = draw(st.sampled_from([Q(0), Q(1, 3), Q(1), Q(10)])) if alpha is None else alpha
    share = draw(st.sampled_from([Q(1, 100), Q(1, 2), Q(1)])) if share is None else share
    slots = sorted(draw(st.sets(st.tuples(st.integers(0, rounds - 1), st.integers(0, E - 1)), min_size=1, max_size=2)))
    sigma = draw(st.sampled_from([Q(0), Q(1, 2), Q(2)])) if noise and n < 4 else 0
    says = f"slopes={[[*map(str, v)] for v in slopes[:3]]}, knots={[str(*v) for v in knots[:3]]}, b={[*map(str, b[:3])]}"
    return run_of("drawn clients", problem, E, alpha, share * cap(problem, alpha), Q(draw(halves[2]), 2), sigma, rounds,
                  slots=slots, says=f"{says}, noise in {slots}")


# ---- hypotheses ---------------------------------------------------------------------------------------------------
strongly = ft.Hypothesis("Assumption 5", r"$0<\mu$", lambda i: (0, i.mu), strict=True)
bounded = ft.Hypothesis("Assumption 3", r"$E\|g_i\|^2\le G^2$ before each local step", lambda i: (measured(i), i.G2))
below = ft.Hypothesis("Assumption 6", r"$f_\infty\le f(w_0)$", lambda i: (0, i.gap))
pull = ft.Hypothesis("step", r"$\gamma\alpha\le1$", lambda i: (i.gamma * i.alpha, 1), cap=1)
convex_step = ft.Hypothesis("step", r"$\gamma\max\{2L,\alpha+\mu\}\le1$",
                            lambda i: (i.gamma * max(2 * i.L, i.alpha + i.mu), 1), cap=1)
smooth_step = ft.Hypothesis("step", r"$\gamma\max\{L,\alpha\}\le1$", lambda i: (i.gamma * max(i.L, i.alpha), 1), cap=1)
half_step = ft.Hypothesis("step", r"$\gamma\max\{L,2\alpha\}\le1$", lambda i: (i.gamma * max(i.L, 2 * i.alpha), 1), cap=1)
theorem1_step = ft.Hypothesis("step", r"$\gamma=\frac1{2E(L+\alpha)}$", lambda i: (abs(2 * i.gamma * i.E * (i.L + i.alpha) - 1), 0))
theorem2_step = ft.Hypothesis("step", r"$\gamma=\frac1{2(L+\alpha)\sqrt{TE}}$",
                              lambda i: (abs((2 * i.gamma * (i.L + i.alpha)) ** 2 * i.rounds * i.E - 1), 0))
ALPHA = ft.Variable("alpha", lambda i: i.alpha)
