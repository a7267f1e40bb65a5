"""The figure of certified constants: its rows are those of the settings, its marks those of the rows."""
from pathlib import Path

import pytest

from fltheory.core.evidence import HOLDS
from fltheory.verdicts.deciding.certified import comparisons
from fltheory.verdicts.deciding.check import apply_bug
from fltheory.verdicts.deciding.tight import LEAST, _draw, tight
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.report.figures import from_csv

PAPERS = Path(__file__).parents[3] / "verification"


@pytest.mark.parametrize("slug", ["fednova", "focus"])
def test_the_committed_table_lists_every_certified_setting(slug):
    paper, rows = load(PAPERS / slug), from_csv(PAPERS / slug / "data" / "tight.csv")
    listed = {(c.id, s.name) for c in paper.claims.values() for s in c.over}
    assert {(r["claim"], r["setting"]) for r in rows} == listed
    assert all(0 < r["certified"] <= r["printed"] and r["share"] == pytest.approx(r["certified"] / r["printed"]) for r in rows)


def test_the_rows_are_those_of_the_kept_certificates(tmp_path):
    committed = [r for r in from_csv(PAPERS / "focus" / "data" / "tight.csv") if r["claim"] == "eq95"]
    made = [r for r in tight(PAPERS / "focus").data() if r["claim"] == "eq95"]
    assert [(r["setting"], r["certified"]) for r in made] == [(r["setting"], pytest.approx(r["certified"])) for r in committed]


def test_every_row_has_its_mark_and_small_shares_stand_at_the_edge():
    rows = [{"claim": "a", "share": 0.5, "as given": "False"}, {"claim": "a", "share": 1e-9, "as given": "False"},
            {"claim": "b", "share": 1.0, "as given": "True"}]
    (ax,) = _draw(rows).axes
    marks = [line.get_xdata().tolist() for line in ax.lines if line.get_marker() in ("o", "x")]
    assert marks == [[0.5, LEAST], [1.0]] and [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]


@pytest.mark.parametrize("slug", ["fednova", "focus"])
def test_no_row_is_certified_because_it_compares_nothing(slug):
    """A left side that vanished would be certified with a constant of about 0 in every setting."""
    largest = {}
    for r in from_csv(PAPERS / slug / "data" / "tight.csv"):
        largest[r["claim"]] = max(r["share"], largest.get(r["claim"], 0))
    assert {name: share for name, share in largest.items() if share < 1e-3} == {}


@pytest.mark.parametrize(("slug", "id", "setting"), [("focus", "eq96", "N=2, tau=3, one client a round"),
                                                     ("focus", "thm1-nc", "N=2, tau=1, one client a round"),
                                                     ("focus", "lem3-corrected", "N=2, tau=1, one client a round")])
def test_a_wrong_round_is_not_certified(slug, id, setting):
    """The certificate is one of the coded round: a bug that keeps converging takes it away."""
    claim = load(PAPERS / slug).claims[id]
    (right,) = (s for s in claim.over if s.name.startswith(setting))
    wrong = [apply_bug(bug, right) for bug in claim.rejects]
    assert all(c.status == HOLDS for c in comparisons(claim, right)[0])
    assert any(c.status != HOLDS for w in wrong if w is not None for c in comparisons(claim, w, anew=True)[0])
