"""The forms of a claim, a hypothesis and a finding, and how they are declared.

A claim is a record; what decides it (`deciding.check`), attacks it (`search.look`) and shows it (`report`) are functions for
which its methods are doors.
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fltheory.analysis.algebra import remainders
from fltheory.core.errors import listed, refuse, shown
from fltheory.core.evidence import Comparison, number, show
from fltheory.core.records import is_one_of
from fltheory.core.relations import at_status
from fltheory.core.tables import plain
from fltheory.verdicts.claims.instance import Instance, instances_of
from fltheory.verdicts.claims.variables import check_ends
from fltheory.verdicts.deciding.check import ClaimVerdict, check
from fltheory.verdicts.deciding.proved_domain import check_covers
from fltheory.verdicts.records import Condition
from fltheory.verdicts.report.terminal import claim_line
from fltheory.verdicts.search.search import SearchResult, look
from fltheory.verdicts.verdict_text import claim_html

KINDS = ("counterexample", "wrong-formula", "missing-hypothesis", "asymptotic", "gap", "remark", "misprint", "empirical")
ASSUMED = "assumed"  # a hypothesis on symbols: nothing to compute, the identity below does not need it


@dataclass(frozen=True)
class Hypothesis:
    """A named inequality left(instance) <= right(instance) (or <) between computed numbers.

    `sides` returns (left, right); (None, ...) if a number does not exist, `ASSUMED` where everything is a symbol. cap: the power
    to which left/right is the share of the largest step that an instance takes (1, or 2 where both sides are squared); 0: no cap.
    """

    name: str
    statement: str
    sides: Callable
    strict: bool = False
    cap: int = 0

    def check(self, instance: Instance) -> Condition:
        sides, share = self.sides(instance), None
        if sides is ASSUMED:
            lhs, rhs, holds, margin = ASSUMED, "symbols", True, ""
        else:
            left, right = sides
            lhs, rhs = ("none" if v is None else show(v) for v in (left, right))
            if left is None or right is None:  # the number does not exist: no finite constant
                holds, margin = False, ""
            else:
                holds, margin = at_status(left, right, self.strict)
                margin = show(margin)
                share = _share(number(left), number(right), self.cap)
        return Condition(self.name, self.statement, lhs, rhs, holds, margin, share)


def _share(left, right, power):
    """The share of a cap that is used, None without one."""
    return (left / right) ** (1 / power) if power and left is not None and right and left / right >= 0 else None


@dataclass
class Claim:
    """A statement with what it needs, where it is checked, and which wrong implementations it must reject.

    The docstring of `body` is the statement (Markdown with LaTeX). `on`: instances; `needs`: hypotheses; `rejects`:
    functions algorithm -> algorithm (catalogued bugs); `search_plan`: a `Search`, the keyword `search=` of the
    decorator; `domain`: what exactly a PROVED or CERTIFIED verdict covers, and why; `covers`: {"n", "d", "tau", ..: "all"} as far
    as the argument is general, else what the symbolic instances have (see `proved_domain`); `finding`: id of the finding that
    explains a FALSE; `instead`: the corrected statement; `reading`, `survives`: how we could be wrong; `powerless`: reason why
    no mutant applies; `ends`: {variable: (low, high)}, between which the variables of its constants are tested
    (see `variables`); `vacuous`: a check that the hypotheses cannot be met or imply the statement without any
    algorithm; `bound`: the dimensional test applies. at, step, script: where they are given, `finding` says no more than that this
    claim is FALSE; it stands in no other file and is made from them (see `Finding`), with `reading` and `survives` of the claim.
    over: settings, as instances with an algorithm and `classes`, for each of which `certify` (a function of one, with comparisons
    made by `certified_over`) proves the statement for all functions of the classes; the word is then CERTIFIED for these settings.
    proof: a function that returns the concluded `Proof` of the statement, or several; the word is then PROVED if every step is
    checked or cited.
    meaning: function of an instance, yields (numbers, points) as for `Proof.tested`, read off its coded rounds.
    """

    id: str
    body: Callable
    on: tuple
    needs: tuple = ()
    rejects: tuple = ()
    search_plan: object = None
    expect: str | None = None
    domain: str = ""
    covers: dict = field(default_factory=dict)
    instead: str | None = None
    finding: str | None = None
    reading: str = ""
    survives: str = ""
    powerless: str = ""
    ends: dict = field(default_factory=dict)
    vacuous: Callable | None = None
    bound: bool = False
    at: tuple = ()
    step: str = ""
    script: str | None = None
    over: tuple = ()
    certify: Callable | None = None
    proof: Callable | None = None
    meaning: Callable | None = None
    place: str = ""
    kind: str = ""
    paper: str = ""
    folder: Path | None = None
    says: str = ""
    # Filled in by its folder's loader: ids of the findings that explain why it is false; names of instances that take long.
    findings: frozenset = frozenset()
    slow: frozenset = frozenset()

    @property
    def module(self) -> str:
        """The module that declares the claim."""
        return self.body.__module__

    @property
    def statement(self) -> str:
        return inspect.cleandoc(self.body.__doc__ or "")

    def own_finding(self, kind: str) -> Finding:
        """The finding that the fields at, step and script amount to. kind: as for `Finding`; the ledger says it."""
        return Finding(self.finding or "", kind, self.id, self.at, self.step, script=self.script, reading=self.reading,
                       survives=self.survives, module=self.module)

    def __call__(self, instance: Instance) -> list[Comparison]:
        """The comparisons of the body on one instance. Raises BadInput if it returned anything else."""
        with remainders():
            result = self.body(instance)
        comparisons = list(result) if isinstance(result, (tuple, list)) else [result]
        for c in comparisons:
            if not isinstance(c, Comparison):
                code = getattr(self.body, "__code__", None)
                where = "" if code is None else f" (declared at line {code.co_firstlineno})"
                refuse("result", c, f"the body of claim {self.id!r}{where} returned no comparison",
                       "Return ft.equal(left, right), ft.at_most(left, right) or a list of such.")
        return comparisons

    def check(self, on: Iterable[Instance] | None = None, **options: Any) -> ClaimVerdict:
        """Check the claim on its instances, its mutants and its search; returns a `ClaimVerdict`.

        on: other instances to check it on instead, then without a search. Further options as for `check`:
        mutant (instance -> instance), search (bool), quick (bool). Raises BadInput if `on` holds no instances.
        """
        claim = self if on is None else replace(self, on=instances_of(on), search_plan=None, ends={})
        return check(claim, **options)

    def search(self, seconds: float | None = 60, tries: int | None = None, families: Any = None) -> SearchResult:
        """Look for a counter-example inside the hypotheses and shrink it to small rationals; returns a `SearchResult`.

        seconds: deadline > 0, kept between tries and while shrinking, or None; tries: largest number per family, or
        None (not both). families: `Family` objects; default the declared ones, else, for every algorithm and solver of the
        claim's instances, quadratics drawn around the first quadratic instance with it and, if the claim runs on them (no
        operator, no closed form), Huber losses in the same settings. Draws on which the claim fails to run are counted
        (`error`). The same number of tries gives the same result as long as no deadline cuts it.
        Raises BadInput on bad budgets or where no default family exists, MissingLibrary without hypothesis.
        """
        return look(self, seconds, tries, families)

    def assert_holds(self) -> None:
        """For pytest and notebooks: fail with a table unless the claim has its expected word, or, where no word is
        declared, unless it is PROVED, CERTIFIED or SUPPORTED."""
        __tracebackhide__ = True
        verdict = self.check()
        if not (verdict.as_expected if self.expect else verdict.holds):
            raise AssertionError("\n".join([claim_line(verdict.describe()), *map(plain, verdict.failures())]))

    def _repr_html_(self):
        return claim_html(self)


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
        if not isinstance(self.id, str) or not self.id.strip():
            refuse("id", self.id, "a finding is named by a string", 'For example "eq7-missing-factor".')
        if not isinstance(self.at, (tuple, list)) or not all(isinstance(name, str) for name in self.at):
            refuse("at", self.at, "is a tuple of names of instances", 'For example at=("two clients",).')
        if not is_one_of(self.kind, KINDS):
            refuse("kind", self.kind, f"is one of {KINDS}", "Say how the finding is decided.")


REGISTRY: list = []


def _register(declaration):
    """Remember a declaration. A cell that is run again replaces its own; files never may, their loader refuses it."""
    if getattr(sys.modules.get(declaration.module), "__file__", None) is None or declaration.module == "__main__":
        REGISTRY[:] = [m for m in REGISTRY if (m.module, m.id, type(m)) != (declaration.module, declaration.id, type(declaration))]
    REGISTRY.append(declaration)
    return declaration


def _listed(id, what, values, good, rule, remedy):
    single = callable(values) or not hasattr(values, "__iter__")
    values = (values,) if single else tuple(listed(values, f"{what} of claim {id!r}", rule, remedy))
    for v in values:
        if not good(v):
            refuse(f"{what} of claim {id!r}", v, rule, remedy)
    return values


def claim(id: str, on: Iterable[Instance] = (), **options: Any) -> Callable[[Callable], Claim]:
    """Decorator: declare a claim. See `Claim` for the options; place, kind and expected word come from the ledger.

    Works in a paper folder, a script and a notebook cell. id: a non-empty string; on: instances; search: a `Search`
    (`Claim.search` is the method that looks for counter-examples). Raises BadInput on anything else.
    """
    if not isinstance(id, str) or not id.strip():
        refuse("id", id, "a claim is named by a string", 'Write @ft.claim("my-theorem", on=[...]) above the function.')
    on = instances_of(on)
    _read_options(id, options)

    def wrap(body):
        if not callable(body) or isinstance(body, (type, Claim)):
            refuse(f"body of claim {id!r}", body, "is no function", "Decorate a function of one instance.")
        strange = next((c for line in (body.__doc__ or "").split("\n") for c in line.lstrip("\t ") if ord(c) < 32), None)
        if strange is not None:   # "\alpha" without r is BEL, lpha
            refuse(f"statement of claim {id!r}", strange, "is a control character", 'Write r"""...""" for LaTeX.')
        return _register(Claim(id, body, on, **options))
    return wrap


def _read_options(id, options):
    """Check the options of a claim, and turn them into fields of `Claim`."""
    if "search" in options:
        options["search_plan"] = options.pop("search")
    known = {f.name for f in fields(Claim)} - {"id", "body", "on"}
    unknown = sorted(set(options) - known)
    if unknown:
        refuse(f"options of claim {id!r}", unknown, f"are none of {sorted(known - {'search_plan'} | {'search'})}",
               "Numbers of an instance are keywords of ft.Instance.")
    for what, good, rule, remedy in (
        ("needs", lambda h: isinstance(h, Hypothesis), "is no hypothesis", "Give ft.Hypothesis(name, text, sides)."),
        ("rejects", callable, "is no function", "Give functions algorithm -> wrong algorithm."),
    ):
        if what in options:
            options[what] = _listed(id, what, options[what], good, rule, remedy)
    check_covers(options.get("covers", {}), id)
    check_ends(options.get("ends", {}), id)
    options["over"] = instances_of(options.get("over", ()))
    _check_together(id, options)
    plan = options.get("search_plan")
    if plan is not None and not hasattr(plan, "run"):
        refuse(f"search of claim {id!r}", plan, "is no search", "Give ft.Search((ft.Family(name, build),), tries=200).")


def _check_together(id, options):
    """Refuse options that lack what they rest on, and functions that are none."""
    if bool(options["over"]) != callable(options.get("certify")):
        refuse(f"options of claim {id!r}", sorted(options), "over and certify come together",
               "Write over=[settings], certify=a function of one that returns ft.certified_over(...).")
    for what in ("proof", "meaning"):
        if not (options.get(what) is None or callable(options[what])):
            refuse(f"{what} of claim {id!r}", options[what], "is no function", "proof=function that returns an ft.Proof.")
    stray = [k for k in ("at", "step", "script") if options.get(k)]
    if stray and not isinstance(options.get("finding"), str):
        refuse(f"options of claim {id!r}", stray, "say why a claim is FALSE, but no finding is named",
               'Write finding="e1", with the id that the ledger lists.')


def finding(id: str, **options: Any) -> Finding:
    """Declare a finding; a record without logic. Options: the fields of `Finding`, of which `kind` is required."""
    known = {f.name for f in fields(Finding)} - {"id", "module"}
    unknown = sorted(set(options) - known)
    if unknown:
        refuse(f"options of finding {shown(id)}", unknown, f"are none of {sorted(known)}", "Correct the name.")
    if "kind" not in options:
        refuse(f"options of finding {shown(id)}", sorted(options), "the kind is missing", 'For example kind="misprint".')
    return _register(Finding(id, module=sys._getframe(1).f_globals["__name__"], **options))
