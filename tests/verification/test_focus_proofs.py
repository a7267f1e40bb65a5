"""FOCUS's and FedAvg's proofs: every fact is tried on a coded round that satisfies the claim's hypotheses."""
from pathlib import Path

import pytest

from fltheory.verdicts.deciding import proof_steps as pencil
from fltheory.verdicts.papers.discover import papers

pytest.importorskip("flint")
PAPER, = papers([Path(__file__).parents[2] / "verification" / "focus"])
PROVED = [c for c in PAPER.claims.values() if c.proof is not None]
MOST = 4   # instances that give values, which is enough
# Induction hypotheses, the range of their index and what rests on them alone: tried is where they lead to, after the induction.
UNTRIED = {"after t moves", "after t + 1 moves", "after t steps", "after t + 1 steps", "after k steps", "after k + 1 steps",
           "after r rounds", "after r + 1 rounds", "index"}


def _with_values(claim):
    """Few instances inside the hypotheses of which a round gives values."""
    found = []
    for i in claim.on:
        if len(found) < MOST and all(h.check(i).holds for h in claim.needs) and next(iter(claim.meaning(i)), None) is not None:
            found.append(i)
    return found


@pytest.mark.parametrize("claim", PROVED, ids=[c.id for c in PROVED])
def test_every_fact_is_tried_on_coded_rounds(claim):
    steps = pencil.decided(claim, _with_values(claim))
    assert {s.name: s.detail for s in steps if s.status != "HOLDS"} == {}
    own = {s.name for s in steps if ": " in s.name}   # of a lemma's own objects: tried with the proof of the lemma
    assert {s.name for s in steps if not s.tested} <= UNTRIED | own
