"""Appendix C: the steps of Theorem 1's proof, each checked on what one coded round really does."""
import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import appendix_c as I
from verification.fednova.instances.surrogate import theorem

SOLVER_BUGS = [bugs.one_step_more, bugs.hidden_proximal, bugs.decayed_step, bugs.dampened_momentum,
               bugs.nesterov_momentum]
families_of_rounds = (ft.Family("quadratic", families.quadratics), ft.Family("Huber with noise", I.noisy_hubers))


def rule_4(i, r, vectors, w, tau_eff):
    """The coded round is x+ = x - tau_eff eta sum w_i d_i (eq 4) at every noise value, with d_i of the proof."""
    d = r.directions(vectors)
    stated = r.x - i.eta * tau_eff * sum(w[n] * d[:, n] for n in range(len(w)))
    return ft.equal(r.after, stated, "coded round = rule (4)")


def recorded(i):
    """(one coded round, what Theorem 1 speaks of, the comparison of the two)."""
    t, r = theorem(i), I.one_round(i)
    return r, t, rule_4(i, r, t["vectors"], t["w"], t["tau_eff"])


def _largest_drift_constant(i):
    return max(f.norm1(a) * (f.norm1(a) - a[-1]) for a in theorem(i)["vectors"])


nonnegative_a = ft.Hypothesis("non-negative a", r"$a_{i,k}\ge0$",
                              lambda i: (0, min(min(a) for a in theorem(i)["vectors"])))
bounded_below = ft.Hypothesis("bounded below", r"$\widetilde F_{\inf}>-\infty$", lambda i: (0, theorem(i)["gap"]))
server_cap = ft.Hypothesis("server step", r"$\tau_{\rm eff}\eta L\le\frac12$",
                           lambda i: (i.eta * theorem(i)["tau_eff"] * theorem(i)["L"], ft.fraction("1/2")))
small_drift = ft.Hypothesis("D below 1", r"$D=4\eta^2L^2C<1$",
                            lambda i: (c.D(i.eta, theorem(i)["L"], _largest_drift_constant(i)), ft.fraction(1)),
                            strict=True)
small_prefix_drift = ft.Hypothesis("D' below 1", r"$D'=4\eta^2L^2C'<1$", strict=True,
                                   sides=lambda i: (c.D(i.eta, theorem(i)["L"],
                                                        c.prefix_constant(i.solver, i.value, i.taus)), ft.fraction(1)))
dominated = ft.Hypothesis("prefixes at most a", r"$b^{(k)}_{i,s}\le a_{i,s}$ (vanilla, decay, momentum)",
                          lambda i: (c.prefix_excess(i.solver, i.value, i.taus), ft.fraction(0)))


@ft.claim("lem2", covers={"d": "all", "values": "2 to 4"},
          on=I.lem2, rejects=SOLVER_BUGS,
          needs=[ft.Hypothesis("martingale differences", r"$E[A_k\mid A_{k-1},\dots,A_1]=0$",
                               lambda i: (_drift_of_noise(i), 0))],
          domain="every history, conditional laws on 2, 3 and 4 values with any probabilities, every number of matrices "
                 "by induction, every shape (the Frobenius norm adds up entries); exactly on the listed coded local runs")
def lem2(i):
    r"""If $E[A_k\mid A_{k-1},\dots,A_1]=0$, then $E\big\|\sum_{k=1}^\tau A_k\big\|_F^2=\sum_{k=1}^\tau E\|A_k\|_F^2$.
    In a local run $A_k=a_k[g_i(y_k)-\nabla F_i(y_k)]$."""
    if i.matrix:
        # given the history, with sum S so far and E|S|^2 = past: one more difference adds its own second moment
        value = sum((q * (i.S + v) * (i.S + v) for q, v in zip(i.c[1:], i.v[1:], strict=True)),
                    i.c[0] * (i.S + i.v[0]) * (i.S + i.v[0]))
        own = sum((q * v * v for q, v in zip(i.c[1:], i.v[1:], strict=True)), i.c[0] * i.v[0] * i.v[0])
        return ft.induction(base=[(0 * i.past, 0 * i.past)], step=[(i.past + value - i.S * i.S, i.past + own)],
                            over="number of matrices", label="E|S + A|^2 - |S|^2 is E|A|^2, whatever happened before")
    r = I.one_round(i)
    a = f.a_vector(i.solver, i.taus[0], i.value)
    exact = sum(v * g[:, 0] for v, g in zip(a, r.exact, strict=False))
    total = (r.x - r.after) / i.eta - exact  # what the coded round accumulated beyond the exact gradients
    return ft.equal(r.square(total),
                    sum(r.square(A) for A in _differences(i, r)), "accumulated noise of the coded round")


