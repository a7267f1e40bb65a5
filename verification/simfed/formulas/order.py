"""Exact rates on quadratics: the bound of the stacked spectral radius, FedAvg's and FedProx's factors, an isolated cluster.

gain: 1 - (1 - s)^E, what E local steps of size times curvature s move towards a client's minimiser.
"""
import numpy as np


def gain(s, E):
    return 1 - (1 - s) ** E


def kappa_harmonic(h, p, beta, gamma, E):
    """1 - 1/sum_i p_i beta/R_i, R_i = 1 - (1 - gamma beta h_i)^E, of scalar clients."""
    return 1 - 1 / sum(w * beta / gain(gamma * beta * v, E) for v, w in zip(h, p, strict=True))


def kappa_harmonic_matrices(H, p, beta, gamma, E):
    """1 - 1/lambda_max(sum_i p_i beta R_i^-1) of symmetric Hessians, in floats."""
    total = 0
    for matrix, weight in zip(H, p, strict=True):
        values, vectors = np.linalg.eigh(matrix)
        total = total + weight * (vectors * (beta / gain(gamma * beta * values, E))) @ vectors.T
    return float(1 - 1 / np.linalg.eigvalsh(total)[-1])


def pull(h, gamma, alpha, E):
    """FedProx's Pi_i of a scalar client: gamma h sum_{j<E} (1 - gamma (h + alpha))^j."""
    return gamma * h * sum((1 - gamma * (h + alpha)) ** j for j in range(E))


def factor_prox(h, p, gamma, alpha, E):
    """The factor of FedProx's mean on scalar clients, of FedAvg's at alpha = 0."""
    return 1 - sum(w * pull(v, gamma, alpha, E) for v, w in zip(h, p, strict=True))


def isolated(h, beta, gamma, E):
    """The share of the way to its minimiser at which a cluster rests that listens to itself alone: R/(beta + (1 - beta) R)."""
    R = gain(gamma * beta * h, E)
    return R / (beta + (1 - beta) * R)


def worst_ratio(beta, E):
    """(1 - rho of FedAvg)/(1 - rho of the method) of such a cluster of negligible weight at curvature L, gamma = 1/(2LE)."""
    step = beta / beta / (2 * E)   # in the arithmetic of beta
    return gain(step, E) / isolated(1, beta, step, E)


def stacked_ratio(A, h, beta, E):
    """(1 - rho of FedAvg)/(1 - rho of the method) at gamma = 1/(2LE) on scalar clients with edge weights A, in floats."""
    p, P = A.sum(1) / A.sum(), A / A.sum(1)[:, None]
    s = h / (2 * h.max() * E)
    R = gain(beta * s, E)[:, None]
    M = (1 - R) * p - (1 - beta) / beta * R * P
    return float(p @ gain(s, E) / (1 - abs(np.linalg.eigvals(M)).max()))
