"""Records whose fields say what they accept: beside a field stands its reader, which checks and converts what is given.

    server_lr: Number = declared(positive, 1)
    averaging: str = declared(one_of("weighted", "plain"), "weighted")

A reader takes (value, name of the field) and returns what the record keeps, or refuses. The annotation says what `convert`
does with a field: `Number` and its units are one number (or one per client), `Numbers` an array.
"""
from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from fractions import Fraction

from fltheory.core.errors import check_flag, refuse
from fltheory.core.kinds import Open
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import FLOAT, SEVERAL, SINGLE, Number, declare, fraction, is_count

EVALUATED = (Number, tuple[Number, ...])
WRITTEN = dict(zip(EVALUATED, ("Number", "tuple[Number, ...]"), strict=True))


def declared(read, default=MISSING, needed=None):
    """A field of a `Record` that is read by `read`. A default of None stands for nothing given, and stays; but where it
    only follows from the order of the fields, `needed` is the rule and the remedy with which it is refused."""
    def reader(value, what):
        if value is not None or default is not None:
            return read(value, what)
        return refuse(what, None, *needed) if needed else None
    return field(default=default, metadata={"read": reader})


@dataclass(frozen=True)
class Record(Open):
    """Base of frozen records; made, every declared field has been read. What several fields say together is checked by
    a `__post_init__` that calls this one first."""

    def __init_subclass__(cls, **options):
        """Annotations mean the same in a module that does not postpone their evaluation."""
        super().__init_subclass__(**options)
        kinds = inspect.get_annotations(cls)
        if any(kind in EVALUATED for kind in kinds.values()):
            cls.__annotations__ = {name: WRITTEN.get(kind, kind) if kind in EVALUATED else kind for name, kind in kinds.items()}

    def __post_init__(self):
        for f in fields(self):
            if "read" in f.metadata:
                object.__setattr__(self, f.name, f.metadata["read"](getattr(self, f.name), f.name))

    def give(self, **values):
        """For an `__init__` with an order of arguments of its own: these fields, then read."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.__post_init__()


def unread(record, **changes):
    """A copy of a record with some fields as they are given."""
    new = object.__new__(type(record))
    for f in fields(record):
        object.__setattr__(new, f.name, changes.get(f.name, getattr(record, f.name)))
    return new


def convert(record, domain):
    """A copy of a record, and of the records in it, with its numbers in one arithmetic."""
    changes = {}
    for f in fields(record):
        value = getattr(record, f.name)
        if is_dataclass(value):
            changes[f.name] = convert(value, domain)
        elif value is None or f.type not in SINGLE + SEVERAL:
            continue
        elif f.type in SEVERAL or isinstance(value, tuple) or getattr(value, "ndim", 0):  # one per client
            changes[f.name] = domain.array(declare(value, f.name))
        else:
            changes[f.name] = domain.scalar(value)
            if domain is FLOAT and changes[f.name] == 0 and not is_torch(value) and fraction(value) != 0:
                refuse(f.name, value, "is 0 in float64", "Rescale the problem, or work exactly (domain=ft.RATIONAL).")
    return unread(record, **changes)


# ---- readers ---------------------------------------------------------------------------------------------
def within(low, high=None, ends="[]", remedy="Give a number there."):
    """A declared number from low to high, which count as `ends` says; high None: without bound. Symbols pass (their sign is
    the claim's hypothesis), but not the constant that is just outside."""
    rule = (f"must lie in {ends[0]}{low}, {high}{ends[1]}" if high is not None else
            "must be positive" if (low, ends[0]) == (0, "(") else f"must be >{'=' * (ends[0] == '[')} {low}")

    def read(value, what):
        if isinstance(value, Symbolic):
            if ends[0] == "(" and value == low:
                refuse(what, value, "must not vanish identically" if low == 0 else rule, "Give a symbol, or a number there.")
            return value
        v = None if value is None else fraction(value, what)
        if v is None or v < low or (v == low and ends[0] == "(") or (
                high is not None and (v > high or (v == high and ends[1] == ")"))):
            refuse(what, str(value) if type(value) is Fraction else value, rule, remedy)
        declare(value, what)  # not too long
        return value
    return read


positive = within(0, ends="()", remedy="Give a number > 0.")


def per_client(read, rule="one number per client, in a flat list", remedy="Give n numbers."):
    """A flat list with one entry per client, or of what `rule` says, as a tuple."""
    def several(values, what):
        array = declare(values, what)
        if array.ndim != 1 or not array.size:
            refuse(what, array.shape, rule, remedy)
        return tuple(read(v, what) for v in array.tolist())
    return several


def one_or_each(read):
    """One entry for all clients, or a flat list with one per client."""
    each = per_client(read)
    return lambda value, what: (each if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) else read)(value, what)


def count(least=1, most=None, rule=None, remedy=None):
    """An int from `least` to `most`."""
    def read(value, what):
        if not is_count(value, least) or (most is not None and value > most):
            refuse(what, value, rule or f"is an int >= {least}" + (f" and <= {most}" if most else ""),
                   remedy or f"Give an int >= {least}.")
        return int(value)
    return read


def is_one_of(value, choices) -> bool:
    """Whether a value is one of some words; an array is none, and comparing one would raise."""
    return isinstance(value, str) and value in choices


def one_of(*words, rule=None, remedy="Choose one of them."):
    """One of some words."""
    def read(value, what):
        if not is_one_of(value, words):
            refuse(what, value, rule or f"is one of {', '.join(words)}", remedy)
        return value
    return read


def flag(value, what):
    """True or False."""
    check_flag(value, what)
    return value
