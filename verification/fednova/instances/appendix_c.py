"""Instances for Appendix C: what happens inside one coded round, with the noise averaged exactly."""
from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.core.arrays import EVERYONE
from fltheory.core.problems.base import Cohort
from verification.fednova import families
from verification.fednova.instances import SOLVERS, plane, scalar
from verification.fednova.instances.surrogate import surrogate


class Recorder:
    """A problem that notes where a round asks for gradients, what the exact answer is, and what it was given."""

    def __init__(self, problem):
        self.problem, self.n, self.p, self.d = problem, problem.n, problem.p, problem.d
        self.points, self.exact, self.given = [], [], []

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _gradient(self, who, y, sample):
        exact = self.problem._gradient(who, y, None)
        given = exact if sample is None else self.problem._gradient(who, y, sample)
        self.points.append(y + 0 * exact)
        self.exact.append(exact)
        self.given.append(given)
        return given


@dataclass(frozen=True)
class Round:
    """One coded round from a fixed server model x (d,), over a batch of noise values (batch axis first).

    points, exact, given: per local step (batch, n, d); after (batch, d). variance: sigma^2/d where the batch is [no
    noise, unit noise in each coordinate] and everything is affine in the noise; None where the batch lists all
    outcomes, equally likely."""

    x: np.ndarray
    points: list
    exact: list
    given: list
    after: np.ndarray
    variance: object

    def mean(self, v):
        """E v for v affine in the noise (any v if all outcomes are listed)."""
        return v.sum(0) / len(v) if self.variance is None else v[0]

    def square(self, v):
        """E|v|^2 over the last axis, for v affine in the noise."""
        if self.variance is None:
            return (v * v).sum(-1).sum(0) / len(v)
        spread = v[1:] - v[:1]
        return (v[0] * v[0]).sum(-1) + self.variance * (spread * spread).sum(-1).sum(0)

    def value(self, problem):
        """E F(x+): F quadratic, or all outcomes listed."""
        def value(x):
            return ft.linalg.to_fractions(problem.to(ft.RATIONAL).value(ft.RATIONAL.array(x)))
        if self.variance is None:
            return value(self.after).sum(0) / len(self.after)
        at, spread = self.after[:1], self.after[1:] - self.after[:1]
        bend = value(at + spread) + value(at - spread) - 2 * value(at)
        return value(at)[0] + self.variance * bend.sum() / 2

    def drifts(self, n, tau):
        """[E|x - y_k|^2 for k < tau] of client n."""
        return [self.square(v[:, n] - self.x) for v in self.points[:tau]]

    def directions(self, vectors, which="given"):
        """d_i (which = "given") or h_i ("exact"), eqs 46-47: (batch, n, d), from the recorded gradients and a_i."""
        steps = getattr(self, which)
        sums = [sum((a[k] * steps[k][:, n] for k in range(1, len(a))), a[0] * steps[0][:, n])
                for n, a in enumerate(vectors)]
        return np.stack(sums, 1) / _norms(vectors)


def _norms(vectors):
    out = np.empty((len(vectors), 1), dtype=object)
    out[:, 0] = [sum(a[1:], a[0]) for a in vectors]
    return out


def one_round(i) -> Round:
    """Run the instance's coded round once from its x0, for every noise value that matters."""
    domain = i.domain
    problem, algorithm = Recorder(i.problem.to(domain)), i.algorithm.to(domain)
    draw = ft.everyone(problem.n, np.array(algorithm.steps))
    noise = domain.scalar(i.noise)
    slots = [(k, n) for n, tau in enumerate(np.broadcast_to(draw.steps, problem.n)) for k in range(int(tau))]
    variance, samples = None, np.zeros((1, len(slots), problem.d), dtype=object)
    if "outcomes" in i.extra:
        samples = np.array(i.outcomes(len(slots)), dtype=object)
    elif noise != 0 and isinstance(i.problem, ft.Quadratic):
        size = len(slots) * problem.d
        variance = noise * noise / problem.d
        units = np.concatenate([np.zeros((1, size), dtype=object), np.eye(size, dtype=object)])
        samples = units.reshape(-1, len(slots), problem.d)
    elif noise != 0:  # all outcomes of independent signs; one dimension
        samples = np.array(list(itertools.product((-1, 1), repeat=len(slots))), dtype=object)[..., None]
        samples = samples * noise
    xi = np.zeros((len(samples), int(draw.steps.max()), problem.n, problem.d), dtype=object)
    for at, (k, n) in enumerate(slots):
        xi[:, k, n] = samples[:, at]
    xi = domain.array(xi)
    x = domain.array(np.array(i.x0, dtype=object))
    start = algorithm.init(problem, x[None] + 0 * xi[:, 0, 0])
    after = algorithm.round(problem, start, draw._replace(xi=lambda k: xi[:, k]))
    parts = [x, problem.points, problem.exact, problem.given, after.x]
    if domain is ft.RATIONAL:  # mixed with the paper's formulas, which are Fractions
        parts = [[ft.linalg.to_fractions(v) for v in part] if isinstance(part, list) else ft.linalg.to_fractions(part)
                 for part in parts]
        variance = None if variance is None else ft.fraction(variance)
    return Round(*parts, variance)


