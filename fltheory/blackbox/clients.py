"""The problems put before a black box: quadratics as rows of data, since training code wants data."""
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fltheory.algorithms.residual_problem import Residual
from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.scalars import FLOAT, fraction, is_count
from fltheory.core.problems.base import check_weights
from fltheory.core.problems.quadratic import Quadratic

MOST, MOST_SIZE = {"n": 1000, "d": 2000, "personal": 2000}, 10_000
MOST_PARTS = 100_000  # rows per dimension over all clients


class Client:
    """One client's data as training code sees it.

    X (m, d), y (m,): float64. size: m. weight: p_i. The loss is |X w - y|^2/(2 m); with personal parameters there is a
    Z (m, k), and the loss is |X w + Z theta - y|^2/(2 m).
    """

    def __init__(self, X, y, weight, Z=None):
        self.X, self.y, self.Z, self.weight, self.size = X, y, Z, float(weight), len(y)

    def _parts(self, parameters):
        """(rows, residuals) of the parameters, w alone or w and theta."""
        parts = [self.X] if self.Z is None else [self.X, self.Z]
        if len(parameters) != len(parts):
            refuse("parameters", len(parameters), "a client's loss takes w, and theta where there are personal parameters",
                   "Call loss(w), or loss(w, theta) with personal=.")
        y, w = self.y, parameters[0]
        if is_torch(w):
            import torch
            *parts, y = (torch.as_tensor(v, dtype=w.dtype, device=w.device) for v in (*parts, y))
        return parts, sum(part @ v for part, v in zip(parts, parameters, strict=True)) - y

    def loss(self, *parameters):
        """The loss at w (d,), or at w and theta (k,); differentiable where they are torch tensors."""
        _, residual = self._parts(parameters)
        return (residual * residual).sum() / (2 * self.size)

    def grad(self, *parameters):
        """The gradient at w (d,) in its type; at w and theta (k,) the pair of gradients."""
        parts, residual = self._parts(parameters)
        grads = tuple(part.T @ residual / self.size for part in parts)
        return grads if len(grads) > 1 else grads[0]

    def __len__(self):
        return self.size


class Instance:
    """A quadratic as data: client i has Hessian H_i and minimiser c_i, in rows replicated k_i times (p_i = k_i/K).

    H (n, D, D) positive semidefinite, c (n, D), weights: (n,) Fractions; the first d of D coordinates are shared.
    """

    def __init__(self, H, c, weights, d):
        self.weights = weights
        common = math.lcm(*(w.denominator for w in weights))
        self.copies = [int(w * common) for w in weights]
        n, D = c.shape
        values, vectors = np.linalg.eigh(H)
        roots = np.sqrt(np.maximum(values, 0))[..., None] * vectors.swapaxes(-1, -2)  # R'R = H
        self._rows = [(np.sqrt(D) * R, np.sqrt(D) * R @ v) for R, v in zip(roots, c, strict=True)]
        self.n, self.d = n, d
        self.clients = self._fresh()
        H = np.stack([X.T @ X / D for X, _ in self._rows])
        H, b = (H + H.swapaxes(-1, -2)) / 2, np.stack([X.T @ y / D for X, y in self._rows])
        if d == D:
            self.problem = Quadratic.from_linear(H, b, list(weights)).to(FLOAT)
        else:
            self.problem = Residual(H[:, :d, :d], H[:, :d, d:], H[:, d:, d:], b[:, :d], b[:, d:], list(weights)).to(FLOAT)

    def _fresh(self):
        d = self.d
        return [Client(np.tile(X[:, :d], (k, 1)), np.tile(y, k), w, np.tile(X[:, d:], (k, 1)) if X.shape[1] > d else None)
                for (X, y), k, w in zip(self._rows, self.copies, self.weights, strict=True)]

    def spoilt(self) -> bool:
        """Whether the black box has written into the data; restores it if so."""
        clean = self._fresh()
        bad = len(clean) != len(self.clients) or any(not np.array_equal(getattr(a, k), getattr(b, k)) for a, b in zip(
            clean, self.clients, strict=False) for k in ("X", "Z", "y"))
        if bad:
            self.clients = clean
        return bad


class Problems:
    """Maker of instances of one shape: generic ones, one active client, or nobody active. personal: dimension of each
    client's own parameters, 0 for none."""

    def __init__(self, n, d, weights=None, seed=0, personal=0):
        for what, value in (("n", n), ("d", d), ("personal", personal)):
            if not is_count(value, 0 if what == "personal" else 1) or value > MOST[what]:
                refuse(what, value, f"is a whole number from {0 if what == 'personal' else 1} to {MOST[what]}",
                       "Give the number of clients and of coordinates; small ones show every fault.")
        size = int(d) + int(personal)
        if int(n) * size > MOST_SIZE:
            refuse("(n, d)", (n, size), f"n d is at most {MOST_SIZE}: the code is probed once per coordinate of each client",
                   "Use fewer clients or coordinates; small numbers show every fault.")
        if not is_count(seed, 0):
            refuse("seed", seed, "is a whole number >= 0", "Give an int.")
        self.n, self.d, self.personal, self.seed = int(n), int(d), int(personal), seed
        self.weights = rational_weights(weights, self.n)
        rng = np.random.default_rng([seed, 11])
        Q = np.linalg.qr(rng.standard_normal((n, size, size)))[0]
        values = rng.uniform(0.3, 1.5, (n, 1, size))
        self._H = (Q * values) @ Q.swapaxes(-1, -2)
        self._c = rng.uniform(-1, 1, (n, size))

    def _instance(self, H, c):
        return Instance(H, c, self.weights, self.d)

    def _still(self):
        return np.zeros_like(self._H), np.zeros_like(self._c)

    def generic(self, height=1.0, spread=1.0, without=()) -> Instance:
        """Dense Hessians with curvatures in height [0.3, 1.5] and minimisers of size `spread`; the clients `without` have no
        gradient."""
        there = np.ones(self.n)
        there[list(without)] = 0
        return self._instance(height * self._H * there[:, None, None], spread * self._c * there[:, None])

    def single(self, i, curvatures) -> Instance:
        """Client i has these curvatures (d,) along the axes of the model and minimiser 0; every other gradient vanishes."""
        H, c = self._still()
        H[i, :self.d, :self.d] = np.diag(curvatures)
        return self._instance(H, c)

    def axes(self, height) -> Instance:
        """Client i has curvature only along axis i mod d, clients that share one differ in size; minimisers 0."""
        H, c = self._still()
        for i in range(self.n):
            lap = i // self.d
            H[i, i % self.d, i % self.d] = height / (1 + lap * math.sqrt(2) + i / (7 * self.n))
        return self._instance(H, c)


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
