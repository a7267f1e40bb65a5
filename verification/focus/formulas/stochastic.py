"""SG-FOCUS: printed floors and lemmas of Theorems 4-6, the floors derived for this ledger, exact second moments.

sigma2 is sigma^2 = E|noise|^2 of one stochastic gradient. The moments are those of the printed Algorithm 2 on clients
f_i = h_i (x - c_i)^2 / 2, in coordinates relative to x*: the server model x, the points z_i of the stored gradients and their
noises n_i, so that g_i = h_i (z_i - c_i) + n_i.
"""
from fractions import Fraction

import numpy as np


# ---- derived floors (equal Hessians h) --------------------------------------------------------------------
def mean_wait(p):
    """Mean over the clients of 2/p_i - 1 = p_i E[T^2], T the number of rounds that a stored gradient stays in use."""
    return sum(2 / v - 1 for v in p) / len(p)


def small_step_error(eta, h, p, sigma2):
    """E|x - x*|^2 to first order in eta."""
    return eta * sigma2 * mean_wait(p) / (2 * h)


def small_step_gap(eta, p, sigma2):
    """E F(x) - F* to first order in eta."""
    return eta * sigma2 * mean_wait(p) / 4


def small_step_gradient(eta, h, p, sigma2):
    """E|grad F(x)|^2 to first order in eta."""
    return eta * h * sigma2 * mean_wait(p) / 2


def full_participation_error(eta, h, N, sigma2):
    """E|x - x*|^2 at tau = 1, exactly."""
    return eta * sigma2 / (h * (2 - eta * N * h))


# ---- printed statements -----------------------------------------------------------------------------------
def theorem4_floor(eta, mu, N, q, sigma2):
    return 4 * (q + N**2) / (mu * N * q) * eta * sigma2


def theorem5_floor(eta, L, beta, q, tau, sigma2):
    return (L / 2 + 32 * (tau - 1) ** 2 * L**2 + 8 / q) * eta / beta * sigma2


def theorem6_floor(eta, L, N, q, sigma2):
    return (2 * L * N + 8 * N**2 / ((N - 8 * L**2) * q)) * eta**2 * sigma2


def lemma5_bound(eta, mu, L, N, error, gap, spread, sigma2):
    """Right side of Lemma 5: error = E|x_r - x*|^2, gap = F(x_r) - F*, spread = B_r."""
    return ((1 - eta * mu * N / 2) * error - 2 * eta * N * (1 - 2 * eta * N * L) * gap + 16 * eta * L**2 * N / mu * spread
            + 2 * eta**2 * sigma2)


def lemma6_bound(eta, N, q, spread, gradient, sigma2):
    """Right side of Lemma 6: spread = B_{r-1}, gradient = |grad F(x_r)|^2."""
    return (1 - q / 3) * spread + 8 * eta**2 * N**2 / q * gradient + 8 * eta**2 * N / q * sigma2


def lemma6_generous(eta, N, q, spread, gradient, sigma2):
    """The same with the corrected coefficient 9 eta^2 N^3/q of Lemma 4 on the gradient, and the printed one on the noise."""
    return (1 - q / 3) * spread + 9 * eta**2 * N**3 / q * gradient + 8 * eta**2 * N / q * sigma2


def lemma6_corrected(eta, N, q, tau, spread, gradient, sigma2):
    """The three terms with the corrected coefficient of Lemma 4 and noise of stale gradients and of local moves."""
    return (1 - q / 3) * spread, 9 * eta**2 * N**3 / q * gradient, 24 * eta**2 * (N**2 / q + N * (tau - 1) ** 2) * sigma2


