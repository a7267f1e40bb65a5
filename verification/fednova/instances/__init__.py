"""Instances of FedNova's claims, declared in rationals; floats are derived from them, never the reverse.

One module per section of claims; this one holds what they share.
"""
import fltheory as ft

SOLVERS = {"vanilla": lambda v: ft.Vanilla(), "proximal": lambda v: ft.Proximal(alpha=v),
           "momentum": lambda v: ft.Momentum(v),
           "decay": lambda v: ft.Decay(v)}


def two_clients(name="two clients"):
    """F_{1,2} = 1/2 (x -/+ 1)^2, p = 1/2."""
    return ft.Quadratic([[[1]], [[1]]], [[1], [-1]], name=name)


def plane(weights=("1/2", "3/10", "1/5")):
    """Three clients in the plane whose Hessians do not commute."""
    return ft.Quadratic([[[2, 0], [0, 1]], [[1, "1/2"], ["1/2", 1]], [["3/2", "-1/4"], ["-1/4", "1/2"]]],
                        [[1, 0], [0, 2], [-1, -1]], weights)


def scalar(h, xi, weights=None):
    """Scalar clients h_i (x - xi_i)^2 / 2."""
    return ft.Quadratic([[[v]] for v in h], [[v] for v in xi], weights)
