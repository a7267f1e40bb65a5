"""Where asynchronous rounds with a constant step rest, on quadratic clients, and what they are mapped to.

A client is (H, b), f = 1/2 (x - b)' H (x - b), and its K local steps leave Q = I - (I - eta H)^K. g is the server's step, or
FedAsync's weight with mixing "model". Arrays (n, d, d) and (n, d); one dimension works with numbers too.
"""
import numpy as np


def left(h, eta, K):
    """Q of a client on the line."""
    return 1 - (1 - eta * h) ** K


def base(q, b, g, x, mixing):
    """Mean base model of a client on the line while the server rests at x in the mean."""
    return (x + g * q * b) / (1 + g * q) if mixing == "update" else (((1 - g) * x + g * q * b) / (1 - g + g * q))


def weight(p, q, g, mixing):
    """W of a client on the line: the server rests where sum W (x - b) = 0."""
    return p * q / (1 + g * q if mixing == "update" else 1 - g + g * q)


def rest(p, q, b, g, mixing):
    """That point."""
    W = [weight(u, v, g, mixing) for u, v in zip(p, q, strict=True)]
    return sum(w * v for w, v in zip(W, b, strict=True)) / sum(W)


def map_of(i, H, b, eta, K, g, mixing):
    """(A, c) in floats: what the arrival of client i makes of the stacked (x, y_1, .., y_n), (D, D) and (D,), D = (n + 1) d."""
    n, d = b.shape
    Q = np.eye(d) - np.linalg.matrix_power(np.eye(d) - eta * H[i], K)
    A, c = np.eye((n + 1) * d), np.zeros((n + 1) * d)
    own = slice((i + 1) * d, (i + 2) * d)
    move = np.zeros((d, (n + 1) * d))
    if mixing == "update":
        move[:, :d], move[:, own] = np.eye(d), -g * Q
    else:
        move[:, :d], move[:, own] = (1 - g) * np.eye(d), g * (np.eye(d) - Q)
    A[:d], A[own], c[:d], c[own] = move, move, g * Q @ b[i], g * Q @ b[i]
    return A, c


def noise_of(i, H, eta, K, C):
    """Covariance (d, d) of one run's update of client i, C (d, d) that of one gradient."""
    d = len(C)
    R = np.eye(d) - eta * H[i]
    powers = [np.linalg.matrix_power(R, j) for j in range(K)]
    return eta**2 * sum(P @ C @ P.T for P in powers)


def second_moment(p, H, b, eta, K, g, mixing, C):
    """(mean (D,), covariance (D, D)) of the stacked state at rest: a Kronecker system, by arrival probabilities p (n,)."""
    n, d = b.shape
    maps = [map_of(i, H, b, eta, K, g, mixing) for i in range(n)]
    D = (n + 1) * d
    A = sum(w * m for w, (m, _) in zip(p, maps, strict=True))
    c = sum(w * v for w, (_, v) in zip(p, maps, strict=True))
    mean = np.linalg.solve(np.eye(D) - A, c)
    force = np.zeros((D, D))
    for i, (w, (m, v)) in enumerate(zip(p, maps, strict=True)):
        off = m @ mean + v - mean
        own = np.zeros((D, d))
        own[:d] = own[(i + 1) * d:(i + 2) * d] = g * np.eye(d)
        force += w * (np.outer(off, off) + own @ noise_of(i, H, eta, K, C) @ own.T)
    step = sum(w * np.kron(m, m) for w, (m, _) in zip(p, maps, strict=True))
    return mean, np.linalg.solve(np.eye(D * D) - step, force.reshape(-1)).reshape(D, D)


def orbit(order, H, b, eta, K, g, mixing):
    """(server models (len(order), d) along the orbit of a periodic order of arrivals, spectral radius of the period's map)."""
    n, d = b.shape
    D = (n + 1) * d
    A, c = np.eye(D), np.zeros(D)
    for i in order:
        m, v = map_of(i, H, b, eta, K, g, mixing)
        A, c = m @ A, m @ c + v
    state, seen = np.linalg.solve(np.eye(D) - A, c), []
    for i in order:
        m, v = map_of(i, H, b, eta, K, g, mixing)
        state = m @ state + v
        seen.append(state[:d])
    return np.array(seen), max(abs(np.linalg.eigvals(A)))