# ---- one round --------------------------------------------------------------------------------------------
def _huber(name, solver, value, sigma, x0):
    problem = ft.HuberLoss([[[1], [2]], [[-1]]], [[1, -2], [3]], "1/2", 1, "1/4", ["2/3", "1/3"])
    made = surrogate(name, problem, (2, 3), "1/60", solver, value, sigma, 1, x0)
    return made.but(gap=Fraction(100), kappa2=Fraction(100), units=False,
                    says="Huber losses, all noise outcomes listed")


solvers = [
    surrogate("vanilla", plane(), (1, 2, 4), "1/50", sigma="1/2", rounds=1, x0=[2, 2]),
    surrogate("decay", plane(), (1, 2, 4), "1/50", "decay", "9/10", sigma="1/2", rounds=1, x0=[2, 2]),
    surrogate("momentum", plane(), (1, 2, 4), "1/100", "momentum", "1/2", sigma="1/2", rounds=1, x0=[2, 2]),
    surrogate("FedNova, vanilla", plane(), (1, 2, 4), "1/50", sigma="1/2", rounds=1, x0=[2, 2], server=ft.FedNova),
    surrogate("indefinite client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), (2, 3), "1/50",
              sigma="1/4",
              rounds=1, x0=[1], says="one client is concave, the surrogate is convex"),
]
proximal = [
    surrogate("proximal, alpha=1/2", plane(), (1, 2, 4), "1/50", "proximal", "1/2", sigma="1/2", rounds=1, x0=[2, 2]),
    surrogate("proximal, alpha=1", plane(), (1, 2, 4), "1/50", "proximal", 1, sigma="1/2", rounds=1, x0=[2, 2]),
]
kinked = [_huber("Huber, vanilla", "vanilla", None, 1, [1]), _huber("Huber, momentum", "momentum", "1/2", 1, [-2])]
kinked_proximal = [_huber("Huber, proximal", "proximal", "3/4", 1, [1])]
noise_only = surrogate("at the optimum", scalar([1, 1], [0, 0]), (3, 3), "1/20", sigma=1, rounds=1, x0=[0],
                       says="every gradient vanishes at x: only noise moves the clients")
drift_only = surrogate("at the surrogate's optimum", scalar([1, 3], [3, -1]), (2, 2), "1/20", rounds=1, x0=[0],
                       says="the surrogate's gradient vanishes at x and there is no noise")
exact_gradients = surrogate("no noise", scalar([1, 2], [0, 1]), (2, 4), "1/20", rounds=1, x0=[2], says="no noise")
large_step = surrogate("tau_eff eta L > 1/2", plane(), (1, 2, 4), "1/5", sigma="1/2", rounds=1, x0=[2, 2])
beyond = surrogate("D >= 1", plane(), (1, 2, 4), 1, sigma="1/2", rounds=1, x0=[2, 2])
err_eq85 = surrogate("prox, alpha=9/10, two steps", scalar([1], [0]), (2,), "1/4", "proximal", "9/10", rounds=1, x0=[1],
                     says="F = x^2/2, one client, x = 1: 0.0568 against 0.0283")
err_eq85_noise = err_eq85.but(name="the same with noise only", noise=Fraction(1), x0=[0],
                              says="gradient 0 at x: both sides are noise, and the printed factor is (1 - alpha)^2")


def noisy_hubers(draw):
    """Random Huber clients, with independent signs as noise where all outcomes can be listed."""
    i = families.hubers(draw)
    noisy = draw(families.st.booleans()) and sum(i.taus) <= 6
    return i.but(noise=Fraction(1 if noisy else 0), says=f"{i.says}, sigma={int(noisy)}")


