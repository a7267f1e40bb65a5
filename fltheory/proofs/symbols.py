"""The symbols of a proof and their signs: which expressions show that they are >= 0, by what may be divided, what is defined."""
from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from fltheory.core.errors import refuse
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import Field
from fltheory.proofs.vectors import products

Expression: TypeAlias = Symbolic | Fraction | int   # what a step states of the symbols


class Symbols:
    """Symbols declared positive, non-negative or signed, and inner products of free vectors."""

    def _declare(self):
        for what in ("positive", "nonnegative", "signed", "vectors"):
            if not isinstance(getattr(self, what), str):
                refuse(what, getattr(self, what), "names stand in one string", 'For example Proof("L eta", vectors="g").')
        self._vectors = self.vectors.split()
        squares = [f"{v}_{v}" for v in self._vectors]
        self._positive, self._signless = set(self.positive.split()), set(self.signed.split())
        self._signless |= set(products(self._vectors)) - set(squares)
        self.field = Field(" ".join([self.positive, self.nonnegative, self.signed, *products(self._vectors)]))
        self._symbols = dict(zip(self.field.names, self.field.symbols, strict=True))
        self._cleared, self._defined = [], {}   # expressions shown to be positive; {symbol: those that define it}

    def _read(self, value):
        return value if isinstance(value, Symbolic) else self.field.scalar(value)

    def sign(self, expression: Expression, strict: bool = False) -> bool:
        """Whether an expression shows that it is >= 0: coefficients >= 0, signless symbols in even powers, and below the fraction
        line positive symbols alone. strict: that it is > 0, by a term in positive symbols alone."""
        top, bottom = self._read(expression).terms()
        signs = self._below(bottom)
        if not signs:
            return False
        odd = [n for powers, _ in top for n, k in zip(self.field.names, powers, strict=True) if k % 2 and n in self._signless]
        agree = not odd and all((c > 0) is (True in signs) for _, c in top)
        return agree and (not strict or any(set(self._at(powers)) <= self._positive for powers, _ in top))

    def _below(self, bottom) -> set:
        """{whether a denominator is positive}, of factors that were shown to be positive, positive symbols and coefficients of one
        sign alone; else empty."""
        if self._cleared:
            rest = sum((self._monomial(powers, c) for powers, c in bottom), self.field.scalar(0))
            for factor in self._cleared:
                while len((quotient := rest / factor).terms()[1]) == 1 and not self._at(quotient.terms()[1][0][0]):
                    rest = quotient
            bottom = rest.terms()[0]
        signs = {c > 0 for _, c in bottom}
        named = {n for powers, _ in bottom for n in self._at(powers)}
        return signs if len(signs) == 1 and named <= self._positive else set()

    def _at(self, powers, repeated=False):
        return [n for n, k in zip(self.field.names, powers, strict=True) for _ in range(k if repeated else bool(k))]

    def _used(self, expression) -> set:
        return {n for part in expression.terms() for powers, _ in part for n in self._at(powers)}

    def _target(self, expression):
        """The symbol that an equation defines, new ones first: linear, with a factor that is not 0; "" if there is none."""
        top, used = expression.terms()[0], self._used(expression)
        familiar = set().union(*(self._used(f.expression) for f in self.facts.values()))
        alone = {n for powers, _ in top for n in self._at(powers) if sum(powers) == 1}
        for n in sorted(used, key=lambda n: (n in familiar, n not in alone, n in self._positive, n)):
            at = self.field.names.index(n)
            factor = self.field.scalar(0)
            for powers, c in top:
                if powers[at]:
                    factor = factor + self._monomial(powers, c, n)
            linear = all(powers[at] <= 1 for powers, _ in top)
            if n in self._defined or not linear or not (self.sign(factor, strict=True) or self.sign(-factor, strict=True)):
                continue
            reached, waiting = set(), list(used - {n})
            while waiting:
                m = waiting.pop()
                if m not in reached:
                    reached.add(m)
                    waiting += self._defined.get(m, ())
            if n not in reached:
                self._defined[n] = tuple(used - {n})
                return n
        return ""

    def _monomial(self, powers, c, less=None):
        """A term, divided by the symbol `less`."""
        term = self.field.scalar(c)
        for name, power in zip(self.field.names, powers, strict=True):
            term = term * self._symbols[name] ** (power - (name == less))
        return term

    def _clear(self, positive):
        """Remember the numerator of an expression that is positive."""
        top = positive * sum((self._monomial(powers, c) for powers, c in positive.terms()[1]), self.field.scalar(0))
        if self._below(positive.terms()[1]) == {True} and self._used(top) and top not in self._cleared:
            self._cleared.append(top)
