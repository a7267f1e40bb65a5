"""One line of the engine replaced for a while: a `Fault`, and how it is planted and taken out again.

The module's file is compiled with that line replaced, and the code of the functions that the line belongs to is
exchanged in place: every reference that other modules or instances already hold runs the wrong line too. Nothing on
disk changes. A fault that cannot be planted exactly (its line is gone or stands twice, or lies outside functions) is
refused, so that a fault that was never there cannot pass for one that nothing notices.
"""
from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import sys
from pathlib import Path
from types import CodeType, FunctionType

ENGINE = "fltheory"


class CannotPlant(Exception):
    """The fault does not apply to the engine as it is."""


class Fault:
    """A wrong line of the engine: in `module` (without the package's name), `old` becomes `new`; `says` what goes wrong.

    old, new: the line without its indentation, or a part of a line that stands nowhere else; "" as new takes the line out.
    A claim lists faults among its `rejects`.
    """

    of = "engine"

    def __init__(self, name, module, old, new, says, origin="by hand"):
        self.__name__, self.__doc__ = name, says
        self.module, self.old, self.new, self.origin = module, old, new, origin

    @property
    def folder(self) -> str:
        """The engine's folder, or the module itself where it lies in none."""
        package = self.module.rpartition(".")[0]
        return self.module if package in ("", "core", "verdicts", "workbench") else package

    def __call__(self, instance):
        """The instance as it is: the fault is planted while it is decided (`planted`)."""
        return instance

    def planted(self):
        """Context in which the engine runs with this line."""
        return planted(self)

    def __repr__(self):
        return f"Fault({self.__name__!r}, {self.module!r})"


@contextlib.contextmanager
def planted(fault):
    """The engine with one wrong line. Raises CannotPlant where that line does not stand exactly once in a function."""
    swaps, constants = _changes(fault)
    names = vars(importlib.import_module(f"{ENGINE}.{fault.module}"))
    kept = [(function, function.__code__) for function, _ in swaps], {name: names[name] for name in constants}
    clear_caches()
    try:
        for function, code in swaps:
            function.__code__ = code
        names.update(constants)
        yield
    finally:
        for function, code in kept[0]:
            function.__code__ = code
        names.update(kept[1])
        clear_caches()


def replaced(source: str, fault) -> str:
    """The module's text with the line replaced, or with the part of a line that stands nowhere else."""
    lines = source.split("\n")
    at = [k for k, line in enumerate(lines) if line.strip() == fault.old]
    if not at and source.count(fault.old) == 1:
        return source.replace(fault.old, fault.new)
    if len(at) != 1:
        raise CannotPlant(f"{fault.__name__}: the line {fault.old!r} stands {len(at)} times in {fault.module}")
    line = lines[at[0]]
    lines[at[0]] = line[:len(line) - len(line.lstrip())] + (fault.new or "pass")
    return "\n".join(lines)


def _changes(fault):
    """([(live function, its wrong code)], {module constant: its wrong value})."""
    module = importlib.import_module(f"{ENGINE}.{fault.module}")
    path = Path(module.__file__)
    source = path.read_text(encoding="utf-8")
    wrong = replaced(source, fault)
    right, bent = (compile(text, str(path), "exec", dont_inherit=True) for text in (source, wrong))
    if fault.old.startswith(("import ", "from ")):
        raise CannotPlant(f"{fault.__name__}: an import has been executed already")
    swaps = []
    for (name, before), (_, after) in zip(_functions(right), _functions(bent), strict=True):
        if before != after:
            function = _live(module, before)
            if len(before.co_freevars) != len(after.co_freevars):
                raise CannotPlant(f"{fault.__name__}: {name} would close over other variables")
            swaps += [(function, after), *_closures(before, after)]
    constants = {} if swaps else _constant(module, fault)
    return swaps, constants


def _functions(code):
    """(qualified name, code) of the outermost functions of a module, those of classes included."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_flags & 0x2 or const.co_name.startswith("<"):  # CO_NEWLOCALS: a function, not a class body
                yield const.co_qualname, const
            else:
                yield from _functions(const)


def _live(module, code):
    """The function of a loaded module that runs `code`, looked up by its qualified name and unwrapped."""
    found = vars(module).get(code.co_qualname.split(".")[0])
    for part in code.co_qualname.split(".")[1:]:
        found = vars(found).get(part) if isinstance(found, type) else None
    for _ in range(10):
        if isinstance(found, FunctionType) and found.__code__ == code:
            return found
        found = next((v for v in (getattr(found, k, None) for k in ("__wrapped__", "fget", "func", "__func__"))
                      if v is not None), None)
    raise CannotPlant(f"{module.__name__}.{code.co_qualname} does not run the text of its file")


def _closures(before, after):
    """[(function, wrong code)] of functions made earlier by a function that changes (decorated ones, say)."""
    out = []
    for old, new in zip(before.co_consts, after.co_consts, strict=False):
        if isinstance(old, CodeType) and isinstance(new, CodeType) and old != new:
            out += [(f, new) for f in gc.get_objects() if type(f) is FunctionType and f.__code__ == old]
            out += _closures(old, new)
    return out


def _constant(module, fault):
    """{name: value} of a line `NAME = expression` outside functions."""
    name, equals, value = fault.new.partition(" = ")
    if not (equals and name.isidentifier() and fault.old.startswith(f"{name} = ") and name in vars(module)):
        raise CannotPlant(f"{fault.__name__}: the line belongs to no function and to no constant")
    return {name: eval(value.partition("  #")[0], dict(vars(module)))}


def clear_caches():
    """Forget what functions of the engine remember: it may come from another line."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == ENGINE:
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


__all__ = ["CannotPlant", "Fault", "clear_caches", "planted", "replaced"]