def _differences(i, r):
    """A_k = a_k (g(y_k) - grad F(y_k)) for every listed outcome: (batch, d) per step."""
    a = f.a_vector(i.solver, i.taus[0], i.value)
    return [v * (g[:, 0] - h[:, 0]) for v, g, h in zip(a, r.given, r.exact, strict=False)]


def _drift_of_noise(i):
    """Largest |E[A_k | A_1 .. A_{k-1}]| over k and histories; 0 by construction where everything is a symbol."""
    if i.matrix:
        mean = sum((q * v for q, v in zip(i.c[1:], i.v[1:], strict=True)), i.c[0] * i.v[0])
        return ft.fraction(0) if mean == 0 else ft.fraction(1)
    worst, past = ft.fraction(0), {}
    for A in _differences(i, I.one_round(i)):
        groups = {}
        for at, v in enumerate(A[:, 0]):
            groups.setdefault(past.get(at, ()), []).append(ft.fraction(v))
            past[at] = (*past.get(at, ()), ft.fraction(v))
        worst = max(worst, *(abs(sum(g)) / len(g) for g in groups.values()))
    return worst


@ft.claim("eq56", on=[*I.eq56, *I.solvers[:4], *I.proximal],
          rejects=[*SOLVER_BUGS, bugs.uniform_weights, bugs.normaliser_missing],
          domain="two scalar clients with steps (2, 3): every curvature, e_i, p, x, eta, sigma, alpha, rho, gamma, for "
                 "the four solvers under FedAvg and for vanilla FedNova; exactly on the listed instances in the plane")
def eq56(i):
    r"""$T_1=E\big\langle\nabla\widetilde F(x),\sum_iw_id_i\big\rangle=\tfrac12\|\nabla\widetilde F(x)\|^2
    +\tfrac12E\big\|\sum_iw_ih_i\big\|^2-\tfrac12E\big\|\nabla\widetilde F(x)-\sum_iw_ih_i\big\|^2$."""
    vectors = [f.a_vector(i.solver, t, i.value) for t in i.taus]
    p = list(i.problem.weights)
    tau_eff, w = f.plain_averaging(p, [f.norm1(a) for a in vectors])
    w = p if i.fednova else w
    r = I.one_round(i)
    h = r.directions(vectors, "exact")
    mixed = sum(w[n] * h[:, n] for n in range(len(w)))
    gradient = sum(w[n] * r.exact[0][0, n] for n in range(len(w)))
    T1 = (gradient * (r.x - r.mean(r.after))).sum() / (i.eta * tau_eff)  # E sum w_i d_i from the coded round
    stated = ft.Terms(gradient=(gradient * gradient).sum() / 2, mean=r.square(mixed) / 2,
                      gap=-r.square(gradient - mixed) / 2)
    return ft.equal(T1, stated, "T_1 of the coded round"), rule_4(i, r, vectors, w, tau_eff)


@ft.claim("eq61-64", needs=[server_cap, bounded_below], bound=True,
          rejects=[*SOLVER_BUGS, bugs.uniform_weights, bugs.normaliser_missing],
          on=[*I.solvers, *I.proximal, *I.kinked, *I.kinked_proximal, I.noise_only, I.drift_only, I.exact_gradients,
              I.large_step],
          search=ft.Search(families_of_rounds, tries=120))
