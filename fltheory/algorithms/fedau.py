"""FedAU (Wang and Ji 2024): aggregation weights from counted intervals between a client's rounds."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fltheory.algorithms.reweighted import State, fits, weighed
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import put
from fltheory.core.numbers.scalars import Number, Numbers
from fltheory.core.records import count, declared, per_client, positive


class Counting(NamedTuple):
    """x (..., d) server model; of each client (..., n): weight in use, seen: finished intervals, waited: rounds since."""

    x: Any
    weight: Any
    seen: Any
    waited: Any


@dataclass(frozen=True)
class FedAu(Algorithm):
    """x <- x + server_lr sum_{i in S} p_i w_i (u_i - x): divided by all N clients (p_i = 1/N), not by the participants.

    w_i is the mean of the client's finished intervals, 1 before the first: an interval ends in a round in which the
    client takes part, or after `cutoff` rounds without one (None: never). The weights of a round come from earlier
    rounds only. An empty round keeps x, and counts.
    weights: constant w_i > 0 instead, one per client; the round is then affine and has an exact operator (with
    counters it has runs only). The limits are 1/p_i, or (1 - (1 - p_i)^K)/p_i with cut-off K.
    """

    server_lr: Number = declared(positive, 1)
    cutoff: Any = declared(count(rule="an interval lasts at least one round", remedy="Give an int >= 1, or None."), None)
    weights: Numbers = declared(per_client(positive), None)
    counters: ClassVar[tuple] = ("weight", "seen", "waited")

    def __post_init__(self):
        super().__post_init__()
        if self.weights is not None and self.cutoff is not None:
            refuse("cutoff", self.cutoff, "constant weights count nothing", "Give weights or a cut-off.")

    @property
    def affine(self) -> bool:  # type: ignore[override]
        """With constant weights only: counted ones multiply the local changes."""
        return self.weights is not None

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Counters count a client's rounds, so it cannot stand at two places."""
        return self.weights is None

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State | Counting:
        if self.weights is not None:
            fits(self.weights, problem, "weights")
            return State(x0)
        zero = 0 * (x0[..., :1] + problem.p)
        return Counting(x0, zero + 1, zero, zero)

    def round(self, problem: Problem, s: Any, draw: Draw) -> State | Counting:
        weight = s.weight if self.weights is None else self.weights
        x = s.x + self.server_lr * weighed(self.lr, problem, s.x, draw, weight)
        return State(x) if self.weights is not None else self._count(Counting(x, *s[1:]), draw)

    def _count(self, s: Counting, draw: Draw) -> Counting:
        """The counters after a round: the new weights serve later rounds."""
        waited, one = s.waited + 1, (0 * s.waited + 1)[..., None]
        ends = put(0 * one, draw.who, one[..., :1, :], draw.present)[..., 0]
        if self.cutoff is not None:
            ends = ends + (1 - ends) * ((waited == self.cutoff) * 1)
        mean = (s.seen * s.weight + waited) / (s.seen + 1)
        return Counting(s.x, s.weight + ends * (mean - s.weight), s.seen + ends, waited - ends * waited)
