"""The protocol of every adapter: a code is started anew after `reset`, and then makes one numbered round a call."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fltheory.blackbox.adapters.replaced import precision, regression, silence
from fltheory.core.errors import refuse
from fltheory.core.numbers.arrays import is_torch

TYPES = ("float64", "float32")


@dataclass
class Participant:
    """One client in one round, as a training code meets it.

    index: its number among all `population` clients. size: its number of rows. weight: its share p_i among all clients. loader: a
    torch DataLoader with one batch (X (m, d), y (m, 1)) of all its rows. memory: a dict of its own, empty after reset and kept
    between rounds. server: a dict of the server's, likewise. round: the number of the round since reset, from 1.
    """

    index: int
    size: int
    weight: float
    loader: Any
    population: int
    memory: dict = field(default_factory=dict)
    server: dict = field(default_factory=dict)
    round: int = 1


def protocol(start: Callable, advance: Callable, dtype: str = "float64") -> tuple[Callable, Callable]:
    """(round_fn, reset) of a code in two steps.

    start(x, clients) -> session makes everything anew, in the first round after reset. advance(session, x, clients, cohort,
    number) -> the new model makes round `number` = 1, 2, .. with the participants in the list cohort; x: float64 numpy (d,);
    the new model: (d,) numbers, a torch module, a state dict, or a list of arrays. A session's `close()`, where it has one, is
    called at reset. dtype: that of tensors made without one.
    """
    if dtype not in TYPES:
        refuse("dtype", dtype, f"is one of {', '.join(TYPES)}", 'Give dtype="float32" for code that computes in single precision.')
    need_functions(start=start, advance=advance)
    running: dict[str, Any] = {}
    replaced: Counter[str] = Counter()

    def round_fn(x, clients, cohort=None):
        who = list(range(len(clients))) if cohort is None else [int(i) for i in cohort]
        with precision(dtype), regression(replaced), silence():
            if not running:
                running.update(session=start(x, clients), number=0)
            running["number"] += 1
            return vector(advance(running["session"], x, clients, who, running["number"]))

    def reset():
        close = getattr(running.get("session"), "close", None)
        running.clear()
        if close is not None:
            close()

    round_fn.replaced = replaced   # type: ignore[attr-defined]
    return round_fn, reset


def need_functions(**functions):
    """Refuses what cannot be called."""
    for name, value in functions.items():
        if not callable(value):
            refuse(name, type(value).__name__, "must be callable", "Give a function, or a class that makes what is asked for.")


def linear(x: np.ndarray, dtype: str = "float64", make: Callable | None = None) -> Any:
    """The torch module with d parameters that predicts X x: one linear layer without bias, or make(d), its parameters set to x."""
    import torch

    model = torch.nn.Linear(len(x), 1, bias=False) if make is None else make(len(x))
    model = model.to(getattr(torch, dtype))
    count = sum(p.numel() for p in model.parameters())
    if count != len(x):
        refuse("model", f"{count} parameters", f"has d = {len(x)} of them, the weights of a linear prediction",
               "Give a function d -> module, for example lambda d: torch.nn.Linear(d, 1, bias=False).")
    torch.nn.utils.vector_to_parameters(torch.as_tensor(np.array(x), dtype=getattr(torch, dtype)), model.parameters())
    return model


def rows(client, dtype="float64"):
    """A client's data (X (m, d), y (m, 1)) as torch tensors."""
    import torch

    kind = getattr(torch, dtype)
    return torch.tensor(client.X, dtype=kind), torch.tensor(client.y, dtype=kind)[:, None]


def loader(client, dtype="float64"):
    """A torch DataLoader with one batch of all rows of a client."""
    from torch.utils.data import DataLoader, TensorDataset

    return DataLoader(TensorDataset(*rows(client, dtype)), batch_size=client.size)


def vector(model: Any) -> np.ndarray:
    """The numbers (d,) of a model: a torch module's parameters, a state dict's or a list's arrays in order, or an array."""
    if hasattr(model, "parameters") and callable(model.parameters):
        model = list(model.parameters())
    elif isinstance(model, dict):
        model = list(model.values())
    if isinstance(model, (list, tuple)) and any(np.ndim(_array(v)) for v in model):
        parts = [np.ravel(_array(v)) for v in model]
        return np.concatenate(parts)
    return np.array(_array(model)).reshape(-1)


def _array(value):
    return value.detach().cpu().numpy() if is_torch(value) else np.asarray(value)