# ---- exact second moments of Algorithm 2 ------------------------------------------------------------------
def round_maps(h, eta, tau, law):
    """[(chance, M, G)]: one round of Algorithm 2 as s' = M s + G xi with s = (x, z_1..z_N, n_1..n_N) and unit noises xi.

    law: [(chance, set of clients 1..N)]; xi has one entry per gradient, N tau in all.
    """
    N = len(h)
    size = 1 + 2 * N
    out = []
    for chance, S in law:
        unit = [np.array([Fraction(int(j == k)) for j in range(size + N * tau)], dtype=object) for k in range(size + N * tau)]
        rows, total = list(unit[:size]), 0 * unit[0]
        for i in range(N):
            if i + 1 in S:
                u, before = unit[0], h[i] * unit[1 + i] + unit[1 + N + i]
                for t in range(tau):
                    point, noise = u, unit[size + i * tau + t]
                    u = u - eta * (h[i] * point + noise - before)
                rows[1 + i], rows[1 + N + i] = point, noise
            total = total + h[i] * rows[1 + i] + rows[1 + N + i]
        rows[0] = unit[0] - eta * total
        table = np.stack(rows)
        out.append((chance, table[:, :size], table[:, size:]))
    return out


def start(x0, z0):
    """E[s s'] of a known start without stored noise."""
    s = np.array([x0, *z0, *(0 * v for v in z0)], dtype=object)
    return np.outer(s, s)


def push(maps, S, sigma2):
    """E[s s'] one round later."""
    return sum(chance * (M @ S @ M.T + sigma2 * (G @ G.T)) for chance, M, G in maps)


def pull(maps, V):
    """The form E[s' V s'] as a form in s, without noise."""
    return sum(chance * (M.T @ V @ M) for chance, M, G in maps)


def error_form(N):
    """|x - x*|^2 as a form in s."""
    V = np.array([[Fraction(0)] * (2 * N + 1)] * (2 * N + 1), dtype=object)
    V[0, 0] = Fraction(1)
    return V


def spread_form(N):
    """B = sum_i |x - z_i|^2 as a form in s."""
    V = 0 * error_form(N)
    for i in range(1, N + 1):
        V[0, 0], V[i, i] = V[0, 0] + 1, V[i, i] + 1
        V[0, i], V[i, 0] = V[0, i] - 1, V[i, 0] - 1
    return V


def value(V, S):
    return (V * S).sum()


def gamma_form(maps, N, weight):
    """E Gamma_{r+1} = E A_{r+1} + weight B_r as a form in the state before round r."""
    return pull(maps, error_form(N)) + weight * spread_form(N)


# ---- equal clients, one uniform client a round, tau = 1 ---------------------------------------------------
def one_of_equal(N, h, eta, sigma2, rounds):
    """(E x^2, B) before rounds 0, 1, ..: N equal clients, exactly one uniform client a round, from x = z_i = x* without noise.

    z_i and n_j are uncorrelated for i = j, and so are two noises; the moments left are x x, x z, x n, z z, n n, z_i z_j, z_i n_j.
    """
    others, zero = N - 1, Fraction(0)
    xx = xz = xn = zz = nn = zy = zm = zero
    for _ in range(rounds):
        yield xx, N * (xx - 2 * xz + zz)
        # client 1 is drawn: z_1 = x, n_1 fresh; total = h sum z + sum n afterwards
        x_total = h * (xx + others * xz) + others * xn
        z_total = h * (xz + zz + (others - 1) * zy) + (others - 1) * zm        # z_j of another client
        n_total = h * (xn + (others - 1) * zm) + nn                            # n_j of another client
        square = h * (x_total + others * z_total) + sigma2 + others * n_total
        zy = (2 * others * xz + others * (others - 1) * zy) / (N * others)
        zm = (others * xn + others * (others - 1) * zm) / (N * others)
        zz, nn = (xx + others * zz) / N, (sigma2 + others * nn) / N
        xz = (xx - eta * x_total + others * (xz - eta * z_total)) / N
        xn = (-eta * sigma2 + others * (xn - eta * n_total)) / N
        xx = xx - 2 * eta * x_total + eta**2 * square
