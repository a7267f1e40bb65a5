"""Wrong variants behind the published figures: MIFA's reference model, FedAU's counter, as read in the public code."""
from dataclasses import dataclass
from typing import Any, NamedTuple

from fltheory.core.algorithms.fedau import Counting, FedAu
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.reweighted import State as Model
from fltheory.core.algorithms.solvers import Vanilla, descend
from fltheory.core.arrays import put, ratio, spread, take


class Referenced(NamedTuple):
    """x (..., d) server model; G (..., n, d) last updates; last (..., n, d) each client's last local model."""

    x: Any
    G: Any
    last: Any


@dataclass(frozen=True)
class PreviousModelMifa(Mifa):
    """MIFA whose participants report (last_i - y_i)/lr, last_i being their own previous local model (x0 at first)."""

    def init(self, problem, x0, draw=None):
        each = x0[..., None, :] + 0 * problem.p[..., None]
        return Referenced(x0, 0 * each, each)

    def round(self, problem, s, draw):
        cohort, x = problem.at(draw.who), spread(s.x, draw.who)
        change, _ = descend(Vanilla(), self.lr, cohort, x, draw)
        y = x + change
        G = put(s.G, draw.who, (take(s.last, draw.who) - y) / self.lr, draw.present)
        return Referenced(s.x - self.lr * (problem.p[..., None] * G).sum(-2), G, put(s.last, draw.who, y, draw.present))


def mifa_previous_local_model(algorithm):
    """The update is measured from the client's previous local model instead of the pulled server model."""
    return PreviousModelMifa(algorithm.lr, algorithm.steps) if type(algorithm) is Mifa else None


def mifa_as_published(algorithm):
    """The update is measured from the pulled server model: MIFA itself."""
    return Mifa(algorithm.lr, algorithm.steps) if type(algorithm) is PreviousModelMifa else None


@dataclass(frozen=True)
class StuckFedAu(FedAu):
    """FedAU as in the public torch code: no interval ever ends, so a participant's weight is the number of rounds so far,
    this one included; the server divides by the sum of the participants' weights."""

    def round(self, problem, s, draw):
        if self.weights is not None:
            return Model(super().round(problem, s, draw).x)
        waited = s.waited + 1
        cohort = problem.at(draw.who)
        change, _ = descend(Vanilla(), self.lr, cohort, spread(s.x, draw.who), draw)
        w = cohort.p * draw.present * take(waited[..., None], draw.who)[..., 0]
        share = ratio(w, w.sum(-1, keepdims=True))
        return Counting(s.x + self.server_lr * (share[..., None] * change).sum(-2), s.weight, s.seen, waited)


def fedau_counter_stuck(algorithm):
    """The counter of finished intervals never advances: equal weights, normalised, so plain FedAvg."""
    if type(algorithm) is not FedAu or algorithm.weights is not None:
        return None
    return StuckFedAu(algorithm.lr, algorithm.steps, algorithm.server_lr, algorithm.cutoff)


@dataclass(frozen=True)
class _HalfReference(PreviousModelMifa):
    def round(self, problem, s, draw):
        half = s.last + (s.x[..., None, :] - s.last) / 2
        return super().round(problem, s._replace(last=put(s.last, draw.who, take(half, draw.who), draw.present)), draw)


def mifa_measured_twice(algorithm):
    """The reference is half-way between the pulled server model and the previous local model."""
    return _HalfReference(algorithm.lr, algorithm.steps) if type(algorithm) is PreviousModelMifa else None


@dataclass(frozen=True)
class _Running(StuckFedAu):
    def round(self, problem, s, draw):
        after = self._count(s, draw)
        stuck = super().round(problem, s._replace(waited=after.weight - 1), draw)
        return after._replace(x=stuck.x)


def fedau_counter_runs(algorithm):
    """The intervals end, as in the public notebook: unequal weights, still normalised."""
    if type(algorithm) is not StuckFedAu:
        return None
    return _Running(algorithm.lr, algorithm.steps, algorithm.server_lr, algorithm.cutoff)
