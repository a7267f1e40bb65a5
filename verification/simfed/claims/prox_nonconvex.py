"""Appendix A, Lemma 4, and Theorem 2: FedProx on smooth clients, as printed and with smaller constants."""
from fractions import Fraction as Q
from math import isqrt

import numpy as np

import fltheory as ft
from fltheory.core.problems.base import Constants, Problem, check_weights
from verification.simfed import bugs
from verification.simfed import runs_prox as runs
from verification.simfed.formulas import prox as f
from verification.simfed.formulas import theorems
from verification.simfed.proofs import prox_nonconvex as proofs
from verification.simfed.runs_prox import joined, lines, path, run_of, smooth_cap
from verification.simfed.symbols import Symbols

st = runs.hypothesis and runs.hypothesis.strategies
ONE, APART = lines([1], [0]), lines([1, "1/2"], [-1, 1])
LINEAR = ft.PiecewiseQuadratic([[0, 0]], [[0]], [1])          # gradient -1 everywhere
BENT = ft.PiecewiseQuadratic([[1, "1/2"], ["-1/3", 1], [0, 2]], [[0], [1], ["1/2"]], [1, -2, 0], ["1/3", "1/2", "1/6"])
PLANE = ft.Quadratic([[[1, "1/3"], ["1/3", "1/2"]], [[1, 0], [0, "1/5"]]], [[1, 0], [-2, 3]], ["3/4", "1/4"])
MANY = lines([1, "1/2"] * 50, [0, 1] * 50)
HEAVY = lines([1, 1], [-1, 1], ["99/100", "1/100"])


class Sines(Problem):
    """f_i(w) = sin(w - phase_i) in floats: L = G = 1 on the whole line, infimum -|sum_i p_i e^(-i phase_i)|."""

    d, _data = 1, ("phases",)
    constants = Constants(Q(1), Q(-1), True)

    def __init__(self, phases, weights=None):
        self.phases, self.n = np.array(phases, dtype=float), len(phases)
        self.weights = check_weights(weights, self.n)

    def _gradient(self, who, y, sample):
        return np.cos(y - self.phases[who][:, None]) + (0 if sample is None else sample)

    def _values(self, x):
        return np.sin(x - self.phases)

    def least(self, weights=None):
        """(minimiser, infimum)."""
        wave = (np.array([float(v) for v in (self.weights if weights is None else weights)]) * np.exp(-1j * self.phases)).sum()
        return -np.pi / 2 - np.angle(wave), -abs(wave)


# ---- Lemma 4 ----------------------------------------------------------------------------------------------------
def least(problem):
    return runs.optimum(problem)[0][0]


def on(factor):
    """Rounds at the cap 1/L, 1/(factor alpha), and below."""
    return [run_of("noise alone, at rest", ONE, 1, 0, "1/10", 0, 1), run_of("far away, short steps", ONE, 1, 0, "1/100", 5),
            run_of("two clients from the optimum", APART, 2, 0, 1, least(APART)),
            run_of("a constant gradient, held back", LINEAR, 20, 5, Q(1, 5 * factor), 0),
            run_of("one heavy client, at the cap", HEAVY, 1, 0, 1, least(HEAVY)),
            run_of("one heavy client, short step", HEAVY, 1, 0, "1/50", least(HEAVY)),
            run_of("not convex, noise", BENT, 3, "1/2", smooth_cap(BENT, "1/2", factor), 1, "1/2", slots=[(0, 0), (0, 2)]),
            run_of("in the plane, noise", PLANE, 5, 2, smooth_cap(PLANE, 2, factor), 3, 1),
            run_of("300 steps", APART, 300, 10, Q(1, 1000), 3), run_of("100 clients", MANY, 2, 1, "1/4", 3)]


def drawn(factor):
    def build(draw, **at):
        made = runs.drawn(draw, lambda problem, alpha: smooth_cap(problem, alpha, factor), convex=draw(st.booleans()), **at)
        return made and made.but(bound=runs.measured(made))
    return build


