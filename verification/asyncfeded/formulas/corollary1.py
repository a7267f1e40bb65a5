"""Lemma 3, Corollary 1, what its proof passes through, and its condition (C1).

log = ln(K + 1); M = mean square of the local steps; slope2, stale2 = |grad F|^2 at x_t and at x_{t-tau}; delta2 = |Delta|^2 or its
mean; Gamma2 = Gamma^2; Theta as in `steps.theta`.
"""


def lemma3(L, Gamma2, delta2, slope2):
    """(14): what |grad F(x_{t-tau})|^2 is at most."""
    return {"moved": 2 * L**2 * Gamma2 * delta2, "current": 2 * slope2}


def update_split(K, M, sigma_l2, exact):
    """(25f): E|Delta|^2 by the noise and by the sum of K eta_k^2 E|grad f(y_{k-1})|^2, `exact`."""
    return {"noise": K**2 * M * sigma_l2, "exact": exact}


def weighted_drift(L, log, stale2, sigma_l2, sigma_g2):
    """(27e): the sum of eta_k^2 E|y_{k-1} - x_{t-tau}|^2."""
    return {"gradient": log / (24 * L**4) * (sigma_g2 + stale2), "noise": log / (288 * L**4) * sigma_l2}


def weighted_drift_now(L, log, Gamma2, delta2, slope2, sigma_l2, sigma_g2):
    """(27f), with the gradient at x_t: (27e) after Lemma 3."""
    return {"current": log / (12 * L**4) * slope2, "moved": Gamma2 * log / (12 * L**2) * delta2,
            "apart": log / (24 * L**4) * sigma_g2, "noise": log / (288 * L**4) * sigma_l2}


def coefficients(K, L, M, log):
    """Of (10), before the division by Theta: {term: factor}."""
    return {"current": (12 * K**2 * L**2 * M + K * log) / (3 * L**2),
            "noise": (72 * K**2 * L**2 * M + K * log) / (72 * L**2),
            "apart": (24 * K**2 * L**2 * M + K * log) / (6 * L**2)}


def corollary1(K, L, M, log, Theta, slope2, sigma_l2, sigma_g2):
    """(10)."""
    at = {"current": slope2, "noise": sigma_l2, "apart": sigma_g2}
    return {k: c / Theta * at[k] for k, c in coefficients(K, L, M, log).items()}


def largest_gamma2(K, L, M, log):
    """(C1): what Gamma^2 has to stay below."""
    return 3 / (12 * K**2 * L**2 * M + K * log)


def largest_gamma2_of_short_steps(K, log):
    """Its limit for vanishing local steps."""
    return 3 / (K * log)


# ---- orders in K ----------------------------------------------------------------------------------------------------
def quadratic(K, L):
    """What the coefficients are at most, by M <= 1/(18 L^2) and ln(K + 1) <= K: {term: factor}."""
    return {"current": 5 * K**2 / (9 * L**2), "noise": 5 * K**2 / (72 * L**2), "apart": 7 * K**2 / (18 * L**2)}


def ordered(K, L, log, log2):
    """The same by K M L^2 <= (2 - 2 ln 2)/6."""
    room = (2 - 2 * log2) / 6
    return {"current": K * (12 * room + log) / (3 * L**2), "noise": K * (72 * room + log) / (72 * L**2),
            "apart": K * (24 * room + log) / (6 * L**2)}


def least(K, L, log):
    """What they are at least, for any steps."""
    return {"current": K * log / (3 * L**2), "noise": K * log / (72 * L**2), "apart": K * log / (6 * L**2)}
