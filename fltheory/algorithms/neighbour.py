"""Local steps perturbed towards the neighbours' last models on a similarity graph (simfed, Algorithm 1)."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fltheory.core.algorithms.base import Algorithm, only_full
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Problem
from fltheory.core.numbers.arrays import matvec_rows, put, spread, take, to_numpy
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import RATIONAL, Modular, Number, Numbers, declare, fraction
from fltheory.core.problems.shapes import symmetric, unit_sum
from fltheory.core.records import declared, one_of, within


class State(NamedTuple):
    """x (..., d): server model wbar; w (..., n, d): the clients' last local models."""

    x: Any
    w: Any


_BETA = "beta = 1 is FedAvg; smaller listens to the neighbours."


def _edges(values, what):
    graph = declare(values, what)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        refuse(what, graph.tolist(), "edge weights are a symmetric (n, n) array", "Use (p + p')/2.")
    symmetric(graph, what, "edge weights are a symmetric (n, n) array", "p")
    graph = (graph + graph.T) / 2 if graph.dtype == np.float64 else graph
    unit_sum(graph.reshape(-1), what, "edge weights are >= 0 and sum to 1")
    if not any(isinstance(v, Symbolic) for v in graph.reshape(-1)) and not graph.astype(bool).any(1).all():
        refuse(what, graph.tolist(), "no client is isolated", "Drop isolated clients.")
    return tuple(map(tuple, graph.tolist()))


@dataclass(frozen=True)
class NeighbourAveraging(Algorithm):
    """w <- w - lr grad f_i(beta w + (1 - beta) u_i), where u_i = sum_n p_in w_n / p_i is fixed inside a round.

    The server takes wbar = sum_i p_i w_i, from which every client starts the next round (simfed, Eqs 3, 5, Algorithm 1).
    graph: symmetric edge weights p_in >= 0 (n, n) summing to 1, see `SimilarityGraph`; their row sums p_i > 0 must be the
    weights of the problem (checked by `init`). A diagonal is a weight of the client's own last model. beta: in (0, 1];
    beta = 1 is FedAvg. The first round has u_i = wbar.

    Algorithm 1 lets a subset S take part, which its theory does not:
    average: "full" refuses partial cohorts; "printed" takes wbar = sum over S of p_i w_i, not divided by the weight of S,
    so an empty S sends wbar to 0; "renormalised" divides. absent: the last model of an absent client stays as it was
    ("stale"), or is the round's wbar, from which it would have started ("reset").
    """

    stateful: ClassVar[bool] = True
    downlink: ClassVar[int] = 2  # wbar and u_i

    beta: Number = declared(within(0, 1, "(]", _BETA), None, ("must lie in (0, 1]", _BETA))
    graph: Numbers = declared(_edges, None, ("the method needs edge weights", "Give an (n, n) array of p_in."))
    average: str = declared(one_of("full", "printed", "renormalised"), "full")
    absent: str = declared(one_of("stale", "reset"), "stale")

    @property
    def partial(self) -> bool:  # type: ignore[override]
        return self.average != "full"

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> State:
        rows, domain = self.graph.sum(-1), problem.domain
        gaps: Array = [] if rows.shape != problem.p.shape else to_numpy(rows - problem.p)
        floats = problem.weights.dtype == float or _of_floats(self.graph, domain)
        if len(gaps) == 0 or not all(_small(g, domain, floats) for g in gaps):
            refuse("graph", [str(v) for v in to_numpy(rows)], "row sums must be the weights of the problem, "
                   f"{[str(v) for v in to_numpy(problem.p)]}", "Give the problem these row sums as weights.")
        return State(x0, x0[..., None, :] + 0 * problem.p[..., None])

    def averages(self, problem: Problem, s: State) -> Array:
        """The neighbour averages u_i (..., n, d) of a round that starts from a state."""
        return matvec_rows(self.graph, s.w) / problem.p[..., None]

    def local(self, problem: Problem, s: State, draw: Draw) -> Array:
        """The last local models (..., m, d) of a cohort."""
        cohort, start = problem.at(draw.who), spread(s.x, draw.who)
        w, u = start, take(self.averages(problem, s), draw.who)
        for k, on in draw.local_steps():
            w = w - self.lr * on * cohort.grad(self.beta * w + (1 - self.beta) * u, draw.xi_at(k))
        return w

    def server(self, problem: Problem, s: State, draw: Draw, w: Array) -> Array:
        """The next wbar from the cohort's last local models."""
        cohort = problem.at(draw.who)
        if self.average == "printed":
            return ((cohort.p * draw.present)[..., None] * w).sum(-2)
        share = shares(cohort, draw.present, "weighted")[..., None]
        return s.x + (share * (w - spread(s.x, draw.who))).sum(-2)

    def round(self, problem: Problem, s: State, draw: Draw) -> State:
        if not self.partial:
            only_full(draw)
        w = self.local(problem, s, draw)
        before = s.w if self.absent == "stale" else spread(s.x) + 0 * s.w
        last = put(before, draw.who, w, draw.present) if self.partial else w
        return State(self.server(problem, s, draw, w), last)


def _of_floats(graph, domain):
    """Whether edge weights were declared as floats, whose sums are rounded: rationals show it by their denominators."""
    if isinstance(domain, Modular):
        return True   # what exact data do not meet is refused in the arithmetic in which results are returned
    return domain is RATIONAL and any(fraction(v).denominator % 2**30 == 0 for v in to_numpy(graph).reshape(-1))


def _small(gap, domain, floats):
    """Whether a difference of declared sums is none: float sums are rounded, and residues have no size."""
    if not domain.exact:
        return not abs(gap) > 1e-12
    return gap == 0 or (floats and (isinstance(domain, Modular) or abs(fraction(gap)) <= Fraction(1, 10**12)))
