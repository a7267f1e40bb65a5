"""What no assertion takes: bad numbers, wrong subjects, other arithmetics."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from tests.workbench.assertions.subjects import FEDAVG, LINE, op

BAD = [
    (ft.assert_fixed_point, ([1, 2],), "shape"),
    (ft.assert_fixed_point, (1,), "shape"),
    (ft.assert_fixed_point, ([float("nan")],), "finite"),
    (ft.assert_fixed_point, (["inf"],), "no rational"),
    (ft.assert_fixed_point, ([None],), "no number"),
    (ft.assert_fixed_point, ([1], -1), "at least 0"),
    (ft.assert_fixed_point, ([1], float("inf")), "finite"),
    (ft.assert_fixed_point, ([1], None, 1), "level"),
    (ft.assert_fixed_point, ([10**400],), "beyond"),
    (ft.assert_fixed_point, ([1j],), "no number"),
    (ft.assert_fixed_point, ([[1], [1, 2]],), "equal length"),
    (ft.assert_bias, (float("nan"),), "finite"),
    (ft.assert_linear_rate, (10**400,), "beyond"),
    (ft.assert_bias, (-1,), "at least 0"),
    (ft.assert_bias, ([1, 2],), "shape"),
    (ft.assert_bias, (0, None, [1, 2]), "reference"),
    (ft.assert_linear_rate, (), "exactly one"),
    (ft.assert_linear_rate, ("1/2", "1/2"), "exactly one"),
    (ft.assert_linear_rate, (-1,), "at least 0"),
    (ft.assert_linear_rate, ([1],), "one number"),
    (ft.assert_linear_rate, ("1/2", None, "geometric"), "kind"),
    (ft.assert_linear_rate, (None, "1/2", "mean", "1/9"), "a bound has none"),
    (ft.assert_linear_rate, ("1/2", None, "mean", None, 0.99, (0, 3)), "window"),
    (ft.assert_floor, (), "exactly one"),
    (ft.assert_floor, (None, float("inf")), "finite"),
    (ft.assert_floor, (None, -1), "at least 0"),
    (ft.assert_floor, (True,), "truth value"),
    (ft.assert_conforms, (), "is no algorithm"),
]


@pytest.mark.parametrize(("function", "arguments", "rule"), BAD, ids=lambda v: getattr(v, "__name__", str(v))[:30])
def test_bad_arguments_are_refused_not_failed(function, arguments, rule):
    with pytest.raises(BadInput, match=rule):
        function(op(FEDAVG), *arguments)


@pytest.mark.parametrize("subject", [None, FEDAVG, LINE, ft.FedAvg, 3, "op", np.zeros(2)], ids=lambda v: str(type(v)))
def test_wrong_subjects_are_refused(subject):
    for call in (lambda: ft.assert_fixed_point(subject, [1]), lambda: ft.assert_bias(subject, 1),
                 lambda: ft.assert_linear_rate(subject, 1), lambda: ft.assert_floor(subject, 1)):
        with pytest.raises(BadInput, match="neither an operator nor a trace"):
            call()


def test_other_arithmetics_are_refused():
    eta, = ft.Field("eta").symbols
    symbolic = ft.derive(ft.FedAvg(eta, 1), LINE, ft.Full(), domain=ft.Field("eta"))
    with pytest.raises(BadInput, match="in floats or in rationals"):
        ft.assert_fixed_point(symbolic, ["1/2"])
    with pytest.raises(BadInput, match="symbol"):
        ft.assert_fixed_point(op(FEDAVG), [eta])
