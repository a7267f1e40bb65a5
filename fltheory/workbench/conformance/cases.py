"""What the rules are tried on: one algorithm, a small rational problem with unequal clients, states and cohorts."""
from __future__ import annotations

import dataclasses
import functools
from fractions import Fraction as Q

import numpy as np

from fltheory.algorithms.residual_problem import Residual
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.errors import refuse
from fltheory.core.kinds import Who
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE, to_numpy
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import (FLOAT, RATIONAL, SEVERAL, SINGLE, Balls, Field, Modular, Torch, declare,
                                           domain_of, fraction, have)
from fltheory.core.problems.quadratic import Quadratic

MOST_CLIENTS = 12
ROUNDING = 1e-12  # relative, for rounds that exist in floats only
_CHOSEN: list = []      # who called `Draw.choose` during a watched round


class Violation(Exception):
    """A rule is broken: what was found, and where."""

    def __init__(self, fault, where=""):
        super().__init__(f"{fault} ({where})" if where else fault)
        self.fault, self.where = fault, where


class NotChecked(Exception):
    """A rule could not be looked at, for the stated reason: neither passed nor failed."""


class _Watched(Draw):
    """A draw that remembers that the round chose its cohort itself."""

    __slots__ = ()

    def choose(self, who: Who, steps):
        _CHOSEN.append(True)
        return super().choose(who, steps)


