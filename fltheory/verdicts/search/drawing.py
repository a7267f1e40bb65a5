"""The default families of a search: exact quadratics, and Huber losses where a claim runs on them, in settings of the same
kind as the claim's own instance.

Everything is drawn so that a shrunk draw reads well: few clients, one dimension, small integers.
"""
from __future__ import annotations

import functools
import itertools
import math
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeGuard

from fltheory.asynchronous.event_clock import EventClock
from fltheory.core.errors import BadInput, refuse
from fltheory.core.kinds import Algorithm
from fltheory.core.laws.base import Law, RandomSteps
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform, WithReplacement
from fltheory.core.laws.modes import Chain
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, SEVERAL, SINGLE, Balls, fraction, need
from fltheory.core.operators.setting import prepare
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.quadratic import Quadratic
from fltheory.verdicts.claims.instance import STATED, Instance

CLIENTS, DIMENSIONS, STEPS = 4, 3, 5
CURVATURES = [Fraction(v) for v in ("1", "2", "3", "4", "1/2", "1/4", "3/2")]
SHARES = [Fraction(v) for v in ("1", "1/2", "1/4", "1/8", "3/4", "1/16")]  # of the largest step 1/L
CHANCES = [Fraction(v) for v in ("1", "1/2", "1/3", "1/4", "3/4")]


def _part(name, of):
    """How a number of the algorithm or of its solver is read."""
    return lambda i: getattr(i.algorithm if of == "algorithm" else getattr(i.algorithm, "solver", None), name, None)


def _numbers(like):
    """(name, how it is read, (record's class, field) or None) of what an instance states, and of its algorithm's and solver's
    numbers."""
    for name in STATED:
        yield name, functools.partial(lambda name, i: getattr(i.stated, name), name), None
    for of, record in (("algorithm", like.algorithm), ("solver", getattr(like.algorithm, "solver", None))):
        for f in fields(record) if is_dataclass(record) else ():
            yield f.name, _part(f.name, of), (type(record), f.name) if f.type in SINGLE and f.name != "lr" else None


def _drawable(i) -> bool:
    """Whether instances can be drawn around this one: a quadratic problem and numbers."""
    numbers = i.domain in (RATIONAL, FLOAT) or isinstance(i.domain, Balls)
    quadratic = type(i.problem) is Quadratic and i.problem.native in (RATIONAL, FLOAT)
    return numbers and quadratic and i.algorithm is not None and isinstance(i.law, Law)


def models(claim) -> dict:
    """{name: the claim's first instance with that algorithm and solver} for every kind of algorithm that the claim uses,
    as far as instances can be drawn around it. Raises BadInput if there is none."""
    first: dict[Any, Instance] = {}
    names = {}
    for i in filter(_drawable, claim.on):
        first.setdefault(_kind(i.algorithm), i)
    if not first:
        refuse("families", None, f"claim {claim.id!r} has no instance with a Quadratic problem, an algorithm, a law and "
               "numbers, so no default family can be drawn around it", "Give families=[ft.Family(name, build)].")
    for i in first.values():
        name = _named(i.algorithm)
        names[name if name not in names else f"{name} as in {i.name}"] = i
    return names


def unsearched(claim) -> list:
    """The claim's algorithms that no default family draws: they stand in symbols, or on other problems, only."""
    drawable = {_kind(i.algorithm) for i in claim.on if _drawable(i)}
    every = {_kind(i.algorithm): _named(i.algorithm) for i in claim.on if i.algorithm is not None}
    return list(dict.fromkeys(name for kind, name in every.items() if kind not in drawable))


def _kind(record) -> tuple | type:
    """The record without its numbers: which they are, and which words and switches go with them."""
    if not is_dataclass(record):
        return type(record)
    values = [(f, getattr(record, f.name)) for f in fields(record) if f.name not in ("lr", "steps", "graph")]
    return type(record), *((f.name, _kind(v) if is_dataclass(v) else v is None if f.type in SINGLE + SEVERAL else str(v))
                           for f, v in values)


