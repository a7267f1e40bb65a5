"""Defects of public code around FOCUS, restated: shared storage, MIFA's sign, SCAFFOLD's divisor and variate, equal rows.

Those of FOCUS's own repository are read from its two public versions, the server variate's from a ProxSkip repository.
FedAU's and MIFA's other defects are `figures.fedau_counter_stuck`, `figures.mifa_previous_local_model`,
`baselines.weights_normalised` and `baselines.current_interval_counts`.
"""
from dataclasses import dataclass, fields, replace

import numpy as np

from fltheory.core.algorithms.fedau import Counting, FedAu
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.scaffold import Scaffold, State
from fltheory.core.algorithms.solvers import Vanilla, descend
from fltheory.core.arrays import spread, take
from fltheory.core.laws.modes import Chain


def _as(kind, algorithm):
    return kind(**{f.name: getattr(algorithm, f.name) for f in fields(algorithm)})


# ---- clients that hold the server's storage ---------------------------------------------------------------
def _in_turn(solver, lr, problem, x, draw):
    """The server model after the participants have trained on it one after the other, in the order of the draw."""
    cohort, places = problem.at(draw.who), np.arange(draw.present.shape[-1])
    for k in places:
        alone = draw.present * (places == k)
        change, _ = descend(solver, lr, cohort, spread(x, draw.who), draw)
        x = x + (alone[..., None] * change).sum(-2)
    return x


@dataclass(frozen=True)
class _SharedFedAvg(FedAvg):
    def round(self, problem, s, draw):
        return s._replace(x=_in_turn(self.solver, self.lr, problem, s.x, draw))


@dataclass(frozen=True)
class _SharedFedAu(FedAu):
    def round(self, problem, s, draw):
        new = s._replace(x=_in_turn(Vanilla(), self.lr, problem, s.x, draw))
        return self._count(new, draw) if isinstance(s, Counting) else new


@dataclass(frozen=True)
class _SharedMifa(Mifa):
    def round(self, problem, s, draw):  # what a client reports is the difference of a model to itself
        return s._replace(x=_in_turn(Vanilla(), self.lr, problem, s.x, draw))


def shared_storage(algorithm):
    """Pulled models share storage with the server's: clients train on it one after the other, and no averaging is left."""
    kind = {FedAvg: _SharedFedAvg, FedAu: _SharedFedAu, Mifa: _SharedMifa}.get(type(algorithm))
    return None if kind is None else _as(kind, algorithm)


# ---- MIFA -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Ascent(Mifa):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=s.x - (new.x - s.x))


def mifa_ascent(algorithm):
    """The server adds the mean of x - y_i instead of subtracting it."""
    return _as(_Ascent, algorithm) if type(algorithm) is Mifa else None


# ---- SCAFFOLD ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _FixedDivisor(Scaffold):
    def round(self, problem, s, draw):
        new, cohort = super().round(problem, s, draw), problem.at(draw.who)
        taken = (cohort.p * draw.present).sum(-1, keepdims=True)    # p_S
        return new._replace(x=s.x + 2 * taken * (new.x - s.x))      # sum p_i (y_i - x) over half of all weight


def fixed_divisor(algorithm):
    """The changes are divided by a fixed cohort size, half of all clients, however many take part."""
    return _as(_FixedDivisor, algorithm) if type(algorithm) is Scaffold else None


@dataclass(frozen=True)
class _Drifting(Scaffold):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        weight = (problem.at(draw.who).p * draw.present)[..., None]
        fresh = take(new.ci, draw.who) - spread(s.c, draw.who)
        return State(new.x, s.c + (weight * fresh).sum(-2), new.ci)


def variate_drifts(algorithm):
    """The server variate moves by c_i_new - c instead of c_i_new - c_i, so that it is no mean of the clients' any more."""
    return _as(_Drifting, algorithm) if type(algorithm) is Scaffold else None


# ---- participation ----------------------------------------------------------------------------------------
def equal_rows(law):
    """All rows of the transition matrix are the first one: rounds are independent, the chain has no memory."""
    if type(law) is not Chain or law.modes == 1:
        return None
    first = tuple(law.chain()[0])
    return replace(law, matrix=(first,) * law.modes, initial=first)


equal_rows.of = "law"
