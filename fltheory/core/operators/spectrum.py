"""Certified spectra: enclosures of both rates whose last step is exact arithmetic.

Mean rate: exact characteristic polynomial and rigorous root balls. Mean-square rate: the second-moment map T
preserves the cone of positive matrices, so X > 0 with r X - T(X) > 0 proves rho < r, and V >= 0, V != 0 with
T(V) - r V >= 0 proves rho >= r. Matrices are found in floats, rounded to dyadic rationals, and checked exactly.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.errors import CertificateFailed, TooLarge, check_flag, refuse
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import RATIONAL, Field
from fltheory.core.operators.moments import Moments

SMALL = 1e-2    # floats give nilpotent maps a rate of up to about this: eps^(1/k) for a Jordan block of size k
DOUBLINGS = 60
CHARPOLY = 120  # unknowns of the second-moment map up to which its characteristic polynomial is cheap


@dataclass(frozen=True)
class Certificate:
    """Rigorous enclosures (low, high) as Fractions; None where a bound was not asked for or not found."""

    mean: tuple | None
    mean_square: tuple
    method: str
    contracts: bool | None = None  # whether the mean-square rate is below 1, where the enclosure leaves it open

    @property
    def stable(self):
        """True or False if decided, None if the enclosure contains 1 and the map is too large to decide it exactly."""
        low, high = self.mean_square
        return True if high < 1 else False if low >= 1 else self.contracts


def certify(exact: Moments, floats: Moments, width) -> Certificate:
    """Both enclosures; raises CertificateFailed with the bound that was not reached."""
    if exact.size == 0:
        zero = (Fraction(0), Fraction(0))
        return Certificate(zero, zero, "the reachable subspace is a point")
    mean = linalg.charpoly_radius(exact.mean_matrix())
    square = mean_square(exact, floats, width, mean)
    open_at_one = square[0] < 1 <= square[1] and exact.unknowns <= CHARPOLY
    return Certificate(mean, square, "mean rate: exact characteristic polynomial; mean-square rate: Lyapunov and Perron matrices, "
                       "exact", exact.contracts() if open_at_one else None)


def exact_rate(operator, square=False) -> linalg.Algebraic:
    """The mean rate per round, or the mean-square rate, as an exact algebraic number: see `Operator.exact_rate`."""
    check_flag(square, "square")
    if isinstance(operator.domain, Field):
        refuse("exact_rate", operator.domain, "the eigenvalues of a matrix in symbols are no numbers",
               "Put numbers in, or compare op.round_matrix() in symbols.")
    moments = operator.exact().moments
    unknowns = moments.unknowns if square else moments.size * (1 if moments.cycle else moments.modes)
    if unknowns > linalg.LARGEST:
        raise TooLarge(f"a characteristic polynomial of degree {unknowns} would be factored; at most {linalg.LARGEST}. "
                       "op.certify() encloses both rates")
    if unknowns == 0:
        return linalg.spectral_radius(np.zeros((0, 0), dtype=object))
    radius = linalg.spectral_radius(moments.second_matrix() if square else moments.period_matrix())
    per_round = radius.root(moments.period)
    per_round.attained = radius.attained
    return per_round


def mean_square(exact: Moments, floats: Moments, width, mean=None):
    """(low, high) around the mean-square rate, relative width at most `width`; mean: enclosure of the mean rate.

    What floats say is a first guess. Where it survives no exact check, bounds are found without it: by the exact
    characteristic polynomial of a small map, else by moving the guess until the checks hold on both sides.
    """
    try:
        with np.errstate(all="ignore"):
            rho, perron = floats.perron()
    except np.linalg.LinAlgError:  # numbers beyond 1.8e308: floats say nothing
        rho, perron = np.inf, floats._zeros(floats.size, floats.size)[:floats.carried]
    if not np.isfinite(rho) and exact.unknowns <= CHARPOLY:
        return linalg.charpoly_radius(exact.second_matrix())
    if rho < SMALL and _nilpotent(exact):
        return Fraction(0), Fraction(0)
    guess = rho if np.isfinite(rho) and rho > 0 else 1.0
    enclosure = _around(exact, floats, guess, perron, width, mean)
    if enclosure is not None:
        return enclosure
    if exact.unknowns <= CHARPOLY:
        return linalg.charpoly_radius(exact.second_matrix())
    enclosure = _searched(exact, floats, guess, width, mean)
    if enclosure is None:
        raise CertificateFailed(f"no pair of Lyapunov and Perron matrices survived the exact check (floats say {rho:.8g}): "
                                "ask for a larger width")
    return enclosure


def _around(exact, floats, rho, perron, width, mean):
    """Both bounds at the distance of half the width from a guess, None if one of them does not hold."""
    low, high = _short(rho * (1 - width / 2)), _short(rho * (1 + width / 2))
    if not upper(exact, _resolvent(floats, rho * (1 + width / 4)), high):
        return None
    # E|z|^2 >= |E z|^2, so the squared mean rate is a lower bound: sharp where the round is deterministic
    if mean is not None and low <= mean[0] ** 2 <= high:
        return low, high
    # a singular Perron matrix does not survive rounding; the resolvent near rho leans towards the same direction
    return (low, high) if lower(exact, perron, low) or lower(exact, _resolvent(floats, rho * (1 + width / 50)), low) else None


def _searched(exact, floats, guess, width, mean):
    """Bounds by bisection: every step is an exact check of a matrix that the resolvent suggests."""
    def below(rate):
        try:
            return upper(exact, _resolvent(floats, rate * (1 - width / 8)), _short(rate))
        except (CertificateFailed, np.linalg.LinAlgError):
            return False
    high = next((r for r in (guess * 2.0**k for k in range(DOUBLINGS)) if below(r)), None)
    if high is None:
        return None
    low = 0.0
    while high - low > high * width / 4 and high > guess * 2.0**-DOUBLINGS:
        middle = (low + high) / 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return _around(exact, floats, high * (1 - width / 8), floats.perron()[1], width, mean)


def upper(exact: Moments, X, rate: Fraction) -> bool:
    """Exact check of X_j > 0 and rate X - T(X) > 0; proves mean-square rate < rate."""
    X = _dyadic(X)
    slack = RATIONAL.scalar(rate) * X - exact.second(X)
    return all(linalg.is_positive_definite(b) for b in X) and all(linalg.is_positive_definite(b) for b in slack)


def lower(exact: Moments, V, rate: Fraction) -> bool:
    """Exact check of V >= 0, V != 0, T(V) - rate V >= 0; proves mean-square rate >= rate."""
    V = _dyadic(V)
    gain = exact.second(V) - RATIONAL.scalar(rate) * V
    return (any(v != 0 for v in V.reshape(-1)) and all(linalg.is_positive_definite(b, strict=False) for b in V)
            and all(linalg.is_positive_definite(b, strict=False) for b in gain))


def _resolvent(floats: Moments, rate):
    """(rate - T)^-1 applied to the identity blocks, in floats; positive definite for rate > rho."""
    X = floats._unpack(floats.resolvent(floats._pack(np.stack([np.eye(floats.size)] * floats.modes)), rate, 1e-8))
    return X / np.abs(X).max()


def _nilpotent(exact: Moments) -> bool:
    """Whether the rate is 0: after `size` rounds nothing is left of any start, decided exactly."""
    X = np.stack([linalg.identity(exact.size, exact.mixtures[0].zero)] * exact.modes)
    for _ in range(exact.size * exact.modes + 1):
        X = exact.second(X)
        if all(v == 0 for v in X.reshape(-1)):
            return True
    return False


def _short(value, bits=40) -> Fraction:
    """A rational within 2^-bits of a float, relatively."""
    if value == 0:
        return Fraction(0)
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**bits), 2**bits) * Fraction(2) ** exponent


def _dyadic(X, bits=55):
    out = np.empty(X.shape, dtype=object)
    out.reshape(-1)[:] = [RATIONAL.scalar(Fraction(round(float(v) * 2**bits), 2**bits)) for v in X.reshape(-1)]
    return out
