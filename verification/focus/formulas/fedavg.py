"""FedAvg in Section 2, eq 3 and Appendix B (37)-(67): fixed points, heterogeneity, the two lemmas and Theorem 3."""
import numpy as np

from fltheory.core.numbers import linalg


def square(v):
    return (v * v).sum()


def apply(A, v):
    return linalg.matmul(A, v[:, None])[:, 0]


# ---- fixed points -----------------------------------------------------------------------------------------
def local_gap(H, eta, tau):
    """I - (I - eta H)^tau."""
    eye = linalg.identity(len(H), H)
    return eye - linalg.power(eye - eta * H, tau)


def mean_round(gaps, c, q, x):
    """x - sum q_i G_i (x - c_i): the mean of one round over laws with averaging weights q."""
    return x - sum(w * apply(G, x - v) for w, G, v in zip(q, gaps, c, strict=True))


def fixed_point(gaps, c, q):
    """x^o = (sum q_i G_i)^-1 sum q_i G_i c_i with G_i = I - (I - eta H_i)^tau."""
    return linalg.solve(sum(w * G for w, G in zip(q, gaps, strict=True)),
                        sum(w * apply(G, v) for w, G, v in zip(q, gaps, c, strict=True)))


def minimiser(H, c):
    """x* of the plain mean of the clients."""
    return linalg.solve(sum(H), sum(apply(h, v) for h, v in zip(H, c, strict=True)))


def first_order_bias(H, c, tau):
    """Coefficient of eta in x^o - x* under full participation: -(tau-1)/2 (sum H_i)^-1 sum H_i^2 (c_i - x*)."""
    best = minimiser(H, c)
    push = sum(apply(linalg.matmul(h, h), v - best) for h, v in zip(H, c, strict=True))
    return -(tau - 1) * linalg.solve(sum(H), push) / 2


def power_jet(a, tau, rest):
    """(1 - a)^tau up to second order in a, rest = everything else."""
    return 1 - tau * a + tau * (tau - 1) * a * a / 2 + rest


def eq3(eta, tau, best):
    """Right side of (3) without its constant: (tau-1) eta |x*|^2."""
    return (tau - 1) * eta * square(best)


# ---- heterogeneity ----------------------------------------------------------------------------------------
def plain_mean(rows):
    return sum(rows) / len(rows)


def weighted_mean(q, rows):
    return sum(w * v for w, v in zip(q, rows, strict=True))


def spread(q, rows, centre):
    """sum q_i |row_i - centre|^2."""
    return sum(w * square(v - centre) for w, v in zip(q, rows, strict=True))


def pairs(q, rows):
    """sum_{i<j} q_i q_j |row_i - row_j|^2."""
    n = len(rows)
    found = [q[i] * q[j] * square(rows[i] - rows[j]) for i in range(n) for j in range(i)]
    return sum(found) if found else 0 * q[0]


def heterogeneity(gradients):
    """Largest |g_i - mean|^2 of the rows: sigma_G^2 at one consensus point."""
    return max(square(g - plain_mean(gradients)) for g in gradients)


def sampling(q, gradients):
    """|sum q_i g_i - mean|^2: delta_q^2 at one consensus point."""
    return square(weighted_mean(q, gradients) - plain_mean(gradients))


def constants(H, b, q):
    """(delta_q^2, sigma_G^2) of quadratic clients x'H_i x/2 - b_i'x over all consensus points; None where infinite."""
    even = all(w == q[0] for w in q)
    same = all((h == H[0]).all() for h in H)
    tilt = sum((w - sum(q) / len(q)) * h for w, h in zip(q, H, strict=True))
    delta2 = 0 * b[0, 0] if even else sampling(q, -b) if (tilt == 0).all() else None
    return delta2, heterogeneity(-b) if same else None


