"""The error term T2 of Appendix A.4 and what the paper bounds it by: (31) to (35), as printed and corrected.

T2 = |N grad F(x_t) + Delta/K|^2, T21 the same with exact gradients; d2 = E|Delta|^2; F2 = |grad F(x_t)|^2; Gamma2 = Gamma^2;
q = sum_k eta_k^2 = K M; log = ln(K + 1).
"""


def descent(L, eta_g, K, N, F2, d2, T2):
    """(32): what E[F(x_{t+1}) - F(x_t)] is at most."""
    return {"descent": -K * N * eta_g / 2 * F2, "update": (L * eta_g**2 / 2 - eta_g / (2 * N * K)) * d2,
            "error": K * eta_g / (2 * N) * T2}


def smooth31(L, eta_g, inner, d2):
    """(31): <grad F(x_t), eta_g Delta> + L eta_g^2/2 |Delta|^2, from inner = <grad F(x_t), Delta>."""
    return eta_g * inner + L * eta_g**2 / 2 * d2


def split33c(T21, noise):
    """(33c) as printed. noise: E|(1/K) sum_k eta_k (grad f - g)|^2."""
    return {"exact": T21, "noise": noise}


def split(T21, noise, covariance):
    """(33c) corrected. covariance: of the exact part with (1/K) sum_k eta_k (grad f - g)."""
    return split33c(T21, noise) | {"covariance": 2 * covariance}


def bound33d(T21, M, sigma2):
    """(33d)."""
    return {"exact": T21, "noise": M * sigma2}


def share33d(K):
    """What part of M sigma_l^2 is proved to be enough in (33d)."""
    return (7 * K + 5) / (12 * K)


def bound34e(N, L, K, Gamma2, d2, sigma_g2, drifts):
    """(34e). drifts: sum_k eta_k^2 E|y_{k-1} - x_{t-tau}|^2."""
    return {"staleness": 3 * N**2 * L**2 * Gamma2 * d2, "heterogeneity": 3 * N**2 * sigma_g2, "drift": 3 * L**2 / K * drifts}


def bound35(N, M, L, K, log, Gamma2, F2, d2, sigma_g2, sigma2):
    """(35) with the coefficient of E|Delta|^2 corrected."""
    return {"gradient": log / (4 * K * L**2) * F2, "update": (Gamma2 * log / (4 * K) + 3 * N**2 * L**2 * Gamma2) * d2,
            "heterogeneity": (log / (8 * K * L**2) + 3 * N**2) * sigma_g2, "noise": (log / (96 * K * L**2) + M) * sigma2}


def printed35(N, M, L, K, log, Gamma2, F2, d2, sigma_g2, sigma2):
    """(34f) and (35) as printed."""
    return bound35(N, M, L, K, log, Gamma2, F2, d2, sigma_g2, sigma2) | {
        "update": (Gamma2 * log / (4 * K * L**2) + 3 * N**2 * L**2 * Gamma2) * d2}


def drifts27e(L, log, near, sigma2):
    """(27e): what sum_k eta_k^2 E|y_{k-1} - x_{t-tau}|^2 is at most. near: sigma_g^2 + |grad F(x_{t-tau})|^2."""
    return log / (24 * L**4) * near + log / (288 * L**4) * sigma2


def rho(K, L, N, log):
    """The gradient part of (35) times K eta_g/(2N), over the descent K N eta_g/2 |grad F|^2 of (32)."""
    return log / (4 * K * L**2 * N**2)


def dropped(L, eta_g, K, N, M, log, Theta, F2):
    """The gradient parts that (36) leaves out: of T2 in (32) by (35), and of E|Delta|^2 by Corollary 1."""
    return {"T2": K * eta_g / (2 * N) * log / (4 * K * L**2) * F2,
            "update": L * eta_g**2 / 2 * (12 * K**2 * L**2 * M + K * log) / (3 * L**2 * Theta) * F2}


# ---- concave quadratics, and bounds for every client ------------------------------------------------------------------
def concave(eta, L):
    """(E T2 - E T21)/(M sigma_l^2) on f = -L x^2/2."""
    after = [1]
    for v in reversed(eta[1:]):                 # after[j]: prod_{k>j} (1 + L eta_k)
        after.append(after[-1] * (1 + L * v))
    return sum(v**2 * (2 * a - 1) for v, a in zip(eta, reversed(after), strict=True)) / (len(eta) * sum(v**2 for v in eta))


def excess(eta, L, root):
    """A bound of that quotient for every L-smooth client: 1/K + 2/(K q) sum_k L eta_k sd_{k-1} sqrt(q_{k-1})."""
    sd2, q, cross = 0 * L, 0 * L, 0 * L
    for v in eta:
        cross = cross + L * v * root(sd2 * q)
        sd2, q = (1 + L * v) ** 2 * sd2 + v**2, q + v**2
    return (1 + 2 * cross / q) / len(eta)


def products(steps):
    """(P, S, q): product of 1 + e_k, sum of e_k and of e_k^2, of steps e_k in units of 1/L."""
    P, S, q = 1, 0, 0
    for e in steps:
        P, S, q = P * (1 + e), S + e, q + e**2
    return P, S, q


def growth(P, S, first, Gamma):
    """(a, w): the gradients of a round move by at most a G + w sqrt(q) sigma_l in units of 1/L, where (C1) keeps Gamma small.

    first: 1 + e_1."""
    a = (P - 1 - S) / (1 - Gamma * (P - 1))
    return a, (a * Gamma * P + P - first) / first


def room(K, log, a, w):
    """What both have to stay below so that (35) holds as printed: (72 a^2, K log) and (6 w^2, their noise)."""
    return (72 * a**2, K * log), (6 * w**2, 3 * K * log / 32 + 5 * (K - 1) / 12)
