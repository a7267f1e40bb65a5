"""The default families of a search: exact quadratics, and Huber losses where a claim runs on them, in settings of the same
kind as the claim's own instance.

Everything is drawn so that a shrunk draw reads well: few clients, one dimension, small integers.
"""
from __future__ import annotations

import itertools
import math
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction

from fltheory.errors import BadInput, refuse
from fltheory.laws.base import Law, RandomSteps
from fltheory.laws.events import EventClock
from fltheory.laws.memoryless import Bernoulli, Full, Uniform, WithReplacement
from fltheory.laws.modes import Chain
from fltheory.operators.operator import prepare
from fltheory.problems.huber import HuberLoss
from fltheory.problems.quadratic import Quadratic
from fltheory.scalars import FLOAT, RATIONAL, Balls, fraction, need

CLIENTS, DIMENSIONS, STEPS = 4, 3, 5
CURVATURES = [Fraction(v) for v in ("1", "2", "3", "4", "1/2", "1/4", "3/2")]
SHARES = [Fraction(v) for v in ("1", "1/2", "1/4", "1/8", "3/4", "1/16")]  # of the largest step 1/L
CHANCES = [Fraction(v) for v in ("1", "1/2", "1/3", "1/4", "3/4")]
FOLLOWING = {  # extras that repeat a number of the instance itself, by the names they go by
    "eta": lambda i: i.algorithm.lr, "lr": lambda i: i.algorithm.lr,
    "tau": lambda i: i.algorithm.steps, "taus": lambda i: i.algorithm.steps, "steps": lambda i: i.algorithm.steps,
    "sigma": lambda i: i.noise, "n": lambda i: i.problem.n, "m": lambda i: i.problem.n, "d": lambda i: i.problem.d,
    "p": lambda i: tuple(i.problem.weights), "weights": lambda i: tuple(i.problem.weights),
    "L": lambda i: i.constants.L, "mu": lambda i: i.constants.mu,
}


def model_instance(claim):
    """The claim's first instance made of a quadratic problem and numbers. Raises BadInput if there is none."""
    for i in claim.on:
        numbers = i.domain in (RATIONAL, FLOAT) or isinstance(i.domain, Balls)
        known = type(i.problem) is Quadratic and i.problem.native in (RATIONAL, FLOAT)
        if numbers and known and i.algorithm is not None and isinstance(i.law, Law):
            return i
    refuse("families", None, f"claim {claim.id!r} has no instance with a Quadratic problem, an algorithm, a law and "
           "numbers, so no default family can be drawn around it", "Give families=[ft.Family(name, build)].")


def kept(claim) -> dict:
    """Extras of the model instance that every draw takes over unchanged."""
    like = model_instance(claim)
    return {k: v for k, v in like.extra.items() if k not in _followed(like)}


def around(claim, family, clients=(1, CLIENTS), dimensions=(1, DIMENSIONS)):
    """family("quadratics", build): 1 to 4 clients in 1 to 3 dimensions with positive definite Hessians.

    Problem, weights, 0 < lr <= 1/L, local steps, the algorithm's and solver's numbers, noise (if any), the start (if
    any) and the law are drawn; law and forms (one number for all clients or one each) are those of the model instance.
    """
    like = model_instance(claim)
    st = need("hypothesis.strategies", "counter-example search")
    return family("quadratics", lambda draw: _build(_Drawer(draw, st), like, clients, dimensions, _quadratics))


BENT = "Huber losses"


def bent(claim, family, clients=(1, CLIENTS), dimensions=(1, DIMENSIONS)):
    """family("Huber losses", build): the same with strongly convex sums of one or two Huber losses, which are not
    quadratic and yet rational at rational points."""
    like = model_instance(claim)
    st = need("hypothesis.strategies", "counter-example search")
    return family(BENT, lambda draw: _build(_Drawer(draw, st), like, clients, dimensions, _hubers))


def plainest(claim):
    """The simplest instance of `bent`, drawn without chance: does the claim run on it at all? None if there is none."""
    return _build(_Plainest(), model_instance(claim), (2, 2), (1, 1), _hubers)


class _Drawer:
    """Draws of numbers that shrink towards small integers."""

    def __init__(self, draw, st):
        self.draw, self.st = draw, st

    def whole(self, low, high):
        return self.draw(self.st.integers(low, high))

    def one(self, values):
        return self.draw(self.st.sampled_from(values))

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


def _build(pick, like, clients, dimensions, losses):
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
        algorithm = _record(pick, like.algorithm, n, lr, graph)
        problem = problem(weights)
        prepare(algorithm, problem, law, noise)
    except BadInput:
        return None  # outside what the algorithm or the law allow
    new = like.but(name="drawn", problem=problem, algorithm=algorithm, law=law, noise=noise, x0=start, says="",
                   domain=like.domain if isinstance(like.domain, Balls) else RATIONAL)
    new.extra.update({k: FOLLOWING[k](new) for k in _followed(like)})
    return new


def _followed(like):
    """Extras that repeat a number of the model instance: they follow what is drawn."""
    return [k for k, own in FOLLOWING.items() if k in like.extra and _same(like.extra[k], own(like))]


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


def _record(pick, record, n, lr, graph):
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
            changes[f.name] = _record(pick, value, n, lr, graph)
        elif f.type == "Number" and value is not None:
            changes[f.name] = _number(pick, record, f.name, value)
        elif f.type == "Numbers" and value is not None:
            changes[f.name] = tuple(pick.shares(n))
    return replace(record, **changes)


def _number(pick, record, name, own):
    """Zero switches most numbers off and reads best; where the record refuses it (a server step), its own value does."""
    drawn = pick.number(0, max(1, math.ceil(fraction(own))))
    if drawn == 0:
        try:
            replace(record, **{name: drawn})
        except BadInput:
            return own
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
    known = type(like.law) in (Full, Uniform, WithReplacement, Bernoulli, EventClock) or _in_turn(like.law)
    return None if known else like.problem.n


def _in_turn(law):
    return type(law) is Chain and (law.matrix is None or all(v in (0, 1) for row in law.matrix for v in row))


def _law(pick, law, n):
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
        own = law.per_mode_steps
        return replace(law, sets=sets, steps=steps,
                       per_mode_steps=None if own is None else tuple(_steps(pick, s, n) for s in own))
    return replace(law, steps=steps) if type(law) is Full else law
