"""Clients that own data rows: mini-batches, and losses of linear predictions."""
from __future__ import annotations

import functools
from typing import Self

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Who
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import LaidOut, arange, broadcast, is_torch, matvec
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Domain, Torch
from fltheory.core.problems.base import Constants, Problem, check_weights
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.shapes import check_reg, pad, shaped


def pick(array, who: Who, sample, sizes):
    """Sampled rows of a cohort: array (n, M, ...), who (..., m) or EVERYONE, `Rows` (..., m, b) -> (..., m, b, ...)."""
    index = sample.index
    who = arange(array.shape[0], array) if isinstance(who, slice) else who
    if not is_torch(index) and ((index < 0) | (index >= np.asarray(sizes)[who][..., None])).any():
        refuse("Rows.index", np.asarray(index).tolist(), f"rows lie in 0..m_i - 1, clients have {list(sizes)}",
               "Draw them with `minibatch_slots`.")
    return array[who[..., None], index]


def client_major(n, who: Who, y, gradients):
    """Gradients of a cohort with one list of clients per replicate, without gathering anybody's data.

    who (..., m); y (..., m, d) or (..., 1, d); gradients: (P, n, d) -> (P, n, d), all clients at P points each.
    The (replicate, place) pairs are laid out client by client, padded to the busiest client.
    """
    lead, d = np.broadcast_shapes(tuple(who.shape), tuple(y.shape[:-1])), y.shape[-1]
    points, source, target = _layout(n, who, lead)
    y = broadcast(y, (*lead, d)).reshape(-1, d)
    padded = _rows(y, source).reshape(points, n, d)
    return _rows(gradients(padded).reshape(-1, d), target).reshape((*lead, d))


_LAST: list[tuple] = [(None, None, None, None)]  # the layout of the last cohort, by its value: all local steps of a round share one


def _layout(n, who: Who, lead):
    """(P, source (P n,), target): which pair fills each slot of the padded layout (any, where none does), and each pair's slot."""
    *cohort, layout = _LAST[0]
    if cohort[1:] == [n, lead] and _equal(cohort[0], who):
        return layout
    flat = broadcast(who, lead).reshape(-1)
    order, counts = _by_client(flat, n)
    target = 0 * flat
    target[order] = (arange(len(flat), flat) - (counts.cumsum(0) - counts)[flat[order]]) * n + flat[order]
    points = int(counts.max())
    source = 0 * arange(points * n, flat)
    source[target] = arange(len(flat), flat)
    _LAST[0] = (who.clone() if is_torch(who) else who.copy(), n, lead, (points, source, target))
    return points, source, target


def _by_client(flat, n):
    """The order of places (., ) by their clients, and how many places each client has (n,)."""
    if is_torch(flat):
        import torch
        return torch.argsort(flat, stable=True), torch.bincount(flat, minlength=n)
    return np.argsort(flat, kind="stable"), np.bincount(flat, minlength=n)


def _equal(a, b) -> bool:
    if type(a) is not type(b):
        return False
    return a.device == b.device and a.equal(b) if is_torch(a) else np.array_equal(a, b)


def _rows(a, index):
    return a.index_select(0, index) if is_torch(a) else a[index]


