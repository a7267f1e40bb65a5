"""Federated residual learning: one shared parameter and personal ones of unequal dimension."""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import NoMinimiser, TooLarge, refuse
from fltheory.core.kinds import Array, Who
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import matvec
from fltheory.core.numbers.scalars import Domain
from fltheory.core.problems import plain
from fltheory.core.problems.base import Problem, check_weights
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.shapes import pad, sequence, shaped, symmetric

LARGEST_JOINT = 10**8   # entries of the clients' Hessians in the coordinates of all: 0.8 GB


class Residual(Problem):
    """L_i(w, t_i) = 1/2 w'A_i w + w'B_i t_i + 1/2 t_i'C_i t_i - bw_i'w - btheta_i't_i.

    A: (n, d, d) symmetric; bw: (n, d). B: n matrices (d, k_i); C: n symmetric matrices (k_i, k_i); btheta: n vectors
    (k_i,), k_i >= 1. weights: (n,) summing to 1, default uniform. Numbers as in `Quadratic`.
    Personal parameters are padded with zeros to `personal`, the largest k_i; `dims` are the k_i. Padded
    coordinates have gradient 0 and never move. Gradients come in pairs: `at(who).grad_pair(w, theta)`.
    Raises BadInput on wrong shapes, asymmetric A_i or C_i, bad weights.
    """

    _data, quadratic = ("A", "B", "C", "bw", "btheta", "real"), True

    def __init__(self, A: Array, B: Array, C: Array, bw: Array, btheta: Array, weights: Array = None, name: str = ""):
        A = shaped(A, "A", "n", "d", "d")
        self.n, self.d = n, d = A.shape[:2]
        bw = shaped(bw, "bw", "n", "d", n=n, d=d)
        B, C, btheta = (sequence(parts, what) for what, parts in (("B", B), ("C", C), ("btheta", btheta)))
        for what, parts in (("B", B), ("C", C), ("btheta", btheta)):
            if len(parts) != n:
                refuse(f"len({what})", len(parts), f"one {what} per client, so {n}", f"Give n entries of {what}.")
        C = [shaped(v, f"C[{i}]", "k_i", "k_i") for i, v in enumerate(C)]
        B = [shaped(v, f"B[{i}]", "d", "k_i", d=d, k_i=len(c)) for i, (v, c) in enumerate(zip(B, C, strict=True))]
        btheta = [shaped(v, f"btheta[{i}]", "k_i", k_i=len(c)) for i, (v, c) in enumerate(zip(btheta, C, strict=True))]
        for what, matrices in (("A", A), ("C", C)):
            for i, matrix in enumerate(matrices):
                symmetric(matrix, f"{what}[{i}]", name=what)
        self.dims = tuple(len(c) for c in C)
        self.personal = k = max(self.dims)
        self.A, self.bw, self.name = A, bw, name
        self.B, self.C, self.btheta = pad(B, (d, k)), pad(C, (k, k)), pad(btheta, (k,))
        self.real = np.array([[int(j < size) for j in range(k)] for size in self.dims])  # 1 where not padded
        self.weights = check_weights(weights, n)

    def shared(self) -> Quadratic:
        """The problem in w alone (theta_i = 0), for algorithms without personal parameters."""
        return Quadratic.from_linear(self.A, self.bw, self.weights, name=self.name)

    def joint(self) -> Quadratic:
        """The clients as functions of (w, t_1, ..., t_n) together, formulation (1): coordinates in this order, unpadded."""
        H = np.concatenate([np.concatenate([self.A, self.B], axis=2), np.concatenate([self.B.swapaxes(1, 2), self.C], axis=2)],
                           axis=1)
        whole = Quadratic.from_linear(H, np.concatenate([self.bw, self.btheta], axis=1), self.weights, name=self.name)
        ends = np.cumsum([self.d, *self.dims])
        at = [np.r_[:self.d, end - size:end] for end, size in zip(ends[1:], self.dims, strict=True)]
        coordinates = [np.r_[:self.d, self.d:self.d + size] for size in self.dims]
        return embedded(whole, at, int(ends[-1]), coordinates)

    def split(self, z: Array) -> tuple:
        """(w (d,), t (n, personal), padded) of a point z of `joint`."""
        z = plain.joint_point(z, self.d + sum(self.dims))
        theta = np.stack([np.repeat(0 * z[:1], self.personal)] * self.n)
        for row, size, end in zip(theta, self.dims, np.cumsum([self.d, *self.dims])[1:], strict=True):
            row[:size] = z[end - size:end]
        return z[:self.d], theta

    def joint_optimum(self) -> tuple:
        """(w (d,), theta (n, personal) padded): stationary point of the weighted sum, in the declared arithmetic.

        It is the minimiser if every L_i is convex. Through the Schur complements A_i - B_i C_i^-1 B_i'; raises
        NoMinimiser if some C_i or their weighted sum is singular.
        """
        w, theta = self.stationary(self.native)
        return plain.handed_out(w, ()), plain.handed_out(theta, ())

    def stationary(self, domain: Domain, convex: bool = False) -> tuple:
        """`joint_optimum` in an arithmetic, as its numbers. convex: raise NoMinimiser, too, where floats see that it is none."""
        A, B, C, bw, bt = (domain.array(v) for v in (self.A, self.B, self.C, self.bw, self.btheta))
        p = domain.array(self._weights_for(domain))
        S, s, inverted = 0 * A[0], 0 * bw[0], []
        try:
            for i, k in enumerate(self.dims):
                Bi = B[i][:, :k]
                _check_regular(C[i][:k, :k], C[i][:k, :k], convex)
                solved = linalg.solve(C[i][:k, :k], np.concatenate([Bi.T, bt[i][:k, None]], axis=1))
                inverted.append((solved[:, :-1], solved[:, -1]))     # C_i^-1 B_i', C_i^-1 btheta_i
                S = S + p[i] * (A[i] - linalg.matmul(Bi, solved[:, :-1]))
                s = s + p[i] * (bw[i] - linalg.matmul(Bi, solved[:, -1]))
            _check_regular(S, A, convex, p)
            w = linalg.solve(S, s)
        except np.linalg.LinAlgError as error:
            raise NoMinimiser(f"no unique joint optimum: {error}. Every C_i and the sum of the Schur complements "
                              "must be invertible; add a small multiple of the identity.") from None
        theta = 0 * bt
        for i, (slope, start) in enumerate(inverted):
            theta[i, :self.dims[i]] = start - linalg.matmul(slope, w)
        return w, theta

    def _gradient(self, who: Who, y, sample):
        refuse("problem", "Residual", "has personal parameters, so its gradients come in pairs",
               "Use problem.shared() for an algorithm without personal parameters.")

    def _values(self, x):
        return self._gradient(None, x, None)

    def joint_value(self, w: Array, theta: Array) -> Array:
        """The weighted sum of the L_i: w (..., d), theta (..., n, personal) -> (...,)."""
        if "p" not in self.__dict__:
            return plain.joint_value(self, w, theta)
        w = w[..., None, :]
        linear = (matvec(self._A, w) / 2 + matvec(self._B, theta) - self._bw) * w
        return (self.p * (linear.sum(-1) + ((matvec(self._C, theta) / 2 - self._btheta) * theta).sum(-1))).sum(-1)

    def _gradient_pair(self, who: Who, w, theta, sample):
        B = self._B[who]
        gw = matvec(self._A[who], w) + matvec(B, theta) - self._bw[who]
        gtheta = matvec(B.swapaxes(-1, -2), w) + matvec(self._C[who], theta) - self._btheta[who]
        if sample is None:
            return gw, gtheta
        if sample.shape[-1] == self.d:
            return gw + sample, gtheta
        return gw + sample[..., :self.d], gtheta + self._real[who] * sample[..., self.d:]


