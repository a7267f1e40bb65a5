"""Optional libraries: whether they are there, and what to say where they are not."""
from __future__ import annotations

import importlib
import importlib.util

from fltheory.core.errors import MissingLibrary


def have(library: str) -> bool:
    """Whether an optional library can be imported."""
    return importlib.util.find_spec(library) is not None


def need(library: str, purpose: str):
    """Import an optional library or say what it would have been used for."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError:
        raise MissingLibrary(f"{library} is not installed: it is needed for {purpose}. "
                             f"Install it (pip install {_PIP.get(library, library)}) to get this result.") from None


_PIP = {"distributed": "'fltheory[cluster]'", "flint": "python-flint"}
