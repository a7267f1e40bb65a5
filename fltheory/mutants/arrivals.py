"""Wrong rounds of asynchronous methods: AsyncFedED (asyncfeded, Algorithms 1 and 2), FedAsync, FedBuff, stale steps."""
from __future__ import annotations

from dataclasses import replace
from functools import partial

from fltheory.asynchronous.arrivals import arrives, of, put, restarted
from fltheory.asynchronous.asyncfeded import AsyncFedED, State
from fltheory.asynchronous.fedasync import FedAsync, FedBuff, StaleSteps
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.solvers import Momentum
from fltheory.core.kinds import Algorithm, Draw, Problem, Who
from fltheory.core.numbers.arrays import arange, norm, ratio, spread, take, whole
from fltheory.core.numbers.arrays import put as put_rows
from fltheory.core.numbers.scalars import fraction
from fltheory.mutants.base import alike, changed, option

CLOCKED = (AsyncFedED, FedAsync, FedBuff)   # a round is one arrival, the state holds base models


class Opened(AsyncFedED):
    """AsyncFedED with the pieces of its round as methods of their own."""

    def noticed(self, s, who: Who, delta, moved):
        """(gamma, 1 where it is infinite)."""
        return self.staleness(delta, moved)

    def rate(self, gamma):
        return self.lam / (gamma + self.eps)

    def change(self, rate, delta, moved):
        return rate * delta

    def noticed_for_steps(self, gamma, never, delta, moved):
        """The same for the K rule; moved: how far the server is from the base after its step."""
        return gamma, never

    def served(self, problem: Problem, s, draw: Draw, arrival):
        delta, moved, old = arrival.delta, arrival.moved, arrival.K
        gamma, never = self.noticed(s, arrival.who, delta, moved)
        enters = serves = (old >= 1) * 1
        if self.discard is not None:
            enters = enters * (gamma <= self.discard) * (1 - never)
        x = s.x + enters * self.change(self.rate(gamma), delta, moved)
        K = put(old, serves, self.next_steps(old, *self.noticed_for_steps(gamma, never, delta, moved + x - s.x)))
        return State(x, **restarted(self, problem, s, draw, arrival, x, K, enters, whole(K) if self.real else K))


opened = partial(changed, AsyncFedED, whole=Opened)   # the mutants of AsyncFedED that replace one piece of its round


def _adapts(algorithm: AsyncFedED):
    return algorithm.kappa != 0


def _rounds(algorithm: AsyncFedED):
    return _adapts(algorithm) and not algorithm.real


def _scaled(algorithm: AsyncFedED):
    return _rounds(algorithm) and fraction(algorithm.kappa).numerator != 1   # rounded down twice is once where kappa = 1/n


# ---- the staleness (6) ------------------------------------------------------------------------------------
@opened("noticed")
def lag_for_distance(self, right, s, who: Who, delta, moved):
    """The staleness is the lag, the number of changes of the server since the client started, instead of the distance."""
    lag = of(s.lag, who)
    return lag, 0 * lag


@changed(AsyncFedED, "staleness")
def gamma_inverted(self, right, delta, moved):
    """The staleness is upside down, |Delta| over the distance of the base model (0 where the server has not moved)."""
    return ratio(norm(delta), norm(moved)), 0 * norm(delta)


@changed(AsyncFedED, "staleness")
def gamma_squared(self, right, delta, moved):
    """The staleness is the quotient of the squared lengths: the root is missing."""
    gamma, never = right(delta, moved)
    return gamma * gamma, never


@changed(AsyncFedED, "staleness")
def distance_not_divided(self, right, delta, moved):
    """The staleness is the distance of the base model itself: it is not divided by the length of the update."""
    return norm(moved), right(delta, moved)[1]


@changed(AsyncFedED, "staleness")
def distance_of_client_model(self, right, delta, moved):
    """The distance is measured to the model that the client has trained, not to the one it started from."""
    return right(delta, moved - delta)


@opened("noticed_for_steps", _adapts)
def distance_after_the_move(self, right, gamma, never, delta, moved):
    """The distance that changes K is measured after the server's step, from its new model."""
    return self.staleness(delta, moved)


# ---- the server's step (5), (7) ---------------------------------------------------------------------------
@opened("rate")
def step_not_decayed(self, right, gamma):
    """The server's step is lambda/eps at every arrival: staleness does not make it smaller."""
    return right(0 * gamma)


@opened("rate")
def eps_dropped(self, right, gamma):
    """The server's step is lambda/gamma, without eps (and lambda/eps where gamma is 0, which has no such step)."""
    return ratio(self.lam + 0 * gamma, gamma) + (gamma == 0) * right(0 * gamma)


@opened("rate")
def eps_as_floor(self, right, gamma):
    """The server's step is lambda/max(gamma, eps): eps is a floor of the denominator instead of a part of it."""
    return self.lam / put(gamma, (gamma < self.eps) * 1, self.eps)


@opened("change")
def model_mixed(self, right, rate, delta, moved):
    """The server mixes models, x <- (1 - eta) x + eta y_K, as FedAsync does, instead of adding eta Delta to its model."""
    return rate * (delta - moved)


@opened("change")
def update_on_stale_model(self, right, rate, delta, moved):
    """The update is added to the model that the client started from, and what others sent meanwhile is lost."""
    return rate * delta - moved


# ---- the K rule (8) ---------------------------------------------------------------------------------------
@changed(AsyncFedED, "next_steps", _adapts)
def steps_wrong_sign(self, right, K, gamma, never):
    """The K rule has the wrong sign: K grows where gamma is above its target."""
    return right(K, 2 * self.gbar - gamma, never)


