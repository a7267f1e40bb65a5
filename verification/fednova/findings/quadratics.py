"""Findings about Section 3 and Appendix A."""
import sympy

import fltheory as ft
from fltheory.verdicts.claims.evidence import FALSIFIED, HOLDS, Comparison
from verification.fednova import formulas as f
from verification.fednova.instances import quadratics


def _no_root():
    """Eq (29) minus eq (30) as a polynomial in eta has no zero in (0, 1) for steps (1, 10): decided by Sturm's theorem."""
    eta = sympy.Symbol("eta")
    e, taus = [[sympy.Integer(0)], [sympy.Integer(1)]], (sympy.Integer(1), sympy.Integer(10))
    shrink = [(1 - eta) ** t for t in taus]
    gap = sympy.cancel(sympy.together(f.eq29(e, shrink)[0] - f.eq30(e, taus)[0]))
    numerator = sympy.Poly(sympy.numer(gap), eta)
    while numerator.eval(0) == 0:  # the zero at eta = 0 is the lemma's own limit
        numerator = sympy.Poly(sympy.quo(numerator, sympy.Poly(eta, eta)), eta)
    roots = numerator.count_roots(0, 1)
    value = ft.fraction(str(gap.subs(eta, sympy.Rational(1, 20))))
    coded = (
        quadratics.prox_quadratic("e2", ft.Quadratic([[[1]], [[1]]], [[0], [1]]), "1/20", (1, 10)).op.fixed_point().x[0]
    )
    return (Comparison("equal", int(roots), 0, HOLDS if roots == 0 else FALSIFIED, "exact",
                       "zeros of (29) - (30) for eta in (0, 1), steps (1, 10) (Sturm)"),
            ft.at_most(value, 0, "at eta = 1/20 the limit lies below 10/11", strict=True),
            ft.equal(coded, value + ft.fraction("10/11"), "and it is where the coded round converges"))


ft.finding(
    "e2", kind="remark", breaks="lem1", check=_no_root,
    reading="'Sufficiently small eta' read as: for some fixed eta > 0. The appendix itself states the iterated limit.",
    survives="As the iterated limit (first T, then eta) the lemma is proved: lem1.")
