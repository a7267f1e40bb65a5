"""Real algebraic numbers: exact roots of polynomials over the rationals, ordered and calculated with exactly.

A number is its minimal polynomial (irreducible, coprime integer coefficients) and an interval of rationals that holds one of
its roots. Two numbers are equal if and only if they share both, so that equality is decided and never a matter of digits; sums
and products are eigenvalues of Kronecker sums and products of companion matrices. H. Cohen, A Course in Computational Algebraic
Number Theory, section 4.2.
"""
from __future__ import annotations

import decimal
import math
import numbers
from fractions import Fraction

import numpy as np

from fltheory.core.errors import Inexact, TooLarge, refuse
from fltheory.core.libraries import need
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg.entries import as_fraction, flint_name
from fltheory.core.numbers.linalg.polynomials import (between, companion, kronecker_product, kronecker_sum, of_matrix,
                                                      polynomial, primitive, product, sign, value_at, written)

LARGEST = 150   # degree of a polynomial that is factored to find a minimal one
READABLE = 100   # characters up to which a number is written with its polynomial
NOT_ORDERED = (Symbolic, str, bytes, type(None), bool, np.bool_, float, np.floating, complex, list, tuple, dict, set)


class Algebraic:
    """A real algebraic number. Made by `root`, by `op.exact_rate()` or by `ft.supremum`.

    Compares exactly with ints, Fractions, floats (at their dyadic values) and other such numbers; +, -, *, / and integer powers
    are exact and refuse floats (Inexact) and degrees beyond 150 (TooLarge). polynomial: integer coefficients of the minimal
    polynomial, constant first; attained: for a rate, the `Eigenvalue`s of this modulus.
    """

    __slots__ = ("_high", "_low", "attained", "polynomial")

    def __init__(self, polynomial: list | tuple, low: Fraction, high: Fraction, attained: list | tuple = ()):
        self.polynomial, self._low, self._high, self.attained = tuple(polynomial), low, high, tuple(attained)

    def __reduce__(self):
        return Algebraic, (self.polynomial, self._low, self._high, self.attained)

    # ---- what it is ------------------------------------------------------------------------------------
    @property
    def degree(self) -> int:
        """1 for a rational number."""
        return len(self.polynomial) - 1

    @property
    def rational(self) -> Fraction | None:
        """The number as a Fraction, None if it is irrational."""
        return self._low if self.degree == 1 else None

    def enclosure(self, width: Fraction | float) -> tuple[Fraction, Fraction]:
        """(low, high) around the number, at most `width` > 0 apart, as Fractions."""
        if not as_fraction(width) > 0:
            refuse("width", width, "an enclosure has a positive width", "For example Fraction(1, 10**20).")
        while self._high - self._low > width:
            self._halve()
        return self._low, self._high

    def _halve(self):
        """Half of the interval: an irreducible polynomial of degree 2 or more has no rational root, and changes its sign once."""
        middle = (self._low + self._high) / 2
        if sign(self.polynomial, middle) == sign(self.polynomial, self._low):
            self._low = middle
        else:
            self._high = middle

    def _relative(self, bits):
        """An interval without 0, of that relative width; the number is not 0."""
        while self._low <= 0 <= self._high or (self._high - self._low) * 2**bits > min(abs(self._low), abs(self._high)):
            self._halve()
        return self._low, self._high

    def __float__(self):
        low, high = (self._low, self._high) if self.degree == 1 else self._relative(60)
        return float((low + high) / 2)

    def __bool__(self):
        return self.rational != 0

    def __repr__(self):
        """Exact where that is short; else 12 digits, the degree, and rationals on either side in decimals."""
        text = ""
        if sum(c.bit_length() for c in self.polynomial) <= 4 * READABLE:   # Python writes no integers of thousands of digits
            text = str(self._low) if self.degree == 1 else _surd(self) if self.degree == 2 else (
                f"{float(self):.12g} (root of {written(self.polynomial)})")
        if 0 < len(text) <= READABLE:
            return text
        low, high = (self._low, self._high) if self.degree == 1 else self._relative(60)
        ends = f"[{decimals(low, 15, decimal.ROUND_FLOOR)}, {decimals(high, 15, decimal.ROUND_CEILING)}]"
        return f"{decimals((low + high) / 2)} (degree {self.degree}, in {ends}; coefficients in .polynomial)"

    # ---- order -----------------------------------------------------------------------------------------
    def _against(self, other):
        """-1, 0 or 1 as the number is below, equal to or above another; None for what is no exact number."""
        other = _read(other)
        if other is None:
            return None
        if isinstance(other, float):
            return -1 if other > 0 else 1   # of infinities
        if other.polynomial == self.polynomial and self._same(other):
            return 0
        while not (self._high < other._low or other._high < self._low):
            wider = max((self, other), key=lambda v: v._high - v._low)
            wider._halve()
        return -1 if self._high < other._low else 1

    def _ordered(self, other):
        """As `_against`; what has no order, and does not know numbers of this kind either, is refused."""
        order = self._against(other)
        if order is None and isinstance(other, Symbolic):
            refuse("symbol", other, f"symbols have no order, and it was compared with {self}", "Put a number in, or use "
                   "ft.for_all_spectra, whose bound may be this number.")
        if order is None and isinstance(other, NOT_ORDERED):
            refuse("number", other, f"cannot be compared with {self}", "Give an int, a Fraction or a finite float.")
        return order

    def _same(self, other) -> bool:
        """Whether two roots of one polynomial are one: where both intervals meet, it changes its sign."""
        low, high = max(self._low, other._low), min(self._high, other._high)
        if self.degree == 1:
            return self._low == other._low
        return low <= high and sign(self.polynomial, low) != sign(self.polynomial, high)

    def __eq__(self, other):
        order = self._against(other)
        return NotImplemented if order is None else order == 0

    def __lt__(self, other):
        order = self._ordered(other)
        return NotImplemented if order is None else order < 0

    def __le__(self, other):
        order = self._ordered(other)
        return NotImplemented if order is None else order <= 0

    def __gt__(self, other):
        order = self._ordered(other)
        return NotImplemented if order is None else order > 0

    def __ge__(self, other):
        order = self._ordered(other)
        return NotImplemented if order is None else order >= 0

    def __hash__(self):
        return hash(self._low) if self.degree == 1 else hash(self.polynomial)

    # ---- arithmetic ------------------------------------------------------------------------------------
    def __neg__(self):
        return Algebraic(primitive([(-1)**k * c for k, c in enumerate(self.polynomial)]), -self._high, -self._low)

    def __abs__(self):
        return -self if self < 0 else self

    def __add__(self, other):
        v = _operand(other)
        if v is None:
            return NotImplemented
        if v.degree == 1 or self.degree == 1:
            irrational, q = (self, v._low) if v.degree == 1 else (v, self._low)
            return _moved(irrational, Fraction(1), q)
        return _combined(self, v, kronecker_sum, lambda a, b: (a[0] + b[0], a[1] + b[1]))

    def __mul__(self, other):
        v = _operand(other)
        if v is None:
            return NotImplemented
        if v.degree == 1 or self.degree == 1:
            irrational, q = (self, v._low) if v.degree == 1 else (v, self._low)
            return _moved(irrational, q, Fraction(0)) if q else algebraic(0)
        return _combined(self, v, kronecker_product, product)

    def __truediv__(self, other):
        v = _operand(other)
        return NotImplemented if v is None else self * v._inverse()

    def __rtruediv__(self, other):
        v = _operand(other)
        return NotImplemented if v is None else v * self._inverse()

    def _inverse(self):
        if not self:
            raise ZeroDivisionError("division by an algebraic number that is 0")
        if self.degree == 1:
            return algebraic(1 / self._low)
        low, high = self._relative(1)
        return Algebraic(primitive(self.polynomial[::-1]), 1 / high, 1 / low)

    def __sub__(self, other):
        v = _operand(other)
        return NotImplemented if v is None else self + -v

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, k):
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            refuse("exponent", k, "a power of an algebraic number has an integer exponent", "Use ft.root for roots.")
        if k < 0:
            return self._inverse() ** -k
        return image(self, [0] * int(k) + [1])

    def __rpow__(self, base):
        refuse("exponent", self, "a power with an algebraic exponent is no algebraic number in general",
               "Give an int, which for a rational integer x is int(ft.fraction(x)); or take float(x).")

    def __floordiv__(self, other):
        refuse("number", self, "has no floor and no remainder here", "Use x.enclosure(width), or float(x).")

    __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__

    def root(self, k: int = 2) -> Algebraic:
        """The non-negative k-th root of a number >= 0."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            refuse("k", k, "the k-th root has an integer k >= 1", "2 is the square root.")
        if self < 0:
            refuse("number", self, "roots are of numbers >= 0", "Take the root of its absolute value.")
        if not self or k == 1:
            return self
        if self.degree * int(k) > LARGEST:   # before as many coefficients are made
            raise TooLarge(f"k = {k}: the root of a number of degree {self.degree} is one of a polynomial of degree "
                           f"{self.degree * int(k)}, and at most {LARGEST} are factored. Compare k-th powers instead")
        spread = [0] * (self.degree * int(k) + 1)
        spread[::int(k)] = self.polynomial

        def near(v):
            low, high = v._low, v._high
            return None if high < 0 or low < 0 else (low**int(k), high**int(k))
        candidates = [v for v in real_roots(spread) if v > 0]
        return _narrowed(candidates, near, self)


def algebraic(value) -> Algebraic:
    """A rational number among the algebraic ones."""
    f = as_fraction(value)
    return Algebraic((-f.numerator, f.denominator), f, f)


def root(value: int | str | Fraction | Algebraic, k: int = 2) -> Algebraic:
    """The non-negative k-th root of a number >= 0, exactly: root("9/10"), (1 + root(5)) / 2.

    value: an int, Fraction, text or `Algebraic`; k: an int >= 1. Raises BadInput, MissingLibrary without python-flint, TooLarge.
    """
    from fltheory.core.numbers.scalars import fraction
    return (value if isinstance(value, Algebraic) else algebraic(fraction(value))).root(k)


# ---- roots of polynomials ----------------------------------------------------------------------------------
def real_roots(coefficients) -> list[Algebraic]:
    """The different real roots of a polynomial with rational coefficients (constant first), ascending. Raises TooLarge."""
    return sorted(v for part, _ in factors(coefficients) for v in roots_of_factor(part))


def factors(coefficients) -> list:
    """[(irreducible factor as integers, constant first, multiplicity)] of a polynomial that is not 0."""
    flint = need("flint", "factors of polynomials")
    whole = flint.fmpz_poly(list(primitive(coefficients)))
    if whole.degree() > LARGEST:
        raise TooLarge(f"a polynomial of degree {whole.degree()} would be factored; at most {LARGEST}. Enclosures need no factors: "
                       "op.certify(), ft.for_all_spectra")
    if whole == 0:
        refuse("polynomial", 0, "is not 0", "Every number is a root of it.")
    return [(primitive([int(c) for c in part.coeffs()]), m) for part, m in whole.factor()[1]]


def roots_of_factor(part) -> list[Algebraic]:
    """The real roots of an irreducible polynomial, ascending."""
    if len(part) == 2:
        return [algebraic(Fraction(-part[0], part[1]))]
    return [Algebraic(part, *ends) for ends in real_enclosures(part)]


def real_enclosures(coefficients) -> list[tuple[Fraction, Fraction]]:
    """Disjoint rational intervals, one around each real root of a squarefree integer polynomial, ascending."""
    flint = need("flint", "roots of polynomials")
    with flint.ctx.workprec(64):
        roots = [z for z, _ in flint.fmpz_poly(list(coefficients)).complex_roots()]
        return sorted((exact(z.real.lower()), exact(z.real.upper())) for z in map(flint.acb, roots) if z.imag == 0)


def exact(x) -> Fraction:
    """The dyadic value of an exact ball."""
    mantissa, exponent = x.man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


# ---- images -------------------------------------------------------------------------------------------------
def image(x: Algebraic, top, bottom=(1,)) -> Algebraic:
    """top(x) / bottom(x) for polynomials with rational coefficients, constant first; raises ZeroDivisionError at a pole."""
    if x.degree == 1:
        return algebraic(value_at(top, x._low) / value_at(bottom, x._low))
    top, bottom = (polynomial(part) % polynomial(x.polynomial) for part in (top, bottom))
    if bottom == 0:
        raise ZeroDivisionError("division by an algebraic number that is 0")
    C = companion(x.polynomial)
    M, N = (of_matrix(part, C) for part in (top, bottom))
    charpoly = (M if bottom == 1 else M * N.inv()).charpoly()

    def now():
        values = [between([as_fraction(c) for c in part.coeffs()], x._low, x._high) for part in (top, bottom)]
        return None if values[1][0] <= 0 <= values[1][1] else product(values[0], (1 / values[1][1], 1 / values[1][0]))
    return _chosen([as_fraction(c) for c in charpoly.coeffs()], now, x._halve)


def _combined(a, b, matrix, interval):
    if a.degree * b.degree > LARGEST:
        raise TooLarge(f"numbers of degrees {a.degree} and {b.degree} would be combined; their product is at most {LARGEST}. "
                       "Compare enclosures: x.enclosure(width)")
    charpoly = matrix(companion(a.polynomial), companion(b.polynomial)).charpoly()

    def halve():
        a._halve()
        b._halve()
    return _chosen([as_fraction(c) for c in charpoly.coeffs()], lambda: interval((a._low, a._high), (b._low, b._high)), halve)


def _chosen(coefficients, now, halve) -> Algebraic:
    """The real root of a polynomial that is the number in the shrinking intervals `now()`."""
    candidates = real_roots(coefficients)
    while True:
        ends = now()
        if ends is not None:
            candidates = [v for v in candidates if v._low <= ends[1] and ends[0] <= v._high]
            if len(candidates) == 1:
                return candidates[0]
            for v in candidates:
                if v.degree > 1:
                    v._halve()
        halve()


def _narrowed(candidates, power, target) -> Algebraic:
    """The candidate whose power is the target."""
    while len(candidates) > 1:
        near = [(v, power(v)) for v in candidates]
        candidates = [v for v, ends in near if ends is None or (ends[0] <= target._high and target._low <= ends[1])]
        for v in (*candidates, target):
            if v.degree > 1:
                v._halve()
    return candidates[0]


def _moved(x, factor, shift):
    """factor x + shift for rationals, factor not 0."""
    if x.degree == 1:
        return algebraic(factor * x._low + shift)
    inner, total, power = (-shift / factor, 1 / factor), [Fraction(0)] * (x.degree + 1), [Fraction(1)]
    for c in x.polynomial:
        for k, v in enumerate(power):
            total[k] += c * v
        power = [inner[0] * v + inner[1] * w for v, w in zip([*power, Fraction(0)], [Fraction(0), *power], strict=True)]
    ends = sorted((factor * x._low + shift, factor * x._high + shift))
    return Algebraic(primitive(total), *ends)


# ---- reading and writing ------------------------------------------------------------------------------------
def _read(other):
    """Another number to compare with: algebraic, or an infinite float; None for what is none, NaN included."""
    if isinstance(other, Algebraic):
        return other
    if isinstance(other, (bool, np.bool_)):
        return None
    if isinstance(other, (float, np.floating)):
        return None if math.isnan(other) else float(other) if math.isinf(other) else algebraic(float(other))
    exactly = isinstance(other, (numbers.Rational, np.integer)) or flint_name(other) in ("fmpq", "fmpz")
    return algebraic(Fraction(other) if isinstance(other, numbers.Rational) else other) if exactly else None


def _operand(other):
    """Another number to calculate with; None for what may know better, such as an array."""
    if isinstance(other, (bool, np.bool_)):
        raise Inexact(f"an algebraic number met {other!r}: a truth value is no number. Write 0 or 1")
    if isinstance(other, (float, np.floating)):
        remedy = f"Write a Fraction, for example ft.fraction('{other}'), or take float(x) of the algebraic number" if math.isfinite(
            other) else "It is no number: remove it"
        raise Inexact(f"an algebraic number met {other!r}: exact calculations take integers and fractions only. {remedy}")
    if isinstance(other, Symbolic):
        refuse("symbol", other, "rational functions have rational coefficients, and an algebraic number met one",
               f"Give its ft.Field one more symbol that stands for the algebraic number, or put a number in for {other}.")
    if isinstance(other, NOT_ORDERED):
        refuse("number", other, f"a {type(other).__name__} was combined with an algebraic number",
               "Give an int, a Fraction or another algebraic number.")
    return _read(other)


def decimals(f: Fraction, digits=12, rounding=decimal.ROUND_HALF_EVEN) -> str:
    """A rational of any size in so many significant digits."""
    context = decimal.Context(prec=digits, rounding=rounding, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    return f"{context.divide(decimal.Decimal(f.numerator), decimal.Decimal(f.denominator)).normalize(context):g}"


def _surd(x):
    """A quadratic irrational as (a + b sqrt(n)) / c."""
    c0, c1, c2 = x.polynomial
    inside = c1 * c1 - 4 * c0 * c2
    outside = 1
    for p in range(2, 1000):
        while inside % (p * p) == 0:
            inside, outside = inside // (p * p), outside * p
    sign = 1 if x > Fraction(-c1, 2 * c2) else -1
    common = math.gcd(c1, outside, 2 * c2)
    a, b, c = -c1 // common, sign * outside // common, 2 * c2 // common
    surd = f"{'-' if b < 0 else ''}{'' if abs(b) == 1 else f'{abs(b)} '}sqrt({inside})"
    top = surd if a == 0 else f"{a} {'-' if b < 0 else '+'} {surd.lstrip('-')}"
    return top if c == 1 else f"{top}/{c}" if a == 0 else f"({top})/{c}"
