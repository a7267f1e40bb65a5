"""`worst_case`: the largest value that a measure takes after some rounds, over all functions of given classes."""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.errors import BadInput
from fltheory.core.kinds import Algorithm, Array, Law
from fltheory.core.numbers.scalars import Number
from fltheory.worstcase import certificate as certificates
from fltheory.worstcase.classes import FunctionClass
from fltheory.worstcase.programme import SOLVED, UNBOUNDED
from fltheory.worstcase.relaxation import Setting, setting_of
from fltheory.worstcase.view import measured
from fltheory.worstcase.witness import Witness, attaining


class Unbounded(BadInput):
    """A measure that the initial conditions do not bound."""


@dataclass(frozen=True)
class WorstCase:
    """value: the supremum in floats (None unless the solver's status is "Solved"); status: the solver's word.

    certificate: an upper bound proved in rationals (None if none was found); size: (order of each Gram block, rows);
    witness: functions on which the float round attains the value, made when asked for.
    """

    value: float | None
    status: str
    certificate: certificates.Certificate | None
    size: tuple
    setting: Setting = field(repr=False)

    @property
    def bound(self) -> Fraction | None:
        """The certified upper bound."""
        return None if self.certificate is None else self.certificate.bound

    def __str__(self):
        if self.value is None:
            return f"no verdict: the solver said {self.status}"
        proved = "no certificate" if self.bound is None else f"at most {float(self.bound):.5g} is certified"
        return f"worst case {self.value:.5g}: {proved}; Gram blocks {self.size[0]}, {self.size[1]} conditions"

    def recheck(self) -> bool:
        """The certificate checked again, exactly and without a solver, on a programme written anew."""
        return self.certificate is not None and certificates.holds(self.setting.programme(), self.certificate)

    @functools.cached_property
    def witness(self) -> Witness:
        """Interpolating functions and the value that the float round attains on them. Raises BadInput for counted classes."""
        return attaining(self.setting)


def worst_case(algorithm: Algorithm, classes: FunctionClass | list, law: Law | None = None,
               measure: str | Callable = "distance", *, initial: str | Callable | list = "distance", rounds: int = 1,
               counts: list | None = None, clients: int | None = None, weights: Array = None, noise: Number = None,
               start: str | Callable = "init", certify: bool = True) -> WorstCase:
    """The supremum of a measure after `rounds` rounds, over all client functions of the classes, in any dimension.

    classes: a `SmoothConvex`, `Smooth` or `QuadraticClass` per client, or one for all `clients`; `Dissimilar` among them holds
    at every server model where a round starts. law: one without memory (default `Full()`), expectations by its cohorts.
    measure: a function of the situation `s` (see `View`: x, next, before, after, star, F, grad, square, dot, ...) or "distance",
    "gap", "gradient"; initial: the same as conditions (a function, a name, meaning "at most 1", or a list of them). counts: how
    many identical clients each class stands for (full participation; the cost does not depend on them). weights: (n,) sum 1.
    noise: variance bound of a two-valued noise per sample (a lower bound of the worst noise). start: "init", "free" for
    arbitrary states, or a function of the situation giving {field: value}. Raises BadInput for what has no meaning, for
    algorithms whose round takes roots, and where the measure is unbounded (naming the direction); TooLarge for programmes beyond
    the stated size; MissingLibrary without cvxpy.
    """
    setting = question(algorithm, classes, law, measure, initial, clients=clients, rounds=rounds, counts=counts,
                       weights=weights, noise=noise, start=start)
    return solved(setting, setting.programme(), certify)


def question(algorithm: Algorithm, classes, law: Law | None, measure, initial, *, clients=None, **options) -> Setting:
    """The setting of these arguments of `worst_case`."""
    conditions = tuple(measured(one, "initial") for one in (initial if isinstance(initial, (list, tuple)) else [initial]))
    return setting_of(Setting(algorithm, classes, law, measured(measure, "measure"), conditions, **options), clients)


def solved(setting, programme, certify=True) -> WorstCase:
    """What the solver finds for a setting's programme, with its certificate."""
    solution = programme.solve()
    if solution.status == UNBOUNDED:
        direction = ", ".join(_names(programme, solution)) or "function values"
        raise Unbounded(f"measure = 'unbounded': the worst case grows without limit along {direction}. Add an initial condition on "
                        'it, for example initial=["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1].')
    content = solution.status == SOLVED
    certificate = certificates.certify(programme, solution.value) if certify and content else None
    size = tuple(programme.sizes), len(programme.rows)
    return WorstCase(solution.value if content else None, solution.status, certificate, size, setting)


def _names(programme, solution):
    block = programme.gram.blocks()[0]
    sizes = np.abs(np.diag(solution.blocks[0])) if solution.blocks else np.zeros(0)
    columns = np.array(programme.columns[0])[programme.faces[0]]
    named = [(size, programme.gram.leaves[block[c]]) for size, c in zip(sizes, columns, strict=True)]
    return sorted({name if isinstance(name, str) else f"a {name[-1]} of client {name[-2]}" for size, name in named
                   if size > 1e-3 * max(sizes.max(initial=0.0), 1e-300)})
