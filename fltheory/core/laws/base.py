"""Laws of participation, local steps and gradient noise: a finite chain of modes.

Memoryless laws have one mode; cyclic and replayed schedules are permutations of modes; Markov laws are
general chains. A round first moves the chain, then the new mode acts.
"""
from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import TooLarge, refuse, shown
from fltheory.core.kinds import Array, Steps, Stream, Who
from fltheory.core.laws.draw import Draw, Slots
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import Number, declare, entries, fraction, is_count
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.shapes import unit_sum
from fltheory.core.records import Record, count, declared, flag, unread

LARGEST_SUPPORT = 70_000
MOST_STEPS = 10**6


def check_steps(steps, what="steps"):
    """Local steps: an int from 1 to 10^6, or one per client."""
    array = entries(steps, what)
    values = np.atleast_1d(array)
    if values.ndim != 1 or len(values) == 0:
        refuse(what, steps, "local steps are one int or one per client", "Give an int or a flat sequence.")
    for v in values:
        if not is_count(v):
            refuse(what, steps, "local steps are integers >= 1", "Leave a client out through the law, not by 0 steps.")
        if v > MOST_STEPS:
            refuse(what, steps, f"a round has at most {MOST_STEPS} local steps", "Give fewer; a run of that length never ends.")
    return int(array.item()) if array.ndim == 0 else tuple(int(v) for v in steps)


def _choices(choices, what):
    try:
        chances, steps = zip(*((p, s) for p, s in choices), strict=True)
    except Exception:  # a foreign object's own iteration may raise anything
        refuse(what, choices, "is a sequence of (probability, steps)", "For example [('1/2', 1), ('1/2', 4)].")
    chances = distribution(chances, what, _POSITIVE)
    if any(p == 0 for p in chances):
        refuse(what, choices, _POSITIVE, "Leave out what never happens.")
    return tuple((p, check_steps(s)) for p, s in zip(chances, steps, strict=True))


_POSITIVE = "probabilities are positive and sum to 1"


@dataclass(frozen=True)
class RandomSteps(Record):
    """Random local steps, drawn afresh every round, independent of participation and noise.

    choices: sequence of (probability, steps); steps an int or one per client. With `independent` every client
    draws its own int from the choices; otherwise one draw holds for all clients.
    """

    choices: tuple = declared(_choices)
    independent: bool = declared(flag, True)

    def __post_init__(self):
        super().__post_init__()
        if self.independent and any(isinstance(s, tuple) for _, s in self.choices):
            refuse("choices", self.choices, "independent draws are one int per choice", "Set independent=False.")

    def outcomes(self, n: int) -> list:
        """[(probability, steps (n,))]; raises TooLarge beyond the enumeration limit."""
        if not self.independent:
            return [(p, np.broadcast_to(np.array(s), (n,))) for p, s in self.choices]
        if len(self.choices) ** n > LARGEST_SUPPORT:
            raise TooLarge(f"random steps: {len(self.choices)}^{n} outcomes exceed {LARGEST_SUPPORT}; use runs instead")
        return [(math.prod(p for p, _ in c), np.array([s for _, s in c]))
                for c in itertools.product(self.choices, repeat=n)]

    @functools.cached_property
    def _edges(self):
        return np.cumsum([float(p) for p, _ in self.choices])[:-1]

    def sample(self, uniforms: Array) -> np.ndarray:
        """uniforms (..., n) in [0,1) -> steps (..., n)."""
        n = uniforms.shape[-1]
        table = np.stack([np.broadcast_to(np.array(s), (n,)) for _, s in self.choices])
        choice = np.searchsorted(self._edges, uniforms if self.independent else uniforms[..., :1], side="right")
        return table[choice, np.arange(n)]


def _steps(steps, what):
    return steps if isinstance(steps, RandomSteps) else check_steps(steps, what)


def noisy(sigma) -> bool:
    """Whether a standard deviation is not 0; a symbol is not."""
    return isinstance(sigma, Symbolic) or bool(fraction(sigma))


def _sigma(value, what):
    if isinstance(value, Symbolic):   # its sign is the claim's hypothesis
        return value
    sigma = fraction(value, what)
    if sigma < 0:
        refuse(what, value, "a standard deviation is >= 0", "Give sigma >= 0.")
    if sigma > 10**100:
        refuse(what, value, "a standard deviation beyond 10^100 leaves the range of floats", "Rescale.")
    return value


