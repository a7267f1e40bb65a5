"""The assertion for test files that a claim or finding has its expected word."""
from __future__ import annotations

import os
from typing import Any

from fltheory.core.errors import refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, show
from fltheory.core.records import is_one_of
from fltheory.core.tables import keep_ends
from fltheory.proofs.assertion import Evidence
from fltheory.verdicts.deciding import evidence
from fltheory.verdicts.deciding.check import ClaimVerdict, check
from fltheory.verdicts.deciding.findings import FindingVerdict, confirm
from fltheory.verdicts.folders import activate, default_paths
from fltheory.verdicts.papers.discover import find, papers

CLAIM_WORDS = (*evidence.DECIDED, evidence.SKIPPED)
FINDING_WORDS = (evidence.CONFIRMED, evidence.NOT_CONFIRMED, evidence.SKIPPED)
SHOWN = 60  # characters of a number in a claim's table


def assert_claim(id: str, paths: Any = None, word: str | None = None, quick: bool = False) -> ClaimVerdict | FindingVerdict:
    """Decide a claim or a finding of a paper folder; it must have its expected word, or `word`. Returns the verdict.

    id: as in the ledger, "eq26-28", or with its paper, "fednova/eq26-28". paths: a paper folder, a folder of them, or a
    sequence; default `verification` in the current folder, else the papers of the installed package. word: for example
    "CERTIFIED", "FALSE", "CONFIRMED"; default the declared one, without contradictions (surviving mutants, errors).
    quick: a tenth of the search and no mutants. A claim SKIPPED for want of a library fails unless word="SKIPPED".
    Raises AssertionError with a table; BadInput for unknown ids (close ones are listed), words, and folders.

    >>> import fltheory as ft
    >>> ft.assert_claim("eq26-28", quick=True).word
    'CERTIFIED'
    >>> ft.assert_claim("eq26-28", word="FALSE", quick=True)
    Traceback (most recent call last):
        ...
    AssertionError: assert_claim: does not hold
      subject     claim fednova/eq26-28, App A eq 26-28
      compared    If the norm of I - sum p K H is below 1, the server model converges linearly, with
                  that factor, to (sum p K H)^-1 sum p K e.
      evidence    exact
      allowed     the word FALSE, in a quick run
                  expected  found      difference
      word        FALSE     CERTIFIED
      to read     expected and found are the right and left side of each comparison that does not
                  hold, difference its margin. `fltheory show eq26-28` prints everything.
    """
    __tracebackhide__ = True
    paper, kind, declaration = _find(id, paths)
    words = CLAIM_WORDS if kind == "claim" else FINDING_WORDS
    if word is not None and not is_one_of(word, words):
        refuse("word", word, f"the words of a {kind} are {words}", "Leave it out for the declared word.")
    if not isinstance(quick, bool):
        refuse("quick", quick, "is True or False", "Say whether searches are shortened.")
    activate(paper.folder)
    verdict = check(declaration, quick=quick) if kind == "claim" else confirm(declaration, paper.claims)
    wanted = word or declaration.expect or evidence.SUPPORTED
    contradictions = verdict.surprises() if isinstance(verdict, ClaimVerdict) and word != evidence.FALSE else []
    if verdict.word == wanted and not contradictions:
        return verdict
    raise AssertionError(str(_table(paper, kind, declaration, verdict, wanted, contradictions, quick)))


def _find(id, paths):
    folders = [paths] if isinstance(paths, (str, os.PathLike)) else default_paths() if paths is None else paths
    if not isinstance(folders, (list, tuple)) or not all(isinstance(p, (str, os.PathLike)) for p in folders):
        refuse("paths", paths, "is a folder or a list of folders", "For example paths='verification'.")
    return find(papers(folders, id), id)


def _table(paper, kind, declaration, verdict, wanted, contradictions, quick):
    if kind == "claim":
        rows = [(v.instance, keep_ends(show(c.rhs), SHOWN), keep_ends(show(c.lhs), SHOWN),
                 "-" if c.margin is None else keep_ends(show(c.margin), SHOWN), f"{c.status} ({c.evidence})")
                for v in verdict.instances for c in v.comparisons if c.status != HOLDS]
        idle = {evidence.OUT_OF_SCOPE} if any(v.status != evidence.OUT_OF_SCOPE for v in verdict.instances) else set()
        rows += [(v.instance, "", "", "", f"{v.status}: {v.reason}") for v in verdict.instances
                 if v.reason and v.status not in idle]
        strength, reading = verdict.evidence, (
            "expected and found are the right and left side of each comparison that does not hold, difference its "
            "margin.")
    else:
        rows = [(s.step, "ok", s.status, "", s.detail) for s in verdict.steps if s.status != "ok"]
        strength, reading = "the steps of its procedure", "each row is a step of the finding's procedure that failed."
    return Evidence(
        "assert_claim", f"{kind} {paper.slug}/{declaration.id}" + (f", {declaration.place}" if declaration.place else ""),
        declaration.says or (declaration.statement if kind == "claim" else ""), strength,
        f"the word {wanted}" + (", in a quick run" if quick else ""),
        (("word", wanted, verdict.word, "", ""), *rows),
        INCONCLUSIVE if verdict.word in (evidence.SKIPPED, evidence.OPEN) else FALSIFIED,
        reading + f" `fltheory show {declaration.id}` prints everything.", "; ".join(contradictions))
