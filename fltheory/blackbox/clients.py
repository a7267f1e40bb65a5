"""The problems put before a black box: quadratics as rows of data, since training code wants data."""
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fltheory.core.arrays import is_torch
from fltheory.core.errors import refuse
from fltheory.core.problems.base import check_weights
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import FLOAT, fraction, is_count

MOST, MOST_SIZE = {"n": 1000, "d": 2000}, 10_000
MOST_PARTS = 100_000  # rows per dimension over all clients


class Client:
    """One client's data as training code sees it.

    X (m, d), y (m,): float64. size: m. weight: p_i. The loss is |X w - y|^2/(2 m).
    """

    def __init__(self, X, y, weight):
        self.X, self.y, self.weight, self.size = X, y, float(weight), len(y)

    def _data(self, w):
        if is_torch(w):
            import torch
            return (torch.as_tensor(self.X, dtype=w.dtype, device=w.device),
                    torch.as_tensor(self.y, dtype=w.dtype, device=w.device))
        return self.X, self.y

    def loss(self, w):
        """|X w - y|^2/(2 m), differentiable where w (d,) is a torch tensor."""
        X, y = self._data(w)
        residual = X @ w - y
        return (residual * residual).sum() / (2 * self.size)

    def grad(self, w):
        """X'(X w - y)/m in the type of w (d,)."""
        X, y = self._data(w)
        return X.T @ (X @ w - y) / self.size

    def __len__(self):
        return self.size


class Instance:
    """A quadratic as data: client i has Hessian H_i and minimiser c_i, in rows replicated k_i times (p_i = k_i/K).

    H (n, d, d) positive semidefinite, c (n, d), weights: (n,) Fractions.
    """

    def __init__(self, H, c, weights):
        self.weights = weights
        common = math.lcm(*(w.denominator for w in weights))
        self.copies = [int(w * common) for w in weights]
        n, d = c.shape
        values, vectors = np.linalg.eigh(H)
        roots = np.sqrt(np.maximum(values, 0))[..., None] * vectors.swapaxes(-1, -2)  # R'R = H
        self._rows = [(np.sqrt(d) * R, np.sqrt(d) * R @ v) for R, v in zip(roots, c, strict=True)]
        self.n, self.d = n, d
        self.clients = self._fresh()
        exact_H = np.stack([X.T @ X / d for X, _ in self._rows])
        b = np.stack([X.T @ y / d for X, y in self._rows])
        self.problem = Quadratic.from_linear((exact_H + exact_H.swapaxes(-1, -2)) / 2, b, list(weights)).to(FLOAT)

    def _fresh(self):
        return [Client(np.tile(X, (k, 1)), np.tile(y, k), w)
                for (X, y), k, w in zip(self._rows, self.copies, self.weights, strict=True)]

    def spoilt(self) -> bool:
        """Whether the black box has written into the data; restores it if so."""
        clean = self._fresh()
        bad = len(clean) != len(self.clients) or any(not np.array_equal(a.X, b.X) or not np.array_equal(a.y, b.y)
                                                     for a, b in zip(clean, self.clients, strict=False))
        if bad:
            self.clients = clean
        return bad


class Problems:
    """Maker of instances of one shape: generic ones, one active client, or nobody active."""

    def __init__(self, n, d, weights=None, seed=0):
        for what, value in (("n", n), ("d", d)):
            if not is_count(value) or value > MOST[what]:
                refuse(what, value, f"is a whole number from 1 to {MOST[what]}",
                       "Give the number of clients and of coordinates; small ones show every fault.")
        if int(n) * int(d) > MOST_SIZE:
            refuse("(n, d)", (n, d), f"n d is at most {MOST_SIZE}: the code is probed once per coordinate of each client",
                   "Use fewer clients or coordinates; small numbers show every fault.")
        if not is_count(seed, 0):
            refuse("seed", seed, "is a whole number >= 0", "Give an int.")
        self.n, self.d, self.seed = int(n), int(d), seed
        self.weights = rational_weights(weights, self.n)
        rng = np.random.default_rng([seed, 11])
        Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
        values = rng.uniform(0.3, 1.5, (n, 1, d))
        self._H = (Q * values) @ Q.swapaxes(-1, -2)
        self._c = rng.uniform(-1, 1, (n, d))

    def generic(self, height=1.0, spread=1.0) -> Instance:
        """Dense Hessians with curvatures in height [0.3, 1.5] and minimisers of size `spread`."""
        return Instance(height * self._H, spread * self._c, self.weights)

    def single(self, i, curvatures) -> Instance:
        """Client i has these curvatures (d,) along the axes and minimiser 0; every other gradient vanishes."""
        H = np.zeros((self.n, self.d, self.d))
        H[i] = np.diag(curvatures)
        return Instance(H, np.zeros((self.n, self.d)), self.weights)

    def axes(self, height) -> Instance:
        """Client i has curvature only along axis i mod d, clients that share one differ in size; minimisers 0."""
        H = np.zeros((self.n, self.d, self.d))
        for i in range(self.n):
            lap = i // self.d
            H[i, i % self.d, i % self.d] = height / (1 + lap * math.sqrt(2) + i / (7 * self.n))
        return Instance(H, np.zeros((self.n, self.d)), self.weights)


def rational_weights(weights, n):
    """Client weights (n,) as positive Fractions summing to 1; the default is proportional to n, n - 1, .., 1."""
    if weights is None:
        return [Fraction(2 * (n - i), n * (n + 1)) for i in range(n)]
    declared = check_weights(weights, n)
    exact = [fraction(w) if declared.dtype == object else Fraction(float(w)).limit_denominator(1000) for w in declared]
    if any(w <= 0 for w in exact) or sum(exact) != 1:
        refuse("weights", [str(w) for w in declared], "weights are positive rationals that sum to 1",
               "Write them as fractions, such as '1/3'.")
    if math.lcm(*(w.denominator for w in exact)) > MOST_PARTS:
        refuse("weights", [str(w) for w in exact], f"their common denominator exceeds {MOST_PARTS}",
               "Round them: row counts are proportional to the weights.")
    return exact
