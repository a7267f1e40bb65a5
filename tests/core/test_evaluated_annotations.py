"""Fields of algorithms whose module evaluates its annotations: no `from __future__ import annotations` here."""
from dataclasses import dataclass
from fractions import Fraction as Q

import fltheory as ft
from fltheory.core.numbers.scalars import Number


@dataclass(frozen=True)
class Scaled(ft.FedAvg):
    factors: tuple[Number, ...] = ("1/2", "1/3")
    shift: Number = "1/5"


def test_numbers_and_tuples_of_numbers_are_converted():
    exact, floats = Scaled("1/10", 1).to(ft.RATIONAL), Scaled("1/10", 1).to(ft.FLOAT)
    assert [ft.fraction(v) for v in exact.factors] == [Q(1, 2), Q(1, 3)] and ft.fraction(exact.shift) == Q(1, 5)
    assert floats.factors.dtype == float and type(floats.shift) is float
