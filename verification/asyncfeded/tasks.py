"""A task of the experiments: clients, test rows, clock and local optimiser, as every method gets them.

K local steps are K mini-batches, as in Algorithm 2, and are timed as K passes over the client's rows, as the authors' timing files
suggest: a run of client i lasts (.02 + 2.5e-4 n_i K) seconds of the simulated clock.
"""
from dataclasses import dataclass
from typing import Any

import numpy as np

import fltheory as ft
from fltheory.core.numbers.arrays import broadcast
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.rows import pick
from fltheory.runs.streams import Stream

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


class SideBySide(ft.Network):
    """A network whose gradients of mini-batches at many models are one pass backwards, several times faster than one by one.

    forward: function ({name of a parameter: (models, ...)}, inputs (models, k, ...)) -> outputs (models, k, classes), what the
    module does with all models at once; the rest as for `ft.Network` with the cross-entropy.
    """

    def __init__(self, factory, forward, inputs, targets, weights=None):
        super().__init__(factory, inputs, targets, weights=weights)
        self.forward = forward

    def layers(self, y):
        """The parameters (models, ...) by name of models y (models, d)."""
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        parts = y.split(sizes, -1)
        return {name: part.reshape(-1, *shape) for part, (name, shape) in zip(parts, self.shapes.items(), strict=True)}

    def _gradient(self, who, y, sample):
        import torch
        if not isinstance(sample, Rows):
            return super()._gradient(who, y, sample)
        inputs, targets = (pick(v, who, sample, self.sizes) for v in (self._inputs, self._targets))
        m, b = sample.index.shape[-2:]
        lead = (*np.broadcast_shapes(tuple(y.shape[:-2]), tuple(sample.index.shape[:-2])), m)
        at = broadcast(y, (*lead, self.d)).reshape(-1, self.d).detach().requires_grad_()
        inputs = broadcast(inputs, (*lead, *inputs.shape[sample.index.ndim - 1:])).reshape(len(at), b, -1)
        with torch.enable_grad():
            outputs = self.forward(self.layers(at), inputs).flatten(0, 1)
            wanted = broadcast(targets, (*lead, b)).reshape(-1).long()
            loss = torch.nn.functional.cross_entropy(outputs, wanted, reduction="sum") / b
        return torch.autograd.grad(loss, at)[0].reshape(*lead, self.d)


def perceptron(layers, x):
    """Fully connected layers with ReLU between them, of many models at once."""
    import torch
    pairs = list(layers.values())
    for k in range(0, len(pairs), 2):
        x = torch.baddbmm(pairs[k + 1][:, None], x if k == 0 else x.relu(), pairs[k].mT)
    return x


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
            scores = self.problem.forward(self.problem.layers(models), inputs.expand(len(models), *inputs.shape))
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
