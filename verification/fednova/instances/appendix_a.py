"""Instances for Section 3 and Appendix A: closed forms, random local steps, the constants of Assumption 3."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.core.elements import Symbolic
from verification.fednova.claims import quadratics
from verification.fednova.claims.quadratics import prox_quadratic
from verification.fednova.instances import SOLVERS, plane, scalar, two_clients


class Symbols:
    """Symbols("eta mu", h=3): attributes eta, mu and the list h of h0, h1, h2; `field` holds them all."""

    def __init__(self, single, **lists):
        names = [*single.split(), *(f"{k}{j}" for k, size in lists.items() for j in range(size))]
        self.field = ft.Field(" ".join(names))
        values = list(self.field.symbols)
        for name in single.split():
            setattr(self, name, values.pop(0))
        for name, size in lists.items():
            setattr(self, name, values[:size])
            values = values[size:]

    def weights(self, n):
        """p_0, .., p_{n-2} free, the last one 1 minus the others."""
        return [*self.p[:n - 1], 1 - sum(self.p[1:n - 1], self.p[0])]


def matrices(entries, n, d):
    return np.array(entries, dtype=object).reshape(n, d, d)


def symmetric(entries, n, d):
    full = matrices(entries, n, d)
    return np.array([[[h[min(j, k), max(j, k)] for k in range(d)] for j in range(d)] for h in full], dtype=object)


# ---- eqs 13-21: one client --------------------------------------------------------------------------------
def _step(d):
    s = Symbols("eta mu", h=d * d, e=d, x=d, y=d)
    problem = ft.Quadratic.from_linear(symmetric(s.h, 1, d), [s.e])
    return ft.Instance(f"all symbols, d={d}", problem, ft.FedAvg(s.eta, 1, ft.Proximal(mu=s.mu)), ft.Full(),
                       domain=s.field,
                       mu=s.mu,
                       x=s.x, y=s.y, says="every entry of H, e, the server model x and the local model y")


def _plain_step():
    base = _step(2)
    return base.but(name="mu = 0, d=2", algorithm=ft.FedAvg(base.eta, 1, ft.Vanilla()), mu=Fraction(0),
                    says="plain gradient descent")


local_steps = [_step(1), _step(2), _step(3), _plain_step()]


def scalar_clients(n):
    """Scalar clients with any h_i; z_i stands for (1 - eta mu - eta h_i)^tau_i, r_i >= 0 is free."""
    s = Symbols("eta mu x", h=n, e=n, z=n, r=n, p=n, u=n, t=n)
    p = s.weights(n)
    problem = ft.Quadratic.from_linear([[[v]] for v in s.h], [[v] for v in s.e], p)
    return ft.Instance(f"n={n}, d=1, general tau", problem, ft.FedAvg(s.eta, 1, ft.Proximal(mu=s.mu)), ft.Full(),
                       domain=s.field,
                       mu=s.mu, x=[s.x], h=s.h, e=s.e, z=s.z, r=s.r, t=s.t, u=s.u, n=n, form="scalar",
                       says="any h_i, e_i, p, eta and mu; any integers tau_i")


def _one_matrix(d):
    """One client with any H; K stands for eq 21's matrix after any number of steps, e for (H + mu I) c - mu x."""
    s = Symbols("eta mu", h=d * d, k=d * d, x=d, c=d)
    H, x, c = symmetric(s.h, 1, d)[0], np.array(s.x), np.array(s.c)
    e = (H * c).sum(-1) + s.mu * (c - x)
    problem = ft.Quadratic.from_linear([H], [e])
    return ft.Instance(f"d={d}, general tau", problem, ft.FedAvg(s.eta, 1, ft.Proximal(mu=s.mu)), ft.Full(),
                       domain=s.field,
                       mu=s.mu, H=H, e=e, x=x, centre=c, K=matrices(s.k, 1, d)[0], form="matrix",
                       says="any H, e, x, eta and mu with H + mu I invertible; any integer tau")


