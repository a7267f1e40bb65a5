"""First and second moments of jump-linear rounds: z' = M z + c + G xi with maps drawn by a chain of modes.

Blocks are E[. 1{mode = j}]: X_j = E[zz' 1{mode=j}], m_j = E[z 1{mode=j}], pi_j = P(mode=j). A memoryless law is
the case of one mode. Everything works in floats and in exact arithmetics.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, gmres

from fltheory import linalg
from fltheory.errors import CertificateFailed
from fltheory.operators.mixture import Mixture
from fltheory.scalars import is_rational

DENSE = 300  # unknowns up to which second-moment maps are written out as matrices


@dataclass(frozen=True)
class Moments:
    """mixtures[j] acts when the chain enters mode j; chain (J, J) row-stochastic in the same arithmetic;
    variance: sigma^2/d of the noise in that arithmetic."""

    mixtures: tuple[Mixture, ...]
    chain: np.ndarray
    variance: object

    @property
    def size(self) -> int:
        return self.mixtures[0].size

    @property
    def modes(self) -> int:
        return len(self.mixtures)

    def move(self, blocks):
        """sum_k P_kj block_k for every j: blocks (J, ...) -> (J, ...)."""
        return _weighed(self.chain.T, blocks)

    def mean_step(self, pi, m):
        """One round of (pi (J,), m (J, r))."""
        pi, m = self.move(pi), self.move(m)
        new = []
        for mix, q, v in zip(self.mixtures, pi, m, strict=True):
            M, c = mix.mean()
            new.append((M * v).sum(-1) + c * q)
        return pi, np.stack(new)

    def step(self, pi, m, X):
        """One round of (pi (J,), m (J, r), X (J, r, r))."""
        after, moved, carried = self.move(pi), self.move(m), self.move(X)
        _, new_m = self.mean_step(pi, m)
        blocks = []
        for mix, q, v, S in zip(self.mixtures, after, moved, carried, strict=True):
            full = np.concatenate([np.concatenate([S, v[:, None]], axis=1),
                                   np.append(v, [q])[None]], axis=0)
            blocks.append(mix.push(full, self.size + 1) + self.variance * q * mix.noise_square())
        return after, new_m, np.stack(blocks)

    def second(self, X):
        """The homogeneous second-moment map: X (J, r, r) -> E[M X M'] blockwise."""
        return np.stack([mix.push(S) for mix, S in zip(self.mixtures, self.move(X), strict=True)])

    def second_adjoint(self, V):
        """Its adjoint in the trace inner product."""
        pulled = np.stack([mix.pull(S) for mix, S in zip(self.mixtures, V, strict=True)])
        return _weighed(self.chain, pulled)

    def _zeros(self, *shape):
        """Blocks of zeros (J, *shape) in this arithmetic."""
        mix = self.mixtures[0]
        return np.full((self.modes, *shape), mix.zero, dtype=mix.first.dtype)

    # ---- mean ------------------------------------------------------------------------------------------
    def mean_matrix(self):
        """The mean map on stacked blocks (J r, J r)."""
        r = self.size
        rows = []
        for j, mix in enumerate(self.mixtures):
            M, _ = mix.mean()
            rows.append(np.concatenate([self.chain[k, j] * M for k in range(self.modes)], axis=1))
        return np.concatenate(rows, axis=0).reshape(self.modes * r, self.modes * r)

    def stationary_modes(self):
        if self.modes == 1:
            return self.chain[0]
        kernel = self.chain.T - linalg.identity(self.modes, self.chain)
        system = np.concatenate([kernel[:-1], 0 * kernel[:1] + 1])
        return linalg.solve(system, np.append(0 * kernel[0, :-1], [kernel[0, 0] * 0 + 1]))

    def stationary_mean(self):
        """(pi, m) with m = one round of m; raises LinAlgError if the mean map has an eigenvalue 1."""
        pi = self.stationary_modes()
        M = self.mean_matrix()
        _, push = self.mean_step(pi, self._zeros(self.size))
        solved = linalg.solve(linalg.identity(len(M), M) - M, push.reshape(-1))
        return pi, solved.reshape(self.modes, self.size)

    # ---- second moments --------------------------------------------------------------------------------
    @property
    def unknowns(self) -> int:
        return self.modes * self.size * (self.size + 1) // 2

    def _pack(self, X):
        i, j = np.triu_indices(self.size)
        return X[:, i, j].reshape(-1)

    def _unpack(self, v):
        i, j = np.triu_indices(self.size)
        v = v.reshape(self.modes, -1)
        X = np.empty((self.modes, self.size, self.size), dtype=v.dtype)
        X[:, i, j] = v
        X[:, j, i] = v
        return X

    def second_matrix(self):
        """The second-moment map on packed symmetric blocks, dense (q, q)."""
        zero = self.mixtures[0].zero
        unit = np.full((self.unknowns, self.unknowns), zero, dtype=self.mixtures[0].first.dtype)
        for k in range(self.unknowns):
            unit[k, k] = zero + 1
        return np.stack([self._pack(self.second(self._unpack(e))) for e in unit], axis=1)

    def perron(self):
        """(rate, V): spectral radius of the second-moment map and a positive semidefinite eigenblock (floats).

        The map preserves the cone of positive matrices, so its spectral radius is an eigenvalue. V (J, r, r) is
        scaled to largest entry 1. Arnoldi can miss; `certify` makes the number safe.
        """
        if self.size == 0:
            return 0.0, np.zeros((self.modes, 0, 0))
        try:
            if self.unknowns <= DENSE:
                raise ArpackNoConvergence("small enough for the dense route", [], [])
            T = LinearOperator(
                (self.unknowns,) * 2, matvec=lambda v: self._pack(self.second(self._unpack(v))), dtype=float
            )
            start = self._pack(
                np.stack([np.eye(self.size)] * self.modes)
            )  # inside the cone: meets the Perron direction
            values, vectors = eigs(T, k=1, which="LM", v0=start, tol=1e-13)
        except ArpackNoConvergence:
            if self.unknowns > 3_000:
                raise CertificateFailed(f"second-moment map with {self.unknowns} unknowns: Arnoldi did not converge; "
                                        "reduce the dimension or use runs") from None
            values, vectors = np.linalg.eig(self.second_matrix())
        radius = np.abs(values).max()
        top = min(range(len(values)), key=lambda k: abs(values[k] - radius))
        V = self._unpack(np.real(vectors[:, top]))
        V = V * np.sign(np.trace(V.sum(0)) or 1.0)
        return float(radius), V / max(np.abs(V).max(), 1e-300)

    def mean_square_rate(self) -> float:
        """Spectral radius of the second-moment map (floats)."""
        return self.perron()[0]

    def stationary_second(self, pi, m):
        """X (J, r, r) = E[zz' 1{mode = j}], the fixed point of `step`; None where second moments do not converge.

        In exact arithmetics that is decided exactly: the map T preserves the cone of positive matrices, so its spectral
        radius is below 1 if and only if X = T(X) + 1 has a positive definite solution.
        """
        _, _, push = self.step(pi, m, self._zeros(self.size, self.size))
        rhs = self._pack(push)
        if self.size == 0:
            return push
        if rhs.dtype == object:
            return self._decided(rhs)
        if self.mean_square_rate() >= 1:
            return None
        if self.unknowns <= DENSE:
            T = self.second_matrix()
            return self._unpack(linalg.solve(linalg.identity(len(T), T) - T, rhs))
        A = LinearOperator(
            (self.unknowns,) * 2, matvec=lambda v: v - self._pack(self.second(self._unpack(v))), dtype=float
        )
        solution, info = gmres(A, rhs, rtol=1e-13, atol=0, restart=200, maxiter=50)
        if info != 0:
            raise CertificateFailed(f"covariance equation with {self.unknowns} unknowns: GMRES did not converge")
        return self._unpack(solution)

    def _decided(self, rhs):
        T = self.second_matrix()
        one = self._pack(np.stack([linalg.identity(self.size, self.mixtures[0].zero)] * self.modes))
        try:
            solved = linalg.solve(linalg.identity(len(T), T) - T, np.stack([rhs, one], axis=1))
        except np.linalg.LinAlgError:
            return None
        if is_rational(rhs[0]) and not all(linalg.is_positive_definite(block) for block in self._unpack(solved[:, 1])):
            return None
        return self._unpack(solved[:, 0])

    def centred(self, v):
        """The same rounds in coordinates u of z = v + u."""
        return Moments(tuple(mix.centred(v) for mix in self.mixtures), self.chain, self.variance)


def _weighed(rows, blocks):
    """sum_k rows_jk block_k for every j; most entries of a large chain are 0."""
    if len(rows) == 1:
        return blocks
    if blocks.dtype != object:
        return (rows @ blocks.reshape(len(blocks), -1)).reshape(blocks.shape)
    zero = 0 * blocks[0]
    return np.stack([sum((q * block for q, block in zip(row, blocks, strict=True) if not q == 0), zero) for row in rows])
