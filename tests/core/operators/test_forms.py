"""Quadratic forms carried backwards through rounds: against forward trajectories from many starts; worst ratios."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT
from tests.core.operators.brute import three

LAWS = [ft.Full(), ft.Uniform(2), ft.Bernoulli("1/2"), ft.Bernoulli("1/3", empty="skip"), ft.Cyclic([[0], [1, 2]]),
        ft.Markov(("1/2", "1/3", "3/4"), "1/5", 3)]
FORM = [[2, 1, -3], [1, 5, "1/2"], [-3, "1/2", 7]]


@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("algorithm", [ft.FedAvg("1/20", 2), ft.Focus("1/50", 2), ft.Scaffold("1/20", 1)],
                         ids=lambda a: type(a).__name__)
def test_a_carried_form_is_the_forward_expectation(algorithm, law, rounds):
    problem = three()[0]
    op = ft.derive(algorithm, problem, law, noise="1/2", domain=ft.RATIONAL)
    F = op.carried(FORM, rounds)
    assert F.shape == (3, 3) and (F == F.T).all()
    form = np.array([[Q(v) for v in row] for row in FORM], dtype=object)
    for x0 in ([0, 0], [1, 0], [3, -2], ["1/7", "5/3"]):
        mean, second = (linalg.to_fractions(v) for v in list(op.trajectory(rounds + 1, x0))[-1])
        whole = np.block([[second, mean[:, None]], [mean[None], np.array([[1]], dtype=object)]])
        x = np.array([*[Q(v) for v in x0], Q(1)], dtype=object)
        assert x @ F @ x == (form * whole).sum()


@pytest.mark.parametrize("init", ["zero", "warm"])
def test_forms_of_the_state_and_in_floats(init):
    problem = three()[0]  # a warm start has gradients in its memories: its states have an origin of their own
    op = ft.derive(ft.Focus("1/50", 2, init=init), problem, ft.Bernoulli("1/2"), noise=1, domain=ft.RATIONAL)
    J, z0 = (linalg.to_fractions(v) for v in op.initial)
    whole, start = op.carried(FORM, 3, state=True), op.carried(FORM, 3)
    x = np.array([2, -1], dtype=object)
    z = np.append((J * x).sum(-1) + z0, [1])
    assert len(whole) == op.dimension + 1 and z @ whole @ z == np.append(x, [1]) @ start @ np.append(x, [1])
    assert op.in_domain(ft.FLOAT).carried(FORM, 3) == pytest.approx(start.astype(float), rel=1e-12)


def test_the_worst_start_of_a_bound():
    """x' = (1 - lr h) x per coordinate: the worst ratio of |x_T|^2 over |x_0|^2 is the slowest coordinate's."""
    problem = ft.Quadratic([[[1, 0], [0, 3]]], [[0, 0]])
    op = ft.derive(ft.FedAvg("1/10", 1), problem, ft.Full(), domain=ft.RATIONAL)
    square = np.diag([1, 1, 0])
    F = op.carried(square, 5)
    bound = np.diag([1, 1, Q(1, 1000)])
    worst = ft.worst_ratio(F, bound)
    assert Q(9, 10) ** 10 <= worst <= Q(9, 10) ** 10 + Q(1, 10**11) and isinstance(worst, Q)
    assert ft.worst_ratio(F.astype(float), bound.astype(float)) == pytest.approx(.9**10)
    noisy = ft.derive(ft.FedAvg("1/10", 1), problem, ft.Full(), noise=1, domain=ft.RATIONAL).carried(square, 5)
    assert ft.worst_ratio(noisy, bound) > 10 * worst  # at x_0 = 0 the noise is all there is


@pytest.mark.parametrize(("form", "bound", "ratio"), [
    ([[1, 0], [0, 1]], [[1, 0], [0, Q(1, 10**200)]], Q(10) ** 200),
    ([[1, 0], [0, 0]], [[1, 0], [0, Q(10) ** 250]], 1),
    ([[Q(1, 10**300)]], [[3]], Q(1, 3 * 10**300)),
    ([[Q(10) ** 300]], [[3]], Q(10**300, 3)),
    ([[-2, 0], [0, -5]], [[1, 0], [0, 1]], -2),
    ([[0, 0], [0, 0]], [[1, 0], [0, 1]], 0),
    ([[1, 0], [0, 0]], [[1, 1], [1, 1 + Q(1, 10**20)]], 10**20 + 1),          # definite, but not to floats
    ([[2]], [[Q(1, 3)]], 6),
], ids=str)
def test_the_worst_ratio_is_bounded_and_close(form, bound, ratio):
    found = ft.worst_ratio(form, bound)
    largest = max(abs(Q(v)) for row in form for v in row)
    assert ratio <= found <= ratio + Q(2, 10**9) * max(abs(ratio), largest)
    if max(abs(ratio), 1 / max(abs(ratio), Q(1, 10**290))) < 1e290 and ratio != 10**20 + 1:
        floats = (FLOAT.array(np.array(v, dtype=object)) for v in (form, bound))
        assert ft.worst_ratio(*floats) == pytest.approx(float(ratio), rel=1e-9)


@pytest.mark.parametrize("bound", [[[1, 1], [1, 1]], [[1, 1], [1, 1 - Q(1, 10**30)]], [[1, 0], [0, 0]], [[-1]],
                                   [[1.0, 1.0], [1.0, 1.0]]])
def test_bounds_that_are_not_definite_are_refused(bound):
    with pytest.raises(ft.BadInput, match="positive definite"):
        ft.worst_ratio(np.eye(len(bound), dtype=int), bound)


def test_exact_forms_are_exactly_symmetric():
    with pytest.raises(ft.BadInput, match="symmetric"):
        ft.worst_ratio([[1, Q(1, 10**30)], [0, 1]], [[1, 0], [0, 1]])


def test_refusals():
    op = ft.derive(ft.FedAvg("1/10", 1), three()[0], ft.Full())
    for form, rounds in (([[1]], 1), (FORM, -1), (FORM, 1.5), (FORM, True), ([[np.nan] * 3] * 3, 1)):
        with pytest.raises(ft.BadInput):
            op.carried(form, rounds)
    for form, bound in (([[1]], [[0]]), ([[1]], [[1, 0], [0, 1]]), ([1], [1]), ([], [])):
        with pytest.raises(ft.BadInput):
            ft.worst_ratio(form, bound)
