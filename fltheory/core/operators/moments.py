"""First and second moments of jump-linear rounds: z' = M z + c + G xi with maps drawn by a chain of modes.

Blocks are E[. 1{mode = j}]: X_j = E[zz' 1{mode=j}], m_j = E[z 1{mode=j}], pi_j = P(mode=j). A memoryless law is
the case of one mode. Everything works in floats and in exact arithmetics.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, gmres

from fltheory.core.errors import CertificateFailed
from fltheory.core.kinds import Law
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import is_rational
from fltheory.core.operators.random_map import Mixture

DENSE = 300  # unknowns up to which second-moment maps are written out as matrices


@dataclass(frozen=True)
class Moments:
    """mixtures[j] acts when the chain enters mode j; chain (J, J) row-stochastic in the same arithmetic;
    variance: sigma^2/d of the noise in that arithmetic. cycle: the modes in the order in which they act, where they act
    in turn: then no matrix over all modes is made, so that schedules of thousands of rounds stay cheap."""

    mixtures: tuple[Mixture, ...]
    chain: Any
    variance: object
    cycle: tuple | None = None

    @property
    def size(self) -> int:
        return self.mixtures[0].size

    @property
    def modes(self) -> int:
        return len(self.mixtures)

    @property
    def period(self) -> int:
        """Rounds after which the modes repeat for certain: 1 in general."""
        return len(self.cycle) if self.cycle else 1

    def move(self, blocks):
        """sum_k P_kj block_k for every j: blocks (J, ...) -> (J, ...)."""
        if self.cycle:
            out = np.empty_like(blocks)
            out[list(self.cycle)] = blocks[[self.cycle[-1], *self.cycle[:-1]]]
            return out
        return _weighed(self.chain.T, blocks)

    def mean_step(self, pi, m):
        """One round of (pi (J,), m (J, r))."""
        pi, m = self.move(pi), self.move(m)
        new = 0 * m
        for k, (mix, q, v) in enumerate(zip(self.mixtures, pi, m, strict=True)):
            if not q == 0:  # nothing is in modes of probability 0: one of many, in a schedule
                M, c = mix.mean()
                new[k] = (M * v).sum(-1) + c * q
        return pi, new

    def step(self, pi, m, X):
        """One round of (pi (J,), m (J, r), X (J, r, r))."""
        after, moved, carried = self.move(pi), self.move(m), self.move(X)
        _, new_m = self.mean_step(pi, m)
        blocks = 0 * carried
        for k, (mix, q, v, S) in enumerate(zip(self.mixtures, after, moved, carried, strict=True)):
            if not q == 0:
                blocks[k] = self._noisy(mix, q, v)(S)
        return after, new_m, blocks

    def second(self, X):
        """The homogeneous second-moment map: X (J, r, r) -> E[M X M'] blockwise."""
        return np.stack([mix.push(S) for mix, S in zip(self.mixtures, self.move(X), strict=True)])

    def around(self, first, act):
        """act(mix, block) along one period that starts after the mode `cycle[-1]`: [block of cycle[0], ..., cycle[-1]]."""
        out = []
        for j in self.cycle:
            first = act(self.mixtures[j], first)
            out.append(first)
        return out

    def period_matrix(self, pace=1):
        """The mean map of one period, on the block of one mode where the modes act in turn; divided by pace every round."""
        if not self.cycle:
            return self.mean_matrix()
        eye = linalg.identity(self.size, self.mixtures[0].zero)
        return self.around(eye, lambda mix, P: linalg.matmul(mix.mean()[0], P) / pace)[-1]

    def mean_rate(self) -> float:
        """Spectral radius of the mean map per round (floats)."""
        if self.size == 0:
            return 0.0
        pace = self._pace(np.eye(self.size), lambda mix, P: mix.mean()[0] @ P)
        if pace == 0:
            return 0.0
        return float(np.abs(np.linalg.eigvals(self.period_matrix(pace))).max() ** (1 / self.period) * pace)

    def _pace(self, block, act) -> float:
        """Growth per round of a block along one period: long products leave the range of floats, in both directions."""
        total = 0.0
        for j in self.cycle or ():
            block = act(self.mixtures[j], block)
            size = np.abs(block).max()
            if not 0 < size < np.inf:
                return 0.0 if size == 0 else 1.0
            total, block = total + np.log(size), block / size
        return float(np.exp(total / self.period))  # 1 where no modes act in turn

    def second_adjoint(self, V):
        """Its adjoint in the trace inner product."""
        return self.back(np.stack([mix.pull(S) for mix, S in zip(self.mixtures, V, strict=True)]))

    def back(self, blocks):
        """sum_j P_kj block_j for every k, the adjoint of `move`."""
        if self.cycle:
            out = np.empty_like(blocks)
            out[[self.cycle[-1], *self.cycle[:-1]]] = blocks[list(self.cycle)]
            return out
        return _weighed(self.chain, blocks)

    def _zeros(self, *shape):
        """Blocks of zeros (J, *shape) in this arithmetic."""
        mix = self.mixtures[0]
        return np.full((self.modes, *shape), mix.zero, dtype=mix.first.dtype)

    # ---- mean ------------------------------------------------------------------------------------------
    def mean_matrix(self):
        """The mean map on stacked blocks (J r, J r)."""
        r, chain = self.size, self._matrix()
        rows = []
        for j, mix in enumerate(self.mixtures):
            M, _ = mix.mean()
            rows.append(np.concatenate([chain[k, j] * M for k in range(self.modes)], axis=1))
        return np.concatenate(rows, axis=0).reshape(self.modes * r, self.modes * r)

    def _matrix(self):
        return self.chain() if callable(self.chain) else self.chain

    def stationary_modes(self):
        if self.modes == 1:
            return self._matrix()[0]
        if self.cycle:
            one = self.mixtures[0].zero + 1
            return np.array([one / self.modes] * self.modes + [None], dtype=object)[:-1].astype(self.mixtures[0].first.dtype)
        kernel = self.chain.T - linalg.identity(self.modes, self.chain)
        system = np.concatenate([kernel[:-1], 0 * kernel[:1] + 1])
        return linalg.solve(system, np.append(0 * kernel[0, :-1], [kernel[0, 0] * 0 + 1]))

    def stationary_mean(self):
        """(pi, m) with m = one round of m; raises LinAlgError if the mean map has an eigenvalue 1."""
        pi = self.stationary_modes()
        if self.cycle:
            zero, last = self._zeros(self.size)[0], self.cycle[-1]

            def act(mix, v):
                M, c = mix.mean()
                return (M * v).sum(-1) + c * pi[last]
            push = self.around(zero, act)[-1]
            P = self.period_matrix()
            start = linalg.solve(linalg.identity(self.size, self.mixtures[0].zero) - P, push)
            m = self._zeros(self.size)
            for j, v in zip(self.cycle, self.around(start, act), strict=True):
                m[j] = v
            return pi, m
        M = self.mean_matrix()
        _, push = self.mean_step(pi, self._zeros(self.size))
        solved = linalg.solve(linalg.identity(len(M), M) - M, push.reshape(-1))
        return pi, solved.reshape(self.modes, self.size)

    # ---- second moments --------------------------------------------------------------------------------
    @property
    def carried(self) -> int:
        """Blocks of the second-moment map: one per mode, or one in all where the modes act in turn."""
        return 1 if self.cycle else self.modes

    @property
    def unknowns(self) -> int:
        return self.carried * self.size * (self.size + 1) // 2

    def again(self, X, pace=1):
        """The homogeneous second-moment map of one period: X (carried, r, r); divided by pace every round."""
        return np.stack([self.around(X[0], lambda mix, S: mix.push(S) / pace)[-1]]) if self.cycle else self.second(X)

    def listed(self) -> Moments:
        """The same rounds with a matrix over all modes instead of their order."""
        return Moments(self.mixtures, self._matrix(), self.variance)

    def _pack(self, X):
        i, j = np.triu_indices(self.size)
        return X[:, i, j].reshape(-1)

    def _unpack(self, v):
        i, j = np.triu_indices(self.size)
        v = v.reshape(self.carried, -1)
        X = np.empty((self.carried, self.size, self.size), dtype=v.dtype)
        X[:, i, j] = v
        X[:, j, i] = v
        return X

    def second_matrix(self, pace=1):
        """The second-moment map of one period on packed symmetric blocks, dense (q, q)."""
        if self._floats and all(isinstance(mix, Mixture) for mix in self.mixtures):
            if self.cycle:
                # one product after the other: `around` would keep the matrices of all rounds
                return functools.reduce(lambda P, j: self._square(self.mixtures[j]) @ P / pace, self.cycle, np.eye(self.unknowns))
            if pace == 1:
                return self._squares
        zero = self.mixtures[0].zero
        unit = np.full((self.unknowns, self.unknowns), zero, dtype=self.mixtures[0].first.dtype)
        for k in range(self.unknowns):
            unit[k, k] = zero + 1
        return np.stack([self._pack(self.again(self._unpack(e), pace)) for e in unit], axis=1)

    @property
    def _floats(self) -> bool:
        return self.mixtures[0].first.dtype == np.float64

    @functools.cached_property
    def _squares(self):
        """`second_matrix` in floats from E[M (x) M] of every mode: many outcomes are summed in one product."""
        blocks, chain = [self._square(mix) for mix in self.mixtures], self._matrix()
        return np.block([[chain[k, j] * block for k in range(self.modes)] for j, block in enumerate(blocks)])

    def _square(self, mix):
        """E[M (x) M] of one mode in floats, on packed symmetric matrices."""
        r = self.size
        i, j = np.triu_indices(r)
        full = mix.squares()[i * r + j]
        both = full[:, i * r + j] + full[:, j * r + i]
        return np.where(i == j, both / 2, both)

    def perron(self):
        """(rate, V): spectral radius of the second-moment map and a positive semidefinite eigenblock (floats).

        Of the second-moment map per round. The map preserves the cone of positive matrices, so its spectral radius is an
        eigenvalue. V (carried, r, r) is scaled to largest entry 1. Arnoldi can miss; `certify` makes the number safe.
        """
        return self._perron

    @functools.cached_property
    def _perron(self):
        if self.size == 0:
            return 0.0, np.zeros((self.carried, 0, 0))
        pace = self._pace(np.eye(self.size), lambda mix, S: mix.push(S))
        if pace == 0:
            return 0.0, 0 * self._zeros(self.size, self.size)[:self.carried]
        try:
            if self.unknowns <= DENSE:
                raise ArpackNoConvergence("small enough for the dense route", [], [])
            values, vectors = self.dominant(pace, tol=1e-13)
        except ArpackNoConvergence:
            if self.unknowns > 3_000:
                raise CertificateFailed(f"second-moment map with {self.unknowns} unknowns: Arnoldi did not converge; "
                                        "reduce the dimension or use runs") from None
            values, vectors = np.linalg.eig(self.second_matrix(pace))
        radius = np.abs(values).max()
        top = min(range(len(values)), key=lambda k: abs(values[k] - radius))
        V = self._unpack(np.real(vectors[:, top]))
        V = V * np.sign(np.trace(V.sum(0)) or 1.0)
        return float(radius) ** (1 / self.period) * pace, V / max(np.abs(V).max(), 1e-300)

    def mean_square_rate(self) -> float:
        """Spectral radius of the second-moment map (floats)."""
        return self.perron()[0]

    def stationary_second(self, pi, m):
        """X (J, r, r) = E[zz' 1{mode = j}], the fixed point of `step`; None where second moments do not converge.

        In exact arithmetics that is decided exactly: the map T preserves the cone of positive matrices, so its spectral
        radius is below 1 if and only if X = T(X) + 1 has a positive definite solution.
        """
        zero = self._zeros(self.size, self.size)
        if self.size == 0:
            return zero
        if self._sure_contraction is not None:
            return np.stack([v[:, None] * v[None] / q for v, q in zip(m, pi, strict=True)]) if self._sure_contraction else None
        if not self.cycle:
            return self._fixed(self.step(pi, m, zero)[2])
        entered = (self.cycle[-1], *self.cycle[:-1])
        moves = [self._noisy(self.mixtures[j], pi[j], m[k]) for k, j in zip(entered, self.cycle, strict=True)]
        pushed = zero[0]
        for move in moves:
            pushed = move(pushed)
        start = self._fixed(pushed[None])
        if start is None:
            return None
        block = start[0]
        for j, move in zip(self.cycle, moves, strict=True):
            block = zero[j] = move(block)
        return zero

    @functools.cached_property
    def _sure_contraction(self):
        """Whether rounds without any randomness contract, in rationals and by the mean map alone; None where that does not
        decide. Then a covariance is 0, and there is no equation to solve for it."""
        sure = (self.modes == 1 or self.cycle) and all(mix.single for mix in self.mixtures)
        if not sure or not is_rational(self.variance) or not self.variance == 0:
            return None
        low, high = linalg.charpoly_radius(self.period_matrix())
        return True if high < 1 else False if low >= 1 else None

    def _noisy(self, mix, q, v):
        """X -> the second moments after a round that was entered with probability q and mean v (q times the mean)."""
        def move(S):
            full = np.concatenate([np.concatenate([S, v[:, None]], axis=1), np.append(v, [q])[None]], axis=0)
            return mix.push(full, self.size + 1) + self.variance * q * mix.noise_square()
        return move

    def _fixed(self, push):
        """The solution X of X = again(X) + push, None where the map does not contract."""
        rhs = self._pack(push)
        if rhs.dtype == object:
            return self._decided(rhs)
        if self.mean_square_rate() >= 1:
            return None
        return self._unpack(self.resolvent(rhs))

    def resolvent(self, rhs, rate=1.0, rtol=1e-13):
        """(rate - T)^-1 rhs on packed blocks, T the second-moment map of one period, in floats."""
        if self.unknowns <= DENSE:
            T = self.second_matrix()
            return linalg.solve(rate * linalg.identity(len(T), T) - T, rhs)
        T = self._operator()
        solution, info = gmres(LinearOperator(T.shape, matvec=lambda v: rate * v - T @ v, dtype=float), rhs, rtol=rtol, atol=0,
                               restart=200, maxiter=100)
        if info != 0:
            raise CertificateFailed(f"second-moment equation with {self.unknowns} unknowns: GMRES did not converge; reduce the "
                                    "dimension, or ask for a larger width")
        return solution

    def _operator(self, pace=1):
        return LinearOperator((self.unknowns,) * 2, matvec=lambda v: self._pack(self.again(self._unpack(v), pace)), dtype=float)

    def dominant(self, pace=1, **options):
        """Eigenvalues and -vectors of largest modulus of the second-moment map, divided by pace every round, by Arnoldi's method
        from a start inside the cone, which meets the Perron direction; raises ArpackNoConvergence."""
        inside = self._pack(np.stack([np.eye(self.size)] * self.carried))
        return eigs(self._operator(pace), k=1, which="LM", v0=inside, **options)

    def contracts(self) -> bool:
        """Whether the mean-square rate is below 1, decided exactly (for rationals)."""
        return self._decided(self._pack(self._zeros(self.size, self.size)[:self.carried])) is not None

    def _decided(self, rhs):
        T = self.second_matrix()
        one = self._pack(np.stack([linalg.identity(self.size, self.mixtures[0].zero)] * self.carried))
        try:
            solved = linalg.solve(linalg.identity(len(T), T) - T, np.stack([rhs, one], axis=1))
        except np.linalg.LinAlgError:
            return None
        if is_rational(rhs[0]) and not all(linalg.is_positive_definite(block) for block in self._unpack(solved[:, 1])):
            return None
        return self._unpack(solved[:, 0])

    def centred(self, v):
        """The same rounds in coordinates u of z = v + u."""
        return Moments(tuple(mix.centred(v) for mix in self.mixtures), self.chain, self.variance, self.cycle)


def moments_of(mixtures, law: Law, domain, variance) -> Moments:
    """The moments of a law's rounds; where its modes act in turn, all of them, their matrix is made on demand only."""
    def chain():
        return domain.array(np.array(law.chain(), dtype=object))
    follow = law.successor() if len(mixtures) > 1 else None
    if follow is None:
        return Moments(tuple(mixtures), chain(), variance)
    cycle = [0]
    while len(cycle) < len(follow) and follow[cycle[-1]] != 0:
        cycle.append(follow[cycle[-1]])
    alone = len(cycle) == len(follow)  # several cycles: which one acts depends on the start
    return Moments(tuple(mixtures), chain if alone else chain(), variance, tuple(cycle) if alone else None)


def _weighed(rows, blocks):
    """sum_k rows_jk block_k for every j; most entries of a large chain are 0."""
    if len(rows) == 1:
        return blocks
    if blocks.dtype != object:
        return (rows @ blocks.reshape(len(blocks), -1)).reshape(blocks.shape)
    zero = 0 * blocks[0]
    return np.stack([sum((q * block for q, block in zip(row, blocks, strict=True) if not q == 0), zero) for row in rows])
