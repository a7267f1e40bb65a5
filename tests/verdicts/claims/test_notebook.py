"""A claim without a paper folder: declared in a cell, checked, searched, shown, and refused where it is no claim."""

import math

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, MissingLibrary
from fltheory.verdicts.claims import claim as forms
from fltheory.verdicts.search import search as searching
from tests.verdicts.claims.cells import PROBLEM, Clock, about, always, cell, never, refuted, simple, theorem


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    monkeypatch.setattr(forms, "REGISTRY", [])
    return lambda: forms.REGISTRY


# ---- declaring and checking -------------------------------------------------------------------------------
def test_a_claim_in_a_cell_is_checked_shown_and_asserted():
    pytest.importorskip("flint")
    claim = theorem()
    verdict = claim.check()
    assert (verdict.word, verdict.evidence) == ("FALSE", "exact")
    assert "my-theorem: FALSE (exact), 1 instances" in str(verdict)
    assert "4108933742199/4620933742199" in repr(verdict)
    page = verdict._repr_html_()
    assert "&lt;b&gt;optimum&lt;/b&gt;, $x^*&lt;y$" in page
    assert "<b>optimum" not in page
    assert "<b>optimum" not in claim._repr_html_()
    with pytest.raises(AssertionError, match="4108933742199"):
        claim.assert_holds()


def test_a_true_claim_without_a_ledger_holds_although_it_rejects_nothing():
    pytest.importorskip("flint")
    claim = theorem("Scaffold")
    verdict = claim.check()
    assert (verdict.word, verdict.powerless, verdict.as_expected, verdict.holds) == ("SUPPORTED", True, False, True)
    assert "POWERLESS" in str(verdict)
    claim.assert_holds()
    certified = ft.claim("here", on=[ft.Instance("only")], domain="one")(lambda i: ft.equal(1, 1))
    assert certified.check().word == "CERTIFIED"
    certified.assert_holds()
    with pytest.raises(AssertionError, match="expected FALSE"):
        ft.claim("here", on=[ft.Instance("only")], expect="FALSE")(always).assert_holds()


def test_a_claim_can_be_checked_elsewhere():
    pytest.importorskip("flint")
    claim = theorem()
    same = ft.Instance("equal steps", PROBLEM, ft.FedAvg("1/20", 3), ft.Full())
    verdict = claim.check(on=[same])
    assert verdict.word == "SUPPORTED"
    assert [v.instance for v in verdict.instances] == ["equal steps"]
    with pytest.raises(BadInput, match=r"on = .*is a list of instances"):
        claim.check(on=same)


def test_running_a_cell_again_replaces_its_claim(registry):
    first, second = theorem(), theorem("Scaffold")
    assert registry() == [second]
    assert first is not second
    cell('ft.finding("my-theorem", kind="remark")\n' * 2)
    assert [type(m).__name__ for m in registry()] == ["Claim", "Finding"]


def test_claims_of_files_are_never_replaced(registry):
    for _ in range(2):  # this file is a module: the loader of a paper folder must see both, and refuse
        ft.claim("twice", on=[simple()])(always)
    assert [m.id for m in registry()] == ["twice", "twice"]


def lost_backslash(i):
    "At most $\alpha$."


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ft.claim(always), r"id = <function.*named by a string. Write @ft.claim"),
        (lambda: ft.claim("  "), "named by a string"),
        (lambda: ft.claim("a", on=simple()), r"is a list of instances. Write on=\[ft.Instance"),
        (lambda: ft.claim("a", on=[1]), "on = 1: holds a int that is no instance"),
        (lambda: ft.claim("a", on=3), "is a list of instances"),
        (lambda: ft.claim("a", needs=[always]), "needs of claim 'a'.*is no hypothesis"),
        (lambda: ft.claim("a", rejects=["bug"]), "rejects of claim 'a' = 'bug': is no function"),
        (lambda: ft.claim("a", search=[1]), "search of claim 'a'.*Give ft.Search"),
        (lambda: ft.claim("a", serach=None), r"options of claim 'a' = \['serach'\]: are none of .*'search'"),
        (lambda: ft.claim("a")(7), "body of claim 'a' = 7: is no function"),
        (lambda: ft.claim("a")(ft.claim("b")(always)), "is no function"),
        (lambda: ft.claim("a")(lost_backslash), "statement of claim 'a' = .*: is a control character. Write r"),
    ],
)
def test_what_is_no_claim_is_refused(make, says):
    with pytest.raises(BadInput, match=says):
        make()


