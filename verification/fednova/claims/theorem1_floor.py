"""Theorem 1: its floor to leading order in the step, and where FedProx violates the printed one."""
import numpy as np
import sympy

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova import over
from verification.fednova.claims import surrogate as s
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import Local, Symbols, plane, scalar, surrogate, two_clients


# ---- the floor to leading order ---------------------------------------------------------------------------
def leading_gradient(i):
    """(grad F~ at the coded fixed point is 0 to order 0; its order 1 in eta; surrogate weights and minimiser)."""
    w = i.p if i.fednova else f.plain_averaging(i.p, i.taus)[1]
    centre = ft.optimum(i.problem.surrogate(w)).x
    H = f.dot(w, i.problem.H)
    orders = [v.series("eta", 1) for v in (H * (i.op.fixed_point().x - centre)).sum(-1)]
    reached = ft.equal([v[0] for v in orders], [0 for _ in orders], "the surrogate's minimiser as eta -> 0")
    return reached, np.array([v[1] for v in orders]), w, centre


def curved_gradients(i, at):
    """H_i grad F_i at a point, from the declared data."""
    return [(h * ((h * at).sum(-1) - b)).sum(-1) for h, b in zip(i.problem.H, i.problem.b, strict=True)]


# ---- the floor to leading order ---------------------------------------------------------------------------
def _floor_symbolic(n, server):
    s = Symbols("eta k x", h=n, c=n, t=n, z=n, r=n, p=n)
    problem = ft.Quadratic([[[v]] for v in s.h], [[v] for v in s.c], s.weights(n))
    return Local(f"{server.__name__}, n={n}, general tau", problem, server(s.eta, 1), ft.Full(), domain=s.field,
                 general=True, **s.these("k x h c t z r"), says="any curvatures, minimisers, weights and integers tau_i")


def floor(name, problem, taus, server=ft.FedAvg, says=""):
    """Rational data, eta a symbol: the fixed point as an exact function of eta."""
    s = Symbols("eta")
    return Local(name, problem, server(s.eta, tuple(taus)), ft.Full(), domain=s.field, general=False, chain=False,
                 unit=None, units=False, says=says)


floors = [_floor_symbolic(2, ft.FedAvg), _floor_symbolic(2, ft.FedNova), floor("plane", plane(), (1, 2, 4)),
          floor("plane, FedNova", plane(), (1, 2, 4), ft.FedNova),
          floor("skewed weights", scalar([1, 3], [1, -1], ["9/10", "1/10"]), (2, 6))]


