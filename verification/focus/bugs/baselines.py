"""Wrong variants of the baselines of Table 1: FedAU's counters, FedAWE's echo, local SGD's absent clients, MIFA's server."""
from dataclasses import dataclass, fields

from fltheory.core.algorithms.fedau import Counting, FedAu, State
from fltheory.core.algorithms.fedawe import FedAwe
from fltheory.core.algorithms.localsgd import LocalSgd
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.reweighted import weighed
from fltheory.core.arrays import put, ratio, spread, take


def _as(kind, algorithm):
    return kind(**{f.name: getattr(algorithm, f.name) for f in fields(algorithm)})


# ---- FedAU ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Current(FedAu):
    def round(self, problem, s, draw):
        after = self._count(s, draw)
        return after._replace(x=s.x + self.server_lr * weighed(self.lr, problem, s.x, draw, after.weight))


def current_interval_counts(algorithm):
    """The weight of a round includes the interval that this very round ends (as in the scripts of FOCUS)."""
    return _as(_Current, algorithm) if type(algorithm) is FedAu and algorithm.weights is None else None


@dataclass(frozen=True)
class _Normalised(FedAu):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        weight = self.weights if self.weights is not None else s.weight
        w = problem.at(draw.who).p * draw.present * take(weight[..., None], draw.who)[..., 0]
        return new._replace(x=s.x + ratio(new.x - s.x, w.sum(-1, keepdims=True)))


def weights_normalised(algorithm):
    """The participants' weights are divided by their sum instead of the number of all clients."""
    return _as(_Normalised, algorithm) if type(algorithm) is FedAu else None


@dataclass(frozen=True)
class _Longer(FedAu):
    def _count(self, s, draw):
        new = super()._count(s, draw)
        ends = new.seen - s.seen
        return Counting(new.x, new.weight, new.seen, new.waited + ends)


def counts_one_round_more(algorithm):
    """After an interval has ended, the counter starts at 1 instead of 0: intervals seem one round longer."""
    return _as(_Longer, algorithm) if type(algorithm) is FedAu and algorithm.weights is None and algorithm.cutoff is None else None


@dataclass(frozen=True)
class _Unweighted(FedAu):
    def round(self, problem, s, draw):
        weight = 0 * (s.weight if self.weights is None else self.weights) + 1
        x = s.x + self.server_lr * weighed(self.lr, problem, s.x, draw, weight)
        return State(x) if self.weights is not None else self._count(s, draw)._replace(x=x)


def weights_never_used(algorithm):
    """All weights are 1: rare clients are heard as rarely as they come."""
    return _as(_Unweighted, algorithm) if type(algorithm) is FedAu else None


# ---- FedAWE -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Ageless(FedAwe):
    def _age(self, s, draw):
        return 1


def no_echo(algorithm):
    """Changes are not amplified by the rounds of absence."""
    return _as(_Ageless, algorithm) if type(algorithm) is FedAwe else None


@dataclass(frozen=True)
class _Shared(FedAwe):
    def round(self, problem, s, draw):
        return super().round(problem, s._replace(w=spread(s.x) + 0 * s.w), draw)


def starts_from_the_server(algorithm):
    """Clients pull the server model before their local steps instead of continuing from their own."""
    return _as(_Shared, algorithm) if type(algorithm) is FedAwe else None


# ---- local SGD --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Waits(LocalSgd):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(w=put(s.w, draw.who, new.w, draw.present))


def absent_wait(algorithm):
    """Absent clients make no local steps."""
    return _as(_Waits, algorithm) if type(algorithm) is LocalSgd else None


@dataclass(frozen=True)
class _Pulls(LocalSgd):
    def round(self, problem, s, draw):
        return super().round(problem, s._replace(w=spread(s.x) + 0 * s.w), draw)


def everybody_pulls(algorithm):
    """Every client starts the round from the last average: FedAvg."""
    return _as(_Pulls, algorithm) if type(algorithm) is LocalSgd else None


# ---- MIFA -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Late(Mifa):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=s.x - self.lr * (problem.p[..., None] * s.G).sum(-2))


def server_uses_old_updates(algorithm):
    """MIFA's server moves by the updates it had before this round's arrived."""
    return _as(_Late, algorithm) if type(algorithm) is Mifa else None


def fedau_half_a_step(algorithm):
    """FedAU's server makes half of its step."""
    return _as(_Twice, algorithm) if type(algorithm) is FedAu else None


@dataclass(frozen=True)
class _Twice(FedAu):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=s.x + (new.x - s.x) / 2)


server_uses_old_updates.of, fedau_half_a_step.of = "mifa", "fedau"
