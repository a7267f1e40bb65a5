"""Instances for Section 4.1 and Appendix B: local solvers, surrogate weights, chi-square."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import solvers as fs
from verification.fednova.instances import SOLVERS


def local(solver, longest=8, says="any number of steps; all coefficients up to 8 steps"):
    """One client's coded solver with its parameter v, step eta and gradients as symbols; z and q are powers."""
    field = ft.Field("eta v x y d u g z q k")
    s = dict(zip(field.names, field.symbols, strict=True))
    return ft.Instance(solver, None, ft.FedAvg(s["eta"], 1, SOLVERS[solver](s["v"])), ft.Full(), domain=field,
                       solver=solver,
                       value=s["v"], longest=longest, above=False, s=s, says=says)


prefixes = [local(s) for s in SOLVERS]
decay = [local("decay")]
proximal = [local("proximal"),
            ft.Instance("listed gradients", None, ft.FedAvg(Q(1, 10), 4, SOLVERS["proximal"](Q(1, 5))), ft.Full(),
                        value=Q(1, 5), x=Q(3), gradients=(Q(2), Q(-1, 3), Q(5), Q(1, 7)),
                        says="numbers, on which a local step need not be affine to be compared")]
above_one = local("proximal", says="alpha = 1 + v above 1: entries alternate in sign")
norms = [*prefixes, above_one.but(name="proximal, alpha above 1", above=True)]


def linear_losses(n, p):
    """f_i(x) = x_i: the coded round moves coordinate i by -eta tau_eff w_i, noise by v_i |a_i|_2."""
    return ft.Quadratic.from_linear(np.zeros((n, n, n), dtype=object), -np.eye(n, dtype=int).astype(object), p)


def symbols(n, uniform=False, more="", own=False):
    """A field with eta, v, x, k, and per client p_i (summing to 1), s_i, z_i, t_i, r_i (and v_i with `own`)."""
    field = ft.Field(" ".join(["eta v x z k root", *(f"{name}{i}" for name in "sztrv"[:4 + own] for i in range(n)),
                               *([] if uniform else [f"p{i}" for i in range(n - 1)]), more]))
    s = dict(zip(field.names, field.symbols, strict=True))
    one = s["eta"] * 0 + 1
    p = [one / n] * n if uniform else [s[f"p{i}"] for i in range(n - 1)]
    if not uniform:
        p.append(1 - sum(p[1:], p[0]))
    return field, s, p


def general(solver, n, server=ft.FedAvg, uniform=False, own=False, more="", **extra):
    """Any numbers of local steps: z_i stands for r^tau_i, t_i for tau_i; s1 = |a_i|_1 and s2 = |a_i|_2^2.

    solver None: any solver at all, s_i free. own: every client has its own parameter v_i."""
    field, s, p = symbols(n, uniform, more, own)
    pick = lambda name: [s[f"{name}{i}"] for i in range(n)]  # noqa: E731
    values = pick("v") if own else [s["v"]] * n
    algorithm = server(s["eta"], 1, SOLVERS[solver or "vanilla"](s["v"]))
    z, t, free = pick("z"), pick("t"), pick("s")
    s1 = free if solver is None else [fs.norm1(solver, v, k, w) for v, k, w in zip(values, t, z, strict=True)]
    s2 = None if solver is None else [fs.norm2(solver, v, k, w) for v, k, w in zip(values, t, z, strict=True)]
    return ft.Instance(f"n={n}, general tau" + (", uniform p" if uniform else ""), linear_losses(n, p), algorithm,
                       ft.Full(),
                       domain=field, solver=solver, value=s["v"], values=values, z=z, t=t, r=pick("r"),
                       s1=s1, s2=s2, s=s, taus=None,
                       says="every p, parameter and number of steps" if solver else "every p and every 1-norm", **extra)


def whole(solver, taus, server=ft.FedAvg, uniform=False, value=None, more="", noise=1, **extra):
    """The whole coded round on linear losses; p and the solver's parameter are symbols."""
    n = len(taus)
    field, s, p = symbols(n, uniform, more)
    v = s["v"] if value is None else s["v"] * 0 + value
    return ft.Instance(f"{solver}, tau={taus}" + (", uniform p" if uniform else ""), linear_losses(n, p),
                       server(s["eta"], tuple(taus), SOLVERS[solver](v)), ft.Full(), noise=noise, domain=field,
                       solver=solver, value=v, values=[v] * n,
                       t=[v * 0 + t for t in taus], s=s,
                       z=[fs.ratio(solver, v) ** t for t in taus], says="the whole coded round on linear losses",
                       **extra)