@pytest.mark.parametrize("value", [None, True, "equal", [ft.equal(1, 1), 2]])
def test_a_body_that_compares_nothing_is_an_error_that_says_so(value):
    verdict = about(lambda i: value, simple()).check()
    assert verdict.word == "ERROR"
    assert "returned no comparison. Return ft.equal" in str(verdict)
    assert "declared at line" in str(verdict)


def test_a_body_that_raises_is_an_error_with_its_own_line():
    pytest.importorskip("flint")
    space = cell('''
@ft.claim("broken", on=[ft.Instance("two clients", PROBLEM, ft.FedAvg("1/20", 1), ft.Full())])
def broken(i):
    """Divides by zero in its second line."""
    x = i.op.fixed_point().x
    return ft.equal(x[0] / 0, 1)

@ft.claim("refused", on=[ft.Instance("two clients", PROBLEM, ft.FedAvg("1/20", 1), ft.Uniform(9))])
def refused(i):
    """The engine refuses."""
    return ft.equal(i.op.rate(), 1)
''')
    reason = space["broken"].check().instances[0].reason
    assert "ZeroDivisionError" in reason
    assert "at broken, line 6" in reason
    reason = space["refused"].check().instances[0].reason
    assert "m = 9: only 2 clients exist" in reason
    assert "at refused, line 11; raised in refuse" in reason
    with pytest.raises(AssertionError, match="line 6"):
        space["broken"].assert_holds()


# ---- searching --------------------------------------------------------------------------------------------
def test_the_search_returns_a_shrunk_rational_witness_that_can_be_used():
    pytest.importorskip("hypothesis")
    result = refuted()[1]
    assert (result.found, result.exact, result.stopped) == (True, True, "violation")
    w = result.witness
    assert (w.problem.n, w.problem.d) == (2, 1)
    assert all(v.denominator == 1 and abs(v) <= 3 for v in [*w.problem.H.reshape(-1), *w.problem.c.reshape(-1)])
    assert sorted(w.algorithm.steps) == [1, 2]
    assert w.op.fixed_point().x != ft.optimum(w.problem).x
    assert "counter-example to my-theorem, shrunk" in str(result)
    assert "(about 0." in str(result)
    assert "&#x27;witness&#x27;" in result._repr_html_()
    assert "<b>optimum" not in result._repr_html_()


def test_the_same_tries_give_the_same_result():
    pytest.importorskip("hypothesis")
    first, second = refuted()[1], theorem().search(seconds=None, tries=40)
    assert (first.code(), first.tries, first.families) == (second.code(), second.tries, second.families)


def test_nothing_found_is_no_proof_and_says_how_much_was_tried():
    pytest.importorskip("hypothesis")
    result = theorem("Scaffold").search(tries=20)
    assert (result.found, result.witness, result.stopped) == (False, None, "tries")
    assert 15 <= result.tries <= 20
    assert f"no counter-example to my-theorem in {result.tries} tries" in str(result)
    assert "not a proof" in str(result)
    assert "not a proof" in result._repr_html_()
    with pytest.raises(BadInput, match="nothing was found"):
        result.code()


def test_a_search_that_never_met_the_hypotheses_says_that_it_tested_nothing():
    pytest.importorskip("hypothesis")
    impossible = ft.Hypothesis("impossible", "$1\\le0$", lambda i: (1, 0))
    result = about(never, simple(), needs=[impossible]).search(seconds=None, tries=10)
    assert (result.found, result.in_scope) == (False, 0)
    assert "nothing was tested" in str(result)


def test_the_search_stays_inside_the_hypotheses():
    pytest.importorskip("hypothesis")
    flat = ft.Hypothesis("two clients", "$n\\ge2$", lambda i: (2, i.problem.n))
    result = about(never, simple(), needs=[flat]).search(seconds=None, tries=30)
    assert result.witness.problem.n == 2
    assert "needs two clients: 2 against 2" in str(result)


def test_floats_only_raise_a_suspicion():
    pytest.importorskip("hypothesis")
    result = about(lambda i: ft.equal(0.5, 1.0), simple()).search(seconds=None, tries=5)
    assert (result.found, result.exact) == (True, False)
    assert "suspicion against about" in str(result)
    assert "counter-example" not in str(result)


