"""Appendix B for strongly convex clients: the recursion, Lemma 3 and the forms of Theorem 3, term by term, and their sums.

S = sum_i p_i^2, sigma2, G2 the squares; D, D0 are E|wbar_k - w*|^2 and at the start of the round; `power` is the decay factor
of a theorem to the number of rounds.
"""


def contraction(gamma, mu, beta, D, D0):
    """What is left of the squared distance after a local step."""
    return (1 - mu * gamma * beta) * D - mu * gamma * (1 - beta) * D0


def recursion(gamma, L, mu, beta, S, sigma2, Gamma, D, D0, drift, disp):
    """The bound on E|wbar_{k+1} - w*|^2 before G is inserted."""
    return {"contraction": contraction(gamma, mu, beta, D, D0), "noise": gamma**2 * S * sigma2,
            "drift and heterogeneity": 2 * drift + 6 * gamma**2 * L * Gamma,
            "displacement": mu * gamma * beta * (1 - beta) * disp}


def sharper(gamma, mu, beta, S, sigma2, D, D0, drift, disp, share):
    """The same without heterogeneity; `share` of the drift is at least gamma L/(1 - gamma L)."""
    return {"contraction": contraction(gamma, mu, beta, D, D0), "noise": gamma**2 * S * sigma2, "drift": share * drift,
            "displacement": mu * gamma * beta * (1 - beta) * disp}


def least_share(gamma, L):
    """The smallest share of the drift."""
    return gamma * L / (1 - gamma * L)


def round_measured(gamma, L, mu, beta, S, sigma2, contracted, moments):
    """A round of it. moments: (drift, displacement) of every local step; contracted: kappa D0."""
    fall = [(1 - mu * gamma * beta) ** (len(moments) - 1 - k) for k in range(len(moments))]
    total = [sum(v * m[part] for v, m in zip(fall, moments, strict=True)) for part in (0, 1)]
    return {"contraction": contracted, "noise": gamma**2 * S * sigma2 * sum(fall), "drift": least_share(gamma, L) * total[0],
            "displacement": mu * gamma * beta * (1 - beta) * total[1]}


def lemma3(gamma, last, L, mu, beta, S, sigma2, Gamma, G2, E):
    """The additive part A of Lemma 3 (123); last: the step of the round before, 0 in the first round."""
    return {"drift": 8 * E**3 * G2 * (gamma**2 * (4 + (1 - beta) ** 2) + 8 * last**2 * (1 - beta) ** 2 / beta**2),
            "displacement": mu * gamma**3 * beta * (1 - beta) * E**3 * G2, "noise": gamma**2 * E * S * sigma2,
            "heterogeneity": 6 * gamma**2 * L * E * Gamma}


def drift_factor(beta, k, E):
    """s_k: the p-average of E|wbar_k - wtilde_k^i|^2 is at most gamma^2 G^2 s_k."""
    return (1 - beta) ** 2 * k**2 + (beta * k + (1 - beta) * E) ** 2


def ones(k):
    """0 + 1 + .. + (k - 1)."""
    return k * (k - 1) / 2


def squares(k):
    """0 + 1 + 4 + .. + (k - 1)^2."""
    return k * (k - 1) * (2 * k - 1) / 6


def drift_total(beta, E, k, ones, twos):
    """s_0 + .. + s_{k-1} from 0 + 1 + .. + (k - 1) and from that of the squares."""
    return ((1 - beta) ** 2 + beta**2) * twos + 2 * beta * (1 - beta) * E * ones + (1 - beta) ** 2 * E**2 * k


def drift_sum(beta, E, k):
    """s_0 + .. + s_{k-1}."""
    return drift_total(beta, E, k, ones(k), squares(k))


def free_of_beta(beta):
    """A', in place of the bracket."""
    return (3 - beta) ** 2 / 4


def common(L, mu, gap, S, sigma2, Gamma, power):
    """Decay, noise and heterogeneity as printed."""
    return {"decay": L * gap / mu * power, "noise": S * sigma2 / (4 * mu), "heterogeneity": 3 * L * Gamma / (2 * mu)}


def theorem3_bounded(L, mu, beta, gap, S, sigma2, Gamma, G2, E, power):
    """Theorem 3 with A' for A."""
    return common(L, mu, gap, S, sigma2, Gamma, power) | {
        "drift": 2 * free_of_beta(beta) * E**2 * G2 / mu, "displacement": beta * (1 - beta) * E * G2 / (8 * L)}


def small_displacement(L, beta, G2, E):
    """Its last term with the sum of k^2 kept."""
    return beta * (1 - beta) * (E - 1) * (2 * E - 1) * G2 / (48 * L * E)


def theorem3_averaged(L, mu, beta, gap, S, sigma2, Gamma, G2, E, power):
    """Theorem 3 with the averaged drift."""
    return common(L, mu, gap, S, sigma2, Gamma, power) | {
        "drift": G2 * drift_sum(beta, E, E) / (2 * mu * E), "displacement": small_displacement(L, beta, G2, E)}


def theorem3_over_e(L, mu, beta, gap, S, sigma2, Gamma, G2, E, power):
    """Noise, heterogeneity and averaged drift divided by E."""
    return {"decay": L * gap / mu * power, "noise": S * sigma2 / (4 * E * mu), "heterogeneity": 3 * L * Gamma / (2 * E * mu),
            "drift": G2 * drift_sum(beta, E, E) / (2 * mu * E**2), "displacement": small_displacement(L, beta, G2, E)}


def theorem3_sharp(L, mu, beta, gap, S, sigma2, G2, E, power):
    """No heterogeneity, a drift with another factor of about 1/(4 E)."""
    wide = 2 * L + beta * mu
    return {"decay": L * gap / mu * power, "noise": S * sigma2 / (4 * E * mu),
            "drift": G2 * (wide * drift_sum(beta, E, E) / (8 * L * E**3 * mu)
                           + wide * beta * (1 - beta) * (E - 1) * (2 * E - 1) / (96 * L**2 * E**2))}