# ---- eqs 5-6 ----------------------------------------------------------------------------------------------
def _any_round(n, d=2):
    """Whatever the clients did: changes (n, d) and masses eta |a_i|_1 are free symbols, fed to the coded servers."""
    changes = [f"c{i}{j}" for i in range(n) for j in range(d)]
    base = general(None, n, more=" ".join(changes + [f"x{j}" for j in range(d)]))
    s = base.s
    tau_eff, w = f.plain_averaging(base.p, base.s1)
    change = np.array([[s[f"c{i}{j}"] for j in range(d)] for i in range(n)])
    return base.but(name=f"n={n}, any solvers", rule=ft.GeneralRule(base.eta, 1, tau_eff=tau_eff, w=tuple(w)),
                    change=change, x=[s[f"x{j}"] for j in range(d)], mass=np.array([[base.eta * v] for v in base.s1]),
                    says="any local changes and 1-norms: every solver, loss, noise and number of steps, mixed solvers "
                         "too")


def _coded_round(solver, taus=(2, 3)):
    """A whole coded round on two symbolic quadratics."""
    field = ft.Field("eta v p h0 h1 e0 e1")
    eta, v, p, h0, h1, e0, e1 = field.symbols
    tau_eff, w = f.plain_averaging([p, 1 - p], [f.norm1(f.a_vector(solver, t, v)) for t in taus])
    local_solver = SOLVERS[solver](v)
    return ft.Instance(f"{solver}, tau={taus}", ft.Quadratic.from_linear([[[h0]], [[h1]]], [[e0], [e1]], [p, 1 - p]),
                       ft.FedAvg(eta, taus, local_solver), ft.Full(), domain=field,
                       rule=ft.GeneralRule(eta, taus, local_solver, tau_eff=tau_eff, w=tuple(w)),
                       says="coded rounds of both algorithms on quadratics, every symbol free")


eq5_6 = [*(_any_round(n) for n in (2, 3, 4)), *(_coded_round(s) for s in SOLVERS)]
eq7 = [general("proximal", 2), general("proximal", 3), whole("proximal", (1, 3, 5), noise=0)]
remark_decay = [general("decay", 2, own=True), general("decay", 3, own=True), whole("decay", (1, 3, 5), noise=0)]
chi2 = [*(general(None, n) for n in (2, 3)), whole("vanilla", (1, 3, 8), noise=0), whole("momentum", (1, 3), noise=0)]
alpha1 = [whole("proximal", (1, 3, 5), noise=0, value=1, more="tau")]


def _reversal(taus):
    base = whole("proximal", taus, noise=0)
    return base.but(name=f"tau={taus}", other=ft.FedAvg(base.eta, tuple(taus), ft.Decay(1 - base.value)))


reversal = [_reversal(t) for t in ((1, 4), (2, 8), (3, 6), (5, 7))]


def _plain(name, solver, value, taus, p, says):
    base = whole(solver, taus, noise=0, value=value)
    return base.but(name=name, p=[base.eta * 0 + v for v in p], problem=linear_losses(len(taus), p), exact=True,
                    says=says)


def _w_iff():
    p = [Q(1, 2), Q(1, 3), Q(1, 6)]
    return [*(general(None, n, exact=False) for n in (2, 3)),
            _plain("equal steps", "momentum", Q(1, 2), (3, 3, 3), p, "one 1-norm, so w = p"),
            _plain("unequal steps", "vanilla", None, (1, 2, 3), p, "three 1-norms"),
            _plain("alpha = 1", "proximal", Q(1), (1, 2, 3), p, "unequal steps, one 1-norm: w = p all the same"),
            _plain("alpha = 1/2", "proximal", Q(1, 2), (1, 2, 3), p, "three 1-norms"),
            _plain("an absent client", "vanilla", None, (2, 2, 3), [Q(2, 3), Q(1, 3), Q(0)],
                   "the client with another 1-norm has p_i = 0")]


w_iff = _w_iff()

# in numbers what the others prove in symbols
ft.illustrate([*proximal])
