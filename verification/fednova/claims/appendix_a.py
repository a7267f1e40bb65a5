"""Section 3 and Appendix A: closed forms on quadratics."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims.quadratics import paper_map, spectral_norm, unit_change, unit_run
from verification.fednova.formulas import appendix_a as fa
from verification.fednova.instances import appendix_a as I


def coded_step(i, y, x, buffer=None):
    """(y, buffer) after one coded local step of the single client from y (d,), with the server model at x (d,)."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    y, x = (np.array([[i.domain.scalar(c) for c in v]], dtype=object) for v in (y, x))
    buffer = algorithm.solver.start(x) if buffer is None else buffer
    after, buffer = algorithm.solver.step(y, x, buffer, problem.grad(y), algorithm.lr, 1)
    return after[0], buffer


def dot(weights, values):
    """sum_i w_i v_i of numbers or symbols."""
    parts = [w * v for w, v in zip(weights, values, strict=True)]
    return sum(parts[1:], parts[0])


def exactly(values):
    return np.array([ft.fraction(v) for v in values], dtype=object)


def digits(value, text, label):
    """A printed decimal is the exact value rounded to its digits."""
    places = len(text.split(".")[1])
    return ft.equal(round(ft.fraction(value), places), Fraction(text), f"{label}: prints {text}")


def inside(value, i, label):
    """-1 < value < 1 whenever all |z_i| < 1, as polynomials with coefficients of one sign: z = (r - 1)/(r + 1) with r >
    0, p_i = u_i / sum u."""
    total = sum(i.u[1:], i.u[0])
    z = {f"z{k}": (r - 1) / (r + 1) for k, r in enumerate(i.r)}
    p = {f"p{k}": u / total for k, u in enumerate(i.u[:-1])}
    value = value.substitute(**z, **p)
    return ft.nonnegative(1 - value, f"{label} below 1"), ft.nonnegative(1 + value, f"{label} above -1")


def powers_inside():
    """|1 - s| < 1 gives |(1 - s)^tau| < 1 for every tau: from z = (r-1)/(r+1) and 1 - s = (q-1)/(q+1) one more
    factor."""
    r, q = ft.Field("r q").symbols
    z, factor = (r - 1) / (r + 1), (q - 1) / (q + 1)
    return ft.nonnegative(1 - z * factor,
                          "one more step keeps z below 1"), ft.nonnegative(1 + z * factor, "and above -1")


# ---- eqs 13-28 --------------------------------------------------------------------------------------------


@ft.claim("eq13-16", covers={"n": "all", "tau": "none"},
          on=I.local_steps, rejects=[bugs.proximal_missing, bugs.hidden_proximal],
          domain="every H, e, server model x, local model y, eta and mu; d = 1, 2, 3; each client acts alone, so any "
                 "number of clients")
def eq13_16(i):
    r"""$F_i(x)=\frac12x^\top H_ix-e_i^\top x+$ const: one local step of FedProx is
    $y\leftarrow(I-\eta\mu I-\eta H_i)\,y+\eta e_i+\eta\mu x$."""
    H, e = i.problem.H[0], i.problem.b[0]
    return ft.equal(coded_step(i, i.y, i.x)[0], fa.local_step(H, e, i.eta, i.mu, np.array(i.x), np.array(i.y)),
                    "coded step = eq 16")


@ft.claim("eq17-21", covers={"n": "all", "tau": "all"},
          on=I.local_runs,
          rejects=[bugs.one_step_more, bugs.proximal_missing, bugs.hidden_proximal, bugs.decayed_step],
          domain="every H with H + mu I invertible, e, x, eta and mu; d = 1, 2, 3; every integer tau by induction on "
                 "the coded step")