def eq61_64(i):
    r"""$E\|\sum_iw_id_i\|^2\le2\sigma^2\sum_i\frac{w_i^2\|a_i\|_2^2}{\|a_i\|_1^2}+2E\|\sum_iw_ih_i\|^2$, and if
    $\tau_{\rm eff}\eta L\le\frac12$ then
    $$E\widetilde F(x^+)-\widetilde F(x)\le-\frac{\eta\tau_{\rm eff}}2\|\nabla\widetilde F(x)\|^2
    +\eta^2\tau_{\rm eff}^2L\sigma^2\sum_i\frac{w_i^2\|a_i\|_2^2}{\|a_i\|_1^2}
    +\frac{\eta\tau_{\rm eff}}2\sum_iw_iE\|\nabla F_i(x)-h_i\|^2.$$
    """
    r, t, rule = recorded(i)
    w, d, h = t["w"], r.directions(t["vectors"]), r.directions(t["vectors"], "exact")
    n = range(len(w))
    mean_square = r.square(sum(w[k] * h[:, k] for k in n))
    T2 = ft.at_most(r.square(sum(w[k] * d[:, k] for k in n)), ft.Terms(**c.eq61(t["sigma2"], w, t["vectors"],
                                                                                mean_square)),
                    "eq 61")
    gradient = sum(w[k] * r.exact[0][0, k] for k in n)
    change = r.value(t["target"]) - ft.fraction(t["target"].to(ft.RATIONAL).value(ft.RATIONAL.array(r.x)))
    descent = change + t["gap"] + i.eta * t["tau_eff"] / 2 * (gradient * gradient).sum()
    drifts = [r.square(r.exact[0][:, k] - h[:, k]) for k in n]
    return T2, ft.at_most(descent,
                          ft.Terms(**c.eq64(i.eta, t["L"], t["sigma2"], t["tau_eff"], w, t["vectors"], drifts,
                                            t["gap"])),
                          "eq 64, with the gap before the round on both sides"), rule


@ft.claim("eq68", needs=[nonnegative_a], bound=True, rejects=[*SOLVER_BUGS, bugs.proximal_squared],
          on=[*I.solvers, *I.proximal, *I.kinked, *I.kinked_proximal, I.exact_gradients],
          search=ft.Search(families_of_rounds, tries=120))
def eq68(i):
    r"""For every solver with $a_{i,k}\ge0$:
    $E\|\nabla F_i(x)-h_i\|^2\le\frac{L^2}{\|a_i\|_1}\sum_{k<\tau_i}a_{i,k}E\|x-y_k\|^2$."""
    r, t, rule = recorded(i)
    h = r.directions(t["vectors"], "exact")
    return [rule] + [ft.at_most(r.square(r.exact[0][:, n] - h[:, n]),
                                ft.Terms(drift=c.weighted_drift(t["L"], a, r.drifts(n, len(a)))),
                                f"client {n + 1}") for n, a in enumerate(t["vectors"])]


@ft.claim("eq69-as-printed", on=[*I.eq69, *I.eq69_exact], finding="err-eq69",
          reading="Eq (69) is used for every solver with accumulation vector a_i, the coefficients of a prefix of the "
                  "local run read as the first entries of a_i, which is what (70)-(84) then sum.",
          survives="It holds for vanilla SGD and step decay, and for momentum the printed side can only be larger, so "
                   "(85) survives there.")
def eq69_as_printed(i):
    r"""For every solver: $E\|x-y_k\|^2=\eta^2E\big\|\sum_{s<k}a_{i,s}g_i(y_s)\big\|^2$ for $k<\tau_i$."""
    a = f.a_vector(i.solver, i.taus[0], i.value)
    if i.problem is None:
        solver = i.algorithm.to(i.domain).solver
        y = x = np.array([0 * i.eta])
        buffer, printed, moved = solver.start(x), [], []
        for k, g in enumerate(i.g[:-1]):
            y, buffer = solver.step(y, x, buffer, np.array([g]), i.eta, 1)
            moved.append((x - y)[0])
            printed.append(i.eta * sum((v * q for v, q in zip(a[1:k + 1], i.g[1:k + 1], strict=True)), a[0] * i.g[0]))
        return ft.equal([v * v for v in moved], [v * v for v in printed], "after 1, 2, ... coded steps")
    r = I.one_round(i)
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


