"""Neural network clients: a torch module seen through one flat parameter vector, so that rounds run unchanged."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fltheory.core.errors import BadInput, refuse
from fltheory.core.kinds import Array, Who
from fltheory.core.numbers.arrays import broadcast, to_numpy
from fltheory.core.numbers.scalars import FLOAT, Domain, Numbers, Torch, entries, need
from fltheory.core.problems.base import Problem, check_weights
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.rows import client_major, pick
from fltheory.core.problems.shapes import check_lengths, clients, pad, sequence
from fltheory.core.records import one_of

LOSSES = ("cross-entropy", "half-squares")


class Network(Problem):
    """f_i(x) = mean over the client's rows of the loss of a torch module with flat parameters x (d,).

    module_factory: function without arguments returning a torch.nn.Module without buffers; it is run in
    float64 and in evaluation mode (all randomness is data, so dropout is off).
    inputs: one (m_i, ...) array per client, m_i >= 1 may differ; targets: one (m_i,) array of class numbers
    ("cross-entropy"), or one (m_i, outputs) array ("half-squares": 1/2 |output - target|^2).
    loss: one of these names, or a function (outputs (k, ...), targets (k, ...)) -> (k,) in torch.
    weights (n,) summing to 1, default uniform. Lives in `Torch` only.
    Raises BadInput on wrong shapes, NaN, buffers, unknown losses, or another arithmetic.
    """

    _data = ("inputs", "targets", "scale")
    _inputs: Array
    _targets: Array
    _scale: Array

    def __init__(self, module_factory: Callable, inputs: list, targets: list, loss: str | Callable = "cross-entropy",
                 weights: Numbers = None, name: str = ""):
        need("torch", "neural networks")
        if not callable(loss):
            one_of(*LOSSES, rule=f"is one of {', '.join(LOSSES)}, or a function", remedy="Choose one.")(loss, "loss")
        inputs, targets = (clients([_floats(v, f"{what}[{i}]") for i, v in enumerate(sequence(parts, what))], what)
                           for what, parts in (("inputs", inputs), ("targets", targets)))
        check_lengths(inputs, targets, "targets")
        self.factory, self.loss, self.name = module_factory, loss, name
        self.module = self._build(module_factory)
        self.shapes = {k: tuple(v.shape) for k, v in self.module.named_parameters()}
        shape = self._output_shape(inputs)
        if loss == "cross-entropy":
            self._check_classes(shape, targets)
        self.sizes = np.array([len(a) for a in inputs])
        self.inputs, self.targets = pad(inputs), pad(targets)
        self.scale = pad([np.full(len(a), 1 / len(a)) for a in inputs])
        self.n, self.d = len(inputs), sum(math.prod(s) for s in self.shapes.values())
        self.weights = check_weights(weights, self.n)

    def _output_shape(self, inputs):
        import torch
        try:
            with torch.no_grad():
                return tuple(self.module(torch.as_tensor(inputs[0][:1])).shape)
        except Exception as error:  # the user's own module
            refuse("inputs[0].shape", inputs[0].shape, f"the module does not take these rows ({error})", "Match the two.")

    @staticmethod
    def _check_classes(shape, targets):
        if len(shape) != 2:
            refuse("module output shape", shape, "cross-entropy needs outputs (rows, classes)", "Flatten the output.")
        for i, v in enumerate(targets):
            if v.ndim != 1 or not np.isin(v, np.arange(shape[1])).all():
                refuse(f"targets[{i}]", sorted({float(k) for k in v.reshape(-1)})[:20],
                       f"classes are one of 0..{shape[1] - 1} per row", "Renumber the classes.")

    @staticmethod
    def _build(factory):
        import torch
        try:
            module = factory()
        except Exception as error:  # the user's own code
            refuse("module_factory", factory, f"did not return a module ({type(error).__name__}: {error})",
                   "Give a function without arguments that returns a torch.nn.Module.")
        if not isinstance(module, torch.nn.Module):
            refuse("module_factory", factory, f"returned a {type(module).__name__}, no torch.nn.Module", "Return a module.")
        module = module.to(torch.float64).eval()
        if any(True for _ in module.buffers()):
            refuse("module_factory", type(module).__name__, "has buffers: running statistics are no parameters",
                   "Use GroupNorm or LayerNorm instead of BatchNorm.")
        if not any(True for _ in module.parameters()):
            refuse("module_factory", type(module).__name__, "has no parameters", "Return a module that can be trained.")
        return module

    @property
    def identity(self) -> str:
        return f"Network {self.module} {self.loss if isinstance(self.loss, str) else self.loss.__qualname__}"

    def to(self, domain: Domain) -> Network:
        if not isinstance(domain, Torch):
            refuse("domain", domain, "a neural network has gradients in torch only", "Use Torch() or Torch('cuda').")
        return super().to(domain)

    def settled(self, domain: Domain) -> Domain:
        return domain if isinstance(domain, Torch) else Torch()

    def initial(self, seed: int = 0) -> np.ndarray:
        """Parameters (d,) as numpy float64, as the module initialises itself under this seed."""
        import torch
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self._build(self.factory)
        return np.concatenate([to_numpy(p).reshape(-1) for p in module.parameters()])

    def outputs(self, x: Array, inputs: Array) -> Array:
        """Outputs (k, ...) of the module with parameters x (d,) on inputs (k, ...)."""
        from torch.func import functional_call
        parameters, at = {}, 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            parameters[name] = x[at:at + size].reshape(shape)
            at += size
        return functional_call(self.module, parameters, (inputs,))

    def _row_losses(self, outputs, targets):
        from torch.nn import functional
        if callable(self.loss):
            return self.loss(outputs, targets)
        if self.loss == "cross-entropy":
            return functional.cross_entropy(outputs, targets.long(), reduction="none")
        return ((outputs - targets) ** 2).reshape(len(outputs), -1).sum(-1) / 2

    def _objective(self, x, inputs, targets, scale):
        """sum_j scale_j loss_j of one client at x (d,)."""
        return (scale * self._row_losses(self.outputs(x, inputs), targets)).sum()

    def _gradient(self, who: Who, y, sample):
        from torch.func import grad, vmap
        slope = grad(self._objective)
        if isinstance(sample, Rows):
            index: Array = sample.index
            a, t = (pick(v, who, sample, self.sizes) for v in (self._inputs, self._targets))
            m, b = index.shape[-2:]
            lead = np.broadcast_shapes(tuple(y.shape[:-2]), tuple(index.shape[:-2]))
            y = broadcast(y, (*lead, m, self.d)).reshape(-1, self.d)
            a, t = (broadcast(v, (*lead, m, b, *rest)).reshape(-1, b, *rest)
                    for v, rest in ((a, a.shape[index.ndim:]), (t, t.shape[index.ndim:])))
            even = y.new_full((b,), 1 / b)
            return vmap(slope, in_dims=(0, 0, 0, None))(y, a, t, even).reshape(*lead, m, self.d)

        def everyone(points, data):
            """points (P, k, d), data of k clients -> (P, k, d)."""
            each = vmap(slope)
            return vmap(lambda p: each(p, *data))(points)

        data = (self._inputs, self._targets, self._scale)
        if isinstance(who, slice) or who.ndim == 1:
            if not isinstance(who, slice):
                data = tuple(v[who] for v in data)
            shape = (*y.shape[:-2], len(data[0]), self.d)
            g = everyone(broadcast(y, shape).reshape(-1, *shape[-2:]), data).reshape(shape)
        else:
            g = client_major(self.n, who, y, lambda points: everyone(points, data))
        return g if sample is None else g + sample

    def _each(self, function, x):
        """function(x, inputs, targets, scale) of every client at x (..., d) -> (..., n)."""
        from torch.func import vmap
        data = (self._inputs, self._targets, self._scale)
        over = vmap(function, in_dims=(None, 0, 0, 0))
        return vmap(lambda p: over(p, *data))(x.reshape(-1, self.d)).reshape(*x.shape[:-1], self.n)

    def _values(self, x):
        return self._each(self._objective, x)

    def evaluate(self, x: Array) -> dict:
        """{"loss": F(x), "accuracy": weighted accuracy or None} at x (d,) or (..., d), numpy arrays of shape (...).

        Accuracy (largest output equals the class number) exists for "cross-entropy"; clients count by p.
        """
        import torch
        problem: Any = self if "p" in self.__dict__ else self.to(Torch())
        x = torch.as_tensor(x, dtype=torch.float64, device=problem.p.device)
        with torch.no_grad():
            result = {"loss": to_numpy(problem.value(x)), "accuracy": None}
            if self.loss == "cross-entropy":
                def right(x, inputs, targets, scale):
                    return (scale * (problem.outputs(x, inputs).argmax(-1) == targets)).sum()
                result["accuracy"] = to_numpy((problem.p * problem._each(right, x)).sum(-1))
        return result


def _floats(value, what):
    try:
        return FLOAT.array(entries(value, what))
    except BadInput as error:
        raise BadInput(f"{what} holds entries that are no numbers: {error}") from None
