"""Rounds whose participants read the new server model, of hundreds of clients: in the mean, pairs of clients meet.

VRL-SGD and Scaffnew move a participant's memory by the average of the whole cohort, which no share of one client says:
M_S = (1 + sum_{i in S} L_i) A_S, where L_i reads the new server's coordinates into client i's memory and clients of A_S meet
at the server only. The mean needs the moments of pairs, which are known; second moments would need those of four clients.
L is a guess from a few rounds; A_S is what the coded round leaves without it, and its form is checked as that of any other.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fltheory.core.errors import BadInput, NotAffine, TooLarge
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import RandomSteps, noisy
from fltheory.core.laws.draw import Draw
from fltheory.core.laws.shares import FixedSize
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.features import features_of
from fltheory.core.operators.operator import Operator, listed
from fltheory.core.operators.probe import Layout, layout, slots_used
from fltheory.core.operators.size import check_size
from fltheory.large.mean_round import MeanRound
from fltheory.large.single_clients import Clients
from fltheory.large.star import Star

COLUMNS = 32       # of a reduced map that are checked at once: n^2 numbers for each
NOTHING = 1e-9     # of the largest answer: no answer
ROUNDING = 1e-10   # an entry of the server that no presence moves
UNKNOWN = ("second moments of a round whose participants read the new server model need the probabilities of four clients at once: "
           "its fixed point and the contraction factor of its mean are known, its mean-square rate, covariance and floor are not. "
           "Use ft.run, or fewer clients")


@dataclass(frozen=True)
class Readback:
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


def readback_of(algorithm: Algorithm, problem: Problem, lay: Layout, steps) -> Readback | None:
    """What participants read off the new server, fitted to rounds of all clients and of either half from random states."""
    n, whose = problem.n, lay.owners(problem.n)
    if not (whose >= 0).any():
        return None
    places, server = np.flatnonzero(whose >= 0), np.flatnonzero(whose < 0)
    memory = places[np.argsort(whose[places], kind="stable")].reshape(n, -1)
    half = np.arange(n) % 2
    masks = np.stack([1 + 0 * half, half, 1 - half])
    states = np.random.Generator(np.random.Philox(n)).normal(size=(2 * len(server) + 2, lay.size))
    draw = Draw(EVERYONE, masks[:, None], np.broadcast_to(steps, (3, 1, n)))
    out = lay.flatten(algorithm.round(problem, lay.unflatten(states), draw))
    values = np.empty((n, memory.shape[1], len(server)))
    for other, clients in ((1, half == 1), (2, half == 0)):
        change = out[0] - out[other]
        fit = np.linalg.pinv(change[:, server], rcond=1e-10) @ change[:, memory[clients].reshape(-1)]
        values[clients] = fit.T.reshape(-1, memory.shape[1], len(server))
    return Readback(values, memory, server) if np.abs(values).max() > NOTHING else None


class BareRound(MeanRound):
    """The coded round without what its participants read off the new server: A_S."""

    def __init__(self, algorithm: Algorithm, problem: Problem, law: Law, readback: Readback):
        self.readback = readback
        super().__init__(algorithm, problem, law)

    def at(self, z, present, samples=None):
        return self.readback.removed(super().at(z, present, samples), np.asarray(present))


class BareClients(Clients):
    """One-client rounds of an `BareRound` round."""

    def round(self, low, high, leaves, present, xi=None):
        out = super().round(low, high, leaves, present, xi)
        server = np.concatenate([out[k] for k in self.server], -1)
        answer, at = present * np.einsum("ims,ips->ipm", self.mean.readback.values[low:high], server), 0
        for k in self.client:
            width = out[k].shape[-1]
            out[k] = out[k] - answer[..., at:at + width]
            at += width
        return out


def sheets(star: Star, slots) -> list:
    """[M_0, B_1, .., B_n, C_1, .., C_n] as sparse extended maps of flat states, with the noise of `slots` gradient samples."""
    n, ds, q, D, drawn = star.n, star.ds, star.q, star.D, star.mean.problem.drawn
    place = star.order(np.arange(D, dtype=float)).astype(int)       # of the star's coordinates among the flat ones
    rows = np.concatenate([np.broadcast_to(place[:ds], (n, ds)), place[ds:].reshape(n, q - ds)], axis=1)
    base = np.zeros((D, D + 1 + slots * n * drawn))
    base[np.ix_(place, place)] = star.base.apply(np.eye(D))
    base[place, D] = np.concatenate([star.base.s1, star.base.c1.reshape(-1)])
    maps = [np.zeros((n, q, q + 1)) if part is None else part for part in (star.B, star.C)]
    noise = _noise(star, slots)
    out = [sparse.csr_array(base)]
    for part, response in zip(maps, noise, strict=True):
        for i in range(n):
            columns = np.concatenate([rows[i], [D], D + 1 + _noise_columns(i, slots, n, drawn)])
            block = np.concatenate([part[i], response[i]], axis=1)
            at, of = np.nonzero(np.abs(block) > 1e-15 * max(1.0, np.abs(block).max()))
            out.append(sparse.csr_array((block[at, of], (rows[i][at], columns[of])), shape=base.shape))
    return out


def _noise(star, slots):
    """(B, C) (n, q, slots d) of each client's own noise, from one-client rounds fed with units of it."""
    units = slots * star.mean.problem.drawn
    if not units:
        return np.zeros((2, star.n, star.q, 0))
    unit, zero = np.eye(units).reshape(units, slots, 1, -1), star.leaves(np.zeros((1, star.q)))
    responses = []
    for low, high in star.clients.batches(units, 4 * star.q):
        noisy, quiet = (star.clients.parts(low, high, zero, xi)[1:] for xi in (lambda k: unit[None, :, k], None))
        responses.append([np.swapaxes(star.rows(a) - star.rows(b), 1, 2) for a, b in zip(noisy, quiet, strict=True)])
    return [np.concatenate(parts) for parts in zip(*responses, strict=True)]


