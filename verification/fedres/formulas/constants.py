"""Constants of Assumptions 1 to 3: of quadratics, of sums of Huber losses (squared, so exact) and of softmax losses."""
import numpy as np

from fltheory.core.numbers import linalg


def _largest(M):
    """The largest eigenvalue of M'M, from above."""
    return linalg.largest_eigenvalue_bound(linalg.matmul(M.T, M))


def gamma2(A, B, C):
    """gamma^2 of one quadratic client: the larger squared spectral norm of its two block columns."""
    return max(_largest(np.concatenate([A, B.T])), _largest(np.concatenate([B, C])))


def _sum(scales, rows):
    return sum(s * row for s, row in zip(scales, rows, strict=True))


def huber_gamma2(rows, scales, shared):
    """gamma^2 of sum_j s_j Huber(a_j'z - o_j): the largest over subsets of rows. rows a_j (m, d), of which `shared` belong to w."""
    found = []
    for kept in np.ndindex((2,) * len(rows)):
        H = _sum([s * k for s, k in zip(scales, kept, strict=True)], [np.multiply.outer(a, a) for a in rows])
        found.append(gamma2(H[:shared, :shared], H[:shared, shared:], H[shared:, shared:]))
    return max(found)


def huber_G2(rows, scales, deltas):
    """G^2 of the same: the largest |sum_j +-s_j d_j a_j|^2 over signs."""
    ends = [_sum([(1 - 2 * e) * s * d for e, s, d in zip(signs, scales, deltas, strict=True)], rows)
            for signs in np.ndindex((2,) * len(rows))]
    return max((v * v).sum() for v in ends)


def softmax_gamma(X):
    """gamma of softmax losses with features x = (x_g, x_l), rows of X: half the largest eigenvalue of the mean of x x'."""
    return float(np.linalg.eigvalsh(X.T @ X / len(X))[-1]) / 2


def softmax_G(X):
    """G of the same: sqrt 2 times the mean of |x|."""
    return float(np.sqrt(2) * np.linalg.norm(X, axis=1).mean())


def softmax_variance(X, batch):
    """sigma^2 of the same for a mini-batch: twice the mean of |x|^2 over its size."""
    return float(2 * (X * X).sum(1).mean() / batch)