# ---- bounds -----------------------------------------------------------------------------------------------
def lem1(eta, mu, L, distance2, spread2, delta2):
    """Right side of (49)."""
    return {"contraction": (1 - eta * mu / 2) * distance2, "spread": 5 * eta * L * L / mu * spread2,
            "sampling": 5 * eta / mu * delta2}


def lem1_form(moved, best, q, eta, mu, L, delta2):
    """Right minus left side of (49) as a quadratic form in (1, X): positive semidefinite iff (49) holds for every X.

    moved (d, 1 + n d): the affine map of the stacked points X (n, d) to the mean after one step; best (d,).
    """
    d, n = len(best), len(q)
    eye, zero = linalg.identity(1 + n * d, moved), 0 * moved
    one = [eye[1 + i * d:1 + (i + 1) * d] for i in range(n)]
    mean, target = sum(w * E for w, E in zip(q, one, strict=True)), zero.copy()
    target[:, 0] = best

    def gram(A):
        return linalg.matmul(A.T, A)
    terms = lem1(eta, mu, L, gram(mean - target), sum(w * gram(mean - E) for w, E in zip(q, one, strict=True)),
                 delta2 * gram(eye[:1]))
    return sum(terms.values()) - gram(moved - target)


def lem2(eta, steps, delta2, sigma2):
    """Right side of (54) with steps = tau - 1, and of (55), just before averaging, with steps = tau."""
    return 8 * eta**2 * steps**2 * (delta2 + sigma2)


def thm3(eta, tau, mu, L, delta2, sigma2, printed=False):
    """Right side of (67), as printed or corrected; the two parts driven by local steps and by sampling variance.

    The drift part alone decides nothing: |mean(H)^-1 mean(H_i g_i)|^2 <= kappa sigma_G^2, so to first order the squared
    drift is at most eta^2 (tau-1)^2 kappa sigma_G^2/4 <= eta tau^2 sigma_G^2/(4 mu), below the variance part.
    """
    bias = (10 * L / mu if printed else 10 / (mu * mu)) * delta2
    drift = (L * L if printed else 1) * thm3_drift(eta, tau, mu, L, delta2, sigma2)
    return {"local": drift + thm3_variance(eta, tau, mu, delta2, sigma2), "bias": bias}


def thm3_drift(eta, tau, mu, L, delta2, sigma2):
    """First term of Theorem 3 in the units of |x|^2."""
    return 80 * eta**2 * (L / mu) ** 2 * (tau - 1) ** 2 * (delta2 + sigma2)


def thm3_variance(eta, tau, mu, delta2, sigma2):
    """Last term of Theorem 3."""
    return 16 * eta * tau**2 / mu * (delta2 + sigma2)


def cor2(eta, mu, sigma2):
    """Right side of Corollary 2: uniform sampling, one local step."""
    return 16 * eta * sigma2 / mu


def floor_recursion(eta, mu, L, tau, delta2, sigma2):
    """Limit of e <- (1 - eta mu/2) e + (spread and sampling of (49)), spread by (54): drift and bias of Theorem 3."""
    steady = lem1(eta, mu, L, 0 * eta, lem2(eta, tau - 1, delta2, sigma2), delta2)
    return {k: v / (eta * mu / 2) for k, v in steady.items() if k != "contraction"}


def equal_curvature_floor(eta, h, b):
    """Equal curvature h, one uniform client, tau = 1: eta h Var(b)/(2 - eta h)."""
    centre = sum(b) / len(b)
    variance = sum((v - centre) * (v - centre) for v in b) / len(b)
    return eta * h * variance / (2 - eta * h)


def partial_variance(eta, gradients, size):
    """Variance of one round of one step with `size` of N uniform clients at x*, where the gradients (N, d) sum to 0."""
    n = len(gradients)
    return eta * eta * (n - size) / (size * (n - 1)) * sum(square(g) for g in gradients) / n


def as_rows(values):
    """Numbers (n,) as rows (n, 1)."""
    return np.array([[v] for v in values], dtype=object)
