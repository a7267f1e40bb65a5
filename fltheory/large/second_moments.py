"""Second moments on the star form: E[M X M'] is a mean part, blocks of single clients and a low rank, about d D^2 flops each.

The mean-square rate is the spectral radius of that map T on what the conserved quantities leave. T keeps the cone of positive
matrices, so for any Y > 0 the largest eigenvalue of the pencil (T(Y), Y) bounds it from above (Collatz and Wielandt).
"""
from __future__ import annotations

import functools

import numpy as np

from fltheory.core.errors import CertificateFailed, NotAffine, TooLarge
from fltheory.core.laws.draw import Draw, Slots
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import fraction
from fltheory.core.operators.size import BASIS, LEAST_STEPS, MOST_STEPS, shown
from fltheory.large import krylov
from fltheory.large.accuracy import Value
from fltheory.large.cohort_covariance import covariance
from fltheory.large.first_moments import ROUNDING
from fltheory.large.star import Arrow

LARGEST = 2500        # coordinates of a state: matrices of 50 MB, of which a few dozen are held
SAME = 1e-14          # of its largest entry: gap of a term and a multiple of the mean move
LEAK = 1e-9           # of what noise moves: that of conserved quantities which is rounding
NEAR = 1e-3           # relative gap of bound and rate at which the bound is near; distance of the resolvent
WIDE = 500            # coordinates beyond which Arnoldi's vectors, half a million numbers or more, cost more than the map
TIGHT = 3e-3          # relative gap of bound and rate beyond which the bound is of other, unreachable states
CLOSED = 1e-9         # of its right side: residual of the equation of a covariance
APART = 1e-6          # of a rate: residual of its mode above which Arnoldi's method has not converged
ROUNDS, DECAY = 20, 0.9   # rounds from a start, and of a rate: their decay below which its mode may be out of reach
DIRECTIONS = 24       # reachable vectors of the start of the rate


def check(D, what):
    """Raise TooLarge for states whose second moments are out of reach."""
    if D > LARGEST:
        raise TooLarge(f"{what}: second moments of a state of {D} numbers are matrices of {shown(8.0 * D * D)}, a few dozen of "
                       f"them, known up to {LARGEST} coordinates. Use ft.exchangeable for equal clients, fewer clients, or ft.run")


