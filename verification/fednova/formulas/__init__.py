"""FedNova (Wang, Liu, Liang, Joshi, Poor, NeurIPS 2020): the paper's closed forms, by equation number.

Plain numbers and arrays in and out; written from the paper, knowing nothing of the algorithms' code. `paper.toml` has the
notation; gap = F~(x0) - F~_inf.
"""
import math
from fractions import Fraction

from fltheory.core.numbers import linalg

# ---- Section 2, Appendix B: accumulation vectors ----------------------------------------------------------


def a_vector(solver, tau, value=None):
    """a_i of a local solver, length tau: vanilla; proximal (value = alpha); momentum (rho); decay (gamma). Eqs 31-45.

    momentum-proximal (value = (rho, alpha)) is derived: gradient k enters the j-th later buffer with rho^j, and what
    that moves shrinks by 1 - alpha in each step after it.
    """
    if solver == "vanilla":
        return [Fraction(1)] * tau
    if solver == "proximal":
        return [(1 - value) ** (tau - 1 - k) for k in range(tau)]
    if solver == "momentum":
        return [momentum_a(value, value ** (tau - k)) for k in range(tau)]
    if solver == "decay":
        return [value**k for k in range(tau)]
    if solver == "momentum-proximal":
        rho, alpha = value
        return [sum(rho**j * (1 - alpha) ** (tau - 1 - k - j) for j in range(tau - k)) for k in range(tau)]
    raise ValueError(f"solver = {solver!r}: is vanilla, proximal, momentum, decay or momentum-proximal")


def momentum_a(rho, power):
    """a_k = (1 - rho^(tau - k)) / (1 - rho), with power = rho^(tau - k). Eq 43."""
    return (1 - power) / (1 - rho)


def prefix(solver, k, value=None):
    """Coefficients b_s^(k), s < k, of the displacement after k local steps (derived; not a_s for prox and momentum)."""
    if solver == "decay":
        return [value**s for s in range(k)]
    return a_vector(solver, k, value)


def dot(weights, values):
    """sum_i w_i v_i of numbers, symbols or arrays."""
    return sum(q * v for q, v in zip(weights, values, strict=True))


def norm1(a):
    return sum(a)


def norm2(a):
    return sum(v * v for v in a)


def proximal_norm1(alpha, power):
    """|a_i|_1 = (1 - (1 - alpha)^tau) / alpha, with power = (1 - alpha)^tau. Eq 127 (first norm)."""
    return (1 - power) / alpha


# ---- Section 4.1: plain averaging in the general rule -----------------------------------------------------


def plain_averaging(p, norms):
    """(tau_eff, w) of plain averaging: tau_eff = sum p_i |a_i|_1, w_i = p_i |a_i|_1 / tau_eff. Eqs 5-6."""
    tau_eff = dot(p, norms)
    return tau_eff, [q * s / tau_eff for q, s in zip(p, norms, strict=True)]


def chi2(p, w):
    """chi^2_{p||w} = sum (p_i - w_i)^2 / w_i."""
    return sum((a - b) ** 2 / b for a, b in zip(p, w, strict=True))


def chi2_pairs(p, ratio):
    """sum_{i<j} p_i p_j (r_ij + 1/r_ij - 2); ratio(i, j) = |a_i|_1 / |a_j|_1 (derived identity)."""
    n = len(p)
    return sum(p[i] * p[j] * (ratio(i, j) + 1 / ratio(i, j) - 2) for i in range(n) for j in range(i + 1, n))


# ---- Appendix A: quadratics -------------------------------------------------------------------------------


def local_factor(H, eta, mu, tau):
    """(I - eta mu I - eta H)^tau, eq 17."""
    eye = linalg.identity(H.shape[0], H)
    return linalg.power(eye - eta * mu * eye - eta * H, tau)


def K(H, eta, mu, tau):
    """K_i with (H + mu I) K_i = I - (I - eta mu I - eta H)^tau (commuting factors), eq 21."""
    eye = linalg.identity(H.shape[0], H)
    return linalg.solve(H + mu * eye, eye - local_factor(H, eta, mu, tau))


