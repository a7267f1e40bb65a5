"""Section 3 and Appendix A: closed forms on quadratics, equal steps, and an indefinite Hessian in eq 13."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims import quadratics
from verification.fednova.claims.quadratics import paper_map, prox_quadratic, spectral_norm, unit_change, unit_run
from verification.fednova.formulas import appendix_a as fa
from verification.fednova.instances import Local, Symbols, free_clients, plane, scalar, symmetric


def coded_step(i, y, x, buffer=None):
    """(y, buffer) after one coded local step of the single client from y (d,), with the server model at x (d,)."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    y, x = (np.array([[i.domain.scalar(c) for c in v]], dtype=object) for v in (y, x))
    buffer = algorithm.solver.start(x) if buffer is None else buffer
    after, buffer = algorithm.solver.step(y, x, buffer, problem.grad(y), algorithm.lr, 1)
    return after[0], buffer


def exactly(values):
    return ft.linalg.to_fractions(np.array(values, dtype=object))


def scalar_data(i):
    """(h, e) of scalar clients, each (n,)."""
    return i.problem.H[:, 0, 0], i.problem.b[:, 0]


def scalar_change(i, x):
    """z -> displacements K (e - h x) of scalar clients from the server model x."""
    h, e = scalar_data(i)
    return lambda z: (fa.scalar_K(h, i.mu, np.array(z)) * (e - h * x[0]))[:, None]


def server_line(i, change, x):
    """(value at x, slope) of the coded server step, fed with change(x) of scalar clients."""
    at, beyond = (ft.server_step(i, v, change(v))[0] for v in ([x], [x + 1]))
    return at, beyond - at


def inside(value, i, label):
    """-1 < value < 1 whenever all |z_i| < 1, as polynomials with coefficients of one sign: z = (r - 1)/(r + 1) with r > 0,
    p_i = u_i / sum u."""
    value = value.substitute(**{f"z{k}": (r - 1) / (r + 1) for k, r in enumerate(i.r)},
                             **{f"p{k}": u / sum(i.u) for k, u in enumerate(i.u[:-1])})
    return ft.nonnegative(1 - value, f"{label} below 1"), ft.nonnegative(1 + value, f"{label} above -1")


def powers_inside():
    """|1 - s| < 1 gives |(1 - s)^tau| < 1 for every tau: from z = (r-1)/(r+1) and 1 - s = (q-1)/(q+1) one more factor."""
    r, q = ft.Field("r q").symbols
    z, factor = (r - 1) / (r + 1), (q - 1) / (q + 1)
    return (ft.nonnegative(1 - z * factor, "one more step keeps z below 1"),
            ft.nonnegative(1 + z * factor, "and above -1"))


# ---- eqs 13-21: one client --------------------------------------------------------------------------------
def _step(d, plain=False):
    s = Symbols("eta mu", h=d * d, e=d, p=1, x=d, y=d)
    solver = ft.Vanilla() if plain else ft.Proximal(mu=s.mu)
    return Local(f"mu = 0, d={d}" if plain else f"all symbols, d={d}",
                 ft.Quadratic.from_linear(symmetric(s.h, 1, d), [s.e]), ft.FedAvg(s.eta, 1, solver), ft.Full(),
                 domain=s.field, x=s.x, y=s.y, says="plain gradient descent" if plain else
                 "every entry of H, e, the server model x and the local model y")


@ft.claim("eq13-16", covers={"n": "all", "tau": "none"}, on=[_step(1), _step(2), _step(3), _step(2, plain=True)],
          rejects=[bugs.proximal_missing, bugs.hidden_proximal],
          domain="every H, e, server model x, local model y, eta and mu; d = 1, 2, 3; each client acts alone, so any "
                 "number of clients")
def eq13_16(i):
    r"""$F_i(x)=\frac12x^\top H_ix-e_i^\top x+$ const: one local step of FedProx is
    $y\leftarrow(I-\eta\mu I-\eta H_i)\,y+\eta e_i+\eta\mu x$."""
    stated = fa.local_step(i.problem.H[0], i.problem.b[0], i.eta, i.mu, np.array(i.x), np.array(i.y))
    return ft.equal(coded_step(i, i.y, i.x)[0], stated, "coded step = eq 16")


