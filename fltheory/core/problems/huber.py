"""Clients made of Huber losses: convex, smooth, not quadratic, and still rational at rational points."""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers, declare, entries
from fltheory.core.problems.rows import RowLoss
from fltheory.core.problems.shapes import check_lengths, clients, sequence


class HuberLoss(RowLoss):
    """f_i(x) = sum_j s_ij h(u_ij'x - o_ij; delta_ij) + reg/2 |x|^2; h(r; delta) = r^2/2 to |r| = delta, then linear.

    U: one (m_i, d) array per client, m_i >= 1; offsets: one (m_i,) array per client; deltas (> 0) and scales
    (>= 0): one number for all rows, or one (m_i,) array per client; reg >= 0; weights (n,), default uniform.
    Gradients also exist in exact rationals. Raises BadInput on NaN, wrong shapes or signs.
    """

    curvature = 1
    exact = True

    def __init__(self, U: Numbers, offsets: Numbers, deltas: Numbers = 1, scales: Numbers = 1, reg: Number = 0,
                 weights: Numbers = None, name: str = ""):
        U, offsets = clients(U, "U", 2), clients(offsets, "offsets", 1)
        check_lengths(U, offsets, "offsets")
        deltas, scales = _per_row(deltas, U, "deltas"), _per_row(scales, U, "scales")
        for what, parts, bad in (("deltas", deltas, lambda v: v <= 0), ("scales", scales, lambda v: v < 0)):
            if any(bad(v) for part in parts for v in part):
                refuse(what, [[str(v) for v in part] for part in parts], "deltas are > 0 and scales >= 0",
                       "Drop rows that should not count.")
        targets = [_columns(o, d) for o, d in zip(offsets, deltas, strict=True)]
        self._finish(U, targets, scales, reg, weights, name)

    def _residual(self, u, t):
        """Residuals and their clipped values, (..., M) each."""
        r, delta = u[..., 0] - t[..., 0], t[..., 1]
        if is_torch(r):
            import torch
            return r, torch.minimum(torch.maximum(r, -delta), delta)
        return r, np.minimum(np.maximum(r, -delta), delta)

    def _loss(self, u, t):
        r, clipped = self._residual(u, t)
        return clipped * (r - clipped / 2)

    def _slope(self, u, t):
        return self._residual(u, t)[1][..., None]

    def _curve(self, u, t):
        r, clipped = self._residual(u, t)
        return 1.0 * (r == clipped)[..., None, None]


def _per_row(values, U, what):
    if not isinstance(values, (list, tuple)) and entries(values, what).ndim == 0:
        one = declare(values, what)[()]
        if isinstance(one, Symbolic):
            refuse(what, one, "a kink has a place: symbols have no order", "Declare numbers.")
        return [declare([one] * len(u)) for u in U]
    parts = clients(sequence(values, what), what, 1)
    check_lengths(U, parts, what)
    return parts


def _columns(*columns):
    if any(c.dtype == np.float64 for c in columns):
        columns = [FLOAT.array(c) for c in columns]
    return np.stack(columns, axis=-1)
