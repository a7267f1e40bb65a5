"""Instances for Theorem 1."""
from fractions import Fraction
from functools import lru_cache

import numpy as np

import fltheory as ft
from fltheory.core.problems.base import Constants, Problem, check_weights
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, plane, scalar, two_clients


def surrogate(name, problem, taus, eta, solver="vanilla", value=None, sigma=0, rounds=None, x0=None, server=ft.FedAvg,
              says=""):
    """An instance of Theorem 1: rule (4) with the weights and tau_eff of the given server."""
    eta = ft.fraction(eta)
    value = None if value is None else ft.fraction(value)
    x0 = [0] * problem.d if x0 is None else x0
    return ft.Instance(name, problem, server(eta, tuple(taus), SOLVERS[solver](value)), ft.Full(),
                       noise=ft.fraction(sigma), x0=x0, solver=solver, value=value, rounds=rounds,
                       fednova=server is ft.FedNova, says=says)


@lru_cache(4)  # every hypothesis and term of one claim asks for it
def theorem(i):
    """Everything Theorem 1 speaks of, from the instance's declared numbers (never from the algorithm's code)."""
    vectors = [f.a_vector(i.solver, t, i.value) for t in i.taus]
    norms = [f.norm1(a) for a in vectors]
    p = [ft.fraction(v) for v in i.problem.weights]
    tau_eff, w = f.plain_averaging(p, norms)
    w = p if i.fednova else w
    target = i.problem.surrogate(w)
    if "gap" in i.extra:
        return {"vectors": vectors, "norms": norms, "w": w, "tau_eff": tau_eff, "target": target, "gap": i.gap,
                "L": ft.fraction(i.constants.L), "m": i.extra.get("m", len(i.taus)),
                "sigma2": ft.fraction(i.noise) ** 2}
    try:
        at_start = target.to(ft.RATIONAL).value(ft.RATIONAL.array(np.array(i.x0, dtype=object)))
        gap = ft.fraction(at_start) - ft.fraction(ft.optimum(target).value)
    except ft.NoMinimiser:
        gap = None
    return {"vectors": vectors, "norms": norms, "w": w, "tau_eff": tau_eff, "target": target, "gap": gap,
            "L": ft.fraction(i.constants.L), "m": len(i.taus), "sigma2": ft.fraction(i.noise) ** 2}


class Kinked(Problem):
    """One scalar client with slope `left` on x < 0 and `right` on x > 0 of its gradient: smooth, not quadratic."""

    def __init__(self, left, right):
        self.left, self.right, self.n, self.d = ft.fraction(left), ft.fraction(right), 1, 1
        self.weights = check_weights(None, 1)

    def _gradient(self, who, y, sample):
        slope = np.vectorize(lambda v: ft.RATIONAL.scalar(self.left if v < 0 else self.right), otypes=[object])(y)
        return slope * y + sample

    @property
    def constants(self):
        return Constants(max(self.left, self.right), min(self.left, self.right), True)


class ManyKinked(ft.Instance):
    """m identical kinked clients with independent noise +-1, two rounds from the common optimum.

    Gradient noise bends through the kink into a drift that averaging over clients does not remove: the only way in
    which the drift-noise term of Theorem 1 can matter. The coded round runs for one client over all noise outcomes; the
    mean over m clients has that mean and 1/m of that variance, which bounds the left side from both sides."""

    def left_side(self):
        problem = self.problem.to(ft.RATIONAL)
        algorithm = self.algorithm.to(ft.RATIONAL)
        changes = []
        for signs in np.ndindex(2, 2):
            noise = [ft.RATIONAL.array(np.array([[2 * s - 1]])) for s in signs]
            draw = ft.everyone(1, self.taus[0])._replace(xi=lambda k, noise=noise: noise[k])
            start = algorithm.init(problem, ft.RATIONAL.array(np.array([0])))
            changes.append(ft.fraction(algorithm.round(problem, start, draw).x[0]))
        mean = sum(changes) / len(changes)
        second = sum(c * c for c in changes) / len(changes)
        spread = (second - mean**2) / self.m
        # f'(x)^2 >= right^2 (2 mean x - mean^2) for every x if mean > 0; f'(x)^2 <= L^2 x^2
        low = self.problem.right**2 * mean**2 if mean > 0 else Fraction(0)
        return ft.Bounds(low / 2, self.problem.constants.L ** 2 * (mean**2 + spread) / 2)


