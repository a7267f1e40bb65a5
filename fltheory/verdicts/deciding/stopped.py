"""What a claim or finding comes to whose time ran out: its finished instances stand, the others are INCONCLUSIVE."""
from __future__ import annotations

from fltheory.core.evidence import INCONCLUSIVE
from fltheory.verdicts.claims.claim import Claim, Finding
from fltheory.verdicts.deciding.check import ClaimVerdict
from fltheory.verdicts.deciding.evidence import FALSE, InstanceVerdict
from fltheory.verdicts.deciding.findings import FindingVerdict
from fltheory.verdicts.deciding.word import Basis, word_of
from fltheory.verdicts.records import Step


def records(declaration: Claim | Finding, told, seconds) -> list[dict]:
    """The records of what was stopped after `seconds`; told: those of a claim's finished instances, in their order.

    An exact refutation and an ERROR stay what they are, whatever was left. Otherwise the claim is OPEN, and a finding is
    NOT CONFIRMED.
    """
    reason = f"stopped after {seconds:g} s"
    if isinstance(declaration, Finding):
        return [FindingVerdict(declaration, [Step("procedure", "inconclusive", reason)], seconds=seconds).record()]
    finished = [InstanceVerdict(r["instance"], r["status"], r["evidence"], reason=r["reason"]) for r in told]
    rest = [InstanceVerdict(i.name, INCONCLUSIVE, says=i.says, reason=reason) for i in declaration.on[len(told):]]
    rest = rest or [InstanceVerdict("search and mutants", INCONCLUSIVE, reason=reason)]
    verdict = ClaimVerdict(declaration, "", "none", finished + rest, seconds=seconds, powers_tested=False)
    verdict.word, strength = word_of(Basis(declaration, verdict.instances))
    if verdict.word == FALSE:
        verdict.evidence = strength
    head, *rows = verdict.records()
    return [head, *told, *rows[len(told):]]