def _named(algorithm: Algorithm) -> str:
    solver = getattr(algorithm, "solver", None)
    plain = solver is None or not fields(solver)
    return type(algorithm).__name__ + ("" if plain else f" with {type(solver).__name__}")


def kept(claim) -> dict:
    """Extras of the model instances that every draw around them takes over unchanged."""
    out: dict[str, dict] = {}
    every = models(claim)
    for name, like in every.items():
        followed = _followed(like, claim)
        for k, v in like.extra.items():
            if k not in followed:
                out.setdefault(k, {})[name] = v
    return {(k if len({str(v) for v in values.values()}) == 1 else f"{k} of {name}"): v
            for k, values in out.items() for name, v in values.items()}


def around(claim, family, clients=(1, CLIENTS), dimensions=(1, DIMENSIONS), like=None, name="quadratics"):
    """family("quadratics", build): 1 to 4 clients in 1 to 3 dimensions with positive definite Hessians.

    Problem, weights, 0 < lr <= 1/L, local steps, the algorithm's and solver's numbers, noise (if any), the start (if
    any) and the law are drawn; law and forms (one number for all clients or one each) are those of the model instance
    `like` (default the claim's first).
    """
    return _family(claim, family, clients, dimensions, like, name, _quadratics)


BENT = "Huber losses"


def bent(claim, family, clients=(1, CLIENTS), dimensions=(1, DIMENSIONS), like=None, name=BENT):
    """family("Huber losses", build): the same with strongly convex sums of one or two Huber losses, which are not
    quadratic and yet rational at rational points."""
    return _family(claim, family, clients, dimensions, like, name, _hubers)


def _family(claim, family, clients, dimensions, like, name, losses):
    like = like or next(iter(models(claim).values()))
    follow = _followed(like, claim)
    st = need("hypothesis.strategies", "counter-example search")
    return family(name, lambda choose: _build(_Drawer(choose, st), like, clients, dimensions, losses, follow))


def plainest(claim, like=None):
    """The simplest instance of `bent`, drawn without chance: does the claim run on it at all? None if there is none."""
    like = like or next(iter(models(claim).values()))
    return _build(_Plainest(), like, (2, 2), (1, 1), _hubers, _followed(like, claim))


class _Drawer:
    """Draws of numbers that shrink towards small integers."""

    def __init__(self, choose, st):
        self.choose, self.st = choose, st

    def whole(self, low, high):
        return self.choose(self.st.integers(low, high))

    def one(self, values):
        return self.choose(self.st.sampled_from(values))

    def number(self, low, high):
        """A rational in [low, high], mostly whole; low and high are integers."""
        q = self.one((1, 1, 2, 3, 4))
        return Fraction(self.whole(low * q, high * q), q)

    def shares(self, n):
        parts = [self.whole(1, 5) for _ in range(n)]
        return [Fraction(v, sum(parts)) for v in parts]


class _Plainest(_Drawer):
    """Always the first choice; numbers as close to 0 as they may be."""

    def __init__(self):
        super().__init__(None, None)

    def whole(self, low, high):
        return min(max(low, 0), high)

    def one(self, values):
        return values[0]


def _quadratics(pick, n, d):
    """(weights -> problem, largest curvature) of positive definite quadratics."""
    H = [_definite(pick, d) for _ in range(n)]
    c = [[pick.number(-3, 3) for _ in range(d)] for _ in range(n)]
    return lambda weights: Quadratic(H, c, weights), max(_largest(h) for h in H)


def _hubers(pick, n, d):
    """(weights -> problem, largest curvature): kinks at distance 1 from small offsets, with a ridge that makes mu > 0."""
    U = [[[1 if k == j % d else pick.whole(-1, 1) for k in range(d)] for j in range(pick.whole(1, 2))] for _ in range(n)]
    offsets = [[pick.number(-3, 3) for _ in rows] for rows in U]
    reg = pick.one([Fraction(v) for v in ("1", "1/2", "1/4")])
    curved = max(sum(v * v for row in rows for v in row) for rows in U) + reg
    return lambda weights: HuberLoss(U, offsets, 1, 1, reg, weights), curved