def scalar_clients(n, unit=False):
    """Scalar clients with any h_i (or 1); z_i stands for (1 - eta mu - eta h_i)^tau_i, r_i >= 0 is free."""
    s = Symbols("eta mu x", h=n, e=n, z=n, r=n, p=n, u=n, t=n)
    problem = ft.Quadratic.from_linear([[[1]]] * n, [[v] for v in s.e], s.weights(n)) if unit else free_clients(s, n)
    return Local(f"n={n}, d=1, general tau", problem, ft.FedAvg(s.eta, 1, ft.Proximal(mu=s.mu)), ft.Full(),
                 domain=s.field, x=[s.x], form="scalar", **s.these("z r t u"),
                 says="unit Hessians, any p, e_i, eta, mu and integers tau_i" if unit else
                 "any h_i, e_i, p, eta and mu; any integers tau_i")


def scalar_run(i):
    """The displacement K (e - h x) of scalar clients, by induction on the coded local step."""
    return ft.local_run(i, i.x, scalar_change(i, i.x), i.z, 1 - i.eta * i.mu - i.eta * scalar_data(i)[0],
                        label="displacement K (e - h x)")


def _one_matrix(d):
    """One client with any H; K stands for eq 21's matrix after any number of steps, e for (H + mu I) c - mu x."""
    s = Symbols("eta mu", h=d * d, k=d * d, x=d, c=d)
    H, x, c = symmetric(s.h, 1, d)[0], np.array(s.x), np.array(s.c)
    problem = ft.Quadratic.from_linear([H], [(H * c).sum(-1) + s.mu * (c - x)])
    return Local(f"d={d}, general tau", problem, ft.FedAvg(s.eta, 1, ft.Proximal(mu=s.mu)), ft.Full(), domain=s.field,
                 x=x, centre=c, K=np.array(s.k, dtype=object).reshape(d, d), form="matrix",
                 says="any H, e, x, eta and mu with H + mu I invertible; any integer tau")


def _one_client(name, k, eta, tau, mu=0):
    base = plane()
    return prox_quadratic(name, ft.Quadratic.from_linear(base.H[k:k + 1], base.b[k:k + 1]), eta, (tau,), mu, form="run",
                          says="the whole coded local phase")


@ft.claim("eq17-21", covers={"n": "all", "tau": "all"},
          on=ft.illustrate([scalar_clients(2), _one_matrix(2), _one_matrix(3),
                            _one_client("one client, tau=7", 1, "1/10", 7),
                            _one_client("one client, prox, tau=4", 2, "1/5", 4, "1/2")]),
          rejects=[bugs.one_step_more, bugs.proximal_missing, bugs.hidden_proximal, bugs.decayed_step],
          domain="every H with H + mu I invertible, e, x, eta and mu; d = 1, 2, 3; every integer tau by induction on "
                 "the coded step")
def eq17_21(i):
    r"""With $c_i=(H_i+\mu I)^{-1}(e_i+\mu x)$: $y_{k+1}-c_i=(I-\eta\mu I-\eta H_i)(y_k-c_i)$ and
    $\Delta_i=K_i(e_i-H_ix)$, $K_i=[I-(I-\eta\mu I-\eta H_i)^{\tau_i}](H_i+\mu I)^{-1}$."""
    if i.form == "scalar":
        return scalar_run(i)
    H, e = i.problem.H[0], i.problem.b[0]
    eye = np.eye(len(H), dtype=int).astype(object)
    if i.form == "run":  # one client: the round is x + K (e - H x)
        M, c = i.op.mean_map()
        K = f.K(H, i.eta, i.mu, i.taus[0])
        return ft.equal(c, fa.times(K, e), "K e"), ft.equal(eye - M, ft.linalg.matmul(K, H), "K H")
    # K (H + mu I) = I - Z with Z = (I - eta mu I - eta H)^k; the server model is x and e = (H + mu I) c - mu x
    A, stiff = fa.local_matrix(H, i.eta, i.mu), H + i.mu * eye

    def displaced(K):
        return i.x + fa.times(K, e - fa.times(H, i.x))
    after = coded_step(i, displaced(i.K), i.x)[0]
    more = ft.linalg.matmul(A, i.K) + i.eta * eye  # K after one more step
    Z = eye - ft.linalg.matmul(i.K, stiff)
    return (ft.induction(base=[(displaced(0 * i.K), i.x)],
                         step=[(after, displaced(more)), (eye - ft.linalg.matmul(more, stiff), ft.linalg.matmul(A, Z))],
                         label="displacement K (e - H x) with K (H + mu I) = I - (I - eta mu I - eta H)^tau"),
            ft.equal(displaced(i.K) - i.centre, fa.times(Z, i.x - i.centre), "distance to the centre is Z (x - c)"),
            ft.equal(after - i.centre, fa.times(A, displaced(i.K) - i.centre),
                     "one coded step contracts it by I - eta mu I - eta H"))


