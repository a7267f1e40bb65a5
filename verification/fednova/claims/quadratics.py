"""Section 3 and Appendix A: closed forms on quadratics."""
import numpy as np
import sympy

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.instances import NAMED, Local, Symbols, free_clients, plane


def paper_map(i):
    """The paper's round map of an instance, from its declared data."""
    return f.round_map(i.problem.H, i.problem.b, i.problem.weights, i.eta, i.mu, i.taus)


def spectral_norm(i):
    """(a rational bound of ||I - sum p K H||_2, exactly checked, 1)."""
    matrix, _ = paper_map(i)
    if isinstance(i.domain, ft.Field):
        return ft.ASSUMED
    symmetric = (matrix + matrix.T) / 2
    return max(ft.linalg.largest_eigenvalue_bound(symmetric),
               -ft.linalg.smallest_eigenvalue_bound(symmetric)), ft.fraction(1)


contraction = ft.Hypothesis("contraction", r"$\|I-\sum_ip_iK_iH_i\|_2<1$", spectral_norm, strict=True)


def unit_change(i, x):
    """Displacements (1 - z_i)(e_i - x) of clients with unit Hessians from the server model x."""
    return lambda z: (1 - z)[:, None] * (np.array(i.e) - np.array(x))


def unit_run(i, x):
    """tau_i coded steps on unit Hessians: z_i = (1 - eta)^tau_i."""
    return ft.local_run(i, x, unit_change(i, x), i.z, 1 - i.eta, lr=i.eta)


def prox_quadratic(name, problem, eta, taus, mu=0, says="", **extra):
    solver = ft.Proximal(mu=ft.fraction(mu)) if mu else ft.Vanilla()
    return Local(name, problem, ft.FedAvg(ft.fraction(eta), tuple(taus), solver), ft.Full(), says=says, **extra)


def _symbolic_pair():
    """Two clients in the plane with every entry of H_i and e_i, p_1, eta and mu a symbol; steps (1, 2)."""
    s = Symbols("eta mu", h=8, e=4, p=1)
    return Local("all symbols, d=2, tau=(1,2)", free_clients(s, 2, 2), ft.FedAvg(s.eta, (1, 2), ft.Proximal(mu=s.mu)),
                 ft.Full(), domain=s.field, says="every entry of H_i and e_i, p, eta and mu are symbols")


on_eq26_28 = [
    _symbolic_pair(),
    prox_quadratic("plane", plane(), "1/10", (1, 3, 8), says="non-commuting Hessians, unequal weights and steps"),
    prox_quadratic("plane, prox", plane(), "1/10", (1, 3, 8), "1/2", says="the same with mu = 1/2"),
    *(prox_quadratic(name, NAMED[name], eta, taus, says=says) for name, eta, taus, says in (
        ("ill-conditioned", "1/1000000", (2, 5), "condition number 1e6"),
        ("skewed weights", "1/20", (1, 2, 3), "weights from 1e-4 to almost 1"),
        ("diabetes by age", "1/20", (1, 2, 3, 4, 5), "ridge regression on the diabetes data, clients are age bands"))),
    prox_quadratic("too large a step", plane(), "3/2", (1, 3, 8), says="the round map is no contraction"),
]


@ft.claim(
    "eq26-28",
    on=on_eq26_28, needs=[contraction],
    rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.hidden_proximal, bugs.proximal_missing, bugs.server_step_two,
             bugs.decayed_step, bugs.first_client_twice, bugs.proximal_repelling],
    domain="round map and fixed point: every symmetric H_i in the plane, every e_i, p, eta and mu, two clients with steps "
           "(1, 2); round map, fixed point and contraction factor: exactly on every listed instance, the diabetes data "
           "among them")
def eq26_28(i):
    r"""If $\|I-\sum_ip_iK_iH_i\|_2<1$, the server model of FedProx on quadratics converges linearly, with that factor,
    to $\tilde x=\big(\sum_ip_iK_iH_i\big)^{-1}\sum_ip_iK_ie_i$, where
    $K_i=[I-(I-\eta\mu I-\eta H_i)^{\tau_i}](H_i+\mu I)^{-1}$."""
    M, c = i.op.mean_map()
    matrix, offset = paper_map(i)
    same_map = ft.equal(M, matrix, "coded round map = eqs 23-25"), ft.equal(c, offset, "offset")
    if isinstance(i.domain, ft.Field):
        return same_map
    x = np.array([ft.fraction(v) for v in i.op.fixed_point().x], dtype=object)
    stated = ft.equal(ft.linalg.matmul(np.eye(len(x), dtype=int).astype(object) - matrix, x[:, None])[:, 0], offset,
                      "fixed point solves eq 28")
    # K_i commutes with H_i, so the map is symmetric and its norm is its spectral radius: the factor itself
    return *same_map, stated, ft.equal(matrix, matrix.T, "symmetric: the norm is the contraction factor")


