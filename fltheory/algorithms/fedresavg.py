"""FedResAvg (Federated Residual Learning): personal parameters first, then SCAFFOLD on the shared one."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import EVERYONE, broadcast, put, spread, take
from fltheory.core.numbers.scalars import Number, StepSize
from fltheory.core.records import count, declared, one_of, positive

STEP_NEEDED = ("the personal phase needs a step size", "Give a number > 0, for example lr.")


class State(NamedTuple):
    """x (..., d) shared parameter w; theta (..., n, k) personal ones, padded; c (..., d), ci (..., n, d) variates."""

    x: Any
    theta: Any
    c: Any
    ci: Any


def own_parameters(problem: Problem, x0):
    """Personal parameters theta (..., n, k) at the start: 0. Refused where a problem has none."""
    if not problem.personal:
        refuse("problem", type(problem).__name__, "has no personal parameters", "Use Residual or Personal, or another algorithm.")
    theta = 0 * (x0[..., None, :1] + problem.p[..., None])
    return broadcast(theta, (*theta.shape[:-1], problem.personal))


def personal_phase(cohort, x, theta, draw: Draw, lr):
    """theta_i after the local steps on it with w = x frozen, gradient slots 0, 1, ..."""
    for k, on in draw.local_steps():
        _, g = cohort.grad_pair(x, theta, draw.xi_at(k))
        theta = theta - lr * on * g
    return theta


@dataclass(frozen=True)
class FedResAvg(Algorithm):
    """K steps on theta_i with w frozen, then K steps w_i <- w_i - lr (g - c_i + c) with the new theta_i frozen.

    Then c_i <- mean of the g of the second phase (option 2) or 0 (option 1), w <- w + alpha sum_i s_i (w_i - w), and c is
    the mean of the c_i: over="all" clients, sum_i p_i c_i, or over the "present" ones (the paper samples no clients).
    personal_lr: step size lambda > 0 of the first phase (the paper's experiments take lr). alpha: server step.
    start: c_i at the first model, "zero" or "warm", the gradients in w there; c is their mean.
    Gradient slots: 0..K-1 in the first phase, K..2K-1 in the second, K the largest number of steps. The paper has
    all clients in every round; absent ones keep theta_i and c_i here. theta starts at 0.
    """

    personal_lr: StepSize = declared(positive, None, STEP_NEEDED)
    alpha: Number = declared(positive, 1)
    option: int = declared(count(1, 2, "is 1 or 2", "Choose how the control variate is made."), 2)
    start: str = declared(one_of("zero", "warm"), "zero")
    over: str = declared(one_of("all", "present"), "all")
    stateful: ClassVar[bool] = True
    personal: ClassVar[bool] = True
    uplink: ClassVar[int] = 2    # w_i - w and c_i
    downlink: ClassVar[int] = 2  # w and c (the pseudo-code prints w alone, but its clients use c)

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        theta = own_parameters(problem, x0)
        ci = 0 * (x0[..., None, :] + problem.p[..., None])
        if self.start == "warm":
            ci, _ = problem.at(EVERYONE).grad_pair(x0[..., None, :] + ci, theta)
        return State(x0, theta, (problem.p[..., None] * ci).sum(-2), ci)

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        cohort = problem.at(draw.who)
        x, c, ci = spread(s.x, draw.who), spread(s.c, draw.who), take(s.ci, draw.who)
        theta = personal_phase(cohort, x, take(s.theta, draw.who), draw, self.personal_lr)
        w, total, steps = x, 0 * ci, list(draw.local_steps())
        for k, on in steps:
            g, _ = cohort.grad_pair(w, theta, draw.xi_at(len(steps) + k))
            w, total = w - self.lr * on * (g - ci + c), total + on * g
        share = shares(cohort, draw.present, "weighted")[..., None]
        new = total / draw.steps[..., None] if self.option == 2 else 0 * total
        ci = put(s.ci, draw.who, new, draw.present)
        mean = ((problem.p[..., None] * ci).sum(-2) if self.over == "all" else
                s.c + (share * (new - c)).sum(-2))   # an empty round keeps c
        return State(s.x + self.alpha * (share * (w - x)).sum(-2), put(s.theta, draw.who, theta, draw.present), mean, ci)