@ft.claim("eq85-as-printed", needs=[nonnegative_a, small_drift], bound=True, finding="err-eq85",
          on=[*I.solvers, *I.proximal, *I.kinked, I.err_eq85, I.err_eq85_noise, I.noise_only, I.beyond],
          reading="D = 4 eta^2 L^2 C with the maximum over clients, which makes the right side largest; L is exact.",
          survives="eq85-restricted: it holds wherever the prefix coefficients are at most a (vanilla, decay, momentum).")
def eq85_as_printed(i):
    r"""For every solver with $a_{i,k}\ge0$ and $D=4\eta^2L^2\max_i\|a_i\|_1(\|a_i\|_1-a_{i,-1})<1$:
    $$\frac{L^2}{\|a_i\|_1}\sum_ka_{i,k}E\|x-y_k\|^2\le\frac{2\eta^2L^2\sigma^2}{1-D}\big(\|a_i\|_2^2-a_{i,-1}^2\big)
    +\frac D{1-D}E\|\nabla F_i(x)\|^2.$$
    """
    return _drift_legs(i, corrected=False)


@ft.claim("eq85-restricted", needs=[nonnegative_a, dominated, small_drift], bound=True, rejects=SOLVER_BUGS,
          on=[*I.solvers, *I.kinked, I.noise_only, I.exact_gradients, I.err_eq85, I.beyond],
          search=ft.Search(families_of_rounds, tries=150))
def eq85_restricted(i):
    r"""For vanilla SGD, step decay and momentum, whose prefix coefficients satisfy $b^{(k)}_{i,s}\le a_{i,s}$, and
    $D<1$:
    $$\frac{L^2}{\|a_i\|_1}\sum_ka_{i,k}E\|x-y_k\|^2\le\frac{2\eta^2L^2\sigma^2}{1-D}\big(\|a_i\|_2^2-a_{i,-1}^2\big)
    +\frac D{1-D}E\|\nabla F_i(x)\|^2.$$
    """
    return _drift_legs(i, corrected=False)


@ft.claim("eq85-corrected", needs=[nonnegative_a, small_prefix_drift], bound=True,
          rejects=[*SOLVER_BUGS, bugs.proximal_squared],
          on=[*I.solvers, *I.proximal, *I.kinked, *I.kinked_proximal, I.err_eq85, I.err_eq85_noise, I.noise_only,
              I.exact_gradients, I.beyond],
          search=ft.Search(families_of_rounds, tries=150))
def eq85_corrected(i):
    r"""For every linear solver with prefix coefficients $b^{(k)}_{i,s}\ge0$ and
    $D'=4\eta^2L^2\max_{i,k}\big(\sum_sb^{(k)}_{i,s}\big)^2<1$:
    $$\frac{L^2}{\|a_i\|_1}\sum_ka_{i,k}E\|x-y_k\|^2\le L^2\max_{k<\tau_i}E\|x-y_k\|^2
    \le\frac{2\eta^2L^2\sigma^2}{1-D'}\max_k\sum_s(b^{(k)}_{i,s})^2+\frac{D'}{1-D'}E\|\nabla F_i(x)\|^2.$$
    """
    return _drift_legs(i, corrected=True)


@ft.claim("eq87-92", on=I.eq87_92, domain="every beta^2 >= 1 and every 0 < D <= 1/(2 beta^2 + 1)")
def eq87_92(i):
    r"""$D\le\frac1{2\beta^2+1}$ gives $\frac1{1-D}\le1+\frac1{2\beta^2}$ and $\frac{D\beta^2}{1-D}\le\frac12$, with
    equality at the cap."""
    beta2 = 1 + i.b
    D, cap = 1 / ((2 * beta2 + 1) * (1 + i.s)), 1 / (2 * beta2 + 1)
    return (ft.nonnegative(1 + 1 / (2 * beta2) - 1 / (1 - D), "eq 87"),
            ft.nonnegative((1 - D) / 2 - D * beta2, "eqs 89-92, times 1 - D > 0"),
            ft.equal(1 / (1 - cap), ft.Terms(one=1 + 0 * i.b, drift=1 / (2 * beta2)), "eq 87 at the cap"),
            ft.equal(cap * beta2 / (1 - cap), ft.fraction("1/2"), "eqs 89-92 at the cap"))
