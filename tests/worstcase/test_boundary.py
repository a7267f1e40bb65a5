"""Certificates of bounds that are met with equality, where no multipliers lie strictly inside."""
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.worstcase.boundary import _simplest, certify_at
from fltheory.worstcase.certificate import certify, holds
from fltheory.worstcase.worst import question

pytest.importorskip("cvxpy")
pytest.importorskip("flint")


def programme(measure, initial, method=None, kind=None, **given):
    return question(method or ft.FedAvg("1/5", 1), kind or ft.Smooth(1), ft.Full(), measure, initial, **given).programme()


def spread_of_gradients(s):
    """|grad f(x) - grad f(z)|^2 of one smooth client at two free points: at most |x - z|^2, and nothing bounds the gradients."""
    g = s.grads(s.vectors("z"))[0]
    return s.square(s.grad(s.x) - g)


def near(s):
    return s.square(s.x - s.vectors("z")[0]) <= 1


def dissimilar(s):
    return s.mean_square(s.grads(s.x) - s.grad(s.x)) <= 1


def drift(s):
    """The spread of two clients' models after one local step from a common model."""
    moved = s.x - s.grads(s.x) * ft.RATIONAL.scalar(Q(1, 5))
    return s.mean_square(moved - (s.problem.p[..., None] * moved).sum(-2))


def descent(s):
    """F(next) - F(x) + eta/2 |grad F(x)|^2 <= eta/2 |grad F(x) - h|^2 where next = x - eta h, with equality at h = 0."""
    h = (s.x - s.next) * 5
    return (s.F(s.next) - s.F(s.x) + s.square(s.grad(s.x)) / 10) * 10 - s.square(s.grad(s.x) - h)


def test_a_bound_that_is_met_with_equality():
    p = programme(drift, [dissimilar], clients=2)
    found = certify_at(p, Q(1, 25))
    assert found is not None and found.bound == Q(1, 25) and holds(p, found)
    assert certify_at(p, Q(1, 26)) is None  # smaller than the truth


def test_what_grows_for_free_gets_no_multiplier():
    p = programme(drift, [dissimilar, lambda s: s.square(s.x) >= 0], clients=2)
    found = certify_at(p, Q(1, 20))
    assert found is not None and holds(p, found) and not holds(p, found.at(Q(1, 30)))


def test_ordinary_bounds_have_one_too():
    p = programme(spread_of_gradients, [near], clients=1)
    assert certify(p, 1.0) is not None and certify_at(p, Q(2)) is not None and certify_at(p, Q(9, 10)) is None


def test_the_relation_falls_back_on_it():
    found = ft.certified_over(ft.FedAvg("1/5", 1), ft.Smooth(1), clients=2, left=drift, tight="spread",
                              terms={"spread": ("1/25", lambda s: s.mean_square(s.grads(s.x) - s.grad(s.x)))})
    assert (found.status, found.lhs, found.evidence) == ("HOLDS", Q(1, 25), "exact")


def test_matrix_conditions_are_left_alone():
    p = programme(spread_of_gradients, [near], kind=ft.QuadraticClass(1, "-1"), clients=1)
    assert not p.matrices or certify_at(p, Q(2)) is None


@pytest.mark.parametrize(("x", "near"), [(0.3333, Q(1, 3)), (-0.125, Q(-1, 8)), (1e-9, 0), (0.4999, Q(1, 2))])
def test_coordinates_are_small_rationals(x, near):
    assert _simplest(x) == near
