"""Theorem 1: eq 8 at its own step size, the leading-order floor, and where FedProx violates it."""
from dataclasses import replace

import numpy as np
import sympy

import fltheory as ft
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.claims import surrogate as s
from verification.fednova.claims.appendix_c import dominated
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import surrogate as J
from verification.fednova.instances import theorem1_rate as I

# ---- the explicit bound, restricted -----------------------------------------------------------------------


@ft.claim("thm1-explicit-restricted", needs=[*s._needs(False), dominated], bound=True,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing],
          on=[*J.solvers, *J.one_per_term, J.many_kinked, J.prox_alpha1, J.too_large],
          search=ft.Search((ft.Family("quadratic", families.quadratics), ft.Family("Huber", families.hubers),
                            ft.Family("logistic", families.logistics)), tries=100))
def thm1_restricted(i):
    r"""Theorem 1 with the printed $A$, $B$, $C$ and step-size cap (101) holds for every solver whose prefix
    coefficients satisfy $b^{(k)}_{i,s}\le a_{i,s}$: vanilla SGD, step decay and momentum."""
    t, bound = s.right_side(i, corrected=False)
    return ft.at_most(s.left_side(i, t), bound)


# ---- eq 8 -------------------------------------------------------------------------------------------------
def mean_steps(i):
    return ft.fraction(sum(i.taus)) / len(i.taus)


def clients(i):
    return i.extra.get("m", len(i.taus))


def eq8_terms(i, corrected):
    """Right side of eq 8 with the constants of its proof; corrected: B', C' of the prefix coefficients."""
    t, A, B, C, beta2 = s.constants(i, corrected)
    k = ft.fraction(s.kappa2(i, t, beta2))
    return c.eq8(clients(i) / i.eta, clients(i), mean_steps(i), i.rounds, t["L"], t["sigma2"], k, t["gap"],
                 t["tau_eff"], A, B, C)


def gradient_square(i):
    """(1/T) sum E|grad F~(x_t)|^2; on monotone scalar rounds an enclosure of the smallest |grad F~(x_t)|^2 instead."""
    t = J.theorem(i)
    if not i.extra.get("monotone"):
        return s.left_side(i, t)
    M, _ = i.op.mean_map()
    centre, end = ft.fraction(ft.optimum(t["target"]).x[0]), ft.fraction(i.op.fixed_point().x[0])
    start = ft.fraction(i.x0[0])
    if not (0 <= ft.fraction(M[0, 0]) < 1 and centre <= end <= start):
        return ft.Bounds(ft.fraction(0), (start - centre) ** 2 * t["L"] ** 2)
    # the coded round is x -> end + M (x - end): the iterates fall from x0 to `end` and never pass it
    slope = sum(w * ft.fraction(h[0, 0]) for w, h in zip(t["w"], i.problem.H, strict=True))
    late = end + ft.fraction(M[0, 0]) ** min(i.rounds - 1, 600) * (start - end)
    return ft.Bounds((slope * (end - centre)) ** 2, (slope * (late - centre)) ** 2)


prescribed = ft.Hypothesis("eta as prescribed", r"$\eta=\sqrt{m/(\bar\tau T)}$: $|\eta^2\bar\tau T-m|\le0$",
                           lambda i: (abs(i.eta**2 * mean_steps(i) * i.rounds - clients(i)), ft.fraction(0)))


# eq 8 fixes eta as a pure number, so it cannot pass a change of units; the explicit bound does
@ft.claim("thm1-o-as-printed", on=[*I.rate, *I.e1_members, I.too_early], needs=[prescribed, *s._needs(False)],
          finding="e1-own-eta",
          reading="Hidden constants are those of the paper's own proof; the cap (101) is the condition that T is large "
                  "enough. On the family the iterates are monotone, so the smallest squared gradient is enclosed "
                  "exactly; elsewhere the average is compared. For m above 216 a group of identical deterministic "
                  "clients is run as one client of the same total weight.",
          survives="For fixed clients and steps the missing term is O(1/T), so the slope in T survives (thm1-o-slope); "
                   "for vanilla, decay and momentum eq 8 stands (thm1-o-restricted).")
