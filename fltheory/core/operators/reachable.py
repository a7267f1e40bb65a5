"""The reachable affine subspace of a round, and its invariants in closed form: found modulo primes, then verified.

Conserved quantities (SCAFFOLD's c = sum p_i c_i, FOCUS's y = sum g_i) put eigenvalues 1 into the full operator;
in floats no tolerance finds them. The smallest subspace V such that init(x0) lies in z0 + V for all x0 and every
round keeps z0 + V is what rounds at random points of it span, modulo a prime: no matrix is needed, and numbers do
not grow. Its dimension modulo a prime is never above the true one, and an annihilator W that is verified to be kept
proves that it is not below: `reduced` verifies W in the arithmetic of every operator.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import BadInput, NotKept
from fltheory.core.kinds import Algorithm, Draw, Law, Problem
from fltheory.core.laws.draw import Slots, everyone
from fltheory.core.numbers.residues import Residues, Span, Words, rational_reconstruct, word_prime
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.probe import Layout, layout, probe_init
from fltheory.core.operators.random_map import Mixture, along
from fltheory.core.operators.round_maps import pieces, spanning

MARGIN = 40          # bits by which a lifted fraction is shorter than what chance would give
MOST_PRIMES = 200    # of a lift: fractions of up to about 3,000 bits above and below the line
STEEPEST = 1024      # entries of V beyond which other coordinates are taken for the free ones: they would eat its digits
LARGE, FEW_PRIMES = 60, 24   # states above this size are lifted from fewer primes (about 350 bits)
FEWEST, LONGEST = 4, 128     # trajectories at once, and rounds of each
AT_ONCE = 400_000    # residues of one batch of states


@dataclass(frozen=True)
class Reach:
    """V (D, r) rational basis with an identity block on `rows`; W (D - r, D) rational annihilator, W V = 0.

    assumed: "" if V is the smallest subspace; otherwise what was assumed in its place, in words.
    """

    rows: tuple
    V: np.ndarray
    W: np.ndarray
    names: tuple
    assumed: str = ""

    @property
    def dimension(self) -> int:
        return len(self.rows)

    @property
    def free(self) -> list:
        """The coordinates that the others determine."""
        inside = set(self.rows)
        return [k for k in range(len(self.names)) if k not in inside]

    def to(self, domain) -> Reach:
        """The same subspace in another arithmetic."""
        W = domain.array(self.W)
        V = domain.array(np.zeros(self.V.shape, dtype=np.int64))
        V[list(self.rows)] = domain.array(np.eye(self.dimension, dtype=np.int64))
        V[self.free] = 0 * V[self.free] - W[:, list(self.rows)]
        return Reach(self.rows, V, W, self.names, self.assumed)

    def invariants(self, origin=None):
        """Conserved quantities, one readable equation per row of W: the combination stays at its initial value."""
        out = []
        for row in self.W:
            lead = next(k for k, v in enumerate(row) if v != 0)
            terms = [(name, -v / row[lead]) for k, (name, v) in enumerate(zip(self.names, row, strict=True))
                     if v != 0 and k != lead]
            right = " + ".join(name if v == 1 else f"{v} {name}" for name, v in terms) or "0"
            start = (
                0 if origin is None else sum((v * o for v, o in zip(row, origin, strict=True)), Fraction(0)) / row[lead]
            )
            right = right if start == 0 else (f"{right} + {start}" if terms else f"{start}")
            out.append(f"{self.names[lead]} = {right.replace('+ -', '- ')}")
        return out


def everything(lay: Layout, assumed="") -> Reach:
    """The whole state space (start anywhere, or an algorithm without memory)."""
    D, zero = lay.size, np.full((1, 1), Fraction(0))
    return Reach(tuple(range(D)), zero + np.eye(D, dtype=np.int64), np.empty((0, D), dtype=object), tuple(lay.names()), assumed)


def _reach(lay, rows, B, assumed=""):
    """From the free coordinates' dependence B (D - r, r) on the coordinates `rows`."""
    D, r = lay.size, len(rows)
    free = [k for k in range(D) if k not in set(rows)]
    rows, free, B = _levelled(list(rows), free, B)
    V, W = (np.full(shape, Fraction(0), dtype=object) for shape in ((D, r), (D - r, D)))
    for k, i in enumerate(rows):
        V[i, k] = Fraction(1)
    for k, i in enumerate(free):
        V[i] = B[k]
        W[k, i] = Fraction(1)
        W[k, list(rows)] = -B[k]
    return Reach(tuple(rows), V, W, tuple(lay.names()), assumed)


