"""Decays of each client's own: one number per client, in every arithmetic, under every law."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.numbers.scalars import RATIONAL
from fltheory.workbench.conformance import conforms

GAMMA = (Q(1, 2), Q(9, 10), Q(0))
STEPS = (3, 2, 4)
LR = Q(1, 20)
PROBLEM = ft.Quadratic([[[1]], [[3]], [[2]]], [[0], [1], [-2]], ["1/2", "1/3", "1/6"])


def change(i, x):
    """(local change, |a_i|_1) of client i from x, in words of school."""
    y, total = x, Q(0)
    h, c = PROBLEM.H[i, 0, 0], PROBLEM.c[i, 0]
    for k in range(STEPS[i]):
        pace = GAMMA[i] ** k
        y, total = y - LR * pace * h * (y - c), total + pace
    return y - x, total


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_operator_is_that_of_a_loop_over_cohorts(m):
    from itertools import combinations

    for method in ("FedAvg", "FedNova"):
        op = ft.derive(getattr(ft, method)(LR, STEPS, ft.Decay(GAMMA)), PROBLEM, ft.Uniform(m), domain=RATIONAL)
        M, c = op.mean_map()

        def mean(x, method=method):
            sets, total = list(combinations(range(3), m)), Q(0)
            for chosen in sets:
                p = [PROBLEM.weights[i] / sum(PROBLEM.weights[j] for j in chosen) for i in chosen]
                moves = [change(i, x) for i in chosen]
                if method == "FedAvg":
                    total += sum(w * v for w, (v, _) in zip(p, moves, strict=True))
                else:
                    total += (sum(w * a for w, (_, a) in zip(p, moves, strict=True))
                              * sum(w * v / a for w, (v, a) in zip(p, moves, strict=True)))
            return x + total / len(sets)
        assert c[0] == mean(Q(0)) and M[0, 0] == mean(Q(1)) - mean(Q(0))


def test_weights_of_the_surrogate_count_the_decays():
    w = ft.surrogate_weights(ft.FedAvg(LR, STEPS, ft.Decay(GAMMA)), ft.Full(), 3, PROBLEM.weights)
    mass = [p * change(i, Q(0))[1] for i, p in enumerate(PROBLEM.weights)]
    assert list(w) == [v / sum(mass) for v in mass]


@pytest.mark.parametrize("law", [ft.Full(), ft.Uniform(2), ft.Bernoulli("1/2"), ft.WithReplacement(2)])
def test_batched_runs_take_the_right_clients_decay(law):
    pytest.importorskip("torch")
    methods = [ft.FedAvg(LR, STEPS, ft.Decay(GAMMA)), ft.FedNova(LR, STEPS, ft.Decay(GAMMA))]
    made = ft.compare(methods, PROBLEM, law, rounds=30, replicates=600, stable=False, x0=[4])
    assert made.outside == [] and all(e.measured.checks["error"].agrees for e in made.entries)
    wrong = ft.run(ft.FedAvg(LR, STEPS, ft.Decay(GAMMA[::-1])), PROBLEM, law, rounds=30, replicates=600, x0=[4])
    assert not wrong.interval().contains(made.rows[0]["error_predicted"])


def test_equal_decays_are_one_decay():
    one, each = (ft.derive(ft.FedNova(LR, STEPS, ft.Decay(g)), PROBLEM, ft.Uniform(2), domain=RATIONAL).mean_map()
                 for g in ("2/3", ["2/3"] * 3))
    assert (one[0] == each[0]).all() and (one[1] == each[1]).all()


def test_variance_reduction_takes_them():
    a, b = (ft.derive(ft.FedNovaVR(LR, STEPS, ft.Decay(g)), PROBLEM, ft.Full(), domain=RATIONAL).fixed_point().x
            for g in (["2/3"] * 3, "2/3"))
    assert (a == b).all()


def test_symbols_and_floats():
    pytest.importorskip("sympy")
    a, b = ft.Field("a b").symbols
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [0]])
    op = ft.derive(ft.FedAvg("1/2", 2, ft.Decay([a, b])), problem, ft.Full(), domain=ft.Field("a b"))
    M, _ = op.mean_map()
    assert M[0, 0] == (1 - a / 2) / 4 + (1 - b / 2) / 4
    floats = ft.derive(ft.FedAvg(0.05, STEPS, ft.Decay(np.array([.5, .9, 0.]))), PROBLEM, ft.Full())
    exact = ft.derive(ft.FedAvg(LR, STEPS, ft.Decay(GAMMA)), PROBLEM, ft.Full())
    assert floats.rate() == pytest.approx(exact.rate(), rel=1e-14)


def test_records_are_equal_hashed_and_written():
    a, b = ft.FedAvg(LR, STEPS, ft.Decay(["1/2", "9/10", 0])), ft.FedAvg(LR, STEPS, ft.Decay(GAMMA))
    assert a == b and hash(a) == hash(b) and a != ft.FedAvg(LR, STEPS, ft.Decay(GAMMA[::-1]))
    assert repr(ft.Decay([0.5, 0.25])) == "Decay(gamma=(0.5, 0.25))" and repr(ft.Decay("1/2")) == "Decay(gamma='1/2')"


def test_conformance_and_identification():
    pytest.importorskip("torch")
    algorithm = ft.FedAvg("1/20", STEPS, ft.Decay(GAMMA))
    for made in (algorithm, ft.FedNova("1/20", None, ft.Decay(["1/2", 1, "1/3", 0]))):
        report = conforms(made)
        assert report.ok, report

    def code(x, clients, cohort, gamma=GAMMA):
        p = np.array([c.weight for c in clients], dtype=float)
        out = []
        for i in cohort:
            y = np.array(x, dtype=float)
            for k in range(STEPS[i]):
                y = y - 0.05 * float(gamma[i]) ** k * clients[i].grad(y)
            out.append(y)
        w = p[list(cohort)] / p[list(cohort)].sum()
        return (w[:, None] * np.array(out)).sum(0)
    assert ft.identify(code, 3, 2, algorithm).matches
    swapped = ft.identify(lambda x, clients, cohort: code(x, clients, cohort, GAMMA[::-1]), 3, 2, algorithm)
    assert not swapped.matches


@pytest.mark.parametrize("gamma", [[], [[1]], [-1, 0], ["a"], [None], [float("nan"), 1], np.ones((2, 2)), -1, None, [True]])
def test_what_is_no_decay_is_refused(gamma):
    with pytest.raises(BadInput):
        ft.Decay(gamma)


def test_one_per_client_means_n():
    with pytest.raises(BadInput, match="one per client, so 3"):
        ft.derive(ft.FedAvg(LR, STEPS, ft.Decay([1, 1])), PROBLEM, ft.Full())
    pytest.importorskip("torch")
    with pytest.raises(BadInput, match="one per client, so 3"):
        ft.run(ft.FedAvg(LR, STEPS, ft.Decay([1] * 4)), PROBLEM, ft.Uniform(2), rounds=2)