def eq17_21(i):
    r"""With $c_i=(H_i+\mu I)^{-1}(e_i+\mu x)$: $y_{k+1}-c_i=(I-\eta\mu I-\eta H_i)(y_k-c_i)$ and
    $\Delta_i=K_i(e_i-H_ix)$, $K_i=[I-(I-\eta\mu I-\eta H_i)^{\tau_i}](H_i+\mu I)^{-1}$."""
    if i.form == "scalar":
        def change(z):
            K = fa.scalar_K(np.array(i.h), i.mu, z)
            return (K * (np.array(i.e) - np.array(i.h) * i.x[0]))[:, None]
        return ft.local_run(i, i.x, change, i.z, 1 - i.eta * i.mu - i.eta * np.array(i.h),
                            label="displacement K (e - h x)")
    if i.form == "run":  # one client: the round is x + K (e - H x)
        M, c = i.op.mean_map()
        H, e = ft.declare(i.problem.H[0]), ft.declare(i.problem.b[0])
        K = f.K(H, i.eta, i.mu, i.taus[0])
        return ft.equal(c, fa.times(K, e), "K e"), ft.equal(np.eye(len(H), dtype=int).astype(object) - M,
                                                            ft.linalg.matmul(K, H), "K H")
    # K (H + mu I) = I - Z with Z = (I - eta mu I - eta H)^k; the server model is x and e = (H + mu I) c - mu x
    eye = np.eye(len(i.H), dtype=int).astype(object)
    A, stiff = fa.local_matrix(i.H, i.eta, i.mu), i.H + i.mu * eye

    def displaced(K):
        return i.x + fa.times(K, i.e - fa.times(i.H, i.x))
    after = coded_step(i, displaced(i.K), i.x)[0]
    more = ft.linalg.matmul(A, i.K) + i.eta * eye  # K after one more step
    Z = eye - ft.linalg.matmul(i.K, stiff)
    return (ft.induction(base=[(displaced(0 * i.K), i.x)],
                         step=[(after, displaced(more)), (eye - ft.linalg.matmul(more, stiff), ft.linalg.matmul(A, Z))],
                         label="displacement K (e - H x) with K (H + mu I) = I - (I - eta mu I - eta H)^tau"),
            ft.equal(displaced(i.K) - i.centre, fa.times(Z, i.x - i.centre), "distance to the centre is Z (x - c)"),
            ft.equal(after - i.centre, fa.times(A, displaced(i.K) - i.centre),
                     "one coded step contracts it by I - eta mu I - eta H"))


@ft.claim("eq23-25", covers={"tau": "all"},
          on=I.round_maps,
          rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.one_step_more, bugs.proximal_missing,
                   bugs.hidden_proximal],
          domain="n = 2, 3 clients, d = 1 and 2, every H_i, e_i, p, eta and mu, every integer tau_i (local maps K_i of "
                 "eq17-21 free); the whole coded round for steps (1, 2) with every entry a symbol")
def eq23_25(i):
    r"""One round of FedProx on quadratics is $x^+=\big[I-\sum_ip_iK_iH_i\big]x+\sum_ip_iK_ie_i$."""
    if i.form == "run":
        (M, c), (matrix, offset) = i.op.mean_map(), paper_map(i)
        return ft.equal(M, matrix, "I - sum p K H"), ft.equal(c, offset, "sum p K e")
    if i.form == "matrix":
        change = np.stack([fa.times(K, e - fa.times(H, i.x)) for K, H, e in zip(i.K, i.H, i.e, strict=True)])
        return ft.equal(ft.server_step(i, i.x, change), fa.matrix_round(i.H, i.e, i.p, i.K, i.x), "coded server step")
    K = fa.scalar_K(np.array(i.h), i.mu, np.array(i.z))
    slope, offset = fa.scalar_round(i.h, i.e, i.p, K)
    change = (K * (np.array(i.e) - np.array(i.h) * i.x[0]))[:, None]
    return eq17_21.body(i), ft.equal(ft.server_step(i, i.x, change)[0], slope * i.x[0] + offset, "coded server step")


@ft.claim("eq26-28-sharp", covers={"tau": "all"},
          on=I.sharp,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.hidden_proximal, bugs.server_step_two],
          domain="symmetry: every H_i in the plane with steps (1, 2), every tau because K_i is a polynomial in H_i; "
                 "automatic contraction: n = 2 and 3, every 0 < h_i <= L, p, mu >= 0 and 0 < eta (L + mu) < 2, every "
                 "integer tau_i; matrices eigenvalue by eigenvalue")
