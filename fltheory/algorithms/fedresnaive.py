"""FedResNaive (Federated Residual Learning): local steps on shared and personal parameters, then w is averaged."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fltheory.algorithms.fedresavg import STEP_NEEDED, own_parameters
from fltheory.algorithms.fedressgd import State
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import StepSize
from fltheory.core.records import declared, one_of, positive


@dataclass(frozen=True)
class FedResNaive(Algorithm):
    """K local steps on w_i and theta_i, each with one mini-batch (slots 0..K-1); w <- w + sum_i s_i (w_i - w).

    order: "seq", as the pseudo-code prints it, theta_i moves by the gradient at the new w_i; "sim", as the text says it,
    both move at once. personal_lr: step size lambda > 0 of theta_i. theta starts at 0; absent clients keep it.
    """

    personal_lr: StepSize = declared(positive, None, STEP_NEEDED)
    order: str = declared(one_of("seq", "sim"), "seq")
    stateful: ClassVar[bool] = True
    personal: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, own_parameters(problem, x0))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort, x = problem.at(draw.who), spread(s.x, draw.who)
        w, theta = x, take(s.theta, draw.who)
        for k, on in draw.local_steps():
            g, own = cohort.grad_pair(w, theta, draw.xi_at(k))
            w = w - self.lr * on * g
            if self.order == "seq":
                _, own = cohort.grad_pair(w, theta, draw.xi_at(k))
            theta = theta - self.personal_lr * on * own
        share = shares(cohort, draw.present, "weighted")[..., None]
        return State(s.x + (share * (w - x)).sum(-2), put(s.theta, draw.who, theta, draw.present))
