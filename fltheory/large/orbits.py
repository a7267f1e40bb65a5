"""What a round does to equal clients, orbit by orbit: whoever takes part is like whoever takes part, whoever is absent like
whoever is absent. A cohort of k of n is probed at one state per coordinate of the server, of one participant and of one
absent client, so a thousand clients cost as many rounds as three.

With u = (1, server, mean of the clients' coordinates), deviations e_i from that mean and E = sum of e_i over the cohort:
u' = P u + Q E, a participant's w_i' = R u + a e_i + b E, an absent client's the same with its own R, a, b.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Algorithm, Draw, Law, Problem, Who
from fltheory.core.laws.base import mask
from fltheory.core.laws.draw import Slots
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.operators.probe import Layout

FEW = 10    # sizes of a cohort that are probed one by one
MOST = 70   # sizes up to which they are where the round has no other form


@dataclass(frozen=True)
class Coordinates:
    """Where the server's coordinates (s,) and those of the clients (n, b) stand in a flat state of `lay`."""

    lay: Layout
    server: np.ndarray
    clients: np.ndarray

    @classmethod
    def of(cls, lay, n):
        owners = lay.owners(n)
        memories = np.flatnonzero(owners >= 0)
        return cls(lay, np.flatnonzero(owners < 0), memories[np.argsort(owners[memories], kind="stable")].reshape(n, -1))

    @property
    def whole(self) -> int:
        """Length of u."""
        return 1 + len(self.server) + self.per_client

    @property
    def per_client(self) -> int:
        """Coordinates of one client."""
        return self.clients.shape[1]

    def names(self):
        """Names of u, then of a client's deviation."""
        names = self.lay.names()
        first = [names[k] for k in self.clients[0]]
        return ["1", *(names[k] for k in self.server), *(f"mean {v}" for v in first), *(f"deviation {v}" for v in first)]

    def u(self, z):
        """u (.., whole) of flat states z (.., D)."""
        means = z[..., self.clients].sum(-2) / len(self.clients)
        return np.concatenate([0 * z[..., :1] + 1, z[..., self.server], means], axis=-1)


@dataclass(frozen=True)
class Orbits:
    """The round of one cohort size, as in the header; noise: the responses (.., k) to the noise of one client, by who has
    it: that of u', and of w' for oneself, for another participant, for another absent client."""

    P: np.ndarray
    Q: np.ndarray
    inside: tuple
    outside: tuple
    noise: tuple

    def arrays(self):
        return [self.P, self.Q, *self.inside, *self.outside, *(v for part in self.noise for v in part)]

    @classmethod
    def from_arrays(cls, a):
        return cls(a[0], a[1], tuple(a[2:5]), tuple(a[5:8]), (tuple(a[8:12]), tuple(a[12:16])))


