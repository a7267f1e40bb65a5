"""FedProx on strongly convex clients: one local step, one round and t rounds, term by term, and its contraction factor.

z = q^E for q = 1 - gamma (alpha + mu), so that the same lines serve numbers and symbols.
"""


def kappa(alpha, mu, z):
    """The factor of a round (24)."""
    return (alpha + mu * z) / (alpha + mu)


def kappa57(L, alpha, mu):
    """What (57) bounds it by at the step of Theorem 1."""
    return 1 - mu / (3 * alpha + 2 * L + mu)


def step(L, mu, alpha, gamma, D, D0, S, sigma2, Gamma, drift, disp):
    """One local step: the squared distance afterwards. D, D0: before it and at the start of the round."""
    return {"contraction": (1 - gamma * (alpha + mu)) * D, "proximal": alpha * gamma * D0, "noise": gamma**2 * S * sigma2,
            "heterogeneity and drift": 6 * L * Gamma * gamma**2 + (2 - alpha * gamma) * drift + alpha * gamma * disp}


def lemma3(L, factor, gamma, D0, S, sigma2, Gamma, G2, E):
    """One round as printed (23) to (25)."""
    return {"contraction": factor * D0, "noise": gamma**2 * E * S * sigma2, "heterogeneity": 6 * gamma**2 * L * E * Gamma,
            "drift": 8 * gamma**2 * E**3 * G2}


def squares(E):
    """The sum of k^2 over k < E."""
    return E * (E - 1) * (2 * E - 1) / 6


def lemma3_sharp(L, factor, gamma, D0, S, sigma2, Gamma, G2, E):
    """One round with the drift of k steps bounded by gamma^2 k^2 G^2 and summed."""
    return lemma3(L, factor, gamma, D0, S, sigma2, Gamma, G2, E) | {"drift": 2 * gamma**2 * squares(E) * G2}


def theorem1_s(L, mu, alpha, S, sigma2, Gamma, G2, E):
    """The additive terms of Theorem 1 with the drift summed over the local steps of a round."""
    share = L / (L + alpha)
    return {"noise": share * S * sigma2 / (4 * mu), "heterogeneity": share * 3 * L * Gamma / (2 * mu),
            "drift": share * (E - 1) * (2 * E - 1) * G2 / (12 * mu)}


def theorem1_over_e(L, mu, alpha, S, sigma2, Gamma, G2, E):
    """The same from the geometric sum of a round: noise and heterogeneity over E."""
    share = L / (L + alpha)
    return {"noise": share * S * sigma2 / (4 * E * mu), "heterogeneity": share * 3 * L * Gamma / (2 * E * mu),
            "drift": share * (E - 1) * (2 * E - 1) * G2 / (8 * E * mu)}


def decay(L, mu, alpha, gap, t):
    """The first term of Theorem 1."""
    return L * gap / mu * (1 - mu / (3 * (L + alpha))) ** t
