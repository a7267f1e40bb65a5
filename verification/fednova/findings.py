"""What was found about FedNova's printed statements: records, decided by the procedure of their kind."""
import sympy

from fltheory.claims.claim import finding
from fltheory.claims.evidence import HOLDS, Comparison
from fltheory.claims.relations import at_most, equal
from fltheory.problems.quadratic import Quadratic
from fltheory.scalars import fraction
from verification.fednova import formulas as f
from verification.fednova.instances import quadratics, sampling

finding("e1", kind="counterexample", breaks="thm1-explicit-as-printed", at=("prox-alpha1", "prox-alpha1, T to infinity"),
        step="eq (69) replaces the prefix coefficients b_s^(k) by a_s, which is wrong for the proximal solver",
        script="witnesses/e1.py",
        reading="alpha = 1 (mu = 1/eta) is inside the theorem's hypotheses: a_i >= 0, and the paper discusses it.",
        survives="With B', C' built from prefix coefficients (thm1-explicit-corrected) the same instance satisfies the bound.")


def _no_root():
    """Eq (29) minus eq (30) as a polynomial in eta has no zero in (0, 1) for steps (1, 10): decided by Sturm's theorem."""
    eta = sympy.Symbol("eta")
    e, taus = [[sympy.Integer(0)], [sympy.Integer(1)]], (sympy.Integer(1), sympy.Integer(10))
    shrink = [(1 - eta) ** t for t in taus]
    gap = sympy.cancel(sympy.together((f.eq29(e, shrink)[0] - f.eq30(e, taus)[0])))
    numerator = sympy.Poly(sympy.numer(gap), eta)
    while numerator.eval(0) == 0:  # the zero at eta = 0 is the lemma's own limit
        numerator = sympy.Poly(sympy.quo(numerator, sympy.Poly(eta, eta)), eta)
    roots = numerator.count_roots(0, 1)
    value = fraction(str(gap.subs(eta, sympy.Rational(1, 20))))
    coded = quadratics.prox_quadratic("e2", Quadratic([[[1]], [[1]]], [[0], [1]]), "1/20", (1, 10)).op.fixed_point().x[0]
    return (Comparison("equal", int(roots), 0, HOLDS if roots == 0 else "FALSIFIED", "exact",
                       "zeros of (29) - (30) for eta in (0, 1), steps (1, 10) (Sturm)"),
            at_most(value, 0, "at eta = 1/20 the limit lies below 10/11", strict=True),
            equal(coded, value + fraction("10/11"), "and it is where the coded round converges"))


finding("e2", kind="remark", breaks="lem1", check=_no_root,
        reading="'Sufficiently small eta' read as: for some fixed eta > 0. The appendix itself states the iterated limit.",
        survives="As the iterated limit (first T, then eta) the lemma is proved: lem1.")

finding("e8b", kind="wrong-formula", breaks="cor3-o-as-printed", at=("tau=100", "tau=1000"), script="witnesses/e8b.py",
        step="eta is substituted into the second term of (182); the factor 1/eta's tau does not cancel",
        reading="Hidden constants are those of the proof (8L, 24L, 96L^2).",
        survives="cor3-o-corrected: the same rate with the second term tau_eff / sqrt(q tau T).")


def _family():
    """Along T = 100 tau^3 the exact left side over the printed terms (unit constants) grows at least like tau.

    s = 1 - (1 - eta)^tau >= tau eta/(1 + tau eta) (Bernoulli), and s/(2 - s) grows with s, so the left side is at least a
    rational function of tau; its quotient by tau times the printed terms has a positive limit.
    """
    tau = sympy.Symbol("tau", positive=True)
    eta = 1 / (10 * tau**2)
    s = tau * eta / (1 + tau * eta)
    printed = f.cor3_unit(10 * tau**2, tau, tau, 1, tau - 1, tau * (tau - 1), printed=True)
    ratio = sympy.together(s / (2 - s) / sum(printed.values()) / tau)
    slope = fraction(str(sympy.limit(ratio, tau, sympy.oo)))
    members = []
    for i in sampling.cor3:
        terms = f.cor3_unit(i.root, i.tau_eff, i.tau, i.q, i.B, i.C, printed=True)
        ratio_here = fraction(i.op.floor([0])) / sum(terms.values())
        members.append(at_most(fraction(i.tau) / 5, ratio_here, f"tau = {i.tau}: left side over printed terms exceeds tau/5"))
    return [at_most(fraction("1/5"), slope, "limit of (ratio / tau) along the family"), *members]


finding("e8b-family", kind="asymptotic", breaks="cor3-o-as-printed", check=_family,
        reading="Unit constants in the three printed terms; the first gets an initial gap of 1, which favours the paper.",
        survives="With the corrected second term the ratio stays near 1/2.")
