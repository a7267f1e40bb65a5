"""Certified spectra: enclosures of both rates whose last step is exact arithmetic.

Mean rate: exact characteristic polynomial and rigorous root balls. Mean-square rate: the second-moment map T
preserves the cone of positive matrices, so X > 0 with r X - T(X) > 0 proves rho < r, and V >= 0, V != 0 with
T(V) - r V >= 0 proves rho >= r. Matrices are found in floats, rounded to dyadic rationals, and checked exactly.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from fltheory import linalg
from fltheory.errors import CertificateFailed
from fltheory.operators.moments import DENSE, Moments
from fltheory.scalars import RATIONAL

CHARPOLY = 120  # unknowns of the second-moment map up to which its characteristic polynomial is cheap


@dataclass(frozen=True)
class Certificate:
    """Rigorous enclosures (low, high) as Fractions; None where a bound was not asked for or not found."""

    mean: tuple | None
    mean_square: tuple
    method: str

    @property
    def stable(self):
        """True or False if decided, None if the enclosure contains 1."""
        low, high = self.mean_square
        return True if high < 1 else False if low >= 1 else None


def certify(exact: Moments, floats: Moments, width) -> Certificate:
    """Both enclosures; raises CertificateFailed with the bound that was not reached."""
    if exact.size == 0:
        zero = (Fraction(0), Fraction(0))
        return Certificate(zero, zero, "the reachable subspace is a point")
    try:
        mean = linalg.charpoly_radius(exact.mean_matrix())
        how = "mean rate: exact characteristic polynomial; "
    except ImportError:
        mean, how = None, "mean rate: skipped without flint; "
    return Certificate(
        mean, mean_square(exact, floats, width, mean), how + "mean-square rate: Lyapunov and Perron matrices, exact"
    )


def mean_square(exact: Moments, floats: Moments, width, mean=None):
    """(low, high) around the mean-square rate, relative width at most `width`; mean: enclosure of the mean rate."""
    rho, perron = floats.perron()
    if rho == 0:
        return _nilpotent(exact)
    high = _short(rho * (1 + width / 2))
    low = _short(rho * (1 - width / 2))
    if not upper(exact, _resolvent(floats, rho * (1 + width / 4)), high):
        raise CertificateFailed(f"no Lyapunov matrix survived the exact check for rate {float(high):.8g} "
                                f"(floats say {rho:.8g}); ask for a larger width")
    # E|z|^2 >= |E z|^2, so the squared mean rate is a lower bound: sharp where the round is deterministic
    if mean is not None and mean[0] ** 2 >= low:
        return low, high
    # a singular Perron matrix does not survive rounding; the resolvent near rho leans towards the same direction
    if lower(exact, perron, low) or lower(exact, _resolvent(floats, rho * (1 + width / 50)), low):
        return low, high
    if exact.unknowns <= CHARPOLY:
        try:
            return linalg.charpoly_radius(exact.second_matrix())
        except ImportError:
            pass
    raise CertificateFailed(f"no Perron matrix survived the exact check for rate {float(low):.8g} "
                            f"(floats say {rho:.8g}); ask for a larger width")


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
    eye = floats._pack(np.stack([np.eye(floats.size)] * floats.modes))
    if floats.unknowns <= DENSE:
        T = floats.second_matrix()
        v = np.linalg.solve(rate * np.eye(len(T)) - T, eye)
    else:
        A = LinearOperator((floats.unknowns,) * 2, dtype=float,
                           matvec=lambda v: rate * v - floats._pack(floats.second(floats._unpack(v))))
        v, info = gmres(A, eye, rtol=1e-8, atol=0, restart=200, maxiter=100)
        if info != 0:
            raise CertificateFailed(
                f"the resolvent with {floats.unknowns} unknowns did not converge; ask for a larger width"
            )
    X = floats._unpack(v)
    return X / np.abs(X).max()


def _nilpotent(exact: Moments):
    """Rate 0: after `size` rounds nothing is left, decided exactly."""
    X = np.stack([linalg.identity(exact.size, exact.mixtures[0].zero)] * exact.modes)
    for _ in range(exact.size * exact.modes + 1):
        X = exact.second(X)
    if any(v != 0 for v in X.reshape(-1)):
        raise CertificateFailed("floats give mean-square rate 0 but the exact map is not nilpotent")
    return Fraction(0), Fraction(0)


def _short(value, bits=40) -> Fraction:
    return Fraction(round(value * 2**bits), 2**bits)


def _dyadic(X, bits=55):
    out = np.empty(X.shape, dtype=object)
    out.reshape(-1)[:] = [RATIONAL.scalar(_short(float(v), bits)) for v in X.reshape(-1)]
    return out
