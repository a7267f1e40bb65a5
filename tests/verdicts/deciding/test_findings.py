"""Findings are confirmed by the procedure of their kind, and by nothing less."""

from dataclasses import replace
from fractions import Fraction as Q

import pytest

from fltheory.core.errors import BadInput, MissingLibrary
from fltheory.core.relations import at_most, equal
from fltheory.verdicts.claims.claim import Finding, Instance
from fltheory.verdicts.deciding import findings
from fltheory.verdicts.deciding.findings import confirm
from tests.verdicts.claims.examples import X, always, made

GOOD = 'print("one side 1, other side 2")\nprint("VERDICT: it fails")\n'
broken = made(
    lambda i: equal(i.left, 2),
    on=[Instance("exact", left=Q(1)), Instance("fine", left=Q(2)), Instance("float", left=1.0)],
    name="broken",
)
CLAIMS = {"broken": broken, "repaired": always(equal(1, 1), name="repaired")}


@pytest.fixture
def finding(tmp_path):
    """A counterexample that is confirmed; keywords change it."""

    def make(script=GOOD, **changes):
        (tmp_path / "w.py").write_text(script or "")
        base = Finding(
            "f",
            "counterexample",
            "broken",
            at=("exact",),
            corrected="repaired",
            script="w.py" if script else None,
            folder=tmp_path,
        )
        return replace(base, **changes)

    return make


def failed(verdict):
    return [s.step for s in verdict.steps if s.status == "failed"]


