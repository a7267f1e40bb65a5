"""An instance as Python code: exact rationals, runnable as it stands."""
from __future__ import annotations

import inspect
import sys
from dataclasses import fields, is_dataclass

import numpy as np

import fltheory
from fltheory.core.errors import BadInput, refuse
from fltheory.core.laws.base import noisy
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Balls, fraction, is_rational
from fltheory.core.problems.base import check_weights
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.quadratic import Quadratic
from fltheory.verdicts.claims.instance import Instance


class _Writer:
    """Values as expressions; remembers what has to be imported."""

    def __init__(self):
        self.imports = set()

    def value(self, v) -> str:
        if v is None or isinstance(v, (bool, str, float)):
            return repr(v)
        if isinstance(v, np.floating):
            return repr(float(v))
        if is_rational(v):
            f = fraction(v)
            return str(f.numerator) if f.denominator == 1 else f"Q({f.numerator}, {f.denominator})"
        if isinstance(v, (np.ndarray, list, tuple, dict)):
            return self.container(v)
        if v is FLOAT or v is RATIONAL:
            return "ft.FLOAT" if v is FLOAT else "ft.RATIONAL"
        if isinstance(v, Balls):
            return f"ft.Balls({v.bits})"
        if type(v) is Quadratic:
            return self.quadratic(v)
        if type(v) is HuberLoss:
            return self.huber(v)
        if is_dataclass(v) and not isinstance(v, type):
            return self.record(v)
        refuse("value", v, f"a {type(v).__name__} cannot be written as code", "Rebuild this instance by hand.")

    def container(self, v) -> str:
        if isinstance(v, np.ndarray):
            return self.value(v.tolist())
        if isinstance(v, list):
            return "[" + ", ".join(map(self.value, v)) + "]"
        if isinstance(v, tuple):
            return "(" + ", ".join(map(self.value, v)) + ("," if len(v) == 1 else "") + ")"
        return "{" + ", ".join(f"{self.value(a)}: {self.value(b)}" for a, b in v.items()) + "}"

    def quadratic(self, p):
        rest = {} if (p.weights == check_weights(None, p.n)).all() else {"weights": p.weights}
        if p.c is not None:
            return self.call("ft.Quadratic", {"H": p.H, "c": p.c, **rest})
        offset = {"offset": p.offset} if any(v != 0 for v in p.offset) else {}
        return self.call("ft.Quadratic.from_linear", {"H": p.H, "b": p.b, **rest, **offset})

    def huber(self, p):
        """Rows that were padded to equal length are cut back; what is at the constructor's default is left out."""
        if p.ridge.shape != (p.n, 1):
            refuse("value", "HuberLoss", "its clients are regularised in some coordinates only, which no constructor says",
                   "Use the problem with personal parameters itself.")

        def unpadded(columns):
            return [column[:size] for column, size in zip(columns, p.sizes, strict=True)]
        arguments = {"U": unpadded(p.rows), "offsets": unpadded(p.targets[..., 0])}
        for name, parts in (("deltas", unpadded(p.targets[..., 1])), ("scales", unpadded(p.scale))):
            if not all(v == 1 for part in parts for v in part):
                arguments[name] = parts
        arguments |= {"reg": p.reg[()]} if p.reg[()] != 0 else {}
        arguments |= {} if (p.weights == check_weights(None, p.n)).all() else {"weights": p.weights}
        return self.call("ft.HuberLoss", arguments)

    def record(self, v):
        """An algorithm, a solver or a law: its fields, without those at the constructor's default."""
        kind = type(v)
        name = kind.__name__
        if getattr(fltheory, name, None) is kind:
            name = f"ft.{name}"
        elif "<" in kind.__qualname__:
            refuse("value", v, "its class is local to a function and cannot be imported", "Define the class outside.")
        elif kind.__module__ != "__main__":
            self.imports.add(f"from {kind.__module__} import {name}")
        takes = inspect.signature(kind).parameters
        arguments = {}
        for f in fields(v):
            default = takes[f.name].default if f.name in takes else inspect.Parameter.empty
            value = getattr(v, f.name)
            if default is inspect.Parameter.empty or type(value) is not type(default) or value != default:
                arguments[f.name] = value
        return self.call(name, arguments)

    def call(self, name, arguments):
        return f"{name}({', '.join(f'{k}={self.value(v)}' for k, v in arguments.items())})"

    def instance(self, i, indent="") -> str:
        """ft.Instance(...), one argument a line if `indent` says how far lines stand in."""
        parts = ["'witness'"] + [f"{k}={self.value(getattr(i, k))}" for k in ("problem", "algorithm", "law")
                                 if getattr(i, k) is not None]
        parts += [f"noise={self.value(i.noise)}"] if noisy(i.noise) else []
        parts += [f"domain={self.value(i.domain)}"] if i.domain is not RATIONAL else []
        parts += [f"{k}={self.value(getattr(i, k))}" for k in ("x0", "simulate") if getattr(i, k) is not None]
        parts += [f"{k}={self.value(v)}" for k, v in i.extra.items()]
        if not indent:
            return f"ft.Instance({', '.join(parts)})"
        return "ft.Instance(\n" + "".join(f"{indent}{p},\n" for p in parts) + ")"


def text(instance: Instance) -> str:
    """The instance in one line: as code where possible, otherwise by what it says."""
    try:
        return _Writer().instance(instance)
    except BadInput:
        return instance.says or f"{instance.name} {sorted(instance.extra.items(), key=lambda e: e[0])}"


def cell(claim, instance, violated=True) -> str:
    """A notebook cell that rebuilds the instance and checks the claim on it. Raises BadInput if it cannot be written.

    violated: whether the check is to end in FALSIFIED (a counter-example) or in ERROR.
    """
    writer = _Writer()
    body = writer.instance(instance, "    ")
    name = _name(claim)
    module = claim.body.__module__
    if module != "__main__" and getattr(sys.modules.get(module), "__file__", None):
        writer.imports.add(f"from {module} import {name}")
    status = "FALSIFIED" if violated else "ERROR"
    return "\n".join(["from fractions import Fraction as Q", "", "import fltheory as ft", *sorted(writer.imports), "",
                      f"witness = {body}", f"verdict = {name}.check(on=[witness])", "print(verdict)",
                      f'assert verdict.instances[0].status == "{status}"', ""])


def _name(claim):
    """The name under which the claim's module holds it; a notebook also holds its outputs, as _, __ and _7."""
    names = vars(sys.modules[claim.body.__module__]) if claim.body.__module__ in sys.modules else {}
    name = claim.body.__name__
    if names.get(name) is not claim:
        name = next((k for k, v in names.items() if v is claim and k.isidentifier() and not k.startswith("_")), name)
    return name if name.isidentifier() else "claim"
