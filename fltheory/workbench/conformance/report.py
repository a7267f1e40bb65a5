"""`conforms`: every rule tried on one algorithm, with what was found, where, and how to repair it."""
from __future__ import annotations

import html
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fltheory
from fltheory.core.errors import MissingLibrary
from fltheory.core.kinds import Algorithm
from fltheory.core.tables import html_row
from fltheory.workbench.conformance.cases import Case, NotChecked, Violation
from fltheory.workbench.conformance.rules import RULES

PASSED, FAILED, NOT_CHECKED, NOT_APPLICABLE = "passed", "failed", "not checked", "does not apply"
WIDTH = 110
ENGINE = Path(fltheory.__file__).parent


@dataclass(frozen=True)
class RuleResult:
    """One rule on one algorithm. status: passed, failed, not checked, does not apply; found: what was seen or why it
    was not looked at; where: cohort, field or line; says, repair: the rule in a sentence, and how to obey it."""

    name: str
    title: str
    status: str
    says: str
    found: str = ""
    where: str = ""
    repair: str = ""


@dataclass(frozen=True, repr=False)
class Conformance:
    """The rules of a round, tried on one algorithm. Prints as a list, shows as a table in a notebook.

    ok: every rule that applies was looked at and passed; a rule that could not be looked at is no pass.
    """

    algorithm: object
    rules: tuple

    def __getitem__(self, name) -> RuleResult:
        """One rule by its name, for example report["reads_well"]."""
        return {r.name: r for r in self.rules}[name]

    def having(self, status) -> tuple:
        """The rules of one status: "passed", "failed", "not checked" or "does not apply"."""
        return tuple(r for r in self.rules if r.status == status)

    @property
    def failed(self) -> tuple:
        return self.having(FAILED)

    @property
    def ok(self) -> bool:
        return all(r.status in (PASSED, NOT_APPLICABLE) for r in self.rules)

    def __bool__(self):
        return self.ok

    def headline(self) -> str:
        counts = [f"{len(self.having(s))} {s}" for s in (PASSED, FAILED, NOT_CHECKED) if self.having(s)]
        idle = len(self.having(NOT_APPLICABLE))
        counts += [f"{idle} {'does' if idle == 1 else 'do'} not apply"] if idle else []
        return f"{type(self.algorithm).__name__}: {', '.join(counts)} of {len(self.rules)} rules of a round"

    def __str__(self):
        lines, told = [self.headline()], set()
        for r in self.rules:
            lines.append(f"  {r.status:<14}  {r.title}" + (f": {r.found}" if r.status in (
                NOT_APPLICABLE, NOT_CHECKED) else ""))
            if r.status == FAILED:
                parts = [("rule", r.says), ("found", r.found), ("where", r.where), ("repair", r.repair)]
                if (r.found, r.where, r.repair) in told:
                    parts = [("rule", r.says), ("found", "as above")]
                told.add((r.found, r.where, r.repair))
                for label, text in parts:
                    if text:
                        lines += textwrap.wrap(text, WIDTH, initial_indent=f"      {label:<7} ",
                                               subsequent_indent=" " * 14)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        rows = [html_row(("", "rule", "says", "found"), "th")]
        for r in self.rules:
            text = [r.found, r.where and f"({r.where})", r.repair if r.status == FAILED else ""]
            cells = (r.status, r.title, r.says, " ".join(t for t in text if t))
            colour = {FAILED: "#f9d7c4", NOT_CHECKED: "#fdf3d0"}.get(r.status)
            style = f' style="background:{colour}"' if colour else ""
            rows.append(html_row(cells, row=style))
        return f"<p>{html.escape(self.headline())}</p><table>{''.join(rows)}</table>"


def conforms(algorithm: Algorithm) -> Conformance:
    """Try the twelve rules of a round on an algorithm with its own hyper-parameters.

    algorithm: an instance of a class derived from `Algorithm`, wherever it is defined (a file, a notebook cell, a
    prompt). Rules that need the text of the round say "not checked" where Python does not know it. For classes with
    `affine = False` the rules that still apply are tried, in floats to 1e-12, and the others are listed.
    Arrays over clients among the hyper-parameters decide the number of clients (2 to 12), otherwise there are three.
    Returns a report whose `ok` is True if every rule that applies passed. Raises BadInput for a class, for anything
    that is no algorithm, and for hyper-parameters with symbols.
    """
    case = Case.of(algorithm)
    return Conformance(algorithm, tuple(examine(rule, case) for rule in RULES))


def assert_conforms(algorithm: Algorithm) -> Conformance:
    """The algorithm obeys every rule of a round that applies to it; see `conforms`. Returns the report.

    A rule that could not be checked fails too. Raises AssertionError with the list of rules, where each was broken and
    how to repair it; BadInput for anything but an instance of an algorithm.

    >>> import fltheory as ft
    >>> ft.assert_conforms(ft.Scaffold("1/10")).ok
    True
    >>> class Halved(ft.FedAvg):
    ...     def model(self, state):
    ...         return state.x * state.x
    >>> ft.assert_conforms(Halved("1/10"))
    Traceback (most recent call last):
        ...
    AssertionError: assert_conforms: Halved: 10 passed, 1 failed, 1 does not apply of 12 rules of a round
      failed          affine in the state
          rule    On quadratic losses the new state is an affine map of the old one, and so are `init` and
                  `model`.
          found   the server model is not an affine function of the state
          where   model
          repair  Multiply the state by numbers only, never by the state; if the method really is not affine,
                  declare `affine: ClassVar[bool] = False`: it keeps its runs and loses its exact operator.
      passed          stays in its arithmetic
      passed          keeps its structure
      passed          writes nothing
      passed          batches
      passed          broadcasts over cohorts
      does not apply  absent clients remember: the clients keep no memories
      passed          finished clients stand still
      passed          numbering is irrelevant
      passed          masks are cohorts
      passed          sends what it declares
      passed          reads well
    """
    __tracebackhide__ = True
    report = conforms(algorithm)
    if not report.ok:
        raise AssertionError(f"assert_conforms: {report}")
    return report


def examine(rule, case) -> RuleResult:
    """One rule on one case; whatever a round raises is a failure of the rule, with its place."""
    about = {"name": rule.__name__, "title": rule.title, "says": rule.says, "repair": rule.repair}
    try:
        with np.errstate(all="ignore"):
            idle = rule.applies(case)
            if idle:
                return RuleResult(status=NOT_APPLICABLE, found=idle, **about)
            return RuleResult(status=PASSED, found=rule(case) or "", **about)
    except (NotChecked, MissingLibrary) as reason:
        return RuleResult(status=NOT_CHECKED, found=str(reason), **about)
    except Violation as broken:
        cause = broken.__cause__
        return RuleResult(status=FAILED, found=broken.fault,
                          where=broken.where + (f"; {_place(cause)}" if cause else ""), **about)
    except Exception as error:
        about["repair"] = "Correct this error first: until then the rule cannot be judged."
        return RuleResult(status=FAILED, found=f"the round raises {type(error).__name__}: {error}",
                          where=_place(error), **about)


def _place(error) -> str:
    """The line of the algorithm that an error came through, else the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    def theirs(frame):
        path = Path(frame.filename)
        return not path.is_relative_to(ENGINE) or path.parent.name in ("algorithms", "asynchronous")
    mine = [f for f in frames if theirs(f) and "site-packages" not in f.filename] or frames
    return f"{Path(mine[-1].filename).name}, line {mine[-1].lineno}, in {mine[-1].name}" if mine else ""
