"""How the records of a run are made and read.

The annotation of a field says what it holds. That is checked where a record is made; a line of JSON that lacks a field, has one
more, or holds something else was written by another version, and `of` refuses it.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import ClassVar

from fltheory.core.errors import BadInput, shown

# Annotations that say what a field holds.
Name = str              # of something that may be absent: null in JSON where it is empty
Words = object          # in words: whatever else stands there is read as its text
Number = float | None   # NaN is read as null
Known = bool | None     # whether something holds, where that is known
Count = int
Range = list            # of numbers; null where there is none
Terms = dict            # {name: float}; null where there is none
Lists = dict            # {name: list}

_EMPTY = {"Name": str, "Words": str, "Range": list, "Terms": dict}  # what null stands for
_RECORDS: dict = {}  # by their names


def _is_number(v) -> bool:
    return v is None or (isinstance(v, float) and v == v) or (type(v) is int and v.bit_length() < 1024)


def _a(*types):
    return lambda v: isinstance(v, types)


_KINDS = {  # in words, and whether a value is one
    "str": ("a text", _a(str)),
    "Name": ("a text", _a(str)),
    "Words": ("anything", _a(object)),
    "object": ("anything", _a(object)),
    "bool": ("true or false", _a(bool)),
    "Known": ("true, false or null", _a(bool, type(None))),
    "Count": ("a whole number", lambda v: type(v) is int),
    "Number": ("a number or null", _is_number),
    "list": ("a list of texts", lambda v: isinstance(v, list) and all(map(_a(str), v))),
    "dict": ("a dictionary", _a(dict)),
    "Range": ("a list of numbers", lambda v: isinstance(v, list) and all(map(_is_number, v))),
    "Terms": ("a dictionary of numbers", lambda v: isinstance(v, dict) and all(map(_is_number, v.values()))),
    "Lists": ("a dictionary of lists", lambda v: isinstance(v, dict) and all(isinstance(listed, list) for listed in v.values())),
}


@functools.cache
def kind_of(annotation) -> tuple:
    """(what a field with this annotation holds in words, whether a value is that, the record inside or None)."""
    if annotation in _KINDS:
        return *_KINDS[annotation], None
    many = annotation.startswith("list[")
    inner = _RECORDS[annotation[5:-1] if many else annotation.removesuffix(" | None")]
    if many:
        return f"a list of {inner.__name__}", lambda v: isinstance(v, (list, tuple)) and all(map(_a(inner), v)), inner
    return f"a {inner.__name__} or null", _a(inner, type(None)), inner


@dataclass(frozen=True)
class Record:
    """A record that JSON can hold."""

    type: ClassVar[str] = ""
    rare: ClassVar[tuple] = ()      # fields that are written only where they say something
    may_lack: ClassVar[tuple] = ()  # fields that somebody else's line need not have

    def __init_subclass__(cls):
        _RECORDS[cls.__name__] = cls

    def __post_init__(self):
        for f in fields(self):
            words, fits, _ = kind_of(f.type)
            if not fits(getattr(self, f.name)):
                self._refuse(f.name, f"holds {shown(getattr(self, f.name))}, not {words}")

    @classmethod
    def _refuse(cls, name, why):
        raise BadInput(f"field {name!r} of a {cls.type or cls.__name__} {why}.")

    @classmethod
    def of(cls, raw):
        """The record of a line of JSON; a record as it is. Raises BadInput for a line of another form."""
        if isinstance(raw, cls):
            return raw
        if not isinstance(raw, dict) or raw.get("type", cls.type) != cls.type:
            raise BadInput(f"{shown(raw)} is no {cls.type or cls.__name__}.")
        kinds = {f.name: f.type for f in fields(cls)}
        for name in raw:
            if name not in kinds and (name != "type" or not cls.type):
                cls._refuse(name, "is unknown")
        for name in kinds:
            if name not in raw and name not in (*cls.rare, *cls.may_lack):
                cls._refuse(name, "is missing")
        return cls(**{name: _read(kinds[name], value) for name, value in raw.items() if name != "type"})

    def to_json(self) -> dict:
        """What `of` takes back: texts, numbers, lists and dictionaries."""
        named = {"type": self.type} if self.type else {}
        return named | {f.name: _json(f.type, getattr(self, f.name)) for f in fields(self)
                        if f.name not in self.rare or getattr(self, f.name)}


def _read(annotation, value):
    """A value of a line of JSON as its field holds it; what does not fit is left for the record to refuse."""
    inner = kind_of(annotation)[-1]
    if value is None:
        return _EMPTY[annotation]() if annotation in _EMPTY else None
    if inner is not None and isinstance(value, dict):
        return inner.of(value)
    if inner is not None and isinstance(value, list):
        return [inner.of(v) if isinstance(v, dict) else v for v in value]
    if annotation == "Words":
        return str(value)
    if annotation == "Number":
        return _number(value)
    return {name: _number(v) for name, v in value.items()} if annotation == "Terms" and isinstance(value, dict) else value


def _number(value):
    return None if value != value else float(value) if type(value) is int and _is_number(value) else value


def _json(annotation, value):
    if isinstance(value, Record):
        return value.to_json()
    if annotation.startswith("list["):
        return [v.to_json() for v in value]
    return None if annotation in ("Name", "Range", "Terms") and not value else value


__all__ = ["Count", "Known", "Lists", "Name", "Number", "Range", "Record", "Terms", "Words", "kind_of"]
