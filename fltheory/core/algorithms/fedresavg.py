"""FedResAvg (Federated Residual Learning), option II: personal parameters first, then SCAFFOLD on the shared one."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.arrays import broadcast, put, spread, take
from fltheory.core.errors import refuse
from fltheory.core.records import declared, positive
from fltheory.core.scalars import Number, StepSize


class State(NamedTuple):
    """x (..., d) shared parameter w; theta (..., n, k) personal ones, padded; c (..., d), ci (..., n, d) variates."""

    x: Any
    theta: Any
    c: Any
    ci: Any


@dataclass(frozen=True)
class FedResAvg(Algorithm):
    """K steps on theta_i with w frozen, then K steps w_i <- w_i - lr (g - c_i + c) with the new theta_i frozen.

    Then c_i <- mean of the g of the second phase, w <- w + alpha sum_i s_i (w_i - w), c <- sum_i p_i c_i.
    personal_lr: step size lambda > 0 of the first phase (the paper's experiments take lr). alpha: server step.
    Gradient slots: 0..K-1 in the first phase, K..2K-1 in the second, K the largest number of steps. The paper has
    all clients in every round; absent ones keep theta_i and c_i here. theta, c_i and c start at 0.
    """

    personal_lr: StepSize = declared(positive, None, ("the personal phase needs a step size", "Give a number > 0, for example lr."))
    alpha: Number = declared(positive, 1)
    stateful: ClassVar[bool] = True
    personal: ClassVar[bool] = True
    uplink: ClassVar[int] = 2    # w_i - w and c_i
    downlink: ClassVar[int] = 2  # w and c (the pseudo-code prints w alone, but its clients use c)

    def init(self, problem, x0, draw=None):
        if not problem.personal:
            refuse("problem", type(problem).__name__, "has no personal parameters", "Use Residual, or Scaffold.")
        ci = 0 * (x0[..., None, :] + problem.p[..., None])
        return State(x0, broadcast(ci[..., :1], (*ci.shape[:-1], problem.personal)), 0 * x0, ci)

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        x, c, ci = spread(s.x, draw.who), spread(s.c, draw.who), take(s.ci, draw.who)
        theta, steps = take(s.theta, draw.who), list(draw.local_steps())
        for k, on in steps:
            _, g = cohort.grad_pair(x, theta, draw.xi_at(k))
            theta = theta - self.personal_lr * on * g
        w, total = x, 0 * ci
        for k, on in steps:
            g, _ = cohort.grad_pair(w, theta, draw.xi_at(len(steps) + k))
            w, total = w - self.lr * on * (g - ci + c), total + on * g
        share = shares(cohort, draw.present, "weighted")[..., None]
        ci = put(s.ci, draw.who, total / draw.steps[..., None], draw.present)
        return State(s.x + self.alpha * (share * (w - x)).sum(-2),
                     put(s.theta, draw.who, theta, draw.present),
                     (problem.p[..., None] * ci).sum(-2), ci)
