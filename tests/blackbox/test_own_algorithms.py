"""Codes beside an algorithm that is none of the catalogue's: what is known of them is named, the rest is said to be unexplained."""
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.numbers.arrays import spread
from tests.blackbox.adapters import hidden, joint, plain

IGNORED = "the cohort is ignored: clients outside the cohort"


class Model(NamedTuple):
    x: Any


class Moving(NamedTuple):
    x: Any
    v: Any


@dataclass(frozen=True)
class FedLin(Algorithm):
    """y <- y - lr (grad f_i(y) - grad f_i(x) + mean_S grad f_j(x)): the state is the model."""

    def init(self, problem, x0, draw=None):
        return Model(x0)

    def moved(self, problem, x, draw):
        cohort = problem.at(draw.who)
        share = shares(cohort, draw.present, "weighted")
        y = start = spread(x, draw.who)
        here = cohort.grad(start)
        corrected = (share[..., None] * here).sum(-2)[..., None, :] - here
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) + corrected)
        return (share[..., None] * (y - start)).sum(-2)

    def round(self, problem, s, draw):
        return Model(s.x + self.moved(problem, s.x, draw))


@dataclass(frozen=True)
class Heavy(FedLin):
    """FedLin with a server that keeps v <- b v + change; x <- x + v."""

    b: Any = 0.5

    def init(self, problem, x0, draw=None):
        return Moving(x0, 0 * x0)

    def round(self, problem, s, draw):
        v = self.b * s.v + self.moved(problem, s.x, draw)
        return Moving(s.x + v, v)


def code(steps=3, lr=1 / 20, own=1, sign=1, server="p", anchor="p", of="cohort"):
    """FedLin written by hand. own: how much of the own gradient is taken off; server, anchor: "p" or "plain" averages; of: whose
    gradients the anchor's mean is of, "cohort" or "all"; sign: of the correction."""
    def mean(values, clients, rule):
        w = np.array([c.weight if rule == "p" else 1.0 for c in clients])
        return (w / w.sum()) @ np.array(values)

    def run(x, clients, cohort):
        there = [clients[i] for i in cohort]
        base = there if of == "cohort" else clients
        g, moved = mean([c.grad(x) for c in base], base, anchor), []
        for c in there:
            y = x
            for _ in range(steps):
                y = y - lr * (c.grad(y) + sign * (g - own * c.grad(x)))
            moved.append(y)
        return mean(moved, there, server)
    return run


def everyone(run):
    return lambda x, clients, cohort: run(x, clients, range(len(clients)))


RIGHT = FedLin("1/20", 3)


@pytest.mark.parametrize("n,d,steps", [(3, 2, 3), (1, 1, 1), (6, 1, 2)])
def test_a_correct_round_matches(n, d, steps):
    assert ft.identify(code(steps), n, d, FedLin("1/20", steps)).matches


UNKNOWN = [{"own": 0}, {"own": 0.5}, {"server": "plain"}, {"anchor": "plain"}, {"sign": -1}]


@pytest.mark.parametrize("wrong", UNKNOWN, ids=str)
@pytest.mark.parametrize("n,d", [(3, 2), (5, 1)])
def test_what_no_known_fault_explains_is_said_to_be_unexplained(wrong, n, d):
    found = ft.identify(code(**wrong), n, d, RIGHT)
    assert found.verdict == "differs" and found.faults == [], str(found)
    assert found.unexplained.startswith("the difference is ") and "% of what the round changes" in found.unexplained
    assert "unexplained      the difference" in str(found) and "unexplained" in found._repr_html_()
    assert "memor" not in str(found) and "residual 1]" not in str(found), str(found)


def test_the_percentage_is_that_of_the_change():
    """A server that goes 1.3 times as far changes the model by 30 % more, in every map; a fixed factor is no fault known here."""
    def further(x, clients, cohort):
        return x + 1.3 * (code()(x, clients, cohort) - x)
    for run in (further, lambda x, clients: further(x, clients, range(3))):
        assert "the difference is 30 % of what" in ft.identify(run, 3, 2, RIGHT).unexplained


