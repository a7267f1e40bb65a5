"""Laws that remember how long every client has been away, up to a cap: a finite chain, so exact operators exist."""
from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.errors import TooLarge, refuse, shown
from fltheory.core.kinds import Array, Law, Slots, Steps, Stream
from fltheory.core.laws.base import LARGEST_SUPPORT
from fltheory.core.laws.draw import Draw
from fltheory.core.laws.masks import Masks, without_repeats
from fltheory.core.laws.modes import stationary_law
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import count, declared

MOST_MODES = 1000


@dataclass(frozen=True)
class Ages(Masks):
    """The participation of `law`, whose draws carry `extra["age"]` (..., n): min(rounds since last present, cap).

    A client that took part in the round before has age 1, and so has everybody in the first round. The ages of absent
    clients, which no method uses, are 0. Empty rounds age everybody, unless the law skips them. The modes are the base
    law's modes times the cohort times the ages, at most (2 cap - 1)^n of them per base mode; raises TooLarge beyond
    1000. `tail()` bounds the chance that an age in use is cut.

    law: any law without repeats; cap: int >= 1; n: number of clients.
    """

    cap: int = declared(count(remedy="For example cap=8, n=problem.n."), 1)
    n: int = declared(count(remedy="For example cap=8, n=problem.n."), 1)

    def __init__(self, law: Law, cap: int, n: int):
        if isinstance(law, Ages):
            refuse("law", law, "already carries ages", "Give the law inside it.")
        self.give(law=without_repeats(law), cap=cap, n=n, steps=law.steps, noise=law.noise, batch=law.batch)

    def _again(self, law: Law):
        return Ages(law, self.cap, self.n)

    # ---- the chain -------------------------------------------------------------------------------------
    @functools.cached_property
    def _table(self):
        """(modes, rows, known): modes (base mode, mask, ages in use, ages in the next round), rows {next mode: probability}.

        The first modes, one per base mode, serve as the time before the first round; where a round of all clients is
        impossible they are left at once, and not among the `known` ones that a round can enter.
        """
        law, n, cap = self.law, self.n, self.cap
        for k in range(law.modes):
            if law.cohort_count(n, k) > LARGEST_SUPPORT:
                raise TooLarge(f"{shown(law)}: {law.cohort_count(n, k)} cohorts exceed {LARGEST_SUPPORT}")
        cohorts = [[(q, tuple(int(v) for v in present)) for q, _, present in Masks.cohorts(self, n, k)]
                   for k in range(law.modes)]
        young, chain = (1,) * n, law.chain()
        known, modes, rows = {}, [], []
        for k in range(law.modes):
            masks = [present for _, present in cohorts[k]]
            start = young if young in masks else masks[0]  # as after a round of all clients, or never entered
            modes.append((k, start, start, young))
            if start == young:
                known[modes[k]] = k
        while len(rows) < len(modes):
            k, _, _, ages = modes[len(rows)]
            row = {}
            for j, move in enumerate(chain[k]):
                for chance, present in cohorts[j] if not move == 0 else ():
                    if chance == 0:
                        continue
                    used = tuple(a * on for a, on in zip(ages, present, strict=True))
                    late = ages if self.empty == "skip" and not any(present) else tuple(
                        1 if on else min(a + 1, cap) for a, on in zip(ages, present, strict=True))
                    key = (j, present, used, late)
                    if key not in known:
                        known[key] = len(modes)
                        modes.append(key)
                    row[known[key]] = row.get(known[key], Fraction(0)) + move * chance
            rows.append(row)
            if len(modes) > MOST_MODES:
                raise TooLarge(f"ages of {n} clients up to {cap} under {shown(law)}: more than {MOST_MODES} modes of the joint "
                               "chain; use a smaller cap, or runs without a cap")
        return modes, rows, known

    def _size(self, n):
        if n != self.n:
            refuse("n", n, f"these ages are of {self.n} clients", "Give Ages the number of clients of the problem.")

    @property
    def modes(self):
        return len(self._table[0])

    def chain(self) -> list[list]:
        zero = Fraction(0)
        return [[row.get(j, zero) for j in range(self.modes)] for row in self._table[1]]

    def successor(self) -> list[int] | None:
        return None  # the modes before the first round are left for ever

    def start(self) -> list:
        first = list(self.law.start())
        return first + [Fraction(0)] * (self.modes - len(first))

    def stationary(self) -> list:
        now = list(self.law.stationary()) + [Fraction(0)] * (self.modes - self.law.modes)
        for _ in range(self.cap + 1):   # ages up to the cap have forgotten the start by then, unless rounds are skipped
            now = self._move(now)
        if self._move(now) == now:
            return now
        return stationary_law(np.array(self.chain(), dtype=object), "Use an irreducible chain.")

    def _move(self, mass):
        out = [Fraction(0)] * self.modes
        for m, row in zip(mass, self._table[1], strict=True):
            for j, q in row.items() if not m == 0 else ():
                out[j] = out[j] + m * q
        return out

    def tail(self) -> Number:
        """Bound on the probability, in the long run, that some client's age exceeds the cap (a sum over clients, exact).

        A client's age exceeds the cap if it was absent from the last `cap` rounds that took place.
        """
        law, n, skip = self.law, self.n, self.empty == "skip"
        pi, chain = np.array(law.stationary(), dtype=object), np.array(law.chain(), dtype=object)
        happens, absent = np.empty(law.modes, dtype=object), np.empty((law.modes, n), dtype=object)
        for k in range(law.modes):
            cohorts = [(q, present) for q, _, present in Masks.cohorts(self, n, k) if not skip or any(present)]
            happens[k] = sum((q for q, _ in cohorts), Fraction(0))
            absent[k] = [sum((q for q, present in cohorts if not present[i]), Fraction(0)) for i in range(n)]
        nothing = chain * (1 - happens)[None]
        reach = linalg.solve(linalg.identity(len(pi), chain) - nothing, chain)  # to the next round that takes place, if any
        total = Fraction(0)
        for i in range(n):
            mass = pi * absent[:, i] / (pi * happens).sum()
            for _ in range(self.cap - 1):
                mass = (mass[:, None] * reach).sum(0) * absent[:, i]
            total = total + mass.sum()
        return total

    # ---- what a law says -------------------------------------------------------------------------------
    def inclusion(self, n: int, mode: int | None = None) -> list:
        return self.law.inclusion(n) if mode is None else super().inclusion(n, mode)

    def averaging_weights(self, n: int, mode: int | None = None) -> list:
        return self.law.averaging_weights(n) if mode is None else super().averaging_weights(n, mode)

    def pairs(self, n: int, mode: int | None = None) -> np.ndarray:
        return self.law.pairs(n) if mode is None else super().pairs(n, mode)

    def steps_of(self, n: int, mode: int = 0) -> Steps:
        return self.law.steps_of(n, self._table[0][mode][0])

    def cohort_count(self, n: int, mode: int = 0) -> int:
        self._size(n)
        return 1

    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        self._size(n)
        return [(Fraction(1), EVERYONE, np.array(self._table[0][mode][1], dtype=np.int64))]

    def support(self, n: int, mode: int = 0, limit: int = LARGEST_SUPPORT) -> list[tuple[Number, Draw]]:
        age = np.array(self._table[0][mode][2], dtype=np.int64)
        return [(q, draw._replace(extra={**(draw.extra or {}), "age": age})) for q, draw in super().support(n, mode, limit)]

    def typical(self, n: int) -> Draw:
        return super().typical(n)._replace(extra={"age": np.ones(n, dtype=np.int64)})

    # ---- sampling --------------------------------------------------------------------------------------
    @functools.cached_property
    def _codes(self):
        """(base modes, ages in the next round, sorted codes, modes in that order) as arrays, for look-ups."""
        modes = self._table[0]
        base, used, late = (np.array([m[k] for m in modes], dtype=np.int64) for k in (0, 2, 3))
        code = self._code(base, used, late)
        code[[k for k, mode in enumerate(modes) if self._table[2].get(mode) != k]] = -1
        order = np.argsort(code)
        return base, late, code[order], order

    def _code(self, base, used, late):
        digits = (self.cap + 1) ** np.arange(2 * self.n, dtype=np.int64)
        return (np.concatenate([used, late], axis=-1) * digits).sum(-1) + base * (self.cap + 1) ** (2 * self.n)

    def sample(self, stream: Stream, n: int, batch: int, mode: Array = None, slots: Slots = None) -> tuple[Draw, Array]:
        self._size(n)
        mode = np.zeros(batch, dtype=np.int64) if mode is None else mode
        base, late, codes, order = self._codes
        ages = late[mode]
        draw, moved = super().sample(stream, n, batch, base[mode], slots)
        present = np.broadcast_to(draw.present, (batch, n))
        after = np.where(present > 0, 1, np.minimum(ages + 1, self.cap))
        if self.empty == "skip":
            after = np.where(present.any(-1, keepdims=True), after, ages)
        used = ages * present
        mode = order[np.searchsorted(codes, self._code(moved, used, after))]
        return draw._replace(present=present, extra={**(draw.extra or {}), "age": used}), mode
