"""The numbers that an instance states: read where problem, algorithm and law hold them, before any bug is swapped in."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fltheory.core.errors import refuse
from fltheory.core.numbers.scalars import fraction, is_rational


@dataclass(frozen=True)
class Stated:
    """What the paper's side of a claim may read, as `i.stated`: a wrong algorithm put into the instance changes none of it.

    Numbers are Fractions (floats at their binary value), or symbols. Any number of the algorithm or of its solver goes by its
    own name: `i.stated.server_lr`, `i.stated.rho`.
    """

    problem: Any
    algorithm: Any
    law: Any
    noise: Any

    @property
    def n(self) -> int:
        """Number of clients."""
        return self.problem.n

    @property
    def d(self) -> int:
        """Dimension of the model."""
        return self.problem.d

    @property
    def p(self) -> list:
        """Data weights (n,)."""
        return [_number(v) for v in self.problem.weights]

    @property
    def L(self):
        """Smoothness: of every client."""
        return _number(self.problem.constants.L)

    @property
    def mu(self):
        """Least curvature of a client."""
        return _number(self.problem.constants.mu)

    @property
    def eta(self):
        """Client step size."""
        return _number(self.algorithm.lr)

    @property
    def tau(self):
        """Local steps: an int, or one per client."""
        steps = self.algorithm.steps if self.algorithm.steps is not None else getattr(self.law, "steps", None)
        if steps is None:
            refuse("tau", None, "neither the algorithm nor the law states its local steps", "Give steps= to one of them.")
        return steps

    @property
    def taus(self) -> tuple:
        """Local steps (n,) of every client."""
        return self.tau if isinstance(self.tau, tuple) else (self.tau,) * self.n

    @property
    def sigma(self):
        """E|gradient noise|^2 = sigma^2."""
        return _number(self.noise)

    def __getattr__(self, name):
        for record in (self.__dict__.get("algorithm"), getattr(self.__dict__.get("algorithm"), "solver", None)):
            if not name.startswith("_") and record is not None and hasattr(record, name):
                return _number(getattr(record, name))
        raise AttributeError(f"nothing called {name!r} is stated by {type(self.__dict__.get('algorithm')).__name__} or its solver")


def _number(value):
    if isinstance(value, (tuple, list)):
        return tuple(_number(v) for v in value)
    if (isinstance(value, (str, float, int, Fraction)) and not isinstance(value, bool)) or is_rational(value):
        return fraction(value)
    return value