@pytest.mark.parametrize("wrong,words", [
    ({"steps": 4}, "one local step too many"), ({"lr": 0.1}, "the step size is 0.1 where 0.05"),
    ({"server": "plain", "anchor": "plain"}, "the data weights p_i are dropped")])
def test_the_faults_that_are_known_for_any_algorithm_are_named(wrong, words):
    found = ft.identify(code(**wrong), 3, 2, RIGHT)
    assert words in found.faults[0].sentence and found.faults[0].residual < 1e-8 and not found.unexplained, str(found)
    assert "memor" not in str(found), str(found)


def test_another_algorithm_is_named_without_memories():
    found = ft.identify(plain(ft.FedAvg("1/20", 3)), 3, 2, RIGHT)
    assert found.faults[0].sentence == "the code is FedAvg" and "memor" not in str(found), str(found)


# ---- who takes part ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wrong,more", [({}, ""), ({"steps": 4}, "one local step too many"), ({"lr": 0.1}, "the step size is 0.1"),
                                        ({"server": "plain", "anchor": "plain"}, "p_i are dropped")])
def test_a_cohort_that_is_ignored_is_named_with_what_else_is_wrong(wrong, more):
    for n in (2, 3):
        found = ft.identify(everyone(code(**wrong)), n, 2, RIGHT)
        assert found.faults[0].sentence.startswith(IGNORED) and found.faults[0].residual < 1e-8, str(found)
        assert more in " | ".join(f.sentence for f in found.faults[1:]) and not found.unexplained, str(found)


def test_a_cohort_that_is_ignored_beside_an_unknown_fault_leaves_a_rest():
    found = ft.identify(everyone(code(own=0)), 3, 2, RIGHT)
    assert found.faults[0].sentence.startswith(IGNORED) and "% of what the round changes" in found.unexplained, str(found)
    assert found.faults[0].residual < 1e-8, "that the cohort changes nothing is seen, whatever else is wrong"


@pytest.mark.parametrize("wrong,rest", [({}, False), ({"server": "plain"}, True)])
def test_absent_clients_that_act_are_named(wrong, rest):
    found = ft.identify(code(of="all", **wrong), 3, 2, RIGHT)
    assert found.faults[0].sentence.startswith("clients outside the cohort"), str(found)
    assert bool(found.unexplained) == rest, str(found)


def test_a_cohort_is_ignored_in_single_precision_too():
    for dtype in (np.float32, np.float64):
        run = everyone(plain(RIGHT, np.float32))
        found = ft.identify(lambda x, clients, cohort, run=run, dtype=dtype: run(x, clients, cohort).astype(dtype), 3, 2, RIGHT)
        assert found.faults[0].sentence.startswith(IGNORED) and not found.unexplained, str(found)


def test_the_cohort_that_is_named_lacks_somebody():
    found = ft.identify(everyone(code()), 3, 2, RIGHT, law=ft.Cyclic([[0, 1, 2], [1, 2]]))
    assert "outside the cohort [1, 2] change" in found.faults[0].sentence, str(found)


def test_a_cohort_ignored_by_fedavg_is_named_as_before():
    found = ft.identify(everyone(plain(ft.FedAvg("1/20", 3))), 3, 2, ft.FedAvg("1/20", 3))
    assert "clients outside the cohort" in found.faults[0].sentence, str(found)


# ---- memories ------------------------------------------------------------------------------------------------
def kept(run, pull=0.2):
    """A code that adds part of its last change, which a reset forgets."""
    memory = {}

    def heavy(x, clients, cohort):
        new = run(x, clients, cohort) + pull * memory.get("last", 0)
        memory["last"] = new - x
        return new
    return heavy, memory.clear