# ---- eq 56, eq 69: everything a symbol --------------------------------------------------------------------
def symbolic_pair(solver, taus=(2, 3), server=ft.FedAvg):
    """Two scalar clients: curvatures, e_i, p, x, eta, sigma and the solver's parameter are symbols."""
    field = ft.Field("eta v p h0 h1 e0 e1 x s")
    eta, v, p, h0, h1, e0, e1, x, s = field.symbols
    problem = ft.Quadratic.from_linear([[[h0]], [[h1]]], [[e0], [e1]], [p, 1 - p])
    return ft.Instance(f"{server.__name__}, {solver}, tau={taus}, all symbols", problem,
                       server(eta, taus, SOLVERS[solver](v)), ft.Full(), noise=s, domain=field, x0=[x],
                       solver=solver, value=v, fednova=server is ft.FedNova,
                       says="curvatures, e_i, p, x, eta, sigma and the solver's parameter are symbols")


def symbolic_client(solver, tau=4):
    """One client whose gradients are free symbols: the drift after k steps is a linear form in them."""
    field = ft.Field("eta v " + " ".join(f"g{k}" for k in range(tau)))
    eta, v, *g = field.symbols
    return ft.Instance(f"{solver}, tau={tau}, free gradients", None, ft.FedAvg(eta, (tau,), SOLVERS[solver](v)),
                       ft.Full(),
                       domain=field, solver=solver, value=v, g=g,
                       says="eta, the solver's parameter and every gradient are symbols")


eq56 = [symbolic_pair(s) for s in SOLVERS] + [symbolic_pair("vanilla", server=ft.FedNova)]
eq69 = [symbolic_client(s) for s in SOLVERS]
eq69_exact = [
    err_eq85,
    surrogate("vanilla, two steps", scalar([1], [0]), (2,), "1/4", rounds=1, x0=[1]),
    surrogate("momentum, rho=1/2, three steps", scalar([1], [0]), (3,), "1/8", "momentum", "1/2", rounds=1, x0=[1]),
]


# ---- lem2 -------------------------------------------------------------------------------------------------
class Multiplicative(ft.Quadratic):
    """Quadratic clients whose noise depends on the position: martingale differences that are not independent."""

    def _gradient(self, who, y, sample):
        exact = super()._gradient(who, y, None)
        return exact if sample is None else exact + sample * (1 + y)


def _signs(slots):
    return np.array(list(itertools.product((-1, 1), repeat=slots)), dtype=object)[..., None]


def _repeated(slots):
    """One sign for the whole local run: unbiased at every fixed point, but not along the run."""
    return np.array([[s] * slots for s in (-1, 1)], dtype=object)[..., None]


def _noisy_client(name, solver, value, outcomes, says):
    problem = Multiplicative([[[2]]], [[3]])
    return ft.Instance(name, problem, ft.FedAvg(Fraction(1, 8), (3,), SOLVERS[solver](value)), ft.Full(), x0=[1],
                       solver=solver, value=value, outcomes=outcomes, matrix=None,
                       says=says)


def _martingale(atoms):
    """A sum S so far, and the next difference with `atoms` values whose conditional mean is zero; one entry."""
    names = ["S", *(f"c{j}" for j in range(atoms - 1)), *(f"v{j}" for j in range(atoms - 1)), "past"]
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    c = [s[f"c{j}"] for j in range(atoms - 1)]
    v = [s[f"v{j}"] for j in range(atoms - 1)]
    c.append(1 - sum(c[1:], c[0]))
    v.append(-sum((a * b for a, b in zip(c[1:], v[1:], strict=False)), c[0] * v[0]) / c[-1])
    return ft.Instance(f"one more matrix, {atoms} values", domain=field, S=s["S"], c=c, v=v, past=s["past"],
                       matrix=True,
                       says="any history, any conditional probabilities and values with conditional mean zero")


lem2 = [_martingale(2), _martingale(3), _martingale(4),
        *(_noisy_client(f"noise along a local run, {s}", s, v, _signs, "noise proportional to 1 + y, independent signs")
          for s, v in (("vanilla", None), ("proximal", Fraction(1, 2)), ("momentum", Fraction(1, 2)),
                       ("decay", Fraction(3, 4)))),
        _noisy_client("one sample for the whole run", "vanilla", None, _repeated,
                      "the same sign in all three local steps")]


# ---- eqs 87-92 --------------------------------------------------------------------------------------------
def _drift_cap():
    field = ft.Field("b s")
    b, s = field.symbols
    return ft.Instance("all beta^2 >= 1", domain=field, b=b, s=s,
                       says="beta^2 = 1 + b, D = 1/((2 beta^2 + 1)(1 + s)), b, s >= 0")


eq87_92 = [_drift_cap()]

# in numbers what the others prove in symbols
ft.illustrate([*lem2, *proximal, *solvers[:4]])
