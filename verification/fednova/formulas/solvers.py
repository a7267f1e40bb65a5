"""Section 4.1 and Appendix B: what the local solvers accumulate, for every number of local steps.

A power with a symbolic exponent is an argument of its own: power = r^tau with r from `ratio`.
"""
from verification.fednova.formulas import momentum_a, proximal_norm1


def ratio(solver, value):
    """What one more local step multiplies the solver's power by: 1 - alpha, rho or gamma (1 for vanilla)."""
    return {"vanilla": 1, "proximal": 1 - value, "momentum": value, "decay": value}[solver]


def coefficient(solver, value, power, entered):
    """b_s^(k), the weight of gradient s after k steps: power = r^(k-1-s), entered = r^s. Eqs 34, 43 at k = tau."""
    return {"vanilla": 0 * power + 1, "proximal": power, "momentum": momentum_a(value, value * power),
            "decay": entered}[solver]


def norm1(solver, value, tau, power):
    """|a|_1 with power = r^tau. Eqs 44, 127 and Section 4.1."""
    if solver == "vanilla":
        return tau
    if solver == "proximal":
        return proximal_norm1(value, power)
    if solver == "momentum":
        return (tau - value * (1 - power) / (1 - value)) / (1 - value)
    return (1 - power) / (1 - value)


def norm2(solver, value, tau, power):
    """|a|_2^2 with power = r^tau. Eqs 45, 127; geometric sums."""
    if solver == "vanilla":
        return tau
    if solver == "momentum":
        cross, square = (1 - power) / (1 - value), (1 - power**2) / (1 - value**2)
        return (tau - 2 * value * cross + value**2 * square) / (1 - value) ** 2
    r = ratio(solver, value)
    return (1 - power**2) / (1 - r**2)


def proximal_averaging(alpha, p, powers):
    """(tau_eff, w) of FedProx, powers_i = (1 - alpha)^tau_i. Eq 7."""
    parts = [q * (1 - z) for q, z in zip(p, powers, strict=True)]
    total = sum(parts)
    return total / alpha, [v / total for v in parts]


def decay_weights(p, gammas, powers):
    """w_i proportional to p_i (1 - gamma_i^tau_i) / (1 - gamma_i), powers_i = gamma_i^tau_i. Section 4.1."""
    parts = [q * (1 - z) / (1 - g) for q, g, z in zip(p, gammas, powers, strict=True)]
    total = sum(parts)
    return [v / total for v in parts]


def mean(p, values):
    """E_p[values]."""
    parts = [q * v for q, v in zip(p, values, strict=True)]
    return sum(parts)


def chi2_moments(p, s):
    """E_p[s] E_p[1/s] - 1 (derived)."""
    return mean(p, s) * mean(p, [1 / v for v in s]) - 1


def chi2_squares(p, s):
    """sum_{i<j} p_i p_j (s_i - s_j)^2 / (s_i s_j): zero exactly when s is constant where p > 0 (derived)."""
    n = len(s)
    parts = [p[i] * p[j] * (s[i] - s[j]) ** 2 / (s[i] * s[j]) for i in range(n) for j in range(i + 1, n)]
    return sum(parts)
