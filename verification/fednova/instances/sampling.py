"""Instances for Section 5 and Appendices F, G."""
from fractions import Fraction

import fltheory as ft
from fltheory.core.problems.base import check_weights


def _stability_symbolic(n):
    names = [
        "eta",
        "tau_eff",
        *(f"p{i}" for i in range(n - 1)),
        *(f"e{i}" for i in range(n)),
        *(f"z{i}" for i in range(n)),
        *(f"t{i}" for i in range(n)),
        "y",
        "k",
    ]
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    p = [s[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    e = [[s[f"e{i}"]] for i in range(n)]
    problem = ft.Quadratic.from_linear([[[1]]] * n, e, p)
    return ft.Instance(f"n={n}, general tau", problem, ft.FedNova(s["eta"], 1, tau_eff=s["tau_eff"]), ft.Full(),
                       domain=field, tau_eff=s["tau_eff"], e=e, z=[s[f"z{i}"] for i in range(n)],
                       t=[s[f"t{i}"] for i in range(n)], y=s["y"], k=s["k"], general=True,
                       says="unit Hessians, any weights, tau_eff and integers tau_i")


def fednova_unit(name, taus, eta, weights=None, says=""):
    n = len(taus)
    p = [ft.fraction(v) for v in check_weights(weights, n)]
    problem = ft.Quadratic([[[1]]] * n, [[i] for i in range(n)], weights)
    tau_eff = sum(q * t for q, t in zip(p, taus, strict=True))
    return ft.Instance(name, problem, ft.FedNova(ft.fraction(eta), tuple(taus), tau_eff=tau_eff), ft.Full(),
                       tau_eff=tau_eff, general=False, says=says)


stability = [
    _stability_symbolic(2),
    _stability_symbolic(3),
    fednova_unit("tau=(1,100), eta=0.069", (1, 100), "69/1000", says="just stable, where FedAvg contracts by 0.466"),
    fednova_unit("tau=(1,100), eta=0.0695", (1, 100), "695/10000", says="just unstable"),
    fednova_unit("tau=(2,3,30), unequal p", (2, 3, 30), "1/10", ["1/2", "3/10", "1/5"]),
]


def scheme_i(name, xi, q, tau, eta, probabilities=None, simulate=None, says=""):
    """Scheme (i): q i.i.d. draws proportional to p, averaged plainly; unit Hessians, tau equal steps."""
    problem = ft.Quadratic([[[1]]] * len(xi), [[v] for v in xi], probabilities)
    p = [ft.fraction(v) for v in problem.weights]
    xi = [ft.fraction(v) for v in xi]
    mean = sum(a * b for a, b in zip(p, xi, strict=True))
    V = sum(a * (b - mean) ** 2 for a, b in zip(p, xi, strict=True))
    eta = ft.fraction(eta)
    return ft.Instance(name, problem, ft.FedAvg(eta, tau, averaging="plain"),
                       ft.WithReplacement(q, [str(v) for v in p]), q=q, V=V, xi=xi, s=1 - (1 - eta) ** tau,
                       general=False, simulate=simulate, says=says)


def _scheme_i_symbolic(n, q):
    """s stands for 1 - (1 - eta)^tau: tau coded steps of size eta on a unit Hessian are one step of size s."""
    names = ["s", "eta", "z", "y", *(f"p{i}" for i in range(n - 1)), *(f"e{i}" for i in range(n))]
    field = ft.Field(" ".join(names))
    d = dict(zip(names, field.symbols, strict=True))
    p = [d[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    xi = [d[f"e{i}"] for i in range(n)]
    problem = ft.Quadratic([[[1]]] * n, [[v] for v in xi], p)
    mean = sum((a * b for a, b in zip(p[1:], xi[1:], strict=True)), p[0] * xi[0])
    V = sum((a * (b - mean) * (b - mean) for a, b in zip(p[1:], xi[1:], strict=True)),
            p[0] * (xi[0] - mean) * (xi[0] - mean))
    return ft.Instance(f"n={n}, q={q}, general tau", problem, ft.FedAvg(d["s"], 1, averaging="plain"),
                       ft.WithReplacement(q, p), domain=field, eta=d["eta"], s=d["s"], z=[d["z"]] * n,
                       e=[[v] for v in xi], y=d["y"], V=V, q=q, xi=xi, centre=[mean], general=True,
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
    return base.but(T=T, root=Fraction(10 * tau**2), kappa2=Fraction(1), gap=s / (2 - s) / 2, tau_eff=Fraction(tau),
                    B=tau - 1, C=tau * (tau - 1), says=f"T = {T}, root = sqrt(q tau T) = {10 * tau**2}")


cor3 = [corollary3(t) for t in (10, 100, 1000)]


def _cor3_symbols():
    names = "root q tau tau_eff L sigma2 kappa2 gap B C"
    field = ft.Field(names)
    return ft.Instance("all symbols", domain=field, says="root stands for sqrt(q tau T)",
                       **dict(zip(names.split(), field.symbols, strict=True)))


cor3_symbols = _cor3_symbols()

# in numbers what the others prove in symbols
ft.illustrate([*cor3, *sampling, *stability])
