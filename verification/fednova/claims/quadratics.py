"""Section 3 and Appendix A: closed forms on quadratics."""
import numpy as np

import fltheory as ft
from fltheory.core.elements import Symbolic
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.instances import quadratics as I


def paper_map(i):
    """The paper's round map of an instance, from its declared data."""
    return f.round_map(i.problem.H, i.problem.b, i.problem.weights, i.eta, i.mu, i.taus)


def spectral_norm(i):
    """(a rational bound of ||I - sum p K H||_2, exactly checked, 1)."""
    matrix, _ = paper_map(i)
    if isinstance(matrix[0, 0], Symbolic):
        return ft.ASSUMED
    symmetric = (matrix + matrix.T) / 2
    return max(ft.linalg.largest_eigenvalue_bound(symmetric),
               -ft.linalg.smallest_eigenvalue_bound(symmetric)), ft.fraction(1)


contraction = ft.Hypothesis("contraction", r"$\|I-\sum_ip_iK_iH_i\|_2<1$", spectral_norm, strict=True)


@ft.claim(
    "eq26-28",
    on=I.eq26_28,
    needs=[contraction],
    rejects=[
        bugs.uniform_weights,
        bugs.one_step_more,
        bugs.hidden_proximal,
        bugs.proximal_missing,
        bugs.server_step_two,
        bugs.decayed_step,
        bugs.first_client_twice,
        bugs.proximal_repelling,
    ],
    domain="round map and fixed point: every symmetric H_i in the plane, every e_i, p, eta and mu, two clients with steps (1, 2); "
    "round map, fixed point and contraction factor: exactly on every listed instance, the diabetes data among them",
)
def eq26_28(i):
    r"""If $\|I-\sum_ip_iK_iH_i\|_2<1$, the server model of FedProx on quadratics converges linearly, with that factor,
    to $\tilde x=\big(\sum_ip_iK_iH_i\big)^{-1}\sum_ip_iK_ie_i$, where
    $K_i=[I-(I-\eta\mu I-\eta H_i)^{\tau_i}](H_i+\mu I)^{-1}$."""
    M, c = i.op.mean_map()
    matrix, offset = paper_map(i)
    same_map = ft.equal(M, matrix, "coded round map = eqs 23-25"), ft.equal(c, offset, "offset")
    if isinstance(matrix[0, 0], Symbolic):
        return same_map
    x = np.array([ft.fraction(v) for v in i.op.fixed_point().x], dtype=object)
    stated = ft.equal(ft.linalg.matmul(np.eye(len(x), dtype=int).astype(object) - matrix, x[:, None])[:, 0], offset,
                      "fixed point solves eq 28")
    # K_i commutes with H_i, so the map is symmetric and its norm is its spectral radius: the factor itself
    return *same_map, stated, ft.equal(matrix, matrix.T, "symmetric: the norm is the contraction factor")


@ft.claim(
    "lem1", covers={"d": "all", "tau": "all"}, on=I.lem1,
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
    gap = reached[0] - sum((e[0] for e in i.e[1:]), i.e[0][0]) / len(i.e)
    larger = gap.substitute(**{f"e{k}": 1000 * e[0] for k, e in enumerate(i.e)})
    return (unit_run(i, [i.t[0]]),                                            # a free symbol as server model
            ft.equal(ft.server_step(i, point, unit_change(i, point)(np.array(i.z))), point,
                     "coded server step fixes eq 29"),
            ft.equal(reached, f.eq30(i.e, i.t), "iterated limit"),
            ft.equal(larger, 1000 * gap, "the gap scales with e: arbitrarily large"))


def unit_change(i, x):
    """Displacements (1 - z_i)(e_i - x) of clients with unit Hessians from the server model x."""
    return lambda z: (1 - z)[:, None] * (np.array(i.e) - np.array(x))


def unit_run(i, x):
    """tau_i coded steps on unit Hessians: z_i = (1 - eta)^tau_i."""
    return ft.local_run(i, x, unit_change(i, x), i.z, 1 - i.eta, lr=i.eta)
