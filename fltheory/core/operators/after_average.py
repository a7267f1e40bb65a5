"""Rounds whose participants read the new server model, of hundreds of clients: in the mean, pairs of clients meet.

VRL-SGD and Scaffnew move a participant's memory by the average of the whole cohort, which no share of one client says:
M_S = (1 + sum_{i in S} L_i) A_S, where L_i reads the new server's coordinates into client i's memory and A_S is of the
form of `star`. The mean needs the moments of pairs, which are known; second moments would need those of four clients.
L is a guess from a few rounds, checked with the whole form on others.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fltheory.core.errors import TooLarge
from fltheory.core.laws.shares import FixedSize
from fltheory.core.operators import star

COLUMNS = 32       # of a reduced map that are checked at once: n^2 numbers for each
NOTHING = 1e-9     # of the largest answer: no answer
UNKNOWN = ("second moments of a round whose participants read the new server model need the probabilities of four clients at once: "
           "its fixed point and the contraction factor of its mean are known, its mean-square rate, covariance and floor are not. "
           "Use ft.run, or fewer clients")


@dataclass(frozen=True)
class Answers:
    """L (n, m, s): client i's memory (its m coordinates in `memory` (n, m)) from the server's s coordinates `server`."""

    values: np.ndarray
    memory: np.ndarray
    server: np.ndarray

    def removed(self, out, present):
        """States (.., D) after rounds of cohorts present (.., n), without what participants read off the new server."""
        out = out.copy()
        out[..., self.memory] -= np.einsum("ims,...s->...im", self.values, out[..., self.server]) * present[..., None]
        return out

    @property
    def read(self):
        """The server's coordinates (their places in `server`) that are read at all."""
        return np.flatnonzero(np.abs(self.values).max((0, 1)) > NOTHING * np.abs(self.values).max())


def answers_of(algorithm, problem, lay, draws) -> Answers | None:
    """What participants read off the new server, fitted to rounds of all clients and of either half from random states."""
    n, whose = problem.n, lay.owners(problem.n)
    memory, server = np.flatnonzero(whose >= 0).reshape(-1), np.flatnonzero(whose < 0)
    memory = memory[np.argsort(whose[memory], kind="stable")].reshape(n, -1)
    half = np.arange(n) % 2
    masks = np.stack([1 + 0 * half, half, 1 - half])
    states = np.random.Generator(np.random.Philox(n)).normal(size=(2 * len(server) + 2, lay.size))
    out = star.after_round(algorithm, problem, lay, draws(masks), states)
    values = np.empty((n, memory.shape[1], len(server)))
    for other, clients in ((1, half == 1), (2, half == 0)):
        change = out[0] - out[other]
        fit = np.linalg.pinv(change[:, server], rcond=1e-10) @ change[:, memory[clients].reshape(-1)]
        values[clients] = fit.T.reshape(-1, memory.shape[1], len(server))
    found = Answers(values, memory, server)
    return found if values.size and np.abs(values).max() > NOTHING else None


