"""Logistic regression clients, binary and softmax: the smooth non-quadratic family of the project."""
from __future__ import annotations

from fractions import Fraction

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers
from fltheory.core.problems.rows import RowLoss
from fltheory.core.problems.shapes import check_lengths, clients
from fltheory.core.records import count


class Logistic(RowLoss):
    """f_i(x) = mean over the client's rows of the logistic loss, plus reg/2 |x|^2.

    Binary (classes None or 2): labels 0/1 or -1/+1, x (d,), loss log(1 + exp(-s a'x)) with s = +1 for label 1.
    Softmax (classes >= 3): labels 0..classes-1, x (classes * features,) flattened class by class.

    A: one (m_i, features) array per client, m_i >= 1 may differ; labels: one (m_i,) array of ints per client;
    reg >= 0; weights (n,) summing to 1, default uniform. Floats only: numpy float64 and torch.
    Raises BadInput on NaN, wrong shapes, labels out of range, negative reg, or another arithmetic.
    """

    def __init__(self, A: Numbers, labels: Numbers, reg: Number, classes: int | None = None,
                 weights: Numbers = None, name: str = ""):
        classes = count(2, 10_000, "an int >= 2 (and at most 10,000), or None for two", "Leave it out for labels 0/1.")(
            2 if classes is None else classes, "classes")
        A, labels = clients(A, "A", 2), clients(labels, "labels", 1)
        check_lengths(A, labels, "labels")
        if classes == 2 and all(k in (-1, 1) for v in labels for k in v) and any(k == -1 for v in labels for k in v):
            labels = [(v + 1) / 2 for v in labels]  # the signs s themselves
        for i, v in enumerate(labels):
            if any(k not in range(classes) for k in v):
                signs = " or all -1/+1" if classes == 2 else ""
                refuse(f"labels[{i}]", sorted({str(k) for k in v}), f"labels are 0..{classes - 1}{signs}, over all clients "
                       "together",
                       "Renumber them, for example by [names.index(v) for v in labels] with one list of names for all clients.")
        self.classes = classes
        self.binary = classes == 2
        self.curvature = Fraction(1, 4) if self.binary else Fraction(1, 2)
        index = [FLOAT.array(v).astype(int) for v in labels]
        targets = [(2.0 * v - 1)[:, None] if self.binary else np.eye(classes)[v] for v in index]
        scale = [np.full(len(v), 1 / len(v)) for v in index]
        self._finish([FLOAT.array(a) for a in A], targets, scale, reg, weights, name, 1 if self.binary else classes)

    def _loss(self, u, t):
        if self.binary:
            return _log1pexp(-(t * u))[..., 0]
        return _logsumexp(u)[..., 0] - (t * u).sum(-1)

    def _slope(self, u, t):
        if self.binary:
            return -t * _exp(-_log1pexp(t * u))
        return _exp(u - _logsumexp(u)) - t

    def _curve(self, u, t):
        if self.binary:
            return np.exp(-_log1pexp(u) - _log1pexp(-u))[..., None]
        p = _exp(u - _logsumexp(u))
        return p[..., None] * np.eye(self.classes) - p[..., None] * p[..., None, :]


def _log1pexp(z):
    """log(1 + exp(z)) without overflow, in numpy or torch (torch's softplus is exact to 1e-9 only)."""
    if is_torch(z):
        import torch
        return torch.logaddexp(0 * z, z)
    return np.logaddexp(0, z)


def _logsumexp(u):
    """log sum exp over the last axis, kept, in numpy or torch."""
    if is_torch(u):
        import torch
        return torch.logsumexp(u, -1, keepdim=True)
    top = u.max(-1, keepdims=True)
    return top + np.log(np.exp(u - top).sum(-1, keepdims=True))


def _exp(z):
    return z.exp() if is_torch(z) else np.exp(z)
