"""The staleness (6) does not depend on the unit of the parameters."""
import fltheory as ft

DOMAIN = "every dimension, distance and non-zero update, every scale a > 0; runs on the line, in the plane and drawn"


def invariant():
    """G, the staleness of a u and a v, is g, that of u = x - base and v = Delta."""
    p = ft.Proof("a least", "g G", "", "u v")
    a, least, g, G, u, v = p("a least g G u v")
    one = p.given("(6)", g**2 * v.square - u.square, "g = |u|/|v|", equality=True)
    two = p.given("(6), other unit", G**2 * (a * v).square - (a * u).square, "G = |a u|/|a v|", equality=True)
    moves = p.given("non-zero update", v.square - least)
    out = []
    for name, sign in (("not below", 1), ("not above", -1)):
        whole = p.follows(f"{name}, times |Delta|^2", sign * v.square * (G**2 - g**2), (sign / a**2, two), (-sign, one))
        out.append(p.cancel(f"squares {name}", sign * (G**2 - g**2), whole, moves, least))
    return p.conclude(*out)
