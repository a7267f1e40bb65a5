"""Where FedResNaive, FedResAvg's Option I, FedAvg and FedProx rest, and how far from the optimum (Section 3.2 and derived)."""
from dataclasses import replace

import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.claims.fixed_points import (
    SHOWN,
    SINGULAR,
    balanced,
    free_points,
    optimum,
    shown,
    strictly_convex,
)
from verification.fedres.claims.round_maps import maker
from verification.fedres.formulas import round_maps as f
from verification.fedres.free import Free, array, cut, numbers, placed, read, same, symmetric
from verification.symbols import Symbols

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
                 "that of a4-round-map); on the listed instances it is the coded round's only one, equal to the optimum for K = 1, "
                 "one client or equal A_i, and another one otherwise")
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


def least_client_curvature(i):
    """(0, a bound below the eigenvalues of the H_i)."""
    if isinstance(i.domain, ft.Field):
        return ft.ASSUMED
    return 0, min(ft.linalg.smallest_eigenvalue_bound(f.joined(v)[0]) for v in i.clients)


convex_clients = ft.Hypothesis("strictly convex clients", r"$H_i\succ0$", least_client_curvature, strict=True)
stable = ft.Hypothesis("stable steps", r"$\mathcal D^{1/2}H_i\mathcal D^{1/2}\prec2I$", small_steps, strict=True)


@ft.claim("a2-sim-surrogate", needs=[convex_clients, stable], covers=COVERS | {"tau": "all"},
          on=[*own_minimisers(sim), *shown(sim, ("K = 1", numbers(3, 2, (1, 2, 3)), "1/50", "1/30", 1, 1), SINGULAR[0])],
          rejects=[bugs.sequential_for_simultaneous, bugs.personal_averaged],
          domain="x+ = x - K diag(eta I, N lambda I) grad F~(x) for free x (K = 1 to 3 in full; for every K by a2-round-map, as "
                 "I - (I - D H)^K = sum_{k<K} (I - D H)^k D H). If 0 < D^1/2 H_i D^1/2 < 2 then 0 < K D^1/2 H~_i D^1/2 = I "
                 "- (I - D^1/2 H_i D^1/2)^K < 2, so the round contracts to F~'s minimiser in the norm of diag(eta I, N lambda "
                 "I)^-1; exact fixed points on the listed instances")
