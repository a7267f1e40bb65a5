"""Counter-example search: hypothesis draws admissible instances and shrinks a violation to small rationals."""
from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fltheory.core import errors
from fltheory.core.errors import FLTheoryError, listed, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.core.numbers.scalars import need
from fltheory.verdicts import verdict_text
from fltheory.verdicts.deciding.check import check_instance
from fltheory.verdicts.deciding.evidence import ERROR, SKIPPED, InstanceVerdict
from fltheory.verdicts.deciding.word import accuses
from fltheory.verdicts.records import Searched
from fltheory.verdicts.search.drawing import BENT, around, bent, kept, models, plainest, unsearched
from fltheory.verdicts.search.rebuild import cell, text

_LOG = logging.getLogger(__name__)
LARGEST = 1_000_000  # tries per family where only a deadline is given
AT_AN_END = 2        # draws of what a corner leaves free: the simplest, and one at random


@dataclass(frozen=True)
class Family:
    """A named family of instances: `build` takes hypothesis' `draw` and returns an Instance (or None to discard).

    corners: dictionaries of keywords of `build` at which instances are drawn first, so that the ends of the claim's variables
    are visited for certain (`corners` lists all of several ends); most: draws of the family at most, None for the search's.
    """

    name: str
    build: Callable
    corners: tuple = ()
    most: int | None = None

    def parts(self) -> list[Family]:
        """A family of each corner, then the random one."""
        at = f"{self.name} at its ends"
        return [*(Family(at, functools.partial(self.build, **c), most=AT_AN_END) for c in self.corners), replace(self, corners=())]


def corners(**ends: Any) -> tuple:
    """Every combination of ends, as keywords: corners(n=(1, 64), steps=(1, 100)) are four. Raises BadInput on an end that is no
    list of values."""
    for name, values in ends.items():
        listed(values, name, "the values of a variable at its ends are listed", "For example corners(n=(1, 64)).")
    return tuple(dict(zip(ends, values, strict=True)) for values in itertools.product(*ends.values()))


