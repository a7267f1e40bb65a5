"""Families that papers share: smooth clients on the line that are not convex, exact in rationals, with noise of the state."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def kinked(draw, n=None, weights=None, calm=None, outer=(0, 1, 2)):
    """Clients whose gradients have two kinks each and fall between or beyond some of them; None where the weighted sum is not
    bounded below. outer: slopes far away, to which -1 is added; calm: whether noise dies down near a point (None: drawn)."""
    n = n or draw(st.integers(2, 3))
    slopes, knots = [], []
    for _ in range(n):
        slopes.append([draw(st.sampled_from((*outer, -1))), draw(st.sampled_from([Q(-2), Q(-1), Q(1, 2), Q(2)])),
                       draw(st.sampled_from((*outer, -1)))])
        at = draw(st.integers(-3, 2))
        knots.append([at, at + draw(st.sampled_from([Q(1, 2), Q(1), Q(3)]))])
    b = [Q(draw(st.integers(-4, 4)), 2) for _ in range(n)]
    calm = (draw(st.booleans()) if calm is None else calm) and [draw(st.integers(-2, 2)) for _ in range(n)]
    problem = ft.PiecewiseQuadratic(slopes, knots, b, weights, calm or None)
    return None if problem.least() is None else problem


def waves(draw, n=None):
    """Clients h (x - c)^2/2 + A sin(x) with the slope of the sine replaced by a square wave of +-A between odd numbers, so that
    every number stays rational: many local minima, convex far away."""
    n, h = n or draw(st.integers(2, 3)), Q(1, 4)
    A = draw(st.sampled_from([Q(1, 2), Q(1)]))
    slopes = [h + (-A if k % 2 else A) for k in range(7)]
    b = [h * draw(st.integers(-12, 12)) for _ in range(n)]
    return ft.PiecewiseQuadratic([slopes] * n, [[2 * k - 5 for k in range(6)]] * n, b)


def words(problem):
    """The clients in words."""
    parts = {name: getattr(problem, name) for name in ("slopes", "knots", "b", "weights", "calm")}
    return ", ".join(f"{name}={[[*map(str, row)] if np.ndim(row) else str(row) for row in values]}"
                     for name, values in parts.items() if values is not None)


def either(draw, n=None, **options):
    """One of both kinds."""
    return kinked(draw, n, **options) if draw(st.booleans()) else waves(draw, n)


def state(draw, n):
    """(server model, points of the stored gradients) at multiples of 1/2."""
    halves = st.integers(-8, 8)
    return [Q(draw(halves), 2)], [[Q(draw(halves), 2)] for _ in range(n)]
