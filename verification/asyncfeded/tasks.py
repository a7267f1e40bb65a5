"""A task of the experiments: clients, test rows, clock and local optimiser, as every method gets them.

K local steps are K mini-batches, as in Algorithm 2, and are timed as K passes over the client's rows, as the authors' timing files
suggest: a run of client i lasts (.02 + 2.5e-4 n_i K) seconds of the simulated clock.
"""
from dataclasses import dataclass
from typing import Any

import numpy as np

import fltheory as ft
from fltheory.core.streams import Stream

SECOND, TRANSMISSION = 4000, 80     # units of the clock: a second, and the .02 s of transmission; a row and pass takes one unit
CLIENTS, STEPS, RHO = 10, 10, "1/2"


class Failing(ft.EventClock):
    """The event clock with runs that fail: each does with probability P and then costs U(0, 3 times its length), again and again
    until one succeeds, as in the authors' logs, where failed rounds change nothing."""

    MOST = 120      # failures in a row; at P = .9 more have probability 3e-6

    def _hangs(self, stream, name, n, batch):
        if not self.suspension:
            return np.zeros((batch, n))
        drawn = stream.child(name).random((batch, n, 1 + self.MOST))
        failures = np.floor(np.log(1 - drawn[..., :1]) / np.log(float(self.suspension)))
        return float(self.hang) * (drawn[..., 1:] * (np.arange(self.MOST) < failures)).sum(-1)


@dataclass(frozen=True)
class Task:
    """name; problem with its clients; test (inputs, labels) of all of them together; x0 (d,); lr and batch of the local steps;
    seconds: horizon of the simulated clock; paper: the task that it stands for, with the settings that Tables 1 to 4 select;
    goal: the common test accuracy (%) that methods are timed to."""

    name: str
    problem: Any
    test: tuple
    x0: Any
    lr: str
    batch: int
    seconds: float
    paper: str
    goal: float

    def law(self, P=0, steps=STEPS):
        """The clock at suspension probability P."""
        return Failing(pace=tuple(int(n) for n in self.problem.sizes), steps=steps, batch=self.batch, transmission=TRANSMISSION,
                       suspension=P)

    def accuracy(self, models):
        """Test accuracy in percent (batch,) of models (batch, d), a torch tensor."""
        import torch
        inputs, labels = (torch.as_tensor(v) for v in self.test)
        if isinstance(self.problem, ft.Logistic):
            scores = inputs @ models.reshape(-1, self.problem.classes, inputs.shape[-1]).mT
        else:
            scores = torch.func.vmap(lambda x: self.problem.outputs(x, inputs))(models)
        return 100 * (scores.argmax(-1) == labels).double().mean(-1)

    def error(self, models):
        """Test error in percent: what is recorded. Distances to a minimiser are not asked for: most models here have none."""
        return 100 - self.accuracy(models)


def split(rows, share=10, seed=0):
    """(train, test) of each client's (inputs, labels), one row in `share` for the test, at least one."""
    train, test = [], []
    for i, (x, y) in enumerate(rows):
        order = Stream(seed, "asyncfeded", "split", i).generator().permutation(len(y))
        cut = max(1, len(y) // share)
        test.append((x[order[:cut]], y[order[:cut]]))
        train.append((x[order[cut:]], y[order[cut:]]))
    pooled = tuple(np.concatenate(v) for v in zip(*test, strict=True))
    return train, pooled
