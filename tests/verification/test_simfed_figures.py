"""Similarity-perturbed FedAvg's figures: committed tables regenerate, say what their captions say, and draw; the digits' splits."""
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.verdicts.report.figures import figures_of, from_csv, to_csv
from tests.verdicts.report.test_figures import same
from verification.simfed import digits, experiments, figures, instances

FOLDER = Path(__file__).parents[2] / "verification" / "simfed"
FIGURES, EXPERIMENTS = figures_of(FOLDER), figures_of(FOLDER, experiments=True)
pytest.importorskip("sklearn")
SLOW = {"stability", "fig6", "fig7"}


def committed(name):
    return from_csv(FOLDER / "data" / f"{name}.csv")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in FIGURES])
def test_committed_tables_regenerate(name, tmp_path):
    (tmp_path / "new.csv").write_text(to_csv(FIGURES[name].data()))
    fresh = from_csv(tmp_path / "new.csv")
    assert len(fresh) == len(committed(name))
    for a, b in zip(fresh, committed(name), strict=True):
        assert a.keys() == b.keys() and all(same(a[k], b[k]) for k in a), (a, b)


@pytest.mark.parametrize("name", [*FIGURES, *EXPERIMENTS])
def test_figures_draw_from_their_tables(name, tmp_path):
    picture = tmp_path / f"{name}.png"
    (FIGURES | EXPERIMENTS)[name].draw(committed(name)).savefig(picture)
    assert picture.stat().st_size > 5_000


@pytest.mark.parametrize(("a", "b"), [(0, 0), (10, 0), (100, 0), (10, 1), (0, 1)])
def test_a_split_deals_every_row_once(a, b):
    owners, test = digits.split(3, a, b)
    rows = np.concatenate([*owners, test])
    assert len(set(rows.tolist())) == len(rows) == 1797 and len(test) == digits.TEST
    assert all(len(own) == digits.ROWS for own in owners) if b == 0 else min(map(len, owners)) >= digits.BATCH
    labels = digits.images()[1]
    shares = np.array([np.bincount(labels[own], minlength=10) / len(own) for own in owners])
    assert shares.max() < 0.2 if (a, b) == (0, 0) else a == 0 or shares.max() > 0.5


def test_a_round_of_batches_is_a_partition_for_every_epoch():
    rows = digits.batches(1, 0, 3).reshape(3, 4, digits.CLIENTS, digits.BATCH)
    for epoch in rows:
        for i in range(digits.CLIENTS):
            assert sorted(epoch[:, i].reshape(-1)) == list(range(digits.ROWS))


@pytest.mark.parametrize(("beta", "kind"), [(1, "similarity"), (0.5, "similarity"), (0.5, "rank-one")])
def test_the_batched_runs_are_the_coded_rounds(beta, kind):
    pytest.importorskip("torch")
    _, loss = digits.contest(10, 0.1, 2, ((0.9, "similarity"), (beta, kind)), (4, 5), 2)
    graph = digits.graph(5, 10)
    graph = graph if kind == "similarity" else ft.SimilarityGraph.mean(graph.weights)
    clients = digits.problem(5, 10, graph.weights)
    model = digits.coded(instances.ours(0.1, 8, beta, graph), clients, 5, 2, 2)[-1]
    assert float(clients.to(ft.FLOAT).value(model)) == pytest.approx(loss[2, 1, 1], rel=1e-12)


def test_never_reaching_counts_one_more_than_was_run():
    accuracy = np.array([[0.1, 0.1], [0.5, 0.2], [0.9, 0.3]])
    assert experiments.rounds_to(accuracy, 0.5).tolist() == [1, 3]


def test_the_interval_of_a_median_covers_as_often_as_said():
    rng = np.random.default_rng(0)
    found = [experiments.middle(rng.exponential(size=20)) for _ in range(2000)]
    assert np.mean([low <= np.log(2) <= high for _, low, high in found]) > 0.985


def test_the_stability_map_is_that_of_the_derived_operators():
    problem = instances.scalar([1, 1], [0, 1], instances.SWAP)
    for beta, E in ((0.2, 3), (0.35, 10), (0.7, 50)):
        radius = ft.derive(instances.ours(figures.CURVED, E, beta, instances.SWAP), problem, ft.Full()).rate()
        for found in (figures.factors(beta, E), figures.radii(beta, E)):
            assert radius == pytest.approx(max(found.values()), rel=1e-9)