def _build(pick, like, clients, dimensions, losses, follow):
    n = _clients(like) or pick.whole(*clients)
    d = pick.whole(*dimensions)
    problem, curved = losses(pick, n, d)
    graph = _graph(pick, n) if getattr(like.algorithm, "graph", None) is not None else None
    weights = pick.shares(n) if graph is None else [sum(row) for row in graph]
    lr = pick.one(SHARES) / math.ceil(curved)
    law = _law(pick, like.law, n)
    noise = 0 if fraction(like.noise) == 0 else pick.one([Fraction(1), Fraction(2), Fraction(1, 2)])
    start = None if like.x0 is None else [pick.whole(-3, 3) for _ in range(d)]
    try:
        algorithm = _record(pick, like.algorithm, n, lr, graph, _pinned(like, follow))
        problem = problem(weights)
        prepare(algorithm, problem, law, noise)
    except BadInput:
        return None  # outside what the algorithm or the law allow
    new = like.but(name="drawn", problem=problem, algorithm=algorithm, law=law, noise=noise, x0=start, says="",
                   domain=like.domain if isinstance(like.domain, Balls) else RATIONAL)
    new.extra.update({k: tuple(v) if isinstance(v := read(new), list) else v for k, read in follow.items()})
    return new


def _followed(like, claim) -> dict:
    """{name: where it is read} of the extras that repeat a number of the model instance: they follow what is drawn.

    Where two numbers of the extra's name happen to agree there, the one that agrees on more of the claim's instances is meant;
    a number of another name is meant only if other instances bear it out.
    """
    out: dict[str, Any] = {}
    peers = [i for i in claim.on if _drawable(i)]
    for name, read, _ in _numbers(like):
        agree = sum(_repeats(i, name, read) for i in peers)
        if _repeats(like, name, read) and agree > out.get(name, (None, 0))[1]:
            out[name] = read, agree
    out = {name: read for name, (read, _) in out.items()}
    alike = [i for i in peers if _kind(i.algorithm) == _kind(like.algorithm)]
    for k, read, _ in _repeated(like, out):
        theirs = [i for i in alike if k in i.extra]
        if all(_repeats(i, k, read) for i in theirs) and any(not _same(i.extra[k], like.extra[k]) for i in theirs):
            out[k] = read
    return out


def _repeated(like, followed):
    """(extra, where it is read, field) where an extra of another name repeats a number of the algorithm or its solver."""
    return [(k, read, place) for _, read, place in _numbers(like) if place
            for k in like.extra if k not in followed and _repeats(like, k, read)]


def _pinned(like, followed) -> set:
    """Numbers that stay as they are, because an extra that every draw takes over repeats them or seems to."""
    return {place for *_, place in _repeated(like, followed)}


def _repeats(i, name, read) -> bool:
    try:
        return name in i.extra and _same(i.extra[name], read(i))
    except (BadInput, AttributeError):  # it states no such number
        return False


