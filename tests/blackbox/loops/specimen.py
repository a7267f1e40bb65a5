"""What every specimen is described by: a maker of training codes, what it claims to be, and the bugs it can carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Loop:
    """One training code, ready to run.

    round_fn: (x, clients[, cohort]) -> x (d,), or, where `state` is given, (state, clients[, cohort]) -> state.
    claim: (name of the algorithm in fltheory, its keyword arguments as plain data), a solver inside it alike; None
    where the catalogue has no such algorithm.
    reset: forgets all memories; None for a code that is supposed to have none.
    state: (n, d) -> dict of zero arrays, the state that is passed around; None for codes that take only x.
    restart: like `reset`, but there for every code: what a new process would do (a bug can be a memory).
    objective: what the code minimises, where it is not the clients' losses weighted by their sizes:
    {"weights": "plain"} or {"reg": "1/10"} (an added reg/2 |x|^2 for each client).
    steps: local steps of each client, clients -> tuple.
    """

    round_fn: Callable
    claim: tuple[str, dict] | None
    steps: Callable
    reset: Callable | None = None
    state: Callable | None = None
    restart: Callable = lambda: None
    needs_cohort: bool = False
    objective: dict = field(default_factory=dict)
    single: bool = False


@dataclass(frozen=True)
class Specimen:
    """A family of training codes. make(lr, steps, bug=None, **options) -> Loop; bugs: name -> one sentence.

    lr: a number or a string such as "1/20"; steps: an int or one per client. `diverging` names the bugs that make
    a stable code unstable.
    """

    name: str
    build: Callable
    bugs: dict[str, str]
    needs_cohort: bool = False
    diverging: tuple[str, ...] = ()

    def make(self, lr, steps, bug=None, **options) -> Loop:
        if bug is not None and bug not in self.bugs:
            raise KeyError(f"{self.name} knows no bug {bug!r}, only {sorted(self.bugs)}")
        return self.build(lr, steps, bug=bug, **options)


def number(value) -> float:
    """The float of a number or of a string such as "1/20"."""
    return float(Fraction(str(value)))


def times(factor, value) -> str:
    """The declared number factor * value, exactly."""
    return str(Fraction(str(factor)) * Fraction(str(value)))


def count(steps, i) -> int:
    """Client i's number of local steps."""
    return int(steps[i]) if isinstance(steps, (tuple, list)) else int(steps)


def fixed(steps):
    """The `steps` of a Loop whose numbers of local steps do not depend on the data."""
    return lambda clients: tuple(count(steps, i) for i in range(len(clients)))


def tensors(client, dtype=torch.float64):
    """A client's rows (m, d) and answers (m,)."""
    return torch.as_tensor(client.X, dtype=dtype), torch.as_tensor(client.y, dtype=dtype)


def linear(x, dtype=torch.float64):
    """The model: one linear layer without a bias, its weight set to x (d,)."""
    model = nn.Linear(len(x), 1, bias=False, dtype=dtype)
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(x, dtype=dtype)[None])
    return model


def half_mse(model, X, y):
    """|X w - y|^2/(2 m)."""
    return nn.functional.mse_loss(model(X).squeeze(-1), y) / 2


def numpy_of(model) -> np.ndarray:
    return model.weight.detach().numpy()[0].copy()
