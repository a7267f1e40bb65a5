"""The word that a proof and certified settings amount to together."""
import pytest

from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.verdicts.deciding.evidence import ERROR, SKIPPED, InstanceVerdict
from fltheory.verdicts.deciding.word import Basis, word_of
from fltheory.verdicts.records import Searched
from tests.verdicts.claims.examples import EXACT, FOUND_NOTHING, always


@pytest.mark.parametrize(("setting", "word"), [(HOLDS, "PROVED"), (INCONCLUSIVE, "PROVED"), (SKIPPED, "SKIPPED"), (ERROR, "ERROR"),
                                               (FALSIFIED, "SUPPORTED")])
def test_a_proof_never_hides_a_setting_that_was_left_out_or_refuted(setting, word):
    held, over = InstanceVerdict("one", HOLDS, "exact", comparisons=[EXACT]), InstanceVerdict("setting", setting)
    basis = Basis(always(EXACT, kind="bound"), [held], Searched(**FOUND_NOTHING), [over], proof=True)
    assert word_of(basis)[0] == word
