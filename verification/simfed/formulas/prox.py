"""FedProx without convexity: drifts within a round and the inequalities of Lemma 4 and Theorem 2 of Appendix A, term by term."""


def reach(gamma, alpha, k):
    """The largest |w_k - wbar_0| over gradients of norm at most 1."""
    return sum(gamma * (1 - alpha * gamma) ** j for j in range(k))


def drift(gamma, k, G2):
    """What bounds E|w_k - wbar_0|^2, and the weighted mean of E|wbar_k - w_k|^2."""
    return gamma**2 * k**2 * G2


def deviation(gamma, k, G2):
    """What bounds E|wbar_k - w_k^i|^2 of every client; at k = E that of (17)."""
    return 4 * drift(gamma, k, G2)


def lemma4(L, alpha, gamma, fall, S, sigma2, G2, E):
    """(58), (59) as printed; fall = E f(wbar_0) - E f(wbar_E)."""
    return {"start": 4 / (gamma * E) * fall, "noise": 2 * gamma * L * S * sigma2, "drift": 8 * gamma**2 * L**2 * E**2 * G2,
            "proximal": 2 * gamma * alpha * E**2 * G2, "last": gamma**3 * alpha**2 * L * E**2 * G2 / 2}


def lemma4_s(L, alpha, gamma, fall, S, sigma2, G2, E):
    """The sharper inequality, for gamma <= min{1/L, 1/alpha}."""
    each = 2 * gamma**2 * E**2 * G2 / 3
    return {"start": 2 / (gamma * E) * fall, "noise": gamma * L * S * sigma2, "drift": L**2 * each, "proximal": alpha**2 * each}


def lemma4_summed(L, alpha, gamma, fall, S, sigma2, G2, E):
    """The same with the drift of k steps summed over k < E: nothing of it at E = 1."""
    each = gamma**2 * (E - 1) * (2 * E - 1) * G2 / 3
    return lemma4_s(L, alpha, gamma, fall, S, sigma2, G2, E) | {"drift": L**2 * each, "proximal": alpha**2 * each}


def theorem2_s(L, alpha, gap, S, sigma2, G2, E, T, root):
    """The sharper rate at gamma = 1/(2 (L + alpha) root), root = sqrt(T E)."""
    La = L + alpha
    return {"start": 4 * La * gap / root, "noise": L * S * sigma2 / (2 * La * root),
            "drift": (L**2 + alpha**2) * E * G2 / (6 * La**2 * T)}
