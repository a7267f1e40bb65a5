"""Wrong rounds of the method that perturbs gradients on a similarity graph (simfed, Algorithm 1)."""
from __future__ import annotations

from fltheory.algorithms.neighbour import NeighbourAveraging, State
from fltheory.core.kinds import Draw, Problem
from fltheory.core.numbers.arrays import matvec_rows, put, spread, take
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import fraction
from fltheory.core.records import unread
from fltheory.mutants.base import changed


def _beta(algorithm: NeighbourAveraging):
    return algorithm.beta if isinstance(algorithm.beta, Symbolic) else fraction(algorithm.beta)


def _perturbs(algorithm: NeighbourAveraging):
    return _beta(algorithm) != 1


def _uneven(algorithm: NeighbourAveraging):
    return _perturbs(algorithm) and 2 * _beta(algorithm) != 1


def _several(algorithm: NeighbourAveraging):
    steps = algorithm.steps
    return _perturbs(algorithm) and (max(steps) if isinstance(steps, tuple) else steps or 2) > 1


def _as_rows(averages):
    """A mutant of the neighbour averages alone."""
    return changed(NeighbourAveraging, "averages", _perturbs)(averages)


@_as_rows
def server_for_neighbours(self, right, problem: Problem, s):
    """u is the server's model wbar for all clients: the graph is not used."""
    return spread(s.x) + 0 * s.w


@_as_rows
def own_for_neighbours(self, right, problem: Problem, s):
    """u is the client's own last model: the client listens to itself instead of its neighbours."""
    return s.w


@_as_rows
def own_model_included(self, right, problem: Problem, s):
    """u counts the client's own last model as one more neighbour, of weight p_i."""
    return (right(problem, s) + s.w) / 2


@_as_rows
def rows_not_normalised(self, right, problem: Problem, s):
    """The edge weights p_in are used without dividing by p_i: the rows of the neighbour matrix do not sum to 1."""
    return matvec_rows(self.graph, s.w)


@_as_rows
def degrees_not_used(self, right, problem: Problem, s):
    """The edge weights p_in are multiplied by the number of clients instead of divided by p_i."""
    return problem.n * matvec_rows(self.graph, s.w)


@_as_rows
def neighbours_counted_alike(self, right, problem: Problem, s):
    """u is the plain mean of the neighbours' last models, whatever the edge weights."""
    linked = (self.graph != 0) * 1
    return matvec_rows(linked, s.w) / linked.sum(-1)[:, None]


@changed(NeighbourAveraging, "local", _several)
def neighbours_of_this_round(self, right, problem: Problem, s, draw: Draw):
    """u follows the neighbours' models of the same round, step by step, instead of their last models."""
    cohort, w = problem.at(draw.who), spread(s.x, draw.who) + 0 * take(s.w, draw.who)
    everyone = s.w
    for k, on in draw.local_steps():
        u = take(matvec_rows(self.graph, everyone) / problem.p[..., None], draw.who)
        w = w - self.lr * on * cohort.grad(self.beta * w + (1 - self.beta) * u, draw.xi_at(k))
        everyone = put(everyone, draw.who, w, draw.present)
    return w


@changed(NeighbourAveraging, "local", _perturbs)
def iterate_perturbed(self, right, problem: Problem, s, draw: Draw):
    """The step is made from the perturbed point: w itself is replaced by beta w + (1 - beta) u before each step."""
    cohort, w = problem.at(draw.who), spread(s.x, draw.who)
    u = take(self.averages(problem, s), draw.who)
    for k, on in draw.local_steps():
        mixed = w + on * ((1 - self.beta) * (u - w))
        w = mixed - self.lr * on * cohort.grad(mixed, draw.xi_at(k))
    return w


@changed(NeighbourAveraging, "local", _uneven)
def beta_swapped(self, right, problem: Problem, s, draw: Draw):
    """The roles are swapped: the gradient is taken at (1 - beta) w + beta u."""
    return right.func(unread(self, beta=1 - self.beta), problem, s, draw)


@changed(NeighbourAveraging, "round", lambda a: a.average != "full" and a.absent == "stale")
def absent_models_forgotten(self, right, problem: Problem, s, draw: Draw):
    """The last models of absent clients are set to the new wbar."""
    new = right(problem, s, draw)
    return State(new.x, put(spread(new.x) + 0 * s.w, draw.who, take(new.w, draw.who), draw.present))


NEIGHBOURS = {m.__name__: m for m in (
    server_for_neighbours, own_for_neighbours, own_model_included, rows_not_normalised, degrees_not_used,
    neighbours_counted_alike, neighbours_of_this_round, iterate_perturbed, beta_swapped, absent_models_forgotten)}