# ---- eqs 23-28: the round map -----------------------------------------------------------------------------
def _round_matrices(n, d):
    """Clients whose displacements are K_i (e_i - H_i x) with free matrices K_i, as proved for every tau_i by eq17-21."""
    s = Symbols("eta", p=n, x=d, h=n * d * d, k=n * d * d, e=n * d)
    return Local(f"n={n}, d={d}, general tau", free_clients(s, n, d), ft.FedAvg(s.eta, 1), ft.Full(), domain=s.field,
                 K=np.array(s.k, dtype=object).reshape(n, d, d), x=np.array(s.x), form="matrix",
                 says="any H_i, e_i, p and any local maps K_i")


everything, *listed = (i.but(form="run") for i in quadratics.on_eq26_28[:6])


@ft.claim("eq23-25", covers={"tau": "all"},
          on=ft.illustrate([*listed[:2], everything, scalar_clients(2), scalar_clients(3), _round_matrices(2, 2),
                            _round_matrices(3, 2)]),
          rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.one_step_more, bugs.proximal_missing,
                   bugs.hidden_proximal],
          domain="n = 2, 3 clients, d = 1 and 2, every H_i, e_i, p, eta and mu, every integer tau_i (local maps K_i of "
                 "eq17-21 free); the whole coded round for steps (1, 2) with every entry a symbol")
def eq23_25(i):
    r"""One round of FedProx on quadratics is $x^+=\big[I-\sum_ip_iK_iH_i\big]x+\sum_ip_iK_ie_i$."""
    if i.form == "run":
        (M, c), (matrix, offset) = i.op.mean_map(), paper_map(i)
        return ft.equal(M, matrix, "I - sum p K H"), ft.equal(c, offset, "sum p K e")
    H, e = i.problem.H, i.problem.b
    if i.form == "matrix":
        change = np.stack([fa.times(K, v - fa.times(h, i.x)) for K, h, v in zip(i.K, H, e, strict=True)])
        return ft.equal(ft.server_step(i, i.x, change), fa.matrix_round(H, e, i.p, i.K, i.x), "coded server step")
    slope, offset = fa.scalar_round(*scalar_data(i), i.p, fa.scalar_K(H[:, 0, 0], i.mu, np.array(i.z)))
    coded = ft.server_step(i, i.x, scalar_change(i, i.x)(i.z))[0]
    return scalar_run(i), ft.equal(coded, slope * i.x[0] + offset, "coded server step")


@ft.claim("eq26-28-sharp", covers={"tau": "all"},
          on=ft.illustrate([
              *(i.but() for i in listed), everything.but(form="commute"), scalar_clients(2), scalar_clients(3),
              prox_quadratic("just inside", plane(), "79/100", (1, 3, 8), "1/2", form="run",
                             says="eta (L + mu) = 1.975, just below 2"),
              prox_quadratic("outside, converges", plane(), "21/20", (1, 1, 2), form="run",
                             says="eta L > 2 and still a contraction"),
              prox_quadratic("outside, diverges", plane(), "3/2", (1, 3, 8), form="run",
                             says="the norm condition fails")]),
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.hidden_proximal, bugs.server_step_two],
          domain="symmetry: every H_i in the plane with steps (1, 2), every tau because K_i is a polynomial in H_i; "
                 "automatic contraction: n = 2 and 3, every 0 < h_i <= L, p, mu >= 0 and 0 < eta (L + mu) < 2, every "
                 "integer tau_i; matrices eigenvalue by eigenvalue")
