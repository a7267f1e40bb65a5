"""Coded runs for Theorem 2: StaleSteps in a given order or AsyncFedED on its clock, exact, over all outcomes of noise."""
import itertools
from fractions import Fraction as Q
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import fltheory as ft
from fltheory.asynchronous.fedasync import Stale
from fltheory.core.errors import refuse
from verification.asyncfeded import arrivals_run as arrivals
from verification.asyncfeded import noise_paths
from verification.asyncfeded.formulas.steps import cap2, mean_square, mean_step, theta
from verification.asyncfeded.instances import log_between

SIGNS = ((Q(1, 2), Q(1)), (Q(1, 2), Q(-1)))
SKEWED = ((Q(1, 5), Q(2)), (Q(4, 5), Q(-1, 2)))


class Runs(ft.Instance):
    """Arrivals from x0, and what they state by the paper's letters.

    order: who arrives, for StaleSteps (AsyncFedED: the law's clock, T arrivals); one_draw: all noise is one draw;
    chances, law of noise as ((chance, value), ..) times sigma, in the slots `loud` = [(t, k)], t = 1, 2, .., k = 0, 1,
    ..; Gamma2: a stated bound on gamma^2.
    """

    @property
    def schedule(self):
        """[eta_1, .., eta_K]."""
        return [self.eta * ft.fraction(v) for v in self.stated.algorithm.solver.factors][:self.K]

    @property
    def K(self):
        return self.stated.algorithm.steps

    @property
    def N(self):
        return mean_step(self.schedule)

    @property
    def M(self):
        return mean_square(self.schedule)

    @property
    def S(self):
        return sum(self.schedule)

    @property
    def share2(self):
        """c^2: the largest share of a cap of (T1), squared."""
        return max(v**2 / cap2(k, self.L) for k, v in enumerate(self.schedule, 1))

    @property
    def logs(self):
        """(low, high) around ln(K + 1)."""
        return log_between(self.K + 1)

    @property
    def T(self):
        return self.extra["rounds"]

    @property
    def server(self):
        """[eta_g] of all arrivals as stated; those that bring nothing have none."""
        if hasattr(self.stated.algorithm, "server_lr"):
            return [ft.fraction(self.stated.algorithm.server_lr)]
        found = [a.eta for a in right(self)[0][1] if a.eta is not None]
        return found or [ft.fraction(self.stated.algorithm.lam) / ft.fraction(self.stated.algorithm.eps)]

    @property
    def eta_g(self):
        """The constant server step."""
        low, high = min(self.server), max(self.server)
        return low if low == high else refuse("eta_g", (low, high), "the server step is not constant", "Use `server`.")

    @property
    def Gamma2(self):
        """A stated bound on gamma^2, or the largest one observed."""
        stated = self.extra.get("Gamma2")
        return self.observed if stated is None else stated

    @property
    def observed(self):
        """The largest gamma^2 of the arrivals as stated, over all outcomes; of long runs that of the arrivals in `prefix`; 0 for
        `Fresh` rounds, whose base is the present model. None where an update is 0 although the server has moved."""
        if isinstance(self.stated.algorithm, Fresh):
            return Q(0)
        run = self.but(order=self.prefix) if "prefix" in self.extra else self
        found = [arrivals.largest_gamma2(run) for _, run in right(run)]
        return None if None in found else max(found)

    @property
    def sl2(self):
        return self.sigma**2

    @property
    def sg2(self):
        return noise_paths.heterogeneity(self.stated.problem)

    @property
    def gap(self):
        """F(x_1) - F(x_*)."""
        return value(self.stated.problem, self.x0) - best(self.stated.problem)[1]

    def theta(self, log):
        return theta2(self, log)

    def of(self, formula, **more):
        """A formula of (11) at both ends of the enclosed logarithm."""
        return [formula(self.L, self.K, self.N, self.theta(log), log, self.eta_g, **more, sl2=self.sl2, sg2=self.sg2)
                for log in self.logs]