@dataclasses.dataclass(frozen=True)
class Case:
    """An algorithm with its own hyper-parameters on a rational problem of n >= 2 clients, converted on request.

    weights: (n,) Fractions. Build it with `Case.of`.
    """

    algorithm: Algorithm
    n: int = 3
    weights: tuple = (Q(9, 24), Q(8, 24), Q(7, 24))

    @classmethod
    def of(cls, algorithm: Algorithm) -> Case:
        """The case of an algorithm; its declared arrays over clients decide how many clients there are, and their row
        sums (where they sum to 1) are the clients' weights. Raises BadInput for anything but an instance with
        numbers."""
        if isinstance(algorithm, type):
            refuse("algorithm", algorithm.__name__, "is a class, and rules are tried on an instance",
                   f'Give its numbers: {algorithm.__name__}("1/10").')
        if not isinstance(algorithm, Algorithm) or not dataclasses.is_dataclass(algorithm):
            refuse("algorithm", algorithm, f"a {type(algorithm).__name__} is no algorithm",
                   "Derive a frozen dataclass from fltheory.core.algorithms.base.Algorithm.")
        for name in ("init", "round"):
            if getattr(type(algorithm), name) is getattr(Algorithm, name):
                refuse("algorithm", type(algorithm).__name__, f"has no `{name}` of its own", f"Define `{name}`.")
        if any(isinstance(v, Symbolic) for v in _numbers_of(algorithm)):
            refuse("algorithm", type(algorithm).__name__, "its hyper-parameters hold symbols",
                   "Rules are tried on numbers, for example '1/10'.")
        over = list(_over_clients(algorithm))
        sizes = {len(value) for _, _, value in over}
        if len(sizes) > 1 or (sizes and not 2 <= min(sizes) <= MOST_CLIENTS):
            refuse("algorithm", type(algorithm).__name__, f"its arrays over clients have lengths {sorted(sizes)}",
                   f"Give arrays for one number of clients, between 2 and {MOST_CLIENTS}.")
        n = sizes.pop() if sizes else 3
        weights = tuple(Q(3 * n - i, sum(range(2 * n + 1, 3 * n + 1))) for i in range(n))
        changes = {"steps": cycle((3, 1, 2), n)} if isinstance(algorithm.steps, tuple) else {}
        for owner, name, value in over:
            if owner is algorithm:
                array = _rational(declare(value, name))
                changes[name] = tuple(map(tuple, array.tolist())) if array.ndim > 1 else tuple(array.tolist())
                if array.shape == (n, n) and array.sum() == 1:
                    weights = tuple(sum(row) for row in array)
        return cls(dataclasses.replace(algorithm, **changes) if changes else algorithm, n, weights)

    # ---- what it is made of ----------------------------------------------------------------------------
    @property
    def affine(self) -> bool:
        return bool(self.algorithm.affine)

    @property
    def domain(self):
        """Where results are compared: exactly for affine rounds, in floats for the others."""
        return RATIONAL if self.affine else FLOAT

    @property
    def partial(self) -> bool:
        """Whether partial cohorts are defined, and chosen by the law."""
        return bool(self.algorithm.partial) and not self.chooses

    @functools.cached_property
    def chooses(self) -> bool:
        """Whether the round picks its cohort itself (asynchronous arrivals), through `draw.choose`."""
        if self.affine:
            return False
        _CHOSEN.clear()
        p, a = self.problem().to(FLOAT), self.algorithm.to(FLOAT)
        draw = _Watched(EVERYONE, np.ones(self.n, dtype=np.int64), np.array(cycle((5, 2, 3), self.n)))
        a.round(p, a.init(p, np.zeros(p.d), draw), draw)
        return bool(_CHOSEN)

    def domains(self):
        """Every arithmetic that is installed; floats alone (numpy and torch) for rounds that are not affine."""
        exact = [RATIONAL, Modular(), Field("s"), Balls(128)] if self.affine and have("flint") else []
        return [FLOAT] + ([Torch()] if have("torch") else []) + exact

    def problem(self, order=None):
        return _problem(bool(self.algorithm.personal), self.weights, tuple(range(self.n)) if order is None else order)

    def orders(self):
        """Two renumberings of the clients: a rotation and an exchange of the last two."""
        straight = tuple(range(self.n))
        return (*straight[1:], 0), (*straight[:-2], self.n - 1, self.n - 2)

    def reordered(self, order):
        """The algorithm with declared arrays over clients, its solver's too, and steps per client, reordered with them."""
        return self._reordered(self.algorithm, order)

    def _reordered(self, record, order):
        changes = {f.name: self._reordered(getattr(record, f.name), order) for f in dataclasses.fields(record)
                   if _is_record(getattr(record, f.name))}
        for owner, name, value in _over_clients(record):
            if owner is record:
                square = isinstance(value[0], tuple) and len(value[0]) == len(value)
                changes[name] = tuple(tuple(value[i][j] for j in order) if square else value[i] for i in order)
        if isinstance(getattr(record, "steps", None), tuple):
            changes["steps"] = tuple(record.steps[i] for i in order)
        return dataclasses.replace(record, **changes) if changes else record

    def draws(self):
        """Full cohort; if partial ones are defined also masks, the empty one, and index arrays."""
        n, steps = self.n, cycle((3, 1, 2), self.n)
        yield mask([1] * n, steps)
        if self.partial:
            yield mask([int(i != 1) for i in range(n)], steps)
            yield mask([int(i == 1) for i in range(n)], steps)
            yield mask([0] * n, steps)
        if self.partial and not self.algorithm.absent_act:
            yield places([n - 1, 0], [1, 1], [2, 3])
            yield places([1, 0, *range(2, n)], [0] + [1] * (n - 1), cycle((1, 2, 2), n))

    # ---- states ----------------------------------------------------------------------------------------
    def state(self, domain, seed=0, lead=(), zero=False):
        """A state with leading axes: random rationals of the shapes that `init` makes; for rounds that are not affine
        one that two rounds reach from a random model."""
        rng = np.random.default_rng(seed)
        if not self.affine:
            return self._reached(domain, rng, lead)
        p = self.problem().to(domain)
        like = checked(self.algorithm.to(domain).init(p, domain.array(np.zeros(p.d, dtype=np.int64))), "init")
        return type(like)(*(domain.array(random(rng, lead + tuple(leaf.shape), zero)) for leaf in like))

    def _reached(self, domain, rng, lead):
        p, a = self.problem().to(FLOAT), self.algorithm.to(FLOAT)
        draw = mask([1] * self.n, cycle((5, 2, 3), self.n))
        s = checked(a.init(p, FLOAT.array(random(rng, (*lead, p.d))), draw), "init")
        for _ in range(2):
            s = checked(a.round(p, s, draw), "round")
        return type(s)(*(domain.array(np.array(leaf, dtype=float)) for leaf in s))

    def step(self, domain, state, draw: Draw, order=None):
        """The state after one round, whose type and leaves have been looked at."""
        a = self.algorithm if order is None else self.reordered(order)
        if isinstance(domain, Torch):
            import torch
            draw = draw.map(torch.as_tensor)
        return checked(a.to(domain).round(self.problem(order).to(domain), state, draw), "round")

    def client_leaves(self, state):
        """Names of the leaves with one row per client."""
        sized = self.problem().d != self.n
        return [name for name, leaf in zip(state._fields, state, strict=True)
                if leaf.shape and leaf.shape[0] == self.n and (leaf.ndim > 1 or sized)]

    def memories(self, state):
        """Names of the leaves that clients keep: what the algorithm counts per client changes without them."""
        return [name for name in self.client_leaves(state) if name not in self.algorithm.counters]

    def same(self, a, b, what):
        """Raise unless two states agree: exactly for affine rounds, to rounding for the others."""
        for name, x, y in zip(a._fields, a, b, strict=True):
            if tuple(x.shape) != tuple(y.shape):
                raise Violation(f"{name} has shape {tuple(x.shape)} instead of {tuple(y.shape)}", what)
            if (self.affine and numbers(x) != numbers(y)) or (not self.affine and gap(x, y) > ROUNDING):
                raise Violation(f"{name} differs", what)


