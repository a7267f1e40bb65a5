"""Problems, algorithms and operators that the tests of assertions share."""
from pathlib import Path

import fltheory as ft

ROOT = Path(__file__).parents[3]
LINE = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
PLANE = ft.Quadratic(H=[[[2, 1], [1, 2]], [[1, 0], [0, 1]], [["3/2", 0], [0, "1/2"]]], c=[[1, 0], [0, 2], [-1, 1]])


def op(algorithm, problem=LINE, law=None, **options):
    return ft.derive(algorithm, problem, law or ft.Full(), **options)


FEDAVG, FEDNOVA, SCAFFOLD = ft.FedAvg("1/20", [1, 10]), ft.FedNova("1/20", [1, 10]), ft.Scaffold("1/20", [1, 10])
FEDAVG_PLANE = ft.FedAvg("1/10", [1, 2, 5])