def _levelled(rows, free, B):
    """The same subspace with coordinates of which none is read off the others at a steep slope: where a client weighs
    10^-9, its memory is no multiple 10^9 of a difference of the others'. Each exchange more than doubles a determinant."""
    B = B.copy()
    while B.size:
        f, p = np.unravel_index(max(range(B.size), key=lambda k: abs(B.reshape(-1)[k])), B.shape)
        slope = B[f, p]
        if abs(slope) <= STEEPEST:
            break
        row = -B[f] / slope               # x_p by the others and x_f
        row[p] = 1 / slope
        column = B[:, p].copy()
        B = B + column[:, None] * row[None]
        B[:, p] = column * row[p]
        B[f] = row
        rows[p], free[f] = free[f], rows[p]
    order = sorted(range(len(free)), key=free.__getitem__)
    return rows, [free[k] for k in order], B[order]


def reachable(algorithm: Algorithm, problem: Problem, law: Law, noise=False, featured=False) -> Reach:
    """The reachable subspace from init(x0), all x0. featured: the round is affine in the features of the cohort, so that
    a few cohorts speak for all.

    If the problem's own data make its entries too long to be read back (float minimisers with equal Hessians, say),
    the linear terms are freed: the subspace reachable for some linear terms, which keeps every structural invariant.
    Where that is too long as well, it is the whole space. `Reach.assumed` says which.
    """
    first = Words(word_prime(0))
    lay = layout(algorithm.to(first), problem.to(first))
    draws = spanning(law, problem.n, featured)
    for freed in (False, True):
        reach = _lifted(algorithm, problem, noise, freed, draws)
        if reach is not None:
            return reach
    return everything(lay, "every state, because the conserved quantities of these data have no short rational form: "
                           "rates are those of any start, and an eigenvalue 1 may belong to a conserved quantity")


def reduced(mix: Mixture, reach, J, z0, domain) -> Mixture:
    """Reduce to the reachable subspace, after verifying in this arithmetic that every round keeps it.

    What was found modulo primes, or for other numbers, is believed here only: exactly in exact arithmetics, as balls
    that contain 0, and in floats to 1e-9 of the largest term.
    """
    local = reach.to(domain)
    gap = np.concatenate([mix.leaving(local, z0).reshape(-1), along(local.W, J[None]).reshape(-1)])
    if domain is FLOAT:
        size = max(1.0, mix.largest) * max(1.0, np.abs(z0).max()) * np.abs(local.W).sum(1).max()
        stays = np.abs(gap).max(initial=0.0) <= 1e-9 * size
    elif domain.exact:
        stays = all(v == 0 for v in gap)
    else:
        stays = all(v.contains(0) for v in gap)
    if not stays:
        raise NotKept("the rounds do not keep the subspace found for other numbers of the same data (symbols at a generic "
                      "point, another step size), or rounding hides that they do: use start='any', or exact data")
    return mix.reduce(list(reach.rows), local.V, z0)


FREED = ("linear terms free, because these data give the reachable subspace no short rational form: it is the one "
         "reachable for some linear terms, so rates may be those of directions that these data never use")


def _lifted(algorithm: Algorithm, problem: Problem, noise, freed, draws):
    """The subspace lifted from residues of several primes and confirmed by a further one, None if it is too long."""
    rows: Any = None
    residues: Any = None
    modulus, count, shortest = 1, 0, 0
    most, index = None, -1
    while most is None or count < most:
        index += 1
        try:
            explorer = _Explorer(algorithm, problem, noise, word_prime(index), freed, draws)
            pivots, _, depend = explorer.closure(len(rows) if count > 1 else None)
        except (BadInput, ZeroDivisionError):  # a number of the data has no residue or no inverse modulo this prime
            if index > 2 * MOST_PRIMES:
                raise
            continue
        lay = explorer.lay
        if len(pivots) == lay.size:
            return everything(lay, FREED if freed else "")
        most = most or (MOST_PRIMES if lay.size <= LARGE else FEW_PRIMES)
        # ranks can only fall modulo a prime, and pivots only move to the right: other primes were unlucky
        if rows is None or (len(pivots), [-k for k in pivots]) > (len(rows), [-k for k in rows]):
            rows, modulus, residues, count = pivots, 1, None, 0
        elif pivots != rows:
            continue
        new = depend.T.astype(object)
        if count >= max(1, shortest):
            guess = _short(residues, modulus)
            shortest = count + 1 + count // 4 if guess is None else 0
            if guess is not None and _agrees(guess, new, explorer.prime):
                return _reach(lay, rows, guess, FREED if freed else "")
        residues, modulus = _joined(residues, modulus, new, explorer.prime)
        count += 1
    return None


def _joined(old, modulus, new, prime):
    """Chinese remainders: residues modulo the product."""
    if old is None:
        return new, prime
    step = (new - old) * pow(modulus, -1, prime) % prime
    return old + modulus * step, modulus * prime


