"""Assertions on the rules of a round and on the verdicts of a claim."""
import sys

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput


def test_conforming_and_not():
    assert ft.assert_conforms(ft.Scaffold("1/10")).ok
    assert ft.assert_conforms(ft.AdaptiveServer("1/10")).ok

    class Half(ft.FedAvg):
        def server(self, x, cohort, draw, change, mass):
            return x + 0.5 * change.sum(-2)

    with pytest.raises(AssertionError, match=r"test_verdicts\.py, line \d+, in .*Half\.server"):
        ft.assert_conforms(Half("1/10"))


def test_claims_and_findings_have_their_words(own):
    assert ft.assert_claim("half", paths=own).word == "CERTIFIED"
    assert ft.assert_claim("third", paths=[own / "own"]).word == "FALSE"
    assert ft.assert_claim("own/f1", paths=str(own)).word == "CONFIRMED"
    ft.assert_claim("third", paths=own, word="FALSE", quick=True)
    with pytest.raises(AssertionError, match="the word SUPPORTED"):
        ft.assert_claim("half", paths=own, word="SUPPORTED")


def test_a_mutated_paper_fails_with_its_numbers(own):
    (own / "own" / "formulas.py").write_text(
        "from fractions import Fraction\n\ndef share(k):\n    return Fraction(1, k + 1)\n")
    for name in [m for m in sys.modules if m.startswith("asserted_papers")]:
        sys.modules.pop(name)
    with pytest.raises(AssertionError) as failed:
        ft.assert_claim("half", paths=own)
    rows = [line.split() for line in str(failed.value).splitlines()]
    assert ["word", "CERTIFIED", "FALSE"] in rows
    assert ["two", "1", "2/3", "-1/3", "FALSIFIED", "(exact)"] in rows
    with pytest.raises(AssertionError, match="word        NOT CONFIRMED  CONFIRMED"):
        ft.assert_claim("f1", paths=own, word="NOT CONFIRMED")


def test_unknown_claims_words_and_folders_are_refused(own):
    for options, said in (({"id": "halff"}, "Did you mean half"), ({"id": 3}, "named by a string"),
                          ({"id": "zzz"}, "fltheory list"),
                          ({"id": "half", "word": "TRUE"}, "PROVED"), ({"id": "f1", "word": "FALSE"}, "CONFIRMED"),
                          ({"id": "half", "quick": 1}, "True or False")):
        with pytest.raises(BadInput, match=said):
            ft.assert_claim(**{"paths": own, **options})
    for paths in (3, [None], [3]):
        with pytest.raises(BadInput, match="a list of folders"):
            ft.assert_claim("half", paths=paths)
    with pytest.raises(BadInput, match="does not exist"):
        ft.assert_claim("half", paths=own / "nowhere")