def round_map(H, e, p, eta, mu, taus):
    """(matrix, offset) of x -> [I - sum p K H] x + sum p K e. Eqs 23-25."""
    eye = linalg.identity(H.shape[1], H)
    matrix, offset = eye, 0 * e[0]
    for h, v, q, tau in zip(H, e, p, taus, strict=True):
        k = K(h, eta, mu, tau)
        matrix = matrix - q * linalg.matmul(k, h)
        offset = offset + q * linalg.matmul(k, v[:, None])[:, 0]
    return matrix, offset


def eq30(e, taus):
    """Lemma 1's limit sum tau_i e_i / sum tau_i; e (n, d)."""
    total = sum(taus)
    return [sum(t * v[k] for t, v in zip(taus, e, strict=True)) / total
            for k in range(len(e[0]))]


def eq29(e, shrink):
    """FedAvg's limit on unit Hessians, uniform p: weights 1 - z_i, z_i = (1 - eta)^tau_i."""
    weights = [1 - z for z in shrink]
    return eq30(e, weights)


def eq29_factor(shrink):
    """Contraction factor 1 - (1/m) sum (1 - z_i)."""
    return 1 - sum((1 - z for z in shrink[1:]), 1 - shrink[0]) / len(shrink)


def first_order_q(solver, tau, value=None):
    """q_i = (1/|a_i|_1) sum_k a_{i,k} sum_{s<k} b^(k)_{i,s} (derived; (tau-1)/2 for vanilla)."""
    a = a_vector(solver, tau, value)
    return sum(a[k] * norm1(prefix(solver, k, value)) for k in range(1, tau)) / norm1(a) if tau > 1 else Fraction(0)


# ---- Theorem 1 --------------------------------------------------------------------------------------------


def abc(vectors, w, tau_eff):
    """(A, B, C) of Theorem 1, eqs 93-95."""
    m = len(w)
    A = m * tau_eff * sum(q * q * norm2(a) / norm1(a) ** 2 for q, a in zip(w, vectors, strict=True))
    B = sum(q * (norm2(a) - a[-1] ** 2) for q, a in zip(w, vectors, strict=True))
    C = max(norm1(a) * (norm1(a) - a[-1]) for a in vectors)
    return A, B, C


def abc_corrected(solver, value, taus, w, tau_eff):
    """(A, B', C'): the drift constants built from prefix coefficients (derived correction of eq 69)."""
    vectors = [a_vector(solver, t, value) for t in taus]
    A, _, _ = abc(vectors, w, tau_eff)
    prefixes = [[prefix(solver, k, value) for k in range(t)] for t in taus]
    B = sum(q * max(norm2(b) for b in bs) for q, bs in zip(w, prefixes, strict=True))
    C = max(norm1(b) ** 2 for bs in prefixes for b in bs)
    return A, B, C


def beta2_under_cap(eta, L, longest):
    """Largest beta^2 allowed by eta L <= 1/(2 longest sqrt(2 beta^2 + 1)), first part of eq 101 (squared, exact)."""
    return (1 / (2 * eta * L * longest) ** 2 - 1) / 2


def lr_cap_eq101(L, vectors, tau_eff, beta2):
    """Largest eta with eta L <= 1/2 min{1/(max_i |a_i|_1 sqrt(2 beta^2 + 1)), 1/tau_eff}, eq 101; vectors: the a_i.

    Exact where the root is rational; else the largest float64 inside, decided by its square in rationals.
    """
    L, tau_eff, beta2 = Fraction(L), Fraction(tau_eff), Fraction(beta2)
    longest = max(norm1(a) for a in vectors)
    drift, server = 1 / ((2 * L * Fraction(longest)) ** 2 * (2 * beta2 + 1)), 1 / (2 * L * tau_eff)  # eta^2 and eta
    if server**2 <= drift:
        return server
    roots = [math.isqrt(v) for v in (drift.numerator, drift.denominator)]
    if Fraction(*roots) ** 2 == drift:
        return Fraction(*roots)
    eta = math.sqrt(drift)
    while Fraction(eta) ** 2 > drift:
        eta = math.nextafter(eta, 0)
    while Fraction(math.nextafter(eta, math.inf)) ** 2 <= drift:
        eta = math.nextafter(eta, math.inf)
    return eta


