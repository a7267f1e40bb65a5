"""One set of hyper-parameters on which a claim is checked."""
from __future__ import annotations

import copy
import functools
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fltheory.analysis.traffic import least_traffic
from fltheory.core.errors import listed, refuse
from fltheory.core.kinds import Algorithm, Array, Law, Operator, Problem
from fltheory.core.numbers.scalars import RATIONAL, Domain, Field, declare, fraction
from fltheory.core.problems.base import Constants
from fltheory.core.problems.quadratic import Quadratic
from fltheory.derivation import derive
from fltheory.large.exchangeable import Exchangeable, exchangeable
from fltheory.large.structured import Structured
from fltheory.runs.trace import Trace
from fltheory.schedules.worst import WorstSchedule, worst_schedule
from fltheory.verdicts.claims.stated_numbers import Stated

DEVICE = "cpu"  # where the run legs of claims execute; set once per process by `verify`


STATED = ("n", "d", "p", "L", "mu", "eta", "tau", "taus", "sigma")  # nobody has to repeat them


class Instance:
    """One set of hyper-parameters on which a claim is checked; owns problem, algorithm and law.

    Everything derived is lazy: `op` (operator in `domain`), `exchangeable` (moments of equal clients, however many), `run` (batched
    run), `least_traffic` (vectors sent), `worst_schedule` (all schedules of its `windows`), `constants`. Claims take the
    algorithm from here and never construct one, so that mutants can be swapped in, and the paper's side reads its numbers from
    `i.stated`, which mutants leave alone (`i.eta`, `i.taus`, `i.p` and so on for short). illustrates: it shows in numbers what
    other instances of a claim prove in symbols, and a proof does not rest on it (`illustrate` says so of several). Further
    keywords become attributes (step counts, horizons, symbols).
    """

    problem: Any  # None, as the algorithm and the law, where a claim needs none
    algorithm: Any
    law: Any

    def __init__(self, name: str, problem: Problem | None = None, algorithm: Algorithm | None = None, law: Law | None = None,
                 noise: Array = 0, domain: Domain = RATIONAL, says: str = "", x0: Array = None, simulate: dict | None = None,
                 illustrates: bool = False, stated: Stated | None = None, **extra: Any):
        self.name, self.problem, self.algorithm, self.law = name, problem, algorithm, law
        self.noise, self.domain, self.says, self.x0, self.simulate = noise, domain, says, x0, simulate
        self.illustrates, self.extra = illustrates, extra
        self.stated = stated or Stated(problem, algorithm, law, noise)

    def __getattr__(self, name):
        if not name.startswith("__") and name != "extra" and name in self.extra:
            return self.extra[name]
        if name not in STATED or "stated" not in self.__dict__:
            raise AttributeError(
                f"instance {self.__dict__.get('name')!r} has no {name!r}; it has {sorted(self.__dict__.get('extra', {}))}"
            )
        return getattr(self.stated, name)

    def but(self, **changes: Any) -> Instance:
        """The same instance with some fields or extras replaced, and what it states with them."""
        new = {k: changes[k] for k in ("problem", "algorithm", "law", "noise") if k in changes}
        stated = changes.pop("stated", None) or replace(self.stated, **new)
        values = {k: changes.pop(k, getattr(self, k)) for k in
                  ("name", "problem", "algorithm", "law", "noise", "domain", "says", "x0", "simulate", "illustrates")}
        return type(self)(**values, stated=stated, **(self.extra | changes))

    def afresh(self) -> Instance:
        """The same instance without anything that it, its problem, its algorithm or its law have computed so far."""
        parts = {k: _afresh(getattr(self, k)) for k in ("problem", "algorithm", "law")}
        return self.but(**parts, **{k: _afresh(v) for k, v in self.extra.items()})

    @functools.cached_property
    def op(self) -> Operator | Structured:
        return derive(self.algorithm, self.problem, self.law, noise=self.noise, domain=self.domain)

    @functools.cached_property
    def op_anywhere(self) -> Operator | Structured:
        """The operator on every state, not only those reachable from the start."""
        return derive(self.algorithm, self.problem, self.law, noise=self.noise, start="any", domain=self.domain)

    @functools.cached_property
    def exchangeable(self) -> Exchangeable:
        """The moments of equal clients under a law that treats them alike, for any number of them: `ft.exchangeable`."""
        return exchangeable(self.algorithm, self.problem, self.law, self.noise)

    @functools.cached_property
    def least_traffic(self) -> tuple[int, int]:
        """(up, down): vectors per participant and round that the coded round cannot do without."""
        return least_traffic(self.algorithm, self.problem)

    @functools.cached_property
    def worst_schedule(self) -> WorstSchedule:
        """The worst contraction over every schedule of the instance's `windows`; where it has a `target`, only whether that
        rate can be certified."""
        return worst_schedule(self.algorithm, self.problem, self.windows, rate=self.extra.get("target"))

    @functools.cached_property
    def run(self) -> Trace:
        from fltheory.runs import run
        return run(self.algorithm, self.problem, self.law, noise=self.noise, x0=self.x0,
                   **({"device": DEVICE} | (self.simulate or {})))

    @property
    def constants(self) -> Constants:
        return self.problem.constants

    def rescaled(self, loss: Array, length: Array) -> Instance:
        """The same situation in other units: f(x) -> loss f(x/length), x -> length x, steps adjusted so that every
        iterate is multiplied by `length`. Truth must not depend on units."""
        c, s = fraction(loss), fraction(length)
        p = self.problem
        problem = Quadratic.from_linear(p.H * (c / s**2), p.b * (c / s), p.weights, p.offset * c)
        algorithm = _in_units(self.algorithm, {"StepSize": s**2 / c, "Curvature": c / s**2, "Length": s})
        x0 = None if self.x0 is None else declare(self.x0) * s
        units = {"eta": s**2 / c, "mu": c / s**2}
        extra = {k: fraction(self.extra[k]) * v for k, v in units.items() if k in self.extra}
        return self.but(problem=problem, algorithm=algorithm, noise=fraction(self.noise) * c / s, x0=x0, **extra)


