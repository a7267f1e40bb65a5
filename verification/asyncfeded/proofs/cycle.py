"""The orbit of period m: the distance of every client's base is the length of its own move, which fixes gamma."""
import fltheory as ft

DOMAIN = ("every m >= 2, dimension, problem, K, local solver, lambda > 0 and eps > 0; orbits of period exactly m with non-zero "
          "updates")


def gamma():
    """gamma = eta_g, so that gamma (gamma + eps) = lambda. v = Delta; on the orbit x - base = -eta_g Delta: m moves sum to 0."""
    p = ft.Proof("least lam eta", "eps gamma", "", "v")
    least, lam, eta, eps, g, v = p("least lam eta eps gamma v")
    rule = p.given("(7)", eta * (g + eps) - lam, "eta_g = lambda/(gamma + eps)", equality=True)
    quotient = p.given("(6) on the orbit", g**2 * v.square - (eta * v).square, "gamma |Delta| = |x - base| = |eta_g Delta|",
                       equality=True)
    moves = p.given("non-zero update", v.square - least)
    factor = p.follows("a positive factor", v.square * (g + eta) - least * eta, (g, moves), (eta, moves))
    sides = []
    for name, sign in (("at least", 1), ("at most", -1)):
        whole = p.follows(f"{name}, times the factor", sign * v.square * (g + eta) * (g - eta), (sign, quotient))
        near = p.cancel(f"gamma {name} eta_g", sign * (g - eta), whole, factor, least * eta)
        sides.append(p.follows(f"gamma (gamma + eps) {name} lambda", sign * (g * (g + eps) - lam), (sign, rule), (g + eps, near)))
    return p.conclude(*sides)
