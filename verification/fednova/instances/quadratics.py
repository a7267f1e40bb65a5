"""Instances for Section 3 and Appendix A."""
import fltheory as ft
from fltheory.core.problems import instances as named
from verification.fednova.instances import plane


def prox_quadratic(name, problem, eta, taus, mu=0, says="", **extra):
    eta, mu = ft.fraction(eta), ft.fraction(mu)
    solver = ft.Proximal(mu=mu) if mu else ft.Vanilla()
    return ft.Instance(name, problem, ft.FedAvg(eta, tuple(taus), solver), ft.Full(), mu=mu, says=says, **extra)


def _symbolic_pair():
    """Two clients in the plane with every entry of H_i and e_i, p_1, eta and mu a symbol; steps (1, 2)."""
    k = ft.Field("eta mu p a1 b1 c1 a2 b2 c2 u1 v1 u2 v2")
    eta, mu, p, a1, b1, c1, a2, b2, c2, u1, v1, u2, v2 = k.symbols
    problem = ft.Quadratic.from_linear([[[a1, b1], [b1, c1]], [[a2, b2], [b2, c2]]], [[u1, v1], [u2, v2]], [p, 1 - p])
    return ft.Instance("all symbols, d=2, tau=(1,2)", problem, ft.FedAvg(eta, (1, 2), ft.Proximal(mu=mu)), ft.Full(),
                       domain=k, mu=mu, says="every entry of H_i and e_i, p, eta and mu are symbols")


eq26_28 = [
    _symbolic_pair(),
    prox_quadratic("plane", plane(), "1/10", (1, 3, 8), says="non-commuting Hessians, unequal weights and steps"),
    prox_quadratic("plane, prox", plane(), "1/10", (1, 3, 8), "1/2", says="the same with mu = 1/2"),
    prox_quadratic("ill-conditioned", named.ill_conditioned(), "1/1000000",
                   (2, 5, 9)[: named.ill_conditioned().n] or (2,), says="condition number 1e6"),
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
    k = ft.Field(" ".join(names))
    eta, rest = k.symbols[0], k.symbols[1:]
    e, z, t, r = (rest[j * n:(j + 1) * n] for j in range(4))
    problem = ft.Quadratic.from_linear([[[1]]] * n, [[v] for v in e])
    return ft.Instance(f"n={n}, general tau", problem, ft.FedAvg(eta, 1), ft.Full(), domain=k, e=[[v] for v in e], z=z,
                       t=t, r=r, general=True, says="unit Hessians, any e_i, any integers tau_i")


def _unit_explicit(taus):
    n = len(taus)
    k = ft.Field("eta " + " ".join(f"e{i}" for i in range(n)))
    eta, *e = k.symbols
    problem = ft.Quadratic.from_linear([[[1]]] * n, [[v] for v in e])
    return ft.Instance(f"tau={taus}", problem, ft.FedAvg(eta, taus), ft.Full(), domain=k, e=[[v] for v in e],
                       general=False, says="the whole coded round, eta and e_i free")


lem1 = [_unit_symbolic(2), _unit_symbolic(3), _unit_explicit((1, 10)), _unit_explicit((2, 3, 7))]
