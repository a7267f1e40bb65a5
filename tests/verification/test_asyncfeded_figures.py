"""AsyncFedED's figures: committed tables regenerate and draw; data, clock and cells of experiments; the published logs' table."""
import json
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.problems.plain import Rows
from fltheory.runs.streams import Stream
from fltheory.verdicts.report.figures import figures_of, from_csv, to_csv
from tests.verdicts.report.test_figures import same
from verification.asyncfeded import digits, figures, published, synthetic, tasks, text
from verification.asyncfeded import experiments_cells as runs
from verification.asyncfeded import experiments_read as read

FOLDER = Path(__file__).parents[2] / "verification" / "asyncfeded"
FIGURES, EXPERIMENTS = figures_of(FOLDER), figures_of(FOLDER, experiments=True)
pytest.importorskip("sklearn")
pytest.importorskip("torch")


def committed(name):
    return from_csv(FOLDER / "data" / f"{name}.csv")


@pytest.mark.parametrize("name", FIGURES)
def test_committed_tables_regenerate(name, tmp_path):
    (tmp_path / "new.csv").write_text(to_csv(FIGURES[name].data()))
    fresh = from_csv(tmp_path / "new.csv")
    assert len(fresh) == len(committed(name))
    for a, b in zip(fresh, committed(name), strict=True):
        assert a.keys() == b.keys() and all(same(a[k], b[k]) for k in a), (a, b)


@pytest.mark.parametrize("name", [*FIGURES, *EXPERIMENTS])
def test_figures_draw_from_their_tables(name, tmp_path):
    picture = tmp_path / f"{name}.png"
    (FIGURES | EXPERIMENTS)[name].picture(committed(name)).savefig(picture)
    assert picture.stat().st_size > 5_000


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_of_experiments_say_where_they_come_from(name):
    assert {"python", "torch", "numpy", "device"} <= set(json.loads((FOLDER / "data" / f"{name}.json").read_text()))


# ---- data -------------------------------------------------------------------------------------------------------------
def test_synthetic_clients_are_the_recipes():
    made = synthetic.rows()
    assert len(made) == 10 and min(len(y) for _, y in made) > 40
    alike = synthetic.rows(alpha=0, beta=0, sizes=[4000] * 10)
    spread = np.stack([x.std(0) for x, _ in alike])
    assert np.allclose(spread, np.arange(1, 61) ** -0.6, rtol=0.1)       # the standard deviation of feature j is j^-0.6
    assert all(set(y) <= set(range(10)) for _, y in made)


def test_digits_are_dealt_once_and_skewed():
    made = digits.rows()
    assert sum(len(y) for _, y in made) == 1797
    assert max(np.bincount(y, minlength=10).max() / len(y) for _, y in made) > 0.4


def test_letters_follow_their_clients_chain():
    chains, made = text.chains(), text.rows()
    assert np.allclose(chains.sum(-1), 1)
    for table, (x, y) in zip(chains, made, strict=True):
        assert (table[x[:, -1].astype(int), y] > 0).all()
        assert (x[1:, :-1] == x[:-1, 1:]).all()      # windows of one text
    assert text.best() > 35


@pytest.mark.parametrize("make", [synthetic.softmax, synthetic.perceptron, digits.network, text.network])
def test_a_split_keeps_every_tenth_row_for_the_test(make):
    t = make()
    assert len(t.test[1]) == pytest.approx(t.problem.sizes.sum() / 9, rel=0.1)
    assert t.accuracy(ft.Torch().array(np.stack([t.x0] * 2))).shape == (2,)


# ---- the clock --------------------------------------------------------------------------------------------------------
def test_failures_cost_what_the_logs_show():
    law = tasks.Failing(pace=1, steps=10, suspension="9/10")
    hangs = law._hangs(Stream(1, "test"), "hang", 10, 4000)
    assert hangs.mean() == pytest.approx(9 * 1.5, rel=0.03)              # P/(1-P) failures, each U(0, 3) runs
    assert (hangs == 0).mean() == pytest.approx(0.1, rel=0.05)
    once = tasks.Failing(pace=1, steps=10, suspension="1/2")._hangs(Stream(2, "test"), "hang", 10, 4000)
    assert once.mean() == pytest.approx(1.5, rel=0.05)
    assert not tasks.Failing(pace=1, steps=10)._hangs(Stream(3, "test"), "hang", 10, 5).any()


