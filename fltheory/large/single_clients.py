"""Every client alone, all in one batch: the coded round of n problems of one client each.

Clients that meet at the server only can be looked at one at a time: a batch of one-client rounds says what each does to its
own memories and to the server, n maps at the cost of one round.
"""
from __future__ import annotations

import copy
from dataclasses import fields

import numpy as np

from fltheory.core.kinds import Algorithm, Problem, Who
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE

CHUNK = 4e7   # bytes of one array of a batch


class ClientBatch:
    """Clients low..high of a problem in floats, each alone: gradients at y (clients, points, 1, d). `n` stays the number of all."""

    def __init__(self, problem: Problem, low, high):
        self.n, self.d, self.domain, self.personal = problem.n, problem.d, problem.domain, 0
        self.p = problem.p[low:high, None, None]
        self._part = _problem_part(problem, low, high)

    def at(self, who: Who = EVERYONE):
        """All of them: a batch knows no cohorts."""
        return self

    def grad(self, y, sample=None):
        count = len(self.p)
        y = np.broadcast_to(y, (count, *y.shape[1:]))
        points = np.ascontiguousarray(y[:, :, 0].swapaxes(0, 1))            # (points, clients, d)
        g = self._part.at(EVERYONE).grad(points).swapaxes(0, 1)[:, :, None]
        return g if sample is None else g + sample


def _problem_part(problem: Problem, low, high):
    """The clients low..high as a problem of their own, sharing memory with the whole one."""
    part = copy.copy(problem)
    part.__dict__ = {k: v for k, v in problem.__dict__.items() if not k.startswith("_cached") and k != "_converted"}
    part.n, part.p = high - low, problem.p[low:high]
    for name in problem._data:
        value = getattr(problem, "_" + name)
        setattr(part, "_" + name, None if value is None else value[low:high])
    if hasattr(problem, "sizes"):
        part.__dict__["sizes"] = problem.sizes[low:high]
    return part


def _algorithm_part(algorithm: Algorithm, n, low, high):
    """The algorithm with its numbers of each client (n,) cut to a batch."""
    part = copy.copy(algorithm)
    for f in fields(algorithm):
        value = getattr(algorithm, f.name)
        if isinstance(value, np.ndarray) and value.shape == (n,):
            object.__setattr__(part, f.name, value[low:high, None, None])
    return part


class Clients:
    """One-client rounds of a method in floats. Leaves of a state are vectors (w,) of the server or (n, w) of the clients: ds
    numbers of the server and dc of each client in all."""

    def __init__(self, mean):
        self.mean, self.n = mean, mean.n
        shapes = mean.layout.shapes
        self.server = [k for k, s in enumerate(shapes) if len(s) == 1]
        self.client = [k for k, s in enumerate(shapes) if len(s) == 2 and s[0] == mean.n]
        self.ds, self.dc = (sum(shapes[k][-1] for k in leaves) for leaves in (self.server, self.client))
        self.separable = len(self.server) + len(self.client) == len(shapes) and not mean.problem.personal

    def batches(self, points, width):
        """Ranges of clients whose states (clients, points, width) are of a bearable size."""
        per = max(1, int(CHUNK // (8 * points * width)))
        return [(low, min(self.n, low + per)) for low in range(0, self.n, per)]

    def round(self, low, high, leaves, present, xi=None):
        """Leaves after a round: server leaves given as (clients or 1, points, w), a client's as (clients or 1, points, 1, w);
        out come all as (clients, points, w), in the order of the layout."""
        mean, count = self.mean, high - low
        steps = np.asarray(mean.steps)[low:high, None, None]
        draw, algorithm = Draw(EVERYONE, np.full(1, present), steps, xi), _algorithm_part(mean.algorithm, self.n, low, high)
        with np.errstate(all="ignore"):
            out = algorithm.round(ClientBatch(mean.problem, low, high), mean.layout.kind(*leaves), draw)
        flat = [leaf[..., 0, :] if k in self.client else leaf for k, leaf in enumerate(out)]
        points = max(leaf.shape[1] for leaf in flat)
        return [np.broadcast_to(leaf, (count, points, leaf.shape[-1])) for leaf in flat]

    def parts(self, low, high, leaves, xi=None):
        """(base, B, C) of each leaf: at presence 0, and what presence and share add."""
        base, half, whole = (self.round(low, high, leaves, a, xi) for a in (0.0, 0.5, 1.0))
        return (base, [2 * (w - h) for w, h in zip(whole, half, strict=True)],
                [2 * h - w - b for w, h, b in zip(whole, half, base, strict=True)])
