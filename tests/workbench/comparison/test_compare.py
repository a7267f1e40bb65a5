"""Predicted beside measured: they agree where they should, a wrong one is seen, and nothing kills the table."""

from dataclasses import dataclass
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory import runs
from fltheory.core.algorithms.fedavg import FedAvg, State
from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import spread
from fltheory.core.numbers.text import four_digits
from fltheory.core.statistics import Interval
from fltheory.workbench.comparison import measure
from fltheory.workbench.comparison.measure import Check
from fltheory.workbench.comparison.names import describe, named
from fltheory.workbench.comparison.predict import participants
from verification import named_problems as instances

pytest.importorskip("torch")

P = (Q(1, 2), Q(3, 10), Q(1, 5))
PROBLEM = ft.Quadratic(instances.table1_focus().H, instances.table1_focus().c, P)
LAWS = {"full": ft.Full(), "uniform": ft.Uniform(2), "bernoulli": ft.Bernoulli("2/3")}
STEPS = (1, 4, 2)
METHODS = [
    ft.FedAvg("1/20", STEPS),
    ft.FedProx("1/20", STEPS, mu=1),
    ft.FedNova("1/20", STEPS),
    ft.Scaffold("1/20", STEPS),
    ft.Focus("1/20", STEPS),
]


def table(methods=METHODS, law=LAWS["uniform"], noise="1/2", **given):
    return ft.compare(
        methods, PROBLEM, law, noise, **{"rounds": 60, "replicates": 1500, "x0": [3, -4], "stable": False} | given
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("noise", [None, "1/2"])
def test_predictions_lie_in_the_measured_intervals(law, noise):
    made = table(law=LAWS[law], noise=noise)
    assert made.outside == []
    for e in made.entries:
        assert {k: c.agrees for k, c in e.measured.checks.items()} == dict.fromkeys(measuring_keys(), True), e.name
        if law != "full" or noise:
            c = e.measured.checks["tail"]
            assert 0 < c.high - c.low < 0.5 * c.value  # an interval that could have excluded something


def measuring_keys():
    return ("error", "tail", "contraction", "bias")


def test_the_numbers_are_those_of_the_operator():
    row = table([METHODS[0]], measure=False, stable=True).rows[0]
    op = ft.derive(METHODS[0], PROBLEM, LAWS["uniform"], "1/2")
    best = ft.optimum(PROBLEM)
    gap = op.fixed_point().x - np.array(best.x, dtype=float)
    assert row["distance"] == pytest.approx(np.linalg.norm(gap)) and row["floor"] == pytest.approx(op.floor())
    assert row["rate"] == op.rate() and row["mean_square_rate"] == op.mean_square_rate()
    x = [Q(float(v)) for v in op.fixed_point().x]
    from fltheory.core.numbers.scalars import RATIONAL

    exact = PROBLEM.to(RATIONAL)
    assert row["loss_gap"] == pytest.approx(
        float(Q(str(exact.value(RATIONAL.array(np.array(x, dtype=object))))) - best.value)
    )
    w = ft.surrogate_weights(METHODS[0], LAWS["uniform"], 3, P)
    assert row["chi_square"] == pytest.approx(float(sum((a - b) ** 2 / b for a, b in zip(P, w, strict=True))))
    assert row["stable_step"] == ft.stable_steps(METHODS[0], PROBLEM, LAWS["uniform"], "1/2").first
    assert row["sent_up"] == 2 * 2 and row["error_measured"] is None


def test_chi_square_of_fedavg_has_the_closed_form():
    """E_p[tau] E_p[1/tau] - 1 (FedNova, after eq 10), and 0 for FedNova."""
    rows = table(METHODS[:3], LAWS["full"], None, measure=False).rows
    mean = sum(p * t for p, t in zip(P, STEPS, strict=True)) * sum(p / t for p, t in zip(P, STEPS, strict=True)) - 1
    assert rows[0]["chi_square"] == pytest.approx(float(mean)) and rows[2]["chi_square"] == pytest.approx(0, abs=1e-25)


@dataclass(frozen=True)
class Unweighted(FedAvg):
    """A wrong FedAvg: forgets the weights p."""

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        y = spread(s.x, draw.who)
        for k, on in draw.local_steps():
            y = y - self.lr * on * cohort.grad(y, draw.xi_at(k))
        present = draw.present[..., None] * 1
        return State(s.x + (present * (y - s.x[..., None, :])).sum(-2) / (present.sum(-2) + (present.sum(-2) == 0) * 1))


@pytest.mark.parametrize("law", LAWS)
def test_a_wrong_implementation_in_the_run_is_marked(law, monkeypatch):
    monkeypatch.setattr(measure, "run", lambda a, *rest, **given: runs.run(Unweighted(a.lr, a.steps), *rest, **given))
    made = table([METHODS[0]], law=LAWS[law])
    quantities = {k for _, k in made.outside}
    assert {"tail", "bias"} <= quantities
    text, page = str(made), made._repr_html_()
    assert text.count("OUTSIDE") >= 3 and "tail of FedAvg" in text.replace("\n", " ")
    assert "#f9d7c4" in page and made.rows[0]["tail_agrees"] is False
    c = made.entries[0].measured.checks["tail"]
    assert four_digits(c.value) in text  # the measured value stays visible


def test_a_wrong_prediction_is_marked(monkeypatch):
    from fltheory.core.operators.operator import Operator

    right = Operator.trajectory
    monkeypatch.setattr(
        Operator, "trajectory", lambda self, rounds, x0: ((m * 1.05, S * 1.05**2) for m, S in right(self, rounds, x0))
    )
    assert {k for _, k in table([METHODS[3]]).outside} >= {"tail"}
    assert {k for _, k in table([METHODS[3]], LAWS["full"], None).outside} >= {"tail", "bias"}


def test_one_bad_method_does_not_kill_the_table():
    methods = {
        "wild": ft.FedAvg(3, 2),
        "tame": ft.FedAvg("1/20", 2),
        "full only": ft.FedNovaVR("1/20", 2),
        "no operator": ft.AdaptiveServer("1/20", 2),
    }
    made = table(methods, ft.Bernoulli("1/2"), None, rounds=20, replicates=50, stable=True)
    wild, tame, only, adaptive = made.rows
    assert wild["floor"] is None and "unstable" in wild["reasons"] and wild["error_agrees"] is None
    assert "second moments grow" in wild["reasons"] and wild["error_measured"] > 1e6
    assert tame["error_agrees"] is True and tame["reasons"] == ""
    assert only["rate"] is None and "only full participation" in only["reasons"] and only["error_measured"] is None
    assert (
        adaptive["rate"] is None
        and "declares its round as not affine" in adaptive["reasons"]
        and adaptive["error_measured"] > 0
    )
    assert adaptive["error_predicted"] is None and adaptive["error_agrees"] is None
    for name in methods:
        assert name in str(made)


def test_methods_with_memories_cannot_meet_a_client_twice():
    made = table(METHODS[:1] + METHODS[3:4], ft.WithReplacement(2), rounds=5, replicates=10)
    assert made.rows[0]["rate"] is not None and made.rows[1]["rate"] is None
    assert "may draw one client twice" in made.rows[1]["reasons"]
    with pytest.raises(BadInput, match="may draw one client twice"):
        table(METHODS[3:4], ft.WithReplacement(2))


def test_no_fixed_point_no_minimiser_no_surrogate():
    flat = ft.Quadratic.from_linear([[[1, 0], [0, 0]]] * 2, [[1, 0], [0, 0]])
    row = ft.compare([ft.FedAvg("1/2", 1), ft.Scaffold("1/2", 1)], flat, ft.Full(), rounds=5).rows
    assert row[0]["distance"] is None and "NoFixedPoint" in row[0]["reasons"]
    assert row[0]["stable_step"] == 0 and "no surrogate weights" in row[1]["reasons"]
    down = ft.Quadratic.from_linear([[[0]], [[0]]], [[1], [1]])
    row = ft.compare([ft.FedAvg("1/2", 1)], down, ft.Full(), rounds=5, stable=False).rows[0]
    assert "no minimiser is known" in row["reasons"] and row["error_measured"] is None


def test_too_large_is_a_reason():
    many = ft.Quadratic([[[1]]] * 18, [[k] for k in range(18)])
    law = ft.Full(steps=ft.RandomSteps((("1/2", 1), ("1/2", 3))))
    row = ft.compare([ft.FedAvg("1/4")], many, law, rounds=3, replicates=8, stable=False).rows[0]
    assert "TooLarge" in row["reasons"] and row["rate"] is None and row["error_measured"] > 0


def test_what_torch_refuses_is_a_reason():
    made = table([METHODS[0], ft.AsyncFedED("1/20", 2)], LAWS["uniform"], rounds=3, replicates=4)
    assert made.rows[0]["error_measured"] > 0 and made.rows[1]["error_measured"] is None and made.rows[1]["reasons"]


def test_minibatches_have_runs_only():
    ridge = instances.diabetes(exact=False, clients="sex")
    row = ft.compare([ft.FedAvg("1/20", 2)], ridge, ft.Full(batch=4), rounds=5, replicates=20, stable=False).rows[0]
    assert row["rate"] is None and "mini-batch" in row["reasons"] and row["error_measured"] > 0
    assert row["chi_square"] == pytest.approx(0, abs=1e-25)  # small steps do not see the batch


def logistic():
    rng = np.random.default_rng(3)
    A = [rng.standard_normal((m, 2)) + k for k, m in enumerate((12, 7, 9))]
    return ft.Logistic(A, [rng.integers(0, 2, len(a)) for a in A], 0.1, weights=[0.5, 0.3, 0.2])


def test_smooth_problems_are_compared_where_the_run_arrives():
    made = ft.compare([ft.FedAvg("1/5", STEPS), ft.Scaffold("1/5", STEPS)], logistic(), ft.Full(), rounds=800)
    for e in made.entries:
        assert {k: c.agrees for k, c in e.measured.checks.items()} == {
            "error": True,
            "tail": True,
            "bias": True,
            "contraction": None,
        }
        assert "NotAffine" in e.predicted.reasons["stable_step"] and "local" in e.predicted.reasons["rate"]
    assert made.rows[0]["distance"] > 0.01 and made.rows[1]["distance"] < 1e-8
    assert made.rows[0]["loss_gap"] > 0
    early = ft.compare([ft.FedAvg("1/5", STEPS)], logistic(), ft.Full(), rounds=5).rows[0]
    assert early["error_agrees"] is None and "still on its way" in early["reasons"]
    random = ft.compare([ft.FedAvg("1/5", STEPS)], logistic(), ft.Uniform(2), rounds=5, replicates=20).rows[0]
    assert random["rate"] is None and "one round map" in random["reasons"] and random["error_measured"] > 0


def test_a_smooth_prediction_that_is_wrong_is_marked(monkeypatch):
    monkeypatch.setattr(measure, "run", lambda a, *rest, **given: runs.run(ft.FedNova(a.lr, a.steps), *rest, **given))
    assert ft.compare([ft.FedAvg("1/5", STEPS)], logistic(), ft.Full(), rounds=800).outside


# ---- forms -------------------------------------------------------------------------------------------------
def test_the_text_fits_and_names_are_readable(tmp_path):
    made = table(METHODS[:3], rounds=10, replicates=20)
    text = str(made)
    assert max(map(len, text.splitlines())) <= 120
    assert "Fewer than 256 replicates" in text and "Fewer" not in str(table(METHODS[:1], rounds=3, replicates=256))
    assert "Uniform(m=2), noise 1/2" in text and "x_inf" in text
    assert list(named(METHODS[:1] * 2)) == ["FedAvg(lr=1/20, steps=(1, 4, 2))", "FedAvg(lr=1/20, steps=(1, 4, 2)) #2"]
    assert describe(METHODS[1]) == "FedProx(lr=1/20, steps=(1, 4, 2), mu=1)"
    assert describe(ft.FedAvg(0.05, tuple(range(1, 30)))) == "FedAvg(lr=0.05, steps=(1, 2, .. 29 of them))"
    assert describe(ft.FedAvg("1/20", 2, ft.Momentum("1/2"))) == "FedAvg(lr=1/20, steps=2, solver=Momentum(rho=1/2))"


def test_seven_methods_fit_into_blocks():
    made = table({f"method {k} " + "x" * 150: ft.FedAvg(Q(1, 20 + k), 2) for k in range(7)}, measure=False)
    assert max(map(len, str(made).splitlines())) <= 120 and all(f"method {k}" in str(made) for k in range(7))


def test_html_is_escaped(tmp_path):
    made = table({"<script>alert(1)</script>": METHODS[0]}, measure=False)
    made.to_html(tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text()
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_hostile_names_are_escaped_in_every_form(tmp_path):
    pytest.importorskip("matplotlib")
    made = table({"_a\x1b[31m\u202e$b_$\ud800": METHODS[0]}, measure=False)
    made.to_html(tmp_path / "t.html")
    made.to_csv(tmp_path / "t.csv")
    for text in ((tmp_path / "t.html").read_text(), (tmp_path / "t.csv").read_text()):
        assert not {"\x1b", "\u202e"} & set(text) and "\\x1b" in text
    figure = made.plot(tmp_path / "t.png")
    assert any("\\x1b" in t.get_text() for t in figure.legends[0].get_texts())


@pytest.mark.parametrize("path", [None, 3, "", [1], b"x", "a\0.png", "\ud800.png"])
def test_what_is_no_file_is_refused(path):
    made = table(METHODS[:1], measure=False)
    for write in (made.to_csv, made.to_html, *([] if path is None else [made.plot])):
        with pytest.raises(BadInput):
            write(path)


def test_csv_holds_the_rows(tmp_path):
    import csv

    made = table(METHODS[2:4], rounds=10, replicates=20)
    made.to_csv(tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="") as handle:
        back = list(csv.DictReader(handle))
    assert [r["method"] for r in back] == [r["method"] for r in made.rows]
    assert float(back[0]["floor"]) == made.rows[0]["floor"] and back[1]["chi_square"] == ""
    assert back[0]["tail_agrees"] in ("True", "False")
    with pytest.raises(BadInput, match="cannot be written"):
        made.to_csv(tmp_path / "none" / "t.csv")


def test_the_picture_shows_predictions_runs_and_floors(tmp_path):
    pytest.importorskip("matplotlib")
    made = table(rounds=20, replicates=20)
    figure = made.plot(tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"
    left, right = figure.axes
    assert len(left.containers) == len(METHODS) and left.get_yscale() == "log"  # markers with intervals
    dashed = [line for line in left.lines if line.get_linestyle() == "--"]
    low, high = left.get_ylim()
    floors = [r["floor"] for r in made.rows]
    assert len(dashed) == len(floors) and all(low < f < high for f in floors)
    assert right.get_xlim()[1] > left.get_xlim()[1]
    for path in (tmp_path / "t.svg", tmp_path / "t.pdf"):
        made.plot(path)
    with pytest.raises(BadInput, match="picture"):
        made.plot(tmp_path / "t.exe")
    table(measure=False, rounds=5).plot(tmp_path / "only.png")


def test_a_check_decides_by_its_interval():
    span = (1.0, 0.9, 1.1)
    assert Check.of(1.05, span).agrees is True and Check.of(1.2, span).agrees is False
    assert Check.of(1.2, span, 0.2).agrees is True and Check.of(None, span).agrees is None
    assert Check.of(1.0, (np.nan, 0, 1)).agrees is None and Check.of(1.0, (1, -np.inf, np.inf)).agrees is None
    assert Check.of(np.inf, span).agrees is None and Check.of(2.0, span, undecided="why").reason == "why"
    assert isinstance(table([METHODS[0]], rounds=3, replicates=5).entries[0].measured.trace.interval(), Interval)


# ---- traffic and refusals ----------------------------------------------------------------------------------
def test_expected_participants():
    counts = {
        ft.Full(): 3,
        ft.Uniform(2): 2,
        ft.Bernoulli("1/4"): Q(3, 4),
        ft.WithReplacement(5): 5,
        ft.Bernoulli(("1/2", "1/4", "1/4"), empty="redraw"): 1 / (1 - Q(9, 32)),
        ft.Cyclic(((0,), (1, 2))): Q(3, 2),
    }
    for law, expected in counts.items():
        assert participants(METHODS[0], law.with_steps(2), 3) == expected
    assert participants(ft.AsyncFedED("1/20", 2), ft.EventClock(steps=2), 3) == 1
    random = ft.Uniform(2, steps=ft.RandomSteps((("1/2", 1), ("1/2", 3))))
    assert participants(METHODS[0], random, 3) == 2


@pytest.mark.parametrize(
    "given, says",
    [
        ({"algorithms": []}, "at least one method"),
        ({"algorithms": 3}, "no list"),
        ({"algorithms": [ft.FedAvg]}, "no algorithm"),
        ({"algorithms": {"": METHODS[0]}}, "names are texts"),
        ({"problem": 3}, "no problem"),
        ({"law": ft.Full}, "no law"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 10**6 + 1}, "1 to 1,000,000 rounds"),
        ({"replicates": True}, "replicates"),
        ({"seed": -1}, "seed"),
        ({"x0": [1]}, "x0"),
        ({"noise": -1}, "noise"),
        ({"law": ft.Uniform(9)}, "only 3 clients"),
        ({"device": "toaster"}, "device"),
        ({"on_progress": 3}, "no function"),
    ],
)
def test_bad_input_is_refused(given, says):
    call = {"algorithms": METHODS[:1], "problem": PROBLEM, "law": ft.Full(), "rounds": 2} | given
    with pytest.raises(BadInput, match=says):
        ft.compare(**call)


def test_symbols_have_no_table():
    pytest.importorskip("sympy")
    a = ft.Field("a").symbols[0]
    with pytest.raises(BadInput, match="symbols"):
        ft.compare(METHODS[:1], ft.Quadratic([[[a]]], [[1]]), ft.Full())


def test_the_function_survives_its_own_package():
    import fltheory.workbench.comparison.table

    assert callable(ft.compare) and Path(fltheory.workbench.comparison.__file__).parent.name == "comparison"
