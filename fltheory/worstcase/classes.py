"""Classes of client functions by the conditions under which finitely many (x, gradient, value) belong to one of their members.

The conditions of the smooth classes are necessary and sufficient (Taylor, Hendrickx, Glineur 2017), those of quadratics too
(Bousselmi, Hendrickx, Glineur 2023); bounded dissimilarity is imposed at the server models of the rounds alone, which makes
values upper bounds.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array
from fltheory.core.numbers.scalars import Number, fraction
from fltheory.worstcase.gram import Gram
from fltheory.worstcase.quadratic_forms import Condition, dot, number, square

ROOT_TWO = Fraction(99, 70)   # just above it


class FunctionClass:
    """Functions whose curvature lies between `low` and `high`."""

    def __str__(self):
        return f"{type(self).__name__}(L={fraction(self.L)}, mu={fraction(self.mu)})"

    @property
    def low(self) -> Number:
        return number(fraction(self.mu))  # type: ignore[attr-defined]

    @property
    def high(self) -> Number:
        return number(fraction(self.L))  # type: ignore[attr-defined]

    def _check(self, least):
        if fraction(self.L) <= 0:
            refuse("L", self.L, "must be positive", "Give the largest curvature.")
        if not least <= fraction(self.mu) < fraction(self.L):
            refuse("mu", self.mu, f"lies in [{least}, L), and L is {self.L}", "Give the smallest curvature, below L.")

    def conditions(self, points: list) -> Iterator[Condition]:
        """Conditions for points [(x, gradient, value)] to belong to one function of the class."""
        for i, a in enumerate(points):
            for j, b in enumerate(points):
                if i != j:
                    yield Condition(self._pair(a, b))

    def _pair(self, a, b):
        (xa, ga, fa), (xb, gb, fb) = a, b
        dx, dg = xa - xb, ga - gb
        k = 1 / (2 * (1 - self.low / self.high))
        return (fb - fa + dot(gb, dx)
                + (square(dg) / self.high + square(dx) * self.low - dot(dg, dx) * (2 * self.low / self.high)) * k)


@dataclass(frozen=True)
class SmoothConvex(FunctionClass):
    """Convex differentiable functions with curvature between mu >= 0 and L > mu. Raises BadInput for other numbers."""

    L: object = 1
    mu: object = 0

    def __post_init__(self):
        self._check(0)


@dataclass(frozen=True)
class Smooth(FunctionClass):
    """Functions with an L-Lipschitz gradient, convex or not; `mu` bounds the curvature from below (default -L)."""

    L: object = 1
    mu: object = None

    def __post_init__(self):
        if self.mu is None:
            object.__setattr__(self, "mu", -fraction(self.L))
        self._check(-fraction(self.L))


@dataclass(frozen=True)
class SmoothBlocks(FunctionClass):
    """Functions of (w, theta) with |grad f(z) - grad f(z')| <= gamma (|w - w'| + |theta - theta'|), convex or not (Federated
    Residual Learning, Assumption 1), by necessary conditions: gamma-smooth where one part alone moves, sqrt 2 gamma-smooth (rounded
    up) in both. Worst cases are then upper bounds. Raises BadInput for gamma <= 0 or another `convex`.
    """

    gamma: object = 1
    convex: bool = True

    def __post_init__(self):
        if not isinstance(self.convex, bool):
            refuse("convex", self.convex, "is True or False", "Say whether the functions are convex.")
        if fraction(self.gamma) <= 0:
            refuse("gamma", self.gamma, "must be positive", "Give the constant of Assumption 1.")

    def __str__(self):
        return f"SmoothBlocks(gamma={fraction(self.gamma)}, convex={self.convex})"

    @property
    def L(self) -> Fraction:
        """gamma."""
        return fraction(self.gamma)

    @property
    def mu(self) -> Fraction:
        """The least curvature of one part: 0 or -gamma."""
        return fraction(0 if self.convex else -self.L)

    def conditions(self, points: list) -> Iterator[Condition]:
        refuse("classes", str(self), "speaks of shared and personal parameters",
               "Take an algorithm that has both, ft.FedResSgd say.")

    def in_blocks(self, points: list, split: Callable) -> Iterator[Condition]:
        """Conditions on points [(w + theta, gradient, value)], whose parts split gives."""
        joint = Smooth(self.L * ROOT_TWO) if not self.convex else SmoothConvex(self.L * ROOT_TWO)
        for i, a in enumerate(points):
            for j, b in enumerate(points):
                if i == j:
                    continue
                yield Condition(joint._pair(a, b))
                moves = [bool((part != 0).any()) for part in split(a.x - b.x)]
                if all(moves):
                    continue
                part = int(moves[1])   # what moves alone; the other one does not
                yield Condition(self._pair(*((split(p.x)[part], split(p.gradient)[part], p.value) for p in (a, b))))
                if i < j:
                    yield Condition(square(a.gradient - b.gradient) - square(a.x - b.x) * (self.high * self.high))


@dataclass(frozen=True)
class QuadraticClass(FunctionClass):
    """Quadratics x -> (x - c)' H (x - c) / 2 + b' x with mu <= H <= L, in any dimension; mu may be negative, at least -L."""

    L: object = 1
    mu: object = 0

    def __post_init__(self):
        self._check(-fraction(self.L))

    def conditions(self, points: list) -> Iterator[Condition]:
        """One H for all: gradients differ by H dx, values by the mean gradient times dx, and (g - mu x)'(L x - g) is psd."""
        x0, g0, f0 = points[0]
        moved = [(x - x0, g - g0) for x, g, _ in points[1:]]
        for (_, g, f), (dx, _) in zip(points[1:], moved, strict=True):
            yield (f - f0).equals((dot(g, dx) + dot(g0, dx)) / 2)
        for i, (xi, gi) in enumerate(moved):
            for xj, gj in moved[:i]:
                yield dot(xi, gj).equals(dot(xj, gi))
        rows = [[(dot(gi - xi * self.low, xj * self.high - gj) + dot(gj - xj * self.low, xi * self.high - gi)) / 2
                 for xj, gj in moved] for xi, gi in moved]
        if rows:
            yield Condition(matrix=tuple(map(tuple, rows)))


@dataclass(frozen=True)
class Dissimilar:
    """sum_i w_i |grad f_i(x)|^2 <= beta2 |sum_i w_i grad f_i(x)|^2 + kappa2 at every server model x at which a round starts.

    beta2 >= 1, kappa2 >= 0 (FedNova Assumption 3); w: the problem's weights.
    """

    beta2: object = 1
    kappa2: object = 0

    def __post_init__(self):
        if fraction(self.beta2) < 1:
            refuse("beta2", self.beta2, "is at least 1, or no functions but equal ones are left", "Give beta^2 >= 1.")
        if fraction(self.kappa2) < 0:
            refuse("kappa2", self.kappa2, "must not be negative", "Give kappa^2 >= 0.")

    def condition(self, problem: Gram, x: Array) -> Condition:
        """The condition at one point."""
        mean = problem.gradient(x)
        return problem.mean_square(x) <= square(mean) * number(fraction(self.beta2)) + number(fraction(self.kappa2))