@functools.lru_cache(maxsize=64)
def _problem(personal, weights, order):
    """Clients with unequal dense Hessians; every one and every coordinate is told from the others."""
    p = [weights[i] for i in order]
    n, d = len(order), 3 if len(order) == 2 else 2
    def square(i, k, by):
        return [[Q(1 + (i * 2 + r) % 3) + Q(1, by) if r == c else Q(1 + i % 2, 2 * by) for c in range(k)]
                for r in range(k)]
    def vector(i, k):
        return [Q((5 * i + 3 * r) % 7 - 2, 1 + (i + r) % 3) + Q(1, 11 + i) for r in range(k)]
    H, b = [square(i, d, 5) for i in range(n)], [vector(i, d) for i in range(n)]
    if not personal:
        return Quadratic.from_linear([H[i] for i in order], [b[i] for i in order], p)
    k = [1 + i % 2 for i in range(n)]
    B = [[[Q(1 + (i + r + c) % 3, 4) for c in range(k[i])] for r in range(d)] for i in range(n)]
    C, t = [square(i, k[i], 3) for i in range(n)], [vector(i + 1, k[i]) for i in range(n)]
    return Residual(*([part[i] for i in order] for part in (H, B, C, b, t)), p)


# ---- cohorts -----------------------------------------------------------------------------------------------
def mask(present, steps):
    return Draw(EVERYONE, np.array(present), np.array(steps))


def places(who: Who, present, steps):
    return Draw(np.array(who), np.array(present), np.array(steps))


def described(draw: Draw) -> str:
    """A cohort in words."""
    def listed(a):
        return " ".join(str(v) for v in np.asarray(a).reshape(-1))
    if isinstance(draw.who, slice):
        return f"cohort mask {listed(draw.present)}, local steps {listed(draw.steps)}"
    return f"clients {listed(draw.who)} (present {listed(draw.present)}), local steps {listed(draw.steps)}"


def cycle(values, n) -> tuple:
    return tuple(values[i % len(values)] for i in range(n))


# ---- states ------------------------------------------------------------------------------------------------
def checked(state, maker):
    """The state, if it is a NamedTuple of arrays."""
    if not isinstance(state, tuple) or not hasattr(state, "_fields"):
        raise Violation(f"`{maker}` returns a {type(state).__name__}, and a state is a NamedTuple of arrays", maker)
    for name, leaf in zip(state._fields, state, strict=True):
        if not hasattr(leaf, "shape"):
            raise Violation(f"field {name} of the state is a {type(leaf).__name__}, not an array", maker)
    return state


def numbers(leaf):
    """Entries that compare exactly: Fractions of rationals and finite floats."""
    flat = to_numpy(leaf).reshape(-1)
    if flat.dtype != object and not np.isfinite(flat).all():
        raise Violation("the state holds NaN or infinity", "round")
    return [fraction(v) for v in flat]


def gap(x, y) -> float:
    """Largest difference of two float leaves relative to their largest entry."""
    x, y = to_numpy(x).astype(float), to_numpy(y).astype(float)
    scale = max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0), 1e-300)
    return float(np.abs(x - y).max(initial=0.0) / scale) if np.isfinite(scale) else np.inf


def combine(weights, states):
    return type(states[0])(*(sum((w * leaf for w, leaf in zip(weights, leaves, strict=True)), 0 * leaves[0])
                             for leaves in zip(*states, strict=True)))


def random(rng, shape, zero=False):
    """Small random rationals of a shape."""
    count = int(np.prod(shape))
    pairs = zip(rng.integers(-9, 10, count), rng.integers(1, 6, count), strict=True)
    flat = [Q(0) if zero else Q(int(a), int(b)) for a, b in pairs]
    return np.array([*flat, None], dtype=object)[:-1].reshape(shape)


def _is_record(value) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _numbers_of(record):
    for value in (getattr(record, f.name) for f in dataclasses.fields(record)):
        yield from _numbers_of(value) if _is_record(value) else np.asarray(value, dtype=object).reshape(-1)


def _over_clients(record):
    """(record, name, value) of the fields with an entry per client, those of the records in it too."""
    for f in dataclasses.fields(record):
        value = getattr(record, f.name)
        if _is_record(value):
            yield from _over_clients(value)
        elif value is not None and (f.type in SEVERAL or (f.type in SINGLE and isinstance(value, tuple))):
            yield record, f.name, value


def _rational(array):
    """Float weights such as .1 do not sum to 1 exactly: read as the short fractions they stand for."""
    if domain_of(array) is not FLOAT:
        return array
    out = np.empty(array.shape, dtype=object)
    out.reshape(-1)[:] = [Q(float(v)).limit_denominator(10**9) for v in array.reshape(-1)]
    return out
