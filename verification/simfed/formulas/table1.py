"""Table 1 as printed: test accuracy (%), rounds to the threshold, speed-up; and what its last column should be."""
from fractions import Fraction as Q
from math import floor

CELLS = ("CIFAR10, balanced", "CIFAR10, imbalanced", "FEMNIST, balanced", "FEMNIST, imbalanced")
_ROWS = {
    ("FedAvg", "convex"): "38.70/11/1.0 36.53/20/1.0 84.42/28/1.0 80.20/80/1.0",
    ("FedAvg", "non-convex"): "36.14/68/1.0 34.04/74/1.0 86.07/44/1.0 80.94/94/1.0",
    ("0.9", "convex"): "38.68/11/1.0 36.67/19/1.0 84.48/27/1.0 80.40/79/1.0",
    ("0.9", "non-convex"): "36.15/68/1.0 34.26/72/1.0 86.15/43/1.0 81.05/87/1.1",
    ("0.7", "convex"): "38.70/11/1.0 36.98/18/1.1 84.54/24/1.2 80.81/67/1.2",
    ("0.7", "non-convex"): "36.16/68/1.0 34.87/68/1.1 86.25/41/1.1 81.21/80/1.2",
    ("0.5", "convex"): "38.67/11/1.0 37.49/15/1.3 84.57/23/1.2 81.24/50/1.6",
    ("0.5", "non-convex"): "36.13/68/1.0 35.37/63/1.2 86.26/39/1.1 81.43/80/1.2",
}
PRINTED = {(method, loss, cell): tuple(map(Q, entry.split("/"))) for (method, loss), line in _ROWS.items()
           for cell, entry in zip(CELLS, line.split(), strict=True)}     # -> (accuracy, rounds, speed-up)
WRONG = ("0.9", "convex", "CIFAR10, imbalanced")


def speed_up(base, rounds):
    """Rounds of FedAvg over rounds of the method, to one decimal, halves upwards."""
    return Q(floor(10 * base / rounds + Q(1, 2)), 10)


def location(N, C):
    """The location of the log-normal sizes as printed in Appendix C."""
    return floor(N / C)
