"""Appendix C: the steps of Theorem 1's proof, each checked on what one coded round really does."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import families, over
from verification.fednova import formulas as f
from verification.fednova.common_noise import FAIR, exceeded, independent, shared
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import SOLVERS, Local, Symbols, free_clients, plane, scalar, surrogate, theorem
from verification.fednova.one_round import one_round
from verification.fednova.proofs import descent, local_run, numbers

SOLVER_BUGS = [bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step, bugs.dampened_momentum,
               bugs.nesterov_momentum]


def noisy_hubers(draw):
    """Random Huber clients, with independent signs as noise where all outcomes can be listed."""
    i = families.hubers(draw)
    noisy = draw(families.st.booleans()) and sum(i.taus) <= 6
    return i.but(noise=Fraction(1 if noisy else 0), says=f"{i.says}, sigma={int(noisy)}")



def families_of_rounds(*corners):
    """One round; corners: beside those that every claim visits."""
    return (ft.Family("quadratic", families.quadratics, (*families.ONE_ROUND, *corners)),
            ft.Family("Huber with noise", noisy_hubers), ft.Family("non-convex", lambda draw: families.nonconvex(draw, (1,))))



def mixed(w, directions):
    """sum_i w_i v_i over clients, for v (batch, n, d)."""
    return f.dot(w, np.moveaxis(directions, -2, 0))


def rule_4(i, r, vectors, w, tau_eff):
    """The coded round is x+ = x - tau_eff eta sum w_i d_i (eq 4) at every noise value, with d_i of the proof."""
    return ft.equal(r.after, r.x - i.eta * tau_eff * mixed(w, r.directions(vectors)), "coded round = rule (4)")


def recorded(i):
    """(one coded round, what Theorem 1 speaks of, the comparison of the two)."""
    t, r = theorem(i), one_round(i)
    return r, t, rule_4(i, r, t["vectors"], t["w"], t["tau_eff"])


def _largest_drift_constant(i):
    return max(f.norm1(a) * (f.norm1(a) - a[-1]) for a in i.vectors)


nonnegative_a = ft.Hypothesis("non-negative a", r"$a_{i,k}\ge0$", lambda i: (0, min(map(min, i.vectors))))
bounded_below = ft.Hypothesis("bounded below", r"$\widetilde F_{\inf}>-\infty$", lambda i: (0, theorem(i)["gap"]))
server_cap = ft.Hypothesis("server step", r"$\tau_{\rm eff}\eta L\le\frac12$",
                           lambda i: (i.eta * theorem(i)["tau_eff"] * i.L, ft.fraction("1/2")), cap=1)
small_drift = ft.Hypothesis("D below 1", r"$D=4\eta^2L^2C<1$",
                            lambda i: (c.D(i.eta, i.L, _largest_drift_constant(i)), ft.fraction(1)),
                            strict=True, cap=2)
small_prefix_drift = ft.Hypothesis("D' below 1", r"$D'=4\eta^2L^2C'<1$", strict=True, cap=2,
                                   sides=lambda i: (c.D(i.eta, i.L,
                                                        c.prefix_constant(i.solver, i.value, i.taus)), ft.fraction(1)))
dominated = ft.Hypothesis("prefixes at most a", r"$b^{(k)}_{i,s}\le a_{i,s}$ (vanilla, decay, momentum)",
                          lambda i: (c.prefix_excess(i.solver, i.value, i.taus), ft.fraction(0)))


ONE_ROUND = {"sigma": "1/2", "rounds": 1, "x0": [2, 2]}
solvers = [
    surrogate("vanilla", plane(), (1, 2, 4), "1/50", **ONE_ROUND),
    surrogate("decay", plane(), (1, 2, 4), "1/50", "decay", "9/10", **ONE_ROUND),
    surrogate("momentum", plane(), (1, 2, 4), "1/100", "momentum", "1/2", **ONE_ROUND),
    surrogate("FedNova, vanilla", plane(), (1, 2, 4), "1/50", server=ft.FedNova, **ONE_ROUND),
    surrogate("indefinite client", ft.Quadratic.from_linear([[[2]], [["-1/4"]]], [[1], [0]]), (2, 3), "1/50",
              sigma="1/4", rounds=1, x0=[1], says="one client is concave, the surrogate is convex"),
]
proximal = [surrogate(f"proximal, alpha={alpha}", plane(), (1, 2, 4), "1/50", "proximal", alpha, **ONE_ROUND)
            for alpha in ("1/2", 1)]

# in numbers what the others prove in symbols
ft.illustrate([*proximal, *solvers[:4]])


# ---- eq 56, eq 69: everything a symbol --------------------------------------------------------------------
def symbolic_pair(solver, taus=(2, 3), server=ft.FedAvg):
    """Two scalar clients: curvatures, e_i, p, x, eta, sigma and the solver's parameter are symbols."""
    s = Symbols("eta v x s", p=1, h=2, e=2)
    return Local(f"{server.__name__}, {solver}, tau={taus}, all symbols", free_clients(s, 2),
                 server(s.eta, taus, SOLVERS[solver](s.v)), ft.Full(), noise=s.s, domain=s.field, x0=[s.x],
                 says="curvatures, e_i, p, x, eta, sigma and the solver's parameter are symbols")


