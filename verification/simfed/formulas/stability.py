"""Identical clients of curvature h: factors of the stacked round, and where they leave the unit interval."""
from fractions import Fraction as Q


def reached(h, gamma, beta, E):
    """R."""
    return 1 - (1 - gamma * beta * h) ** E


def mean(R, beta):
    return 1 - R / beta


def deviation(R, beta, eigenvalue):
    """Factor of a direction in which the neighbour matrix has this eigenvalue and the weighted mean is 0."""
    return -(1 - beta) / beta * R * eigenvalue


def mean_stable(R, beta):
    """(whether wbar converges, the two sides of R < 2 beta)."""
    return 2 * beta > R, (R, 2 * beta)


def models_stable(R, beta, largest):
    """(whether the deviations converge, the two sides). largest: of the |eigenvalues| on deviations."""
    return (1 - beta) * R * largest < beta, ((1 - beta) * R * largest, beta)


def overshoot(beta, E):
    """R - 2 beta at h = 1, gamma = 1/2."""
    return reached(1, Q(1, 2), beta, E) - 2 * beta


def apart(beta, E):
    """(1 - beta) R - beta at h = 1, gamma = 1/2: two clients, whose deviation has the eigenvalue -1."""
    return (1 - beta) * reached(1, Q(1, 2), beta, E) - beta


# first four decimals of the critical beta, by E; None: stable for every beta
CRITICAL_MEAN = {1: None, 2: None, 3: None, 4: None, 5: Q("0.2236"), 10: Q("0.4644"), 50: Q("0.5000")}
CRITICAL_APART = {1: None, 2: None, 3: Q("0.2447"), 4: Q("0.3486"), 5: Q("0.4032"), 10: Q("0.4838")}
