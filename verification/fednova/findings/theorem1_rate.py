"""Findings about eq 8, Theorem 1 at its own step size."""
import fltheory as ft
from verification.fednova.claims.theorem1_rate import eq8_terms, gradient_square
from verification.fednova.formulas import appendix_c as c
from verification.fednova.instances import theorem1_rate as I

ft.finding("e1-own-eta", kind="counterexample", breaks="thm1-o-as-printed",
           at=("E1 with m=216 clients", "E1 with m=1014 clients"),
           script="witnesses/e1_own_eta.py",
           step="eq (69), as in e1: B = C = 0 at alpha = 1 although the clients drift",
           reading="Hidden constants are those of the proof. Clients are deterministic, so identical ones can be "
                   "grouped; m = 216 is run in full.",
           survives="thm1-o-restricted, and for fixed m the slope in T (thm1-o-slope).")


def _growth():
    """On the family m = 6 j^2, eta = 1/(3j), T = m^2 the ratio divided by j tends to 1/6, so it grows like sqrt(m)."""
    u, = ft.Field("u").symbols  # u = 1/j
    ratio = c.e1_own_eta(u / 3, 6 / (u * u))
    eta, x = I.e1_symbolic.eta, I.e1_symbolic.op.fixed_point().x[0]
    legs = [ft.equal(x, eta / (2 - eta), "where the coded round converges, for every eta"),
            ft.at_most(ft.fraction("1/6"), ft.fraction(str(ft.limit(ratio * u, "u"))),
                       "limit of (left side / right side) / j, with j = sqrt(m/6)")]
    for i in I.e1_members:
        terms = eq8_terms(i, corrected=False)
        least = gradient_square(i).low
        legs += [ft.equal([terms["noise"], terms["drift_noise"], terms["drift"]], [0, 0, 0],
                          f"m = {i.m}: only the first term of eq 8 is left"),
                 ft.equal(least / terms["start"], c.e1_own_eta(i.eta, i.m), f"m = {i.m}: coded ratio"),
                 ft.at_most(ft.fraction(i.j) / 6, least / terms["start"],
                            f"m = {i.m}: the ratio exceeds j/6 = sqrt(m/216)")]
    return legs


ft.finding("e1-growth", kind="asymptotic", breaks="thm1-o-as-printed", script="witnesses/e1_growth.py", check=_growth,
           reading="Any hidden constants that do not depend on m, T and tau: three of the four terms vanish on the "
                   "family and the first one is exceeded by a factor that grows like sqrt(m).",
           survives="For fixed m and tau the missing term is of order 1/T.")
