"""The word of a claim: each is reached for its own reason, and for no other."""

from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput, CertificateFailed, MissingLibrary, NoFixedPoint, TooLarge
from fltheory.core.numbers.scalars import FLOAT, Balls, Field
from fltheory.core.relations import at_most, equal
from fltheory.verdicts.claims.claim import Hypothesis, Instance
from fltheory.verdicts.claims.instance import illustrate
from fltheory.verdicts.deciding.check import check, check_instance
from tests.verdicts.claims.examples import (
    EXACT,
    FALSE_EXACT,
    FALSE_FLOAT,
    FLOATING,
    RUN,
    TRUE,
    UNDECIDED,
    WRONG_RUN,
    Searched,
    always,
    averaging,
    contraction,
    made,
    more_steps,
    raising,
)


# ---- words ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("comparisons", "options", "word", "evidence"),
    [
        ([TRUE], {"domain": "all x"}, "PROVED", "symbolic"),
        ([TRUE], {}, "SUPPORTED", "symbolic"),  # no domain: nothing says what is covered
        ([TRUE, EXACT], {"domain": "all x"}, "CERTIFIED", "exact"),
        ([TRUE, RUN], {"domain": "all x"}, "PROVED", "symbolic"),  # runs confirm, they do not decide
        ([TRUE, FLOATING], {"domain": "all x"}, "SUPPORTED", "float"),
        ([EXACT], {"domain": "here"}, "CERTIFIED", "exact"),
        ([EXACT], {}, "SUPPORTED", "exact"),
        ([FLOATING], {"domain": "here"}, "SUPPORTED", "float"),
        ([RUN], {"domain": "here"}, "SUPPORTED", "statistical"),
        ([FALSE_EXACT], {"domain": "here"}, "FALSE", "exact"),
        ([EXACT, FALSE_FLOAT], {}, "OPEN", "none"),  # only exact numbers accuse
        ([WRONG_RUN], {}, "OPEN", "none"),
        ([TRUE, WRONG_RUN], {"domain": "all x"}, "OPEN", "none"),
        ([FALSE_FLOAT, FALSE_EXACT], {}, "FALSE", "exact"),
        ([TRUE, UNDECIDED], {"domain": "all x"}, "OPEN", "none"),
        ([], {}, "ERROR", "none"),  # a check that compares nothing
    ],
)
def test_word_and_evidence(comparisons, options, word, evidence):
    verdict = check(always(*comparisons, **options))
    assert (verdict.word, verdict.evidence) == (word, evidence)


@pytest.mark.parametrize("kind", ["bound", "rate", "inequality", "lower-bound", "qualitative"])
def test_universal_statements_need_a_search_that_ran(kind):
    assert check(always(EXACT, kind=kind, domain="here")).word == "OPEN"
    assert check(always(EXACT, kind=kind), search=False).word == "OPEN"
    assert check(always(EXACT, kind=kind, search=Searched())).word == "SUPPORTED"
    assert check(always(TRUE, kind=kind, domain="all x")).word == "PROVED"
    assert check(always(EXACT, kind=kind, search=Searched(in_scope=0))).word == "OPEN"


def test_an_illustration_in_numbers_stands_beside_a_proof():
    """What an illustration is, the instance says; a proof that rests on numbers is a certificate."""
    def word(*on, **options):
        return check(made(lambda i: i.c, on=list(on), domain="all x", **options)).word
    proof, numbers, wrong = (Instance(name, c=c) for name, c in (("proof", TRUE), ("numbers", EXACT), ("wrong", FALSE_EXACT)))
    assert word(proof, numbers) == "CERTIFIED"
    assert word(proof, numbers.but(illustrates=True)) == "PROVED"
    assert word(proof.but(illustrates=True), numbers) == "CERTIFIED"
    assert word(numbers.but(illustrates=True)) == word(proof.but(illustrates=True)) == "CERTIFIED"
    assert word(proof, wrong.but(illustrates=True)) == "FALSE"
    assert word(proof, Instance("float", c=FLOATING, illustrates=True)) == "SUPPORTED"
    # where every number of the instance is a symbol, an exact fact is a step of the proof
    assert word(Instance("symbols", domain=Field("h"), c=[TRUE, EXACT])) == "PROVED"
    assert word(Instance("numbers", c=[TRUE, EXACT])) == "CERTIFIED"
    assert word(Instance("symbols", domain=Field("h"), c=[EXACT])) == "CERTIFIED"
    assert numbers.but(illustrates=True).but(says="kept").illustrates