def _one_client(name, k, eta, tau, mu=0):
    base = plane()
    return prox_quadratic(name, ft.Quadratic.from_linear(base.H[k:k + 1], base.b[k:k + 1]), eta, (tau,), mu, form="run",
                          says="the whole coded local phase")


local_runs = [scalar_clients(2), _one_matrix(2), _one_matrix(3), _one_client("one client, tau=7", 1, "1/10", 7),
              _one_client("one client, prox, tau=4", 2, "1/5", 4, "1/2")]


# ---- eqs 23-28: the round map -----------------------------------------------------------------------------
def _round_matrices(n, d):
    """Clients whose displacements are K_i (e_i - H_i x) with free matrices K_i, as proved for every tau_i by
    eq17-21."""
    s = Symbols("eta", p=n, x=d, h=n * d * d, k=n * d * d, e=n * d)
    p, H, e = s.weights(n), symmetric(s.h, n, d), np.array(s.e, dtype=object).reshape(n, d)
    return ft.Instance(f"n={n}, d={d}, general tau", ft.Quadratic.from_linear(H, e, p), ft.FedAvg(s.eta, 1), ft.Full(),
                       domain=s.field, H=H,
                       e=e, K=matrices(s.k, n, d), x=np.array(s.x), form="matrix",
                       says="any H_i, e_i, p and any local maps K_i")


round_maps = [*(i.but(form="run") for i in quadratics.on_eq26_28[1:3]), quadratics.on_eq26_28[0].but(form="run"),
              scalar_clients(2), scalar_clients(3), _round_matrices(2, 2), _round_matrices(3, 2)]

sharp = [*(i.but(form="run") for i in quadratics.on_eq26_28[1:6]), quadratics.on_eq26_28[0].but(form="commute"),
         scalar_clients(2), scalar_clients(3),
         prox_quadratic("just inside", plane(), "79/100", (1, 3, 8), "1/2", form="run",
                        says="eta (L + mu) = 1.975, just below 2"),
         prox_quadratic("outside, converges", plane(), "21/20", (1, 1, 2), form="run",
                        says="eta L > 2 and still a contraction"),
         prox_quadratic("outside, diverges", plane(), "3/2", (1, 3, 8), form="run", says="the norm condition fails")]


# ---- eq29 -------------------------------------------------------------------------------------------------
def _unit_general(n):
    base = scalar_clients(n)
    problem = ft.Quadratic.from_linear([[[1]]] * n, [[v] for v in base.e], base.p)
    return base.but(problem=problem, general=True, says="unit Hessians, any p, e_i, eta, mu and integers tau_i")


def _unit_run(name, eta, taus, mu=0, p=None):
    problem = ft.Quadratic([[[1]]] * len(taus), [[k * k] for k in range(len(taus))], p)
    i = prox_quadratic(name, problem, eta, taus, mu, general=False, says="the whole coded round")
    return i.but(e=[[Fraction(k * k)] for k in range(len(taus))])


eq29_general = [_unit_run("prox, unequal p", "1/10", (1, 4, 9), "1/2", ["1/2", "3/10", "1/5"]),
                _unit_run("vanilla, unequal p", "1/5", (2, 6), 0, ["1/4", "3/4"]), _unit_general(2), _unit_general(3)]


# ---- lem1 under a decaying step ---------------------------------------------------------------------------
def _decaying(name, e, taus, exponent, rounds=400_000, says="", digits=None):
    """Unit Hessians, uniform p, x_0 = 0, eta_t = (1/5) (1 + t/100)^(-exponent); the round is coded once, for symbolic
    eta."""
    s = Symbols("eta")
    problem = ft.Quadratic([[[1]]] * len(taus), [[v] for v in e])
    return ft.Instance(name, problem, ft.FedAvg(s.eta, taus), ft.Full(), domain=s.field, e=[[Fraction(v)] for v in e],
                       exponent=ft.fraction(exponent), rounds=rounds, digits=digits, says=says)


