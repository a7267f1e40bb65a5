"""What a claim rejects: catalogued bugs, dropped terms, other units."""
from dataclasses import replace
from fractions import Fraction as Q

import pytest

from fltheory.core.errors import BadInput, CertificateFailed, MissingLibrary, NoFixedPoint, TooLarge
from fltheory.core.evidence import Terms
from fltheory.core.relations import at_most, equal
from fltheory.verdicts import records
from fltheory.verdicts.claims.claim import Hypothesis, Instance
from fltheory.verdicts.deciding.check import apply_bug, check
from tests.verdicts.claims.examples import (
    EXACT,
    FALSE_EXACT,
    UNDECIDED,
    Searched,
    X,
    Y,
    always,
    averaging,
    bounded,
    contraction,
    made,
    more_steps,
)


# ---- mutants ----------------------------------------------------------------------------------------------
def harmless(algorithm):
    """Changes nothing that the claim sees."""
    return replace(
        algorithm, lr=algorithm.lr * 1, averaging="unbiased" if algorithm.averaging == "cohort" else "cohort"
    )


def nothing(algorithm):
    """Does not apply."""
    return None


def exploding(algorithm):
    """Diverges."""
    return replace(algorithm, lr=algorithm.lr * 100)


def unlike(algorithm):
    """Touches a field that the algorithm does not have."""
    return algorithm.momentum


def test_a_bug_is_killed_by_a_named_instance():
    pytest.importorskip("flint")
    verdict = check(made(contraction, on=[averaging()], rejects=(more_steps,), domain="here", expect="CERTIFIED"))
    assert verdict.mutants == [records.Mutant("more_steps", "bug", "killed", "fedavg", "One step too many.")]
    assert (verdict.word, verdict.powerless, verdict.as_expected) == ("CERTIFIED", False, True)


def test_a_surviving_bug_is_a_surprise():
    pytest.importorskip("flint")
    verdict = check(
        made(
            lambda i: equal(i.op.mean_map()[0][0, 0] * 0, 0),
            on=[averaging()],
            rejects=(more_steps,),
            domain="here",
            expect="CERTIFIED",
            powerless="on purpose",
        )
    )
    assert verdict.mutants[0].status == "survived"
    assert verdict.powerless
    both = made(contraction, on=[averaging()], rejects=(more_steps, proximal_zero), domain="here", expect="CERTIFIED")
    assert not check(both).as_expected
    assert check(both).surprises() == ["mutant proximal_zero survived"]


def proximal_zero(algorithm):
    """A proximal term of weight 0."""
    from fltheory.core.algorithms.solvers import Proximal

    return replace(algorithm, solver=Proximal(mu=0))


def test_unstable_and_inapplicable_bugs_do_not_count():
    pytest.importorskip("flint")
    verdict = check(made(contraction, on=[averaging()], rejects=(exploding, nothing, unlike)))
    assert [m.status for m in verdict.mutants] == ["unstable", "inapplicable", "inapplicable"]
    assert verdict.powerless
    assert verdict.mutants[1].detail.endswith("Inapplicable: changes nothing (on fedavg).")
    assert "Inapplicable: raises " in verdict.mutants[2].detail


@pytest.mark.parametrize("outcome", [
    KeyError("h"), BadInput("refused"), CertificateFailed("too wide"), TooLarge("2^40 outcomes"), NoFixedPoint("rate 1"),
    MissingLibrary("gone"), [UNDECIDED], []])
def test_only_a_falsified_comparison_kills_a_bug(outcome):
    """An error, a skip or an undecided comparison under a bug has rejected nothing."""
    def body(i):
        if i.algorithm.steps == 2:
            return EXACT
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    verdict = check(made(body, on=[averaging(), averaging("again")], rejects=(more_steps,), domain="here"))
    assert verdict.word == "CERTIFIED"
    assert [(m.status, m.by) for m in verdict.mutants] == [("survived", "")]
    assert verdict.powerless
    assert verdict.surprises()[0].startswith("POWERLESS")


def test_a_bug_outside_the_hypotheses_is_not_killed():
    pytest.importorskip("flint")
    two = Hypothesis("two", "$\\tau\\le2$", lambda i: (i.algorithm.steps, 2))
    verdict = check(made(contraction, on=[averaging()], needs=(two,), rejects=(more_steps,), domain="here"))
    assert [(m.status, m.by) for m in verdict.mutants] == [("survived", "")]


def test_a_bug_is_not_tried_where_the_claim_itself_does_not_hold():
    pytest.importorskip("flint")
    verdict = check(made(contraction, on=[averaging(eta="1/5")], rejects=(more_steps,)))
    assert (verdict.word, verdict.mutants[0].status) == ("FALSE", "inapplicable")
    assert verdict.mutants[0].detail.endswith("not tried where the claim is FALSIFIED (on fedavg).")


