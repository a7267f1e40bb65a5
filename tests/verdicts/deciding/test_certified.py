"""Claims certified over function classes: the word, its label, the certificates that are kept, and what is no certificate."""
import json
from dataclasses import replace
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.verdicts.deciding import certified
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.deciding.proved_domain import covered, domain, label
from fltheory.verdicts.papers import discover
from fltheory.worstcase.certificate import Certificate
from fltheory.worstcase.relation import Shelf, shelved

pytest.importorskip("cvxpy")
pytest.importorskip("flint")

HALF = """
import fltheory as ft

KIND = ft.SmoothConvex(1, "1/10")
ON = [ft.Instance("by hand", ft.Quadratic([[[1]]], [[0]]), ft.FedAvg("1/2", 1), ft.Full(), n=1)]
OVER = [ft.Instance(f"tau={tau}", algorithm=ft.FedAvg("1/2", tau), law=ft.Full(), classes=KIND, n=1) for tau in (1, 2)]
FAMILY = ft.Search((ft.Family("the same", lambda draw: ON[0]),), tries=2)


def over(i):
    return ft.certified_over(i.algorithm, i.classes, i.law, clients=1, left=lambda s: s.square(s.next - s.star), tight="distance",
                             terms={"distance": (CONSTANT, lambda s: s.square(s.x - s.star))})


@ft.claim("half", on=ON, search=FAMILY, over=OVER, certify=over, powerless="a test")
def half(i):
    return ft.at_most(0, 1)
"""
LEDGER = "id,place,type,kind,expected,evidence,corrected_by,says\nhalf,Sec. 1,claim,bound,CERTIFIED,exact,,A contraction.\n"
TIGHT = Q(361, 400)  # (1 - 1/20)^2


def written(folder, constant="ft.fraction('95/100')"):
    paper = folder / "halves"
    (paper / "claims").mkdir(parents=True)
    (paper / "ledger.csv").write_text(LEDGER)
    (paper / "claims" / "half.py").write_text(HALF.replace("CONSTANT", constant))
    return discover.load(paper)


@pytest.fixture
def paper(tmp_path):
    certified.certificates_in.cache_clear()
    yield written(tmp_path)
    certified.certificates_in.cache_clear()


def verdict(claim):
    return check(claim, quick=True)


def test_the_word_carries_its_settings(paper):
    found = verdict(paper.claims["half"])
    assert (found.word, found.evidence) == ("CERTIFIED", "exact") and found.as_expected
    record = found.describe()
    assert record.label == "CERTIFIED for n = 1; tau = 1, 2; law = Full; mu/L = 1/10; eta L = 1/2 and all d" and record.restricted
    assert "2 settings certified for all functions" in found.scope
    assert "SmoothConvex(L=1, mu=1/10) in every dimension, at 2 listed settings" in record.domain
    assert len(found.records()) == 4  # the claim, what was sampled, and two settings


def test_a_constant_that_is_not_certified_leaves_what_was_sampled(tmp_path):
    found = verdict(written(tmp_path, "ft.fraction('1/2')").claims["half"])
    assert found.word == "SUPPORTED" and not found.as_expected  # the ledger expects more
    assert {v.status for v in found.over} == {"INCONCLUSIVE"}


def test_one_setting_that_is_not_certified_is_enough(tmp_path):
    """One step contracts by 361/400, two by its square, which is below the constant."""
    found = verdict(written(tmp_path, "ft.fraction('85/100')").claims["half"])
    assert found.word == "SUPPORTED" and [v.status for v in found.over] == ["INCONCLUSIVE", "HOLDS"]


def test_an_error_in_a_setting_is_one_of_the_claim(tmp_path):
    found = verdict(written(tmp_path, "1 / 0").claims["half"])
    assert found.word == "ERROR" and any("ZeroDivisionError" in s for s in found.surprises())


def test_kept_certificates_need_no_solver(paper, monkeypatch):
    path = certified.make(paper)
    data = json.loads(path.read_text())
    assert set(data["half"]) == {"tau=1", "tau=2"} and all(len(v) == 1 for v in data["half"].values())
    monkeypatch.setattr("fltheory.worstcase.relation.solved", lambda *a: pytest.fail("a solver was asked"))
    found = verdict(paper.claims["half"])
    assert found.word == "CERTIFIED"
    assert all("kept multipliers checked anew" in c.detail for v in found.over for c in v.comparisons)
    assert TIGHT <= found.over[0].comparisons[0].lhs <= TIGHT + Q(1, 10**5)


def test_what_was_kept_is_not_believed(paper):
    path = certified.make(paper)
    data = json.loads(path.read_text())
    data["half"]["tau=1"][0]["bound"] = "1/2"                       # better than true
    data["half"]["tau=2"][0]["multipliers"][0] = "1/3"
    path.write_text(json.dumps(data))
    certified.certificates_in.cache_clear()
    found = verdict(paper.claims["half"])
    assert found.word == "CERTIFIED" and found.over[0].comparisons[0].lhs >= TIGHT
    assert not any("kept" in c.detail for v in found.over for c in v.comparisons)


@pytest.mark.parametrize("text", ["{", "[]", '{"half": {"tau=1": [{"bound": "x", "multipliers": []}]}}', '{"half": 3}'])
def test_an_unreadable_file_is_refused_with_the_remedy(paper, text):
    (paper.folder / certified.FILE).write_text(text)
    with pytest.raises(BadInput, match="fltheory certify"):
        certified.certificates_in(paper.folder)


def test_claims_of_other_names_keep_their_certificates(paper):
    path = certified.make(paper)
    before = path.read_text()
    assert certified.make(paper, ids=["another"]).read_text() == before


def test_a_paper_without_such_claims_has_no_file(tmp_path):
    paper = written(tmp_path)
    paper.claims["half"] = replace(paper.claims["half"], over=(), certify=None)
    assert certified.make(paper) is None


def test_the_command(paper, capsys):
    from fltheory.cli import main
    assert main(["certify", str(paper.folder)]) == 0
    out = capsys.readouterr().out
    assert "half, tau=1: HOLDS" in out and certified.FILE in out
    assert main(["certify", str(paper.folder), "--only", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_a_certificate_is_used_once_and_in_order(paper):
    claim = paper.claims["half"]
    _, used = certified.comparisons(claim, claim.over[0], anew=True)
    shelf = Shelf([used[0].at(TIGHT - Q(1, 100)), *used])
    with shelved(shelf):
        first, second = claim.certify(claim.over[0]), claim.certify(claim.over[0])
    assert "kept" not in first.detail and "kept" in second.detail and len(shelf.used) == 2
    assert all(isinstance(c, Certificate) for c in shelf.used)


@pytest.mark.parametrize("options", [{"over": [ft.Instance("a")]}, {"certify": lambda i: i}])
def test_settings_and_their_function_come_together(options):
    with pytest.raises(BadInput, match="come together"):
        ft.claim("half", on=[ft.Instance("x")], **options)


def test_words_of_other_claims_stay(paper):
    claim = replace(paper.claims["half"], over=(), certify=None, domain="by hand")
    assert covered(claim, "CERTIFIED") == {} and label("CERTIFIED", {}) == "" and domain(claim, "CERTIFIED") == "by hand"
    assert domain(claim, "SUPPORTED") == ""
