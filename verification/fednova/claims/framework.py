"""Section 4.1 and Appendix B: accumulation vectors, surrogate weights, first-order bias."""
import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, Local, Symbols, free_clients


def _momentum(tau=None):
    """The heavy ball for any number of steps, or with every coefficient of tau of them."""
    s = Symbols("rho eta z y u g0 x") if tau is None else Symbols("rho eta x", g=tau)
    extra = s.these("z y u g0") if tau is None else s.these("x g")
    return Local("general tau" if tau is None else f"tau={tau}", None, ft.FedAvg(s.eta, tau or 1, ft.Momentum(s.rho)),
                 ft.Full(), domain=s.field, explicit=tau, says="rho, eta and the gradients are symbols, z = rho^(tau - s)"
                 if tau is None else "every coefficient, from the coded steps", **extra)


@ft.claim(
    "appb-momentum", covers={"tau": "all"}, on=[_momentum(), *(_momentum(t) for t in (1, 2, 5, 8))],
    rejects=[bugs.dampened_momentum, bugs.nesterov_momentum],
    domain="every rho != 1, eta and gradient sequence; every integer tau by induction on the coded step; tau = 1, 2, 5, 8 "
           "in full")
def appb_momentum(i):
    r"""Local momentum $u\leftarrow\rho u+g$, $y\leftarrow y-\eta u$ with $u=0$ at the start of a round accumulates
    $\Delta_i=-\eta\sum_{k<\tau}a_kg(y_k)$ with $a_k=\dfrac{1-\rho^{\tau-k}}{1-\rho}$."""
    solver, lr, rho = i.algorithm.to(i.domain).solver, i.domain.scalar(i.eta), i.value
    if i.explicit:
        y = x = np.array([i.x])
        buffer = solver.start(x)
        for g in i.g:
            y, buffer = solver.step(y, x, buffer, np.array([g]), lr, 1)
        return ft.equal(y[0] - i.x, -lr * f.dot(f.a_vector("momentum", i.explicit, rho), i.g), f"tau = {i.explicit}")
    # one gradient g enters at step s; afterwards the step is linear, so gradients superpose
    zero, one, g = i.z * 0, i.z * 0 + 1, i.g0

    def step(y, u, g):
        after, buffer = solver.step(np.array([y]), np.array([zero]), np.array([u]), np.array([g]), lr, 1)
        return after[0], buffer[0]
    entered = step(i.y, zero, g)
    later = step(-lr * f.momentum_a(rho, i.z) * g, i.z / rho * g, zero)
    both, single, rest = step(i.y + g, i.u + i.z, g), step(i.y, i.u, zero), step(g, i.z, g)
    return (ft.induction(base=[(entered[0], i.y - lr * f.momentum_a(rho, rho) * g), (entered[1], one * g)],
                         step=[(later[0], -lr * f.momentum_a(rho, rho * i.z) * g), (later[1], i.z * g)],
                         label="coefficient of one gradient", over="tau - s"),
            ft.equal(np.array(both), np.array(single) + np.array(rest),
                     "the coded step is linear: gradients superpose"),
            ft.equal(np.array(step(i.y, zero, zero)), np.array([i.y, zero]), "nothing moves before the first gradient"))


powers = Symbols("x A B a b")


@ft.claim(
    "remark-alpha-monotone", covers={"n": "all", "d": "none", "tau": "all"},
    on=[ft.Instance("all integers a > b >= 1", None, ft.FedAvg(1, 1, ft.Proximal(alpha=1 - powers.x)), ft.Full(),
                    domain=powers.field, says="x = 1 - alpha in [0, 1], A = x^a, B = x^b", **powers.these("x A B a b"))],
    rejects=[bugs.proximal_squared],
    domain="all integers tau_i, every number of clients (chi-square is a sum over pairs), every p, all alpha in [0, 1)")
def remark_alpha_monotone(i):
    r"""As $\alpha$ rises in $[0,1]$ the weights of FedProx tend to $p$, $\chi^2_{p\|w}$ falls, and so does
    $\tau_{\rm eff}=\sum_ip_i\|a_i\|_1$ (the slowdown $\bar\tau/\tau_{\rm eff}$ rises)."""
    x, A, B, a, b = i.x, i.A, i.B, i.a, i.b
    solver = i.algorithm.to(i.domain).solver
    unit = np.array([x * 0 + 1])
    alpha = 1 - x

    def coded(s):  # one coded step on unit gradients, with lr = 1: the 1-norm of a grows from tau to tau + 1
        after, _ = solver.step(np.array([-s]), 0 * unit, solver.start(unit), unit, 1, 1)
        return -after[0]
    S = f.proximal_norm1(alpha, A)
    norm = ft.induction(base=[(f.proximal_norm1(alpha, unit[0]), x * 0)],
                        step=[(coded(S), f.proximal_norm1(alpha, A * x))], label="|a|_1 of the coded proximal step")

    # with x = 1 - alpha: S_a = (1 - x^a)/(1 - x); derivatives in x, where d(x^a)/dx = a x^a / x
    def slope(power, k):
        return (-k * power / x * (1 - x) + (1 - power)) / ((1 - x) * (1 - x))
    grows = (slope(A * x, a + 1) - slope(A, a), a * A / x)
    falls = ft.induction(base=[(slope(unit[0], 0 * a), 0 * x)], step=[grows],
                         label="d|a|_1/dx grows by a x^(a-1) >= 0: tau_eff falls in alpha")

    # N(a, b) = S_a' S_b - S_a S_b' decides the sign of d(S_a/S_b)/dx; a runs upwards from b, then b upwards from 0
    def N(power_a, ka, power_b, kb):
        return slope(power_a, ka) * f.proximal_norm1(alpha, power_b) - f.proximal_norm1(alpha, power_a) * slope(
            power_b, kb)

    def D(power, k):  # the increment N(a+1, b) - N(a, b), divided by x^(a-1)
        return a * f.proximal_norm1(alpha, power) - x * slope(power, k)
    rises = ft.induction(base=[(N(B, b, B, b), 0 * x)], step=[(N(A * x, a + 1, B, b) - N(A, a, B, b), A / x * D(B, b))],
                         label="ratio S_a/S_b, induction on a", over="a")
    inner = ft.induction(base=[(D(unit[0], 0 * b), 0 * x)], step=[(D(B * x, b + 1) - D(B, b), (a - b) * B)],
                         label="its increments are sums of (a - j) x^j > 0", over="b")
    at_one = ft.equal(coded(A).substitute(x=0 * x), 1, "at alpha = 1 every coded |a|_1 is 1, so w = p")
    return norm, falls, rises, inner, *_chi_square(), at_one


