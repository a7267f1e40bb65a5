"""Rounds on quadratics f_i = 1/2 (w - c_i)'H_i (w - c_i) as affine maps, and the covariance that step noise leaves (derived).

H: list of (d, d) arrays, c: list of (d,), P: (n, n) neighbour matrix, p: weights; entries are rationals or symbols.
"""
import numpy as np

from fltheory.core.numbers import linalg


def eye(d):
    return np.array([[int(j == k) for k in range(d)] for j in range(d)], dtype=object)


def power(B, E):
    """B^E."""
    out = eye(len(B))
    for _ in range(E):
        out = out.dot(B)
    return out


def geometric(B, E):
    """I + B + ... + B^(E-1)."""
    return sum((power(B, j) for j in range(E)), 0 * eye(len(B)))


def local_model(x, u, c, Z, beta):
    """A local model after k steps from x, where Z = (I - gamma beta H)^k."""
    R = eye(len(Z)) - Z
    return x - R.dot(x) + R.dot(c - (1 - beta) * u) / beta


def stacked(H, c, P, p, gamma, beta, E):
    """(M, r) of the stacked last local models W -> M W + r."""
    n, d = len(H), len(c[0])
    R = [eye(d) - power(eye(d) - gamma * beta * h, E) for h in H]
    M = np.block([[(eye(d) - R[i]) * p[k] - (1 - beta) / beta * R[i] * P[i][k] for k in range(n)] for i in range(n)])
    return M, np.concatenate([R[i].dot(c[i]) / beta for i in range(n)])


def injected(h, s, gamma, beta, E):
    """Covariance that the E steps of one round add to one local model: gamma^2 sum_j B^j s B^j', B = I - gamma beta h."""
    B = eye(len(h)) - gamma * beta * h
    return gamma**2 * sum(power(B, j).dot(s).dot(power(B, j).T) for j in range(E))


def blocks(parts):
    """Block diagonal array."""
    sizes = np.cumsum([0, *map(len, parts)])
    out = 0 * eye(sizes[-1])
    for a, b, part in zip(sizes, sizes[1:], parts, strict=False):
        out[a:b, a:b] = part
    return out


def stationary(M, r, Q):
    """(W, X): fixed point of W -> M W + r and solution of the discrete Lyapunov equation X = M X M' + Q."""
    D = len(M)
    lift = np.array([[int((a, b) == (c, e)) - M[a, c] * M[b, e] for c in range(D) for e in range(D)]
                     for a in range(D) for b in range(D)], dtype=object)
    return linalg.solve(eye(D) - M, r), linalg.solve(lift, Q.reshape(-1)).reshape(D, D)


def averaging(p, d):
    """(p' (x) I_d)."""
    return np.concatenate([q * eye(d) for q in p], axis=1)


def proximal(h, gamma, alpha, E):
    """Pi = gamma sum_{j<E} (I - gamma (h + alpha I))^j h of FedProx; alpha = 0 is FedAvg."""
    return gamma * geometric(eye(len(h)) - gamma * (h + alpha * eye(len(h))), E).dot(h)


def proximal_map(H, c, p, gamma, alpha, E):
    """(A, r) of the mean model: w -> A w + r, with r = sum_i p_i Pi_i c_i and A = I - sum_i p_i Pi_i."""
    pulls = [q * proximal(h, gamma, alpha, E) for q, h in zip(p, H, strict=True)]
    return eye(len(H[0])) - sum(pulls), sum(G.dot(v) for G, v in zip(pulls, c, strict=True))