@changed(AsyncFedED, "next_steps", _rounds)
def steps_rounded_up(self, right, K, gamma, never):
    """The change of K is rounded up instead of down."""
    change = 0 - whole(0 - (self.gbar - gamma) * self.kappa)
    new = K + change
    return put(new, ((new < 1) * self.clamp + never != 0) * 1, 1)


@changed(AsyncFedED, "next_steps", _scaled)
def rounded_before_kappa(self, right, K, gamma, never):
    """gbar - gamma is rounded down before it is multiplied by kappa, and so is the new K."""
    new = whole(K + whole(self.gbar - gamma) * self.kappa)
    return put(new, ((new < 1) * self.clamp + never != 0) * 1, 1)


def clamp_missing(algorithm: Algorithm):
    """K is not kept at 1 or more: a client whose K falls below does not come again."""
    return (replace(algorithm, clamp=False) if type(algorithm) is AsyncFedED and algorithm.clamp and _adapts(algorithm)
            else None)


discard_missing = option("discard", None, "discard_missing", "no update is discarded, however stale", AsyncFedED)


# ---- what is sent back ------------------------------------------------------------------------------------
@changed(CLOCKED, "round")
def model_before_update_sent(self, right, problem: Problem, s, draw: Draw):
    """The client starts again from the model before its own update instead of the new one."""
    new, who = right(problem, s, draw), arrives(s)
    mask = (arange(problem.n, who) == who) * 1
    return new._replace(base=put(new.base, mask[..., None], s.x[..., None, :]))


@changed(CLOCKED, "round")
def base_not_refreshed(self, right, problem: Problem, s, draw: Draw):
    """The client starts every run from the first model: what the server sends back is not stored."""
    return right(problem, s, draw)._replace(base=s.base)


def buffers_kept_on_arrival(algorithm: Algorithm):
    """The local momentum buffers are kept between the runs of a client (one optimiser for the whole training)."""
    if type(algorithm) is not AsyncFedED or type(algorithm.solver) is not Momentum or algorithm.solver.rho == 0:
        return None
    return replace(algorithm, momentum="kept") if algorithm.momentum == "reset" else None


# ---- FedAsync, FedBuff, stale steps, FedAvg as printed ----------------------------------------------------
lag_ignored = option("staleness", "constant", "lag_ignored", "the weight alpha is not made smaller by the lag", FedAsync)
lag_in_time = option("unit", "time", "lag_in_time", "the lag is the time since the client started, not the server's changes",
                     FedAsync)
lag_in_changes = option("unit", "arrivals", "lag_in_changes", "the lag is the number of the server's changes, not the time",
                        FedAsync)


@changed(FedAsync, "weight", lambda a: a.staleness == "hinge" and fraction(a.b) != 0)
def hinge_not_shifted(self, right, lag):
    """Beyond b the weight is alpha/(a lag + 1): b is not subtracted from the lag."""
    late = lag * (lag > self.b)
    return self.alpha / (self.a * late + 1)


@changed(FedAsync, "round")
def update_added(self, right, problem: Problem, s, draw: Draw):
    """The weighted change is added to the server's model, which is not mixed: x <- x + a Delta."""
    new, who = right(problem, s, draw), arrives(s)
    lag = of(s.lag if self.unit == "arrivals" else s.finish - s.began, who)
    x = new.x + self.weight(lag) * (s.x - take(s.base, who)[..., 0, :])
    mask = (arange(problem.n, who) == who) * 1
    return new._replace(x=x, base=put(new.base, mask[..., None], x[..., None, :]))


@changed(FedBuff, "round", lambda a: a.buffer > 1)
def buffer_summed(self, right, problem: Problem, s, draw: Draw):
    """The changes in the buffer are summed instead of averaged."""
    wider = alike(FedBuff, self)
    object.__setattr__(wider, "server_lr", self.server_lr * self.buffer)
    return right.func(wider, problem, s, draw)


stale_models_mixed = option("mixing", "model", "stale_models_mixed", "the server mixes models instead of adding updates",
                            StaleSteps)
stale_updates_added = option("mixing", "update", "stale_updates_added", "the server adds updates instead of mixing models",
                             StaleSteps)


@changed(StaleSteps, "round")
def stale_model_sent(self, right, problem: Problem, s, draw: Draw):
    """A client starts again from the server's model before its own update."""
    base = take(s.base, draw.who)
    return right(problem, s, draw)._replace(base=put_rows(s.base, draw.who, spread(s.x, draw.who) + 0 * base, draw.present))


@changed(StaleSteps, "round")
def never_stale(self, right, problem: Problem, s, draw: Draw):
    """Clients train on the server's present model: staleness is not simulated at all."""
    return right(problem, s._replace(base=spread(s.x) + 0 * s.base), draw)


@changed(FedAvg, "server")
def mean_divided_again(self, right, x, cohort, draw: Draw, change, mass):
    """The weighted mean of the models is divided by the number of clients once more, as (38) of asyncfeded is printed."""
    return right(x, cohort, draw, change, mass) / cohort.n


ARRIVALS = {m.__name__: m for m in (
    lag_for_distance, gamma_inverted, gamma_squared, distance_not_divided, distance_of_client_model, distance_after_the_move,
    step_not_decayed, eps_dropped, eps_as_floor, model_mixed, update_on_stale_model, steps_wrong_sign, steps_rounded_up,
    rounded_before_kappa, clamp_missing, discard_missing, model_before_update_sent, base_not_refreshed, buffers_kept_on_arrival)}
OTHERS = {m.__name__: m for m in (
    lag_ignored, lag_in_time, lag_in_changes, hinge_not_shifted, update_added, buffer_summed, stale_models_mixed,
    stale_updates_added, stale_model_sent, never_stale, mean_divided_again)}
