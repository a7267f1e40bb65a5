"""How the records of a run are made and read.

The annotation of a field says what it holds. That is checked where a record is made; a line of JSON that lacks a field, has one
more, or holds something else was written by another version, and `of` refuses it.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from types import UnionType
from typing import ClassVar, dataclass_transform, get_args, get_origin, get_type_hints

from fltheory.core.errors import BadInput, shown

Name = str                       # of something that may be absent: null in JSON where it is empty
Range = list[float]              # null in JSON where there is none
Terms = dict[str, float | None]  # by name; null in JSON where there is none
Words = object                   # in words: whatever else stands in JSON is read as its text
Number = float | None            # NaN in JSON is read as null
Known = bool | None              # whether something holds, where that is known


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Record:
    """A record that JSON can hold; every subclass is a frozen dataclass."""

    type: ClassVar[str] = ""
    rare: ClassVar[tuple] = ()      # fields that are written only where they say something
    may_lack: ClassVar[tuple] = ()  # fields that somebody else's line need not have

    def __init_subclass__(cls):
        dataclass(frozen=True)(cls)

    @classmethod
    @functools.cache
    def kinds(cls) -> dict:
        """{field: (its annotation, what that means, the record that stands in it, alone or in a list, or None)}."""
        meaning = get_type_hints(cls)
        return {f.name: (f.type, meaning[f.name], _inside(meaning[f.name])) for f in fields(cls)}

    def __post_init__(self):
        for name, (annotation, kind, _) in self.kinds().items():
            value = getattr(self, name)
            if not _fits(kind, value):
                raise BadInput(f"field {name!r} of a {type(self).__name__} holds {shown(value)}, which is no {annotation}.")

    @classmethod
    def of(cls, raw):
        """The record of a line of JSON; a record as it is. Raises BadInput for a line of another form."""
        if isinstance(raw, cls):
            return raw
        if not isinstance(raw, dict) or raw.get("type", cls.type) != cls.type:
            raise BadInput(f"{shown(raw)} is no {cls.__name__}.")
        kinds, line = cls.kinds(), {name: value for name, value in raw.items() if name != "type"}
        for name in {**line, **kinds}:
            if name not in kinds or name not in (*line, *cls.rare, *cls.may_lack):
                raise BadInput(f"field {shown(name)} of a {cls.__name__} is {'unknown' if name in line else 'missing'}.")
        return cls(**{name: _read(*kinds[name], value) for name, value in line.items()})

    def to_json(self) -> dict:
        """What `of` takes back: texts, numbers, lists and dictionaries."""
        named = {"type": self.type} if self.type else {}
        return named | {f.name: _json(f.type, getattr(self, f.name)) for f in fields(self)
                        if f.name not in self.rare or getattr(self, f.name)}


def _fits(kind, value) -> bool:
    if type(value) is kind:
        return kind is not float or value == value
    inner = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_fits(k, value) for k in inner)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(inner[0], v) for v in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(_fits(inner[1], v) for v in value.values())
    if type(value) is int and kind is float:
        return value.bit_length() < 1024
    return isinstance(value, kind) and kind is not int


def _inside(kind):
    return next((k for k in (kind, *get_args(kind)) if isinstance(k, type) and issubclass(k, Record)), None)


def _read(annotation, kind, record, value):
    """A value of a line of JSON as its field holds it; what does not fit is left for the record to refuse."""
    if record and isinstance(value, (dict, list)):
        return record.of(value) if isinstance(value, dict) else [record.of(v) if isinstance(v, dict) else v for v in value]
    if annotation == "Words":
        return "" if value is None else str(value)
    if value is None and annotation in _EMPTY_IS_NULL:
        return (get_origin(kind) or kind)()
    if annotation == "Number":
        return _number(value)
    return {name: _number(v) for name, v in value.items()} if annotation == "Terms" and isinstance(value, dict) else value


def _number(value):
    return None if value != value else float(value) if type(value) is int and _fits(float, value) else value


_EMPTY_IS_NULL = ("Name", "Range", "Terms")


def _json(annotation, value):
    if isinstance(value, Record):
        return value.to_json()
    if annotation.startswith("list[") and value and isinstance(value[0], Record):
        return [v.to_json() for v in value]
    return None if annotation in _EMPTY_IS_NULL and not value else value
