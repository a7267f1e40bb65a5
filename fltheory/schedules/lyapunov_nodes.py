"""Upper bounds: one Lyapunov matrix per node of the automaton, found by a semidefinite programme, re-checked in rationals.

If g^2 P_a - M_s' P_b M_s > 0 on every edge (a, s, b) and P_a > 0 in every node, then |z|_P shrinks at least by g in every
round of every schedule of the class. One common matrix instead would have to allow schedules in which somebody never comes.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.errors import MissingLibrary, TooLarge
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import need
from fltheory.schedules.rounds import Rounds

RAISED = Fraction(1, 10**6)  # relative; what rounding to dyadic numbers may cost
BITS = 40
MOST_ROWS = 25_000  # scalar constraints of the semidefinite programme: some minutes on one core
SOLVED = "Solved"
INFEASIBLE = "PrimalInfeasible", "AlmostPrimalInfeasible"
MARGINS = (0, 1)
DEGREES = (2, 4)


@dataclass(frozen=True)
class Certificate:
    """matrices (nodes, r, r), Fractions: every round of every schedule shrinks z'Pz at least by rate^2 (`rate` a Fraction).

    degree 4: (nodes, r (r + 1) / 2, ..), the same for the vector of products z_i z_j instead of z, and rate^4.
    """

    rate: Fraction
    matrices: np.ndarray = field(repr=False)
    degree: int = 2


def holds(rounds: Rounds, certificate: Certificate) -> bool:
    """The exact check of a certificate: every matrix and every edge inequality is positive definite, in rationals."""
    rounds = rounds if certificate.degree == 2 else rounds.squared()
    nodes, r = len(rounds.automaton.nodes), rounds.size
    if certificate.degree not in DEGREES or certificate.rate < 0 or np.shape(certificate.matrices) != (nodes, r, r):
        return False
    try:
        integers, _ = linalg.cleared(certificate.matrices)
    except (TypeError, ValueError):  # an entry is not rational
        return False
    if (np.swapaxes(integers, 1, 2) != integers).any() or not all(linalg.is_positive_definite(P) for P in integers):
        return False
    up, down = (certificate.rate**certificate.degree).as_integer_ratio()
    images = {}
    for a, s, b in rounds.automaton.edges:
        A, q = rounds.integers[s]
        if (s, b) not in images:
            images[s, b] = A.T @ integers[b] @ A * down
        if not linalg.is_positive_definite(integers[a] * (up * q * q) - images[s, b]):
            return False
    return True


class Programme:
    """minimise sum_a tr P_a subject to P_a >= 1 and g^2 P_a - M_s' P_b M_s >= margin, for one problem and many rates g.

    With degree 4 the same for the maps of all products z_i z_j, with g^4: quartic functions, a smaller bound, more time.
    margin is 0, and then 1 where the solver's residuals did not survive the exact check: any strict solution can be scaled up
    to that one, which is larger but lies further inside.
    Solved by Clarabel, the interior-point solver that comes with cvxpy, straight from the cone data: all entries but those
    multiplied by g^2 are built once. `status`: of every rate tried so far, [(g, margin, the solver's word)].
    """

    def __init__(self, rounds: Rounds, degree=2):
        self.plain, self.degree, self.status = rounds, degree, list[tuple]()
        self.size = r = rounds.size if degree == 2 else rounds.size * (rounds.size + 1) // 2
        self.width = r * (r + 1) // 2
        count = len(rounds.automaton.edges) * self.width
        if count > MOST_ROWS:
            raise TooLarge(f"{len(rounds.automaton.edges)} edges in dimension {r} are {count} scalar constraints, above "
                           f"{MOST_ROWS}; take fewer clients, a shorter window or fewer parameters (certify=False gives the lower "
                           "bound alone)")
        need("cvxpy", "certificates over all schedules, which are semidefinite programmes")
        self.rounds = rounds if degree == 2 else rounds.squared()
        try:
            import clarabel  # comes with cvxpy
        except ImportError:
            raise MissingLibrary("clarabel is not installed: it solves the semidefinite programmes. pip install clarabel") from None
        self.clarabel = clarabel

    @functools.cached_property
    def _data(self):
        from scipy import sparse

        r, width = self.rounds.size, self.width
        i, j = np.triu_indices(r)
        order = np.lexsort((i, j))  # columns of the upper triangle, one after the other
        i, j = i[order], j[order]
        weight = np.where(i == j, 1.0, np.sqrt(2))
        # coordinates in which the matrices of the nodes are close to the identity
        half = self._scale()
        maps = np.linalg.inv(half) @ self.rounds.floats @ half
        k, m = i, j
        pull = maps[:, k[None, :], i[:, None]] * maps[:, m[None, :], j[:, None]]
        pull = np.where(k == m, pull, pull + maps[:, m[None, :], i[:, None]] * maps[:, k[None, :], j[:, None]])
        pull = pull * weight[:, None]  # (sets, width, width): entries of M'PM, off-diagonal ones times sqrt 2
        edges = np.array(self.rounds.automaton.edges)
        nodes, E = len(self.rounds.automaton.nodes), len(edges)
        row = np.arange(E)[:, None] * width + np.arange(width)
        before, after = (edges[:, k, None] * width + np.arange(width) for k in (0, 2))
        shape = ((E + nodes) * width, nodes * width)
        places = np.repeat(row, width, axis=1).reshape(-1), np.repeat(after, width, axis=0).reshape(-1)
        moved = sparse.csc_matrix((pull[edges[:, 1]].reshape(-1), places), shape)
        sources = sparse.csc_matrix((np.tile(-weight, E), (row.reshape(-1), before.reshape(-1))), shape)
        below = np.arange(nodes * width)
        bounded = sparse.csc_matrix((np.tile(-weight, nodes), (E * width + below, below)), shape)
        unit = np.where(i == j, -1.0, 0.0)
        b = np.concatenate([np.zeros(E * width), np.tile(unit, nodes)])
        return moved + bounded, sources, b, np.tile(-unit, nodes), (i, j), np.linalg.inv(half)

    def _scale(self):
        """Columns of a coordinate change (r, r) that balances the rounds: an average Lyapunov matrix is mapped to 1."""
        from fltheory.schedules.walks import averaged

        values, vectors = np.linalg.eigh(averaged(self.rounds.automaton, self.rounds.floats).mean(0))
        return vectors / np.sqrt(np.maximum(values, 1e-6 * values.max()))

    def matrices(self, g: float, margin=0):
        """Floats (nodes, r, r) that fulfil the inequalities up to the solver's accuracy, or None; only the plain status
        "Solved" counts, an inaccurate one is no answer."""
        from scipy import sparse

        moved, sources, b, cost, (i, j), back = self._data
        settings = self.clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        cones = [self.clarabel.PSDTriangleConeT(self.rounds.size)] * (len(b) // self.width)
        zero = sparse.csc_matrix((len(cost), len(cost)))
        b = b + margin * np.tile(b[-self.width:], len(b) // self.width) * (np.arange(len(b)) < len(b) - len(cost))
        solver = self.clarabel.DefaultSolver(zero, cost, sparse.csc_matrix(moved + g**self.degree * sources), b, cones, settings)
        solution = solver.solve()
        self.status.append((g, margin, str(solution.status)))
        if str(solution.status) != SOLVED:
            return None
        P = np.zeros((len(self.rounds.automaton.nodes), self.rounds.size, self.rounds.size))
        P[:, i, j] = P[:, j, i] = np.array(solution.x).reshape(len(P), -1)
        return back.T @ P @ back

    def certify(self, g: float) -> Certificate | None:
        """A certificate for the rate g (1 + 10^-6) that survived the exact check, or None: then nothing is decided."""
        rate = Fraction(round(g * 2**BITS), 2**BITS) * (1 + RAISED)
        for margin in MARGINS:
            P = self.matrices(g, margin)
            if P is not None and np.isfinite(P).all() and np.abs(P).max() > 0:
                certificate = Certificate(rate, dyadic(P / np.abs(P).max()), self.degree)
                if holds(self.plain, certificate):
                    return certificate
            elif self.status[-1][-1] in INFEASIBLE:
                break
        return None


def dyadic(P, bits=BITS):
    """Symmetric floats (nodes, r, r), rounded to `bits` binary digits after the point of their smallest scale."""
    smallest = min((np.linalg.eigvalsh(block)[0] for block in P), default=1.0)
    extra = max(0, int(-np.log2(max(smallest, 1e-12))) + 1)
    one, out = 2 ** (bits + extra), np.empty(P.shape, dtype=object)
    P = (P + np.swapaxes(P, 1, 2)) / 2
    out.reshape(-1)[:] = [Fraction(round(Fraction(float(v)) * one), one) for v in P.reshape(-1)]
    return out


def upper_bound(programme: Programme, above: float, accuracy: float) -> Certificate | None:
    """The smallest certified rate found by bisection above a lower bound, to a relative `accuracy`; None if none was found
    up to four times max(above, 1)."""
    low, high, step, best = above, None, 0.02, None
    while high is None or high - low > accuracy * high:
        g = min(max(above, 1e-3) * (1 + step), 4 * max(above, 1.0)) if high is None else (low + high) / 2
        certificate = programme.certify(g)
        if certificate is not None:
            best, high = certificate, g
        elif high is None and g >= 4 * max(above, 1.0):
            return None
        else:
            low, step = g, 2 * step
    return best
