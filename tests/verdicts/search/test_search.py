"""The counter-example search: finds and shrinks violations inside the hypotheses, and counts what it tried."""

import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput, FLTheoryError, MissingLibrary
from fltheory.core.relations import at_most, equal
from fltheory.verdicts.claims.claim import Hypothesis, Instance
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.search import search as module
from fltheory.verdicts.search.search import Family, Search
from tests.verdicts.claims.examples import made

st = pytest.importorskip("hypothesis.strategies")
FEDNOVA = Path(__file__).parents[3] / "verification" / "fednova"


@pytest.fixture(scope="module")
def fednova():
    return load(FEDNOVA).claims


def integers(low, high, name="integers", keep=lambda k: True):
    def build(draw):
        k = draw(st.integers(low, high))
        return Instance(name, k=k, says=f"k={k}") if keep(k) else None

    return Family(name, build)


def below(limit, families, needs=(), tries=50, **options):
    def body(i):
        """k stays below a limit."""
        return at_most(i.k, limit, strict=True)

    return made(
        body,
        on=[Instance("one", k=1)],
        kind="inequality",
        needs=needs,
        search=Search(tuple(families), tries),
        **options,
    )


def test_a_violation_is_shrunk_to_the_smallest():
    verdict = check(below(17, [integers(0, 1000)]))
    assert (verdict.word, verdict.evidence) == ("FALSE", "exact")
    assert verdict.search.found["says"] == "k=17"
    assert verdict.instances[-1].instance == "found by search (integers)"


def test_budget_families_and_scope_are_counted():
    verdict = check(below(2000, [integers(0, 1000, "a"), integers(0, 1000, "b", keep=lambda k: k % 2 == 0)], tries=60))
    found = verdict.search
    assert (verdict.word, found.found) == ("SUPPORTED", None)
    assert found.tries == sum(found.families.values()) == found.in_scope
    assert 40 <= found.families["a"] <= 60
    assert 0 < found.families["b"] < found.families["a"]  # discarded draws are no tries
    assert 0.3 < found.best < 1
    quick = check(below(2000, [integers(0, 1000, "a")], tries=600), quick=True).search
    assert 40 <= quick.tries <= 60


def test_the_search_stays_inside_the_hypotheses():
    small = Hypothesis("small", "$k\\le10$", lambda i: (i.k, 10))
    verdict = check(below(17, [integers(0, 1000)], needs=[small]))
    assert verdict.word == "SUPPORTED"
    assert 0 < verdict.search.in_scope < verdict.search.tries
    assert check(below(17, [integers(11, 1000)], needs=[small])).word == "OPEN"  # it never met the hypotheses


def test_two_runs_are_the_same():
    claim = below(123, [integers(0, 100000)])
    (first, one), (second, other) = claim.search_plan.run(claim), claim.search_plan.run(claim)
    assert one.says == other.says == "k=123"
    assert replace(first, seconds=0) == replace(second, seconds=0)


def draws_of_a_search():
    """Everything that a search draws of wide integers, fractions, floats and choices."""
    seen = []

    def build(draw):
        seen.append([draw(st.integers(0, 10**6)), draw(st.fractions(0, 1)), draw(st.floats(0, 1)),
                     draw(st.sampled_from((1, 2, 3)))])
        return Instance("one", k=1)

    claim = below(10, [Family("numbers", build)], tries=150)
    assert claim.search_plan.run(claim)[0].tries > 100
    return seen


