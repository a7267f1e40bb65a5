"""Wrong local work: numbers of steps, solvers, clients that share one model object, what is kept between rounds."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from fltheory.algorithms.fedau import Counting, FedAu
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.mifa import Mifa
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import FedAvg, shares
from fltheory.core.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal, Vanilla, descend
from fltheory.core.kinds import Draw, Problem
from fltheory.core.numbers.arrays import arange, put, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.core.records import unread
from fltheory.mutants.base import altered, changed


# ---- numbers of local steps -------------------------------------------------------------------------------
def with_steps(algorithm: Algorithm, more):
    """The algorithm whose clients make `more` further local steps each; None where one would make none, or none is declared."""
    if algorithm.steps is None:
        return None
    steps = algorithm.steps if isinstance(algorithm.steps, tuple) else (algorithm.steps,)
    new = tuple(k + more for k in steps)
    return replace(algorithm, steps=new if isinstance(algorithm.steps, tuple) else new[0]) if min(new) >= 1 else None


def one_step_more(algorithm: Algorithm):
    """Every client makes one local step too many."""
    return with_steps(algorithm, 1)


def one_step_less(algorithm: Algorithm):
    """Every client makes one local step too few."""
    return with_steps(algorithm, -1)


def one_step_only(algorithm: Algorithm):
    """Clients make a single local step whatever is asked for."""
    return None if algorithm.steps == 1 else replace(algorithm, steps=1)


# ---- solvers ----------------------------------------------------------------------------------------------
def hidden_proximal(algorithm: FedAvg):
    """Plain local SGD carries an undeclared proximal term (weight decay towards the server model)."""
    return replace(algorithm, solver=Proximal(mu="1/5")) if algorithm.solver == Vanilla() else None


def proximal_missing(algorithm: FedAvg):
    """The proximal term is overwritten and never applied (FedLab #280)."""
    return replace(algorithm, solver=Vanilla()) if isinstance(algorithm.solver, Proximal) else None


def unscaled_proximal(algorithm: Algorithm):
    """The proximal term is not multiplied by the local step size."""
    solver = getattr(algorithm, "solver", None)
    if type(solver) is not Proximal or solver.mu is None:
        return None
    return replace(algorithm, solver=Proximal(alpha=solver.mu))  # type: ignore[call-arg]


def _alpha(solver, lr):
    return lr * solver.mu if solver.alpha is None else solver.alpha


@changed(Proximal, "step")
def proximal_repelling(self, right, y, anchor, buffer, g, lr, on):
    """The proximal term has the wrong sign, and is applied after the step (FedScale)."""
    z = y - lr * on * g
    return z + on * _alpha(self, lr) * (z - anchor), buffer


@changed(Proximal, "step")
def proximal_not_squared(self, right, y, anchor, buffer, g, lr, on):
    """The proximal penalty is mu/2 |y - x| instead of mu/2 |y - x|^2 (flwr #2210). One dimension, ordered numbers."""
    away = y - anchor  # d = 1, where the unit vector away/|away| is a sign
    pull = _alpha(self, lr) * ((away > 0) * 1 - (away < 0) * 1)
    return y - on * (lr * g + pull / 2), buffer


@changed(Proximal, "step", lambda s: s.alpha is not None)
def proximal_squared(self, right, y, anchor, buffer, g, lr, on):
    """The proximal coefficient enters squared."""
    return y - on * (lr * g + self.alpha * self.alpha * (y - anchor)), buffer


@changed(Momentum, "step")
def dampened_momentum(self, right, y, anchor, buffer, g, lr, on):
    """The momentum buffer averages gradients, u <- rho u + (1 - rho) g, instead of summing them."""
    buffer = self.rho * buffer + (1 - self.rho) * g
    return y - lr * on * buffer, buffer


@changed(Momentum, "step")
def nesterov_momentum(self, right, y, anchor, buffer, g, lr, on):
    """Nesterov's look-ahead is used where the normaliser assumes heavy-ball momentum."""
    buffer = self.rho * buffer + g
    return y - lr * on * (g + self.rho * buffer), buffer


@changed(Proximal, "step")
def proximal_after(self, right, y, anchor, buffer, g, lr, on):
    """The proximal term is applied after the gradient step."""
    z = y - lr * on * g
    return z - on * _alpha(self, lr) * (z - anchor), buffer


@changed(Momentum, "step", start=lambda self, y: (0 * y, 0))
def dampened_later(self, right, y, anchor, buffer, g, lr, on):
    """The momentum is dampened from the second step on, u <- rho u + (1 - rho) g, as torch does."""
    u, late = buffer
    u = self.rho * u + (1 - late * self.rho) * g
    return y - lr * on * u, (u, 1)


@changed(MomentumProximal, "step")
def proximal_in_buffer(self, right, y, anchor, buffer, g, lr, on):
    """The proximal term leaks into the momentum buffer, which holds lr u."""
    buffer = self.rho * buffer + lr * g + self.alpha * (y - anchor)
    return y - on * buffer, buffer


def _public_normaliser(self, right, x, cohort, draw: Draw, change, mass):
    counter = norm = 0 * mass
    for _, on in draw.local_steps():
        counter = self.solver.rho * counter + 1
        norm = norm + on * ((norm + counter) * (1 - self.solver.alpha) + 1 - norm)
    return right(x, cohort, draw, change, self.lr * norm)


def normaliser_of_public_code(algorithm: Algorithm):
    """FedNova's public code: the proximal term leaks into the momentum buffer, and the normaliser adds 1 per step."""
    leaking = proximal_in_buffer(algorithm) if type(algorithm) is FedNova else None
    return None if leaking is None else altered(leaking, _public_normaliser, "server")


@changed(Vanilla, "step", start=lambda self, y: 0 * y + 1)
def decayed_step(self, right, y, anchor, buffer, g, lr, on):
    """The local step size decays by 10 % per local step although it is stated constant."""
    return y - lr * on * buffer * g, buffer * 9 / 10


@changed(Decay, "step")
def early_decay(self, right, y, anchor, buffer, g, lr, on):
    """The step size is decayed before the first local step instead of after it."""
    buffer = self.gamma * buffer
    return y - lr * on * buffer * g, buffer


@changed(Vanilla, "step")
def gradients_not_reset(self, right, y, anchor, buffer, g, lr, on):
    """Gradients add up over the local steps of a round: they are never set to zero in between."""
    return y - lr * on * (buffer + g), buffer + g


# ---- clients that hold the server's storage ---------------------------------------------------------------
def _one_by_one(algorithm: Algorithm, problem: Problem, x, draw: Draw, onward):
    """Yield (present there, its model) of each place of the draw; onward: it starts where the one before it ended, not at x."""
    cohort, places = problem.at(draw.who), arange(draw.present.shape[-1], draw.present)
    for k in range(draw.present.shape[-1]):
        place = draw.present * ((places == k) * 1)
        change, _ = descend(getattr(algorithm, "solver", Vanilla()), algorithm.lr, cohort, spread(x, draw.who), draw)
        y = x + (place[..., None] * change).sum(-2)
        x = y if onward else x
        yield place, y


def _own_scale(algorithm: Algorithm):
    return getattr(algorithm, "tau_eff", None) is None


_IN_TURN = "the clients train one after the other on one model object, each starting where the last one ended (no deep copy)"


@changed((FedAvg, FedNova), "round", _own_scale, f"{_IN_TURN}; the models seen on the way are averaged")
def sequential_pass(self, right, problem: Problem, s, draw: Draw):
    cohort = problem.at(draw.who)
    share = shares(cohort, draw.present, "weighted" if self.averaging == "weighted" else "plain")
    return s._replace(x=s.x + sum((share * place).sum(-1)[..., None] * (y - s.x)
                                  for place, y in _one_by_one(self, problem, s.x, draw, True)))


@changed(FedNova, "round", _own_scale, f"{_IN_TURN}; the changes from the round's start are normalised and averaged")
def sequential_normalised(self, right, problem: Problem, s, draw: Draw):
    cohort = problem.at(draw.who)
    _, mass = descend(self.solver, self.lr, cohort, spread(s.x, draw.who), draw)
    changes = sum(place[..., None] * spread(y - s.x, draw.who) for place, y in _one_by_one(self, problem, s.x, draw, True))
    return s._replace(x=self.server(s.x, cohort, draw, changes, mass))


@changed((FedAvg, FedNova, FedAu, Mifa), "round", _own_scale, f"{_IN_TURN}, and the average is of that one object")
def shared_storage(self, right, problem: Problem, s, draw: Draw):
    *_, (_, x) = _one_by_one(self, problem, s.x, draw, True)
    new = s._replace(x=x)   # what a client of MIFA reports is the difference of a model to itself
    return self._count(new, draw) if isinstance(s, Counting) else new


@changed((FedAvg, FedNova), "round", _own_scale)
def last_model_alone(self, right, problem: Problem, s, draw: Draw):
    """Only the last participant's model counts: all entries of the average are one object."""
    x = s.x
    for place, y in _one_by_one(self, problem, s.x, draw, False):
        x = x + place.sum(-1)[..., None] * (y - x)
    return s._replace(x=x)


# ---- what lives on from round to round --------------------------------------------------------------------
class Buffers(NamedTuple):
    """x (..., d) server model; u (..., n, d) local momentum buffers."""

    x: Any
    u: Any


@dataclass(frozen=True)
class Kept(Algorithm):
    """FedAvg or FedNova (`base`) whose local momentum buffers live on from round to round."""

    base: Any = None
    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0, draw: Draw | None = None):
        return Buffers(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem: Problem, s, draw: Draw):
        cohort, solver = problem.at(draw.who), self.base.solver
        x, u = spread(s.x, draw.who), take(s.u, draw.who)
        y = x
        mass = descend(solver, self.lr, cohort, x, draw)[1]
        for k, on in draw.local_steps():
            u = u + on * ((solver.rho - 1) * u + cohort.grad(y, draw.xi_at(k)))
            y = y - on * (self.lr * u + getattr(solver, "alpha", 0) * (y - x))
        return Buffers(self.base.server(s.x, cohort, draw, y - x, mass), put(s.u, draw.who, u, draw.present))


