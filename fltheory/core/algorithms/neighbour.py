"""Local steps perturbed towards the neighbours' last models on a similarity graph (full participation)."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from fltheory.core.algorithms.base import Algorithm, only_full
from fltheory.core.arrays import matvec_rows, spread, to_numpy
from fltheory.core.elements import Symbolic
from fltheory.core.errors import refuse
from fltheory.core.problems.shapes import unit_sum
from fltheory.core.records import declared, within
from fltheory.core.scalars import Modular, Number, Numbers, declare, fraction


class State(NamedTuple):
    """x (..., d): server model wbar; w (..., n, d): the clients' last local models."""

    x: Any
    w: Any


_BETA = "beta = 1 is FedAvg; smaller listens to the neighbours."


def _edges(values, what):
    graph = declare(values, what)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or not (graph == graph.T).all():
        refuse(what, graph.tolist(), "edge weights are a symmetric (n, n) array", "Use (p + p')/2.")
    unit_sum(graph.reshape(-1), what, "edge weights are >= 0 and sum to 1")
    if not any(isinstance(v, Symbolic) for v in graph.reshape(-1)) and graph.sum(1).min() <= 0:
        refuse(what, graph.tolist(), "no client is isolated", "Drop isolated clients.")
    return tuple(map(tuple, graph.tolist()))


@dataclass(frozen=True)
class NeighbourAveraging(Algorithm):
    """w <- w - lr grad f_i(beta w + (1 - beta) u_i), where u_i = sum_n p_in w_n / p_i is fixed inside a round.

    The server takes wbar = sum_i p_i w_i, from which every client starts the next round.
    graph: symmetric edge weights p_in >= 0 (n, n) summing to 1; their row sums p_i > 0 must be the weights of the
    problem (checked by `init`). beta: in (0, 1]. The first round has u_i = wbar. Full participation only: what a
    partial cohort means is undefined in the paper, so other draws are refused.
    """

    beta: Number = declared(within(0, 1, "(]", _BETA), None, ("must lie in (0, 1]", _BETA))
    graph: Numbers = declared(_edges, None, ("the method needs edge weights", "Give an (n, n) array of p_in."))
    partial: ClassVar[bool] = False
    downlink: ClassVar[int] = 2  # wbar and u_i

    def init(self, problem, x0, draw=None):
        rows, domain = self.graph.sum(-1), problem.domain
        gaps = [] if rows.shape != problem.p.shape else to_numpy(rows - problem.p)
        if len(gaps) == 0 or not all(_small(g, domain, problem.weights.dtype == float) for g in gaps):
            refuse("graph", [str(v) for v in to_numpy(rows)], "row sums must be the weights of the problem, "
                   f"{[str(v) for v in to_numpy(problem.p)]}", "Give the problem these row sums as weights.")
        return State(x0, x0[..., None, :] + 0 * problem.p[..., None])

    def round(self, problem, s, draw):
        only_full(draw)
        cohort = problem.at(draw.who)
        w = spread(s.x, draw.who) + 0 * s.w
        u = matvec_rows(self.graph, s.w) / problem.p[..., None]
        for k, on in draw.local_steps():
            w = w - self.lr * on * cohort.grad(self.beta * w + (1 - self.beta) * u, draw.xi_at(k))
        return State((problem.p[..., None] * w).sum(-2), w)


def _small(gap, domain, floats):
    """Whether a difference of declared sums is none: float sums are rounded, and residues have no size."""
    if not domain.exact:
        return not abs(gap) > 1e-12
    return gap == 0 or (floats and (isinstance(domain, Modular) or abs(fraction(gap)) <= Fraction(1, 10**12)))