on_eq56 = [symbolic_pair(s) for s in SOLVERS] + [symbolic_pair("vanilla", server=ft.FedNova)]


@ft.claim("eq56", on=[*on_eq56, *solvers[:4], *proximal],
          rejects=[*SOLVER_BUGS, bugs.uniform_weights, bugs.normaliser_missing],
          domain="two scalar clients with steps (2, 3): every curvature, e_i, p, x, eta, sigma, alpha, rho, gamma, for "
                 "the four solvers under FedAvg and for vanilla FedNova; exactly on the listed instances in the plane")
def eq56(i):
    r"""$T_1=E\big\langle\nabla\widetilde F(x),\sum_iw_id_i\big\rangle=\tfrac12\|\nabla\widetilde F(x)\|^2
    +\tfrac12E\big\|\sum_iw_ih_i\big\|^2-\tfrac12E\big\|\nabla\widetilde F(x)-\sum_iw_ih_i\big\|^2$."""
    vectors, r = i.vectors, one_round(i)
    tau_eff, w = f.plain_averaging(i.p, [f.norm1(a) for a in vectors])
    w = i.p if i.fednova else w
    h, gradient = mixed(w, r.directions(vectors, "exact")), f.dot(w, r.exact[0][0])
    T1 = (gradient * (r.x - r.mean(r.after))).sum() / (i.eta * tau_eff)  # E sum w_i d_i from the coded round
    stated = ft.Terms(gradient=(gradient * gradient).sum() / 2, mean=r.square(h) / 2, gap=-r.square(gradient - h) / 2)
    return ft.equal(T1, stated, "T_1 of the coded round"), rule_4(i, r, vectors, w, tau_eff)


# ---- one round --------------------------------------------------------------------------------------------
def _huber(name, solver, value, sigma, x0):
    problem = ft.HuberLoss([[[1], [2]], [[-1]]], [[1, -2], [3]], "1/2", 1, "1/4", ["2/3", "1/3"])
    made = surrogate(name, problem, (2, 3), "1/60", solver, value, sigma, 1, x0)
    return made.but(gap=Fraction(100), kappa2=Fraction(100), says="Huber losses, all noise outcomes listed")


kinked = [_huber("Huber, vanilla", "vanilla", None, 1, [1]), _huber("Huber, momentum", "momentum", "1/2", 1, [-2])]
kinked_proximal = [_huber("Huber, proximal", "proximal", "3/4", 1, [1])]
noise_only = surrogate("at the optimum", scalar([1, 1], [0, 0]), (3, 3), "1/20", sigma=1, rounds=1, x0=[0],
                       says="every gradient vanishes at x: only noise moves the clients")
drift_only = surrogate("at the surrogate's optimum", scalar([1, 3], [3, -1]), (2, 2), "1/20", rounds=1, x0=[0],
                       says="the surrogate's gradient vanishes at x and there is no noise")
exact_gradients = surrogate("no noise", scalar([1, 2], [0, 1]), (2, 4), "1/20", rounds=1, x0=[2], says="no noise")
large_step = surrogate("tau_eff eta L > 1/2", plane(), (1, 2, 4), "1/5", sigma="1/2", rounds=1, x0=[2, 2])

