"""Wrong rounds of asynchronous methods: each is another round, and where nothing would change there is none."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import Inexact
from fltheory.mutants import arrivals as wrong
from fltheory.mutants.base import clause
from fltheory.runs.streams import Stream

PROBLEM = ft.Quadratic.from_linear([[[1, 0], [0, "1/4"]], [["1/2", "1/8"], ["1/8", 1]], [["1/4", 0], [0, "1/2"]]],
                                   [[1, -2], [-1, 0], [3, 1]])
LINE = ft.Quadratic([[[1]], [["1/4"]], [["1/2"]]], [[1], [-2], [3]])
LAW = ft.EventClock((1, 2, 3), steps=3)
FULL = ft.AsyncFedED("1/20", lam="1/2", eps="1/4", gbar=1, kappa="3/2", discard=40, solver=ft.Momentum("1/2"))
PLAIN = ft.AsyncFedED("1/20", lam="1/2", eps="1/4", gbar=1, kappa=0)
ONE = ft.AsyncFedED("1/20", lam="1/2", eps="1/4", gbar=1, kappa=1)
REAL = ft.AsyncFedED("1/20", lam="1/2", eps="1/4", gbar=1, kappa="3/2", real=True)
ADAPTS = {"distance_after_the_move", "steps_wrong_sign", "clamp_missing"}
ROUNDS, SCALED = {"steps_rounded_up"}, {"rounded_before_kappa"}
EXTRA = {"discard_missing", "buffers_kept_on_arrival"}
DIFFERS = {FULL: set(wrong.ARRIVALS), PLAIN: set(wrong.ARRIVALS) - ADAPTS - ROUNDS - SCALED - EXTRA,
           ONE: set(wrong.ARRIVALS) - SCALED - EXTRA, REAL: set(wrong.ARRIVALS) - ROUNDS - SCALED - EXTRA}
HINGE = ft.FedAsync("1/20", alpha="1/2", staleness="hinge", a=2, b=1)
TIMED = ft.FedAsync("1/20", alpha="1/2", staleness="polynomial", unit="time")
BUFFER, ADDS, MIXES, MEAN = (ft.FedBuff("1/20", buffer=2), ft.StaleSteps("1/20", 2, server_lr="1/2"),
                             ft.StaleSteps("1/20", 2, server_lr="1/2", mixing="model"), ft.FedAvg("1/20", 2))
KNOWS = {HINGE: {"lag_ignored", "lag_in_time", "hinge_not_shifted", "update_added"},
         TIMED: {"lag_ignored", "lag_in_changes", "update_added"}, BUFFER: {"buffer_summed"},
         ADDS: {"stale_models_mixed", "stale_model_sent", "never_stale"},
         MIXES: {"stale_updates_added", "stale_model_sent", "never_stale"}, MEAN: {"mean_divided_again"}}
CLOCKED = {"model_before_update_sent", "base_not_refreshed"}


def models(algorithm, rounds, law=LAW, domain=ft.FLOAT, problem=PROBLEM, start=(4, -3)):
    """(x, K) after each round; the same law and start for all."""
    a, p, state, out = algorithm.to(domain), problem.to(domain), None, []
    for t in range(rounds):
        draw, _ = law.sample(Stream(7).child(t), p.n, 1)
        state = a.init(p, domain.array(np.array(start[:p.d], dtype=object)), draw) if state is None else state
        state = a.round(p, state, draw)
        out.append([*np.atleast_1d(np.asarray(state.x)).reshape(-1), *np.asarray(getattr(state, "K", [])).reshape(-1)])
    return np.array(out, dtype=float if domain is ft.FLOAT else object)


@pytest.mark.parametrize("right", DIFFERS, ids=["full", "fixed K", "kappa 1", "real K"])
def test_each_is_another_round_of_asyncfeded(right):
    mutants = {name: m(right) for name, m in wrong.ARRIVALS.items()}
    assert {name for name, m in mutants.items() if m is not None} == DIFFERS[right]
    seen = models(right, 120)
    for name, bad in mutants.items():
        if bad is not None and name not in ("clamp_missing", "discard_missing"):
            assert np.abs(models(bad, 120) - seen).max() > 1e-6, name
            assert name == "base_not_refreshed" or np.isfinite(models(bad, 120)).all()


def test_clamp_and_discard_show_where_they_work():
    steep = ft.AsyncFedED("1/20", lam="1/2", eps="1/4", gbar="1/10", kappa=8, discard="1/2")
    for mutant in (wrong.clamp_missing, wrong.discard_missing):
        assert np.abs(models(mutant(steep), 40) - models(steep, 40)).max() > 1e-6


def test_the_open_round_is_the_round():
    for right in DIFFERS:
        same = wrong.alike(wrong.Opened, right)
        assert (models(right, 200) == models(same, 200)).all()
    zero = ft.AsyncFedED("1/20", lam="1/2", eps="1/4", gbar=1, kappa=1, solver=ft.Momentum(0), momentum="kept")
    assert (models(zero, 200) == models(ONE, 200)).all()


@pytest.mark.parametrize("right", KNOWS, ids=["hinge", "timed", "buffer", "adds", "mixes", "mean"])
def test_each_is_another_round_of_the_other_methods(right):
    law = LAW if right.arrivals else ft.Full(steps=2) if right is MEAN else ft.Weighted(1, ["1/2", "1/4", "1/4"], steps=2)
    every = wrong.OTHERS | {name: wrong.ARRIVALS[name] for name in CLOCKED}
    mutants = {name: m(right) for name, m in every.items()}
    assert {name for name, m in mutants.items() if m is not None} == KNOWS[right] | (CLOCKED if right.arrivals else set())
    seen = models(right, 60, law)
    assert all(np.abs(models(bad, 60, law) - seen).max() > 1e-6 for bad in mutants.values() if bad is not None)


def test_what_they_say_differs_and_other_algorithms_are_left_alone():
    every = wrong.ARRIVALS | wrong.OTHERS
    assert len({clause(m) for m in every.values()}) == len(every)
    assert all(m(ft.Scaffold("1/20", 3)) is None for m in every.values())
    assert all(m(ft.FedAvg("1/20", 3)) is None for m in wrong.ARRIVALS.values())


def test_rounds_on_the_line_are_exact():
    exact, floats = (models(ONE, 6, domain=d, problem=LINE) for d in (ft.RATIONAL, ft.FLOAT))
    assert all(isinstance(ft.fraction(v), Q) for v in exact.reshape(-1))
    assert np.abs(np.array([[float(ft.fraction(v)) for v in row] for row in exact]) - floats).max() < 1e-9
    for bad in DIFFERS[ONE]:
        models(wrong.ARRIVALS[bad](ONE), 3, domain=ft.RATIONAL, problem=LINE)
    with pytest.raises(Inexact, match="no rational"):
        models(ONE, 3, domain=ft.RATIONAL)
