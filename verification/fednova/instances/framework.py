"""Instances for Section 4.1 and Appendix B: solvers as symbols, first-order bias."""
import fltheory as ft
from verification.fednova.instances import SOLVERS


def _momentum_symbolic():
    k = ft.Field("rho eta z y u g")
    rho, eta, z, y, u, g = k.symbols
    return ft.Instance("general tau", None, ft.FedAvg(eta, 1, ft.Momentum(rho)), ft.Full(), domain=k, rho=rho, z=z, y=y,
                       u=u, g=g, explicit=None, says="rho, eta and the gradients are symbols, z = rho^(tau - s)")


def _momentum_explicit(tau):
    k = ft.Field("rho eta x " + " ".join(f"g{j}" for j in range(tau)))
    rho, eta, x, *g = k.symbols
    return ft.Instance(f"tau={tau}", None, ft.FedAvg(eta, tau, ft.Momentum(rho)), ft.Full(), domain=k, rho=rho, x=x,
                       g=g, explicit=tau, says="every coefficient, from the coded steps")


momentum = [_momentum_symbolic(), *(_momentum_explicit(t) for t in (1, 2, 5, 8))]


def _alpha_symbolic():
    k = ft.Field("x A B a b")
    x, A, B, a, b = k.symbols
    return ft.Instance("all integers a > b >= 1", None, ft.FedAvg(1, 1, ft.Proximal(alpha=1 - x)), ft.Full(), domain=k,
                       x=x, A=A, B=B, a=a, b=b, says="x = 1 - alpha in [0, 1], A = x^a, B = x^b")


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
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    H = [[[s[f"h{i}{min(j, k)}{max(j, k)}"] for k in range(d)] for j in range(d)] for i in range(n)]
    e = [[s[f"e{i}{j}"] for j in range(d)] for i in range(n)]
    p = [s[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    problem = ft.Quadratic.from_linear(H, e, p)
    value = (s["v"], s["w"]) if solver == "momentum-proximal" else s["v"]
    local = ft.MomentumProximal(*value) if solver == "momentum-proximal" else SOLVERS[solver](value)
    algorithm = server(s["eta"], taus, local)
    return ft.Instance(
        f"{server.__name__}, {solver}, n={n}, d={d}, tau={taus}", problem, algorithm, ft.Full(), domain=field, H=H, e=e,
        x=[s[f"x{j}"] for j in range(d)], solver=solver, value=value, fednova=server is ft.FedNova,
        says="every entry of the non-commuting H_i, e_i, x, p, eta and the solver's parameter are symbols")


def _bias_client(solver, tau):
    field = ft.Field("eta v h e x")
    eta, v, h, e, x = field.symbols
    problem = ft.Quadratic.from_linear([[[h]]], [[e]])
    return ft.Instance(f"one client, {solver}, tau={tau}", problem, ft.FedAvg(eta, tau, SOLVERS[solver](v)), ft.Full(),
                       domain=field, H=[[[h]]], e=[[e]], p=[1], x=[x], solver=solver, value=v, fednova=False,
                       says="a client's change is a polynomial in its own Hessian, so the scalar case decides every d")


bias = [_bias_symbolic(s, server) for s in SOLVERS for server in (ft.FedAvg, ft.FedNova)]
bias += [_bias_symbolic("vanilla", ft.FedAvg, n=3, d=2, taus=(1, 2, 3))]
bias += [_bias_client(s, tau) for s in SOLVERS for tau in (1, 4, 8)]
momentum_proximal = _bias_symbolic("momentum-proximal", ft.FedNova)