@pytest.mark.parametrize("more", [{}, {"reset": lambda: None}])
def test_a_code_without_the_memories_of_the_reference_is_no_match(more):
    found = ft.identify(code(), 3, 2, Heavy("1/20", 3), **more)
    assert found.verdict == "differs" and found.faults[0].sentence.startswith("the code keeps nothing between rounds"), str(found)


def test_memories_of_the_code_are_told_where_the_first_round_is_right():
    run, reset = kept(code())
    found = ft.identify(run, 3, 2, RIGHT, reset=reset)
    assert found.faults[0].sentence.startswith("the code keeps something between rounds, the reference does not"), str(found)
    assert found.faults[0].residual < 1e-9 and not found.unexplained


def test_memories_that_only_partial_cohorts_make_are_told():
    """The server's step halves after a round in which somebody is missing."""
    memory = {}

    def shy(x, clients, cohort):
        new = x + memory.get("step", 1) * (code()(x, clients, cohort) - x)
        memory["step"] = memory.get("step", 1) / (1 if cohort is None or len(cohort) == len(clients) else 2)
        return new
    found = ft.identify(shy, 3, 2, RIGHT, reset=memory.clear)
    assert found.faults[0].sentence.startswith("the code keeps something between rounds, the reference does not"), str(found)


def test_memories_are_not_told_where_the_first_round_is_wrong_already():
    run, reset = kept(code(own=0))
    found = ft.identify(run, 3, 2, RIGHT, reset=reset)
    assert found.faults == [] and "% of what the round changes" in found.unexplained, str(found)
    assert any("keeps something between rounds" in note for note in found.notes), str(found)


def test_a_code_with_a_reset_that_keeps_nothing_has_no_memories():
    for run, more in ((code(own=0), {"reset": lambda: None}),
                      (lambda s, clients, cohort: {"x": code(own=0)(s["x"], clients, cohort)}, {"state": {"x": np.zeros(2)}})):
        found = ft.identify(run, 3, 2, RIGHT, **more)
        assert found.faults == [] and "memor" not in str(found) and found.unexplained, str(found)


@pytest.mark.parametrize("form", ["hidden", "joint", "other names"])
def test_memories_of_a_reference_that_are_updated_wrongly(form):
    class Wrong(Heavy):
        def round(self, problem, s, draw):
            new = super().round(problem, s, draw)
            return new._replace(v=new.v + s.v / 10)
    right, wrong = Heavy("1/20", 3), Wrong("1/20", 3)
    for algorithm in (right, wrong):
        if form == "hidden":
            run, reset = hidden(algorithm)
            more = {"reset": reset}
        else:
            run, state = joint(algorithm, 3, 2)
            more = {"state": state}
        if form == "other names":
            def named(s, clients, cohort, run=run):
                out = run({"x": s["x"], "v": s["speed"]}, clients, cohort)
                return {"x": out["x"], "speed": out["v"]}
            run, more = named, {"state": {"x": np.zeros(2), "speed": np.zeros(2)}}
        found = ft.identify(run, 3, 2, right, **more)
        assert found.matches == (algorithm is right), str(found)
    assert found.faults[0].sentence.startswith("the memories are updated wrongly"), str(found)
    assert found.faults[0].residual < 1e-9 and not found.unexplained, str(found)


def test_a_first_round_that_is_wrong_is_no_matter_of_memories():
    class Wrong(Heavy):
        def moved(self, problem, x, draw):
            return super().moved(problem, x, draw) * 13 / 10
    for run, more in ((lambda r: (r[0], {"reset": r[1]}))(hidden(Wrong("1/20", 3))),
                      (lambda r: (r[0], {"state": r[1]}))(joint(Wrong("1/20", 3), 3, 2))):
        found = ft.identify(run, 3, 2, Heavy("1/20", 3), **more)
        assert found.faults == [] and "% of what the round changes" in found.unexplained, str(found)
