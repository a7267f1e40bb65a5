"""FedSGD (McMahan et al. 2017): one step per round, by the gradient of a large batch at the server model."""
from __future__ import annotations

from dataclasses import dataclass

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import State, shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import spread


@dataclass(frozen=True)
class FedSgd(Algorithm):
    """x <- x - lr sum_i s_i sum_{k < steps} g_i(x; xi_k): as many mini-batches as FedAvg's local steps, all of them at x.

    It is FedResSGD without personal parameters (Federated Residual Learning, Section 3.1).
    """

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0)

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort, x = problem.at(draw.who), spread(s.x, draw.who)
        total = 0 * x
        for k, on in draw.local_steps():
            total = total + on * cohort.grad(x, draw.xi_at(k))
        return State(s.x - self.lr * (shares(cohort, draw.present, "weighted")[..., None] * total).sum(-2))