# ---- lem1 -------------------------------------------------------------------------------------------------
def _unit_symbolic(n):
    """Unit Hessians, uniform p, e_i free; z_i stands for (1 - eta)^tau_i, so tau_i is any integer."""
    s = Symbols("eta", e=n, z=n, t=n, r=n)
    e = [[v] for v in s.e]
    return Local(f"n={n}, general tau", ft.Quadratic.from_linear([[[1]]] * n, e), ft.FedAvg(s.eta, 1), ft.Full(),
                       domain=s.field, e=e, general=True, **s.these("z t r"), says="unit Hessians, any e_i, any integers tau_i")


def _unit_explicit(taus):
    s = Symbols("eta", e=len(taus))
    e = [[v] for v in s.e]
    return Local(f"tau={taus}", ft.Quadratic.from_linear([[[1]]] * len(taus), e), ft.FedAvg(s.eta, taus), ft.Full(),
                       domain=s.field, e=e, general=False, says="the whole coded round, eta and e_i free")


on_lem1 = [_unit_symbolic(2), _unit_symbolic(3), _unit_explicit((1, 10)), _unit_explicit((2, 3, 7))]


@ft.claim(
    "lem1", covers={"d": "all", "tau": "all"}, on=on_lem1,
    rejects=[bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step],
    domain="n = 2 and 3 clients in one dimension (unit Hessians act on each coordinate separately), every e_i, every "
           "integer tau_i by induction on the coded local step; the whole coded round for tau = (1,10) and (2,3,7)")
def lem1(i):
    r"""$F_i(x)=\frac12\|x-e_i\|^2$ and $p_i=1/m$:
    $\displaystyle\lim_{\eta\to0}\lim_{T\to\infty}x^{(T,0)}=\frac{\sum_i\tau_ie_i}{\sum_i\tau_i}$, the minimiser of
    $\sum_i\tau_iF_i/\sum_i\tau_i$, arbitrarily far from the minimiser $\frac1m\sum_ie_i$ of $F$."""
    if not i.general:
        return ft.equal(ft.limit(i.op.fixed_point().x, "eta"), f.eq30(i.e, i.taus), "limit of the coded fixed point")
    point = f.eq29(i.e, i.z)
    # (1 - eta)^tau = 1 - tau eta + eta^2 r with r finite as eta -> 0 (binomial theorem): z_i as jets
    jets = [1 - t * i.eta + i.eta * i.eta * r for t, r in zip(i.t, i.r, strict=True)]
    reached = ft.limit(f.eq29(i.e, jets), "eta")
    gap = reached[0] - sum(e[0] for e in i.e) / len(i.e)
    larger = gap.substitute(**{f"e{k}": 1000 * e[0] for k, e in enumerate(i.e)})
    return (unit_run(i, [i.t[0]]),  # a free symbol as server model
            ft.equal(ft.server_step(i, point, unit_change(i, point)(np.array(i.z))), point,
                     "coded server step fixes eq 29"),
            ft.equal(reached, f.eq30(i.e, i.t), "iterated limit"),
            ft.equal(larger, 1000 * gap, "the gap scales with e: arbitrarily large"))


def _no_root():
    """Eq (29) minus eq (30) as a polynomial in eta has no zero in (0, 1) for steps (1, 10): decided by Sturm's theorem."""
    eta = sympy.Symbol("eta")
    e, taus = [[sympy.Integer(0)], [sympy.Integer(1)]], (sympy.Integer(1), sympy.Integer(10))
    shrink = [(1 - eta) ** t for t in taus]
    gap = sympy.cancel(sympy.together(f.eq29(e, shrink)[0] - f.eq30(e, taus)[0]))
    numerator = sympy.Poly(sympy.numer(gap), eta)
    while numerator.eval(0) == 0:  # the zero at eta = 0 is the lemma's own limit
        numerator = sympy.Poly(sympy.quo(numerator, sympy.Poly(eta, eta)), eta)
    roots = numerator.count_roots(0, 1)
    value = ft.fraction(str(gap.subs(eta, sympy.Rational(1, 20))))
    coded = prox_quadratic("e2", ft.Quadratic([[[1]], [[1]]], [[0], [1]]), "1/20", (1, 10)).op.fixed_point().x[0]
    return (ft.equal(int(roots), 0, "zeros of (29) - (30) for eta in (0, 1), steps (1, 10) (Sturm)"),
            ft.at_most(value, 0, "at eta = 1/20 the limit lies below 10/11", strict=True),
            ft.equal(coded, value + ft.fraction("10/11"), "and it is where the coded round converges"))


ft.finding(
    "e2", kind="remark", breaks="lem1", check=_no_root,
    reading="'Sufficiently small eta' read as: for some fixed eta > 0. The appendix itself states the iterated limit.",
    survives="As the iterated limit (first T, then eta) the lemma is proved: lem1.")
