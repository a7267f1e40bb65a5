"""Instances in other units, and wrong algorithms that diverge."""
from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.scalars import Number, StepSize
from fltheory.core.relations import at_most
from fltheory.verdicts.claims.claim import Instance
from fltheory.verdicts.deciding.check import check
from tests.verdicts.claims.examples import made

TWO = ft.Quadratic([[[1]], [[3]]], [[0], [1]])


@dataclass(frozen=True)
class TwoSteps(ft.FedAvg):
    """FedAvg, then a gradient step of the server with a step size of its own and a damping without unit."""

    last: StepSize = "1/7"
    damping: tuple[Number, ...] = ("1/2", "1/3")

    def round(self, problem, s, draw):
        after = super().round(problem, s, draw)
        return after._replace(x=after.x - self.last * self.damping[0] * problem.gradient(after.x))


@pytest.mark.parametrize("algorithm", [
    TwoSteps("1/20", 2), ft.FedProx("1/20", 3, mu="1/2"), ft.FedNova("1/20", (1, 2)), ft.Scaffold("1/20", 2, server_lr="1/2")],
    ids=lambda a: type(a).__name__)
def test_iterates_are_multiplied_by_the_length(algorithm):
    one = Instance("one", TWO, algorithm, ft.Full(), x0=[Q(2)], noise=Q(1, 3))
    other = one.rescaled(Q(3), Q(2, 5))
    rounds = 4
    for (a, A), (b, B) in zip(one.op.trajectory(rounds, [2]), other.op.trajectory(rounds, [Q(4, 5)]), strict=True):
        assert 5 * b[0] == 2 * a[0] and 25 * B[0, 0] == 4 * A[0, 0]


def test_numbers_without_a_unit_stay():
    other = Instance("one", TWO, TwoSteps("1/20", 2), ft.Full()).rescaled(Q(3), Q(2, 5)).algorithm
    assert (other.lr, other.last, other.damping) == (Q(4, 25) / 60, Q(4, 25) / 21, ("1/2", "1/3"))


def test_tuples_of_numbers_are_moved_between_arithmetics():
    pytest.importorskip("flint")
    assert all(type(v).__name__ == "fmpq" for v in TwoSteps("1/20", 2).to(ft.RATIONAL).damping)
    assert TwoSteps("1/20", 2).to(ft.FLOAT).damping.dtype == np.float64


def wild(algorithm):
    """A step far too large."""
    return replace(algorithm, lr=100)


def idle(algorithm):
    """A step half as large."""
    return replace(algorithm, lr=Q(1, 20))


def test_a_bug_that_diverges_in_a_run_counts_as_nothing():
    pytest.importorskip("flint")
    problem = ft.HuberLoss([[[1]], [[2]]], [[0], [1]], 1000)
    on = [Instance("bent", problem, ft.FedAvg("1/10", 1), ft.Full(), domain=ft.FLOAT, simulate={"rounds": 30, "replicates": 2})]
    verdict = check(made(lambda i: at_most(0.0, float(i.run.mean()[-1])), on=on, rejects=(wild, idle)))
    assert [m.status for m in verdict.mutants] == ["unstable", "survived"]
    assert verdict.mutants[0].detail == "A step far too large. (diverges on bent)"
    assert verdict.mutants[1].detail == "A step half as large."
