"""The event clock: how long local runs last, with random compute times, transmission and clients that hang."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.core.errors import TooLarge, refuse, shown
from fltheory.core.laws.base import LARGEST_SUPPORT, RandomSteps
from fltheory.core.laws.draw import Draw
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.scalars import Number, Numbers, entries, fraction, is_count
from fltheory.core.records import declared, one_of, positive, within
from fltheory.runs.streams import Stream

SPAN = 2**45      # of one run of a client: in 10^5 of them no time reaches that of those who never come
LONGEST = 2**40   # a pace or a transmission: below, times of long runs are exact in floats
WAITS = {"hang": "wait", "first": "first wait"}   # what is added to a run whatever its own length, by what multiplies it


def _times(least, rule, flat=None):
    """Reads one int from `least` to `LONGEST` for all clients, or one each; flat: rule and remedy for what is no flat list."""
    remedy = "Rescale the time unit."

    def read(value, what):
        times = entries(value, what)
        if times.ndim > 1 or times.size == 0:
            refuse(what, value, *(flat or (rule, remedy)))
        if not all(is_count(v, least) and v <= LONGEST for v in times.reshape(-1)):
            refuse(what, value, rule, remedy)
        return tuple(int(v) for v in times) if times.ndim else int(times.item())
    return read


_pace = _times(1, f"paces are integers from 1 to {LONGEST}, so that equal times are equal and times exact",
               ("one int for all clients, or one each", "Give an int or a flat list."))
_transmission = _times(0, f"one int from 0 to {LONGEST} for all clients, or one each, in the unit of the paces")


def _suspension(p, what):
    p = fraction(p, what)
    if not 0 <= p < 1:
        refuse(what, str(p), "a probability in [0, 1): suspended for certain, nobody would ever arrive", "Give P < 1.")
    return p


@dataclass(frozen=True)
class EventClock(Full):
    """The clock of asynchronous methods, in which the state decides who arrives next, not the law: one round is one arrival.

    A local run of client i with K steps lasts c_i K + r_i time units; arrivals are ordered by (time, client).
    pace: the c_i, an int >= 1 or one per client (`EventClock.proportional`: by numbers of rows). transmission: the r_i, ints >= 0.
    spread: s, by which compute times vary: each run's is c_i K (1 + J), J of mean 0 drawn afresh: from U(-s, s), s < 1 ("uniform"),
    s (E - 1) with E exponential, s <= 1 ("exponential"), exp(s Z - s^2/2) - 1 with Z normal ("lognormal"), as `spread_law` says.
    suspension: probability P in [0, 1) that a client hangs before a run, for a time from U(0, h) ("uniform"), exponential of mean h
    ("exponential"), or of h itself ("fixed"), as `hang_law` says; h is `hang` times c_i K ("run"), or times the largest c_j K_j of
    the first runs ("slowest"), as `hang_of` says. Without spread and suspension times are whole numbers, and equal ones are equal.
    steps: K of the first runs. Hangs are drawn for every client, and samples too, but in runs of asynchronous methods for the
    arrival alone. `draw.extra` carries pace, transmission, and for runs that start now, and at time 0, what they last longer: hang
    and first, in multiples of c_i K, wait and "first wait", whatever K is.
    """

    clocked = True
    pace: object = declared(_pace, 1)
    transmission: object = declared(_transmission, 0)
    suspension: object = declared(_suspension, 0)
    hang: object = declared(positive, 3)
    spread: object = declared(within(0), 0)
    hang_law: str = declared(one_of("uniform", "exponential", "fixed"), "uniform")
    hang_of: str = declared(one_of("run", "slowest"), "run")
    spread_law: str = declared(one_of("uniform", "exponential", "lognormal"), "uniform")

    def __init__(self, pace: Numbers = 1, steps: Any = None, noise: Number = 0, batch: int | None = None,
                 transmission: Numbers = 0, suspension: Number = 0, hang: Number = 3, spread: Number = 0,
                 hang_law: str = "uniform", hang_of: str = "run", spread_law: str = "uniform"):
        self.give(pace=pace, steps=steps, noise=noise, batch=batch, transmission=transmission, suspension=suspension, hang=hang,
                  spread=spread, hang_law=hang_law, hang_of=hang_of, spread_law=spread_law)

    def __post_init__(self):
        super().__post_init__()
        spread = fraction(self.spread)
        if (spread > 1 and self.spread_law != "lognormal") or (spread == 1 and self.spread_law == "uniform"):
            refuse("spread", self.spread, f"no run lasts a time <= 0, so {self.spread_law} spreads are "
                   f"{'<' if self.spread_law == 'uniform' else '<='} 1", "Give a smaller one, or spread_law='lognormal'.")
        if self.hang_of == "slowest" and self.suspension and isinstance(self.steps, RandomSteps):
            refuse("hang_of", self.hang_of, "the slowest of the first runs is known where their steps are",
                   "Give steps that are not drawn, or hang_of='run'.")

    @classmethod
    def proportional(cls, sizes: Numbers, pace: int = 1, base: int = 0, **clock: Any) -> EventClock:
        """The clock whose paces are base + pace times the clients' numbers of rows, `sizes`: ints >= 1 in the clock's unit.

        pace: an int >= 1, time per row and local step; base: an int >= 0, time of a local step whatever the rows; clock: the rest.
        """
        sizes = _pace(sizes, "sizes")
        if not is_count(pace) or not is_count(base, 0):
            refuse("pace, base", (pace, base), "are ints, pace >= 1 and base >= 0", "Rescale the time unit.")
        sizes = (sizes,) if isinstance(sizes, int) else sizes
        return cls(tuple(int(base) + int(pace) * v for v in sizes), **clock)

    @property
    def random(self) -> bool:
        """Whether times are drawn."""
        return bool(self.suspension) or fraction(self.spread) != 0

    def sizes(self, n: int) -> None:
        """None: the state decides who arrives."""

    def cohort_count(self, n: int, mode: int = 0) -> int:
        for what in ("pace", "transmission"):
            times = getattr(self, what)
            if isinstance(times, tuple) and len(times) != n:
                refuse(what, times, f"one per client, so {n} of them", f"Give an int for a common {what}.")
        return 1

    def support(self, n: int, mode: int = 0, limit: int = LARGEST_SUPPORT) -> list:
        """[(1, Draw)]. Raises TooLarge where times are drawn: there are infinitely many."""
        if self.random:
            what = "hang times are drawn from an interval" if self.suspension else "compute times are drawn"
            raise TooLarge(f"{shown(self)}: {what}; use ft.run")
        return super().support(n, mode, limit)

    def _extra(self, present):
        n = present.shape[-1]
        return self._fixed(n) | ({k: np.zeros(n) for k in self._names} if self.random else {})

    @property
    def _names(self):
        return [*WAITS, *(WAITS.values() if self.hang_of == "slowest" and self.suspension else ())]

    def _fixed(self, n):
        return dict(self._once(("fixed", n), lambda: self._each(n)))

    def _each(self, n):
        """The numbers that no round draws, one for each of n clients."""
        self.cohort_count(n)
        steps = 1 if self.steps is None or isinstance(self.steps, RandomSteps) else self.steps_of(n)
        span = (np.array(self.pace, dtype=float) * steps + np.array(self.transmission, dtype=float)).max()
        if span > SPAN:
            refuse("pace", self.pace, f"with these local steps one run of a client lasts {span:.3g}, and times are kept up to "
                   f"{SPAN} a run", "Rescale the time unit.")
        fixed = {"pace": np.array(np.broadcast_to(np.array(self.pace), (n,)))}
        if self.transmission != 0:
            fixed["transmission"] = np.array(np.broadcast_to(np.array(self.transmission), (n,)))
        return fixed

    def sample(self, stream: Stream, n: int, batch: int, mode: np.ndarray | None = None, slots: Any = None,
               first: bool = True) -> tuple[Draw, np.ndarray]:
        mode = np.zeros(batch, dtype=np.int64) if mode is None else mode
        steps, (who, present) = self._sample_steps(stream, n, batch, mode), self.sample_cohort(None, n, mode)
        return Draw(who, present, steps, slots, self.times(stream, n, batch, first)), mode

    def times(self, stream: Stream, n: int, batch: int, first: bool = True) -> dict:
        """What `draw.extra` carries in a round. stream: the round's; drawn numbers have shape (batch, n), others (n,).

        first: whether those of the first runs too, which only the first round asks for."""
        extra = self._fixed(n)
        if self.random:
            for name in [*WAITS][:1 + first]:   # two of them: the first runs start in the round that also sees the first arrival
                spreads, hangs = self._spreads(stream, name, n, batch), self._hangs(stream, name, n, batch)
                if self.hang_of == "slowest" and self.suspension:
                    extra[WAITS[name]], hangs = hangs * self._slowest(n), 0 * hangs
                extra[name] = spreads + hangs
        return extra

    def _hangs(self, stream, name, n, batch):
        """Hang times in units of c_i K, or of the slowest first run: (batch, n)."""
        if not self.suspension:
            return np.zeros((batch, n))
        chance, size = self._once("hangs", lambda: (float(self.suspension), float(fraction(self.hang))))
        u = stream.child(name).random((batch, n, 2))
        length = {"uniform": lambda u: u, "exponential": lambda u: 0 - np.log1p(0 - u), "fixed": lambda u: 0 * u + 1}
        return size * length[self.hang_law](u[..., 0]) * (u[..., 1] < chance)

    def _spreads(self, stream, name, n, batch):
        """By which multiples of c_i K compute times are longer than c_i K: (batch, n), or 0."""
        s = self._once("spread", lambda: float(fraction(self.spread)))
        if s == 0:
            return 0
        stream = stream.child(name, "spread")
        if self.spread_law == "lognormal":
            return np.exp(s * stream.standard_normal((batch, n)) - s * s / 2) - 1
        u = stream.random((batch, n))
        return s * (2 * u - 1) if self.spread_law == "uniform" else s * (0 - np.log1p(0 - u) - 1)

    def _slowest(self, n):
        return self._once(("slowest", n), lambda: float((np.array(self.pace) * self.steps_of(n)).max()))