@dataclass(frozen=True)
class AnsweredMixture:
    """First moments of M_S = (1 + sum_{i in S} L_i) A_S, in floats; what needs second moments raises TooLarge.

    sheets: the parts of A_S, of the features' coefficients (1, 1{i in S}, s_i, and 1{S empty} where `first` has one more);
    model: the law's `Independent` or `FixedSize`; v: (n,) weights of the shares.
    """

    sheets: tuple
    first: np.ndarray
    gram: np.ndarray
    answers: Answers
    model: object
    v: np.ndarray

    featured, single, zero = True, False, 0.0

    @property
    def size(self) -> int:
        return self.sheets[0].shape[0]

    @property
    def largest(self) -> float:
        return max(np.abs(self.answers.values).max(), *(np.abs(sheet.data).max(initial=0.0) for sheet in self.sheets))

    def _server(self, sheet):
        return sheet[self.answers.server].toarray()

    def mean(self):
        D, answers = self.size, self.answers
        total = sum(w * sheet for w, sheet in zip(self.first, self.sheets, strict=True)).toarray()
        parts = np.stack([self._server(sheet)[:, :D + 1] for sheet in self.sheets])
        told = np.tensordot(self.gram[1:1 + len(self.v)], parts, 1)          # (n, s, D + 1): E 1{i in S} of the new server
        total[answers.memory.reshape(-1), :D + 1] += (answers.values @ told).reshape(-1, D + 1)
        return total[:, :D], total[:, D]

    def leaving(self, reach, origin):
        """W (M_S z - origin) for every z in origin + span V, as coefficients that vanish if it does for all cohorts.

        Times v(S) it is a quadratic form sum_{i, j in S} Q_ij in the indicators: on cohorts of one size m that vanishes if
        and only if Q_ij + Q_ji = a_i + a_j for i != j and Q_ii = -(m - 1) a_i; on all others coefficient by coefficient,
        those of clients who are always there summed up.
        """
        n, v, W, V = len(self.v), self.v * len(self.v) / self.v.sum(), reach.W, reach.V
        answers, D = self.answers, self.size
        base = self.sheets[0]

        def along(rows, sheet, moved=0.0):
            part = (sparse.csr_array(rows) @ sheet).toarray()
            return np.concatenate([part[:, :D] @ V, part[:, D:D + 1] + part[:, :D] @ origin[:, None] - moved, part[:, D + 1:]], 1)
        eye = np.zeros((len(answers.server), D))
        eye[np.arange(len(eye)), answers.server] = 1
        read = np.einsum("wim,ims->iws", W[:, answers.memory], answers.values)                       # (n, w, s)
        sure = along(W, base, (W @ origin)[:, None])
        own = np.stack([along(W, sheet) for sheet in self.sheets[1:n + 1]]) + read @ along(eye, base)
        share = np.stack([along(W, sheet) for sheet in self.sheets[n + 1:2 * n + 1]])
        told = np.stack([along(eye, sheet) for sheet in self.sheets[n + 1:2 * n + 1]])              # (n, s, columns)
        gaps = [sure.reshape(-1)] if self.model.nobody > 0 and len(self.sheets) == 2 * n + 1 else []   # an empty round that is run
        for at in range(0, sure.shape[1], COLUMNS):
            part = slice(at, at + COLUMNS)
            half = v[None, :, None, None] * (own[:, None, :, part] + np.einsum("iws,jsc->ijwc", read, told[..., part]))
            alone = v[:, None, None] * (sure[:, part] + share[..., part]) + half[np.arange(n), np.arange(n)]
            gaps += [gap.reshape(-1) for gap in _coefficients(self.model, half + half.swapaxes(0, 1), alone)]
        return np.concatenate(gaps)

    def reduce(self, rows, V, origin):
        M, c = self.mean()
        push = c[rows] + M[rows] @ origin - origin[rows]
        return MeanMap(M[rows] @ V, push, self.first[:1])

    def _unknown(self, *_):
        raise TooLarge(UNKNOWN)

    push = pull = squares = noise_square = centred = _unknown   # where the whole state is reachable, nothing is reduced


def _coefficients(model, both, alone):
    """Arrays that vanish if sum_{i in S} alone_i + sum_{i < j in S} both_ij (n, n, ..) does for all cohorts that occur."""
    n = len(alone)
    off = ~np.eye(n, dtype=bool)
    if isinstance(model, FixedSize):
        rows = (both * off[..., None, None]).sum(1)
        each = (rows - rows.sum(0) / (2 * n - 2)) / (n - 2)
        return (both - each[:, None] - each[None])[off], alone + (model.m - 1) * each
    always = model.p == 1
    fixed = both[:, always].sum(1)
    constant = alone[always].sum(0) + (fixed[always] - both[always, always]).sum(0) / 2
    free = ~always
    return constant, alone[free] + fixed[free], both[np.ix_(free, free)][off[np.ix_(free, free)]]


@dataclass(frozen=True)
class MeanMap:
    """The mean of a round, reduced: all that is known of it."""

    matrix: np.ndarray
    constant: np.ndarray
    first: np.ndarray

    featured, single, zero = True, False, 0.0

    @property
    def size(self) -> int:
        return len(self.matrix)

    @property
    def largest(self) -> float:
        return np.abs(self.matrix).max(initial=0.0)

    def mean(self):
        return self.matrix, self.constant

    def _unknown(self, *_):
        raise TooLarge(UNKNOWN)

    push = pull = squares = noise_square = centred = _unknown


def answered(algorithm, problem, lay, draws, law, features, noise) -> AnsweredMixture | None:
    """The mean of a round of this form under a law with `tilted` moments, or None. features: with shares s_i."""
    n = problem.n
    v = np.ones(n) if features.v is None else np.asarray(features.v, dtype=float)
    answers, model = answers_of(algorithm, problem, lay, draws), law.tilted(n)
    if answers is None or np.count_nonzero(v == 0) >= getattr(model, "m", 1):   # a cohort that shares out nothing
        return None
    parts = star.sheets(algorithm, problem, lay, law, draws, features, noise, answers.removed)
    if parts is None or any(np.abs(part[answers.server[answers.read]].data).max(initial=0.0) > star.ROUNDING
                            for part in parts[1:n + 1]):
        return None
    if law.empty == "skip" and features.nobody:
        parts = [*parts, sparse.eye_array(*parts[0].shape, format="csr") - parts[0]]
    first, gram = features.first.astype(float), np.asarray(features.second(), dtype=float)
    return AnsweredMixture(tuple(parts), first, gram, answers, model, v)


__all__ = ["AnsweredMixture", "MeanMap", "answered"]