def beta2_under_corrected_cap(eta, L, C):
    """Largest beta^2 allowed by 4 eta^2 L^2 C' <= 1/(2 beta^2 + 1)."""
    return (1 / (4 * eta**2 * L**2 * C) - 1) / 2


def thm1(eta, L, sigma2, kappa2, gap, tau_eff, T, A, B, C, m):
    """Right-hand side of eqs 96-97 as named terms; T None means T -> infinity."""
    return {"start": 0 * gap if T is None else 4 * gap / (eta * tau_eff * T),
            "noise": 4 * eta * L * sigma2 * A / m,
            "drift_noise": 6 * eta**2 * L**2 * sigma2 * B,
            "drift": 12 * eta**2 * L**2 * kappa2 * C}


def thm1_smaller(eta, L, sigma2, kappa2, gap, tau_eff, T, A, B, C, m):
    """The same with constants 3, 3, 6, 6, under the same caps, B and C from prefix coefficients (derived)."""
    share = {"start": Fraction(3, 4), "noise": Fraction(3, 4), "drift": Fraction(1, 2)}
    return {k: v * share.get(k, 1) for k, v in thm1(eta, L, sigma2, kappa2, gap, tau_eff, T, A, B, C, m).items()}


# ---- Section 5: FedNova and sampling ----------------------------------------------------------------------


def fednova_factor(p, taus, shrink, tau_eff):
    """tau_eff sum p_i (1 - z_i)/tau_i, z_i = (1 - eta)^tau_i: FedNova on unit Hessians is stable iff this is < 2."""
    parts = [q * (1 - z) / t for q, z, t in zip(p, shrink, taus, strict=True)]
    return tau_eff * sum(parts)


def stationary_scheme_i(s, V, q):
    """s V / ((2 - s) q): stationary mean-square error of scheme (i), unit Hessians, equal steps, no noise (derived)."""
    return s * V / ((2 - s) * q)


def cor3_explicit(eta, L, sigma2, kappa2, gap, tau_eff, T, q, B, C):
    """Right-hand side of eq 182."""
    return {"start": 8 * gap / (eta * tau_eff * T), "sampling": 8 * tau_eff * eta * L * (sigma2 + 3 * kappa2) / q,
            "drift_noise": 48 * eta**2 * L**2 * sigma2 * B, "drift": 96 * eta**2 * L**2 * kappa2 * C}


def cor3_rate(root, L, sigma2, kappa2, gap, tau_eff, tau, q, B, C, printed):
    """Corollary 3 with the constants of its proof: eq 182 after eta = sqrt(q/(tau T)); root = sqrt(q tau T).

    printed: eqs 155/183, whose second term is 8 L (sigma^2 + 3 kappa^2) (tau_eff/tau)/root; otherwise what the
    substitution gives, 8 L (sigma^2 + 3 kappa^2) tau_eff/root. Note eta = q/root.
    """
    second = 8 * L * (sigma2 + 3 * kappa2) * tau_eff / root
    eta2 = q * q / (root * root)
    return {"start": 8 * gap * tau / (tau_eff * root), "sampling": second / tau if printed else second,
            "drift_noise": 48 * eta2 * L**2 * sigma2 * B, "drift": 96 * eta2 * L**2 * kappa2 * C}


def cor3_unit(root, tau_eff, tau, q, B, C, printed):
    """The three O(.) terms of eq 155 with unit constants."""
    second = tau_eff / root
    return {"start": tau / (tau_eff * root), "sampling": second / tau if printed else second,
            "drift": q * q * (B + C) / (root * root)}


