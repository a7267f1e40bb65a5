"""What a run is given, refused before it begins: symbols where numbers are needed, metrics that measure something else."""
from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np

from fltheory.core.errors import BadInput, CertificateFailed, NoMinimiser, TooLarge, refuse, shortened
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import distinct
from fltheory.core.optima import float_optimum
from fltheory.core.problems.base import Problem


def check_numbers(**values):
    """Refuse symbols in what a run is made of: records of algorithms and laws, problems, arrays and lists of them."""
    for what, value in values.items():
        _numbers(value, what)


def _numbers(value, what):
    if isinstance(value, Symbolic):
        refuse(what, value, "is a symbol, and runs are made in numbers",
               'Give a number; symbols are for ft.derive(..., domain=ft.Field("eta")).')
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            for v in distinct(value.reshape(-1)):
                _numbers(v, what)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _numbers(v, what)
    elif isinstance(value, Problem):
        for name in (*value._data, "weights"):
            _numbers(getattr(value, name), name)
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            _numbers(getattr(value, f.name, None), f.name)


def measures_of(problem: Problem, domain, metrics, needed=True) -> dict:
    """{name: function of the models (batch, d)}: the user's, each of whose values is checked, and "error", |x - x*|^2, where there
    is a minimiser and the user has not left it out (None). Without any a run is refused if they are `needed`."""
    metrics = {} if metrics is None else metrics
    if not isinstance(metrics, dict) or not all(isinstance(k, str) and "/" not in k and (callable(f) or (k, f) == ("error", None))
                                                for k, f in metrics.items()):
        refuse("metrics", metrics, "are functions by name", 'For example {"norm": lambda x: (x * x).sum(-1)}.')
    if metrics.get("error") is not None:
        refuse("metrics['error']", metrics["error"], 'is called like |x - x*|^2, which "error" means wherever runs are read',
               "Give it another name; metrics={..., 'error': None} leaves that one out.")
    measures = {k: _checked(k, f, domain.library == "numpy") for k, f in metrics.items() if f is not None}
    if "error" in metrics:
        return measures if measures or not needed else refuse(
            "metrics", metrics, "leave the error out, so nothing would be recorded", "Pass metrics={name: function}.")
    try:
        if "_cached_minimiser" not in problem.__dict__:
            problem.__dict__["_cached_minimiser"] = float_optimum(problem)
        target = domain.array(problem.__dict__["_cached_minimiser"])
    except (NoMinimiser, NotImplementedError, BadInput, CertificateFailed, TooLarge):
        return measures if measures or not needed else refuse(
            "metrics", None, "this problem has no computable minimiser, so nothing would be recorded",
            "Pass metrics={name: function}.")
    measures["error"] = lambda x: ((x - target) ** 2).sum(-1)
    return measures


def _checked(name, function, numpy):
    """A user's metric of tensors as a tensor (batch,) of float64; numpy: whether the models come as arrays. It is given a copy,
    which it may differentiate by and write over."""
    def measured(x):
        import torch
        x = torch.from_numpy(np.array(x)) if numpy else x.clone(memory_format=torch.contiguous_format)
        value = function(x)
        if not is_torch(value):
            try:
                value = torch.as_tensor(np.asarray(value, dtype=float))
            except (TypeError, ValueError) as error:
                refuse(f"metrics[{name!r}]", value, f"a metric gives numbers ({shortened(error, 100)})", EXAMPLE)
        if value.is_complex():
            refuse(f"metrics[{name!r}]", value, "a metric gives real numbers, and these are complex", "Take .real or .abs().")
        if value.shape != x.shape[:1]:
            refuse(f"metrics[{name!r}]", tuple(value.shape),
                   f"a metric gives one number for each model, so shape {tuple(x.shape[:1])}", EXAMPLE)
        return value.detach().to(x.device, torch.float64)
    return measured


EXAMPLE = "For example lambda x: (x * x).sum(-1)."