def sines(draw, step=None, rounds=1, E=None):
    """Sines from any angle in floats. step: function of (alpha, E, rounds), default a share of min{1, 1/(2 alpha)}."""
    n, E = draw(st.integers(1, 3)), E or draw(st.integers(1, 5))
    alpha, parts = draw(st.sampled_from([0, Q(1, 2), 3, 10])), [draw(st.integers(1, 4)) for _ in range(n)]
    problem = Sines([draw(st.integers(-3, 3)) for _ in range(n)], [Q(v, sum(parts)) for v in parts])
    gamma = step(alpha, E, rounds) if step else draw(st.sampled_from([Q(1, 10), Q(1)])) / max(1, 2 * Q(alpha))
    sigma, slot = draw(st.sampled_from([0, 0, 1, 3])), (draw(st.integers(0, rounds - 1)), draw(st.integers(0, E - 1)))
    says = f"phases={[float(v) for v in problem.phases]}, weights={[*map(str, problem.weights)]}"
    return run_of("sines", problem, E, alpha, gamma, draw(st.integers(-3, 3)), sigma, rounds, domain=ft.FLOAT, slots=[slot],
                  bound=1 + Q(sigma) ** 2, says=says)


ENDS = {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "step over its cap": (Q(1, 100), 1)}
CORNERS = ({"n": 300, "E": 1}, {"n": 1, "E": 300, "noise": False, "share": Q(1, 100), "alpha": Q(10)})


def search(factor):
    return ft.Search((ft.Family("piecewise quadratics", drawn(factor), CORNERS), ft.Family("sines", sines)), tries=12)


def lemma4(i, *bounds):
    """The mean squared gradient of a round against bounds in the fall of f."""
    run = path(i)
    left = sum(run.square(run.slope(w)) for w in run.along[0][:i.E]) / i.E
    fall = run.value(run.along[0][0]) - run.value(run.along[0][-1])
    return [ft.at_most(left, ft.Terms(**bound(i.L, i.alpha, i.gamma, fall, i.S, i.sigma2, i.G2, i.E)), bound.__name__)
            for bound in bounds]


BUGS = [bugs.one_step_more, bugs.uniform_weights]
SHARED = {"rejects": BUGS, "meaning": runs.descent_of, "ends": ENDS, "domain": proofs.DOMAIN}


@ft.claim("lema4s", on=on(1), needs=[runs.smooth_step, runs.bounded], proof=proofs.lemma4_s, search=search(1), **SHARED)
def lema4s(i):
    r"""For $\gamma\le\min\{\frac1L,\frac1\alpha\}$ and noise uncorrelated across clients: $\frac1E\sum_{k<E}E\|\nabla
    f(\bar w_{t,k})\|^2\le\frac2{\gamma E}E[f(\bar w_{t,0})-f(\bar w_{t+1,0})]+\gamma LS\sigma^2
    +\frac23\gamma^2E^2G^2(L^2+\alpha^2)$, and even with $\frac13\gamma^2(E-1)(2E-1)G^2(L^2+\alpha^2)$."""
    return lemma4(i, f.lemma4_s, f.lemma4_summed)


@ft.claim("lema4", on=on(2), needs=[runs.half_step, runs.bounded], proof=proofs.lemma4, search=search(2), **SHARED,
          reading="The two terms with alpha are one: the last is the smaller one of both wherever the step is allowed.")
def lema4(i):
    r"""For $\gamma\le\min\{\frac1L,\frac1{2\alpha}\}$ and noise uncorrelated across clients: $\frac1E\sum_{k<E}E\|\nabla
    f(\bar w_{t,k})\|^2\le\frac4{\gamma E}E[f(\bar w_{t,0})-f(\bar w_{t+1,0})]+2\gamma LS\sigma^2+2\gamma\alpha E^2G^2
    +8\gamma^2L^2E^2G^2+\frac12\gamma^3\alpha^2LE^2G^2$: as printed, by way of lema4s."""
    return lemma4(i, f.lemma4)


# ---- rounds -----------------------------------------------------------------------------------------------------
def at_step(name, problem, E, alpha, *rest, rounds=1, **options):
    """At the step of Theorem 2; rounds * E is a square."""
    double = 2 * (runs.curvatures(problem)[0] + ft.fraction(alpha))
    return run_of(name, problem, E, alpha, 1 / (double * isqrt(rounds * E)), *rest, rounds=rounds, **options)


