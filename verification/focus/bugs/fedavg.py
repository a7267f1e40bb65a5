"""Wrong variants for FOCUS's part on FedAvg: unequal local work, forgotten resets, laws."""
from dataclasses import dataclass, replace

import numpy as np

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.solvers import Vanilla
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform


@dataclass(frozen=True)
class _Longer(FedAvg):
    def round(self, problem, s, draw):
        more = (np.arange(draw.steps.shape[-1]) == problem.n - 1) * 1
        return super().round(problem, s, draw._replace(steps=draw.steps + more))


def last_client_works_longer(algorithm):
    """The last client makes one local step more than the others."""
    if type(algorithm) is not FedAvg:
        return None
    return _Longer(algorithm.lr, algorithm.steps, algorithm.solver, algorithm.averaging)


@dataclass(frozen=True)
class _Accumulating(Vanilla):
    def start(self, y):
        return 0 * y

    def step(self, y, anchor, buffer, g, lr, on):
        return y - lr * on * (buffer + g), buffer + g


def gradients_not_reset(algorithm):
    """Gradients add up over the local steps of a round: they are never set to zero in between."""
    return replace(algorithm, solver=_Accumulating()) if algorithm.solver == Vanilla() else None


def everybody_takes_part(law):
    """All clients take part in every round."""
    return Full(law.steps, law.noise, law.batch) if type(law) is Uniform else None


def keeps_empty_rounds(law):
    """Rounds without participants are not drawn again: the server keeps its model."""
    return replace(law, empty="move") if type(law) is Bernoulli and law.empty == "redraw" else None


everybody_takes_part.of = keeps_empty_rounds.of = "law"