def illustrate(instances: list[Instance], symbols: bool = False) -> list[Instance]:
    """Say of instances in numbers (symbols=True: of all of them) that they only illustrate what others prove; returns the list.

    Raises BadInput if it holds anything but instances.
    """
    if symbols is not True and symbols is not False:
        refuse("symbols", symbols, "is True or False", "Say whether instances in symbols are meant too.")
    for i in instances_of(instances):
        i.illustrates = i.illustrates or symbols or not isinstance(i.domain, Field)
    return instances


def _in_units(record, factors):
    """The record with every number multiplied by the factor of its annotation."""
    changes = {}
    for f in fields(record):
        value = getattr(record, f.name)
        if is_dataclass(value):
            changes[f.name] = _in_units(value, factors)
        elif f.type in factors and value is not None:
            each = isinstance(value, tuple)
            changes[f.name] = tuple(fraction(v) * factors[f.type] for v in value) if each else fraction(value) * factors[f.type]
    return replace(record, **changes)


def _afresh(value):
    """A copy of a record (or of those in a list) without its remembered values; anything else as it is."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_afresh(v) for v in value)
    if isinstance(value, (type, Domain)) or not type(value).__module__.startswith("fltheory.") or not hasattr(value, "__dict__"):
        return value
    new = copy.copy(value)
    for name in [k for k in vars(new) if k in ("_converted", "_known") or k.startswith("_cached_")
                 or isinstance(getattr(type(new), k, None), functools.cached_property)]:
        del vars(new)[name]
    vars(new).update({k: _afresh(v) for k, v in vars(new).items() if isinstance(v, (tuple, list)) or hasattr(v, "__dict__")})
    return new


def instances_of(on) -> tuple:
    """The instances of a list. Raises BadInput if it is none, or holds anything else."""
    rule = "is a list of instances", "Write on=[ft.Instance(name, problem, algorithm, law)]."
    if isinstance(on, Instance) or not hasattr(on, "__iter__"):
        refuse("on", on, *rule)
    instances = tuple(listed(on, "on", *rule))
    for i in instances:
        if not isinstance(i, Instance):
            refuse("on", i, f"holds a {type(i).__name__} that is no instance",
                   "Write on=[ft.Instance(name, problem, algorithm, law)].")
    return instances
