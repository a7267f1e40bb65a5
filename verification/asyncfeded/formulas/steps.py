"""Local steps of a round and the constants that the theorems make of them.

eta = [eta_1, .., eta_K]; L the smoothness constant; log = ln(K + 1), which callers enclose where they need rationals.
"""


def cap2(k, L):
    """(T1): the largest eta_k^2 of local step k = 1, 2, .."""
    return 1 / (6 * k * (2 * k + 1) * L**2)


def mean_step(eta):
    """N."""
    return sum(eta) / len(eta)


def mean_square(eta):
    """M."""
    return sum(v**2 for v in eta) / len(eta)


def theta(Gamma, K, L, M, log):
    """Theta(Gamma) of Corollary 1; (C1) says that it is positive."""
    return 1 - Gamma**2 * (K * log / 3 + 4 * K**2 * L**2 * M)
