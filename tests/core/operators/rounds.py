"""What several tests of operators share: step size, local steps, chances, the naive rounds by algorithm."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.numbers.scalars import fraction
from tests.core.operators import brute

LR = Q(1, 20)


def scalar(h, minimisers, weights=None):
    return ft.Quadratic([[[v]] for v in h], [[v] for v in minimisers], weights)


def fractions(array):
    return [fraction(v) for v in np.asarray(array).reshape(-1)]


TAU = (2, 1, 3)
CHANCES = [Q(9, 10), Q(1, 2), Q(1, 5)]
ROUNDS = {ft.FedAvg: brute.fedavg_round, ft.Scaffold: brute.scaffold_round, ft.Focus: brute.focus_round}


def cohort(members):
    return [(i, TAU[i]) for i in members]
