"""Many replicates of one quadratic client each, laid out in tiles that belong to one client: whole matrix products, made once
for all local steps."""
from __future__ import annotations

import numpy as np

from fltheory.core.arrays import arange
from fltheory.core.problems.quadratic import Quadratic

FEWEST = 4     # replicates for each client from which tiles pay
ROWS = 64      # of a tile at most


def tiles(problem, who):
    """The `Tiles` of a cohort who (batch, 1) of floats, or None where it is better asked as it is."""
    if type(problem) is not Quadratic or who.ndim != 2 or who.shape[-1] != 1 or len(who) < FEWEST * problem.n:
        return None
    return Tiles(problem, who[:, 0]) if problem.domain.library == "torch" else None


class Tiles:
    """A cohort of quadratic clients: row r of tile k works for client who[k], and holds any replicate where none is left.

    grad(y) of y (rows, tiles, d); `into` lays numbers (batch, 1, w) out so, `back` takes them from there.
    """

    def __init__(self, problem, client):
        import torch
        counts = torch.bincount(client, minlength=problem.n)
        self.n, self.rows = problem.n, _rows(len(client), problem.n)
        each = (counts + self.rows - 1) // self.rows            # tiles of each client
        order = torch.argsort(client, stable=True)
        own = client[order]
        place = arange(len(client), client) - (counts.cumsum(0) - counts)[own]   # among its client's replicates
        tile = (each.cumsum(0) - each)[own] + place // self.rows
        self.who = torch.repeat_interleave(each)
        slot = tile * self.rows + place % self.rows
        self.source = torch.zeros(len(self.who) * self.rows, dtype=client.dtype, device=client.device)
        self.source[slot] = order
        self.target = torch.empty_like(order)
        self.target[order] = slot
        self._turned, self._b = _turned(problem)[self.who], problem._b[self.who][:, None]
        self._host = self._turned.numpy() if self._turned.device.type == "cpu" else None

    def into(self, values):
        """(batch, 1, w) -> (rows, tiles, w)."""
        return values[:, 0].index_select(0, self.source).reshape(len(self.who), self.rows, -1).swapaxes(0, 1)

    def back(self, values):
        """(rows, tiles, w) -> (batch, 1, w)."""
        return values.swapaxes(0, 1).reshape(-1, values.shape[-1]).index_select(0, self.target)[:, None]

    def grad(self, y, sample=None):
        import torch
        y = y.swapaxes(0, 1)
        # numpy's matrix products are half again as fast as torch's on many processors
        g = y @ self._turned if self._host is None else torch.from_numpy(np.matmul(y.numpy(), self._host))
        g = g.sub_(self._b).swapaxes(0, 1)
        return g if sample is None else g + sample


def _turned(problem):
    """The transposed Hessians, made once for a problem."""
    if "_cached_turned" not in problem.__dict__:
        problem.__dict__["_cached_turned"] = problem._H.swapaxes(-1, -2).contiguous()
    return problem.__dict__["_cached_turned"]


def _rows(batch, n):
    rows = ROWS
    while rows > 8 and 4 * rows * n > batch:
        rows //= 2
    return rows


__all__ = ["Tiles", "tiles"]
