"""FedResSGD (Federated Residual Learning, Section 3.1): personal parameters first, then one large step on the shared one."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.algorithms.fedresavg import STEP_NEEDED, own_parameters, personal_phase
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import StepSize
from fltheory.core.records import declared, positive


class State(NamedTuple):
    """x (..., d) shared parameter w; theta (..., n, k) personal ones, padded."""

    x: Any
    theta: Any


@dataclass(frozen=True)
class FedResSgd(Algorithm):
    """K steps on theta_i with w frozen, then one step on w by K lr times the gradient of a batch K times as large.

    The large batch is the mean of K mini-batch gradients at the new theta_i (slots K..2K-1; slots 0..K-1 in the first
    phase). personal_lr: step size lambda > 0 of the first phase (Theorem 1 takes lr/N). theta starts at 0; absent clients
    keep it, the paper has none.
    """

    personal_lr: StepSize = declared(positive, None, STEP_NEEDED)
    stateful: ClassVar[bool] = True
    personal: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        return State(x0, own_parameters(problem, x0))

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort, x = problem.at(draw.who), spread(s.x, draw.who)
        theta = personal_phase(cohort, x, take(s.theta, draw.who), draw, self.personal_lr)
        total, steps = 0 * x, list(draw.local_steps())
        for k, on in steps:
            g, _ = cohort.grad_pair(x, theta, draw.xi_at(len(steps) + k))
            total = total + on * g
        share = shares(cohort, draw.present, "weighted")[..., None]
        return State(s.x - self.lr * (share * total).sum(-2), put(s.theta, draw.who, theta, draw.present))
