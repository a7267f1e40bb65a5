"""Fixed points and rates from products of the mean round with vectors, several starts in lockstep: each client's matrix is read
once for all of them.

`solve` is GMRES without restarts (Saad and Schultz 1986), `ritz` Arnoldi's method. Both are handed a product that is already
projected. A Ritz value counts only if the start has weight in its mode: what rounding alone put there is a ghost.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import CertificateFailed

GHOST = 1e-9          # weight of a start below which a mode is what rounding made
SETTLED = 1e-13       # of the start: residual at which GMRES ends
CONVERGED = 1e-11     # of the largest Ritz value: residual at which Arnoldi ends
BREAKDOWN = 1e-13     # of a product: what is left of it outside the space where that is invariant
EVERY = 5             # steps between looks


class Space:
    """Orthonormal vectors of one Krylov space and the projected map H (j + 1, j)."""

    def __init__(self, start, most):
        self.beta = np.linalg.norm(start)
        self.V = np.empty((most + 1, len(start)))
        self.V[0] = start / self.beta if self.beta > 0 else start
        self.H = np.zeros((most + 1, most))
        self.j, self.closed = 0, self.beta == 0

    @property
    def last(self):
        return self.V[self.j]

    def add(self, w):
        """The product of the last vector; orthogonalised twice."""
        size = np.linalg.norm(w)
        j = self.j
        for _ in range(2):
            h = self.V[:j + 1] @ w
            w = w - h @ self.V[:j + 1]
            self.H[:j + 1, j] += h
        left = np.linalg.norm(w)
        self.j += 1
        if left <= BREAKDOWN * max(size, 1e-300):
            self.closed = True
        else:
            self.H[self.j, j] = left
            self.V[self.j] = w / left


def grow(spaces, product, most, done):
    """Lockstep: all open spaces grow together until `done(space)` or `most` products each."""
    open_ = [s for s in spaces if not s.closed]
    while open_:
        for s, w in zip(open_, product(np.stack([s.last for s in open_])), strict=True):
            if not np.isfinite(w).all():
                raise FloatingPointError("a product left the range of floats")
            s.add(w)
        open_ = [s for s in open_ if not s.closed and s.j < most and not ((s.j % EVERY == 0) and done(s))]


@dataclass(frozen=True)
class Solution:
    """x (D,) with (1 - A) x = r up to `residual` (of |r|); least: smallest singular value of 1 - A on the space; steps."""

    x: np.ndarray
    residual: float
    least: float
    steps: int


def solve(product, rights, most, tolerance=SETTLED):
    """[Solution] of (1 - A) x = r for every right side r (k, D). One pass, never refined: a residual of rounding leads away."""
    spaces = [Space(r, min(most, len(r))) for r in rights]

    def seen(s):
        E = np.eye(s.j + 1, s.j) - s.H[:s.j + 1, :s.j]
        right = np.zeros(s.j + 1)
        right[0] = s.beta
        y = np.linalg.lstsq(E, right, rcond=None)[0]
        return y, np.linalg.norm(E @ y - right) / max(s.beta, 1e-300), np.linalg.svd(E, compute_uv=False)[-1]
    grow(spaces, product, min(most, rights.shape[1]), lambda s: seen(s)[1] <= tolerance)
    out = []
    for s in spaces:
        if s.beta == 0:
            out.append(Solution(0 * s.V[0], 0.0, 1.0, 0))
            continue
        y, residual, least = seen(s)
        out.append(Solution(y @ s.V[:s.j], residual, least, s.j))
    return out


@dataclass(frozen=True)
class Ritz:
    """The largest Ritz value of one start: its residual, the start's weight in it, how many larger ghosts were turned down."""

    value: complex
    residual: float
    weight: float
    ghosts: int
    steps: int

    @property
    def rate(self) -> float:
        return abs(self.value)


def ritz(product, starts, most, tolerance=CONVERGED, ghost=GHOST):
    """[Ritz] of A from every start (k, D)."""
    spaces = [Space(v, min(most, len(v))) for v in starts]

    def largest(s):
        if s.beta == 0:
            return Ritz(0.0, 0.0, 0.0, 0, 0)
        j = s.j
        theta, S = np.linalg.eig(s.H[:j, :j])
        size = np.linalg.norm(S, axis=0)
        try:
            weight = np.abs(np.linalg.solve(S, np.eye(j)[:, 0])) * size
        except np.linalg.LinAlgError:   # no basis of modes: a Jordan block of the projected map
            weight = np.ones(j)
        residual = (0.0 if s.closed else abs(s.H[j, j - 1])) * np.abs(S[j - 1]) / size
        order = np.argsort(-np.abs(theta))
        kept = [k for k in order if weight[k] > ghost]
        if not kept:
            raise CertificateFailed("no Ritz value has weight in its start: rounding alone is seen")
        k = kept[0]
        return Ritz(theta[k], float(residual[k]), float(weight[k]), int(list(order).index(k)), j)
    grow(spaces, product, min(most, starts.shape[1]),
         lambda s: s.j >= 20 and (r := largest(s)).residual <= tolerance * max(r.rate, 1e-300))
    return [largest(s) for s in spaces]


__all__ = ["GHOST", "Ritz", "Solution", "Space", "ritz", "solve"]