def test_a_cell_is_kept_and_looked_up_by_what_it_depends_on(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "KEPT", tmp_path / "cells")
    t = synthetic.softmax()
    first = runs.cell(t, runs.ours(t), seconds=1, replicates=2)
    assert len(list((tmp_path / "cells").glob("*.npz"))) == 1
    monkeypatch.setattr(runs, "_run", None)                              # whoever calls it fails
    again = runs.cell(t, runs.ours(t), seconds=1, replicates=2)
    assert all(np.array_equal(first[k], again[k], equal_nan=True) for k in first)
    with pytest.raises(TypeError):
        runs.cell(t, runs.ours(t, (1, 5, 3, 0)), seconds=1, replicates=2)


def test_what_is_read_off_a_cell():
    found = {"at": np.array([[0, 0], [1, 2], [3, 4.0]]), "accuracy": np.array([[10, 20], [50, 40], [70, 90.0]])}
    assert runs.on_grid(found, [0, 1.5, 3]).tolist() == [[10, 20], [50, 20], [70, 40]]
    assert runs.first(found, 50, 3).tolist() == [1, np.inf]
    assert runs.first(found, np.array([60, 30]), 9).tolist() == [3, 2]
    assert runs.within(found, 3).max(0).tolist() == [70, 40]


def test_settings_are_those_of_the_tables():
    t = digits.network()
    ours, hinge = runs.ours(t), runs.hinge(t)
    assert (ours.lam, ours.eps, ours.gbar, ours.kappa) == (1, 1, 3, Q(1, 20))
    assert (hinge.unit, Q(hinge.b), Q(hinge.a)) == ("time", tasks.SECOND // 2, Q(1, 2 * tasks.SECOND))
    assert runs.ours(text.network()).eps == 10


# ---- tables -----------------------------------------------------------------------------------------------------------
def test_the_published_table_is_complete():
    table = published.table()
    maxima = [k for k in table if k[0] == "maximum"]
    assert len(maxima) == 3 * 5 * 10 and all(0 < table[k][0] < 100 for k in maxima)
    assert published.logged("maximum", "Synthetic", published.OURS, Q(9, 10)) == Q("98.17")
    assert published.logged("common", "Shakespeare", published.FEDPROX, Q(8, 10)) == published.NEVER
    assert json.loads((FOLDER / "data" / "published.json").read_text())["source"]


def test_recorded_values_are_read_by_seed():
    seen = read.values("fig3", "maximum", task="Synthetic", P=0.1, method=published.OURS)
    assert seen.shape == (runs.REPLICATES,)
    assert read.roughness(task="Synthetic", steps="adaptive").shape == (runs.REPLICATES,)
    assert read.interval(np.array([1.0, 2, 3, 4, 5])).undecided


def test_gamma_follows_from_the_move_of_the_server():
    method = ft.AsyncFedED("1/20", 3, lam=5, eps=2).to(ft.FLOAT)
    distance, delta = 0.7, 0.2
    gamma = distance / delta
    assert figures._gamma(distance, delta * 5 / (gamma + 2), method) == pytest.approx(gamma)
    assert figures._gamma(0, 0, method) == 0


@pytest.mark.parametrize("make", [digits.network, synthetic.perceptron, text.network])
def test_one_pass_backwards_is_the_gradient_of_each_model(make):
    import torch
    t = make()
    p, g = t.problem.to(ft.Torch()), torch.Generator().manual_seed(1)
    y = torch.as_tensor(t.x0) + torch.randn(3, 1, t.problem.d, generator=g, dtype=torch.float64) / 10
    who, sample = torch.tensor([[0], [7], [2]]), Rows(torch.randint(0, 40, (3, 1, 8), generator=g))
    assert torch.allclose(p.at(who).grad(y, sample), ft.Network._gradient(p, who, y, sample), atol=1e-14)
    inputs, labels = (torch.as_tensor(v) for v in t.test)
    one = [(t.problem.outputs(x, inputs).argmax(-1) == labels).double().mean() for x in y[:, 0]]
    assert torch.allclose(t.accuracy(y[:, 0]), 100 * torch.stack(one))
