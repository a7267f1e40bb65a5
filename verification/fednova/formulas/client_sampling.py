"""FedNova, Section 5 and Appendix G: client sampling, from the paper's equations.

Notation of the package; q clients are drawn per round, z_i is any vector of client i, h_i its averaged exact gradient.
"""
from fractions import Fraction

from fltheory.core.numbers import linalg
from verification.fednova import formulas as f


def _total(values):
    """Sum without the int 0, which symbols of some fields would have to absorb."""
    values = list(values)
    return sum(values)


# ---- rule 12 and Algorithm 1 ------------------------------------------------------------------------------


def rule12(p, changes, norms, tau_eff):
    """Server move tau_eff sum p_i Delta_i / |a_i|_1 of eq 12."""
    return tau_eff * _total(w * v / s for w, v, s in zip(p, changes, norms, strict=True))


def rule12_map(H, e, p, eta, taus, tau_eff):
    """Eq 12 on quadratics with vanilla steps: eqs 23-25 with p_i replaced by tau_eff p_i / tau_i."""
    return f.round_map(H, e, [tau_eff * w / t for w, t in zip(p, taus, strict=True)], eta, 0 * eta, taus)


def algorithm1_moves(taus, q, eta):
    """Mean move per unit gradient of each client: Algorithm 1, uniform q-subsets, uniform p, linear losses (derived).

    -eta q/m * (1/q) * [tau_i + (q-1)/(m-1) sum_{j != i} tau_j] / q.
    """
    m = len(taus)
    ratio = Fraction(q - 1, m - 1)
    total = _total(taus)
    return [-eta * (t + ratio * (total - t)) / (m * q) for t in taus]


def ratio_weights(p):
    """Algorithm 1 with equal steps and uniform pairs: w_i = mean over pairs of p_i/p_S (derived)."""
    n = len(p)
    return [2 * _total(p[i] / (p[i] + p[j]) for j in range(n) if j != i) / (n * (n - 1)) for i in range(n)]


# ---- sampled second moments, eqs 153-166 ------------------------------------------------------------------


def fresh_variance(p, v, q):
    """E|(1/q) sum (d - h)|^2 = (1/q) sum p_i v_i: i.i.d. draws, every draw a fresh run. Eq 162."""
    return _total(w * x for w, x in zip(p, v, strict=True)) / q


def repeat_variance(p, v, q):
    """What one shared run per client adds: ((q-1)/q) sum p_i^2 v_i (derived)."""
    return (q - 1) * _total(w * w * x for w, x in zip(p, v, strict=True)) / q


def mean_square(p, q, points, spreads):
    """E|(1/q) sum z_{l_j}|^2 of i.i.d. fresh runs with means points[i] (d,) and total variances spreads[i]. Eq 163."""
    mean = _total(w * z for w, z in zip(p, points, strict=True))
    each = _total(w * ((z * z).sum() + s) for w, z, s in zip(p, points, spreads, strict=True))
    return ((q - 1) * (mean * mean).sum() + each) / q


def lem5(p, z, g, q, beta2, kappa2, sharper=False):
    """Right-hand side of eqs 165-166 as named terms; sharper: beta^2 - 1 in place of beta^2 (derived)."""
    total = _total(w * v for w, v in zip(p, g, strict=True))
    return lem5_terms(_total(w * ((a - b) ** 2).sum() for w, a, b in zip(p, z, g, strict=True)), (total * total).sum(), q, beta2,
                      kappa2, sharper)


def lem5_terms(drift, square, q, beta2, kappa2, sharper=False):
    """The same from drift = sum p_i |z_i - grad F_i|^2 and square = |grad F|^2."""
    return {"drift": 3 * drift, "gradient": 3 * square, "sampling": 3 * ((beta2 - 1 if sharper else beta2) * square + kappa2) / q}


