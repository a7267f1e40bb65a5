"""Problems and instances that several files of the paper share."""
from fractions import Fraction as Q

import fltheory as ft


def figure1():
    """The clients of Figure 1 (Eqs 11, 12): L_1 = .1 (w + t_1)^2 + 10 w, L_2 = .1 t_2^2 - 10 w."""
    return ft.Residual([[["1/5"]], [[0]]], [[["1/5"]], [[0]]], [[["1/5"]], [["1/5"]]], [[-10], [10]], [[0], [0]], name="Figure 1")


def unequal():
    """Three clients, two shared coordinates, personal dimensions 1, 2 and 1, blocks that do not commute."""
    return ft.Residual(
        [[[2, "1/2"], ["1/2", 1]], [[1, 0], [0, 3]], [[1, "1/3"], ["1/3", 1]]],
        [[["1/2"], [0]], [["1/4", 0], ["1/3", "1/2"]], [[0], ["2/5"]]],
        [[[1]], [[1, "1/4"], ["1/4", 2]], [["3/2"]]], [[1, 2], [0, -1], [3, 1]], [[3], [1, -2], [-1]], name="unequal")


def scalar(a, b, c, bw, bt):
    """Clients with one shared and one personal number each."""
    return ft.Residual([[[v]] for v in a], [[[v]] for v in b], [[[v]] for v in c], [[v] for v in bw], [[v] for v in bt])


def alike(n, a=1, b=Q(3, 10), c=1):
    """n identical clients with blocks a, b, c and their minimiser at 0."""
    return scalar([a] * n, [b] * n, [c] * n, [0] * n, [0] * n)
