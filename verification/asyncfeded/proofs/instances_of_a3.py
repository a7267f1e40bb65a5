"""Quadratics and Griewank functions under Assumptions 1 and 3, as chains of checked steps."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import instances_of_a3 as f


def one_hessian():
    """A bound of |t w - c|^2 for every t > 0 leaves w = (H_i - mean H) v no length: |w|^2 <= 2 (sigma_g^2 + |c|^2)/t^2."""
    p = ft.Proof("t", "sg2", "", "w c")
    t, sg2, (w, c) = p("t"), p("sg2"), p("w c")
    bounded = p.given("Assumption 3 on a ray", sg2 - (t * w - c).square, "at x = t v, c = b_i - mean b")
    two = p.square("Lemma 1", t * w - 2 * c)
    return p.conclude(p.follows("no length", 2 * (sg2 + c.square) / t**2 - w.square, (2 / t**2, bounded), (1 / t**2, two)))


def griewank():
    """The Hessian of the Griewank function, d = 2, lies between -(1 - 1/2000) and 1 + 1/2000 in every direction (z, sqrt(2) w)."""
    p = ft.Proof("", "", "u v p s z w")
    u, v, z, w = p("u v z w")
    bounds = {name: p.given(name, e, "a cosine") for name, e in
              (("u at most 1", 1 - u), ("u at least -1", 1 + u), ("v at most 1", 1 - v), ("v at least -1", 1 + v))}
    cc = p.define("product of cosines", p("p") - (u + v) / 2, "u = cos(x_1 - y), v = cos(x_1 + y)")
    ss = p.define("product of sines", p("s") - (u - v) / 2, "sin x_1 sin y")
    a, b, c = f.hessian(p("p"), p("s"))
    form, length = a * z**2 + 2 * b * z * w + c * w**2, z**2 + 2 * w**2
    minus, plus, half = p.square("one square", z - w), p.square("another square", z + w), Q(1, 2)
    above = p.follows("above", f.smoothness(2) * length - form, (half, minus, bounds["u at most 1"]),
                      (half, plus, bounds["v at most 1"]), (-(z**2 + w**2), cc), (2 * z * w, ss))
    below = p.follows("below", form + Q(1999, 2000) * length, (half, minus, bounds["u at least -1"]),
                      (half, plus, bounds["v at least -1"]), (z**2 + w**2, cc), (-2 * z * w, ss))
    return p.conclude(above, below)
