"""Numbers as text, for each kind of reader."""
from fractions import Fraction

import pytest

from fltheory.core.numbers.text import digits, exact_if_short, four_digits, number, with_half_width


@pytest.mark.parametrize("value, text", [(None, "?"), (0.5, "0.5"), (1 / 3, "1/3"), (2.0, "2"), (0.1234767891, "0.123477"),
                                         (0.0, "0"), (0.0050004, "0.0050004"), (-0.005, "-1/200"), (1e-7, "1e-07")])
def test_a_float_is_written_as_people_write_it(value, text):
    assert number(value) == text


@pytest.mark.parametrize("value, text", [("none", "none"), (Fraction(-3, 7), "-3/7"), (0.1 + 0.2, "0.3"), (float("inf"), "inf"),
                                         (Fraction(1, 3**60), "~2.35898249e-29"), (Fraction(10**400), "~a huge number")])
def test_only_short_fractions_are_written_in_full(value, text):
    assert exact_if_short(value) == text


def test_digits_and_half_widths():
    assert digits(Fraction(2, 3), 3) == "0.667" and with_half_width(0.12345678, 0.00123) == "0.123457 +/- 0.0012"


def test_four_digits_of_a_table():
    assert [four_digits(v) for v in (0, 3, 0.1823456, 1e-9, float("inf"), 0.99999123)] == [
        "0",
        "3",
        "0.1823",
        "1e-09",
        "overflow",
        "0.99999123",
    ]
    assert four_digits(1e-20, rounding=1e-18) == "~0" and four_digits(0.0, rounding=1) == "0"
