"""Theorem 3 with round-varying tau_eff: no constant repairs plain averages."""
from fractions import Fraction

import sympy

import fltheory as ft
from verification.fednova.claims.theorem3 import left_side, long_period, right_side
from verification.fednova.formulas import theorem3 as g


def growing(M):
    """Period equal to the long step count, eta = 1/(4 M)."""
    return long_period(M, M, Fraction(1, 4 * M))


def _stated(M, ball):
    eta = ball.scalar(ft.fraction(1) / (4 * M))
    return g.period_end(*g.long_round(eta, M, (1 - eta) ** M), (1 - eta) ** (M - 1)) ** 2


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
        i = growing(size)
        least = left_side(i, smallest=True)
        ratio = least / ball.scalar(right_side(i).total)
        checks += [ft.at_most(ft.fraction(low), ratio, f"M = {size}: coded rounds, ratio at least {low}"),
                   ft.at_most(ratio, ft.fraction(high), f"M = {size}: and at most {high}"),
                   ft.equal(least, _stated(size, ball), f"M = {size}: the closed form")]
    return checks


ft.finding("e4-growth", kind="asymptotic", breaks="thm3-as-printed", check=_growth, script="witnesses/e4_growth.py",
           reading="The family has period M, one round with steps (1, M), all others (1, 1), and eta = 1/(4 M), inside "
                   "(152) for every M.",
           survives="With tau_eff-weighted averages the right side carries the weight of the long round and the ratio "
                    "stays below 1.")
