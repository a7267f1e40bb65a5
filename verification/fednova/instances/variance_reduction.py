"""Instances for variance reduction: Algorithm 2, SCAFFOLD and VRL-SGD."""
from fractions import Fraction

import fltheory as ft
from verification.fednova.instances import plane, scalar


def repaired(lr, taus, rho):
    return ft.FedNovaVR(lr, taus, ft.Vanilla() if rho is None else ft.Momentum(rho))


def printed(lr, taus, rho):
    return ft.FedNovaVR(lr, taus, ft.Vanilla() if rho is None else ft.Momentum(rho), variant="printed")


def scaffold(lr, taus, rho):
    return ft.Scaffold(lr, taus)


def vrlsgd(lr, taus, rho):
    return ft.VRLSGD(lr, taus)


def symbolic(make, n, d, taus, momentum=False, stationary=None, part="state", **extra):
    """Quadratics with every number a symbol; m (n, d) are symbols for the clients' memories.

    stationary: weights v_i (a function of p) for which e_n is chosen such that sum v_i (H_i x - e_i) = 0 at the symbol
    x."""
    names = ["eta", "rho", *(f"p{i}" for i in range(n - 1)), *(f"x{j}" for j in range(d)),
             *(f"h{i}{j}{k}" for i in range(n) for j in range(d) for k in range(j, d)),
             *(f"{k}{i}{j}" for k in "em" for i in range(n) for j in range(d))]
    field = ft.Field(" ".join(names))
    s = dict(zip(names, field.symbols, strict=True))
    p = [s[f"p{i}"] for i in range(n - 1)]
    p.append(1 - sum(p[1:], p[0]))
    H = [[[s[f"h{i}{min(j, k)}{max(j, k)}"] for k in range(d)] for j in range(d)] for i in range(n)]
    x = [s[f"x{j}"] for j in range(d)]
    e, m = ([[s[f"{k}{i}{j}"] for j in range(d)] for i in range(n)] for k in "em")
    if stationary is not None:
        v = stationary(p, taus)
        slopes = [[sum(H[i][j][k] * x[k] for k in range(d)) for j in range(d)] for i in range(n)]
        e[-1] = [slopes[-1][j] + sum(v[i] * (slopes[i][j] - e[i][j]) for i in range(n - 1)) / v[-1] for j in range(d)]
    problem = ft.Quadratic.from_linear(H, e, p)
    rho = s["rho"] if momentum else None
    says = "every entry of H_i, e_i, p, the model and eta a symbol" + (", rho too" if momentum else "")
    return ft.Instance(f"n={n}, d={d}, tau={taus}" + (", momentum" if momentum else "") + f" ({part})", problem,
                       make(s["eta"], taus, rho), ft.Full(), domain=field, rho=0 if rho is None else rho,
                       x=x,
                       memory=m, part=part, u=s["rho"], says=says, **extra)


def exact(name, make, problem, taus, eta, rho=None, says="", **extra):
    eta, rho = ft.fraction(eta), None if rho is None else ft.fraction(rho)
    return ft.Instance(name, problem, make(eta, tuple(taus), rho), ft.Full(),
                       rho=Fraction(0) if rho is None else rho,
                       part="exact", says=says, **extra)


def listed():
    """Erratum E6: three clients in the plane."""
    return ft.Quadratic([[[1, 0], [0, "1/2"]], [["3/10", 0], [0, 1]], [["3/5", "1/5"], ["1/5", "4/5"]]],
                        [[1, 0], [0, 2], [-1, -1]], ["1/2", "3/10", "1/5"])


def by_p(p, taus):
    return p


def by_steps(p, taus):
    return [w * t for w, t in zip(p, taus, strict=True)]