def eq26_28_sharp(i):
    r"""$K_i$ commutes with $H_i$, so the round map $I-\sum_ip_iK_iH_i$ is symmetric, its norm is its spectral radius,
    and the condition $\|I-\sum_ip_iK_iH_i\|_2<1$ of (26) is also necessary. It holds for all $p,\tau_i$ if
    $0\prec H_i\preceq LI$ and $0<\eta(L+\mu)<2$."""
    if i.form == "scalar":  # |1 - eta (h_i + mu)| < 1, so every |z_i| < 1
        h, e = scalar_data(i)
        slope, _ = fa.scalar_round(h, e, i.p, fa.scalar_K(h, i.mu, np.array(i.z)))
        _, coded = server_line(i, lambda x: scalar_change(i, x)(i.z), 0 * i.x[0])
        return scalar_run(i), ft.equal(coded, slope, "slope of the coded round"), *powers_inside(), *inside(slope, i, "slope")
    M, matrix = i.op.mean_map()[0], paper_map(i)[0]
    if i.form == "commute":
        K = [f.K(h, i.eta, i.mu, tau) for h, tau in zip(i.problem.H, i.taus, strict=True)]
        return (ft.equal(M, M.T, "coded round map is symmetric"), ft.equal(M, matrix, "coded round map = eq 23"),
                *(ft.equal(ft.linalg.matmul(k, h), ft.linalg.matmul(h, k), "K H = H K")
                  for k, h in zip(K, i.problem.H, strict=True)))
    norm, coded = spectral_norm(i)[0], exactly(M)
    radius = max(ft.linalg.charpoly_radius(coded))
    legs = [ft.equal(coded, matrix, "coded round map = eq 23"),
            ft.at_most(abs(norm - radius), Fraction(1, 10**9),
                       "its norm is the spectral radius of the coded round (both enclosed)"),
            ft.equivalent((norm < 1, (norm, 1)), (radius < 1, (radius, 1)),
                          "norm below 1 exactly when the coded round contracts")]
    if i.stated.mu > 0 and i.eta * (i.L + i.mu) < 2:
        legs.append(ft.at_most(norm, 1, "automatic for eta (L + mu) < 2", strict=True))
    return legs


# ---- eq 29 ------------------------------------------------------------------------------------------------
@ft.claim("eq29", covers={"d": "all", "tau": "all"}, on=quadratics.on_lem1,
          rejects=[bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step, bugs.server_step_two],
          domain="n = 2 and 3 clients in one dimension (unit Hessians act on each coordinate separately), every e_i, 0 "
                 "< eta < 2, every integer tau_i by induction on the coded step; the whole coded round for tau = "
                 "(1,10) and (2,3,7)")
def eq29(i):
    r"""$H_i=I$, $p_i=1/m$, $\mu=0$, $0<\eta<2$: FedAvg tends to
    $\displaystyle\frac{\sum_i[1-(1-\eta)^{\tau_i}]e_i}{\sum_i[1-(1-\eta)^{\tau_i}]}$ with factor
    $1-\frac1m\sum_i[1-(1-\eta)^{\tau_i}]$."""
    if not i.general:
        shrink = [(1 - i.eta) ** t for t in i.taus]
        return (ft.equal(i.op.fixed_point().x, f.eq29(i.e, shrink), "coded fixed point"),
                ft.equal(i.op.mean_map()[0][0, 0], f.eq29_factor(shrink), "coded contraction factor"))
    point, factor = f.eq29(i.e, i.z), f.eq29_factor(i.z)
    at, slope = server_line(i, lambda x: unit_change(i, x)(np.array(i.z)), point[0])
    inner = factor.substitute(**{f"z{k}": (r - 1) / (r + 1) for k, r in enumerate(i.r)})
    return (unit_run(i, [i.t[0]]), ft.equal(at, point[0], "coded server step fixes eq 29"),
            ft.equal(slope, factor, "its slope"),
            *powers_inside(), ft.nonnegative(1 - inner, "factor below 1"), ft.nonnegative(1 + inner, "factor above -1"))


def _unit_clients(name, eta, taus, mu, p):
    problem = ft.Quadratic([[[1]]] * len(taus), [[k * k] for k in range(len(taus))], p)
    return prox_quadratic(name, problem, eta, taus, mu, form="run", says="the whole coded round")


@ft.claim("eq29-general", covers={"tau": "all"},
          on=ft.illustrate([_unit_clients("prox, unequal p", "1/10", (1, 4, 9), "1/2", ["1/2", "3/10", "1/5"]),
                            _unit_clients("vanilla, unequal p", "1/5", (2, 6), 0, ["1/4", "3/4"]),
                            scalar_clients(2, unit=True), scalar_clients(3, unit=True)]),
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.proximal_missing, bugs.hidden_proximal,
                   bugs.decayed_step],
          domain="n = 2 and 3, every p, e_i, eta and mu, every integer tau_i by induction on the coded step; "
                 "contraction for 0 < eta (1 + mu) < 2")
