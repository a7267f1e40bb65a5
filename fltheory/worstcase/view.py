"""A view shows a worst case to its measures and initial conditions: models, states, gradients, values, abstract or in floats."""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Algorithm, Problem
from fltheory.worstcase.quadratic_forms import Form, dot


class View:
    """The situation of a worst case.

    x, before: server model and state at the start; next, after: after the rounds (only in a measure); star: a point where the
    gradient of F vanishes. Vectors are added and multiplied by numbers as usual.
    """

    def __init__(self, problem: Problem, algorithm: Algorithm, before, after=None, star=None):
        self.problem, self.before, self.x = problem, before, algorithm.model(before)
        self._after, self._next, self._star = after, None if after is None else algorithm.model(after), star

    @property
    def after(self):
        """The state after the rounds."""
        return self._ready(self._after, "after")

    @property
    def next(self):
        """The server model after the rounds."""
        return self._ready(self._next, "next")

    def _ready(self, value, name):
        if value is None:
            refuse("initial", name, "exists only after the rounds", "Use x and before in initial conditions.")
        return value

    @property
    def star(self):
        """A point where the gradient of F vanishes: the minimiser of convex classes."""
        return self._star()

    def dot(self, u, v):
        """<u, v>."""
        return dot(u, v)

    def square(self, u):
        """|u|^2."""
        return self.dot(u, u)

    def F(self, x):
        """The weighted objective at x."""
        return self.problem.value(x)

    def grad(self, x):
        """The gradient of the weighted objective at x."""
        return self.problem.gradient(x)

    def grads(self, x):
        """The gradients of all clients at x (d,), or each at its own point (n, d): (n, d)."""
        return self.problem.grad((x if x.ndim == 2 else x[None]) + 0 * self.problem.p[..., None])

    def vectors(self, name):
        """Free vectors (n, d), one per client, the same whenever the name is asked for: the points of stored gradients, say."""
        return self.problem.free(name)

    def points_of(self, gradients):
        """The points (n, d) at which the clients' gradients (n, d) were taken."""
        return self.problem.points_of(gradients)

    def client_grad(self, i, x):
        """The gradient of client i at x."""
        return self.problem.point(i, x).gradient

    def client_value(self, i, x):
        """The value of client i at x, counted from its first recorded point."""
        return self.problem.point(i, x).value

    def joint_value(self, w, theta):
        """sum_i p_i L_i(w, theta_i) of clients with personal parameters: w (d,), theta (n, d)."""
        return self.problem.joint_value(w, theta)

    def grad_pairs(self, w, theta):
        """Their gradients in w and in theta_i, (n, d) each."""
        return self.problem.grad_pairs(w, theta)

    def mean_square(self, u):
        """sum_i p_i |u_i|^2 of one vector per client, (n, d)."""
        p, each = self.problem.p, self.problem.counts or [1] * len(u)
        return sum((self.square(v) * (w * c) for v, w, c in zip(np.asarray(u), np.asarray(p), each, strict=True)), Form())

    def equate(self, u, v):
        """Impose u = v for two vectors (an invariant of the states, say), in an initial condition."""
        self.problem.equate(u - v)


class FloatView(View):
    """The same in floats, on a problem with functions: forms are numbers, conditions are truths."""

    def dot(self, u, v):
        return float(np.dot(u, v))

    def client_grad(self, i, x):
        return self.problem.functions[i](x)[1]

    def grads(self, x):
        each = np.broadcast_to(x, (self.problem.n, x.shape[-1]))
        return np.array([f(y)[1] for f, y in zip(self.problem.functions, each, strict=True)])

    def client_value(self, i, x):
        return self.problem.functions[i](x)[0]

    def mean_square(self, u):
        return float(sum(w * (v @ v) for v, w in zip(u, self.problem.p, strict=True)))

    def equate(self, u, v):
        return None


MEASURES = {"distance": lambda s, x: s.square(x - s.star), "gap": lambda s, x: s.F(x) - s.F(s.star),
            "gradient": lambda s, x: s.square(s.grad(x))}


def measured(measure, name):
    """A function of a View; the names in `MEASURES` are |x - x*|^2, F(x) - F(x*) and |grad F(x)|^2."""
    if callable(measure):
        return measure
    if not isinstance(measure, str) or measure not in MEASURES:
        refuse(name, measure, f"is a function of the situation or one of {sorted(MEASURES)}",
               'For example lambda s: s.square(s.next - s.star), or "distance".')
    form = MEASURES[measure]
    return (lambda s: form(s, s.next)) if name == "measure" else (lambda s: form(s, s.x) <= 1)
