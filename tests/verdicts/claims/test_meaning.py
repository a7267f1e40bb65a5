"""Closed forms read off the coded local and server steps: classes of another make are refused in words."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import State
from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import spread
from fltheory.verdicts.claims.meaning import local_mass

FIELD = ft.Field("eta h1 h2 x z1 z2")
ETA, H1, H2, X, Z1, Z2 = FIELD.symbols
TWO = ft.Quadratic([[[H1]], [[H2]]], [[0], [0]])


@dataclass(frozen=True)
class Own(Algorithm):
    """Plain local steps without a solver; a server step with arguments of its own."""

    def init(self, problem, x0, draw=None):
        return State(x0)

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        y = x = spread(s.x, draw.who)
        for k, on in draw.local_steps():
            y = y - self.lr * on * cohort.grad(y, draw.xi_at(k))
        return State(s.x + self.server(y - x))

    def server(self, change):
        return change.sum(-2) / 2


def instance(algorithm, problem=TWO):
    return ft.Instance("symbols", problem, algorithm, ft.Full(), domain=FIELD)


def change(z):
    return np.array([[(z[k] - 1) * X] for k in (0, 1)], dtype=object)


FACTOR = np.array([1 - ETA * H1, 1 - ETA * H2], dtype=object)


def test_a_closed_form_of_fedavg_is_an_induction():
    found = ft.local_run(instance(ft.FedAvg(ETA, 1)), [X], change, [Z1, Z2], FACTOR)
    assert (found.status, found.relation, found.evidence) == ("HOLDS", "induction", "symbolic")
    moved = ft.server_step(instance(ft.FedAvg(ETA, 1)), [X], change(np.array([Z1, Z2], dtype=object)))
    assert ft.equal(moved[0], X + ((Z1 - 1) * X + (Z2 - 1) * X) / 2).status == "HOLDS"


@pytest.mark.parametrize(("call", "said"), [
    (lambda: ft.local_run(instance(Own(ETA, 1)), [X], change, [Z1, Z2], FACTOR), "'Own': has no `solver`.*ft.induction"),
    (lambda: local_mass(instance(Own(ETA, 1)), lambda k: k, ETA), "'Own': has no `solver`"),
    (lambda: ft.server_step(instance(Own(ETA, 1)), [X], change([Z1, Z2])), r"'Own': has no method server\(self, x, cohort"),
    (lambda: ft.server_step(instance(None), [X], change([Z1, Z2])), "has no method server"),
    (lambda: ft.local_run(instance(ft.FedAvg(ETA, 1), None), [X], change, [Z1, Z2], FACTOR), "problem = None"),
    (lambda: ft.server_step(instance(ft.FedAvg(ETA, 1), None), [X], change([Z1, Z2])), "problem = None"),
    (lambda: ft.local_run(instance(ft.FedAvg(ETA, 1)), [X, X], change, [Z1, Z2], FACTOR), r"shape \(1,\)"),
    (lambda: ft.local_run(instance(ft.FedAvg(ETA, 1)), [X], lambda z: z, [Z1, Z2], FACTOR), r"shape \(2, 1\)"),
    (lambda: ft.server_step(instance(ft.FedAvg(ETA, 1)), [X], [Z1, Z2]), r"shape \(2, d\)"),
])
def test_other_classes_and_shapes_are_refused_in_words(call, said):
    with pytest.raises(BadInput, match=said):
        call()


def test_an_induction_on_numbers_says_that_it_is_one():
    assert ft.induction([(1, 1)], [(2, 2)]).detail == "1 base and 1 step identities, of numbers alone: nothing for other tau"
    assert ft.induction([(X, X)], [(X, X)], over="K").detail.endswith("every integer K")
