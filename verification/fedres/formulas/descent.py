"""Section 3.1: block coordinate descent on F, and what one gradient step on a block takes off a quadratic."""
import numpy as np


def block_descent(gradient, z, shared, step, K):
    """K steps on the personal block of z (D,), then one of size step K on the first `shared` coordinates. gradient: z -> (D,)."""
    own = np.array([0] * shared + [1] * (len(z) - shared), dtype=object)
    for _ in range(K):
        z = z - step * own * gradient(z)
    return z - step * K * (1 - own) * gradient(z)


def decrease(step, top, grad2):
    """F falls by at least this in a gradient step on a block whose curvature is at most top."""
    return step * (1 - step * top / 2) * grad2