class SecondMoments:
    """Of a `Star` with `ConservedQuantities`; sigma: standard deviation of gradient noise; drawn: coordinates of a gradient."""

    def __init__(self, star, conserved, sigma, first):
        self.star, self.mean, self.first, self.D = star, star.mean, first, star.D
        mean = star.mean
        self.cov = covariance(mean, star.B is not None, star.C is not None)
        stay = identity(star) + star.base.times(-1.0)
        average = star.base + star.arrow(mean.inclusion, mean.shares) + stay.times(mean.nobody)
        self.move = average + identity(star).times(-1.0)
        self.low = [(sign, star.arrow(ua, us) + (stay.times(ue) if ue else stay.times(0.0))) for sign, ua, us, ue in self.cov.low]
        self.along, self.apart = self._along()
        self.W = self._orthonormal(conserved)
        self.noise = None
        if sigma:
            self._unmoved()
            self.noise = self._noise(float(fraction(sigma)) ** 2 / mean.problem.drawn)

    def _along(self):
        """(s, the other terms of `low`): where empty rounds change nothing and all clients have equal chances, the one term is a
        multiple of the mean move N, and sign A X A' is s N X N', which costs no product of its own."""
        if len(self.low) != 1:
            return 0.0, self.low
        (sign, low), = self.low
        moves, lows = (np.concatenate([a.reshape(-1) for a in arrow.parts()[:4]]) for arrow in (self.move, low))
        t = float(moves @ lows) / max(float(moves @ moves), 1e-300)
        same = np.abs(lows - t * moves).max() <= SAME * np.abs(lows).max()
        return (sign * t * t, []) if same else (0.0, self.low)

    def _orthonormal(self, conserved):
        r, d = conserved.count, self.mean.d
        if not r:
            return None
        # rows alpha (x) I_d, probed by the adjoint of `values`
        rows = []
        for k in range(d):
            leaves = [np.zeros((r, *s)) for s in self.mean.layout.shapes]
            for c, j in enumerate(conserved.clients.server):
                leaves[j][:, k] = conserved.alpha[:, c]
            for c, j in enumerate(conserved.clients.client):
                leaves[j][:, :, k] = conserved.beta[:, :, c]
            rows.append(self.star.order(self.mean.layout.flatten(self.mean.layout.kind(*leaves))))
        return np.linalg.qr(np.concatenate(rows).T)[0]

    def project(self, X):
        """Symmetric X (D, D) on what is not conserved, both sides."""
        if self.W is None:
            return X
        V = X @ self.W
        V -= self.W @ ((self.W.T @ V) / 2)
        both = np.concatenate([self.W, V], 1) @ np.concatenate([V, self.W], 1).T
        return np.subtract(X, both, out=both)

    # ---- the map ---------------------------------------------------------------------------------------
    def again(self, X):
        """E[M X M'] of a symmetric X (D, D), projected."""
        move = self.move                                            # N, of the mean round 1 + N
        Q = np.ascontiguousarray(move.apply(X).T)                   # X N'
        Q *= (1 + self.along) / 2
        Q += X
        H = move.apply(Q)
        Y = np.add(H, H.T, out=Q)
        Y += X                                                      # X + N X + X N' + (1 + along) N X N'
        for sign, low in self.apart:
            Y += sign * low.sandwich(X)
        self._scatter(Y, self._client_terms(X))
        return self.project(Y)

    def _client_terms(self, X):
        """(n, q, q): what single clients add beyond the rest."""
        star, c = self.star, self.cov.block
        if not c.any():
            return None
        blocks = self._blocks(X)
        F = [None if G is None else G[:, :, :-1] for G in (star.B, star.C)]
        out = 0.0
        for k in range(2):
            if F[k] is None:
                continue
            left = F[k] @ blocks
            out = out + c[:, k, k, None, None] * (left @ F[k].swapaxes(1, 2))
            if k == 0 and F[1] is not None:
                cross = c[:, 0, 1, None, None] * (left @ F[1].swapaxes(1, 2))
                out = out + cross + cross.swapaxes(1, 2)
        return out

    def _blocks(self, X):
        star = self.star
        n, ds, dc, q = star.n, star.ds, star.dc, star.q
        out = np.empty((n, q, q))
        out[:, :ds, :ds] = X[:ds, :ds]
        if dc:
            across = X[:ds, ds:].reshape(ds, n, dc).transpose(1, 0, 2)
            out[:, :ds, ds:], out[:, ds:, :ds] = across, across.swapaxes(1, 2)
            out[:, ds:, ds:] = _diagonal_blocks(X[ds:, ds:], n, dc)
        return out

    def _scatter(self, Y, G):
        """Add blocks G (n, q, q) of single clients to Y."""
        if G is None:
            return
        star = self.star
        n, ds, dc = star.n, star.ds, star.dc
        Y[:ds, :ds] += G[:, :ds, :ds].sum(0)
        if dc:
            Y[:ds, ds:] += G[:, :ds, ds:].transpose(1, 0, 2).reshape(ds, n * dc)
            Y[ds:, :ds] += G[:, ds:, :ds].reshape(n * dc, ds)
            diagonal = _diagonal_blocks(Y[ds:, ds:], n, dc)
            diagonal += G[:, ds:, ds:]

    # ---- what is added every round ---------------------------------------------------------------------
    def pushed(self, z):
        """Covariance (D, D) that one round adds at the state z (D,), in the star's order: of cohorts, and of noise."""
        star, c = self.star, self.cov.block
        Y = np.zeros((self.D, self.D))
        for sign, A in self.low:
            g = A.moved(z)
            Y += sign * np.outer(g, g)
        states = np.concatenate([np.broadcast_to(z[:star.ds], (star.n, star.ds)), z[star.ds:].reshape(star.n, star.dc),
                              np.ones((star.n, 1))], 1)[..., None]
        r = np.stack([np.zeros((star.n, star.q)) if F is None else (F @ states)[..., 0] for F in (star.B, star.C)], 1)
        self._scatter(Y, np.einsum("nkq,nkl,nlr->nqr", r, c, r, optimize=True))
        self._scatter(Y, self.noise)
        return self.project((Y + Y.T) / 2)

    def _unmoved(self):
        """Raise NotAffine where noise moves what quiet rounds keep: it has no stationary law."""
        if self.W is None:
            return
        mean, rng = self.mean, np.random.Generator(np.random.Philox(5))
        samples = Slots(lambda k: rng.standard_normal((mean.n, mean.problem.drawn)))
        zero, present = np.zeros(mean.D), mean.cohort(rng)
        moved = self.star.order(mean.at(zero, present, samples) - mean.at(zero, present))
        if np.abs(self.W.T @ moved).max() > LEAK * np.abs(moved).max():
            raise NotAffine(f"{type(mean.algorithm).__name__}: gradient noise moves a combination of memories that rounds without "
                            "noise keep, so that its variance grows. Use method='dense', or ft.run")

    def _noise(self, variance):
        """(n, q, q): E G G' of every client's own noise, from one-client rounds fed with units of it."""
        star, mean, d = self.star, self.mean, self.mean.problem.drawn
        counter = Slots()
        zero = mean.layout.unflatten(np.zeros((1, mean.D)))
        mean.algorithm.round(mean.problem, zero, Draw(EVERYONE, np.ones(star.n, dtype=np.int64), mean.steps, counter))
        units = counter.count * d
        unit = np.eye(units).reshape(units, counter.count, 1, d)
        square = np.empty((star.n, 3, 3))
        a, s, skipped = mean.inclusion, mean.shares, mean.nobody
        squares = covariance(mean, True, True).square     # noise may be shared out where the state is not
        for (j, k), value in {(0, 0): np.full(star.n, 1 - skipped), (0, 1): a, (0, 2): s, (1, 1): a, (1, 2): s,
                              (2, 2): squares}.items():
            square[:, j, k] = square[:, k, j] = value
        out = np.zeros((star.n, star.q, star.q))
        leaves = star.leaves(np.zeros((1, star.q)))
        for low, high in star.clients.batches(units, 4 * star.q):
            noisy = star.clients.parts(low, high, leaves, lambda k: unit[None, :, k])
            quiet = star.clients.parts(low, high, leaves)
            G = [star.rows(a) - star.rows(b) for a, b in zip(noisy, quiet, strict=True)]       # (clients, units, q)
            for j in range(3):
                for k in range(3):
                    if G[j].any() and G[k].any():
                        out[low:high] += square[low:high, j, k, None, None] * (G[j].swapaxes(1, 2) @ G[k])
        return variance * out

    # ---- rate ------------------------------------------------------------------------------------------
    # Symmetric matrices (D, D) are solved for as vectors of half the length.
    @functools.cached_property
    def _upper(self):
        rows, columns = np.triu_indices(self.D)
        return rows * self.D + columns

    def _vector(self, X):
        return X.reshape(-1)[self._upper]

    def _matrix(self, v):
        U = np.zeros((self.D, self.D))
        U.reshape(-1)[self._upper] = v
        X = U + U.T
        X.flat[::self.D + 1] = U.diagonal()
        return X

    def _operator(self):
        from scipy.sparse.linalg import LinearOperator
        size = self.D * (self.D + 1) // 2
        return LinearOperator((size, size), matvec=lambda v: self._vector(self.again(self._matrix(v))), dtype=float)

    def rate(self) -> Value:
        """Of E|z - z*|^2 per round: Arnoldi from inside the cone of reachable states, bounded from above."""
        start = self.star.order(self.first.starts(DIRECTIONS))
        X = start.T @ start / len(start)
        if self.noise is not None and np.abs(self.noise).max() > 0:
            far = np.zeros_like(X)
            self._scatter(far, self.noise)
            X = X / max(np.abs(X).max(), 1e-300) + far / np.abs(far).max()
        X = self.project(X)
        if not np.abs(X).max() > 0:
            return Value("mean_square_rate", 0.0, "no reachable direction", 0.0, 0.0, "bound")
        X = X / np.abs(X).max()
        value, top = self._ritz(X) if self.D <= WIDE else self._arnoldi(X)
        if not value > 0:
            return Value("mean_square_rate", 0.0, "Arnoldi: nothing reachable stays", 0.0, 0.0, "checked")
        bound = self.bound(value, top)
        loose = bound / value - 1
        gap = max(loose, 0.0)
        if loose > TIGHT:
            off = np.linalg.norm(self.again(top) - value * top) / (value * np.linalg.norm(top))
            other = f"the Collatz-Wielandt bound {bound:.8g} holds for" if bound < np.inf else "Collatz and Wielandt bound no"
            return Value("mean_square_rate", value, f"Arnoldi estimate from reachable states; {other} states that cannot be "
                         "reached, too", float(off), None, "estimate")
        return Value("mean_square_rate", value, f"Arnoldi, and at most {bound:.8g} by Collatz and Wielandt (Cholesky checked)",
                     gap, max(gap, ROUNDING), "bound")

    def _ritz(self, X):
        """(rate, its eigenvector (D, D)), of modes in which X has weight: rounding feeds those that cannot be reached, too."""
        size = self.D * (self.D + 1) // 2
        most = int(min(MOST_STEPS, max(LEAST_STEPS, BASIS // (8 * size))))
        act = self._operator()
        mode, = krylov.ritz(lambda V: np.stack([act @ v for v in V]), self._vector(X)[None], most)
        if mode.residual > APART * mode.rate:
            raise CertificateFailed(f"the second-moment map of {self.D} coordinates: Arnoldi's method has not converged after "
                                    f"{mode.steps} products. Use method='dense', or fewer clients")
        if mode.vector is None:
            return 0.0, None
        return float(mode.rate), self.project(self._matrix(mode.vector.real))

    def _arnoldi(self, X):
        """The same with few vectors at a time. Restarts lose sight of the weight of X: where rounds from X decay faster than what
        is found, `_ritz` decides."""
        from scipy.sparse.linalg import ArpackNoConvergence, eigs
        Y, decay = X, 0.0
        for _ in range(ROUNDS):
            Y = self.again(Y)
            decay = np.linalg.norm(Y)
            if not decay > 0:
                return 0.0, None
            Y /= decay
        try:
            values, vectors = eigs(self._operator(), k=1, v0=self._vector(Y), tol=1e-7, ncv=20)
        except ArpackNoConvergence:
            raise CertificateFailed(f"the second-moment map of {self.D} coordinates: Arnoldi's method did not converge") from None
        value = float(np.abs(values[0]))
        if decay < DECAY * value:
            return self._ritz(X)
        return value, self.project(self._matrix(vectors[:, 0].real))

    def bound(self, value, top=None):
        """Largest eigenvalue of (T(Y), Y): no eigenvalue of T exceeds it. Y is top (D, D), the eigenvector that was found, where it
        is near enough, else (1.001 value - T)^-1 1."""
        if top is not None and (bound := self._pencil(np.sign(np.trace(top)) * top)) / value - 1 <= NEAR:
            return bound
        for tolerance in (1e-3, 1e-7):      # any positive Y gives a bound: a rough one is nearly as good, where it is positive
            bound = self._pencil(self._solved(self.project(np.eye(self.D)), value * (1 + NEAR), tolerance)[0])
            if bound / value - 1 <= TIGHT:
                break
        return bound

    def _pencil(self, Y):
        """Largest eigenvalue of (T(Y), Y) for Y (D, D) projected; inf where Y is not positive there."""
        from scipy.linalg import eigvalsh, solve_triangular
        image = self.again(Y)
        if self.W is not None:
            Y = Y + np.abs(Y).max() * self.W @ self.W.T
        try:
            L = np.linalg.cholesky((Y + Y.T) / 2)
        except np.linalg.LinAlgError:
            return np.inf
        left = solve_triangular(L, image, lower=True)
        return float(eigvalsh(solve_triangular(L, left.T, lower=True))[-1])

    def _solved(self, R, r, tolerance):
        """(X, residual) with r X - T(X) = R."""
        from scipy.sparse.linalg import LinearOperator, bicgstab, gmres
        D, top = self.D, max(np.abs(R).max(), 1e-300)
        act = self._operator()
        A = LinearOperator(act.shape, matvec=lambda v: r * v - act @ v, dtype=float)
        right = self._vector(R / top)
        if D <= 900:
            v, _ = gmres(A, right, rtol=tolerance, atol=0, restart=60, maxiter=20)
        else:
            v, _ = bicgstab(A, right, rtol=tolerance, atol=0, maxiter=300)
        X = self.project(self._matrix(v))
        return top * X, np.abs(R / top + self.again(X) - r * X).max()

    # ---- floor -----------------------------------------------------------------------------------------
    def covariance(self, z):
        """(X (D, D) in the star's order, residual of X = T(X) + what a round adds at the fixed point z (D,), flat)."""
        R = self.pushed(self.star.order(z))
        if not np.abs(R).max() > 0:
            return R, 0.0
        X, residual = self._solved(R, 1.0, 1e-13)
        if not residual <= CLOSED * max(1.0, np.abs(X).max() / np.abs(R).max()):
            raise CertificateFailed(f"the equation of a covariance of {self.D} coordinates is left open by {residual:.1e} of "
                                    "its right side: the mean-square rate is too close to 1. Reduce the step size, or use "
                                    "method='dense'")
        return X, float(residual)

    def of_model(self, X):
        """Covariance (d, d) of the server model from that of the state."""
        def model(rows):
            z = self.star.flat(rows)
            at = self.mean.layout
            return self.mean.algorithm.model(at.unflatten(z)) - self.mean.algorithm.model(at.unflatten(0 * z[:1]))
        return model(np.ascontiguousarray(model(X).T))


def _diagonal_blocks(X, n, dc):
    """The n blocks (dc, dc) on the diagonal of X (n dc, n dc): a view."""
    a, b = X.strides
    return np.lib.stride_tricks.as_strided(X, (n, dc, dc), (dc * (a + b), a, b))


def identity(star) -> Arrow:
    """The round that changes nothing."""
    n, ds, dc = star.n, star.ds, star.dc
    return Arrow(np.eye(ds), np.zeros((ds, n * dc)), np.zeros((n, dc, ds)), np.broadcast_to(np.eye(dc), (n, dc, dc)), np.zeros(ds),
                 np.zeros((n, dc)))
