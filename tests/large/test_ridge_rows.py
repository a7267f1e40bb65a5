"""Ridge regression by rows against the one with Hessians, and at sizes where there are none."""
import numpy as np
import pytest

import fltheory as ft

LAWS = {"full": ft.Full(), "uniform": ft.Uniform(2), "bernoulli": ft.Bernoulli("1/3")}


def data(n, d, rows, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [rows] * n if np.isscalar(rows) else rows
    return [rng.standard_normal((m, d)) for m in sizes], [rng.standard_normal(m) for m in sizes]


@pytest.mark.parametrize("convention", ["half-mean", "half-sum", "sum"])
def test_it_has_the_losses_gradients_constants_and_minimiser_of_ridge(convention):
    A, y = data(4, 3, (1, 2, 5, 9))
    weights = [0.1, 0.2, 0.3, 0.4]
    rows, dense = (kind(A, y, 0.3, weights, convention) for kind in (ft.RidgeRows, ft.Ridge))
    x = np.array([0.5, -1.0, 2.0])
    assert rows.value(x) == pytest.approx(dense.value(x), rel=1e-12)
    assert rows.gradient(x) == pytest.approx(dense.gradient(x), rel=1e-12)
    assert dense.constants.L * (1 - 1e-13) <= rows.constants.L <= dense.constants.L * (1 + 1e-10)
    assert rows.constants.mu <= dense.constants.mu + 1e-12
    assert ft.optimum(rows).x == pytest.approx(ft.optimum(dense).x, rel=1e-9)
    assert rows.mean_hessian(x) == pytest.approx(sum(w * h for w, h in zip(weights, dense.H, strict=True)), rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("algorithm", [ft.FedAvg(0.05, 3), ft.Scaffold(0.05, 2)])
def test_its_operators_and_runs_are_those_of_ridge(law, algorithm):
    A, y = data(5, 2, 3)
    rows, dense = ft.RidgeRows(A, y, 0.1), ft.Ridge(A, y, 0.1)
    exact = ft.derive(algorithm, dense, LAWS[law])
    for method in ("structured", "dense"):
        op = ft.derive(algorithm, rows, LAWS[law], method=method)
        assert op.fixed_point().x == pytest.approx(np.array(exact.fixed_point().x, dtype=float), rel=1e-8)
        assert op.rate() == pytest.approx(float(exact.rate()), rel=1e-8)
    runs = [ft.run(algorithm, problem, LAWS[law], 5, 7, noise=1) for problem in (rows, dense)]
    assert runs[0].final == pytest.approx(runs[1].final, rel=1e-9)


def test_mini_batches_draw_the_same_rows():
    A, y = data(3, 2, 6)
    problems = (kind(A, y, 0.1) for kind in (ft.RidgeRows, ft.Ridge))
    runs = [ft.run(ft.FedAvg(0.1, 2), problem, ft.Full(batch=2), 4, 3) for problem in problems]
    assert runs[0].final == pytest.approx(runs[1].final, rel=1e-12)


def test_hundreds_of_clients_in_hundreds_of_dimensions_have_fixed_points_without_hessians():
    A, y = data(200, 400, 3)        # 0.26 GB as Hessians, 2 MB as rows
    op = ft.derive(ft.FedAvg(0.01, 2), ft.RidgeRows(A, y, 0.5), ft.Full(), method="structured")
    x = op.fixed_point().x
    again = op.after(x, 1)
    assert again == pytest.approx(x, abs=1e-10)
    best = ft.optimum(ft.RidgeRows(A, y, 0.5))
    assert best.certificate["gap"] < 1e-20
    assert 0.1 < np.linalg.norm(x - best.x) / np.linalg.norm(best.x) < 0.9   # clients who know three directions each pull apart


def test_a_ridge_without_room_for_its_hessians_is_told_of_the_rows():
    A = [np.zeros((1, 50_000))]
    with pytest.raises(ft.TooLarge, match="RidgeRows"):
        ft.Ridge(A, [np.zeros(1)], 0.1)


def test_bad_data_are_refused():
    for A, y, reg, convention in (([[[1, float("nan")]]], [[1]], 1, "half-mean"), ([[[1, 2]]], [[1, 2]], 1, "half-mean"),
                                  ([[[1, 2]]], [[1]], -1, "half-mean"), ([[[1, 2]]], [[1]], 1, "mean")):
        with pytest.raises(ft.BadInput):
            ft.RidgeRows(A, y, reg, convention=convention)
