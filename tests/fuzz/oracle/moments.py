"""From the rounds of an oracle to what an operator says: full state space, plain Kronecker products, no feature moments."""
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from tests.fuzz.oracle.rounds import ROUNDS, flat, model, start, unflat

EPS = np.finfo(float).eps
GRADIENTS = {"c", "ci", "d", "D", "h", "g", "v", "G", "y"}   # memories, y of FOCUS alone


class Undecided(Exception):
    """Floats do not tell the reachable directions of these data from the others."""


def solve(A, B):
    """A^-1 B: by Gauss's elimination for Fractions; raises LinAlgError if A is singular."""
    if A.dtype != object:
        return np.linalg.solve(A, B)
    rows = [[*a, *np.atleast_1d(b)] for a, b in zip(A.tolist(), B.tolist(), strict=True)]
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            raise np.linalg.LinAlgError("singular")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for r in range(len(rows)):
            if r != k and rows[r][k] != 0:
                factor = rows[r][k]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[k], strict=True)]
    out = np.array([row[len(rows):] for row in rows] + [None], dtype=object)[:-1]
    return np.array(out.tolist(), dtype=object).reshape(B.shape)


def condition(M):
    """Of solving u = M u + c, in floats: how far u moves, relatively, where M is off by its rounding."""
    M = M.astype(float)
    return float(np.linalg.norm(np.linalg.inv(np.eye(len(M)) - M), 2) * (1 + np.linalg.norm(M, 2))) if M.size else 1.0


def radius(T):
    """(spectral radius, its condition number 1/|y'x|, the largest over eigenvalues of this modulus), in floats."""
    if not T.size:
        return 0.0, 1.0
    from scipy.linalg import eig
    values, left, right = eig(T.astype(float), left=True)
    size = np.abs(values)
    top = size >= size.max() * (1 - 1e-5)
    overlap = np.abs((left.conj() * right).sum(0))[top]
    norms = np.abs(T.astype(float)).sum(1).max() / max(size.max(), 1e-300)
    return float(size.max()), float(norms / max(overlap.min(), 1e-300))