def eq26_28_sharp(i):
    r"""$K_i$ commutes with $H_i$, so the round map $I-\sum_ip_iK_iH_i$ is symmetric, its norm is its spectral radius,
    and the condition $\|I-\sum_ip_iK_iH_i\|_2<1$ of (26) is also necessary. It holds for all $p,\tau_i$ if
    $0\prec H_i\preceq LI$ and $0<\eta(L+\mu)<2$."""
    if i.form == "scalar":  # |1 - eta (h_i + mu)| < 1, so every |z_i| < 1
        slope, _ = fa.scalar_round(i.h, i.e, i.p, fa.scalar_K(np.array(i.h), i.mu, np.array(i.z)))
        zero = [0 * i.x[0]]
        K = fa.scalar_K(np.array(i.h), i.mu, np.array(i.z))

        def server(x):
            return ft.server_step(i, x, (K * (np.array(i.e) - np.array(i.h) * x[0]))[:, None])[0]
        return (eq17_21.body(i), ft.equal(server([zero[0] + 1]) - server(zero), slope, "slope of the coded round"),
                *powers_inside(),
                *inside(slope, i, "slope"))
    M, _ = i.op.mean_map()
    matrix, _ = paper_map(i)
    if i.form == "commute":
        H = i.problem.H
        K = [f.K(h, i.eta, i.mu, tau) for h, tau in zip(H, i.taus, strict=True)]
        return (ft.equal(M, M.T, "coded round map is symmetric"), ft.equal(M, matrix, "coded round map = eq 23"),
                *(ft.equal(ft.linalg.matmul(k, h), ft.linalg.matmul(h, k),
                           "K H = H K") for k, h in zip(K, H, strict=True)))
    norm, _ = spectral_norm(i)
    coded = np.array([exactly(row) for row in M], dtype=object)
    radius = max(ft.linalg.charpoly_radius(coded))
    legs = [ft.equal(coded, matrix, "coded round map = eq 23"),
            ft.at_most(abs(norm - radius), Fraction(1, 10**9),
                       "its norm is the spectral radius of the coded round (both enclosed)"),
            ft.equivalent((norm < 1, (norm, 1)), (radius < 1, (radius, 1)),
                          "norm below 1 exactly when the coded round contracts")]
    constants = i.problem.constants
    if constants.mu > 0 and i.eta * (constants.L + i.mu) < 2:
        legs.append(ft.at_most(norm, 1, "automatic for eta (L + mu) < 2", strict=True))
    return legs


@ft.claim("eq29", covers={"d": "all", "tau": "all"},
          on=I.quadratics.on_lem1, rejects=[bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step,
                                              bugs.server_step_two],
          domain="n = 2 and 3 clients in one dimension (unit Hessians act on each coordinate separately), every e_i, 0 "
                 "< eta < 2, every integer tau_i by induction on the coded step; the whole coded round for tau = "
                 "(1,10) and (2,3,7)")
def eq29(i):
    r"""$H_i=I$, $p_i=1/m$, $\mu=0$, $0<\eta<2$: FedAvg tends to
    $\displaystyle\frac{\sum_i[1-(1-\eta)^{\tau_i}]e_i}{\sum_i[1-(1-\eta)^{\tau_i}]}$ with factor
    $1-\frac1m\sum_i[1-(1-\eta)^{\tau_i}]$."""
    if not i.general:
        shrink = [(1 - i.eta) ** t for t in i.taus]
        M, _ = i.op.mean_map()
        return (ft.equal(i.op.fixed_point().x, f.eq29(i.e, shrink), "coded fixed point"),
                ft.equal(M[0, 0], f.eq29_factor(shrink), "coded contraction factor"))
    point, factor = f.eq29(i.e, i.z), f.eq29_factor(i.z)
    z = np.array(i.z)
    at, beyond = (ft.server_step(i, x, unit_change(i, x)(z))[0] for x in (point, [point[0] + 1]))
    signs = {f"z{k}": (r - 1) / (r + 1) for k, r in enumerate(i.r)}
    inner = factor.substitute(**signs)
    return (unit_run(i, [i.t[0]]), ft.equal(at, point[0], "coded server step fixes eq 29"),
            ft.equal(beyond - at, factor, "its slope"),
            *powers_inside(), ft.nonnegative(1 - inner, "factor below 1"), ft.nonnegative(1 + inner, "factor above -1"))


@ft.claim("eq29-general", covers={"tau": "all"},
          on=I.eq29_general,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.proximal_missing, bugs.hidden_proximal,
                   bugs.decayed_step],
          domain="n = 2 and 3, every p, e_i, eta and mu, every integer tau_i by induction on the coded step; "
                 "contraction for 0 < eta (1 + mu) < 2")
