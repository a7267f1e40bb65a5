"""The exact round maps of a coded algorithm, one per participation set, on the subspace that it can reach."""
from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Algorithm, Problem
from fltheory.core.laws.modes import Chain
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import RATIONAL
from fltheory.core.operators.operator import listed
from fltheory.core.operators.setting import prepare
from fltheory.schedules.windows import Automaton


@dataclass(frozen=True)
class Rounds:
    """z -> M_s z + c_s for every set s of an automaton, in reduced coordinates (conserved quantities taken off).

    maps (sets, r, r) and shifts (sets, r): Fractions; floats: the maps in float64.
    """

    automaton: Automaton
    maps: np.ndarray = field(repr=False)
    shifts: np.ndarray = field(repr=False)
    operator: object = field(repr=False)

    @property
    def size(self) -> int:
        return self.maps.shape[-1]

    @functools.cached_property
    def floats(self):
        return self.maps.astype(np.float64)

    @functools.cached_property
    def integers(self):
        """[(A, q)]: the map of every set as an integer matrix over one denominator, M_s = A / q."""
        return [linalg.cleared(M) for M in self.maps]

    def product(self, indices) -> np.ndarray:
        """The map of several rounds (r, r): the set with the first index acts first."""
        total = linalg.identity(self.size, Fraction(1))
        for s in indices:
            total = linalg.matmul(self.maps[s], total)
        return total

    def squared(self) -> Rounds:
        """The maps of the products z_i z_j (i <= j) that the rounds make, exactly, in dimension r (r + 1) / 2; no shifts."""
        i, j = np.triu_indices(self.size)
        M = self.maps
        both = M[:, i[:, None], i] * M[:, j[:, None], j]
        swapped = M[:, i[:, None], j] * M[:, j[:, None], i]
        maps = np.where(i == j, both, both + swapped)
        return Rounds(self.automaton, maps, 0 * maps[:, :, 0], None)

    def fixed_point(self):
        """The server model (d,) of a state that every round of the class keeps, or None if there is none or several."""
        r = self.size
        if r == 0:
            return self._model(self.shifts[0])
        eye = linalg.identity(r, Fraction(1))
        system = np.concatenate([np.concatenate([M - eye, -c[:, None]], axis=1)
                                 for M, c in zip(self.maps, self.shifts, strict=True)])
        R, pivots = linalg.rref(system)
        return None if pivots != tuple(range(r)) else self._model(R[:r, r])

    def _model(self, u):
        op = self.operator
        E, e = op.model
        return linalg.to_fractions((E * op._lift(op.domain.array(u))).sum(-1) + e)


def round_maps(algorithm: Algorithm, problem: Problem, windows, automaton, reach=None) -> Rounds:
    """The rounds of an algorithm on a quadratic problem, by probing its coded `round` in rationals.

    reach: a `Reach` to use instead of this algorithm's own (at special steps a client may stop to move, which makes one more
    quantity conserved); raises NotKept if the rounds do not keep it.
    """
    sets = tuple(automaton.sets)
    k = len(sets)
    # every set may follow every other one: only what all of them keep is conserved
    law = Chain(sets=sets, matrix=((Fraction(1, k),) * k,) * k, empty="skip" if windows.empty == "skip" else "move")
    op = listed(algorithm, problem, prepare(algorithm, problem, law, None), domain=RATIONAL, reach=reach)
    if type(op.law) is not Chain or op.moments.modes != k or not all(m.single for m in op.moments.mixtures):
        refuse("algorithm", type(algorithm).__name__, "its round depends on more than who takes part (ages, coins, waiting "
               "clients), so a schedule of sets does not determine it", "Use a method whose round needs the participants only.")
    r = op.reachable
    parts = linalg.to_fractions(np.stack([mix.parts[0, :, :r + 1] for mix in op.moments.mixtures]))
    return Rounds(automaton, parts[:, :, :r], parts[:, :, r], op)
