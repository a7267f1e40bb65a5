"""What several claim files of FedNova share: problems, symbols, and the rounds that Theorem 1 speaks of.

Declared in rationals; floats are derived from them, never the reverse.
"""
from fractions import Fraction
from functools import lru_cache

import numpy as np

import fltheory as ft
from fltheory.core.numbers.scalars import is_rational
from fltheory.core.problems.base import Constants, Problem, check_weights
from verification import named_problems as named
from verification.fednova import formulas as f

SOLVERS = {"vanilla": lambda v: ft.Vanilla(), "proximal": lambda v: ft.Proximal(alpha=v),
           "momentum": lambda v: ft.Momentum(v), "decay": lambda v: ft.Decay(v)}


NAMED = {"ill-conditioned": named.ill_conditioned(), "skewed weights": named.skewed_weights(),
         "diabetes by age": named.diabetes()}


def two_clients(name="two clients"):
    """F_{1,2} = 1/2 (x -/+ 1)^2, p = 1/2."""
    return ft.Quadratic([[[1]], [[1]]], [[1], [-1]], name=name)


def plane(weights=("1/2", "3/10", "1/5")):
    """Three clients in the plane whose Hessians do not commute."""
    return ft.Quadratic([[[2, 0], [0, 1]], [[1, "1/2"], ["1/2", 1]], [["3/2", "-1/4"], ["-1/4", "1/2"]]],
                        [[1, 0], [0, 2], [-1, -1]], weights)


def scalar(h, xi, weights=None):
    """Scalar clients h_i (x - xi_i)^2 / 2."""
    return ft.Quadratic([[[v]] for v in h], [[v] for v in xi], weights)


def read(values):
    """Exact numbers of the engine as Fractions, which the formulas speak; symbols and balls stay."""
    array = np.asarray(values, dtype=object)
    out = np.empty(array.shape, dtype=object)
    out.reshape(-1)[:] = [ft.fraction(v) if is_rational(v) else v for v in array.reshape(-1)]
    return out if array.ndim else out.item()


class Symbols:
    """Symbols("eta mu", h=3): attributes eta, mu and the list h of h0, h1, h2; `field` holds them all."""

    def __init__(self, single="", **lists):
        names = [*single.split(), *(f"{k}{j}" for k, size in lists.items() for j in range(size))]
        self.field = ft.Field(" ".join(names))
        values = iter(self.field.symbols)
        vars(self).update({name: next(values) for name in single.split()})
        vars(self).update({name: [next(values) for _ in range(size)] for name, size in lists.items()})

    def weights(self, n):
        """p_0, .., p_{n-2} free, the last one 1 minus the others."""
        return [*self.p[:n - 1], 1 - sum(self.p[:n - 1])]

    def these(self, names):
        """{name: its symbol or list}, for the keywords of an instance."""
        return {name: getattr(self, name) for name in names.split()}


PARAMETERS = {ft.Vanilla: ("vanilla",), ft.Proximal: ("proximal", "alpha"), ft.Momentum: ("momentum", "rho"),
              ft.Decay: ("decay", "gamma"), ft.MomentumProximal: ("momentum-proximal", "rho", "alpha")}


def unit_clients(s, n):
    """Unit Hessians with every e_i and p_i a symbol of s; no e: all of them 0."""
    return ft.Quadratic.from_linear([[[1]]] * n, [[v] for v in getattr(s, "e", [0] * n)], s.weights(n))


def declared(value):
    """A declared number as a Fraction; symbols and None stay."""
    return ft.fraction(value) if isinstance(value, (int, str, Fraction)) else value


