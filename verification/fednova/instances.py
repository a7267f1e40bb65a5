"""Instances of FedNova's claims, declared in rationals; floats are derived from them, never the reverse."""
from fractions import Fraction

import numpy as np

from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.solvers import Decay, Momentum, Proximal, Vanilla
from fltheory.claims.claim import Instance
from fltheory.claims.evidence import Bounds
from fltheory.laws.draw import everyone
from fltheory.laws.memoryless import Full, WithReplacement
from fltheory.optima import optimum
from fltheory.problems import instances as named
from fltheory.problems.base import Constants, Problem, check_weights
from fltheory.problems.quadratic import Quadratic
from fltheory.scalars import FLOAT, RATIONAL, Field, fraction
from verification.fednova import formulas as f

SOLVERS = {"vanilla": lambda v: Vanilla(), "proximal": lambda v: Proximal(alpha=v), "momentum": lambda v: Momentum(v),
           "decay": lambda v: Decay(v)}


def two_clients(name="two clients"):
    """F_{1,2} = 1/2 (x -/+ 1)^2, p = 1/2."""
    return Quadratic([[[1]], [[1]]], [[1], [-1]], name=name)


def plane(weights=("1/2", "3/10", "1/5")):
    """Three clients in the plane whose Hessians do not commute."""
    return Quadratic([[[2, 0], [0, 1]], [[1, "1/2"], ["1/2", 1]], [["3/2", "-1/4"], ["-1/4", "1/2"]]],
                     [[1, 0], [0, 2], [-1, -1]], weights)


def scalar(h, xi, weights=None):
    """Scalar clients h_i (x - xi_i)^2 / 2."""
    return Quadratic([[[v]] for v in h], [[v] for v in xi], weights)


# ---- eq 26-28 ---------------------------------------------------------------------------------------------
def prox_quadratic(name, problem, eta, taus, mu=0, says="", **extra):
    eta, mu = fraction(eta), fraction(mu)
    solver = Proximal(mu=mu) if mu else Vanilla()
    return Instance(name, problem, FedAvg(eta, tuple(taus), solver), Full(), eta=eta, mu=mu, taus=tuple(taus), says=says, **extra)


def _symbolic_pair():
    """Two clients in the plane with every entry of H_i and e_i, p_1, eta and mu a symbol; steps (1, 2)."""
    k = Field("eta mu p a1 b1 c1 a2 b2 c2 u1 v1 u2 v2")
    eta, mu, p, a1, b1, c1, a2, b2, c2, u1, v1, u2, v2 = k.symbols
    problem = Quadratic.from_linear([[[a1, b1], [b1, c1]], [[a2, b2], [b2, c2]]], [[u1, v1], [u2, v2]], [p, 1 - p])
    return Instance("all symbols, d=2, tau=(1,2)", problem, FedAvg(eta, (1, 2), Proximal(mu=mu)), Full(), domain=k, eta=eta,
                    mu=mu, taus=(1, 2), says="every entry of H_i and e_i, p, eta and mu are symbols")


eq26_28 = [
    _symbolic_pair(),
    prox_quadratic("plane", plane(), "1/10", (1, 3, 8), says="non-commuting Hessians, unequal weights and steps"),
    prox_quadratic("plane, prox", plane(), "1/10", (1, 3, 8), "1/2", says="the same with mu = 1/2"),
    prox_quadratic("ill-conditioned", named.ill_conditioned(), "1/1000000", (2, 5, 9)[:named.ill_conditioned().n] or (2,),
                   says="condition number 1e6"),
    prox_quadratic("skewed weights", named.skewed_weights(), "1/20", tuple(range(1, named.skewed_weights().n + 1)),
                   says="weights from 1e-4 to almost 1"),
    prox_quadratic("diabetes by age", named.diabetes(), "1/20", tuple(range(1, named.diabetes().n + 1)),
                   says="ridge regression on the diabetes data, clients are age bands"),
    prox_quadratic("too large a step", plane(), "3/2", (1, 3, 8), says="the round map is no contraction"),
]


# ---- lem1 -------------------------------------------------------------------------------------------------
def _unit_symbolic(n):
    """Unit Hessians, uniform p, e_i free; z_i stands for (1 - eta)^tau_i, so tau_i is any integer."""
    names = ["eta", *(f"e{i}" for i in range(n)), *(f"z{i}" for i in range(n)), *(f"t{i}" for i in range(n)),
             *(f"r{i}" for i in range(n))]
    k = Field(" ".join(names))
    eta, rest = k.symbols[0], k.symbols[1:]
    e, z, t, r = (rest[j * n:(j + 1) * n] for j in range(4))
    problem = Quadratic.from_linear([[[1]]] * n, [[v] for v in e])
    return Instance(f"n={n}, general tau", problem, FedAvg(eta, 1), Full(), domain=k, eta=eta, e=[[v] for v in e], z=z, t=t, r=r,
                    general=True, says="unit Hessians, any e_i, any integers tau_i")