@ft.claim("thm1-first-order-floor", covers={"n": "2", "d": "1", "tau": "all"},
          on=floors,
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


def _chain():
    """Symbols >= 0 for the inequalities behind the slack: weights, L - h, L + h, tau_i - 1, tau_max - tau_i."""
    s = Symbols("below above s more M", w=3, u=3)
    return ft.Instance("every n", domain=s.field, chain=True, **s.these("w u below above s more M"),
                       says="weights, products (tau_i - 1) h_i g_i, curvatures between -L and L, steps")


slack = [_chain(), *(floor(f"steps (1,{M}), FedNova", two_clients(), (1, M), ft.FedNova).but(M=M, unit=True)
                     for M in (2, 5, 12)),
         floor("plane", plane(), (1, 2, 4)), floor("plane, FedNova", plane(), (1, 2, 4), ft.FedNova),
         floor("unit Hessians, three clients", scalar([1, 1, 1], [0, 1, 5]), (2, 3, 7)).but(unit=True),
         floor("one concave client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), (2, 3))]


@ft.claim("thm1-floor-slack", covers={"n": "2", "d": "1", "tau": "all"},
          on=slack, bound=True, rejects=[bugs.one_step_more, bugs.normaliser_missing],
          domain="that the floor has this leading order is thm1-first-order-floor: two scalar quadratics with every number a "
                 "symbol, and the listed instances. Between the two formulas the inequality holds for every number of clients "
                 "(Lagrange's identity is a sum over pairs), every dimension (|H g| <= L |g| by the definition of L), all "
                 "weights, integer steps and Hessians between -L and L")
def floor_slack(i):
    r"""Quadratics, vanilla SGD, no noise, to leading order in $\eta$: the floor
    $\frac{\eta^2}4\big\|\sum_iw_i(\tau_i-1)H_i\nabla F_i(x_w)\big\|^2$ (thm1-first-order-floor) is at most $\frac1{48}$ of the
    printed $12\eta^2L^2\kappa^2C$, and at most $\frac1{192}$ of it for unit Hessians, which steps $(1,M)$ with equal weights
    approach as $M\to\infty$."""
    if i.chain:
        return _slack_chain(i)
    reached, gradient, w, _ = leading_gradient(i)
    floor = ft.fraction(str((gradient * gradient).sum()))
    kappa2, longest = i.problem.dissimilarity(w, 100), max(i.taus)
    printed = c.printed_floor(i.L, ft.fraction(kappa2), longest * (longest - 1))
    legs = [reached, ft.at_most(floor, ft.Terms(printed=printed / (192 if i.unit else 48)),
                                "leading floor against the printed one")]
    if "M" in i.extra:
        legs.append(ft.equal(floor / printed, ft.fraction(i.M - 1) / (192 * i.M),
                             "steps (1, M): exactly (M - 1)/(192 M)"))
    return legs


def _slack_chain(i):
    w, u, total = i.w, i.u, sum(i.w)
    mean = f.dot(w, u)
    square = sum(a * b * b for a, b in zip(w, u, strict=True))
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
any_alpha = Symbols("alpha")


@ft.claim("e1-threshold", rejects=[bugs.one_step_more, bugs.proximal_missing, bugs.proximal_squared],
          on=[surrogate("every alpha in [0, 1]", two_clients(), (1, 2), "1/4", "proximal", any_alpha.alpha,
                        says="alpha is a symbol; the number of roots by Sturm's theorem").but(domain=any_alpha.field),
              *(surrogate(f"alpha={a}", two_clients(), (1, 2), "1/4", "proximal", a)
                for a in ("17/20", "97/100", "9748/10000", "9749/10000", "98/100", "1"))],
          domain="every alpha in [0, 1] on this instance (Sturm's theorem), the root in (0.9748, 0.9749)")
def e1_threshold(i):
    r"""$F_{1,2}=\frac12(x\mp1)^2$, $p=\frac12$, steps $(1,2)$, $\eta=\frac14$: the printed floor $12\eta^2L^2\kappa^2C$
    of FedProx is violated exactly for $\alpha$ above the one root near $0.9748$ of
    $\frac1{(3-\alpha-\eta)^2}=12(2-\alpha)^2(1-\alpha)$ in $[0,1]$."""
    x, alpha = i.op.fixed_point().x[0], i.value
    norms = [1, 2 - alpha]
    w = f.plain_averaging([ft.fraction("1/2")] * 2, norms)[1]
    floor = (x - (w[0] - w[1])) * (x - (w[0] - w[1]))
    printed = c.printed_floor(1, 4 * w[0] * w[1], norms[1] * (norms[1] - 1)) * i.eta**2
    excess = ft.equal(floor - printed, c.e1_floor(alpha, i.eta) * c.e1_threshold(alpha, i.eta),
                      "coded floor minus the printed one")
    if i.domain is ft.RATIONAL:
        _, bound = s.right_side(i, corrected=False)
        return (excess, ft.equal(bound.total, printed, "the printed right side for T to infinity"),
                ft.equivalent((floor > bound.total, (bound.total, floor)), (alpha > ROOT[0], (ROOT[0], alpha)),
                              "violated exactly above the root"))
    a = sympy.Symbol("alpha")
    polynomial = sympy.Poly(c.e1_threshold(a, sympy.Rational(1, 4)), a)
    counts = [int(polynomial.count_roots(*(sympy.Rational(v.numerator, v.denominator) for v in ends)))
              for ends in ((ft.fraction(0), ft.fraction(1)), ROOT)]
    return (excess, *(ft.equal(n, 1, f"roots in {where} (Sturm)")
                      for n, where in zip(counts, ("[0, 1]", "[0.9748, 0.9749]"), strict=True)),
            ft.at_most(0, -c.e1_threshold(ft.fraction(0), i.eta), "not violated at alpha = 0", strict=True),
            ft.at_most(0, c.e1_threshold(ft.fraction(1), i.eta), "violated at alpha = 1", strict=True))


# ---- the edge in alpha, for several numbers of steps --------------------------------------------------------
def edge(taus, alpha, h, eta, p=None):
    """Clients (h_i x^2/2 - e_i x) with e = (.., 1, -1): nearly opposite curvatures, so that the surrogate objective is flat."""
    e = [0] * (len(h) - 2) + [1, -1]
    problem = ft.Quadratic.from_linear([[[v]] for v in h], [[v] for v in e], p)
    return surrogate(f"tau={taus}, alpha={alpha}", problem, taus, eta, "proximal", alpha, says="rounds without end")


edges = [edge((2, 2), "927/1000", (1, "-199/200"), "3/10000"),
         *(edge((tau, tau), "906/1000", (1, "-199/200"), "27/100000") for tau in (5, 10, 20)),
         edge((5, 1), "979/1000", (1, "-9/10"), "9/2500"),
         edge((1, 5, 5), "91/100", (1, 1, "-199/200"), "27/100000", ("1/1000", "999/2000", "999/2000"))]
below_edges = [over.setting(("proximal", ft.fraction(alpha)), taus, ft.fraction("1/10"))
               for taus, alpha in (((2, 2), "9/10"), ((5, 5), "87/100"), ((5, 1), "93/100"))]


@ft.claim("e1-edge", on=edges, needs=s.needs(False), rejects=[bugs.proximal_missing], covers={"alpha": "87/100, 9/10, 93/100"},
          over=below_edges, certify=lambda i: s.theorem1_over(i, False),
          domain="the listed quadratics exactly; the settings, two clients at eta = 1/10 with alpha = .9, .87 and .93, for all "
                 "smooth functions")
def e1_edge(i):
    r"""Where FedProx violates the printed bound of Theorem 1: for $T\to\infty$ its floor $12\eta^2L^2\kappa^2C$ is exceeded by two
    nearly opposite quadratics at $\alpha=.927$ for steps $(2,2)$, $.906$ for $(5,5)$, $(10,10)$ and $(20,20)$, $.979$ for
    $(5,1)$; with a third client of little weight $.91$ for $(1,5,5)$. The one-round inequality behind the bound is certified at
    $\alpha=.9$, $.87$ and $.93$ for $(2,2)$, $(5,5)$, $(5,1)$ and $\eta=\frac1{10}$."""
    t, bound = s.right_side(i, corrected=False)
    return ft.at_most(bound.total, s.left_side(i, t), "the printed right side is below the left one", strict=True)
