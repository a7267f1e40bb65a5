"""Section 2 and Appendix B: objectives (1), (4), (5), the linear models (2), (3), and the numbers of Example 1."""
import numpy as np

from fltheory.core.numbers import linalg


def _dot(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True))


def squared_error(samples, w, theta):
    """Eq (2) in the mean over samples (x_g, x_l, y): (y - w'x_g - theta'x_l)^2."""
    errors = [y - _dot(w, xg) - _dot(theta, xl) for xg, xl, y in samples]
    return _dot(errors, errors) / len(errors)


def logits(W, xg, Theta, xl):
    """The logits W x_g + Theta x_l of Eq (3), on which its loss depends alone."""
    return [_dot(row, xg) + _dot(own, xl) for row, own in zip(W, Theta, strict=True)]


def penalty(theta, lam):
    """The second term of (5): lambda/2 times the mean of |theta_i|^2."""
    return lam / 2 * sum(_dot(t, t) for t in theta) / len(theta)


def deviations(models):
    """w_i minus the mean of the w_i: what footnote 2 penalises."""
    models = np.array(models, dtype=object)
    return models - models.sum(0) / len(models)


def joint_optimum(A, B, C, bw, bt):
    """(w, theta_i) of summed Schur complements, of equal weights: blocks as lists of matrices of their own sizes."""
    S, s = 0, 0
    for a, b, c, u, v in zip(A, B, C, bw, bt, strict=True):
        inverse = linalg.solve(c, np.eye(len(c), dtype=int).astype(object))
        S = S + a - linalg.matmul(linalg.matmul(b, inverse), b.T)
        s = s + u[:, None] - linalg.matmul(linalg.matmul(b, inverse), v[:, None])
    w = linalg.solve(S, s)
    return w[:, 0], [linalg.solve(c, v[:, None] - linalg.matmul(b.T, w))[:, 0] for b, c, v in zip(B, C, bt, strict=True)]


def example1_loss(formulation, lam=0):
    """Example 1: the best expected prediction loss under (1), (4) or (5), without the variance sigma^2 of the labels."""
    return {1: 0 * lam, 4: 2 + 0 * lam, 5: 2 * (lam / (2 + lam)) ** 2}[formulation]


def example1_theta(lam):
    """Appendix B: the entry theta of theta_A = (0, 0, theta, -theta) under (5)."""
    return 2 / (2 + lam)
