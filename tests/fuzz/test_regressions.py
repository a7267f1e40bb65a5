"""Defects that fuzzing found, one line each: what used to hang, warn, crash or be accepted."""
import numpy as np
import pytest

pytest.importorskip("torch")

import fltheory as ft
from tests.fuzz import calls

P = calls.problem()
MASKED = np.ma.masked_array([0.5, 0.5], mask=[True, False])
SINGLE = np.longdouble("1e4000")


@pytest.mark.parametrize("call", [
    lambda: ft.FedAvg("1e999999999", 1),                             # did not end
    lambda: ft.FedAvg(1, 10**9),
    lambda: ft.FedAvg(-10**5000, 1),                                 # no decimal form: ValueError
    lambda: ft.FedAvg(1, np.timedelta64(3, "D")),                    # numpy counts durations among the integers
    lambda: ft.FedAvg(1, 1, solver=ft.Vanilla),                      # the class instead of a record
    lambda: ft.FedAvg(1, 1, solver=0.5),
    lambda: ft.FedAvg(1, 1, averaging=np.zeros(0)),
    lambda: ft.Momentum(None),
    lambda: ft.Quadratic(P.H, P.c, MASKED),                          # masks were ignored
    lambda: ft.Quadratic(P.H, np.full((2, 1), SINGLE)),              # became infinity
    lambda: ft.Quadratic([[[1e308]]], [[1e308]]),
    lambda: ft.Quadratic.from_linear(P.H, P.b, offset=[[0]]),
    lambda: ft.derive(ft.GeneralRule(1, 1, w=["1/3"] * 3), P, ft.Full()),
    lambda: ft.Chain(sets=3, matrix=[[1]]),
    lambda: ft.Chain(sets=[[1.5]], matrix=[[1]]),                    # was rounded to client 1
    lambda: ft.Replay([0]),
    lambda: ft.Markov("1/2", ["1/2"], 2),
    lambda: ft.WithReplacement(10**9),
    lambda: ft.WithReplacement(1, ()),
    lambda: ft.Weighted(1, [1, 2], replace="no"),                    # a text is true
    lambda: ft.Residual([[[1]]], 1, [[[1]]], [[0]], [[0]]),
    lambda: ft.Network(int, [[[1]]], [[0]]),
    lambda: ft.Modular(4),                                           # no field
    lambda: ft.Field(""),
    lambda: ft.Torch("meta"),
    lambda: ft.derive(ft.FedAvg(1, 1), P, ft.Full(), domain=ft.Torch()),
    lambda: ft.derive(1, P, ft.Full()),
    lambda: ft.optimum("x"),
    lambda: ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, checkpoint="x" * 10**4),
    lambda: ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, metrics="x"),
    lambda: ft.linearise(ft.FedAvg(1, 1), P, ft.Full(), tolerance=None),
    lambda: ft.equal([1, [2]], [1, 2]),
    lambda: ft.induction(1, 2),
])
def test_refused_in_words(call):
    with pytest.raises(ft.BadInput) as error:
        call()
    calls.refusal(error.value)


def test_overflow_is_no_nan():
    with pytest.raises(ft.CertificateFailed, match="range of float64"):
        ft.derive(ft.FedAvg(1e308, 3), P, ft.Full())


def test_a_message_is_one_short_line():
    with pytest.raises(ft.BadInput) as error:
        ft.FedAvg("a\n" * 10**5, 1)
    assert len(str(error.value)) < 1000 and "\n" not in str(error.value)