common_noise = shared("noise shared by 64 clients", ft.FedAvg(Fraction(1, 10), (1,) * 64), rounds=1)


def eq64_over(i):
    """The one-round descent without noise; eq 61 is then an equality, divided by 2."""
    t = theorem(i)
    w, step = t["w"], i.eta * t["tau_eff"]
    factor = c.eq64(i.eta, t["L"], t["sigma2"], t["tau_eff"], [1], [[1]], [1], 0)["drift"]
    return over.certified(
        i, lambda s: over.value(s, w, s.next) - over.value(s, w, s.x) + s.square(over.gradient(s, w, s.x)) * (step / 2), "drift",
        drift=(factor, lambda s: over.bias(s, i, w)))


@ft.claim("eq61-64", proof=descent.one_round, meaning=numbers.rounds, domain=descent.DOMAIN, certify=eq64_over,
          over=[i for i in over.at_the_cap(over.EVERY, False, ((2, 2), (1, 2, 3))) if i.p[0] != Fraction(1, 4)],
          needs=[server_cap, bounded_below, independent], bound=True,
          rejects=[*SOLVER_BUGS, bugs.uniform_weights, bugs.normaliser_missing],
          on=[*solvers, *proximal, *kinked, *kinked_proximal, noise_only, drift_only, exact_gradients, common_noise,
              large_step],
          search=ft.Search(families_of_rounds(), tries=120),
          ends=families.ROUND_ENDS | {"step over its cap": (families.TINY * 4, 1)})
def eq61_64(i):
    r"""With noise independent across clients ("workers are independent to each other", C.1)
    $E\|\sum_iw_id_i\|^2\le2\sigma^2\sum_i\frac{w_i^2\|a_i\|_2^2}{\|a_i\|_1^2}+2E\|\sum_iw_ih_i\|^2$, and if
    $\tau_{\rm eff}\eta L\le\frac12$ then
    $$E\widetilde F(x^+)-\widetilde F(x)\le-\frac{\eta\tau_{\rm eff}}2\|\nabla\widetilde F(x)\|^2
    +\eta^2\tau_{\rm eff}^2L\sigma^2\sum_i\frac{w_i^2\|a_i\|_2^2}{\|a_i\|_1^2}
    +\frac{\eta\tau_{\rm eff}}2\sum_iw_iE\|\nabla F_i(x)-h_i\|^2.$$
    """
    r, t, rule = recorded(i)
    w, d, h = t["w"], r.directions(t["vectors"]), r.directions(t["vectors"], "exact")
    T2 = ft.at_most(r.square(mixed(w, d)), ft.Terms(**c.eq61(t["sigma2"], w, t["vectors"], r.square(mixed(w, h)))), "eq 61")
    gradient = f.dot(w, r.exact[0][0])
    change = r.value(t["target"]) - ft.fraction(t["target"].to(ft.RATIONAL).value(ft.RATIONAL.array(r.x)))
    descent = change + t["gap"] + i.eta * t["tau_eff"] / 2 * (gradient * gradient).sum()
    drifts = [r.square(r.exact[0][:, k] - h[:, k]) for k in range(i.n)]
    bound = c.eq64(i.eta, t["L"], t["sigma2"], t["tau_eff"], w, t["vectors"], drifts, t["gap"])
    return T2, ft.at_most(descent, ft.Terms(**bound), "eq 64, with the gap before the round on both sides"), rule


def _one_noise_for_all():
    i = common_noise
    t, square = theorem(i), sum(q * push * push for q, _, push in i.maps()) / i.eta**2
    bound = c.eq61(t["sigma2"], t["w"], t["vectors"], ft.fraction(0))
    return exceeded(square, sum(bound.values()), "(61) at x = 0, where h = 0: 1 against 1/32")


ft.finding("err-common-noise-eq61", kind="remark", breaks="eq61-64", check=_one_noise_for_all,
           script="witnesses/err_common_noise.py", reading=FAIR,
           survives="With noise independent across clients: eq61-64.")


