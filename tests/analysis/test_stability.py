"""Stable step sizes: against closed forms, against the rates at other steps, certified, and where they are refused."""

import itertools
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.analysis import stability
from fltheory.analysis.stability import StableSteps, stable_steps
from fltheory.core.errors import BadInput, CertificateFailed, NotAffine
from fltheory.core.numbers.scalars import have
from verification import named_problems as instances


def scalar(h, weights=None):
    return ft.Quadratic([[[v]] for v in h], [[k] for k in range(len(h))], weights)


def closed_form(h, steps, p, up_to):
    """Intervals of |sum p_i (1 - lr h_i)^tau_i| < 1 in (0, up_to), by the roots of two polynomials."""
    total = sum((Q(w) * np.poly1d([-v, 1]) ** int(t) for v, t, w in zip(h, steps, p, strict=True)), np.poly1d([0]))
    total = np.poly1d([float(c) for c in total.coeffs])
    roots = np.concatenate([(total - 1).roots, (total + 1).roots])
    cuts = sorted({0.0, up_to, *(r.real for r in roots if abs(r.imag) < 1e-9 and 1e-9 < r.real < up_to)})
    stable = [(a, b) for a, b in itertools.pairwise(cuts) if abs(total((a + b) / 2)) < 1]
    merged = []
    for a, b in stable:
        if merged and merged[-1][1] == a:
            merged[-1] = (merged[-1][0], b)
        else:
            merged.append((a, b))
    return merged


HALF = (Q(1, 2), Q(1, 2))
CASES = [
    ((1, 10), (1, 1), HALF),
    ((1, 10), (2, 3), HALF),
    ((1, 5), (4, 1), HALF),
    ((2, 3, 7), (1, 5, 2), (Q(1, 2), Q(1, 3), Q(1, 6))),
    ((1, 2), (1, 4), (Q(3, 10), Q(7, 10))),
]


@pytest.mark.parametrize("h, steps, p", CASES)
def test_one_dimensional_fedavg_has_the_closed_form(h, steps, p):
    expected = closed_form(h, steps, p, 4.0)
    for measure in ("mean", "mean-square"):
        found = ft.stable_steps(ft.FedAvg(1, steps), scalar(h, p), ft.Full(), measure=measure, up_to=4)
        assert np.array(found.intervals) == pytest.approx(np.array(expected), rel=1e-9)
        assert found.first == pytest.approx(expected[0][1]) and found.crosses


def test_even_and_odd_steps_make_a_union_of_intervals():
    found = ft.stable_steps(ft.FedAvg(1, (4, 1)), scalar((1, 5)), ft.Full(), up_to=4)
    assert len(found.intervals) == 2 and found.intervals[1][0] > 4 * found.first
    assert Q(1, 2) in found and 2.9 in found and 1 not in found and "and" in str(found)


def test_a_scan_too_coarse_misses_an_interval_and_says_how_coarse_it_was():
    found = ft.stable_steps(ft.FedAvg(1, (4, 1)), scalar((1, 5)), ft.Full(), up_to=4, points=4)
    assert len(found.intervals) == 1 and found.between == 1


def test_the_mean_is_stable_for_longer_than_second_moments():
    problem, law = scalar((1, 10)), ft.Bernoulli("1/2")
    mean, square = (
        ft.stable_steps(ft.FedAvg(1, (2, 3)), problem, law, measure=m).first for m in ("mean", "mean-square")
    )
    assert square < 0.95 * mean
    between = ft.derive(ft.FedAvg((mean + square) / 2, (2, 3)), problem, law)
    assert between.rate() < 1 < between.mean_square_rate()


def test_a_proximal_solver_keeps_mu_or_alpha():
    """One client: the factor per round is a^K + b (1 - a^K)/(1 - a), a = 1 - lr h - b, b = lr mu or alpha."""
    h, K = 2, 3
    for given, b in (({"mu": 3}, lambda lr: 3 * lr), ({"alpha": "1/2"}, lambda lr: 0.5)):
        found = ft.stable_steps(ft.FedProx(1, K, **given), scalar((h,)), ft.Full(), up_to=2, points=400)

        def factor(lr, b=b):
            a = 1 - lr * h - b(lr)
            return a**K + b(lr) * sum(a**k for k in range(K))

        lr = np.linspace(1e-3, 2, 4001)
        stable = np.array([abs(factor(v)) < 1 for v in lr])
        assert [v in found for v in lr] == stable.tolist()
    mu, alpha = (
        ft.stable_steps(ft.FedProx(1, K, **g), scalar((h,)), ft.Full()).first for g in ({"mu": 3}, {"alpha": "1/2"})
    )
    assert abs(mu - alpha) > 0.1


