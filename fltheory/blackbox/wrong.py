"""Wrong algorithms: methods of the catalogue with one part replaced, to be compared with a black box as whole maps."""
from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fltheory.blackbox.box import Reference
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedau import FedAu
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.focus import State as FocusState
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.mifa import State as MifaState
from fltheory.core.algorithms.reweighted import weighed
from fltheory.core.algorithms.scaffold import Scaffold, State
from fltheory.core.algorithms.server_momentum import ServerMomentum
from fltheory.core.algorithms.solvers import descend
from fltheory.core.arrays import put, ratio, spread, take
from fltheory.core.scalars import Number


@dataclass(frozen=True)
class Control(Scaffold):
    """SCAFFOLD with parts of its control variates replaced.

    c_i is divided by divisor steps, or by (steps + longer) times `factor`; sign: of the correction c - c_i in the local
    step, "client" for -c_i alone; server: weights with which c moves; order: how c_i is renewed and sent; pace:
    multiplies the move of c; early: c moves after each client, so that later ones use it.
    """

    longer: Any = 0
    factor: Number = 1
    divisor: Number = None
    sign: Any = 1
    server: str = "weighted"
    order: str = "old"
    pace: Number = 1
    early: bool = False

    def round(self, problem, s, draw):
        if not self.early:
            return self._together(problem, s, draw)
        x, c, ci = s.x, s.c, s.ci
        cohort = problem.at(draw.who)
        share = ratio(cohort.p * draw.present, (cohort.p * draw.present).sum(-1, keepdims=True))
        for k in range(draw.present.shape[-1]):
            alone = draw._replace(present=draw.present * (np.arange(draw.present.shape[-1]) == k))
            one = self._together(problem, State(s.x, c, ci), alone)
            x, c, ci = x + share[..., k:k + 1] * (one.x - s.x), one.c, one.ci
        return State(x, c, ci)

    def _together(self, problem, s, draw):
        cohort = problem.at(draw.who)
        x, c, ci = spread(s.x, draw.who), spread(s.c, draw.who), take(s.ci, draw.who)
        y, there = x, draw.present[..., None]
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) + (-ci if self.sign == "client" else self.sign * (c - ci)))
        divisor = self.divisor if self.divisor is not None else (draw.steps[..., None] + self.longer) * self.factor
        new = ci - (0 if self.order == "none" else c) + (x - y) / (divisor * (1 if self.order == "no lr" else self.lr))
        if self.option == 1:
            new = cohort.grad(y if self.order == "end" else x + 0 * ci, draw.xi_at(k + 1))
        share = (cohort.p * draw.present)[..., None]
        weights = ratio(share, share.sum(-2, keepdims=True))
        alike = there * (1 + 0 * share)
        moves = {"weighted": share, "plain": alike / problem.n, "frozen": 0 * share, "participants": weights,
                 "mean": ratio(alike, alike.sum(-2, keepdims=True)), "sum": alike}[self.server]
        sent = new - {"whole": 0 * c, "from c": c}.get(self.order, ci)
        return State(s.x + self.server_lr * (weights * (y - x)).sum(-2), s.c + self.pace * (moves * sent).sum(-2),
                     put(s.ci, draw.who, new, 0 * draw.present if self.order == "lost" else draw.present))


class Tracked(NamedTuple):
    """A `Focus` state with trackers v (..., n, d) that live on."""

    x: Any
    y: Any
    g: Any
    v: Any


