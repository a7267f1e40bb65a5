"""Records: what a reader lets pass, what it says where it does not, and numbers in another arithmetic."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as Q
from typing import Any

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Field, Number, Numbers, fraction
from fltheory.core.records import (
    Record,
    convert,
    count,
    declared,
    flag,
    one_of,
    one_or_each,
    per_client,
    positive,
    unread,
    within,
)


@dataclass(frozen=True)
class Solver(Record):
    rho: Number = declared(within(0, 1, "[)"))


@dataclass(frozen=True)
class Method(Record):
    lr: Number = declared(positive)
    weights: Numbers = declared(per_client(positive), None)
    gamma: Number = declared(one_or_each(within(0)), 1)
    tau: int = declared(count(most=9), 1)
    kind: str = declared(one_of("a", "b"), "a")
    cap: Any = declared(count(), None, ("the method needs a cap", "Give one."))
    solver: Any = Solver(0)

    def __init__(self, lr, cap=1, **options):
        self.give(**{name: getattr(type(self), name) for name in ("weights", "gamma", "tau", "kind", "solver")} | options,
                  lr=lr, cap=cap)


def test_values_are_kept_as_they_are_given_and_read():
    made = Method("1/20", weights=[1, "1/2"], gamma=(1, Q(1, 3)), tau=np.int64(3))
    assert made.lr == "1/20" and made.weights == (1, Q(1, 2)) and made.gamma == (1, Q(1, 3)) and type(made.tau) is int
    (eta,) = Field("eta").symbols
    assert Method(eta).lr is eta and Method(1).weights is None


@pytest.mark.parametrize(("given", "says"), [
    ({"lr": 0}, "lr = 0: must be positive. Give a number > 0."),
    ({"lr": Q(-1, 2)}, "lr = '-1/2': must be positive. Give a number > 0."),
    ({"lr": float("nan")}, "lr = nan: must be finite. Remove NaN and infinities from the input."),
    ({"lr": 0 * Field("eta").symbols[0]}, "must not vanish identically"),
    ({"weights": [1, 0]}, "must be positive"),
    ({"weights": 2}, "weights = (): one number per client, in a flat list. Give n numbers."),
    ({"gamma": -1}, "gamma = -1: must be >= 0. Give a number there."),
    ({"tau": 10}, "tau = 10: is an int >= 1 and <= 9. Give an int >= 1."),
    ({"tau": True}, "tau = True: is an int >= 1"),
    ({"kind": "c"}, "kind = 'c': is one of a, b. Choose one of them."),
    ({"kind": np.array(["a", "b"])}, "is one of a, b"),
    ({"cap": None}, "cap = None: the method needs a cap. Give one."),
])
def test_refusals_name_value_rule_and_remedy(given, says):
    with pytest.raises(ft.BadInput) as caught:
        Method(**({"lr": 1} | given))
    assert says in str(caught.value)


@pytest.mark.parametrize("ends, inside", [("[]", [0, 1]), ("[)", [0]), ("(]", [1]), ("()", [])])
def test_ends_count_as_they_are_written(ends, inside):
    for value in (0, 1):
        try:
            within(0, 1, ends)(value, "v")
        except ft.BadInput as error:
            assert value not in inside and f"must lie in {ends[0]}0, 1{ends[1]}" in str(error)
        else:
            assert value in inside


def test_flags_are_true_or_false():
    assert flag(np.True_, "v") and flag(False, "v") is False
    with pytest.raises(ft.BadInput, match="v = 'yes'"):
        flag("yes", "v")


def test_numbers_move_between_arithmetics_with_the_records_inside():
    made = Method("1/20", weights=[1, "1/2"], solver=Solver("1/3"))
    floats, exact = convert(made, FLOAT), convert(made, RATIONAL)
    assert floats.lr == 0.05 and floats.weights.tolist() == [1, 0.5] and floats.solver.rho == 1 / 3 and floats.tau == 1
    assert fraction(exact.solver.rho) == Q(1, 3) and exact.kind == "a"
    assert unread(made, lr=0).lr == 0 and unread(made, lr=0).weights == made.weights
    with pytest.raises(ft.BadInput, match="is 0 in float64"):
        convert(Method("1e-400"), FLOAT)
