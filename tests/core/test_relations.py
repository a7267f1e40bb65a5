"""Relations: true, false and undecided in every arithmetic; evidence computed from the types that were compared."""

import math
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.core.errors import BadInput
from fltheory.core.evidence import Bounds, Terms, evidence_of, number, show
from fltheory.core.numbers.scalars import Field
from fltheory.core.relations import (
    agrees,
    at_most,
    at_status,
    equal,
    equivalent,
    induction,
    limit,
    nonnegative,
    status_of,
)
from fltheory.core.statistics import Interval

FIELD = Field("x y")
X, Y = FIELD.symbols
HALF = Interval(0.5, 0.1, 0.999, 256)


def verdict(c):
    return c.status, c.evidence


# ---- equal ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lhs", "rhs", "status", "evidence"),
    [
        (X * X - Y * Y, (X + Y) * (X - Y), "HOLDS", "symbolic"),
        (X, X + 1, "FALSIFIED", "symbolic"),
        (X / X, 1, "HOLDS", "symbolic"),
        (Q(1, 3), Q(2, 6), "HOLDS", "exact"),
        (Q(1, 3), Q(1, 3) + Q(1, 10**40), "FALSIFIED", "exact"),
        (0.1 + 0.2, 0.3, "HOLDS", "float"),
        (1.0, 1.0 + 0.9e-9, "HOLDS", "float"),
        (1.0, 1.0 + 1.2e-9, "FALSIFIED", "float"),
        (0.0, 1e-300, "FALSIFIED", "float"),
        (float("nan"), float("nan"), "FALSIFIED", "float"),
        ([Q(1), Q(2)], [1, 2], "HOLDS", "exact"),
        ([Q(1), Q(2)], [1, 2.0], "HOLDS", "float"),
        (np.array([X, Y]), np.array([X, Y]), "HOLDS", "symbolic"),
        (Q(1), Terms(a=Q(1, 3), b=Q(2, 3)), "HOLDS", "exact"),
        (1, True, "HOLDS", "float"),
    ],
)
def test_equal_decides_and_names_its_evidence(lhs, rhs, status, evidence):
    assert verdict(equal(lhs, rhs)) == (status, evidence)


def test_equal_names_the_entries_that_differ():
    assert equal([1, 2, 3], [1, 5, 4]).detail == "entries [1, 2] differ"
    assert equal([1, 2, 3], [1, 5, 4]).margin == -3


def test_equal_refuses_vectors_of_different_length():
    with pytest.raises(BadInput, match="one shape"):
        equal([1, 2], [1, 2, 3])


def test_flint_rationals_equal_fractions_although_python_says_otherwise():
    flint = pytest.importorskip("flint")
    third = flint.fmpq(1, 3)
    assert verdict(equal(third, Q(1, 3))) == ("HOLDS", "exact")
    assert verdict(equal(np.array([third]), [Q(1, 2)])) == ("FALSIFIED", "exact")
    assert verdict(at_most(third, Q(1, 3))) == ("HOLDS", "exact")
    assert verdict(at_most(Q(1, 3), third, strict=True)) == ("FALSIFIED", "exact")
    assert at_status(third, Q(1, 3)) == (True, 0)
    assert verdict(equal(flint.fmpz(2), Q(2))) == ("HOLDS", "exact")


def test_balls_overlapping_disjoint_and_touching():
    flint = pytest.importorskip("flint")
    root = flint.arb(2).sqrt()
    assert verdict(equal(root * root, Q(2))) == ("HOLDS", "ball")
    assert "overlap" in equal(root * root, 2).detail
    assert verdict(equal(root, Q(3, 2))) == ("FALSIFIED", "ball")
    assert verdict(at_most(root, Q(3, 2))) == ("HOLDS", "ball")
    assert verdict(at_most(Q(3, 2), root)) == ("FALSIFIED", "ball")
    assert verdict(at_most(root * root, 2)) == ("INCONCLUSIVE", "ball")
    assert verdict(at_most(2, root * root, strict=True)) == ("INCONCLUSIVE", "ball")
    assert verdict(at_most(flint.arb(1), Q(1))) == ("HOLDS", "ball")
    assert verdict(equal([root, 1.0], [root, 1])) == ("HOLDS", "float")


