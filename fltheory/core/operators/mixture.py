"""A random affine map z -> M_S z + c_S + G_S xi, with its exact first and second moments.

Maps are kept extended, [M | c | G] with rows D. Two forms with one interface: `Enumerated` lists every
outcome; `Featured` knows only the first two moments of the features (1{i in S}, 1{i in S}/|S|), in which the
rounds of most algorithms are affine, so 65,536 sets cost 33 probes.
"""
from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.linalg import integer_matrix, weighted_squares
from fltheory.core.scalars import is_rational

MATRICES = 16   # coordinates up to which flint's full matrices beat sums that skip the zeros


@dataclass(frozen=True)
class Mixture:
    """parts (k, D, W): extended maps; first (k,): E[phi] of their random coefficients; gram (k, k): E[phi phi'],
    given as an array or as a function that is called when it is needed.

    E[f(S)] = sum_k first_k part_k; E[A_S X B_S'] = sum_kl gram_kl part_k X part_l'. An enumeration has
    gram = diag(probabilities), stored as a vector, and no spans; features have as spans (s, k) the coefficients phi(S) of
    cohorts that speak for all possible ones, however rare.
    """

    parts: np.ndarray
    first: np.ndarray
    second: object
    spans: np.ndarray | None = None

    @functools.cached_property
    def gram(self):
        return self.second() if callable(self.second) else self.second

    @property
    def size(self) -> int:
        return self.parts.shape[1]

    @property
    def zero(self):
        """The number 0 of this arithmetic."""
        return 0 * self.first[0]

    @property
    def largest(self) -> float:
        """The largest entry of a mixture in floats."""
        return float(np.abs(self.parts).max(initial=0.0))

    @property
    def single(self) -> bool:
        """Whether the round is one sure map."""
        return not self.featured and len(self.first) == 1

    def mean(self):
        """(E M (D, D), E c (D,))."""
        return self._mean

    @functools.cached_property
    def _mean(self):
        D = self.size
        total = _combine(self.first, self.parts[:, :, :D + 1])
        total.setflags(write=False)  # rounds share it
        return total[:, :D], total[:, D]

    def push(self, X, columns=None):
        """E[A X A'] with A the first `columns` columns of the extended map (default: M only)."""
        width = self.size if columns is None else columns
        A = self.parts[:, :, :width]
        if self._integers is not None:
            return self._in_integers(X, slice(width))
        return _sandwich(self.gram, A, X, np.swapaxes(A, -1, -2))

    def pull(self, V):
        """The adjoint of `push`: E[M' V M] for V (D, D); for V (D + 1, D + 1) that of (z, 1) -> (M z + c, 1)."""
        D, A = self.size, self.parts[:, :, :len(V)]
        if len(V) > D:
            last = 0 * A[:, :1]
            sure = slice(0, 1) if self.featured else slice(None)   # the parts whose coefficients sum to 1 for sure
            last[sure, 0, D] = last[sure, 0, D] + 1
            A = np.concatenate([A, last], axis=1)
        elif self._integers is not None:
            return self._in_integers(V, slice(D), adjoint=True)
        return _sandwich(self.gram, np.swapaxes(A, -1, -2), V, A)

    def squares(self):
        """E[M_ac M_bd] as a matrix (D^2, D^2) from pairs (c, d) to pairs (a, b): all of `push` at once, for few coordinates."""
        D = self.size
        flat = self.parts[:, :, :D].reshape(len(self.parts), D * D)
        mixed = self.gram[:, None] * flat if self.gram.ndim == 1 else self.gram @ flat
        return (flat.T @ mixed).reshape(D, D, D, D).swapaxes(1, 2).reshape(D * D, D * D)

    @functools.cached_property
    def _integers(self):
        """(weights, maps, their common denominator as it enters a sandwich) of an enumeration in rationals, else None."""
        if self.featured or self.size == 0 or not is_rational(self.parts.reshape(-1)[0]):
            return None
        (weights, a), (maps, b) = _cleared(self.gram), _cleared(self.parts)
        return weights, maps, a * b * b

    def _in_integers(self, X, columns, adjoint=False):
        """`push` or `pull` over one common denominator: sums of fractions would reduce every partial sum."""
        weights, maps, below = self._integers
        maps = maps[:, :, columns]
        if isinstance(self.parts.flat[0], Fraction) or maps.shape[2] > MATRICES:
            Y, own = _cleared(X)
            total = _enumerated(weights, np.swapaxes(maps, -1, -2) if adjoint else maps, Y)
            return _divided(total, below * own, type(self.parts.flat[0]))
        made = self._matrices.setdefault((maps.shape[2], adjoint), [])
        if not made:
            made += [integer_matrix(A.T if adjoint else A) for A in maps]
        return weighted_squares(weights, made, X, below)

    @functools.cached_property
    def _matrices(self):
        """Matrices of flint made from the integer maps, by their width and orientation."""
        return {}

    @property
    def featured(self) -> bool:
        """Whether the parts belong to features of the cohort instead of single outcomes."""
        return self.spans is not None

    def leaving(self, reach, origin):
        """W (A z - origin) for every z in origin + span V and every outcome: arrays that vanish if all rounds stay there.

        Over the outcomes, or over cohorts that speak for all of them.
        """
        D, W = self.size, reach.W
        at = self.parts[:, :, :D]
        moved = _along(W, np.concatenate([self.parts[:, :, D:D + 1] + (at * origin).sum(-1)[..., None],
                                          self.parts[:, :, D + 1:]], axis=-1))
        sure = slice(None) if not self.featured else slice(0, 1)
        moved[sure, :, 0] = moved[sure, :, 0] - (W * origin).sum(-1)
        rows = _along(W, at)
        inside = rows[:, :, list(reach.rows)]
        if reach.free:
            inside = inside + rows[:, :, reach.free] @ reach.V[reach.free]
        out = np.concatenate([inside, moved], axis=-1)
        return out if not self.featured else self.spans @ out.reshape(len(out), -1)

    def noise_square(self):
        """E[G G'] (D, D), zero if no noise was probed."""
        return self._noise_square

    @functools.cached_property
    def _noise_square(self):
        G = self.parts[:, :, self.size + 1:]
        if G.shape[-1] == 0:
            return 0 * self.parts[0, :, :self.size]
        return _sandwich(self.gram, G, None, np.swapaxes(G, -1, -2))

    def centred(self, v) -> Mixture:
        """The same random map in coordinates u of z = v + u."""
        D, parts = self.size, self.parts.copy()
        moved = parts[:, :, D] + (parts[:, :, :D] * v).sum(-1)
        sure = slice(0, 1) if self.featured else slice(None)   # the parts whose coefficients sum to 1 for sure
        moved[sure] = moved[sure] - v
        parts[:, :, D] = moved
        return Mixture(parts, self.first, self.second, self.spans)

    def reduce(self, rows, V, origin):
        """The same random map in coordinates u of z = origin + V u, where V has an identity block on `rows`."""
        D = self.size
        M, c, G = self.parts[:, rows, :D], self.parts[:, rows, D], self.parts[:, rows, D + 1:]
        c = c + (M * origin).sum(-1)
        sure = slice(None) if not self.featured else slice(0, 1)  # parts whose coefficients sum to 1 for sure
        c = np.concatenate([c[sure] - origin[rows], c[len(c[sure]):]])
        return Mixture(np.concatenate([M @ V, c[:, :, None], G], axis=-1), self.first, self.second, self.spans)