def a2_sim_surrogate(i):
    r"""On strictly convex quadratic clients, for stable steps, simultaneous FedResNaive converges to the minimiser of
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
    change = i.flat(i.w, state) - i.moved(i.w, state)
    return *stated, ft.equal(change, np.concatenate(step), "x - x+ = K diag(eta I, N lambda I) grad F~")


@ft.claim("a2-seq-k1-bias", needs=[strictly_convex], covers=COVERS | {"tau": "1"},
          on=[*balanced(seq, 1), *ft.illustrate([
              Free(name, p, seq(eta, lam, 1), ft.Full(), says="exact rationals") for name, p, eta, lam, *_ in SHOWN])],
          rejects=[bugs.simultaneous_for_sequential, bugs.personal_averaged],
          domain="from the optimum, and from any state, the coded round moves as stated: blocks, optimum, client gradients and "
                 "step sizes are symbols; exact fixed points on the listed instances")
def a2_seq_k1_bias(i):
    r"""Sequential FedResNaive with $K=1$ rests where $\frac1N\sum_i\nabla_wL_i(w,\theta_i)=0$ and
    $\nabla_\theta L_i(w-\eta\nabla_wL_i(w,\theta_i),\theta_i)=0$; from the joint optimum it moves $\theta_i$ by
    $\lambda\eta B_i^\top\nabla_wL_i(x^*)$ and $w$ not at all: biased unless these vanish."""
    def moves(w, thetas):
        g = [f.gradients(v, w, t)[0] for v, t in zip(i.clients, thetas, strict=True)]
        own = [f.gradients(v, w - i.eta * a, t)[1] for v, t, a in zip(i.clients, thetas, g, strict=True)]
        return g, i.flat(-i.eta * f.mean(g), [-i.lam * h for h in own])
    if isinstance(i.domain, ft.Field):
        other = [t + i.c[0] for t in i.theta]
        push = i.flat(0 * i.w, [i.lam * i.eta * f.times(v[1].T, g) for v, g in zip(i.clients, i.g, strict=True)])
        return (ft.equal(i.moved(i.w, i.theta) - i.flat(i.w, i.theta), push, "from the optimum"),
                ft.equal(i.moved(i.c, other) - i.flat(i.c, other), moves(i.c, other)[1], "from any state"))
    at, best = rest(i), optimum(i)
    push = [f.times(v[1].T, g) for v, g in zip(i.clients, moves(*best)[0], strict=True)]
    bias = gap(i, i.flat(*at))
    return (ft.equal(moves(*at)[1], 0 * i.flat(*at), "the coded fixed point solves both equations"),
            ft.equivalent((bias > 0, (0, bias)), (any(v.any() for v in push), (0, sum(v.dot(v) for v in push))), "biased if moved"))


# ---- FedAvg and FedProx -----------------------------------------------------------------------------------
def averaged(d, n, K, make):
    """Clients (H_i, b_i) in symbols with sum_i Q_i (H_i w - b_i) = 0 at w; make: (symbols, K) -> (algorithm, its mu or 0)."""
    s = Symbols("eta mu", h=n * d * (d + 1) // 2, g=n * d, w=d)
    H = [symmetric(v, d) for v in cut(s.h, [d * (d + 1) // 2] * n)]
    algorithm, mu = make(s, K)
    Q = proximal_sums(H, s.eta, mu, K)
    g, w = cut(s.g, [d] * n), array(s.w)
    pushes = [f.times(q, v) for q, v in zip(Q[:-1], g[:-1], strict=True)]
    g[-1] = f.linalg.solve(Q[-1], -sum(pushes[1:], pushes[0]))
    b = np.array([list(f.times(h, w) - v) for h, v in zip(H, g, strict=True)], dtype=object)
    problem = ft.Quadratic.from_linear(np.array(H), b)
    return ft.Instance(f"{type(algorithm).__name__}, {n} clients, d={d}, K={K}", problem, algorithm, ft.Full(), domain=s.field,
                       w=w, mu_of=mu, K=K,
                       says="Hessians, the resting point and the client gradients there are symbols")


def proximal_sums(H, eta, mu, K):
    """Q_i = sum_{k<K} (I - eta (H_i + mu I))^k."""
    return [f.geometric(eta * (h + mu * f.eye(h)), K) for h in H]


def with_prox(s, K):
    return ft.LocalProx(s.eta, K, mu=s.mu), s.mu


def without(s, K):
    return ft.FedAvg(s.eta, K), 0


def quadratic(name, n, d, eta, K, mu=None, scale=1):
    problem = numbers(n, d, (1,) * n, scale).shared()
    algorithm = ft.FedAvg(eta, K) if mu is None else ft.LocalProx(eta, K, mu=mu)
    return ft.Instance(name, problem, algorithm, ft.Full(), mu_of=ft.fraction(mu or 0), K=K, says="exact rationals")


on_averaging = [averaged(d, n, K, make) for make in (without, with_prox) for d, n, K in ((1, 2, 3), (2, 2, 2), (1, 3, 2))]
on_averaging += ft.illustrate([
    quadratic("FedAvg", 3, 2, "1/20", 5), quadratic("FedAvg, 100 steps", 2, 2, "1/20", 100),
    quadratic("FedAvg, condition 1e8", 3, 2, "1/10", 4, scale=10**4), quadratic("FedProx", 3, 2, "1/20", 5, "1/2"),
    quadratic("FedProx, one client", 1, 2, "1/10", 7, 2), quadratic("FedProx, five clients", 5, 3, "1/25", 10, 1)])


@ft.claim("fedprox-fixed-point", on=on_averaging, covers={"n": "2, 3", "d": "1, 2", "tau": "2, 3"},
          rejects=[bugs.one_step_more, bugs.local_prox_missing, bugs.local_prox_halved, bugs.own_copy_goes_on],
          domain="a point with this equation rests, and the local copies there are as stated: Hessians, client gradients, eta and "
                 "mu are symbols; it is the coded round's fixed point on the listed instances")
def fedprox_fixed_point(i):
    r"""FedAvg rests where $\sum_iQ_i(H_iw-b_i)=0$, $Q_i=\sum_{k<K}(I-\eta H_i)^k$; the FedProx variant (Eq 14) where the same holds
    with $Q_i=\sum_{k<K}(I-\eta(H_i+\mu I))^k$, and there its clients predict with $w_i=w-\eta Q_i(H_iw-b_i)$."""
    problem, algorithm, stated = i.problem.to(i.domain), i.algorithm.to(i.domain), i.stated.problem
    H, b = [read(v) for v in stated.H], [read(v) for v in stated.b]
    Q = proximal_sums(H, i.eta, i.mu_of, i.K)
    at = i.w if "w" in i.extra else f.averaging_point(H, b, Q)
    state = algorithm.round(problem, algorithm.init(problem, i.domain.array(at)), ft.everyone(i.n, algorithm.steps))
    found = [ft.equal(state.x, at, "w rests")]
    if hasattr(state, "own"):
        own = [at - i.eta * f.times(q, f.times(h, at) - v) for q, h, v in zip(Q, H, b, strict=True)]
        found.append(ft.equal(state.own, np.array([list(v) for v in own], dtype=object), "local copies"))
    return found if isinstance(i.domain, ft.Field) else [*found, ft.equal(i.op.fixed_point().x, at, "coded fixed point")]


# ---- how far from the optimum -----------------------------------------------------------------------------
generic, small = numbers(3, 1, (1, 2, 1)), "1/100000"
sums_to_zero = ft.Quadratic([[[1]], [[2]], [[3]]], [[-1], [1], ["-1/3"]], name="curvatures 1, 2, 3; gradients 1, -2, 1 at 0")
on_orders = [Free(f"{name}, K={K}", generic, make("1/100000", "1/50000", K), ft.Full(), order=1, says="halved three times")
             for name, make, K in (("sim", sim, 3), ("seq", seq, 1), ("seq", seq, 3), ("Option I", option1, 2),
                                   ("Option I", option1, 8))]
on_orders += [ft.Instance(f"FedAvg, K={K}{says}", problem, ft.FedAvg(small, K), ft.Full(), order=order, says="halved three times")
              for says, problem, K, order in (("", generic.shared(), 3, 1), (", symmetric", sums_to_zero, 3, 2),
                                              (", symmetric", sums_to_zero, 2, None))]


def biases(i):
    """(|x - x*|^2, F(x) - F*) of the coded fixed point, for the step sizes of the instance and three halvings."""
    target = i.problem.joint() if i.problem.personal else i.problem
    best, exact = ft.optimum(target), target.to(ft.RATIONAL)
    rates = [name for name in ("lr", "personal_lr") if hasattr(i.algorithm, name)]
    for k in range(4):
        steps = {name: ft.fraction(getattr(i.algorithm, name)) / 2**k for name in rates}
        now = i.but(algorithm=replace(i.algorithm, **steps))
        x = now.flat(*rest(now)) if i.problem.personal else read(now.op.fixed_point().x)
        away = x - read(best.x)
        yield away.dot(away), ft.fraction(exact.value(ft.RATIONAL.array(x))) - ft.fraction(best.value)


@ft.claim("bias-orders", on=on_orders, rejects=[bugs.personal_averaged, bugs.variates_kept])
def bias_orders(i):
    r"""On generic instances, with $\lambda$ proportional to $\eta$, the non-zero biases of FedResNaive, Option I and FedAvg
    (against its own optimum) are $\Theta(\eta)$ in the parameters and $\Theta(\eta^2)$ in $F$: halving $\eta$ divides them by 2
    and 4. On a symmetric instance FedAvg's bias is $\Theta(\eta^2)$ for $K=3$, and 0 for $K=2$."""
    found = list(biases(i))
    if i.order is None:
        return [ft.equal(v, 0, "no bias") for pair in found for v in pair]
    factor = 4**i.order
    return [ft.at_most(abs(a - b * factor), b * factor / 1000, f"{what}, halving {k + 1}", strict=True)
            for k in range(3) for what, a, b in zip(("|x - x*|^2", "F - F*"), found[k], found[k + 1], strict=True)]