@dataclass(frozen=True)
class Search:
    """A budget of tries over families; universal claims need at least one non-quadratic family where allowed."""

    families: tuple
    tries: int = 200

    def run(self, claim: Any, quick: bool = False, reach: Any = None) -> tuple[Searched, InstanceVerdict | None]:
        """Search for a violation of the claim inside its hypotheses: (what was tried, the verdict that refutes it or None).

        quick: a tenth of the tries, at least 5, and not the ends of the variables; reach: a `Reach` that learns what was
        decided.
        """
        began, tried, refuting, refutation = time.perf_counter(), SearchResult(claim), None, None
        tries = max(5, self.tries // 10) if quick else self.tries
        for family in (part for f in self.families for part in ([replace(f, corners=())] if quick else f.parts())):
            explored = explore(claim, family, tries, reach=reach)
            tried.add(family, explored)
            refuting = explored.verdict
            if refuting is not None:
                refuting.instance = f"found by search ({family.name})"
                refutation = {"family": family.name, "says": refuting.says,
                              "comparisons": [c.record() for c in refuting.comparisons]}
                break
        seconds = round(time.perf_counter() - began, 3)
        return Searched(tried.tries, tried.in_scope, tried.families, tried.best, refutation, seconds), refuting


@contextlib.contextmanager
def no_harvest():
    """The library draws, one time in twenty, a literal of some loaded local module: what a search sees would depend on
    what else its process has imported. It has no setting against that, so for a while it finds no such literals."""
    from hypothesis.internal.conjecture import providers
    kind = providers.HypothesisProvider
    harvest = vars(kind).get("_local_constants")
    if harvest is None:  # a version that reads no modules
        yield
        return
    kind._local_constants = providers.Constants()
    providers.CONSTANTS_CACHE.cache.clear()  # it remembers literals of modules, and would remember that there are none
    try:
        yield
    finally:
        kind._local_constants = harvest
        providers.CONSTANTS_CACHE.cache.clear()


class _Deadline(BaseException):
    """Leaves hypothesis between two tries; it would take an Exception for one more failure to shrink."""


class SearchCrash(AssertionError):
    """The claim itself failed on a drawn instance; carries what was explored until then."""

    def __init__(self, says, explored):
        super().__init__(says)
        self.explored = explored


@dataclass
class Explored:
    """What the draws of one family showed, decided one by one: counts, the largest lhs/rhs of a bound, and the smallest violation
    with its instance; `last` is the violation met last."""

    claim: Any
    family: Family
    until: float | None = None
    end: float | None = None
    counting: bool = False
    reach: Any = None
    tries: int = 0
    in_scope: int = 0
    best: float = 0.0
    verdict: InstanceVerdict | None = None
    instance: Any = None
    size: tuple = (math.inf,)
    last: tuple = ()
    late: bool = False
    crash: Any = None  # an instance on which the claim failed to run: the last one, or the smallest of those counted
    crashes: Counter = field(default_factory=Counter)  # of reasons, where they are counted

    def violated(self, instance) -> bool:
        """Whether the claim is false on a draw; None is a draw that was discarded."""
        self.in_time()
        if instance is None:
            return False
        self.tries += 1
        verdict = check_instance(self.claim, instance)
        if verdict.status == ERROR:
            return self.crashed(instance, verdict)
        if verdict.status in (HOLDS, FALSIFIED):
            self.in_scope += 1
        if self.reach is not None:
            self.reach.add(instance, verdict, self.family.name)
        if verdict.looseness:
            self.best = max(self.best, 1 / verdict.looseness)
        if verdict.status != FALSIFIED:
            return False
        self.last = verdict, instance
        if self.until is not None and (size := _size(instance)) <= self.size:
            self.verdict, self.instance, self.size = verdict, instance, size
        return True

    def in_time(self):
        """Leave where the time of a search, or of shrinking what it met, is over."""
        shrinking = self.last or (self.crash and not self.counting)
        if self.until is not None and time.perf_counter() >= (self.end if shrinking else self.until):
            raise _Deadline

    def crashed(self, instance, verdict) -> bool:
        """Count the failure of a claim to run and keep the smallest instance, or end with it."""
        if not self.counting:
            self.crash = instance
            raise SearchCrash(f"search of {self.claim.id} on {instance.name}: {verdict.reason}", self)
        self.crashes[verdict.reason] += 1
        if self.crash is None or _size(instance) < _size(self.crash):
            self.crash = instance
        return False


def explore(claim, family: Family, tries, until=None, end=None, counting=False, reach=None) -> Explored:
    """At most `tries` draws of one family, stopped between two of them once `time.perf_counter()` reaches `until`.

    Shrinking a violation stops likewise at `end` (default `until`): what is kept is then the smallest seen so far.
    Raises AssertionError if the claim fails to run on a drawn instance (unless `counting`, which goes on), and whatever
    `build` raises.
    """
    hypothesis = need("hypothesis", "counter-example search")
    st = need("hypothesis.strategies", "counter-example search")
    explored = Explored(claim, family, until, until if end is None else end, counting, reach)
    _LOG.info("searching %s: up to %d tries over %s", claim.id, tries, family.name)
    phases = hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink
    most = min(tries, family.most or tries)
    settings = hypothesis.settings(max_examples=most, derandomize=True, database=None, deadline=None, phases=phases,
                                   suppress_health_check=list(hypothesis.HealthCheck), backend="hypothesis")
    try:
        with no_harvest():
            hypothesis.find(st.composite(lambda choose: family.build(choose))(), explored.violated, settings=settings)
        explored.verdict, explored.instance = explored.last  # the library replays its smallest example at the end
    except hypothesis.errors.NoSuchExample:
        pass
    except _Deadline:
        explored.late = True
        if explored.verdict is None and explored.crash is not None and not counting:
            raise SearchCrash(f"search of {claim.id}: {check_instance(claim, explored.crash).reason}", explored) from None
    return explored


def _size(instance):
    """Few clients before few dimensions before short numbers."""
    problem = instance.problem
    return getattr(problem, "n", 0), getattr(problem, "d", 0), len(text(instance))


@dataclass(repr=False)
class SearchResult:
    """What `Claim.search` found: a violation with its witness, or nothing, which proves nothing.

    found: whether an instance inside the hypotheses violates the statement; exact: whether exact numbers (or balls)
    decide that, otherwise it is only a suspicion; witness: the shrunk `Instance`; verdict: the claim there; tries and
    in_scope: draws, and those inside the hypotheses that were decided; stopped: "violation", "deadline" or "tries";
    families: {name: tries}; best: largest left/right side of a bound; error: why the search excludes nothing, or "";
    kept: extras taken over unchanged from the claim's instance (default families only); left_out: {default family on
    which the claim does not run: why}; refused: {reason: draws on which the claim itself refused its instance};
    unsearched: algorithms of the claim that no default family draws.
    """

    claim: Any
    tries: int = 0
    in_scope: int = 0
    families: dict = field(default_factory=dict)
    best: float = 0.0
    seconds: float = 0.0
    stopped: str = "tries"
    witness: Any = None
    verdict: InstanceVerdict | None = None
    error: str = ""
    kept: dict = field(default_factory=dict)
    left_out: dict = field(default_factory=dict)
    refused: Counter = field(default_factory=Counter)
    unsearched: list = field(default_factory=list)

    @property
    def found(self) -> bool:
        return self.verdict is not None

    @property
    def exact(self) -> bool:
        return self.verdict is not None and accuses(self.verdict.evidence)

    def add(self, family, explored: Explored):
        """Count what one family showed."""
        self.tries, self.in_scope = self.tries + explored.tries, self.in_scope + explored.in_scope
        self.families[family.name] = self.families.get(family.name, 0) + explored.tries
        self.best = max(self.best, explored.best)

    def code(self) -> str:
        """A notebook cell that rebuilds the witness from fractions and checks the claim on it again.

        Raises BadInput without a witness, or if something in it cannot be written as code.
        """
        if self.witness is None:
            refuse("witness", None, "nothing was found", "Search longer, or in other families.")
        return cell(self.claim, self.witness, self.verdict is not None)

    def __str__(self):
        return verdict_text.search_text(self)

    __repr__ = __str__

    def _repr_html_(self):
        return verdict_text.search_html(self)


def look(claim, seconds=60, tries=None, families=None) -> SearchResult:
    """The search behind `Claim.search`; see there."""
    _check_budget(seconds, tries)
    need("hypothesis", "counter-example search")
    declared = getattr(claim.search_plan, "families", ())
    default = families is None and not declared
    budget = LARGEST if tries is None else tries
    began = time.perf_counter()
    end = None if seconds is None else began + float(seconds)
    out = SearchResult(claim)
    if default:
        out.kept, out.unsearched = kept(claim), unsearched(claim)
    makers = _makers(out) if default else ()
    chosen = tuple(m(claim, Family) for m in makers) or _families(declared if families is None else families)
    chosen = tuple(part for f in chosen for part in f.parts())
    broken: Counter = Counter()
    for k, family in enumerate(chosen):
        now = time.perf_counter()
        until = None if end is None else now + (end - now) / (len(chosen) - k)
        explored = Explored(claim, family)
        try:
            explored = explore(claim, family, budget, until, end, counting=True)
        except FLTheoryError:
            raise
        except Exception as error:
            out.error = f"family {family.name!r}: {type(error).__name__}: {error}"
        out.add(family, explored)
        _count_crashes(out, broken, family, explored, default and family.name.startswith(BENT))
        if default and explored.verdict is not None and not explored.late:
            explored = _fewer(out, explored, makers[k], min(budget, 100), end)
        if out.error or explored.verdict is not None:
            break
    if broken and explored.verdict is None and not out.error:
        out.error = _summary(broken, f"of {out.tries} draws the claim failed to run on")
    out.stopped = "error" if out.error else "deadline" if explored.late else "violation" if explored.verdict else "tries"
    if explored.verdict is not None:
        out.witness, out.verdict = explored.instance.but(name="witness"), explored.verdict
        out.verdict.instance = "witness"
    out.seconds = time.perf_counter() - began
    return out


def _count_crashes(out, broken, family, explored, optional):
    """Each way in which the claim failed to run, with how often: what it refuses itself is no failure, and a default
    family of other losses than its own may be left out."""
    refused = Counter({why: n for why, n in explored.crashes.items() if _ours(why)})
    if optional:
        if explored.crashes:
            out.left_out[family.name] = _summary(Counter({_in_words(why): n for why, n in explored.crashes.items()}),
                                              f"of {explored.tries} draws")
        return
    out.refused.update(refused)
    broken.update(explored.crashes - refused)
    if explored.crashes - refused and out.witness is None:
        out.witness = explored.crash


def _ours(reason) -> bool:
    """Whether an error is one of the toolkit's own, which says what is wrong with the instance."""
    kind = getattr(errors, reason.split(":")[0], None)
    return isinstance(kind, type) and issubclass(kind, FLTheoryError)


def _summary(crashes, lead) -> str:
    """Each kind of error once, by the place that raised it, with an example."""
    ways: dict[tuple, list] = {}
    for reason, n in crashes.items():
        ways.setdefault((reason.split(":")[0], reason.rsplit("(", 1)[-1]), []).append((n, reason))
    return "; ".join(f"{lead} {sum(n for n, _ in way)}: {way[0][1]}" for way in ways.values())


def _makers(out) -> list:
    """The default families, for every kind of algorithm that the claim uses: quadratics, and Huber losses if the claim runs
    on them (no operator, no closed form)."""
    every, makers = models(out.claim), []
    for name, like in every.items():
        of = "" if len(every) == 1 else f" for {name}"
        makers.append(functools.partial(around, like=like, name=f"quadratics{of}"))
        why = _why_not_bent(out.claim, like)
        if why:
            out.left_out[BENT + of] = why
        else:
            makers.append(functools.partial(bent, like=like, name=BENT + of))
    return makers


def _why_not_bent(claim, like) -> str:
    """Why the claim cannot run on Huber losses, "" if it can."""
    try:
        simplest = plainest(claim, like)
    except FLTheoryError:  # what the plainest numbers make of the instance is refused; others may not be
        return ""
    verdict = None if simplest is None else check_instance(claim, simplest)
    return _in_words(verdict.reason) if verdict and verdict.status in (ERROR, SKIPPED) else ""


def _in_words(reason) -> str:
    """A claim that reads what only other problems have says no more than that."""
    missing = re.match(r"AttributeError: '(\w+)' object has no attribute '(\w+)' \((.*)\)$", reason)
    return reason if missing is None else f"it reads {missing[2]!r}, which a {missing[1]} does not have ({missing[3]})"


def _fewer(out, explored, maker, tries, end) -> Explored:
    """The violation in fewer clients or dimensions, if a short search of its own finds one; the library, which deletes
    one stretch of draws at a time, seldom gets there."""
    n, d = explored.instance.problem.n, explored.instance.problem.d
    for clients, dimensions in [(a, b) for a in range(1, n + 1) for b in range(1, d + 1) if (a, b) < (n, d) and b <= d]:
        family = maker(out.claim, Family, (clients, clients), (dimensions, dimensions))
        smaller = explore(out.claim, family, tries, end, counting=True)
        out.add(family, smaller)
        if smaller.verdict is not None:
            return smaller
        if smaller.late:
            explored.late = True
            break
    return explored


def _check_budget(seconds, tries):
    if seconds is None and tries is None:
        refuse("seconds", None, "a search ends by a deadline or by a number of tries", "Give seconds= or tries=.")
    if seconds is not None and (isinstance(seconds, (bool, str)) or not 0 < float(seconds) < math.inf):
        refuse("seconds", seconds, "a deadline is a number > 0", "For example seconds=60, or None with tries=.")
    if tries is not None and (isinstance(tries, bool) or not isinstance(tries, int) or tries < 1):
        refuse("tries", tries, "is an integer >= 1", "For example tries=200, or None with seconds=.")


def _families(families):
    chosen = (families,) if isinstance(families, Family) else families
    chosen = tuple(chosen) if hasattr(chosen, "__iter__") else (chosen,)
    for f in chosen:
        if not isinstance(f, Family):
            refuse("families", f, "is no family", "Give ft.Family(name, build), build(draw) -> ft.Instance.")
    if not chosen:
        refuse("families", chosen, "are none", "Leave families out for what is drawn around the claim's first instance.")
    return chosen
