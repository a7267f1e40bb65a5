"""The spectral radius of a rational matrix as an exact algebraic number, with the eigenvalues that attain it.

Certified balls around all roots of the characteristic polynomial leave few candidates; ties between these are decided by their
exact moduli. For a pair of complex eigenvalues |lambda|^2 is an eigenvalue of the second exterior power of the companion matrix.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Array
from fltheory.core.libraries import need
from fltheory.core.numbers.linalg.algebraic import (LARGEST, Algebraic, algebraic, decimals, exact, factors, real_roots,
                                                    roots_of_factor)
from fltheory.core.numbers.linalg.entries import as_fraction, shaped, to_fmpq_matrix
from fltheory.core.numbers.linalg.polynomials import companion

PRECISIONS = (64, 256, 1024)   # bits of the balls that sort candidates out before their moduli are compared exactly


@dataclass(frozen=True)
class Eigenvalue:
    """An eigenvalue, with imaginary part >= 0 for a conjugate pair: its minimal polynomial (integers, constant first), its
    algebraic multiplicity, and rational intervals (low, high) that contain its real and its imaginary part."""

    polynomial: tuple
    multiplicity: int
    real: tuple
    imaginary: tuple

    @property
    def complex(self) -> bool:
        """Whether it stands for a pair of conjugates."""
        return self.imaginary[1] > 0

    def __str__(self):
        real, imaginary = (decimals(sum(v) / 2, 8) for v in (self.real, self.imaginary))
        return real + (f" +- {imaginary}i" if self.complex else "")

    def __repr__(self):
        return f"Eigenvalue({self}, multiplicity {self.multiplicity}, degree {len(self.polynomial) - 1})"


def spectral_radius(A: Array) -> Algebraic:
    """max |eigenvalue| of a rational A (d, d), d >= 0, exactly; `attained` lists every eigenvalue of that modulus, conjugates once.

    Raises TypeError for entries that are not rational, BadInput for shapes, TooLarge beyond degree 150 of what is factored.
    """
    try:
        A = shaped(A, square=True)
    except ValueError as error:
        refuse("A", "an array", str(error), "Give a (d, d) array.")
    if len(A) == 0:
        return algebraic(0)
    parts = factors([as_fraction(c) for c in to_fmpq_matrix(A).charpoly().coeffs()])
    if all(len(part) == 2 and part[0] == 0 for part, _ in parts):
        zero = Eigenvalue((0, 1), len(A), (Fraction(0),) * 2, (Fraction(0),) * 2)
        return Algebraic((0, 1), Fraction(0), Fraction(0), (zero,))
    for bits in PRECISIONS:
        candidates = sorted(_largest(parts, bits), key=lambda v: len(v[1]))
        if len(candidates) == 1:
            break
    moduli = [_modulus(value, part) for value, part, _ in candidates]
    best, attained = max(moduli), []
    for modulus, (value, part, multiplicity) in zip(moduli, candidates, strict=True):
        if modulus == best:
            ends = [(exact(x.lower()), exact(x.upper())) for x in (value.real, value.imag)]
            attained.append(Eigenvalue(part, multiplicity, *ends))
    return Algebraic(best.polynomial, best._low, best._high, attained)


def _largest(parts, bits):
    """[(ball, irreducible factor, multiplicity)] of the roots, of conjugates the upper one, that may have the largest modulus."""
    flint = need("flint", "roots of characteristic polynomials")
    with flint.ctx.workprec(bits):
        roots = [(flint.acb(z), part, m) for part, m in parts for z, _ in flint.fmpz_poly(list(part)).complex_roots()]
        roots = [(z, part, m) for z, part, m in roots if z.imag == 0 or z.imag > 0]
        least = max(exact(z.abs_lower()) for z, *_ in roots)
        return [(z, part, m) for z, part, m in roots if exact(z.abs_upper()) >= least]


def _modulus(value, part) -> Algebraic:
    """|lambda| of the root of an irreducible polynomial in a ball."""
    low, high = exact(value.abs_lower()), exact(value.abs_upper())
    if value.imag == 0:
        real = [abs(v) for v in roots_of_factor(part) if _meets(v, exact(value.real.lower()), exact(value.real.upper()))]
        return real[0]
    if len(part) == 3:
        return algebraic(Fraction(part[0], part[2])).root()
    squares = [v for v in real_roots(_products_of_two(part)) if v > 0]
    bits = PRECISIONS[-1]
    while True:
        close = [v for v in squares if _meets(v, low**2, high**2)]
        if len(close) == 1:
            return close[0].root()
        bits, flint = 2 * bits, need("flint", "roots")
        with flint.ctx.workprec(bits):
            finer = next(z for z in (flint.acb(z) for z, _ in flint.fmpz_poly(list(part)).complex_roots()) if z.overlaps(value)
                         and z.imag > 0)
            low, high = exact(finer.abs_lower()), exact(finer.abs_upper())


def _meets(x, low, high) -> bool:
    a, b = x.enclosure(max((high - low) / 4, Fraction(1, 2**4000)))
    return a <= high and low <= b


def _products_of_two(part):
    """Coefficients of prod_{i < j} (x - r_i r_j) over the roots of a polynomial: the second exterior power of its companion."""
    flint, n = need("flint", "exterior powers"), len(part) - 1
    if n * (n - 1) // 2 > LARGEST:
        raise TooLarge(f"the dominant eigenvalue is complex, of degree {n}: the polynomial of its squared modulus has degree "
                       f"{n * (n - 1) // 2}, at most {LARGEST}. op.certify() encloses the rate")
    C, pairs = companion(part), [(i, j) for i in range(n) for j in range(i + 1, n)]
    minors = [[C[i, k] * C[j, m] - C[i, m] * C[j, k] for k, m in pairs] for i, j in pairs]
    return [as_fraction(c) for c in flint.fmpq_mat(minors).charpoly().coeffs()]