@ft.claim("eq68", proof=local_run.bias, meaning=lambda i: numbers.local_runs(i, True), domain=local_run.DOMAIN,
          covers={"n": "none"},
          needs=[nonnegative_a], bound=True, rejects=[*SOLVER_BUGS, bugs.proximal_squared],
          on=[*solvers, *proximal, *kinked, *kinked_proximal, exact_gradients],
          search=ft.Search(families_of_rounds(), tries=120),
          ends=families.ROUND_ENDS)
def eq68(i):
    r"""For every solver with $a_{i,k}\ge0$:
    $E\|\nabla F_i(x)-h_i\|^2\le\frac{L^2}{\|a_i\|_1}\sum_{k<\tau_i}a_{i,k}E\|x-y_k\|^2$."""
    r, t, rule = recorded(i)
    h = r.directions(t["vectors"], "exact")
    return [rule] + [ft.at_most(r.square(r.exact[0][:, n] - h[:, n]),
                                ft.Terms(drift=c.weighted_drift(t["L"], a, r.drifts(n, len(a)))),
                                f"client {n + 1}") for n, a in enumerate(t["vectors"])]


def symbolic_client(solver, tau=4):
    """One client whose gradients are free symbols: the drift after k steps is a linear form in them."""
    s = Symbols("eta v", g=tau)
    return Local(f"{solver}, tau={tau}, free gradients", None, ft.FedAvg(s.eta, (tau,), SOLVERS[solver](s.v)), ft.Full(),
                 domain=s.field, g=s.g, says="eta, the solver's parameter and every gradient are symbols")


eq69 = [symbolic_client(s) for s in SOLVERS]
err_eq85 = surrogate("prox, alpha=9/10, two steps", scalar([1], [0]), (2,), "1/4", "proximal", "9/10", rounds=1, x0=[1],
                     says="F = x^2/2, one client, x = 1: 0.0568 against 0.0283")
eq69_exact = [
    err_eq85,
    surrogate("vanilla, two steps", scalar([1], [0]), (2,), "1/4", rounds=1, x0=[1]),
    surrogate("momentum, rho=1/2, three steps", scalar([1], [0]), (3,), "1/8", "momentum", "1/2", rounds=1, x0=[1]),
]


@ft.claim("eq69-as-printed", on=[*eq69, *eq69_exact], finding="err-eq69",
          at=("proximal, tau=4, free gradients", "momentum, tau=4, free gradients", "prox, alpha=9/10, two steps"),
          script="witnesses/err_eq69.py",
          step="the displacement after k < tau steps is read off the vector a of the whole run",
          reading="Eq (69) is used for every solver with accumulation vector a_i, the coefficients of a prefix of the "
                  "local run read as the first entries of a_i, which is what (70)-(84) then sum; with the last k entries "
                  "it would be right for the proximal solver and momentum, and wrong for step decay.",
          survives="It holds for vanilla SGD and step decay, and for momentum the printed side can only be larger, so "
                   "(85) survives there. prefix-coefficients: (1-alpha)^(k-1-s), (1-rho^(k-s))/(1-rho).")
def eq69_as_printed(i):
    r"""For every solver: $E\|x-y_k\|^2=\eta^2E\big\|\sum_{s<k}a_{i,s}g_i(y_s)\big\|^2$ for $k<\tau_i$."""
    a = i.vectors[0]
    if i.problem is None:
        solver = i.algorithm.to(i.domain).solver
        y = x = np.array([0 * i.eta])
        buffer, printed, moved = solver.start(x), [], []
        for k, g in enumerate(i.g[:-1]):
            y, buffer = solver.step(y, x, buffer, np.array([g]), i.eta, 1)
            moved.append((x - y)[0])
            printed.append(i.eta * sum((v * q for v, q in zip(a[1:k + 1], i.g[1:k + 1], strict=True)), a[0] * i.g[0]))
        return ft.equal([v * v for v in moved], [v * v for v in printed], "after 1, 2, ... coded steps")
    r = one_round(i)
    sums = [sum(v * g[:, 0] for v, g in zip(a[:k], r.given[:k], strict=True)) for k in range(1, i.taus[0])]
    return ft.equal(r.drifts(0, i.taus[0])[1:], [i.eta**2 * r.square(s) for s in sums], "coded drift")


