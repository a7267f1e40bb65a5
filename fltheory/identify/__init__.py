"""Somebody else's training round, recovered from outside and compared with what it claims to be.

The module may be called: `fltheory.identify(...)` is `fltheory.identify.engine.identify` whichever import came first.
"""
import sys
import types

from fltheory.identify.engine import identify
from fltheory.identify.result import Fault, Identification

__all__ = ["Fault", "Identification", "identify"]


class _Callable(types.ModuleType):
    def __call__(self, *args, **kwargs):
        return identify(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
