"""The reachable affine subspace of a round, decided exactly modulo a prime, and its invariants in closed form.

Conserved quantities (SCAFFOLD's c = sum p_i c_i, FOCUS's y = sum g_i) put eigenvalues 1 into the full operator;
in floats no tolerance finds them. The smallest subspace V that contains init(x0) - init(0) for all x0, every
first move M z0 + c - z0, every column of G, and is closed under every M is computed modulo a prime with the same
`round`; its annihilator is lifted to the rationals.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory import linalg
from fltheory.errors import CertificateFailed
from fltheory.operators.outcomes import spanning
from fltheory.operators.probe import Layout, layout, probe_init, probe_offsets
from fltheory.scalars import LARGE_PRIME, WORD_PRIME, Modular


@dataclass(frozen=True)
class Reach:
    """V (D, r) rational basis with an identity block on `rows`; W (D - r, D) rational annihilator, W V = 0."""

    rows: tuple
    V: np.ndarray
    W: np.ndarray
    names: tuple

    @property
    def dimension(self) -> int:
        return len(self.rows)

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


def everything(lay: Layout) -> Reach:
    """The whole state space (start anywhere, or an algorithm without memory)."""
    eye = np.array([[Fraction(int(i == j)) for j in range(lay.size)] for i in range(lay.size)], dtype=object)
    return Reach(tuple(range(lay.size)), eye, eye[:0], tuple(lay.names()))


def reachable(algorithm, problem, law, noise=False) -> Reach:
    """The reachable subspace from init(x0), all x0. Raises CertificateFailed if it cannot be lifted to rationals.

    If the problem's own data make entries too long to be read back (float minimisers with equal Hessians, say), the
    linear terms are freed: the subspace reachable for some linear terms, which keeps every structural invariant.
    """
    for prime, free_offsets in ((WORD_PRIME, False), (LARGE_PRIME, False), (LARGE_PRIME, True)):
        domain = Modular(prime)
        alg, prob = algorithm.to(domain), problem.to(domain)
        lay = layout(alg, prob)
        if lay.size == problem.d:
            return everything(lay)          # the state is the model: init(x0) already spans it
        maps = _integers(spanning(alg, prob, lay, law, noise), prime)
        J, z0 = (_integers(a, prime) for a in probe_init(alg, prob, lay))
        if free_offsets:
            J = np.concatenate([J, _integers(probe_offsets(alg, prob, lay, law.typical(problem.n)), prime)], axis=1)
            maps = maps.copy()
            maps[:, :, lay.size] = 0
            z0 = 0 * z0
        found = _lift(_closure(maps, J, z0, prime), prime, lay)
        if found is not None:
            return found
    raise CertificateFailed(f"{type(algorithm).__name__}: the invariants have numerators beyond {LARGE_PRIME}**(1/2). "
                            'Declare the data with shorter rationals, or derive with start="any".')


def _integers(array, prime):
    out = np.empty(array.shape, dtype=object)
    out.reshape(-1)[:] = [(v.value if hasattr(v, "value") else int(v)) % prime for v in array.reshape(-1)]
    return out


def _closure(maps, J, z0, prime):
    """Reduced basis rows (r, D) modulo the prime of the smallest subspace described above."""
    D = maps.shape[1]
    M, c, G = maps[:, :, :D], maps[:, :, D], maps[:, :, D + 1:]
    moves = [(m @ z0 + k - z0) % prime for m, k in zip(M, c, strict=True)]
    noise = [g for block in G for g in block.T if any(g)]
    basis = _Echelon(D, prime)
    queue = [v for v in (*J.T, *moves, *noise) if basis.add(v)]
    stacked = M.reshape(-1, D)
    while queue and len(basis.rows) < D:
        images = (stacked @ queue.pop() % prime).reshape(-1, D)
        queue += [v for v in images if basis.add(v)]
    return basis.reduced()


class _Echelon:
    """Row-echelon basis modulo a prime, grown one vector at a time."""

    def __init__(self, D, prime):
        self.D, self.prime, self.rows, self.pivots = D, prime, [], []

    def add(self, vector) -> bool:
        v = vector % self.prime
        for row, pivot in zip(self.rows, self.pivots, strict=True):
            if v[pivot]:
                v = (v - v[pivot] * row) % self.prime
        pivot = next((k for k in range(self.D) if v[k]), None)
        if pivot is None:
            return False
        self.rows.append(v * pow(int(v[pivot]), -1, self.prime) % self.prime)
        self.pivots.append(pivot)
        return True

    def reduced(self):
        """(pivots, rows) in reduced form: identity block on the pivots."""
        order = np.argsort(self.pivots)
        rows, pivots = [self.rows[k] for k in order], [self.pivots[k] for k in order]
        for k in reversed(range(len(rows))):
            for j in range(k):
                if rows[j][pivots[k]]:
                    rows[j] = (rows[j] - rows[j][pivots[k]] * rows[k]) % self.prime
        return pivots, rows


def _lift(reduced, prime, lay):
    """Rational V and W from the reduced residues; None if some entry has no short rational form."""
    pivots, rows = reduced
    D, r = lay.size, len(pivots)
    V = np.empty((D, r), dtype=object)
    for k, row in enumerate(rows):
        for i, v in enumerate(row):
            f = linalg.rational_reconstruct(int(v), prime)
            # a random residue has *some* short fraction; only one far below the bound is evidence
            if f is None or max(abs(f.numerator), f.denominator)**2 * 2**25 > prime:
                return None
            V[i, k] = f
    free = [i for i in range(D) if i not in set(pivots)]
    W = np.full((len(free), D), Fraction(0), dtype=object)
    for k, i in enumerate(free):
        W[k, i] = Fraction(1)
        W[k, list(pivots)] = -V[i]
    return Reach(tuple(pivots), V, W, tuple(lay.names()))