def _drift_legs(i, corrected):
    """Eq 85 per client on the coded round: printed with the a-average, corrected with the largest drift."""
    r, t, rule = recorded(i)
    d = c.D(i.eta, t["L"], c.prefix_constant(i.solver, i.value, i.taus) if corrected else _largest_drift_constant(i))
    out = [rule]
    for n, a in enumerate(t["vectors"]):
        gradient = (r.exact[0][0, n] ** 2).sum()
        drifts = r.drifts(n, len(a))
        if corrected:
            prefixes = [f.prefix(i.solver, k, i.value) for k in range(len(a))]
            right = c.eq85_corrected(i.eta, t["L"], t["sigma2"], prefixes, d, gradient)
            out.append(ft.at_most(t["L"] ** 2 * max(ft.fraction(v) for v in drifts), ft.Terms(**right),
                                  f"client {n + 1}"))
        else:
            right = c.eq85(i.eta, t["L"], t["sigma2"], a, d, gradient)
            out.append(ft.at_most(c.weighted_drift(t["L"], a, drifts), ft.Terms(**right), f"client {n + 1}"))
    return out


def eq85_over(i, corrected):
    """One client: the weighted drift, or the largest one, against its gradient at the server model."""
    (a,), L = i.vectors, i.L
    C = c.prefix_constant(i.solver, i.value, i.taus) if corrected else _largest_drift_constant(i)
    d = c.D(i.eta, L, C)
    factor = d / (1 - d)

    def drift(s, k):
        return s.square((over.local_run(s, i)[k][0] - s.x)[0]) * (L * L)

    def average(s):
        return sum((drift(s, k) * v for k, v in enumerate(a[1:], 1)), drift(s, 0) * a[0]) / f.norm1(a)
    lefts = [(f"after {k} steps", lambda s, k=k: drift(s, k)) for k in range(1, len(a))] if corrected else [("", average)]
    return [over.certified(i, left, "gradient", label, gradient=(factor, lambda s: s.square(s.grad(s.x)))) for label, left in lefts]


def one_client(solvers, corrected):
    """D = 1/4 and D = 9/16 for one client and several numbers of local steps."""
    out = []
    for name, value in solvers:
        for tau in (2, 3, 5) if corrected else (2, 3, 5, 10):
            a = f.a_vector(name, tau, value)
            C = c.prefix_constant(name, value, (tau,)) if corrected else f.norm1(a) * (f.norm1(a) - a[-1])
            out += [over.setting((name, value), (tau,), over.root_below(d / (4 * C))) for d in (Fraction(1, 4), Fraction(9, 16))]
    return out


ALONE = {"n": "none"}  # a client's local run reads its own gradients alone
beyond = surrogate("D >= 1", plane(), (1, 2, 4), 1, sigma="1/2", rounds=1, x0=[2, 2])
err_eq85_noise = err_eq85.but(name="the same with noise only", noise=Fraction(1), x0=[0],
                              says="gradient 0 at x: both sides are noise, and the printed factor is (1 - alpha)^2")


@ft.claim("eq85-as-printed", needs=[nonnegative_a, small_drift], bound=True, finding="err-eq85",
          on=[*solvers, *proximal, *kinked, err_eq85, err_eq85_noise, noise_only, beyond],
          at=("prox, alpha=9/10, two steps", "the same with noise only", "proximal, alpha=1"),
          script="witnesses/err_eq85.py",
          step="(69) enters (70)-(84): the drift of the first proximal steps is underestimated by (1 - alpha)^2",
          reading="D = 4 eta^2 L^2 C with the maximum over clients, which makes the right side largest; L is exact; "
                  "alpha <= 1, so a is non-negative.",
          survives="eq85-restricted: it holds wherever the prefix coefficients are at most a (vanilla, decay, momentum); "
                   "eq85-corrected with constants from the largest prefix.")
def eq85_as_printed(i):
    r"""For every solver with $a_{i,k}\ge0$ and $D=4\eta^2L^2\max_i\|a_i\|_1(\|a_i\|_1-a_{i,-1})<1$:
    $$\frac{L^2}{\|a_i\|_1}\sum_ka_{i,k}E\|x-y_k\|^2\le\frac{2\eta^2L^2\sigma^2}{1-D}\big(\|a_i\|_2^2-a_{i,-1}^2\big)
    +\frac D{1-D}E\|\nabla F_i(x)\|^2.$$
    """
    return _drift_legs(i, corrected=False)