@dataclass(frozen=True)
class Law(Record):
    """Base of all laws. Fields shared by every law:

    steps: local steps (int, one per client, or `RandomSteps`); None lets the algorithm's shorthand fill it.
    noise: sigma of additive N(0, (sigma^2/d) I) on every stochastic gradient (E|noise|^2 = sigma^2);
    with personal parameters over both parts of the gradient, d counting both, the largest k_i for every client: one with fewer
    parameters of its own draws less).
    batch: rows per mini-batch drawn with replacement from each client, None for full gradients.

    A law says which modes follow each other (unless told otherwise they act in turn: one mode is a memoryless law), and
    of each mode its cohorts: `cohort_count`, `cohorts` and `sample_cohort`. All else follows for few cohorts. Laws of very many
    have `feature_moments`, with a field `m` (size) or `p` (probabilities) from which the cohorts that speak for all are taken,
    and `tilted`, by which `large` integrates over them; laws with `repeats` have `draws`.
    """

    steps: Any = declared(_steps, None)
    noise: Any = declared(_sigma, 0)
    batch: int | None = declared(count(rule="a mini-batch has at least one row", remedy="Give an int >= 1 or None."), None)

    modes = 1
    repeats = False       # a client may stand at several places of one cohort
    clocked = False       # whether it says how long local runs last: an event clock
    empty = "move"        # what an empty round does: "move" (the round is run), "skip", "redraw"

    def __post_init__(self):
        super().__post_init__()
        if self.batch is not None and noisy(self.noise):
            refuse("batch", self.batch, "one law has either additive or mini-batch noise", "Set noise=0 or batch=None.")

    def with_noise(self, sigma) -> Law:
        """The same law with this noise."""
        return replace(self, noise=sigma) if self.batch is not None else unread(self, noise=_sigma(sigma, "noise"))

    def with_steps(self, steps: Steps) -> Law:
        """The same law with these local steps; refused if it already has some."""
        if steps is None:
            return self
        if self.steps is not None:
            refuse("steps", steps, f"the law already fixes steps={self.steps}", "Give them once: here or there.")
        # random steps are refused by some laws beside other fields, which are therefore read again
        return replace(self, steps=steps) if isinstance(steps, RandomSteps) else unread(self, steps=check_steps(steps, "steps"))

    # ---- which modes follow ----------------------------------------------------------------------------
    def successor(self) -> list[int] | None:
        """[k'] with mode k followed by mode k' for certain, where the modes are permuted; None in general."""
        return [(k + 1) % self.modes for k in range(self.modes)]

    def chain(self) -> list[list]:
        """Exact transition matrix (modes, modes), rows sum to 1."""
        zero, one = Fraction(0), Fraction(1)
        return [[one if j == after else zero for j in range(self.modes)] for after in self.successor() or ()]

    def start(self) -> list:
        """Distribution (modes,) of the mode before the first round: the chain moves before the law acts."""
        return [Fraction(0)] * (self.modes - 1) + [Fraction(1)]

    def stationary(self) -> list:
        """Distribution (modes,) of the mode in the long run."""
        return [Fraction(1, self.modes)] * self.modes

    # ---- what a mode is --------------------------------------------------------------------------------
    def cohorts(self, n: int, mode: int = 0) -> Iterable:
        """[(probability, who, present)] of a mode: who is EVERYONE with a mask `present` (n,) of 0 and 1, or, where a client may
        stand twice (`repeats`), indices. Probabilities are exact where declared exactly."""
        raise NotImplementedError

    def cohort_count(self, n: int, mode: int = 0) -> int:
        """How many cohorts `cohorts` would list."""
        raise NotImplementedError

    def sample_cohort(self, uniforms: Array, n: int, mode: Array) -> tuple[Who, Array]:
        """uniforms (batch, k) -> (who, present) of `batch` replicates; k = `uniforms_needed(n)`."""
        raise NotImplementedError

    def uniforms_needed(self, n: int) -> int:
        return n

    def steps_of(self, n: int, mode: int = 0) -> Steps:
        """Local steps per client (n,) of a mode; raises if none were given."""
        if self.steps is None:
            refuse("steps", None, "a round needs local steps", "Give steps= to the algorithm or the law.")
        return self.steps if isinstance(self.steps, RandomSteps) else self._spread(self.steps, n)

    def sure(self, n: int, mode: int = 0) -> bool:
        """Whether a mode has one cohort and steps that are not drawn."""
        return self.cohort_count(n, mode) == 1 and not isinstance(self.steps_of(n, mode), RandomSteps)

    @staticmethod
    def _spread(steps, n):
        if isinstance(steps, tuple) and len(steps) != n:
            refuse("steps", steps, f"one per client, so {n} of them", "Give an int for a common number.")
        return np.broadcast_to(np.array(steps), (n,))

    # ---- what follows ----------------------------------------------------------------------------------
    def support(self, n: int, mode: int = 0, limit: int = LARGEST_SUPPORT) -> list[tuple[Number, Draw]]:
        """[(probability, Draw)] of a mode, exact. Raises TooLarge naming the count."""
        choices = self._step_choices(n, mode)
        count = self.cohort_count(n, mode) * len(choices)
        if count > limit:
            raise TooLarge(f"{shown(self)}: {count} outcomes in one round exceed {limit}. Use ft.run, or fewer clients or outcomes")
        return [(chance * q, self._draw(who, present, steps)) for chance, who, present in self.cohorts(n, mode)
                for q, steps in choices]

    def typical(self, n: int) -> Draw:
        """One possible round with every place taken, for dry runs and checks."""
        _, who, present = next(iter(self.cohorts(n, 0)))
        present = 0 * present + 1
        return self._draw(who, present, self._step_choices(n, 0)[0][1])

    def _step_choices(self, n, mode):
        steps = self.steps_of(n, mode)
        return steps.outcomes(n) if isinstance(steps, RandomSteps) else [(Fraction(1), steps)]

    def _draw(self, who: Who, present, steps):
        return Draw(who, present, steps if isinstance(who, slice) else steps[who], None, self._extra(present))

    def _extra(self, present):
        return {"happens": (present.sum(-1) > 0) * 1} if self.empty == "skip" else None

    def sizes(self, n: int) -> list | None:
        """[(k, P(k clients take part))] where all clients are alike to the law (every cohort of k is equally likely and no
        client stands in it twice) and a round draws nothing but its cohort, else None; k from 0 to n, probabilities > 0, exact."""
        return None

    def inclusion(self, n: int, mode: int | None = None) -> list:
        """p_i: probability that client i takes part in a round (n,), in one mode or (None) in the long run."""
        sizes = self.sizes(n)
        return list(self._expect(n, mode, np.sign)) if sizes is None else [sum(q * Fraction(k, n) for k, q in sizes)] * n

    def averaging_weights(self, n: int, mode: int | None = None) -> list:
        """q_i = E[share of client i among the participants]; an empty round contributes 0. mode as in `inclusion`."""
        sizes = self.sizes(n)
        if sizes is not None:
            return [sum(q for k, q in sizes if k) / Fraction(n)] * n
        return list(self._expect(n, mode, lambda places: places * Fraction(1, max(int(places.sum()), 1))))

    def pairs(self, n: int, mode: int | None = None) -> np.ndarray:
        """P(i and j both take part) (n, n). mode as in `inclusion`."""
        return self._expect(n, mode, lambda places: np.outer(np.sign(places), np.sign(places)))

    def _expect(self, n, mode, feature):
        """The mean of a feature of the places (n,) that clients have in a cohort."""
        if mode is None:
            return sum(q * self._expect(n, k, feature) for k, q in enumerate(self.stationary()) if q)
        if self.cohort_count(n, mode) > LARGEST_SUPPORT:
            raise TooLarge(f"{shown(self)}: {self.cohort_count(n, mode)} cohorts exceed {LARGEST_SUPPORT}")
        total = 0
        for chance, who, present in self.cohorts(n, mode):
            members = np.arange(n)[who][np.asarray(present) > 0]
            total = total + feature(np.bincount(members, minlength=n)).astype(object) * chance
        return total

    def feature_moments(self, n: int) -> tuple | None:
        """(mean (2n,), second (2n, 2n), P(empty)) of the features (1{i in S}, 1{i in S}/|S|), or None.

        None means: enumerate. The empty set contributes nothing to the moments; conventions about it are
        applied by the caller.
        """
        return None

    @property
    def exact_features(self) -> bool:
        """Whether this law knows its exact `feature_moments`."""
        return type(self).feature_moments is not Law.feature_moments

    # ---- sampling --------------------------------------------------------------------------------------
    def sample(self, stream: Stream, n: int, batch: int, mode: Array = None,
               slots: Slots | None = None) -> tuple[Draw, Array]:
        """(Draw, mode) of `batch` replicates. stream: the round's `Stream`; mode (batch,) ints before the round."""
        mode = np.zeros(batch, dtype=np.int64) if mode is None else mode
        if self.modes > 1:
            mode = self._next(stream, batch, mode)
        uniforms = stream.child("who").random((batch, self.uniforms_needed(n)))
        who, present = self.sample_cohort(uniforms, n, mode)
        steps = self._sample_steps(stream, n, batch, mode)
        if not isinstance(who, slice):
            steps = np.take_along_axis(np.broadcast_to(steps, (batch, n)), who, axis=-1)
        return Draw(who, present, steps, slots, self._extra(present)), mode

    def _next(self, stream, batch, mode):
        """The modes (batch,) that follow; a permutation needs no numbers, and no matrix."""
        follow = self._once("successor", self.successor)
        if follow is not None:
            return self._once("follow", lambda: frozen(follow))[mode]
        edges = self._once("edges", lambda: np.cumsum(np.array(self.chain(), dtype=float), axis=1))
        u = stream.child("mode").random(batch)
        return np.minimum((u[:, None] >= edges[mode]).sum(1), self.modes - 1)

    def _once(self, key, make):
        """make(), computed once per law: rounds are many, and exact numbers are slow to convert."""
        cache = self.__dict__.setdefault("_known", {})
        if key not in cache:
            cache[key] = make()
        return cache[key]

    def _sample_steps(self, stream, n, batch, mode):
        """Local steps (batch, n), or (n,) of all replicates: they are in the same round."""
        steps = self.steps_of(n, int(mode[0]))
        return steps.sample(stream.child("steps").random((batch, n))) if isinstance(steps, RandomSteps) else steps