def _same(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    try:
        return fraction(a) == fraction(b)
    except BadInput:
        return False


def _definite(pick, d):
    """L D L' with unit lower triangular integer L and positive D: positive definite without a check."""
    D = [pick.one(CURVATURES) for _ in range(d)]
    L = [[pick.whole(-1, 1) if j < i else int(i == j) for j in range(d)] for i in range(d)]
    return [[sum(L[i][k] * D[k] * L[j][k] for k in range(d)) for j in range(d)] for i in range(d)]


def _largest(h):
    """A bound of the largest eigenvalue: trace, or largest row sum."""
    return min(sum(h[k][k] for k in range(len(h))), max(sum(abs(v) for v in row) for row in h))


def _graph(pick, n):
    upper = {(i, j): pick.whole(1, 3) for i, j in itertools.combinations_with_replacement(range(n), 2)}
    total = sum(v if i == j else 2 * v for (i, j), v in upper.items())
    return [[Fraction(upper[min(i, j), max(i, j)], total) for j in range(n)] for i in range(n)]


def _record(pick, record, n, lr, graph, pinned=frozenset()):
    """The algorithm (or solver) with its declared numbers drawn anew; what is None stays None."""
    changes = {}
    for f in fields(record):
        value = getattr(record, f.name)
        if f.name == "lr":
            changes["lr"] = lr
        elif f.name == "steps":
            changes["steps"] = _steps(pick, value, n)
        elif f.name == "graph":
            changes["graph"] = graph
        elif is_dataclass(value):
            changes[f.name] = _record(pick, value, n, lr, graph, pinned)
        elif f.type in SINGLE and isinstance(value, tuple):  # one per client
            changes[f.name] = tuple(pick.number(0, 1) for _ in range(n))
        elif f.type in SINGLE and value is not None and (type(record), f.name) not in pinned:
            changes[f.name] = _number(pick, record, f.name, value)
        elif f.type in SEVERAL and value is not None:
            changes[f.name] = tuple(pick.shares(n))
    return replace(record, **changes)


def _number(pick, record, name, value):
    """Zero switches most numbers off and reads best; where the record refuses it (a server step), its own value does."""
    drawn = pick.number(0, max(1, math.ceil(fraction(value))))
    if drawn == 0:
        try:
            replace(record, **{name: drawn})
        except BadInput:
            return value
    return drawn


def _steps(pick, steps, n):
    """Local steps of the same form: none, one int, one per client, or a random choice."""
    if isinstance(steps, RandomSteps):
        return replace(steps, choices=tuple((p, _steps(pick, s, n)) for p, s in steps.choices))
    if isinstance(steps, tuple):
        return tuple(pick.whole(1, STEPS) for _ in range(n))
    return None if steps is None else pick.whole(1, STEPS)


def _clients(like):
    """The number of clients that a law is tied to, or None: schedules and laws from elsewhere are kept as they are."""
    of_any_size = type(like.law) in (Full, Uniform, WithReplacement, Bernoulli, EventClock) or _in_turn(like.law)
    return None if of_any_size else like.problem.n


def _in_turn(law: Law) -> TypeGuard[Chain]:
    return type(law) is Chain and (law.matrix is None or all(v in (0, 1) for row in law.matrix for v in row))


def _law(pick, law: Law, n) -> Law:
    """A law of the same kind for n clients; schedules and laws from elsewhere stay as they are."""
    steps = _steps(pick, law.steps, n)
    if type(law) is Uniform:
        return replace(law, m=pick.whole(1, n), steps=steps)
    if type(law) is WithReplacement:
        chances = None if law.probabilities is None else tuple(pick.shares(n))
        return replace(law, draws=pick.whole(1, 3), probabilities=chances, steps=steps)
    if type(law) is Bernoulli:
        each = isinstance(law.p, tuple)
        return replace(law, p=tuple(pick.one(CHANCES) for _ in range(n)) if each else pick.one(CHANCES), steps=steps)
    if type(law) is EventClock:
        each = isinstance(law.pace, tuple)
        return replace(law, pace=tuple(pick.whole(1, 3) for _ in range(n)) if each else pick.whole(1, 3), steps=steps)
    if _in_turn(law):
        sets = tuple(tuple(i for i in range(n) if pick.whole(0, 1)) or (pick.whole(0, n - 1),) for _ in law.sets)
        by_mode = law.per_mode_steps
        return replace(law, sets=sets, steps=steps,
                       per_mode_steps=None if by_mode is None else tuple(_steps(pick, s, n) for s in by_mode))
    return replace(law, steps=steps) if type(law) is Full else law
