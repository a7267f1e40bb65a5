"""Wrong rounds of Federated Residual Learning: each is another round, and still converges."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.mutants import residual_models as wrong
from fltheory.mutants.base import clause
from tests.algorithms.instances import quadratic, residual

LR, LAM = "1/20", "1/10"
AVG, ONE = ft.FedResAvg(LR, 3, personal_lr=LAM, alpha="3/2"), ft.FedResAvg(LR, 3, personal_lr=LAM, option=1)
SGD, FLAT = ft.FedResSgd(LR, 3, personal_lr=LAM), ft.FedSgd(LR, 3)
SEQ, SIM = (ft.FedResNaive(LR, 3, personal_lr=LAM, order=order) for order in ("seq", "sim"))
PROX = ft.LocalProx(LR, 3, mu="1/2")
FITS = {
    wrong.sequential_for_simultaneous: [SIM], wrong.simultaneous_for_sequential: [SEQ],
    wrong.personal_step_with_lr: [AVG, ONE, SGD, SEQ, SIM], wrong.personal_averaged: [AVG, ONE, SGD, SEQ, SIM],
    wrong.personal_reset: [AVG, ONE, SGD, SEQ, SIM], wrong.personal_step_fewer: [AVG, ONE, SGD],
    wrong.old_theta_in_step_two: [AVG, ONE, SGD], wrong.large_step_not_multiplied: [SGD, FLAT],
    wrong.local_steps_for_large_step: [SGD, FLAT], wrong.alpha_dropped: [AVG], wrong.variates_dropped: [AVG],
    wrong.variates_kept: [ONE], wrong.mean_not_divided: [AVG], wrong.variates_not_averaged: [AVG], wrong.mean_is_late: [AVG],
    wrong.local_prox_missing: [PROX], wrong.local_prox_halved: [PROX], wrong.local_prox_squared: [PROX],
    wrong.own_copy_is_anchor: [PROX], wrong.own_copy_goes_on: [PROX],
}
EVERY = [AVG, ONE, SGD, FLAT, SEQ, SIM, PROX]
CASES = [(mutant, right) for mutant, many in FITS.items() for right in many]


def problem_of(algorithm):
    return (residual() if algorithm.personal else quadratic())[0]


@pytest.mark.parametrize("mutant,right", CASES, ids=lambda v: getattr(v, "__name__", None) or type(v).__name__)
def test_a_mutant_is_another_round_that_converges(mutant, right):
    problem = problem_of(right)
    bad, good = (ft.derive(a, problem, ft.Full()) for a in (mutant(right), right))
    assert bad.rate() < 1
    start = ft.FLOAT.array(np.arange(1, problem.d + 1))
    models = [[mean for mean, _ in op.trajectory(4, start)] for op in (bad, good)]
    assert np.abs(np.array(models[0]) - np.array(models[1])).max() > 1e-6


@pytest.mark.parametrize("mutant", FITS, ids=lambda m: m.__name__)
def test_a_mutant_of_another_method_changes_nothing(mutant):
    for algorithm in [*EVERY, ft.FedAvg(LR, 3), ft.Scaffold(LR, 3)]:
        assert (mutant(algorithm) is None) == (algorithm not in FITS[mutant]), algorithm
    assert clause(mutant) and mutant.__name__ in vars(wrong)


def test_where_a_number_is_already_what_the_mutant_makes_it_nothing_changes():
    assert wrong.personal_step_with_lr(ft.FedResSgd(LR, 3, personal_lr=LR)) is None
    assert wrong.alpha_dropped(ft.FedResAvg(LR, 3, personal_lr=LAM)) is None
    for mutant in (wrong.personal_step_fewer, wrong.large_step_not_multiplied, wrong.local_steps_for_large_step):
        assert mutant(ft.FedResSgd(LR, 1, personal_lr=LAM)) is None
    assert wrong.mean_not_divided(ft.FedResAvg(LR, 1, personal_lr=LAM)) is None
    assert wrong.local_prox_missing(ft.LocalProx(LR, 3, mu=0)) is None
    assert wrong.local_prox_squared(ft.LocalProx(LR, 3, mu=1)) is None


def test_as_many_personal_steps_as_are_left_are_made():
    """One step too few of two is one step: theta' = theta - lambda (c theta - b)."""
    problem = ft.Residual([[[1]]], [[[0]]], [[[1]]], [[0]], [[1]]).to(ft.RATIONAL)
    bad = wrong.personal_step_fewer(ft.FedResSgd("1/4", 2, personal_lr="1/2")).to(ft.RATIONAL)
    state = bad.round(problem, bad.init(problem, ft.RATIONAL.array([0])), ft.everyone(1, 2))
    assert state.theta[0, 0] == ft.RATIONAL.scalar("1/2")


def test_every_mutant_of_the_module_is_tested():
    mutants = {v for k, v in vars(wrong).items() if callable(v) and getattr(v, "__module__", "").startswith("fltheory.mutants")
               and not k.startswith("_") and k not in ("changed", "option")}
    assert mutants == {*FITS}
