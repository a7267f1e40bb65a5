"""The variables on which the constants of a universal claim depend, and how they are read off an instance.

A claim declares the two ends between which it is tested, ends={"clients": (1, 64), ..}; how far its instances and its search
went is read off what they decided (`reach`), never taken from what a family was asked for.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.core.errors import FLTheoryError, refuse
from fltheory.core.evidence import number
from fltheory.core.laws.base import RandomSteps
from fltheory.core.numbers.scalars import RATIONAL, fraction, is_rational

CAP = "step over its cap"   # read off the hypotheses of the claim that are declared as caps


@dataclass(frozen=True)
class Variable:
    """A variable of a claim's own. name: as in its `ends`; read: instance -> a number, several (clients differ: the least and
    the largest count), or None where the instance has none."""

    name: str
    read: Callable

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            refuse("name", self.name, "a variable is named by a string", 'For example ft.Variable("delay", read).')
        if not callable(self.read):
            refuse("read", self.read, "is no function of an instance", 'For example ft.Variable("delay", lambda i: i.delay).')


def _steps(i):
    """Local steps of the algorithm or its law: of every client, every mode and every outcome."""
    law = getattr(i.stated, "law", None)
    modes = getattr(law, "per_mode_steps", None)
    steps = modes if modes is not None else i.stated.tau
    return [s for one in (steps if isinstance(steps, list | tuple) else [steps]) for s in _outcomes(one)]


def _outcomes(steps):
    return [s for _, s in steps.choices] if isinstance(steps, RandomSteps) else [steps]


def _rounds(i):
    """Infinitely many where the instance says None."""
    horizons = [i.extra[name] for name in ("rounds", "horizon", "T") if name in i.extra]
    return None if not horizons else math.inf if horizons[0] is None else horizons[0]


def _probability(i):
    law, n = i.stated.law, i.n
    size = getattr(law, "m", None)
    return Fraction(size, n) if isinstance(size, int) and type(law).__name__ == "Uniform" else law.inclusion(n)


def _curvatures(i):
    """(mu, L) of the stated problem, or as numbers of the instance where it is about a whole class."""
    return (i.extra["mu"], i.extra["L"]) if i.stated.problem is None else (i.stated.mu, i.stated.L)


def _condition(i):
    mu, L = _curvatures(i)
    return L / mu if mu > 0 else None


def _curvature(i):
    mu, L = _curvatures(i)
    return mu / L if L else None


def _noise_share(i):
    """sigma^2/(sigma^2 + zeta^2), zeta^2 the mean square distance of the clients' gradients from their mean at the start."""
    problem = i.stated.problem.to(RATIONAL)
    start = [0] * problem.d if i.x0 is None else i.x0
    x = RATIONAL.array(np.array([list(start)] * problem.n, dtype=object))
    g, sigma2 = problem.grad(x), i.sigma**2
    zeta2 = fraction(((g - sum(g) / problem.n) ** 2).sum() / problem.n)
    return None if sigma2 + zeta2 == 0 else sigma2 / (sigma2 + zeta2)


CATALOGUE = {
    "clients": lambda i: i.n,
    "dimension": lambda i: i.d,
    "local steps": _steps,
    "rounds": _rounds,
    "participation": _probability,                              # probability that a client takes part in a round
    "averaging weight": lambda i: i.stated.law.averaging_weights(i.n),
    "condition number": _condition,                             # L/mu, of strongly convex instances
    "curvature": _curvature,                                    # mu/L: below 0 where a client is not convex
    "noise": lambda i: i.sigma,
    "noise against drift": _noise_share,                        # 0: no noise; 1: equal gradients at the start
    "weight": lambda i: i.p,                                    # data weights: the least and the largest
    CAP: lambda i: None,
}


def check_ends(ends, id) -> dict:
    """The declared {name or Variable: (low, high)}. An end given as a text is out of reach, for that reason. Raises BadInput."""
    what = f"ends of claim {id!r}"
    if not isinstance(ends, dict):
        refuse(what, ends, "is a dictionary {variable: (low, high)}", 'For example ends={"clients": (1, 64)}.')
    for variable, pair in ends.items():
        if not isinstance(variable, Variable) and variable not in CATALOGUE:
            refuse(what, variable, f"is none of {', '.join(map(repr, CATALOGUE))}",
                   "Correct the name, or give ft.Variable(name, read) for a variable of the claim's own.")
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(v, str) or _is_number(v) for v in pair):
            refuse(what, pair, f"the ends of {named(variable)!r} are two numbers, or a reason where one is out of reach",
                   'For example "rounds": (1, "exact sums over more rounds take minutes").')
        if not any(isinstance(v, str) for v in pair) and pair[0] > pair[1]:
            refuse(what, pair, f"the ends of {named(variable)!r} are ordered", "Give (low, high).")
    return ends


def _is_number(v) -> bool:
    return not isinstance(v, bool) and isinstance(v, int | float | Fraction) and v == v


def named(variable) -> str:
    return variable.name if isinstance(variable, Variable) else variable


def span(variable, instance, hypotheses=()) -> tuple | None:
    """(least, largest) of a variable on an instance, None where it has no such number.

    hypotheses: the conditions that were checked on the instance; those that are caps say how close the step came.
    """
    if variable == CAP:
        values = [h.share for h in hypotheses if h.share is not None]
        return (max(values),) * 2 if values else None
    read = variable.read if isinstance(variable, Variable) else CATALOGUE[variable]
    try:
        values = [v for v in map(_plain, _flat(read(instance))) if v is not None]
    except (AttributeError, KeyError, TypeError, FLTheoryError):  # the instance has no such part, or holds symbols
        return None
    return (min(values), max(values)) if values else None


def _flat(value):
    return [w for v in value for w in _flat(v)] if isinstance(value, list | tuple | range | np.ndarray) else [value]


def _plain(value):
    """A number as it is compared with an end: rationals exactly."""
    return value if value == math.inf else fraction(value) if is_rational(value) else number(value)