# ---- at_most ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lhs", "rhs", "strict", "status", "evidence"),
    [
        (Q(1, 3), Q(1, 2), False, "HOLDS", "exact"),
        (Q(1, 2), Q(1, 3), False, "FALSIFIED", "exact"),
        (Q(1, 2), Q(1, 2), False, "HOLDS", "exact"),
        (Q(1, 2), Q(1, 2), True, "FALSIFIED", "exact"),
        (0.3, 0.5, False, "HOLDS", "float"),
        (0.5, 0.3, False, "FALSIFIED", "float"),
        (0.5, 0.5, False, "HOLDS", "float"),
        (0.5, 0.5, True, "INCONCLUSIVE", "float"),
        (1.0, 1.0 + 1e-10, False, "INCONCLUSIVE", "float"),
        (1.0 + 1e-10, 1.0, False, "INCONCLUSIVE", "float"),
        (1.0, 1.0 + 3e-9, False, "HOLDS", "float"),
        (1.0 + 3e-9, 1.0, False, "FALSIFIED", "float"),
        (float("nan"), 1.0, False, "INCONCLUSIVE", "float"),
        (1.0, float("nan"), False, "INCONCLUSIVE", "float"),
        (Bounds(Q(1), Q(2)), Q(2), False, "HOLDS", "exact"),
        (Bounds(Q(1), Q(3)), Q(2), False, "INCONCLUSIVE", "exact"),
        (Bounds(Q(3), Q(4)), Q(2), False, "FALSIFIED", "exact"),
        (Bounds(Q(1), Q(2)), Q(2), True, "INCONCLUSIVE", "exact"),
        (Bounds(Q(2), Q(3)), Q(2), True, "FALSIFIED", "exact"),
        (Bounds(1.0, Q(3, 2)), Q(2), False, "HOLDS", "float"),
        (Q(1), Terms(a=Q(1, 2), b=Q(1, 2)), False, "HOLDS", "exact"),
        (Q(1), Terms(a=Q(1, 2), b=0.6), False, "HOLDS", "float"),
    ],
)
def test_at_most_decides_and_names_its_evidence(lhs, rhs, strict, status, evidence):
    assert verdict(at_most(lhs, rhs, strict=strict)) == (status, evidence)


def test_at_most_measures_margin_looseness_and_terms():
    c = at_most(Q(1, 4), Terms(start=Q(1, 2), noise=Q(1, 4)))
    assert (c.margin, c.looseness, c.terms) == (Q(1, 2), 3, {"start": Q(1, 2), "noise": Q(1, 4)})
    assert at_most(0, 1).looseness is None


def test_symbols_have_no_order():
    with pytest.raises(BadInput, match="no order"):
        at_most(X, Y)


@pytest.mark.parametrize(("found", "expected", "allowed", "bound", "status"), [
    (Q(1, 3), Q(1, 3), 0, False, "HOLDS"),
    (Q(1, 3), Q(1, 3) + Q(1, 10**30), 0, False, "FALSIFIED"),
    (Q(1, 4), Q(1, 3), 0, True, "HOLDS"),
    (Q(1, 2), Q(1, 3), 0, True, "FALSIFIED"),
    (Q(1, 2), Q(1, 3), Q(1, 6), True, "HOLDS"),
    (Bounds(Q(1), Q(2)), Q(3, 2), Q(1, 2), False, "HOLDS"),
    (Bounds(Q(1), Q(2)), Q(3, 2), Q(1, 3), False, "INCONCLUSIVE"),
    (Bounds(Q(1), Q(2)), 3, Q(1, 2), False, "FALSIFIED"),
    (Bounds(Q(1), Q(2)), Q(3, 2), 0, True, "INCONCLUSIVE"),
    (Bounds(Q(1), Q(2)), Q(1, 2), 0, True, "FALSIFIED"),
    (Interval(1.0, 0.5, 0.99, 300), 1.2, 0.7, False, "HOLDS"),
    (Interval(1.0, math.inf, 0.99, 1), 1.2, 0.7, False, "INCONCLUSIVE"),
])
def test_what_is_enclosed_must_lie_there_as_a_whole(found, expected, allowed, bound, status):
    assert status_of(found, expected, allowed, bound) == status


def test_the_interval_of_a_run_lies_below_a_bound_as_a_whole_or_decides_nothing():
    made = at_most(Interval(1.0, 0.5, 0.99, 300), Terms(a=1, b=1))
    assert (made.status, made.evidence, made.margin, made.looseness) == ("HOLDS", "statistical", 1.0, 2.0)
    assert at_most(Interval(1.0, 0.5, 0.99, 300), Q(5, 4)).status == "INCONCLUSIVE"
    few = at_most(Interval(1.0, 0.5, 0.99, 16), 2)
    assert few.status == "INCONCLUSIVE" and "16 replicates" in few.detail


# ---- evidence ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "evidence"),
    [
        ((X, Q(1)), "symbolic"),
        ((X, 0.5), "float"),
        ((Q(1), 1), "exact"),
        ((Q(1), 1.0), "float"),
        ((Q(1), np.float64(1)), "float"),
        ((np.array([Q(1), 0.5], dtype=object),), "float"),
        ((Terms(a=Q(1), b=0.5),), "float"),
        ((HALF, Q(1, 2)), "statistical"),
        ((Bounds(Q(0), Q(1)),), "exact"),
        ((Bounds(0.0, Q(1)),), "float"),
        ((np.int64(3),), "exact"),
        ((True,), "float"),
        ((), "none"),
    ],
)
def test_evidence_is_that_of_the_weakest_number(values, evidence):
    assert evidence_of(*values) == evidence


