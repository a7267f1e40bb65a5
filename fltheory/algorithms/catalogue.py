"""Every algorithm of the package, found by looking: a new file is tested and listed unasked."""
from __future__ import annotations

import importlib
import pkgutil

from fltheory.core.algorithms.base import ROOMS, Algorithm


def discover() -> list[type]:
    """All `Algorithm` classes defined in the modules where methods stand, by name."""
    folders = [importlib.import_module(room.removesuffix(".")) for room in ROOMS]
    classes = []
    for entry in (e for folder in folders for e in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}.")):
        module = importlib.import_module(entry.name)
        classes += [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Algorithm)
                  and v is not Algorithm and v.__module__ == module.__name__]
    return sorted(classes, key=lambda cls: cls.__name__)
