"""Divergence is a result: said in words, compared at the precision that float64 has there, never a false alarm."""
import re

import numpy as np
import pytest

import fltheory as ft
from fltheory import runs
from fltheory.workbench.comparison import measure
from fltheory.workbench.comparison.precision import left_range, per_round
from fltheory.workbench.table import read_ridge
from verification.named_problems import DIABETES

pytest.importorskip("torch")

STEPS = (1, 2, 4, 8, 16)


@pytest.fixture(scope="module")
def diabetes():
    return read_ridge(DIABETES, "age", "target", bands=5)


def methods(lr, steps=STEPS):
    return {"FedAvg": ft.FedAvg(lr, steps), "FedNova": ft.FedNova(lr, steps), "Scaffold": ft.Scaffold(lr, steps)}


@pytest.mark.parametrize("lr", ["1/2", 1, 50])
def test_runs_that_leave_every_range_are_compared_in_words(diabetes, lr):
    made = ft.compare(methods(lr), diabetes, ft.Full(), stable=False)
    assert made.outside == []
    text = str(made)
    assert "diverges" in text and not re.search(r"\b(nan|inf)\b", text)
    growing = [e for e in made.entries if e.predicted.numbers["rate"] > 1.0001]
    assert {"FedNova"} <= {e.name for e in growing}
    for e in growing:
        error, factor = e.measured.checks["error"], e.measured.checks["contraction"]
        assert error.agrees is True and factor.agrees is True  # decided, not left open
        assert factor.predicted == pytest.approx(e.predicted.numbers["mean_square_rate"], rel=0.5)
        if not np.isfinite(error.value):
            assert "left the range of float64 (1.8e308)" in error.reason and "round" in error.reason


def test_the_round_in_which_a_run_leaves_the_range_is_said_and_compared(diabetes, monkeypatch):
    made = ft.compare(methods(1), diabetes, ft.Full(), stable=False)
    e = made.entries[0]
    k = left_range(e.predicted.path.error)
    assert abs(k - left_range(e.measured.trace.mean())) <= 1 and f"in round {k}" in str(made)
    right = runs.run  # a run that diverges much later is not what was predicted
    monkeypatch.setattr(measure, "run", lambda a, *rest, **given: right(ft.FedAvg("1/2", a.steps), *rest, **given))
    wrong = ft.compare({"FedAvg": ft.FedAvg(1, STEPS)}, diabetes, ft.Full(), stable=False)
    assert {k for _, k in wrong.outside} >= {"error", "contraction"}
    assert "diverges OUTSIDE" in str(wrong) or "OUTSIDE" in str(wrong)


def test_a_run_that_stays_where_divergence_was_predicted_is_outside(diabetes, monkeypatch):
    right = runs.run
    monkeypatch.setattr(measure, "run", lambda a, *rest, **given: right(ft.FedAvg("1/20", 1), *rest, **given))
    wrong = ft.compare({"FedAvg": ft.FedAvg(1, STEPS)}, diabetes, ft.Full(), stable=False)
    assert ("FedAvg", "error") in wrong.outside


def test_rounding_is_that_of_the_longest_round_of_a_schedule():
    mixed = [ft.Replay([([0, 1], short), ([0], long)]) for short, long in ((1, 50), (50, 1), (1, [1, 50]))]
    assert {per_round(law, 2, 3, 3) for law in mixed} == {per_round(ft.Full(steps=50), 2, 3, 3)}
    assert per_round(mixed[0], 2, 3, 3) > 10 * per_round(ft.Full(steps=1), 2, 3, 3)


def test_words_of_the_table(diabetes):
    made = ft.compare(methods(1), diabetes, ft.Full(), stable=False)
    text = " ".join(str(made).split())
    assert "FedAvg, FedNova, Scaffold diverge" in text and "nothing converges" in text
    row = made.rows[0]
    assert row["floor"] is None and "second moments grow" in row["reasons"]
    assert "diverge" not in str(ft.compare(methods("1/20"), diabetes, ft.Full(), stable=False))


def test_neutral_rounds_do_not_diverge():
    """lr L = 2: the error keeps its size for ever."""
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [2]])
    text = str(ft.compare([ft.FedAvg(2, 1)], problem, ft.Full(), rounds=20, x0=[5]))
    assert "diverge" not in text


def test_random_rounds_that_diverge_have_no_traceback(diabetes):
    for lr in (1, 50):
        made = ft.compare(methods(lr, 3), diabetes, ft.Uniform(2), "1/2", rounds=120, replicates=300, stable=False)
        assert made.outside == [] and "diverges" in str(made)


def test_smooth_problems_with_huge_steps_have_no_traceback():
    rng = np.random.default_rng(3)
    A = [1e3 * rng.standard_normal((m, 2)) for m in (5, 6)]
    logistic = ft.Logistic(A, [rng.integers(0, 2, len(a)) for a in A], 1)
    text = str(ft.compare([ft.FedAvg(50, 9), ft.Scaffold(1e300, 2)], logistic, ft.Full(), rounds=300))
    assert "OUTSIDE" not in text


def test_the_picture_of_a_divergence(diabetes, tmp_path):
    pytest.importorskip("matplotlib")
    ft.compare(methods(1), diabetes, ft.Full(), stable=False).plot(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_a_divergence_leaves_the_picture_to_those_that_converge(diabetes):
    pytest.importorskip("matplotlib")
    small = ft.compare({"FedAvg": ft.FedAvg("1/20", 2)}, diabetes, ft.Full(), stable=False)
    both = ft.compare({"FedAvg": ft.FedAvg("1/20", 2), "too large": ft.FedAvg(1, 2)}, diabetes, ft.Full(), stable=False)
    alone, beside = (made.plot().axes[0].get_ylim() for made in (small, both))
    assert both.entries[1].predicted.diverges and beside[0] == alone[0] and beside[1] < 1e4 * alone[1]


def test_a_start_at_the_optimum_still_gives_an_axis():
    pytest.importorskip("matplotlib")
    problem = ft.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]])
    made = ft.compare([ft.Scaffold("1/20", 2)], problem, ft.Full(), x0=[0.75], stable=False, rounds=50)
    low, high = made.plot().axes[0].get_ylim()
    assert low < 1e-13 < 1e-6 < high


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_on_round_off_covers_what_float64_really_loses(seed):
    """Derived path against run, sure rounds, growing and shrinking: the deviation stays under the slack, and the slack
    is small beside what is compared."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    roots = rng.standard_normal((n, d, d)) * 10.0 ** rng.integers(-2, 2)
    problem = ft.Quadratic(np.einsum("nij,nkj->nik", roots, roots), rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4))
    steps = tuple(int(k) for k in rng.integers(1, 20, n))
    lr = float(rng.uniform(0.05, 3)) / float(problem.constants.L)
    for algorithm in methods(lr, steps).values():
        made = ft.compare([algorithm], problem, ft.Full(), rounds=150, stable=False, x0=list(rng.standard_normal(d)))
        e = made.entries[0]
        path, trace = e.predicted.path, e.measured.trace
        assert made.outside == []
        both = np.isfinite(path.error) & np.isfinite(trace.mean())
        gap, slack = np.abs(path.error[both] - trace.mean()[both]), path.slack[both]
        assert (gap <= slack).all()
        large = path.error[both] > 1e-6 * path.scale  # far above rounding of the largest iterate
        assert (slack[large] <= 1e-3 * path.error[both][large]).all()
