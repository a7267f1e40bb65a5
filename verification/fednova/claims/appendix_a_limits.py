"""Section 3 and Appendix A: limits in the step size, fixed-step bias; exact constants of Assumption 3."""
import itertools

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims.appendix_a import coded_step, dot, eq17_21
from verification.fednova.claims.quadratics import unit_change, unit_run
from verification.fednova.formulas import appendix_a as fa
from verification.fednova.instances import appendix_a as I

# ---- the small-step limit ---------------------------------------------------------------------------------


def step_size(i, t):
    """eta_t = (1/5) (1 + t/100)^(-exponent)."""
    return 0.2 * (1 + 0.01 * t) ** -float(i.exponent)


@ft.claim("lem1-decaying", on=I.decaying, rejects=[bugs.one_step_more, bugs.decayed_step],
          needs=[ft.Hypothesis("step tends to 0", r"$\eta_t\propto(1+t/100)^{-r}$ with $r>0$",
                               lambda i: (0, i.exponent),
                               strict=True),
                 ft.Hypothesis("infinite sum", r"$r\le1$", lambda i: (i.exponent, 1))])
def lem1_decaying(i):
    r"""Unit Hessians, uniform $p$, $\eta_t\to0$ with $\sum_t\eta_t=\infty$: FedAvg converges to Lemma 1's
    $\sum_i\tau_ie_i/\sum_i\tau_i$. Checked: the distance follows the step size down, within twice the first-order bias
    at $\eta_t$."""
    M, c = i.op.mean_map()  # the coded round as polynomials in eta
    slope, offset = ([float(ft.fraction(str(v))) for v in series.series("eta", max(i.taus))] for series in (M[0, 0], c[0]))
    t = np.arange(i.rounds)
    factors, pushes = (np.polynomial.polynomial.polyval(step_size(i, t), v) for v in (slope, offset))
    target = float(f.eq30(i.e, i.taus)[0])
    bias = abs(sum(tau * (tau - 1) / 2 * (target - float(e[0]))
                   for tau, e in zip(i.taus, i.e, strict=True))) / sum(i.taus)
    x, legs, stops = 0.0, [], [0, i.rounds // 100, i.rounds // 10, i.rounds]
    for begin, end in itertools.pairwise(stops):
        for a, b in zip(factors[begin:end].tolist(), pushes[begin:end].tolist(), strict=True):
            x = a * x + b
        legs.append(ft.at_most(abs(x - target), 2 * bias * float(step_size(i, end)), f"round {end}"))
    return legs + ([ft.equal(round(x, 4), float(i.digits), f"after {i.rounds} rounds")] if i.digits else [])


@ft.claim("bias-limit-general", covers={"n": "2, 3", "d": "1", "tau": "all"},
          on=I.limits,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing, bugs.decayed_step,
                   bugs.proximal_squared, bugs.dampened_momentum],
          domain="scalar H: n = 2 and 3, every h_i, e_i and p, all four solvers with any alpha, gamma, rho, every "
                 "integer tau_i by induction on the coded step modulo eta^2, FedAvg and FedNova; three non-commuting "
                 "Hessians in the plane with tau = (1,2,3), value 1/2")
def bias_limit_general(i):
    r"""$H_i\succ0$, any listed solver with fixed $\alpha,\rho,\gamma$: as $\eta\to0$ the fixed point tends to
    $x_w=\big(\sum_iw_iH_i\big)^{-1}\sum_iw_ie_i$ with $w_i\propto p_i\|a_i\|_1$ (FedNova: $w=p$)."""
    if i.form == "run":
        norms = [f.norm1(f.a_vector(i.solver, t, i.value)) for t in i.taus]
        w = i.p if i.fednova else f.plain_averaging(i.p, norms)[1]
        stated = fa.surrogate_point(i.problem.H, i.problem.b, np.array(w, dtype=object))
        return ft.equal(ft.limit(i.op.fixed_point().x, "eta"), stated, "limit of the coded fixed point")
    if i.form == "server":
        g = [h * i.x - e for h, e in zip(i.h, i.e, strict=True)]
        change = np.array([[-i.eta * s * v + i.eta * i.eta * r] for s, v, r in zip(i.s, g, i.r, strict=True)])
        move = ft.server_step(i, [i.x], change, np.array([[i.eta * s] for s in i.s]))[0] - i.x
        tau_eff, w = f.plain_averaging(i.p, i.s)
        w = i.p if i.fednova else w
        surrogate = dot(w, g)
        orders = move.series("eta", 1)
        return (ft.equal(orders[0], 0, "nothing at order 0"),
                ft.equal(orders[1], -tau_eff * surrogate, "order eta: -tau_eff grad F~, which vanishes at x_w only"))

    # the displacement after k coded steps is -eta |a|_1 g + O(eta^2), with a free remainder r; the buffer likewise (q)
    g = i.h * i.x - i.e
    S, factor = (lambda z, k: fa.norm1(i.solver, i.value, z, k)), fa.shrinking(i.solver, i.value)

    def buffer(z):
        return {"momentum": (1 - z) / (1 - i.value) * g + i.eta * i.q, "decay": z + 0 * i.q}.get(i.solver, 0 * i.q)
    after, kept = coded_step(i, [i.x - i.eta * S(i.z, i.k) * g + i.eta * i.eta * i.r], [i.x], np.array([[buffer(i.z)]]))
    start = i.algorithm.to(i.domain).solver.start(np.array([[i.x]]))[0, 0]
    one, zero = 0 * i.z + 1, 0 * i.z
    return ft.induction(base=[(S(one, zero), zero), (start, buffer(one).series("eta", 0)[0])],
                        step=[(after[0].series("eta", 1), [i.x, -S(i.z * factor, i.k + 1) * g]),
                              (kept[0, 0].series("eta", 0)[0], buffer(i.z * factor).series("eta", 0)[0])],
                        label="displacement -eta |a|_1 (h x - e) modulo eta^2")