def theta2(i, log):
    """Theta from Gamma^2: `theta` squares its Gamma."""
    return 1 - (1 - theta(1, i.K, i.L, i.M, log)) * i.Gamma2


def best(problem):
    """(x_*, F(x_*)) on the line or of quadratics; None for the second where F is not bounded below."""
    if isinstance(problem, ft.Quadratic):
        found = ft.optimum(problem)
        return ft.fraction(found.x[0]), ft.fraction(found.value)
    return problem.least() or (None, None)


@lru_cache(128)
def rational(problem):
    return problem.to(ft.RATIONAL)


def value(problem, x):
    """F(x), a Fraction."""
    return ft.fraction(rational(problem).value(ft.RATIONAL.array(np.array(list(x), dtype=object))))


def slope(problem, x):
    """grad F(x) (d,), Fractions."""
    return arrivals.fractions(rational(problem).gradient(ft.RATIONAL.array(np.array(list(x), dtype=object))))


def slope2(problem, x):
    return arrivals.square(slope(problem, x))


# ---- coded rounds ---------------------------------------------------------------------------------------------------
def outcomes(i):
    """[(chance, {(t, k): value})] of the noise."""
    if "one_draw" in i.extra:
        for chance, v in i.extra.get("chances", SIGNS):
            yield chance, dict.fromkeys(itertools.product(range(1, i.T + 1), range(i.K)), v * i.stated.sigma)
        return
    loud = i.extra.get("loud", ()) if i.stated.sigma else ()
    for drawn in itertools.product(i.extra.get("chances", SIGNS), repeat=len(loud)):
        chance = Q(1)
        for p, _ in drawn:
            chance *= p
        yield chance, dict(zip(loud, (v * i.stated.sigma for _, v in drawn), strict=True))


def _run(i, drawn):
    def noise(t, k):
        return [[drawn.get((t, k), 0)] + [0] * (i.problem.d - 1)] * i.problem.n
    push = noise if drawn else None
    if "order" in i.extra:
        return arrivals.record_stale(i.algorithm, i.problem, i.order, i.x0, noise=push)
    return arrivals.record(i.algorithm, i.problem, i.law, i.x0, i.T, noise=push)


@lru_cache(256)
def path(i):
    """[(chance, [Arrival])] over the outcomes of the noise."""
    return [(chance, _run(i, drawn)) for chance, drawn in outcomes(i)]


def right(i):
    """The runs as stated, whatever was swapped into the instance."""
    return path(i if i.algorithm == i.stated.algorithm else i.but(algorithm=i.stated.algorithm))


@lru_cache(256)
def average(i):
    """(1/T) sum_t E|grad F(x_t)|^2 of the coded runs."""
    return sum(chance * sum(slope2(i.problem, a.x) for a in run) / len(run) for chance, run in path(i))


def ended(i):
    """E F(x_{T+1}) of the coded runs."""
    return sum(chance * value(i.problem, run[-1].after) for chance, run in path(i))


# ---- comparisons with enclosed logarithms ---------------------------------------------------------------------------
def decided(left, low, high, label=""):
    """left <= a right side (a number, or terms by name) between low and high: the end that speaks against what is found."""
    ends = [sum(v.values()) if isinstance(v, dict) else v for v in (low, high)]
    least, most = (left.low, left.high) if isinstance(left, ft.Bounds) else (left, left)
    inside = most <= ends[0]
    if not inside and not least > ends[1] and ends[0] != ends[1]:
        raise ArithmeticError("the enclosed logarithm does not decide")
    right = low if inside else high
    return ft.at_most(left, ft.Terms(**right) if isinstance(right, dict) else right, label)


