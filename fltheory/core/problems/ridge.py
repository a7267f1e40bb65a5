"""Ridge regression clients: quadratics that also have rows, so mini-batches."""
from __future__ import annotations

from fractions import Fraction

import numpy as np

from fltheory.core.errors import TooLarge
from fltheory.core.kinds import Who
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.rows import pick
from fltheory.core.problems.shapes import check_lengths, check_reg, clients, pad
from fltheory.core.records import one_of

MOST_ENTRIES = 2e9   # of all Hessians: 16 GB in floats
CONVENTIONS = ("half-mean", "half-sum", "sum")


class Ridge(Quadratic):
    """Least squares per client with an l2 term, in one of three conventions (A_i has m_i rows):

    "half-mean": 1/(2 m_i) |A_i x - y_i|^2 + reg/2 |x|^2,  "half-sum": 1/2 |A_i x - y_i|^2 + reg/2 |x|^2,
    "sum": |A_i x - y_i|^2 + reg |x|^2.

    A: one (m_i, d) array per client, m_i >= 1 may differ; y: one (m_i,) array per client; reg >= 0;
    weights (n,) summing to 1, default uniform. `sizes` (n,) holds m_i. Exact data give exact H, b and offset.
    Raises BadInput on NaN, wrong shapes, a client without rows, negative reg, an unknown convention.
    """

    _data = ("H", "b", "offset", "rows", "answers", "ridge", "factor")

    def __init__(self, A: Numbers, y: Numbers, reg: Number, weights: Numbers = None, convention: str = "half-mean",
                 name: str = ""):
        one_of(*CONVENTIONS, remedy="They differ by factors.")(convention, "convention")
        A, y, reg = clients(A, "A", 2), clients(y, "y", 1), check_reg(reg)
        check_lengths(A, y, "y")
        if np.float64 in (A[0].dtype, y[0].dtype, reg.dtype):
            A, y, reg = [FLOAT.array(a) for a in A], [FLOAT.array(v) for v in y], FLOAT.array(reg)
        self.sizes = np.array([len(a) for a in A])
        d = A[0].shape[1]
        if len(A) * d * d > MOST_ENTRIES:
            raise TooLarge(f"{len(A)} Hessians in {d} dimensions have {len(A) * d * d:.2g} entries, above {MOST_ENTRIES:.0g}: use "
                           "ft.RidgeRows, which keeps the rows alone")
        reg = (2 if convention == "sum" else 1) * reg[()]
        factor = {"half-sum": Fraction(1), "sum": Fraction(2)}
        per_row: list = [factor.get(convention, Fraction(1, len(a))) for a in A]
        if A[0].dtype == np.float64:
            per_row = [float(s) for s in per_row]
        eye = linalg.identity(d, A[0])
        with np.errstate(all="ignore"):  # what overflows is refused in words
            H = np.stack([s * linalg.matmul(a.T, a) + reg * eye for s, a in zip(per_row, A, strict=True)])
            H = (H + H.swapaxes(1, 2)) / 2
            b = np.stack([s * linalg.matmul(a.T, v) for s, a, v in zip(per_row, A, y, strict=True)])
            offset = np.array([s * (v * v).sum() / 2 for s, v in zip(per_row, y, strict=True)], dtype=A[0].dtype)
        self._finish(H, b, offset, weights, name)
        self.c, self.convention = None, convention
        self.rows, self.answers = pad(A), pad(y)
        self.ridge = np.array([reg] * self.n, dtype=H.dtype)
        self.factor = np.array([s * len(a) for s, a in zip(per_row, A, strict=True)], dtype=H.dtype)  # unbiased

    def _gradient(self, who: Who, y, sample):
        if not isinstance(sample, Rows):
            return super()._gradient(who, y, sample)
        a, t = (pick(v, who, sample, self.sizes) for v in (self._rows, self._answers))
        residual = (a * y[..., None, :]).sum(-1) - t                                  # (..., m, b)
        g = (a * residual[..., None]).sum(-2) / a.shape[-2]
        return self._factor[who][..., None] * g + self._ridge[who][..., None] * y
