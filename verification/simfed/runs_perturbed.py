"""Coded rounds of the perturbed method over every outcome of two-point noise, exactly: local and perturbed iterates, their mean
squares, and the constants that the theorems of Appendix B speak of.

The noise of a loud step (round, local step) is +-sigma for every client; the signs of the clients are columns of a Sylvester
matrix, so that outcomes are few and the noise is uncorrelated across clients, as the theorems suppose, but not independent. Mean
iterates inside a round are those of a coded round that is stopped there.
"""
from dataclasses import replace
from fractions import Fraction as Q
from functools import cached_property, lru_cache

import numpy as np

import fltheory as ft
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.problems.base import Cohort
from verification.simfed import instances

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

FEW = 8   # local steps up to which every step is looked at


class Recorded:
    """The problem as a round sees it, noting the points asked for and the exact gradients there."""

    def __init__(self, problem):
        self.problem, self.n, self.p, self.d = problem, problem.n, problem.p, problem.d
        self.domain, self.weights = problem.domain, problem.weights
        self.points, self.exact = [], []

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _gradient(self, who, y, sample):
        exact = self.problem._gradient(who, y, None)
        self.points.append(numbers(y))
        self.exact.append(numbers(exact))
        return exact if sample is None else exact + sample


def numbers(v):
    return ft.linalg.to_fractions(v)


def square(v):
    return (v * v).sum(-1)


def signs(n):
    """(m, n) of +-1 with columns of mean 0, pairwise uncorrelated over the m = 2^k > n rows."""
    H = np.array([[1]])
    while len(H) <= n:
        H = np.block([[H, H], [H, -H]])
    return H[:, 1:n + 1]


@lru_cache(64)
def solution(problem):
    """(w* (d,), f_*, the clients' minima) exactly: by one linear system, or along the pieces of piecewise linear gradients."""
    if isinstance(problem, ft.PiecewiseQuadratic):
        best, least = problem.least()
        keys = [tuple(map(str, (*s, *k, b))) for s, k, b in zip(problem.slopes, problem.knots, problem.b, strict=True)]
        alone = {key: j for j, key in enumerate(keys)}   # many clients are often alike
        own = {key: problem.least([int(j == k) for k in range(problem.n)])[1] for key, j in alone.items()}
        minima = [own[key] for key in keys]
        return np.array([best], dtype=object), least, minima
    best = numbers(np.array(ft.optimum(problem).x, dtype=object))
    return best, value(problem, best), [Q(0)] * problem.n


def value(problem, x):
    """f at points (..., d)."""
    problem = problem.to(ft.RATIONAL)
    return (numbers(problem.p) * numbers(problem._values(ft.RATIONAL.array(np.asarray(x, dtype=object))))).sum(-1)


class Run(ft.Instance):
    """A problem with its graph's weights, the method, a start x0, `rounds` >= 1, loud steps and their sigma. ratio: the step of the
    rounds before the last over its own."""

    L = property(lambda i: i.stated.L)
    mu = property(lambda i: i.stated.mu)
    gamma = property(lambda i: i.stated.eta)
    beta = property(lambda i: i.stated.beta)
    E = property(lambda i: i.stated.tau)
    last = property(lambda i: ft.fraction(i.ratio) * i.gamma if i.rounds > 1 else Q(0))   # step of the round before
    S = property(lambda i: sum(v**2 for v in i.p))
    sigma2 = property(lambda i: ft.fraction(i.loudness) ** 2 if i.loud else Q(0))

    @property
    def best(self):
        return solution(self.stated.problem)[0]

    @property
    def Gamma(self):
        """f_* less the weighted mean of the clients' minima."""
        _, least, own = solution(self.stated.problem)
        return least - sum(v * m for v, m in zip(self.p, own, strict=True))

    @cached_property
    def path(self):
        return Path(self)


