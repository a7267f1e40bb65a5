"""Rounds in which clients meet at the server only, probed and kept sparsely: hundreds of clients with memories.

The round of a cohort S is M_0 + sum_{i in S} (B_i + C_i/|S|), and B_i and C_i read nothing but the server's coordinates
and client i's own. So one state that marks a coordinate of *every* client at once probes all of them together, and
2n + 1 cohorts at a handful of states replace 2n + 1 cohorts at D + 1. That form is a guess, checked on rounds of other
cohorts from random states; where it fails, the dense routes of `outcomes` are taken.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fltheory.core.laws.draw import Slots
from fltheory.core.operators.probe import probe_round, slots_used

ROUNDING = 1e-10


@dataclass(frozen=True)
class SparseMixture:
    """What `Mixture` is, with sparse parts (k of them, D x W each), in floats, always in terms of features."""

    sheets: tuple
    first: np.ndarray
    second: object
    spans: np.ndarray

    featured, single, zero = True, False, 0.0

    @property
    def size(self) -> int:
        return self.sheets[0].shape[0]

    @functools.cached_property
    def gram(self):
        return self.second()

    @functools.cached_property
    def largest(self) -> float:
        return max((np.abs(sheet.data).max(initial=0.0) for sheet in self.sheets), default=0.0)

    @functools.cached_property
    def _mixed(self):
        """sum_k gram_kl part_k for every l, sparse: computed once on the union of all entries."""
        stacked = sparse.vstack([sheet.reshape(1, -1) for sheet in self.sheets]).tocsc()
        used = np.unique(stacked.tocoo().col)
        rows, columns = np.divmod(used, self.sheets[0].shape[1])
        values = self.gram.T @ stacked[:, used].toarray()
        return [sparse.csr_array((v, (rows, columns)), shape=self.sheets[0].shape) for v in values]

    @functools.cached_property
    def _active(self):
        """(l, its rows that are not empty, these rows of the part) for every part."""
        out = []
        for k, sheet in enumerate(self.sheets):
            rows = np.flatnonzero(np.diff(sheet.indptr))
            if len(rows):
                out.append((k, rows, sheet[rows]))
        return out

    def mean(self):
        total = sum(w * sheet for w, sheet in zip(self.first, self.sheets, strict=True)).toarray()
        return total[:, :self.size], total[:, self.size]

    def push(self, X, columns=None):
        out = np.zeros((self.size, self.size))
        for rows, part, mixed in self._cut(self.size if columns is None else columns):
            out[:, rows] += mixed @ (part @ X).T
        return out

    def _cut(self, width):
        """(rows, these rows of the part, of its mixture all) for every part, up to a column: kept, since to cut a sparse matrix
        costs more than to multiply a small one."""
        known = self.__dict__.setdefault("_cuts", {})
        if width not in known:
            known[width] = [(rows, part[:, :width], self._mixed[k][:, :width]) for k, rows, part in self._active]
        return known[width]

    def noise_square(self):
        D = self.size
        out = np.zeros((D, D))
        if self.sheets[0].shape[1] > D + 1:
            for k, rows, part in self._active:
                out[:, rows] += (self._mixed[k][:, D + 1:] @ part[:, D + 1:].T).toarray()
        return out

    def centred(self, v):
        return self.reduce(np.arange(self.size), np.eye(self.size), v)

    def reduce(self, rows, V, origin):
        D, basis = self.size, sparse.csr_array(V)
        out = []
        for k, sheet in enumerate(self.sheets):
            part = sheet[rows]
            c = part[:, [D]].toarray()[:, 0] + part[:, :D] @ origin - (origin[rows] if k == 0 else 0)
            out.append(sparse.hstack([part[:, :D] @ basis, sparse.csr_array(c[:, None]), part[:, D + 1:]]).tocsr())
        return SparseMixture(tuple(out), self.first, self.second, self.spans)

    def leaving(self, reach, origin):
        D, W, V = self.size, sparse.csr_array(reach.W), sparse.csr_array(reach.V)
        out = []
        for k, sheet in enumerate(self.sheets):
            rows = (W @ sheet).tocsr()
            moved = rows[:, [D]].toarray() + (rows[:, :D] @ origin)[:, None] - ((W @ origin)[:, None] if k == 0 else 0)
            out.append(np.concatenate([(rows[:, :D] @ V).toarray(), moved, rows[:, D + 1:].toarray()], axis=1))
        return self.spans @ np.stack(out).reshape(len(out), -1)


def sheets(algorithm, problem, lay, law, draws, features, noise, after=None):
    """[M_0, B_1, .., B_n, C_1, .., C_n] as sparse extended maps, or None if the round is not of this form.

    draws: function of masks (k, n) -> stacked draw; features: the shares s_i. after: function of states (.., D) after a
    round and its masks (.., n): the form is that of what it gives, which of the empty cohort is the round itself.
    """
    n, D = problem.n, lay.size
    own = lay.owners(n)
    eye = np.eye(n, dtype=np.int64)
    masks = np.concatenate([0 * eye[:1], eye, 1 - eye])
    base = probe_round(algorithm, problem, lay, draws(masks[:1]), noise, plain=True)[0]
    states, slots = _marks(lay, own), slots_used(algorithm, problem, lay, draws(masks[-1:])) if noise else 0
    seen = _responses(algorithm, problem, lay, draws(masks), states, slots, after)   # (2n + 1, D, marks)
    single, rest = seen[1:n + 1] - seen[0], seen[n + 1:] - seen[0]
    count, share = features.split(single, rest)
    width = base.shape[1]
    columns = [np.concatenate([np.flatnonzero(own < 0), np.flatnonzero(own == i), [D],
                               D + 1 + _noise_columns(i, slots, n, problem.drawn)]) for i in range(n)]
    parts = [sparse.csr_array(base)]
    for block in (count, share):
        block = np.where(np.abs(block) > 1e-15 * max(1.0, np.abs(block).max()), block, 0.0)
        for i in range(n):
            rows, at = np.nonzero(block[i])
            parts.append(sparse.csr_array((block[i][rows, at], (rows, columns[i][at])), shape=(D, width)))
    return parts if _holds(algorithm, problem, lay, law, draws, parts, features, slots, after) else None


def _marks(lay, own):
    """States (marks, D): one per coordinate of the server, then one per coordinate of a client, set for all clients."""
    server = np.flatnonzero(own < 0)
    memory = int((own == 0).sum())
    states = np.zeros((len(server) + memory, lay.size))
    states[np.arange(len(server)), server] = 1
    for i in range(own.max() + 1):
        states[len(server) + np.arange(memory), np.flatnonzero(own == i)] = 1
    return states


def _noise_columns(i, slots, n, d):
    """Columns of client i among noise coordinates (slots, n, d)."""
    return ((np.arange(slots)[:, None] * n + i) * d + np.arange(d)).reshape(-1)


def after_round(algorithm, problem, lay, draw, states, after=None):
    """States (k, b, D) after a round of each of k cohorts from each of b states."""
    wide = draw.map(lambda v: v[:, None] if v.ndim and len(v) == len(draw.present) else v)
    out = lay.flatten(algorithm.round(problem, lay.unflatten(states), wide))
    return after(out, wide.present) if after else out


def _responses(algorithm, problem, lay, draw, states, slots, after):
    """(k, D, marks + 1 + slots d): columns of the marked coordinates, the constant, and the noise of every client at once."""
    d, out = problem.drawn, []
    zero = np.zeros((1, lay.size))

    def run(z, xi=None):
        return after_round(algorithm, problem, lay, draw._replace(xi=xi), z, after)
    at_zero = run(zero)
    out = [run(states) - at_zero, at_zero]
    if slots:
        unit = np.eye(slots * d).reshape(slots * d, slots, 1, d) + np.zeros((1, 1, problem.n, 1))
        out.append(run(zero, lambda k: unit[:, k]) - at_zero)
    return np.swapaxes(np.concatenate(out, axis=1), 1, 2)


def _holds(algorithm, problem, lay, law, draws, parts, features, slots, after):
    """Whether rounds of other cohorts, from random states with random noise, are what the parts say."""
    n, D, d = problem.n, lay.size, problem.drawn
    rng = np.random.Generator(np.random.Philox(n))
    masks = features.tested(law)
    z, xi = rng.normal(size=(len(masks), D)), rng.normal(size=(slots, len(masks), n, d))
    made = Slots(lambda k: xi[k]) if slots else None
    seen = lay.flatten(algorithm.round(problem, lay.unflatten(z), draws(masks)._replace(xi=made)))
    seen = after(seen, masks) if after else seen
    for k, mask in enumerate(masks):
        full = np.concatenate([z[k], [1.0], xi[:, k].reshape(-1)])
        weight = np.concatenate([[1.0], mask, np.asarray(features.shares(mask), dtype=float)])
        guess = sum(w * (part @ full) for w, part in zip(weight, parts, strict=True) if w)
        if not np.abs(guess - seen[k]).max() <= ROUNDING * max(1.0, np.abs(seen[k]).max()):
            return False
    return True


__all__ = ["SparseMixture", "after_round", "sheets"]
