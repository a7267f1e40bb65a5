"""Appendix A, Lemma 3, and Theorem 1: one local step, one round and t rounds of FedProx on strongly convex clients."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.simfed import bugs, instances
from verification.simfed import runs_prox as runs
from verification.simfed.formulas import prox_convex as f
from verification.simfed.formulas.theorems import kappa_prox
from verification.simfed.proofs import prox_convex as proofs
from verification.simfed.runs_prox import convex_cap, joined, lines, path, run_of

st = runs.hypothesis and runs.hypothesis.strategies
NEEDS = [runs.strongly, runs.convex_step]
ONE, TWO = lines([1], [0]), lines([1, "1/5"], [0, 1])
APART = lines([1, "1/2"], [-1, 1])
KINKED = ft.PiecewiseQuadratic([[1, "1/3"], ["1/5", 2]], [[0], ["1/2"]], [1, -2], ["1/3", "2/3"])
HEAVY = lines([1, 1], [-1, 1], ["99/100", "1/100"])
PLANE = ft.Quadratic([[[1, "1/3"], ["1/3", "1/2"]], [[1, 0], [0, "1/5"]]], [[1, 0], [-2, 3]], ["3/4", "1/4"])


def at_cap(name, problem, E, alpha, share=1, *rest, **options):
    return run_of(name, problem, E, alpha, share * convex_cap(problem, alpha), *rest, **options)


def from_optimum(problem):
    return runs.optimum(problem)[0][0]


on = [at_cap("noise alone", ONE, 1, 0, 1, 0, 1), at_cap("far away", ONE, 1, 0, Q(1, 100), 5),
      at_cap("held back", lines([1, "1/10"], [0, 0]), 3, 10, 1, 5),
      at_cap("two clients from the optimum", APART, 5, 0, 1, from_optimum(APART)),
      at_cap("two clients from the optimum, held back", APART, 4, 2, 1, from_optimum(APART)),
      at_cap("one heavy client, from the optimum", HEAVY, 1, 0, 1, from_optimum(HEAVY)),
      at_cap("two clients, noise", TWO, 4, "1/2", 1, 2, "1/2"),
      at_cap("kinks, noise", KINKED, 3, "1/3", Q(1, 2), -1, 1, slots=[(0, 0), (0, 2)]),
      at_cap("in the plane, noise", PLANE, 5, 1, 1, 3, 1),
      at_cap("unequal weights, noise", instances.scalar([1, Q(1, 2), Q(1, 5)], [0, 3, -2], instances.UNEQUAL), 2, 0, 1, 1, 1),
      at_cap("100 clients", lines([1, "1/2"] * 50, [0, 1] * 50), 1, 1, 1, 3, 1),
      at_cap("300 steps", APART, 300, 10, Q(1, 10), 3)]
ENDS = {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "step over its cap": (Q(1, 100), 1)}


def drawn(draw, **at):
    return runs.drawn(draw, convex_cap, **at)


CORNERS = ({"n": 300, "E": 1}, {"n": 1, "E": 300, "noise": False, "alpha": Q(10), "share": Q(1, 100)},
           {"alpha": Q(0), "share": Q(1)})
SEARCH = ft.Search((ft.Family("piecewise quadratics", drawn, CORNERS),), tries=16)
BUGS = [bugs.one_step_more, bugs.uniform_weights, bugs.proximal_repelling]
LOOSE = "Heterogeneity and drift are one term here: the declared runs miss no more than both together."


def distance(i, run, k, r=0):
    """E|wbar_{r,k} - w_*|^2."""
    return run.square(run.along[r][k] - i.best[0])


@ft.claim("lema3-recursion", on=on, needs=NEEDS, rejects=BUGS[:2], proof=proofs.recursion, meaning=runs.step_of, ends=ENDS,
          search=SEARCH, domain=proofs.CLASS, reading=LOOSE)
def lema3_recursion(i):
    r"""For $\gamma\le\min\{\frac1{2L},\frac1{\alpha+\mu}\}$, noise uncorrelated across clients and $D_k=E\|\bar w_{t,k}-w_*\|^2$:
    $D_{k+1}\le(1-\gamma(\alpha+\mu))D_k+\alpha\gamma D_0+\gamma^2S\sigma^2+6L\Gamma\gamma^2
    +(2-\alpha\gamma)\sum_ip_iE\|\bar w_{t,k}-w_{t,k}^i\|^2+\alpha\gamma\sum_ip_iE\|\bar w_{t,0}-w_{t,k}^i\|^2$."""
    run, p = path(i), np.array(i.p, dtype=object)
    at = {k: distance(i, run, k) for k in {0, 1, 2, 3, i.E // 2, i.E // 2 + 1, i.E - 1, i.E} if k <= i.E}
    return [ft.at_most(at[k + 1], ft.Terms(**f.step(i.L, i.mu, i.alpha, i.gamma, at[k], at[0], i.S, i.sigma2, i.Gamma,
                                                    *run.drifts(p, 0, k))), f"k = {k}") for k in at if k + 1 in at]


# ---- the factor -----------------------------------------------------------------------------------------------------
def factor_of(name, mu, L, E, alpha, gamma=None):
    """A round from (1, 1) with H = diag(mu, L): the first coordinate shrinks by kappa."""
    problem, alpha = ft.Quadratic([[[mu, 0], [0, L]]], [[0, 0]]), ft.fraction(alpha)
    L = ft.fraction(L)
    return run_of(name, problem, E, alpha, 1 / (2 * E * (L + alpha)) if gamma is None else gamma, 1)


def drawn_factor(draw, E=None, alpha=None, mu=None, share=None):
    E, alpha = E or draw(st.integers(1, 6)), draw(st.sampled_from([Q(0), Q(1, 2), Q(10)])) if alpha is None else alpha
    mu, share = mu or draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10**8)])), share or draw(st.sampled_from([None, Q(1, 2), Q(1)]))
    return factor_of("drawn", mu, 1, E, alpha, share and share / (alpha + mu))


below = ft.Hypothesis("step", r"$\gamma(\alpha+\mu)\le1$", lambda i: (i.gamma * (i.alpha + i.mu), 1), cap=1)
FACTOR = ft.Search((ft.Family("one client in the plane", drawn_factor, (
    {"E": 300, "alpha": Q(10), "mu": Q(1, 10**8)}, {"E": 300, "alpha": Q(0), "share": Q(1, 100), "mu": Q(1)},
    {"E": 1, "alpha": Q(0), "mu": Q(1)})),), tries=16)


@ft.claim("lema3-kappa", on=[factor_of("step of Theorem 1", "1/5", 1, 4, "1/2"), factor_of("mu = L, FedAvg", 1, 1, 3, 0),
                             factor_of("at the cap", "1/2", 1, 3, "1/2", 1), factor_of("one step", "1/2", 1, 1, 1)],
          needs=[runs.strongly, below], rejects=[bugs.one_step_more, bugs.proximal_missing, bugs.unscaled_proximal], search=FACTOR,
          proof=proofs.factor, covers={"n": "none", "d": "none"},
          ends={"local steps": (1, 300), runs.ALPHA: (0, 10), "condition number": (1, 10**8), "step over its cap": (Q(1, 100), 1)},
          domain="every E >= 1, alpha >= 0 and 0 < mu <= L; that kappa is the factor of a round, on the listed and drawn clients")
def lema3_kappa(i):
    r"""With $q=1-\gamma(\alpha+\mu)\ge0$: $\kappa=\frac{\alpha+\mu q^E}{\alpha+\mu}=1-\gamma\mu\sum_{j<E}q^j\le1-\gamma\mu$, the
    factor of a round on a client with curvature $\mu$. At $\gamma=\frac1{2E(L+\alpha)}$ it is at most
    $1-\frac\mu{3\alpha+2L+\mu}\le1-\frac\mu{3(L+\alpha)}$."""
    kappa, q = kappa_prox(i.alpha, i.mu, i.gamma, i.E), 1 - i.gamma * (i.alpha + i.mu)
    out = [ft.equal(path(i).along[0][-1][0][0], kappa, "the coded round"), ft.at_most(kappa, 1 - i.gamma * i.mu),
           ft.equal(1 - i.gamma * i.mu * sum(q**j for j in range(i.E)), kappa, "a geometric sum")]
    if 2 * i.E * (i.L + i.alpha) * i.gamma == 1:
        middle = f.kappa57(i.L, i.alpha, i.mu)
        out += [ft.at_most(kappa, middle, "(57)"), ft.at_most(middle, 1 - i.mu / (3 * (i.L + i.alpha)), "Theorem 1's")]
    return out


# ---- one round --------------------------------------------------------------------------------------------------------
@ft.claim("lema3", on=on, needs=[*NEEDS, runs.bounded], rejects=BUGS[:2], proof=proofs.lemma3, meaning=runs.round_of, ends=ENDS,
          search=SEARCH, domain=proofs.DOMAIN,
          reading="Of the printed additive terms the drift alone covers whatever a run adds, as G^2 >= sigma^2; they are one term. "
                  "In the sharper inequality noise stands alone. " + LOOSE + " thm1-derivation ties each to its term of Theorem 1.")
def lema3(i):
    r"""For $\gamma\le\min\{\frac1{2L},\frac1{\alpha+\mu}\}$ and noise uncorrelated across clients, with $\kappa$ of lema3-kappa:
    $E\|\bar w_{t+1,0}-w_*\|^2\le\kappa E\|\bar w_{t,0}-w_*\|^2+\gamma^2ES\sigma^2+6\gamma^2LE\Gamma+8\gamma^2E^3G^2$, and even with
    $\frac13\gamma^2E(E-1)(2E-1)G^2$ for the last term."""
    run = path(i)
    args = (i.L, kappa_prox(i.alpha, i.mu, i.gamma, i.E), i.gamma, distance(i, run, 0), i.S, i.sigma2, i.Gamma, i.G2, i.E)
    printed = joined(f.lemma3(*args), "additive terms", "noise", "heterogeneity", "drift")
    sharp = joined(f.lemma3_sharp(*args), "heterogeneity and drift", "heterogeneity", "drift")
    left = distance(i, run, i.E)
    return ft.at_most(left, ft.Terms(**printed), "printed"), ft.at_most(left, ft.Terms(**sharp), "sharper")


# ---- rounds -----------------------------------------------------------------------------------------------------------
def at_step(name, problem, E, alpha, *rest, **options):
    """At the step of Theorem 1."""
    L = runs.curvatures(problem)[0]
    return run_of(name, problem, E, alpha, 1 / (2 * E * (L + ft.fraction(alpha))), *rest, **options)


on_rounds = [at_step("noise alone", ONE, 1, 0, 0, 1, 40), at_step("far away", ONE, 1, 0, 5, rounds=3),
             at_step("two clients from the optimum", APART, 5, 0, from_optimum(APART), rounds=40),
             at_step("one heavy client, from the optimum", HEAVY, 1, 10, from_optimum(HEAVY), rounds=40),
             at_step("two steps, noise", TWO, 2, "1/2", 2, 1, 12), at_step("kinks", KINKED, 3, 10, -3, rounds=25),
             at_step("in the plane, noise", PLANE, 3, 1, 3, 1, 6), at_step("mu = L, no heterogeneity", ONE, 7, 3, 2, rounds=5),
             at_step("300 steps", APART, 300, 10, 3, rounds=2)]


def drawn_rounds(draw, **at):
    made = runs.drawn(draw, convex_cap, **{"rounds": draw(st.integers(1, 2)), **at})
    return made and made.but(algorithm=ft.FedProx(1 / (2 * made.E * (made.L + made.alpha)), made.E, mu=made.alpha))


ROUND_ENDS = {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "rounds": (1, 40)}
ROUND_CORNERS = ({"n": 300, "E": 1}, {"n": 1, "E": 300, "noise": False, "rounds": 1}, {"rounds": 40, "noise": False, "E": 2})
ROUNDS = ft.Search((ft.Family("piecewise quadratics", drawn_rounds, ROUND_CORNERS),), tries=16)
KINDS = {"needs": [runs.strongly, runs.theorem1_step, runs.bounded], "rejects": [bugs.uniform_weights], "proof": proofs.theorem1,
         "ends": ROUND_ENDS, "search": ROUNDS, "domain": proofs.DOMAIN + "; gamma = 1/(2 E (L + alpha)), every t", "reading": LOOSE,
         "meaning": runs.rounds_of}


def theorem1(i, additive):
    """The gap after 0, 1 and all rounds against the decay and the additive terms."""
    run = path(i)
    terms = additive(i.L, i.mu, i.alpha, i.S, i.sigma2, i.Gamma, i.G2, i.E)
    rest = joined(terms, "heterogeneity and drift", "heterogeneity", "drift")
    at = {0: run.along[0][0]} | {r + 1: run.along[r][-1] for r in (0, i.rounds // 2, i.rounds - 1)}
    return [ft.at_most(run.value(w) - i.best[1], ft.Terms(decay=f.decay(i.L, i.mu, i.alpha, i.gap, t), **rest), f"t = {t}")
            for t, w in at.items()]


@ft.claim("thm1s", on=on_rounds, **KINDS)
def thm1s(i):
    r"""Theorem 1 for $\alpha\ge0$ with $\frac{(E-1)(2E-1)G^2}{12\mu}$ for $\frac{2E^2G^2}\mu$: $Ef(\bar w_{t,0})-f_*\le
    \frac{L\Delta}\mu\big[1-\frac\mu{3(L+\alpha)}\big]^t+\frac L{L+\alpha}\big[\frac{S\sigma^2}{4\mu}+\frac{3L\Gamma}{2\mu}
    +\frac{(E-1)(2E-1)G^2}{12\mu}\big]$, with noise uncorrelated across clients. For $E\le2$ the last term is below
    $\frac{G^2}{2\mu}$, which bounds the gap without any algorithm."""
    return theorem1(i, f.theorem1_s)


@ft.claim("thm1-over-e", on=on_rounds, **KINDS)
def thm1_over_e(i):
    r"""In Theorem 1 noise and heterogeneity may be divided by $E$: $Ef(\bar w_{t,0})-f_*\le\frac{L\Delta}\mu
    \big[1-\frac\mu{3(L+\alpha)}\big]^t+\frac L{L+\alpha}\big[\frac{S\sigma^2}{4E\mu}+\frac{3L\Gamma}{2E\mu}
    +\frac{(E-1)(2E-1)G^2}{8E\mu}\big]$."""
    return theorem1(i, f.theorem1_over_e)
