"""Fixed points and rates from products of the mean round with vectors, several starts in lockstep: each client's matrix is read
once for all of them.

`solve` is GMRES without restarts (Saad and Schultz 1986), `ritz` Arnoldi's method for a block of starts. Both are handed a
product that is already projected. A Ritz value counts only if the start has weight in its mode: what rounding alone put there
is a ghost.
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
LOOKED = 20           # products before the first of Arnoldi's


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
        rest = np.linalg.norm(w)
        self.j += 1
        if rest <= BREAKDOWN * max(size, 1e-300):
            self.closed = True
        else:
            self.H[self.j, j] = rest
            self.V[self.j] = w / rest


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

    def least_squares(s):
        E = np.eye(s.j + 1, s.j) - s.H[:s.j + 1, :s.j]
        right = np.zeros(s.j + 1)
        right[0] = s.beta
        y = np.linalg.lstsq(E, right, rcond=None)[0]
        return y, np.linalg.norm(E @ y - right) / max(s.beta, 1e-300), np.linalg.svd(E, compute_uv=False)[-1]
    grow(spaces, product, min(most, rights.shape[1]), lambda s: least_squares(s)[1] <= tolerance)
    out = []
    for s in spaces:
        if s.beta == 0:
            out.append(Solution(0 * s.V[0], 0.0, 1.0, 0))
            continue
        y, residual, least = least_squares(s)
        out.append(Solution(y @ s.V[:s.j], residual, least, s.j))
    return out


class SharedSpace:
    """Orthonormal vectors V of one space for several starts, and the projected map H (vectors, products) of A V[k] = V' H[:, k]."""

    def __init__(self, starts, most):
        k, D = starts.shape
        self.V, self.H = np.empty((min(most + 1, D) * k, D)), np.zeros((min(most + 1, D) * k, most * k))
        self.count = self.products = 0            # vectors; those whose product is known
        self.sizes = np.linalg.norm(starts, axis=1)
        self.parts = self._added(starts / np.maximum(self.sizes, 1e-300)[:, None])      # of the starts (vectors, k)

    @property
    def closed(self):
        return self.products == self.count

    def grow(self, product, width):
        """The products of the next `width` vectors at once."""
        low, high = self.products, min(self.products + width, self.count)
        W = product(self.V[low:high])
        if not np.isfinite(W).all():
            raise FloatingPointError("a product left the range of floats")
        self.products = high
        h = self._added(W)
        self.H[:len(h), low:high] = h

    def _added(self, W):
        """Coordinates (vectors, k) of W (k, D); orthogonalised twice, what is left is a new vector."""
        old, size = self.count, np.linalg.norm(W, axis=1)
        h = np.zeros((min(old + len(W), len(self.V)), len(W)))
        for _ in range(2 if old else 0):
            inner = W @ self.V[:old].T
            W = W - inner @ self.V[:old]
            h[:old] += inner.T
        for k, w in enumerate(W):
            rest, first = np.linalg.norm(w), old
            while self.count > first:
                before, V = rest, self.V[first:self.count]
                inner = V @ w
                w = w - inner @ V
                h[first:self.count, k] += inner
                rest = np.linalg.norm(w)
                if rest > before / 2:
                    break
                first = 0           # what is left is small, and so no longer orthogonal to the old ones
                if rest <= BREAKDOWN * size[k]:
                    break
            if rest > BREAKDOWN * max(size[k], 1e-300) and self.count < len(self.V):
                h[self.count, k] = rest
                self.V[self.count] = w / rest
                self.count += 1
        return h[:self.count]


@dataclass(frozen=True)
class Ritz:
    """The largest Ritz value in which a start has weight: its residual, that weight, how many larger ghosts were turned down, the
    products taken of all starts at once, and its unit vector (D,) of complex numbers, None before the end."""

    value: complex
    residual: float
    weight: float
    ghosts: int
    steps: int
    vector: np.ndarray | None = None

    @property
    def rate(self) -> float:
        return abs(self.value)


def ritz(product, starts, most, tolerance=CONVERGED, ghost=GHOST):
    """[Ritz] of A for every start (k, D), all of them in one space: it holds what each sees, and grows k vectors a product."""
    width, most = len(starts), min(most, starts.shape[1])
    space, steps = SharedSpace(starts, most), 0
    while not space.closed and steps < most:
        space.grow(product, width)
        steps += 1
        if space.products >= LOOKED and steps % EVERY == 0:
            modes = _largest(space, ghost, steps)
            if all(r.residual <= tolerance * max(r.rate, 1e-300) for r in modes):
                break
    return _largest(space, ghost, steps, vectors=True)


def _largest(space, ghost, steps, vectors=False):
    j = space.products
    theta, S = np.linalg.eig(space.H[:j, :j])
    size = np.linalg.norm(S, axis=0)
    residual = np.linalg.norm(space.H[j:space.count, :j] @ S, axis=0) / size
    parts = np.zeros((j, space.parts.shape[1]))
    parts[:len(space.parts)] = space.parts[:j]
    try:
        weights = np.abs(np.linalg.solve(S, parts)) * size[:, None]
    except np.linalg.LinAlgError:   # no basis of modes: a Jordan block of the projected map
        weights = np.ones(parts.shape)
    order = list(np.argsort(-np.abs(theta)))
    out = []
    for weight, start in zip(weights.T, space.sizes, strict=True):
        if start == 0:
            out.append(Ritz(0.0, 0.0, 0.0, 0, 0))
            continue
        candidates = [k for k in order if weight[k] > ghost]
        if not candidates:
            raise CertificateFailed("no Ritz value has weight in its start: rounding alone is seen")
        k = candidates[0]
        y = S[:, k] / size[k]
        vector = y.real @ space.V[:j] + 1j * (y.imag @ space.V[:j]) if vectors else None    # V is never made complex: gigabytes
        out.append(Ritz(theta[k], float(residual[k]), float(weight[k]), order.index(k), steps, vector))
    return out
