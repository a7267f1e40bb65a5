"""Bias of fixed points on quadratics f_i = 1/2 (w - c_i)'H_i(w - c_i), and distances of points from their mean."""
import numpy as np


def optimum(H, c, p):
    """Minimiser of sum_i p_i f_i."""
    return np.linalg.solve(np.tensordot(p, H, 1), np.einsum("i,ijk,ik->j", p, H, c))


def leading_bias(H, c, p, P, beta, E):
    """lim bias/gamma as gamma -> 0, a vector: -Hbar^-1 sum_i p_i H_i (beta (E - 1)/2 g_i + (1 - beta) E (P g)_i).

    g_i = H_i (c_i - w*). The first part is drift, of FedAvg (beta = 1) too; the second comes from the neighbours, at E = 1 too.
    """
    g = np.einsum("ijk,ik->ij", H, c - optimum(H, c, p))
    inner = beta * (E - 1) / 2 * g + (1 - beta) * E * P @ g
    return -np.linalg.solve(np.tensordot(p, H, 1), np.einsum("i,ijk,ik->j", p, H, inner))


def prox_bias(h, c, p, gamma, alpha, E):
    """Fixed point of FedProx minus the optimum, scalar clients: weights p_i Pi_i against p_i h_i."""
    pull = [w * gamma * v * sum((1 - gamma * (v + alpha)) ** j for j in range(E)) for v, w in zip(h, p, strict=True)]
    own = [w * v for v, w in zip(h, p, strict=True)]
    return sum(a * b for a, b in zip(pull, c, strict=True)) / sum(pull) - sum(a * b for a, b in zip(own, c, strict=True)) / sum(own)


def spread(points, p):
    """sum_i p_i |x_i - x|^2 about x = sum_i p_i x_i given as the second of the pair."""
    x, mean = points
    return sum(w * ((v - mean) ** 2).sum() for v, w in zip(x, p, strict=True))


def decreasing(mu, m, D0, B, t):
    """What bounds E|wbar_t - w*|^2 at the steps 2/(mu (t + m)), B: the additive part of Lemma 3 over the square of the step."""
    return (m * D0 + 4 * B / mu**2) / (t + m)