def test_a_bug_of_the_law_changes_the_law():
    from fltheory.core.laws.memoryless import Full

    def shorter(law):
        return Full(1)

    shorter.of = "law"
    changed = apply_bug(shorter, averaging())
    assert changed.law == Full(1)
    assert apply_bug(nothing, averaging()) is None
    assert apply_bug(lambda a: a, averaging()) is None
    assert apply_bug(more_steps, Instance("bare")) is None


def test_powerless_needs_a_reason():
    bare = check(always(EXACT, domain="here", expect="CERTIFIED"))
    assert bare.powerless
    assert not bare.as_expected
    assert "POWERLESS" in bare.surprises()[0]
    excused = check(always(EXACT, domain="here", expect="CERTIFIED", powerless="a constant"))
    assert excused.powerless
    assert excused.as_expected


def test_a_false_claim_needs_no_mutant():
    assert check(always(FALSE_EXACT, expect="FALSE")).as_expected


def test_each_term_must_be_needed_somewhere():
    parts = {"big": Q(3, 4), "small": Q(1, 4)}
    verdict = check(
        made(bounded(parts), on=[Instance("a", left=Q(1))], kind="bound", search=Searched(), expect="SUPPORTED")
    )
    assert [(m.name, m.status, m.by) for m in verdict.mutants] == [
        ("drop:big", "killed", "a"),
        ("drop:small", "killed", "a"),
    ]
    assert verdict.as_expected
    loose = check(
        made(bounded({**parts, "idle": Q(1)}), on=[Instance("a", left=Q(3, 2))], kind="bound", search=Searched())
    )
    assert {m.name: m.status for m in loose.mutants} == {
        "drop:big": "killed",
        "drop:small": "survived",
        "drop:idle": "killed",
    }
    assert loose.surprises() == ["mutant drop:small survived"]


def test_terms_of_an_equality_are_dropped_too():
    verdict = check(always(equal(X + Y, Terms(a=X, b=Y)), domain="all"))
    assert {m.status for m in verdict.mutants} == {"killed"}


def test_quick_mode_runs_no_mutants_and_calls_nothing_powerless():
    verdict = check(
        made(contraction, on=[averaging()], rejects=(more_steps,), domain="here", expect="CERTIFIED"), quick=True
    )
    assert (verdict.mutants, verdict.powerless, verdict.as_expected) == ([], False, True)


def test_a_mutant_applied_everywhere_makes_the_claim_fail():
    pytest.importorskip("flint")
    verdict = check(made(contraction, on=[averaging()]), mutant=lambda i: apply_bug(more_steps, i) or i)
    assert verdict.word == "FALSE"


# ---- units ------------------------------------------------------------------------------------------------
def gradient_bound(right):
    def body(i):
        """Half the squared gradient at 1 under a bound with or without the right units."""
        g = sum(Q(p) * (i.problem.H[k][0, 0] * i.x0[0] - i.problem.b[k][0]) for k, p in enumerate(i.problem.weights))
        return at_most(g * g / 2, Terms(all=right(i, g)))

    return body


@pytest.mark.parametrize(
    ("right", "status"),
    [
        (lambda i, g: g * g, "passed"),
        (lambda i, g: g * g + Q(i.constants.L) / 10, "failed"),
        (lambda i, g: 10 * abs(g), "failed"),
        (lambda i, g: 100 * Q(i.constants.L) ** 2, "failed"),   # right under f -> c f
        (lambda i, g: 100 / i.x0[0] ** 2, "failed"),            # right under x -> s x
    ],
)
def test_a_bound_must_not_depend_on_units(right, status):
    pytest.importorskip("flint")
    claim = made(
        gradient_bound(right),
        on=[averaging(x0=[Q(1)])],
        kind="bound",
        bound=True,
        search=Searched(),
        expect="SUPPORTED",
    )
    verdict = check(claim)
    assert verdict.dimensional.status == status
    assert verdict.as_expected == (status == "passed")


def test_units_are_not_claimed_where_nothing_was_compared():
    unscalable = made(bounded({"a": Q(1)}), on=[Instance("a", left=Q(1))], kind="bound", bound=True, search=Searched())
    assert check(unscalable).dimensional.status == "not applicable"
    without_terms = made(contraction, on=[averaging()], kind="bound", bound=True, search=Searched())
    assert check(without_terms).dimensional.status == "not applicable"


def test_units_of_a_problem_that_cannot_be_rescaled_do_not_crash():
    from fltheory.core.problems.huber import HuberLoss

    problem = HuberLoss([[[1]], [[1]]], [[0], [1]], 1)
    on = [averaging(left=Q(1)).but(problem=problem)]
    assert (
        check(made(bounded({"a": Q(1)}), on=on, kind="bound", bound=True, search=Searched())).dimensional.status
        == "not applicable"
    )
