"""What no round changes: sum_k alpha_k s_k + sum_i sum_j beta_ij c_ij, the same combination in every coordinate.

s_k are the server's vectors, c_ij the memories of client i. In floats such a quantity is an eigenvalue 1 that rounding feeds:
a Krylov space leaves the reachable states along it, and neither residuals nor convergence show it. So every product is
projected. Found from one-client rounds in O(n), with beta_i = -alpha X_i where a client's memories determine it, and held
against rounds of random cohorts.
"""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import CertificateFailed

TRIALS = 3        # random states of a one-client round
NULL = 1e-9       # of the largest singular value: combinations that are kept
DRIFT = 1e-10     # of what a round changes, at random cohorts


class ConservedQuantities:
    """alpha (r, server leaves), beta (r, n, client leaves): r quantities, each of d coordinates; orthonormal rows.

    `project` removes them from states (.., D), `values` gives them (.., r, d). r = 0 where there are none.
    """

    def __init__(self, clients, seed=7):
        self.clients, self.mean = clients, clients.mean
        self.layout, d = self.mean.layout, self.mean.d
        self.alpha, self.beta = np.zeros((0, len(clients.server))), np.zeros((0, self.mean.n, len(clients.client)))
        if clients.separable and clients.client and all(s[-1] == d for s in self.layout.shapes):
            rng = np.random.Generator(np.random.Philox(seed))
            self._find(rng) if self.mean.model is not None else self._weigh(rng)
            if self.count:
                self._normalise()
                self._confirm(rng)

    @property
    def count(self) -> int:
        """Quantities, each with d coordinates."""
        return len(self.alpha)

    def values(self, z):
        """(.., r, d) of states z (.., D)."""
        leaves = self.layout.unflatten(z)
        out = sum(self.alpha[:, k, None] * leaves[j][..., None, :] for k, j in enumerate(self.clients.server))
        return out + sum(self.beta[:, :, k] @ leaves[j] for k, j in enumerate(self.clients.client))

    def project(self, z):
        """States (.., D) without their conserved part, twice for rounding."""
        if not self.count:
            return z
        for _ in range(2):
            w, leaves = self.values(z), list(self.layout.unflatten(z))
            for k, j in enumerate(self.clients.server):
                leaves[j] = leaves[j] - self.alpha[:, k] @ w
            for k, j in enumerate(self.clients.client):
                leaves[j] = leaves[j] - self.beta[:, :, k].T @ w
            z = self.layout.flatten(self.layout.kind(*leaves))
        return z

    def _find(self, rng):
        clients, d = self.clients, self.mean.d
        S, per_client = len(clients.server), len(clients.client)
        marks = rng.standard_normal((TRIALS, len(self.layout.shapes), d))
        leaves = [marks[None, :, j] if j in clients.server else marks[None, :, None, j] for j in range(len(self.layout.shapes))]
        R, X, unit = np.zeros((0, S)), [], np.zeros(S)
        for low, high in clients.batches(TRIALS, d * (S + per_client)):
            _, B, C = clients.parts(low, high, leaves)
            def moves(which, B=B, C=C, count=high - low):
                return np.stack([np.concatenate([B[j], C[j]], 1).reshape(count, -1) for j in which], 1)
            at_server, at_client = moves(clients.server), moves(clients.client)
            x = at_server @ np.linalg.pinv(at_client, rcond=1e-10)           # (clients, S, per_client)
            rest = (at_server - x @ at_client).swapaxes(0, 1).reshape(S, -1)
            R = np.linalg.qr(np.concatenate([R, rest.T]), mode="r")
            unit = np.maximum(unit, np.abs(at_server).max((0, 2)))
            X.append(x)
        X = np.concatenate(X)
        nobody, starts = self._moved_by_nobody(rng, X), self._moved_by_starts(X)
        unit = np.maximum(unit, np.abs(nobody).max(1))
        unit = np.where(unit > 0, unit, 1.0)       # leaves come in different units: lr times a gradient, or a gradient
        _, size, V = np.linalg.svd(np.concatenate([R, nobody.T, starts.T]) / unit)
        size = np.concatenate([size, np.zeros(S - len(size))])
        alpha = V[size <= NULL * max(size.max(initial=0.0), 1.0)] / unit
        if not len(alpha):
            return
        self.alpha, self.beta = alpha, -np.einsum("rs,nsc->rnc", alpha, X)

    def _weigh(self, rng):
        """Of full rounds, whose clients may meet in any way: sums over clients by 1, p_i, and these times the local steps."""
        mean, clients, per_client = self.mean, self.clients, len(self.clients.client)
        p, steps = mean.problem.p, np.asarray(mean.steps, dtype=float)
        kinds = np.stack([np.ones(mean.n), p, steps, p * steps])
        U, size, _ = np.linalg.svd(kinds.T / np.linalg.norm(kinds, axis=1), full_matrices=False)
        sums = U[:, size > 1e-8 * size.max()].T                                   # (kinds, n), orthonormal

        def features(z, sums=sums):
            leaves = mean.layout.unflatten(z)
            return np.stack([leaves[j] for j in clients.server] + [row for j in clients.client for row in sums @ leaves[j]])
        rounds = [mean.start(np.ones(mean.d)) - mean.start(np.zeros(mean.d))]
        for _ in range(2 * TRIALS):
            z = rng.standard_normal(mean.D)
            rounds.append(mean(z) - z)
        changes = np.concatenate([features(v) for v in rounds], 1)                   # (features, ..)
        unit = np.max([features(np.abs(v), np.abs(sums)).max(1) for v in rounds], 0)   # what cancels counts in full
        unit[unit == 0] = 1.0
        _, size, V = np.linalg.svd(changes.T / unit)
        size = np.concatenate([size, np.zeros(len(unit) - len(size))])
        rows = V[size <= NULL * max(size.max(initial=0.0), 1.0)] / unit
        self.alpha = rows[:, :len(clients.server)]
        self.beta = np.einsum("rck,kn->rnc", rows[:, len(clients.server):].reshape(len(rows), per_client, len(sums)), sums)

    def _normalise(self):
        gram = self.alpha @ self.alpha.T + np.einsum("rnc,qnc->rq", self.beta, self.beta)
        turn = np.linalg.inv(np.linalg.cholesky(gram))
        self.alpha, self.beta = turn @ self.alpha, np.einsum("rq,qnc->rnc", turn, self.beta)

    def _moved_by_nobody(self, rng, X):
        """(S, d): what alpha must annihilate of an empty round from a random state."""
        z = rng.standard_normal(self.mean.D)
        return self._rows(self.mean.at(z, np.zeros(self.mean.n)) - z, X)

    def _moved_by_starts(self, X):
        """(S, d) of the difference of two starts: what depends on the start is not fixed."""
        one = np.ones(self.mean.d)
        return self._rows(self.mean.start(one) - self.mean.start(0 * one), X)

    def _rows(self, z, X):
        """alpha times this is the quantity (d,) at z, for beta = -alpha X."""
        leaves = self.layout.unflatten(z)
        server = np.stack([leaves[j] for j in self.clients.server])
        return server - sum(X[:, :, k].T @ leaves[j] for k, j in enumerate(self.clients.client))

    def _confirm(self, rng):
        worst = 0.0
        for _ in range(TRIALS):
            z = rng.standard_normal(self.mean.D)
            move = self.mean.at(z, self.mean.cohort(rng)) - z
            gap, size = np.abs(self.values(move)).max(), np.abs(move).max() + 1e-3
            worst = max(worst, gap / size)
        if not worst <= DRIFT * max(1.0, np.abs(self.alpha).max() * len(self.clients.server)):
            raise CertificateFailed(f"{type(self.mean.algorithm).__name__}: a combination of memories that one-client rounds keep "
                                    f"changes by {worst:.1e} of a round: no structured operator. Use method='dense' or ft.run")

    # ---- in words --------------------------------------------------------------------------------------
    def equations(self, z0) -> list[str]:
        """One readable equation for each quantity and coordinate, clients beyond a dozen left out in the middle."""
        clients, n, fields = self.clients, self.mean.n, self.layout.kind._fields
        S, per_client = len(clients.server), len(clients.client)
        rows = np.concatenate([self.alpha, self.beta.reshape(self.count, n * per_client)], 1)
        leaves = self.layout.unflatten(z0)
        parts = [leaves[j][None] for j in clients.server]
        if per_client:
            parts.append(np.stack([leaves[j] for j in clients.client], 1).reshape(n * per_client, -1))
        rows, pivots = _reduced(rows, S)
        start = rows @ np.concatenate(parts)
        names = [(fields[j], "") for j in clients.server] + [(fields[j], f"[{i}]") for i in range(n) for j in clients.client]
        columns = [k for k in range(len(names)) if n <= 12 or k < S + 2 * per_client or k >= len(names) - per_client]
        out = []
        for row, pivot, value in zip(rows, pivots, start, strict=True):
            for k in range(self.mean.d):
                terms = []
                for c in columns:
                    if n > 12 and c == len(names) - per_client:
                        terms.append("..")
                    if c != pivot and abs(row[c]) > 1e-12:
                        text = _number(-row[c])
                        name = f"{names[c][0]}{names[c][1]}[{k}]"
                        terms.append(name if text == "1" else f"{text} {name}")
                if abs(value[k]) > 1e-12:
                    terms.append(_number(value[k]))
                lead = f"{names[pivot][0]}{names[pivot][1]}[{k}]"
                out.append(f"{lead} = {' + '.join(terms).replace('+ -', '- ') or '0'}")
        return out


def _reduced(rows, server):
    """Rows solved for one column each, of the server where it has a part in them."""
    rows, pivots = rows.copy(), []
    for r in range(len(rows)):
        size = np.abs(rows[r])
        pivot = int(np.argmax(size[:server])) if size[:server].max(initial=0.0) > 1e-9 * size.max() else int(np.argmax(size))
        rows[r] /= rows[r, pivot]
        for q in range(len(rows)):
            if q != r:
                rows[q] -= rows[q, pivot] * rows[r]
        pivots.append(pivot)
    return rows, pivots


def _number(value):
    from fractions import Fraction
    short = Fraction(float(value)).limit_denominator(10_000)
    return str(short) if abs(short - value) <= 1e-12 * max(1.0, abs(value)) else f"{value:.10g}"
