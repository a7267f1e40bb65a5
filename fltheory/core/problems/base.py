"""What a round sees of a problem: n clients, weights p, and gradients of a cohort."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Open, Who
from fltheory.core.numbers.arrays import EVERYONE, LaidOut, is_torch
from fltheory.core.numbers.scalars import FLOAT, Domain, Numbers, declare, domain_of, fraction
from fltheory.core.problems import plain
from fltheory.core.problems.shapes import unit_sum


@dataclass(frozen=True)
class Constants:
    """Computed constants of a problem; exact problems carry exactly checked rational bounds.

    L: smoothness of every client (largest absolute curvature), bounded from above.
    mu: smallest curvature over clients, bounded from below (negative if some client is concave somewhere).
    exact: whether both were checked in exact arithmetic.
    """

    L: Any
    mu: Any
    exact: bool


def check_weights(weights, n, what="weights"):
    """Declared weights (n,): non-negative, summing to 1 (exactly if exact, to 1e-12 if floats)."""
    if weights is None:
        out = np.empty(n, dtype=object)
        out[:] = [Fraction(1, n)] * n
        return out
    w = declare(weights, what)
    if w.shape != (n,):
        refuse(what, w.shape, f"one weight per client, so shape ({n},)", "Give n weights or None for uniform ones.")
    unit_sum(w, what)
    return w


class Problem(Open):
    """A federated problem min_x sum_i p_i f_i(x) over n clients in dimension d.

    Sub-classes set `n`, `d`, `weights` (declared), name their declared arrays in `_data`, and define
    `_gradient(data, who, y, sample)` and `_values(data, x)`. `to(domain)` gives the same problem in one
    arithmetic; `p` are its weights there.
    """

    n: int
    d: int
    weights: np.ndarray
    p: Array
    _data: tuple[str, ...] = ()
    domain: Domain = FLOAT
    personal: int = 0  # dimension of each client's own parameters, padded to the largest
    quadratic: bool = False  # every loss is a quadratic, so that affine rounds have operators
    placed: bool = False     # `_gradient` answers `Places` with `Placed` gradients

    def __repr__(self):
        return f"{type(self).__name__}(n={self.n}, d={self.d})"

    @property
    def drawn(self) -> int:
        """Coordinates of one stochastic gradient: of the model, and of a client's own parameters."""
        return self.d + self.personal

    def to(self, domain: Domain) -> Self:
        """The same problem with its data in another arithmetic (cached per arithmetic)."""
        if not isinstance(domain, Domain):
            refuse("domain", domain, "is no arithmetic", "Give ft.FLOAT, ft.RATIONAL, ft.Torch(), ft.Field(...), ...")
        if domain == self.domain and "p" in self.__dict__:
            return self
        cache = self.__dict__.setdefault("_converted", {})
        if domain not in cache:
            new = copy.copy(self)
            new.__dict__ = {k: v for k, v in self.__dict__.items() if not k.startswith("_cached")}
            new.domain = domain
            new.p = domain.array(self._weights_for(domain))
            for name in self._data:
                value = getattr(self, name)
                setattr(new, "_" + name, None if value is None else domain.array(value))
            new._prepare()
            cache[domain] = new
        return cache[domain]

    def _weights_for(self, domain):
        # float weights such as (.7, .2, .1) do not sum to 1 exactly; exact arithmetic renormalises them
        if domain.exact and self.weights.dtype == np.float64:
            w = [fraction(v) for v in self.weights]
            total = sum(w)
            return np.array([v / total for v in w] + [None], dtype=object)[:-1]
        return self.weights

    def _prepare(self):
        """Hook: derived arrays in the arithmetic just chosen."""

    @property
    def identity(self) -> str:
        """What distinguishes this problem besides its declared arrays (for checkpoints)."""
        return type(self).__name__

    @property
    def native(self) -> Domain:
        """The arithmetic of the declared data: RATIONAL, FLOAT or a `Field`."""
        parts = [self.weights.reshape(-1)] + [np.asarray(getattr(self, k)).reshape(-1)
                                              for k in self._data if getattr(self, k) is not None]
        return domain_of(np.concatenate([p.astype(object) for p in parts])
                         if any(p.dtype == object for p in parts) and not any(p.dtype == np.float64 for p in parts)
                         else np.zeros(1))

    def settled(self, domain: Domain) -> Domain:
        """Hook: the arithmetic in which this kind of problem answers where `domain` is asked for."""
        return domain

    def at(self, who: Who = EVERYONE) -> Cohort:
        """The clients `who` (index array (..., m), or EVERYONE) as a `Cohort`."""
        return Cohort(self, who) if "p" in self.__dict__ else plain.PlainCohort(self, who)  # type: ignore[return-value]

    # A plain problem, not yet converted by `to`, answers in the arithmetic of its data and of the point; it takes lists.
    def grad(self, y: Array, sample: Any = None) -> Array:
        """Gradients of all clients at their own points: y (..., n, d) -> (..., n, d)."""
        return self.at(EVERYONE).grad(y, sample)

    def gradient(self, x: Array) -> Array:
        """grad F(x) of the weighted objective: x (..., d) -> (..., d)."""
        if "p" not in self.__dict__:
            return plain.ask(self, "gradient", x)
        x = self._point(x)
        return (self.p[..., None] * self.grad(x[..., None, :] + 0 * self.p[..., None])).sum(-2)

    def value(self, x: Array) -> Array:
        """F(x): x (..., d) -> (...,)."""
        if "p" not in self.__dict__:
            return plain.ask(self, "value", x)
        return (self.p * self._values(self._point(x))).sum(-1)

    def _point(self, x):
        """A server model (..., d) in this problem's arithmetic; arrays of another shape, and lists, are looked at."""
        torch = self.domain.library == "torch"
        if is_torch(x) is torch and hasattr(x, "dtype") and x.dtype == self.p.dtype and x.shape[-1:] == (self.d,):
            return x
        x = plain.point(x, "x", (self.d,))
        return x if is_torch(x) and torch else self.domain.array(declare(x, "x"))

    def surrogate(self, w: Numbers) -> Self:
        """The surrogate objective sum_i w_i f_i: the same clients under other weights (sum 1)."""
        new = copy.copy(self)
        new.__dict__ = {k: v for k, v in self.__dict__.items() if k not in ("_converted", "p") and "_cached" not in k}
        new.weights = check_weights(w, self.n)
        return new.to(self.domain) if "p" in self.__dict__ else new

    def _gradient(self, who: Who, y, sample):
        raise NotImplementedError

    def _gradient_pair(self, who: Who, w, theta, sample):
        raise NotImplementedError

    def _values(self, x):
        raise NotImplementedError


class Cohort:
    """A lazy view of the clients `who`: their weights p, their gradients, and the number n of all clients.

    Grouping by client is its private matter.
    """

    def __init__(self, problem: Problem, who: Who):
        self._problem, self._who, self.n = problem, who, problem.n
        self.p = problem.p if isinstance(who, slice) else (
            who.numbers(problem.p) if isinstance(who, LaidOut) else problem.p[who])

    def grad(self, y: Array, sample: Any = None) -> Array:
        """Stochastic gradients (..., m, d) at y (..., m, d) or (..., 1, d).

        sample: None (exact), an additive noise array (..., m, d), or `Rows` (a mini-batch).
        """
        return self._problem._gradient(self._who, y, sample)

    def grad_pair(self, w: Numbers, theta: Array, sample: Any = None) -> tuple[Array, Array]:
        """Gradients (..., m, d) in w and (..., m, personal) in theta, for problems with personal parameters.

        w: (..., m, d) or (..., 1, d); theta: (..., m, personal). sample: None (exact), additive noise (..., m, d)
        on the first gradient alone, or (..., m, d + personal) on both.
        """
        return self._problem._gradient_pair(self._who, w, theta, sample)
