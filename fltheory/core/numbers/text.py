"""Numbers as text: one function for each kind of reader, whatever module prints them."""
from __future__ import annotations

import math
from fractions import Fraction

from fltheory.core.numbers.scalars import fraction, is_rational

LONGEST = 24  # characters of a fraction that is written out


def digits(value: object, most: int = 6) -> str:
    """So many significant digits of a number of any kind; one beyond floats has none."""
    try:
        return f"{float(value):.{most}g}"  # type: ignore[arg-type]
    except OverflowError:
        return "a huge number"


def number(value: float | None) -> str:
    """A float as people write it: a small fraction if it is one, else six digits."""
    if value is None:
        return "?"
    near = Fraction(float(value)).limit_denominator(200)
    if near and abs(float(near) - value) <= 1e-6 * abs(value):
        short = digits(near)
        return short if near.denominator == 1 or (len(short) <= 5 and float(short) == float(near)) else str(near)
    return digits(value)


def exact_if_short(value: object) -> str:
    """A number to compare with another: short fractions in full, long ones and floats to nine digits; texts as they are."""
    if isinstance(value, str):
        return value
    if is_rational(value):
        exact = str(fraction(value))
        return exact if len(exact) <= LONGEST else f"~{digits(fraction(value), 9)}"
    return digits(value, 9)


def four_digits(value: float, rounding: float = 0.0) -> str:
    """For tables: four significant digits, whole numbers in full, rates close to 1 with the digits that tell them from 1.

    rounding: size below which a number is not told from 0.
    """
    value = float(value)
    if not math.isfinite(value):
        return "overflow"
    if value != 0 and abs(value) <= rounding:
        return "~0"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 0.9995 < abs(value) < 1.0005:
        return f"{value:.{min(12, 2 - math.floor(math.log10(abs(abs(value) - 1))))}f}"
    return digits(value, 4)


def with_half_width(value: float, half: float) -> str:
    """A measured number and the half-width of its interval."""
    return f"{digits(value)} +/- {digits(half, 2)}"