def eq29_general(i):
    r"""Unit Hessians, any $p$ and $\mu\ge0$: the limit has weights $\propto p_i[1-(1-\eta-\eta\mu)^{\tau_i}]$, that is
    eq (7) with $\alpha$ replaced by $\alpha+\eta$; the contraction factor is
    $1-\frac1{1+\mu}\sum_ip_i[1-(1-\eta-\eta\mu)^{\tau_i}]$."""
    z = np.array(i.z if i.general else [(1 - i.eta - i.eta * i.mu) ** t for t in i.taus])
    e = [[v] if i.general else v for v in i.e]
    point, factor = fa.eq29_general(e, i.p, z), fa.eq29_general_factor(i.p, z, i.mu)
    alpha = i.eta * i.mu
    _, weights = f.plain_averaging(i.p, [f.proximal_norm1(alpha + i.eta, v) for v in z])
    seven = ft.equal([dot(weights, [v[0] for v in e])], point, "eq 7 at alpha + eta")
    if not i.general:
        return seven, ft.equal(i.op.fixed_point().x, point,
                               "coded fixed point"), ft.equal(i.op.mean_map()[0][0, 0], factor,
                                                                                           "coded factor")

    def change(x):
        return lambda z: (fa.scalar_K(1, i.mu, z) * (np.array(i.e) - x[0]))[:, None]
    at, beyond = (ft.server_step(i, x, change(x)(z))[0] for x in (point, [point[0] + 1]))
    return (seven, ft.local_run(i, i.x, change(i.x), i.z, 1 - i.eta * i.mu - i.eta, label="local run"),
            ft.equal(at, point[0], "coded server step fixes the point"), ft.equal(beyond - at, factor, "its slope"),
            *powers_inside(),
            *inside(factor, i, "factor"))


# ---- R4, the suspicion about eq 13 ------------------------------------------------------------------------


@ft.claim("r4-equal-tau", on=I.equal_steps,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.hidden_proximal, bugs.proximal_missing],
          domain="the listed quadratics in the plane and on the line, exactly; the exact proximal point to 20 digits "
                 "after 80 steps")
def r4_equal_tau(i):
    r"""Equal $\tau_i$ does not give consistency at fixed $\eta$ when Hessians differ: the fixed point (28) differs from
    $x^\star$. The exact proximal limit $\tau\to\infty$, $K_i=(H_i+\mu I)^{-1}$, is biased too. (A common Hessian, or
    one local step, gives $x^\star$.)"""
    coded, target = exactly(i.op.fixed_point().x), exactly(ft.optimum(i.problem).x)
    gap = ((coded - target) ** 2).sum()
    matrix, offset = paper_map(i)
    stated = ft.equal(coded, fa.times(matrix, coded) + offset, "coded fixed point solves eq 28")
    if i.kind == "consistent":
        return stated, ft.equal(coded, target, "no bias")
    if i.kind == "biased":
        return stated, ft.at_most(Fraction(1, 10**6), gap, "squared bias", strict=True)
    proximal = fa.exact_prox_point(i.problem.H, i.problem.b, i.problem.weights, i.mu)
    return (ft.at_most(((coded - proximal) ** 2).sum(), Fraction(1, 10**40), "80 steps reach the exact proximal limit"),
            ft.at_most(Fraction(1, 10**6), ((proximal - target) ** 2).sum(), "its squared bias", strict=True))


@ft.claim("susp-eq13-psd", on=I.indefinite, rejects=[bugs.one_step_more, bugs.uniform_weights],
          reading="Not decided, because the paper does not say what (13) is needed for. The closed forms (14)-(25) "
                  "need no more than an invertible H_i + mu I, and a round can contract with an indefinite client. But "
                  "(13) is then no loss of data: it is unbounded below, its stationary point is no minimiser, and the "
                  "contraction is no longer automatic for small steps.")
def susp_eq13_psd(i):
    r"""In the quadratic setting an invertible $H_i$ is enough, although
    $F_i(x)=\frac12x^\top H_ix-e_i^\top x+\frac12e_i^\top H_i^{-1}e_i$ (13) is non-negative only for $H_i\succ0$."""
    (M, c), (matrix, offset) = i.op.mean_map(), paper_map(i)
    norm, _ = spectral_norm(i)
    H, xi = i.problem.H[0], i.problem.c[0]
    v = np.array([Fraction(0), Fraction(1)], dtype=object)  # a direction of negative curvature of client 1
    value = (v * fa.times(H, v)).sum() / 2                 # its objective (13) at xi + v
    return (ft.equal(M, matrix, "eqs 23-25 hold"), ft.equal(c, offset, "offset"),
            ft.at_most(norm, 1, "and the round contracts", strict=True),
            ft.at_most(value, 0, f"but F_1(xi_1 + v) is negative at {[str(a) for a in xi + v]}", strict=True))
