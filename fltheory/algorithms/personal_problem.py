"""Any clients read as residual ones: part of a client's parameters is shared, the rest is its own."""
from __future__ import annotations

import copy

import numpy as np

from fltheory.algorithms.residual_problem import Residual, embedded
from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Array, Who
from fltheory.core.numbers.arrays import broadcast, concat
from fltheory.core.numbers.scalars import is_count
from fltheory.core.problems import plain
from fltheory.core.problems.base import Problem
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.rows import RowLoss

LARGEST_JOINT = 3000  # joint coordinates of losses of rows, where Newton's method takes minutes


class Personal(Problem):
    """L_i(w, t_i) = f_i(x) where x holds the shared w and client i's own t_i.

    problem: clients f_i (Quadratic, Ridge, HuberLoss, Logistic); shared: how many of their coordinates are w, the first
    ones; for losses of rows that many features, of every class. `d` and `personal` are the sizes of w and t_i. Gradients
    come in pairs, samples (mini-batches, or noise on both parts or on the first alone) are the problem's own.
    (Federated Residual Learning, Eqs 1 to 3.) Raises BadInput where nothing is shared or nothing is left to the clients.
    """

    def __init__(self, problem: Quadratic | RowLoss, shared: int, name: str = ""):
        if not isinstance(problem, (Quadratic, RowLoss)):
            refuse("problem", type(problem).__name__, "has no coordinates that can be split",
                   "Give a Quadratic, Ridge, HuberLoss or Logistic problem.")
        self.outputs = getattr(problem, "outputs", 1)
        size = problem.d // self.outputs
        if not is_count(shared) or shared >= size:
            refuse("shared", shared, f"is an int from 1 to {size - 1}: of {size} coordinates, some are shared and some personal",
                   "For nothing personal use the problem itself.")
        self._base, self.shared, self.name = problem, shared, name
        self.n, self.d, self.personal = problem.n, shared * self.outputs, (size - shared) * self.outputs
        self.weights, self._data, self.quadratic = problem.weights, problem._data, problem.quadratic
        for what in problem._data:
            setattr(self, what, getattr(problem, what))
        if hasattr(problem, "sizes"):
            self.sizes = problem.sizes

    @property
    def identity(self) -> str:
        return f"{super().identity}({self.shared}, {self._base.identity})"

    def _prepare(self):
        self._base = self._base.to(self.domain)

    def whole(self, w: Array, theta: Array) -> Array:
        """The clients' parameters (..., n, d + personal) from w (..., n or 1, d) and t (..., n, personal)."""
        lead = np.broadcast_shapes(tuple(w.shape[:-1]), tuple(theta.shape[:-1]))
        w, theta = broadcast(w, (*lead, self.d)), broadcast(theta, (*lead, self.personal))
        if self.outputs == 1:
            return concat([w, theta])
        parts = [v.reshape((*v.shape[:-1], self.outputs, -1)) for v in (w, theta)]
        return concat(parts).reshape((*w.shape[:-1], -1))

    def parts(self, x: Array) -> tuple:
        """(w (..., d), t (..., personal)) of parameters x (..., d + personal)."""
        if self.outputs == 1:
            return x[..., :self.d], x[..., self.d:]
        x = x.reshape((*x.shape[:-1], self.outputs, -1))
        return tuple(v.reshape((*v.shape[:-2], -1)) for v in (x[..., :self.shared], x[..., self.shared:]))

    def _gradient_pair(self, who: Who, w, theta, sample):
        rows = sample if isinstance(sample, Rows) else None
        gw, gtheta = self.parts(self._base._gradient(who, self.whole(w, theta), rows))
        if rows is not None or sample is None:
            return gw, gtheta
        if sample.shape[-1] == self.d:
            return gw + sample, gtheta
        return gw + sample[..., :self.d], gtheta + sample[..., self.d:]

    def _gradient(self, who: Who, y, sample):
        refuse("problem", "Personal", "has personal parameters, so its gradients come in pairs",
               "Use problem.alone() for an algorithm without personal parameters.")

    def _values(self, x):
        return self._gradient(None, x, None)

    def joint_value(self, w: Array, theta: Array) -> Array:
        """sum p_i L_i(w, t_i) at w (..., d) and t (..., n, personal) -> (...,)."""
        if "p" not in self.__dict__:
            return plain.joint_value(self, w, theta)
        x = self.whole(w[..., None, :], theta)
        return (self.p * self._base._own_values(x)).sum(-1)

    # ---- the same clients as ordinary problems ---------------------------------------------------------------
    def alone(self) -> Problem:
        """The clients in w alone, t_i = 0: formulation (4)."""
        return self._moved(lambda i, size: np.arange(self.shared), self.shared)

    def joint(self) -> Problem:
        """The clients as functions of (w, t_1, ..., t_n) together: formulation (1), whose minimiser `optimum` certifies.

        Coordinates: w, then t_1, t_2, ..; of losses of rows the same order of features in every class. A client is regularised
        in its own coordinates alone. Raises TooLarge.
        """
        width = self.personal // self.outputs
        return self._moved(lambda i, size: np.r_[:self.shared, self.shared + i * width:self.shared + (i + 1) * width],
                           self.shared + self.n * width)

    def blocks(self) -> Residual:
        """Quadratic clients as block quadratics, without their constants."""
        base, at = self._base, self.shared
        if not isinstance(base, Quadratic):
            refuse("problem", type(base).__name__, "has clients that are no quadratics", "Use joint().")
        H, b = base.H, base.b
        return Residual(H[:, :at, :at], H[:, :at, at:], H[:, at:, at:], b[:, :at], b[:, at:], self.weights, self.name)

    def split(self, z: Array) -> tuple:
        """(w (d,), t (n, personal)) of a point z of `joint`."""
        z = plain.joint_point(z, self.d + self.n * self.personal).reshape(self.outputs, -1)
        parts = z[:, self.shared:].reshape(self.outputs, self.n, -1).swapaxes(0, 1)
        return z[:, :self.shared].reshape(-1), parts.reshape(self.n, -1)

    def _moved(self, places, size):
        """The problem in `size` coordinates, client i's (the first of them, as many as places gives) at places(i)."""
        base = self._base.surrogate(self.weights)   # `surrogate` may have changed them here
        at = [places(i, size) for i in range(self.n)]
        coordinates = np.arange(len(at[0]))
        if isinstance(base, Quadratic):
            return embedded(base, at, size, coordinates)
        if size * self.outputs > LARGEST_JOINT:
            raise TooLarge(f"the clients have {size * self.outputs} joint coordinates, above {LARGEST_JOINT}: take fewer clients")
        new = copy.copy(base)
        new.__dict__ = {k: v for k, v in base.__dict__.items() if k not in ("_converted", "p", "domain") and "_cached" not in k}
        new.rows = np.stack([_placed(rows[:, coordinates], spots, size) for rows, spots in zip(base.rows, at, strict=True)])
        new.d = size * self.outputs
        if size > len(coordinates):   # nobody is regularised in coordinates of others
            mine = np.array([np.tile(np.isin(np.arange(size), spots), self.outputs) for spots in at])
            new.ridge = np.where(mine, base.reg[()], 0 * base.reg[()])
        return new


def _placed(rows, places, size):
    out = np.repeat(0 * rows[:, :1], size, axis=1)
    out[:, places] = rows
    return out