def thm1_o_as_printed(i):
    r"""For every solver with $a_{i,k}\ge0$ and $\eta=\sqrt{m/(\bar\tau T)}$, once $T$ meets (101):
    $$\min_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2\le\frac{4\Delta\,\bar\tau/\tau_{\rm eff}}{\sqrt{m\bar\tau T}}
    +\frac{4LA\sigma^2}{\sqrt{m\bar\tau T}}+\frac{6L^2mB\sigma^2}{\bar\tau T}+\frac{12L^2mC\kappa^2}{\bar\tau T}.$$
    """
    return ft.at_most(gradient_square(i), ft.Terms(**eq8_terms(i, corrected=False)))


@ft.claim("thm1-o-restricted", on=[*I.rate, I.e1_own_eta, I.too_early], needs=[prescribed, *s._needs(False), dominated],
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing],
          search=ft.Search(I.rate_families, tries=40))
def thm1_o_restricted(i):
    r"""For vanilla SGD, step decay and momentum ($b^{(k)}_{i,s}\le a_{i,s}$) and $\eta=\sqrt{m/(\bar\tau T)}$, once $T$
    meets (101):
    $$\frac1T\sum_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2
    \le\frac{4\Delta\,\bar\tau/\tau_{\rm eff}}{\sqrt{m\bar\tau T}}
    +\frac{4LA\sigma^2}{\sqrt{m\bar\tau T}}+\frac{6L^2mB\sigma^2}{\bar\tau T}+\frac{12L^2mC\kappa^2}{\bar\tau T}.$$
    """
    return ft.at_most(gradient_square(i), ft.Terms(**eq8_terms(i, corrected=False)))


@ft.claim("thm1-o-slope", on=I.slope, needs=[prescribed, *s._needs(True)],
          rejects=[bugs.uniform_weights, bugs.one_step_more], search=ft.Search(I.rate_families, tries=12))
def thm1_o_slope(i):
    r"""Fixed clients and steps, any of the four solvers, $\eta=\sqrt{m/(\bar\tau T)}$ and $T$ large enough:
    $\frac1T\sum_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2\le\frac{c_1}{\sqrt T}+\frac{c_2}T$ with $c_1$ from the first
    two terms of eq 8 as printed and $c_2$ from its last two with $B'$, $C'$: for FedProx the printed bound misses only
    a term of order $1/T$."""
    first = eq8_terms(i, corrected=True)
    later = {k: v / (2 if k in ("start", "noise") else 4) for k, v in first.items()}  # c_1/sqrt(4T) and c_2/(4T)
    eta = i.eta / 2
    longer = i.but(algorithm=replace(i.algorithm, lr=eta), eta=eta, rounds=4 * i.rounds)
    left, further = gradient_square(i), gradient_square(longer)
    legs = [ft.at_most(left, ft.Terms(**first), "T"),
            ft.at_most(further, ft.Terms(**later), "4T, with the same c_1 and c_2")]
    if i.fit:  # the exact left side itself falls by 4^s with s between 0.45 and 0.55
        legs += [ft.at_most(0, left - further * 13 / 7, "slope at least 0.45"),
                 ft.at_most(0, further * 15 / 7 - left, "slope at most 0.55")]
    return legs


# ---- the floor to leading order ---------------------------------------------------------------------------
def leading_gradient(i):
    """(grad F~ at the coded fixed point is 0 to order 0; its order 1 in eta; surrogate weights and minimiser)."""
    p = list(i.problem.weights)
    w = p if i.fednova else f.plain_averaging(p, i.taus)[1]
    centre = ft.optimum(i.problem.surrogate(w)).x
    H = sum(q * h for q, h in zip(w, i.problem.H, strict=True))
    orders = [v.series("eta", 1) for v in (H * (i.op.fixed_point().x - centre)).sum(-1)]
    reached = ft.equal([v[0] for v in orders], [0 for _ in orders], "the surrogate's minimiser as eta -> 0")
    return reached, np.array([v[1] for v in orders]), w, centre


def curved_gradients(i, at):
    """H_i grad F_i at a point, from the declared data."""
    return [(h * ((h * at).sum(-1) - b)).sum(-1) for h, b in zip(i.problem.H, i.problem.b, strict=True)]


@ft.claim("thm1-first-order-floor", covers={"n": "2", "d": "1", "tau": "all"},
          on=I.floors,
          rejects=[bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step, bugs.uniform_weights,
                   bugs.normaliser_missing],
          domain="FedAvg and FedNova, two scalar clients: every curvature, minimiser, weight and integer tau_i (induction "
                 "on the coded step); exact in eta on the listed instances, with non-commuting Hessians in the plane")
