"""Instances for Section 4.1 and Appendix B: solvers as symbols, first-order bias."""
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.fednova import FedNova
from fltheory.core.algorithms.solvers import Momentum, MomentumProximal, Proximal
from fltheory.core.laws.memoryless import Full
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import Instance
from verification.fednova.instances import SOLVERS


def _momentum_symbolic():
    k = Field("rho eta z y u g")
    rho, eta, z, y, u, g = k.symbols
    return Instance(
        "general tau",
        None,
        FedAvg(eta, 1, Momentum(rho)),
        Full(),
        domain=k,
        rho=rho,
        z=z,
        y=y,
        u=u,
        g=g,
        explicit=None,
        says="rho, eta and the gradients are symbols, z = rho^(tau - s)",
    )


def _momentum_explicit(tau):
    k = Field("rho eta x " + " ".join(f"g{j}" for j in range(tau)))
    rho, eta, x, *g = k.symbols
    return Instance(
        f"tau={tau}",
        None,
        FedAvg(eta, tau, Momentum(rho)),
        Full(),
        domain=k,
        rho=rho,
        x=x,
        g=g,
        explicit=tau,
        says="every coefficient, from the coded steps",
    )


momentum = [_momentum_symbolic(), *(_momentum_explicit(t) for t in (1, 2, 5, 8))]


def _alpha_symbolic():
    k = Field("x A B a b")
    x, A, B, a, b = k.symbols
    return Instance(
        "all integers a > b >= 1",
        None,
        FedAvg(1, 1, Proximal(alpha=1 - x)),
        Full(),
        domain=k,
        x=x,
        A=A,
        B=B,
        a=a,
        b=b,
        says="x = 1 - alpha in [0, 1], A = x^a, B = x^b",
    )


alpha_monotone = [_alpha_symbolic()]


# ---- bias -------------------------------------------------------------------------------------------------
def _bias_symbolic(solver, server, n=2, d=2, taus=(2, 3)):
    names = [
        "eta",
        "v",
        *(["w"] if solver == "momentum-proximal" else []),
        *(f"p{i}" for i in range(n - 1)),
        *(f"h{i}{j}{k}" for i in range(n) for j in range(d) for k in range(j, d)),
        *(f"e{i}{j}" for i in range(n) for j in range(d)),
        *(f"x{j}" for j in range(d)),
    ]
    field = Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    H = [[[s[f"h{i}{min(j, k)}{max(j, k)}"] for k in range(d)] for j in range(d)] for i in range(n)]
    e = [[s[f"e{i}{j}"] for j in range(d)] for i in range(n)]
    p = [s[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    problem = Quadratic.from_linear(H, e, p)
    value = (s["v"], s["w"]) if solver == "momentum-proximal" else s["v"]
    local = MomentumProximal(*value) if solver == "momentum-proximal" else SOLVERS[solver](value)
    algorithm = server(s["eta"], taus, local)
    return Instance(
        f"{server.__name__}, {solver}, n={n}, d={d}, tau={taus}",
        problem,
        algorithm,
        Full(),
        domain=field,
        H=H,
        e=e,
        x=[s[f"x{j}"] for j in range(d)],
        solver=solver,
        value=value,
        fednova=server is FedNova,
        says="every entry of the non-commuting H_i, e_i, x, p, eta and the solver's parameter are symbols",
    )


def _bias_client(solver, tau):
    field = Field("eta v h e x")
    eta, v, h, e, x = field.symbols
    problem = Quadratic.from_linear([[[h]]], [[e]])
    return Instance(
        f"one client, {solver}, tau={tau}",
        problem,
        FedAvg(eta, tau, SOLVERS[solver](v)),
        Full(),
        domain=field,
        H=[[[h]]],
        e=[[e]],
        p=[1],
        x=[x],
        solver=solver,
        value=v,
        fednova=False,
        says="a client's change is a polynomial in its own Hessian, so the scalar case decides every d",
    )


bias = [_bias_symbolic(s, server) for s in SOLVERS for server in (FedAvg, FedNova)]
bias += [_bias_symbolic("vanilla", FedAvg, n=3, d=2, taus=(1, 2, 3))]
bias += [_bias_client(s, tau) for s in SOLVERS for tau in (1, 4, 8)]
momentum_proximal = _bias_symbolic("momentum-proximal", FedNova)