TILTED = ft.PiecewiseQuadratic([[1, "1/2"], ["-1/3", 1], [1, 2]], [[0], [1], ["1/2"]], [1, -2, 0], ["1/3", "1/2", "1/6"])
on_rounds = [at_step("one heavy client, from the optimum", HEAVY, 1, 0, least(HEAVY), rounds=144),
             at_step("noise alone, from the optimum", ONE, 1, 0, 0, 1, rounds=144), at_step("far away", ONE, 1, 0, 5, rounds=16),
             at_step("two clients from the optimum", APART, 4, 0, least(APART)),
             at_step("held back, from the optimum", APART, 4, 2, least(APART), rounds=4),
             at_step("not convex, noise", TILTED, 2, "1/2", 2, 1, rounds=2, slots=[(0, 0), (1, 1)]),
             at_step("in the plane, noise", PLANE, 3, 1, 3, 1, rounds=3),
             at_step("300 steps", APART, 300, 10, 3, rounds=3), at_step("100 clients", MANY, 1, 1, 3)]
PAIRS = [(1, 1), (4, 1), (1, 4), (2, 2), (8, 2)]   # E, T


def drawn_rounds(draw, n=None, E=None, rounds=None, **at):
    E, rounds = (E, rounds) if E else draw(st.sampled_from(PAIRS))
    made = runs.drawn(draw, smooth_cap, n=n, E=E, rounds=rounds, convex=draw(st.booleans()), **at)
    gamma = made and 1 / (2 * (made.L + made.alpha) * isqrt(E * rounds))
    return made and made.but(algorithm=ft.FedProx(gamma, E, mu=made.alpha))


def drawn_sines(draw):
    E, rounds = draw(st.sampled_from(PAIRS))
    return sines(draw, lambda alpha, E, rounds: 1 / (2 * (1 + Q(alpha)) * isqrt(E * rounds)), rounds, E)


ROUNDS = ft.Search((ft.Family("piecewise quadratics", drawn_rounds, ({"n": 300, "E": 1, "rounds": 1},)),
                    ft.Family("sines", drawn_sines)), tries=12)
RATE = {"needs": [runs.below, runs.theorem2_step, runs.bounded], "rejects": [bugs.uniform_weights], "proof": proofs.theorem2,
        "search": ROUNDS, "domain": proofs.RATE, "meaning": runs.rates_of,
        "ends": {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "rounds": (1, 144)}}


def theorem2(i, bound, *parts):
    """The mean squared gradient over all rounds and local steps."""
    run = path(i)
    left = sum(run.square(run.slope(w)) for along in run.along for w in along[:i.E]) / (i.E * i.rounds)
    terms = bound(i.L, i.alpha, i.gap, i.S, i.sigma2, i.G2, i.E, i.rounds, isqrt(i.E * i.rounds))
    return ft.at_most(left, ft.Terms(**(joined(terms, "gradients", *parts) if parts else terms)))


@ft.claim("thm2s", on=on_rounds, **RATE)
def thm2s(i):
    r"""At $\gamma=\frac1{2L_\alpha\sqrt{TE}}$, $L_\alpha=L+\alpha$, $\alpha\ge0$, with noise uncorrelated across clients:
    $E\|\nabla f(\hat w_T)\|^2\le\frac{4L_\alpha\Delta}{\sqrt{TE}}+\frac{LS\sigma^2}{2L_\alpha\sqrt{TE}}
    +\frac{(L^2+\alpha^2)EG^2}{6L_\alpha^2T}$."""
    return theorem2(i, f.theorem2_s)


@ft.claim("thm2", on=on_rounds, **RATE,
          reading="The three terms with G are one: runs that miss the first alone take about a million local steps.")
def thm2(i):
    r"""At $\gamma=\frac1{2L_\alpha\sqrt{TE}}$, with noise uncorrelated across clients: $E\|\nabla f(\hat w_T)\|^2\le
    \frac1{\sqrt T}\big[\frac{8L_\alpha\Delta}{\sqrt E}+\frac{LS\sigma^2}{L_\alpha\sqrt E}+\frac{\alpha E^{3/2}G^2}{L_\alpha}\big]
    +\frac{2L^2EG^2}{L_\alpha^2T}+\frac{\alpha^2L\sqrt EG^2}{16L_\alpha^3T^{3/2}}$, $\hat w_T$ uniform over the $\bar w_{t,k}$."""
    return theorem2(i, theorems.theorem2, "drift", "proximal", "last")