@dataclass(frozen=True)
class Tracking(Algorithm):
    """FOCUS with one part of its memories replaced; how: see TRACKING in variants.py."""

    how: str = ""
    start: str = "zero"
    stateful: ClassVar[bool] = True

    def init(self, problem, x0, draw=None):
        s = Focus(self.lr, self.steps, self.start).init(problem, x0, draw)
        return Tracked(*s, 0 * s.g) if self.how == "tracker" else s

    def round(self, problem, s, draw):
        cohort, there, how = problem.at(draw.who), draw.present[..., None], self.how
        u, old, first = spread(s.x, draw.who), take(s.g, draw.who), None
        v, stored = (take(s.v, draw.who) if how == "tracker" else 0 * old), (0 * old if how == "forgotten" else old)
        for k, on in draw.local_steps():
            g = stored + on * (cohort.grad(u, draw.xi_at(k)) - stored)
            v, stored, first = v + (g - stored), g, g if first is None else first
            u = u - self.lr * on * v
        count = ratio(there, there.sum(-2, keepdims=True))
        push = {"mean": there / problem.n, "cohort mean": count}.get(how, there)
        y = 0 * s.y + (there * stored).sum(-2) if how == "reset" else s.y + (push * v).sum(-2)
        x = (count * u).sum(-2) if how == "models" else s.x - self.lr * (s.y if how == "late" else y)
        new = x, y, put(s.g, draw.who, first if how == "first" else stored, draw.present)
        return Tracked(*new, put(s.v, draw.who, v, draw.present)) if how == "tracker" else FocusState(*new)


class Referenced(NamedTuple):
    """A `Mifa` state with each client's last local model (..., n, d)."""

    x: Any
    G: Any
    last: Any


@dataclass(frozen=True)
class Remembered(Mifa):
    """MIFA with a wrong sign at the server (`how` "ascent"), a wrong reference model of the update ("own"), or one model
    object for all, so that participants train in turn and every update is 0 ("shared")."""

    how: str = ""

    def init(self, problem, x0, draw=None):
        s = super().init(problem, x0, draw)
        return Referenced(*s, x0[..., None, :] + s.G) if self.how == "own" else s

    def round(self, problem, s, draw):
        if self.how == "shared":
            x, places = s.x, np.arange(draw.present.shape[-1])
            for k in places:
                G = super().round(problem, MifaState(x, 0 * s.G), draw._replace(present=draw.present * (places == k))).G
                x = x - self.lr * G.sum(-2)
            return s._replace(x=x)
        new = super().round(problem, MifaState(s.x, s.G), draw)
        if self.how == "ascent":
            return new._replace(x=2 * s.x - new.x)
        y = spread(s.x, draw.who) - self.lr * take(new.G, draw.who)
        G = put(s.G, draw.who, (take(s.last, draw.who) - y) / self.lr, draw.present)
        return Referenced(s.x - self.lr * (problem.p[..., None] * G).sum(-2), G, put(s.last, draw.who, y, draw.present))


@dataclass(frozen=True)
class Weighing(FedAu):
    """FedAU with other weights; weight: "past" (its own), "current" (the interval that this round ends counts too),
    "stuck" (no interval ever ends: rounds so far), "last" (none ends either: rounds up to its last participation) or "none"
    (1); divisor: of the sum, all clients or the "sum" of weights."""

    weight: str = "past"
    divisor: str = "all"

    def round(self, problem, s, draw):
        weight = s.weight if self.weights is None else self.weights
        later = None if self.weights is not None else self._count(s, draw)
        if self.weight in ("stuck", "last"):
            later = self._count(s._replace(seen=0 * s.seen), draw)._replace(seen=s.seen, waited=s.waited + 1)
        weight = {"past": lambda: weight, "last": lambda: weight, "none": lambda: 0 * weight + 1, "current": lambda: later.weight,
                  "stuck": lambda: later.waited}[self.weight]()
        move = weighed(self.lr, problem, s.x, draw, weight)
        if self.divisor == "sum":
            each = problem.at(draw.who).p * draw.present * take(weight[..., None], draw.who)[..., 0]
            move = ratio(move, each.sum(-1, keepdims=True))
        x = s.x + self.server_lr * move
        return s._replace(x=x) if later is None else later._replace(x=x)


class Buffers(NamedTuple):
    """x (..., d) server model; u (..., n, d) local momentum buffers."""

    x: Any
    u: Any


@dataclass(frozen=True)
class Kept(Algorithm):
    """FedAvg or FedNova (`base`) whose local momentum buffers live on from round to round."""

    base: Any = None
    stateful: ClassVar[bool] = True

    def init(self, problem, x0, draw=None):
        return Buffers(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem, s, draw):
        cohort, solver = problem.at(draw.who), self.base.solver
        x, u = spread(s.x, draw.who), take(s.u, draw.who)
        y = x
        mass = descend(solver, self.lr, cohort, x, draw)[1]
        for k, on in draw.local_steps():
            u = u + on * ((solver.rho - 1) * u + cohort.grad(y, draw.xi_at(k)))
            y = y - on * (self.lr * u + getattr(solver, "alpha", 0) * (y - x))
        return Buffers(self.base.server(s.x, cohort, draw, y - x, mass), put(s.u, draw.who, u, draw.present))


