"""Where FedResNaive, FedResAvg's Option I, FedAvg and FedProx rest, and how far from the optimum (Section 3.2 and derived)."""
from dataclasses import replace

import numpy as np

import fltheory as ft
from fltheory.core.mutants import residual as bugs
from verification.fedres.claims.fixed_points import SHOWN, SIZES, balanced, free_points, optimum, shown, strictly_convex
from verification.fedres.claims.round_maps import maker
from verification.fedres.formulas import round_maps as f
from verification.fedres.free import Free, array, cut, numbers, placed, read, same

COVERS = {"n": "2, 3", "d": "1, 2"}
option1 = maker(ft.FedResAvg, option=1)
sim, seq = (maker(ft.FedResNaive, order=order) for order in ("sim", "seq"))
tied = ("equal A_i", numbers(3, 2, (1, 2, 1), tie=True), "1/200", "1/30", 6, 1)


def gap(i, x):
    """|x - x*|^2 of a flat point, x* from the joint problem's own minimiser."""
    away = read(x) - i.flat(*optimum(i))
    return away.dot(away)


def rest(i):
    """(w, [theta_i]) of the coded round's own fixed point, in exact rationals."""
    point = i.op.fixed_point()
    at = dict(zip(point.names, point.state, strict=True))
    return point.x, [array([at[f"theta[{k}][{j}]"] for j in range(size)]) for k, size in enumerate(i.problem.dims)]


# ---- Option I ---------------------------------------------------------------------------------------------
def weighted(i):
    """Q_i of every client."""
    return [f.geometric(i.eta * v[0], i.K) for v in i.clients]


def schur_balanced():
    """All symbols, with sum_i Q_i grad_w L_i = 0 and grad_theta L_i = 0 at (w, theta)."""
    out = []
    for i in free_points(option1, says="blocks, the resting point, client gradients there and step sizes are symbols"):
        Q = weighted(i)
        pushes = [f.times(q, g) for q, g in zip(Q[:-1], i.cs[:-1], strict=True)]
        last = f.linalg.solve(Q[-1], -sum(pushes[1:], pushes[0]))
        out.append(placed(i, [i.w] * i.n, i.theta, [*i.cs[:-1], last]))
    return out


@ft.claim("a4i-fixed-point", needs=[strictly_convex], covers=COVERS | {"tau": "all"},
          on=[*schur_balanced(), *shown(option1, tied, ("K = 1", numbers(3, 2, (1, 2, 3)), "1/50", "1/30", 1, 1))],
          rejects=[bugs.variates_kept, bugs.personal_averaged],
          domain="a point with these equations rests, for free lambda and alpha (K = 1 to 3 in full; for every K the move of w is "
                 "that of a4-round-map); on the listed instances it is the coded round's only one, equal to the optimum for K = 1, one client or equal A_i, and another one otherwise")
def a4i_fixed_point(i):
    r"""Option I rests where $\theta_i=C_i^{-1}(b_{\theta,i}-B_i^\top w)$ and $\sum_iQ_i(S_iw-s_i)=0$,
    $Q_i=\sum_{k<K}(I-\eta A_i)^k$, whatever $\lambda$ and $\alpha$; for $K>1$ that is in general not the joint optimum, but it
    is for equal $A_i$."""
    if isinstance(i.domain, ft.Field):
        state = i.coded(i.w, i.theta)
        stated = [f.schur(v) for v in i.clients]
        pull = [f.times(q, f.times(S, i.w) - s) for q, (S, s) in zip(weighted(i), stated, strict=True)]
        return (*same(i, state, i.w, i.theta), ft.equal(sum(pull[1:], pull[0]), 0 * i.w, "the weighted Schur system"),
                *[ft.equal(f.best_personal(v, i.w), t, "personal optimum") for v, t in zip(i.clients, i.theta, strict=True)])
    point = i.flat(*f.weighted_schur(i.clients, weighted(i)))
    unbiased = i.K == 1 or i.n == 1 or all((v[0] == i.clients[0][0]).all() for v in i.clients)
    bias = gap(i, point)
    return (ft.equal(i.flat(*rest(i)), point, "coded fixed point"),
            ft.equal(bias, 0, "no bias") if unbiased else ft.at_most(0, bias, "bias", strict=True))


