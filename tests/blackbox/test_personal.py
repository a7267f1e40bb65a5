"""Rounds with personal parameters as black boxes: the right method is named, every wrong round is reported and named."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.blackbox.engine import identify
from fltheory.core.errors import BadInput
from fltheory.mutants import local, memories
from fltheory.mutants import residual_models as wrong
from tests.blackbox.adapters import hidden, joint, plain

LR, LAM, STEPS, K = "1/20", "1/10", (3, 2, 4), 2
AVG = ft.FedResAvg(LR, STEPS, personal_lr=LAM, alpha="3/2")
ONE = ft.FedResAvg(LR, STEPS, personal_lr=LAM, option=1)
SGD = ft.FedResSgd(LR, STEPS, personal_lr=LAM)
SEQ, SIM = (ft.FedResNaive(LR, STEPS, personal_lr=LAM, order=order) for order in ("seq", "sim"))
METHODS = [AVG, ONE, SGD, SEQ, SIM]
PROX = ft.LocalProx(LR, STEPS, mu="1/2")


def box(algorithm, form, dtype=np.float64, d=2):
    """(round_fn, keywords) of a method that keeps its theta_i itself, or hands its whole state out."""
    k = K if algorithm.personal else 0
    if form == "hidden":
        run, reset = hidden(algorithm, dtype)
        return run, {"reset": reset, "personal": k}
    run, state = joint(algorithm, 3, d, dtype, personal=k)
    return run, {"state": state, "personal": k}


@pytest.mark.parametrize("form", ["hidden", "joint"])
@pytest.mark.parametrize("algorithm", [*METHODS, PROX], ids=repr)
def test_the_right_method_is_named(algorithm, form):
    run, more = box(algorithm, form)
    found = identify(run, 3, 2, algorithm, **more)
    assert found.matches and found.deviation < 1e-12, str(found)


@pytest.mark.parametrize("form", ["hidden", "joint"])
@pytest.mark.parametrize("algorithm", METHODS, ids=repr)
def test_every_other_method_is_told_apart_and_named(algorithm, form):
    names = {AVG: "FedResAvg", ONE: "FedResAvg", SGD: "FedResSGD", SEQ: "FedResNaive", SIM: "FedResNaive"}
    for other in METHODS:
        if other != algorithm:
            run, more = box(algorithm, form)
            found = identify(run, 3, 2, other, **more)
            assert found.verdict == "differs", (other, str(found))
            if algorithm is not AVG and type(other) is not type(algorithm):
                said = found.faults[0].sentence
                assert names[algorithm] in said or "small local steps" in said, (other, str(found))   # of FedResAvg, option I


WRONG = [   # mutant -> (right methods, words of the likeliest explanations)
    (wrong.sequential_for_simultaneous, [SIM], "sequential, not simultaneous"),
    (wrong.simultaneous_for_sequential, [SEQ], "simultaneous, not sequential"),
    (wrong.personal_step_with_lr, METHODS, "step size lr of the shared parameter"),
    (wrong.personal_averaged, METHODS, "averages the personal parameters"),
    (wrong.personal_reset, METHODS, "forgotten between rounds"),
    (wrong.personal_step_fewer, [AVG, ONE, SGD], "one personal step too few"),
    (wrong.old_theta_in_step_two, [AVG, ONE, SGD], "from before Step 1"),
    (wrong.large_step_not_multiplied, [SGD], "size lr instead of lr K"),
    (wrong.local_steps_for_large_step, [SGD], "small local steps"),
    (wrong.alpha_dropped, [AVG], "alpha is dropped"),
    (wrong.variates_dropped, [AVG], "option I where option II"),
    (wrong.variates_kept, [ONE], "option II where option I"),
    (wrong.mean_not_divided, [AVG], "the factor 1/K is missing"),
    (wrong.variates_not_averaged, [AVG], "own c_i where the mean c belongs"),
    (wrong.mean_is_late, [AVG], "one round late"),
    (wrong.own_copy_is_anchor, [PROX], "own last copy"),
    (wrong.own_copy_goes_on, [PROX], "go on from their own last copies"),
    (wrong.local_prox_missing, [PROX], "proximal term"),
    (wrong.local_prox_halved, [PROX], "mu/4"),
    (wrong.local_prox_squared, [PROX], "mu enters squared"),
    (memories.data_weights_dropped, METHODS, "data weights p_i are dropped"),
    (local.one_step_more, METHODS, "one local step too many"),
    (local.one_step_less, METHODS, "one local step too few"),
]


@pytest.mark.parametrize("form", ["hidden", "joint"])
@pytest.mark.parametrize("mutant,right,words", [(m, a, words) for m, many, words in WRONG for a in many],
                         ids=lambda v: getattr(v, "__name__", None) or type(v).__name__)
def test_a_wrong_round_is_reported_and_named(mutant, right, words, form):
    bad = mutant(right)
    run, more = box(bad, form)
    found = identify(run, 3, 2, right, bugs=[mutant], **more)
    assert found.verdict == "differs" and found.faults[0].name == mutant.__name__, str(found)
    assert words in " | ".join(f.sentence for f in found.faults[1:3]), str(found)


@pytest.mark.parametrize("change,words", [({"personal_lr": "1/7"}, "personal_lr is 1/7 where 0.1 is stated"),
                                          ({"lr": "1/30"}, "the step size is 1/30 where 0.05 is stated"),
                                          ({"alpha": 2}, "alpha is 2 where 1.5 is stated")])
def test_a_wrong_number_is_fitted(change, words):
    from dataclasses import replace
    run, more = box(replace(AVG, **change), "hidden")
    found = identify(run, 3, 2, AVG, **more)
    assert words in found.faults[0].sentence, str(found)


def test_code_in_float32_matches_within_its_precision():
    run, more = box(SGD, "joint", np.float32)
    found = identify(run, 3, 2, SGD, **more)
    assert found.matches and "float32" in found.dtype


def test_clipped_personal_gradients_are_no_affine_round():
    """One local step: what is clipped acts on the model a round later."""
    theta = {}

    def run(x, clients):
        moved = 0
        for i, c in enumerate(clients):
            gw, gt = c.grad(x, theta.get(i, np.zeros(K)))
            theta[i] = theta.get(i, np.zeros(K)) - 0.1 * np.clip(gt, -1, 1)
            moved = moved + c.weight * 0.05 * gw
        return x - moved
    found = identify(run, 3, 2, ft.FedResNaive(LR, 1, personal_lr=LAM, order="sim"), reset=theta.clear, personal=K)
    assert found.verdict == "not affine" and "clipped" in str(found)


def test_clients_have_rows_of_both_parts():
    seen = []

    def run(x, clients, cohort):
        c = clients[0]
        theta = np.ones(K)
        gw, gt = c.grad(x, theta)
        seen.append((c.X.shape[1], c.Z.shape[1], c.size == len(c) == len(c.Z)))
        ends = [c.loss(x, theta + step * np.eye(K)[0]) for step in (1, -1)]   # of a quadratic, so the slope is exact
        assert abs((ends[0] - ends[1]) / 2 - gt[0]) < 1e-9 * max(1, *ends) and gw.shape == (2,)
        with pytest.raises(BadInput, match="loss\\(w, theta\\)"):
            c.grad(x)
        return x - gw / 20
    identify(run, 3, 2, SGD, personal=K)
    assert set(seen) == {(2, K, True)}


@pytest.mark.parametrize("given,says", [
    ({"algorithm": SGD}, "has personal parameters"), ({"algorithm": ft.FedAvg(LR, 3), "personal": 2}, "no personal parameters"),
    ({"personal": 2}, "named algorithm"), ({"algorithm": SGD, "personal": -1}, "from 0 to"),
    ({"algorithm": SGD, "personal": 1.5}, "from 0 to"), ({"algorithm": SGD, "personal": 10**5}, "from 0 to"),
    ({"algorithm": SGD, "personal": 2, "law": ft.Uniform(2)}, "parameter cohort"),
    ({"algorithm": SGD, "personal": 2, "law": ft.Full(steps=ft.RandomSteps([("1/2", 1), ("1/2", 2)]))}, "leave the law out"),
])
def test_what_is_refused(given, says):
    with pytest.raises(BadInput, match=says):
        identify(lambda x, clients: x, 3, 2, **given)


def test_a_round_without_personal_parameters_takes_none():
    def run(x, clients):
        with pytest.raises(BadInput, match="takes w"):
            clients[0].grad(x, x)
        return plain(ft.FedAvg(LR, 2))(x, clients)
    assert identify(run, 2, 1, ft.FedAvg(LR, 2)).matches
