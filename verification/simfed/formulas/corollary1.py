"""Corollary 1: the bound of Theorem 4 as r(E) = a/sqrt(TE) + b E/T, and the E at which it is smallest, as cubes."""
from verification.simfed.formulas.theorems import drift_constant


def parts(L, beta, gap, S, sigma2, G2):
    """(a, b)."""
    return 4 * L * gap + S * sigma2 / 2, G2 * drift_constant(beta)


def rate(a, b, E, T, root):
    """r(E); root = sqrt(TE)."""
    return a / root + b * E / T


def best(a, b, T):
    """E_opt^3 and r(E_opt)^3: E_opt = (a/(2b))^(2/3) T^(1/3), r = 3 2^(-2/3) a^(2/3) b^(1/3) T^(-2/3)."""
    return (a / (2 * b)) ** 2 * T, a**2 * b * 27 / (4 * T**2)


def least_rounds(a, b):
    """The T from which on E_opt is at least 1."""
    return (2 * b / a) ** 2
