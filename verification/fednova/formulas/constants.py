"""The constants A, B, C of Theorem 1 for FedAvg, FedNova and FedProx, and Corollaries 1 and 2, by equation number."""
from fractions import Fraction

from verification.fednova.formulas.solvers import mean


def theorem(norms1, norms2, last, w, tau_eff):
    """(A, B, [C_i]) of eqs 93-95 from |a_i|_1, |a_i|_2^2 and a_{i,-1}; C is the largest C_i."""
    ratios = [v / s**2 for v, s in zip(norms2, norms1, strict=True)]
    A = len(w) * tau_eff * mean([q * q for q in w], ratios)
    B = mean(w, [v - a**2 for v, a in zip(norms2, last, strict=True)])
    return A, B, [s * (s - a) for s, a in zip(norms1, last, strict=True)]


def fedavg(p, taus):
    """(tau_eff, A, B, [C_i]) of FedAvg, eqs 11 and 121-125; C_i = tau_i (tau_i - 1), C at tau_max."""
    m, first = len(p), mean(p, taus)
    variance = mean(p, [t * t for t in taus]) - first**2
    A = m * mean([q * q for q in p], taus) / first
    return first, A, first - 1 + variance / first, [t * (t - 1) for t in taus]


def fednova(p, taus):
    """(tau_eff, A, B, [C_i]) of vanilla FedNova with the default tau_eff (derived)."""
    first = mean(p, taus)
    return first, len(p) * first * mean([q * q for q in p],
                                        [1 / t for t in taus]), first - 1, [t * (t - 1) for t in taus]


def fedprox(alpha, p, powers):
    """(A, B, [C_i]) of FedProx, eqs 127-132; powers_i = (1 - alpha)^tau_i."""
    reached = [1 - z for z in powers]
    squares = [(1 - z**2) / (1 - (1 - alpha) ** 2) for z in powers]
    total = mean(p, reached)
    A = len(p) * alpha / total * mean([q * q for q in p], squares)
    B = mean([q * v / total for q, v in zip(p, reached, strict=True)], [v - 1 for v in squares])
    return A, B, [v / alpha * (v / alpha - 1) for v in reached]


def eq8(root, L, sigma2, kappa2, gap, tau_eff, tau, m, A, B, C):
    """Eq 8 with the constants of its proof: eq 97 after eta = sqrt(m/(tau T)) = m/root, root = sqrt(m tau T)."""
    eta2 = m**2 / root**2
    return {"start": 4 * gap * tau / (tau_eff * root), "noise": 4 * L * sigma2 * A / root,
            "drift_noise": 6 * L**2 * sigma2 * eta2 * B, "drift": 12 * L**2 * kappa2 * eta2 * C}


def corollary1(root, L, sigma2, kappa2, gap, taus, longest, m=None):
    """Corollary 1 with those constants: uniform p; the variance is the plain one over the m clients.

    m: their number where taus stands for groups of equal size."""
    n = len(taus)
    m, tau = m or n, Fraction(1, n) * sum(taus)
    variance = sum((t - tau) * (t - tau) for t in taus) * Fraction(1, n)
    return corollary1_terms(root, L, sigma2, kappa2, gap, m, tau, variance, longest)


def corollary1_terms(root, L, sigma2, kappa2, gap, m, tau, variance, longest):
    """The same from the mean and the variance of the steps."""
    over = m**2 / root**2  # m/(tau T)
    return {"start": 4 * gap / root, "noise": 4 * L * sigma2 / root,
            "drift_noise": 6 * L**2 * sigma2 * over * (tau - 1 + variance / tau),
            "drift": 12 * L**2 * kappa2 * over * longest * (longest - 1)}


# ---- Corollary 2 ------------------------------------------------------------------------------------------


def eq138(alpha, root, m, taubar, T):
    """The three terms of (138) with all constants 1; root = sqrt(m taubar T)."""
    return {"start": alpha * taubar / root, "noise": 1 / root, "drift": m / (alpha**2 * taubar * T)}


def relaxed(alpha, u, v, W):
    """The relaxed FedProx bound (138) with m = u^2, tau = v^2, T = W^6, as three terms."""
    root = u * v * W**3
    return {"start": alpha * v**2 / root, "noise": 1 / root, "drift": u**2 / (alpha**2 * v**2 * W**6)}


def stationary_cube(u, v, W, printed=False):
    """alpha^3 at which (138) is stationary, eq 139: 2 m^(3/2) tau^(-3/2) T^(-1/2); printed without the 2."""
    return (1 if printed else 2) * u**3 / (v**3 * W**3)


def corollary2_alpha(u, v, W):
    """alpha = m^(1/2) tau^(-1/2) T^(-1/6), eq 140."""
    return u / (v * W)


def threshold(L, kappa2, gap, tau, m):
    """T_0 beyond which the exact bound rises with alpha at 0: equal steps, no noise (derived)."""
    return 9 * L**4 * kappa2**2 * (2 * tau - 1) ** 2 * tau * m**3 / gap**2


def corollary2_rate(root, L, sigma2, kappa2, gap):
    """Explicit constants of the rate 1/sqrt(mK) for tau_max <= 2 taubar and T >= (m taubar)^3 (derived).

    There alpha tau_max <= 2, so taubar/tau_eff <= 2/(1 - e^-2) < 3; A <= 1; m B/(taubar T) <= 2/root and
    m C/(taubar T) <= 4/root.
    """
    return {"start": 12 * gap / root, "noise": 4 * L * sigma2 / root, "drift_noise": 12 * L**2 * sigma2 / root,
            "drift": 48 * L**2 * kappa2 / root}


# ---- Fig 4, Table 1 ---------------------------------------------------------------------------------------


def relative_variance(alpha, powers):
    """A of FedProx for uniform p: sum (1 - z_i^2) / ((2 - alpha) sum (1 - z_i)), z_i = (1 - alpha)^tau_i (derived)."""
    top = [1 - z**2 for z in powers]
    bottom = [1 - z for z in powers]
    return sum(top) / ((2 - alpha) * sum(bottom))


def gaussian_tail(mean, variance, at):
    """A rational upper bound of P(X <= at) for X ~ N(mean, variance), at < mean: exp(-y)/2 <= 1/(2 sum_k y^k/k!)."""
    y = Fraction(mean - at) ** 2 / (2 * Fraction(variance))
    term, total = Fraction(1), Fraction(1)
    for k in range(1, 40):
        term = term * y / k
        total += term
    return 1 / (2 * total)
