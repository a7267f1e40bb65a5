"""Quadratic clients f_i(x) = 1/2 x'H_i x - b_i'x + r_i: every closed form of the project lives on them."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Who
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import LaidOut, matvec
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Number, Numbers, declare, fraction
from fltheory.core.problems.base import Constants, Problem, check_weights
from fltheory.core.problems.rows import client_major
from fltheory.core.problems.shapes import shaped, symmetric


class Quadratic(Problem):
    """f_i(x) = 1/2 (x - c_i)' H_i (x - c_i), or 1/2 x'H_i x - b_i'x through `from_linear`.

    H: (n, d, d) symmetric, any signature (convexity is asked for by `optimum` and by hypotheses, not here).
    c: (n, d) client minimisers (stationary points). weights: (n,) summing to 1, default uniform.
    Numbers may be ints, Fractions, strings "1/20", floats or symbols of a `Field`.
    Raises BadInput on wrong shapes, NaN or infinity, an asymmetric Hessian, bad weights.
    """

    _data: tuple[str, ...] = ("H", "b", "offset")
    quadratic = placed = True

    def __init__(self, H: Numbers, c: Numbers, weights: Numbers = None, name: str = ""):
        H = shaped(H, "H", "n", "d", "d")
        c = shaped(c, "c", "n", "d", n=len(H), d=H.shape[1])
        with np.errstate(all="ignore"):  # what overflows is refused in words
            b = np.stack([linalg.matmul(h, v[:, None])[:, 0] for h, v in zip(*_common(H, c), strict=True)])
            offset = np.array([(v * w).sum() / 2 for v, w in zip(*_common(b, c), strict=True)])
        self._finish(H, b, offset, weights, name)
        self.c = c

    @classmethod
    def from_linear(cls, H: Numbers, b: Numbers, weights: Numbers = None, offset: Numbers = None,
                    name: str = "") -> Quadratic:
        """f_i(x) = 1/2 x'H_i x - b_i'x + offset_i: also for singular H_i without a stationary point."""
        self = cls.__new__(cls)
        H = shaped(H, "H", "n", "d", "d")
        b = shaped(b, "b", "n", "d", n=len(H), d=H.shape[1])
        offset = shaped([0] * len(b) if offset is None else offset, "offset", "n", n=len(b))
        self._finish(H, b, offset, weights, name)
        self.c = None
        return self

    def exact(self) -> Quadratic:
        """The same problem in rationals: floats at their binary values, float weights divided by their sum, the symmetric
        part of Hessians that are symmetric to rounding. An exact problem is its own."""
        if self.native is not FLOAT:
            return self
        now = self.to(RATIONAL)
        H = linalg.to_fractions(now._H)
        return Quadratic.from_linear((H + H.swapaxes(1, 2)) / 2, now._b, now.p, now._offset, self.name)

    def _finish(self, H, b, offset, weights, name):
        for what, v in (("H", H), ("b", b), ("offset", offset)):
            if v.dtype == np.float64 and not np.isfinite(v).all():
                refuse(what, "infinity", "these data leave the range of float64 (1.8e308)", "Rescale them.")
        for i, h in enumerate(H):
            symmetric(h, f"H[{i}]", "a Hessian is symmetric", "H")
        self.H, self.b, self.offset, self.name = H, b, offset, name
        self.n, self.d = b.shape
        self.weights = check_weights(weights, self.n)

    def _gradient(self, who: Who, y, sample):
        if isinstance(who, LaidOut):
            return self._placed_gradient(who, y, sample)
        if isinstance(who, slice):
            g = matvec(self._H, y) - self._b
        elif who.ndim == 1:
            g = matvec(self._H[who], y) - self._b[who]
        else:
            g = client_major(self.n, who, y, lambda points: matvec(self._H, points)) - self._b[who]
        return g if sample is None else g + sample

    def _placed_gradient(self, at, y, sample):
        if "_cached_sides" not in self.__dict__:
            turned = self._H if np.array_equal(self._H, self._H.swapaxes(1, 2)) else self._H.swapaxes(1, 2).copy()
            self.__dict__["_cached_sides"] = list(zip(turned, self._b, strict=True))   # rows in order: BLAS has a kernel for few
        sides = self.__dict__["_cached_sides"]

        def into(i, points, out):   # a client's rows fit a cache, in which its linear term is subtracted too
            turned, b = sides[i]
            np.dot(points, turned, out)
            np.subtract(out, b, out)
        return at.each(y, into, self.d, sample)

    def _values(self, x):
        return self._own_values(x[..., None, :])

    def _own_values(self, y):
        """Values (..., n) of all clients, each at its own point: y (..., n or 1, d)."""
        return ((matvec(self._H, y) / 2 - self._b) * y).sum(-1) + self._offset

    # ---- constants -----------------------------------------------------------------------------------
    @functools.cached_property
    def _cached_constants(self):
        if self.native is RATIONAL:
            different = {tuple(h.reshape(-1)): h for h in self.H}.values()   # many clients are often alike
            top = [linalg.largest_eigenvalue_bound(h) for h in different]
            low = [linalg.smallest_eigenvalue_bound(h) for h in different]
            return Constants(L=max(max(top), -min(low)), mu=min(low), exact=True)
        eigenvalues = np.linalg.eigvalsh(FLOAT.array(self.H))
        return Constants(L=float(np.abs(eigenvalues).max()), mu=float(eigenvalues.min()), exact=False)

    @property
    def constants(self) -> Constants:
        """L and mu over the clients: rational bounds checked by exact elimination if the data are rational."""
        if self.native not in (RATIONAL, FLOAT):
            refuse("constants", "a problem with symbols", "symbols have no eigenvalue bounds", "Declare numbers.")
        return self._cached_constants

    def dissimilarity(self, w: Numbers, beta2: Number) -> Any:
        """Smallest kappa^2 with sum w_i |grad f_i|^2 <= beta^2 |sum w_i grad f_i|^2 + kappa^2 for all x.

        The maximum of a concave quadratic, by one linear solve in the problem's own arithmetic.
        w: (n,) weights; beta2: number. Returns None where the supremum is infinite
        (beta^2 H_w^2 - sum w_i H_i^2 is not positive semidefinite, or its kernel carries slope).
        """
        domain = self.native
        H, b = domain.array(self.H), domain.array(self.b)
        w, beta2 = declare(w, "w"), domain.scalar(beta2)
        if w.shape != (self.n,):
            refuse("w.shape", w.shape, f"one weight per client, so shape ({self.n},)", "Give n weights.")
        w = domain.array(w)
        Hw = (w[:, None, None] * H).sum(0)
        bw = (w[:, None] * b).sum(0)
        P = beta2 * linalg.matmul(Hw, Hw) - (w[:, None, None] * np.stack([linalg.matmul(h, h) for h in H])).sum(0)
        slope = beta2 * linalg.matmul(Hw, bw[:, None])[:, 0] - (w[:, None] * matvec(H, b)).sum(0)
        if not _psd(P):
            return None
        x = _solve_consistent(P, slope)
        if x is None:
            return None
        g = matvec(H, x[None, :] + 0 * b) - b
        total = (w[:, None] * g).sum(0)
        kappa2 = (w * (g * g).sum(1)).sum() - beta2 * (total * total).sum()
        return fraction(kappa2) if domain is RATIONAL else kappa2


def _common(a, b):
    """Two declared arrays in one arithmetic: exact only if both are."""
    return (a, b) if a.dtype == b.dtype else (FLOAT.array(a), FLOAT.array(b))


def _psd(P):
    if P.dtype == np.float64:
        return bool(np.linalg.eigvalsh(P).min() >= -1e-12 * max(1.0, np.abs(P).max()))
    return linalg.is_positive_definite(P, strict=False)


def _solve_consistent(P, rhs):
    """Some solution of P x = rhs for a positive semidefinite P, None if inconsistent."""
    if P.dtype == np.float64:
        x = np.linalg.lstsq(P, rhs, rcond=None)[0]
        return x if np.abs(P @ x - rhs).max() <= 1e-9 * max(1.0, np.abs(rhs).max()) else None
    R, pivots = linalg.rref(np.concatenate([P, rhs[:, None]], axis=1))
    if P.shape[1] in pivots:
        return None
    x = 0 * rhs
    for row, column in enumerate(pivots):
        x[column] = R[row, -1]
    return x
