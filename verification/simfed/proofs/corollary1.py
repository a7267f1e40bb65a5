"""Pencil proof of Corollary 1: no number of local steps beats E_opt, by the inequality of means in the form of a square."""
import fltheory as ft
from verification.simfed.formulas import corollary1 as f

DOMAIN = ("all a, b, T > 0 and all E > 0, whole or not: a = 2 x^3, b = y^3, T = t^6 and E = e^2 reach every one of them; the bound "
          "of Theorem 4 is a/sqrt(TE) + b E/T with the printed a and b")


def smallest():
    """r(E) >= 3 x^2 y/t^4, whose cube is the printed one."""
    p = ft.Proof("x y t e")
    x, y, t, e = p("x y t e")
    gap = p.square("distance from the best", e * y - x * t)
    rate = f.rate(2 * x**3, y**3, e**2, t**6, t**3 * e)
    return p.conclude(p.follows("never below", rate - 3 * x**2 * y / t**4, ((e * y + 2 * x * t) / (e * t**6), gap)))