def _noise_columns(i, slots, n, d):
    """Columns of client i among noise coordinates (slots, n, d)."""
    return ((np.arange(slots)[:, None] * n + i) * d + np.arange(d)).reshape(-1)


@dataclass(frozen=True)
class ReadbackMixture:
    """First moments of M_S = (1 + sum_{i in S} L_i) A_S, in floats; what needs second moments raises TooLarge.

    sheets: the parts of A_S, of the features' coefficients (1, 1{i in S}, s_i, and 1{S empty} where `first` has one more);
    model: the law's `Independent` or `FixedSize`; v: (n,) weights of the shares.
    """

    sheets: tuple
    first: np.ndarray
    gram: np.ndarray
    readback: Readback
    model: object
    v: np.ndarray

    featured, single, zero = True, False, 0.0

    @property
    def size(self) -> int:
        return self.sheets[0].shape[0]

    @property
    def largest(self) -> float:
        return max(np.abs(self.readback.values).max(), *(np.abs(sheet.data).max(initial=0.0) for sheet in self.sheets))

    def _server(self, sheet):
        return sheet[self.readback.server].toarray()

    def mean(self):
        D, readback = self.size, self.readback
        total = sum(w * sheet for w, sheet in zip(self.first, self.sheets, strict=True)).toarray()
        parts = np.stack([self._server(sheet)[:, :D + 1] for sheet in self.sheets])
        new_server = np.tensordot(self.gram[1:1 + len(self.v)], parts, 1)    # (n, s, D + 1): E 1{i in S} of the new server
        total[readback.memory.reshape(-1), :D + 1] += (readback.values @ new_server).reshape(-1, D + 1)
        return total[:, :D], total[:, D]

    def leaving(self, reach, origin):
        """W (M_S z - origin) for every z in origin + span V, as coefficients that vanish if it does for all cohorts.

        Times v(S) it is a quadratic form sum_{i, j in S} Q_ij in the indicators: on cohorts of one size m that vanishes if
        and only if Q_ij + Q_ji = a_i + a_j for i != j and Q_ii = -(m - 1) a_i; on all others coefficient by coefficient,
        those of clients who are always there summed up.
        """
        n, v, W, V = len(self.v), self.v * len(self.v) / self.v.sum(), reach.W, reach.V
        readback, D = self.readback, self.size
        base = self.sheets[0]

        def along(rows, sheet, moved=0.0):
            part = (sparse.csr_array(rows) @ sheet).toarray()
            return np.concatenate([part[:, :D] @ V, part[:, D:D + 1] + part[:, :D] @ origin[:, None] - moved, part[:, D + 1:]], 1)
        eye = np.zeros((len(readback.server), D))
        eye[np.arange(len(eye)), readback.server] = 1
        read = np.einsum("wim,ims->iws", W[:, readback.memory], readback.values)                       # (n, w, s)
        sure = along(W, base, (W @ origin)[:, None])
        presence = np.stack([along(W, sheet) for sheet in self.sheets[1:n + 1]]) + read @ along(eye, base)
        share = np.stack([along(W, sheet) for sheet in self.sheets[n + 1:2 * n + 1]])
        shares = np.stack([along(eye, sheet) for sheet in self.sheets[n + 1:2 * n + 1]])            # (n, s, columns)
        gaps = [sure.reshape(-1)] if self.model.nobody > 0 and len(self.sheets) == 2 * n + 1 else []   # an empty round that is run
        for at in range(0, sure.shape[1], COLUMNS):
            part = slice(at, at + COLUMNS)
            pairs = np.einsum("iws,jsc->ijwc", read, shares[..., part])
            half = v[None, :, None, None] * (presence[:, None, :, part] + pairs)
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

    featured, single, zero, mean_only = True, False, 0.0, True

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


