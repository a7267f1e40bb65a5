"""The numbers of an instance in words: what a statement that fails on it is shown beside."""
from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import groupby

import numpy as np

from fltheory.core.evidence import show
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import fraction, is_rational
from fltheory.core.problems.quadratic import Quadratic

_NAMES = {"lr": "step size", "steps": "local steps", "server_lr": "server step size", "solver": "local solver"}
_SAME = {"eta": "step size", "tau": "local steps"}  # what instances often say again
_MOST = 12  # clients that are listed one by one


def data(instance) -> dict[str, str]:
    """{name: value} of an instance's problem, algorithm, participation, noise, start and own numbers, as far as it has
    them; formulas stand between dollars. Equal clients in a row are counted, and of many only the first are listed."""
    out, problem = {}, instance.problem
    if isinstance(problem, Quadratic):
        out["$H_i$"] = _clients(problem.H)
        out["minimisers $c_i$" if problem.c is not None else "$b_i$"] = _clients(problem.b if problem.c is None else problem.c)
        out["weights $p_i$"] = _clients(problem.weights)
    elif problem is not None:
        out["problem"] = f"{type(problem).__name__}, {problem.n} clients in dimension {problem.d}"
    out |= _fields("method", instance.algorithm)
    out["participation"] = "" if instance.law is None else described(instance.law)
    out["noise"] = "" if is_rational(instance.noise) and not fraction(instance.noise) else described(instance.noise)
    out["start $x_0$"] = "" if instance.x0 is None else described(instance.x0)
    numbers = {name: show(value) for name, value in instance.extra.items() if is_rational(value)}
    out |= {name: value for name, value in numbers.items() if out.get(_SAME.get(name, "")) != value}
    return {name: value for name, value in out.items() if value}


def _fields(what, record) -> dict:
    """The class of an algorithm, and its fields one by one."""
    if record is None:
        return {}
    values = {f.name: getattr(record, f.name) for f in fields(record)} if is_dataclass(record) else {}
    return {what: type(record).__name__} | {_NAMES.get(k, k): described(v) for k, v in values.items() if v is not None}


def _clients(values) -> str:
    """Client by client; in one dimension plain numbers."""
    array = np.asarray(values, dtype=object)
    rows = [show(row.reshape(-1)[0] if row.size == 1 else row) for row in map(np.asarray, array)]
    groups = [(row, len(list(same))) for row, same in groupby(rows)]
    texts = [row if many == 1 else f"{row} ({many} clients)" for row, many in groups[:_MOST]]
    return ", ".join(texts) + (", ..." if len(groups) > _MOST else "")


def described(value) -> str:
    """A number, a list or a record in words, without fields that say nothing."""
    if is_rational(value) or isinstance(value, (str, float, np.ndarray)):
        return show(value)
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(described, value)) + ")"
    if not is_dataclass(value):
        return str(value) if isinstance(value, Symbolic) else type(value).__name__
    texts = ((f.name, described(getattr(value, f.name))) for f in fields(value))
    parts = ", ".join(f"{name}={text}" for name, text in texts if text not in ("", "0", "None", "False", "NoneType"))
    return type(value).__name__.lstrip("_") + (f"({parts})" if parts else "")
