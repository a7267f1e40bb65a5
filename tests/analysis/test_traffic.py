"""Vectors sent per participant, as published, against what the coded round cannot do without.

`least_traffic` says what that is: the rank, over d, of what passes between server and client.
"""

from dataclasses import replace
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.algorithms.catalogue import discover
from fltheory.analysis.traffic import least_traffic
from fltheory.core.errors import NotAffine
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
    ft.FedResAvg("1/7", 3, personal_lr="1/9", option=1),
    ft.FedResSgd("1/7", 3, personal_lr="1/9"),
    ft.FedResNaive("1/7", 3, personal_lr="1/9"),
    ft.FedResNaive("1/7", 3, personal_lr="1/9", order="sim"),
    ft.FedSgd("1/7", 3),
    ft.LocalProx("1/7", 3, mu="1/2"),
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
    "FedResNaive": (1, 1),
    "FedResSgd": (1, 1),
    "FedSgd": (1, 1),
    "LocalProx": (1, 1),
    "NeighbourAveraging": (1, 2),
    "AsyncFedED": (1, 1),
    "FedAsync": (1, 1),
    "FedBuff": (1, 1),
    "StaleSteps": (1, 1),
    "LocalSgd": (1, 1),
    "FedAu": (1, 1),
    "FedAwe": (1, 1),
    "FedVarp": (1, 1),
    "Reweighted": (1, 1),
}


def lower_bounds(algorithm):
    """(up, down) in vectors of the model's size, of the middle client."""
    problem = (residual([Q(1, 2), Q(1, 4), Q(1, 4)]) if algorithm.personal else quadratic())[0]
    return least_traffic(algorithm, problem, client=1)


@pytest.mark.parametrize("algorithm", METHODS, ids=lambda a: type(a).__name__)
def test_published_traffic_is_at_least_what_the_round_needs(algorithm):
    up, down = lower_bounds(algorithm)
    assert 1 <= up <= algorithm.uplink
    assert 0 <= down <= algorithm.downlink


def test_where_the_bound_is_sharp_a_smaller_number_would_be_noticed():
    assert lower_bounds(ft.Scaffold("1/7", 3)) == (1, 2)  # one vector up would do: FOCUS, footnote 6
    assert lower_bounds(ft.FedResAvg("1/7", 3, personal_lr="1/9")) == (2, 2)
    for one in (ft.FedAvg("1/7", 3), ft.FedResSgd("1/7", 3, personal_lr="1/9"), ft.FedSgd("1/7", 3), ft.LocalProx("1/7", 3)):
        assert lower_bounds(one) == (1, 1)


def test_on_special_problems_fewer_numbers_do():
    equal = ft.Quadratic([[[1, 0], [0, 1]]] * 3, [[1, 0], [0, 2], [3, -1]])
    assert least_traffic(ft.Focus(1, 2), equal)[1] == 0  # after one unit step a client has forgotten the pulled model


def test_a_round_that_is_not_affine_has_no_rank():
    with pytest.raises(NotAffine):
        least_traffic(ft.AdaptiveServer("1/7", 3), quadratic()[0])


def test_every_algorithm_is_counted_as_published():
    assert {cls.__name__: (cls.uplink, cls.downlink) for cls in discover() if cls.__name__ in AFTER} == AFTER
    for cls in discover():
        assert isinstance(cls.uplink, int) and isinstance(cls.downlink, int) and min(cls.uplink, cls.downlink) >= 1


def test_counts_are_no_hyper_parameters():
    assert "uplink" not in repr(ft.Scaffold("1/7", 3)) and replace(ft.Scaffold("1/7", 3), lr=1).uplink == 2


def test_an_instance_knows_what_its_round_needs():
    assert ft.Instance("three clients", quadratic()[0], ft.Scaffold("1/7", 3), ft.Full()).least_traffic == (1, 2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_traffic_of_as_many_clients_as_masks(n):
    """Two masks are probed at once; with two clients their steps were taken for masks."""
    problem = ft.Quadratic([[[k + 1]] for k in range(n)], [[k] for k in range(n)])
    assert least_traffic(ft.Scaffold("1/7", 3), problem)[1] <= 2
    assert least_traffic(ft.FedAvg("1/7", tuple(range(1, n + 1))), problem) == (1, 1)
