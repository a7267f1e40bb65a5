"""Instances for Theorem 2 and Appendix D: the true objective."""
from fractions import Fraction

import fltheory as ft
from verification.fednova.instances import plane, scalar, two_clients
from verification.fednova.instances import surrogate as I


# ---- pointwise: Lemma 3 and what follows from it ----------------------------------------------------------
def _free(n):
    """n clients whose gradients at the point are free symbols, any p and w; s >= 0 is the slack of Assumption 3."""
    names = ["beta2", "s", "c", *(f"p{i}" for i in range(n - 1)), *(f"w{i}" for i in range(n - 1)),
             *(f"g{i}" for i in range(n))]
    field = ft.Field(" ".join(names))
    d = dict(zip(names, field.symbols, strict=True))
    p, w = ([d[f"{k}{i}"] for i in range(n - 1)] for k in "pw")
    p, w = ([*v, 1 - sum(v[1:], v[0])] for v in (p, w))
    g = [d[f"g{i}"] for i in range(n)]
    problem = ft.Quadratic.from_linear([[[0]]] * n, [[-v] for v in g], p)
    mean, square = (sum((q * v for q, v in zip(w[1:], u[1:], strict=True)), w[0] * u[0])
                    for u in (g, [v * v for v in g]))
    return ft.Instance(f"n={n}, free gradients", problem, ft.GeneralRule(1, 1, w=tuple(w)), ft.Full(), domain=field,
                       x0=[0],
                       c=d["c"],
                       beta2=d["beta2"], slack=d["s"], kappa2=square - d["beta2"] * mean * mean + d["s"], general=True,
                       says="every gradient, p, w and beta^2 are symbols; coordinates add up, so every dimension")


free = [_free(2), _free(3), _free(4)]


def point(name, problem, taus, beta2, x0, c=1, algorithm=None, says=""):
    return ft.Instance(name, problem, algorithm or ft.FedAvg(Fraction(1, 10), tuple(taus)), ft.Full(), x0=x0,
                       beta2=ft.fraction(beta2), c=ft.fraction(c),
                       general=False, says=says)


# two clients with h = (1, 3), p = 1/2, w = (3/4, 1/4): beta^2 = sum w h^2 / (sum w h)^2 = 4/3, attained far away
_COMMON = scalar([1, 3], [0, 0])
pointwise = [
    point("far away", scalar([1, 3], [1, -1]), (3, 1), "7/5", [50], says="the beta^2 - 1 part dominates"),
    point("surrogate optimum", scalar([1, 1], [1, -1]), (3, 1), 1, ["1/2"], "1/100",
          says="grad F~ = 0: only chi^2 kappa^2 is left"),
    point("common minimiser", _COMMON, (3, 1), "4/3", [1], 3,
          says="kappa^2 = 0, and Young's inequality is attained at c = 3"),
    point("plane", plane(), (1, 3, 8), 4, [2, -1], "1/2"),
    point("plane, FedProx", plane(), (1, 3, 8), 4, [1, 1], 2, ft.FedAvg(Fraction(1, 10), (1, 3, 8),
                                                                        ft.Proximal(alpha="1/2"))),
]
no_weight = ft.Instance("w_1 = 0 although p_1 = 1/2", two_clients(), ft.GeneralRule(Fraction(1, 10), 1, w=(0, 1)),
                        ft.Full(),
                        x0=["1/2"],
                        beta2=Fraction(1), c=Fraction(1), general=False, says="chi^2 is infinite")


def _attained(n):
    base = _free(n)
    w = base.algorithm.w
    problem = ft.Quadratic([[[1]]] * n, [[(a - b) / b] for a, b in zip(base.p, w, strict=True)], base.p)
    return base.but(name=f"n={n}, any p and w", problem=problem, says="minimisers (p_i - w_i)/w_i")


def attained_by(taus, weights):
    """FedAvg with steps tau_i: w_i = p_i tau_i / sum p_j tau_j, minimisers placed at (p_i - w_i)/w_i."""
    p = [ft.fraction(v) for v in weights]
    total = sum(a * b for a, b in zip(p, taus, strict=True))
    xi = [total / t - 1 for t in taus]
    return point(f"FedAvg, tau={tuple(taus)}", scalar([1] * len(xi), xi, weights), taus, 1, [0],
                 says="p_i/w_i = sum p_j tau_j / tau_i")


tight = [*(_attained(n) for n in (2, 3, 4, 5)), attained_by((1, 2, 10), ["1/2", "3/10", "1/5"]),
         attained_by((9, 1), ["1/2", "1/2"])]