decaying = [_decaying("tau=(1,10), exponent 0.7", [0, 1], (1, 10), "7/10", digits="0.9089",
                      says="400,000 rounds from x = 0"),
            _decaying("tau=(2,3,7), exponent 1/2", [0, 1, 5], (2, 3, 7), "1/2", 100_000),
            _decaying("tau=(1,10), exponent 1", [0, 1], (1, 10), 1, 100_000),
            _decaying("summable steps", [0, 1], (1, 10), 2, 1000,
                      says="the steps sum to a finite number: the run stops short"),
            _decaying("constant step", [0, 1], (1, 10), 0, 1000)]


# ---- limit of the fixed point -----------------------------------------------------------------------------
def _solver_run(solver):
    s = Symbols("eta v z k h e x r q")
    return ft.Instance(f"{solver}, general tau", ft.Quadratic.from_linear([[[s.h]]], [[s.e]]),
                       ft.FedAvg(s.eta, 1, SOLVERS[solver](s.v)), ft.Full(),
                       domain=s.field, value=s.v, z=s.z, k=s.k, h=s.h, e=s.e, x=s.x, r=s.r, q=s.q,
                       solver=solver, form="client",
                       says="one client with any h, e, x; any integer tau")


def _server_limit(n, server):
    s = Symbols("eta x", p=n, h=n, e=n, s=n, r=n)
    p = s.weights(n)
    problem = ft.Quadratic.from_linear([[[v]] for v in s.h], [[v] for v in s.e], p)
    return ft.Instance(f"{server.__name__}, n={n}, general tau", problem, server(s.eta, 1), ft.Full(), domain=s.field,
                       x=s.x,
                       h=s.h, e=s.e, s=s.s, r=s.r, fednova=server is ft.FedNova, form="server",
                       says="any norms |a_i|_1, h_i, e_i and p")


def _matrix_limit(solver, server):
    s, value, taus = Symbols("eta"), Fraction(1, 2), (1, 2, 3)
    problem = plane()
    return ft.Instance(f"{server.__name__}, {solver}, d=2", problem, server(s.eta, taus, SOLVERS[solver](value)),
                       ft.Full(),
                       domain=s.field,
                       solver=solver, value=value, fednova=server is ft.FedNova, form="run",
                       says="non-commuting Hessians, unequal p, tau=(1,2,3): the fixed point as a rational function of "
                            "eta")


limits = [*(_matrix_limit(v, server) for v in SOLVERS for server in (ft.FedAvg, ft.FedNova)),
          *(_solver_run(v) for v in SOLVERS),
          *(_server_limit(n, server) for n in (2, 3) for server in (ft.FedAvg, ft.FedNova))]


# ---- random local steps -----------------------------------------------------------------------------------
ONE_OR_NINE = (("1/2", 1), ("1/2", 9))
E3_ETAS = ("1/20", "1/100", "1/1000")


def _random_symbolic(n):
    """Step counts t_a with probability q and t_b with 1 - q; z_a, z_b stand for (1 - eta)^t; any p and xi."""
    s = Symbols("eta q a b y", p=n, u=n, e=n, z=2, r=2, t=2, g=2)
    p = s.weights(n)
    return ft.Instance(f"n={n}, general steps", ft.Quadratic.from_linear([[[1]]] * n, [[v] for v in s.e], p),
                       ft.FedAvg(s.eta, 1), ft.Full(),
                       domain=s.field, q=s.q, y=s.y, u=s.u, e=[[v] for v in s.e], z=s.z, r=s.r, t=s.t,
                       g=s.g, n=n,
                       general=True, says="unit Hessians; two step counts with any probabilities, any p, xi_i and eta")


def random_steps(name, eta, weights=None, choices=ONE_OR_NINE, xi=(0, 1, 5), server=ft.FedAvg, digits=None, says="",
                 **extra):
    """Unit Hessians, IID step counts; `digits`: the decimal that the ledger prints."""
    problem = ft.Quadratic([[[1]]] * len(xi), [[v] for v in xi], weights)
    choices = tuple((ft.fraction(q), t) for q, t in choices)
    eta = eta if isinstance(eta, Symbolic) else ft.fraction(eta)
    return ft.Instance(name, problem, server(eta), ft.Full(steps=ft.RandomSteps(choices)), choices=choices,
                       general=False,
                       xi=[ft.fraction(v) for v in xi], digits=digits, says=says,
                       **extra)