def frozen(values):
    """A table that rounds share, as an array that none of them can change."""
    table = np.array(values)
    table.setflags(write=False)
    return table


def mask(members, n):
    """0/1 (n,) of some clients."""
    if members and max(members) >= n:
        refuse("set", members, f"clients are numbered 0..{n - 1}", "Remove the unknown client.")
    out = np.zeros(n, dtype=np.int64)
    out[list(members)] = 1
    return out


def minibatch_slots(stream, sizes, who: Who, shape, size, convert):
    """Slots of row indices (batch, m, size), uniform with replacement over each client's rows. sizes (n,)."""
    bound = np.broadcast_to(np.asarray(sizes) if isinstance(who, slice) else np.asarray(sizes)[who], shape)

    def make(k):
        u = stream.child("rows", k).random((*shape, size))
        return Rows(convert((u * bound[..., None]).astype(np.int64)))
    return Slots(make)


def distribution(values, what, rule="probabilities are >= 0 and sum to 1"):
    """Probabilities as Fractions that sum to 1. Floats that sum to 1 within 1e-12 are divided by their sum, as weights are.

    Symbols pass where the sum is 1 identically. Raises BadInput.
    """
    array = declare(values, what).reshape(-1)
    unit_sum(array, what, rule)
    exact = [v if isinstance(v, Symbolic) else fraction(v) for v in array]
    total = sum(exact[1:], exact[0])
    return tuple(exact) if total == 1 else tuple(v / total for v in exact)


def probabilities(values, n, what):
    """Participation probabilities (n,) in (0, 1], exact; an int or number is shared by all clients. Symbols pass."""
    array = declare(values, what)
    array = np.repeat(array, n) if array.ndim == 0 else array
    if array.shape != (n,):
        refuse(what, array.shape, f"one probability per client, so shape ({n},)", "Give n numbers or one for all.")
    exact = [v if isinstance(v, Symbolic) else fraction(v) for v in array]
    for v in exact:
        if not isinstance(v, Symbolic) and not 0 < v <= 1:
            refuse(what, str(v), "participation probabilities lie in (0, 1]", "Leave out a client that never appears.")
    return exact
