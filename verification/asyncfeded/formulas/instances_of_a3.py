"""Where Assumption 3 holds: quadratics with one Hessian, and tilted Griewank functions."""
from fractions import Fraction as Q


def common_hessian(b):
    """sigma_g^2 of f_i = x'Hx/2 - b_i'x, the average unweighted."""
    n, d = len(b), len(b[0])
    mean = [sum(row[j] for row in b) / n for j in range(d)]
    return max(sum((u - v) ** 2 for u, v in zip(row, mean, strict=True)) for row in b)


def apart(H):
    """[|(H_i - mean H) e_j|^2 summed over j], i = 1..n: half the second difference of |grad f_i - grad F|^2, summed over axes."""
    n, d = len(H), len(H[0])
    mean = [[sum(h[a][b] for h in H) / n for b in range(d)] for a in range(d)]
    return [sum((h[a][b] - mean[a][b]) ** 2 for a in range(d) for b in range(d)) for h in H]


def smoothness(d):
    """L of the Griewank function in one or two dimensions."""
    return 1 + Q(1, 2000)


def tilt(v):
    """sigma_g^2 of Griewank functions tilted by v_i with sum 0."""
    return max(sum(u * u for u in row) for row in v)


def hessian(p, s):
    """In d = 2, with p = cos x_1 cos y, s = sin x_1 sin y, y = x_2/sqrt 2, the entries (a, b, c) of the quadratic form
    a z_1^2 + 2 b z_1 w + c w^2 of the direction (z_1, sqrt(2) w)."""
    return (1 + 2000 * p) / 2000, -s, (1 + 1000 * p) / 1000
