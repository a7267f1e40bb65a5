"""Makers of mutants: an algorithm with one method replaced, one option chosen otherwise, or as a wrong sub-class."""
from __future__ import annotations

from dataclasses import fields, replace
from functools import cache, partial, wraps

from fltheory.core.algorithms.base import Algorithm


@cache
def _sub_class(kind, change, part, more):
    def method(self, *arguments):
        return change(self, partial(getattr(kind, part), self), *arguments)
    return type(change.__name__, (kind,), {part: method, **dict(more)})


def alike(kind, record):
    """The record as another class with the same fields; nothing is checked again."""
    copy = object.__new__(kind)
    for f in fields(record):
        object.__setattr__(copy, f.name, getattr(record, f.name))
    return copy


def altered(record, change, part, **more):
    """The record with the method `part` replaced by change(self, right, ...), `right` being the method as it was.

    more: further attributes of the sub-class made for it. The same change of equal records makes equal records.
    """
    return alike(_sub_class(type(record), change, part, tuple(more.items())), record)


def changed(kinds, part, when=None, says=None, whole=None, **more):
    """Decorator: a function change(self, right, ...) as the mutant of algorithms, or of their solvers, of exactly `kinds`.

    when: record -> whether the change is one; says: what it does, as a clause, where the docstring is not all; whole: the
    sub-class, with the same fields, that has the method where the kind itself does not. more: as in `altered`; `of`, among
    them, names the field of an instance that the mutant is swapped into. The mutant's attributes `change` and `more` are what
    it was made of.
    """
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    of = more.pop("of", "algorithm")

    def mutant_of(change):
        @wraps(change)
        def mutant(algorithm: Algorithm):
            record = algorithm if issubclass(kinds[0], Algorithm) else getattr(algorithm, "solver", None)
            if type(record) not in kinds or (when is not None and not when(record)):
                return None
            wrong = altered(record if whole is None else alike(whole, record), change, part, **more)
            return wrong if record is algorithm else replace(algorithm, solver=wrong)  # type: ignore[call-arg]
        mutant.of, mutant.change, mutant.more = of, change, more
        return mutant if says is None else _named(mutant, change.__name__, says)
    return mutant_of


def _named(mutant, name, says):
    mutant.__name__ = mutant.__qualname__ = name
    mutant.__doc__ = says[0].upper() * says[1:2].isalpha() + says[says[1:2].isalpha():] + "."
    return mutant


def variant(kind, base, name, says, when=None, **parts):
    """The mutant that makes a `base` the wrong `kind`, its sub-class with further fields, where `when` allows.

    says: what it does, as a clause.
    """
    def mutant(algorithm: Algorithm):
        if type(algorithm) is not base or (when is not None and not when(algorithm)):
            return None
        return kind(**{f.name: getattr(algorithm, f.name) for f in fields(algorithm)}, **parts)
    return _named(mutant, name, says)


def variants(kind, base, rows):
    """{name: mutant} of rows {name: (clause, when, further fields)}, see `variant`."""
    return {name: variant(kind, base, name, says, when, **parts) for name, (says, when, parts) in rows.items()}


def option(field, value, name, says, kind=None):
    """The mutant that sets a declared field to another of its values, of exactly one kind of algorithm if one is given."""
    def mutant(algorithm: Algorithm):
        fits = kind is None or type(algorithm) is kind
        return replace(algorithm, **{field: value}) if fits and getattr(algorithm, field, value) != value else None
    return _named(mutant, name, says)


def clause(mutant) -> str:
    """What a mutant does, from its docstring: without capital and full stop."""
    says = " ".join(mutant.__doc__.split()).removesuffix(".")
    return says[0].lower() * says[1:2].islower() + says[says[1:2].islower():]
