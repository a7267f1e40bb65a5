"""Experiment E.2 with two classes: the population loss of a difference of rows as an integral over one Gaussian, and its optima."""
import math

import numpy as np

SPACING, REACH = 0.05, 9.0    # of the trapezoidal rule, whose error falls like exp(-2 pi strip / spacing)


def difference(shared, own, mix):
    """v_i = (1 - mix) Delta W* + mix Delta Theta_i* (eq 13, rows subtracted); shared (d,), own (n, d)."""
    return (1 - mix) * shared + mix * own


def normal_cdf(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def two_classes(a, b):
    """Probability of the first of two classes from the exponentials a, b of its logits (eq 3)."""
    return a / (a + b)


def slope_squared(rho2):
    """r^2 of P(label = 1 | z) = Phi(r z), rho2 the squared correlation of u'x and v'x + n."""
    return rho2 / (1 - rho2)


def slope(u, v, noise=2.0):
    """r of P(label = 1 | z) = Phi(r z), z = u'x/|u|, when the label is the sign of v'x + N(0, noise)."""
    q = float(u @ v) / math.sqrt(float(u @ u)) if u.any() else 0.0
    return q / math.sqrt(float(v @ v) + noise - q * q)


def population_loss(u, v):
    """2 E[log(1 + exp(-|u| z)) Phi(r z)], z ~ N(0, 1): the logistic loss of u on a client with difference v."""
    a, r = math.sqrt(float(u @ u)), slope(u, v)
    nodes = np.arange(-REACH, REACH + SPACING / 2, SPACING)
    weights = SPACING * np.exp(-nodes**2 / 2) / math.sqrt(2 * math.pi)
    return 2 * float(sum(w * np.logaddexp(0, -a * z) * normal_cdf(r * z) for z, w in zip(nodes, weights, strict=True)))


def largest_norm(v, noise=2.0):
    """A bound on |u*| of any minimiser: the loss is at least 2 |u| E[z+ Phi(-R z)], R = max |v_i| / sqrt(noise), and log 2 at 0."""
    R = math.sqrt(float((v * v).sum(-1).max()) / noise)
    return math.log(2) * math.sqrt(2 * math.pi) / (1 - R / math.sqrt(1 + R * R))


def two_rows(lr, mu):
    """(lr, mu) for one difference vector that moves as the difference of two softmax rows does at (lr, mu)."""
    return 2 * lr, mu / 2
