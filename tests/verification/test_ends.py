"""Universal claims of the papers are tested from end to end, and say between which ends."""

from pathlib import Path

import pytest

from fltheory.verdicts.deciding.word import UNIVERSAL
from fltheory.verdicts.papers.discover import load

ROOT = Path(__file__).parents[2] / "verification"


@pytest.mark.parametrize("paper", ["fednova", "focus", "fedres", "simfed"])
def test_every_supported_universal_claim_declares_its_ends(paper):
    missing = [c.id for c in load(ROOT / paper).claims.values()
               if c.kind in UNIVERSAL and c.expect in ("SUPPORTED", "CERTIFIED") and not c.ends]
    assert missing == []