# ---- R1, R3 -----------------------------------------------------------------------------------------------


@ft.claim("r1-equal-bias", covers={"tau": "all"},
          on=I.equal_bias, rejects=[bugs.normaliser_missing, bugs.one_step_more, bugs.decayed_step],
          domain="every 0 < eta <= 1 and integer t >= 2 (general t by induction on the coded step); both coded fixed "
                 "points for t = 4, 9")
def r1_equal_bias(i):
    r"""$F_{1,2}=\frac12(x\mp1)^2$, $p=\frac12$, $\tau=(1,t)$: FedNova and FedAvg have equal $|$bias$|$ at the one
    $0<\eta<1$ with $1-(1-\eta)^t=\eta\sqrt t$; above it, up to $\eta=1$, FedNova's is larger, below it FedAvg's."""
    if not i.general:
        nova, plain = (abs(ft.fraction(v.op.fixed_point().x[0])) for v in (i, i.but(algorithm=i.plain)))
        kappa = 1 - (1 - i.eta) ** i.t
        return (ft.equal(nova, abs(fa.fednova_bias(i.eta, 1 - kappa, i.t)), "FedNova"),
                ft.equal(plain, abs(fa.fedavg_bias(i.eta, 1 - kappa)), "FedAvg"),
                ft.equivalent((plain < nova, (plain, nova)), (kappa**2 < i.eta**2 * i.t, (kappa**2, i.eta**2 * i.t)),
                              "FedNova is worse"))
    z, t, eta = i.z[1], i.t, i.eta
    plain, nova = fa.fedavg_bias(eta, z), fa.fednova_bias(eta, z, t)
    point = nova if i.fednova else 0 * eta - plain
    mass = np.array([[eta], [eta * t]])
    coded = ft.server_step(i, [point], unit_change(i, [point])(np.array(i.z)), mass)[0]
    kappa = 1 - z
    # ratio R_t = kappa/eta = sum_{j<t} x^j with x = 1 - eta in [0, 1): from t down to 1, so it meets sqrt(t) once
    x, power = 1 - eta, i.a
    return (unit_run(i, [i.x]), ft.local_mass(i, lambda k: i.eta * k, i.k),
            ft.equal(coded, point, "coded server step fixes the stated point"),
            ft.equal(nova - plain, 2 * (t * eta * eta - kappa * kappa) / ((t * eta + kappa) * (eta + kappa)),
                     "|FedNova| - |FedAvg| has the sign of t eta^2 - kappa^2"),
            ft.induction(base=[((1 - x) / (1 - x), 0 * x + 1)],
                         step=[((1 - power * x) / (1 - x) - (1 - power) / (1 - x), power)],
                         label="kappa/eta grows by (1 - eta)^t in [0, 1]: both biases are non-negative as stated",
                         over="t"),
            ft.induction(base=[(_ratio_slope(x, 1, x), 0 * x)],
                         step=[(_ratio_slope(power * x, i.k + 1, x) - _ratio_slope(power, i.k, x), i.k * power / x)],
                         label="its slope in 1 - eta grows by t (1 - eta)^(t-1) >= 0: one crossing", over="t"))


def _ratio_slope(power, k, x):
    """d/dx of (1 - x^k)/(1 - x), power = x^k."""
    return (-k * power / x * (1 - x) + (1 - power)) / ((1 - x) * (1 - x))


@ft.claim("r3-fixed-mu", covers={"tau": "all"},
          on=I.fixed_mu, rejects=[bugs.one_step_more, bugs.uniform_weights, bugs.unscaled_proximal],
          domain="scalar Hessians: n = 2 and 3, every h_i, e_i, p and mu, every integer tau_i by induction on the "
                 "coded step with powers as jets; the whole coded round for tau = (1,3), (2,3), with fixed mu and with "
                 "fixed alpha")
