"""Lyapunov functions found by a semidefinite programme: the smallest rate that one of a family certifies, in rationals.

V(z) is a quadratic form in the centred parts of a state, plus q (F(x) - F(x*)), with V >= |x - x*|^2. If E V(next) <= rate V for
every function of the classes and every state, the expected distance contracts at that rate per round, for ever.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Algorithm, Array, Law
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import RATIONAL, Number, fraction, need
from fltheory.worstcase.certificate import cancelling, pair, repaired, rounded, solved
from fltheory.worstcase.classes import FunctionClass, SmoothConvex
from fltheory.worstcase.gram import Gram, built
from fltheory.worstcase.programme import Programme, triangle
from fltheory.worstcase.quadratic_forms import Form, dot, floats, number
from fltheory.worstcase.relaxation import Setting, setting_of
from fltheory.worstcase.view import View

WIDTH = Fraction(1, 10**4)


@dataclass(frozen=True)
class Lyapunov:
    """rate: a Fraction, E V(next) <= rate V proved exactly; names: the centred parts of the state.

    P (k, k), Fractions: V = sum P_ij <part_i, part_j> + q (F(x) - F(x*)), and V >= |part_0|^2, part_0 = x - x*.
    tried: [(rate, whether a function was found)] of the bisection; a failure proves nothing.
    """

    rate: Fraction
    names: tuple
    P: np.ndarray = field(repr=False)
    q: Fraction = field(repr=False)
    multipliers: tuple = field(repr=False)
    tried: tuple = field(repr=False)
    setting: Setting = field(repr=False)
    centre: object = field(repr=False, default=None)

    def __str__(self):
        rate = math.ceil(self.rate * 1000) / 1000  # rounded to the safe side
        return f"rate {rate} per round is certified by a quadratic form in {', '.join(self.names)}"

    def recheck(self) -> bool:
        """The decrease checked again, exactly and without a solver."""
        return _Search(self.setting, self.centre).holds(self.rate, self.P, self.q, self.multipliers)


class _Search:
    """The exact rows of the decrease: conditions of the classes, and V's products before and after the round."""

    def __init__(self, setting, centre):
        self.programme, self.names = built(lambda size: _rows(setting, centre, size))
        self.k = len(self.names)
        self.pairs = list(zip(*triangle(self.k), strict=True))
        self.less, self.same = len(self.programme.less), len(self.programme.same)
        after = self.programme.rows[self.less + self.same:]
        half = len(after) // 2  # entries of two artificial rows: before, after
        self.conditions = self.programme.rows[:self.less + self.same]
        self.before, self.after = after[:half], after[half:]

    def parts(self, rate, weights):
        """(blocks, values) of E V(next) - rate V."""
        used = [(number(w), b, a) for w, b, a in zip(weights, self.before, self.after, strict=True) if w != 0]
        shrink = number(rate)
        blocks = [sum((w * (a.blocks[j] - shrink * b.blocks[j]) for w, b, a in used), np.full((s, s), number(0), dtype=object))
                  for j, s in enumerate(self.programme.sizes)]
        return blocks, sum((w * (a.values - shrink * b.values) for w, b, a in used), 0 * self.programme.objective.values)

    def weights(self, P, q):
        """Weights of V's products in the order of `pairs`, the value last."""
        return [*(P[i, j] * (1 if i == j else 2) for i, j in self.pairs), q]

    def holds(self, rate, P, q, multipliers):
        """The exact check."""
        if len(multipliers) != len(self.conditions) or q < 0 or any(v < 0 for v in multipliers[:self.less]):
            return False
        first = np.array([[Fraction(int(i == j == 0)) for j in range(self.k)] for i in range(self.k)], dtype=object)
        if not linalg.is_positive_definite(P - first, strict=False):
            return False
        blocks, values = self.parts(rate, self.weights(P, q))
        used = [(number(v), row) for v, row in zip(multipliers, self.conditions, strict=True) if v != 0]
        if any(v != 0 for v in sum((v * row.values for v, row in used), -values)):
            return False
        return all(linalg.is_positive_definite(sum((v * row.blocks[j] for v, row in used), -block), strict=False)
                   for j, block in enumerate(blocks))

    def find(self, rate):
        """(P, q, multipliers) in rationals with the exact decrease at a rate, or None."""
        solution = self._floats(rate)
        if solution is None:
            return None
        P, q, y = solution
        P = np.array(rounded(((P + P.T) / 2).reshape(-1), 0), dtype=object).reshape(self.k, self.k)
        (q,) = rounded([q], 1)
        _, target = self.parts(rate, self.weights(P, q))
        y = repaired(self.conditions, target, rounded(y, self.less), self.less, self.same)
        return (P, q, tuple(y)) if y is not None and self.holds(rate, P, q, y) else None

    def _floats(self, rate):
        """P, q and multipliers as far inside the conditions as the scale 1000 >= P allows; None if the solver finds none."""
        cp = need("cvxpy", "Lyapunov functions")
        y, t, P, q = cp.Variable(len(self.conditions)), cp.Variable(), cp.Variable((self.k, self.k), symmetric=True), cp.Variable()
        weights = cp.hstack([*(P[i, j] * (1 if i == j else 2) for i, j in self.pairs), q])
        first, eye = pair(self.k, 0, 0) / 2, np.eye(self.k)
        inside = [t <= 1, q >= 0, P - first >> t * eye, 1e3 * eye >> P]
        inside += [y[:self.less] >= 0] if self.less else []

        def shrinking(read):
            return np.array([read(a) - float(rate) * read(b) for b, a in zip(self.before, self.after, strict=True)])
        values = shrinking(lambda row: floats(row.values)), np.array([floats(r.values) for r in self.conditions])
        if values[0].size:
            both = np.hstack([-values[0].T, values[1].T])
            inside += cancelling(both, cp.hstack([weights, y]), np.zeros(len(both)))
        for j, s in enumerate(map(len, self.programme.faces)):
            if s:
                V = shrinking(lambda row, j=j: self.programme.on_face(row, j)).reshape(len(self.before), -1).T
                conditions = np.array([self.programme.on_face(r, j) for r in self.conditions]).reshape(len(self.conditions), -1).T
                inside.append(cp.reshape(conditions @ y - V @ weights, (s, s), order="C") >> t * np.eye(s))
        return (P.value, float(q.value), y.value) if solved(cp, t, inside) and t.value > 1e-9 else None


