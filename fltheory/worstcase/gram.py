"""A problem whose points are coefficient vectors: shipped rounds run on it unmodified and record what they ask for.

Every new gradient is a new leaf; the same client at the same point gets the same one. With `counts` one client stands for
each class of identical clients: every leaf of its own has a twin, the mean over the class, and a sum over clients turns own
leaves into means. What clients of a class do apart from their mean then lies in a second block of the Gram matrix.
"""
from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Who
from fltheory.core.numbers.scalars import RATIONAL
from fltheory.core.problems.base import Problem, check_weights
from fltheory.worstcase.quadratic_forms import Condition, Form, dot, floats, number, square

LARGEST = 96  # leaves: the programme then has about 4,700 unknowns


class _Full(Exception):
    """The leaves do not fit into the present dimension."""


class Point:
    """What is recorded of a client at x: gradient (d,), value (a `Form`), and which unknowns were new."""

    def __init__(self, x, gradient, value, leaves, index):
        self.x, self.gradient, self.value, self.leaves, self.index = x, gradient, value, leaves, index

    @functools.cached_property
    def floats(self):
        """x in floats."""
        return floats(self.x)

    def __iter__(self):
        return iter((self.x, self.gradient, self.value))


class Gram(Problem):
    """n clients from function classes, on abstract vectors of `size` coefficients over leaves.

    classes: one `FunctionClass` per client, or per class of identical clients with `counts`; weights (n,), uniform unless given.
    domain: RATIONAL, or a Field for programmes with a symbol.
    """

    def __init__(self, classes, weights=None, counts=None, size=16, domain=RATIONAL):
        self.classes, self.counts, self.d, self.domain = list(classes), counts, size, domain
        self.n = sum(counts) if counts else len(self.classes)
        self.weights = [1 / (Fraction(1) * self.n)] * len(self.classes) if counts else check_weights(weights, self.n)
        self.p = domain.array(np.array([*self.weights, None], dtype=object)[:-1])
        self.pairs, self.gone = [], []          # (a client's leaf, its mean); eliminated (leaf, row)
        self.leaves, self.values, self._free = [], 0, {}
        self.points = [{} for _ in self.classes]
        self._view = _summed(self) if counts else None
        if counts:
            self.p = self.p.view(self._view)

    # ---- leaves
    def zero(self):
        """The zero vector."""
        v = self.domain.array(np.zeros(self.d, dtype=np.int64))
        return v.view(self._view) if self.counts else v

    def leaf(self, name):
        """A new abstract vector."""
        if len(self.leaves) >= self.d:
            raise _Full
        v = self.zero()
        v[len(self.leaves)] = self.domain.scalar(1)
        self.leaves.append(name)
        return v

    def client_leaf(self, i, name):
        """A new vector of client i, with its mean over the class where clients are counted."""
        v = self.leaf((i, name))
        if self.counts:
            self.leaf(("mean", i, name))
            self.pairs.append((len(self.leaves) - 2, len(self.leaves) - 1))
        return v

    def to_mean(self, rows):
        """Rows (..., d) with own leaves replaced by the means over their classes."""
        rows = np.array(rows, dtype=object)
        for single, mean in self.pairs:
            rows[..., mean] = rows[..., mean] + rows[..., single]
            rows[..., single] = rows[..., single] * 0
        return rows

    # ---- the interface of a problem
    def to(self, domain):
        return self

    def point(self, i, x, gradient=None) -> Point:
        """The recorded point of client i at x, made on first sight. gradient: a given one (an optimality condition)."""
        x = np.asarray(x)
        key = tuple((k, str(v)) for k, v in enumerate(x) if v != 0)
        if key not in self.points[i]:
            near, unit = self._nearest(i, x)
            first, index, fresh = len(self.leaves), None, gradient is None
            if fresh:  # the leaf is (gradient - nearest one) / unit: small steps stay well scaled
                gradient = self._gradient_leaf(i)
                if near is not None:
                    gradient = near.gradient + gradient * unit
            value = Form()  # of the first point of a client: values count from there
            if near is not None:
                index, self.values = self.values, self.values + 1
                value = Form(values={index: 1})
                if fresh:
                    value = value * (unit * unit) + near.value + dot(near.gradient, x - near.x)
            self.points[i][key] = Point(x, np.asarray(gradient), value, set(range(first, len(self.leaves))), index)
        return self.points[i][key]

    def _gradient_leaf(self, i):
        """A new gradient of client i."""
        return self.client_leaf(i, "gradient")

    def _nearest(self, i, x):
        """The recorded point nearest in coefficients, and the power of two above its distance."""
        points = list(self.points[i].values())
        if self.domain is not RATIONAL or not points:  # symbols have no size: leaves stay as they are
            return (points[0] if points else None), number(1)
        far = np.abs(floats(x) - [p.floats for p in points]).max(axis=1)  # decides nothing but the scale of a leaf
        k = int(far.argmin())
        return points[k], number(Fraction(2) ** math.ceil(math.log2(far[k]))) if far[k] > 0 else number(1)

    def _clients(self, who: Who):
        return np.arange(len(self.classes)) if isinstance(who, slice) else np.asarray(who)

    def _gradient(self, who: Who, y, sample):
        rows = [self.point(int(i), y[k if y.shape[-2] > 1 else 0]).gradient for k, i in enumerate(self._clients(who))]
        out = np.array(rows, dtype=object)
        out = out.view(self._view) if self.counts else out
        return out if sample is None else out + sample

    def value(self, x):
        """F(x) as a form."""
        each = self.counts or [1] * len(self.classes)
        return sum((self.point(i, x).value * (self.p[i] * c) for i, c in enumerate(each)), Form())

    def mean_square(self, x):
        """sum_i p_i |grad f_i(x)|^2 as a form."""
        each = self.counts or [1] * len(self.classes)
        return sum((square(self.point(i, x).gradient) * (self.p[i] * c) for i, c in enumerate(each)), Form())

    def minimiser(self):
        """A new vector where sum_i p_i grad f_i vanishes; the origin if no point was recorded before."""
        fresh = not any(self.points)
        x = self.zero() if fresh else self.leaf("minimiser")
        if self.counts:
            self.equate((self.p[..., None] * self.grad(x[None] + 0 * self.p[..., None])).sum(-2))
            return x
        rest = self.zero()
        for i in range(self.n - 1):
            rest = rest + self.p[i] * self.point(i, x).gradient
        self.point(self.n - 1, x, rest * (-1 / self.p[self.n - 1]))
        return x

    def free(self, name):
        """Free vectors (n, d), one per client, made when the name is first asked for."""
        if name not in self._free:
            rows = np.array([self.client_leaf(i, name) for i in range(len(self.classes))], dtype=object)
            self._free[name] = rows.view(self._view) if self.counts else rows
        return self._free[name]

    def points_of(self, gradients):
        """The recorded points (n, d) of gradients (n, d). Raises BadInput for a vector that is nobody's gradient."""
        rows = []
        for i, g in enumerate(np.asarray(gradients)):
            matches = [p.x for p in self.points[i].values() if (p.gradient == g).all()]
            if not matches:
                refuse("gradients", f"row {i}", "is no gradient that this client was asked for", "Give stored gradients.")
            rows.append(matches[0])
        rows = np.array(rows, dtype=object)
        return rows.view(self._view) if self.counts else rows

    def equate(self, u):
        """Impose u = 0 for a vector by eliminating one leaf."""
        u = self.reduce(self.to_mean(u) if self.counts else u)
        used = [k for k in range(self.d) if u[k] != 0]
        if used:
            self.gone.append((used[-1], u / u[used[-1]]))

    def reduce(self, rows):
        """Rows (..., d) without the eliminated leaves."""
        rows = np.array(rows, dtype=object)
        for leaf, u in self.gone:
            rows = rows - rows[..., leaf:leaf + 1] * u
        return rows

    # ---- what the programme needs
    def live(self, forms) -> list[list[Point]]:
        """Per client the points that the forms can feel: what no other quantity touches can always be interpolated."""
        rest, leaves, values = {id(p): p for points in self.points for p in points.values()}, set(), set()
        while True:
            for _, u, v in (term for form in forms for term in form.terms):
                leaves |= self._support(u) | self._support(v)
            values |= {k for form in forms for k in form.values}
            felt = [p for p in rest.values() if not p.leaves or p.leaves & leaves or p.index in values]
            if not felt:
                return [[p for p in points.values() if id(p) not in rest] for points in self.points]
            for p in felt:
                del rest[id(p)]
                leaves |= self._support(p.x) | self._support(p.gradient)
            forms = [p.value for p in felt]

    def _support(self, u):
        means = dict(self.pairs)
        support = {k for k, c in enumerate(np.asarray(u)) if c != 0}
        return support | {means[k] for k in support if k in means} | {o for o, m in self.pairs if m in support}

    def conditions(self, forms) -> list[Condition]:
        """Interpolation conditions of all clients at the points that the forms feel."""
        return [c for kind, points in zip(self.classes, self.live(forms), strict=True)
                if points for c in kind.conditions(points)]

    def blocks(self):
        """Leaves of each block of the Gram matrix: the common one, and per counted class (more than one client) its own."""
        gone = {leaf for leaf, _ in self.gone}
        singles = {single for single, _ in self.pairs}
        common = [k for k in range(len(self.leaves)) if k not in singles and k not in gone]
        apart = [[single for single, _ in self.pairs if self.leaves[single][0] == i] for i in range(len(self.classes))]
        return [common, *(a for a, c in zip(apart, self.counts or (), strict=False) if c != 1 and a)]

    def coordinates(self, u):
        """A vector's coefficients in each block."""
        u = np.asarray(u)
        common, *apart = self.blocks()
        mean = self.reduce(self.to_mean(u) if self.counts else u)
        return [mean[common], *(u[block] for block in apart)]


def _summed(problem: Gram):
    """Arrays over client classes: a sum over that axis counts each class as often as it has clients, own leaves as means."""
    class Summed(np.ndarray):
        def sum(self, axis=None, keepdims=False):
            plain = np.asarray(self)
            if axis not in (-1, -2) or plain.shape[axis] != len(problem.classes):
                return plain.sum(axis=axis, keepdims=keepdims)
            shape = [1] * plain.ndim
            shape[axis] = len(problem.counts)
            scaled = plain * np.array([*problem.counts, None], dtype=object)[:-1].reshape(shape)
            if axis == -2 and plain.shape[-1] == problem.d:
                scaled = problem.to_mean(scaled)
            return np.asarray(scaled).sum(axis=axis, keepdims=keepdims).view(Summed)
    return Summed


def built(make, size=16):
    """make(size) with the smallest power of two of leaves that it needs. Raises TooLarge above `LARGEST`."""
    while True:
        try:
            return make(size)
        except _Full:
            if size >= LARGEST:
                raise TooLarge(f"the worst case needs more than {LARGEST} abstract vectors: take fewer clients, local steps or "
                               "rounds, or count identical clients (counts=)") from None
            size = min(2 * size, LARGEST)
