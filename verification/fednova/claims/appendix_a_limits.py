"""Section 3, Appendix A and Assumption 3: limits of the fixed point, its bias, and exact dissimilarity constants."""
import itertools
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims.appendix_a import coded_step, scalar_change, scalar_clients, scalar_data, scalar_run
from verification.fednova.claims.quadratics import unit_change, unit_run
from verification.fednova.formulas import appendix_a as fa
from verification.fednova.instances import SOLVERS, Local, Symbols, free_clients, plane, scalar, symmetric, two_clients


# ---- lem1 under a decaying step ---------------------------------------------------------------------------
def step_size(i, t):
    """eta_t = (1/5) (1 + t/100)^(-exponent)."""
    return 0.2 * (1 + 0.01 * t) ** -float(i.exponent)


def _decaying(name, e, taus, exponent, rounds=100_000, says="", digits=None):
    """Unit Hessians, uniform p, x_0 = 0; the round is coded once, for symbolic eta."""
    s = Symbols("eta")
    return ft.Instance(name, scalar([1] * len(taus), e), ft.FedAvg(s.eta, taus), ft.Full(), domain=s.field,
                       exponent=ft.fraction(exponent), rounds=rounds, digits=digits, says=says)


@ft.claim("lem1-decaying", rejects=[bugs.one_step_more, bugs.decayed_step],
          on=[_decaying("tau=(1,10), exponent 0.7", [0, 1], (1, 10), "7/10", 400_000, "400,000 rounds from x = 0", "0.9089"),
              _decaying("tau=(2,3,7), exponent 1/2", [0, 1, 5], (2, 3, 7), "1/2"),
              _decaying("tau=(1,10), exponent 1", [0, 1], (1, 10), 1),
              _decaying("summable steps", [0, 1], (1, 10), 2, 1000,
                        "the steps sum to a finite number: the run stops short"),
              _decaying("constant step", [0, 1], (1, 10), 0, 1000)],
          needs=[ft.Hypothesis("step tends to 0", r"$\eta_t\propto(1+t/100)^{-r}$ with $r>0$",
                               lambda i: (0, i.exponent), strict=True),
                 ft.Hypothesis("infinite sum", r"$r\le1$", lambda i: (i.exponent, 1))])
