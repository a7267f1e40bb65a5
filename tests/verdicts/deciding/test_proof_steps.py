"""A claim's proofs on coded rounds: several of them, one that concludes nothing, one that a round contradicts."""
from types import SimpleNamespace

import pytest

from fltheory.core.errors import BadInput
from fltheory.proofs.argument import Proof
from fltheory.verdicts.deciding import proof_steps as pencil


def proof(name="bound", factor=1):
    p = Proof("L", "v")
    return p.conclude(p.given(name, factor * p("L") - p("v")))


def claim(proofs, numbers=None):
    return SimpleNamespace(id="a", proof=lambda: proofs, meaning=(lambda i: [(numbers, {})]) if numbers else None)


ROUND = [SimpleNamespace(name="a round")]


def test_several_proofs_stand_one_after_the_other_and_keep_their_own_tests():
    steps = pencil.decided(claim((proof(), proof(factor=2)), {"L": 1, "v": 1.5}), ROUND)
    assert [s.status for s in steps] == ["FALSIFIED", "HOLDS"]
    assert [s.tested for s in steps] == [1, 1]
    assert "a round" in steps[0].detail
    assert not pencil.holds(steps)


def test_a_proof_that_concludes_nothing_is_refused():
    p = Proof("L")
    p.given("bound", p("L"))
    with pytest.raises(BadInput, match="concludes nothing"):
        pencil.decided(claim(p), ROUND)
    with pytest.raises(BadInput, match="concludes nothing"):
        pencil.decided(claim(Proof("L")), ROUND)