class Local(ft.Instance):
    """An instance that names its stated local solver as the formulas do: `solver`, `value`, and the vectors a_i."""

    @property
    def solver(self):
        return PARAMETERS[type(self.stated.algorithm.solver)][0]

    @property
    def value(self):
        """The solver's parameter: None, a number, or both of momentum with a proximal term."""
        names = PARAMETERS[type(self.stated.algorithm.solver)][1:]
        values = [declared(getattr(self.stated.algorithm.solver, name)) for name in names]
        return tuple(values) if len(values) > 1 else values[0] if values else None

    @property
    def mu(self):
        """The proximal weight, 0 without one; with fixed alpha = eta mu as well."""
        solver = self.stated.algorithm.solver
        if not isinstance(solver, ft.Proximal):
            return Fraction(0)
        return self.value / self.eta if solver.mu is None else declared(solver.mu)

    @property
    def fednova(self):
        return isinstance(self.stated.algorithm, ft.FedNova)

    @property
    def vectors(self):
        """a_i of every client."""
        return [f.a_vector(self.solver, t, self.value) for t in self.taus]


def free_clients(s, n, d=1):
    """Quadratics with every entry of H_i (symmetric), e_i and p_i a symbol of s."""
    H = symmetric(s.h, n, d)
    return ft.Quadratic.from_linear(H, np.array(s.e, dtype=object).reshape(n, d), s.weights(n))


def symmetric(entries, n, d):
    """(n, d, d) from n d d symbols, of which those below the diagonal are not used."""
    full = np.array(entries, dtype=object).reshape(n, d, d)
    return np.array([[[h[min(j, k), max(j, k)] for k in range(d)] for j in range(d)] for h in full], dtype=object)


def surrogate(name, problem, taus, eta, solver="vanilla", value=None, sigma=0, rounds=None, x0=None, server=ft.FedAvg,
              says=""):
    """An instance of Theorem 1: rule (4) with the weights and tau_eff of the given server."""
    return Local(name, problem, server(eta, tuple(taus), SOLVERS[solver](value)), ft.Full(), noise=sigma,
                 x0=[0] * problem.d if x0 is None else x0, rounds=rounds, says=says)


@lru_cache(4)  # every hypothesis and term of one claim asks for it
def theorem(i):
    """Everything Theorem 1 speaks of, from the instance's declared numbers (never from the algorithm's code)."""
    vectors = i.vectors
    norms = [f.norm1(a) for a in vectors]
    tau_eff, w = f.plain_averaging(i.p, norms)
    w = i.p if i.fednova else w
    target = None if i.problem is None else i.problem.surrogate(w)  # a whole class of functions has none of its own
    if "gap" in i.extra:
        gap = i.gap
    else:
        try:
            at_start = target.to(ft.RATIONAL).value(ft.RATIONAL.array(np.array(i.x0, dtype=object)))
            gap = ft.fraction(at_start) - ft.fraction(ft.optimum(target).value)
        except ft.NoMinimiser:
            gap = None
    return {"vectors": vectors, "norms": norms, "w": w, "tau_eff": tau_eff, "target": target, "gap": gap,
            "L": i.L, "m": i.extra.get("m", i.n), "sigma2": i.sigma**2}


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


class ManyKinked(Local):
    """m identical kinked clients with independent noise +-1, two rounds from the common optimum.

    Gradient noise bends through the kink into a drift that averaging over clients does not remove: the only way in
    which the drift-noise term of Theorem 1 can matter. The coded round runs for one client over all noise outcomes; the
    mean over m clients has that mean and 1/m of that variance, which bounds the left side from both sides."""

    def left_side(self):
        problem, algorithm, changes = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL), []
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


class Descending(Local):
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
    base = Descending(name, problem, ft.FedAvg(eta, tuple(taus), SOLVERS[solver](value)), ft.Full(), domain=domain, x0=x0,
                      rounds=rounds, kappa2=kappa2, gap=Fraction(0), says=says)
    target = problem.surrogate(theorem(base)["w"])
    start = ft.fraction(float(target.to(ft.FLOAT).value(ft.FLOAT.array(np.array(x0, dtype=object)))))
    return base.but(gap=max(start - ft.fraction(float(ft.optimum(target).value)), Fraction(0)) + Fraction(1, 10**6))
