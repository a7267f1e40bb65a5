"""Assertions: what passes, the wrong algorithm that fails, what is refused, what is inconclusive, and the tables.

Intervals stand at level 0.9999 with fixed seeds.
"""
import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.algorithms.fedavg import shares
from fltheory.arrays import take
from fltheory.assertions.rates import _side
from fltheory.errors import BadInput
from tests.claims.folders import CLAIM, FINDING, WRONG, paper
from tests.test_pytest_plugin import pytest_in

ROOT = Path(__file__).parents[1]
ALL = ["assert_bias", "assert_claim", "assert_conforms", "assert_fixed_point", "assert_floor", "assert_linear_rate"]
LINE = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
PLANE = ft.Quadratic(H=[[[2, 1], [1, 2]], [[1, 0], [0, 1]], [["3/2", 0], [0, "1/2"]]], c=[[1, 0], [0, 2], [-1, 1]])


def op(algorithm, problem=LINE, law=None, **options):
    return ft.derive(algorithm, problem, law or ft.Full(), **options)


@dataclass(frozen=True)
class ScaffoldMean(ft.Scaffold):
    """A catalogued bug: c moves by the cohort's mean instead of all clients' weights. Converges all the same."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        share = shares(problem.at(draw.who), draw.present, "weighted")[..., None]
        return new._replace(c=s.c + (share * (take(new.ci, draw.who) - take(s.ci, draw.who))).sum(-2))


FEDAVG, FEDNOVA, SCAFFOLD = ft.FedAvg("1/20", [1, 10]), ft.FedNova("1/20", [1, 10]), ft.Scaffold("1/20", [1, 10])


@pytest.mark.parametrize("name", ALL)
def test_the_table_in_the_documentation_is_the_one_that_is_printed(name, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("flint")
    monkeypatch.chdir(ROOT)
    function = getattr(ft, name)
    example, = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert any("to read" in (e.exc_msg or "") or "repair" in (e.exc_msg or "") for e in example.examples)
    shown = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=shown.append).failed == 0, "".join(shown)


def test_a_changed_table_in_the_documentation_would_be_noticed():
    text = ft.assert_bias.__doc__.replace("0.1 ", "0.2 ")
    assert text != ft.assert_bias.__doc__
    example = doctest.DocTestParser().get_doctest(text, {}, "changed", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example, out=lambda s: None).failed == 1


# ---- fixed points --------------------------------------------------------------------------------------------
def test_fixed_points_exactly_and_in_floats():
    exact = op(FEDAVG).exact()
    x = exact.fixed_point().x
    assert ft.assert_fixed_point(exact, x).kind == "exact (rationals)"
    assert ft.assert_fixed_point(exact, [str(x[0])]).status == "HOLDS"
    assert ft.assert_fixed_point(op(FEDAVG), x).kind == "float"
    assert ft.assert_fixed_point(op(FEDNOVA), ["1/2"], tolerance="6e-2").status == "HOLDS"
    for wrong in (FEDNOVA, ft.FedAvg("1/20", [1, 10], averaging="weighted", solver=ft.Momentum("1/10"))):
        for form in (op(wrong), op(wrong).exact()):
            with pytest.raises(AssertionError, match="does not hold"):
                ft.assert_fixed_point(form, x)


def test_exact_means_exact_and_floats_mean_nine_digits():
    exact, x = op(FEDAVG).exact(), op(FEDAVG).exact().fixed_point().x
    near = [x[0] + Q(1, 10**12)]
    with pytest.raises(AssertionError, match="equality"):
        ft.assert_fixed_point(exact, near)
    ft.assert_fixed_point(exact, near, tolerance=Q(1, 10**12))
    with pytest.raises(AssertionError):
        ft.assert_fixed_point(exact, near, tolerance=Q(1, 10**12) - Q(1, 10**20))
    ft.assert_fixed_point(op(FEDAVG), near)
    ft.assert_fixed_point(exact, [float(x[0])])  # a float is compared as a float
    with pytest.raises(AssertionError, match="1e-9 of the scale"):
        ft.assert_fixed_point(op(FEDAVG), [x[0] + Q(1, 10**8)])


def test_a_fixed_point_at_the_origin_has_the_scale_of_the_problem():
    centred = ft.Quadratic(H=[[[1]], [["1/3"]]], c=[[-1], [3]])
    ft.assert_fixed_point(op(ft.Scaffold("1/10", [3, 2]), centred), [0])
    with pytest.raises(AssertionError):
        ft.assert_fixed_point(op(ft.FedAvg("1/10", [3, 2]), centred), [0])


def test_every_coordinate_counts():
    x = op(FEDAVG_PLANE, PLANE).exact().fixed_point().x
    ft.assert_fixed_point(op(FEDAVG_PLANE, PLANE), x)
    with pytest.raises(AssertionError) as failed:
        ft.assert_fixed_point(op(FEDAVG_PLANE, PLANE), [x[0], x[1] + 1])
    rows = [line for line in str(failed.value).splitlines() if line.startswith("  x[")]
    assert ["differs" in row for row in rows] == [False, True]
    starts = [re.search(r"\S+\s+\S+\s+(\S)", row).start(1) for row in rows]
    assert len(set(starts)) == 1  # aligned


FEDAVG_PLANE = ft.FedAvg("1/10", [1, 2, 5])


def test_without_a_fixed_point_the_reason_is_shown():
    flat = ft.Quadratic.from_linear(H=[[[0]], [[0]]], b=[[1], [0]])
    for form in (op(ft.FedAvg("1/10", 1), flat), op(ft.FedAvg("1/10", 1), flat).exact()):
        with pytest.raises(AssertionError, match="eigenvalue 1"):
            ft.assert_fixed_point(form, [0])
        with pytest.raises(AssertionError, match="eigenvalue 1"):
            ft.assert_bias(form, [0], reference=[0])


# ---- bias ----------------------------------------------------------------------------------------------------
def test_biases_as_distance_and_as_vector():
    exact = op(FEDAVG_PLANE, PLANE).exact()
    gap = exact.fixed_point().x - ft.optimum(PLANE).x
    ft.assert_bias(exact, gap)
    distance = float(np.linalg.norm(gap.astype(float)))
    ft.assert_bias(op(FEDAVG_PLANE, PLANE), distance)
    ft.assert_bias(exact, distance, tolerance=1e-12)
    with pytest.raises(AssertionError):
        ft.assert_bias(exact, Q(distance))  # the root is irrational: squares differ exactly
    with pytest.raises(AssertionError):
        ft.assert_bias(exact, -gap)
    ft.assert_bias(exact, 0, reference=exact.fixed_point().x)
    ft.assert_bias(op(FEDAVG).exact(), op(FEDAVG).exact().fixed_point().x[0] - Q(1, 2))


def test_a_bias_of_zero_and_the_wrong_algorithm_that_has_one():
    for good in (op(SCAFFOLD), op(SCAFFOLD).exact()):
        assert ft.assert_bias(good, 0).status == "HOLDS"
        ft.assert_bias(good, [0])
    for wrong in (op(FEDAVG), op(FEDAVG).exact()):
        with pytest.raises(AssertionError, match="Euclidean distance"):
            ft.assert_bias(wrong, 0)


def test_a_problem_without_minimiser_needs_a_reference():
    down = ft.Quadratic(H=[[[1]], [[-2]]], c=[[0], [1]])
    with pytest.raises(BadInput, match="reference"):
        ft.assert_bias(op(ft.FedAvg("1/10", 1), down), 0)
    ft.assert_bias(op(ft.FedAvg("1/10", 1), down), 0, reference=[2])


# ---- rates ---------------------------------------------------------------------------------------------------
def test_the_bug_that_moves_only_the_rate_is_caught_by_the_rate():
    # c then moves by more than the clients' weights: no bias, another rate
    law = ft.Uniform(1)
    good, wrong = op(ft.Scaffold("1/10", 2), LINE, law), op(ScaffoldMean("1/10", 2), LINE, law)
    rate = good.rate()
    assert abs(wrong.rate() - rate) > 1e-4
    assert wrong.rate() < 1
    ft.assert_linear_rate(good, rate)
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(wrong, rate)
    ft.assert_linear_rate(good, at_most=rate + 1e-5)


def test_exact_rates_are_decided_on_their_bound():
    pytest.importorskip("flint")
    gradient = ft.Quadratic(H=[[["1/2", 0], [0, 1]]], c=[[1, 2]])  # one step of 1: factors 1/2 and 0
    for form in (op(ft.FedAvg(1, 1), gradient), op(ft.FedAvg(1, 1), gradient).exact()):
        assert ft.assert_linear_rate(form, "1/2").status == "HOLDS"
        assert "characteristic" in ft.assert_linear_rate(form, at_most="1/2").kind  # equality: exact arithmetic decides
        ft.assert_linear_rate(form, "1/4", kind="mean-square")
        ft.assert_linear_rate(form, at_most="1/4", kind="mean-square")
        with pytest.raises(AssertionError, match="proved to be above it"):
            ft.assert_linear_rate(form, at_most=Q(1, 2) - Q(1, 10**20))
        ft.assert_linear_rate(form, at_most=Q(1, 2) + Q(1, 10**20))
    with pytest.raises(AssertionError):
        ft.assert_linear_rate(op(ft.FedAvg(1, 1), gradient).exact(), Q(1, 2) + Q(1, 10**20))


def test_a_rate_of_zero_is_decided_exactly():
    pytest.importorskip("flint")
    # momentum that forgets everything in two rounds: the powers vanish, float eigenvalues are 1e-8
    nilpotent = op(ft.ServerMomentum(1, 1, beta=0), ft.Quadratic(H=[[[1]]], c=[[3]]), start="any")
    ft.assert_linear_rate(nilpotent, 0)
    ft.assert_linear_rate(nilpotent.exact(), 0)
    with pytest.raises(AssertionError):
        ft.assert_linear_rate(op(ft.ServerMomentum(1, 1, beta="1/9"), ft.Quadratic(H=[[[1]]], c=[[3]]), start="any"), 0)


def test_an_irrational_rate_lies_in_its_enclosure():
    pytest.importorskip("flint")
    exact = op(FEDAVG_PLANE, PLANE).exact()
    rate = exact.rate()
    evidence = ft.assert_linear_rate(exact, rate)
    assert evidence.kind == "exact (certified enclosure)"
    with pytest.raises(AssertionError):
        ft.assert_linear_rate(exact, rate + 1e-6)
    ft.assert_linear_rate(exact, rate + 1e-6, tolerance=1e-5)
    with pytest.raises(AssertionError, match=r"proved to be (above|below)"):
        ft.assert_linear_rate(exact, Q(rate))


def test_large_second_moments_are_decided_by_certificates():
    pytest.importorskip("flint")
    rows = [[3, 1, 0, 1], [1, 2, 1, 0], [0, 1, 4, 1], [1, 0, 1, 2]]
    wide = ft.Quadratic(H=[rows, np.diag([1, 2, 3, 4]).tolist(), rows], c=[[1, 0, 2, 1], [0, 1, 1, 0], [2, 2, 0, 1]])
    exact = op(ft.Scaffold("1/10", [1, 2, 3]), wide, ft.Uniform(2)).exact()
    assert exact.moments.unknowns > 120
    rate = exact.mean_square_rate()
    assert ft.assert_linear_rate(exact, at_most=rate * 1.01, kind="mean-square").kind == "exact (one-sided certificate)"
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(exact, at_most=rate * 0.97, kind="mean-square")
    ft.assert_linear_rate(exact, rate, kind="mean-square", tolerance=rate / 100)
    with pytest.raises(AssertionError, match="inconclusive"):  # no enclosure of nine digits
        ft.assert_linear_rate(exact, rate, kind="mean-square")


def test_the_side_of_a_spectral_radius():
    pytest.importorskip("flint")
    def matrix(*rows):
        return np.array([[Q(v) for v in row] for row in rows], dtype=object)
    turn = matrix((0, -1), (1, 0))  # eigenvalues i, -i: modulus 1, no eigenvalue 1
    assert _side(turn, Q(1)) is None
    assert (_side(turn, Q(2)), _side(turn, Q(1, 2))) == (-1, 1)
    assert _side(matrix((-1, 5), (0, "1/2")), Q(1)) == 0
    assert _side(matrix((1, 1), (0, 1)), Q(1)) == 0
    assert _side(matrix((0, 1), (0, 0)), Q(0)) == 0
    assert _side(matrix((2, 1), (1, 1)), Q(2)) == 1
    assert (_side(None, Q(0)), _side(None, Q(1))) == (0, -1)


def test_rates_of_runs():
    pytest.importorskip("torch")
    sure = ft.run(FEDNOVA, LINE, ft.Full(), rounds=40, replicates=2, x0=[5])
    rate = op(FEDNOVA).rate()
    wrong = ft.run(replace(FEDNOVA, lr="1/10"), LINE, ft.Full(), rounds=40, replicates=2, x0=[5])
    # the error of FedNova settles at its bias: only rounds well above it tell the rate
    ft.assert_linear_rate(sure, rate, window=(0, 6))
    ft.assert_linear_rate(sure, rate**2, kind="mean-square", window=(0, 6))
    ft.assert_linear_rate(sure, at_most=rate * 1.03, window=(0, 6))
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(wrong, rate, window=(0, 6))
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_linear_rate(sure, at_most=rate / 2, window=(0, 6))
    noisy = ft.run(ft.FedAvg("1/10", 1), LINE, ft.Uniform(1), rounds=30, replicates=2000, x0=[50], seed=4)
    true = op(ft.FedAvg("1/10", 1), LINE, ft.Uniform(1)).mean_square_rate()
    ft.assert_linear_rate(noisy, true, kind="mean-square", window=(0, 12))
    with pytest.raises(BadInput, match="mean square"):
        ft.assert_linear_rate(noisy, true)
    mirrored = ft.run(ft.FedAvg(1, 1), LINE, ft.Uniform(1), rounds=30, replicates=50, x0=["1/2"])  # x in {0, 1}
    with pytest.raises(BadInput, match="mean square"):
        ft.assert_linear_rate(mirrored, 1, window=(1, 20))
    with pytest.raises(AssertionError, match="inconclusive"):
        ft.assert_linear_rate(ft.run(ft.FedAvg("1/10", 1), LINE, ft.Uniform(1), rounds=30, x0=[50]), true,
                              kind="mean-square", window=(0, 12))
    with pytest.raises(AssertionError, match="only 0 rounds lie well above the floor"):
        ft.assert_linear_rate(ft.run(FEDAVG, LINE, ft.Full(), rounds=20, replicates=2), rate)


# ---- floors --------------------------------------------------------------------------------------------------
def test_floors_exactly_in_floats_and_as_bounds():
    sampled = op(FEDAVG, LINE, ft.Uniform(1), noise=1)
    floor = sampled.exact().floor()
    ft.assert_floor(sampled.exact(), floor)
    ft.assert_floor(sampled, floor)
    ft.assert_floor(sampled.exact(), at_most=floor)
    ft.assert_floor(sampled, at_most=floor)
    for wrong in (op(replace(FEDAVG, averaging="unbiased"), LINE, ft.Uniform(1), noise="11/10"),
                  op(FEDNOVA, LINE, ft.Uniform(1), noise=2)):
        assert wrong.stable
        with pytest.raises(AssertionError, match="does not hold"):
            ft.assert_floor(wrong.exact(), floor)
        with pytest.raises(AssertionError, match="does not hold"):
            ft.assert_floor(wrong, floor)
    with pytest.raises(AssertionError):
        ft.assert_floor(sampled.exact(), at_most=floor - Q(1, 10**15))
    ft.assert_floor(op(SCAFFOLD), 0)
    ft.assert_floor(sampled.exact(), sampled.exact().floor([3]), reference=[3])


def test_a_diverging_floor_and_a_singular_one():
    wild = op(ft.FedAvg(1, 1), ft.Quadratic(H=[[[3]], [["1/10"]]], c=[[0], [1]]), ft.Uniform(1))
    assert not wild.stable
    for options in ({"expected": 1}, {"at_most": 10**9}):
        with pytest.raises(AssertionError, match="second moments grow without bound"):
            ft.assert_floor(wild, **options)


def test_intervals_of_runs():
    pytest.importorskip("torch")
    made = ft.run(FEDAVG, LINE, ft.Uniform(1), rounds=60, replicates=4000, noise=1, seed=3)
    exact = op(FEDAVG, LINE, ft.Uniform(1), noise=1)
    floor, x = exact.floor(), exact.fixed_point().x
    assert "99.9900%" in ft.assert_floor(made, floor).allowed
    ft.assert_floor(made, at_most=floor * 1.2)
    ft.assert_floor(made, floor * 1.02, tolerance=floor / 5)
    ft.assert_fixed_point(made, x)
    ft.assert_bias(made, abs(x[0] - 0.5))
    ft.assert_bias(made, x - 0.5)
    wrong = ft.run(replace(FEDAVG, steps=(1, 9)), LINE, ft.Uniform(1), rounds=60, replicates=12000, noise=1, seed=3)
    for claim in (lambda: ft.assert_fixed_point(wrong, x), lambda: ft.assert_bias(wrong, abs(x[0] - 0.5)),
                  lambda: ft.assert_floor(wrong, floor), lambda: ft.assert_floor(wrong, at_most=floor * 0.9),
                  lambda: ft.assert_bias(wrong, 0), lambda: ft.assert_floor(wrong, floor / 2, tolerance=floor / 10)):
        with pytest.raises(AssertionError, match="does not hold"):
            claim()
    few = ft.run(FEDAVG, LINE, ft.Uniform(1), rounds=60, replicates=20, noise=1, seed=3)
    one = ft.run(FEDAVG, LINE, ft.Uniform(1), rounds=60, noise=1, seed=3)
    for trace in (few, one):  # wide intervals contain everything and decide nothing
        for claim in (lambda t: ft.assert_fixed_point(t, x), lambda t: ft.assert_floor(t, floor),
                      lambda t: ft.assert_floor(t, at_most=floor * 1.1), lambda t: ft.assert_bias(t, x - 0.5),
                      lambda t: ft.assert_fixed_point(t, x, tolerance="1/100")):
            with pytest.raises(AssertionError, match="inconclusive"):
                claim(trace)


def test_the_interval_of_a_mean_model_covers_at_its_level():
    pytest.importorskip("torch")
    from fltheory.assertions.subjects import mean_ball
    law, missed, ratios = ft.Uniform(1), 0, []
    *_, (mean, _) = op(FEDAVG_PLANE, PLANE, law).trajectory(13, [0, 0])
    for seed in range(60):
        trace = ft.run(FEDAVG_PLANE, PLANE, law, rounds=12, replicates=50, seed=seed)
        centre, radius = mean_ball(trace, 0.9)
        missed += np.linalg.norm(centre - mean) > radius
        ratios.append(radius / np.linalg.norm(centre - mean))
    assert missed <= 12          # expected at most 6 of 60; 13 or more has probability 0.005
    assert np.median(ratios) < 5  # not so wide that it never could miss


def test_deterministic_runs_need_two_replicates_and_meet_the_prediction():
    pytest.importorskip("torch")
    made = ft.run(ft.FedAvg("1/4", [1, 3]), LINE, ft.Full(), rounds=200, replicates=2)
    x = op(ft.FedAvg("1/4", [1, 3])).fixed_point().x
    ft.assert_fixed_point(made, x)
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_fixed_point(made, x + 1e-4)
    short = ft.run(ft.FedAvg("1/4", [1, 3]), LINE, ft.Full(), rounds=8, replicates=2)
    with pytest.raises(AssertionError, match="what is"):
        ft.assert_fixed_point(short, x)


def test_a_trace_from_a_file_has_a_floor_and_no_problem(tmp_path):
    pytest.importorskip("torch")
    made = ft.run(ft.FedAvg("1/4", [1, 3]), LINE, ft.Full(), rounds=200, replicates=2)
    read = ft.Trace.load(made.save(tmp_path / "run"))
    floor = op(ft.FedAvg("1/4", [1, 3])).floor()
    assert "a trace of 200 rounds" in ft.assert_floor(read, floor).subject
    with pytest.raises(AssertionError, match="does not hold"):
        ft.assert_floor(read, 2 * floor)
    with pytest.raises(BadInput, match="without problem"):
        ft.assert_bias(read, 0)


def test_an_overflowing_run_is_no_agreement():
    pytest.importorskip("torch")
    with np.errstate(all="ignore"):
        made = ft.run(ft.FedAvg(9, 3), LINE, ft.Full(), rounds=400, replicates=2)
    assert not np.isfinite(made.final).all()
    for claim in (lambda: ft.assert_floor(made, at_most=1), lambda: ft.assert_floor(made, 1),
                  lambda: ft.assert_fixed_point(made, [0.5]), lambda: ft.assert_bias(made, 0),
                  lambda: ft.assert_linear_rate(made, at_most=1, kind="mean-square", window=(300, 390))):
        with pytest.raises(AssertionError):
            claim()


def test_a_trace_that_measured_something_else_is_refused():
    pytest.importorskip("torch")
    other = ft.run(FEDAVG, LINE, ft.Full(), rounds=5, replicates=2, metrics={"error": lambda x: 0 * x[..., 0]})
    with pytest.raises(BadInput, match="is not"):
        ft.assert_fixed_point(other, [1])
    with pytest.raises(BadInput, match="without problem"):
        ft.assert_fixed_point(replace(other, problem=None), [1])


# ---- refusals ------------------------------------------------------------------------------------------------
BAD = [
    (ft.assert_fixed_point, ([1, 2],), "shape"),
    (ft.assert_fixed_point, (1,), "shape"),
    (ft.assert_fixed_point, ([float("nan")],), "finite"),
    (ft.assert_fixed_point, (["inf"],), "no rational"),
    (ft.assert_fixed_point, ([None],), "no number"),
    (ft.assert_fixed_point, ([1], -1), "at least 0"),
    (ft.assert_fixed_point, ([1], float("inf")), "finite"),
    (ft.assert_fixed_point, ([1], None, 1), "level"),
    (ft.assert_fixed_point, ([10**400],), "beyond"),
    (ft.assert_fixed_point, ([1j],), "no number"),
    (ft.assert_fixed_point, ([[1], [1, 2]],), "equal length"),
    (ft.assert_bias, (float("nan"),), "finite"),
    (ft.assert_linear_rate, (10**400,), "beyond"),
    (ft.assert_bias, (-1,), "at least 0"),
    (ft.assert_bias, ([1, 2],), "shape"),
    (ft.assert_bias, (0, None, [1, 2]), "reference"),
    (ft.assert_linear_rate, (), "exactly one"),
    (ft.assert_linear_rate, ("1/2", "1/2"), "exactly one"),
    (ft.assert_linear_rate, (-1,), "at least 0"),
    (ft.assert_linear_rate, ([1],), "one number"),
    (ft.assert_linear_rate, ("1/2", None, "geometric"), "kind"),
    (ft.assert_linear_rate, (None, "1/2", "mean", "1/9"), "a bound has none"),
    (ft.assert_linear_rate, ("1/2", None, "mean", None, 0.99, (0, 3)), "window"),
    (ft.assert_floor, (), "exactly one"),
    (ft.assert_floor, (None, float("inf")), "finite"),
    (ft.assert_floor, (None, -1), "at least 0"),
    (ft.assert_floor, (True,), "truth value"),
    (ft.assert_conforms, (), "is no algorithm"),
]


@pytest.mark.parametrize(("function", "arguments", "rule"), BAD, ids=lambda v: getattr(v, "__name__", str(v))[:30])
def test_bad_arguments_are_refused_not_failed(function, arguments, rule):
    with pytest.raises(BadInput, match=rule):
        function(op(FEDAVG), *arguments)


@pytest.mark.parametrize("subject", [None, FEDAVG, LINE, ft.FedAvg, 3, "op", np.zeros(2)], ids=lambda v: str(type(v)))
def test_wrong_subjects_are_refused(subject):
    for call in (lambda: ft.assert_fixed_point(subject, [1]), lambda: ft.assert_bias(subject, 1),
                 lambda: ft.assert_linear_rate(subject, 1), lambda: ft.assert_floor(subject, 1)):
        with pytest.raises(BadInput, match="neither an operator nor a trace"):
            call()


def test_other_arithmetics_are_refused():
    eta, = ft.Field("eta").symbols
    symbolic = ft.derive(ft.FedAvg(eta, 1), LINE, ft.Full(), domain=ft.Field("eta"))
    with pytest.raises(BadInput, match="in floats or in rationals"):
        ft.assert_fixed_point(symbolic, ["1/2"])
    with pytest.raises(BadInput, match="symbol"):
        ft.assert_fixed_point(op(FEDAVG), [eta])


# ---- rules and claims ----------------------------------------------------------------------------------------
def test_conforming_and_not():
    assert ft.assert_conforms(ft.Scaffold("1/10")).ok
    assert ft.assert_conforms(ft.AdaptiveServer("1/10")).ok

    class Half(ft.FedAvg):
        def server(self, x, cohort, draw, change, mass):
            return x + 0.5 * change.sum(-2)

    with pytest.raises(AssertionError, match=r"test_assertions\.py, line \d+, in .*Half\.server"):
        ft.assert_conforms(Half("1/10"))


@pytest.fixture
def own(tmp_path):
    paper(tmp_path / "asserted_papers", rows=[CLAIM, WRONG, FINDING])
    return tmp_path / "asserted_papers"


def test_claims_and_findings_have_their_words(own):
    assert ft.assert_claim("half", paths=own).word == "CERTIFIED"
    assert ft.assert_claim("third", paths=[own / "own"]).word == "FALSE"
    assert ft.assert_claim("own/f1", paths=str(own)).word == "CONFIRMED"
    ft.assert_claim("third", paths=own, word="FALSE", quick=True)
    with pytest.raises(AssertionError, match="the word SUPPORTED"):
        ft.assert_claim("half", paths=own, word="SUPPORTED")


def test_a_mutated_paper_fails_with_its_numbers(own):
    (own / "own" / "formulas.py").write_text(
        "from fractions import Fraction\n\ndef share(k):\n    return Fraction(1, k + 1)\n")
    for name in [m for m in sys.modules if m.startswith("asserted_papers")]:
        sys.modules.pop(name)
    with pytest.raises(AssertionError) as failed:
        ft.assert_claim("half", paths=own)
    rows = [line.split() for line in str(failed.value).splitlines()]
    assert ["word", "CERTIFIED", "FALSE"] in rows
    assert ["two", "1", "2/3", "-1/3", "FALSIFIED", "(exact)"] in rows
    with pytest.raises(AssertionError, match="word        NOT CONFIRMED  CONFIRMED"):
        ft.assert_claim("f1", paths=own, word="NOT CONFIRMED")


def test_unknown_claims_words_and_folders_are_refused(own):
    for options, said in (({"id": "halff"}, "Close: half"), ({"id": 3}, "named by a string"),
                          ({"id": "zzz"}, "fltheory list"),
                          ({"id": "half", "word": "TRUE"}, "PROVED"), ({"id": "f1", "word": "FALSE"}, "CONFIRMED"),
                          ({"id": "half", "quick": 1}, "True or False")):
        with pytest.raises(BadInput, match=said):
            ft.assert_claim(**{"paths": own, **options})
    for paths in (3, None, [3]):
        with pytest.raises(BadInput, match="a list of folders"):
            ft.assert_claim("half", paths=paths)
    with pytest.raises(BadInput, match="does not exist"):
        ft.assert_claim("half", paths=own / "nowhere")


# ---- in a user's test file -----------------------------------------------------------------------------------
TESTS = '''
import fltheory as ft

LINE = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])


def op(algorithm):
    return ft.derive(algorithm, LINE, ft.Full())


def test_point():
    ft.assert_fixed_point(op(ft.{method}("1/2", [1, 2])).exact(), ["1/2"])


def test_bias():
    ft.assert_bias(op(ft.{method}("1/2", [1, 2])), 0)


def test_rate():
    ft.assert_linear_rate(op(ft.FedAvg("1/2", [1, 2])), at_most="{rate}")


def test_floor():
    ft.assert_floor(op(ft.{method}("1/2", [1, 2])), at_most="1/1000")


def test_rules():
    class Own(ft.FedAvg):
        def model(self, state):
            return state.x * {factor}
    ft.assert_conforms(Own("1/2"))


def test_claim():
    ft.assert_claim("{claim}", paths="asserted_papers")
'''


def test_a_passing_file_passes_and_a_failing_one_shows_tables_and_no_frame_of_ours(own):
    (own.parent / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    file = own.parent / "test_own.py"
    good = {"method": "Scaffold", "rate": "1/2", "factor": "2", "claim": "half"}
    file.write_text(TESTS.format(**good))
    code, out = pytest_in(own.parent, "test_own.py")
    assert code == 0, out
    assert "6 passed" in out
    formulas = own / "own" / "formulas.py"
    formulas.write_text(formulas.read_text().replace("Fraction(1, k)", "Fraction(1, k + 1)"))
    file.write_text(TESTS.format(method="FedAvg", rate="1/4", factor="state.x", claim="half"))
    code, out = pytest_in(own.parent, "test_own.py")
    assert code == 1, out
    assert "6 failed" in out
    failures = out.split("= FAILURES =")[1].split("short test summary")[0]
    shown = [line.removeprefix("E").split() for line in failures.splitlines()]
    for row in (["x[0]", "1/2", "3/5", "1/10", "<-", "differs"], ["distance", "0", "0.1", "0.1", "<-", "differs"],
                ["rate", "<=", "1/4", "0.375", "0.125", "<-"], ["floor", "<=", "0.001", "0.01", "0.009", "<-"],
                ["failed", "affine", "in", "the", "state"], ["word", "CERTIFIED", "FALSE"]):
        assert row in shown, (row, failures)
    places = set(re.findall(r"^(\S+\.py):\d+:", failures, re.M))
    assert places == {"test_own.py"}, places
    assert "def decided" not in failures


def test_importing_the_names_is_all_that_is_light():
    code = "import fltheory, sys; dir(fltheory); assert not [m for m in sys.modules if m.startswith('fltheory.assert')]"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
