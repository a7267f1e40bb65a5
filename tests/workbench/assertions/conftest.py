"""A folder of papers of one's own."""
import pytest

from tests.verdicts.claims.folders import CLAIM, FINDING, WRONG, paper


@pytest.fixture
def own(tmp_path):
    paper(tmp_path / "asserted_papers", rows=[CLAIM, WRONG, FINDING])
    return tmp_path / "asserted_papers"
