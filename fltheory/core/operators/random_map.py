"""A random affine map z -> M_S z + c_S + G_S xi, with its exact first and second moments.

Maps are kept extended, [M | c | G] with rows D. Two forms with one interface: `Enumerated` lists every outcome;
`Featured` knows only the first two moments of the features (1, 1{i in S}, s_i(S)) in which the rounds of most algorithms
are affine, so that 65,536 sets cost 33 probes. Of rounds that go on from the cohort's average `large.after_average` knows the
mean alone.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fltheory.core.numbers.linalg import cleared, integer_matrix, weighted_squares
from fltheory.core.numbers.scalars import is_rational

MATRICES = 16   # coordinates up to which flint's full matrices beat sums that skip the zeros


@dataclass(frozen=True)
class Mixture:
    """parts (k, D, W): extended maps; first (k,): E[phi] of their random coefficients phi(S).

    E[f(S)] = sum_k first_k part_k, and E[A_S X B_S'] is a `_sandwich` of two stacks of parts.
    """

    parts: np.ndarray
    first: np.ndarray

    featured = False    # whether the parts belong to features of the cohort instead of single outcomes
    mean_only = False   # whether nothing but the mean is known
    sure = slice(None)  # the parts whose coefficients sum to 1 for sure: what is the same in every round belongs to them

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
        return False

    def mean(self):
        """(E M (D, D), E c (D,))."""
        return self._mean

    @functools.cached_property
    def _mean(self):
        D = self.size
        total = (self.first[:, None, None] * self.parts[:, :, :D + 1]).sum(0)
        total.setflags(write=False)  # rounds share it
        return total[:, :D], total[:, D]

    def push(self, X, columns=None):
        """E[A X A'] with A the first `columns` columns of the extended map (default: M only)."""
        A = self.parts[:, :, :columns or self.size]
        return self._sandwich(A, X, np.swapaxes(A, -1, -2))

    def pull(self, V):
        """The adjoint of `push`: E[M' V M] for V (D, D); for V (D + 1, D + 1) that of (z, 1) -> (M z + c, 1)."""
        D, A = self.size, self.parts[:, :, :len(V)]
        if len(V) > D:
            last = 0 * A[:, :1]
            last[self.sure, 0, D] = last[self.sure, 0, D] + 1
            A = np.concatenate([A, last], axis=1)
        return self._sandwich(np.swapaxes(A, -1, -2), V, A)

    def squares(self):
        """E[M_ac M_bd] as a matrix (D^2, D^2) from pairs (c, d) to pairs (a, b): all of `push` at once, for few coordinates."""
        D = self.size
        flat = self.parts[:, :, :D].reshape(len(self.parts), D * D)
        return (flat.T @ self._mixed(flat)).reshape(D, D, D, D).swapaxes(1, 2).reshape(D * D, D * D)

    def noise_square(self):
        """E[G G'] (D, D), zero if no noise was probed."""
        return self._noise_square

    @functools.cached_property
    def _noise_square(self):
        G = self.parts[:, :, self.size + 1:]
        if G.shape[-1] == 0:
            return 0 * self.parts[0, :, :self.size]
        return self._sandwich(G, None, np.swapaxes(G, -1, -2))

    def leaving(self, reach, origin):
        """W (A z - origin) for every z in origin + span V and every part: arrays that vanish if all rounds stay there."""
        D, W = self.size, reach.W
        at = self.parts[:, :, :D]
        moved = along(W, np.concatenate([self.parts[:, :, D:D + 1] + (at * origin).sum(-1)[..., None],
                                         self.parts[:, :, D + 1:]], axis=-1))
        moved[self.sure, :, 0] = moved[self.sure, :, 0] - (W * origin).sum(-1)
        rows = along(W, at)
        inside = rows[:, :, list(reach.rows)]
        if reach.free:
            inside = inside + rows[:, :, reach.free] @ reach.V[reach.free]
        return np.concatenate([inside, moved], axis=-1)

    def centred(self, v) -> Mixture:
        """The same random map in coordinates u of z = v + u."""
        return self._replaced(self.parts[:, :, :self.size], slice(None), v)

    def reduce(self, rows, V, origin) -> Mixture:
        """The same random map in coordinates u of z = origin + V u, where V has an identity block on `rows`."""
        return self._replaced(self.parts[:, rows, :self.size] @ V, rows, origin)

    def _replaced(self, M, rows, origin):
        """The same random map with other linear parts M, of the rows `rows` and around another origin."""
        D = self.size
        c = self.parts[:, rows, D] + (self.parts[:, rows, :D] * origin).sum(-1)
        c[self.sure] = c[self.sure] - origin[rows]
        return replace(self, parts=np.concatenate([M, c[:, :, None], self.parts[:, rows, D + 1:]], axis=-1))


@dataclass(frozen=True)
class Enumerated(Mixture):
    """Every outcome with its probability, `first`."""

    @property
    def single(self) -> bool:
        return len(self.first) == 1

    def _mixed(self, flat):
        return self.first[:, None] * flat

    def _sandwich(self, left, X, right):
        """sum_k p_k left_k X right_k (X None: identity)."""
        mid = left if X is None else left @ X
        return ((self.first[:, None, None] * mid) @ right).sum(0)

    # Rationals over one common denominator: sums of fractions would reduce every partial sum.
    def push(self, X, columns=None):
        if self._integers is None:
            return super().push(X, columns)
        return self._in_integers(X, columns or self.size)

    def pull(self, V):
        if self._integers is None or len(V) > self.size:
            return super().pull(V)
        return self._in_integers(V, self.size, adjoint=True)

    @functools.cached_property
    def _integers(self):
        """(weights, maps, their common denominator as it enters a sandwich) in rationals, else None."""
        if self.size == 0 or not is_rational(self.parts.flat[0]):
            return None
        (weights, a), (maps, b) = cleared(self.first), cleared(self.parts)
        return weights, maps, a * b * b

    def _in_integers(self, X, columns, adjoint=False):
        weights, maps, below = self._integers
        maps = maps[:, :, :columns]
        if columns > MATRICES:
            Y, denominator = cleared(X)
            left = np.swapaxes(maps, -1, -2) if adjoint else maps
            total = sum(q * _sparse(A, _sparse(A, Y).T).T for q, A in zip(weights, left, strict=True))
            return _divided(total, below * denominator, type(self.parts.flat[0]))
        matrices = self._matrices.setdefault((columns, adjoint), [])
        if not matrices:
            matrices += [integer_matrix(A.T if adjoint else A) for A in maps]
        return weighted_squares(weights, matrices, X, below)

    @functools.cached_property
    def _matrices(self):
        """Matrices of flint made from the integer maps, by their width and orientation."""
        return {}


@dataclass(frozen=True)
class Featured(Mixture):
    """Parts of features phi(S) = (1, ..) of the cohort. second: their E[phi phi'] (k, k), or a function that gives it when it
    is needed; spans (s, k): the coefficients phi(S) of cohorts that speak for all possible ones, however rare."""

    second: Any
    spans: np.ndarray

    featured = True
    sure = slice(0, 1)

    @functools.cached_property
    def gram(self):
        return self.second() if callable(self.second) else self.second

    def _mixed(self, flat):
        return self.gram @ flat

    def _sandwich(self, left, X, right):
        """sum_kl gram_kl left_k X right_l (X None: identity)."""
        mixed = (self.gram.T @ left.reshape(len(left), -1)).reshape(left.shape)     # sum_k gram_kl left_k
        return ((mixed if X is None else mixed @ X) @ right).sum(0)

    def leaving(self, reach, origin):
        """That of every cohort which speaks for the others."""
        out = super().leaving(reach, origin)
        return self.spans @ out.reshape(len(out), -1)


def along(W, parts):
    """W parts_k for every k: W (w, D) has few rows."""
    return np.stack([sum((v * parts[:, j] for j, v in enumerate(row) if not v == 0), 0 * parts[:, 0]) for row in W], axis=1)


# ---- exact enumerations ----------------------------------------------------------------------------------
def _sparse(A, X):
    """A X, skipping A's zeros: a round leaves most coordinates of absent clients alone."""
    out = np.empty((len(A), X.shape[1]), dtype=object)
    for k, row in enumerate(A):
        terms = [X[j] if v == 1 else v * X[j] for j, v in enumerate(row) if not v == 0]
        out[k] = sum(terms[1:], terms[0]) if terms else 0 * X[0]
    return out


def _divided(A, denominator, kind):
    """Integers over one denominator as rationals of a kind."""
    out = np.empty(A.size, dtype=object)
    out[:] = [kind(v, denominator) for v in A.reshape(-1)]
    return out.reshape(A.shape)