def _short(residues, modulus):
    """Fractions of residues, all far shorter than chance would give, or None."""
    out = np.empty(residues.shape, dtype=object)
    for k, v in enumerate(residues.reshape(-1)):
        f = rational_reconstruct(int(v), modulus)
        if f is None or max(abs(f.numerator), f.denominator)**2 << MARGIN > modulus:
            return None
        out.reshape(-1)[k] = f
    return out


def _agrees(guess, residues, prime):
    return all(f.denominator % prime and (f.numerator - f.denominator * int(v)) % prime == 0
               for f, v in zip(guess.reshape(-1), residues.reshape(-1), strict=True))


class _Explorer:
    """Rounds at random points of the reachable affine subspace z0 + V, modulo one prime."""

    def __init__(self, algorithm: Algorithm, problem: Problem, noise, prime, freed, draws):
        self.prime, self.noise, self.freed, self.draws = prime, noise, freed, draws
        domain = Words(prime)
        self.algorithm, self.problem = algorithm.to(domain), problem.to(domain)
        self.lay = layout(self.algorithm, self.problem)
        J, z0 = probe_init(self.algorithm, self.problem, self.lay)
        self.J, self.z0 = np.asarray(J).view(np.ndarray), np.asarray(z0).view(np.ndarray)
        self.random = np.random.Generator(np.random.Philox(prime))

    def closure(self, expected=None):
        """`Span.reduced` of V; no round at random points of z0 + V leaves it, tried twice. expected: its dimension where
        two other primes agree on it, which ends the search at once."""
        D = self.lay.size
        starts = self.J.T
        if self.freed:
            starts = np.concatenate([starts, self.z0[None], self._starts()])
            self.z0 = 0 * self.z0
        span = Span(D, self.prime)
        span.add(starts)
        confirmed = 0
        while span.rank < D and confirmed < 2 and span.rank != expected:
            before = span.rank
            for z in self._trajectories(span, 1 if confirmed else D - span.rank + 1):
                span.add(z - self.z0)
                if span.rank in (D, expected):
                    break
            confirmed = confirmed + 1 if span.rank == before else 0
        return span.reduced()

    def _trajectories(self, span, wanted):
        """States (b, D) along rounds from random points: every outcome of the law, several times where they are few."""
        outcomes = sum(len(d.present) for d in self.draws)
        copies = -(-FEWEST // outcomes)
        # one outcome opens few directions a round, so long trajectories; many outcomes open many at once
        rounds = max(1, min(LONGEST, wanted if copies > 1 else -(-2 * wanted // outcomes)))
        for draw in self.draws:
            for part in pieces(draw, max(1, AT_ONCE // (self.lay.size * min(rounds, 8))), copies):
                z = (self.z0 + span.random(len(part.present), self.random)) % self.prime
                xi = self._linear_terms(part) if self.freed and not self.noise else None
                rounds_run, grows = 0, True
                while rounds_run < rounds and grows:  # in growing blocks: where nothing is new, nothing more will be
                    block, before = min(rounds - rounds_run, max(4, rounds_run)), span.rank
                    states = []
                    for _ in range(block):
                        z = self._round(z, part, self._noise(part) if self.noise else xi)
                        states.append(z)
                    yield np.concatenate(states)
                    rounds_run, grows = rounds_run + block, span.rank > before

    def _round(self, z, draw: Draw, xi):
        state = self.lay.unflatten(Residues(z, self.prime))
        out = self.lay.flatten(advance(self.algorithm, self.problem, state, draw._replace(xi=xi)))
        return np.asarray(out).view(np.ndarray)

    def _noise(self, draw: Draw):
        """Gradient noise at random, another one for every gradient: all directions that noise can take."""
        return Slots(lambda k: self._sample(draw.present.shape))

    def _linear_terms(self, draw: Draw):
        """A random change of every client's linear term: the same shift of each of its gradients."""
        shift = self._sample((len(draw.present), self.problem.n))
        of_cohort = shift if isinstance(draw.who, slice) else shift[:, draw.who]
        return lambda k: of_cohort

    def _sample(self, shape):
        return Residues(self.random.integers(0, self.prime, (*shape, self.problem.drawn)), self.prime)

    def _starts(self):
        """init(0) for random linear terms, of methods whose start takes gradients."""
        count, n = self.problem.n * self.problem.drawn, self.problem.n
        draw = everyone(n, 1, np.ones((count, n), dtype=np.int64))
        zero = Residues(np.zeros((count, self.problem.d)), self.prime)
        out = self.lay.flatten(self.algorithm.init(self.problem, zero, draw._replace(xi=self._linear_terms(draw))))
        return np.asarray(out).view(np.ndarray)