# ---- Theorem 2 --------------------------------------------------------------------------------------------
def with_beta(instance, beta2, name=None):
    """A Theorem 1 instance with a declared beta^2 of Assumption 3."""
    return instance.but(beta2=ft.fraction(beta2), name=name or instance.name)


def true_side(i):
    """(1/T) sum E |grad F(x_t)|^2 of the true objective: exact second moments, or the coded rounds of a smooth
    problem."""
    if isinstance(i, I.ManyKinked):
        return i.left_side()  # one objective, so F = F~
    if not isinstance(i, I.Descending):
        return i.op.mean_gradient_square(i.problem, i.rounds, i.x0)
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state, total = algorithm.init(problem, i.domain.array(fractions(i.x0))), 0
    for _ in range(i.rounds):
        g = problem.gradient(state.x)
        total = total + (g * g).sum()
        state = algorithm.round(problem, state, ft.everyone(problem.n, i.taus))
    return total / i.rounds


def fractions(values):
    import numpy as np
    return np.array([ft.fraction(v) for v in values] + [None], dtype=object)[:-1]


solvers = [with_beta(i, 4) for i in I.solvers]
terms = [with_beta(i, b) for i, b in zip(I.one_per_term, (2, 1, 3, 3, 1), strict=True)]
mismatch = with_beta(I.surrogate("mismatch dominates", two_clients(), (9, 1), "1/1000"), 1)
two_prox = with_beta(I.surrogate("FedProx, alpha=1/2", two_clients(), (9, 1), "1/100", "proximal", "1/2", rounds=50,
                                 x0=[1]), 1)
same_weights = with_beta(I.surrogate("FedProx, alpha=1, small step", scalar([1, 1], [1, -1], ["3/4", "1/4"]), (2, 3),
                                     "1/1000", "proximal", 1), 1)
kinked = with_beta(I.many_kinked, 1)
prox_alpha1 = with_beta(I.prox_alpha1, 1).but(name="prox-alpha1, T=100", rounds=100)
prox_alpha1_limit = with_beta(I.prox_alpha1_limit, 1)
too_large = with_beta(I.too_large, 6)


# ---- floors -----------------------------------------------------------------------------------------------
def floor(name, problem, taus, eta, beta2, c, solver=None, noise=0, x0=None, simulate=None, says=""):
    algorithm = ft.FedAvg(ft.fraction(eta),
                          tuple(taus)) if solver is None else ft.FedAvg(ft.fraction(eta), tuple(taus), solver)
    return ft.Instance(name, problem, algorithm, ft.Full(), noise=ft.fraction(noise), beta2=ft.fraction(beta2),
                       c=ft.fraction(c),
                       x0=x0 or [0] * problem.d,
                       simulate=simulate, general=False, floor=True, says=says)


_RUNS = {"rounds": 300, "replicates": 256, "seed": 31}
floors = [
    floor("FedAvg floor, tau=(9,1)", two_clients(), (9, 1), "1/100", 1, "1/10", noise="1/4", x0=["4/5"], simulate=_RUNS,
          says="also by 256 runs"),
    floor("FedProx floor, alpha=1/2", two_clients(), (9, 1), "1/100", 1, "1/10", ft.Proximal(alpha="1/2"), "1/4",
          ["1/3"],
          _RUNS | {"rounds": 600, "seed": 32}, "also by 256 runs"),
    floor("FedAvg floor, strong noise", two_clients(), (9, 1), "1/100", 1, "1/10", noise=10,
          says="the surrogate error matters"),
    floor("FedAvg floor, plane", plane(), (1, 3, 8), "1/100", 4, "1/2", noise="1/2",
          says="non-commuting Hessians, unequal weights"),
]


# ---- Lemma 4 ----------------------------------------------------------------------------------------------
def _lem4_general():
    field = ft.Field("eta a z0 z1 t0 t1 r0 r1 k")
    eta, a, z0, z1, t0, t1, r0, r1, k = field.symbols
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance("any tau_1, tau_2, a", problem, ft.FedAvg(eta, 1), ft.Full(), domain=field, e=[[a], [-a]], a=a,
                       z=[z0, z1],
                       t=[t0, t1], r=[r0, r1], k=k, general=True, floor=False, says="z_i = (1 - eta)^tau_i")


def _lem4_explicit(taus):
    field = ft.Field("eta a")
    eta, a = field.symbols
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance(f"tau={taus}", problem, ft.FedAvg(eta, taus), ft.Full(), domain=field, a=a,
                       t=[Fraction(t) for t in taus], general=False, floor=False,
                       says="the whole coded round, eta and a free")


