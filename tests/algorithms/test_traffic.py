"""Vectors sent per participant, as published, against what the coded round cannot do without.

Up: everything that a client's private numbers (its rows of the state, its own linear term) change in the server's
leaves must have been sent, so the rank of that map, over d, is a lower bound. Down: the same for what the
server's leaves change in a client's new rows and in its contribution.
"""

import math
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.algorithms.catalogue import discover
from fltheory.laws.draw import everyone
from fltheory.operators.probe import layout, probe_offsets, probe_round
from fltheory.scalars import FLOAT
from tests.algorithms.instances import GRAPH, quadratic, residual

METHODS = [
    ft.FedAvg("1/7", 3),
    ft.FedProx("1/7", 3, mu=1),
    ft.FedNova("1/7", 3),
    ft.GeneralRule("1/7", 3),
    ft.FedNovaVR("1/7", 3),
    ft.ServerMomentum("1/7", 3, beta="1/2"),
    ft.VRLSGD("1/7", 3),
    ft.Scaffold("1/7", 3),
    ft.Scaffold("1/7", 3, option=1),
    ft.Focus("1/7", 3),
    ft.FedResAvg("1/7", 3, personal_lr="1/9"),
    ft.NeighbourAveraging("1/7", 3, beta="1/2", graph=GRAPH),
    ft.FedVarp("1/7", 3),
    ft.FedAu("1/7", 3, weights=(1, 2, 3)),
    ft.Reweighted("1/7", 3, inclusion=("1/2", 1, "1/3")),
]
AFTER = {
    "FedAvg": (1, 1),
    "GeneralRule": (1, 1),
    "FedNova": (1, 1),
    "FedNovaVR": (1, 2),
    "ServerMomentum": (1, 1),
    "AdaptiveServer": (1, 1),
    "VRLSGD": (1, 1),
    "Scaffold": (2, 2),
    "Focus": (1, 1),
    "FedResAvg": (2, 2),
    "NeighbourAveraging": (1, 2),
    "AsyncFedED": (1, 1),
    "LocalSgd": (1, 1),
    "FedAu": (1, 1),
    "FedAwe": (1, 1),
    "FedVarp": (1, 1),
    "Reweighted": (1, 1),
}


def coordinates(lay, n, i):
    """(server's, client i's) coordinates of the flat state: leaves with an axis of clients belong to them."""
    server, own, at = [], [], 0
    for shape in lay.shapes:
        index = at + np.arange(math.prod(shape)).reshape(shape)
        if len(shape) == 2 and shape[0] == n:
            own += list(index[i].reshape(-1))
        else:
            server += list(index.reshape(-1))
        at += math.prod(shape)
    return server, own


def rank(matrix):
    return 0 if matrix.size == 0 else int(np.linalg.matrix_rank(matrix, tol=1e-9 * max(1.0, np.abs(matrix).max())))


def lower_bounds(algorithm, i=1):
    """(up, down) in vectors of the model's size, rounded up."""
    problem = (residual([Q(1, 2), Q(1, 4), Q(1, 4)]) if algorithm.personal else quadratic())[0].to(FLOAT)
    n, d = problem.n, problem.d
    alg = algorithm.to(FLOAT)
    lay = layout(alg, problem)
    everybody = everyone(n, algorithm.steps)
    M = probe_round(alg, problem, lay, everybody)[:, : lay.size]
    server, own = coordinates(lay, n, i)
    private = [M[np.ix_(server, own)]]
    if not algorithm.personal:  # the response to a change of the client's own linear term
        private.append(probe_offsets(alg, problem, lay, everybody)[server, i * d : (i + 1) * d])
    up = rank(np.concatenate(private, axis=1))
    result = M[np.ix_(own, server)]
    if algorithm.partial:  # alone against nobody: the server's own motion drops out
        masks = np.zeros((2, n), dtype=np.int64)
        masks[0, i] = 1
        alone, nobody = (probe_round(alg, problem, lay, everyone(n, algorithm.steps, m))[:, : lay.size] for m in masks)
        result = np.concatenate([alone[np.ix_(own, server)], (alone - nobody)[np.ix_(server, server)]])
    return math.ceil(up / d), math.ceil(rank(result) / d)


@pytest.mark.parametrize("algorithm", METHODS, ids=lambda a: type(a).__name__)
def test_published_traffic_is_at_least_what_the_round_needs(algorithm):
    up, down = lower_bounds(algorithm)
    assert 1 <= up <= algorithm.uplink
    assert 0 <= down <= algorithm.downlink


def test_where_the_bound_is_sharp_a_smaller_number_would_be_noticed():
    assert lower_bounds(ft.Scaffold("1/7", 3)) == (1, 2)  # one vector up would do: FOCUS, footnote 6
    assert lower_bounds(ft.FedResAvg("1/7", 3, personal_lr="1/9")) == (2, 2)
    assert lower_bounds(ft.FedAvg("1/7", 3)) == (1, 1)


def test_every_algorithm_is_counted_as_published():
    assert {cls.__name__: (cls.uplink, cls.downlink) for cls in discover() if cls.__name__ in AFTER} == AFTER
    for cls in discover():
        assert isinstance(cls.uplink, int) and isinstance(cls.downlink, int) and min(cls.uplink, cls.downlink) >= 1


def test_counts_are_no_hyper_parameters():
    assert "uplink" not in repr(ft.Scaffold("1/7", 3)) and replace(ft.Scaffold("1/7", 3), lr=1).uplink == 2