# ---- the remark of Section 3.2 ----------------------------------------------------------------------------
sgd, option2 = maker(ft.FedResSgd), maker(ft.FedResAvg)
on_drift = [v.but(name=f"{name}: {v.name}", free=free, drifts=make in (option1, sim, seq)) for name, make in (
    ("FedResSGD", sgd), ("Option II", option2), ("Option I", option1), ("FedResNaive, simultaneous", sim),
    ("FedResNaive, sequential", seq)) for free, several in ((True, balanced), (False, shown))
    for v in several(make) if not (free and make is seq)]


@ft.claim("remark-drift-free", needs=[strictly_convex], on=on_drift, covers=COVERS | {"tau": "1 to 3"},
          rejects=[bugs.variates_dropped, bugs.local_steps_for_large_step],
          domain="moves from the optimum in symbols: none for FedResSGD and Option II, the stated ones for Option I and "
                 "simultaneous FedResNaive, which vanish only if the Q_i g_i do in the mean; in numbers also for sequential "
                 "FedResNaive")
def remark_drift_free(i):
    r"""FedResSGD and Option II are free of client drift: the joint optimum is a fixed point for every $K$. For $K>1$ FedResNaive
    and Option I leave it if the clients' curvatures weight different gradients: with $g_i=\nabla_wL_i(x^*)$ Option I moves $w$ by
    $-\frac{\alpha\eta}N\sum_iQ_ig_i$ and simultaneous FedResNaive moves each client by
    $-\sum_{k<K}(I-\mathcal DH_i)^k\mathcal D(g_i,0)$."""
    w, thetas = (i.w, i.theta) if i.free else optimum(i)
    g = [f.gradients(v, w, t)[0] for v, t in zip(i.clients, thetas, strict=True)]
    if not i.drifts:
        state = i.coded(w, thetas, 0 * w, g) if hasattr(i.stated.algorithm, "option") else i.coded(w, thetas)
        again = i.coded(state.x, i.personal(state), *state[2:])
        return ft.equal(i.flat(again.x, i.personal(again)), i.flat(w, thetas), "the optimum rests for two rounds")
    move = i.moved(w, thetas) - i.flat(w, thetas)
    if not i.free:
        return ft.equal(move, 0 * move, "one client") if i.n == 1 else ft.at_most(0, move.dot(move), "leaves", strict=True)
    if hasattr(i.stated.algorithm, "option"):
        Q = [f.geometric(i.eta * v[0], i.K) for v in i.clients]
        pushes = [i.alpha * i.eta * f.times(q, v) for q, v in zip(Q, g, strict=True)]
        return ft.equal(move, i.flat(-f.mean(pushes), [0 * t for t in thetas]), "Option I")
    ends = [f.times(f.geometric(f.scaled(f.joined(v)[0], i.d, i.eta, i.lam), i.K), np.concatenate([i.eta * a, 0 * t]))
            for v, a, t in zip(i.clients, g, thetas, strict=True)]
    return ft.equal(move, -i.flat(f.mean([e[:i.d] for e in ends]), [e[i.d:] for e in ends]), "FedResNaive")