def first_order_floor(i):
    r"""Vanilla SGD, no noise: at the fixed point $\tilde x(\eta)$ of the round $\|\nabla\widetilde F(\tilde
    x(\eta))\|^2 =\frac{\eta^2}4\big\|\sum_iw_i(\tau_i-1)H_i\nabla F_i(x_w)\big\|^2+O(\eta^3)$."""
    if not i.general:
        reached, gradient, w, centre = leading_gradient(i)
        stated = sum(v * v for v in c.leading_floor_root(w, i.taus, curved_gradients(i, centre)))
        return reached, ft.equal((gradient * gradient).sum(), stated, "coded floor / eta^2 as eta -> 0")
    h, cs, t = (np.array(v, dtype=object) for v in (i.h, i.c, i.t))

    def point(z):  # where the server's coefficients p_i (1 - z_i) (FedNova: divided by tau_i) balance
        v = np.array(i.p) * (1 - np.array(z)) / (t if i.fednova else 1)
        return (v * cs).sum() / v.sum()

    def change(x):
        return lambda z: ((1 - np.array(z)) * (cs - x))[:, None]

    at = point(i.z)
    masses = np.array([[i.eta * v] for v in i.t])
    w = np.array(i.p) if i.fednova else np.array(f.plain_averaging(i.p, i.t)[1])
    centre = (w * h * cs).sum() / (w * h).sum()
    # (1 - eta h)^tau = 1 - tau eta h + tau (tau - 1)/2 eta^2 h^2 + eta^3 r with r finite as eta -> 0
    jets = [1 - k * i.eta * v + k * (k - 1) / 2 * i.eta * i.eta * v * v + i.eta * i.eta * i.eta * r
            for k, v, r in zip(i.t, i.h, i.r, strict=True)]
    gradient = ft.limit((w * h).sum() * (point(jets) - centre) / i.eta, "eta")
    stated = c.leading_floor_root(list(w), i.t, [[v * v * (centre - q)] for v, q in zip(i.h, i.c, strict=True)])
    return (ft.local_run(i, [i.x], change(i.x), i.z, 1 - i.eta * h), ft.local_mass(i, lambda k: i.eta * k, i.k),
            ft.equal(ft.server_step(i, [at], change(at)(i.z), masses), [at], "coded server step fixes this point"),
            ft.equal([gradient], stated, "gradient / eta as eta -> 0"))


@ft.claim("thm1-floor-slack", covers={"n": "all", "d": "all", "tau": "all"},
          on=I.slack, bound=True, rejects=[bugs.one_step_more, bugs.normaliser_missing],
          domain="every number of clients (Lagrange's identity is a sum over pairs), every dimension (|H g| <= L |g| "
                 "by the definition of L), all weights, integer steps and Hessians between -L and L; the leading order "
                 "is thm1-first-order-floor")
def floor_slack(i):
    r"""Vanilla SGD, no noise, to leading order in $\eta$: the floor is at most $\frac1{48}$ of the printed
    $12\eta^2L^2\kappa^2C$, and at most $\frac1{192}$ of it for unit Hessians, which steps $(1,M)$ with equal weights
    approach as $M\to\infty$."""
    if i.chain:
        return _slack_chain(i)
    reached, gradient, w, _ = leading_gradient(i)
    floor = ft.fraction(str((gradient * gradient).sum()))
    kappa2, longest = i.problem.dissimilarity(w, 100), max(i.taus)
    L = ft.fraction(i.constants.L)
    printed = c.printed_floor(L, ft.fraction(kappa2), longest * (longest - 1))
    legs = [reached, ft.at_most(floor, ft.Terms(printed=printed / (192 if i.unit else 48)),
                                "leading floor against the printed one")]
    if "M" in i.extra:
        legs.append(ft.equal(floor / printed, ft.fraction(i.M - 1) / (192 * i.M),
                             "steps (1, M): exactly (M - 1)/(192 M)"))
    return legs


