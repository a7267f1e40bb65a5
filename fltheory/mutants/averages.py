"""Wrong averages: rules of aggregation weights, and servers of FedAvg and FedNova that follow them."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from fltheory.algorithms.fednova import FedNova
from fltheory.core.algorithms.fedavg import FedAvg, shares
from fltheory.core.kinds import Algorithm, Draw
from fltheory.core.numbers.arrays import ratio
from fltheory.core.numbers.scalars import fraction
from fltheory.mutants.base import changed, option


class Members(NamedTuple):
    """What aggregation weights may depend on: of each client (..., m) its weight p, how often it is `there`, |a_i|_1 and
    local steps; n: the number of all clients."""

    p: Any
    there: Any
    n: int
    mass: Any = None
    steps: Any = None

    @property
    def count(self):
        """|S|, (..., 1)."""
        return _sum(self.there)

    @property
    def weight(self):
        """p_S, (..., 1)."""
        return _sum(self.p * self.there)

    @property
    def share(self):
        """p_i / p_S, 0 outside the cohort."""
        return ratio(self.p * self.there, self.weight)

    @property
    def first(self):
        """1 for the first participant, 0 for the others."""
        return self.there * ((self.there.cumsum(-1) == 1) * 1)


def _sum(v):
    return v.sum(-1, keepdims=True)


def normalised(norm, effective=None):
    """FedNova's weights with these normalisers, and with another effective number of steps."""
    return lambda a: (_sum(a.share * norm(a)) if effective is None else effective(a)) * ratio(a.share, norm(a))


WEIGHTS = {   # whatever the algorithm's own weights are: name -> (clause, rule)
    "plain": ("every participant counts alike (1/|S|): the data weights p_i are dropped", lambda a: ratio(a.there, a.count)),
    "weighted": ("the participants' p_i are renormalised over the cohort (p_i / p_S)", lambda a: a.share),
    "raw": ("the participants' p_i are not renormalised over the cohort (the weights are p_i)", lambda a: a.p * a.there),
    "over all": ("the sum over the participants is divided by the number of all clients (1/n)", lambda a: a.there / a.n),
    "unbiased": ("the weights are p_i n/|S|", lambda a: ratio(a.n * a.p * a.there, a.count)),
    "steps": ("the normaliser counts local steps, whatever the solver (FedNova with |a_i| proportional to the steps)",
              normalised(lambda a: a.steps)),
    "masses": ("updates are normalised as in FedNova, by |a_i|", normalised(lambda a: a.mass)),
    "cancelled": ("tau_eff cancels: the weights p_i/|a_i| are renormalised to sum 1",
                  lambda a: ratio(ratio(a.share, a.mass), _sum(ratio(a.share, a.mass)))),
    "no tau": ("tau_eff is missing: the changes are divided by |a_i| and not multiplied by the effective number of steps",
               normalised(lambda a: a.mass, lambda a: 1)),
    "mean mass": ("the effective number of steps tau_eff is the plain mean of the |a_i|, not weighted by p_i",
                  normalised(lambda a: a.mass, lambda a: ratio(_sum(a.there * a.mass), a.count))),
    "first mass": ("the first participant's normaliser |a_i| is used for everybody",
                   normalised(lambda a: _sum(a.first * a.mass), lambda a: _sum(a.share * a.mass))),
}
FACTORS = {   # of the change that the algorithm makes
    "n/|S|": ("the aggregated change is multiplied by n/|S|", lambda a: a.n / a.count),
    "|S|/n": ("the aggregated change is multiplied by |S|/n", lambda a: a.count / a.n),
    "p_S": ("the aggregated change is not divided by the weight p_S of the sample", lambda a: a.weight),
    "p_S^2": ("the participants' p_i are not renormalised over the cohort, neither in the sum nor in the normaliser (p_S^2)",
              lambda a: a.weight * a.weight),
}


def _members(cohort, draw: Draw):
    return Members(cohort.p, draw.present + 0 * cohort.p, cohort.n)


def _averaged(rule, x, cohort, draw: Draw, change):
    return x + (WEIGHTS[rule][1](_members(cohort, draw))[..., None] * change).sum(-2)


def _scaled(rule, x, cohort, draw: Draw, new):
    return x + FACTORS[rule][1](_members(cohort, draw)) * (new - x)


@changed(FedAvg, "server", lambda a: a.averaging != "plain")
def uniform_weights(self, right, x, cohort, draw: Draw, change, mass):
    """The data weights p_i are dropped: every participant counts alike."""
    return _averaged("plain", x, cohort, draw, change)


@changed(FedAvg, "server")
def divides_by_all(self, right, x, cohort, draw: Draw, change, mass):
    """The sum over the participants is divided by the number of all clients."""
    return _averaged("over all", x, cohort, draw, change)


@changed((FedAvg, FedNova), "server", lambda a: a.averaging != "plain")
def weights_not_renormalised(self, right, x, cohort, draw: Draw, change, mass):
    """The participants' p_i are used as they are, although under sampling they do not sum to 1."""
    if not isinstance(self, FedNova):
        return _averaged("raw", x, cohort, draw, change)
    share = (cohort.p * draw.present)[..., None]
    scale = (share * mass).sum(-2) if self.tau_eff is None else self.lr * self.tau_eff
    return x + scale * (share * (change / mass)).sum(-2)


@changed(FedAvg, "server")
def server_step_two(self, right, x, cohort, draw: Draw, change, mass):
    """The server applies the averaged change twice."""
    return x + 2 * (right(x, cohort, draw, change, mass) - x)


@changed(FedAvg, "server")
def first_client_twice(self, right, x, cohort, draw: Draw, change, mass):
    """The server adds the first participant's change twice (OpenMined/PySyft #3828)."""
    share = shares(cohort, draw.present, self.averaging) * _members(cohort, draw).first
    return right(x, cohort, draw, change, mass) + (share[..., None] * change).sum(-2)


@changed(FedNova, "server")
def normaliser_counts_steps(self, right, x, cohort, draw: Draw, change, mass):
    """FedNova divides by the number of steps whatever the solver."""
    return right(x, cohort, draw, change, 0 * mass + self.lr * draw.steps[..., None])


def normaliser_missing(algorithm: Algorithm):
    """FedNova's normalisation is lost: plain averaging."""
    if not isinstance(algorithm, FedNova):
        return None
    return FedAvg(algorithm.lr, algorithm.steps, algorithm.solver, algorithm.averaging)


@changed(FedNova, "server")
def fednova_scaled_up(self, right, x, cohort, draw: Draw, change, mass):
    """FedNova's displacement is multiplied by n/|S| (FedLab's default `weighted_scale`)."""
    return _scaled("n/|S|", x, cohort, draw, right(x, cohort, draw, change, mass))


@changed(FedNova, "server", lambda a: a.tau_eff is None)
def shares_not_renormalised(self, right, x, cohort, draw: Draw, change, mass):
    """Algorithm 1's tau_eff is not divided by the weight of the sample (the text of FedNova's Appendix H)."""
    return _scaled("p_S", x, cohort, draw, right(x, cohort, draw, change, mass))


def tau_eff_halved(algorithm: Algorithm):
    """The server's effective step is half of what is stated."""
    if not isinstance(algorithm, FedNova) or algorithm.tau_eff is None:
        return None
    return replace(algorithm, tau_eff=fraction(algorithm.tau_eff) / 2)


renormalised_weights = option("averaging", "weighted", "renormalised_weights", "the weights p_i are renormalised over the sample "
                              "although the sampling scheme already accounts for them")
