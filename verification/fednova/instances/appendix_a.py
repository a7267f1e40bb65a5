"""Instances for Section 3 and Appendix A: closed forms, random local steps, the constants of Assumption 3."""
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.solvers import Proximal, Vanilla
from fltheory.claims.claim import Instance
from fltheory.laws.base import RandomSteps
from fltheory.laws.memoryless import Full
from fltheory.problems.quadratic import Quadratic
from fltheory.scalars import Field, fraction
from verification.fednova.instances import SOLVERS, plane, quadratics, scalar, two_clients
from verification.fednova.instances.quadratics import prox_quadratic


def symbols(names):
    """(field, {name: symbol}); "h3" stands for h0 h1 h2."""
    flat = [n for name in names.split() for n in ([f"{name[:-1]}{k}" for k in range(int(name[-1]))] if name[-1].isdigit() else [name])]
    field = Field(" ".join(flat))
    return field, dict(zip(flat, field.symbols, strict=True))


def many(s, letter, n):
    return [s[f"{letter}{k}"] for k in range(n)]


def weights(s, n):
    """p_0, .., p_{n-2} free, the last one 1 minus the others."""
    p = many(s, "p", n - 1)
    return [*p, 1 - sum(p[1:], p[0])]


def symmetric(s, letter, d):
    return [[s[f"{letter}{min(j, k) * d + max(j, k)}"] for k in range(d)] for j in range(d)]


# ---- eqs 13-21: one client --------------------------------------------------------------------------------
def _step(d):
    field, s = symbols(f"eta mu h{d * d} e{d} x{d} y{d}")
    problem = Quadratic.from_linear([symmetric(s, "h", d)], [many(s, "e", d)])
    return Instance(f"all symbols, d={d}", problem, FedAvg(s["eta"], 1, Proximal(mu=s["mu"])), Full(), domain=field, eta=s["eta"],
                    mu=s["mu"], x=many(s, "x", d), y=many(s, "y", d), says="every entry of H, e, the server model x and the local model y")


def _plain_step():
    base = _step(2)
    return base.but(name="mu = 0, d=2", algorithm=FedAvg(base.eta, 1, Vanilla()), mu=Fraction(0), says="plain gradient descent")


local_steps = [_step(1), _step(2), _step(3), _plain_step()]


def _local_general(n):
    """Scalar clients with any h_i; z_i stands for (1 - eta mu - eta h_i)^tau_i."""
    field, s = symbols(f"eta mu x h{n} e{n} z{n} r{n} p{n} u{n} t{n}")
    h, e, p = many(s, "h", n), many(s, "e", n), weights(s, n)
    problem = Quadratic.from_linear([[[v]] for v in h], [[v] for v in e], p)
    return Instance(f"n={n}, d=1, general tau", problem, FedAvg(s["eta"], 1, Proximal(mu=s["mu"])), Full(), domain=field, eta=s["eta"],
                    mu=s["mu"], x=[s["x"]], h=h, e=e, p=p, z=many(s, "z", n), r=many(s, "r", n), t=many(s, "t", n), n=n,
                    form="scalar", says="any h_i, e_i, p, eta and mu; any integers tau_i")


def _matrix_general(d):
    """One client with any H; K stands for eq 21's matrix after any number of steps, e for (H + mu I) c - mu x."""
    field, s = symbols(f"eta mu h{d * d} k{d * d} x{d} c{d}")
    H, x, c = np.array(symmetric(s, "h", d)), np.array(many(s, "x", d)), np.array(many(s, "c", d))
    e = H @ c + s["mu"] * (c - x)
    problem = Quadratic.from_linear([H], [e])
    return Instance(f"d={d}, general tau", problem, FedAvg(s["eta"], 1, Proximal(mu=s["mu"])), Full(), domain=field, eta=s["eta"],
                    mu=s["mu"], H=H, e=e, x=x, centre=c, K=np.array(many(s, "k", d * d)).reshape(d, d), form="matrix",
                    says="any H, e, x, eta and mu (H + mu I invertible or not); any integer tau")


def _one_client(name, k, eta, tau, mu=0):
    base = plane()
    problem = Quadratic.from_linear(base.H[k:k + 1], base.b[k:k + 1])
    return prox_quadratic(name, problem, eta, (tau,), mu, form="run", says="the whole coded local phase")


local_runs = [_local_general(1), _matrix_general(2), _matrix_general(3), _one_client("one client, tau=7", 1, "1/10", 7),
              _one_client("one client, prox, tau=4", 2, "1/5", 4, "1/2")]

# ---- eqs 23-28: the round map -----------------------------------------------------------------------------


def _round_general(n, d):
    """Clients in dimension d whose displacements are K_i (e_i - H_i x) with free matrices K_i."""
    parts = " ".join(f"{v}{k}_{d * d}" for v in "hk" for k in range(n)).replace("_", "x")
    field, s = symbols(f"eta p{n} x{d} " + parts.replace("x", "_") if False else f"eta p{n} x{d} h{n * d * d} k{n * d * d} e{n * d}"
                       if n * d * d < 10 else f"eta p{n} x{d}")
    return field, s, parts


