"""A claim's word and the strength that carries it: of two tables, the first row whose condition is met says both."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, STRENGTH, weakest
from fltheory.core.numbers.scalars import Field
from fltheory.verdicts.deciding.evidence import CERTIFIED, ERROR, FALSE, OPEN, PROVED, SKIPPED, SUPPORTED, VACUOUS
from fltheory.verdicts.records import Searched

UNIVERSAL = ("bound", "rate", "inequality", "lower-bound", "qualitative")  # kinds that quantify over a whole class


def accuses(strength) -> bool:
    """Whether evidence of this strength decides: floats and statistics only raise a suspicion."""
    return STRENGTH.index(strength) >= STRENGTH.index("ball")


@dataclass(frozen=True)
class Basis:
    """What a word rests on: the verdicts of a claim's instances, what its search tried (None without one), the verdicts of its
    certified settings, and whether its pencil proof holds."""

    claim: Any
    instances: list
    search: Searched | None = None
    over: list | tuple = ()
    proof: bool = False

    @cached_property
    def statuses(self) -> set:
        return {v.status for v in self.instances}

    @cached_property
    def settings(self) -> set:
        """The statuses of the certified settings."""
        return {v.status for v in self.over}

    @cached_property
    def scope(self) -> list:
        """The verdicts of the instances that count."""
        return [v for v in self.instances if v.counts]

    @property
    def refuted(self) -> bool:
        """Whether an instance refutes the claim in exact numbers or balls."""
        return any(accuses(v.evidence) for v in self.instances if v.status == FALSIFIED)

    @property
    def vacuous(self) -> bool:
        """Whether the claim proves that no instance can be in scope."""
        checks = self.claim.vacuous()
        return all(c.status == HOLDS and accuses(c.evidence) for c in (checks if isinstance(checks, (list, tuple)) else [checks]))

    @cached_property
    def weakest(self) -> str:
        """The weakest strength of what decides: runs confirm; they never decide what is proved without them."""
        kinds = {c.evidence for v in self.scope for c in v.comparisons}
        return weakest(kinds - {"statistical"}) if kinds - {"statistical"} else "statistical"

    @property
    def symbolic(self) -> bool:
        """Whether every instance but the illustrations is decided in symbols; where all its numbers are symbols, exact facts may
        stand beside: they are steps of the proof."""
        shown = {i.name for i in self.claim.on if i.illustrates}
        free = {i.name for i in self.claim.on if isinstance(i.domain, Field)}
        kinds = {v.instance: {c.evidence for c in v.comparisons} - {"statistical"} for v in self.scope if v.instance not in shown}
        return bool(kinds) and all("symbolic" in k and (k == {"symbolic"} or name in free) for name, k in kinds.items())

    @property
    def unsearched(self) -> bool:
        """Whether the claim is about a whole class, in which no search met its hypotheses."""
        return self.claim.kind in UNIVERSAL and not (self.search and self.search.in_scope)

    @property
    def settled(self) -> bool:
        """Whether no setting was refuted or left out: a proof never hides that one was."""
        return not self.settings & {ERROR, SKIPPED, FALSIFIED}

    @cached_property
    def first(self) -> Row:
        """What the instances and the search amount to, without settings and proof."""
        return next(row for row in WORDS if row.condition(self))


class Row(NamedTuple):
    """A word, the strength that carries it, the condition under which it is given, and the reason. Functions take a `Basis`."""

    word: str
    evidence: Callable
    condition: Callable
    reason: str


def held(b) -> str:
    """The weakest of what holds."""
    return weakest([v.evidence for v in b.instances if v.status == HOLDS])


def refuting(b) -> str:
    """The strongest of what refutes."""
    return max((v.evidence for v in b.instances if v.status == FALSIFIED), key=STRENGTH.index)


WORDS = (
    Row(ERROR, held, lambda b: ERROR in b.statuses, "the check of an instance broke off"),
    Row(FALSE, refuting, lambda b: b.refuted, "an instance refutes it in exact numbers or balls"),
    Row(OPEN, held, lambda b: FALSIFIED in b.statuses, "floats or statistics raise a suspicion; only exact numbers accuse"),
    Row(VACUOUS, held, lambda b: b.claim.vacuous and not b.scope and b.vacuous, "exact numbers show that no instance meets it"),
    Row(OPEN, held, lambda b: b.claim.vacuous and not b.scope, "what shows that no instance meets it is not exact"),
    Row(SKIPPED, held, lambda b: not b.scope and SKIPPED in b.statuses, "no instance was decided, some for want of a library"),
    Row(OPEN, held, lambda b: not b.scope, "no instance meets its hypotheses"),
    Row(OPEN, held, lambda b: INCONCLUSIVE in b.statuses, "the sides of an instance could not be told apart"),
    Row(PROVED, lambda b: "symbolic", lambda b: b.claim.domain and b.weakest in ("symbolic", "exact") and b.symbolic,
        "symbols show all of its domain"),
    Row(CERTIFIED, held, lambda b: b.claim.domain and accuses(b.weakest) and b.claim.kind not in UNIVERSAL,
        "exact numbers or balls show all that it states"),
    Row(SKIPPED, held, lambda b: b.unsearched and SKIPPED in b.statuses, "instances or the search were left out"),
    Row(OPEN, held, lambda b: b.unsearched, "a whole class takes instances and a search that met the hypotheses"),
    Row(SUPPORTED, held, lambda b: True, "nothing that was tried contradicts it"),
)
SETTLED = (
    Row(PROVED, lambda b: "symbolic", lambda b: b.proof and b.settled and b.first.word in (SUPPORTED, CERTIFIED),
        "a pencil proof holds"),
    Row("", held, lambda b: not b.over or b.first.word not in (SUPPORTED, SKIPPED, CERTIFIED, PROVED),
        "settings change nothing: the word of the first table stays"),
    Row(ERROR, held, lambda b: ERROR in b.settings, "the check of a setting broke off"),
    Row(SKIPPED, held, lambda b: SKIPPED in b.settings or b.first.word == SKIPPED, "a library is missing"),
    Row(CERTIFIED, lambda b: weakest([v.evidence for v in b.over]), lambda b: b.settings == {HOLDS}, "every setting is certified"),
    Row(SUPPORTED, held, lambda b: True, "an uncertified setting shows nothing: what was sampled and searched still supports it"),
)


def word_of(basis: Basis) -> tuple[str, str]:
    """The word that all of it amounts to, and the strength that carries the word."""
    row = next(row for row in SETTLED if row.condition(basis))
    row = row if row.word else basis.first
    return row.word, row.evidence(basis)