E3_FLOORS = [random_steps(f"E3, eta={eta}", eta, digits=d, says="xi = (0,1,5), one or nine steps")
             for eta, d in zip(E3_ETAS, ("0.1083", "0.0243", "0.00248"), strict=True)]
E3_FEDNOVA = [random_steps(f"E3, FedNova, eta={eta}", eta, server=ft.FedNova) for eta in E3_ETAS]
SKEWED = ["7/10", "1/5", "1/10"]
random_floors = [random_steps("unequal p, three step counts", "1/10", SKEWED, (("1/2", 1), ("1/3", 4), ("1/6", 9))),
                 *E3_FLOORS,
                 random_steps("simulated", "1/20", simulate={"rounds": 120, "replicates": 2048, "seed": 31},
                              says="also by 2,048 runs"),
                 _random_symbolic(2), _random_symbolic(3),
                 random_steps("eta = 1", 1, says="one step reaches the client's minimiser: step counts do not matter"),
                 random_steps("equal step counts", "1/10", None, (("1/2", 3), ("1/2", 3)), says="no randomness left")]
random_means = [random_steps(f"FedNova, eta={eta}", eta, SKEWED, server=ft.FedNova, fednova=True, digits=d)
                for eta, d in zip(E3_ETAS, ("0.0236", "0.00463", "0.000461"), strict=True)]
random_means += [random_steps(f"FedAvg, eta={eta}", eta, SKEWED, fednova=False) for eta in E3_ETAS]
random_means += [random_steps("FedNova, uniform p", "1/20", server=ft.FedNova, fednova=True,
                              says="no bias without skew")]


def _means_in_eta(server):
    s = Symbols("eta")
    return random_steps(f"{server.__name__}, every eta", s.eta, SKEWED, server=server, fednova=server is ft.FedNova,
                        domain=s.field,
                        says="the mean round as a rational function of eta")


random_means += [_means_in_eta(ft.FedNova), _means_in_eta(ft.FedAvg)]


# ---- Assumption 3 -----------------------------------------------------------------------------------------
def _common_hessian(n, d):
    s = Symbols("eta", h=d * d, c=n * d, p=n, x=d)
    w, H = s.weights(n), symmetric(s.h, 1, d)[0]
    xi = np.array(s.c, dtype=object).reshape(n, d)
    return ft.Instance(f"n={n}, d={d}", ft.Quadratic([H] * n, xi, w), domain=s.field, H=H, xi=xi, w=w, x=np.array(s.x),
                       says="any common H, client minimisers xi_i, weights w and point x")


common_hessian = [_common_hessian(2, 1), _common_hessian(3, 1), _common_hessian(2, 2), _common_hessian(3, 2)]


def _general_hessians(name, problem, w, beta2, says=""):
    return ft.Instance(name, problem, w=np.array([ft.fraction(v) for v in w], dtype=object), beta2=ft.fraction(beta2),
                       says=says)


general_hessians = [
    _general_hessians("plane, beta^2 = 3", plane(), ("1/2", "3/10", "1/5"), 3),
    _general_hessians("plane, other weights", plane(), ("1/10", "1/5", "7/10"), "5/2"),
    _general_hessians("two scalars", scalar([1, 3], [1, -1]), ("1/4", "3/4"), 2),
    _general_hessians("indefinite client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), ("3/4", "1/4"),
                      5),
    _general_hessians("beta^2 too small", scalar([1, 3], [1, -1]), ("1/2", "1/2"), "11/10",
                      "no finite kappa^2 at this beta^2"),
]


# ---- R1, R3, R4 -------------------------------------------------------------------------------------------
def _equal_bias(server):
    s = Symbols("eta t z a x k")
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[1], [-1]])
    return ft.Instance(f"{server.__name__}, general t", problem, server(s.eta, 1), ft.Full(), domain=s.field,
                       t=s.t,
                       z=[1 - s.eta, s.z], a=s.a, x=s.x, e=[[1], [-1]], k=s.k, fednova=server is ft.FedNova,
                       general=True,
                       says="any eta and integer t; z = (1 - eta)^t")