class RowLoss(Problem):
    """f_i(x) = sum_j s_ij loss(a_ij' X; t_ij) + reg/2 |x|^2; x is X (features, K) flattened column by column.

    Sub-classes define on predictions u (..., M, K) and targets (..., M, T): `_loss` (..., M), `_slope` (..., M, K)
    and, in numpy, `_curve` (..., M, K, K); `curvature` bounds the latter's eigenvalues. Padded rows have s_ij = 0.
    """

    _data = ("rows", "targets", "scale", "ridge")
    curvature: object  # bound on the curvature of the loss in its predictions
    exact = False      # whether loss and slope stay rational at rationals
    placed = True

    def _finish(self, rows, targets, scale, reg, weights, name, outputs=1):
        """rows (m_i, features), targets (m_i, T), scale (m_i,) per client; outputs K."""
        self.sizes = np.array([len(r) for r in rows])
        self.rows, self.targets, self.scale = pad(rows), pad(targets), pad(scale)
        self.n, self.outputs, self.name = len(rows), outputs, name
        self.d = outputs * self.rows.shape[-1]
        self.reg = check_reg(reg)
        self.ridge = np.broadcast_to(self.reg, (self.n, 1))  # or (n, d), where clients lack coordinates
        self.weights = check_weights(weights, self.n)

    def to(self, domain: Domain) -> Self:
        if isinstance(domain, Domain) and not (domain == FLOAT or isinstance(domain, Torch) or (domain == RATIONAL and self.exact)):
            refuse("domain", domain, f"{type(self).__name__} has no gradients in this arithmetic",
                   "Use FLOAT or Torch(), or a Quadratic problem for exact work.")
        return super().to(domain)

    def _predict(self, x):
        """Predictions u (..., n, M, K) of all clients' rows at x (..., n, d) or (..., 1, d)."""
        X = x.reshape((*x.shape[:-1], self.outputs, -1)).swapaxes(-3, -2)      # (..., K, n, features)
        return matvec(self._rows, X).swapaxes(-3, -2).swapaxes(-1, -2)

    def _everyone(self, y):
        u = self._predict(y)
        r = self._scale[..., None] * self._slope(u, self._targets)
        g = matvec(self._rows.swapaxes(-1, -2), r.swapaxes(-1, -2).swapaxes(-3, -2)).swapaxes(-3, -2)
        return g.reshape((*g.shape[:-2], self.d)) + self._ridge * y

    def _gradient(self, who: Who, y, sample):
        if isinstance(sample, Rows):
            return self._minibatch(who, y, sample)
        if isinstance(who, LaidOut):
            return self._placed_gradient(who, y, sample)
        g = self._everyone(y) if isinstance(who, slice) else client_major(self.n, who, y, self._everyone)
        return g if sample is None else g + sample

    def _placed_gradient(self, at, y, sample):
        def into(i, points, out):
            rows = slice(self.sizes[i])
            a, t, scale = self._rows[i, rows], self._targets[i, rows], self._scale[i, rows, None]
            u = (points.reshape(-1, a.shape[-1]) @ a.T).reshape(len(points), self.outputs, -1).swapaxes(-1, -2)
            r = (scale * self._slope(u, t)).swapaxes(-1, -2).reshape(-1, len(a))
            np.matmul(r, a, out=out.reshape(-1, a.shape[-1]))
            out += self._ridge[i] * points
        return at.each(y, into, self.d, sample)

    def _minibatch(self, who: Who, y, sample):
        a, t, s = (pick(v, who, sample, self.sizes) for v in (self._rows, self._targets, self._scale))
        X = y.reshape((*y.shape[:-1], self.outputs, -1))                        # (..., m, K, features)
        u = a @ X.swapaxes(-1, -2)                                             # (..., m, b, K)
        count = _counts(self.sizes, s)[who][..., None, None]
        r = count * s[..., None] * self._slope(u, t) / a.shape[-2]
        g = r.swapaxes(-1, -2) @ a                                             # (..., m, K, features)
        return g.reshape((*g.shape[:-2], self.d)) + self._ridge[who] * y

    def _values(self, x):
        return self._own_values(x[..., None, :])

    def _own_values(self, y):
        """Values (..., n) of all clients, each at its own point: y (..., n or 1, d)."""
        loss = self._loss(self._predict(y), self._targets)
        return (self._scale * loss).sum(-1) + (self._ridge * (y * y)).sum(-1) / 2

    def hessian(self, x: Array) -> np.ndarray:
        """Hessians (n, d, d) at x (d,), numpy float64 (of Huber: a generalised one at kinks)."""
        p, curve = self._curved(x)
        return _gram(p._rows, p._scale[..., None, None] * curve) + p._ridge[:, None, :] * np.eye(self.d)

    def mean_hessian(self, x: Array) -> np.ndarray:
        """sum p_i hessian_i (d, d) at x (d,), from all rows at once: clients in many coordinates have few of their own."""
        p, curve = self._curved(x)
        weight = (p.p[:, None] * p._scale)[..., None, None] * curve
        rows = p._rows.reshape(-1, p._rows.shape[-1])
        return _gram(rows, weight.reshape(-1, self.outputs, self.outputs)) + (p.p[:, None] * p._ridge).sum(0) * np.eye(self.d)

    def _curved(self, x):
        """(this problem in floats, the curvatures of its losses (n, M, K, K)) at x (d,)."""
        p = self.to(FLOAT)
        if not (isinstance(x, np.ndarray) and x.dtype == np.float64 and x.shape == (self.d,)):
            x = FLOAT.array(shaped(x, "x", "d", d=self.d))
        return p, p._curve(p._predict(x[None, :]), p._targets)

    @functools.cached_property
    def _cached_constants(self):
        exact = self.native is RATIONAL and self.exact
        arrays = (self.rows, self.scale) if exact else (FLOAT.array(self.rows), FLOAT.array(self.scale))
        used = [(a[:, _used(a)], s) for a, s in zip(*arrays, strict=True)]
        if exact:
            grams = [linalg.matmul((s[:, None] * a).T, a) for a, s in used]
            reg = self.reg[()]
            return Constants(L=max(linalg.largest_eigenvalue_bound(g) for g in grams) * self.curvature + reg,
                             mu=self.ridge.min(), exact=True)
        reg = float(self.reg[()])
        roots = (np.sqrt(s)[:, None] * a for a, s in used)
        # of the smaller Gram matrix: few rows in many coordinates have the same largest eigenvalue
        top = max(float(np.linalg.eigvalsh(r @ r.T if len(r) < r.shape[1] else r.T @ r)[-1]) for r in roots)
        return Constants(L=(top * float(self.curvature) + reg) * (1 + 1e-12), mu=float(self.ridge.min()), exact=False)

    @property
    def constants(self) -> Constants:
        """L: curvature bound times lambda_max(sum_j s_ij a_ij a_ij') plus reg, over clients; mu = reg (0 where one lacks
        coordinates)."""
        return self._cached_constants


def _gram(rows, curve):
    """sum_j kron(curve_j, a_j a_j') (..., K f, K f) over rows a_j (..., M, f), symmetric curve (..., M, K, K)."""
    K, f = curve.shape[-1], rows.shape[-1]
    H = np.empty((*rows.shape[:-2], K, f, K, f))
    for k in range(K):                      # one Gram matrix per pair of outputs: BLAS instead of einsum
        for m in range(k, K):
            H[..., k, :, m, :] = (rows * curve[..., k, m, None]).swapaxes(-1, -2) @ rows
            H[..., m, :, k, :] = H[..., k, :, m, :].swapaxes(-1, -2)
    return H.reshape(*rows.shape[:-2], K * f, K * f)


def _used(rows):
    """Columns (f,) in which some row (M, f) is not 0, or all of them: others add nothing to the largest curvature."""
    used = (rows != 0).any(0)
    return used if used.any() else ~used


def _counts(sizes, like):
    if is_torch(like):
        import torch
        return torch.as_tensor(sizes, device=like.device)
    return sizes
