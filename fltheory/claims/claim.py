"""The forms of a claim, a hypothesis, an instance and a finding."""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fltheory.claims.evidence import at_status, show
from fltheory.errors import refuse
from fltheory.scalars import RATIONAL, Domain, declare, fraction

DEVICE = "cpu"  # where the run legs of claims execute; set once per process by `verify`


class Instance:
    """One set of hyper-parameters on which a claim is checked; owns problem, algorithm and law.

    Everything derived is lazy: `op` (operator in `domain`), `run` (batched run), `constants`. Claims take the
    algorithm from here and never construct one, so that mutants can be swapped in. Further keywords become
    attributes (step counts, horizons, symbols).
    """

    def __init__(self, name, problem=None, algorithm=None, law=None, noise=0, domain: Domain = RATIONAL, says="",
                 x0=None, simulate=None, **extra):
        self.name, self.problem, self.algorithm, self.law = name, problem, algorithm, law
        self.noise, self.domain, self.says, self.x0, self.simulate = noise, domain, says, x0, simulate
        self.extra = extra

    def __getattr__(self, name):
        if name.startswith("__") or name == "extra" or name not in self.extra:
            raise AttributeError(
                f"instance {self.__dict__.get('name')!r} has no {name!r}; it has {sorted(self.__dict__.get('extra', {}))}"
            )
        return self.extra[name]

    def but(self, **changes) -> Instance:
        """The same instance with some fields or extras replaced."""
        own = {k: changes.pop(k, getattr(self, k)) for k in
               ("name", "problem", "algorithm", "law", "noise", "domain", "says", "x0", "simulate")}
        return type(self)(**own, **(self.extra | changes))

    @functools.cached_property
    def op(self):
        from fltheory.operators.operator import derive
        return derive(self.algorithm, self.problem, self.law, noise=self.noise, domain=self.domain)

    @functools.cached_property
    def op_anywhere(self):
        """The operator on every state, not only those reachable from the start."""
        from fltheory.operators.operator import derive
        return derive(self.algorithm, self.problem, self.law, noise=self.noise, start="any", domain=self.domain)

    @functools.cached_property
    def run(self):
        from fltheory.runs import run
        return run(self.algorithm, self.problem, self.law, noise=self.noise, x0=self.x0,
                   **({"device": DEVICE} | (self.simulate or {})))

    @property
    def constants(self):
        return self.problem.constants

    def rescaled(self, loss, length) -> Instance:
        """The same situation in other units: f(x) -> loss f(x/length), x -> length x, steps adjusted so that every
        iterate is multiplied by `length`. Truth must not depend on units."""
        from fltheory.problems.quadratic import Quadratic
        c, s = fraction(loss), fraction(length)
        p = self.problem
        problem = Quadratic.from_linear(p.H * (c / s**2), p.b * (c / s), p.weights, p.offset * c)
        algorithm = replace(self.algorithm, lr=fraction(self.algorithm.lr) * s**2 / c)
        solver = getattr(algorithm, "solver", None)
        if getattr(solver, "mu", None) is not None:
            algorithm = replace(algorithm, solver=replace(solver, mu=fraction(solver.mu) * c / s**2))
        x0 = None if self.x0 is None else declare(self.x0) * s
        units = {"eta": s**2 / c, "mu": c / s**2}
        extra = {k: fraction(self.extra[k]) * v for k, v in units.items() if k in self.extra}
        return self.but(problem=problem, algorithm=algorithm, noise=fraction(self.noise) * c / s, x0=x0, **extra)


ASSUMED = "assumed"  # a hypothesis on symbols: nothing to compute, the identity below does not need it


@dataclass(frozen=True)
class Hypothesis:
    """A named inequality left(instance) <= right(instance) (or <) between computed numbers.

    `sides` returns (left, right); (None, ...) if a number does not exist, `ASSUMED` where everything is a symbol.
    """

    name: str
    statement: str
    sides: Callable
    strict: bool = False

    def check(self, instance) -> dict:
        sides = self.sides(instance)
        if sides is ASSUMED:
            return {
                "name": self.name,
                "statement": self.statement,
                "lhs": ASSUMED,
                "rhs": "symbols",
                "holds": True,
                "margin": "",
            }
        left, right = sides
        if left is None or right is None:  # the number does not exist: no finite constant
            return {"name": self.name, "statement": self.statement, "lhs": "none" if left is None else show(left),
                    "rhs": "none" if right is None else show(right), "holds": False, "margin": ""}
        holds, margin = at_status(left, right, self.strict)
        return {"name": self.name, "statement": self.statement, "lhs": show(left), "rhs": show(right), "holds": holds,
                "margin": show(margin)}


