"""Comparisons and hypotheses as text: both sides, and whether a hypothesis holds, where that is known."""
import pytest

from fltheory.verdicts.comparison_text import hypothesis_row, needs
from fltheory.verdicts.records import Condition


@pytest.mark.parametrize(("holds", "word"), [(True, "holds"), (False, "fails"), (None, "fails")])
def test_a_hypothesis_that_was_not_decided_never_reads_as_one_that_holds(holds, word):
    h = Condition("step", "lr <= 1", "1/2", "1", holds, "1/2")
    assert hypothesis_row(h) == ["step", "1/2", "1", "1/2", word]
    assert needs(h) == f"needs step: 1/2 against 1, margin 1/2: {word}"