# ---- Algorithm 2 ------------------------------------------------------------------------------------------
line13 = [symbolic(printed, 2, 1, (1, 2), momentum=True, part="first round, nothing stored", stored=False),
          symbolic(printed, 2, 1, (1, 2), momentum=True, part="any later round", stored=True),
          exact("listed, second round", printed, listed(), (2, 5, 12), "1/20", x0=[1, 1], rounds=2,
                says="the stored d_i are what the first round leaves")]
raw = [symbolic(repaired, 2, 2, (1, 2), stationary=by_p), symbolic(repaired, 2, 1, (2, 3), True, stationary=by_p),
       symbolic(repaired, 3, 1, (1, 2, 3), stationary=by_p),
       symbolic(repaired, 2, 1, (1, 2), part="unique"), symbolic(repaired, 2, 1, (2, 3), part="unique"),
       symbolic(repaired, 3, 1, (1, 1, 2), part="unique"),
       exact("listed", repaired, listed(), (2, 5, 12), "1/20"),
       exact("plane", repaired, plane(), (1, 3, 4), "1/10"),
       exact("plane, momentum", repaired, plane(), (1, 3, 4), "1/20", "1/2")]
flip = [exact("listed, printed", printed, listed(), (2, 5, 12), "1/20", biased=True,
              root=("-9725/10000", "-9715/10000"),
              rate=("9715/10000", "9725/10000"), bias=("405/10000", "415/10000")),
        exact("listed, raw", repaired, listed(), (2, 5, 12), "1/20", biased=False, rate=("8445/10000", "8455/10000"))]

# ---- baselines --------------------------------------------------------------------------------------------
control = [symbolic(scaffold, 2, 2, (1, 2), stationary=by_p), symbolic(scaffold, 3, 1, (1, 2, 3), stationary=by_p),
           symbolic(scaffold, 2, 1, (3, 5), stationary=by_p),
           symbolic(scaffold, 2, 1, (1, 2), part="one round"), symbolic(scaffold, 2, 1, (3, 5), part="one round"),
           symbolic(scaffold, 3, 1, (1, 2, 3), part="one round"),
           exact("plane", scaffold, plane(), (1, 3, 8), "1/20"),
           exact("listed", scaffold, listed(), (2, 5, 12), "1/20"),
           exact("unit Hessians", scaffold, scalar([1, 1, 1], [0, 1, 5], ["1/2", "3/10", "1/5"]), (1, 4, 9), "1/10")]
own_steps = [symbolic(vrlsgd, 2, 1, (1, 2), part="conserved"), symbolic(vrlsgd, 2, 2, (2, 3), part="conserved"),
             symbolic(vrlsgd, 3, 1, (1, 2, 3), part="conserved"), symbolic(vrlsgd, 2, 2, (1, 2), stationary=by_steps),
             symbolic(vrlsgd, 3, 1, (1, 2, 3), stationary=by_steps), symbolic(vrlsgd, 2, 1, (2, 3), part="unique"),
             symbolic(vrlsgd, 3, 1, (1, 1, 2), part="unique"),
             exact("plane", vrlsgd, plane(), (1, 3, 8), "1/50"), exact("listed", vrlsgd, listed(), (2, 5, 12), "1/20"),
             exact("unit Hessians, equal weights", vrlsgd, scalar([1, 1, 1], [0, 1, 5]), (1, 4, 9), "1/10"),
             exact("too large a step", vrlsgd, plane(), (1, 3, 8), "3/2")]


def mean_steps(lr, taus, rho):
    return ft.VRLSGD(lr, taus, divisor="mean")


mean_divisor = [exact("listed: diverges", mean_steps, scalar([1, 1, 1], [0, 1, 5], ["9/10", "1/20", "1/20"]),
                      (1, 1, 40), "1/200",
                      rate=("1477/1000", "1479/1000")),
                exact("equal weights: converges", mean_steps, scalar([1, 1, 1], [0, 1, 5]), (1, 2, 4), "1/20",
                      rate=("918/1000", "919/1000"))]

# in numbers what the others prove in symbols
ft.illustrate([*control, *own_steps, *raw])