def _unit_explicit(taus):
    n = len(taus)
    k = Field("eta " + " ".join(f"e{i}" for i in range(n)))
    eta, *e = k.symbols
    problem = Quadratic.from_linear([[[1]]] * n, [[v] for v in e])
    return Instance(f"tau={taus}", problem, FedAvg(eta, taus), Full(), domain=k, eta=eta, e=[[v] for v in e], taus=taus,
                    general=False, says="the whole coded round, eta and e_i free")


lem1 = [_unit_symbolic(2), _unit_symbolic(3), _unit_explicit((1, 10)), _unit_explicit((2, 3, 7))]


# ---- solvers as symbols -----------------------------------------------------------------------------------
def _momentum_symbolic():
    k = Field("rho eta z y u g")
    rho, eta, z, y, u, g = k.symbols
    return Instance("general tau", None, FedAvg(eta, 1, Momentum(rho)), Full(), domain=k, rho=rho, eta=eta, z=z, y=y, u=u, g=g,
                    explicit=None, says="rho, eta and the gradients are symbols, z = rho^(tau - s)")


def _momentum_explicit(tau):
    k = Field("rho eta x " + " ".join(f"g{j}" for j in range(tau)))
    rho, eta, x, *g = k.symbols
    return Instance(f"tau={tau}", None, FedAvg(eta, tau, Momentum(rho)), Full(), domain=k, rho=rho, eta=eta, x=x, g=g, explicit=tau,
                    says="every coefficient, from the coded steps")


momentum = [_momentum_symbolic(), *(_momentum_explicit(t) for t in (1, 2, 5, 8))]


def _alpha_symbolic():
    k = Field("x A B a b")
    x, A, B, a, b = k.symbols
    return Instance("all integers a > b >= 1", None, FedAvg(1, 1, Proximal(alpha=1 - x)), Full(), domain=k, x=x, A=A, B=B, a=a, b=b,
                    says="x = 1 - alpha in [0, 1], A = x^a, B = x^b")


alpha_monotone = [_alpha_symbolic()]


