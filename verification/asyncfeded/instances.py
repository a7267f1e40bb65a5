"""Schedules and enclosures that several files of the paper share; all of them rational."""
from fractions import Fraction as Q
from math import isqrt

DIGITS = 12


def at_cap(K, L=1, share=1, digits=DIGITS):
    """[eta_1, .., eta_K]: `share` of the largest steps that (T1) allows, rounded down to so many digits."""
    out = []
    for k in range(1, K + 1):
        square = Q(share) ** 2 / (6 * k * (2 * k + 1) * Q(L) ** 2)
        out.append(Q(isqrt(square.numerator * 10 ** (2 * digits) // square.denominator), 10**digits))
    return out


def log_between(n, terms=40):
    """(low, high): rationals with low <= ln(n) <= high, n a positive integer.

    ln n = ln 2 times the bits of n, plus 2 artanh of what is left; both series have positive terms and a geometric rest.
    """
    bits = n.bit_length() - 1
    low2, high2 = _twice_artanh(Q(1, 3), terms)
    left = Q(n, 2**bits)
    low, high = _twice_artanh((left - 1) / (left + 1), terms)
    return bits * low2 + low, bits * high2 + high


def _twice_artanh(z, terms):
    total, power = Q(0), z
    for j in range(terms):
        total += power / (2 * j + 1)
        power *= z * z
    return 2 * total, 2 * (total + power / ((2 * terms + 1) * (1 - z * z)))
