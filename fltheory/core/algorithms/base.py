"""The one form of an algorithm: a frozen record of hyper-parameters and a pure `round`.

Rules of a `round` that declares itself affine (checked for every algorithm by the conformance test):
state is touched only by + - * /scalar, None-indexing, `.sum`, the helpers of `arrays`, and problem
gradients; literals are integers; nothing is compared by order; nothing is written in place; no shape or
dtype is invented; samples enter only through `grad`.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Law, Problem
from fltheory.core.laws.base import RandomSteps, check_steps
from fltheory.core.numbers.scalars import Domain, StepSize
from fltheory.core.records import Record, convert, declared, positive

ROOMS = ("fltheory.core.algorithms.", "fltheory.algorithms.", "fltheory.asynchronous.")   # where methods of this package stand


def ours(module) -> bool:
    """Whether a module, by its dotted name, holds methods of this package."""
    return module.startswith(ROOMS) and module != __name__


def fixed_steps(steps, what):
    """Local steps that are the same in every round, or None: those of the law."""
    if isinstance(steps, RandomSteps):
        refuse(what, steps, "steps that are drawn afresh every round belong to the law of participation",
               "Give them there, ft.Full(steps=ft.RandomSteps(...)), and leave them out of the algorithm.")
    return None if steps is None else check_steps(steps, what)


@dataclass(frozen=True)
class Algorithm(Record):
    """Base class. Sub-classes define a NamedTuple state, `init` and `round`, and name their model field `x`.

    What a hyper-parameter may be stands beside it, as here: see `fltheory.core.records`.

    lr: client step size eta > 0 (number, "1/20", or a symbol). steps: local steps, shorthand for fixed steps
    in the law: an int or one per client.
    """

    lr: StepSize = declared(positive)
    steps: Any = declared(fixed_steps, None)

    affine: ClassVar[bool] = True     # the round is affine in the state on quadratics, for every fixed draw
    stateful: ClassVar[bool] = False  # clients keep memories, so one client cannot stand at two places
    partial: ClassVar[bool] = True    # defined for cohorts that are not all clients
    personal: ClassVar[bool] = False  # needs a problem with personal parameters
    arrivals: ClassVar[bool] = False  # a round is one arrival, which the state chooses
    absent_act: ClassVar[bool] = False  # absent clients act too, so cohorts must be masks over all
    counters: ClassVar[tuple] = ()    # leaves with a number per client that count rounds, of absent clients too
    # vectors of the model's size sent per participant and round, as published (counting: FOCUS, Section 6, Table 1);
    # single numbers such as FedNova's |a_i|_1 do not count
    uplink: ClassVar[int] = 1
    downlink: ClassVar[int] = 1

    def to(self, domain: Domain) -> Self:
        """The same algorithm with its numbers in one arithmetic."""
        if not isinstance(domain, Domain):
            refuse("domain", domain, "is no arithmetic", "Give ft.FLOAT, ft.RATIONAL, ft.Torch(), ft.Field(...), ...")
        return convert(self, domain)

    def law_for(self, law: Law, n: int) -> Law:
        """The law of n clients as this algorithm needs it, with its steps and noise: most take any law as it is."""
        return law

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Any:
        """State at the server model x0 (..., d). The draw serves warm starts and event clocks."""
        raise NotImplementedError

    def round(self, problem: Problem, state: Any, draw: Draw) -> Any:
        """State after one round."""
        raise NotImplementedError

    def model(self, state: Any) -> Array:
        """Server model (..., d)."""
        return state.x


def only_full(draw: Draw):
    """Refuse a round in which somebody is missing."""
    if not isinstance(draw.who, slice) or not (draw.present == 1).all():
        refuse("draw", "a partial cohort", "only full participation is defined here", "Use the law Full().")


def advance(algorithm: Algorithm, problem: Problem, state, draw: Draw):
    """One round as the law means it: rounds that do not happen (empty and skipped) keep the state."""
    new = algorithm.round(problem, state, draw)
    happens = None if draw.extra is None else draw.extra.get("happens")
    if happens is None:
        return new
    return type(state)(*(old + _over(happens, now) * (now - old) for old, now in zip(state, new, strict=True)))


def _over(flag, leaf):
    """A flag with the leading axes of a leaf (lead..., *shape), padded to the leaf's rank."""
    return flag[(...,) + (None,) * (leaf.ndim - flag.ndim)] if hasattr(flag, "ndim") else flag