# ---- bias -------------------------------------------------------------------------------------------------
def _bias_symbolic(solver, server, n=2, d=2, taus=(2, 3)):
    names = ["eta", "v", *(f"p{i}" for i in range(n - 1)), *(f"h{i}{j}{k}" for i in range(n) for j in range(d) for k in range(j, d)),
             *(f"e{i}{j}" for i in range(n) for j in range(d)), *(f"x{j}" for j in range(d))]
    field = Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    H = [[[s[f"h{i}{min(j, k)}{max(j, k)}"] for k in range(d)] for j in range(d)] for i in range(n)]
    e = [[s[f"e{i}{j}"] for j in range(d)] for i in range(n)]
    p = [s[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    problem = Quadratic.from_linear(H, e, p)
    algorithm = server(s["eta"], taus, SOLVERS[solver](s["v"]))
    return Instance(f"{server.__name__}, {solver}, n={n}, d={d}, tau={taus}", problem, algorithm, Full(), domain=field, H=H, e=e, p=p,
                    x=[s[f"x{j}"] for j in range(d)], taus=taus, solver=solver, value=s["v"], fednova=server is FedNova,
                    says="every entry of the non-commuting H_i, e_i, x, p, eta and the solver's parameter are symbols")


def _bias_client(solver, tau):
    field = Field("eta v h e x")
    eta, v, h, e, x = field.symbols
    problem = Quadratic.from_linear([[[h]]], [[e]])
    return Instance(f"one client, {solver}, tau={tau}", problem, FedAvg(eta, tau, SOLVERS[solver](v)), Full(), domain=field, H=[[[h]]],
                    e=[[e]], p=[1], x=[x], taus=(tau,), solver=solver, value=v, fednova=False,
                    says="a client's change is a polynomial in its own Hessian, so the scalar case decides every d")


bias = [_bias_symbolic(s, server) for s in SOLVERS for server in (FedAvg, FedNova)]
bias += [_bias_symbolic("vanilla", FedAvg, n=3, d=2, taus=(1, 2, 3))]
bias += [_bias_client(s, tau) for s in SOLVERS for tau in (1, 4, 8)]


# ---- Theorem 1 --------------------------------------------------------------------------------------------
def surrogate(name, problem, taus, eta, solver="vanilla", value=None, sigma=0, rounds=None, x0=None, server=FedAvg, says=""):
    """An instance of Theorem 1: rule (4) with the weights and tau_eff of the given server."""
    eta = fraction(eta)
    value = None if value is None else fraction(value)
    x0 = [0] * problem.d if x0 is None else x0
    return Instance(name, problem, server(eta, tuple(taus), SOLVERS[solver](value)), Full(), noise=fraction(sigma), x0=x0, eta=eta,
                    taus=tuple(taus), solver=solver, value=value, rounds=rounds, fednova=server is FedNova, says=says)


def theorem(i):
    """Everything Theorem 1 speaks of, from the instance's declared numbers (never from the algorithm's code)."""
    vectors = [f.a_vector(i.solver, t, i.value) for t in i.taus]
    norms = [f.norm1(a) for a in vectors]
    p = [fraction(v) for v in i.problem.weights]
    tau_eff, w = f.plain_averaging(p, norms)
    w = p if i.fednova else w
    target = i.problem.surrogate(w)
    if "gap" in i.extra:
        return {"vectors": vectors, "norms": norms, "w": w, "tau_eff": tau_eff, "target": target, "gap": i.gap,
                "L": fraction(i.constants.L), "m": i.extra.get("m", len(i.taus)), "sigma2": fraction(i.noise) ** 2}
    try:
        gap = fraction_of(target.to(RATIONAL).value(RATIONAL.array(np.array(i.x0, dtype=object))) - RATIONAL.scalar(
            optimum(target).value))
    except Exception as error:
        if type(error).__name__ != "NoMinimiser":
            raise
        gap = None
    return {"vectors": vectors, "norms": norms, "w": w, "tau_eff": tau_eff, "target": target, "gap": gap,
            "L": fraction(i.constants.L), "m": len(i.taus), "sigma2": fraction(i.noise) ** 2}


def fraction_of(value):
    return fraction(value)


class Kinked(Problem):
    """One scalar client with slope `left` on x < 0 and `right` on x > 0 of its gradient: smooth, not quadratic."""

    def __init__(self, left, right):
        self.left, self.right, self.n, self.d = fraction(left), fraction(right), 1, 1
        self.weights = check_weights(None, 1)

    def _gradient(self, who, y, sample):
        slope = np.vectorize(lambda v: RATIONAL.scalar(self.left if v < 0 else self.right), otypes=[object])(y)
        return slope * y + sample

    @property
    def constants(self):
        return Constants(max(self.left, self.right), min(self.left, self.right), True)


class ManyKinked(Instance):
    """m identical kinked clients with independent noise +-1, two rounds from the common optimum.

    Gradient noise bends through the kink into a drift that averaging over clients does not remove: the only way in
    which the drift-noise term of Theorem 1 can matter. The coded round runs for one client over all noise outcomes;
    the mean over m clients has that mean and 1/m of that variance, which bounds the left side from both sides.
    """

    def left_side(self):
        problem = self.problem.to(RATIONAL)
        algorithm = self.algorithm.to(RATIONAL)
        changes = []
        for signs in np.ndindex(2, 2):
            noise = [RATIONAL.array(np.array([[2 * s - 1]])) for s in signs]
            draw = everyone(1, self.taus[0])._replace(xi=lambda k, noise=noise: noise[k])
            start = algorithm.init(problem, RATIONAL.array(np.array([0])))
            changes.append(fraction(algorithm.round(problem, start, draw).x[0]))
        mean = sum(changes) / len(changes)
        second = sum(c * c for c in changes) / len(changes)
        spread = (second - mean**2) / self.m
        # f'(x)^2 >= right^2 (2 mean x - mean^2) for every x if mean > 0; f'(x)^2 <= L^2 x^2
        low = self.problem.right**2 * mean**2 if mean > 0 else Fraction(0)
        return Bounds(low / 2, self.problem.constants.L ** 2 * (mean**2 + spread) / 2)


class Descending(Instance):
    """Deterministic rounds on a smooth non-quadratic problem: the left side by running the coded round itself."""

    def left_side(self):
        problem, algorithm = self.problem.to(self.domain), self.algorithm.to(self.domain)
        target = self.problem.surrogate(theorem(self)["w"]).to(self.domain)
        state = algorithm.init(problem, self.domain.array(np.array(self.x0, dtype=object)))
        draw, total = everyone(problem.n, np.array(self.taus)), 0
        for _ in range(self.rounds):
            g = target.gradient(state.x)
            total = total + (g * g).sum()
            state = algorithm.round(problem, state, draw)
        return total / self.rounds


def descending(name, problem, domain, kappa2, taus, share, solver, value, rounds, x0, says):
    """A `Descending` instance at `share` of the largest admissible step; gap from a slightly lowered exact optimum."""
    longest = max(f.norm1(f.a_vector(solver, t, value)) for t in taus)
    eta = fraction(share) / (fraction(problem.constants.L) * longest)
    base = Descending(name, problem, FedAvg(eta, tuple(taus), SOLVERS[solver](value)), Full(), domain=domain, x0=x0, eta=eta,
                      taus=tuple(taus), solver=solver, value=value, rounds=rounds, fednova=False, kappa2=kappa2, gap=Fraction(0),
                      units=False, says=says)
    target = problem.surrogate(theorem(base)["w"])
    start = fraction(float(target.to(FLOAT).value(FLOAT.array(np.array(x0, dtype=object)))))
    return base.but(gap=max(start - fraction(float(optimum(target).value)), Fraction(0)) + Fraction(1, 10**6))


many_kinked = ManyKinked("a million kinked clients", Kinked(1, "1/2"), FedAvg(Fraction(1, 8), (2,)), Full(), noise=1, x0=[0],
                         eta=Fraction(1, 8), taus=(2,), solver="vanilla", value=None, rounds=2, fednova=False, m=10**6, gap=Fraction(0), kappa2=Fraction(0), units=False,
                         says="identical non-quadratic clients; noise turns into drift, which averaging does not remove")

solvers = [
    surrogate("vanilla", plane(), (1, 2, 4), "1/50", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("momentum", plane(), (1, 2, 4), "1/100", "momentum", "1/2", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("decay", plane(), (1, 2, 4), "1/50", "decay", "9/10", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("proximal, alpha=1/2", plane(), (1, 2, 4), "1/50", "proximal", "1/2", sigma="1/2", rounds=20, x0=[2, 2]),
    surrogate("FedNova, vanilla", plane(), (1, 2, 4), "1/50", sigma="1/2", rounds=20, x0=[2, 2], server=FedNova),
    surrogate("indefinite client", Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), (2, 3), "1/50", sigma="1/4", rounds=40,
              x0=[1], says="one client is concave, the surrogate is convex"),
]
one_per_term = [
    surrogate("start dominates", scalar([1, 2], [0, 0]), (1, 2), "1/20", rounds=3, x0=[5], says="no noise, common minimiser"),
    surrogate("noise dominates", scalar([1, 1], [0, 0]), (1, 1), "1/10", sigma=1, says="one local step, stationary"),
    surrogate("drift dominates", scalar([1, 3], [1, -1], ["3/4", "1/4"]), (2, 6), "1/2000", says="no noise, stationary"),
    surrogate("drift dominates, FedNova", scalar([1, 3], [1, -1], ["3/4", "1/4"]), (2, 6), "1/2000", server=FedNova,
              says="no noise, stationary: the surrogate is the objective itself"),
]
prox_alpha1 = surrogate("prox-alpha1", two_clients(), (1, 2), "1/4", "proximal", 1, rounds=9, x0=["1/7"],
                        says="FedProx at alpha = 1 started at its fixed point 1/7: the left side is 1/49 in every round")
prox_alpha1_limit = surrogate("prox-alpha1, T to infinity", two_clients(), (1, 2), "1/4", "proximal", 1,
                              says="the same for infinitely many rounds: the bound is 0")
too_large = surrogate("step above the cap", plane(), (1, 2, 4), "1/2", sigma="1/2", rounds=5, x0=[2, 2])


# ---- FedNova and sampling ---------------------------------------------------------------------------------
def _stability_symbolic(n):
    names = ["eta", "tau_eff", *(f"p{i}" for i in range(n - 1)), *(f"e{i}" for i in range(n)), *(f"z{i}" for i in range(n)),
             *(f"t{i}" for i in range(n)), "y", "k"]
    field = Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    p = [s[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    e = [[s[f"e{i}"]] for i in range(n)]
    problem = Quadratic.from_linear([[[1]]] * n, e, p)
    return Instance(f"n={n}, general tau", problem, FedNova(s["eta"], 1, tau_eff=s["tau_eff"]), Full(), domain=field, eta=s["eta"],
                    tau_eff=s["tau_eff"], p=p, e=e, z=[s[f"z{i}"] for i in range(n)], t=[s[f"t{i}"] for i in range(n)],
                    y=s["y"], k=s["k"], general=True, says="unit Hessians, any weights, tau_eff and integers tau_i")


def fednova_unit(name, taus, eta, weights=None, says=""):
    n = len(taus)
    p = [fraction(v) for v in check_weights(weights, n)]
    problem = Quadratic([[[1]]] * n, [[i] for i in range(n)], weights)
    tau_eff = sum(q * t for q, t in zip(p, taus, strict=True))
    return Instance(name, problem, FedNova(fraction(eta), tuple(taus), tau_eff=tau_eff), Full(), eta=fraction(eta), taus=tuple(taus),
                    p=p, tau_eff=tau_eff, general=False, says=says)


stability = [_stability_symbolic(2), _stability_symbolic(3),
             fednova_unit("tau=(1,100), eta=0.069", (1, 100), "69/1000", says="just stable, where FedAvg contracts by 0.466"),
             fednova_unit("tau=(1,100), eta=0.0695", (1, 100), "695/10000", says="just unstable"),
             fednova_unit("tau=(2,3,30), unequal p", (2, 3, 30), "1/10", ["1/2", "3/10", "1/5"])]


def scheme_i(name, xi, q, tau, eta, probabilities=None, simulate=None, says=""):
    """Scheme (i): q i.i.d. draws proportional to p, averaged plainly; unit Hessians, tau equal steps."""
    problem = Quadratic([[[1]]] * len(xi), [[v] for v in xi], probabilities)
    p = [fraction(v) for v in problem.weights]
    xi = [fraction(v) for v in xi]
    mean = sum(a * b for a, b in zip(p, xi, strict=True))
    V = sum(a * (b - mean) ** 2 for a, b in zip(p, xi, strict=True))
    eta = fraction(eta)
    return Instance(name, problem, FedAvg(eta, tau, averaging="plain"), WithReplacement(q, [str(v) for v in p]), eta=eta, tau=tau, q=q,
                    V=V, p=p, xi=xi, s=1 - (1 - eta) ** tau, general=False, simulate=simulate, says=says)


def _scheme_i_symbolic(n, q):
    """s stands for 1 - (1 - eta)^tau: tau coded steps of size eta on a unit Hessian are one step of size s."""
    names = ["s", "eta", "z", "y", *(f"p{i}" for i in range(n - 1)), *(f"e{i}" for i in range(n))]
    field = Field(" ".join(names))
    d = dict(zip(names, field.symbols, strict=True))
    p = [d[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    xi = [d[f"e{i}"] for i in range(n)]
    problem = Quadratic([[[1]]] * n, [[v] for v in xi], p)
    mean = sum((a * b for a, b in zip(p[1:], xi[1:], strict=True)), p[0] * xi[0])
    V = sum((a * (b - mean) * (b - mean) for a, b in zip(p[1:], xi[1:], strict=True)), p[0] * (xi[0] - mean) * (xi[0] - mean))
    return Instance(f"n={n}, q={q}, general tau", problem, FedAvg(d["s"], 1, averaging="plain"), WithReplacement(q, p), domain=field,
                    eta=d["eta"], s=d["s"], z=[d["z"]] * n, e=[[v] for v in xi], y=d["y"], V=V, q=q, p=p, xi=xi, centre=[mean], general=True,
                    says="any p, xi and eta; any integer tau by induction")


sampling = [_scheme_i_symbolic(2, 1), _scheme_i_symbolic(2, 2), _scheme_i_symbolic(3, 2),
            scheme_i("three clients, q=2", [0, 1, 5], 2, 3, "1/20", ["1/2", "3/10", "1/5"],
                     simulate={"rounds": 150, "replicates": 4096, "seed": 20}, says="also by 4,096 runs"),
            scheme_i("two clients, q=3", [1, -1], 3, 10, "1/100")]


def corollary3(tau):
    """E8': unit Hessians, xi = -+1, q = 1, equal steps, T = 100 tau^3, eta = 1/(10 tau^2); started at the stationary level."""
    base = scheme_i(f"tau={tau}", [1, -1], 1, tau, Fraction(1, 10 * tau**2))
    T = 100 * tau**3
    s = base.s
    return base.but(T=T, root=Fraction(10 * tau**2), kappa2=Fraction(1), gap=s / (2 - s) / 2, tau_eff=Fraction(tau), B=tau - 1,
                    C=tau * (tau - 1), tau=tau, says=f"T = {T}, root = sqrt(q tau T) = {10 * tau**2}")


cor3 = [corollary3(t) for t in (10, 100, 1000)]


def _cor3_symbols():
    names = "root q tau tau_eff L sigma2 kappa2 gap B C"
    field = Field(names)
    return Instance("all symbols", domain=field, says="root stands for sqrt(q tau T)",
                    **dict(zip(names.split(), field.symbols, strict=True)))


cor3_symbols = _cor3_symbols()