def test_the_deadline_is_kept_between_tries(monkeypatch):
    pytest.importorskip("hypothesis")
    clock = Clock(monkeypatch)

    def slow(i):
        """Holds, slowly."""
        clock.now += 0.02
        return ft.equal(1, 1)

    result = about(slow, simple()).search(seconds=0.3)
    assert clock.now < 0.4
    assert result.stopped == "deadline"
    assert 0 < result.tries <= 15


def test_a_deadline_inside_shrinking_returns_the_smallest_so_far(monkeypatch):
    st = pytest.importorskip("hypothesis.strategies")
    seen, clock = [], Clock(monkeypatch)

    def slow(i):
        """k stays below 17."""
        if i.k >= 17:
            seen.append(i.k)
            clock.now += 0.05
        return ft.at_most(i.k, 16)

    family = ft.Family("integers", lambda draw: ft.Instance("k", k=draw(st.integers(0, 10**12))))
    result = about(slow, ft.Instance("one", k=1)).search(seconds=0.2, families=[family])
    assert (result.found, result.stopped) == (True, "deadline")
    assert len(str(result.witness.k)) == min(len(str(k)) for k in seen)
    assert "the deadline cut the shrinking" in str(result)
    assert about(slow, ft.Instance("one", k=1)).search(tries=100, seconds=None, families=family).witness.k == 17


def test_several_families_share_the_time_and_declared_ones_come_first(monkeypatch):
    st = pytest.importorskip("hypothesis.strategies")
    Clock(monkeypatch)

    def family(name):
        return ft.Family(name, lambda draw: ft.Instance(name, k=draw(st.integers(0, 10**9))))

    plan = ft.Search((family("a"), family("b")), tries=5)
    claim = about(always, ft.Instance("one", k=1), search=plan)
    result = claim.search(seconds=0.4)
    assert list(result.families) == ["a", "b"]
    assert min(result.families.values()) > 0
    assert list(claim.search(tries=5, families=family("c")).families) == ["c"]


def test_a_claim_that_fails_to_run_on_a_draw_is_an_error_and_not_a_pass():
    pytest.importorskip("hypothesis")

    def body(i):
        """Knows two clients only."""
        return ft.equal(i.problem.H[1][0, 0], i.problem.H[1][0, 0])

    result = about(body, simple()).search(tries=30)
    assert (result.found, result.stopped) == (False, "error")
    assert "IndexError" in str(result)
    assert "at body, line" in str(result)
    assert "no counter-example" not in str(result)
    assert result.witness.problem.n == 1
    assert 'status == "ERROR"' in result.code()
    crash = ft.Family("crash", lambda draw: 1 / 0)
    assert "family 'crash': ZeroDivisionError" in str(about(always, simple()).search(tries=3, families=crash))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seconds": None}, "by a deadline or by a number of tries"),
        ({"seconds": 0}, "a deadline is a number > 0"),
        ({"seconds": -1}, "a deadline is a number > 0"),
        ({"seconds": math.nan}, "a deadline is a number > 0"),
        ({"seconds": "60"}, "a deadline is a number > 0"),
        ({"tries": 0}, "tries = 0: is an integer >= 1"),
        ({"tries": 1.5}, "is an integer >= 1"),
        ({"families": [1]}, "families = 1: is no family"),
        ({"families": []}, "are none"),
    ],
)
def test_bad_budgets_and_families_are_refused(options, says):
    pytest.importorskip("hypothesis")
    with pytest.raises(BadInput, match=says):
        about(always, simple()).search(**options)


def test_without_a_quadratic_instance_families_are_asked_for():
    pytest.importorskip("hypothesis")
    symbolic = ft.Field("x")
    for on in ([], [ft.Instance("bare", k=1)], [simple(domain=symbolic)],
               [simple(problem=ft.HuberLoss([[[1]], [[1]]], [[0], [1]], 1))]):
        with pytest.raises(BadInput, match=r"no default family can be drawn around it. Give families="):
            about(always, *on).search(tries=3)


def test_without_hypothesis_the_message_says_what_to_install(monkeypatch):
    def gone(library, purpose):
        raise MissingLibrary(f"{library} is not installed: it is needed for {purpose}. Install it (pip install x)")

    monkeypatch.setattr(searching, "need", gone)
    with pytest.raises(MissingLibrary, match="hypothesis is not installed: it is needed for counter-example search"):
        about(always, simple()).search(tries=3)
