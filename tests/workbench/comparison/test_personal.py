"""Methods with personal parameters side by side: where the shared parameter ends, and how far the joint objective stays off."""
import numpy as np
import pytest

import fltheory as ft
from tests.algorithms.instances import residual

PLANE = ft.Personal(ft.Quadratic([[[2, 1], [1, 2]], [[1, 0], [0, 1]]], [[1, 2], [0, 3]]), 1)
HUBER = ft.Personal(ft.HuberLoss([[[1, 1], [1, 0], [0, 1]], [[1, 2], [0, 1], [1, 0]]], [[1, 0, 3], [0, 2, 1]]), 1)
METHODS = {"SGD": ft.FedResSgd("1/10", 3, personal_lr="1/10"), "naive": ft.FedResNaive("1/10", 3, personal_lr="1/10"),
           "I": ft.FedResAvg("1/10", 3, personal_lr="1/10", option=1), "II": ft.FedResAvg("1/10", 3, personal_lr="1/10")}


@pytest.mark.parametrize("problem", [residual()[0], PLANE, HUBER], ids=["blocks", "quadratic", "huber"])
def test_the_biased_methods_stop_elsewhere_and_the_others_at_the_joint_optimum(problem):
    pytest.importorskip("torch")
    table = ft.compare(METHODS, problem, ft.Full(), rounds=800, stable=False)
    rows = {r["method"]: r for r in table.rows}
    assert not table.outside and all(rows[name]["error_agrees"] for name in METHODS), str(table)
    assert max(rows[name]["distance"] for name in ("SGD", "II")) < 1e-8 < rows["naive"]["distance"]
    best = ft.optimum(problem.joint())
    end = state_after(METHODS["naive"], problem, 800)
    gap = problem.to(ft.FLOAT).joint_value(end.x, end.theta) - float(best.value)
    assert rows["naive"]["loss_gap"] == pytest.approx(gap, rel=1e-6)
    w = ft.FLOAT.array(problem.split(best.x)[0])
    assert rows["naive"]["distance"] == pytest.approx(np.linalg.norm(end.x - w), rel=1e-6)
    assert "no surrogate weights" in rows["SGD"]["reasons"]


def test_split_quadratics_have_exact_floors_and_audited_rounds():
    pytest.importorskip("torch")
    table = ft.compare([METHODS["SGD"]], PLANE, ft.Full(), noise="1/2", rounds=60, replicates=400, stable=False)
    row = table.rows[0]
    op = ft.derive(METHODS["SGD"], PLANE, ft.Full(), noise="1/2")
    w = PLANE.split(ft.optimum(PLANE.joint()).x)[0]
    assert row["floor"] == pytest.approx(op.floor(reference=w)) and not table.outside
    assert ft.run(METHODS["SGD"], PLANE, ft.Full(), 3).audit is not None


def state_after(algorithm, problem, rounds):
    record, at = algorithm.to(ft.FLOAT), problem.to(ft.FLOAT)
    state = record.init(at, np.zeros(at.d))
    for _ in range(rounds):
        state = record.round(at, state, ft.everyone(at.n, 3))
    return state