class Descending(ft.Instance):
    """Deterministic rounds on a smooth non-quadratic problem: the left side by running the coded round itself."""

    def left_side(self):
        problem, algorithm = self.problem.to(self.domain), self.algorithm.to(self.domain)
        target = self.problem.surrogate(theorem(self)["w"]).to(self.domain)
        state = algorithm.init(problem, self.domain.array(np.array(self.x0, dtype=object)))
        draw, total = ft.everyone(problem.n, np.array(self.taus)), 0
        for _ in range(self.rounds):
            g = target.gradient(state.x)
            total = total + (g * g).sum()
            state = algorithm.round(problem, state, draw)
        return total / self.rounds


def descending(name, problem, domain, kappa2, taus, share, solver, value, rounds, x0, says):
    """A `Descending` instance at `share` of the largest admissible step; gap from a slightly lowered exact optimum."""
    longest = max(f.norm1(f.a_vector(solver, t, value)) for t in taus)
    eta = ft.fraction(share) / (ft.fraction(problem.constants.L) * longest)
    base = Descending(name, problem, ft.FedAvg(eta, tuple(taus), SOLVERS[solver](value)), ft.Full(), domain=domain,
                      x0=x0, solver=solver, value=value, rounds=rounds, fednova=False, kappa2=kappa2, gap=Fraction(0),
                      units=False, says=says)
    target = problem.surrogate(theorem(base)["w"])
    start = ft.fraction(float(target.to(ft.FLOAT).value(ft.FLOAT.array(np.array(x0, dtype=object)))))
    return base.but(gap=max(start - ft.fraction(float(ft.optimum(target).value)), Fraction(0)) + Fraction(1, 10**6))


many_kinked = ManyKinked(
    "a million kinked clients", Kinked(1, "1/2"), ft.FedAvg(Fraction(1, 8), (2,)), ft.Full(), noise=1, x0=[0],
    solver="vanilla", value=None, rounds=2, fednova=False, m=10**6, gap=Fraction(0), kappa2=Fraction(0), units=False,
    says="identical non-quadratic clients; noise turns into drift, which averaging does not remove")

solvers = [
    surrogate("vanilla", plane(), (1, 2, 4), "1/50", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("momentum", plane(), (1, 2, 4), "1/100", "momentum", "1/2", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("decay", plane(), (1, 2, 4), "1/50", "decay", "9/10", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("proximal, alpha=1/2", plane(), (1, 2, 4), "1/50", "proximal", "1/2", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("FedNova, vanilla", plane(), (1, 2, 4), "1/50", sigma="1/2", rounds=20, x0=[2, 2], server=ft.FedNova),
    surrogate("indefinite client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), (2, 3), "1/50",
              sigma="1/4", rounds=40, x0=[1], says="one client is concave, the surrogate is convex"),
]
one_per_term = [
    surrogate("start dominates", scalar([1, 2], [0, 0]), (1, 2), "1/20", rounds=3, x0=[5],
              says="no noise, common minimiser"),
    surrogate("noise dominates", scalar([1, 1], [0, 0]), (1, 1), "1/10", sigma=1, says="one local step, stationary"),
    surrogate("drift dominates", scalar([1, 3], [1, -1], ["3/4", "1/4"]), (2, 6), "1/2000",
              says="no noise, stationary"),
    surrogate("drift dominates, FedNova", scalar([1, 3], [1, -1], ["3/4", "1/4"]), (2, 6), "1/2000", server=ft.FedNova,
              says="no noise, stationary: the surrogate is the objective itself"),
    surrogate("noise dominates, 16 clients", scalar([1] * 16, [0] * 16), (1,) * 16, "1/10", sigma=1,
              says="averaging over m clients divides the noise by m, which the bound must keep"),
]
prox_alpha1 = surrogate(
    "prox-alpha1", two_clients(), (1, 2), "1/4", "proximal", 1, rounds=9, x0=["1/7"],
    says="FedProx at alpha = 1 started at its fixed point 1/7: the left side is 1/49 in every round")
prox_alpha1_limit = surrogate("prox-alpha1, T to infinity", two_clients(), (1, 2), "1/4", "proximal", 1,
                              says="the same for infinitely many rounds: the bound is 0")
too_large = surrogate("step above the cap", plane(), (1, 2, 4), "1/2", sigma="1/2", rounds=5, x0=[2, 2])
