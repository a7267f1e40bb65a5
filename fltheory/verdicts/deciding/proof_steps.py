"""A claim's pencil proof: every step checked or cited, and every fact of it tried on coded rounds.

A cited inequality or a definition is where a machine-read proof can still be wrong; a fact that is negative on a coded round of
one of the claim's instances says so.
"""
from __future__ import annotations

from fltheory.core.errors import refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, show
from fltheory.proofs.argument import INFORMAL
from fltheory.verdicts.records import ProofStep

TOLERANCE = 1e-9   # relative to 1, for facts whose numbers are floats


def decided(claim, instances) -> list[ProofStep]:
    """The steps of a claim's proof, or of its proofs one after the other, tried at the numbers that `meaning` reads off the coded
    rounds of these instances. Raises BadInput where one concludes nothing."""
    proofs = claim.proof()
    proofs = proofs if isinstance(proofs, (list, tuple)) else [proofs]
    for proof in proofs:
        if not proof.conclusions:
            refuse(f"proof of claim {claim.id!r}", proof.steps[-1].name if proof.steps else "", "concludes nothing",
                   "Return proof.conclude(fact).")
    tries: list[tuple[dict, dict]] = [({}, {}) for _ in proofs]
    for instance in instances if claim.meaning else ():
        for numbers, points in claim.meaning(instance):
            for proof, at in zip(proofs, tries, strict=True):
                _try(proof, numbers, points, instance.name, *at)
    return [_step(s, *at, s.name in {c.name for c in proof.conclusions})
            for proof, at in zip(proofs, tries, strict=True) for s in proof.steps]


def _try(proof, numbers, points, name, least, tried):
    for fact, value in proof.tested(numbers, points):
        worst = -abs(value) if fact.equality else value
        tried[fact.name] = tried.get(fact.name, 0) + 1
        before = least.get(fact.name, (float("inf"),))[0]
        if (_negative(worst), -worst) > (_negative(before), -before):   # an exact failure counts before a larger rounding error
            least[fact.name] = (worst, name)


def _step(s, least, tried, concludes) -> ProofStep:
    status, detail = s.status, s.detail
    if s.name in least and _negative(*least[s.name][:1]):
        status, detail = FALSIFIED, f"{show(least[s.name][0])} on {least[s.name][1]}"
    return ProofStep(s.name, s.rule, s.says, s.shown, status, list(s.uses), tried.get(s.name, 0), detail, concludes)


def _negative(value) -> bool:
    return value < (-TOLERANCE if isinstance(value, float) else 0)


def holds(steps) -> bool:
    """Whether every step is checked or cited and none failed on a coded round."""
    return bool(steps) and all(s.status == HOLDS for s in steps)


def missing(steps) -> list[str]:
    """What keeps a proof from being one, in words: informal steps are named, and only they are no surprise."""
    return [f"proof step {s.name!r}: {s.status} {s.detail}".strip() for s in steps if s.status != HOLDS and s.rule != INFORMAL]
