"""Number types for numpy object arrays: residues modulo a prime, and rational functions in named symbols."""
from __future__ import annotations

import numbers
from fractions import Fraction

import numpy as np

from fltheory.errors import Inexact, refuse


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
    """An element of a field of rational functions.

    Wraps sympy's `FracElement`, whose operators choke on arrays and silently accept floats.
    Equality decides identity: no simplification is ever needed.
    """

    __slots__ = ("element",)

    def __init__(self, element):
        self.element = element

    def _read(self, other):
        if isinstance(other, Symbolic):
            return other.element
        if isinstance(other, (bool, float, np.floating)):
            raise Inexact(f"a symbolic number met {other!r}: exact rounds take integer literals only")
        if isinstance(other, numbers.Rational):
            ground = self.element.field.domain
            return self.element.field.ground_new(ground(int(other.numerator), int(other.denominator)))
        if isinstance(other, np.integer):
            return self.element.field(int(other))
        return None

    def _with(self, other, op):
        v = self._read(other)
        return NotImplemented if v is None else Symbolic(op(self.element, v))

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
        return Symbolic(-self.element)

    def __pow__(self, k):
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            refuse("exponent", k, "a power of a rational function has an integer exponent",
                   "Introduce a symbol for a power with another exponent.")
        return Symbolic(self.element**int(k))

    def __eq__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else self.element == v

    def __hash__(self):
        return hash(self.element)

    def __repr__(self):
        return str(self.element)

    def substitute(self, **values):
        """Replace generators by rationals or other elements; exact. Raises ZeroDivisionError at a pole."""
        field = self.element.field
        new = []
        for symbol, generator in zip(field.symbols, field.gens, strict=True):
            given = values.pop(str(symbol), None)
            new.append(Symbolic(generator) if given is None else given)
        if values:
            refuse("substitute", sorted(values), f"the field has the symbols {field.symbols}", "Name one of them.")
        return _evaluate(self.element.numer, new) / _evaluate(self.element.denom, new)


    def series(self, symbol: str, order: int) -> list[Symbolic]:
        """Taylor coefficients of degree 0..order in one symbol at 0; raises BadInput at a pole."""
        field = self.element.field
        at = [str(s) for s in field.symbols].index(symbol)

        def by_power(polynomial):
            parts = {}
            for powers, coefficient in polynomial.terms():
                rest = tuple(0 if k == at else v for k, v in enumerate(powers))
                parts.setdefault(powers[at], {})[rest] = coefficient
            return {k: Symbolic(field(field.ring.from_dict(v))) for k, v in parts.items()}
        top, bottom = by_power(self.element.numer), by_power(self.element.denom)
        zero = Symbolic(field.zero)
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


def _evaluate(polynomial, point):
    total = 0
    for powers, coefficient in polynomial.terms():
        term = Fraction(int(coefficient.numerator), int(coefficient.denominator))
        for value, k in zip(point, powers, strict=True):
            for _ in range(k):
                term = value * term
        total = term + total
    return total
