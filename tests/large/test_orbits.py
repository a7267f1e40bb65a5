"""What may not matter: the numbering of clients, coordinates, units; and trajectories as sums over paths."""
from fractions import Fraction as Q

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fltheory as ft
from fltheory.core.numbers.scalars import RATIONAL
from tests.core.operators import brute
from tests.core.operators.brute import bernoulli, uniform
from tests.core.operators.rounds import ROUNDS, fractions

quick = settings(derandomize=True, deadline=None, max_examples=12)


def instances():
    """(Hessian entries, minimisers, weights, steps, probabilities) of three clients in the plane."""
    small = st.integers(-3, 3)
    client = st.tuples(small, st.integers(1, 4), st.integers(1, 4), small, small, st.integers(1, 5), st.integers(1, 3),
                       st.integers(1, 4))
    return st.lists(client, min_size=3, max_size=3)


def declared(rows):
    H = [[[Q(a + abs(o), 2), Q(o, 4)], [Q(o, 4), Q(b + abs(o), 2)]] for o, a, b, *_ in rows]
    c = [[Q(r[3]), Q(r[4])] for r in rows]
    total = sum(r[5] for r in rows)
    return H, c, [Q(r[5], total) for r in rows], tuple(r[6] for r in rows), tuple(Q(r[7], 4) for r in rows)


KINDS = [lambda lr, tau: ft.FedAvg(lr, tau), lambda lr, tau: ft.FedNova(lr, tau), lambda lr, tau: ft.Scaffold(lr, tau),
         lambda lr, tau: ft.Focus(lr, tau)]


def laws_of(p):
    return [ft.Full(), ft.Uniform(2), ft.Bernoulli(p), ft.Bernoulli(p, empty="redraw")]


def numbers(op):
    return [op.rate(), op.mean_square_rate(), op.reachable]


@quick
@given(instances(), st.permutations(range(3)), st.sampled_from(KINDS), st.integers(0, 3))
def test_numbering_the_clients_differently_changes_nothing(rows, order, kind, which):
    results = []
    for listed in (rows, [rows[k] for k in order]):
        H, c, w, tau, p = declared(listed)
        op = ft.derive(kind("1/50", tau), ft.Quadratic(H, c, w), laws_of(p)[which], noise=1)
        results.append((numbers(op), op.exact().fixed_point().x, op.floor()))
    (a, x, e), (b, y, f) = results
    assert a == pytest.approx(b, rel=1e-8) and fractions(x) == fractions(y) and e == pytest.approx(f, rel=1e-8)


@quick
@given(instances(), st.sampled_from(KINDS), st.integers(0, 3), st.integers(-5, 5),
       st.fractions(Q(1, 4), 4, max_denominator=4))
def test_moving_and_scaling_the_coordinates(rows, kind, which, shift, s):
    H, c, w, tau, p = declared(rows)
    law = laws_of(p)[which]
    op = ft.derive(kind("1/50", tau), ft.Quadratic(H, c, w), law, noise=1)
    moved = ft.derive(kind("1/50", tau), ft.Quadratic(H, [[v + shift for v in row] for row in c], w), law, noise=1)
    # f(x/s): Hessians shrink by s^2, so the step grows by s^2; gradients and their noise shrink by s
    small = [[[v / s**2 for v in row] for row in h] for h in H]
    wide = ft.Quadratic(small, [[s * v for v in row] for row in c], w)
    scaled = ft.derive(kind(Q(1, 50) * s**2, tau), wide, law, noise=1 / s)
    x = fractions(op.exact().fixed_point().x)
    assert fractions(moved.exact().fixed_point().x) == [v + shift for v in x]
    assert fractions(scaled.exact().fixed_point().x) == [s * v for v in x]
    assert numbers(op) == pytest.approx(numbers(moved), rel=1e-8) and numbers(op) == pytest.approx(numbers(scaled), rel=1e-8)
    assert op.floor() == pytest.approx(moved.floor(), rel=1e-8)
    assert op.floor() * float(s) ** 2 == pytest.approx(scaled.floor(), rel=1e-8)


@quick
@given(instances(), st.sampled_from(KINDS), st.integers(0, 3), st.fractions(Q(1, 5), 5, max_denominator=5))
def test_the_unit_of_the_losses_is_irrelevant(rows, kind, which, unit):
    H, c, w, tau, p = declared(rows)
    law = laws_of(p)[which]
    op = ft.derive(kind("1/50", tau), ft.Quadratic(H, c, w), law, noise=2)
    times = ft.Quadratic([[[unit * v for v in row] for row in h] for h in H], c, w)
    other = ft.derive(kind(Q(1, 50) / unit, tau), times, law, noise=2 * unit)
    assert numbers(op) == pytest.approx(numbers(other), rel=1e-8)
    assert fractions(op.exact().fixed_point().x) == fractions(other.exact().fixed_point().x)
    assert op.floor() == pytest.approx(other.floor(), rel=1e-8)


@quick
@given(instances(), st.sampled_from([ft.FedAvg, ft.Scaffold, ft.Focus]), st.integers(1, 3))
def test_trajectories_are_expectations_over_all_paths(rows, kind, which):
    H, c, w, tau, p = declared(rows)
    law = laws_of(p)[which]
    if kind is not ft.Focus and which == 2 and all(q < 1 for q in p):
        law, which = laws_of(p)[3], 3                            # the twins of the others keep x in an empty round too
    problem = ft.Quadratic(H, c, w)
    clients = brute.QuadraticClients(H, [list(v) for v in problem.b], w)
    chances = [uniform(3, 2), bernoulli(p), bernoulli(p, "redraw")][which - 1]
    x0, T = [Q(1), Q(-2)], 2
    D = 2 if kind is ft.FedAvg else 8
    outcomes = [(q, ROUNDS[kind](clients, Q(1, 10), [(i, tau[i]) for i in members])) for q, members in chances]
    paths = [(Q(1), x0 + [Q(0)] * (D - 2))]
    for mean, second in ft.derive(kind("1/10", tau), problem, law, domain=RATIONAL).trajectory(T + 1, x0):
        assert fractions(mean) == [sum(q * z[k] for q, z in paths) for k in range(2)]
        assert fractions(second) == [sum(q * z[k] * z[j] for q, z in paths) for k in range(2) for j in range(2)]
        paths = [(q * r, step(z)) for q, z in paths for r, step in outcomes]


@quick
@given(instances(), st.sampled_from(KINDS), st.integers(0, 3))
def test_long_averages_tend_to_the_stationary_one(rows, kind, which):
    H, c, w, tau, p = declared(rows)
    problem = ft.Quadratic(H, c, w)
    op = ft.derive(kind("1/10", tau), problem, laws_of(p)[which], noise=1)
    if op.mean_square_rate() > 0.99:
        return
    limit = op.mean_gradient_square(problem, None, [0, 0])
    averages = [op.mean_gradient_square(problem, T, [0, 0]) for T in (200, 400)]
    # the start is forgotten geometrically, so T (average - limit) settles: extrapolate it away
    assert 2 * averages[1] - averages[0] == pytest.approx(limit, rel=1e-3)
    assert abs(averages[1] - limit) <= abs(averages[0] - limit) + 1e-9 * limit
