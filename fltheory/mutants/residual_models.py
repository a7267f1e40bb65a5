"""Wrong rounds of Federated Residual Learning: personal steps, the shared step, control variates, local proximal steps."""
from __future__ import annotations

from dataclasses import replace

from fltheory.algorithms.fedresavg import FedResAvg
from fltheory.algorithms.fedresnaive import FedResNaive
from fltheory.algorithms.fedressgd import FedResSgd
from fltheory.algorithms.fedsgd import FedSgd
from fltheory.algorithms.localprox import LocalProx
from fltheory.core.algorithms.fedavg import FedAvg, shares
from fltheory.core.kinds import Algorithm, Draw, Problem
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.core.numbers.scalars import declare
from fltheory.core.records import unread
from fltheory.mutants.base import changed, option

PHASED = (FedResAvg, FedResSgd)         # Step 1 on the personal parameters, then Step 2 on the shared one
PERSONAL = (FedResNaive, *PHASED)


def _several(algorithm: Algorithm):
    steps = algorithm.steps
    return (min(steps) if isinstance(steps, tuple) else steps or 2) > 1


def _option_two(algorithm: FedResAvg):
    return algorithm.option == 2


# ---- personal steps ---------------------------------------------------------------------------------------
sequential_for_simultaneous = option("order", "seq", "sequential_for_simultaneous", "a personal step sees the shared parameter "
                                     "already moved by the same local step (sequential, not simultaneous)", FedResNaive)
simultaneous_for_sequential = option("order", "sim", "simultaneous_for_sequential", "a personal step sees the shared parameter "
                                     "from before the same local step (simultaneous, not sequential)", FedResNaive)


def personal_step_with_lr(algorithm: FedResNaive | FedResAvg | FedResSgd):
    """The personal steps are made with the step size lr of the shared parameter instead of personal_lr."""
    fits = type(algorithm) in PERSONAL and algorithm.personal_lr != algorithm.lr
    return replace(algorithm, personal_lr=algorithm.lr) if fits else None


@changed(PERSONAL, "round")
def personal_averaged(self, right, problem: Problem, s, draw: Draw):
    """The server averages the personal parameters too, and every client goes on from their mean."""
    new = right(problem, s, draw)
    return new._replace(theta=0 * new.theta + (problem.p[..., None] * new.theta).sum(-2)[..., None, :])


@changed(PERSONAL, "round")
def personal_reset(self, right, problem: Problem, s, draw: Draw):
    """The personal parameters are forgotten between rounds: every round starts them at 0."""
    return right(problem, s._replace(theta=0 * s.theta), draw)


def _step_two(self, right, problem: Problem, s, draw: Draw):
    """The round from s without Step 1."""
    return right.func(unread(self, personal_lr=0 * self.personal_lr), problem, s, draw)


@changed(PHASED, "round", _several)
def personal_step_fewer(self, right, problem: Problem, s, draw: Draw):
    """Every client makes one personal step too few in Step 1 (K - 1)."""
    fewer = right(problem, s, draw._replace(steps=draw.steps - 1))
    return _step_two(self, right, problem, s._replace(theta=fewer.theta), draw)


# ---- Step 2 -----------------------------------------------------------------------------------------------
@changed(PHASED, "round")
def old_theta_in_step_two(self, right, problem: Problem, s, draw: Draw):
    """The shared step (Step 2) uses the personal parameters from before Step 1."""
    return _step_two(self, right, problem, s, draw)._replace(theta=right(problem, s, draw).theta)


@changed((FedResSgd, FedSgd), "round", _several)
def large_step_not_multiplied(self, right, problem: Problem, s, draw: Draw):
    """The one step of the shared parameter has size lr instead of lr K."""
    new = right(problem, s, draw)
    return new._replace(x=s.x + (new.x - s.x) / int(draw.steps.max()))