def _slack_chain(i):
    w, u = (i.w1, i.w2, i.w3), (i.u1, i.u2, i.u3)
    mean, total = sum((a * b for a, b in zip(w[1:], u[1:], strict=True)), w[0] * u[0]), w[0] + w[1] + w[2]
    square = sum((a * b * b for a, b in zip(w[1:], u[1:], strict=True)), w[0] * u[0] * u[0])
    pairs = sum(w[j] * w[k] * (u[j] - u[k]) * (u[j] - u[k]) for j, k in ((0, 1), (0, 2), (1, 2)))
    L, h = (i.above + i.below) / 2, (i.above - i.below) / 2  # L - h = below, L + h = above, both >= 0
    steps, longest = i.s, i.s + i.more                       # tau_i - 1 and tau_max - 1
    centred = (i.more - i.s) / 2                             # tau_i - c, tau_i - tau_min = s, tau_max - tau_i = more
    unit = ft.fraction("1/4") * longest * longest / 4           # (1/4) ((tau_max - 1)/2)^2, since tau_min >= 1
    each = (i.s, i.more, i.above)                            # the steps of three clients
    off_centre = sum(a * (t - i.M) * b for a, t, b in zip(w, each, u, strict=True))
    return (ft.equal(total * square - mean * mean, pairs, "Lagrange: |sum w u|^2 <= sum w |u|^2"),
            ft.nonnegative((longest * L) * (longest * L) - (steps * h) * (steps * h),
                           "each |(tau_i - 1) H_i g_i| <= (tau_max - 1) L |g_i|"),
            ft.nonnegative(12 * (1 + longest) * longest / 48 - longest * longest / 4, "(tau_max - 1)^2/4 <= 12 C/48"),
            ft.equal(off_centre + i.M * mean, sum(a * t * b for a, t, b in zip(w, each, u, strict=True)),
                     "sum w g = 0 at x_w, so the steps may be centred anywhere"),
            ft.nonnegative((longest / 2) * (longest / 2) - centred * centred, "|tau_i - c| <= (tau_max - tau_min)/2"),
            ft.nonnegative(12 * (1 + longest) * longest / 192 - unit, "unit Hessians: 12 C/192"),
            ft.equal(ft.limit((1 / i.M - 1) / (192 / i.M), "M"), ft.fraction("1/192"), "steps (1, 1/M) as M -> 0"))


# ---- E1's threshold ---------------------------------------------------------------------------------------
ROOT = ft.fraction("0.9748"), ft.fraction("0.9749")  # the only root lies between these


@ft.claim("e1-threshold", on=I.threshold, rejects=[bugs.one_step_more, bugs.proximal_missing, bugs.proximal_squared],
          domain="every alpha in [0, 1] on this instance (Sturm's theorem), the root in (0.9748, 0.9749)")
def e1_threshold(i):
    r"""$F_{1,2}=\frac12(x\mp1)^2$, $p=\frac12$, steps $(1,2)$, $\eta=\frac14$: the printed floor $12\eta^2L^2\kappa^2C$
    of FedProx is violated exactly for $\alpha$ above the one root near $0.9748$ of
    $\frac1{(3-\alpha-\eta)^2}=12(2-\alpha)^2(1-\alpha)$ in $[0,1]$."""
    x = i.op.fixed_point().x[0]
    norms = [1, 2 - i.alpha]
    w = f.plain_averaging([ft.fraction("1/2")] * 2, norms)[1]
    floor = (x - (w[0] - w[1])) * (x - (w[0] - w[1]))
    printed = c.printed_floor(1, 4 * w[0] * w[1], norms[1] * (norms[1] - 1)) * i.eta**2
    excess = ft.equal(floor - printed, c.e1_floor(i.alpha, i.eta) * c.e1_threshold(i.alpha, i.eta),
                      "coded floor minus the printed one")
    if "solver" in i.extra:
        _, bound = s.right_side(i, corrected=False)
        return (excess, ft.equal(bound.total, printed, "the printed right side for T to infinity"),
                ft.equivalent((floor > bound.total, (bound.total, floor)), (i.alpha > ROOT[0], (ROOT[0], i.alpha)),
                              "violated exactly above the root"))
    a = sympy.Symbol("alpha")
    polynomial = sympy.Poly(c.e1_threshold(a, sympy.Rational(1, 4)), a)
    counts = [int(polynomial.count_roots(*(sympy.Rational(v.numerator, v.denominator) for v in ends)))
              for ends in ((ft.fraction(0), ft.fraction(1)), ROOT)]
    return (excess, *(ft.equal(n, 1, f"roots in {where} (Sturm)")
                      for n, where in zip(counts, ("[0, 1]", "[0.9748, 0.9749]"), strict=True)),
            ft.at_most(0, -c.e1_threshold(ft.fraction(0), i.eta), "not violated at alpha = 0", strict=True),
            ft.at_most(0, c.e1_threshold(ft.fraction(1), i.eta), "violated at alpha = 1", strict=True))