def r3_fixed_mu(i):
    r"""FedProx with fixed $\mu$ and $\eta\to0$: the fixed point tends to FedAvg's $x_w$ with $w_i\propto p_i\tau_i$,
    whatever $\mu$. With fixed $\alpha=\eta\mu$ the weights are those of eq (7),
    $w_i\propto p_i[1-(1-\alpha)^{\tau_i}]$."""
    if i.form == "scalar":
        # (1 - eta mu - eta h)^tau = 1 - tau eta (mu + h) + eta^2 r with r finite as eta -> 0
        z = np.array([1 - t * i.eta * (i.mu + h) + i.eta * i.eta * r for t, h, r in zip(i.t, i.h, i.r, strict=True)])
        K = fa.scalar_K(np.array(i.h), i.mu, z)
        move = ft.server_step(i, i.x, (K * (np.array(i.e) - np.array(i.h) * i.x[0]))[:, None])[0] - i.x[0]
        tau_eff, w = f.plain_averaging(i.p, i.t)
        surrogate = dot(w, [h * i.x[0] - e for h, e in zip(i.h, i.e, strict=True)])
        return eq17_21.body(i), ft.equal(move.series("eta", 1), [0, -tau_eff * surrogate],
                                         "order eta: FedAvg's -E_p tau grad F~, free of mu")
    norms = i.taus if i.form == "mu" else [f.proximal_norm1(i.alpha, (1 - i.alpha) ** t) for t in i.taus]
    _, w = f.plain_averaging(i.p, norms)
    top, bottom = dot(w, i.e), dot(w, i.h)
    legs = [ft.equal(ft.limit(i.op.fixed_point().x, "eta"), [top / bottom], "limit of the coded fixed point")]
    if i.form == "alpha":
        gain = f.chi2(i.p, f.plain_averaging(i.p, i.taus)[1]) - f.chi2(i.p, w)
        gain = gain.substitute(a=1 / (1 + i.y), p0=i.u[0] / (i.u[0] + i.u[1]))
        legs.append(ft.nonnegative(gain, "chi-square of p against w is smaller than FedAvg's, alpha = 1/(1 + y)"))
    return legs


# ---- Assumption 3 -----------------------------------------------------------------------------------------


@ft.claim("beta-kappa-common", covers={"tau": "none"},
          on=I.common_hessian,
          domain="n = 2 and 3, d = 1 and 2, every common H, xi_i and w, identically in x (so no smaller kappa^2 at "
                 "beta^2 = 1)")
def beta_kappa_common(i):
    r"""$H_i=H$ for all $i$: $\sum_iw_i\|\nabla F_i(x)\|^2=\|\sum_iw_i\nabla F_i(x)\|^2+\kappa^2$ for every $x$, with
    $\kappa^2=\sum_iw_i\|H(\xi_i-\bar\xi_w)\|^2$: Assumption 3 holds with $\beta^2=1$ and exactly this $\kappa^2$."""
    problem = i.problem.to(i.domain)
    g = problem.grad(np.stack([i.x] * problem.n))
    total = problem.gradient(i.x)
    return ft.equal(sum(w * (v * v).sum() for w, v in zip(i.w, g, strict=True)),
                    ft.Terms(mean=(total * total).sum(), kappa2=fa.kappa2_common(i.H, i.xi, i.w)), "sum w |grad F_i|^2")


_usable = ft.Hypothesis("usable beta^2", r"$P=\beta^2H_w^2-\sum_iw_iH_i^2\succ0$",
                        lambda i: (0, ft.linalg.smallest_eigenvalue_bound(fa.excess_matrix(i.problem.H, i.w, i.beta2))),
                        strict=True)


@ft.claim("beta-kappa-general", on=I.general_hessians, needs=[_usable],
          domain="the listed problems, weights and beta^2, exactly and for every x")
def beta_kappa_general(i):
    r"""If $P=\beta^2H_w^2-\sum_iw_iH_i^2\succ0$, the smallest $\kappa^2$ of Assumption 3 is the maximum of the concave
    quadratic $\sum_iw_i\|H_ix-e_i\|^2-\beta^2\|H_wx-e_w\|^2$, attained at $x=P^{-1}(\beta^2H_we_w-\sum_iw_iH_ie_i)$.
    """
    H, e = i.problem.H, i.problem.b
    x, P = fa.worst_point(H, e, i.w, i.beta2), fa.excess_matrix(H, i.w, i.beta2)
    parts = fa.excess(H, e, i.w, i.beta2, x)
    v = np.array(ft.Field(" ".join(f"v{k}" for k in range(len(x)))).symbols)
    problem = i.problem.surrogate(i.w).to(ft.RATIONAL)
    y = problem.domain.array(x)
    g, total = problem.grad(np.stack([y] * problem.n)), problem.gradient(y)
    coded = sum(w * (u * u).sum() for w,
                u in zip(problem.p, g, strict=True)) - problem.domain.scalar(i.beta2) * (total * total).sum()
    return (ft.equal(coded, ft.Terms(**parts), "from the problem's own gradients at the stated point"),
            ft.equal(i.problem.dissimilarity(i.w, i.beta2), sum(parts.values()), "the engine's kappa^2"),
            ft.equal(sum(fa.excess(H, e, i.w, i.beta2, x + v).values()),
                     sum(parts.values()) - (v * fa.times(P, v)).sum(),
                     "value at x + v is the maximum minus v'Pv"))