lem4 = [_lem4_general(), _lem4_explicit((9, 1)), _lem4_explicit((1, 4)), *(i.but(t=[Fraction(9), Fraction(1)])
                                                                           for i in (floors[0], floors[2]))]


def constants_at(taus, a=1):
    a = ft.fraction(a)
    problem = ft.Quadratic([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance(f"tau={taus}, a={a}", problem, ft.FedAvg(Fraction(1, 10), taus), ft.Full(),
                       t=[Fraction(t) for t in taus], a=a,
                       general=False)


def _constants_symbolic():
    field = ft.Field("t0 t1 a x")
    t0, t1, a, x = field.symbols
    w = (t0 / (t0 + t1), t1 / (t0 + t1))
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[a], [-a]])
    return ft.Instance("any tau_1, tau_2, a", problem, ft.GeneralRule(1, 1, w=w), ft.Full(), domain=field, t=[t0, t1],
                       a=a, x=x,
                       w=w, general=True,
                       says="any server model x")


constants = [constants_at((9, 1)), constants_at((2, 5), "3/2")]
constants_symbolic = _constants_symbolic()


# ---- when the minimisers agree ----------------------------------------------------------------------------
def agree(name, problem, taus, solver=None, identical=False, says=""):
    algorithm = ft.FedAvg(Fraction(1, 10), tuple(taus)) if solver is None else ft.FedAvg(Fraction(1, 10), tuple(taus),
                                                                                         solver)
    alpha = None if solver is None else ft.fraction(solver.alpha)
    return ft.Instance(name, problem, algorithm, ft.Full(), alpha=alpha, identical=identical,
                       general=False, says=says)


def _agree_symbolic():
    """Two clients in the plane; b_2 is chosen such that y is stationary for the surrogate, z is any point."""
    names = "p w a1 c1 d1 a2 c2 d2 u v y0 y1 z0 z1"
    field = ft.Field(names)
    p, w, a1, c1, d1, a2, c2, d2, u, v, y0, y1, z0, z1 = field.symbols
    H, y = [[[a1, c1], [c1, d1]], [[a2, c2], [c2, d2]]], (y0, y1)
    image = [[h[j][0] * y0 + h[j][1] * y1 for j in (0, 1)] for h in H]
    b2 = [image[1][j] + w * (image[0][j] - b) / (1 - w) for j, b in enumerate((u, v))]
    problem = ft.Quadratic.from_linear(H, [[u, v], b2], [p, 1 - p])
    return ft.Instance("two clients in the plane", problem, ft.GeneralRule(1, 1, w=(w, 1 - w)), ft.Full(), domain=field,
                       y=y,
                       z=(z0, z1), H=H,
                       general=True, says="every Hessian, p, w and both points are symbols")


agree_symbolic = _agree_symbolic()
ordinary = [
    agree("ordinary", scalar([1, 2], [1, -1]), (1, 5), says="w differs from p, and so do the minimisers"),
    agree("equal steps", scalar([1, 2], [1, -1]), (4, 4), says="w = p"),
    agree("FedProx, alpha=1, unequal steps", scalar([1, 2], [1, -1]), (1, 5), ft.Proximal(alpha=1),
          says="w = p although the steps differ"),
    agree("identical clients", scalar([2, 2], [1, 1]), (1, 5), identical=True),
]
common = agree("common minimiser", scalar([1, 2], [0, 0]), (1, 5),
               says="F_i = h_i x^2/2 with h = (1, 2): objectives and weights differ")
same_sum = agree("two alike of three", scalar([1, 1, 2], [1, 1, -1], ["1/3", "1/3", "1/3"]), (1, 3, 2),
                 says="F_1 = F_2 differs from F_3, w = (1/6, 1/2, 1/3): the surrogate objective is F itself")
# p_i xi_i = (1, -2, 1) and steps (1, 2, 3): both sum p_i xi_i and sum p_i tau_i xi_i vanish
coincidence = agree("coincidence", scalar([1, 1, 1], [2, -8, 4], ["1/2", "1/4", "1/4"]), (1, 2, 3),
                    says="sum (p_i - w_i) grad F_i(x_w) = 0 by accident")
coincidence_plane = agree("plane", plane(), (1, 3, 8))

# in numbers what the others prove in symbols
ft.illustrate([
    coincidence, coincidence_plane, common, *constants, *floors, *lem4, no_weight, *ordinary, *pointwise, *tight,
])
