"""Every algorithm of this folder, found by looking: a new file is tested and listed unasked."""
from __future__ import annotations

import importlib
import pkgutil

import fltheory.core.algorithms
from fltheory.core.algorithms.base import Algorithm


def discover() -> list[type]:
    """All `Algorithm` classes defined in the modules of this folder, by name."""
    found = []
    for entry in pkgutil.iter_modules(fltheory.core.algorithms.__path__):
        module = importlib.import_module(f"fltheory.core.algorithms.{entry.name}")
        found += [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Algorithm)
                  and v is not Algorithm and v.__module__ == module.__name__]
    return sorted(found, key=lambda cls: cls.__name__)
