"""Rational functions in named symbols, made to stand in numpy object arrays: quotients of polynomials.

The polynomials are flint's; where it is absent they are sympy's, so that whatever names symbols can still be read.
"""
from __future__ import annotations

import functools
import math
import numbers
from fractions import Fraction

import numpy as np

from fltheory.core.errors import Inexact, refuse
from fltheory.core.libraries import have


@functools.lru_cache(maxsize=256)
def functions(names: tuple) -> Functions:
    """The field of rational functions over the rationals in these symbols."""
    return Functions(names)


class Functions:
    """A field of rational functions: its polynomials, and the canonical form that lets equality decide identity."""

    def __init__(self, names):
        self.names = names
        plain = tuple(f"x{k}" for k in range(len(names)))  # flint's names are ASCII
        if have("flint"):
            import flint
            self.number, self.ring = flint.fmpq, flint.fmpq_mpoly_ctx.get(plain, "lex")
            self._plain, self._lead = flint.fmpq_mpoly.is_constant, flint.fmpq_mpoly.leading_coefficient
        else:
            import sympy
            self.number, self.ring = sympy.QQ, sympy.ring(plain, sympy.QQ)[0]
            self._plain, self._lead = lambda p: p.is_ground, lambda p: p.LC
        self.one = self.ring.from_dict({(0,) * len(names): self.number(1)})
        units = (tuple(int(j == k) for j in range(len(names))) for k in range(len(names)))
        self.generators = tuple(self.polynomial({powers: Fraction(1)}) for powers in units)

    def constant(self, f):
        return Symbolic(self, self.one * self.number(int(f.numerator), int(f.denominator)), self.one)

    def polynomial(self, terms):
        """terms: {powers: Fraction}, one power per symbol."""
        coefficients = {k: self.number(int(v.numerator), int(v.denominator)) for k, v in terms.items()}
        return Symbolic(self, self.ring.from_dict(coefficients), self.one)

    def reduced(self, top, bottom):
        """top / bottom without common factor, the denominator monic."""
        if not bottom:
            raise ZeroDivisionError("division by a rational function that is 0")
        if not self._plain(bottom):
            common = top.gcd(bottom)
            if not self._plain(common):
                top, bottom = top // common, bottom // common
        lead = self._lead(bottom)
        return Symbolic(self, top, bottom) if lead == 1 else Symbolic(self, top * (1 / lead), bottom * (1 / lead))


class Symbolic:
    """A rational function top / bottom in canonical form, which refuses floats.

    Equality decides identity: no simplification is ever needed.
    """

    __slots__ = ("bottom", "field", "top")

    def __init__(self, field, top, bottom):
        self.field, self.top, self.bottom = field, top, bottom

    def __reduce__(self):
        return _rebuilt, (self.names, *map(dict, self.terms()))

    @property
    def names(self) -> tuple:
        """The symbols of its field."""
        return self.field.names

    def terms(self) -> tuple:
        """([(powers, Fraction)] of the numerator, the same of the denominator), one power per symbol of the field."""
        return tuple([(tuple(map(int, powers)), Fraction(int(c.numerator), int(c.denominator))) for powers, c in part.terms()]
                     for part in (self.top, self.bottom))

    def _read(self, other):
        """The other number in this field; None for what is no number, such as an array."""
        if isinstance(other, Symbolic):
            if other.names != self.names:
                refuse("number", other, f"is a symbol of {other.names}, not of {self.names}", "Take all symbols from one Field.")
            return other
        if isinstance(other, (bool, float, np.floating)):
            remedy = ("Write 0 or 1" if isinstance(other, bool) else f"Write a Fraction, or ft.fraction('{other}')"
                      if np.isfinite(other) else "It is no number: remove it")
            raise Inexact(f"a symbolic number met {other!r}: exact rounds take integer literals only. {remedy}")
        if isinstance(other, (numbers.Rational, np.integer)) or type(other).__name__ == "fmpq":
            return self.field.constant(other)
        return None

    def __add__(self, other):
        v = self._read(other)
        if v is None:
            return NotImplemented
        if self.bottom == v.bottom:
            return self.field.reduced(self.top + v.top, self.bottom)
        return self.field.reduced(self.top * v.bottom + v.top * self.bottom, self.bottom * v.bottom)

    def __mul__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else self.field.reduced(self.top * v.top, self.bottom * v.bottom)

    def __truediv__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else self.field.reduced(self.top * v.bottom, self.bottom * v.top)

    def __rtruediv__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else v / self

    def __neg__(self):
        return Symbolic(self.field, -self.top, self.bottom)

    def __sub__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else self + -v

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, k):
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            refuse("exponent", k, "a power of a rational function has an integer exponent",
                   "Introduce a symbol for a power with another exponent.")
        return Symbolic(self.field, self.top**int(k), self.bottom**int(k)) if k >= 0 else 1 / self**-k

    def __eq__(self, other):
        v = self._read(other)
        return NotImplemented if v is None else self.top == v.top and self.bottom == v.bottom

    def __hash__(self):
        return hash(tuple(map(tuple, self.terms())))

    def __repr__(self):
        """As sympy writes it: integer coefficients without common factor, the denominator's leading one positive."""
        top, bottom = self.terms()
        values = [c for _, c in (*top, *bottom)]
        unit = Fraction(math.lcm(*(c.denominator for c in values)), math.gcd(*(c.numerator for c in values)))
        unit = unit / math.gcd(*(int(c * unit) for c in values))
        field = _sympy_field(self.names)
        return str(field.raw_new(*(field.ring.from_dict({k: field.domain(int(c * unit)) for k, c in part})
                                   for part in (top, bottom))))

    def substitute(self, **values):
        """Replace generators by rationals or other elements; exact. Raises ZeroDivisionError at a pole."""
        new = []
        for name, generator in zip(self.names, self.field.generators, strict=True):
            value = values.pop(name, None)
            new.append(generator if value is None else value)
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
            return {k: self.field.polynomial(v) for k, v in parts.items()}
        top, bottom = map(by_power, self.terms())
        zero = self.field.constant(0)
        if 0 not in bottom:
            refuse("series", str(self), f"has a pole at {symbol} = 0", "Divide the leading power out first.")
        out: list[Symbolic] = []
        for k in range(order + 1):
            value = top.get(k, zero)
            for j in range(1, k + 1):
                if j in bottom:
                    value = value - bottom[j] * out[k - j]
            out.append(value / bottom[0])
        return out


def _rebuilt(names, top, bottom):
    field = functions(names)
    return field.polynomial(top) / field.polynomial(bottom)


@functools.lru_cache(maxsize=256)
def _sympy_field(names):
    import sympy
    return sympy.field(names, sympy.QQ)[0]


def _evaluate(terms, point):
    total = Fraction(0)
    for powers, coefficient in terms:
        term = coefficient
        for value, k in zip(point, powers, strict=True):
            for _ in range(k):
                term = value * term
        total = term + total
    return total
