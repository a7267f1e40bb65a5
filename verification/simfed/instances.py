"""Problems, graphs and rounds that several files of the paper share. Numbers are rational but for `i4`."""
from fractions import Fraction as Q
from functools import cache

import numpy as np

import fltheory as ft

SWAP = ft.SimilarityGraph([[0, 1], [1, 0]])   # two clients: always p = (1/2, 1/2)
UNEQUAL = ft.SimilarityGraph([[0, 4, 1], [4, 0, 2], [1, 2, 0]])   # p = (5, 6, 3)/14
FOUR = ft.SimilarityGraph([[0, 3, 1, 1], [3, 0, 1, 0], [1, 1, 0, 2], [1, 0, 2, 0]])


@cache
def star(n):
    """Client 0 linked to all others with one weight, which are not linked: p_0 = 1/2."""
    return ft.SimilarityGraph([[int((i == 0) != (j == 0)) for j in range(n)] for i in range(n)])


@cache
def matching(n):
    """Pairs (0, 1), (2, 3), ..: every client has one neighbour. n is even."""
    return ft.SimilarityGraph([[int(i != j and i // 2 == j // 2) for j in range(n)] for i in range(n)])


@cache
def ring(n):
    """Clients in a circle, each with two neighbours. n >= 3."""
    return ft.SimilarityGraph([[int((i - j) % n in (1, n - 1)) for j in range(n)] for i in range(n)])


@cache
def complete(n):
    """Everybody linked to everybody else with one weight."""
    return ft.SimilarityGraph([[int(i != j) for j in range(n)] for i in range(n)])


def scalar(h, c, graph):
    """f_i = h_i/2 (w - c_i)^2, one coordinate, with the graph's weights."""
    weights = graph.weights if graph.weights.dtype == float else [str(v) for v in graph.weights]
    return ft.Quadratic([[[v]] for v in h], [[v] for v in c], weights)


PAIR = scalar([1, Q(1, 5)], [0, 1], SWAP)   # w* = 1/6, mu = 1/5, L = 1


def ours(lr, steps, beta, graph, **options):
    """The method on a graph."""
    return ft.NeighbourAveraging(lr, steps, beta=beta, graph=graph.edges, **options)


def prox(lr, steps, alpha):
    """FedProx with the proximal weight alpha of (10) to (12), explicit steps; alpha = 0 is FedAvg."""
    return ft.FedProx(lr, steps, mu=alpha)


def i4():
    """(graph, problem) of the ledger's four clients in the plane, in floats: messages at .1, .5, 1.9 and 2.8 rad. The signs are as
    drawn: the sum of the last one's entries is negative, so that the sign rule of the report is not used here."""
    graph = ft.SimilarityGraph.of([[np.cos(a), np.sin(a)] for a in (0.1, 0.5, 1.9, 2.8)])
    H = [[[1, 0.2], [0.2, 0.3]], [[0.5, -0.1], [-0.1, 0.2]], [[0.25, 0.05], [0.05, 0.8]], [[0.6, 0.3], [0.3, 0.4]]]
    return graph, ft.Quadratic(H, [[1, 0], [0, 2], [-1, 1], [3, -2]], graph.weights)
