"""Quantities of a worst case: a constant, inner products of abstract vectors, and function values, all with exact coefficients.

A vector is a row of exact coefficients over abstract leaves (unknown gradients, start points, noise). A `Form` is what a
semidefinite programme over the leaves' Gram matrix and the function values can maximise or bound.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import RATIONAL


def number(value):
    """An exact coefficient of any declared number; rationals of flint and symbols stay."""
    return value if type(value).__name__ == "fmpq" or isinstance(value, Symbolic) else RATIONAL.scalar(value)


@dataclass(frozen=True)
class Condition:
    """form <= 0 or, with `equal`, form = 0; or, with `matrix` (k, k) of forms, that matrix positive semidefinite."""

    form: Form | None = None
    equal: bool = False
    matrix: tuple | None = None

    def __bool__(self):
        refuse("condition", "a comparison of forms", "is part of a programme and neither true nor false",
               "Return it (or a list of conditions) from `initial`.")


class Form:
    """constant + sum c <u, v> + sum c (function value), with + and -, products and quotients by numbers, <=, >= and `equals`."""

    __slots__ = ("constant", "terms", "values")

    def __init__(self, terms=(), values=None, constant=0):
        self.terms, self.values, self.constant = tuple(terms), dict(values or {}), number(constant)

    def __add__(self, other):
        if not isinstance(other, Form):
            return Form(self.terms, self.values, self.constant + number(other))
        values = dict(self.values)
        for k, c in other.values.items():
            values[k] = values[k] + c if k in values else c
        return Form(self.terms + other.terms, values, self.constant + other.constant)

    def __mul__(self, factor):
        if isinstance(factor, Form):
            refuse("product", "of two forms", "is no form", "Multiply by numbers; dot(u, v) multiplies vectors.")
        k = number(factor)
        return Form([(k * c, u, v) for c, u, v in self.terms], {i: k * c for i, c in self.values.items()}, k * self.constant)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        return self + (other * -1 if isinstance(other, Form) else -number(other))

    def __rsub__(self, other):
        return self * -1 + other

    def __neg__(self):
        return self * -1

    def __truediv__(self, k):
        return self * (1 / number(k))

    def __le__(self, other):
        return Condition(self - other)

    def __ge__(self, other):
        return Condition((other - self) if isinstance(other, Form) else -self + other)

    def equals(self, other) -> Condition:
        """The condition that both are equal."""
        return Condition(self - other, equal=True)


def dot(u, v) -> Form:
    """<u, v> of two vectors."""
    return Form([(number(1), np.asarray(u), np.asarray(v))])


def square(u) -> Form:
    """|u|^2."""
    return dot(u, u)


def float_(value):
    return int(value.p) / int(value.q) if hasattr(value, "p") else float(value)


def floats(array):
    """Floats of an array of exact numbers."""
    array = np.asarray(array, dtype=object)
    return np.array([float_(v) for v in array.reshape(-1)], dtype=float).reshape(array.shape)