@dataclass
class Claim:
    """A statement with what it needs, where it is checked, and which wrong implementations it must reject.

    The docstring of `body` is the statement (Markdown with LaTeX). `on`: instances; `needs`: hypotheses; `rejects`:
    functions algorithm -> algorithm (catalogued bugs); `search`: a `Search`; `domain`: what exactly a PROVED or
    CERTIFIED verdict covers; `finding`: id of the finding that explains a FALSE; `instead`: the corrected statement;
    `reading`, `survives`: how we could be wrong; `powerless`: reason why no mutant applies; `vacuous`: a check that
    the hypotheses cannot be met or imply the statement without any algorithm; `bound`: the dimensional test applies;
    `proved`: the symbolic instances prove the statement and the exact ones only illustrate it.
    """

    id: str
    body: Callable
    on: tuple
    needs: tuple = ()
    rejects: tuple = ()
    search: object = None
    expect: str | None = None
    domain: str = ""
    instead: str | None = None
    finding: str | None = None
    reading: str = ""
    survives: str = ""
    powerless: str = ""
    vacuous: Callable | None = None
    bound: bool = False
    proved: bool = False
    place: str = ""
    kind: str = ""
    paper: str = ""
    folder: Path | None = None
    says: str = ""

    @property
    def module(self) -> str:
        """The module that declares the claim."""
        return self.body.__module__

    @property
    def statement(self) -> str:
        return inspect.cleandoc(self.body.__doc__ or "")

    def __call__(self, instance):
        result = self.body(instance)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def check(self, **options):
        """Check the claim on its instances, its mutants and its search; returns a `ClaimVerdict`."""
        from fltheory.claims.check import check
        return check(self, **options)

    def assert_holds(self):
        """For pytest: fail with a table unless the claim has its expected word."""
        __tracebackhide__ = True
        verdict = self.check()
        if not verdict.as_expected:
            from fltheory.report.terminal import claim_line
            raise AssertionError("\n".join([claim_line(verdict.record()), *verdict.failures()]))


@dataclass(frozen=True)
class Finding:
    """What was discovered about a printed statement; confirmed by the procedure of its kind.

    kinds: counterexample, wrong-formula, missing-hypothesis, asymptotic, gap, remark, misprint, empirical.
    at: names of the instances of the broken claim that carry it. check: function returning comparisons, for the kinds
    that need a proof of their own (asymptotic, remark, gap). script: witness file relative to the paper's folder.
    """

    id: str
    kind: str
    breaks: str | None = None
    at: tuple = ()
    step: str = ""
    says: str = ""
    corrected: str | None = None
    script: str | None = None
    check: Callable | None = None
    reading: str = ""
    survives: str = ""
    place: str = ""
    paper: str = ""
    expect: str = "CONFIRMED"
    folder: Path | None = None
    module: str = ""

    def __post_init__(self):
        kinds = (
            "counterexample",
            "wrong-formula",
            "missing-hypothesis",
            "asymptotic",
            "gap",
            "remark",
            "misprint",
            "empirical",
        )
        if self.kind not in kinds:
            refuse("kind", self.kind, f"is one of {kinds}", "Say how the finding is decided.")


REGISTRY: list = []


def claim(id, on=(), **options):
    """Decorator: declare a claim. See `Claim` for the options; place, kind and expected word come from the ledger."""
    def wrap(body):
        made = Claim(
            id, body, tuple(on), **{k: tuple(v) if k in ("needs", "rejects") else v for k, v in options.items()}
        )
        REGISTRY.append(made)
        return made
    return wrap


def finding(id, **options) -> Finding:
    """Declare a finding; a record without logic."""
    made = Finding(id, module=sys._getframe(1).f_globals["__name__"], **options)
    REGISTRY.append(made)
    return made
