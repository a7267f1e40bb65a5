"""The one form of an algorithm: a frozen record of hyper-parameters and a pure `round`.

Rules of a `round` that declares itself affine (checked for every algorithm by the conformance test):
state is touched only by + - * /scalar, None-indexing, `.sum`, the helpers of `arrays`, and problem
gradients; literals are integers; nothing is compared by order; nothing is written in place; no shape or
dtype is invented; samples enter only through `grad`.
"""
from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

from fltheory.core.arrays import is_torch
from fltheory.core.elements import Symbolic
from fltheory.core.errors import refuse
from fltheory.core.laws.base import RandomSteps, check_steps
from fltheory.core.scalars import FLOAT, SEVERAL, SINGLE, Domain, StepSize, declare, fraction


@dataclass(frozen=True)
class Algorithm:
    """Base class. Sub-classes define a NamedTuple state, `init` and `round`, and name their model field `x`.

    lr: client step size eta > 0 (number, "1/20", or a symbol). steps: local steps, shorthand for fixed steps
    in the law: an int or one per client.
    """

    lr: StepSize
    steps: Any = None

    affine: ClassVar[bool] = True     # the round is affine in the state on quadratics, for every fixed draw
    stateful: ClassVar[bool] = False  # clients keep memories, so one client cannot stand at two places
    partial: ClassVar[bool] = True    # defined for cohorts that are not all clients
    personal: ClassVar[bool] = False  # needs a problem with personal parameters
    absent_act: ClassVar[bool] = False  # absent clients act too, so cohorts must be masks over all
    counters: ClassVar[tuple] = ()    # leaves with a number per client that count rounds, of absent clients too
    # vectors of the model's size sent per participant and round, as published (counting: FOCUS, Section 6, Table 1);
    # single numbers such as FedNova's |a_i|_1 do not count
    uplink: ClassVar[int] = 1
    downlink: ClassVar[int] = 1

    def __post_init__(self):
        check_positive(self.lr, "lr")
        if isinstance(self.steps, RandomSteps):
            refuse("steps", self.steps, "steps that are drawn afresh every round belong to the law of participation",
                   "Give them there, ft.Full(steps=ft.RandomSteps(...)), and leave them out of the algorithm.")
        if self.steps is not None:
            object.__setattr__(self, "steps", check_steps(self.steps))

    def to(self, domain: Domain):
        """The same algorithm with its numbers in one arithmetic."""
        if not isinstance(domain, Domain):
            refuse("domain", domain, "is no arithmetic", "Give ft.FLOAT, ft.RATIONAL, ft.Torch(), ft.Field(...), ...")
        return _convert(self, domain)

    def law_for(self, law, n):
        """The law of n clients as this algorithm needs it, with its steps and noise: most take any law as it is."""
        return law

    def init(self, problem, x0, draw=None):
        """State at the server model x0 (..., d). The draw serves warm starts and event clocks."""
        raise NotImplementedError

    def round(self, problem, state, draw):
        """State after one round."""
        raise NotImplementedError

    def model(self, state):
        """Server model (..., d)."""
        return state.x


def _convert(record, domain):
    changes = {}
    for f in fields(record):
        value = getattr(record, f.name)
        if is_dataclass(value):
            changes[f.name] = _convert(value, domain)
        elif f.type in SINGLE and (isinstance(value, tuple) or getattr(value, "ndim", 0)):  # one per client
            changes[f.name] = domain.array(declare(value, f.name))
        elif f.type in SINGLE and value is not None:
            changes[f.name] = domain.scalar(value)
            if domain is FLOAT and changes[f.name] == 0 and not is_torch(value) and fraction(value) != 0:
                refuse(f.name, value, "is 0 in float64", "Rescale the problem, or work exactly (domain=ft.RATIONAL).")
        elif f.type in SEVERAL and value is not None:
            changes[f.name] = domain.array(declare(value, f.name))
    new = object.__new__(type(record))
    for f in fields(record):
        object.__setattr__(new, f.name, changes.get(f.name, getattr(record, f.name)))
    return new


def check_positive(value, what):
    """A declared number > 0; symbols pass (their sign is the claim's hypothesis), but not the constant 0."""
    if isinstance(value, Symbolic):
        if value == 0:
            refuse(what, value, "must not vanish identically", "Give a symbol, or a number > 0.")
        return
    if fraction(value) <= 0:
        refuse(what, value, "must be positive", "Give a number > 0.")
    declare(value, what)  # not too long


def advance(algorithm, problem, state, draw):
    """One round as the law means it: rounds that do not happen (empty and skipped) keep the state."""
    new = algorithm.round(problem, state, draw)
    happens = None if draw.extra is None else draw.extra.get("happens")
    if happens is None:
        return new
    return type(state)(*(old + _over(happens, now) * (now - old) for old, now in zip(state, new, strict=True)))


def _over(flag, leaf):
    """A flag with the leading axes of a leaf (lead..., *shape), padded to the leaf's rank."""
    return flag[(...,) + (None,) * (leaf.ndim - flag.ndim)] if hasattr(flag, "ndim") else flag


__all__ = ["Algorithm", "advance", "check_positive"]
