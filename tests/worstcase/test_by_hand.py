"""Worst cases against the same programmes written by hand and in PEPit, which share no line with the package."""
import importlib

import pytest

import fltheory as ft
from tests.naive import pep

pytest.importorskip("cvxpy")
pytest.importorskip("flint")


def distance(p, x, after, star):
    return p.dot(after - star, after - star)


def gap(p, x, after, star):
    return p.value(after) - p.value(star)


MEASURES = {"distance": distance, "gap": gap}
CASES = [
    ("distance", 1, ft.FedAvg("1/5", 2), pep.fedavg, (0.2, [2])),
    ("gap", 1, ft.FedAvg(1, 3), pep.fedavg, (1.0, [3])),
    ("distance", 2, ft.FedAvg("1/5", 3), pep.fedavg, (0.2, [3, 3])),
    ("gap", 2, ft.FedAvg("1/5", 2), pep.fedavg, (0.2, [2, 2])),
    ("distance", 2, ft.FedAvg("1/2", (1, 3)), pep.fedavg, (0.5, [1, 3])),
    ("distance", 3, ft.FedAvg("1/5", 2), pep.fedavg, (0.2, [2, 2, 2])),
    ("distance", 2, ft.FedProx("1/5", 2, mu="1/2"), pep.fedprox, (0.2, [2, 2], 0.5)),
    ("gap", 2, ft.FedProx("1/5", 3, mu=2), pep.fedprox, (0.2, [3, 3], 2.0)),
    ("distance", 2, ft.FedNova("1/5", (1, 3)), pep.fednova, (0.2, [1, 3])),
    ("gap", 2, ft.FedNova("1/5", (2, 1)), pep.fednova, (0.2, [2, 1])),
    ("distance", 2, ft.Focus("1/20", 2), pep.focus, (0.05, [2, 2])),
    ("gap", 2, ft.Focus("1/10", (1, 2)), pep.focus, (0.1, [1, 2])),
]


@pytest.mark.parametrize("route", ["pep", "pepit"])
@pytest.mark.parametrize(("measure", "n", "method", "twin", "given"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_values_agree_with_programmes_written_otherwise(measure, n, method, twin, given, route):
    if route == "pepit":
        pytest.importorskip("PEPit")
    found = ft.worst_case(method, ft.SmoothConvex(1, "1/10"), clients=n, measure=measure,
                          initial=["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1], certify=False)
    p = importlib.import_module(f"tests.naive.{route}").Programme(n, 0.1, 1.0)
    star, x = p.minimiser(), p.vector()
    after = twin(p, x, *given)
    near = [p.dot(x - star, x - star) <= 1, sum(p.dot(g, g) for i in range(n) for g in [p.gradient(i, star)]) / n <= 1]
    assert found.value == pytest.approx(p.solve(MEASURES[measure](p, x, after, star), near), abs=1e-6)
