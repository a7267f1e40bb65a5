"""What code and data a run depends on, as one digest: two functions under one name are told apart by what they do.

Functions count by their bytecode, constants, defaults, closures and the globals they read; classes by their methods and
bases; modules of the user by their text. What belongs to an installed library counts by its name and version, fltheory by
the text of all its files. Nothing is called, and no memory address enters, so a fresh process finds the same digest.
"""
from __future__ import annotations

import dis
import functools
import itertools
import numbers
import os
import sys
import sysconfig
import types
from dataclasses import fields, is_dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from fltheory.core.digests import Digest, digest_of
from fltheory.core.libraries import have
from fltheory.core.numbers.arrays import is_torch, to_numpy
from fltheory.core.numbers.scalars import is_rational
from fltheory.core.problems.base import Problem

_LIBRARIES = tuple({f"{Path(sysconfig.get_path(k)).resolve()}{os.sep}" for k in ("stdlib", "platstdlib", "purelib", "platlib")})
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_CACHES = ("_known", "_converted")  # of laws and problems: filled by use
_CLASS_NOISE = ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__abstractmethods__", "_abc_impl",
                "__dataclass_fields__", "__dataclass_params__", "__firstlineno__", "__static_attributes__")


def digest(*values, code=True) -> str:
    """A digest of values of any kind: data by value, functions and classes by what they do, or by name without `code`."""
    walk = _Walk(code)
    for v in values:
        walk.value(v)
    return str(walk.hash)


@functools.cache
def engine() -> str:
    """A digest of fltheory's own text and of the versions of what computes for it."""
    root = Path(__file__).parents[1]
    texts = ((path.relative_to(root), path.read_bytes()) for path in sorted(root.rglob("*.py")))
    versions = ((name, metadata.version(name) if have(name) else "-") for name in ("torch", "numpy"))   # imported by now or not
    return digest_of(itertools.chain(texts, versions))


class _Walk:
    """Feeds a hash with everything that values consist of; each object once, so that cycles end."""

    def __init__(self, code):
        self.hash, self.visited, self.alive, self.deep = Digest(), {}, [], code
        self.say = self.hash.add

    def value(self, v):
        if v is None or isinstance(v, (numbers.Number, str, bytes, range, slice, np.generic)) or is_rational(v):
            self.say(type(v).__name__, v if isinstance(v, (bytes, str)) else repr(v))
        elif id(v) in self.visited:
            self.say("again", self.visited[id(v)])
        else:
            self.visited[id(v)] = len(self.visited)
            self.alive.append(v)  # an id stays its own
            if is_torch(v) and hasattr(v, "detach"):
                self.array(v)
            else:
                next(feed for kinds, feed in _FEEDS if isinstance(v, kinds))(self, v)

    def mapping(self, v):
        self.say("dict", len(v))
        for key, item in v.items():
            self.value(key)
            self.value(item)

    def sequence(self, v):
        self.say(type(v).__name__, len(v))
        for item in v:
            self.value(item)

    def members(self, v):
        self.say("set", *sorted(digest(item, code=self.deep) for item in v))

    def method(self, v):
        self.say("method")
        self.value(v.__func__)
        self.value(v.__self__)

    def wrapper(self, v):
        self.say(type(v).__name__)
        for name in ("__func__", "func", "fget", "fset", "args", "keywords"):
            self.value(getattr(v, name, None))

    def cell(self, v):
        try:
            self.value(v.cell_contents)
        except ValueError:
            self.say("empty cell")

    def array(self, v):
        a = to_numpy(v)
        self.say("array", a.dtype, a.shape)
        if a.dtype == object:
            for v in a.reshape(-1):
                self.value(v)
        else:
            self.say(np.ascontiguousarray(a).tobytes())

    def code(self, c):
        self.say("code", c.co_code, c.co_argcount, c.co_kwonlyargcount, c.co_flags, *c.co_names, "|", *c.co_varnames)
        for v in c.co_consts:
            self.value(v)

    def function(self, f):
        if not self.deep or _of_library(f.__module__):
            self.named("function", f)
            return
        self.say("function")
        self.code(f.__code__)
        for v in (f.__defaults__, f.__kwdefaults__, *(f.__closure__ or ())):
            self.value(v)
        for name in sorted(_read(f.__code__)):
            if name in f.__globals__:
                self.say(name)
                self.value(f.__globals__[name])

    def kind(self, cls):
        self.named("class", cls)
        if not self.deep or _of_library(cls.__module__):
            return
        for base in cls.__mro__[1:]:
            self.value(base)
        for name, v in sorted(vars(cls).items()):
            if name not in _CLASS_NOISE:
                self.say(name)
                self.value(v)

    def module(self, m):
        self.say("module", m.__name__, getattr(m, "__version__", ""))
        path = getattr(m, "__file__", None)
        if path and not _of_library(m.__name__) and Path(path).is_file():
            self.say(Path(path).read_bytes())

    def instance(self, v):
        kind = type(v)
        self.value(kind)
        if isinstance(v, Problem):
            self.say(v.identity)
            parts = {k: getattr(v, k) for k in (*v._data, "weights")}
            parts |= {k: item for k, item in vars(v).items() if callable(item) and k not in _CACHES}
            parts |= {} if _of_library(kind.__module__) else _state(v)
        elif is_dataclass(v):
            parts = {f.name: getattr(v, f.name, None) for f in fields(v)}
        else:
            parts = _state(v)
        for name, item in sorted(parts.items()):
            self.say(name)
            self.value(item)

    def named(self, what, v):
        root = sys.modules.get(str(v.__module__).partition(".")[0])
        self.say(what, v.__module__, v.__qualname__, getattr(root, "__version__", ""))


_FEEDS = (
    (np.ndarray, _Walk.array), (dict, _Walk.mapping), ((list, tuple), _Walk.sequence), ((set, frozenset), _Walk.members),
    (types.CodeType, _Walk.code), (types.FunctionType, _Walk.function), (types.MethodType, _Walk.method),
    ((staticmethod, classmethod, functools.cached_property, property, functools.partial), _Walk.wrapper), (type, _Walk.kind),
    (types.ModuleType, _Walk.module), (types.CellType, _Walk.cell), (object, _Walk.instance))


def _state(v) -> dict:
    """The attributes of an object, without what it only remembers."""
    slots = {k for kind in type(v).__mro__ for k in getattr(kind, "__slots__", ()) if hasattr(v, k)}
    attributes = {**getattr(v, "__dict__", {}), **{k: getattr(v, k) for k in slots if isinstance(k, str) and k != "__dict__"}}
    return {k: item for k, item in attributes.items()
            if k not in _CACHES and "_cached" not in str(k) and isinstance(k, str)
            and not isinstance(getattr(type(v), k, None), functools.cached_property)}


def _read(code) -> set:
    """Names of the globals that a code object and those inside it load."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in _GLOBALS}
    return names.union(*(_read(c) for c in code.co_consts if isinstance(c, types.CodeType)))


@functools.cache
def _of_library(name) -> bool:
    """Whether a module is fltheory's, Python's or of an installed library; a notebook's is not."""
    root = str(name).partition(".")[0]
    if root == "__main__":  # wherever the program that holds it is installed
        return False
    if root == "fltheory" or root in sys.stdlib_module_names:
        return True
    path = getattr(sys.modules.get(root), "__file__", None)
    return path is not None and str(Path(path).resolve()).startswith(_LIBRARIES)
