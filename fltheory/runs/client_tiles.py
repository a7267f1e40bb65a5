"""Many replicates of one quadratic client each, laid out so that those of one client stand together: whole matrix products, in
tiles made once for all local steps, or on a CPU client by client, where a client's models stay in the cache through all of them."""
from __future__ import annotations

import itertools

import numpy as np

from fltheory.core.kinds import Problem, Who
from fltheory.core.numbers.arrays import arange
from fltheory.core.problems.quadratic import Quadratic

FEWEST = 4     # replicates for each client from which tiles pay
ROWS = 64      # of a tile at most
TOGETHER = 200  # replicates that make their local steps together on a CPU: products of few rows are the faster ones
ENTRIES = 400  # of each client's models in all replicates together, from which a client at a time pays


def tiles(problem: Problem, who: Who):
    """The `Tiles` of a cohort who (batch, 1) of floats, or None where it is better asked as it is."""
    return Tiles(problem, who[:, 0]) if tiles_pay(problem, who) else None


def tiles_pay(problem: Problem, who: Who):
    """Whether a cohort who (batch, 1) has enough replicates of each client, of a quadratic in torch."""
    if type(problem) is not Quadratic or who.ndim != 2 or who.shape[-1] != 1 or len(who) < FEWEST * problem.n:
        return False
    return problem.domain.library == "torch"


class Tiles:
    """A cohort of quadratic clients: row r of tile k works for client who[k], and holds any replicate where none is left.

    grad(y) of y (rows, tiles, d); `into` lays numbers (batch, 1, w) out so, `back` takes them from there.
    """

    def __init__(self, problem: Problem, client):
        import torch
        counts = torch.bincount(client, minlength=problem.n)
        self.n, self.rows = problem.n, _rows(len(client), problem.n)
        each = (counts + self.rows - 1) // self.rows            # tiles of each client
        order = torch.argsort(client, stable=True)
        ordered = client[order]
        place = arange(len(client), client) - (counts.cumsum(0) - counts)[ordered]   # among its client's replicates
        tile = (each.cumsum(0) - each)[ordered] + place // self.rows
        self.who = torch.repeat_interleave(each)
        slot = tile * self.rows + place % self.rows
        self.source = torch.zeros(len(self.who) * self.rows, dtype=client.dtype, device=client.device)
        self.source[slot] = order
        self.target = torch.empty_like(order)
        self.target[order] = slot
        self._turned, self._b = _turned(problem)[self.who], problem._b[self.who][:, None]  # type: ignore[attr-defined]
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


def together(problem: Problem, who: Who):
    """Whether `descended` answers for a cohort who (batch, 1) of floats on a CPU, and pays."""
    return tiles_pay(problem, who) and who.device.type == "cpu" and len(who) * problem.d >= ENTRIES * problem.n


def descended(problem: Problem, who: Who, base, steps, lr, sample=None):
    """y - base (batch, 1, d) after steps (batch, 1) of y <- y - lr (H y - b + sample), from base (batch, 1, d), of the clients who.

    sample(k): (batch, 1, d). Rows are ordered by client, and among its own by their steps: those that still work stand in front,
    and the others stay as they are. Every number is rounded as in the steps one by one.
    """
    import torch
    lr, client, steps, start = float(lr), who.numpy()[:, 0], steps.numpy()[:, 0], base.numpy()[:, 0]
    client = client.astype(np.min_scalar_type(problem.n))   # short ints are sorted by their digits
    order = np.lexsort((-steps, client)) if steps.min() < steps.max() else client.argsort(kind="stable")
    ends = np.searchsorted(client[order], np.arange(problem.n + 1)).tolist()
    out, room = np.empty(start.shape), np.empty((TOGETHER, start.shape[1]))
    runs = [_Runs(problem, i, order[k:min(k + TOGETHER, hi)], start, steps, room, lr)
            for i, (lo, hi) in enumerate(itertools.pairwise(ends)) for k in range(lo, hi, TOGETHER)]
    with np.errstate(all="ignore"):
        if sample is None:   # all steps of some rows before the next rows: they stay in the cache
            for run in runs:
                for k in range(run.longest):
                    run.step(k)
                run.write(out)
        else:                # a step's samples are made for all of them
            for k in range(max(run.longest for run in runs)):
                noise = sample(k).numpy()[:, 0]
                for run in runs:
                    run.step(k, noise)
            for run in runs:
                run.write(out)
    return torch.from_numpy(out)[:, None]


class _Runs:
    """Local runs of client i in the replicates `rows`, of falling length, from their rows of `start`. room (>= rows, d): for
    gradients, which all runs may share."""

    def __init__(self, problem: Problem, i, rows, start, steps, room, lr):
        self.rows, self.start, self.room, self.lr = rows, start[rows], room, lr
        self.turned, self.b = _turned(problem)[i].numpy(), _repeated(problem)[i]
        self.models, self.steps = self.start.copy(), steps[rows]
        self.longest, self.shortest = int(self.steps[0]), int(self.steps[-1])
        self._working(len(rows))

    def _working(self, most):
        self.y, self.g, self.minus, self.who = self.models[:most], self.room[:most], self.b[:most], self.rows[:most]

    def step(self, k, sample=None):
        if k >= self.shortest:
            self._working(np.count_nonzero(self.steps > k))
        y, g = self.y, self.g
        np.matmul(y, self.turned, out=g)
        np.subtract(g, self.minus, out=g)
        if sample is not None:
            np.add(g, sample[self.who], out=g)
        np.multiply(g, self.lr, out=g)
        np.subtract(y, g, out=y)

    def write(self, out):
        out[self.rows] = np.subtract(self.models, self.start, out=self.models)


def _repeated(problem: Problem):
    """The b of each client `TOGETHER` times, (n, TOGETHER, d): arrays of one shape are subtracted faster than a row is."""
    if "_cached_repeated" not in problem.__dict__:
        problem.__dict__["_cached_repeated"] = np.repeat(problem._b.numpy()[:, None], TOGETHER, axis=1)  # type: ignore[attr-defined]
    return problem.__dict__["_cached_repeated"]


def _turned(problem: Problem):
    """The transposed Hessians, made once for a problem."""
    if "_cached_turned" not in problem.__dict__:
        problem.__dict__["_cached_turned"] = problem._H.swapaxes(-1, -2).contiguous()  # type: ignore[attr-defined]
    return problem.__dict__["_cached_turned"]


def _rows(batch, n):
    rows = ROWS
    while rows > 8 and 4 * rows * n > batch:
        rows //= 2
    return rows
