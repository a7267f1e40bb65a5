"""Instances of FedNova's claims, declared in rationals; floats are derived from them, never the reverse.

One module per section of claims; this one holds what they share.
"""
from fltheory.core.algorithms.solvers import Decay, Momentum, Proximal, Vanilla
from fltheory.core.problems.quadratic import Quadratic

SOLVERS = {"vanilla": lambda v: Vanilla(), "proximal": lambda v: Proximal(alpha=v), "momentum": lambda v: Momentum(v),
           "decay": lambda v: Decay(v)}


def two_clients(name="two clients"):
    """F_{1,2} = 1/2 (x -/+ 1)^2, p = 1/2."""
    return Quadratic([[[1]], [[1]]], [[1], [-1]], name=name)


def plane(weights=("1/2", "3/10", "1/5")):
    """Three clients in the plane whose Hessians do not commute."""
    return Quadratic([[[2, 0], [0, 1]], [[1, "1/2"], ["1/2", 1]], [["3/2", "-1/4"], ["-1/4", "1/2"]]],
                     [[1, 0], [0, 2], [-1, -1]], weights)


def scalar(h, xi, weights=None):
    """Scalar clients h_i (x - xi_i)^2 / 2."""
    return Quadratic([[[v]] for v in h], [[v] for v in xi], weights)