def lem1_decaying(i):
    r"""Unit Hessians, uniform $p$, $\eta_t\to0$ with $\sum_t\eta_t=\infty$: FedAvg converges to Lemma 1's
    $\sum_i\tau_ie_i/\sum_i\tau_i$. Checked: the distance follows the step size down, within twice the first-order bias
    at $\eta_t$."""
    M, c = i.op.mean_map()  # the coded round as polynomials in eta
    maps = ([float(ft.fraction(str(v))) for v in series.series("eta", max(i.taus))] for series in (M[0, 0], c[0]))
    factors, pushes = (np.polynomial.polynomial.polyval(step_size(i, np.arange(i.rounds)), v) for v in maps)
    target = float(f.eq30(i.problem.b, i.taus)[0])
    bias = abs(sum(t * (t - 1) / 2 * (target - float(e[0])) for t, e in zip(i.taus, i.problem.b, strict=True))) / sum(i.taus)
    x, legs = 0.0, []
    for begin, end in itertools.pairwise([0, i.rounds // 100, i.rounds // 10, i.rounds]):
        for a, b in zip(factors[begin:end].tolist(), pushes[begin:end].tolist(), strict=True):
            x = a * x + b
        legs.append(ft.at_most(abs(x - target), 2 * bias * float(step_size(i, end)), f"round {end}"))
    return legs + ([ft.equal(round(x, 4), float(i.digits), f"after {i.rounds} rounds")] if i.digits else [])


# ---- limit of the fixed point -----------------------------------------------------------------------------
def _solver_run(solver):
    s = Symbols("eta v z k x r q", h=1, e=1)
    return Local(f"{solver}, general tau", ft.Quadratic.from_linear([[s.h]], [s.e]),
                 ft.FedAvg(s.eta, 1, SOLVERS[solver](s.v)), ft.Full(), domain=s.field, form="client",
                 says="one client with any h, e, x; any integer tau", **s.these("z k x r q"))


def _server_limit(n, server):
    s = Symbols("eta x", p=n, h=n, e=n, s=n, r=n)
    return Local(f"{server.__name__}, n={n}, general tau", free_clients(s, n), server(s.eta, 1), ft.Full(),
                 domain=s.field, form="server", says="any norms |a_i|_1, h_i, e_i and p", **s.these("x s r"))


def _matrix_limit(solver, server):
    s = Symbols("eta")
    return Local(f"{server.__name__}, {solver}, d=2", plane(), server(s.eta, (1, 2, 3), SOLVERS[solver](Fraction(1, 2))),
                 ft.Full(), domain=s.field, form="run", illustrates=True, says="non-commuting Hessians, unequal p, "
                 "tau=(1,2,3): the fixed point as a rational function of eta")


@ft.claim("bias-limit-general", covers={"n": "2, 3", "d": "1", "tau": "all"},
          on=[*(_matrix_limit(v, server) for v in SOLVERS for server in (ft.FedAvg, ft.FedNova)),
              *(_solver_run(v) for v in SOLVERS),
              *(_server_limit(n, server) for n in (2, 3) for server in (ft.FedAvg, ft.FedNova))],
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing, bugs.decayed_step,
                   bugs.proximal_squared, bugs.dampened_momentum],
          domain="scalar H: n = 2 and 3, every h_i, e_i and p, all four solvers with any alpha, gamma, rho, every "
                 "integer tau_i by induction on the coded step modulo eta^2, FedAvg and FedNova; three non-commuting "
                 "Hessians in the plane with tau = (1,2,3), value 1/2")
def bias_limit_general(i):
    r"""$H_i\succ0$, any listed solver with fixed $\alpha,\rho,\gamma$: as $\eta\to0$ the fixed point tends to
    $x_w=\big(\sum_iw_iH_i\big)^{-1}\sum_iw_ie_i$ with $w_i\propto p_i\|a_i\|_1$ (FedNova: $w=p$)."""
    if i.form == "client":
        return _client_limit(i)
    tau_eff, w = f.plain_averaging(i.p, i.s if i.form == "server" else [f.norm1(a) for a in i.vectors])
    w = i.p if i.fednova else w
    if i.form == "run":
        stated = fa.surrogate_point(i.problem.H, i.problem.b, np.array(w, dtype=object))
        return ft.equal(ft.limit(i.op.fixed_point().x, "eta"), stated, "limit of the coded fixed point")
    h, e = scalar_data(i)
    change = np.array([[-i.eta * s * g + i.eta * i.eta * r] for s, g, r in zip(i.s, h * i.x - e, i.r, strict=True)])
    move = ft.server_step(i, [i.x], change, np.array([[i.eta * s] for s in i.s]))[0] - i.x
    orders = move.series("eta", 1)
    return (ft.equal(orders[0], 0, "nothing at order 0"),
            ft.equal(orders[1], -tau_eff * f.dot(w, h * i.x - e), "order eta: -tau_eff grad F~, which vanishes at x_w only"))


def _client_limit(i):
    """The displacement after k coded steps is -eta |a|_1 g + O(eta^2), with a free remainder r; the buffer likewise (q)."""
    g = (i.problem.H[0, 0] * i.x - i.problem.b[0])[0]
    S, factor = (lambda z, k: fa.norm1(i.solver, i.value, z, k)), fa.shrinking(i.solver, i.value)

    def buffer(z):
        if i.solver == "momentum":
            return (1 - z) / (1 - i.value) * g + i.eta * i.q
        return z + 0 * i.q if i.solver == "decay" else 0 * i.q
    after, kept = coded_step(i, [i.x - i.eta * S(i.z, i.k) * g + i.eta * i.eta * i.r], [i.x], np.array([[buffer(i.z)]]))
    start = i.algorithm.to(i.domain).solver.start(np.array([[i.x]]))[0, 0]
    one, zero = 0 * i.z + 1, 0 * i.z
    return ft.induction(base=[(S(one, zero), zero), (start, buffer(one).series("eta", 0)[0])],
                        step=[(after[0].series("eta", 1), [i.x, -S(i.z * factor, i.k + 1) * g]),
                              (kept[0, 0].series("eta", 0)[0], buffer(i.z * factor).series("eta", 0)[0])],
                        label="displacement -eta |a|_1 (h x - e) modulo eta^2")


# ---- R1, R3 -----------------------------------------------------------------------------------------------
def _equal_bias(server):
    s = Symbols("eta t z a x k")
    return Local(f"{server.__name__}, general t", ft.Quadratic.from_linear([[[1]], [[1]]], [[1], [-1]]), server(s.eta, 1),
                 ft.Full(), domain=s.field, z=[1 - s.eta, s.z], e=[[1], [-1]], general=True, **s.these("t a x k"),
                 says="any eta and integer t; z = (1 - eta)^t")


def _bias_pair(t, eta):
    eta = ft.fraction(eta)
    return Local(f"tau=(1,{t}), eta={eta}", two_clients(), ft.FedNova(eta, (1, t)), ft.Full(), t=t,
                 plain=ft.FedAvg(eta, (1, t)), general=False, says="both coded fixed points")


@ft.claim("r1-equal-bias", covers={"tau": "all"},
          on=ft.illustrate([*(_bias_pair(9, eta) for eta in ("3233/10000", "3235/10000", "1/20", 1)),
                            _bias_pair(4, "9/10"), _equal_bias(ft.FedAvg), _equal_bias(ft.FedNova)]),
          rejects=[bugs.normaliser_missing, bugs.one_step_more, bugs.decayed_step],
          domain="every 0 < eta <= 1 and integer t >= 2 (general t by induction on the coded step); both coded fixed "
                 "points for t = 4, 9")
def r1_equal_bias(i):
    r"""$F_{1,2}=\frac12(x\mp1)^2$, $p=\frac12$, $\tau=(1,t)$: FedNova and FedAvg have equal $|$bias$|$ at the one
    $0<\eta<1$ with $1-(1-\eta)^t=\eta\sqrt t$; above it, up to $\eta=1$, FedNova's is larger, below it FedAvg's."""
    t, eta = i.t, i.eta
    if not i.general:
        nova, plain = (abs(ft.fraction(v.op.fixed_point().x[0])) for v in (i, i.but(algorithm=i.plain)))
        kappa = 1 - (1 - eta) ** t
        return (ft.equal(nova, abs(fa.fednova_bias(eta, 1 - kappa, t)), "FedNova"),
                ft.equal(plain, abs(fa.fedavg_bias(eta, 1 - kappa)), "FedAvg"),
                ft.equivalent((plain < nova, (plain, nova)), (kappa**2 < eta**2 * t, (kappa**2, eta**2 * t)),
                              "FedNova is worse"))
    plain, nova, kappa = fa.fedavg_bias(eta, i.z[1]), fa.fednova_bias(eta, i.z[1], t), 1 - i.z[1]
    point = nova if i.fednova else -plain
    coded = ft.server_step(i, [point], unit_change(i, [point])(np.array(i.z)), np.array([[eta], [eta * t]]))[0]
    # ratio R_t = kappa/eta = sum_{j<t} x^j with x = 1 - eta in [0, 1): from t down to 1, so it meets sqrt(t) once
    x, power = 1 - eta, i.a
    return (unit_run(i, [i.x]), ft.local_mass(i, lambda k: eta * k, i.k),
            ft.equal(coded, point, "coded server step fixes the stated point"),
            ft.equal(nova - plain, 2 * (t * eta * eta - kappa * kappa) / ((t * eta + kappa) * (eta + kappa)),
                     "|FedNova| - |FedAvg| has the sign of t eta^2 - kappa^2"),
            ft.induction(base=[((1 - x) / (1 - x), 0 * x + 1)],
                         step=[((1 - power * x) / (1 - x) - (1 - power) / (1 - x), power)],
                         label="kappa/eta grows by (1 - eta)^t in [0, 1]: both biases are non-negative as stated", over="t"),
            ft.induction(base=[(_ratio_slope(x, 1, x), 0 * x)],
                         step=[(_ratio_slope(power * x, i.k + 1, x) - _ratio_slope(power, i.k, x), i.k * power / x)],
                         label="its slope in 1 - eta grows by t (1 - eta)^(t-1) >= 0: one crossing", over="t"))


def _ratio_slope(power, k, x):
    """d/dx of (1 - x^k)/(1 - x), power = x^k."""
    return (-k * power / x * (1 - x) + (1 - power)) / ((1 - x) * (1 - x))


def _explicit(taus, fixed):
    n = len(taus)
    s = Symbols("eta a y", h=n, e=n, p=n, u=n)
    solver = ft.Proximal(mu=s.a) if fixed == "mu" else ft.Proximal(alpha=s.a)
    return Local(f"fixed {fixed}, tau={taus}", free_clients(s, n), ft.FedAvg(s.eta, taus, solver), ft.Full(),
                 domain=s.field, form=fixed, says=f"the whole coded round: any h_i, e_i, p, eta and {fixed}", **s.these("y u"))


@ft.claim("r3-fixed-mu", covers={"tau": "all"},
          on=[scalar_clients(2), scalar_clients(3),
              *(_explicit(taus, fixed) for fixed in ("mu", "alpha") for taus in ((1, 3), (2, 3)))],
          rejects=[bugs.one_step_more, bugs.uniform_weights, bugs.unscaled_proximal],
          domain="scalar Hessians: n = 2 and 3, every h_i, e_i, p and mu, every integer tau_i by induction on the "
                 "coded step with powers as jets; the whole coded round for tau = (1,3), (2,3), with fixed mu and with "
                 "fixed alpha")
def r3_fixed_mu(i):
    r"""FedProx with fixed $\mu$ and $\eta\to0$: the fixed point tends to FedAvg's $x_w$ with $w_i\propto p_i\tau_i$,
    whatever $\mu$. With fixed $\alpha=\eta\mu$ the weights are those of eq (7),
    $w_i\propto p_i[1-(1-\alpha)^{\tau_i}]$."""
    h, e = scalar_data(i)
    if i.form == "scalar":
        # (1 - eta mu - eta h)^tau = 1 - tau eta (mu + h) + eta^2 r with r finite as eta -> 0
        z = [1 - t * i.eta * (i.mu + v) + i.eta * i.eta * r for t, v, r in zip(i.t, h, i.r, strict=True)]
        move = ft.server_step(i, i.x, scalar_change(i, i.x)(z))[0] - i.x[0]
        tau_eff, w = f.plain_averaging(i.p, i.t)
        return scalar_run(i), ft.equal(move.series("eta", 1), [0, -tau_eff * f.dot(w, h * i.x[0] - e)],
                                       "order eta: FedAvg's -E_p tau grad F~, free of mu")
    norms = i.taus if i.form == "mu" else [f.proximal_norm1(i.value, (1 - i.value) ** t) for t in i.taus]
    _, w = f.plain_averaging(i.p, norms)
    reached = ft.equal(ft.limit(i.op.fixed_point().x, "eta"), [f.dot(w, e) / f.dot(w, h)], "limit of the coded fixed point")
    if i.form == "mu":
        return reached
    gain = f.chi2(i.p, f.plain_averaging(i.p, i.taus)[1]) - f.chi2(i.p, w)
    return reached, ft.nonnegative(gain.substitute(a=1 / (1 + i.y), p0=i.u[0] / (i.u[0] + i.u[1])),
                                   "chi-square of p against w is smaller than FedAvg's, alpha = 1/(1 + y)")


def _order_eta():
    """Fixed points as functions of eta: FedNova with steps (1, 9), FedProx at alpha = 1 with steps (1, 2)."""
    s = Symbols("eta")

    def reached(algorithm):
        return ft.Instance("xi = +-1", two_clients(), algorithm, ft.Full(), domain=s.field).op.fixed_point().x[0]
    nova = reached(ft.FedNova(s.eta, (1, 9)))
    slope = f.dot([f.first_order_q("vanilla", t) for t in (1, 9)], [Fraction(-1, 2), Fraction(1, 2)])  # x* = 0, H = 1, w = p
    return (ft.equal(nova.series("eta", 1), [0, slope], "FedNova: bias 2 eta + O(eta^2)"),
            ft.at_most(Fraction(1, 20), ft.fraction(nova.substitute(eta=Fraction(1, 20))), "FedNova at eta = 1/20: bias",
                       strict=True),
            ft.equal(reached(ft.FedProx(s.eta, (1, 2), alpha=1)), s.eta / (2 - s.eta),
                     "FedProx at alpha = 1: bias eta/(2 - eta)"),
            ft.equal(reached(ft.FedAvg(s.eta, 9)), 0, "equal steps and Hessians: no bias"))


ft.finding("r1-fixed-eta-bias", kind="remark", breaks="fednova-consistency", check=_order_eta,
           reading="Consistency read at a fixed step size, as in an experiment.",
           survives="As eta tends to 0 after T tends to infinity FedNova and FedProx at alpha = 1 reach the true "
                    "minimiser.")


# ---- Assumption 3 -----------------------------------------------------------------------------------------
def _common_hessian(n, d):
    s = Symbols("eta", h=d * d, c=n * d, p=n, x=d)
    H, xi = symmetric(s.h, 1, d)[0], np.array(s.c, dtype=object).reshape(n, d)
    return ft.Instance(f"n={n}, d={d}", ft.Quadratic([H] * n, xi), domain=s.field, w=s.weights(n), x=np.array(s.x),
                       says="any common H, client minimisers xi_i, weights w and point x")


@ft.claim("beta-kappa-common", covers={"tau": "none"}, on=[_common_hessian(n, d) for d in (1, 2) for n in (2, 3)],
          domain="n = 2 and 3, d = 1 and 2, every common H, xi_i and w, identically in x (so no smaller kappa^2 at "
                 "beta^2 = 1)")
def beta_kappa_common(i):
    r"""$H_i=H$ for all $i$: $\sum_iw_i\|\nabla F_i(x)\|^2=\|\sum_iw_i\nabla F_i(x)\|^2+\kappa^2$ for every $x$, with
    $\kappa^2=\sum_iw_i\|H(\xi_i-\bar\xi_w)\|^2$: Assumption 3 holds with $\beta^2=1$ and exactly this $\kappa^2$."""
    g, total = i.problem.to(i.domain).grad(np.stack([i.x] * i.n)), i.problem.surrogate(i.w).to(i.domain).gradient(i.x)
    return ft.equal(f.dot(i.w, (g * g).sum(-1)),
                    ft.Terms(mean=(total * total).sum(), kappa2=fa.kappa2_common(i.problem.H[0], i.problem.c, i.w)),
                    "sum w |grad F_i|^2")


def _general_hessians(name, problem, w, beta2, says=""):
    return ft.Instance(name, problem, w=ft.declare(w), beta2=ft.fraction(beta2), says=says)


@ft.claim("beta-kappa-general",
          on=[_general_hessians("plane, beta^2 = 3", plane(), ("1/2", "3/10", "1/5"), 3),
              _general_hessians("plane, other weights", plane(), ("1/10", "1/5", "7/10"), "5/2"),
              _general_hessians("two scalars", scalar([1, 3], [1, -1]), ("1/4", "3/4"), 2),
              _general_hessians("indefinite client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]),
                                ("3/4", "1/4"), 5),
              _general_hessians("beta^2 too small", scalar([1, 3], [1, -1]), ("1/2", "1/2"), "11/10",
                                "no finite kappa^2 at this beta^2")],
          needs=[ft.Hypothesis("usable beta^2", r"$P=\beta^2H_w^2-\sum_iw_iH_i^2\succ0$", strict=True, sides=lambda i: (
              0, ft.linalg.smallest_eigenvalue_bound(fa.excess_matrix(i.problem.H, i.w, i.beta2))))],
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
    coded = f.dot(problem.p, (g * g).sum(-1)) - problem.domain.scalar(i.beta2) * (total * total).sum()
    return (ft.equal(coded, ft.Terms(**parts), "from the problem's own gradients at the stated point"),
            ft.equal(i.problem.dissimilarity(i.w, i.beta2), sum(parts.values()), "the engine's kappa^2"),
            ft.equal(sum(fa.excess(H, e, i.w, i.beta2, x + v).values()),
                     sum(parts.values()) - (v * fa.times(P, v)).sum(), "value at x + v is the maximum minus v'Pv"))


def _one_constant():
    """F_{1,2} = (x -+ 1)^2/2, beta^2 = 1: kappa^2 = 4 w_1 w_2 <= 1; with 1 for every w the lower bound of D.1 fails."""
    legs = [ft.equal(two_clients().dissimilarity([w, 1 - w], 1), 4 * w * (1 - w), f"smallest kappa^2 at w_1 = {w}")
            for w in (Fraction(1, 2), Fraction(9, 10))]
    u, v, M = ft.Field("u v M").symbols
    # steps (1, 1 + M): limit of |grad F|^2 is ((tau_1 - tau_2)/(tau_1 + tau_2))^2; chi^2 from the weights themselves
    half, tau = [Fraction(1, 2)] * 2, 1 + M
    chi2, reached = f.chi2(half, f.plain_averaging(half, [1 + 0 * M, tau])[1]), (M / (2 + M)) ** 2
    return (*legs, ft.equal(1 - 4 * u * v / ((u + v) * (u + v)), ((u - v) / (u + v)) ** 2,
                            "a constant for every w is at least 1"),
            ft.equal(chi2 * 4 * tau / ((1 + tau) * (1 + tau)), reached, "chi^2 kappa^2(w) is the limit exactly"),
            ft.nonnegative(chi2 - M / 4 * reached,
                           "with kappa^2 = 1 for every w: chi^2 kappa^2 exceeds M/4 times the limit"))


ft.finding("rem-a3-quantifier", kind="remark", check=_one_constant,
           reading="'For any sets of weights there exist constants': the constants may be chosen after the weights.",
           survives="Every theorem uses one w only and holds with constants for that w. Were kappa^2 one constant for "
                    "all w, the lower bound Omega(chi^2 kappa^2) of D.1 would fail for steps (1, M).")