class Path:
    """The coded rounds of a `Run`. Arrays have a leading axis of outcomes, all of one probability."""

    def __init__(self, i):
        self.i, self.algorithm, self.problem = i, i.algorithm.to(ft.RATIONAL), i.problem.to(ft.RATIONAL)
        before = ft.fraction(i.ratio) * ft.fraction(i.algorithm.lr)
        self.earlier = self.algorithm if i.ratio == 1 else replace(i.algorithm, lr=before).to(ft.RATIONAL)
        pattern, loud = signs(i.n), list(i.loud)
        size = len(pattern)
        self.count = size ** len(loud)
        index = np.arange(self.count)
        self.noise = {at: ft.RATIONAL.array(pattern[index // size**k % size].astype(object) * ft.fraction(i.loudness))[..., None]
                      for k, at in enumerate(loud)}
        x = ft.RATIONAL.array(np.array([list(map(ft.fraction, i.x0))] * self.count, dtype=object))
        self.states, self.records = [self.algorithm.init(self.problem, x)], []
        for t in range(i.rounds):
            after, record = self.round(t, self.algorithm.steps)
            self.states.append(after)
            self.records.append(record)

    def round(self, t, steps):
        """(state, record) of the coded round t, stopped after some local steps."""
        problem = Recorded(self.problem)
        quiet = not any(at[0] == t for at in self.noise)
        draw = ft.everyone(self.i.n, steps)._replace(xi=None if quiet else lambda k: self.noise.get((t, k)))
        algorithm = self.algorithm if t == self.i.rounds - 1 else self.earlier
        return algorithm.round(problem, self.states[t], draw), problem

    def mean(self, v):
        v = np.asarray(v, dtype=object)
        return v.sum(0) * Q(1, len(v))

    @cached_property
    def stops(self):
        """{k: (wbar_k (m, d), w_k (m, n, d))} of the last round: all k, or the ends of a long round."""
        t, E = self.i.rounds - 1, self.algorithm.steps
        at = range(E + 1) if E <= FEW else (0, 1, E - 1, E)
        found = {k: self.states[t + 1] if k == E else self.states[t] if k == 0 else self.round(t, k)[0] for k in at}
        out = {k: (numbers(s.x), numbers(s.w)) for k, s in found.items()}
        start = out[0][0]
        return out | {0: (start, np.repeat(start[:, None], self.i.n, axis=1))}

    def u(self, t):
        """The neighbour averages (m, n, d) of a round."""
        return numbers(self.algorithm.averages(self.problem, self.states[t]))

    def distance(self, k):
        """E|wbar_k - w*|^2 in the last round."""
        return self.mean(square(self.stops[k][0] - self.i.best))

    def displacement(self, k):
        return self.mean(square(self.stops[k][0] - self.stops[0][0]))

    def perturbed(self, k):
        """wtilde_k (m, n, d) of the last round, as the coded step asked for it."""
        return np.broadcast_to(self.records[-1].points[k], (self.count, self.i.n, self.i.d))

    def drifts(self, k):
        """E|wbar_k - wtilde_k^i|^2 (n,)."""
        return self.mean(square(self.stops[k][0][:, None] - self.perturbed(k)))

    def drift(self, k):
        return (np.array(self.i.p, dtype=object) * self.drifts(k)).sum()

    def gap(self, t):
        """E f(wbar_t) - f_*."""
        return self.mean(value(self.i.stated.problem, numbers(self.states[t].x))) - solution(self.i.stated.problem)[1]

    @cached_property
    def G2(self):
        """The largest E|g_i|^2 over rounds, clients and local steps, k = E included, at the local and the perturbed points."""
        beta, most, cohort = self.i.beta, Q(0), self.i.stated.problem.to(ft.RATIONAL).at(EVERYONE)
        for t, record in enumerate(self.records):
            u, last = self.u(t), numbers(self.states[t + 1].w)
            local = [(a - (1 - beta) * u) / beta for a in record.points] + [last]
            for points in (*record.points, *local, beta * last + (1 - beta) * u):
                g = numbers(cohort.grad(ft.RATIONAL.array(points)))
                most = max(most, *self.mean(square(g)))
        return most + self.i.sigma2


# ---- what the theorems suppose --------------------------------------------------------------------------------
cap = ft.Hypothesis("step", r"$\gamma\le1/(2L)$", lambda i: (2 * i.L * i.gamma, 1), cap=1)
theorem_step = ft.Hypothesis("step of the theorem", r"$\gamma=1/(2LE)$", lambda i: (abs(2 * i.L * i.E * i.gamma - 1), 0))
convex = ft.Hypothesis("Assumption 5", r"every $f_i$ is $\mu$-strongly convex, $\mu>0$", lambda i: (0, i.mu), strict=True)
quiet = ft.Hypothesis("Assumption 2", "noise of mean 0, uncorrelated across clients: its largest moment is at most 0",
                      lambda i: (_correlation(i.n), 0))
NEEDS = [cap, convex, quiet]


@lru_cache(64)
def _correlation(n):
    H = signs(n)
    return int(max(abs(H.sum(0)).max(), abs(H.T @ H - len(H) * np.eye(n, dtype=int)).max()))


# ---- instances ------------------------------------------------------------------------------------------------
def run_of(name, problem, graph, steps, beta, x0, share="1", rounds=1, loud=(), loudness=1, at_theorem=False, ratio=1, **extra):
    """share: of the cap 1/(2L), or of 1/(2LE) at a theorem's step; ratio: the step of the rounds before over it."""
    lr = ft.fraction(share) / (2 * ft.fraction(problem.constants.L) * (steps if at_theorem else 1))
    return Run(name, problem, instances.ours(lr, steps, beta, graph), ft.Full(), x0=[x0] if np.ndim(x0) == 0 else x0, rounds=rounds,
               loud=tuple(loud), loudness=ft.fraction(loudness), ratio=ratio, noise=ft.fraction(loudness) if loud else 0,
               says=f"E={steps}, beta={beta}, gamma={lr}, {rounds} rounds, start {x0}, noise {loudness if loud else 0}"
               + f", {ratio} gamma before" * (ratio != 1), **extra)


def bent(slopes, knots, pushes, graph):
    """Clients with piecewise linear gradients, with the graph's weights."""
    return ft.PiecewiseQuadratic(slopes, knots, pushes, [str(v) for v in graph.weights])


GRAPHS = {"star": instances.star, "complete": instances.complete, "matching": lambda n: instances.matching(n + n % 2)}
MANY, LONG, FLAT = 300, 300, Q(1, 1000)
beta_of = ft.Variable("beta", lambda i: i.stated.beta)
ENDS = {"clients": (2, MANY), "local steps": (1, LONG), beta_of: (Q(1, 100), 1), "condition number": (1, 1000), "noise": (0, 2)}
CORNERS = ({"n": MANY, "E": 1}, {"n": 2, "E": LONG}, {"n": 2, "E": 1, "beta": Q(1, 100)}, {"n": 3, "E": 2, "beta": Q(1)},
           {"n": 2, "E": 2, "low": 1}, {"n": 2, "E": 2, "low": FLAT})


def drawn(draw, n=None, E=None, beta=None, low=None, share=None, at_theorem=False, kinked=False, ratios=(1,)):
    """Quadratics, or clients with a kink, on a drawn graph. low: mu/L."""
    large = n == MANY or E == LONG
    n, E = n or draw(st.integers(2, 3)), E or draw(st.integers(1, 3))
    graph = GRAPHS[draw(st.sampled_from(sorted(GRAPHS)))](n)
    n = graph.n
    low = draw(st.sampled_from([FLAT, Q(1, 10), Q(1, 2), Q(1)])) if low is None else Q(low)
    curve = st.sampled_from([low, (1 + low) / 2, Q(1)])
    k = min(n, 3)
    h, c = [low, *(draw(curve) for _ in range(k - 1))], [draw(st.integers(-3, 3)) for _ in range(k)]
    h[-1] = Q(1)
    h, c = [h[j % k] for j in range(n)], [c[j % k] for j in range(n)]
    problem = instances.scalar(h, c, graph)
    if kinked:
        problem = bent([[v, low + 1 - v] for v in h], [[0]] * n, [Q(v, 2) for v in c], graph)
    beta = draw(st.sampled_from([Q(1, 100), Q(1, 2), Q(9, 10), Q(1)])) if beta is None else beta
    rounds, share = draw(st.integers(1, 2)), share or (1 if at_theorem else draw(st.sampled_from(["1/10", "1/2", "1"])))
    loud = draw(st.sampled_from([(), ((0, 0),), ((rounds - 1, E - 1),)])) if not large else ()
    start = draw(st.sampled_from([Q(0), Q(1), Q(-5, 2), Q(20)]))
    return run_of("drawn", problem, graph, E, beta, start, share, rounds, loud, draw(st.sampled_from([1, 2])), at_theorem,
                  draw(st.sampled_from(ratios)) if len(ratios) > 1 else 1)


def search(tries=12, **options):
    def quadratic(draw, **at):
        return drawn(draw, **at, **options)

    def bent_(draw, **at):
        return drawn(draw, kinked=True, **at, **options)
    return ft.Search((ft.Family("quadratics", quadratic, CORNERS), ft.Family("clients with a kink", bent_)), tries=tries)


# ---- what the symbols of the recursion's proof are on coded rounds ------------------------------------------------
def meaning(i):
    """Numbers and vectors of single clients and outcomes at every looked-at local step, the origin at w*."""
    path, p = i.path, np.array(i.p, dtype=object)
    problem, best = i.stated.problem.to(ft.RATIONAL), i.best
    cohort = problem.at(EVERYONE)
    o = numbers(cohort.grad(ft.RATIONAL.array(np.broadcast_to(best, (i.n, i.d)))))
    s = i.gamma * i.L / (1 - i.gamma * i.L)
    start = path.stops[0][0] - best
    t = i.rounds - 1
    for k in [k for k in path.stops if k + 1 in path.stops]:
        y, after = path.stops[k][0] - best, path.stops[k + 1][0] - best
        a, exact = path.perturbed(k) - best, np.broadcast_to(path.records[-1].exact[k], (path.count, i.n, i.d))
        noise = numbers(path.noise[t, k]) + 0 * exact if (t, k) in path.noise else 0 * exact
        q, X = exact - o, (p[:, None] * noise).sum(1)
        M, apart = (p[:, None] * q).sum(1), square(y[:, None] - a)
        es = path.mean(square(noise))
        at = {"gamma": i.gamma, "L": i.L, "mu": i.mu, "beta": i.beta, "s": s, "sigma2": i.sigma2, "S": i.S, "Gamma": i.Gamma,
              "D": path.distance(k), "D0": path.distance(0), "D1": path.distance(k + 1), "drift": path.drift(k),
              "disp": path.displacement(k), "EXy": path.mean((X * y).sum(-1)), "EMX": path.mean((X * M).sum(-1)),
              "EX": path.mean(square(X)), "Ses": (p * p * es).sum()}
        for m in range(min(2, path.count)):
            known = at | {"Sdd": (p * apart[m]).sum(), "Saa": (p * square(a[m])).sum(), "Sqq": (p * square(q[m])).sum(),
                          "A2": square((p[:, None] * a[m]).sum(0)), "e": square(y[m] - start[m]), "d1": square(after[m])}
            for j in range(min(3, i.n)):
                fa, fw = (numbers(problem._values(ft.RATIONAL.array(v)))[j] for v in (a[m, j] + best, best))
                yield (known | {"dd": apart[m, j], "es": es[j], "fa": fa, "fw": fw},
                       {"y": y[m], "z": start[m], "a": a[m, j], "o": o[j], "q": q[m, j], "M": M[m], "X": X[m]})


def _round_numbers(i):
    gamma, above = i.gamma, 1 + 1e-12
    return {"gamma": gamma, "L": i.L, "mu": i.mu, "beta": i.beta, "E": i.E, "S": i.S, "sigma2": i.sigma2, "Gamma": i.Gamma,
            "G": float(i.path.G2) ** 0.5 * above, "P": (1 - i.beta * i.mu * gamma) ** i.E}


def meaning_round(i):
    """The last round as a whole."""
    yield _round_numbers(i) | {"last": i.last, "D0": i.path.distance(0), "DE": i.path.distance(i.E)}, {}


def meaning_rounds(i):
    """Every round at a theorem's step."""
    path, at = i.path, _round_numbers(i)
    away = [path.mean(square(numbers(s.x) - i.best)) for s in path.states]
    for t in range(i.rounds):
        yield at | {"D": away[t], "D1": away[t + 1], "D0": away[0], "Dt": away[t + 1], "Delta": path.gap(0), "gap": path.gap(t + 1),
                    "KT": (1 - i.mu / ((i.beta + 2) * i.L)) ** (t + 1)}, {}


# ---- the recursion over all functions of a class, at listed parameters ------------------------------------------------
def setting(n, E, mu, beta, gamma):
    """L = 1, n clients on a star, no noise, the last local step of a round from any last local models."""
    graph = instances.star(n)
    return ft.Instance(f"C={n}, E={E}, mu={mu}, beta={beta}, gamma={gamma}", algorithm=instances.ours(gamma, E, beta, graph),
                       law=ft.Full(), classes=ft.SmoothConvex(1, mu), n=n, E=E, mu=Q(mu), L=Q(1), gamma=Q(gamma),
                       beta=Q(beta), p=[str(v) for v in graph.weights])


SETTINGS = [*(setting(n, E, Q(1, 10), Q(1, 2), gamma) for n, E in ((2, 1), (2, 2), (3, 1), (2, 3)) for gamma in (Q(1, 2), Q(1, 4))),
            setting(3, 2, Q(1, 10), Q(1, 2), Q(1, 2))]


def last_step(s, i):
    """(wbar_k, wtilde_k (n, d)) of the coded local steps, k = E - 1."""
    algorithm = i.algorithm.to(ft.RATIONAL)
    u, p, w = algorithm.averages(s.problem, s.before), s.problem.p[..., None], np.stack([s.x] * i.n)
    for k in range(i.E):
        at = algorithm.beta * w + (1 - algorithm.beta) * u
        if k < i.E - 1:
            w = w - algorithm.lr * s.grads(at)
    return (p * w).sum(-2), at


def any_models(s):
    """Free last local models whose weighted mean is the server's."""
    free, p = s.vectors("w"), s.problem.p[..., None]
    return {"w": free - (p * free).sum(-2)[None] + s.x[None]}


def certified_step(i, share, rest):
    """|wbar_E - w*|^2 less `rest` (of the squares of wbar_k - w*, wbar_0 - w*, wbar_k - wbar_0) <= share * drift."""
    def left(s):
        y, _ = last_step(s, i)
        return s.square(s.next - s.star) - sum(
            (s.square(v) * c for v, c in zip((s.x - s.star, y - s.x), rest[1:], strict=True)), s.square(y - s.star) * rest[0])

    def drift(s):
        y, at = last_step(s, i)
        return s.mean_square(y[None] - at)
    return ft.certified_over(i.algorithm, i.classes, i.law, clients=i.n, weights=i.p, left=left, terms={"drift": (share, drift)},
                             tight="drift", start=any_models)