def test_a_search_does_not_depend_on_which_modules_are_loaded(tmp_path, monkeypatch):
    """The library draws literals of every loaded local module now and then; there is no setting against that."""
    before = draws_of_a_search()
    name = "loaded_by_chance"
    literals = [[777_000 + 3 * k, (2 * k + 1) / 1024] for k in range(300)]
    (tmp_path / f"{name}.py").write_text(f"ODD = {literals}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from hypothesis.internal import constants_ast
    monkeypatch.setattr(constants_ast, "is_local_module_file", lambda path: name in path)  # pytest's folders are no tests
    from hypothesis.internal.conjecture import providers
    monkeypatch.setattr(providers, "is_local_module_file", lambda path: name in path)
    importlib.import_module(name)
    try:
        assert 777_003 in providers._get_local_constants().integers  # the library has read the module
        assert draws_of_a_search() == before
        drawn = []
        import hypothesis

        @hypothesis.settings(max_examples=400, derandomize=True, database=None)
        @hypothesis.given(st.integers(0, 10**6))
        def one(value):
            drawn.append(value)
        one()
        assert {k for k, _ in literals} & set(drawn)  # and goes on using it wherever else it is used
    finally:
        sys.modules.pop(name)


def test_a_search_does_not_depend_on_the_profile_of_somebody_s_tests():
    import hypothesis

    def found():
        verdict = check(below(17, [integers(0, 1000)]))
        return replace(verdict.search, seconds=0)

    before = found()
    hypothesis.settings.register_profile("lazy", phases=[hypothesis.Phase.explicit], max_examples=1)
    profile = hypothesis.settings.get_current_profile_name()
    hypothesis.settings.load_profile("lazy")
    try:
        assert found() == before
        assert before.found["says"] == "k=17"
    finally:
        hypothesis.settings.load_profile(profile)


def test_later_families_are_not_tried_after_a_violation():
    found = check(below(5, [integers(0, 9, "first"), integers(0, 9, "second")])).search
    assert (found.found["family"], list(found.families)) == ("first", ["first"])


def test_a_crash_in_the_search_is_an_error_and_not_a_pass():
    def broken(i):
        """Crashes where no instance is listed."""
        if i.k > 40:
            raise KeyError(i.k)
        return equal(1, 1)

    verdict = check(made(broken, on=[Instance("one", k=1)], search=Search((integers(0, 1000),))))
    assert verdict.word == "ERROR"
    assert "KeyError: 41" in verdict.surprises()[0]  # shrunk like a violation

    def build(draw):
        raise ValueError(f"no such family: {draw(st.integers())}")

    crashed = check(below(5, [Family("crash", build)]))
    assert crashed.word == "ERROR"
    assert not crashed.as_expected
    assert "no such family" in crashed.surprises()[0]


def test_a_float_violation_found_by_search_only_raises_a_suspicion():
    def body(i):
        """k stays below 17, in floats."""
        return at_most(float(i.k), 17.5)

    assert (
        check(made(body, on=[Instance("one", k=1)], kind="inequality", search=Search((integers(0, 1000),)))).word
        == "OPEN"
    )


def test_without_the_library_a_claim_that_needs_the_search_is_skipped(monkeypatch):
    def gone(library, purpose):
        raise MissingLibrary(f"{library} is not installed: it is needed for {purpose}")

    monkeypatch.setattr(module, "need", gone)
    verdict = check(below(2000, [integers(0, 10)]))
    assert (verdict.word, verdict.as_expected) == ("SKIPPED", True)
    assert "hypothesis is not installed" in verdict.instances[-1].reason
    false = check(replace(below(1, [integers(0, 10)]), on=(Instance("five", k=5),)))
    assert false.word == "FALSE"  # an instance refutes without any search


# ---- claims that fail to run on some draws: Claim.search goes on and counts ------------------------------------
def sharp(limit, crash=lambda k: False, error=KeyError):
    def body(i):
        """k stays below a limit."""
        if crash(i.k):
            raise error(i.k)
        return at_most(i.k, limit, strict=True)

    return made(body, on=[Instance("one", k=1)], kind="inequality")


def test_draws_on_which_the_claim_fails_are_counted_and_named_once():
    failing = []
    result = sharp(10**9, lambda k: k % 2 and not failing.append(k)).search(seconds=None, tries=60, families=integers(0, 1000))
    assert (result.found, result.stopped) == (False, "error")
    assert 40 <= result.tries <= 60 and 0 < result.in_scope < result.tries
    failed = result.tries - result.in_scope
    assert f"of {result.tries} draws the claim failed to run on {failed}: KeyError: " in result.error
    assert str(result).count("KeyError") == result._repr_html_().count("KeyError") == 1
    assert "the search excludes nothing" in str(result) and "no counter-example" not in str(result)
    assert len(failing) == failed and len(str(result.witness.k)) == min(len(str(k)) for k in failing)


def test_a_violation_is_found_beside_draws_on_which_the_claim_fails():
    result = sharp(17, lambda k: k == 3).search(seconds=None, tries=100, families=integers(0, 1000))
    assert (result.found, result.exact, result.witness.k, result.error) == (True, True, 17, "")


def test_what_a_claim_refuses_itself_is_no_failure_but_is_said():
    result = sharp(10**9, lambda k: k % 2, BadInput).search(seconds=None, tries=60, families=integers(0, 1000))
    assert (result.error, result.stopped, result.witness) == ("", "tries", None)
    assert sum(result.refused.values()) == result.tries - result.in_scope > 0
    assert f"{sum(result.refused.values())} draws refused by the claim (BadInput: " in str(result)
    assert "draws refused by the claim" in result._repr_html_()
    every = sharp(1, lambda k: True, BadInput).search(seconds=None, tries=10, families=integers(0, 1000))
    assert "nothing was tested" in str(every) and every.in_scope == 0


def test_a_claim_that_reads_what_only_quadratics_have_says_so_without_an_exception(fednova):
    result = fednova["eq26-28"].search(seconds=None, tries=3)
    assert list(result.families) == ["quadratics for FedAvg", "quadratics for FedAvg with Proximal"]
    assert "AttributeError" not in str(result) and "mu=0" not in str(result) and result.kept == {}
    assert "it reads 'H', which a HuberLoss does not have" in str(result)


SAMPLE = ("eq26-28", "lem1", "thm1-explicit-corrected", "eq12-rescale", "thm3-as-printed", "lem4-constants-as-printed")


def search_runs(claim):
    """A tiny search ends in a result that can be shown, or in a refusal in words."""
    try:
        result = claim.search(seconds=0.5, tries=2)
    except FLTheoryError as error:
        assert "Give families=" in str(error), claim.id
        return
    assert result.families, claim.id
    assert str(result) and result._repr_html_()
    if result.error:
        assert "draws the claim failed to run on" in result.error, (claim.id, result.error)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_search_against_a_claim_of_a_paper_runs(fednova, name):
    search_runs(fednova[name])


@pytest.mark.slow
@pytest.mark.parametrize("slug", ["fednova", "focus"])
def test_a_search_against_every_claim_of_the_papers_runs(slug):
    for claim in load(FEDNOVA.parent / slug).claims.values():
        search_runs(claim)


# ---- Theorem 1 as printed ---------------------------------------------------------------------------------
def test_the_search_refutes_theorem_1_as_printed_at_small_rationals(fednova):
    quadratics = tuple(f for f in fednova["thm1-explicit-corrected"].search_plan.families if f.name == "quadratic")
    claim = replace(fednova["thm1-explicit-as-printed"], on=(), search_plan=Search(quadratics, tries=1500))
    found, verdict = claim.search_plan.run(claim)
    assert (verdict.status, verdict.evidence) == ("FALSIFIED", "exact")
    assert all(h.holds for h in verdict.hypotheses)
    assert "proximal" in verdict.says  # the one solver that breaks the printed proof
    alpha = Q(verdict.says.split("proximal ")[1].split(",")[0])
    assert Q(1, 2) <= alpha <= 1
    assert alpha.denominator <= 8
    assert verdict.says.startswith("H=[[[0]], [[1]]]")  # two clients on the line, one of them flat
    assert 0 < found.in_scope < found.tries < claim.search_plan.tries


def test_the_corrected_theorem_survives_a_short_search_that_any_process_repeats(fednova):
    claim = fednova["thm1-explicit-corrected"]
    found, _ = claim.search_plan.run(claim, quick=True)
    assert found.found is None
    assert {"quadratic", "Huber", "logistic", "non-convex", "sines"} <= set(found.families)
    assert all(n > 0 for n in found.families.values()) and found.tries == sum(found.families.values()) <= 100
    again = subprocess.run(
        [sys.executable, "-c", REPEAT, str(FEDNOVA)],
        capture_output=True,
        text=True,
        check=True,
        cwd=FEDNOVA.parents[1],
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    assert json.loads(again.stdout) == {k: getattr(found, k) for k in ("tries", "in_scope", "families", "best")}


REPEAT = """
import json, sys, pathlib
from fltheory.verdicts.papers.discover import load
claim = load(pathlib.Path(sys.argv[1])).claims["thm1-explicit-corrected"]
found, _ = claim.search_plan.run(claim, quick=True)
print(json.dumps({k: getattr(found, k) for k in ("tries", "in_scope", "families", "best")}))
"""
