"""Clients with shared and personal parameters on abstract vectors: two blocks of the Gram matrix, one for each kind.

A point (w, theta_i) is the sum w + theta_i of a vector of each block, so that inner products and gradients split by themselves.
"""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Who
from fltheory.core.numbers.scalars import RATIONAL
from fltheory.worstcase.gram import Gram
from fltheory.worstcase.quadratic_forms import Form

PERSONAL = "theta"   # the field of the states in which clients keep their own parameters


class PairGram(Gram):
    """`Gram` for rounds with personal parameters: `point(i, w + theta)` records the client at the pair.

    Raises BadInput for counted clients: what clients of a class do apart needs blocks of its own.
    """

    def __init__(self, classes, weights=None, counts=None, size=16, domain=RATIONAL):
        if counts is not None:
            refuse("counts", counts, "clients with personal parameters are listed one by one", "Give clients= instead.")
        super().__init__(classes, weights, None, size, domain)
        self.personal, self.personal_leaves = size, []   # leaves of the personal block

    def client_leaf(self, i, name):
        v = super().client_leaf(i, name)
        if name == PERSONAL:
            self.personal_leaves.append(len(self.leaves) - 1)
        return v

    def split(self, u):
        """(shared part, personal part) of vectors (..., d)."""
        mask = np.zeros(self.d, dtype=np.int64)
        mask[self.personal_leaves] = 1
        return u * (1 - mask), u * mask

    def _gradient_leaf(self, i):
        """A new gradient of client i at a point w + theta_i: a leaf in each block."""
        return super()._gradient_leaf(i) + self.client_leaf(i, PERSONAL)

    def _gradient_pair(self, who: Who, w, theta, sample):
        rows = [self.point(int(i), w[k if w.shape[-2] > 1 else 0] + theta[k]).gradient for k, i in enumerate(self._clients(who))]
        shared, personal = self.split(np.array(rows, dtype=object))
        return (shared if sample is None else shared + sample), personal

    def grad_pairs(self, w, theta):
        """Gradients of all clients in w and in theta_i, (n, d) each, at w (d,) and theta (n, d)."""
        return self._gradient_pair(slice(None), w[None], theta, None)

    def _gradient(self, who: Who, y, sample):
        refuse("problem", "with personal parameters", "has gradients in pairs and no value of w alone",
               "Ask for joint_value(w, theta) and grad_pairs(w, theta).")

    def value(self, x):
        return self._gradient(None, x, None)

    def minimiser(self):
        return self._gradient(None, None, None)

    def joint_value(self, w, theta):
        """sum_i p_i L_i(w, theta_i) as a form: w (d,), theta (n, d)."""
        return sum((self.point(i, w + t).value * p for i, (t, p) in enumerate(zip(theta, self.p, strict=True))), Form())

    def conditions(self, forms):
        """Conditions of all clients at the points that the forms feel."""
        return [c for kind, points in zip(self.classes, self.live(forms), strict=True) if points
                for c in (kind.in_blocks(points, self.split) if hasattr(kind, "in_blocks") else kind.conditions(points))]

    def blocks(self):
        gone = {leaf for leaf, _ in self.gone}
        leaves = set(self.personal_leaves)
        return [[k for k in range(len(self.leaves)) if (k in leaves) is personal and k not in gone] for personal in (False, True)]

    def coordinates(self, u):
        rows = self.reduce(np.asarray(u))
        return [rows[block] for block in self.blocks()]
