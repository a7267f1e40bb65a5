"""Theorem 1 with the smallest constants that our proof of it gives."""
import fltheory as ft
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.claims import surrogate as s
from verification.fednova.common_noise import independent
from verification.fednova.proofs import numbers, smaller, theorems


def meaning(i):
    """What both parts of the proof speak of: every local run, and the first round."""
    if numbers.readable(i):
        yield from numbers.norms(i)
        prefix = max(f.norm1(f.prefix(i.solver, k, i.value)) for t in i.taus for k in range(t))
        for known, points in s.meaning(i, True):
            yield known | {"c1": prefix}, points


@ft.claim("thm1-smaller-constants", needs=[*s.needs(True), independent], bound=True, domain=theorems.DOMAIN, meaning=meaning,
          proof=lambda: (smaller.theorem1(), smaller.drift()), ends=families.ENDS | {s.PREFIX_CAP: (families.TINY * 4, 1)},
          rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing],
          on=[*s.solvers, *s.one_per_term, s.many_kinked, s.prox_alpha1, s.prox_alpha1_limit, s.equal_steps, s.common_noise,
              s.too_large],
          search=ft.Search((ft.Family("quadratic", families.quadratics, families.CORNERS), ft.Family("Huber", families.hubers)),
                           tries=24))
def thm1_smaller(i):
    r"""Under the hypotheses of thm1-explicit-corrected the constants 4, 4, 6, 12 may be 3, 3, 6, 6:
    $$\frac1T\sum_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2
    \le\frac{3[\widetilde F(x^{(0,0)})-\widetilde F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{3\eta L\sigma^2A}m+6\eta^2L^2\sigma^2B'+6\eta^2L^2\kappa^2C'.$$"""
    t, A, B, C, beta2 = s.constants(i, True)
    bound = f.thm1_smaller(i.eta, t["L"], t["sigma2"], s.kappa2(i, t, beta2), t["gap"], t["tau_eff"], i.rounds, A, B, C, t["m"])
    return ft.at_most(s.left_side(i, t), ft.Terms(**bound))
