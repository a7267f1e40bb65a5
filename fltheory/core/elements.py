"""Number types for numpy object arrays: residues modulo a prime, and rational functions in named symbols."""
from __future__ import annotations

import numbers
from fractions import Fraction

import numpy as np

from fltheory.core.errors import Inexact, refuse
from fltheory.core.quotients import functions


class Residue:
    """An integer modulo a prime, with the operators a round uses."""

    __slots__ = ("prime", "value")

    def __init__(self, value: int, prime: int):
        self.value, self.prime = value % prime, prime

    def _read(self, other):
        if isinstance(other, Residue):
            return other.value
        if isinstance(other, (int, np.integer)) and not isinstance(other, bool):
            return int(other)
        if isinstance(other, (float, np.floating)):
            raise Inexact(f"a residue met the float {other!r}: exact rounds take integer literals only")
        return None

    def __add__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else Residue(self.value + v, self.prime)

    def __sub__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else Residue(self.value - v, self.prime)

    def __rsub__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else Residue(v - self.value, self.prime)

    def __mul__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else Residue(self.value * v, self.prime)

    def __truediv__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else Residue(self.value * pow(v, -1, self.prime), self.prime)

    def __rtruediv__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else Residue(v * pow(self.value, -1, self.prime), self.prime)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Residue(-self.value, self.prime)

    def __eq__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else (self.value - v) % self.prime == 0

    def __hash__(self):
        return hash((self.value, self.prime))

    def __repr__(self):
        return f"{self.value} mod {self.prime}"


class Symbolic:
    """An element of a field of rational functions (`quotients`), made to stand in numpy arrays and to refuse floats.

    Equality decides identity: no simplification is ever needed.
    """

    __slots__ = ("element", "functions")

    def __init__(self, element, functions):
        self.element, self.functions = element, functions

    def __reduce__(self):
        return _rebuilt, (self.names, *map(dict, self.terms()))

    @property
    def names(self) -> tuple:
        """The symbols of its field."""
        return self.functions.names

    def terms(self):
        """([(powers, Fraction)] of the numerator, the same of the denominator), one power per symbol of the field."""
        return self.functions.terms(self.element)

    def _read(self, other):
        if isinstance(other, Symbolic):
            if other.names != self.names:
                refuse("number", other, f"is a symbol of {other.names}, not of {self.names}", "Take all symbols from one Field.")
            return other.element
        if isinstance(other, (bool, float, np.floating)):
            raise Inexact(f"a symbolic number met {other!r}: exact rounds take integer literals only")
        if isinstance(other, (numbers.Rational, np.integer)):
            return self.functions.constant(Fraction(int(other.numerator), int(other.denominator)))
        if type(other).__name__ == "fmpq":
            return self.functions.constant(Fraction(int(other.p), int(other.q)))
        return None

    def _with(self, other, op):
        v = self._read(other)
        return NotImplemented if v is None else Symbolic(op(self.element, v), self.functions)

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other):
        return self._with(other, lambda a, b: b / a)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Symbolic(-self.element, self.functions)

    def __pow__(self, k):
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            refuse("exponent", k, "a power of a rational function has an integer exponent",
                   "Introduce a symbol for a power with another exponent.")
        if k == 0:
            return Symbolic(self.functions.constant(1), self.functions)
        return Symbolic(self.element**int(k), self.functions) if k > 0 else 1 / self**-k  # sympy's (-1)**-1 is not -1

    def __eq__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else self.element == v

    def __hash__(self):
        return hash(self.element)

    def __repr__(self):
        return self.functions.shown(self.element)

    def substitute(self, **values):
        """Replace generators by rationals or other elements; exact. Raises ZeroDivisionError at a pole."""
        new = []
        for name, generator in zip(self.names, self.functions.generators, strict=True):
            given = values.pop(name, None)
            new.append(Symbolic(generator, self.functions) if given is None else given)
        if values:
            refuse("substitute", sorted(values), f"the field has the symbols {self.names}", "Name one of them.")
        top, bottom = (_evaluate(part, new) for part in self.terms())
        return top / bottom

    def series(self, symbol: str, order: int) -> list[Symbolic]:
        """Taylor coefficients of degree 0..order in one symbol at 0; raises BadInput at a pole."""
        at = self.names.index(symbol)

        def by_power(terms):
            parts = {}
            for powers, coefficient in terms:
                rest = tuple(0 if k == at else v for k, v in enumerate(powers))
                parts.setdefault(powers[at], {})[rest] = coefficient
            return {k: Symbolic(self.functions.polynomial(v), self.functions) for k, v in parts.items()}
        top, bottom = map(by_power, self.terms())
        zero = Symbolic(self.functions.constant(0), self.functions)
        if 0 not in bottom:
            refuse("series", str(self), f"has a pole at {symbol} = 0", "Divide the leading power out first.")
        out = []
        for k in range(order + 1):
            value = top.get(k, zero)
            for j in range(1, k + 1):
                if j in bottom:
                    value = value - bottom[j] * out[k - j]
            out.append(value / bottom[0])
        return out


def _rebuilt(names, top, bottom):
    field = functions(names)
    return Symbolic(field.polynomial(top) / field.polynomial(bottom), field)


def _evaluate(terms, point):
    total = Fraction(0)
    for powers, coefficient in terms:
        term = coefficient
        for value, k in zip(point, powers, strict=True):
            for _ in range(k):
                term = value * term
        total = term + total
    return total