def after_average(algorithm: Algorithm, problem: Problem, law: Law, start="init") -> Operator | None:
    """The operator of a round of this form in floats, its mean alone; None where it is of another form. law: prepared."""
    n, steps = problem.n, law.steps_of(problem.n)
    if n < 3 or law.modes > 1 or isinstance(steps, RandomSteps) or not hasattr(law, "tilted") or not problem.quadratic:
        return None
    try:
        check_size(algorithm, problem, FLOAT, start, None)
    except TooLarge:
        return None
    alg, prob = algorithm.to(FLOAT), problem.to(FLOAT)
    with np.errstate(all="ignore"):
        mix = _mixture(alg, prob, layout(alg, prob), law, steps)
    return None if mix is None else listed(algorithm, problem, law, law.noise, start, mixes=[mix])


def _mixture(algorithm: Algorithm, problem: Problem, lay, law: Law, steps):
    readback, model = readback_of(algorithm, problem, lay, steps), law.tilted(problem.n)
    if readback is None:
        return None
    try:
        mean = BareRound(algorithm, problem, law, readback)
        star = Star(mean, BareClients(mean))
    except (BadInput, NotAffine, TooLarge):
        return None
    if np.count_nonzero(mean.v == 0) >= getattr(model, "m", 1):      # a cohort that shares out nothing
        return None
    draw = Draw(EVERYONE, np.ones(problem.n, dtype=np.int64), steps)
    parts = sheets(star, slots_used(algorithm, problem, lay, draw) if noisy(law.noise) else 0)
    if any(np.abs(part[readback.server[readback.read]].data).max(initial=0.0) > ROUNDING for part in parts[1:problem.n + 1]):
        return None
    features = next(f for f in features_of(law, problem) if np.allclose(mean.v, np.ones(problem.n) if f.v is None else f.v))
    if law.empty == "skip" and features.nobody:
        parts = [*parts, sparse.eye_array(*parts[0].shape, format="csr") - parts[0]]
    first, gram = features.first.astype(float), np.asarray(features.second(), dtype=float)
    return ReadbackMixture(tuple(parts), first, gram, readback, model, mean.v)
