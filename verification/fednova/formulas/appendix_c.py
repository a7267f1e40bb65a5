"""Appendix C of FedNova: one round of Theorem 1's proof, its drift bounds, eq 8, and the floor to leading order."""
from verification.fednova import formulas as f

# ---- one round: eqs 61-64 ---------------------------------------------------------------------------------


def noise_factor(w, vectors):
    """sum_i w_i^2 |a_i|_2^2 / |a_i|_1^2, the variance factor of eqs 61-64."""
    return sum(q * q * f.norm2(a) / f.norm1(a) ** 2 for q, a in zip(w, vectors, strict=True))


def eq61(sigma2, w, vectors, mean_square):
    """E|sum w_i d_i|^2 <= 2 sigma^2 sum w_i^2 |a_i|_2^2/|a_i|_1^2 + 2 E|sum w_i h_i|^2; mean_square is the last one."""
    return eq61_terms(sigma2, noise_factor(w, vectors), mean_square)


def eq61_terms(sigma2, factor, mean_square):
    """The same from the variance factor."""
    return {"noise": 2 * sigma2 * factor, "mean": 2 * mean_square}


def eq64(eta, L, sigma2, tau_eff, w, vectors, drifts, gap):
    """E gap(x+) + (eta tau_eff / 2) |grad F~|^2 is at most this; drifts[i] = E|grad F_i(x) - h_i|^2, gap before."""
    return eq64_terms(eta, L, sigma2, tau_eff, noise_factor(w, vectors), f.dot(w, drifts), gap)


def eq64_terms(eta, L, sigma2, tau_eff, factor, drift, gap):
    """The same from the variance factor and drift = sum w_i E|grad F_i(x) - h_i|^2."""
    step = eta * tau_eff
    return {"before": gap, "noise": step * step * L * sigma2 * factor, "drift": step / 2 * drift}


# ---- drift inside a round: eqs 68-92 ----------------------------------------------------------------------


def weighted_drift(L, a, drifts):
    """(L^2/|a|_1) sum_k a_k E|x - y_k|^2, the right-hand side of eq 68 and the left-hand side of eq 85."""
    return L * L * f.dot(a, drifts) / f.norm1(a)


def D(eta, L, C):
    """D = 4 eta^2 L^2 C, eq 84."""
    return 4 * eta**2 * L**2 * C


def eq85(eta, L, sigma2, a, d, gradient_square):
    """Printed drift bound: 2 eta^2 L^2 sigma^2 (|a|_2^2 - a_{-1}^2)/(1 - D) + D/(1 - D) E|grad F_i(x)|^2."""
    return eq85_terms(eta, L, sigma2, f.norm2(a) - a[-1] ** 2, d, gradient_square)


def eq85_corrected(eta, L, sigma2, prefixes, d, gradient_square):
    """The same with max_k sum_s (b_s^(k))^2, and D built from C' = max_k (sum_s b_s^(k))^2 (derived)."""
    return eq85_terms(eta, L, sigma2, max(f.norm2(b) for b in prefixes), d, gradient_square)


def eq85_terms(eta, L, sigma2, squares, d, gradient_square):
    """Both from what stands beside sigma^2: |a|_2^2 - a_{-1}^2, or the largest squared prefix."""
    return {"noise": 2 * eta**2 * L**2 * sigma2 * squares / (1 - d), "gradient": d / (1 - d) * gradient_square}


def prefix_constant(solver, value, taus):
    """C' = max_i max_k (sum_s b_s^(k))^2 (derived)."""
    return max(f.norm1(f.prefix(solver, k, value)) ** 2 for t in taus for k in range(t))


def prefix_excess(solver, value, taus):
    """max over clients, k and s of b_s^(k) - a_s: at most 0 where eq 69 can only overestimate the drift."""
    pairs = [(b, a) for t in taus for k in range(1, t)
             for b, a in zip(f.prefix(solver, k, value), f.a_vector(solver, t, value), strict=False)]
    return max((b - a for b, a in pairs), default=0)


# ---- eq 8 with the constants of its proof -----------------------------------------------------------------


def eq8(root, m, taubar, T, L, sigma2, kappa2, gap, tau_eff, A, B, C):
    """Eq 8/102 with hidden constants 4 Delta, 4 L, 6 L^2, 12 L^2; root = sqrt(m taubar T), so eta = m/root."""
    return {"start": 4 * gap * taubar / (tau_eff * root), "noise": 4 * L * A * sigma2 / root,
            "drift_noise": 6 * L**2 * m * B * sigma2 / (taubar * T), "drift": 12 * L**2 * m * C * kappa2 / (taubar * T)}


# ---- the floor of vanilla SGD without noise, to leading order in eta (derived) ----------------------------


def leading_floor_root(w, taus, curved_gradients):
    """grad F~ at the fixed point is eta times this vector: (1/2) sum w_i (tau_i - 1) H_i grad F_i(x_w)."""
    d = len(curved_gradients[0])
    return [sum(q * (t - 1) * g[k] for q, t, g in zip(w, taus, curved_gradients, strict=True)) / 2 for k in range(d)]


def printed_floor(L, kappa2, C):
    """12 L^2 kappa^2 C: the limit of (97) for T to infinity and sigma = 0, divided by eta^2."""
    return 12 * L**2 * kappa2 * C


# ---- E1: the two-client instance with steps (1, 2) --------------------------------------------------------


def e1_floor(alpha, eta):
    """|grad F~|^2 at the fixed point of FedProx on (x -/+ 1)^2/2, p = 1/2, steps (1, 2)."""
    return (2 * eta / ((3 - alpha - eta) * (3 - alpha))) ** 2


def e1_threshold(alpha, eta):
    """Positive exactly where the printed floor is violated: 1 - 12 (2 - alpha)^2 (1 - alpha) (3 - alpha - eta)^2."""
    return 1 - 12 * (2 - alpha) ** 2 * (1 - alpha) * (3 - alpha - eta) ** 2


def e1_own_eta(eta, m):
    """|grad F~|^2 / (4 Delta/(eta T)) on E1's family with m clients: alpha = 1, T = m^2, Delta = 1/2."""
    return eta * eta / ((2 - eta) * (2 - eta)) * eta * m * m / 2
