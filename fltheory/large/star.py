"""Star form: every client's map on (server, its own memories), where clients meet at the server only.

Coordinates are the server's first, then client by client. The map of a cohort is M_0 + sum_i (a_i B_i + s_i C_i) with presence
a_i and shares s_i, and B_i, C_i read and write nothing but the server's ds coordinates and client i's own dc. A batch of
one-client rounds yields all of them in O(n tau d^2 (ds + dc)) time; the form is a guess, held against rounds of random cohorts.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import NotAffine, TooLarge
from fltheory.core.operators import size

COHORTS = 6
FORM = 1e-10       # of the largest number after a round
NOTHING = 1e-14    # of the largest entry of B and C: a part that is not there


@dataclass(frozen=True)
class Arrow:
    """A map with full rows and columns of the server alone: ss (ds, ds), sc (ds, n dc), cs (n, dc, ds), cc (n, dc, dc) and its
    constant s1 (ds,), c1 (n, dc)."""

    ss: np.ndarray
    sc: np.ndarray
    cs: np.ndarray
    cc: np.ndarray
    s1: np.ndarray
    c1: np.ndarray

    @classmethod
    def summed(cls, F, weight, ds):
        """sum_i weight_i F_i of maps F (n, q, q + 1) with columns (server, own, 1)."""
        W = F * weight[:, None, None]
        sc = np.ascontiguousarray(W[:, :ds, ds:-1].transpose(1, 0, 2)).reshape(ds, -1)
        return cls(W[:, :ds, :ds].sum(0), sc, W[:, ds:, :ds], W[:, ds:, ds:-1], W[:, :ds, -1].sum(0), W[:, ds:, -1])

    def parts(self):
        """The arrays."""
        return self.ss, self.sc, self.cs, self.cc, self.s1, self.c1

    def __add__(self, other):
        return Arrow(*(a + b for a, b in zip(self.parts(), other.parts(), strict=True)))

    def times(self, factor):
        """Every entry times a number."""
        return Arrow(*(factor * a for a in self.parts()))

    def apply(self, X):
        """The linear part on X (D, k) whose rows lie one after the other: O((ds + dc) D k)."""
        from scipy.linalg.blas import dgemm
        n, dc, ds = self.cs.shape
        Y = np.empty(X.shape)
        if not dc:
            return np.matmul(self.ss, X, out=Y)
        server, memories = X[:ds], Y[ds:]
        np.matmul(self.sc, X[ds:], out=Y[:ds])
        Y[:ds] += self.ss @ server
        np.matmul(self.cc, X[ds:].reshape(n, dc, -1), out=memories.reshape(n, dc, -1))
        dgemm(1.0, server.T, self.cs.reshape(n * dc, ds).T, beta=1.0, c=memories.T, overwrite_c=True)     # added in place
        return Y

    def sandwich(self, X):
        """M X M' of a symmetric X (D, D)."""
        return self.apply(np.ascontiguousarray(self.apply(X).T))

    def moved(self, z):
        """The map of one state z (D,), its constant too."""
        return self.apply(z[:, None])[:, 0] + np.concatenate([self.s1, self.c1.reshape(-1)])


