"""Appendix G, eq 182: Corollary 3 with explicit constants."""
import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims.client_sampling import finite, kappa2
from verification.fednova.formulas import client_sampling as c
from verification.fednova.instances import client_sampling as I
from verification.fednova.instances import sampling_families as families


def largest_beta2(i, corrected=False):
    """The largest beta^2 that the step conditions of (182) allow; only the server's condition where C plays no role."""
    _, _, C = abc(i, corrected)
    return c.beta2_allowed(i.eta, ft.fraction(i.constants.L), i.tau_eff, i.q, C)


def abc(i, corrected):
    """(A, B, C) with w = p; B and C from prefix coefficients if corrected."""
    if corrected:
        return f.abc_corrected(i.solver, i.value, i.taus, i.p, i.tau_eff)
    return f.abc([f.a_vector(i.solver, t, i.value) for t in i.taus], i.p, i.tau_eff)


def right_side(i, corrected):
    """Right-hand side of eq 182 with the largest beta^2 allowed (the smallest bound)."""
    t, (_, B, C) = I.facts(i), abc(i, corrected)
    return ft.Terms(**c.cor3(i.eta, t["L"], t["sigma2"], kappa2(i, largest_beta2(i, corrected)), t["gap"], i.tau_eff,
                             i.rounds, i.q, B, C))


def left_side(i):
    """(1/T) sum E|grad F(x_t)|^2 of the coded rounds."""
    return i.left_side() if hasattr(i, "left_side") else i.op.mean_gradient_square(i.problem, i.rounds, i.x0)


def _needs(corrected, prefixes=False):
    drift = r"D=4\eta^2L^2C'" if corrected else r"D=4\eta^2L^2C"
    needs = [ft.Hypothesis("non-negative a", r"$a_{i,k}\ge0$",
                           lambda i: (0, min(min(a) for a in I.facts(i)["vectors"]))),
             ft.Hypothesis("sample size", r"$q\le m$", lambda i: (i.q, i.m)),
             ft.Hypothesis("fresh runs", "every draw makes a run of its own", lambda i: (i.shared, 0)),
             ft.Hypothesis("step size", r"$2\tau_{\rm eff}\eta L\le1$",
                           lambda i: (2 * i.tau_eff * i.eta * ft.fraction(i.constants.L), 1)),
             ft.Hypothesis("server step and drift", rf"$6\tau_{{\rm eff}}\eta L(1+\beta^2/q)\le\frac12$, "
                                                 rf"${drift}\le\frac1{{12\beta^2+1}}$ leave $\beta^2\ge1$",
                           lambda i: (1, largest_beta2(i, corrected))),
             ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$",
                           lambda i: finite(i, largest_beta2(i, corrected))),
             ft.Hypothesis("bounded below", r"$F_{\inf}>-\infty$, gap $\ge0$", lambda i: (0, I.facts(i)["gap"]))]
    if prefixes:
        needs.append(ft.Hypothesis("prefixes", r"$b^{(k)}_{i,s}\le a_{i,s}$ (vanilla, decay, momentum)",
                                   _prefix_excess))
    return needs


def _prefix_excess(i):
    """Largest b_s^(k) - a_s over clients, prefixes and entries."""
    return max((b - a for t in i.taus for k in range(1, t)
                for b, a in zip(f.prefix(i.solver, k, i.value), f.a_vector(i.solver, t, i.value), strict=False)),
               default=0), 0


_cor3_bugs = [bugs.normaliser_missing, bugs.one_step_more, bugs.renormalised_weights]


_everywhere = [*I.solvers, *I.one_per_term, I.many_kinked, I.half_proximal, I.e1_crowd, I.e1_small, I.too_large]


@ft.claim("cor3-explicit-as-printed", on=_everywhere,
          needs=_needs(False), bound=True, rejects=_cor3_bugs, finding="e1-cor3",
          reading="Constants of (182) exactly as printed; L, kappa^2 and the gap are exact, beta^2 is the largest "
                  "value the step conditions allow (which makes the bound smallest); T tends to infinity. alpha = 1 is "
                  "discussed in the paper itself.",
          survives="cor3-explicit-restricted: every solver whose prefix coefficients are at most a_i (vanilla, decay, "
                   "momentum). With the default tau_eff and q below about 1,000 the sampling term hides the missing "
                   "drift on this instance.")
def cor3_as_printed(i):
    r"""Scheme (i), $q\le m$, fixed $a_{i,k}\ge0$ and $\tau_{\rm eff}$, fresh runs for repeated draws,
    $\eta L\le\frac1{2\tau_{\rm eff}}$, $6\tau_{\rm eff}\eta L(1+\beta^2/q)\le\frac12$,
    $D=4\eta^2L^2C\le\frac1{12\beta^2+1}$:
    $$\frac1T\sum_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{8[F(x_0)-F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{8\tau_{\rm eff}\eta L(\sigma^2+3\kappa^2)}q+48\eta^2L^2\sigma^2B+96\eta^2L^2\kappa^2C.$$
    """
    return ft.at_most(left_side(i), right_side(i, corrected=False))


@ft.claim("cor3-explicit-restricted", on=[*I.solvers, *I.one_per_term, I.many_kinked, I.half_proximal, I.too_large],
          needs=_needs(False, prefixes=True), bound=True, rejects=_cor3_bugs,
          search=ft.Search((ft.Family("quadratic", families.cor3_quadratics), ft.Family("Huber", families.cor3_hubers)),
                           tries=120))
def cor3_restricted(i):
    r"""Under the conditions of (182), for solvers whose prefixes satisfy $b^{(k)}_{i,s}\le a_{i,s}$ (vanilla, decay,
    momentum), (182) holds:
    $$\frac1T\sum_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{8[F(x_0)-F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{8\tau_{\rm eff}\eta L(\sigma^2+3\kappa^2)}q+48\eta^2L^2\sigma^2B+96\eta^2L^2\kappa^2C.$$
    """
    return ft.at_most(left_side(i), right_side(i, corrected=False))


@ft.claim("cor3-explicit-corrected", on=_everywhere,
          needs=_needs(True), bound=True, rejects=_cor3_bugs,
          search=ft.Search((ft.Family("quadratic", families.cor3_any_quadratics),
                            ft.Family("Huber", families.cor3_any_hubers)),
                           tries=120))
def cor3_corrected(i):
    r"""For every linear solver with non-negative prefix coefficients (182) holds with
    $B'=\sum_ip_i\max_k\sum_s(b^{(k)}_{i,s})^2$ and $C'=\max_i\max_k\big(\sum_sb^{(k)}_{i,s}\big)^2$ in place of $B$
    and $C$, also in $D$:
    $$\frac1T\sum_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{8[F(x_0)-F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{8\tau_{\rm eff}\eta L(\sigma^2+3\kappa^2)}q+48\eta^2L^2\sigma^2B'+96\eta^2L^2\kappa^2C'.$$
    """
    return ft.at_most(left_side(i), right_side(i, corrected=True))
