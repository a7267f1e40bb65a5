"""Values and gradients of a problem that no round has converted yet: in the arithmetic of its data and of the point."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Problem, Who
from fltheory.core.numbers import linalg
from fltheory.core.numbers.arrays import is_torch, to_numpy
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Torch, declare, domain_of, entries, is_count


@dataclass(frozen=True)
class Rows:
    """A mini-batch sample: indices (..., m, b) into each client's rows."""

    index: object


class PlainCohort:
    """What `Cohort` is to a round, for whoever asks a plain problem: numbers as declared, lists accepted, shapes checked."""

    def __init__(self, problem: Problem, who: Who):
        self._problem, self._who, self.n = problem, _indices(problem, who), problem.n

    @property
    def p(self):
        weights = self._problem.weights
        return weights if isinstance(self._who, slice) else weights[self._who]

    def grad(self, y, sample=None):
        return self._ask("grad", sample, y=(y, self._problem.d))

    def grad_pair(self, w, theta, sample=None):
        return self._ask("grad_pair", sample, w=(w, self._problem.d), theta=(theta, self._problem.personal))

    def _ask(self, name, sample, **points):
        places = self.n if isinstance(self._who, slice) else self._who.shape[-1]
        declared = {what: point(v, what, (places, d), free=(1, d)) for what, (v, d) in points.items()}
        if sample is not None and not isinstance(sample, Rows):
            widths = [sum(d for _, d in points.values()), next(iter(points.values()))[1]]  # noise on all, or on the first
            declared["sample"] = point(sample, "sample", *((places, d) for d in widths))
        domain = arithmetic(self._problem, declared.values())
        inputs = [domain.array(v) if not is_torch(v) else v for v in declared.values()]
        who = self._who
        if is_torch(inputs[0]) and not isinstance(who, slice):
            who = _index(who, inputs[0].device)
        if isinstance(sample, Rows):
            inputs.append(Rows(_index(sample.index, inputs[0].device) if is_torch(inputs[0]) else np.asarray(sample.index)))
        out = getattr(self._problem.to(domain).at(who), name)(*inputs)
        handed = [handed_out(v, declared.values()) for v in (out if isinstance(out, tuple) else (out,))]
        return tuple(handed) if isinstance(out, tuple) else handed[0]


def ask(problem: Problem, name, x):
    """`name` ("value", "gradient") of a plain problem at x (..., d)."""
    x = point(x, "x", (problem.d,))
    domain = arithmetic(problem, [x])
    return handed_out(getattr(problem.to(domain), name)(x if is_torch(x) else domain.array(x)), [x])


def point(value, what, shape, free=None):
    """A declared array (or a tensor) whose last axes have this shape (or `free`)."""
    array = tensor(value, what) if is_torch(value) else declare(value, what)
    if not any(v is not None and tuple(array.shape)[-len(v):] == v for v in (shape, free)):
        refuse(f"{what}.shape", tuple(array.shape), f"its last axes have shape {shape}",
               "Give one number per coordinate" + (", and one row per client." if len(shape) > 1 else "."))
    return array


def joint_value(problem: Problem, w, theta):
    """The joint value of a problem that is not converted yet, at declared arrays or tensors."""
    points = point(w, "w", (problem.d,)), point(theta, "theta", (problem.n, problem.personal))
    domain = arithmetic(problem, points)
    value = problem.to(domain).joint_value(*(v if is_torch(v) else domain.array(v) for v in points))
    return handed_out(value, points)


def joint_point(z, size):
    """A point of a joint problem with so many coordinates, as an array."""
    z = z if hasattr(z, "shape") else declare(z, "z")
    if tuple(z.shape) != (size,):
        refuse("z.shape", tuple(z.shape), f"a point of the joint problem has {size} coordinates: w, then t_1, t_2, ..",
               "Give one such as ft.optimum(problem.joint()).x.")
    return z


def tensor(value, what):
    """A real tensor in the one precision of problems in torch."""
    if value.is_complex() or value.is_sparse:
        refuse(what, value, "is a dense tensor of real numbers", "Give one.")
    return value.double()


def arithmetic(problem: Problem, points):
    """The arithmetic in which a problem meets points: floats where either has them, else symbols, else rationals."""
    torch = [v for v in points if is_torch(v)]
    if torch:
        return Torch(str(torch[0].device))
    kinds = [problem.native, *map(domain_of, points)]
    fields = [k for k in kinds if k not in (FLOAT, RATIONAL)]
    if fields and FLOAT in kinds:
        refuse("point", [str(k) for k in kinds], "symbols and floats do not meet", "Give fractions, or strings such as '1/2'.")
    return problem.settled(FLOAT if FLOAT in kinds else fields[0] if fields else RATIONAL)


def handed_out(value, points):
    """A computed number or array as its owner declared numbers: Fractions, floats, symbols; tensors for tensors."""
    if any(is_torch(v) for v in points):
        return value
    array = to_numpy(value)
    if array.dtype == object and domain_of(array) is RATIONAL:
        array = linalg.to_fractions(array)
    if array.ndim:
        return array
    return float(array) if array.dtype == np.float64 else array[()]


def _indices(problem: Problem, who: Who):
    if isinstance(who, slice):
        return who if who == slice(None) else np.arange(problem.n)[who]
    array = entries(to_numpy(who) if is_torch(who) else who, "who")
    if not (array.ndim and array.size and all(is_count(v, 0) and v < problem.n for v in array.reshape(-1))):
        refuse("who", who, f"a cohort is an array of indices of clients, from 0 to {problem.n - 1}", "For example [0].")
    return array.astype(np.int64)


def _index(array, device):
    import torch
    return torch.as_tensor(np.asarray(array), device=device)
