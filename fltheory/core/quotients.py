"""Arithmetic behind rational functions: polynomials of flint where it is installed, sympy's fields elsewhere.

Both keep one canonical form per function, so that equality decides identity.
"""
from __future__ import annotations

import functools
import math
from fractions import Fraction

from fltheory.core.libraries import have


@functools.lru_cache(maxsize=256)
def functions(names: tuple):
    """The field of rational functions over the rationals in these symbols."""
    return OfFlint(names) if have("flint") else OfSympy(names)


class OfSympy:
    """sympy's `FracElement`s."""

    def __init__(self, names):
        import sympy
        self.names = names
        self.field = sympy.field(names, sympy.QQ)[0]
        self.generators = tuple(self.field.gens)

    def constant(self, f):
        return self.field.ground_new(self.field.domain(int(f.numerator), int(f.denominator)))

    def polynomial(self, terms):
        """terms: {powers: Fraction}."""
        domain = self.field.domain
        coefficients = {k: domain(int(v.numerator), int(v.denominator)) for k, v in terms.items()}
        return self.field(self.field.ring.from_dict(coefficients))

    def terms(self, element):
        """([(powers, Fraction)] of the numerator, the same of the denominator)."""
        return tuple([(powers, _fraction(c)) for powers, c in part.terms()] for part in (element.numer, element.denom))

    def shown(self, element) -> str:
        return str(element)


class OfFlint:
    """Quotients of flint's multivariate polynomials: numerator and denominator without common factor, the latter monic."""

    def __init__(self, names):
        import flint
        self.names, self.number = names, flint.fmpq
        plain = tuple(f"x{k}" for k in range(len(names)))  # flint's names are ASCII
        self.ring = flint.fmpq_mpoly_ctx.get(plain, "lex")
        self.one = self.ring.constant(1)
        self.generators = tuple(Quotient(self, g, self.one) for g in self.ring.gens())

    def constant(self, f):
        return Quotient(self, self.ring.constant(self.number(int(f.numerator), int(f.denominator))), self.one)

    def polynomial(self, terms):
        given = {k: self.number(int(v.numerator), int(v.denominator)) for k, v in terms.items()}
        return Quotient(self, self.ring.from_dict(given), self.one)

    def terms(self, element):
        return tuple([(tuple(map(int, powers)), _fraction(c)) for powers, c in part.terms()]
                     for part in (element.top, element.bottom))

    def shown(self, element) -> str:
        """As sympy writes it: integer coefficients without common factor, the denominator's leading one positive."""
        top, bottom = self.terms(element)
        values = [c for _, c in (*top, *bottom)]
        unit = Fraction(math.lcm(*(c.denominator for c in values)), math.gcd(*(int(c.numerator) for c in values)))
        unit = unit / math.gcd(*(int(c * unit) for c in values))
        field = functions_of_sympy(self.names).field
        parts = [field.ring.from_dict({k: field.domain(int(c * unit)) for k, c in part}) for part in (top, bottom)]
        return str(field.raw_new(*parts))

    def reduced(self, top, bottom):
        if bottom.is_zero():
            raise ZeroDivisionError("division by a rational function that is 0")
        if not bottom.is_constant():
            common = top.gcd(bottom)
            if not common.is_constant():
                top, bottom = top / common, bottom / common
        lead = bottom.leading_coefficient()
        if lead != 1:
            top, bottom = top / lead, bottom / lead
        return Quotient(self, top, bottom)


@functools.lru_cache(maxsize=256)
def functions_of_sympy(names):
    return OfSympy(names)


class Quotient:
    """top / bottom in canonical form."""

    __slots__ = ("bottom", "field", "top")

    def __init__(self, field, top, bottom):
        self.field, self.top, self.bottom = field, top, bottom

    def __add__(self, other):
        if self.bottom == other.bottom:
            return self.field.reduced(self.top + other.top, self.bottom)
        return self.field.reduced(self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom)

    def __sub__(self, other):
        if self.bottom == other.bottom:
            return self.field.reduced(self.top - other.top, self.bottom)
        return self.field.reduced(self.top * other.bottom - other.top * self.bottom, self.bottom * other.bottom)

    def __mul__(self, other):
        return self.field.reduced(self.top * other.top, self.bottom * other.bottom)

    def __truediv__(self, other):
        return self.field.reduced(self.top * other.bottom, self.bottom * other.top)

    def __neg__(self):
        return Quotient(self.field, -self.top, self.bottom)

    def __pow__(self, k):
        return Quotient(self.field, self.top**k, self.bottom**k)

    def __eq__(self, other):
        return self.top == other.top and self.bottom == other.bottom

    def __hash__(self):
        return hash(tuple(tuple(part) for part in self.field.terms(self)))


def _fraction(c) -> Fraction:
    return Fraction(int(c.numerator), int(c.denominator))
