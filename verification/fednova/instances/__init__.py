"""What the instances of FedNova's claims share; the instances themselves stand beside the claims, declared in rationals."""
from types import SimpleNamespace

import fltheory as ft
from fltheory.core.problems import instances as named

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


def symbols(names):
    """(field, record of its symbols by name): "eta e*2" are eta, e0 and e1, of which e is the list of the last two."""
    groups = [(name, int(count) if count else None) for name, _, count in (g.partition("*") for g in names.split())]
    field = ft.Field(" ".join(f"{name}{k}" for name, n in groups for k in ([""] if n is None else range(n))))
    values = iter(field.symbols)
    return field, SimpleNamespace(**{name: next(values) if n is None else [next(values) for _ in range(n)]
                                     for name, n in groups})


__all__ = ["SOLVERS", "named", "plane", "scalar", "symbols", "two_clients"]