def _bias_pair(t, eta):
    eta = ft.fraction(eta)
    return ft.Instance(f"tau=(1,{t}), eta={eta}", two_clients(), ft.FedNova(eta, (1, t)), ft.Full(), t=t,
                       plain=ft.FedAvg(eta, (1, t)),
                       general=False, says="both coded fixed points")


equal_bias = [*(_bias_pair(9, eta) for eta in ("3233/10000", "3235/10000", "1/20", 1)), _bias_pair(4, "9/10"),
              _equal_bias(ft.FedAvg), _equal_bias(ft.FedNova)]


def _mu_explicit(taus):
    n = len(taus)
    s = Symbols("eta mu", h=n, e=n, p=n)
    p = s.weights(n)
    problem = ft.Quadratic.from_linear([[[v]] for v in s.h], [[v] for v in s.e], p)
    return ft.Instance(f"fixed mu, tau={taus}", problem, ft.FedAvg(s.eta, taus, ft.Proximal(mu=s.mu)), ft.Full(),
                       domain=s.field,
                       h=s.h, e=s.e, form="mu", says="the whole coded round: any h_i, e_i, p, eta and mu")


def _alpha_explicit(taus):
    n = len(taus)
    s = Symbols("eta a y", h=n, e=n, p=n, u=n)
    p = s.weights(n)
    problem = ft.Quadratic.from_linear([[[v]] for v in s.h], [[v] for v in s.e], p)
    return ft.Instance(f"fixed alpha, tau={taus}", problem, ft.FedAvg(s.eta, taus, ft.Proximal(alpha=s.a)), ft.Full(),
                       domain=s.field,
                       h=s.h, e=s.e, alpha=s.a, y=s.y, u=s.u, form="alpha",
                       says="the whole coded round: any h_i, e_i, p, eta and alpha")


fixed_mu = [scalar_clients(2), scalar_clients(3), _mu_explicit((1, 3)), _mu_explicit((2, 3)), _alpha_explicit((1, 3)),
            _alpha_explicit((2, 3))]

equal_steps = [
    prox_quadratic("plane, tau=5", plane(), "1/10", (5, 5, 5), kind="biased", says="equal steps, different Hessians"),
    prox_quadratic("plane, tau=5, mu=1", plane(), "1/10", (5, 5, 5), 1, kind="biased"),
    prox_quadratic("two scalars, tau=2", scalar([1, 3], [1, -1]), "1/10", (2, 2), kind="biased"),
    prox_quadratic("exact prox: tau=80, mu=1", plane(), "1/2", (80, 80, 80), 1, kind="exact prox",
                   says="after 80 steps the local problems are solved to 20 digits"),
    prox_quadratic("one step", plane(), "1/10", (1, 1, 1), kind="consistent",
                   says="without local steps there is no drift"),
    prox_quadratic("common Hessian", ft.Quadratic([[[2, 0], [0, 1]]] * 3, [[1, 0], [0, 2], [-1, -1]]), "1/10",
                   (5, 5, 5),
                   kind="consistent"),
]

# ---- eq 13 with an indefinite Hessian ---------------------------------------------------------------------
saddle = ft.Quadratic([[[1, 0], [0, "-1/2"]], [[1, 0], [0, 2]]], [[1, 1], [0, -1]], ["1/3", "2/3"])
indefinite = [prox_quadratic("one saddle", saddle, "1/10", (2, 5),
                             says="H_1 is invertible and indefinite; F is still convex"),
              prox_quadratic("one saddle, prox", saddle, "1/10", (2, 5), 1, says="H_1 + mu I is positive definite")]

# in numbers what the others prove in symbols
ft.illustrate([
    *eq29_general, *equal_bias, *limits, *local_runs, *random_floors, *round_maps, *sharp,
])
ft.illustrate([i for i in limits if i.name.endswith("d=2")], symbols=True)
