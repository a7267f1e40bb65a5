"""Typed records of lines of JSON: a field is read by its annotation, and what is missing, null or of another kind is empty."""
from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import ClassVar

# Annotations that say how a field is read.
Name = str              # of something that may be absent: null in JSON where it is empty
Number = float | None
Known = bool | None     # whether something holds, where that is known
Count = int
Range = list            # of numbers; null where there is none
Terms = dict            # {name: float}; null where there is none
Lists = dict            # {name: list}


def as_float(value):
    """The value as a float when it is one (or reads as one), else None; NaN counts as none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _text(value) -> str:
    return "" if value is None else str(value)


def _list(value) -> list:
    return list(value) if isinstance(value, (list, tuple)) else []


def _dict(value) -> dict:
    return value if isinstance(value, dict) else {}


def _range(value) -> list:
    """Numbers of a list; one number alone counts as a list."""
    numbers = map(as_float, value if isinstance(value, (list, tuple)) else [value])
    return [v for v in numbers if v is not None]


_READ = {
    "str": _text, "Name": _text, "object": lambda v: v, "bool": lambda v: v is True, "list": _list, "dict": _dict, "Range": _range,
    "Known": lambda v: v if isinstance(v, bool) else None,
    "Number": as_float,
    "Count": lambda v: v if type(v) is int else 0,
    "Lists": lambda v: {name: _list(listed) for name, listed in _dict(v).items()},
    "Terms": lambda v: {str(name): as_float(term) for name, term in _dict(v).items()},
}
_EMPTY_IS_NULL = ("Name", "Range", "Terms")
_KINDS: dict = {}  # records that stand inside others, by their names


@dataclass
class Record:
    """A record that JSON can hold: fields are read by their annotations, those of records inside it too."""

    type: ClassVar[str] = ""
    rare: ClassVar[tuple] = ()  # fields that are written only where they say something

    def __init_subclass__(cls):
        _KINDS[cls.__name__] = cls

    @classmethod
    def of(cls, raw):
        """The record of a line of JSON; a record as it is."""
        if isinstance(raw, cls):
            return raw
        raw = _dict(raw)
        return cls(**{f.name: _read(f.type, raw[f.name]) for f in fields(cls) if f.name in raw})

    def to_json(self) -> dict:
        """What `of` takes back: texts, numbers, lists and dictionaries."""
        named = {"type": self.type} if self.type else {}
        return named | {f.name: _json(f.type, getattr(self, f.name)) for f in fields(self)
                        if f.name not in self.rare or getattr(self, f.name)}


def _read(kind, value):
    if kind in _READ:
        return _READ[kind](value)
    if kind.startswith("list["):
        inner = _KINDS[kind[5:-1]]
        return [inner.of(v) for v in _list(value) if isinstance(v, (dict, inner))]
    inner = _KINDS[kind.removesuffix(" | None")]
    return inner.of(value) if isinstance(value, (dict, inner)) else None


def _json(kind, value):
    if isinstance(value, Record):
        return value.to_json()
    if kind.startswith("list["):
        return [v.to_json() for v in value]
    return None if kind in _EMPTY_IS_NULL and not value else value


__all__ = ["Count", "Known", "Lists", "Name", "Number", "Range", "Record", "Terms", "as_float"]
