"""What the hypotheses give without any algorithm, and from where on the bounds say more than that. G2: G^2."""


def level(G2, mu):
    """E f - f_* where E|grad f|^2 <= G^2 and f is mu-strongly convex."""
    return G2 / (2 * mu)


def radius(G, mu):
    """The distance from the minimiser beyond which a mu-strongly convex function has a gradient longer than G."""
    return G / mu


def largest_alpha(E, L):
    """Up to here Theorem 1's last term alone is at least `level`."""
    return (4 * E**2 - 1) * L


def horizon4(E, A):
    """Rounds at which the G term of Theorem 4 (bracket A) equals G^2."""
    return E * A


def sharper_bracket(beta):
    """A of Theorem 4 with averaged drifts, (1 + (1 - beta)^2)/4 in place of `drift_constant`."""
    return (1 + (1 - beta) ** 2) / 4


def horizon2(E, L, alpha):
    """Rounds at which the two leading G terms of Theorem 2 equal G^2: {term: T}."""
    return {"proximal": alpha**2 * E**3 / (L + alpha) ** 2, "drift": 2 * L**2 * E / (L + alpha) ** 2}
