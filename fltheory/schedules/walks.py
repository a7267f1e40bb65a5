"""Lower bounds: a periodic schedule of the class contracts no faster than the spectral radius of its product.

Closed walks are searched in floats (all of them while they are few, then the most promising ones); only the exact check of
the walk that was found counts.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.errors import CertificateFailed
from fltheory.core.numbers import linalg
from fltheory.schedules.rounds import Rounds

ALL = 20_000  # walks of one length up to which none is dropped
FOLLOWED = 3_000  # beyond: the walks of largest growth are followed further
BITS = 40


@dataclass(frozen=True)
class Walk:
    """A periodic schedule with its exact contraction per round.

    sets: one tuple of client indices per round (repeated for ever). product (r, r): the map of one period, Fractions.
    low, high: Fractions, low <= contraction factor per round <= high (high None where it was not enclosed). method: how.
    """

    sets: tuple
    product: np.ndarray = field(repr=False)
    low: Fraction
    high: Fraction | None
    method: str

    @property
    def length(self) -> int:
        return len(self.sets)

    @property
    def schedule(self) -> list:
        """The argument of `Replay` that repeats this walk."""
        return [(list(s), None) for s in self.sets]

    def __str__(self):
        return " ".join("{" + ",".join(map(str, s)) + "}" for s in self.sets)


def worst_walk(rounds: Rounds, longest) -> Walk:
    """The slowest closed walk that the search found, its rate certified. longest: rounds of a period at most."""
    indices, _ = search(rounds.automaton, rounds.floats, longest)
    return certified(rounds, indices)


def certified(rounds: Rounds, indices) -> Walk:
    """The walk of these sets with an enclosure of its rate, from the exact product of its rounds."""
    product, k = rounds.product(indices), len(indices)
    high: Fraction | None
    if rounds.size == 0:
        low, high, how = Fraction(0), Fraction(0), "the reachable subspace is a point"
    else:
        low, high = linalg.charpoly_radius(product)
        how = "exact characteristic polynomial of the product"
    if low < 1 and low > Fraction(999, 1000) and _keeps_a_direction(product):
        low, high, how = Fraction(1), None, "a direction that the period keeps or turns round, exact"
    sets = tuple(rounds.automaton.sets[s] for s in indices)
    return Walk(sets, product, root(low, k), None if high is None else root(high, k, up=True), how)


def _keeps_a_direction(product) -> bool:
    """Whether 1 or -1 is an eigenvalue, exactly: enclosures of a radius of 1 end a little below it."""
    eye = linalg.identity(len(product), product)
    return any(linalg.nullspace(product - sign * eye)[0].shape[1] > 0 for sign in (1, -1))


def root(value: Fraction, k: int, up=False) -> Fraction:
    """A short Fraction at or below (above if `up`) the k-th root of value >= 0, checked by its exact power."""
    if value == 0:
        return Fraction(0)
    # float(value) may underflow; logarithms of ints do not
    log = (_log2(value.numerator) - _log2(value.denominator)) / k
    bits = BITS + max(0, int(-log) + 1)
    guess = Fraction(round(2.0 ** (log + min(bits, 900))), 2 ** min(bits, 900))
    step, side = Fraction(1, 2 ** min(bits, 900)), 1 if up else -1
    while (guess**k - value) * side < 0:
        guess, step = guess + side * step, 2 * step
    return max(guess, Fraction(0))


def _log2(number: int) -> float:
    shift = max(number.bit_length() - 60, 0)
    return float(np.log2(number >> shift)) + shift


# ---- search ----------------------------------------------------------------------------------------------
def search(automaton, maps, longest):
    """(set indices of the slowest closed walk found, its rate), in floats. maps (sets, r, r); longest: rounds at most."""
    edges = np.array(automaton.edges)
    out, count = _table(automaton)
    norms = _norms(automaton, maps)
    best, rate = None, -1.0
    nodes, r = len(automaton.nodes), maps.shape[-1]
    start = np.arange(nodes)
    at, product, history = start, np.broadcast_to(np.eye(r), (nodes, r, r)), np.zeros((nodes, 0), dtype=np.int64)
    for length in range(1, longest + 1):
        which = np.repeat(np.arange(len(at)), count[at])
        moves = out[at[which], np.arange(len(which)) - np.repeat(np.cumsum(count[at]) - count[at], count[at])]
        # a closed walk is met once, from the node on it that comes first
        fits = edges[moves, 2] >= start[which]
        which, moves = which[fits], moves[fits]
        if not len(which):
            break
        product = maps[edges[moves, 1]] @ product[which]
        start, at = start[which], edges[moves, 2]
        history = np.concatenate([history[which], moves[:, None]], axis=1)
        closed = np.flatnonzero(at == start)
        if len(closed):
            radii = np.abs(np.linalg.eigvals(product[closed])).max(-1, initial=0.0) ** (1 / length)
            top = int(radii.argmax())
            if radii[top] > rate * (1 + 1e-9):  # a repetition of a shorter walk is no news
                best, rate = edges[history[closed[top]], 1], float(radii[top])
        if len(at) > ALL:
            grown = np.linalg.norm(norms[0][at] @ product @ norms[1][start], axis=(1, 2))
            keep = np.sort(np.argpartition(-grown, FOLLOWED)[:FOLLOWED])
            start, at, product, history = start[keep], at[keep], product[keep], history[keep]
    if best is None:
        raise CertificateFailed(f"no closed walk of at most {longest} rounds was found; allow a larger longest=")
    return tuple(int(s) for s in best), rate


def _table(automaton):
    """Edges out of each node as a padded table (nodes, most), and how many."""
    leaving = automaton.leaving()
    count = np.array([len(e) for e in leaving])
    out = np.zeros((len(leaving), count.max()), dtype=np.int64)
    for k, e in enumerate(leaving):
        out[k, : len(e)] = e
    return out, count


def averaged(automaton, maps):
    """One positive definite matrix per node (nodes, r, r), floats, largest entry about 1: the Lyapunov matrices of edges
    drawn at random. A scale for states, nothing more."""
    r, edges = maps.shape[-1], np.array(automaton.edges)
    share = 1 / np.bincount(edges[:, 0])[edges[:, 0]]
    P = np.broadcast_to(np.eye(r), (len(automaton.nodes), r, r))
    M = maps[edges[:, 1]]
    for _ in range(60):
        new = np.zeros_like(P)
        np.add.at(new, edges[:, 0], share[:, None, None] * (np.swapaxes(M, 1, 2) @ P[edges[:, 2]] @ M))
        scale = np.abs(new).max(initial=0.0)
        if not 0 < scale < np.inf:
            break
        P = new / scale + 1e-6 * np.eye(r)
    return (P + np.swapaxes(P, 1, 2)) / 2


def _norms(automaton, maps):
    """Square roots of these matrices and their inverses: they compare the growth of walks that have not closed yet."""
    values, vectors = np.linalg.eigh(averaged(automaton, maps))
    values = np.sqrt(np.maximum(values, 1e-12))
    half = (vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return half, (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