def _rows(setting, centre, size):
    gram = Gram(setting.classes, setting.weights, setting.counts, size)
    algorithm = setting.algorithm.to(RATIONAL)
    star = functools.cache(gram.minimiser)
    star()
    before = setting.begin(gram, algorithm, gram.leaf("x0"), star, centre)
    view = View(gram, algorithm, before, star=star)
    for one in setting.initial:
        one(view)
    names, old = _parts(view, before, algorithm, centre)
    k = len(names)
    i, j = triangle(k)
    value = view.F(view.x) - view.F(view.star)
    forms = [*(dot(old[a], old[b]) for a, b in zip(i, j, strict=True)), value]
    later = [Form() for _ in forms]
    for q, after, _ in setting.outcomes(gram, algorithm, before, {}):
        final = View(gram, algorithm, before, after, star)
        _, new = _parts(final, after, algorithm, centre)
        now = [*(dot(new[a], new[b]) for a, b in zip(i, j, strict=True)), final.F(final.next) - final.F(final.star)]
        later = [total + form * number(q) for total, form in zip(later, now, strict=True)]
    every = [*forms, *later]
    conditions = gram.conditions(every)
    programme = Programme(gram, Form(), conditions, before, star, extra=every)
    return programme, names


def _parts(view, state, algorithm: Algorithm, centre):
    """Names and vectors of the centred parts of a state: the model first, then every other field without its value at x*."""
    fixed = {} if centre is None else centre(view)
    names, rows = ["x"], [algorithm.model(state) - view.star]
    for name, leaf in zip(state._fields, state, strict=True):
        if name not in fixed:
            continue
        vectors = leaf - fixed[name]
        several = [vectors] if vectors.ndim == 1 else list(vectors)
        names += [name] if vectors.ndim == 1 else [f"{name}[{k}]" for k in range(len(several))]
        rows += several
    return tuple(names), [np.asarray(r) for r in rows]


def lyapunov(algorithm: Algorithm, classes: FunctionClass | list, law: Law | None = None, *, clients: int | None = None,
             weights: Array = None, centre: Callable | None = None, invariants: Callable | None = None, low: Number = 0,
             high: Number = 1, width: Number = WIDTH) -> Lyapunov | None:
    """The smallest rate in [low, high], up to `width`, at which the programme finds V; None if it finds none at `high`.

    algorithm, classes, law, clients, weights: as in `worst_case`. centre: a function of the situation giving {field: value at the
    fixed point} for the state's fields that V may contain; invariants: a function that imposes what the state keeps (s.equate).
    Both are known for SCAFFOLD, Scaffnew, ProxSkip and FOCUS; other fields stay out of V. Raises BadInput for classes that
    are not convex and rates out of order, TooLarge, MissingLibrary.
    """
    for what, value in (("centre", centre), ("invariants", invariants)):
        if value is not None and not callable(value):
            refuse(what, value, "is a function of the situation", "For example lambda s: {\"ci\": s.grads(s.star)}.")
    defaults = KNOWN.get(type(algorithm).__name__, (None, None))
    centre, invariants = centre or defaults[0], invariants or defaults[1]
    low, high, width = fraction(low), fraction(high), fraction(width)
    if not 0 <= low < high or width <= 0:
        refuse("low, high, width", (str(low), str(high), str(width)), "0 <= low < high, width > 0", "Give an interval of rates.")
    raw = Setting(algorithm, classes, law, None, (invariants,) if invariants else (), weights=weights, start="free")
    setting = setting_of(raw, clients)
    for kind in (*setting.classes, *setting.joint):
        if not isinstance(kind, SmoothConvex):
            refuse("classes", kind, "is no class of smooth convex functions, over which V is sought", "Use ft.worst_case, or for "
                   "quadratics the exact rate of ft.derive.")
    search = _Search(setting, centre)
    best = search.find(high)
    tried = [(high, best is not None)]
    if best is None:
        return None
    while high - low > width:
        rate = (low + high) / 2
        function = search.find(rate)
        tried.append((rate, function is not None))
        if function is None:
            low = rate
        else:
            high, best = rate, function
    P, q, y = best
    return Lyapunov(high, search.names, P, q, y, tuple(tried), setting, centre)


def _weighted(s, rows):
    return (s.problem.p[..., None] * rows).sum(-2)


KNOWN = {  # what the state's fields are at the fixed point, and what every round keeps
    "Scaffold": (lambda s: {"ci": s.grads(s.star)}, lambda s: s.equate(s.before.c, _weighted(s, s.before.ci))),
    "Scaffnew": (lambda s: {"h": s.grads(s.star)}, lambda s: s.equate(_weighted(s, s.before.h), 0 * s.x)),
    "ProxSkip": (lambda s: {"y": s.star + 0 * s.before.y, "h": s.grads(s.star)},
                 lambda s: s.equate(_weighted(s, s.before.h), 0 * s.x)),
    "Focus": (lambda s: {"g": s.grads(s.star)}, lambda s: s.equate(s.before.y, s.before.g.sum(-2))),
}
