"""Costs are estimated before the work: what is out of reach is refused at once, per method, and the rest is answered."""
import time

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import TooLarge
from fltheory.core.operators.setting import prepare
from fltheory.workbench.comparison import cost


def many(n, d=2):
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((n, d, d))
    return ft.Quadratic(np.einsum("nij,nkj->nik", roots, roots) + np.eye(d), rng.standard_normal((n, d)))


def test_the_size_of_a_state_is_that_of_the_operator():
    problem = many(5)
    for algorithm in (ft.FedAvg("1/20", 2), ft.Scaffold("1/20", 2), ft.Focus("1/20", 2)):
        assert cost.state_size(algorithm, problem) == ft.derive(algorithm, problem, ft.Full()).dimension


def test_hundreds_of_clients_answer_per_method(monkeypatch):
    """719 clients: methods without memories are listed, the others structured, which says how each number was obtained; scans of
    these are refused before anything is derived."""
    from fltheory.workbench.comparison import predict

    derived, right = [], predict.derive
    monkeypatch.setattr(predict, "derive", lambda a, *rest: derived.append(type(a).__name__) or right(a, *rest))
    begin = time.process_time()
    made = ft.compare([ft.FedAvg(.01, 5), ft.FedProx(.01, 5, mu=1), ft.FedNova(.01, 5), ft.Scaffold(.01, 5), ft.Focus(.01, 5)],
                      many(719, 3), ft.Full(), measure=False)
    assert time.process_time() - begin < 20
    assert derived == ["FedAvg", "FedAvg", "FedNova", "Scaffold", "Focus"]
    for row in made.rows[:3]:
        assert row["rate"] < 1 and row["stable_step"] > 0
    for row in made.rows[3:]:
        assert row["rate"] is not None and row["stable_step"] is None and "winding number" in row["reasons"]
        assert "719 clients" in row["reasons"] and "above the limit of 60 seconds" in row["reasons"]
    assert made.rows[3]["rate"] < 1 and made.rows[3]["distance"] < 1e-9
    assert "GMRES from two starts" in made.rows[3]["reasons"] and "the rounds have no randomness" in made.rows[3]["reasons"]
    text = " ".join(str(made).split())
    assert "merge clients (bands)" in text and "whose state has 21" in text


def test_what_nothing_converges_to_is_not_looked_for(monkeypatch):
    """Of a structured operator, whose fixed point may be most of the work."""
    from fltheory.large.structured import Structured

    asked, right = [], Structured.fixed_point
    monkeypatch.setattr(Structured, "fixed_point", lambda op, *rest: asked.append(op.algorithm.lr) or right(op, *rest))
    made = ft.compare({"calm": ft.Scaffold(.01, 2), "wild": ft.Scaffold(2, 2)}, many(400, 3), ft.Full(), measure=False)
    assert asked == [.01]
    calm, wild = made.rows
    assert calm["distance"] < 1e-9 and wild["distance"] is None and wild["rate"] > 1
    assert "nothing converges there" in wild["reasons"] and "wild diverges" in str(made)


def test_a_scan_may_be_out_of_reach_where_the_operator_is_not():
    problem = many(200)
    algorithm = ft.Scaffold(.01, 2)
    cost.check_derivation(algorithm, problem)
    with pytest.raises(TooLarge, match="with few points"):
        cost.check_scan(algorithm, problem, prepare(algorithm, problem, ft.Full(), None))


RANDOM = ft.RandomSteps((("1/2", 1), ("1/2", 3)))


@pytest.mark.parametrize("law", [ft.Full(), ft.Uniform(2), ft.Bernoulli("1/2"), ft.Uniform(2, steps=RANDOM)])
def test_ordinary_sizes_are_in_reach(law):
    for problem in (many(5, 10), many(10, 2), many(3, 3)):
        for algorithm in (ft.FedAvg(.01, None if law.steps else 2), ft.Scaffold(.01, None if law.steps else 2)):
            cost.check_scan(algorithm, problem, prepare(algorithm, problem, law, 1))


def test_more_work_costs_more():
    laws = [prepare(ft.FedAvg(.1, 2), many(20), law, None) for law in (ft.Full(), ft.Uniform(3))]
    for law in laws:
        times = [cost.scan(size, law, 20) for size in (2, 10, 30, 100, 300)]
        assert times == sorted(times)
    assert cost.scan(40, laws[1], 20) > cost.scan(40, laws[0], 20)
    assert cost.derivation(400, 2) > 100 * cost.derivation(40, 2) * 0.5 and cost.derivation(400, 400) < cost.derivation(400, 2)