def _chi_square():
    """chi^2 = sum over pairs p_i p_j (r + 1/r - 2), which grows with r >= 1; quadratic in p, so two clients decide it."""
    p, s1, s2, q, delta, step = ft.Field("p s1 s2 q delta step").symbols
    _, w = f.plain_averaging([p, q], [s1, s2])
    same = ft.equal(f.chi2([p / (p + q), q / (p + q)], w),
                    f.chi2_pairs([p / (p + q), q / (p + q)], lambda i, j: s1 / s2), "chi-square as a sum over pairs")
    r = 1 + delta  # r >= 1 and a rise by step >= 0
    gain = (r + step) + 1 / (r + step) - r - 1 / r
    return same, ft.nonnegative(gain, "r + 1/r grows for r >= 1")


# ---- bias -------------------------------------------------------------------------------------------------
def _bias(solver, server, n=2, d=2, taus=(2, 3)):
    s = Symbols("eta v w", p=n, h=n * d * d, e=n * d, x=d)
    local = ft.MomentumProximal(s.v, s.w) if solver == "momentum-proximal" else SOLVERS[solver](s.v)
    return Local(f"{server.__name__}, {solver}, n={n}, d={d}, tau={taus}", free_clients(s, n, d), server(s.eta, taus, local),
                 ft.Full(), domain=s.field, x=s.x,
                 says="every entry of the non-commuting H_i, e_i, x, p, eta and the solver's parameter are symbols")


def _bias_client(solver, tau):
    s = Symbols("eta v", h=1, e=1, x=1)
    return Local(f"one client, {solver}, tau={tau}", ft.Quadratic.from_linear([[s.h]], [s.e]),
                 ft.FedAvg(s.eta, tau, SOLVERS[solver](s.v)), ft.Full(), domain=s.field, x=s.x,
                 says="a client's change is a polynomial in its own Hessian, so the scalar case decides every d")


momentum_proximal = _bias("momentum-proximal", ft.FedNova)
bias = [*(_bias(s, server) for s in SOLVERS for server in (ft.FedAvg, ft.FedNova)),
        _bias("vanilla", ft.FedAvg, n=3, taus=(1, 2, 3)), *(_bias_client(s, tau) for s in SOLVERS for tau in (1, 4, 8))]


@ft.claim(
    "bias-first-order", covers={"n": "2, 3", "tau": "(2, 3), (1, 2, 3)"}, on=bias,
    rejects=[bugs.one_step_more, bugs.normaliser_missing, bugs.decayed_step, bugs.proximal_squared],
    domain="identity modulo eta^2 for every non-commuting symmetric H_i in the plane, every e_i, x, p, alpha, rho, "
           "gamma; two clients with steps (2, 3) for all four solvers under FedAvg and FedNova, three clients with "
           "steps (1, 2, 3) for vanilla; every dimension for tau = 1, 4, 8 through the scalar client")
def bias_first_order(i):
    r"""For $H_i\succ0$ and any listed solver the fixed point is
    $\tilde x(\eta)=x_w+\eta H_w^{-1}\sum_iw_iq_iH_i\nabla F_i(x_w)+O(\eta^2)$,
    $q_i=\frac1{\|a_i\|_1}\sum_ka_{i,k}\sum_{s<k}b^{(k)}_{i,s}$, with $w_i\propto p_i\|a_i\|_1$ (FedNova: $w=p$)."""
    q = np.array([f.first_order_q(i.solver, t, i.value) for t in i.taus], dtype=object)
    tau_eff, w = f.plain_averaging(i.p, [f.norm1(a) for a in i.vectors])
    w = i.p if i.fednova else w
    M, c = i.op.mean_map()
    x, H = np.array(i.x), i.problem.H
    orders = [v.series("eta", 2) for v in (M * x).sum(-1) + c - x]  # the coded round's move at a free point x
    gradient = (H * x).sum(-1) - i.problem.b
    # round(x) - x = eta G0(x) + eta^2 G1(x) + ...; G0 vanishes at x_w, and the fixed point moves by -G0'^-1 G1(x_w) eta
    return (ft.equal([o[0] for o in orders], [0 * v for v in x], "nothing at order 0"),
            ft.equal([o[1] for o in orders], -tau_eff * f.dot(w, gradient), "order eta: -tau_eff grad F~"),
            ft.equal([o[2] for o in orders], tau_eff * f.dot(w * q, (H * gradient[:, None]).sum(-1)),
                     "order eta^2: tau_eff sum w q H grad F_i"))