# ---- FedResNaive ------------------------------------------------------------------------------------------
def own_minimisers(make, **extra):
    """All symbols, with client k's minimiser (v_k, theta_k) free; the personal state is u."""
    free = free_points(make, says="blocks, state, the clients' own minimisers and step sizes are symbols", more={"u": 4}, **extra)
    return [placed(i, i.cs, i.theta, [0 * i.w] * i.n) for i in free]


def small_steps(i):
    """(0, a bound below the eigenvalues of 2 D^-1 - H_i)."""
    if isinstance(i.domain, ft.Field):
        return ft.ASSUMED
    H = [f.joined(v)[0] for v in i.clients]
    return 0, min(ft.linalg.smallest_eigenvalue_bound(2 * f.scaled(f.eye(h), i.d, 1 / i.eta, 1 / i.lam) - h) for h in H)


stable = ft.Hypothesis("stable steps", r"$\mathcal D^{1/2}H_i\mathcal D^{1/2}\prec2I$", small_steps, strict=True)


@ft.claim("a2-sim-surrogate", needs=[strictly_convex, stable], covers=COVERS | {"tau": "1 to 3"},
          on=[*own_minimisers(sim), *shown(sim, ("K = 1", numbers(3, 2, (1, 2, 3)), "1/50", "1/30", 1, 1))],
          rejects=[bugs.sequential_for_simultaneous, bugs.personal_averaged],
          domain="x+ = x - K diag(eta I, N lambda I) grad F~(x) for free x. If 0 < D^1/2 H_i D^1/2 < 2 then 0 < K D^1/2 H~_i D^1/2 = I "
                 "- (I - D^1/2 H_i D^1/2)^K < 2, so the round contracts to F~'s minimiser in the norm of diag(eta I, N lambda I)^-1; "
                 "exact fixed points on the listed instances")
def a2_sim_surrogate(i):
    r"""On strictly convex quadratics, for stable steps, simultaneous FedResNaive converges to the minimiser of
    $\widetilde F=\frac1N\sum_i\frac12(z-z_i^*)^\top\widetilde H_i(z-z_i^*)$ with the clients' own minimisers $z_i^*$ and
    $\widetilde H_i=\frac1K\mathcal D^{-1/2}[I-(I-\mathcal D^{1/2}H_i\mathcal D^{1/2})^K]\mathcal D^{-1/2}$,
    $\mathcal D={\rm diag}(\eta I,\lambda I)$; $\widetilde H_i=H_i$ for $K=1$."""
    own = [f.surrogate_hessian(v, *i.rates) for v in i.clients]
    stated = [ft.equal(M, M.T, "symmetric") for M in own]
    if i.K == 1:
        stated += [ft.equal(M, f.joined(v)[0], "K = 1: H_i itself") for M, v in zip(own, i.clients, strict=True)]
    if not isinstance(i.domain, ft.Field):
        at = i.flat(*rest(i))
        bias = gap(i, at)
        biased = ft.equal(bias, 0, "no bias") if 1 in (i.K, i.n) else ft.at_most(0, bias, "bias", strict=True)
        return *stated, ft.equal(at, f.surrogate_optimum(i.clients, *i.rates), "coded fixed point"), biased
    state = cut(i.s.u[:sum(i.problem.dims)], i.problem.dims)
    pulls = [f.times(M, np.concatenate([i.w - v, u - t])) for M, v, u, t in zip(own, i.cs, state, i.theta, strict=True)]
    step = [i.eta * i.K * f.mean([p[:i.d] for p in pulls]), *(i.lam * i.K * p[i.d:] for p in pulls)]
    return *stated, ft.equal(i.flat(i.w, state) - i.moved(i.w, state), np.concatenate(step), "x - x+ = K diag(eta, N lambda) grad F~")


@ft.claim("a2-seq-k1-bias", needs=[strictly_convex], covers=COVERS | {"tau": "1"},
          on=[*[i for i in balanced(seq) if i.K == 1], *ft.illustrate([
              Free(name, p, seq(eta, lam, 1), ft.Full(), says="exact rationals") for name, p, eta, lam, *_ in SHOWN])],
          rejects=[bugs.simultaneous_for_sequential, bugs.personal_averaged])
def a2_seq_k1_bias(i):
    return ()
