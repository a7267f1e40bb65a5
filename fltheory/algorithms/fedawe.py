"""FedAWE (Xiang et al. 2024): clients keep their own models and amplify their change by the rounds they were away."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.kinds import Array, Draw, Law, Problem
from fltheory.core.laws.ages import Ages
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import count, declared, positive


class State(NamedTuple):
    """x (..., d) server model; w (..., n, d) the clients' own models."""

    x: Any
    w: Any


class Aged(NamedTuple):
    """x (..., d) server model; w (..., n, d) the clients' own models; age (..., n) rounds since the last one."""

    x: Any
    w: Any
    age: Any


@dataclass(frozen=True)
class FedAwe(Algorithm):
    """Participants step from their own w_i to u_i, send w_i + server_lr age_i (u_i - w_i), and receive the average x.

    age_i: rounds since client i last took part, 1 if that was the round before, and in the first round. Averages are
    over the participants (p_i renormalised). Absent clients keep w_i; an empty round changes no model and ages everybody.
    cap: None keeps the ages in the state, so the round is not affine. An int >= 1 uses min(age, cap), which the law
    then provides (`Ages`, put around the law by `derive` and `run`): the operator is exact, and `Ages.tail()` bounds the
    chance that an age was cut. A draw without ages counts as one in which everybody has age 1.
    """

    server_lr: Number = declared(positive, 1)
    cap: Any = declared(count(rule="ages start at 1", remedy="Give an int >= 1, or None for ages of any length."), None)
    stateful: ClassVar[bool] = True
    counters: ClassVar[tuple] = ("age",)

    @property
    def affine(self) -> bool:  # type: ignore[override]
        """With ages from the law only: those in the state multiply the local changes."""
        return self.cap is not None

    def law_for(self, law: Law, n: int) -> Law:
        if self.cap is None or (isinstance(law, Ages) and law.cap == self.cap):
            return law
        return Ages(law, self.cap, n)

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State | Aged:
        each = x0[..., None, :] + 0 * problem.p[..., None]
        return State(x0, each) if self.cap is not None else Aged(x0, each, 0 * each[..., 0] + 1)

    def round(self, problem: Problem, s: Any, draw: Draw) -> State | Aged:
        cohort, own = problem.at(draw.who), take(s.w, draw.who)
        u = own
        for k, on in draw.local_steps():
            u = u - self.lr * on * cohort.grad(u, draw.xi_at(k))
        sent = own + self.server_lr * self._age(s, draw) * (u - own)
        x = s.x + (shares(cohort, draw.present, "weighted")[..., None] * (sent - spread(s.x))).sum(-2)
        w = put(s.w, draw.who, spread(x) + 0 * own, draw.present)
        return State(x, w) if self.cap is not None else Aged(x, w, _later(s.age, draw))

    def _age(self, s, draw: Draw):
        """Ages (..., m, 1) of the cohort."""
        if self.cap is None:
            return take(s.age[..., None], draw.who)
        age = None if draw.extra is None else draw.extra.get("age")
        return 1 if age is None else take(age[..., None], draw.who)


def _later(age, draw: Draw):
    """Ages (..., n) for the next round."""
    one = (0 * age + 1)[..., None]
    return put(age[..., None] + 1, draw.who, one[..., :1, :], draw.present)[..., 0]
