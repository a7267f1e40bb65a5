"""Named problems, declared in rationals: small ones that stress one thing each, and one data set.

Functions ending in steps (`scaffold_awkward`, `extreme_steps`) return (problem, local steps, step size).
"""
from __future__ import annotations

from fractions import Fraction as Q
from importlib.resources import files

import numpy as np

from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.ridge import Ridge
from fltheory.core.records import count, one_of
from fltheory.workbench.table import banded, by_client, by_rows, numbers, read_cells, short_scale

DIABETES = files("fltheory") / "workbench/data/diabetes.csv"


def two_clients() -> Quadratic:
    """f_1 = (x - 1)^2/2 and f_2 = (x + 1)^2/2: the smallest heterogeneous problem; x* = 0."""
    return Quadratic([[[1]], [[1]]], [[1], [-1]], name="two clients")


def ill_conditioned() -> Quadratic:
    """F has condition number 10^6 (curvatures 1 and 1/10^6), and the clients' minimisers differ along both axes."""
    small = Q(1, 10**6)
    H = [[[Q(1, 2), 0], [0, small]], [[Q(3, 2), 0], [0, small]]]
    return Quadratic(H, [[1, 1000], [-1, -500]], name="ill conditioned")


def skewed_weights() -> Quadratic:
    """Weights 1/10^4, 9/10^4 and 999/1000: two clients that hardly count."""
    H = [[[3, 1], [1, 2]], [[1, 0], [0, 4]], [[2, Q(-1, 2)], [Q(-1, 2), 1]]]
    return Quadratic(H, [[50, 0], [0, -20], [1, 1]], [Q(1, 10**4), Q(9, 10**4), Q(999, 1000)], name="skewed weights")


def common_minimiser() -> Quadratic:
    """Different Hessians, one minimiser (1, -2): every fixed point of a sound method is x*."""
    H = [[[1, 0], [0, 4]], [[2, Q(1, 2)], [Q(1, 2), 1]], [[3, -1], [-1, 2]]]
    return Quadratic(H, [[1, -2]] * 3, [Q(1, 2), Q(1, 3), Q(1, 6)], name="common minimiser")


def identical_clients() -> Quadratic:
    """Three equal clients: every method must act as on one machine."""
    return Quadratic([[[2, 1], [1, 3]]] * 3, [[1, -1]] * 3, [Q(1, 2), Q(1, 4), Q(1, 4)], name="identical clients")


def singular() -> Quadratic:
    """Singular Hessians: clients 1 and 2 are flat along an axis (client 2 unbounded below); F is strongly convex."""
    H = [[[2, 0], [0, 0]], [[0, 0], [0, 1]], [[1, 1], [1, 1]]]
    return Quadratic.from_linear(H, [[2, 0], [Q(1, 2), 1], [1, 1]], name="singular")


def flat() -> Quadratic:
    """No client curves along (1, 1): F has a line of minimisers."""
    H = [[[1, -1], [-1, 1]], [[3, -3], [-3, 3]]]
    return Quadratic.from_linear(H, [[1, -1], [-2, 2]], name="flat")


def indefinite() -> Quadratic:
    """Client 1 is concave along the second axis; F is strongly convex."""
    H = [[[2, 0], [0, Q(-1, 2)]], [[1, 0], [0, 3]]]
    return Quadratic(H, [[1, 1], [-1, 2]], [Q(1, 3), Q(2, 3)], name="indefinite")


def table1_focus() -> Quadratic:
    """Three clients in the plane, uniform weights: the reference instance of FOCUS, Table 1."""
    H = [[[1, 0], [0, 4]], [[2, Q(1, 2)], [Q(1, 2), 1]], [[3, -1], [-1, 2]]]
    return Quadratic(H, [[1, 0], [-1, 2], [0, -3]], name="FOCUS Table 1")


def scaffold_awkward():
    """(problem, steps, lr): five scalar clients with curvatures 10^-6..5, steps 1..200 and weights 10^-4..0.7."""
    h = (Q(1, 10**6), Q(1, 2), 1, 2, 5)
    weights = [Q(k, 10**4) for k in (7000, 2000, 899, 100, 1)]
    problem = Quadratic([[[v]] for v in h], [[1], [0], [-2], [3], [Q(1, 2)]], weights, name="SCAFFOLD, awkward")
    return problem, (1, 7, 30, 3, 200), Q(1, 20)


def extreme_steps():
    """(problem, steps, lr): one local step beside a thousand."""
    H = [[[2, 1], [1, 2]], [[1, 0], [0, Q(1, 2)]]]
    return Quadratic(H, [[1, 0], [-1, 2]], [Q(3, 4), Q(1, 4)], name="extreme steps"), (1, 1000), Q(1, 10)


# ---- data ------------------------------------------------------------------------------------------------
def read_table(path):
    """(names, rows of Fractions) of a CSV of decimal numbers whose first lines are `#` comments.

    Raises BadInput naming the file, and the line, if it cannot be read.
    """
    file = read_cells(path)
    table = numbers(file, file.names)
    return file.names, [list(row) for row in zip(*table.values(), strict=True)]


def diabetes(exact=True, clients="age", reg=Q(1, 10), bands=5, weights="rows", path=DIABETES) -> Ridge:
    """Ridge regression on the diabetes data (442 patients, 10 features and an intercept); clients are feature bands.

    clients: name of a feature; its values are cut at quantiles into `bands` groups (one group per value if it
    has no more values than that), so sizes differ. weights: "rows" (n_i/n), (n,) weights, or None or "uniform".

    Features are standardised with rational numbers that stay short: subtract the column mean, rounded to a
    hundredth of the scale, and divide by the scale, the standard deviation rounded to a power of ten (so
    columns have deviations between 0.3 and 3.2). The target is divided by 100. Decimals are read as exact
    rationals; exact=False gives the same problem in floats. Raises BadInput on an unreadable file.
    """
    names, table = read_table(path)
    one_of(*names[:-1], rule=f"is a feature: {', '.join(names[:-1])}", remedy='For example "age" or "sex".')(clients, "clients")
    count(remedy="For example 5.")(bands, "bands")
    *columns, target = map(list, zip(*table, strict=True))
    group = banded(columns[names.index(clients)], bands)
    scaled = [[(v - shift) / scale for v in column] for column in columns for shift, scale in [short_scale(column)]]
    A, b, rows = by_client([*scaled, [Q(1)] * len(table)], [v / 100 for v in target], group)
    weights = by_rows(weights, rows)
    if not exact:
        A, b, reg = [FLOAT.array(np.array(a)) for a in A], [FLOAT.array(np.array(v)) for v in b], float(Q(reg))
        weights = None if weights is None else [float(w) for w in weights]
    return Ridge(A, b, reg, weights, name=f"diabetes by {clients}")


ALL = {f.__name__: f for f in (two_clients, ill_conditioned, skewed_weights, common_minimiser, identical_clients,
                               singular, flat, indefinite, table1_focus, scaffold_awkward, extreme_steps, diabetes)}
