"""Section 4.2 and Appendix C: Theorem 1 with explicit constants."""
from functools import lru_cache

import fltheory as ft
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.instances import surrogate as I


def left_side(i, t):
    """(1/T) sum E |grad F~(x_t)|^2: exact second moments of the coded round."""
    return i.left_side() if hasattr(i, "left_side") else i.op.mean_gradient_square(t["target"], i.rounds, i.x0)


@lru_cache(4)  # two hypotheses and the bound ask for them
def constants(i, corrected):
    """(t, A, B, C, beta^2): everything on the right-hand side; beta^2 is the largest that the cap allows."""
    t = I.theorem(i)
    if corrected:
        A, B, C = f.abc_corrected(i.solver, i.value, i.taus, t["w"], t["tau_eff"])
        beta2 = (
            f.beta2_under_corrected_cap(i.eta, t["L"], C) if C else f.beta2_under_cap(i.eta, t["L"], max(t["norms"])))
    else:
        A, B, C = f.abc(t["vectors"], t["w"], t["tau_eff"])
        beta2 = f.beta2_under_cap(i.eta, t["L"], max(t["norms"]))
    return t, A, B, C, beta2


def kappa2(i, t, beta2):
    """Smallest kappa^2 of Assumption 3 at this beta^2; None if there is no finite one."""
    return i.kappa2 if "kappa2" in i.extra else i.problem.dissimilarity(t["w"], beta2)


def right_side(i, corrected):
    t, A, B, C, beta2 = constants(i, corrected)
    k = kappa2(i, t, beta2)
    return t, ft.Terms(
        **f.thm1(i.eta, t["L"], t["sigma2"], ft.fraction(k), t["gap"], t["tau_eff"], i.rounds, A, B, C, t["m"]))


def _needs(corrected):
    def smallest_entry(i):
        return 0, min(min(a) for a in I.theorem(i)["vectors"])

    def cap(i):
        return 1, constants(i, corrected)[4]

    def server_cap(i):
        t = I.theorem(i)
        return 2 * i.eta * t["L"] * t["tau_eff"], 1

    def dissimilar(i):
        t, _, _, _, beta2 = constants(i, corrected)
        k = kappa2(i, t, beta2)
        return 0, None if k is None else ft.fraction(k)

    def bounded(i):
        return 0, I.theorem(i)["gap"]
    drift = r"4\eta^2L^2C'\le\frac1{2\beta^2+1}" if corrected else r"\eta L\max_i\|a_i\|_1\sqrt{2\beta^2+1}\le\frac12"
    return [ft.Hypothesis("non-negative a", r"$a_{i,k}\ge0$", smallest_entry),
            ft.Hypothesis("step cap (101), drift", rf"${drift}$ leaves $\beta^2\ge1$", cap),
            ft.Hypothesis("step cap (101), server", r"$2\eta L\tau_{\rm eff}\le1$", server_cap),
            ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", dissimilar),
            ft.Hypothesis("bounded below", r"$\widetilde F_{\inf}>-\infty$, gap $\ge0$", bounded)]


@ft.claim(
    "thm1-explicit-as-printed",
    on=[*I.solvers, *I.one_per_term, I.prox_alpha1, I.prox_alpha1_limit, I.too_large],
    needs=_needs(False),
    bound=True,
    rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing],
    finding="e1",
    reading="Constants of eqs (96)-(101) exactly as printed; L, kappa^2 and the initial gap are exact, beta^2 is the largest value "
    "the cap allows (which makes the bound smallest). alpha = 1 is discussed in the paper itself.",
    survives="The theorem holds for every solver whose prefixes are accumulated with the same a_i (vanilla, step decay) and for "
    "momentum, where b <= a. For fixed m and tau the missing term is O(1/T), so the slope in T alone survives for FedProx.",
)
def thm1_as_printed(i):
    r"""Under A1-A3, $a_{i,k}\ge0$ and $\eta
    L\le\frac12\min\left\{\frac1{\max_i\|a_i\|_1\sqrt{2\beta^2+1}},\frac1{\tau_{\rm eff}}\right\}$ (101),
    $$\frac1T\sum_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2
    \le\frac{4[\widetilde F(x^{(0,0)})-\widetilde F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{4\eta L\sigma^2A}m+6\eta^2L^2\sigma^2B+12\eta^2L^2\kappa^2C$$
    with $A=m\tau_{\rm eff}\sum_i\frac{w_i^2\|a_i\|_2^2}{\|a_i\|_1^2}$, $B=\sum_iw_i(\|a_i\|_2^2-a_{i,-1}^2)$,
    $C=\max_i\|a_i\|_1(\|a_i\|_1-a_{i,-1})$."""
    t, bound = right_side(i, corrected=False)
    return ft.at_most(left_side(i, t), bound)


@ft.claim("thm1-explicit-corrected", needs=_needs(True), bound=True,
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing],
          on=[*I.solvers, *I.one_per_term, I.many_kinked, I.prox_alpha1, I.prox_alpha1_limit, I.too_large],
          search=ft.Search((ft.Family("quadratic", families.quadratics), ft.Family("Huber", families.hubers),
                            ft.Family("logistic", families.logistics)), tries=150))
def thm1_corrected(i):
    r"""For every linear solver with prefix coefficients $b^{(k)}_{i,s}\ge0$ the bound of Theorem 1 holds with
    $B'=\sum_iw_i\max_{k<\tau_i}\sum_s(b^{(k)}_{i,s})^2$ and $C'=\max_i\max_{k<\tau_i}\big(\sum_sb^{(k)}_{i,s}\big)^2$
    in place of $B$ and $C$, under $\tau_{\rm eff}\eta L\le\frac12$ and $4\eta^2L^2C'\le\frac1{2\beta^2+1}$."""
    t, bound = right_side(i, corrected=True)
    return ft.at_most(left_side(i, t), bound)