class Probe:
    """Rounds of cohorts of a law on a problem with equal clients, in one exact arithmetic."""

    def __init__(self, algorithm: Algorithm, problem: Problem, law: Law, lay, noisy):
        self.algorithm, self.problem, self.law, self.n, self.noisy = algorithm, problem, law, problem.n, noisy
        self.at, self.domain = Coordinates.of(lay, problem.n), problem.domain

    def orbits(self, k) -> Orbits:
        """What a round of the first k clients does."""
        at, n, b = self.at, self.n, self.at.per_client
        out = self._round(self._marks(), self.draw(range(k)))
        zero, server, one, other = out[0], *np.split(out[1:], [len(at.server), len(at.server) + b])
        inside, outside = self._orbit(k, zero, server, one, other, 0), self._orbit(n - k, zero, server, other, one, n - 1)
        responses = [self._columns(part - zero, at.server) for part in (server, one, other)]
        first = np.concatenate([zero[at.server][:, None], responses[0], k * responses[1] + (n - k) * responses[2]], axis=1)
        means = (k * inside[0] + (n - k) * outside[0]) / n
        P = np.concatenate([self.domain.array(np.eye(1, at.whole, dtype=np.int64)), first, means])
        # the sum of the cohort's deviations is E, that of the others is -E
        spread = (inside[1] - outside[1] + k * inside[2] + (n - k) * outside[2]) / n
        Q = np.concatenate([self._zeros(1, b), responses[1] - responses[2], spread])
        return Orbits(P, Q, inside, outside, self._noise(k))

    def _orbit(self, size, zero, server, direct, across, who: Who):
        """(R, a, b) of the orbit of `size` clients that holds `who`, the first or the last client; direct, across: responses
        to a mark of that client and to one of the other orbit."""
        at, n = self.at, self.n
        mine, peer = at.clients[who], at.clients[min(1, n - 1) if who == 0 else n - 2]
        F = self._columns(direct - zero, mine)
        if size == 0:
            return self._zeros(at.per_client, at.whole), 0 * F, 0 * F
        G = self._columns(direct - zero, peer) if size > 1 else 0 * F
        H = self._columns(across - zero, mine) if size < n else 0 * F
        R = np.concatenate([zero[mine][:, None], self._columns(server - zero, mine), F + (size - 1) * G + (n - size) * H], axis=1)
        return R, F - G, (G - H if who == 0 else H - G)

    def _noise(self, k):
        """Per orbit (participants, absent): responses of u', of oneself, of another of the own orbit, of one of the other."""
        at, n, b = self.at, self.n, self.at.per_client
        if not self.noisy:
            empty = tuple(self._zeros(rows, 0) for rows in (at.whole, b, b, b))
            return empty, empty
        draw, counter = self.draw(range(k)), Slots()
        zero = self.domain.array(np.zeros((1, at.lay.size), dtype=np.int64))
        rest = self._round(zero, draw._replace(xi=counter))[0]
        out = []
        for who, peer, stranger, size in ((0, 1, n - 1, k), (n - 1, n - 2, 0, n - k)):
            response = self._struck(zero, draw, who, counter.count) - rest
            server, itself = self._columns(response, at.server), self._columns(response, at.clients[who])
            other = self._columns(response, at.clients[peer]) if size > 1 else 0 * itself
            far = self._columns(response, at.clients[stranger]) if size < n else 0 * itself
            mean = (itself + (size - 1) * other + (n - size) * far) / n
            out.append((np.concatenate([self._zeros(1, server.shape[1]), server, mean]), itself, other, far))
        return tuple(out)

    def _struck(self, zero, draw: Draw, who: Who, slots):
        """(slots d, D) after rounds from 0 in which one gradient sample of one client has a unit of noise."""
        d = self.problem.d
        unit = np.zeros((slots, d, slots, self.n, d), dtype=np.int64)
        for s in range(slots):
            unit[s, range(d), s, who, range(d)] = 1
        unit = self.domain.array(unit.reshape(slots * d, slots, self.n, d))
        return self._round(0 * zero + self.domain.array(np.zeros((slots * d, 1), dtype=np.int64)),
                           draw._replace(xi=lambda s: unit[:, s]))

    # ---- the check -------------------------------------------------------------------------------------
    def holds(self, k, orbits) -> bool:
        """Whether a round of another cohort of k, from a state in which all clients differ, is what the orbits say: exactly,
        and client by client."""
        at, n = self.at, self.n
        members = [(i + n // 2) % n for i in range(k)]
        z = self.domain.array(np.array([[(7 * j * j + 3 * j) % 23 - 11 for j in range(at.lay.size)]]))
        out = self._round(z, self.draw(members))[0]
        u, memories = at.u(z)[0], z[0][at.clients]
        mean = memories.sum(0) / n
        total = (memories[members] - mean).sum(0) if k else 0 * mean
        if not _same(at.u(out[None])[0], (orbits.P * u).sum(-1) + (orbits.Q * total).sum(-1)):
            return False
        common = {inside: (R * u).sum(-1) + (b * total).sum(-1)
                  for inside, (R, _, b) in ((True, orbits.inside), (False, orbits.outside))}
        for i in range(n):
            inside = i in members
            a = (orbits.inside if inside else orbits.outside)[1]
            if not _same(out[at.clients[i]], common[inside] + (a * (memories[i] - mean)).sum(-1)):
                return False
        return True

    def confirm(self, k, orbits):
        """Raise BadInput unless `holds`."""
        if not self.holds(k, orbits):
            refuse("algorithm", type(self.algorithm).__name__, f"its round of {k} of {self.n} clients does not treat equal clients "
                   "equal_moments", "Give every client the same numbers (steps, weights), or use ft.derive.")

    # ---- rounds ----------------------------------------------------------------------------------------
    def draw(self, members):
        """The round of one cohort, whether the law draws it or not."""
        return self.law._draw(EVERYONE, mask(list(members), self.n), self.law.steps_of(self.n))

    def _round(self, z, draw: Draw):
        return self.at.lay.flatten(advance(self.algorithm, self.problem, self.at.lay.unflatten(z), draw))

    def _marks(self):
        """0, then a unit in each coordinate of the server, of the first client and of the last."""
        where = [*self.at.server, *self.at.clients[0], *self.at.clients[-1]]
        marks = np.zeros((1 + len(where), self.at.lay.size), dtype=np.int64)
        marks[1 + np.arange(len(where)), where] = 1
        return self.domain.array(marks)

    @staticmethod
    def _columns(rows, where):
        """Responses (k, D) read at coordinates (r,): (r, k)."""
        return np.swapaxes(rows[:, where], 0, 1)

    def _zeros(self, rows, columns):
        return self.domain.array(np.zeros((rows, columns), dtype=np.int64))


def _same(a, b):
    return all(x == y for x, y in zip(a, b, strict=True))


def fitted(probe, sizes):
    """(function k -> features (f,), [Orbits] of each feature): one per size where sizes are few, else (1{k = 0}, 1, k, 1/k).

    The second form is fitted at three sizes and held against others, 1 and n among them. Raises BadInput where clients are
    not treated alike, TooLarge where the form fails and sizes are many.
    """
    probe.confirm(probe.n, probe.orbits(probe.n))  # a round in which no client could hide
    if len(sizes) > FEW:
        form = _in_powers(probe, sizes)
        if form is not None:
            return form
        if len(sizes) > MOST:
            raise TooLarge(f"{type(probe.algorithm).__name__}: its round is not affine in (k, 1/k), k the number of participants, "
                           f"and {len(sizes)} sizes exceed {MOST}. Use fewer clients, or a law of one size")
    parts = {k: probe.orbits(k) for k in sizes}
    for k, orbits in parts.items():
        probe.confirm(k, orbits)
    return (lambda k: [Fraction(int(k == s)) for s in sizes]), list(parts.values())


def _in_powers(probe, sizes):
    n, domain = probe.n, probe.domain
    nodes = (2, 3, n - 2)
    weights = linalg.inverse(np.array([[Fraction(1), Fraction(k), Fraction(1, k)] for k in nodes], dtype=object))
    probes = [probe.orbits(k) for k in nodes]
    for k, orbits in zip(nodes[:1], probes, strict=False):
        probe.confirm(k, orbits)
    features = [probe.orbits(0), *(combined(domain, probes, row) for row in weights)]

    def phi(k):
        return [Fraction(1), *[Fraction(0)] * 3] if k == 0 else [Fraction(0), Fraction(1), Fraction(k), Fraction(1, k)]
    middle = probe.orbits(n // 2).arrays()
    if not all(_same(a.reshape(-1), b.reshape(-1))
               for a, b in zip(combined(domain, features, phi(n // 2)).arrays(), middle, strict=True)):
        return None
    others = {0, 1, n - 1, n} & set(sizes)
    return (phi, features) if all(probe.holds(k, combined(domain, features, phi(k))) for k in others) else None


def combined(domain, parts, weights):
    """The orbits of one size from those of its features."""
    return Orbits.from_arrays([sum((domain.scalar(w) * a for w, a in zip(weights, stack, strict=True) if w), 0 * stack[0])
                               for stack in zip(*(part.arrays() for part in parts), strict=True)])
