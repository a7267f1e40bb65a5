"""Findings about Section 5 and Appendices F, G."""
import sympy

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.instances import sampling

ft.finding("e8b", kind="wrong-formula", breaks="cor3-o-as-printed", at=("tau=100", "tau=1000"),
           script="witnesses/e8b.py",
           step="eta is substituted into the second term of (182); the factor 1/eta's tau does not cancel",
           reading="Hidden constants are those of the proof (8L, 24L, 96L^2).",
           survives="cor3-o-corrected: the same rate with the second term tau_eff / sqrt(q tau T).")


def _family():
    """Along T = 100 tau^3 the exact left side over the printed terms (unit constants) grows at least like tau.

    s = 1 - (1 - eta)^tau >= tau eta/(1 + tau eta) (Bernoulli), and s/(2 - s) grows with s, so the left side is at least
    a rational function of tau; its quotient by tau times the printed terms has a positive limit."""
    tau = sympy.Symbol("tau", positive=True)
    eta = 1 / (10 * tau**2)
    s = tau * eta / (1 + tau * eta)
    printed = f.cor3_unit(10 * tau**2, tau, tau, 1, tau - 1, tau * (tau - 1), printed=True)
    ratio = sympy.together(s / (2 - s) / sum(printed.values()) / tau)
    slope = ft.fraction(str(sympy.limit(ratio, tau, sympy.oo)))
    members = []
    for i in sampling.cor3:
        terms = f.cor3_unit(i.root, i.tau_eff, i.tau, i.q, i.B, i.C, printed=True)
        ratio_here = ft.fraction(i.op.floor([0])) / sum(terms.values())
        members.append(
            ft.at_most(ft.fraction(i.tau) / 5, ratio_here, f"tau = {i.tau}: left side over printed terms exceeds tau/5")
        )
    return [ft.at_most(ft.fraction("1/5"), slope, "limit of (ratio / tau) along the family"), *members]


ft.finding(
    "e8b-family", kind="asymptotic", breaks="cor3-o-as-printed", check=_family,
    reading="Unit constants in the three printed terms; the first gets an initial gap of 1, which favours the paper.",
    survives="With the corrected second term the ratio stays near 1/2.")
