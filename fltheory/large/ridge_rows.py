"""Ridge regression by its rows: thousands of clients in a thousand coordinates, whose Hessians nobody could hold."""
from __future__ import annotations

from fltheory.core.kinds import Array
from fltheory.core.numbers.scalars import FLOAT, Domain
from fltheory.core.problems.base import Problem
from fltheory.core.problems.ridge import CONVENTIONS
from fltheory.core.problems.rows import RowLoss
from fltheory.core.problems.shapes import check_lengths, check_reg, clients
from fltheory.core.records import one_of


class RidgeRows(RowLoss):
    """The losses of `Ridge`, in floats and without its Hessians (n, d, d): gradients are A_i'(A_i x - y_i), from the rows.

    A: one (m_i, d) array per client, m_i >= 1 may differ; y: one (m_i,) array per client; reg >= 0; weights (n,) summing to 1,
    default uniform; convention: as for `Ridge`. Memory and the work of a gradient are those of the rows. It runs, has its
    minimiser (`ft.optimum`), and an operator (`ft.derive(method="structured")`); exact numbers and closed forms ask for `Ridge`.
    Raises BadInput on NaN, wrong shapes, a client without rows, negative reg, an unknown convention.
    """

    curvature, quadratic = 1, True

    def __init__(self, A: Array, y: Array, reg: Array, weights: Array = None, convention: str = "half-mean", name: str = ""):
        one_of(*CONVENTIONS, remedy="They differ by factors.")(convention, "convention")
        A, y = ([FLOAT.array(v) for v in clients(values, what, ndim)] for values, what, ndim in ((A, "A", 2), (y, "y", 1)))
        check_lengths(A, y, "y")
        twice = 2.0 if convention == "sum" else 1.0
        scales = [FLOAT.array([1 / len(a) if convention == "half-mean" else twice] * len(a)) for a in A]
        self._finish(A, [v[:, None] for v in y], scales, twice * FLOAT.array(check_reg(reg)), weights, name)
        self.convention = convention

    def to(self, domain: Domain) -> RidgeRows:
        return Problem.to(self, domain)   # its gradients are rational at its data's binary values

    def _loss(self, u, t):
        return (u - t)[..., 0] ** 2 / 2

    def _slope(self, u, t):
        return u - t

    def _curve(self, u, t):
        return 0 * u[..., None] + 1.0