def _check_regular(S, data, convex=False, p=None):
    """Raise LinAlgError where floats do not tell S, made of these data (their sum under weights p), from a singular matrix, or
    from one that is not positive. Coordinates are scaled by their data: their units say nothing."""
    if S.dtype != np.float64:
        return
    data = np.abs(data) if p is None else (p[:, None, None] * np.abs(data)).sum(0)
    size = np.diagonal(data)
    size = np.sqrt(np.where(size > 0, size, max(data.max(), 1e-300)))
    values = np.linalg.eigvalsh((S + S.T) / 2 / size[:, None] / size)
    if (values if convex else np.abs(values)).min() <= 1e-13 * max(1.0, np.abs(values).max()):
        raise np.linalg.LinAlgError("matrix is singular within rounding" + " or not positive definite" * convex)


def embedded(problem: Quadratic, places, size, coordinates):
    """Quadratic clients in `size` coordinates: of client i those kept[i] (or kept) of its own, at places[i]."""
    entries = problem.n * size**2
    if entries > LARGEST_JOINT:
        raise TooLarge(f"the Hessians of {problem.n} clients in {size} joint coordinates have {entries} entries, above "
                       f"{LARGEST_JOINT}: take fewer clients, or Residual.joint_optimum(), which works in blocks")
    b = np.repeat(0 * problem.b[:, :1], size, axis=1)
    H = np.repeat(0 * problem.H[:, :1, :1] + 0 * b[:, None], size, axis=1)
    for i, at in enumerate(places):
        of_client = coordinates[i] if isinstance(coordinates, list) else coordinates
        H[i][np.ix_(at, at)], b[i][at] = problem.H[i][np.ix_(of_client, of_client)], problem.b[i][of_client]
    return Quadratic.from_linear(H, b, problem.weights, problem.offset, problem.name)