class Star:
    """base: Arrow of an empty round; B, C (n, q, q + 1), or None where there is none; confirmed at random cohorts."""

    def __init__(self, mean, clients):
        self.mean, self.clients, self.n = mean, clients, mean.n
        if not clients.separable:
            raise TooLarge(f"{type(mean.algorithm).__name__}: its state is not made of vectors of the server and of single "
                           "clients, so it has no star form. Use method='dense', or ft.run")
        self.ds, self.dc = clients.ds, clients.dc
        self.q, self.D = self.ds + self.dc, self.ds + mean.n * self.dc
        size.check(f"the maps of {mean.n} clients on {self.q} coordinates each", star_bytes(mean.n, self.q),
                   "fixed point and rate need none of them; for the rest use fewer clients or coordinates, or ft.run")
        self._probe()
        self._confirm()

    # ---- orders ----------------------------------------------------------------------------------------
    def order(self, z):
        """Flat states (.., D) in the star's order."""
        leaves, clients = self.mean.layout.unflatten(z), self.clients
        parts = [leaves[k] for k in clients.server]
        if clients.client:
            memories = np.concatenate([leaves[k] for k in clients.client], -1)
            parts.append(memories.reshape(*z.shape[:-1], -1))
        return np.concatenate(parts, -1)

    def flat(self, u):
        """States (.., D) in the star's order as flat ones."""
        lead, clients, shapes = u.shape[:-1], self.clients, self.mean.layout.shapes
        memories = u[..., self.ds:].reshape(*lead, self.n, self.dc)
        leaves, at, mine = [None] * len(shapes), 0, 0
        for k in clients.server:
            leaves[k], at = u[..., at:at + shapes[k][0]], at + shapes[k][0]
        for k in clients.client:
            leaves[k], mine = memories[..., mine:mine + shapes[k][1]], mine + shapes[k][1]
        return self.mean.layout.flatten(self.mean.layout.kind(*leaves))

    def leaves(self, Z):
        """One-client states (points, q) as leaves of a batch."""
        shapes, clients = self.mean.layout.shapes, self.clients
        out, at = [None] * len(shapes), 0
        for k in clients.server:
            out[k], at = Z[None, :, at:at + shapes[k][0]], at + shapes[k][0]
        for k in clients.client:
            out[k], at = Z[None, :, None, at:at + shapes[k][1]], at + shapes[k][1]
        return out

    def rows(self, leaves):
        """Leaves (clients, points, w) of one-client rounds side by side: (clients, points, q)."""
        return np.concatenate([leaves[k] for k in (*self.clients.server, *self.clients.client)], -1)

    # ---- probing ---------------------------------------------------------------------------------------
    def _probe(self):
        q, ds, mean = self.q, self.ds, self.mean
        Z = np.concatenate([np.zeros((1, q)), np.eye(q)])
        memories, B, C = (np.empty((self.n, *s)) for s in ((self.dc, q + 1), (q, q + 1), (q, q + 1)))
        across = np.empty((self.n, ds, self.dc))
        for low, high in self.clients.batches(q + 1, 4 * self.q):
            base, b, c = (np.swapaxes(_columns(self.rows(leaves)), 1, 2) for leaves in
                          self.clients.parts(low, high, self.leaves(Z)))
            memories[low:high], across[low:high], B[low:high], C[low:high] = base[:, ds:], base[:, :ds, ds:-1], b, c
        U = np.zeros((ds + 1, self.D))
        U[1:, :ds] = np.eye(ds)
        images = self.order(mean.at(self.flat(U), np.zeros(self.n)))[:, :ds]
        sc = np.ascontiguousarray(across.transpose(1, 0, 2)).reshape(ds, -1)
        self.base = Arrow((images[1:] - images[0]).T, sc, memories[:, :, :ds], memories[:, :, ds:-1], images[0], memories[:, :, -1])
        top = max(np.abs(B).max(), np.abs(C).max())
        self.B, self.C = (None if np.abs(F).max() <= NOTHING * top else F for F in (B, C))

    def arrow(self, a, s):
        """sum_i (a_i B_i + s_i C_i)."""
        parts = [Arrow.summed(F, w, self.ds) for F, w in ((self.B, a), (self.C, s)) if F is not None]
        return sum(parts[1:], parts[0]) if parts else self.base.times(0.0)

    def _confirm(self):
        mean, rng, worst = self.mean, np.random.Generator(np.random.Philox(11)), 0.0
        for k in range(COHORTS):
            mask = mean.trial_cohort(rng, k) if mean.model is not None else np.ones(self.n, dtype=np.int64)
            z = rng.standard_normal(mean.D)
            share = mask * mean.v / max((mask * mean.v).sum(), 1e-300)
            coded = self.order(mean.at(z, mask))
            guess = (self.base + self.arrow(mask, share)).moved(self.order(z))
            worst = max(worst, np.abs(coded - guess).max() / max(np.abs(coded).max(), 1e-300))
        if not worst <= FORM:
            raise NotAffine(f"{type(mean.algorithm).__name__}: rounds of random cohorts differ by {worst:.1e} from what its "
                            "clients do one at a time: they do not meet at the server only. Use method='dense', or ft.run")


def star_bytes(n, q) -> float:
    """Bytes of B, C, their probing, and what is made of them."""
    return 8.0 * n * q * (q + 1) * 4


def _columns(rows):
    """(.., points, q) at 0 and the units as columns of the units, then the constant."""
    return np.concatenate([rows[:, 1:] - rows[:, :1], rows[:, :1]], 1)