def test_a_list_says_that_its_numbers_illustrate():
    both = [Instance("symbols", domain=Field("h")), Instance("numbers")]
    assert illustrate(both) is both and [i.illustrates for i in both] == [False, True]
    assert [i.illustrates for i in illustrate(both, symbols=True)] == [True, True]


def test_a_refutation_by_floats_stays_open_even_beside_exact_instances_that_hold():
    claim = made(lambda i: i.c, on=[Instance("exact", c=EXACT), Instance("float", c=FALSE_FLOAT)])
    assert check(claim).word == "OPEN"


def test_one_exact_refutation_among_many_instances_is_enough():
    claim = made(lambda i: i.c, on=[Instance("a", c=TRUE), Instance("b", c=FALSE_FLOAT), Instance("c", c=FALSE_EXACT)])
    verdict = check(claim)
    assert (verdict.word, verdict.evidence) == ("FALSE", "exact")


def test_balls_certify_and_refute():
    flint = pytest.importorskip("flint")
    root = flint.arb(2).sqrt()
    assert check(always(equal(root * root, 2), domain="here")).word == "CERTIFIED"
    verdict = check(always(equal(root, 2)))
    assert (verdict.word, verdict.evidence) == ("FALSE", "ball")


def test_enclosures_do_not_depend_on_what_ran_before():
    flint = pytest.importorskip("flint")

    def body(i):
        root = Balls(i.bits).scalar(2).sqrt()
        return at_most(root * root - 2, Q(1), str(root))

    def seen(*bits):
        return [v.comparisons[0].label for v in check(made(body, on=[Instance(f"{b} bits", bits=b) for b in bits])).instances]
    before = flint.ctx.prec
    assert seen(64, 2000, 64)[2] == seen(64)[0] != seen(2000)[0]
    assert flint.ctx.prec == before


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (CertificateFailed("too wide"), "INCONCLUSIVE", "OPEN"),
        (TooLarge("2^40 outcomes"), "INCONCLUSIVE", "OPEN"),
        (NoFixedPoint("rate 1"), "INCONCLUSIVE", "OPEN"),
        (MissingLibrary("cvxpy is not installed"), "SKIPPED", "SKIPPED"),
        (BadInput("eta = -1"), "ERROR", "ERROR"),
        (ZeroDivisionError("division by zero"), "ERROR", "ERROR"),
    ],
)
def test_what_an_exception_means(error, status, word):
    verdict = check(made(raising(error)))
    assert (verdict.instances[0].status, verdict.word) == (status, word)
    assert str(error) in verdict.instances[0].reason


def test_an_unexpected_exception_says_where_it_happened():
    assert "at body, line" in check_instance(made(raising(KeyError("h"))), Instance("only")).reason


def test_an_error_on_one_instance_outweighs_a_refutation_on_another():
    claim = made(lambda i: i.c, on=[Instance("a", c=FALSE_EXACT), Instance("b")])
    verdict = check(claim)
    assert verdict.word == "ERROR"
    assert not verdict.as_expected
    assert any("has no 'c'" in s for s in verdict.surprises())


def test_skipped_is_no_disagreement_but_a_claim_skipped_in_part_is_judged_on_the_rest():
    claim = made(
        lambda i: i.c() if callable(i.c) else i.c,
        expect="CERTIFIED",
        domain="here",
        powerless="none applies",
        on=[Instance("a", c=EXACT), Instance("b", c=lambda: raising(MissingLibrary("gone"))(None))],
    )
    assert check(claim).word == "CERTIFIED"
    alone = check(replace(claim, on=claim.on[1:]))
    assert (alone.word, alone.as_expected) == ("SKIPPED", True)


# ---- hypotheses -------------------------------------------------------------------------------------------
small = Hypothesis("small", "$a\\le1$", lambda i: (i.a, 1))


def test_an_instance_outside_the_hypotheses_is_no_pass_and_no_failure():
    claim = made(lambda i: equal(1, 2), on=[Instance("a", a=Q(2))], needs=(small,), expect="SUPPORTED")
    verdict = check(claim)
    assert verdict.instances[0].status == "OUT_OF_SCOPE"
    assert verdict.instances[0].reason == "small fails: 2 against 1"
    assert (verdict.word, verdict.as_expected) == ("OPEN", False)


