"""Wrong variants for FOCUS's part on FedAvg: unequal local work, forgotten resets, laws."""
import numpy as np

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.mutants.base import changed
from fltheory.mutants.laws import everybody_takes_part, keeps_empty_rounds
from fltheory.mutants.local import gradients_not_reset


@changed(FedAvg, "round")
def last_client_works_longer(self, right, problem, s, draw):
    """The last client makes one local step more than the others."""
    more = (np.arange(draw.steps.shape[-1]) == problem.n - 1) * 1
    return right(problem, s, draw._replace(steps=draw.steps + more))


__all__ = ["everybody_takes_part", "gradients_not_reset", "keeps_empty_rounds", "last_client_works_longer"]