@ft.claim("eq85-restricted", covers=ALONE, proof=local_run.restricted, meaning=lambda i: numbers.local_runs(i, False),
          domain=local_run.DOMINATED, over=one_client(over.DOMINATED, False), certify=lambda i: eq85_over(i, False),
          needs=[nonnegative_a, dominated, small_drift], bound=True, rejects=SOLVER_BUGS,
          on=[*solvers, *kinked, noise_only, exact_gradients, err_eq85, beyond],
          search=ft.Search(families_of_rounds(families.at("7068/10000", rounds=1)), tries=150),
          ends=families.ROUND_ENDS | {"step over its cap": (families.TINY * 4, 1)})
def eq85_restricted(i):
    r"""For vanilla SGD, step decay and momentum with $0\le\rho<1$, whose prefix coefficients satisfy
    $b^{(k)}_{i,s}\le a_{i,s}$, and $D<1$:
    $$\frac{L^2}{\|a_i\|_1}\sum_ka_{i,k}E\|x-y_k\|^2\le\frac{2\eta^2L^2\sigma^2}{1-D}\big(\|a_i\|_2^2-a_{i,-1}^2\big)
    +\frac D{1-D}E\|\nabla F_i(x)\|^2.$$
    """
    return _drift_legs(i, corrected=False)


@ft.claim("eq85-corrected", covers=ALONE, proof=local_run.drift, meaning=lambda i: numbers.local_runs(i, True),
          domain=local_run.DOMAIN, over=one_client(over.EVERY, True), certify=lambda i: eq85_over(i, True),
          needs=[nonnegative_a, small_prefix_drift], bound=True,
          rejects=[*SOLVER_BUGS, bugs.proximal_squared],
          on=[*solvers, *proximal, *kinked, *kinked_proximal, err_eq85, err_eq85_noise, noise_only,
              exact_gradients, beyond],
          search=ft.Search(families_of_rounds(families.at("9995/10000", rounds=1)), tries=150),
          ends=families.ROUND_ENDS | {"step over its cap": (families.TINY * 4, 1)})
def eq85_corrected(i):
    r"""For every linear solver with prefix coefficients $b^{(k)}_{i,s}\ge0$ and
    $D'=4\eta^2L^2\max_{i,k}\big(\sum_sb^{(k)}_{i,s}\big)^2<1$:
    $$\frac{L^2}{\|a_i\|_1}\sum_ka_{i,k}E\|x-y_k\|^2\le L^2\max_{k<\tau_i}E\|x-y_k\|^2
    \le\frac{2\eta^2L^2\sigma^2}{1-D'}\max_k\sum_s(b^{(k)}_{i,s})^2+\frac{D'}{1-D'}E\|\nabla F_i(x)\|^2.$$
    """
    return _drift_legs(i, corrected=True)


cap = Symbols("b s")


@ft.claim("eq87-92", on=[ft.Instance("all beta^2 >= 1", domain=cap.field, **cap.these("b s"),
                                     says="beta^2 = 1 + b, D = 1/((2 beta^2 + 1)(1 + s)), b, s >= 0")],
          domain="every beta^2 >= 1 and every 0 < D <= 1/(2 beta^2 + 1)")
def eq87_92(i):
    r"""$D\le\frac1{2\beta^2+1}$ gives $\frac1{1-D}\le1+\frac1{2\beta^2}$ and $\frac{D\beta^2}{1-D}\le\frac12$, with
    equality at the cap."""
    beta2 = 1 + i.b
    D, cap = 1 / ((2 * beta2 + 1) * (1 + i.s)), 1 / (2 * beta2 + 1)
    return (ft.nonnegative(1 + 1 / (2 * beta2) - 1 / (1 - D), "eq 87"),
            ft.nonnegative((1 - D) / 2 - D * beta2, "eqs 89-92, times 1 - D > 0"),
            ft.equal(1 / (1 - cap), ft.Terms(one=1 + 0 * i.b, drift=1 / (2 * beta2)), "eq 87 at the cap"),
            ft.equal(cap * beta2 / (1 - cap), ft.fraction("1/2"), "eqs 89-92 at the cap"))