def test_a_symbol_next_to_a_ball_is_only_as_good_as_the_ball():
    flint = pytest.importorskip("flint")
    assert evidence_of(X, flint.arb(1)) == "ball"
    assert evidence_of(Q(1), flint.arb(1), 0.5) == "float"


# ---- statistics and equivalence ---------------------------------------------------------------------------
def test_agrees_when_the_interval_contains_the_prediction():
    assert verdict(agrees(HALF, Q(11, 20))) == ("HOLDS", "statistical")
    assert verdict(agrees(HALF, Q(3, 4))) == ("FALSIFIED", "statistical")
    assert agrees(HALF, Q(11, 20)).margin == pytest.approx(0.05)


def test_an_infinite_interval_agrees_with_nothing():
    assert agrees(Interval(0.5, float("inf"), 0.999, 1), 7).status == "INCONCLUSIVE"
    few = agrees(Interval(0.5, 0.1, 0.999, 255), 7)  # rare outcomes may be missing from so few
    assert few.status == "INCONCLUSIVE" and "255 replicates" in few.detail


def test_equivalent_compares_truth_values():
    true, false = (True, (Q(1), Q(2))), (False, (Q(2), Q(1)))
    assert verdict(equivalent(true, true)) == verdict(equivalent(false, false)) == ("HOLDS", "exact")
    assert verdict(equivalent(true, false)) == ("FALSIFIED", "exact")
    assert equivalent(true, (True, (1.0, 2))).evidence == "float"


# ---- signs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("polynomial", "status"),
    [
        (X * X + 3 * Y, "HOLDS"),
        ((X + 1) / (Y + 2), "HOLDS"),
        (0 * X, "HOLDS"),
        ((-X - 1) / (-Y - 2), "HOLDS"),
        ((X - Y) * (X - Y), "INCONCLUSIVE"),
        (X - Y, "INCONCLUSIVE"),
        (-X, "FALSIFIED"),
        ((-X - 1) / (Y + 2), "FALSIFIED"),
        (X / (-Y - 2), "FALSIFIED"),
    ],
)
def test_nonnegative_reads_coefficients(polynomial, status):
    assert verdict(nonnegative(polynomial)) == (status, "symbolic")


def test_nonnegative_of_a_number_is_a_comparison():
    assert verdict(nonnegative(Q(1))) == ("HOLDS", "exact")
    assert verdict(nonnegative(Q(-1))) == ("FALSIFIED", "exact")


# ---- induction and limits ---------------------------------------------------------------------------------
def test_induction_needs_a_true_base_and_a_true_step():
    base, step = [(X - X, 0)], [(X * Y + Y, (X + 1) * Y)]
    good = induction(base, step)
    assert verdict(good) == ("HOLDS", "symbolic")
    assert "1 base and 1 step" in good.detail
    false_base = induction([(X, X + 1)], step)
    assert (false_base.status, false_base.detail) == ("FALSIFIED", "base fails")
    false_step = induction(base, [(X, Y)])
    assert (false_step.status, false_step.detail) == ("FALSIFIED", "step fails")


def test_an_induction_over_numbers_proves_nothing_for_all():
    assert induction([(Q(1), Q(1))], [(Q(2), Q(2))]).evidence == "exact"
    assert induction([(Q(1), Q(1))], [(X, X)]).evidence == "symbolic"
    assert induction([(Q(1), 1.0)], [(X, X)]).evidence == "float"


@pytest.mark.parametrize(("base", "step"), [([], [(X, X)]), ([(X, X)], []), ([], [])])
def test_an_induction_without_base_or_step_is_refused(base, step):
    with pytest.raises(BadInput, match="induction"):
        induction(base, step)


def test_limit_substitutes_in_lowest_terms_and_refuses_poles():
    assert limit((X * X - X) / X, "x") == -1
    assert list(limit(np.array([X + Y, Q(3)], dtype=object), "x", at=2)) == [2 + Y, 3]
    with pytest.raises(BadInput, match="pole"):
        limit(1 / X, "x")
    with pytest.raises(BadInput, match="symbols"):
        limit(X, "z")


# ---- what a reader sees -----------------------------------------------------------------------------------
def test_numbers_and_texts_of_sides():
    assert [
        number(v) for v in (Q(1, 2), X, [1, 2], HALF, Bounds(Q(0), Q(1, 4)), Terms(a=1, b=2), float("inf"), None, True)
    ] == [0.5, None, None, 0.5, 0.25, 3.0, None, None, None]
    assert show(Q(1, 3)) == "1/3"
    assert show([Q(1), 0.5]) == "(1, 0.5)"
    assert show(Bounds(Q(0), Q(1, 4))) == "in [0, 1/4]"
    assert "bit rational" in show(Q(3**2000, 2**3000))


def test_dropping_and_scaling_terms():
    terms = Terms(a=Q(1, 2), b=X)
    assert terms.total == X + Q(1, 2)
    assert terms.without("b").total == Q(1, 2)
    assert terms.scaled(2).total == 1 + 2 * X
