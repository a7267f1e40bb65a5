"""Wrong rounds of the perturbed step: each is another round, and converges nevertheless."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.mutants import neighbour_averages as wrong
from fltheory.mutants.base import clause
from tests.algorithms.instances import GRAPH, quadratic

LR = "1/20"
FULL = ft.NeighbourAveraging(LR, 3, beta="2/5", graph=GRAPH)
ONE = ft.NeighbourAveraging(LR, 1, beta="2/5", graph=GRAPH)
PART = ft.NeighbourAveraging(LR, 3, beta="2/5", graph=GRAPH, average="renormalised")
HALF = ft.NeighbourAveraging(LR, 3, beta="1/2", graph=GRAPH)
PLAIN = ft.NeighbourAveraging(LR, 3, beta=1, graph=GRAPH)
DIFFERS = {PLAIN: set(), ONE: set(wrong.NEIGHBOURS) - {"neighbours_of_this_round", "absent_models_forgotten"},
           HALF: set(wrong.NEIGHBOURS) - {"beta_swapped", "absent_models_forgotten"}, PART: set(wrong.NEIGHBOURS),
           FULL: set(wrong.NEIGHBOURS) - {"absent_models_forgotten"}}


@pytest.mark.parametrize("name", wrong.NEIGHBOURS)
@pytest.mark.parametrize("right", [FULL, ONE, PART], ids=["full", "one step", "partial"])
def test_a_mutant_is_another_round_that_converges(name, right):
    bad = wrong.NEIGHBOURS[name](right)
    if name not in DIFFERS[right]:
        assert bad is None
        return
    problem = quadratic()[0]
    law = ft.Uniform(2) if right is PART else ft.Full()
    ops = [ft.derive(a, problem, law) for a in (bad, right)]
    assert ops[0].rate() < 1
    start = ft.FLOAT.array(np.arange(1, problem.d + 1))
    models = [[mean for mean, _ in op.trajectory(4, start)] for op in ops]
    assert np.abs(np.array(models[0]) - np.array(models[1])).max() > 1e-6


@pytest.mark.parametrize("right", DIFFERS, ids=range(len(DIFFERS)))
def test_where_nothing_would_change_there_is_no_mutant(right):
    assert {name for name, m in wrong.NEIGHBOURS.items() if m(right) is not None} == DIFFERS[right]
    for other in (ft.FedAvg(LR, 3), ft.Scaffold(LR, 3)):
        assert all(m(other) is None for m in wrong.NEIGHBOURS.values())
    assert len({clause(m) for m in wrong.NEIGHBOURS.values()}) == len(wrong.NEIGHBOURS)


def test_a_symbolic_beta_can_be_wrong_too():
    beta = ft.Field("beta").symbols[0]
    assert all(m(ft.NeighbourAveraging(LR, 3, beta=beta, graph=GRAPH, average="printed")) for m in wrong.NEIGHBOURS.values())
