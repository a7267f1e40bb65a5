"""Instances of FOCUS's claims, declared in rationals; floats are derived from them, never the reverse.

One module per section of claims; this one holds what they share.
"""
from fltheory.core.problems.quadratic import Quadratic


def line(h, c, name=""):
    """Clients f_i = h_i (x - c_i)^2 / 2 on the line, equal weights."""
    return Quadratic([[[v]] for v in h], [[v] for v in c], name=name)


def plane():
    """The ledger's reference instance: three clients in the plane, curvatures that do not commute."""
    return Quadratic([[[1, 0], [0, 4]], [[2, "1/2"], ["1/2", 1]], [[3, -1], [-1, 2]]], [[1, 0], [-1, 2], [0, -3]])
