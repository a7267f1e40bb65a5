"""Laws with memory: cyclic groups, Markov participation, replayed schedules. All are finite chains of modes."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import listed, refuse
from fltheory.core.kinds import Array, Steps, Who
from fltheory.core.laws.base import Law, check_steps, distribution, frozen, mask, probabilities
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import Numbers, declare, fraction, is_count
from fltheory.core.records import declared, one_of

MOST_CHAINS = 10  # clients of a joint chain: 2^10 x 2^10 Fractions are 200 MB and 20 seconds
SET = ("is a list of lists of client indices", "For example [[0, 1], [2]].")


def _sets(sets, what):
    sets = tuple(tuple(listed(s, "set", *SET)) for s in listed(sets, what, *SET))
    for s in sets:
        if not all(is_count(i, 0) for i in s) or len(set(s)) != len(s):
            refuse("set", s, "client indices are distinct ints >= 0", "List every participant once.")
    return tuple(tuple(map(int, s)) for s in sets)


def _matrix(matrix, what):
    rows = () if matrix is None else listed(matrix, what, "is a list of rows of probabilities", "Give one row per mode.")
    return None if matrix is None else tuple(distribution(row, "matrix row", "rows are >= 0 and sum to 1") for row in rows)


def _each_steps(steps, what):
    return tuple(map(check_steps, listed(steps, what, "is a list of local steps", "Give one entry per mode.")))


def stationary_law(matrix, remedy):
    """The one distribution that a transition matrix (modes, modes) keeps."""
    kernel, _ = linalg.nullspace(matrix.T - linalg.identity(len(matrix), matrix))
    if kernel.shape[1] != 1:
        refuse("matrix", f"{kernel.shape[1]} closed classes", "the stationary law must be unique", remedy)
    return list(kernel[:, 0] / kernel[:, 0].sum())


@dataclass(frozen=True)
class Chain(Law):
    """A finite Markov chain of participation sets: mode k means the clients `sets[k]` take part.

    sets: tuple of tuples of client indices. matrix: (modes, modes) exact, rows sum to 1; None: the modes act in turn.
    initial: distribution of the mode before the first round, default stationary; in turn, sets[0] acts first.
    per_mode_steps: optional local steps of each mode (a round-varying schedule).
    """

    sets: tuple = declared(_sets, ())
    matrix: tuple | None = declared(_matrix, ())
    initial: tuple | None = declared(distribution, None)
    per_mode_steps: tuple | None = declared(_each_steps, None)
    empty: str = declared(one_of("move", "skip", rule='is "move" or "skip": a schedule cannot be redrawn',
                                 remedy="Leave the empty set out."), "move")

    def __post_init__(self):
        super().__post_init__()
        k = len(self.sets)
        if self.matrix is not None and (k == 0 or len(self.matrix) != k or any(len(r) != k for r in self.matrix)):
            refuse("matrix", len(self.matrix), f"one row and column per mode, so ({k}, {k})", "Check sets and matrix.")
        if k == 0:
            refuse("sets", self.sets, "needs at least one mode", "List the participants of each mode.")
        if self.initial is not None and len(self.initial) != k:
            refuse("initial", [str(v) for v in self.initial], f"is a distribution over the {k} modes",
                   "Give one probability per mode, summing to 1.")
        if self.initial is None and self.matrix is not None and not self._irreducible():
            refuse("matrix", f"{k} modes", "is irreducible: every mode can be reached from every other one",
                   "Leave out modes that never come back, or give `initial` to say where the chain starts.")
        if self.per_mode_steps is not None and len(self.per_mode_steps) != k:
            refuse("per_mode_steps", len(self.per_mode_steps), f"one entry per mode, so {k}", "Repeat equal ones.")

    def _irreducible(self):
        from scipy.sparse.csgraph import connected_components
        edges = np.array([[int(v > 0) for v in row] for row in self.matrix])
        return connected_components(edges, connection="strong", return_labels=False) == 1

    @property
    def modes(self):
        return len(self.sets)

    def chain(self) -> list[list]:
        return super().chain() if self.matrix is None else [list(r) for r in self.matrix]

    def successor(self) -> list[int] | None:
        if self.matrix is None:
            return super().successor()
        if any(v not in (0, 1) for row in self.matrix for v in row):
            return None
        follow = [row.index(1) for row in self.matrix]
        return follow if len(set(follow)) == len(follow) else None

    def start(self) -> list:
        if self.initial is not None:
            return list(self.initial)
        return super().start() if self.matrix is None else self.stationary()

    def stationary(self) -> list:
        """The stationary law of the modes; raises BadInput if it is not unique."""
        if self.matrix is None:
            return super().stationary()
        P = np.array(self.matrix, dtype=object)
        if self.initial is not None and self._irreducible() and tuple(np.array(self.initial) @ P) == self.initial:
            return list(self.initial)  # as of Markov, whose joint chain is too large for elimination
        return stationary_law(P, "Use an irreducible chain or give `initial`.")

    def steps_of(self, n: int, mode: int = 0) -> Steps:
        if self.per_mode_steps is None:
            return super().steps_of(n, mode)
        return self._spread(self.per_mode_steps[mode], n)

    def with_steps(self, steps: Steps) -> Law:
        if steps is not None and self.per_mode_steps is not None:
            refuse("steps", steps, "the schedule already fixes the steps of each round", "Give them once.")
        return super().with_steps(steps)

    def _mask(self, n):
        return self._once(("mask", n), lambda: frozen([mask(s, n) for s in self.sets]))

    def cohort_count(self, n: int, mode: int = 0) -> int:
        return 1

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        return [(Fraction(1), EVERYONE, self._mask(n)[mode])]

    def uniforms_needed(self, n: int) -> int:
        return 0

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        return EVERYONE, self._mask(n)[mode]

    def _sample_steps(self, stream, n, batch, mode):
        if self.per_mode_steps is None:
            return super()._sample_steps(stream, n, batch, mode)
        table = self._once(("steps", n), lambda: np.stack([self.steps_of(n, k) for k in range(self.modes)]))
        return table[mode]


def Cyclic(groups: Numbers, **options: Any) -> Chain:
    """Groups of clients take part in turn: groups[0], groups[1], ..., again. The first round uses groups[0]."""
    return Replay([(g, None) for g in listed(groups, "groups", *SET)], **options)


def Replay(schedule: Any, **options: Any) -> Chain:
    """A recorded schedule, repeated: a list of (participants, steps or None), one entry per round."""
    schedule = listed(schedule, "schedule", "is a list of (participants, steps or None)", "For example [([0, 1], 5)].")
    for entry in schedule:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            refuse("schedule", entry, "an entry is a pair (participants, steps or None)", "For example ([0, 1], 5).")
    if not schedule:
        refuse("schedule", schedule, "needs at least one round", "List (participants, steps) per round.")
    sets = tuple(tuple(listed(s, "set", *SET)) for s, _ in schedule)
    steps = [t for _, t in schedule]
    if any(t is None for t in steps) and any(t is not None for t in steps):
        refuse("schedule", steps, "steps are given for every round or for none", "Complete the schedule.")
    return Chain(sets=sets, matrix=None, per_mode_steps=None if steps[0] is None else tuple(steps), **options)


def Markov(p: Numbers, correlation: Numbers, n: int, **options: Any) -> Chain:
    """Independent two-state chains per client: stationary probability p_i, correlation in (-1, 1) round to round.

    Joint chain over the 2^n sets (n <= 10). P(join | out) = p(1 - correlation), P(stay | in) = p + correlation(1 - p).
    Raises BadInput where a transition probability would leave [0, 1].
    """
    if not is_count(n):
        refuse("n", n, "there is at least one client", "Give an int >= 1.")
    if n > MOST_CHAINS:
        refuse("n", n, "the joint chain has 2^n modes and 4^n exact transition probabilities, a few hundred MB for "
               f"{MOST_CHAINS} clients and four times as much for each further one",
               f"Use at most {MOST_CHAINS} clients, or Bernoulli, which has no memory.")
    p = [fraction(v) for v in probabilities(p, n, "p")]
    array = declare(correlation, "correlation")
    rho = [fraction(v) for v in array.reshape(-1)] * (n if array.ndim == 0 else 1)
    if len(rho) != n:
        refuse("correlation", len(rho), f"one number for all clients, or one each, so {n}", "Give n numbers.")
    local = []
    for a, r in zip(p, rho, strict=True):
        join, stay = a * (1 - r), a + r * (1 - a)
        if not (0 <= join <= 1 and 0 <= stay <= 1) or abs(r) >= 1:
            refuse("correlation", str(r), f"lies in (-1, 1), and with p = {a} it makes the transition "
                   f"probabilities {join} and {stay}, which must lie in [0, 1]", "Move it towards 0.")
        local.append(((1 - join, join), (1 - stay, stay)))
    states = list(itertools.product((0, 1), repeat=n))
    matrix = tuple(tuple(math.prod((local[i][a[i]][b[i]] for i in range(n)), start=Fraction(1)) for b in states)
                   for a in states)
    initial = tuple(math.prod((p[i] if a[i] else 1 - p[i] for i in range(n)), start=Fraction(1)) for a in states)
    sets = tuple(tuple(i for i in range(n) if a[i]) for a in states)
    return Chain(sets=sets, matrix=matrix, initial=initial, **options)
