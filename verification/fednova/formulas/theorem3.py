"""Section 5 and Appendix F: FedNova and Theorem 3, by equation number.

A round is (taus, tau_eff): local steps per client and the server's effective steps.
"""
from verification.fednova import formulas as f


def rescaled(x, p, taus, changes):
    """Eq 12, vanilla: x + (sum_j p_j tau_j) sum_i p_i Delta_i / tau_i (scalars per client)."""
    total = f.dot(p, taus)
    return x + total * sum(q * v / t for q, v, t in zip(p, changes, taus, strict=True))


def fednova_limit(p, e, shrink, taus):
    """Fixed point of vanilla FedNova on unit Hessians: weights p_i (1 - z_i)/tau_i, z_i = (1 - eta)^tau_i (derived)."""
    weight = [q * (1 - z) / t for q, z, t in zip(p, shrink, taus, strict=True)]
    total = sum(weight)
    return [sum(q * v[k] for q, v in zip(weight, e, strict=True)) / total
            for k in range(len(e[0]))]


def constants(solver, value, taus, p, tau_eff, prefixes):
    """(A, B, C) of one round with w = p (eqs 143-145); prefixes: B', C' from prefix coefficients instead (derived)."""
    if prefixes:
        return f.abc_corrected(solver, value, taus, p, tau_eff)
    return f.abc([f.a_vector(solver, t, value) for t in taus], p, tau_eff)


def averages(rounds, weights):
    """Weighted means of the (A, B, C) of several rounds."""
    total = sum(weights)
    return [sum(q * r[k] for q, r in zip(weights, rounds, strict=True)) / total for k in range(3)]


def thm3(eta, L, sigma2, kappa2, gap, tau_eff, T, A, B, C, m):
    """Eq 147 with averaged constants; tau_eff: the common value, or its mean over rounds; T None means infinity."""
    return f.thm1(eta, L, sigma2, kappa2, gap, tau_eff, T, A, B, C, m)


def headline(root, gap, L, sigma2, ratio, A, m):
    """4 (tau/tau_eff) gap / sqrt(m tau T) + 4 L sigma^2 A / sqrt(m tau T), eq 149's first two terms; root = sqrt(m tau
    T)."""
    return {"start": 4 * ratio * gap / root, "noise": 4 * L * sigma2 * A / root}


def remainder(root, m, L, sigma2, kappa2, B, C):
    """Eq 149's last two terms, 6 m L^2 sigma^2 B/(tau T) + 12 m L^2 kappa^2 C/(tau T), with tau T = root^2/m."""
    return 6 * (m * L / root) ** 2 * (sigma2 * B + 2 * kappa2 * C)


def long_round(eta, M, power):
    """F_{1,2} = (x -+ 1)^2/2, p = 1/2, steps (1, M), tau_eff = (1 + M)/2: the round x -> slope x + push (derived).

    power = (1 - eta)^M.
    """
    tau_eff = (1 + M) / 2
    plus, minus = tau_eff * eta / 2, tau_eff * (1 - power) / (2 * M)
    return 1 - plus - minus, plus - minus


def period_end(slope, push, short):
    """|x| before the long round on the periodic orbit: x = short (slope x + push), short = (1 - eta)^(M - 1)."""
    return short * push / (1 - short * slope)