def buffers_kept(algorithm: FedAvg):
    """The local momentum buffers are kept between rounds (one optimiser for the whole training)."""
    fits = type(algorithm) in (FedAvg, FedNova) and _own_scale(algorithm) and hasattr(algorithm.solver, "rho")
    return Kept(algorithm.lr, algorithm.steps, algorithm) if fits else None


class Pace(NamedTuple):
    """x (..., d) server model; pace: what step sizes are multiplied by, (1,) or one per client (n, 1)."""

    x: Any
    pace: Any


@dataclass(frozen=True)
class Decaying(Algorithm):
    """FedAvg or FedNova (`base`) in floats whose step size is smaller in every round.

    It is multiplied by gamma after each; or, gamma None, the solver's decay runs on, at each client after its own steps.
    """

    base: Any = None
    gamma: Number = None
    stateful: ClassVar[bool] = True

    def init(self, problem: Problem, x0, draw: Draw | None = None):
        return Pace(x0, (0 * problem.p + 1)[:, None] if self.gamma is None else (0 * problem.p + 1)[:1])

    def round(self, problem: Problem, s, draw: Draw):
        here = s.pace if self.gamma is not None else take(s.pace, draw.who)
        paced = unread(self.base, lr=self.lr * here)   # one per client is no record's step size
        if self.gamma is not None:
            pace = s.pace * self.gamma
        else:
            gamma = take((0 * problem.p + self.base.solver.gamma)[:, None], draw.who)
            pace = put(s.pace, draw.who, here * gamma ** draw.steps[..., None], draw.present)
        return Pace(paced.round(problem, self.base.init(problem, s.x), draw).x, pace)


def decay_runs_on(algorithm: FedAvg):
    """The step size goes on decaying in later rounds (one schedule for the whole training)."""
    fits = type(algorithm) in (FedAvg, FedNova) and _own_scale(algorithm) and type(algorithm.solver) is Decay
    return Decaying(algorithm.lr, algorithm.steps, algorithm) if fits else None