@pytest.mark.parametrize("kind", ["counterexample", "wrong-formula"])
def test_a_complete_counterexample_is_confirmed(finding, kind):
    verdict = confirm(finding(kind=kind), CLAIMS)
    assert (verdict.word, verdict.as_expected, failed(verdict)) == ("CONFIRMED", True, [])
    assert "1 against 2" in verdict.steps[0].detail
    record = verdict.record()
    assert record["script_source"] == GOOD
    assert "VERDICT: it fails" in record["script_output"]


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"script": None}, "witness script"),
        ({"breaks": None}, "instances"),
        ({"breaks": "unknown"}, "instances"),
        ({"at": ()}, "instances"),
        ({"at": ("absent",)}, "instance absent"),
        ({"at": ("exact", "fine")}, "instance fine"),  # the statement does not fail there
        ({"at": ("float",)}, "instance float"),  # fails only in floats
        ({"corrected": None}, "corrected statement"),
        ({"corrected": "unknown"}, "corrected statement"),
    ],
)
def test_a_counterexample_lacking_something_is_not_confirmed(finding, changes, step):
    verdict = confirm(finding(**changes), CLAIMS)
    assert (verdict.word, verdict.as_expected) == ("NOT CONFIRMED", False)
    assert len(failed(verdict)) == 1
    assert failed(verdict)[0].startswith(step)


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        (GOOD + "pass\n" * 39, "longer than 40 lines"),
        ("import numpy\n" + GOOD, "No module named 'numpy'"),
        ("import fltheory\n" + GOOD, "No module named 'fltheory'"),
        (GOOD + "raise SystemExit(1)\n", "VERDICT: it fails"),
        ('print("all fine")\n', "all fine"),
        ("1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_a_witness_that_is_long_dependent_failing_or_silent_confirms_nothing(finding, script, detail):
    verdict = confirm(finding(script), CLAIMS)
    assert verdict.word == "NOT CONFIRMED"
    assert failed(verdict)[0].startswith("witness script")
    assert any(detail in s.detail for s in verdict.steps)


def test_a_witness_of_exactly_forty_lines_counts(finding):
    assert confirm(finding("pass\n" * 38 + GOOD), CLAIMS).word == "CONFIRMED"


def test_a_witness_that_is_missing_or_hangs_confirms_nothing(finding, monkeypatch):
    assert confirm(finding(script=GOOD, at=("exact",)), CLAIMS).word == "CONFIRMED"
    absent = replace(finding(), script="absent.py")
    assert "does not exist" in confirm(absent, CLAIMS).steps[-1].detail
    monkeypatch.setattr(findings, "SCRIPT_SECONDS", 0.5)
    slow = confirm(finding("import time\ntime.sleep(60)\n"), CLAIMS)
    assert (slow.word, slow.steps[-1].detail) == ("NOT CONFIRMED", "ran past 0.5 s")


def test_a_witness_sees_neither_the_environment_nor_its_folder(finding, tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert confirm(finding("import beside\n" + GOOD), CLAIMS).word == "NOT CONFIRMED"


def test_an_instance_outside_the_hypotheses_is_no_counterexample(finding):
    from fltheory.verdicts.claims.claim import Hypothesis

    needy = replace(broken, needs=(Hypothesis("large", "", lambda i: (5, i.left)),))
    verdict = confirm(finding(), CLAIMS | {"broken": needy})
    assert verdict.word == "NOT CONFIRMED"
    assert "large fails: 5 against 1" in verdict.steps[0].detail


def test_a_missing_hypothesis_needs_its_instance_but_no_script(finding):
    assert confirm(finding(None, kind="missing-hypothesis"), CLAIMS).word == "CONFIRMED"
    assert confirm(finding(None, kind="missing-hypothesis", at=("fine",)), CLAIMS).word == "NOT CONFIRMED"


def test_a_hypothesis_added_by_the_claim_is_left_out_again_to_confirm_that_it_was_missing(finding):
    from fltheory.verdicts.claims.claim import Hypothesis

    added = replace(broken, needs=(Hypothesis("added", "", lambda i: (2, i.left)),))
    claims = CLAIMS | {"broken": added}
    assert confirm(finding(None, kind="missing-hypothesis"), claims).word == "CONFIRMED"         # fails without it
    assert confirm(finding(kind="counterexample"), claims).word == "NOT CONFIRMED"               # out of scope there
    assert confirm(finding(None, kind="missing-hypothesis", at=("fine",)), claims).word == "NOT CONFIRMED"


@pytest.mark.parametrize("kind", ["asymptotic", "gap", "remark"])
def test_some_kinds_need_a_proof_of_their_own(finding, kind):
    alone = finding(None, kind=kind, at=(), corrected=None)
    assert failed(confirm(alone, CLAIMS)) == ["proof of its own"]
    proofs = {
        "CONFIRMED": [lambda: equal(X, X), lambda: [at_most(Q(1), Q(2)), equal(1, 1)]],
        "NOT CONFIRMED": [
            lambda: equal(1.0, 1.0),
            lambda: equal(1, 2),
            lambda: [equal(1, 1), at_most(1.0, 2.0)],
            list,
            lambda: 1 / 0,
        ],
    }
    for word, checks in proofs.items():
        for check in checks:
            assert confirm(replace(alone, check=check), CLAIMS).word == word


@pytest.mark.parametrize("kind", ["misprint", "empirical"])
def test_other_kinds_are_confirmed_by_their_check(finding, kind):
    alone = finding(None, kind=kind, at=(), corrected=None, check=lambda: equal(1, 1))
    assert confirm(alone, CLAIMS).word == "CONFIRMED"
    assert confirm(replace(alone, check=None), CLAIMS).word == "NOT CONFIRMED"


def test_what_was_seen_may_rest_on_runs_and_floats_and_nothing_else_may(finding):
    seen = finding(None, kind="empirical", at=(), corrected=None, check=lambda: at_most(1.0, 2.0))
    assert confirm(seen, CLAIMS).word == "CONFIRMED"
    assert confirm(replace(seen, check=lambda: at_most(2.0, 1.0)), CLAIMS).word == "NOT CONFIRMED"
    assert confirm(replace(seen, kind="misprint"), CLAIMS).word == "NOT CONFIRMED"


def test_a_missing_library_skips(finding):
    def check():
        raise MissingLibrary("cvxpy is not installed")

    verdict = confirm(finding(None, kind="gap", at=(), check=check), CLAIMS)
    assert (verdict.word, verdict.as_expected) == ("SKIPPED", True)
    both = confirm(finding(None, kind="gap", at=("fine",), check=check), CLAIMS)
    assert both.word == "NOT CONFIRMED"


def test_a_mutant_can_take_a_finding_away(finding):
    assert confirm(finding(), CLAIMS, mutant=lambda i: i.but(left=Q(2))).word == "NOT CONFIRMED"


def test_an_unknown_kind_is_refused():
    with pytest.raises(BadInput, match="kind = 'hunch'"):
        Finding("f", "hunch")
