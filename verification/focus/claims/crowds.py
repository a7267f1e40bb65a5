"""Rates of many equal clients."""
import fltheory as ft
from verification.focus import steps
from verification.focus.bugs import theorem1 as bugs
from verification.focus.claims.theorem1 import steps_sc
from verification.focus.formulas import lemmas as f

equal = [*steps.crowds("sc"), *(i.but(name=f"{i.name}, h=8/9") for i in steps.crowd("rates", *steps.CROWDS, h="8/9"))]


@ft.claim("thm1-rate-many-clients", on=equal,
          needs=[steps.convex, steps.participation, steps_sc], rejects=[bugs.slow_server], bound=True,
          search=ft.Search((steps.equals("sc"), steps.equals("rates", units=False))), ends=steps.CROWDED,
          reading="Where the potentials of thm1-sc-corrected and thm1-pl-corrected no longer contract, the second moments of the "
                  "state still do at the printed rates: spectral radii from exact characteristic polynomials.")
def thm1_rate_many_clients(i):
    r"""Up to 1000 equal clients at the printed steps: mean-square rate at most $1-\eta\mu N/2$ and, with $\beta=\mu$, at most
    $1-\eta\beta N$.
    """
    rate = ft.Bounds(*i.exchangeable.certify().mean_square)
    out = [ft.at_most(rate, f.strongly_convex_rate(i.eta, i.mu, i.n), "1 - eta mu N/2")]
    if ft.fraction(i.eta) ** 2 <= f.admissible(f.steps_pl(i.n, i.L, steps.pl_constant(i), i.q)):
        out.append(ft.at_most(rate, f.pl_rate(i.eta, steps.pl_constant(i), i.n), "1 - eta beta N"))
    return out