def eq29_general(i):
    r"""Unit Hessians, any $p$ and $\mu\ge0$: the limit has weights $\propto p_i[1-(1-\eta-\eta\mu)^{\tau_i}]$, that is
    eq (7) with $\alpha$ replaced by $\alpha+\eta$; the contraction factor is
    $1-\frac1{1+\mu}\sum_ip_i[1-(1-\eta-\eta\mu)^{\tau_i}]$."""
    z = np.array([(1 - i.eta - i.eta * i.mu) ** t for t in i.taus] if i.form == "run" else i.z)
    point, factor = fa.eq29_general(i.problem.b, i.p, z), fa.eq29_general_factor(i.p, z, i.mu)
    _, weights = f.plain_averaging(i.p, [f.proximal_norm1(i.eta * i.mu + i.eta, v) for v in z])
    seven = ft.equal([f.dot(weights, i.problem.b[:, 0])], point, "eq 7 at alpha + eta")
    if i.form == "run":
        return (seven, ft.equal(i.op.fixed_point().x, point, "coded fixed point"),
                ft.equal(i.op.mean_map()[0][0, 0], factor, "coded factor"))
    at, slope = server_line(i, lambda x: scalar_change(i, x)(z), point[0])
    return (seven, scalar_run(i), ft.equal(at, point[0], "coded server step fixes the point"),
            ft.equal(slope, factor, "its slope"), *powers_inside(), *inside(factor, i, "factor"))


# ---- R4, and eq 13 with an indefinite Hessian -------------------------------------------------------------
equal_steps = [
    prox_quadratic("plane, tau=5", plane(), "1/10", (5, 5, 5), kind="biased", says="equal steps, different Hessians"),
    prox_quadratic("plane, tau=5, mu=1", plane(), "1/10", (5, 5, 5), 1, kind="biased"),
    prox_quadratic("two scalars, tau=2", scalar([1, 3], [1, -1]), "1/10", (2, 2), kind="biased"),
    prox_quadratic("exact prox: tau=80, mu=1", plane(), "1/2", (80, 80, 80), 1, kind="exact prox",
                   says="after 80 steps the local problems are solved to 20 digits"),
    prox_quadratic("one step", plane(), "1/10", (1, 1, 1), kind="consistent",
                   says="without local steps there is no drift"),
    prox_quadratic("common Hessian", ft.Quadratic([[[2, 0], [0, 1]]] * 3, [[1, 0], [0, 2], [-1, -1]]), "1/10",
                   (5, 5, 5), kind="consistent"),
]


@ft.claim("r4-equal-tau", on=equal_steps,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.hidden_proximal, bugs.proximal_missing],
          domain="the listed quadratics in the plane and on the line, exactly; the exact proximal point to 20 digits "
                 "after 80 steps")
def r4_equal_tau(i):
    r"""Equal $\tau_i$ does not give consistency at fixed $\eta$ when Hessians differ: the fixed point (28) differs from
    $x^\star$. The exact proximal limit $\tau\to\infty$, $K_i=(H_i+\mu I)^{-1}$, is biased too. (A common Hessian, or
    one local step, gives $x^\star$.)"""
    coded, target = exactly(i.op.fixed_point().x), exactly(ft.optimum(i.problem).x)
    matrix, offset = paper_map(i)
    stated = ft.equal(coded, fa.times(matrix, coded) + offset, "coded fixed point solves eq 28")
    if i.kind == "consistent":
        return stated, ft.equal(coded, target, "no bias")
    if i.kind == "biased":
        return stated, ft.at_most(Fraction(1, 10**6), ((coded - target) ** 2).sum(), "squared bias", strict=True)
    proximal = fa.exact_prox_point(i.problem.H, i.problem.b, i.p, i.mu)
    return (ft.at_most(((coded - proximal) ** 2).sum(), Fraction(1, 10**40), "80 steps reach the exact proximal limit"),
            ft.at_most(Fraction(1, 10**6), ((proximal - target) ** 2).sum(), "its squared bias", strict=True))
