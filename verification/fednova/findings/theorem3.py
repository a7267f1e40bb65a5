"""Findings about Section 5 and Theorem 3."""
import sympy

import fltheory as ft
from verification.fednova.claims import theorem3 as claims
from verification.fednova.formulas import theorem3 as g
from verification.fednova.instances import theorem3 as I

ft.finding("e1-thm3", kind="counterexample", breaks="thm3-as-printed", at=("FedNova, prox-alpha1",
                                                                           "FedNova, prox-alpha1, T=100"),
           script="witnesses/e1_thm3.py",
           step="eq (69) replaces the prefix coefficients by a_s; Appendix F inherits it through eqs 81-91",
           reading="alpha = 1 gives |a_i|_1 = 1, so FedNova with tau_eff = sum p_i |a_i|_1 = 1, constant over rounds, "
                   "is FedProx itself; e1-own-eta has the prescribed step.",
           survives="With B', C' from prefix coefficients (thm3-corrected) the instance satisfies the bound.")


def _at_its_own_step():
    """eta = sqrt(m/(tau T)) ties T to eta; started just before the long round, where the orbit is lowest, so that F - F_inf
    is half the least |grad F|^2; tau_eff >= 1 in the first term."""
    i, T = I.e4_own_step, 1_600_000_000
    rounds = I.rounds_of(i)
    mean = sum(c * sum(taus) for c, taus, _ in rounds) / ft.fraction(2 * sum(c for c, _, _ in rounds))
    least = claims.left_side(i, smallest=True)
    right = i.domain.scalar(claims.right_side(i).total) + 2 * least / i.domain.scalar(i.eta * T)
    return [ft.equal(i.eta**2 * mean * T, ft.fraction(2), "eta^2 tau T = m at T = 1.6e9"),
            ft.equal(T % sum(c for c, _, _ in rounds), 0, "whole periods"),
            ft.at_most(right, least, "(147) at the step that Theorem 3 prescribes, against the least |grad F|^2",
                       strict=True)]


def _constant_tau_eff():
    """On E4's schedule the printed bound holds for the average over rounds once tau_eff is constant."""
    return [ft.at_most(claims.left_side(i), claims.right_side(i).total, f"{i.name}, constant: average against (147)")
            for i in I.e4_constant]


ft.finding("e4", kind="missing-hypothesis", breaks="thm3-as-printed", at=("one long round of 2000 in 952",),
           check=lambda: [*_constant_tau_eff(), *_at_its_own_step()],
           script="witnesses/e4.py",
           step="the telescoping sum of Appendix F divides every round by one common tau_eff, while rule (12) carries "
                "tau_eff^(t)",
           reading="The recommended default tau_eff^(t) = sum p_i tau_i(t), plain averages of A, B, C, infinite T, "
                   "smallest round on the left; and a second schedule at Theorem 3's own step, T = 1.6e9.",
           survives="Theorem 3 as proved has constant tau_eff (thm3-restricted); with tau_eff-weighted averages it "
                    "holds for every schedule.")


def _growth():
    """Period M, one round (1, M), eta = 1/(4 M): (least |grad F|^2)/(right side) divided by M tends to a positive
    number."""
    M = sympy.Symbol("M", positive=True)
    eta = 1 / (4 * M)
    power, short = (1 - eta) ** M, (1 - eta) ** (M - 1)
    least = g.period_end(*g.long_round(eta, M, power), short) ** 2
    # 12 eta^2 L^2 kappa^2 C~ with kappa^2 = 1 and C = M (M - 1) in one round of M
    right = 12 * eta**2 * M * (M - 1) / M
    root, E = sympy.exp(sympy.Rational(1, 4)), sympy.Symbol("E")
    slope = sympy.limit(least / (M * right), M, sympy.oo).rewrite(sympy.exp)
    quotient = sympy.lambdify(E, sympy.together(sympy.expand(slope).subs(root, E).subs(1 / root, 1 / E)), "math")
    ball = ft.Balls(256)
    e = (ball.scalar("1/4")).exp()
    checks = [ft.at_most(ft.fraction("1/10000"), quotient(e), "limit of ratio/M along the family is positive",
                         strict=True)]
    for size, low, high in ((2000, "85/100", "87/100"), (20000, "85/10", "87/10")):
        i = I.growing(size)
        least = claims.left_side(i, smallest=True)
        ratio = least / ball.scalar(claims.right_side(i).total)
        checks += [ft.at_most(ft.fraction(low), ratio, f"M = {size}: coded rounds, ratio at least {low}"),
                   ft.at_most(ratio, ft.fraction(high), f"M = {size}: and at most {high}"),
                   ft.equal(least, _stated(size, ball), f"M = {size}: the closed form")]
    return checks


def _stated(M, ball):
    eta = ball.scalar(ft.fraction(1) / (4 * M))
    return g.period_end(*g.long_round(eta, M, (1 - eta) ** M), (1 - eta) ** (M - 1)) ** 2


ft.finding("e4-growth", kind="asymptotic", breaks="thm3-as-printed", check=_growth, script="witnesses/e4_growth.py",
           reading="The family has period M, one round with steps (1, M), all others (1, 1), and eta = 1/(4 M), inside "
                   "(152) for every M.",
           survives="With tau_eff-weighted averages the right side carries the weight of the long round and the ratio "
                    "stays below 1.")


def _with_hypotheses():
    """The same two settings with the bounds that the sentence leaves out: a faster server, and uniform weights."""
    full = I.headline("tau_eff = 1", I.scalar([1, 1], [0, 0]), ((1, (1, 1)),), 10, 1, 1, 0, [1], 1)
    even = I.headline("64 equal clients", I.scalar([1] * 64, [0] * 64), ((1, (1,) * 64),), 4, 1, 1, 1)
    return [ft.at_most(c.lhs, c.rhs.total, f"{i.name}: the rate holds") for i in (full, even)
            for c in claims.thm3_headline(i)]


ft.finding("err-thm3-headline", kind="missing-hypothesis", breaks="thm3-headline",
           at=("tau_eff = 1/1000", "one dominant client of 64"),
           check=_with_hypotheses,
           step="(149) has the factors tau/tau_eff and A in front of 1/sqrt(m tau T); the rate in Theorem 3 drops both",
           reading="The theorem's first sentence gives the rate 1/sqrt(m tau T) for every p and every tau_eff > 0 that "
                   "the theorem allows.",
           survives="With both factors bounded and T large the rate holds (thm3-headline). The theorem's next sentence "
                    "refers to the detailed bound, which has both: read with it the rate is a summary.")
