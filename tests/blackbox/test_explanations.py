"""What is said of a deviation: to single precision, until nothing is left or that is said, on numbers only, variants apart."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.blackbox.result import Fault
from fltheory.mutants.memories import VARIATES, Control
from tests.blackbox.adapters import hidden, joint

LR, STEPS = "1/10", (2, 3, 5)
AVG = ft.FedAvg(LR, STEPS)
EQUAL = ["1/3"] * 3


def fedavg(x, clients, cohort, weights=None, lr=0.1, steps=STEPS, extra=0.0):
    """x + sum of weights times changes; weights: cohort -> one per participant, by default p_i over the participants."""
    p = np.array([clients[i].weight for i in cohort])
    p = p / p.sum() if weights is None else weights(cohort)
    new = x.copy()
    for w, i in zip(p, cohort, strict=True):
        y = x
        for _ in range(steps[i]):
            y = y - lr * (clients[i].grad(y) + extra * y)
        new = new + w * (y - x)
    return new


def run(**given):
    return lambda x, clients, cohort: fedavg(x, clients, cohort, **given)


# ---- single precision ----------------------------------------------------------------------------------------
def rounded(values):
    return np.array(values, dtype=np.float32).astype(float)


@pytest.mark.parametrize("given", [{"lr": float(np.float32(0.1))}, {"weights": lambda c: rounded([1 / len(c)] * len(c))}],
                         ids=["step size", "weights"])
def test_numbers_in_single_precision_match_to_single_precision(given):
    found = ft.identify(run(**given), 3, 2, AVG, weights=EQUAL)
    assert found.matches and "to single precision" in found.reason and 1e-9 < found.deviation < 1e-6 == found.tolerance
    assert not ft.identify(run(**given), 3, 2, AVG, weights=EQUAL, tolerance=1e-9).matches   # a tolerance that is asked for holds
    assert ft.identify(run(**given), 3, 2, weights=EQUAL).found is not None


@pytest.mark.parametrize("given", [{"lr": 0.1 * (1 + 1e-4)}, {"extra": 1e-3}])
def test_what_is_larger_is_a_difference(given):
    assert ft.identify(run(**given), 3, 2, AVG).verdict == "differs"


# ---- numbers only --------------------------------------------------------------------------------------------
def test_no_explanation_rests_on_a_number_that_is_none():
    assert Fault("", "", float("nan")).residual == float("inf")
    found = ft.identify(run(weights=lambda c: np.full(len(c), 3 / 4 if len(c) == 2 else 1 / len(c))), 3, 2, AVG, weights=EQUAL)
    assert found.verdict == "differs" and "swapped" not in str(found), str(found)
    assert "aggregation weights are wrong" in found.faults[0].sentence and "(0.75, 0.75, 0)" in str(found), str(found)


def test_swapped_weights_are_told_for_cohorts_too():
    swapped = {0: 1 / 6, 1: 1 / 3, 2: 1 / 2}
    found = ft.identify(run(weights=lambda c: np.array([swapped[i] for i in c]) / sum(swapped[i] for i in c)), 3, 2, AVG)
    assert found.faults[0].sentence == "the weights of clients 0 and 2 are swapped", str(found)


# ---- until nothing is left -----------------------------------------------------------------------------------
def test_what_is_left_is_said_to_be_unexplained():
    kept = {}

    def wrong(x, clients, cohort):
        new = fedavg(x, clients, cohort, steps=(3, 4, 6))
        if "x" in kept:
            new = new + 0.3 * (kept["x"] - 2 * kept["before"]) + 0.1 * x    # no memory that is known
        kept.update(x=x, before=kept.get("x", 0 * x))
        return new
    found = ft.identify(wrong, 3, 2, AVG, reset=kept.clear)
    assert "too many" in found.faults[0].sentence and any("unexplained" in note for note in found.notes), str(found)


@pytest.mark.parametrize("given", [{"steps": (3, 4, 6)}, {"lr": 0.3}, {"extra": 0.2},
                                   {"weights": lambda c: np.full(len(c), 1 / 3), "steps": (3, 4, 6)},
                                   {"weights": lambda c: np.arange(1, len(c) + 1) / 7}])
def test_what_is_explained_leaves_nothing(given):
    found = ft.identify(run(**given), 3, 2, AVG)
    assert found.verdict == "differs" and not any("unexplained" in note for note in found.notes), str(found)


@pytest.mark.parametrize("first,second", [("control_unweighted", "wrong_sign"), ("no_lr", "control_unweighted"),
                                          ("never_stored", "control_unweighted"), ("model_plain", "c_added")])
def test_two_faults_of_the_variates_are_named_together(first, second):
    right = ft.Scaffold(LR, STEPS)
    one, two = (VARIATES[name](right) for name in (first, second))
    usual = Control(LR, STEPS)
    changed = {k: v for a in (one, two) for k, v in vars(a).items() if getattr(usual, k) != v}
    for form in ("hidden", "joint"):
        code, more = (hidden if form == "hidden" else lambda a: joint(a, 3, 2))(Control(LR, STEPS, **changed))
        found = ft.identify(code, 3, 2, right, **({"reset": more} if form == "hidden" else {"state": more}))
        said = " || ".join(f.sentence for f in found.faults[:2])
        for name in (first, second):
            assert VARIATES[name].__doc__.strip(".")[1:] in said, (name, str(found))


# ---- variants ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", [1, 2])
def test_a_scaffold_that_counts_clients_alike_is_a_variant(option):
    from fltheory.mutants.memories import data_weights_dropped
    right = ft.Scaffold(LR, STEPS, option=option)
    for form in ("hidden", "joint"):
        code, more = (hidden if form == "hidden" else lambda a: joint(a, 3, 2))(data_weights_dropped(right))
        found = ft.identify(code, 3, 2, right, **({"reset": more} if form == "hidden" else {"state": more}))
        assert found.matches and "as SCAFFOLD is published" in found.variant and "a variant" in str(found), str(found)
    code, reset = hidden(right)
    assert ft.identify(code, 3, 2, right, reset=reset).variant == ""


def test_where_the_averaging_is_stated_it_is_no_variant():
    code, reset = hidden(ft.FedAvg(LR, STEPS, averaging="plain"))
    found = ft.identify(code, 3, 2, AVG, reset=reset)
    assert found.verdict == "differs" and "p_i are dropped" in found.faults[0].sentence, str(found)


# ---- a joint state tells more --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["update_reversed", "wrong_sign"])
def test_the_sign_of_the_update_and_of_the_correction_differ_in_the_joint_state(name):
    right = ft.Scaffold(LR, STEPS)
    code, state = joint(VARIATES[name](right), 3, 2)
    found = ft.identify(code, 3, 2, right, state=state)
    assert [f.sentence for f in found.faults if f.residual < 1e-9] == [VARIATES[name].__doc__.strip(".")[0].lower()
                                                                      + VARIATES[name].__doc__.strip(".")[1:]], str(found)