class Dampened(NamedTuple):
    """x (..., d) server model; v (..., d) server buffer; late: 0 in the first round, then 1."""

    x: Any
    v: Any
    late: Any = 0


@dataclass(frozen=True)
class ServerBuffer(ServerMomentum):
    """Server momentum as torch's optimiser: v <- D, then v <- beta v + (1 - dampening) D; nesterov: look-ahead."""

    dampening: Number = 0
    nesterov: bool = False

    def init(self, problem, x0, draw=None):
        return Dampened(x0, 0 * x0)

    def round(self, problem, s, draw):
        D = (s.x - self._aggregated(problem, s.x, draw)) / self.lr
        v = self.beta * s.v + (1 - self.dampening * s.late) * D
        return Dampened(s.x - self.lr * (D + self.beta * v if self.nesterov else v), v, 1)


class Unweighted(Reference):
    """A reference whose data weights are dropped, in the model and in the memories."""

    def __init__(self, reference):
        super().__init__(reference.algorithm, reference.n, reference.d, reference.tau)

    @staticmethod
    def _plain(instance):
        class Plain:
            problem = instance.problem.surrogate(None)
            d = instance.d
        return Plain

    def run(self, instance, x, schedule=(None,), draws=None):
        return super().run(self._plain(instance), x, schedule, draws)

    def joint(self, instance, z, cohort=None):
        return super().joint(self._plain(instance), z, cohort)


class InTurn(Reference):
    """Plain or normalised averaging whose participants train one after the other on one model object.

    take: "copies" (the models seen on the way are averaged), "last" (all entries are the final model) or "alone" (each
    starts at the server model, all entries are the last participant's).
    """

    def __init__(self, reference, take):
        super().__init__(replace(reference.algorithm, averaging="weighted"), reference.n, reference.d, reference.tau)
        self.take, self.averaging = take, reference.algorithm.averaging

    def run(self, instance, x, schedule=(None,), draws=None):
        out, x = [], np.asarray(x, dtype=float)
        for cohort in schedule:
            who = list(range(self.n)) if cohort is None else list(cohort)
            p = np.array([float(instance.weights[i]) if self.averaging == "weighted" else 1 for i in who])
            seen, y = [], x
            for i in who:
                y = super().run(instance, x if self.take == "alone" else y, [(i,)])[0]
                seen.append(y)
            x = seen[-1] if self.take != "copies" else sum(w * v for w, v in zip(p / p.sum(), seen, strict=True))
            out.append(x)
        return np.stack(out)

    def joint(self, instance, z, cohort=None):
        return self.run(instance, z, (cohort,))[0]


class Decaying(Reference):
    """A reference without memories whose step size is smaller in every round.

    It is multiplied by gamma after each; or, gamma None, the solver's decay runs on, at each client after its own steps.
    """

    def __init__(self, reference, gamma=None):
        super().__init__(reference.algorithm, reference.n, reference.d, reference.tau)
        self.gamma = gamma

    def run(self, instance, x, schedule=(None,), draws=None):
        out, kept, made = [], self._float, np.zeros((self.n, 1))
        for k, cohort in enumerate(schedule):
            pace = np.reshape(kept.solver.gamma, (-1, 1)) ** made if self.gamma is None else float(self.gamma) ** k
            self._float = copy.copy(kept)
            object.__setattr__(self._float, "lr", kept.lr * pace)   # one per client is no record's step size
            out.append(super().run(instance, out[-1] if out else x, (cohort,))[0])
            who = slice(None) if cohort is None else list(cohort)
            made[who, 0] += self.steps[who]
        self._float = kept
        return np.stack(out)

    def joint(self, instance, z, cohort=None):
        return self.run(instance, z, (cohort,))[0]
