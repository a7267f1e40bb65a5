"""Further families of non-convex instances: at the cap with C', sines, and clients for schedules and sampling."""
from dataclasses import replace
from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.core.problems.base import Constants, Problem, check_weights
from verification import piecewise
from verification.fednova import families, over
from verification.fednova import formulas as f
from verification.fednova.families import CAP, st
from verification.fednova.instances import SOLVERS, Descending, theorem


def clients(draw):
    """(two or three clients with piecewise linear gradients, a start, F(x0) - F_inf, words); None where F has no infimum."""
    n = draw(st.integers(2, 3))
    problem = piecewise.either(draw, n, **({} if draw(st.booleans()) else {"weights": families.weights(draw, n)}))
    least, x0 = None if problem is None else problem.least(), Fraction(draw(st.integers(-8, 8)), 2)
    return None if least is None else (problem, x0, ft.fraction(problem.value([x0])) - least[1], piecewise.words(problem))


def at_the_prefix_cap(draw):
    """Non-convex clients at the largest step at beta^2 = 1 that C' and the server allow, or a share of it."""
    made = families.nonconvex(draw)
    if made is None:
        return None
    norms = [f.norm1(a) for a in made.vectors]
    tau_eff, w = f.plain_averaging(made.p, norms)
    C = f.abc_corrected(made.solver, made.value, made.taus, w, tau_eff)[2]
    cap = min([1 / (2 * tau_eff), *([over.root_below(1 / (12 * C))] if C else [])]) / ft.fraction(made.problem.constants.L)
    eta = cap * min(made.eta * made.L * max(norms) / CAP, Fraction(1))
    return made.but(algorithm=replace(made.algorithm, lr=eta), says=f"{made.says}; at eta = {eta}")


class Sines(Problem):
    """F_i = c_i (1 - cos(x - phi_i)) + h x^2/2 in floats."""

    d, _data = 1, ("c", "phi")

    def __init__(self, c, phi, h, weights=None):
        self.c, self.phi, self.h, self.n = np.array(c, dtype=float), np.array(phi, dtype=float), float(h), len(c)
        self.weights = check_weights(weights, self.n)

    @property
    def constants(self):
        return Constants(ft.fraction(max(self.c) + self.h), ft.fraction(self.h - max(self.c)), False)

    def _gradient(self, who, y, sample):
        exact = self.c[who][:, None] * np.sin(y - self.phi[who][:, None]) + self.h * y
        return exact if sample is None else exact + sample

    def _values(self, x):
        return self.c * (1 - np.cos(x - self.phi)) + self.h * x * x / 2

    def gap(self, w, x, cells=4000):
        """F~(x) - F~_inf, from above by less than 1e-3: a larger gap only weakens the bound. Minima lie where |h x| <= max c."""
        end, w = max(self.c) / self.h + 1, np.array([float(v) for v in w])
        least = (self._values(np.linspace(-end, end, cells + 1)[:, None]) * w).sum(-1).min()
        return max(ft.fraction(float((self._values(np.array([float(x)])) * w).sum() - least)), Fraction(0)) + Fraction(1, 10**3)


def sines(draw):
    """Sines on the line, with several minima."""
    n = draw(st.integers(2, 3))
    c, phi = [draw(st.integers(1, 3)) for _ in range(n)], [draw(st.integers(-3, 3)) for _ in range(n)]
    problem = Sines(c, phi, draw(st.sampled_from([0.25, 0.5])), families.weights(draw, n))
    x0, (taus, solver, value, share) = draw(st.integers(-3, 3)), families._setting(draw, n)
    eta = share / (problem.constants.L * max(f.norm1(f.a_vector(solver, t, value)) for t in taus))
    # gradients differ from their mean by what c_i sin differs, so kappa^2 = sum w_i c_i^2 is admissible with every beta^2 >= 1
    made = Descending("random sines", problem, ft.FedAvg(eta, taus, SOLVERS[solver](value)), ft.Full(), domain=ft.FLOAT, x0=[x0],
                      rounds=draw(st.sampled_from([1, 5, 20])), gap=Fraction(0), kappa2=Fraction(0),
                      says=f"c={c}, phi={phi}, h={problem.h}, tau={taus}, {solver} {value}, x0={x0}")
    w = theorem(made)["w"]
    return made.but(kappa2=sum(q * v * v for q, v in zip(w, c, strict=True)), gap=problem.gap(w, x0))


FAMILIES = (ft.Family("non-convex", families.nonconvex, most=60), ft.Family("sines", sines, most=30))
AT_THE_PREFIX_CAP = ft.Family("non-convex at the cap with C'", at_the_prefix_cap, most=60)