@pytest.mark.parametrize(
    ("sides", "strict", "holds"),
    [
        ((Q(1), 1), False, True),
        ((Q(1), 1), True, False),
        ((None, 1), False, False),
        ((0, None), False, False),
        ((0.5, Q(1)), True, True),
    ],
)
def test_hypotheses_show_both_numbers_and_none_never_holds(sides, strict, holds):
    shown = Hypothesis("h", "", lambda i: sides, strict).check(Instance("only"))
    assert shown.holds is holds
    assert ("none" in (shown.lhs, shown.rhs)) == (None in sides)


def test_a_hypothesis_that_no_ball_decides_does_not_hold():
    flint = pytest.importorskip("flint")
    root = flint.arb(2).sqrt()
    assert Hypothesis("h", "", lambda i: (root * root, Q(2))).check(None).holds is False
    assert Hypothesis("h", "", lambda i: (root, Q(3, 2))).check(None).holds is True


def test_a_hypothesis_that_crashes_is_an_error():
    broken = Hypothesis("broken", "", lambda i: (i.missing, 1))
    assert check(made(lambda i: EXACT, needs=(broken,))).word == "ERROR"


# ---- vacuous ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("proof", "word"),
    [
        (lambda: equal(Q(1), Q(1)), "VACUOUS"),
        (lambda: [TRUE, EXACT], "VACUOUS"),
        (lambda: FLOATING, "OPEN"),
        (lambda: FALSE_EXACT, "OPEN"),
    ],
)
def test_vacuous_only_with_a_strong_proof(proof, word):
    assert check(made(lambda i: EXACT, on=[Instance("a", a=2)], needs=(small,), vacuous=proof)).word == word


def test_a_claim_that_applies_somewhere_is_not_vacuous():
    claim = made(
        lambda i: EXACT,
        on=[Instance("a", a=2), Instance("b", a=1)],
        needs=(small,),
        vacuous=lambda: EXACT,
        domain="here",
    )
    assert check(claim).word == "CERTIFIED"


# ---- records ----------------------------------------------------------------------------------------------
def test_records_carry_counts_scope_and_no_objects():
    pytest.importorskip("flint")
    import json

    claim = made(
        contraction,
        on=[averaging(), averaging("other", eta="1/5"), averaging("float", domain=FLOAT)],
        rejects=(more_steps,),
    )
    first, *rest = check(claim).records()
    assert json.loads(json.dumps([first, *rest])) == [first, *rest]
    assert first["counts"] == {"HOLDS": 2, "FALSIFIED": 1}
    assert first["statement"] == "The coded round's factor is sum p_i (1 - eta h_i)^tau."
    assert [r["instance"] for r in rest] == ["fedavg", "other", "float"]
    assert rest[2]["evidence"] == "float"


def test_assert_holds_fails_like_a_table():
    claim = always(FALSE_EXACT, expect="CERTIFIED", domain="here")
    with pytest.raises(AssertionError, match=r"expected CERTIFIED") as failure:
        claim.assert_holds()
    assert "only: FALSIFIED  1 equal 2" in str(failure.value)
    always(EXACT, expect="CERTIFIED", domain="here", powerless="a constant").assert_holds()


def test_a_bound_looser_than_any_float_is_no_crash():
    claim = made(lambda i: at_most(i.left, 1), on=[Instance("tiny", left=Q(1, 10**400)), Instance("half", left=Q(1, 2))])
    tiny, half = check(claim).instances
    assert (tiny.status, tiny.looseness, half.looseness) == ("HOLDS", None, 2.0)
    assert check(claim).record()["looseness"] == [2.0, 2.0]


def test_instances_say_what_they_have():
    with pytest.raises(AttributeError, match=r"'only' has no 'b'; it has \['a'\]"):
        _ = Instance("only", a=1).b
    assert Instance("only", a=1).but(a=2, says="why").a == 2


def test_a_false_claim_of_a_paper_needs_a_finding_that_exists():
    claim = always(FALSE_EXACT, expect="FALSE", finding="w3")
    assert check(claim).as_expected                                   # a reader's own claim owes none
    paper = replace(claim, folder=Path("verification/sixth"))
    assert check(paper).surprises() == ["FALSE, and finding 'w3' stands nowhere: a statement is called false with a witness"]
    assert check(replace(paper, finding=None)).surprises() == [
        "FALSE, and no finding says why: a statement is called false with a witness"]
    assert check(replace(paper, finding=None, findings=frozenset({"w3"}))).as_expected
    assert check(replace(paper, findings=frozenset({"w3"}))).as_expected
    assert not check(replace(paper, findings=frozenset({"other"}))).as_expected