def eq163(q, sigma2, share, mean_square):
    """Right-hand side of eq 163; share = sum p_i |a_i|_2^2 / |a_i|_1^2, mean_square = E|(1/q) sum h_l|^2."""
    return {"noise": 2 * sigma2 * share / q, "mean": 2 * mean_square}


# ---- local runs from prefix coefficients ------------------------------------------------------------------


def averaged_gradient(gradient, x, eta, solver, tau, value=None):
    """h = sum a_k grad F(y_k) / |a|_1 along y_k = x - eta sum_s b_s^(k) grad F(y_s) (eq 47, prefix form)."""
    seen = []
    for k in range(tau):
        b = f.prefix(solver, k, value)
        seen.append(gradient(x - eta * _total(c * g for c, g in zip(b, seen, strict=True)) if k else x))
    a = f.a_vector(solver, tau, value)
    return _total(c * g for c, g in zip(a, seen, strict=True)) / f.norm1(a)


def noise_response(H, eta, solver, tau, value=None):
    """(responses of h, of d) to the gradient noise of each step s: two lists of (d, d) matrices. Quadratics."""
    eye = linalg.identity(H.shape[0], H)
    a = f.a_vector(solver, tau, value)
    h, d = [], []
    for s in range(tau):
        seen = [0 * eye] * s + [eye]  # response of the k-th stochastic gradient to the noise of step s
        exact = [0 * eye] * (s + 1)
        for k in range(s + 1, tau):
            b = f.prefix(solver, k, value)
            exact.append(linalg.matmul(H, -eta * _total(c * g for c, g in zip(b, seen, strict=True))))
            seen.append(exact[-1])
        h.append(_total(c * g for c, g in zip(a, exact, strict=True)) / f.norm1(a))
        d.append(_total(c * g for c, g in zip(a, seen, strict=True)) / f.norm1(a))
    return h, d


def spread(responses, sigma2):
    """Total variance of sum_s R_s xi_s with E|xi_s|^2 = sigma2."""
    return sigma2 * _total((r * r).sum() for r in responses) / responses[0].shape[0]


def noise_share(p, vectors):
    """sum p_i |a_i|_2^2 / |a_i|_1^2."""
    return _total(w * f.norm2(a) / f.norm1(a) ** 2 for w, a in zip(p, vectors, strict=True))


# ---- descent and Corollary 3, eqs 175-182 -----------------------------------------------------------------


def eq175(drift, eta, L, tau_eff, q, sigma2, share, kappa2):
    """Right-hand side of eq 175 without -|grad F|^2/4; drift = sum p_i E|grad F_i - h_i|^2, share = `noise_share`."""
    return {"drift": Fraction(3, 2) * drift, "noise": tau_eff * eta * L * sigma2 * share / q,
            "sampling": 3 * tau_eff * eta * L * kappa2 / q}


def eq177(D, beta2):
    """(1/(1-D), 3 D beta^2 / (2 (1-D)))."""
    return 1 / (1 - D), 3 * D * beta2 / (2 * (1 - D))


def beta2_allowed(eta, L, tau_eff, q, C):
    """Largest beta^2 with 6 tau_eff eta L (1 + beta^2/q) <= 1/2 and D = 4 eta^2 L^2 C <= 1/(12 beta^2 + 1)."""
    server = q * (1 / (12 * tau_eff * eta * L) - 1)
    return server if C == 0 else min(server, (1 / (4 * eta**2 * L**2 * C) - 1) / 12)


def cor3(eta, L, sigma2, kappa2, gap, tau_eff, T, q, B, C):
    """Right-hand side of eq 182; T None means T -> infinity."""
    terms = f.cor3_explicit(eta, L, sigma2, kappa2, gap, tau_eff, 1 if T is None else T, q, B, C)
    return terms if T is not None else terms | {"start": 0 * gap}


def prescribed_eta_square(q, mean_steps, T):
    """eta^2 = q/(tau T) of Corollary 3."""
    return q / (mean_steps * T * Fraction(1))