# ---- instances ------------------------------------------------------------------------------------------------------
def order_of(kind, n, T):
    """Who arrives: in turn; one alone; in blocks; or as clients of speeds 1, 2, 3, .. finish."""
    if kind == "turn":
        return tuple(t % n for t in range(T))
    if kind == "blocks":
        return tuple(t * n // T for t in range(T))
    if kind == "speeds":
        times = sorted((k * (1 + j % 3), j) for j in range(min(n, T)) for k in range(1, T + 1))
        return tuple(j for _, j in times[:T])
    return (0,) * T


def stale(name, problem, steps, eta_g, order, x0, noise=0, **extra):
    """StaleSteps with clients in the order."""
    algorithm = ft.StaleSteps(1, len(steps), server_lr=eta_g, solver=ft.Listed(steps))
    x0 = [ft.fraction(v) for v in (x0 if isinstance(x0, list) else [x0] * problem.d)]
    says = extra.pop("says", f"K={len(steps)}, eta_g={eta_g}, {len(order)} arrivals of {problem.n} clients")
    return Runs(name, problem, algorithm, ft.Full(), noise=noise, x0=x0, order=tuple(order), rounds=len(order),
                says=says, **extra)


def alone(name, problem, steps, T, x0=1, share=1, **extra):
    """AsyncFedED as Algorithm 1 states it, one client, lambda/eps = share/(N K L): gamma = 0 at every arrival."""
    L = ft.fraction(problem.constants.L)
    algorithm = ft.AsyncFedED(1, len(steps), lam=share / (sum(steps) * L), eps=1, kappa=0, solver=ft.Listed(steps))
    return Runs(name, problem, algorithm, ft.EventClock(), x0=[ft.fraction(x0)], rounds=T, **extra)


class Now(NamedTuple):
    """x (..., d): server model; nothing else is remembered."""

    x: Any


class Fresh(ft.StaleSteps):
    """StaleSteps whose client downloads the model right before it works: no staleness."""

    stateful = False

    def init(self, problem, x0, draw=None):
        return Now(x0)

    def round(self, problem, s, draw):
        base = s.x[..., None, :] + 0 * problem.p[..., None]
        return Now(super().round(problem, Stale(s.x, base), draw).x)


# ---- hypotheses -----------------------------------------------------------------------------------------------------
near = ft.Hypothesis("Assumption 3", r"a finite $\sigma_g^2$ with $\|\nabla f_i(x)-\nabla F(x)\|^2\le\sigma_g^2$ for all $i$, $x$",
                     lambda i: (i.sg2, i.sg2))
stale_bound = ft.Hypothesis("Assumption 4", r"$\gamma\le\Gamma$ at every arrival and outcome: the largest $\gamma^2$",
                            lambda i: (i.observed, i.Gamma2))


def bias2(i):
    """The largest square of the mean of the noise in a slot given all that was drawn before."""
    found, seen = Q(0), list(outcomes(i))
    for at in sorted(seen[0][1]):
        groups = {}
        for chance, drawn in seen:
            groups.setdefault(tuple(v for k, v in drawn.items() if k < at), []).append((chance, drawn[at]))
        found = max([found, *((sum(c * v for c, v in g) / sum(c for c, _ in g)) ** 2 for g in groups.values())])
        if found:
            break
    return found


past = ft.Hypothesis("H*", "noise has mean zero given everything earlier in the round and in earlier rounds, the "
                           "client, the present and the stale model", lambda i: (bias2(i), 0))
steps_cap = ft.Hypothesis("(T1)", r"$6k(2k+1)L^2\eta_{i,k}^2\le1$ for every $k$", lambda i: (i.share2, 1), cap=2)
enough = ft.Hypothesis("(C1)", r"$\Gamma^2<\frac3{12K^2L^2M+K\ln(K+1)}$: $0<\Theta$", lambda i: (0, i.theta(i.logs[1])),
                       strict=True)
server_cap = ft.Hypothesis("(T2)", r"$\eta_gNKL\le1$", lambda i: (max(i.server) * i.S * i.L, 1), cap=1)
ASSUMED = [near, stale_bound, steps_cap, enough, server_cap]
