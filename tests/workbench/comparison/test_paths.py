"""Predicted E|x_t - x*|^2 where second moments cannot be listed: beside listed ones, beside runs, and beside wrong ones."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.runs import run
from fltheory.runs.trace import Trace
from fltheory.workbench.comparison import measure, predict

METHODS = {"FedAvg": ft.FedAvg(.05, 3), "SCAFFOLD": ft.Scaffold(.05, 3)}
LAW, ROUNDS, START = ft.Uniform(4), 60, [2.0, -1.0]


def problem(n=12, d=2, same=False, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((1 if same else n, d, d))
    H = np.einsum("nij,nkj->nik", roots, roots) / d + np.eye(d)
    return ft.Quadratic(np.broadcast_to(H, (n, d, d)).copy(), np.broadcast_to(rng.standard_normal((len(H), d)), (n, d)).copy())


def compared(clients, methods=METHODS, law=LAW, replicates=400, **options):
    return ft.compare(methods, clients, law, rounds=ROUNDS, replicates=replicates, stable=False,
                      **{"x0": START} | options)


@pytest.fixture
def unlisted(monkeypatch):
    """Second moments count as too many to be listed."""
    monkeypatch.setattr(predict, "LARGEST_SECOND", 0)


@pytest.mark.parametrize("law", [LAW, ft.Bernoulli("1/3"), ft.Full()])
def test_paths_without_lists_are_those_of_lists(law, monkeypatch):
    dense = compared(problem(), law=law, noise=1, measure=False)
    monkeypatch.setattr(predict, "LARGEST_SECOND", 0)
    for a, b in zip(dense.entries, compared(problem(), law=law, noise=1, measure=False).entries, strict=True):
        assert a.predicted.path.operator.method == "dense" and b.predicted.path.operator.method == "structured"
        assert b.predicted.path.error == pytest.approx(a.predicted.path.error, rel=1e-9)
        assert b.predicted.path.mean == pytest.approx(a.predicted.path.mean, rel=1e-9, abs=1e-12)
        assert b.predicted.path.scale == pytest.approx(a.predicted.path.scale, rel=1e-9)
        for name in ("mean_square_rate", "floor"):
            assert b.predicted.numbers[name] == pytest.approx(a.predicted.numbers[name], rel=1e-7)


def test_the_path_runs_into_its_floor(unlisted):
    said = ft.compare(METHODS, problem(), LAW, noise=1, rounds=600, measure=False, stable=False)
    for e in said.entries:
        assert e.predicted.path.error[-1] == pytest.approx(e.predicted.numbers["floor"], rel=1e-6)


def test_runs_agree_at_the_stated_level_and_a_wrong_round_does_not(unlisted, monkeypatch):
    """99.9 % intervals of 16 numbers; then runs of another method, and a path that is 15 % off, must be told apart."""
    made = compared(problem(), noise=1)
    assert made.outside == [] and all(e.measured.checks["error"].agrees for e in made.entries)
    assert all(c.agrees is not None for e in made.entries for c in e.measured.checks.values())
    monkeypatch.setattr(measure, "run", lambda a, *rest, **given: run(ft.FedAvg(.05, 4), *rest, **given))
    assert {("SCAFFOLD", "error"), ("SCAFFOLD", "tail")} <= set(compared(problem(), noise=1).outside)


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_path_that_is_off_is_outside(unlisted, monkeypatch, factor):
    from fltheory.large.structured import Structured
    right = Structured.errors
    monkeypatch.setattr(Structured, "errors", lambda *given: right(*given) * factor)
    assert {(name, "tail") for name in METHODS} <= set(compared(problem(), noise=1).outside)


def test_equal_clients_beyond_the_lists_have_paths():
    """A state of 502 numbers, whose moments are those of equal clients."""
    clients = problem(500, 1, same=True)
    made = compared(clients, {"SCAFFOLD": METHODS["SCAFFOLD"]}, ft.Uniform(50), 200, noise=5, x0=[2.0])
    (entry,) = made.entries
    assert made.outside == [] and entry.measured.checks["error"].agrees and entry.measured.checks["tail"].agrees
    assert "exact moments of equal clients" in str(made)
    dense = ft.derive(METHODS["SCAFFOLD"], problem(8, 1, same=True), ft.Uniform(2), 5)
    assert entry.predicted.numbers["floor"] < dense.floor()


def test_rounds_without_randomness_have_paths_and_floors_for_any_number_of_clients():
    made = compared(problem(1500), {"SCAFFOLD": METHODS["SCAFFOLD"], "FedAvg": METHODS["FedAvg"]}, ft.Full())
    scaffold, fedavg = made.entries
    assert scaffold.predicted.path.operator.method == "structured" and scaffold.predicted.path.sure
    assert made.outside == [] and scaffold.measured.checks["contraction"].agrees
    assert scaffold.predicted.numbers["mean_square_rate"] == pytest.approx(scaffold.predicted.numbers["rate"] ** 2)
    assert predict.SURE in " ".join(str(made).split()) and fedavg.measured.checks["error"].agrees


def test_what_is_out_of_reach_says_so_in_words_and_the_rest_goes_on():
    made = compared(problem(400), METHODS, ft.Uniform(40), 50, noise=1)
    fedavg, scaffold = made.entries
    assert scaffold.predicted.path is None and scaffold.measured.trace is not None and isinstance(fedavg.measured.trace, Trace)
    assert fedavg.predicted.path is not None and fedavg.measured.checks["error"].agrees
    assert scaffold.measured.checks["error"].predicted is None and scaffold.measured.checks["error"].value > 0
    text = " ".join(str(made).split())
    assert "second moments of a state of 804 numbers, above 500, are left to ft.derive" in text and "no prediction" not in text


def test_what_grows_has_no_path_without_lists(unlisted):
    made = compared(problem(), {"wild": ft.Scaffold(3, 2)}, measure=False)
    (entry,) = made.entries
    assert entry.predicted.path is None and "no path of what grows" in entry.predicted.reasons["path"] and entry.predicted.diverges


def test_variances_of_errors_need_lists(unlisted):
    """So that few replicates decide nothing where a check fails, instead of something wrong."""
    (entry,) = compared(problem(), {"SCAFFOLD": METHODS["SCAFFOLD"]}, noise=1, measure=False).entries
    with pytest.raises(ft.TooLarge, match="fourth moments"):
        entry.predicted.path.spread(np.zeros(2), 5, None)


@pytest.mark.slow
def test_the_picture_has_the_line_and_its_floor(unlisted, tmp_path):
    pytest.importorskip("matplotlib")
    made = compared(problem(), noise=1)
    figure = made.plot(tmp_path / "p.png")
    left = figure.axes[0]
    lines = [np.asarray(line.get_ydata()) for line in left.lines]
    for e in made.entries:
        assert any(len(y) == ROUNDS + 1 and np.allclose(y, e.predicted.path.error) for y in lines)
        assert any(np.allclose(y, e.predicted.numbers["floor"]) for y in lines)


def test_a_floor_without_randomness_is_the_squared_distance():
    (entry,) = ft.compare({"a": ft.FedVarp(.05, 3)}, problem(1500), ft.Full(), rounds=5, measure=False, stable=False,
                          x0=START).entries
    numbers = entry.predicted.numbers
    assert numbers["floor"] == pytest.approx(numbers["distance"] ** 2, rel=1e-9) and numbers["distance"] > 1e-6


@pytest.mark.parametrize("lr, rounds", [(.05, 60), (.0005, 700)])
def test_the_slack_of_a_path_is_that_of_a_listed_one(monkeypatch, lr, rounds):
    def path():
        (entry,) = ft.compare({"s": ft.Scaffold(lr, 3)}, problem(), LAW, noise=1, rounds=rounds, measure=False, stable=False,
                              x0=START).entries
        return entry.predicted.path
    listed = path()
    monkeypatch.setattr(predict, "LARGEST_SECOND", 0)
    made = path()
    assert made.operator.method == "structured"
    assert np.broadcast_to(made.slack, (rounds + 1,)) == pytest.approx(np.broadcast_to(listed.slack, (rounds + 1,)), rel=.1)
