"""The chi-square floor: coded weights, the divergence by hand, and measured floors on both sides of it."""
from fractions import Fraction

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.statistics import Interval
from fltheory.verdicts.claims.claim import Instance
from fltheory.verdicts.claims.floors import chi_square_floor, floor_of


def instance(taus=(9, 1), problem=None):
    problem = problem or Quadratic([[[1]], [[1]]], [[1], [-1]])
    return Instance("two clients", problem, ft.FedAvg("1/100", taus), ft.Full())


def test_floor_by_hand():
    floor = floor_of(instance())
    assert floor.w == (Fraction(9, 10), Fraction(1, 10))
    assert (floor.chi2, floor.kappa2, floor.value) == (Fraction(16, 9), Fraction(9, 25), Fraction(16, 25))


def test_exact_floor_of_the_coded_rounds():
    i = instance()
    floor, problem = floor_of(i), i.problem
    measured, error = (i.op.mean_gradient_square(p, None, [0]) for p in (problem, problem.surrogate(floor.w)))
    assert chi_square_floor(measured, floor, error).status == HOLDS
    assert chi_square_floor(2 * floor.value + 3 * error, floor, error).status == FALSIFIED


def test_measured_intervals_lie_below_above_or_across():
    floor = floor_of(instance())
    bound = 2 * float(floor.value)
    for value, status in ((bound - 0.2, HOLDS), (bound + 0.2, FALSIFIED), (bound, INCONCLUSIVE)):
        made = chi_square_floor(Interval(value, 0.1, 0.999, 256), floor)
        assert made.status == status and made.evidence == "statistical"


def test_spread_counts_only_beyond_beta2_one():
    assert set(floor_of(instance()).bound(1).parts) == {"floor", "error"}
    unequal = instance(problem=Quadratic([[[1]], [[3]]], [[1], [-1]]))
    assert floor_of(unequal, 2).bound(1).parts["spread"] == 2 * floor_of(unequal, 2).chi2
    with pytest.raises(BadInput):
        floor_of(unequal, 1)  # no finite kappa^2
