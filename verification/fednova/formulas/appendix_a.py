"""Section 3 and Appendix A: quadratics, random local steps, the exact constants of Assumption 3.

A power with a symbolic exponent, z = (1 - eta mu - eta h)^tau, is passed in as a number of its own.
"""
from fltheory.core.numbers import linalg
from verification.fednova import formulas as f


def times(A, v):
    return linalg.matmul(A, v[:, None])[:, 0]


# ---- one client -------------------------------------------------------------------------------------------


def local_matrix(H, eta, mu):
    """I - eta mu I - eta H, eq 16."""
    eye = linalg.identity(len(H), H)
    return eye - eta * mu * eye - eta * H


def local_step(H, e, eta, mu, x, y):
    """(I - eta mu I - eta H) y + eta e + eta mu x, eq 16; x the server model, y the local one."""
    return times(local_matrix(H, eta, mu), y) + eta * e + eta * mu * x


def scalar_K(h, mu, z):
    """K of eq 21 for a scalar Hessian h."""
    return (1 - z) / (h + mu)


def norm1(solver, value, z, k):
    """|a|_1 after k steps: k; (1 - z)/alpha, z = (1 - alpha)^k; (1 - z)/(1 - gamma) and eq 44, z = gamma^k or rho^k."""
    if solver == "vanilla":
        return k
    if solver == "proximal":
        return f.proximal_norm1(value, z)
    if solver == "decay":
        return (1 - z) / (1 - value)
    return (k - value * (1 - z) / (1 - value)) / (1 - value)


def shrinking(solver, value):
    """What one more local step multiplies the power z of `norm1` by."""
    return 1 if solver == "vanilla" else 1 - value if solver == "proximal" else value


# ---- one round --------------------------------------------------------------------------------------------


def matrix_round(H, e, p, K, x):
    """[I - sum p K H] x + sum p K e, eqs 23-25."""
    return x + sum(q * (times(k, v) - times(k, times(h, x))) for q, k, h, v in zip(p, K, H, e, strict=True))


def scalar_round(h, e, p, K):
    """(slope, offset) of eqs 23-25 for scalar Hessians."""
    return 1 - sum(q * k * c for q, k, c in zip(p, K, h, strict=True)), sum(q * k * v for q, k,
                                                                              v in zip(p, K, e, strict=True))


def eq29_general(e, p, shrink):
    """Limit with any p and prox: weights p_i (1 - z_i), z_i = (1 - eta - eta mu)^tau_i (derived)."""
    return f.eq30(e, [q * (1 - z) for q, z in zip(p, shrink, strict=True)])


def eq29_general_factor(p, shrink, mu):
    """Its contraction factor 1 - sum p_i (1 - z_i)/(1 + mu)."""
    return 1 - sum(q * (1 - z) for q, z in zip(p, shrink, strict=True)) / (1 + mu)


def surrogate_point(H, e, w):
    """(sum w H)^-1 sum w e."""
    return linalg.solve(f.dot(w, H), f.dot(w, e))


def exact_prox_point(H, e, p, mu):
    """Fixed point (eq 28) with K_i = (H_i + mu I)^-1, that is with infinitely many local steps."""
    K = [linalg.inverse(h + mu * linalg.identity(len(h), h)) for h in H]
    return linalg.solve(sum(q * linalg.matmul(k, h) for q, k, h in zip(p, K, H, strict=True)),
                        sum(q * times(k, v) for q, k, v in zip(p, K, e, strict=True)))


# ---- random local steps, unit Hessians --------------------------------------------------------------------


def random_floor(p, deviations, mean, variance):
    """(numerator, denominator) of the stationary mean-square gap of FedAvg (derived): kappa_i = 1 - (1 - eta)^tau_i are
    IID with this mean and variance; deviations xi_i - x*."""
    squares = sum(q * q for q in p)
    return variance * sum(q * q * v * v for q,
                           v in zip(p, deviations, strict=True)), 1 - (1 - mean) ** 2 - variance * squares


def random_slope(p, deviations, mean, variance):
    """Leading coefficient in eta of that gap; mean and variance of tau_i (derived)."""
    return variance * sum(q * q * v * v for q, v in zip(p, deviations, strict=True)) / (2 * mean)


def moments(choices, value):
    """(mean, variance) of value(tau) over (probability, tau) pairs."""
    mean = sum(q * value(t) for q, t in choices)
    return mean, sum(q * value(t) ** 2 for q, t in choices) - mean**2


def random_fednova_mean(p, xi, choices, eta):
    """Fixed point of FedNova's mean round with tau_eff(t) = sum p_j tau_j(t), unit Hessians (derived).

    E[tau_eff kappa_i / tau_i] = p_i E kappa + (1 - p_i) E tau E[kappa / tau]: equal over i only for uniform p.
    """
    def kappa(t):
        return 1 - (1 - eta) ** t
    kappa_mean, tau_mean = moments(choices, kappa)[0], moments(choices, lambda t: t)[0]
    per_step = moments(choices, lambda t: kappa(t) / t)[0]
    weights = [q * (q * kappa_mean + (1 - q) * tau_mean * per_step) for q in p]
    return f.dot(weights, xi) / sum(weights)


def random_fednova_slope(p, deviations, mean, variance):
    """Leading coefficient in eta of that mean's error: -var tau / (2 E tau) sum p_i^2 (xi_i - x*) (derived)."""
    return -variance / (2 * mean) * sum(q * q * v for q, v in zip(p, deviations, strict=True))


# ---- bias of FedAvg and FedNova on two unit quadratics with steps (1, t) -----------------------------------


def fedavg_bias(eta, z):
    """Distance to x* = 0 of FedAvg's fixed point for xi = +-1, 0 < eta <= 1; z = (1 - eta)^t."""
    return (1 - z - eta) / (1 - z + eta)


def fednova_bias(eta, z, t):
    return (t * eta - (1 - z)) / (t * eta + (1 - z))


# ---- Assumption 3 on quadratics ---------------------------------------------------------------------------


def kappa2_common(H, xi, w):
    """sum w_i |H (xi_i - mean)|^2: kappa^2 at beta^2 = 1 for a common Hessian (derived)."""
    mean = f.dot(w, xi)
    return sum(q * (times(H, v - mean) ** 2).sum() for q, v in zip(w, xi, strict=True))


def excess_matrix(H, w, beta2):
    """P = beta^2 H_w^2 - sum w_i H_i^2."""
    Hw = f.dot(w, H)
    return beta2 * linalg.matmul(Hw, Hw) - sum(q * linalg.matmul(h, h) for q, h in zip(w, H, strict=True))


def worst_point(H, e, w, beta2):
    """P^-1 (beta^2 H_w e_w - sum w_i H_i e_i): where the smallest kappa^2 is attained (derived)."""
    Hw, ew = f.dot(w, H), f.dot(w, e)
    return linalg.solve(excess_matrix(H, w, beta2),
                        beta2 * times(Hw, ew) - sum(q * times(h, v) for q, h, v in zip(w, H, e, strict=True)))


def excess(H, e, w, beta2, x):
    """The two parts of sum w_i |H_i x - e_i|^2 - beta^2 |H_w x - e_w|^2."""
    g = [times(h, x) - v for h, v in zip(H, e, strict=True)]
    mean = f.dot(w, g)
    return {"clients": sum(q * (v * v).sum() for q, v in zip(w, g, strict=True)), "mean": -beta2 * (mean * mean).sum()}
