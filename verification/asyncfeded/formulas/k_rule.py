"""Rule (8), which changes the number of local steps, and the settings of Table 4."""
from fractions import Fraction as Q
from math import ceil, floor

TABLE4 = {"Synthetic": (Q(5), Q(5), Q(3), Q(1)), "FEMNIST": (Q(1), Q(1), Q(3), Q(1, 20)), "Shakespeare": (Q(5), Q(10), Q(3), Q(1))}
"""(lambda, eps, gbar, kappa), eps from the printed lambda/eps."""


def increment(gamma, gbar, kappa, strict=False):
    """What (8) adds to K: (gbar - gamma) kappa rounded down; strict: the largest integer below it, as the words have it."""
    z = (gbar - gamma) * kappa
    return ceil(z) - 1 if strict else floor(z)


def band(gbar, kappa):
    """(low, high): K stays for gamma in (low, high] under rounding down, in [low, high) under the strict one."""
    return gbar - 1 / kappa, gbar


def grows(gamma, gbar, kappa, strict=False):
    low, _ = band(gbar, kappa)
    return gamma < low if strict else gamma <= low


def shrinks(gamma, gbar, kappa, strict=False):
    return gamma >= gbar if strict else gamma > gbar


def can_grow(gbar, kappa, strict=False):
    """Whether some gamma >= 0 raises K."""
    return gbar * kappa > 1 if strict else gbar * kappa >= 1
