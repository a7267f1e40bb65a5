"""Thresholds of FOCUS (derived for this ledger): one client, and N equal clients under independent participation."""
import numpy as np


def threshold(p):
    """Mean-square limit of eta h for one client, tau = 1, Bernoulli p: 2p/(2-p)."""
    return 2 * p / (2 - p)


def mean_threshold(p):
    """Limit of eta h for the mean map of the same case: (4-2p)/p."""
    return (4 - 2 * p) / p


def markov_threshold(p, correlation):
    """The same limit when participation is a two-state chain: 2p(1-c)/(2-p(1+c))."""
    return 2 * p * (1 - correlation) / (2 - p * (1 + correlation))


def equal_clients(N, a, p, P):
    """Second moments (E x^2, E x z_i, E z_i^2, E z_i z_j) of N equal clients over one round, as a 4 x 4 matrix.

    a = eta h, P = (1-a)^(tau-1); z_i' = z_i + I_i P (x - z_i), x' = x - a sum_i z_i' (coordinates relative to x*).
    """
    one, zero = 1 + 0 * a, 0 * a
    A, B, C, D = (np.array([one if j == k else zero for j in range(4)], dtype=object) for k in range(4))
    B1 = B + p * P * (A - B)
    C1 = C + 2 * p * P * (B - C) + p * P * P * (A - 2 * B + C)
    D1 = D + 2 * p * P * (B - D) + p * p * P * P * (A - 2 * B + D)
    A1 = A - 2 * a * N * B1 + a * a * (N * C1 + N * (N - 1) * D1)
    return np.stack([A1, B1 - a * (C1 + (N - 1) * D1), C1, D1])


def limit_equation(N, a, p, P):
    """Zero at the mean-square limit: a (4 - 4p + N P p^2 (2-P)) - 2p (2-P)(2-Pp)."""
    return a * (4 - 4 * p + N * P * p * p * (2 - P)) - 2 * p * (2 - P) * (2 - P * p)


def limit_one_step(N, p):
    """The same at tau = 1, solved for eta N h: 2N p(2-p)/(N p^2 - 4p + 4)."""
    return 2 * N * p * (2 - p) / (N * p * p - 4 * p + 4)