def local_steps_for_large_step(algorithm: Algorithm):
    """K small local steps are made on the shared parameter instead of one step of size lr K."""
    if type(algorithm) is FedResSgd and _several(algorithm):
        return FedResAvg(algorithm.lr, algorithm.steps, algorithm.personal_lr, option=1)
    return FedAvg(algorithm.lr, algorithm.steps) if type(algorithm) is FedSgd and _several(algorithm) else None


alpha_dropped = option("alpha", 1, "alpha_dropped", "the server's step alpha is dropped: it adds the mean of the changes as it is",
                       FedResAvg)


# ---- control variates -------------------------------------------------------------------------------------
variates_dropped = option("option", 1, "variates_dropped", "the control variates are never stored (option I where option II is "
                          "stated): local steps drift", FedResAvg)
variates_kept = option("option", 2, "variates_kept", "the control variates are stored (option II where option I is stated)",
                       FedResAvg)


@changed(FedResAvg, "round", lambda a: _option_two(a) and _several(a))
def mean_not_divided(self, right, problem: Problem, s, draw: Draw):
    """The variate c_i is the sum of the local gradients instead of their mean: the factor 1/K is missing."""
    new = right(problem, s, draw)
    ci = put(new.ci, draw.who, draw.steps[..., None] * take(new.ci, draw.who), draw.present)
    return new._replace(c=(problem.p[..., None] * ci).sum(-2), ci=ci)


@changed(FedResAvg, "round", _option_two)
def variates_not_averaged(self, right, problem: Problem, s, draw: Draw):
    """The variates are not averaged: each client uses its own c_i where the mean c belongs, and the correction cancels."""
    new = right(problem, s._replace(ci=0 * s.ci + s.c[..., None, :]), draw)
    ci = put(s.ci, draw.who, take(new.ci, draw.who), draw.present)
    return new._replace(c=(problem.p[..., None] * ci).sum(-2), ci=ci)


@changed(FedResAvg, "round", _option_two)
def mean_is_late(self, right, problem: Problem, s, draw: Draw):
    """The server averages the variates that the clients had before the round: its c is one round late."""
    return right(problem, s, draw)._replace(c=(problem.p[..., None] * s.ci).sum(-2))


# ---- local proximal steps ---------------------------------------------------------------------------------
def _mu(algorithm: Algorithm):
    return declare(algorithm.mu, "mu")[()] if type(algorithm) is LocalProx else None


def local_prox_missing(algorithm: LocalProx):
    """The proximal term of the local loss is missing (mu = 0)."""
    return replace(algorithm, mu=0) if _mu(algorithm) else None


def local_prox_halved(algorithm: LocalProx):
    """The proximal term is mu/4 |w_i - w|^2 instead of mu/2 |w_i - w|^2."""
    return replace(algorithm, mu=_mu(algorithm) / 2) if _mu(algorithm) else None


def local_prox_squared(algorithm: LocalProx):
    """The proximal coefficient mu enters squared."""
    return replace(algorithm, mu=_mu(algorithm) ** 2) if _mu(algorithm) not in (None, 0, 1) else None


def _local(self, problem: Problem, s, draw: Draw, start, anchor):
    """The state after local proximal steps from `start` (..., m, d) that are pulled to `anchor`."""
    cohort, x, y = problem.at(draw.who), spread(s.x, draw.who), start
    for k, on in draw.local_steps():
        y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) + self.mu * (y - anchor))
    share = shares(cohort, draw.present, "weighted")[..., None]
    return s._replace(x=s.x + (share * (y - x)).sum(-2), own=put(s.own, draw.who, y, draw.present))


@changed(LocalProx, "round")
def own_copy_is_anchor(self, right, problem: Problem, s, draw: Draw):
    """The proximal term pulls to the client's own last copy instead of the server model."""
    return _local(self, problem, s, draw, spread(s.x, draw.who), take(s.own, draw.who))


@changed(LocalProx, "round")
def own_copy_goes_on(self, right, problem: Problem, s, draw: Draw):
    """The clients go on from their own last copies instead of the server model."""
    return _local(self, problem, s, draw, take(s.own, draw.who), spread(s.x, draw.who))
