"""Short readable names of algorithms: what differs from the defaults, abbreviated, unique."""
from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.solvers import Proximal
from fltheory.core.numbers.text import digits

LONGEST = 6  # entries of a sequence that are written out
ALWAYS = {"m", "p", "draws", "lr"}  # written even where they equal the default


def describe(record) -> str:
    """For example FedAvg(lr=1/20, steps=(1, 10)) or FedProx(lr=1/20, steps=5, mu=1)."""
    parts, name = _parts(record), type(record).__name__
    if type(record) is FedAvg and isinstance(record.solver, Proximal):
        name = "FedProx"
        parts = [p for p in parts if not p.startswith("solver=")] + _parts(record.solver)
    return f"{name}({', '.join(parts)})"


def _parts(record):
    out = []
    for f in fields(record):
        value = getattr(record, f.name)
        default = f.default if f.default is not MISSING else None
        if value is None or (
                f.name not in ALWAYS and type(value) is type(default) and value == default):
            continue
        out.append(f"{f.name}={_text(value)}")
    return out


def _text(value):
    if is_dataclass(value):
        return f"{type(value).__name__}({', '.join(_parts(value))})"
    if isinstance(value, (tuple, list)):
        if len(value) > LONGEST:
            return f"({', '.join(_text(v) for v in value[:2])}, .. {len(value)} of them)"
        return f"({', '.join(_text(v) for v in value)})"
    return digits(value) if isinstance(value, float) else str(value)


def named(algorithms) -> dict:
    """Unique names for a sequence: repeats are numbered from the second on."""
    out = {}
    for algorithm in algorithms:
        name = base = describe(algorithm)
        count = 2
        while name in out:
            name, count = f"{base} #{count}", count + 1
        out[name] = algorithm
    return out
