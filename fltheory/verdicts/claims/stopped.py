"""What a claim or finding comes to whose time ran out: its finished instances stand, the others are INCONCLUSIVE."""
from __future__ import annotations

from fltheory.verdicts.claims import evidence as ev
from fltheory.verdicts.claims.check import ClaimVerdict
from fltheory.verdicts.claims.claim import Claim, Finding
from fltheory.verdicts.claims.evidence import InstanceVerdict
from fltheory.verdicts.claims.findings import FindingVerdict
from fltheory.verdicts.records import Step


def records(made: Claim | Finding, told, seconds) -> list[dict]:
    """The records of what was stopped after `seconds`; told: those of a claim's finished instances, in their order.

    An exact refutation and an ERROR stay what they are, whatever was left. Otherwise the claim is OPEN, and a finding is
    NOT CONFIRMED.
    """
    reason = f"stopped after {seconds:g} s"
    if isinstance(made, Finding):
        return [FindingVerdict(made, [Step("procedure", "inconclusive", reason)], seconds=seconds).record()]
    finished = [InstanceVerdict(r["instance"], r["status"], r["evidence"], reason=r["reason"]) for r in told]
    rest = [InstanceVerdict(i.name, ev.INCONCLUSIVE, says=i.says, reason=reason) for i in made.on[len(told):]]
    rest = rest or [InstanceVerdict("search and mutants", ev.INCONCLUSIVE, reason=reason)]
    word, evidence = _word(finished)
    head, *rows = ClaimVerdict(made, word, evidence, finished + rest, seconds=seconds, powers_tested=False).records()
    return [head, *told, *rows[len(told):]]


def _word(finished) -> tuple:
    """(word, evidence) of a claim of which some instances are undecided."""
    if any(v.status == ev.ERROR for v in finished):
        return ev.ERROR, "none"
    refuting = [v.evidence for v in finished if v.status == ev.FALSIFIED]
    strongest = max(refuting, key=ev.STRENGTH.index, default="none")
    if ev.STRENGTH.index(strongest) >= ev.STRENGTH.index("ball"):
        return ev.FALSE, strongest
    return ev.OPEN, "none"
