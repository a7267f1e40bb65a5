"""Appendix A and C: primitivity, and where decentralised gradient descent stops."""
import numpy as np

from fltheory.core.numbers import linalg


def primitivity_bound(n):
    """Wielandt: a primitive n x n matrix has a positive power n^2 - 2n + 2, and all higher ones are positive."""
    return n * n - 2 * n + 2


def minimiser(H, b):
    """x* of the plain sum of clients x'H_i x/2 - b_i'x."""
    return linalg.solve(H.sum(0), b.sum(0))


def dgd_limit(W, eta, H, b):
    """Fixed point (n, d) of x_i <- sum_j W_ij (x_j - eta (H_j x_j - b_j)), eqs 29-30: one linear system in n d unknowns."""
    n, d = b.shape
    A, rhs = np.empty((n * d, n * d), dtype=object), np.empty(n * d, dtype=object)
    A[:] = rhs[:] = 0 * eta
    for i in range(n):
        for r in range(d):
            row = i * d + r
            A[row, row] = A[row, row] + 1
            for j in range(n):
                A[row, j * d + r] = A[row, j * d + r] - W[i][j]
                for s in range(d):
                    A[row, j * d + s] = A[row, j * d + s] + eta * W[i][j] * H[j][r][s]
                rhs[row] = rhs[row] + eta * W[i][j] * b[j][r]
    return linalg.solve(A, rhs).reshape(n, d)