class Expected:
    """Moments of a method under a chain of draws. data: what makes `Clients` of (one, noise); variance: sigma^2/data.drawn or 0."""

    def __init__(self, name, a, data, before, moves, variance):
        self.name, self.a, self.data, self.variance = name, a, data, variance
        clients = self._clients(data.d + 1)
        x = self._unknowns(data.d, data.d + 1)
        self.like = start(name, a, clients, x)
        begin = flat(self.like)
        self.D = len(begin)
        self.J, self.z0 = begin[:, :data.d], begin[:, data.d]
        seen = {}
        for _, _, _, draw in moves:
            if draw not in seen:
                seen[draw] = self._map(draw)
        self.before = self._exact(before)
        self.moves = [(j, k, q, seen[draw]) for j, k, q, draw in moves]
        self.maps = list(seen.values())
        shown = model(name, a, unflat(self.like, self._unknowns(self.D, self.D + 1)))
        self.E, self.e = shown[:, :self.D], shown[:, self.D]

    def _exact(self, values):
        return np.array(values, dtype=object if self.data.exact else float) * (Fraction(1) if self.data.exact else 1.0)

    def _zeros(self, *shape):
        out = np.zeros(shape)
        return out if not self.data.exact else np.full(shape, Fraction(0), dtype=object)

    def _unknowns(self, rows, width):
        out = self._zeros(rows, width)
        for k in range(rows):
            out[k, k] = out[k, k] + 1
        return out

    def _clients(self, width, at=None, noise=None):
        one = self._zeros(width)
        one[width - 1 if at is None else at] += 1
        return self.data.clients(one, noise)

    def _map(self, draw):
        """(A (D, D), b (D,), G (D, .)) of one round; a round that does not happen is the identity."""
        D, d = self.D, self.data.drawn
        calls = (sum(draw.steps) + len(draw.steps) + sum(k for _, k in draw.members)) if self.variance else 0
        z = self._unknowns(D, D + 1 + calls * d)
        if draw.happens:
            clients = self._clients(D + 1 + calls * d, D, D + 1 if self.variance else None)
            z = flat(ROUNDS[self.name](self.a, clients, unflat(self.like, z), draw))
        return SimpleNamespace(A=z[:, :D], b=z[:, D], G=z[:, D + 1:])

    # ---- the reachable directions ------------------------------------------------------------------------------------
    def reach(self):
        """(Q (D, r), L (r, D)), L Q = 1: the smallest space that init's directions, every round and its noise stay in."""
        return self._exact_reach() if self.data.exact else self._float_reach()

    def _opened(self, Q):
        """Where one round leads from the directions Q, columns (D, .)."""
        return np.concatenate([np.concatenate([m.A @ Q, (m.A @ self.z0 + m.b - self.z0)[:, None], m.G], axis=1)
                               for m in self.maps], axis=1)

    def _units(self):
        """(D,) in which memories of gradients are moved by steps: lr, so that all coordinates are of the size of models."""
        out = {k: [v * 0 + (self.a.lr if k in GRADIENTS and not (k == "y" and self.name != "Focus") else 1.0) for v in (
            leaf if isinstance(leaf, list) else [leaf])] for k, leaf in self.like.items()}
        return flat(out)[:, 0]

    def _float_reach(self):
        """In these units, by the largest rest first; a rest is nothing, or a direction, relative to the map it came by."""
        units = self._units()[:, None]
        maps = [m.A * units / units.T for m in self.maps]
        offsets = [(m.A @ self.z0 + m.b - self.z0)[:, None] * units for m in self.maps]
        noises = [m.G * units for m in self.maps]
        terms = [np.abs(v).max(initial=1e-300) for v in (*offsets, *noises)]
        Q = np.zeros((self.D, 0))
        new = [self.J * units, *(v / s for v, s in zip((*offsets, *noises), terms, strict=True))]
        while Q.shape[1] < self.D:
            rest = np.concatenate(new + [A @ Q / np.linalg.norm(A, 2) for A in maps], axis=1)
            for _ in range(2):
                rest = rest - Q @ (Q.T @ rest)
            left = np.linalg.norm(rest, axis=0)
            if left.max() < 1e-12:
                break
            if left.max() < 1e-3:  # an error of rounding grows by the inverse when this becomes a direction
                raise Undecided
            column = rest[:, left.argmax()]
            Q = np.column_stack([Q, column / np.linalg.norm(column)])
        return Q / units, Q.T * units.T

    def _exact_reach(self):
        rows, pivots = [], []

        def take(vector):
            v = list(vector)
            for row, p in zip(rows, pivots, strict=True):
                if v[p] != 0:
                    v = [a - v[p] * b for a, b in zip(v, row, strict=True)]
            lead = next((k for k, t in enumerate(v) if t != 0), None)
            if lead is None:
                return False
            v = [t / v[lead] for t in v]
            for k, row in enumerate(rows):
                rows[k] = [a - row[lead] * b for a, b in zip(row, v, strict=True)]
            rows.append(v)
            pivots.append(lead)
            return True
        new = self.J
        while sum(take(column) for column in new.T) and len(rows) < self.D:  # all of them, not the first that helps
            new = self._opened(np.array(rows, dtype=object).T)
        L = self._zeros(len(rows), self.D)
        for k, p in enumerate(pivots):
            L[k, p] = L[k, p] + 1
        return np.array(rows, dtype=object).T, L

    def reduced(self, Q, L, origin):
        """The moves [(from, to, q, A, b, N)] in coordinates u of z = origin + Q u, N = E[noise noise']."""
        made = {}
        for m in self.maps:
            G = L @ m.G
            made[id(m)] = (L @ m.A @ Q, L @ (m.A @ origin + m.b - origin), self.variance * (G @ G.T))
        return [(j, k, q, *made[id(m)]) for j, k, q, m in self.moves]

    # ---- what follows ------------------------------------------------------------------------------------------------
    def modes(self):
        """Stationary probabilities of the modes."""
        k = len(self.before)
        P = self._zeros(k, k)
        for i, j, q, _ in self.moves:
            P[j, i] = P[j, i] + q
        system, rhs = P - self._unknowns(k, k), self._zeros(k)
        system[-1] = 0 * system[-1] + 1
        rhs[-1] = rhs[-1] + 1
        return solve(system, rhs)

    def mean_map(self, moves, r):
        """(M, push) of the stacked mean blocks E[u 1{mode}]."""
        k, pi = len(self.before), self.modes()
        M, push = self._zeros(k, r, k, r), self._zeros(k, r)
        for i, j, q, A, b, _ in moves:
            M[j, :, i] = M[j, :, i] + q * A
            push[j] = push[j] + q * pi[i] * b
        return M.reshape(k * r, k * r), push.reshape(-1)

    def second_map(self, moves, r):
        """(T, rhs) of the stacked blocks E[uu' 1{mode}] (k r r), symmetric ones packed."""
        k = len(self.before)
        upper = [(a, b) for a in range(r) for b in range(a, r)]
        T = self._zeros(k, len(upper), k, len(upper))
        at = {pair: c for c, pair in enumerate(upper)}
        rows, columns = (np.array([p[s] for p in upper]) for s in (0, 1))
        sums = {}
        for i, j, q, A, _, _ in moves:  # (A X A')_ab = sum A_as A_bt X_st
            pairs = q * (A[rows][:, :, None] * A[columns][:, None, :])
            sums[i, j] = sums[i, j] + pairs if (i, j) in sums else pairs
        for (i, j), pairs in sums.items():
            both = pairs + np.swapaxes(pairs, 1, 2)
            for (s, t), c in at.items():
                T[j, :, i, c] = pairs[:, s, t] if s == t else both[:, s, t]
        return T.reshape(k * len(upper), k * len(upper)), upper

    def trajectory(self, x0, rounds):
        """[(mean, E xx', largest entry of the state's second moments)] before rounds 0, 1, ..."""
        D, k = self.D, len(self.before)
        z = self.J @ x0 + self.z0
        full = np.append(z, [0 * z[0] + 1])
        Z = np.stack([q * np.multiply.outer(full, full) for q in self.before])
        shown = np.concatenate([self.E, self.e[:, None]], axis=1)
        out, largest = [], 0.0
        for _ in range(rounds):
            S = shown @ Z.sum(0) @ shown.T
            largest = max(largest, float(np.abs(Z).max()))
            out.append(((shown @ Z.sum(0))[:, D], S, largest))
            new = self._zeros(k, D + 1, D + 1)
            for i, j, q, m in self.moves:
                B = self._zeros(D + 1, D + 1)
                B[:D, :D], B[:D, D] = m.A, m.b
                B[D, D] = B[D, D] + 1
                new[j] = new[j] + q * (B @ Z[i] @ B.T)
                if self.variance:
                    new[j, :D, :D] = new[j, :D, :D] + q * Z[i][D, D] * self.variance * (m.G @ m.G.T)
            Z = new
        return out