@pytest.mark.parametrize(
    "algorithm",
    [
        ft.Scaffold(1, (1, 3, 2)),
        ft.Focus("1/7", 2),
        ft.VRLSGD("1/9", 2),
        ft.FedNovaVR("1/9", 2),
        ft.ServerMomentum("1/9", 2, beta="1/2"),
    ],
    ids=lambda a: type(a).__name__,
)
@pytest.mark.parametrize("law", [ft.Full(), ft.Bernoulli("1/2")], ids=["full", "half"])
def test_membership_agrees_with_the_operator_derived_afresh(algorithm, law):
    """The subspace of one step size serves the others: the rates of operators that share nothing say the same."""
    if law != ft.Full() and not algorithm.partial:
        pytest.skip("full participation only")
    problem = instances.table1_focus()
    found = ft.stable_steps(algorithm, problem, law, points=40)
    ends = [v for i in found.intervals for v in i]
    for k in range(1, 24):
        lr = found.up_to * k / 24.37
        if min(abs(lr - v) for v in [*ends, 0]) > 1e-6:
            assert (lr in found) == (ft.derive(replace(algorithm, lr=lr), problem, law).mean_square_rate() < 1)


def test_a_degenerate_step_size_does_not_set_the_subspace():
    """lr h = 1 forgets everything in one step: its reachable subspace is too small for other steps and is redone."""
    problem = scalar((1, 2, 1))
    small, generic = (ft.derive(ft.Focus(lr, 2), problem, ft.Full()).reachable for lr in (1, "1/3"))
    assert small < generic
    one, other = (ft.stable_steps(ft.Focus(lr, 2), problem, ft.Full()) for lr in (1, "1/3"))
    assert np.array(one.intervals) == pytest.approx(np.array(other.intervals))


def test_a_flat_problem_is_never_stable():
    found = ft.stable_steps(ft.FedAvg(1, 2), instances.flat(), ft.Full(), up_to=1)
    assert found.intervals == () and found.first == 0 and found.crosses and "no scanned step" in str(found)
    with pytest.raises(CertificateFailed, match="no first crossing"):
        ft.stable_steps(ft.FedAvg(1, 2), instances.flat(), ft.Full(), up_to=1, certify=True)


def test_a_rate_that_only_touches_one_makes_a_narrow_gap():
    """FOCUS, one client h = 1, five local steps: at lr = 1 the local steps forget where they began: no contraction."""
    problem = scalar((1,))
    found = ft.stable_steps(ft.Focus("1/2", 5), problem, ft.Full())
    assert np.array(found.intervals) == pytest.approx(np.array([[0, 1], [1, 2]]), abs=2e-3)
    at_one = ft.derive(ft.Focus(1, 5), problem, ft.Full(), start="any").exact()
    assert at_one.certify().mean[1] >= 1 if have("flint") else at_one.rate() >= 1


def test_the_default_scan_grows_until_it_meets_instability():
    weights = [Q(99, 100), Q(1, 100)]
    found = ft.stable_steps(ft.FedAvg(1, 1), scalar((1, 100), weights), ft.Full())
    assert found.first == pytest.approx(2 / 1.99) and found.up_to > 4 / 100


@pytest.mark.parametrize("measure", ["mean", "mean-square"])
def test_a_certified_bracket(measure):
    if measure == "mean" and not have("flint"):
        pytest.skip("mean enclosures need python-flint")
    problem, law, algorithm = scalar((1, 10)), ft.Bernoulli("1/2"), ft.FedAvg(1, (2, 3))
    found = ft.stable_steps(algorithm, problem, law, measure=measure, certify=True)
    low, high = found.bracket
    assert low < found.first < high and high - low < Q(1, 1000) and "certified" in str(found)
    sides = [ft.derive(replace(algorithm, lr=lr), problem, law).certify(width=1e-5) for lr in (low, high)]
    below, above = (getattr(c, "mean" if measure == "mean" else "mean_square") for c in sides)
    assert below[1] < 1 <= above[0]


def test_no_bracket_where_nothing_can_be_certified(monkeypatch):
    monkeypatch.setattr(stability._Rates, "_certified", lambda self, lr: None)
    with pytest.raises(CertificateFailed, match="both sides"):
        ft.stable_steps(ft.FedAvg(1, 2), scalar((1, 10)), ft.Full(), certify=True)


def test_what_is_refused():
    problem = scalar((1, 2))
    for bad in ({"measure": "median"}, {"up_to": 0}, {"up_to": "-1"}, {"points": 1}, {"points": True}, {"points": 2.5}):
        with pytest.raises(BadInput):
            ft.stable_steps(ft.FedAvg(1, 1), problem, ft.Full(), **bad)
    with pytest.raises(BadInput, match="no law"):
        ft.stable_steps(ft.FedAvg(1, 1), problem, ft.Full)
    with pytest.raises(NotAffine):
        ft.stable_steps(ft.AsyncFedED(1, 1), problem, ft.EventClock())


def test_a_costly_scan_keeps_to_fewer_points_and_finds_the_same():
    """Many unknowns: the iterative route against the dense one, on the same scan."""
    problem, law, algorithm = instances.table1_focus(), ft.Bernoulli("1/2"), ft.Scaffold(1, 2)
    dense = ft.stable_steps(algorithm, problem, law, points=16)
    iterative = stability._Rates(algorithm, problem, law, None, "mean-square")
    iterative.costly = True
    assert iterative.excess(dense.first) == pytest.approx(0, abs=1e-9)
    assert isinstance(dense, StableSteps) and stable_steps is ft.stable_steps
