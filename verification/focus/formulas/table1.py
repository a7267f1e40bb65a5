"""Table 1 on quadratics: where FedAvg with all clients stops, from Section 2."""
from fltheory.core import linalg


def drift_point(H, b, eta, tau):
    """x^o = (sum Q_i)^-1 sum Q_i c_i with Q_i = I - (I - eta H_i)^tau and H_i c_i = b_i, for invertible H_i (n, d, d), b (n, d)."""
    total, right = 0, 0
    for h, v in zip(H, b, strict=True):
        eye = linalg.identity(len(h), h)
        Q = eye - linalg.power(eye - eta * h, tau)
        total = total + Q
        right = right + linalg.matmul(Q, linalg.solve(h, v)[:, None])[:, 0]
    return linalg.solve(total, right)
