"""Theorems 1 to 4 and their contraction factors as printed, term by term.

S = sum_i p_i^2; sigma2, G2 are squares; root = sqrt(T E);
`gap` is f(wbar_0) - f_* in Theorems 1 and 3 and f(wbar_0) - f_inf in 2 and 4.
"""


def kappa_prox(alpha, mu, gamma, E):
    """FedProx, Lemma 3 of Appendix A (24): the squared distance after a round over that before it."""
    return (alpha + mu * (1 - gamma * (alpha + mu)) ** E) / (alpha + mu)


def kappa_ours(beta, mu, gamma, E):
    """The method, Lemma 3 of Appendix B (123)."""
    return 1 - (1 - (1 - beta * mu * gamma) ** E) / beta


def drift_constant(beta):
    """The bracket A of Theorems 3 and 4 and of Lemma 2 of Appendix B."""
    return 4 + (1 - beta) ** 2 + 8 * (1 - 1 / beta) ** 2


def theorem1(L, mu, alpha, gap, S, sigma2, Gamma, G2, E, t):
    """FedProx, strongly convex, gamma = 1/(2 E (L + alpha)) (7)."""
    share = L / (L + alpha)
    return {"decay": L * gap / mu * (1 - mu / (3 * (L + alpha))) ** t, "noise": share * S * sigma2 / (4 * mu),
            "heterogeneity": share * 3 * L * Gamma / (2 * mu), "drift": share * 2 * E**2 * G2 / mu}


def theorem2(L, alpha, gap, S, sigma2, G2, E, T, root):
    """FedProx, non-convex, gamma = 1/(2 (L + alpha) sqrt(T E))."""
    La = L + alpha
    return {"start": 8 * La * gap / root, "noise": L * S * sigma2 / (La * root), "proximal": alpha * E**2 * G2 / (La * root),
            "drift": 2 * L**2 * E * G2 / (La**2 * T), "last": alpha**2 * L * E * G2 / (16 * La**3 * T * root)}


def theorem3(L, mu, beta, gap, S, sigma2, Gamma, G2, E, t):
    """The method, strongly convex, gamma = 1/(2 L E) (8)."""
    return {"decay": L * gap / mu * (1 - mu / ((beta + 2) * L)) ** t, "noise": S * sigma2 / (4 * mu),
            "heterogeneity": 3 * L * Gamma / (2 * mu), "drift": 2 * drift_constant(beta) * E**2 * G2 / mu,
            "displacement": beta * (1 - beta) * E * G2 / (8 * L)}


def theorem4(L, beta, gap, S, sigma2, G2, E, T, root):
    """The method, non-convex, gamma = 1/(2 L sqrt(T E))."""
    return {"start": 4 * L * gap / root, "noise": S * sigma2 / (2 * root), "drift": E * G2 / T * drift_constant(beta)}