def _along(W, parts):
    """W parts_k for every k: W (w, D) has few rows."""
    return np.stack([sum((v * parts[:, j] for j, v in enumerate(row) if not v == 0), 0 * parts[:, 0]) for row in W], axis=1)


def _combine(weights, parts):
    return (weights[:, None, None] * parts).sum(0)


def _sandwich(gram, left, X, right):
    """sum_kl gram_kl left_k X right_l (X None: identity); gram (k,) means a diagonal."""
    if gram.ndim == 1:
        mid = left if X is None else left @ X
        return ((gram[:, None, None] * mid) @ right).sum(0)
    k, D, W = left.shape
    mixed = (gram.T @ left.reshape(k, D * W)).reshape(k, D, W)     # sum_k gram_kl left_k
    mid = mixed if X is None else mixed @ X
    return (mid @ right).sum(0)


# ---- exact enumerations ----------------------------------------------------------------------------------
def _enumerated(gram, left, X):
    """sum_k gram_k left_k X left_k', exact, without multiplying by zeros."""
    return sum(q * _sparse(A, _sparse(A, X).T).T for q, A in zip(gram, left, strict=True))


def _sparse(A, X):
    """A X, skipping A's zeros: a round leaves most coordinates of absent clients alone."""
    out = np.empty((len(A), X.shape[1]), dtype=object)
    for k, row in enumerate(A):
        terms = [X[j] if v == 1 else v * X[j] for j, v in enumerate(row) if not v == 0]
        out[k] = sum(terms[1:], terms[0]) if terms else 0 * X[0]
    return out


def _cleared(A):
    """(integers, denominator) of an array of rationals: one denominator for all of them."""
    pairs = [(int(v.p), int(v.q)) if hasattr(v, "p") else (v.numerator, v.denominator) for v in A.reshape(-1)]
    common = math.lcm(*(q for _, q in pairs))
    out = np.empty(len(pairs), dtype=object)
    out[:] = [p * (common // q) for p, q in pairs]
    return out.reshape(A.shape), common


def _divided(A, denominator, kind):
    """Integers over one denominator as rationals of a kind."""
    out = np.empty(A.size, dtype=object)
    out[:] = [kind(v, denominator) for v in A.reshape(-1)]
    return out.reshape(A.shape)
